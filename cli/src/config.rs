//! The configuration of a run: one strict TOML file, a table for each part.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use engine::Variant;
use eval::match_stats::Verdict;
use eval::matches::{MatchConfig, MatchResult};
use eval::values::ValuesConfig;
use selfplay::{SearchConfig, SelfplayConfig};
use serde::{Deserialize, Serialize};
use train::{NetworkConfig, TrainConfig};

/// A run's configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfig {
    pub(crate) run: RunSection,
    #[serde(default)]
    pub(crate) selfplay: SelfplayConfig,
    #[serde(default)]
    pub(crate) search: SearchConfig,
    #[serde(default)]
    pub(crate) network: NetworkConfig,
    #[serde(default)]
    pub(crate) train: TrainConfig,
    #[serde(default)]
    pub(crate) gate: GateConfig,
    /// The matches of each network against the random and the greedy player.
    #[serde(default)]
    pub(crate) measure: MatchConfig,
    #[serde(default)]
    pub(crate) values: ValuesConfig,
}

/// What is played, how often, from which seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunSection {
    /// Name of a built-in variant, or of the one in `variant_file`.
    pub(crate) variant: String,
    /// Ruleset; the variant's default one if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ruleset: Option<String>,
    /// File that defines the variant, relative to the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) variant_file: Option<PathBuf>,
    /// Where all chance comes from.
    #[serde(default)]
    pub(crate) seed: u64,
    /// Generations of games, networks and matches.
    pub(crate) generations: u32,
}

/// Whether a new network replaces the one that plays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GateConfig {
    /// Without a sequential test: the new network plays from now on if its score against the old one is at least this; 0
    /// for always.
    pub(crate) min_score: f64,
    /// What becomes of a new network whose sequential test is undecided at the match's cap of games.
    #[serde(skip_serializing_if = "Undecided::is_usual")]
    pub(crate) undecided: Undecided,
    /// The match between them. With `sprt` in it the test decides, and `games` is its cap.
    #[serde(rename = "match")]
    pub(crate) games: MatchConfig,
}

/// What an undecided sequential test means for a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Undecided {
    /// The old network goes on playing: no improvement was shown.
    Reject,
    /// The score decides, by `min_score`.
    Score,
}

impl Undecided {
    /// The usual way is not written, so that runs from before there was another can be resumed.
    fn is_usual(&self) -> bool {
        *self == Undecided::Reject
    }
}

impl GateConfig {
    /// Whether the new network plays from now on.
    pub(crate) fn accepts(&self, result: &MatchResult) -> bool {
        match (result.verdict, self.undecided) {
            (Some(Verdict::Accept), _) => true,
            (Some(Verdict::Reject), _) | (Some(Verdict::Undecided), Undecided::Reject) => false,
            (None, _) | (Some(Verdict::Undecided), Undecided::Score) => result.score >= self.min_score,
        }
    }
}

impl Default for GateConfig {
    fn default() -> Self {
        GateConfig { min_score: 0.5, undecided: Undecided::Reject, games: MatchConfig::default() }
    }
}

impl RunConfig {
    /// Reads and checks a file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<RunConfig> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut config: RunConfig = toml::from_str(&text)
            .map_err(|error| anyhow::anyhow!("{}: {}", path.display(), error.to_string().trim()))?;
        config.check().with_context(|| path.display().to_string())?;
        for file in [&mut config.run.variant_file, &mut config.selfplay.opening_file].into_iter().flatten() {
            *file = std::path::absolute(path.parent().unwrap_or(Path::new(".")).join(&*file))?;
        }
        Ok(config)
    }

    fn check(&self) -> anyhow::Result<()> {
        if !(1..=100_000).contains(&self.run.generations) {
            bail!("run.generations: expected 1 to 100000, found {}", self.run.generations);
        }
        if !(0.0..=1.0).contains(&self.gate.min_score) {
            bail!("gate.min_score: expected 0 to 1, found {}", self.gate.min_score);
        }
        self.selfplay.validate().context("[selfplay]")?;
        self.search.validate().context("[search]")?;
        self.network.validate()?;
        self.train.validate()?;
        self.gate.games.validate().context("[gate.match]")?;
        self.measure.validate().context("[measure]")?;
        self.values.validate()?;
        Ok(())
    }

    /// The variant that is played.
    pub(crate) fn variant(&self) -> anyhow::Result<Arc<Variant>> {
        let args = crate::args::VariantArgs {
            variant: self.run.variant.clone(),
            ruleset: self.run.ruleset.clone(),
            variant_file: self.run.variant_file.clone(),
        };
        args.load()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(score: f64, verdict: Option<Verdict>) -> MatchResult {
        let mut result = json!({
            "variant": "sho", "ruleset": "standard", "first": "a", "second": "b", "games": 2, "wins": 1, "draws": 0, "losses": 1,
            "pentanomial": [0, 0, 1, 0, 0], "los": 0.5, "reasons": {}, "distinct": 2, "mean_plies": 9.0, "complete": true,
        });
        result["score"] = json!(score);
        result["verdict"] = json!(verdict);
        serde_json::from_value(result).expect("a result")
    }

    #[test]
    fn a_gate_goes_by_its_test_or_by_the_score() {
        let gate = |text: &str| toml::from_str::<GateConfig>(text).expect(text);
        let check = |config: &str, score, verdict, accepted| {
            assert_eq!(gate(config).accepts(&result(score, verdict)), accepted, "{config} {score} {verdict:?}");
        };
        check("", 0.5, None, true);
        check("", 0.49, None, false);
        check("min_score = 0.55", 0.5, None, false);
        check("min_score = 0.9", 0.6, Some(Verdict::Accept), true);
        check("min_score = 0.0", 0.6, Some(Verdict::Reject), false);
        check("min_score = 0.0", 0.6, Some(Verdict::Undecided), false);
        check("undecided = \"score\"", 0.6, Some(Verdict::Undecided), true);
        check("undecided = \"score\"", 0.4, Some(Verdict::Undecided), false);
        check("undecided = \"score\"", 0.6, Some(Verdict::Reject), false);
        assert!(toml::from_str::<GateConfig>("undecided = \"maybe\"").is_err());
        assert_eq!(gate("[match]\nsprt = [0, 30]").games.sprt, Some((0.0, 30.0)));
    }
}

//! The configuration of a run: one strict TOML file, a table for each part.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use engine::Variant;
use eval::matches::MatchConfig;
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
    /// The new network plays from now on if its score against the old one is at least this; 0 for always.
    pub(crate) min_score: f64,
    /// The match between them.
    #[serde(rename = "match")]
    pub(crate) games: MatchConfig,
}

impl Default for GateConfig {
    fn default() -> Self {
        GateConfig { min_score: 0.5, games: MatchConfig::default() }
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

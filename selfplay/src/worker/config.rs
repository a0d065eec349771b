//! Settings of self-play.

use std::path::PathBuf;
use std::sync::Arc;

use engine::Variant;
use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, require};
use crate::openings::{Openings, OpeningsError};
use crate::search::SearchConfig;

/// Settings of a generation of self-play games.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SelfplayConfig {
    /// Games in a generation.
    pub games: u64,
    /// Games at once on each thread, whose positions are judged together: the most, for a thread takes no more than make
    /// it faster. No influence on the games.
    pub games_per_thread: usize,
    /// Memory for judgements that come again, of all threads together, in megabytes (2²⁰ bytes). No influence on the games.
    pub cache_mb: usize,
    /// Games in a shard. No influence on the games.
    pub games_per_shard: u64,
    /// Random plies before a game: from 0 to so many, evenly drawn.
    pub opening_plies: u32,
    /// Whether openings are drawn again in which a side has lost material or is about to.
    pub opening_balanced: bool,
    /// Names of start positions that games start from, evenly drawn, e.g. handicaps; `start` is the usual one, and without
    /// this key the only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opening_positions: Vec<String>,
    /// A file of start positions instead, an SFEN a line; in a configuration file, relative to that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening_file: Option<PathBuf>,
    /// Plies after which a game is cut off without a result; 0 for never.
    pub max_plies: u32,
    /// Share of moves that get a full search, whose policy is a target; the others get a cheap one (playout cap randomisation: Wu,
    /// "Accelerating self-play learning in Go", 2019, section 3.1).
    pub full_fraction: f32,
    /// Simulations of a cheap search, which has no noise either.
    pub cheap_simulations: u32,
    /// For the first so many plies moves are drawn from the improved policy; from then on the search's choice is played.
    pub sample_plies: u32,
    /// Temperature of these draws: above 0; 1 draws from the improved policy itself.
    pub temperature: f32,
    /// A side resigns when the value of its positions has been below this for `resign_plies` of its moves in a row, e.g. -0.95.
    /// Without this key nobody resigns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resign_below: Option<f32>,
    /// See `resign_below`.
    pub resign_plies: u32,
    /// Once the search's value has been beyond this for either side, e.g. 0.95, for `lopsided_plies` plies in a row, all
    /// searches of the game are cheap until it is not any more. Without this key never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lopsided_above: Option<f32>,
    /// See `lopsided_above`.
    pub lopsided_plies: u32,
    /// Share of games that are played out in spite of `resign_below`, to see how often a resigned game would have been saved.
    pub resign_audit: f32,
}

impl Default for SelfplayConfig {
    fn default() -> Self {
        SelfplayConfig {
            games: 1024,
            games_per_thread: 64,
            cache_mb: 64,
            games_per_shard: 128,
            opening_plies: 8,
            opening_balanced: true,
            opening_positions: Vec::new(),
            opening_file: None,
            max_plies: 500,
            full_fraction: 0.25,
            cheap_simulations: 8,
            sample_plies: 20,
            temperature: 1.0,
            resign_below: None,
            resign_plies: 4,
            resign_audit: 0.1,
            lopsided_above: None,
            lopsided_plies: 6,
        }
    }
}

impl SelfplayConfig {
    /// Checks the ranges of all keys.
    ///
    /// # Errors
    /// The first key whose value is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let share = 0.0..=1.0;
        require("games", self.games, self.games <= u32::MAX.into(), "below 2^32")?;
        require(
            "games_per_thread",
            self.games_per_thread,
            (1..=65536).contains(&self.games_per_thread),
            "from 1 to 65536",
        )?;
        require(
            "games_per_shard",
            self.games_per_shard,
            (1..=65536).contains(&self.games_per_shard),
            "from 1 to 65536",
        )?;
        require("opening_plies", self.opening_plies, self.opening_plies <= 1000, "at most 1000")?;
        require("max_plies", self.max_plies, self.max_plies <= 60_000, "at most 60000")?;
        require("full_fraction", self.full_fraction, share.contains(&self.full_fraction), "from 0 to 1")?;
        let temperature = self.temperature;
        require("temperature", temperature, temperature > 0.0 && temperature <= 100.0, "above 0 and at most 100")?;
        if let Some(below) = self.resign_below {
            require("resign_below", below, (-1.0..=0.0).contains(&below), "from -1 to 0")?;
        }
        if let Some(above) = self.lopsided_above {
            require("lopsided_above", above, (0.0..=1.0).contains(&above), "from 0 to 1")?;
        }
        require("lopsided_plies", self.lopsided_plies, self.lopsided_plies >= 1, "at least 1")?;
        require("cache_mb", self.cache_mb, self.cache_mb <= 1 << 20, "at most 1048576")?;
        let both = self.opening_file.is_some() && !self.opening_positions.is_empty();
        require("opening_file", "given", !both, "to be left out where there are opening_positions")?;
        require("resign_plies", self.resign_plies, self.resign_plies >= 1, "at least 1")?;
        require("resign_audit", self.resign_audit, share.contains(&self.resign_audit), "from 0 to 1")
    }

    /// The openings these settings ask for.
    ///
    /// # Errors
    /// An unknown position, or a file that cannot be read.
    pub fn openings(&self, variant: &Arc<Variant>) -> Result<Openings, OpeningsError> {
        let openings = Openings::new(variant, self.opening_plies).with_positions(&self.opening_positions)?;
        let openings = self.opening_file.iter().try_fold(openings, |openings, path| openings.with_file(path))?;
        Ok(if self.opening_balanced { openings.balanced() } else { openings })
    }

    /// The settings that games depend on, with those of the search, as JSON for the records. `openings` are those of these
    /// settings.
    pub fn settings(&self, search: &SearchConfig, openings: &Openings) -> String {
        let mut selfplay = json(self);
        if let Some(keys) = selfplay.as_object_mut() {
            for key in ["games", "games_per_thread", "games_per_shard", "cache_mb"] {
                keys.remove(key);
            }
            // What the file says, not where it lies.
            if keys.remove("opening_file").is_some() {
                keys.insert("opening_file".to_owned(), format!("{:016x}", openings.fingerprint()).into());
            }
        }
        serde_json::json!({ "search": json(search), "selfplay": selfplay }).to_string()
    }
}

/// Through text, so that an `f32` keeps the digits it is written with.
fn json(settings: &impl Serialize) -> serde_json::Value {
    let text = serde_json::to_string(settings).expect("numbers are JSON");
    serde_json::from_str(&text).expect("JSON comes back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_leave_out_what_games_do_not_depend_on() {
        let config = SelfplayConfig::default();
        let openings = config.openings(&Variant::load("chu", None).expect("built in")).expect("the usual start");
        let settings = config.settings(&SearchConfig::default(), &openings);
        assert!(settings.contains(r#""resign_audit":0.1"#) && settings.contains(r#""simulations":32"#), "{settings}");
        let other = SelfplayConfig { games: 1, games_per_thread: 1, games_per_shard: 1, cache_mb: 1, ..config.clone() };
        assert_eq!(other.settings(&SearchConfig::default(), &openings), settings);
        let other = SelfplayConfig { sample_plies: 1, ..config };
        assert_ne!(other.settings(&SearchConfig::default(), &openings), settings);
    }

    #[test]
    fn configurations_are_strict() {
        let parse = |text: &str| serde_json::from_str::<SelfplayConfig>(text);
        assert_eq!(parse("{}").expect("all keys have defaults"), SelfplayConfig::default());
        assert!(parse(r#"{"game": 5}"#).expect_err("unknown").to_string().contains("game"));
        for (text, key) in [
            (r#"{"full_fraction": 1.5}"#, "full_fraction"),
            (r#"{"games_per_shard": 0}"#, "games_per_shard"),
            (r#"{"resign_below": 0.5}"#, "resign_below"),
        ] {
            assert_eq!(parse(text).expect("numbers").validate().expect_err(text).key, key);
        }
    }
}

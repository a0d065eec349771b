//! Variant files as written: TOML read into plain structures, nothing derived yet.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

use crate::rules::Rules;

/// A variant file as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantSpec {
    /// Name on the command line.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Name in Japanese.
    pub kanji: String,
    /// Where the rules are from.
    pub sources: Vec<String>,
    /// Number of files.
    pub files: Spanned<u8>,
    /// Number of ranks.
    pub ranks: Spanned<u8>,
    /// SFEN of the start position.
    pub start: Spanned<String>,
    /// Further start positions by name.
    #[serde(default)]
    pub positions: BTreeMap<String, Spanned<String>>,
    /// The ruleset used when none is named.
    pub default_ruleset: Spanned<String>,
    /// Rules that all rulesets share unless they say otherwise.
    #[serde(default)]
    pub rules: Rules,
    /// Rulesets by name.
    pub rulesets: BTreeMap<String, RulesetSpec>,
    /// The pieces.
    pub piece: Vec<PieceSpec>,
}

/// A named set of changes to the shared rules and moves.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesetSpec {
    /// What it is, in a sentence.
    pub title: String,
    /// Keys of `[rules]` with other values.
    #[serde(default)]
    pub rules: BTreeMap<String, Spanned<toml::Value>>,
    /// Other moves of single pieces, by id.
    #[serde(default)]
    pub moves: BTreeMap<String, Spanned<MovesSpec>>,
}

/// How a piece moves.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MovesSpec {
    /// Ordinary moves in Betza's notation (dialect in the documentation of variant files).
    #[serde(default)]
    pub betza: String,
    /// The power of two king steps.
    #[serde(default)]
    pub lion: bool,
    /// The power of two or three steps on a line.
    #[serde(default)]
    pub line_lion: Option<LineLionSpec>,
    /// Slides with one turn of 90 degrees: Betza `W` for orthogonal ones, `F` for diagonal ones.
    #[serde(default)]
    pub hook: String,
}

/// The power of moving along a line like a lion.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineLionSpec {
    /// 2 or 3 steps.
    pub steps: u8,
    /// Directions as Betza single steps, e.g. `fF`.
    pub directions: String,
}

/// A piece as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieceSpec {
    /// Name in files and tables.
    pub id: Spanned<String>,
    /// English name.
    pub name: String,
    /// Name in Japanese.
    pub kanji: String,
    /// One or two characters for boards.
    pub symbol: String,
    /// Reading of the Japanese name.
    pub romaji: String,
    /// Letters of the unpromoted piece in SFEN, upper case. A piece without a code stands on the board only as the
    /// promoted side of another one.
    #[serde(default)]
    pub code: Option<Spanned<String>>,
    /// Abbreviation in TSA notation.
    pub tsa: String,
    /// How it moves.
    pub moves: Spanned<MovesSpec>,
    /// The piece it moves as once promoted.
    #[serde(default)]
    pub promotes_to: Option<Spanned<String>>,
    /// Its loss, if it is the last royal, loses the game.
    #[serde(default)]
    pub royal: bool,
    /// A lion for the rules of lion trading.
    #[serde(default)]
    pub lion_trade: bool,
    /// A minor piece: no bridge for a lion, and it does not count against a bare king.
    #[serde(default)]
    pub minor: bool,
    /// The piece it becomes in a left-right reflection; itself if absent, `none` if there is none.
    #[serde(default)]
    pub mirror: Option<Spanned<String>>,
}

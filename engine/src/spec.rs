//! Variant files as written: TOML read into plain structures, nothing derived yet.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;

/// A variant file as written. A file that extends a built-in variant gives only what differs: other keys come from there,
/// tables are merged key by key, pieces by id.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariantSpec {
    /// Built-in variant from which everything comes that the file does not say.
    #[serde(default)]
    pub extends: Option<Spanned<String>>,
    /// Name on the command line.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Name in Japanese.
    #[serde(default)]
    pub kanji: Option<String>,
    /// Where the rules are from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Number of files.
    #[serde(default)]
    pub files: Option<Spanned<u8>>,
    /// Number of ranks.
    #[serde(default)]
    pub ranks: Option<Spanned<u8>>,
    /// SFEN of the start position.
    #[serde(default)]
    pub start: Option<Spanned<String>>,
    /// Further start positions by name, handicaps for instance.
    #[serde(default)]
    pub positions: BTreeMap<String, Spanned<String>>,
    /// The ruleset used when none is named.
    #[serde(default)]
    pub default_ruleset: Option<Spanned<String>>,
    /// Rules that all rulesets share unless they say otherwise: keys of [`Rules`](crate::Rules).
    #[serde(default)]
    pub rules: BTreeMap<String, Spanned<toml::Value>>,
    /// Rulesets by name.
    #[serde(default)]
    pub rulesets: BTreeMap<String, RulesetSpec>,
    /// Documented other moves of single pieces, by name, which rulesets may pick.
    #[serde(default)]
    pub alternatives: BTreeMap<String, AlternativeSpec>,
    /// The pieces.
    #[serde(default)]
    pub piece: Vec<PieceSpec>,
}

/// Another way in which a source has a piece move.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlternativeSpec {
    /// The piece's id.
    pub piece: Spanned<String>,
    /// Who has it so.
    pub source: String,
    /// How it moves there.
    pub moves: Spanned<MovesSpec>,
}

/// A named set of changes to the shared rules and moves.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RulesetSpec {
    /// What it is, in a sentence.
    pub title: String,
    /// Keys of `[rules]` with other values.
    #[serde(default)]
    pub rules: BTreeMap<String, Spanned<toml::Value>>,
    /// Names of alternatives that hold.
    #[serde(default)]
    pub alternatives: Vec<Spanned<String>>,
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
    /// Slides that pass over pieces of either side, capturing none of them: directions as Betza single steps.
    #[serde(default)]
    pub range_over: Option<RangeOverSpec>,
    /// Slides with one turn of 90 degrees: Betza `W` for orthogonal ones, `F` for diagonal ones.
    #[serde(default)]
    pub hook: String,
}

/// The power of sliding over pieces.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeOverSpec {
    /// How many pieces it passes at most.
    pub pieces: u8,
    /// Directions as Betza single steps, e.g. `W`.
    pub directions: String,
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
#[derive(Clone, Debug, Deserialize)]
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

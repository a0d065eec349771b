//! The twin's rule switches, as `twin_rules.toml` gives them.

use serde::Deserialize;

/// When a piece may promote.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Promotion {
    /// A move that starts or ends in the zone.
    Touch,
    /// Entering the zone, or a capture that starts or ends in it.
    EntryOrCapture,
    /// Entering the zone only.
    Entry,
    /// With the first capture, forced.
    FirstCapture,
}

/// Whether the ban after a non-lion took a lion asks for protection.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CounterStrike {
    #[default]
    Always,
    ProtectedOnly,
}

/// What a repeated position means.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Repetition {
    /// No earlier position may be made again.
    Ban,
    /// No position may be made for the fourth time.
    BanFourth,
    /// Fourth occurrence: draw.
    Draw,
    /// Fourth occurrence: draw, but who checked with every move loses.
    PerpetualCheck,
    /// Fourth occurrence: draw, but who alone attacked with every move loses.
    PerpetualAttack,
    /// Fourth occurrence: the instigator loses (checker, attacker, first to pass), else a draw.
    Instigator,
}

/// What a bare royal means.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bare {
    None,
    /// Any material beside a royal wins, but a single minor piece.
    AnyMaterial,
    /// Two counting pieces win, with conditions of adjacency and attack.
    TwoCounting,
}

/// When the royals are counted where check must be answered.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoyalCount {
    #[default]
    BeforeTheMove,
    AfterTheMove,
}

/// Squares from the last rank on which a piece must promote.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forced {
    pub(crate) pieces: Vec<String>,
    pub(crate) ranks: i32,
}

/// Every switch of the rules.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwinRules {
    pub(crate) moves: String,
    pub(crate) pieces: String,
    /// A set of other moves in `alternatives_daidai.toml`.
    #[serde(default)]
    pub(crate) alternatives: Option<String>,
    pub(crate) royals: Vec<String>,
    pub(crate) lions: Vec<String>,
    pub(crate) minors: Vec<String>,
    pub(crate) stuck: Vec<String>,
    /// Pieces that are not on the board at the start, but in reserve.
    #[serde(default)]
    pub(crate) reserve: Vec<String>,
    #[serde(default)]
    pub(crate) zone: i32,
    pub(crate) promotion: Promotion,
    pub(crate) second_chance: Vec<String>,
    #[serde(default)]
    pub(crate) forced: Vec<Forced>,
    #[serde(default)]
    pub(crate) lion_trading: bool,
    #[serde(default)]
    pub(crate) captured_minor_still_protects: bool,
    #[serde(default)]
    pub(crate) counter_strike: CounterStrike,
    /// Whether the ban holds for lions too.
    #[serde(default)]
    pub(crate) counter_strike_binds_lions: bool,
    #[serde(default)]
    pub(crate) same_square_exempt: bool,
    #[serde(default)]
    pub(crate) mid_square_tested: bool,
    pub(crate) repetition: Repetition,
    #[serde(default)]
    pub(crate) repetition_ignores_ban_square: bool,
    #[serde(default)]
    pub(crate) same_kind_when_promoted: bool,
    /// Whether the ban of repetition lets a side in check go.
    #[serde(default)]
    pub(crate) check_may_repeat: bool,
    /// Whether a fourth occurrence with nobody to blame is lost for who made it.
    #[serde(default)]
    pub(crate) repeater_loses: bool,
    pub(crate) bare: Bare,
    /// Whether one bare royal may still take the other.
    #[serde(default)]
    pub(crate) bare_royals_play_on: bool,
    /// Whether a bare royal may play on against a royal and several pieces.
    #[serde(default)]
    pub(crate) bare_plays_on_against_many: bool,
    /// Whether a bare royal loses to a side with one royal only.
    #[serde(default)]
    pub(crate) bare_loses_to_single_royal_only: bool,
    /// Whether a bare side may save itself by baring the other on its next move.
    #[serde(default)]
    pub(crate) rebare: bool,
    /// Whether having no move is a draw and not a loss.
    #[serde(default)]
    pub(crate) no_moves_is_a_draw: bool,
    #[serde(default)]
    pub(crate) must_answer_check: bool,
    #[serde(default)]
    pub(crate) royals_counted: RoyalCount,
    #[serde(default)]
    pub(crate) step_then_jump: bool,
    #[serde(default)]
    pub(crate) ply_cap: Option<usize>,
}

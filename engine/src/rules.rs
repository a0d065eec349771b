//! The rules a ruleset chooses from: one closed enum or switch for each question. Values are those of variant files.

use serde::{Deserialize, Serialize};

/// When a piece may or must promote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Promotion {
    /// Never.
    None,
    /// May, if the move starts or ends in the zone.
    ZoneTouch,
    /// May, on entering the zone, or by a capture that starts or ends in it.
    ZoneEntryOrCapture,
    /// May, on entering the zone only.
    ZoneEntry,
    /// Must, at the end of its first capturing move, anywhere.
    FirstCapture,
}

/// Whether a lion may take a lion two squares away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LionAtDistance {
    /// Always.
    Free,
    /// Only one that could not be recaptured, unless the bridge capture allows it.
    UnprotectedOnly,
}

/// Whether taking a further piece on the way makes the capture of a protected lion at a distance legal (tsukegui).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BridgeCapture {
    /// It does not.
    None,
    /// It does if that piece is not a minor one.
    Substantial,
}

/// Whether a lion is safe on the move after a non-lion took a lion (sakishishi).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CounterStrike {
    /// It is not.
    None,
    /// It is, protected or not.
    Always,
    /// It is if it is protected.
    ProtectedOnly,
}

/// What happens when a position comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repetition {
    /// Nothing.
    Ignored,
    /// A move that recreates any earlier position is illegal.
    SecondForbidden,
    /// A move that makes a position stand for the fourth time is illegal.
    FourthForbidden,
    /// The game ends when a position stands for the fourth time; `repetition_burden` says for whom.
    FourthEnds,
}

/// Who loses a game that ends by repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepetitionBurden {
    /// Nobody: a draw.
    Draw,
    /// A side that gave check with every move of the cycle, if the other did not.
    Check,
    /// A side that attacked with every move of the cycle, if the other did not.
    Attack,
    /// In this order: who checks with every move; who attacks when the other does not; of two sides that only pass, who
    /// passed first.
    CheckThenAttackThenPass,
}

/// Result of a repetition for which the burden names nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoInstigator {
    /// A draw.
    Draw,
    /// The side that would have to move loses.
    SideToMove,
}

/// What a side with nothing but one royal piece means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BareKing {
    /// Nothing.
    None,
    /// It loses; see `bare_immediate_rebare`.
    Loses,
    /// It loses against a royal and one counting piece that it cannot take at once; see `bare_against_many`.
    Jcsa,
    /// It loses against enough counting pieces as lishogi counts them; two bare royals are a draw.
    Lishogi,
}

/// What a bared royal against several pieces means under `BareKing::Jcsa`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BareAgainstMany {
    /// It loses as against one.
    Win,
    /// The game goes on.
    PlayOn,
}

/// Whether a bared side that can bare the other on its next move escapes, under `BareKing::Loses`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BareRebare {
    /// It does not.
    Ignored,
    /// It gets that move; two bare royals are a draw.
    Draw,
}

/// Result for a side that has no legal move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stalemate {
    /// It loses.
    Loss,
    /// A draw.
    Draw,
}

/// Whether a side may leave its royal where it can be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MustAnswerCheck {
    /// It may.
    No,
    /// Not a side that has exactly one royal before the move.
    SoleRoyal,
}

/// Whether pieces in reserve may be put on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drops {
    /// There is no reserve.
    None,
    /// Unpromoted, on an empty square next to a piece of one's own, but not where the piece could never move. One that is
    /// put into the promotion zone may promote at once, or on any move that it starts there before it leaves the zone.
    NextToOwn,
}

/// The rules of a variant under one ruleset, apart from how pieces move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Pieces in reserve.
    pub drops: Drops,
    /// When pieces promote.
    pub promotion: Promotion,
    /// Depth of the promotion zone, in ranks from the far edge.
    pub zone_ranks: u8,
    /// Pieces that may also promote when they reach the last rank without a capture.
    pub second_chance: Vec<String>,
    /// Pieces that must promote when they end on one of the last so many ranks.
    pub forced: std::collections::BTreeMap<String, u8>,
    /// Pieces that never promote although they have a promoted side.
    pub never_promote: Vec<String>,
    /// Lion takes lion two squares away.
    pub lion_at_distance: LionAtDistance,
    /// Lion takes lion and another piece on the way.
    pub bridge_capture: BridgeCapture,
    /// A minor piece taken on the way still protects the lion it protected.
    pub captured_minor_still_protects: bool,
    /// Lion taken after a non-lion took a lion.
    pub counter_strike: CounterStrike,
    /// The piece that took the lion may be retaken on its square even if it is a lion now.
    pub same_square_exempt: bool,
    /// The ban also holds for a lion taken on the way.
    pub mid_square_tested: bool,
    /// The ban also binds lions as capturers, except for adjacent and bridge captures.
    pub counter_strike_binds_lions: bool,
    /// Positions that come back.
    pub repetition: Repetition,
    /// Who loses when the fourth occurrence ends the game.
    pub repetition_burden: RepetitionBurden,
    /// What if the burden names nobody.
    pub no_instigator: NoInstigator,
    /// Under `second_forbidden` and `fourth_forbidden`: a side whose royal is attacked may repeat.
    pub check_may_repeat: bool,
    /// The lion ban is not part of the position for repetition.
    pub repetition_ignores_ban: bool,
    /// Pieces that move and promote alike are the same for repetition, whatever they were before their promotion.
    pub repetition_by_type: bool,
    /// A side with nothing but a royal.
    pub bare_king: BareKing,
    /// A bared royal against several pieces.
    pub bare_against_many: BareAgainstMany,
    /// A bared side that can bare the other at once.
    pub bare_immediate_rebare: BareRebare,
    /// A side without a legal move.
    pub stalemate: Stalemate,
    /// Royals left where they can be taken.
    pub must_answer_check: MustAnswerCheck,
    /// The game is a draw after so many plies; 0 for no limit.
    pub ply_cap: u32,
    /// A line lion may step to the first square and jump over the second to the third.
    pub step_then_jump: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Rules {
            drops: Drops::None,
            promotion: Promotion::None,
            zone_ranks: 0,
            second_chance: Vec::new(),
            forced: Default::default(),
            never_promote: Vec::new(),
            lion_at_distance: LionAtDistance::Free,
            bridge_capture: BridgeCapture::Substantial,
            captured_minor_still_protects: false,
            counter_strike: CounterStrike::None,
            same_square_exempt: true,
            mid_square_tested: true,
            counter_strike_binds_lions: false,
            repetition: Repetition::Ignored,
            repetition_burden: RepetitionBurden::Draw,
            no_instigator: NoInstigator::Draw,
            check_may_repeat: false,
            repetition_ignores_ban: false,
            repetition_by_type: false,
            bare_king: BareKing::None,
            bare_against_many: BareAgainstMany::Win,
            bare_immediate_rebare: BareRebare::Ignored,
            stalemate: Stalemate::Loss,
            must_answer_check: MustAnswerCheck::No,
            ply_cap: 0,
            step_then_jump: true,
        }
    }
}

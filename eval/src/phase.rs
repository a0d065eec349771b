//! Phases of a game, and what pieces are worth in each.

use serde::{Deserialize, Serialize};

use crate::design::Design;
use crate::estimate::{Estimates, Scales, Yardstick};
use crate::interval::Interval;
use crate::values::PieceValue;

/// How far a game is, by the pieces left on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Phase {
    /// More than two thirds of those the game starts with.
    Opening,
    /// More than one third.
    Middlegame,
    /// One third or fewer.
    Endgame,
}

impl Phase {
    /// All of them, in the order of a game.
    pub const ALL: [Phase; 3] = [Phase::Opening, Phase::Middlegame, Phase::Endgame];

    /// The phase with `left` pieces of the `start` that a game begins with.
    pub fn of(left: usize, start: usize) -> Phase {
        match 3 * left {
            thirds if thirds > 2 * start => Phase::Opening,
            thirds if thirds > start => Phase::Middlegame,
            _ => Phase::Endgame,
        }
    }

    /// `opening`, `middlegame` or `endgame`.
    pub fn as_str(self) -> &'static str {
        ["opening", "middlegame", "endgame"][self as usize]
    }
}

/// Values in one phase, in the unit of the whole game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseValues {
    /// The phase.
    pub phase: Phase,
    /// Games with a row in it.
    pub games: u64,
    /// Rows in it.
    pub rows: u64,
    /// By how much material counts for more here than on average (over all rows, every game weighing the same), all pieces
    /// keeping their values.
    pub slope: f64,
    /// Logits per unit of value here: one factor makes the pieces that are identified here and in the whole game worth the
    /// same on (geometric) average. `None`, and then no piece has a value, where they are fewer than three.
    pub scale: Option<Interval>,
    /// Pieces that this scale is found from.
    #[serde(default)]
    pub scale_pieces: usize,
    /// Every feature.
    pub pieces: Vec<PieceValue>,
}

impl PhaseValues {
    /// `here` beside `whole`, whose unit is that of `scales`.
    #[expect(clippy::too_many_arguments, reason = "the parts of a result, each used once")]
    pub(crate) fn new<'a>(
        phase: Phase,
        design: &Design,
        slope: f64,
        here: &Estimates,
        whole: &Estimates,
        scales: &Scales,
        names: impl Iterator<Item = &'a str>,
        references: &[Option<f64>],
    ) -> PhaseValues {
        let both = here.pieces.iter().zip(&whole.pieces).filter(|(here, whole)| here.identified && whole.identified);
        let yardsticks: Vec<Yardstick<'_>> = both
            .map(|(piece, whole)| Yardstick {
                piece,
                value: whole.coefficient / scales.estimate,
                replicates: Some(
                    scales.replicates.iter().enumerate().map(|(i, scale)| whole.replicate(i) / scale).collect(),
                ),
            })
            .collect();
        let own = Scales::of(&yardsticks, scales.replicates.len());
        let pieces = names.zip(&here.pieces).zip(references);
        PhaseValues {
            phase,
            games: design.occupied_clusters() as u64,
            rows: design.rows() as u64,
            slope,
            scale_pieces: yardsticks.len(),
            scale: own.as_ref().and_then(Scales::interval),
            pieces: pieces.map(|((id, piece), &reference)| piece.publish(id, own.as_ref(), reference)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Thirds of the 92 pieces of chu shogi, by hand: 61.3 and 30.7.
    #[test]
    fn thirds() {
        let cases = [(92, Phase::Opening), (62, Phase::Opening), (61, Phase::Middlegame), (31, Phase::Middlegame)];
        for (left, phase) in cases.into_iter().chain([(30, Phase::Endgame), (0, Phase::Endgame)]) {
            assert_eq!(Phase::of(left, 92), phase, "{left}");
        }
        assert_eq!(Phase::of(60, 90), Phase::Middlegame, "exactly two thirds are not more");
    }
}

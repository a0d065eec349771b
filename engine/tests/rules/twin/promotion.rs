//! When the twin's pieces promote.

use super::moves::TwinMove;
use super::position::TwinPosition;
use super::rules::Promotion;

/// The choices the move of a piece on the board leaves: stay, promote, or both.
pub(crate) fn choices(position: &TwinPosition, mv: &TwinMove) -> Vec<bool> {
    let rules = &position.variant.rules;
    let piece = position.board[mv.from].expect("a piece moves");
    let kind = position.kind(piece);
    if kind.promotes_to.is_none() {
        return vec![false];
    }
    let to_go = |at: usize| position.variant.ranks_to_go(piece.white, at);
    let (leaves, enters) = (to_go(mv.from) < rules.zone, to_go(mv.to) < rules.zone);
    let (takes, comes_in) = (!mv.captured.is_empty(), enters && !leaves);
    let may = match rules.promotion {
        Promotion::Touch => leaves || enters,
        Promotion::EntryOrCapture => comes_in || (takes && (enters || leaves)),
        Promotion::Entry => comes_in,
        Promotion::FirstCapture => return vec![takes],
    };
    let may = may || position.fresh.contains(&mv.from);
    let last_chance = rules.second_chance.contains(&kind.base) && to_go(mv.to) == 0;
    let forced = rules.forced.iter().any(|f| f.pieces.contains(&kind.base) && to_go(mv.to) < f.ranks);
    match (forced, may || last_chance) {
        (true, _) => vec![true],
        (false, true) => vec![false, true],
        (false, false) => vec![false],
    }
}

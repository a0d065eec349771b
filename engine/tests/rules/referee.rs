//! What the suite asks of a rules core, so that the crate and its slow twin answer the same questions.
//!
//! Moves are texts in one spelling: USI, but a pass is written with a tilde (`7g~7g`), for which neighbour it is
//! written with says nothing.

use crate::twin::{TwinEnd, TwinMove, TwinPosition, TwinVariant};
use std::collections::BTreeSet;

/// A rules core under test.
pub(crate) trait Referee {
    type Position: Clone;

    fn read(game: &str, ruleset: &str, sfen: &str) -> Self::Position;
    fn start(game: &str, ruleset: &str) -> Self::Position;
    fn sfen(position: &Self::Position) -> String;
    /// Number of legal moves, whether or not the game is over.
    fn count(position: &Self::Position) -> usize;
    /// The legal moves.
    fn moves(position: &Self::Position) -> BTreeSet<String>;
    /// A USI text in the spelling of `moves`; none when it cannot be a move here.
    fn spelled(position: &Self::Position, usi: &str) -> Option<String>;
    /// Plays a legal move.
    fn play(position: &Self::Position, usi: &str) -> Self::Position;
    /// The positions after all legal moves.
    fn next(position: &Self::Position) -> Vec<Self::Position>;
    /// The end, from the board alone.
    fn end(position: &Self::Position) -> Option<TwinEnd>;
    /// Whether the side to move attacks a royal of the other.
    fn attacks_a_royal(position: &Self::Position) -> bool;
    /// Whether the side that has just moved attacks a royal of the other.
    fn gives_check(position: &Self::Position) -> bool;
    /// Whether a legal move takes the last royal of the other side.
    fn takes_last_royal(position: &Self::Position) -> bool;

    fn is_legal(position: &Self::Position, usi: &str) -> bool {
        Self::spelled(position, usi).is_some_and(|mv| Self::moves(position).contains(&mv))
    }
}

/// The slow twin.
pub(crate) struct Twin;

impl Referee for Twin {
    type Position = TwinPosition;

    fn read(game: &str, ruleset: &str, sfen: &str) -> TwinPosition {
        TwinPosition::parse(&TwinVariant::load(game, ruleset), sfen)
    }

    fn start(game: &str, ruleset: &str) -> TwinPosition {
        TwinPosition::start(&TwinVariant::load(game, ruleset))
    }

    fn sfen(position: &TwinPosition) -> String {
        position.sfen()
    }

    fn count(position: &TwinPosition) -> usize {
        position.moves().len()
    }

    fn moves(position: &TwinPosition) -> BTreeSet<String> {
        position.moves().iter().map(|mv| position.usi(mv)).collect()
    }

    fn spelled(position: &TwinPosition, usi: &str) -> Option<String> {
        (!position.goes_astray(usi)).then(|| position.usi(&position.parse_usi(usi)))
    }

    fn play(position: &TwinPosition, usi: &str) -> TwinPosition {
        let mv = position.parse_usi(usi);
        assert!(position.moves().contains(&mv), "{usi} is not legal in {}", position.sfen());
        position.after(&mv)
    }

    fn next(position: &TwinPosition) -> Vec<TwinPosition> {
        position.moves().iter().map(|mv| position.after(mv)).collect()
    }

    fn end(position: &TwinPosition) -> Option<TwinEnd> {
        position.end()
    }

    fn attacks_a_royal(position: &TwinPosition) -> bool {
        attacks_a_royal(position, position.white_to_move)
    }

    fn gives_check(position: &TwinPosition) -> bool {
        attacks_a_royal(position, !position.white_to_move)
    }

    fn takes_last_royal(position: &TwinPosition) -> bool {
        let royals = position.royals(!position.white_to_move);
        let takes_all = |mv: &TwinMove| royals.iter().all(|at| mv.captured.contains(at));
        !royals.is_empty() && position.moves().iter().any(takes_all)
    }
}

fn attacks_a_royal(position: &TwinPosition, white: bool) -> bool {
    position.royals(!white).iter().any(|&at| position.attacked(at, white))
}

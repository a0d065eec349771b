//! The end of the twin's games as the board shows it.

use super::position::{TwinPiece, TwinPosition};
use super::rules::Bare;

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TwinEnd {
    /// Whether White won; nobody in a draw.
    pub(crate) white_won: Option<bool>,
    /// The reason in the words of the program's results.
    pub(crate) reason: &'static str,
}

impl TwinEnd {
    pub(crate) fn win(white: bool, reason: &'static str) -> TwinEnd {
        TwinEnd { white_won: Some(white), reason }
    }

    pub(crate) fn draw(reason: &'static str) -> TwinEnd {
        TwinEnd { white_won: None, reason }
    }
}

impl TwinPosition {
    /// The end, when the board alone shows one.
    pub(crate) fn end(&self) -> Option<TwinEnd> {
        self.end_by_material().or_else(|| self.moves().is_empty().then(|| self.end_without_moves()))
    }

    /// The side to move has no move.
    pub(crate) fn end_without_moves(&self) -> TwinEnd {
        let lost = TwinEnd::win(!self.white_to_move, "no_moves");
        if self.variant.rules.no_moves_is_a_draw { TwinEnd::draw("no_moves") } else { lost }
    }

    /// The end by lost or bare royals. A board set up without any royal has no end.
    pub(crate) fn end_by_material(&self) -> Option<TwinEnd> {
        match [false, true].map(|white| self.royals(white).is_empty()) {
            [true, true] => return None,
            [false, false] => {}
            [black_lost, _] => return Some(TwinEnd::win(black_lost, "royal_captured")),
        }
        match self.variant.rules.bare {
            Bare::None => None,
            Bare::AnyMaterial => self.end_any_material(),
            Bare::TwoCounting => self.end_two_counting(),
        }
    }

    /// A side's pieces without those that are stuck for good.
    fn alive(&self, white: bool) -> Vec<(usize, TwinPiece)> {
        let dead = |at: usize, p: TwinPiece| self.kind(p).stuck && self.variant.ranks_to_go(white, at) == 0;
        self.of_side(white).into_iter().filter(|&(at, p)| !dead(at, p)).collect()
    }

    /// The square of a side's royal when it has nothing else alive, on the board or in reserve.
    fn lone_royal(&self, white: bool) -> Option<usize> {
        self.only_royal_on_board(white).filter(|_| !self.has_reserve(white))
    }

    /// The same without a look at the reserve, which saves from being bare and counts for nothing else.
    fn only_royal_on_board(&self, white: bool) -> Option<usize> {
        match self.alive(white)[..] {
            [(at, piece)] if self.kind(piece).royal => Some(at),
            _ => None,
        }
    }

    /// A bare royal loses to any material, but not to one minor piece; the bare side may first bare the other side,
    /// which is a draw, or take its last royal.
    fn end_any_material(&self) -> Option<TwinEnd> {
        let mover = self.white_to_move;
        if let (Some(lone), Some(_)) = (self.lone_royal(mover), self.lone_royal(!mover)) {
            let wins = |mv| self.after(&mv).royals(!mover).is_empty();
            let wins = self.variant.rules.bare_royals_play_on && self.moves_from(lone).into_iter().any(wins);
            return (!wins).then(|| TwinEnd::draw("bare_king"));
        }
        for white in [mover, !mover] {
            let Some(lone) = self.lone_royal(white) else { continue };
            let others: Vec<_> = self.alive(!white).into_iter().filter(|&(_, p)| !self.kind(p).royal).collect();
            let royals = self.royals(!white).len();
            if royals == 1 && others.len() == 1 && self.kind(others[0].1).minor {
                continue;
            }
            // Nothing but a royal on the board, and a reserve.
            if royals == 1 && others.is_empty() {
                continue;
            }
            if self.variant.rules.bare_plays_on_against_many && others.len() + royals > 2 {
                continue;
            }
            let saved = |mv| {
                let after = self.after(&mv);
                after.royals(!white).is_empty() || after.only_royal_on_board(!white).is_some()
            };
            if white == mover && self.variant.rules.rebare && self.moves_from(lone).into_iter().any(saved) {
                continue;
            }
            return Some(TwinEnd::win(!white, "bare_king"));
        }
        None
    }

    /// Against a lone royal two counting pieces win, one of them royal, when no royal of theirs is attacked and, with
    /// two only, neither stands beside it. Two lone royals that do not attack each other: a draw.
    fn end_two_counting(&self) -> Option<TwinEnd> {
        let attacked = |white: bool| self.royals(white).iter().any(|&at| self.attacked(at, !white));
        let mover = self.white_to_move;
        if self.lone_royal(mover).is_some() && self.lone_royal(!mover).is_some() {
            return (!attacked(mover) && !attacked(!mover)).then(|| TwinEnd::draw("bare_king"));
        }
        for white in [mover, !mover] {
            let Some(lone) = self.lone_royal(white) else { continue };
            let counting: Vec<_> = self.alive(!white).into_iter().filter(|&(_, p)| !self.kind(p).minor).collect();
            let beside = counting.iter().any(|&(at, _)| self.variant.distance(at, lone) == 1);
            let enough = counting.len() >= 3 || (counting.len() == 2 && !beside);
            let royals = !self.variant.rules.bare_loses_to_single_royal_only || self.royals(!white).len() == 1;
            if enough && royals && !attacked(!white) {
                return Some(TwinEnd::win(!white, "bare_king"));
            }
        }
        None
    }
}

//! Lion trading: when a lion may be captured. A lion here is any piece that the variant file marks with `lion_trade`.
//!
//! Rules R1 to R6 of the documentation of chu shogi, after the regulations of the Japanese Chu Shogi Association and
//! Wikipedia's article.

use crate::geometry::Square;
use crate::moves::Move;
use crate::position::{Position, Set};
use crate::rules::{BridgeCapture, CounterStrike, LionAtDistance};

impl Position {
    /// Whether the rules of lion trading allow a move that the pieces could make.
    pub(crate) fn lion_trade_allows(&self, mv: Move) -> bool {
        let variant = &*self.variant;
        let us = self.state.side;
        let lions = self.set(!us, Set::Lions);
        if lions.is_empty() {
            return true;
        }
        let (from, to) = (mv.from(), mv.to());
        let [first, second] = mv.on_the_way(variant.board);
        let victims = [first, second, (to != from).then_some(to)];
        if !victims.iter().flatten().any(|&square| lions.has(square)) {
            return true;
        }
        let lion_moves = self.set(us, Set::Lions).has(from);
        victims.into_iter().flatten().filter(|&square| lions.has(square)).all(|lion| {
            if lion_moves { self.lion_may_take_lion(mv, first, lion) } else { self.counter_strike_allows(mv, lion) }
        })
    }

    fn lion_may_take_lion(&self, mv: Move, first: Option<Square>, lion: Square) -> bool {
        let variant = &*self.variant;
        let rules = &variant.rules;
        if variant.board.distance(mv.from(), lion) <= 1 {
            return true;
        }
        let bridge = first.and_then(|square| self.piece_at(square));
        let substantial = bridge.is_some_and(|piece| !variant.kind_rules[piece.kind.index()].minor);
        if rules.bridge_capture == BridgeCapture::Substantial && substantial {
            return true;
        }
        if rules.counter_strike_binds_lions && !self.counter_strike_allows(mv, lion) {
            return false;
        }
        rules.lion_at_distance == LionAtDistance::Free || !self.is_protected(mv, lion)
    }

    /// The ban on capturing a lion right after a non-lion captured one (sakishishi).
    fn counter_strike_allows(&self, mv: Move, lion: Square) -> bool {
        let rules = &self.variant.rules;
        let Some(ban) = self.state.ban else { return true };
        if (lion == ban && rules.same_square_exempt) || (lion != mv.to() && !rules.mid_square_tested) {
            return true;
        }
        match rules.counter_strike {
            CounterStrike::None => true,
            CounterStrike::Always => false,
            CounterStrike::ProtectedOnly => !self.is_protected(mv, lion),
        }
    }

    /// Whether the other side could capture on the square of the captured lion at the moment `mv` captures it: the mover
    /// and what it took before are off the board, what it takes after is not. Pieces behind the mover count, and so do
    /// royals.
    fn is_protected(&self, mv: Move, lion: Square) -> bool {
        let [first, second] = mv.on_the_way(self.variant.board);
        let before = match lion {
            lion if first == Some(lion) => [None, None],
            lion if second == Some(lion) => [first, None],
            _ => [first, second],
        };
        let minor_protects = |square: Square| {
            let piece = self.piece_at(square).expect("captured pieces stand on their squares");
            self.variant.kind_rules[piece.kind.index()].minor && self.piece_attacks(square, lion)
        };
        if self.variant.rules.captured_minor_still_protects && before.into_iter().flatten().any(minor_protects) {
            return true;
        }
        self.is_attacked_without(lion, !self.state.side, [Some(mv.from()), before[0], before[1]])
    }
}

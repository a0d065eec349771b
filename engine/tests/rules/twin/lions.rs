//! The twin's rules about lions taking lions (R1 to R3, R4 and R6 of the rules' text; R5 is that all else may).

use super::moves::TwinMove;
use super::position::TwinPosition;
use super::rules::CounterStrike;

impl TwinPosition {
    /// Whether the rules about lions allow a move.
    pub(crate) fn lion_rules_allow(&self, mv: &TwinMove) -> bool {
        if !self.variant.rules.lion_trading {
            return true;
        }
        let mover = self.board[mv.from].expect("a piece moves");
        let is_lion = |at: usize| self.board[at].is_some_and(|p| self.kind(p).lion);
        let mut lions = mv.captured.iter().copied().filter(|&at| is_lion(at));
        if self.kind(mover).lion {
            lions.all(|lion| self.lion_may_take(mv, lion))
        } else {
            self.ban.is_none_or(|ban| lions.all(|lion| self.counter_strike_allows(mv, lion, ban)))
        }
    }

    fn lion_may_take(&self, mv: &TwinMove, lion: usize) -> bool {
        // R1: a neighbour, always.
        if self.variant.distance(mv.from, lion) <= 1 {
            return true;
        }
        let on_the_way = mv.captured.iter().copied().find(|&at| at != lion);
        let minor = |at: usize| self.board[at].is_some_and(|p| self.kind(p).minor);
        // R3: together with a piece of substance.
        if on_the_way.is_some_and(|at| !minor(at)) {
            return true;
        }
        // R6, where it holds for lions too; what R1 and R3 allow outranks it.
        if let Some(ban) = self.ban.filter(|_| self.variant.rules.counter_strike_binds_lions)
            && !self.counter_strike_allows(mv, lion, ban)
        {
            return false;
        }
        // R2: else only when nobody could take back.
        let enemy = !self.white_to_move;
        let after = self.after(mv);
        if after.attacked(lion, enemy) {
            return false;
        }
        // R4: a minor piece eaten on the way may still count as the one who would have taken back.
        let Some(eaten) = on_the_way.filter(|_| self.variant.rules.captured_minor_still_protects) else { return true };
        let mut restored = after;
        restored.board[eaten] = self.board[eaten];
        !restored.free_moves(eaten).iter().any(|m| m.captured.contains(&lion))
    }

    /// R6, for a capture on the move after a non-lion took a lion on `ban`.
    fn counter_strike_allows(&self, mv: &TwinMove, lion: usize, ban: usize) -> bool {
        let rules = &self.variant.rules;
        if rules.same_square_exempt && lion == ban {
            return true;
        }
        if !rules.mid_square_tested && lion != mv.to {
            return true;
        }
        match rules.counter_strike {
            CounterStrike::Always => false,
            CounterStrike::ProtectedOnly => {
                // The capturer is thought to stop on the lion's square: what it takes later still stands.
                let reach = self.variant.distance(mv.from, lion);
                let so_far = |at: &usize| self.variant.distance(mv.from, *at) <= reach;
                let captured = mv.captured.iter().copied().filter(so_far).collect();
                let stopped = TwinMove { from: mv.from, to: lion, captured, ..TwinMove::default() };
                !self.after(&stopped).attacked(lion, !self.white_to_move)
            }
        }
    }
}

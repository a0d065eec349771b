//! Who is to blame when a position stands for the fourth time.

use crate::game::Game;
use crate::geometry::Color;
use crate::moves::Move;
use crate::outcome::{Outcome, Reason};
use crate::position::Position;
use crate::rules::{NoInstigator, RepetitionBurden};

/// What all moves of one side in the cycle have in common.
#[derive(Clone, Copy)]
struct Conduct {
    checks: bool,
    attacks: bool,
    passes: bool,
}

impl Game {
    /// The result of a game whose position stands for the fourth time, judged by all moves since it stood first.
    pub(crate) fn repetition_outcome(&mut self) -> Outcome {
        let mut conduct = [Conduct { checks: true, attacks: true, passes: true }; 2];
        let mut first_mover = self.position().side_to_move();
        self.walk_back(|position, mv, moves| {
            let mover = !position.side_to_move();
            let checks = position.in_check(!mover);
            let side = &mut conduct[mover.index()];
            side.checks &= checks;
            // Costs more than the check test, so only asked while it can matter.
            side.attacks = side.attacks && (checks || last_moved_attacks(position, mv, moves));
            side.passes &= mv.is_pass();
            first_mover = mover;
        });
        let rules = &self.position().variant().rules;
        let only = |what: fn(&Conduct) -> bool| {
            let [black, white] = [what(&conduct[0]), what(&conduct[1])];
            (black != white).then_some(if black { Color::Black } else { Color::White })
        };
        let lost = |loser: Color, reason| Outcome::win(!loser, reason);
        let checker = || only(|side| side.checks).map(|loser| lost(loser, Reason::PerpetualCheck));
        let attacker = || only(|side| side.attacks).map(|loser| lost(loser, Reason::PerpetualAttack));
        let passer = || {
            let both = conduct[0].passes && conduct[1].passes;
            both.then(|| lost(first_mover, Reason::RepetitionBurden))
        };
        let blamed = match rules.repetition_burden {
            RepetitionBurden::Draw => None,
            RepetitionBurden::Check => checker(),
            RepetitionBurden::Attack => attacker(),
            RepetitionBurden::CheckThenAttackThenPass => checker().or_else(attacker).or_else(passer),
        };
        blamed.unwrap_or(match rules.no_instigator {
            NoInstigator::Draw => Outcome::draw(Reason::Repetition),
            NoInstigator::SideToMove => lost(!self.position().side_to_move(), Reason::RepetitionBurden),
        })
    }
}

/// Whether the piece that just made `mv` could capture something from where it stands, were it its turn.
fn last_moved_attacks(position: &mut Position, mv: Move, moves: &mut Vec<Move>) -> bool {
    position.with_turn_given(|turned| {
        turned.legal_moves_of(mv.to(), moves);
        moves.iter().any(|&next| turned.captures(next).next().is_some())
    })
}

//! Drawing a random move without listing them all.

use crate::game::Game;
use crate::geometry::Square;
use crate::moves::Move;
use crate::position::{Position, Set};
use crate::variant::Rays;

/// Draws legal moves, each with the same probability, several times as fast as listing them.
///
/// Every piece has a number of slots, and each of its moves belongs to one. An ordinary piece has a slot for each slide that it
/// could make on an empty board, of so many steps in one direction, and where some of its moves have a choice to promote a
/// second one for each. A piece with powers of several steps has as many slots as it can ever have moves. A slot is drawn
/// evenly; if it has no move now, another is drawn, which leaves all moves alike.
#[derive(Clone, Debug, Default)]
pub struct MoveSampler {
    /// The mover's pieces, each with the number of slots up to its own.
    pieces: Vec<(u32, Square)>,
    moves: Vec<Move>,
}

/// The most moves for each neighbour that a lion takes on its way: nine ends, promoting or not.
const WAYS: u32 = 2 * 9;

/// Slots drawn before all moves are listed after all.
const ATTEMPTS: usize = 200;

impl MoveSampler {
    /// A legal move of a game, drawn evenly; `None` once it has ended. `draw` returns an even number below its argument.
    pub fn draw(&mut self, game: &Game, mut draw: impl FnMut(usize) -> usize) -> Option<Move> {
        if game.outcome().is_some() {
            return None;
        }
        let position = game.position();
        if !position.must_answer_check() && !position.has_reserve(position.side_to_move()) {
            self.number_slots(position);
            for _ in 0..ATTEMPTS {
                match self.try_slot(position, &mut draw) {
                    Some(mv) if game.may_play(mv) => return Some(mv),
                    _ => {}
                }
            }
        }
        game.legal_moves(&mut self.moves);
        let count = self.moves.len();
        (count > 0).then(|| self.moves[draw(count)])
    }

    fn number_slots(&mut self, position: &Position) {
        let us = position.side_to_move();
        let special = position.set(us, Set::Special);
        let (slots, squares) = (position.variant.slots.as_slice(), position.variant.squares());
        let slots = |square: Square| {
            let code = position.state.board[square.index()] as usize;
            u32::from(slots[code * squares + square.index()].all)
        };
        self.pieces.clear();
        let mut all = 0;
        for (i, mut word) in position.set(us, Set::Occupied).without(special).0.into_iter().enumerate() {
            // So many pieces are written without a look at the capacity for each.
            self.pieces.extend((0..word.count_ones()).map(|_| {
                let square = Square::new(i * 64 + word.trailing_zeros() as usize);
                word &= word - 1;
                all += slots(square);
                (all, square)
            }));
        }
        if !special.is_empty() {
            let enemy = position.set(!us, Set::Occupied);
            special.for_each(|square| {
                all += slots(square) + WAYS * position.variant.neighbours[square.index()].and(enemy).count() as u32;
                self.pieces.push((all, square));
            });
        }
    }

    fn try_slot(&mut self, position: &Position, draw: &mut impl FnMut(usize) -> usize) -> Option<Move> {
        let &(all, _) = self.pieces.last()?;
        let number = draw(all.max(1) as usize) as u32;
        let piece = self.pieces.partition_point(|&(up_to, _)| up_to <= number);
        let &(up_to, from) = self.pieces.get(piece)?;
        let slot = up_to - 1 - number;
        let code = position.state.board[from.index()];
        let powers = &position.variant.powers[position.variant.code_kind(code)];
        if powers.special {
            position.legal_moves_of(from, &mut self.moves);
            return self.moves.get(slot as usize).copied();
        }
        let ends = position.variant.slots(code, from).ends.into();
        let (end, choice) = if slot < ends { (slot, 0) } else { (slot - ends, 1) };
        let to = position.end_of_slot(&powers.rays, from, end)?;
        position.choices(Move::plain(from, to), &mut self.moves);
        self.moves.get(choice).copied()
    }
}

impl Position {
    /// Where a slide ends that is number `slot` of all that the piece on `from` could make on an empty board, if it can
    /// make it.
    fn end_of_slot(&self, rays: &Rays, from: Square, mut slot: u32) -> Option<Square> {
        let us = self.side_to_move();
        for (shift, room) in rays.from(us, from) {
            if slot >= room.into() {
                slot -= u32::from(room);
                continue;
            }
            let mut to = from;
            for _ in 0..slot {
                to = to.shifted(shift);
                if self.state.board[to.index()] != 0 {
                    return None;
                }
            }
            to = to.shifted(shift);
            return self.piece_at(to).is_none_or(|piece| piece.color != us).then_some(to);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Variant;
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Every slot in turn: each legal move must belong to exactly one.
    #[test]
    fn each_move_has_one_slot() {
        for name in Variant::builtin_names() {
            let rulesets = Variant::load(name, None).expect("built in").rulesets().to_vec();
            for (ruleset, _) in rulesets {
                let variant = Variant::load(name, Some(&ruleset)).expect("built in");
                let mut chance = Xoshiro256PlusPlus::seed_from_u64(1);
                let mut sampler = MoveSampler::default();
                for _ in 0..3 {
                    let mut game = Game::new(Position::start(&variant));
                    while let Some(mv) = sampler.draw(&game, |below| chance.random_range(0..below)) {
                        check_slots(game.position());
                        game.play_unchecked(mv);
                        if game.ply() == 400 {
                            break;
                        }
                    }
                }
            }
        }
    }

    fn check_slots(position: &Position) {
        if position.must_answer_check() || position.has_reserve(position.side_to_move()) {
            return;
        }
        let mut sampler = MoveSampler::default();
        sampler.number_slots(position);
        let all = sampler.pieces.last().expect("pieces").0 as usize;
        let mut found: Vec<Move> = (0..all).filter_map(|slot| sampler.try_slot(position, &mut |_| slot)).collect();
        let mut legal = Vec::new();
        position.legal_moves(&mut legal);
        found.sort_unstable();
        legal.sort_unstable();
        assert_eq!(found, legal, "{}", position.sfen());
    }
}

//! Pieces with powers of several steps: lions, line lions, hooks, slides that pass over pieces.

use super::Generator;
use super::sink::Sink;
use crate::attacks::hook_targets;
use crate::bitboard::Bits;
use crate::geometry::{Color, Square};
use crate::lanes::Quad;
use crate::moves::Move;
use crate::variant::Powers;

impl<const W: usize, S: Sink> Generator<'_, W, S> {
    /// All moves of a special piece on `from`.
    pub(super) fn special(&mut self, from: Square, powers: &Powers) {
        let mut start = Bits::<W>::EMPTY;
        start.toggle(from);
        // Squares reached without a capture on the way.
        let mut plain = Bits::<W>::EMPTY;
        let mut passes = false;
        let slides = |half: usize| {
            let team = &self.variant.compass[half];
            team.flood(self.us, Quad::splat(start), powers.slide_ranges[half], Quad::splat(self.empty))
        };
        plain = plain.or(slides(0).or(slides(1)).union());
        for jump in powers.jumps.iter().filter(|jump| jump.source[self.us.index()].has(from)) {
            plain.add(from.shifted(jump.shift[self.us.index()]));
        }
        for direction in (0..8).filter(|&d| powers.over[d] > 0) {
            plain = plain.or(self.slide_over(from, direction, powers.over[direction]));
        }
        if powers.hooks.contains(&true) {
            plain = plain.or(hook_targets(self.variant, powers.hook_ranges, self.us, from, Quad::splat(self.empty)));
        }
        if powers.lion {
            let near: Bits<W> = self.variant.neighbours[from.index()].narrow();
            plain = plain.or(self.variant.two_steps[from.index()].narrow());
            passes = !near.and(self.empty).is_empty();
            let steps = &self.variant.steps[from.index()];
            for (direction, first) in steps.iter().enumerate() {
                if let Some(first) = first.filter(|&first| self.enemy.has(first)) {
                    self.lion_way(from, direction, first);
                }
            }
        }
        for direction in (0..8).filter(|&d| powers.lines[d] > 0) {
            passes |= self.line(from, direction, powers.lines[direction], powers.lion, &mut plain);
        }
        let plain = plain.without(self.own);
        if self.promotable.has(from) || !plain.and(self.lions).is_empty() {
            plain.for_each(|to| self.emit(Move::plain(from, to)));
        } else {
            self.sink.fan(from, plain);
        }
        if passes {
            self.sink.one(Move::plain(from, from));
        }
    }

    /// Squares of a slide that passes over up to `pieces` pieces.
    fn slide_over(&self, from: Square, direction: usize, pieces: u8) -> Bits<W> {
        let mut reached = Bits::EMPTY;
        let mut left = pieces;
        for square in self.variant.ray(from, direction, self.us) {
            reached.toggle(square);
            if !self.empty.has(square) {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
        }
        reached
    }

    /// A lion captures on the neighbour `first` and goes back or on.
    fn lion_way(&mut self, from: Square, direction: usize, first: Square) {
        self.emit_way(Move::with_way(from, from, direction, true, false));
        let near: Bits<W> = self.variant.neighbours[first.index()].narrow();
        near.without(self.own).for_each(|to| self.emit_way(Move::with_way(from, to, direction, true, false)));
    }

    /// The moves of a line lion in one of its directions. Adds to `plain` what needs no capture on the way; returns
    /// whether it can pass. `lion`: the piece is a lion too, which has the ways over the first square already.
    fn line(&mut self, from: Square, direction: usize, steps: u8, lion: bool, plain: &mut Bits<W>) -> bool {
        // Directions of moves are absolute, those of powers are the owner's.
        let direction = if self.us == Color::Black { direction } else { (direction + 4) % 8 };
        let next = |square: Option<Square>| square.and_then(|s| self.variant.steps[s.index()][direction]);
        let first = next(Some(from));
        let second = next(first);
        let third = if steps > 2 { next(second) } else { None };
        for square in [first, second, third].into_iter().flatten() {
            plain.add(square);
        }
        let (own, enemy) = (self.own, self.enemy);
        let free = |square: Option<Square>| square.filter(|&square| !own.has(square));
        let hostile = |square: Option<Square>| square.is_some_and(|square| enemy.has(square));
        let way = |to, first, second| Move::with_way(from, to, direction, first, second);
        if hostile(first) && !lion {
            self.emit_way(way(from, true, false));
            if let Some(to) = free(second) {
                self.emit_way(way(to, true, false));
            }
        }
        if steps > 2 {
            if let Some(to) = free(first)
                && hostile(second)
            {
                // Out to the second square and back to the first. Its own capture is that of the last square.
                self.emit_way(way(to, false, true));
            }
            if let Some(to) = free(third) {
                if hostile(second) {
                    self.emit_way(way(to, false, true));
                }
                if hostile(first) {
                    if hostile(second) {
                        self.emit_way(way(to, true, true));
                    }
                    let empty_second = second.is_some_and(|square| self.empty.has(square));
                    if empty_second || self.variant.rules.step_then_jump {
                        self.emit_way(way(to, true, false));
                    }
                }
            }
        }
        first.is_some_and(|square| self.empty.has(square))
    }
}

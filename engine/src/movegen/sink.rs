//! What becomes of generated moves: listed, counted, searched.

use crate::bitboard::{Bits, for_each_bit};
use crate::geometry::Square;
use crate::moves::Move;

/// Takes generated moves.
pub(super) trait Sink {
    /// Whether only the number of moves matters. A capture that must promote is one move too.
    const COUNTS: bool;

    fn one(&mut self, mv: Move);

    /// So many moves more; only if `COUNTS`.
    fn add(&mut self, number: usize);

    /// Plain moves that end on the squares of word `i` of a set and started `back` squares before, or promotions; only if
    /// not `COUNTS`.
    #[inline(always)]
    fn many(&mut self, i: usize, word: u64, back: i32, promote: bool) {
        for_each_bit(i, word, |to| {
            let mv = Move::plain(to.shifted(-back), to);
            self.one(if promote { mv.promoting() } else { mv });
        });
    }

    /// Plain moves from one square to `targets`.
    #[inline(always)]
    fn fan<const W: usize>(&mut self, from: Square, targets: Bits<W>) {
        if Self::COUNTS {
            self.add(targets.count());
        } else {
            targets.for_each(|to| self.one(Move::plain(from, to)));
        }
    }

    /// Whether no further move is of interest.
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }
}

/// Counts moves.
pub(super) struct Counter(pub(super) usize);

impl Sink for Counter {
    const COUNTS: bool = true;

    #[inline(always)]
    fn one(&mut self, _: Move) {
        self.0 += 1;
    }

    #[inline(always)]
    fn add(&mut self, number: usize) {
        self.0 += number;
    }
}

impl Sink for Vec<Move> {
    const COUNTS: bool = false;

    #[inline(always)]
    fn one(&mut self, mv: Move) {
        self.push(mv);
    }

    fn add(&mut self, _: usize) {}

    #[inline(always)]
    fn many(&mut self, i: usize, mut word: u64, back: i32, promote: bool) {
        // So many moves are written without a look at the capacity for each.
        self.extend((0..word.count_ones()).map(|_| {
            let to = Square::new(i * 64 + word.trailing_zeros() as usize);
            word &= word - 1;
            let mv = Move::plain(to.shifted(-back), to);
            if promote { mv.promoting() } else { mv }
        }));
    }
}

/// Looks for a move that is wanted.
pub(super) struct Finder<F> {
    pub(super) wanted: F,
    pub(super) found: Option<Move>,
}

impl<F: FnMut(Move) -> bool> Sink for Finder<F> {
    const COUNTS: bool = false;

    fn one(&mut self, mv: Move) {
        if self.found.is_none() && (self.wanted)(mv) {
            self.found = Some(mv);
        }
    }

    fn add(&mut self, _: usize) {}

    fn is_full(&self) -> bool {
        self.found.is_some()
    }
}

/// Whether there is any move.
pub(super) struct Any(pub(super) bool);

impl Sink for Any {
    const COUNTS: bool = true;

    fn one(&mut self, _: Move) {
        self.0 = true;
    }

    fn add(&mut self, number: usize) {
        self.0 |= number > 0;
    }

    fn is_full(&self) -> bool {
        self.0
    }
}

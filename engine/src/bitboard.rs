//! Sets of squares as words of bits. `W` is the number of 64-bit words a variant's board needs; functions that are
//! generic over it are compiled once for each board size.

use crate::geometry::{MAX_SQUARES, Square};

/// Words of the largest board.
pub(crate) const MAX_WORDS: usize = MAX_SQUARES.div_ceil(64);

/// A set of squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bits<const W: usize>(pub(crate) [u64; W]);

/// A set of squares with room for the largest board: how sets are stored.
pub(crate) type BigBits = Bits<MAX_WORDS>;

impl<const W: usize> Bits<W> {
    pub(crate) const EMPTY: Self = Bits([0; W]);

    #[inline(always)]
    fn load(words: &[u64]) -> Self {
        let mut set = [0; W];
        set.copy_from_slice(&words[..W]);
        Bits(set)
    }

    #[inline(always)]
    pub(crate) fn and(mut self, other: Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= other;
        }
        self
    }

    #[inline(always)]
    pub(crate) fn or(mut self, other: Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word |= other;
        }
        self
    }

    #[inline(always)]
    pub(crate) fn without(mut self, other: Self) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word &= !other;
        }
        self
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline(always)]
    pub(crate) fn has(self, square: Square) -> bool {
        self.0[square.index() / 64] >> (square.index() % 64) & 1 != 0
    }

    #[inline(always)]
    pub(crate) fn toggle(&mut self, square: Square) {
        self.0[square.index() / 64] ^= 1 << (square.index() % 64);
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, square: Square) {
        self.0[square.index() / 64] |= 1 << (square.index() % 64);
    }

    /// The first square of the set, taken out of it.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Square> {
        for (i, word) in self.0.iter_mut().enumerate() {
            if *word != 0 {
                let square = Square::new(i * 64 + word.trailing_zeros() as usize);
                *word &= *word - 1;
                return Some(square);
            }
        }
        None
    }

    /// The last square of the set, taken out of it.
    #[inline(always)]
    pub(crate) fn pop_last(&mut self) -> Option<Square> {
        for (i, word) in self.0.iter_mut().enumerate().rev() {
            if *word != 0 {
                let bit = 63 - word.leading_zeros() as usize;
                *word ^= 1 << bit;
                return Some(Square::new(i * 64 + bit));
            }
        }
        None
    }

    /// Calls `f` with every square of the set, in reading order.
    #[inline(always)]
    pub(crate) fn for_each(self, mut f: impl FnMut(Square)) {
        for (i, &word) in self.0.iter().enumerate() {
            for_each_bit(i, word, &mut f);
        }
    }
}

/// Calls `f` with every square of word `i` of a set.
#[inline(always)]
pub(crate) fn for_each_bit(i: usize, mut word: u64, mut f: impl FnMut(Square)) {
    while word != 0 {
        f(Square::new(i * 64 + word.trailing_zeros() as usize));
        word &= word - 1;
    }
}

impl BigBits {
    /// The first words, as many as the board of a function generic over `W` has.
    #[inline(always)]
    pub(crate) fn narrow<const W: usize>(&self) -> Bits<W> {
        Bits::load(&self.0)
    }

    /// The set in the first words.
    pub(crate) fn widen(words: impl Iterator<Item = u64>) -> Self {
        let mut set = Self::EMPTY;
        for (word, given) in set.0.iter_mut().zip(words) {
            *word = given;
        }
        set
    }

    pub(crate) fn from_squares(squares: impl IntoIterator<Item = Square>) -> Self {
        let mut set = Self::EMPTY;
        for square in squares {
            set.add(square);
        }
        set
    }
}

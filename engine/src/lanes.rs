//! Four sets of squares at once, one in each lane of the machine's vectors, and the riders that move them.
//!
//! A shift moves the words of a set by a fixed number of places with bits carried from word to word. With word `w` of
//! four sets in one vector the carry goes from vector to vector and never between lanes, and each lane can have its own
//! number of places. So four riders take one step in the time of one.

use wide::u64x4;

use crate::bitboard::{Bits, MAX_WORDS};
use crate::geometry::Color;
use crate::variant::Rider;

/// Sets in a [`Quad`], riders in a [`Team`].
pub(crate) const LANES: usize = 4;

/// Directions of the teams of `Variant::compass`, clockwise from the owner's right. The lanes of the two are opposite
/// directions of the same line, and two lanes on is the line across it.
pub(crate) const COMPASS: [[usize; LANES]; 2] = [[2, 3, 4, 5], [6, 7, 0, 1]];

/// Four sets of squares; vector `w` has word `w` of each.
#[derive(Clone, Copy)]
pub(crate) struct Quad<const W: usize>([u64x4; W]);

impl<const W: usize> Quad<W> {
    pub(crate) const EMPTY: Self = Quad([u64x4::ZERO; W]);

    /// Reads `W` times `LANES` words, word by word and then lane by lane.
    #[inline(always)]
    pub(crate) fn load(words: &[u64]) -> Self {
        let words = &words[..W * LANES];
        Quad(std::array::from_fn(|w| u64x4::new(std::array::from_fn(|lane| words[w * LANES + lane]))))
    }

    /// The same set in every lane.
    #[inline(always)]
    pub(crate) fn splat(set: Bits<W>) -> Self {
        Quad(set.0.map(u64x4::splat))
    }

    /// Calls `f` with (lane, number of the word, word) of every word that is not 0.
    #[inline(always)]
    pub(crate) fn for_each_word(self, mut f: impl FnMut(usize, usize, u64)) {
        for (i, words) in self.0.iter().enumerate() {
            let words = words.to_array();
            for (lane, &word) in words.iter().enumerate() {
                if word != 0 {
                    f(lane, i, word);
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Quad(std::array::from_fn(|w| self.0[w] & other.0[w]))
    }

    #[inline(always)]
    pub(crate) fn or(self, other: Self) -> Self {
        Quad(std::array::from_fn(|w| self.0[w] | other.0[w]))
    }

    #[inline(always)]
    pub(crate) fn without(self, other: Self) -> Self {
        Quad(std::array::from_fn(|w| self.0[w] & !other.0[w]))
    }

    /// Only the lanes that are all ones in `lanes`.
    #[inline(always)]
    pub(crate) fn only(self, lanes: u64x4) -> Self {
        Quad(self.0.map(|word| word & lanes))
    }

    /// All ones in the lanes whose set is empty.
    #[inline(always)]
    pub(crate) fn empty_lanes(self) -> u64x4 {
        self.0.iter().fold(u64x4::ZERO, |all, &word| all | word).simd_eq(u64x4::ZERO)
    }

    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.empty_lanes().all()
    }

    /// Squares in all four sets together, those in several counted for each.
    #[inline(always)]
    pub(crate) fn count(self) -> usize {
        self.0.iter().map(|words| words.to_array().iter().map(|word| word.count_ones() as usize).sum::<usize>()).sum()
    }

    /// Each set in the lane two on.
    #[inline(always)]
    pub(crate) fn turned(self) -> Self {
        Quad(self.0.map(|word| word.shuffle(u64x4::new([2, 3, 0, 1]))))
    }

    /// Squares in any of the sets.
    #[inline(always)]
    pub(crate) fn union(self) -> Bits<W> {
        Bits(self.0.map(|words| words.to_array().iter().fold(0, |all, word| all | word)))
    }
}

/// Up to four riders that all move to higher square numbers for one colour and to lower ones for the other.
#[derive(Clone, Debug)]
pub(crate) struct Team {
    riders: Vec<Rider>,
    /// Difference of square numbers of one step, 1 to 63, and what is left to 64.
    shift: u64x4,
    carry: u64x4,
    /// Most steps.
    range: u64x4,
    longest: u8,
    shortest: u8,
    /// Whether squares get higher numbers, by colour.
    up: [bool; 2],
    /// Squares from which one step stays on the board, by colour.
    source: [[u64x4; MAX_WORDS]; 2],
}

impl Team {
    /// The team of these riders, whose shifts for Black must have one sign.
    pub(crate) fn new(riders: Vec<Rider>) -> Team {
        let lanes = |of: &dyn Fn(&Rider) -> u64| -> u64x4 {
            u64x4::new(std::array::from_fn(|lane| riders.get(lane).map_or(0, of)))
        };
        let shift = |rider: &Rider| rider.shift[0].unsigned_abs() as u64;
        let up = riders[0].shift[0] > 0;
        Team {
            shift: lanes(&shift),
            carry: lanes(&|rider| 64 - shift(rider)),
            range: lanes(&|rider| rider.range as u64),
            longest: riders.iter().map(|rider| rider.range).max().unwrap_or(0),
            shortest: riders.iter().map(|rider| rider.range).min().unwrap_or(0),
            up: [up, !up],
            source: Color::ALL.map(|color| std::array::from_fn(|w| lanes(&|rider| rider.source[color.index()].0[w]))),
            riders,
        }
    }

    /// The riders by lane.
    pub(crate) fn riders(&self) -> &[Rider] {
        &self.riders
    }

    /// Difference of square numbers of one step of one rider.
    #[inline(always)]
    pub(crate) fn shift(&self, color: Color, lane: usize) -> i32 {
        self.riders[lane].shift[color.index()]
    }

    /// Most steps of each rider.
    pub(crate) fn range(&self) -> u64x4 {
        self.range
    }

    /// All squares moved one step, those without a next square left out.
    #[inline(always)]
    pub(crate) fn step<const W: usize>(&self, color: Color, set: Quad<W>) -> Quad<W> {
        let source = &self.source[color.index()];
        let movable: [u64x4; W] = std::array::from_fn(|w| set.0[w] & source[w]);
        if self.up[color.index()] {
            Quad(std::array::from_fn(|w| {
                let moved = movable[w].unbounded_shl(self.shift);
                if w == 0 { moved } else { moved | movable[w - 1].unbounded_shr(self.carry) }
            }))
        } else {
            Quad(std::array::from_fn(|w| {
                let moved = movable[w].unbounded_shr(self.shift);
                if w + 1 == W { moved } else { moved | movable[w + 1].unbounded_shl(self.carry) }
            }))
        }
    }

    /// Calls `f` with the squares that the pieces of `set` reach by one step, by two and so on, with the number of steps.
    /// Pieces stop before a square of `own` and on one of `enemy`.
    #[inline(always)]
    pub(crate) fn walk<const W: usize>(
        &self,
        color: Color,
        set: Quad<W>,
        own: Quad<W>,
        enemy: Quad<W>,
        mut f: impl FnMut(Quad<W>, i32),
    ) {
        let mut front = set;
        for steps in 0..self.longest {
            if steps >= self.shortest {
                front = front.only(longer_than(self.range, steps));
            }
            front = self.step(color, front).without(own);
            if front.is_empty() {
                return;
            }
            f(front, steps as i32 + 1);
            front = front.without(enemy);
        }
    }

    /// Where slides from the squares of `set` lead over `empty` squares: these and the first one beyond them. `range`
    /// is the most steps in each lane.
    #[inline(always)]
    pub(crate) fn flood<const W: usize>(&self, color: Color, set: Quad<W>, range: u64x4, empty: Quad<W>) -> Quad<W> {
        let mut front = set;
        let mut reached = Quad::EMPTY;
        let mut steps = 0;
        loop {
            front = front.only(longer_than(range, steps));
            if front.is_empty() {
                return reached;
            }
            front = self.step(color, front);
            reached = reached.or(front);
            front = front.and(empty);
            steps += 1;
        }
    }
}

/// All ones in the lanes with more than `steps`.
#[inline(always)]
fn longer_than(range: u64x4, steps: u8) -> u64x4 {
    range.simd_gt(u64x4::splat(steps as u64))
}

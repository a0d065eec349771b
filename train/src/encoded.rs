//! Lists of encoded positions. What the numbers mean is the business of [`crate::encoding`].

use crate::encoding::STATE_FEATURES;

/// A list of encoded positions, in flat arrays that are filled again and again without allocating.
///
/// Position `i` owns the slice of `position_rows` that ends at `position_ends[i]`, the `i`th [`STATE_FEATURES`] numbers
/// of `state`, and the moves up to `legal_ends[i]`; move `j` owns the slice of `move_rows` that ends at
/// `move_ends[j]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    pub(crate) position_rows: Vec<u32>,
    pub(crate) position_ends: Vec<u32>,
    pub(crate) state: Vec<f32>,
    pub(crate) move_rows: Vec<u32>,
    pub(crate) move_ends: Vec<u32>,
    pub(crate) legal_ends: Vec<u32>,
}

/// One position of an [`Encoded`] list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncodedPosition<'a> {
    /// Sparse features of the position.
    pub rows: &'a [u32],
    /// Dense features, [`STATE_FEATURES`] numbers.
    pub state: &'a [f32],
    /// Features of the moves.
    pub moves: EncodedMoves<'a>,
}

/// The moves of one encoded position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EncodedMoves<'a> {
    rows: &'a [u32],
    first: u32,
    ends: &'a [u32],
}

impl<'a> EncodedMoves<'a> {
    /// Number of moves.
    pub fn len(self) -> usize {
        self.ends.len()
    }

    /// Whether no move was given.
    pub fn is_empty(self) -> bool {
        self.ends.is_empty()
    }

    /// The features of each move, in the order given.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = &'a [u32]> {
        let mut start = self.first;
        self.ends.iter().map(move |&end| {
            let rows = &self.rows[start as usize..end as usize];
            start = end;
            rows
        })
    }

    /// The features of all moves, one move after the other.
    pub fn rows(self) -> &'a [u32] {
        &self.rows[self.first as usize..self.ends.last().map_or(self.first as usize, |&end| end as usize)]
    }
}

impl Encoded {
    /// Forgets all positions, keeps the memory.
    pub fn clear(&mut self) {
        self.position_rows.clear();
        self.position_ends.clear();
        self.state.clear();
        self.move_rows.clear();
        self.move_ends.clear();
        self.legal_ends.clear();
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.position_ends.len()
    }

    /// Whether there is no position.
    pub fn is_empty(&self) -> bool {
        self.position_ends.is_empty()
    }

    /// The `index`th position.
    ///
    /// # Panics
    /// If there are not that many.
    #[inline]
    pub fn position(&self, index: usize) -> EncodedPosition<'_> {
        let start = |ends: &[u32]| if index == 0 { 0 } else { ends[index - 1] as usize };
        let first_move = start(&self.legal_ends);
        EncodedPosition {
            rows: &self.position_rows[start(&self.position_ends)..self.position_ends[index] as usize],
            state: &self.state[index * STATE_FEATURES..(index + 1) * STATE_FEATURES],
            moves: EncodedMoves {
                rows: &self.move_rows,
                first: if first_move == 0 { 0 } else { self.move_ends[first_move - 1] },
                ends: &self.move_ends[first_move..self.legal_ends[index] as usize],
            },
        }
    }

    /// All positions in order.
    pub fn iter(&self) -> impl Iterator<Item = EncodedPosition<'_>> {
        (0..self.len()).map(|index| self.position(index))
    }
}

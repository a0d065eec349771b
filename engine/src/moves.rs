//! Moves.

use crate::geometry::{Board, Square};
use crate::piece::PieceKind;

/// A move as (from, to, squares captured on the way, promotion), or a drop. Two ways of walking that agree in all of
/// these are one move. What stands on `to` is captured too.
///
/// | bits   | meaning                                                                            |
/// |--------|------------------------------------------------------------------------------------|
/// | 0–8    | `to`, a [`Square`] index                                                           |
/// | 9–17   | `from`, a [`Square`] index; of a drop the [`PieceKind`]                            |
/// | 18     | the piece promotes                                                                 |
/// | 19–21  | direction of the way, clockwise from up the board; 0 if nothing is captured on it  |
/// | 22     | the first square of the way from `from` is captured                                |
/// | 23     | the second square of the way from `from` is captured                               |
/// | 24     | a drop                                                                             |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move(u32);

const PROMOTE: u32 = 1 << 18;
const FIRST: u32 = 1 << 22;
const SECOND: u32 = 1 << 23;
const DROP: u32 = 1 << 24;

impl Move {
    #[inline(always)]
    pub(crate) const fn plain(from: Square, to: Square) -> Move {
        Move((from.index() as u32) << 9 | to.index() as u32)
    }

    #[inline(always)]
    pub(crate) const fn with_way(from: Square, to: Square, direction: usize, first: bool, second: bool) -> Move {
        let way = (direction as u32) << 19 | if first { FIRST } else { 0 } | if second { SECOND } else { 0 };
        Move(Move::plain(from, to).0 | way)
    }

    pub(crate) const fn drop(kind: PieceKind, to: Square) -> Move {
        Move(DROP | (kind.index() as u32) << 9 | to.index() as u32)
    }

    #[inline(always)]
    pub(crate) const fn promoting(self) -> Move {
        Move(self.0 | PROMOTE)
    }

    /// The packed form: the table above.
    pub const fn raw(self) -> u32 {
        self.0
    }

    /// The move with this packed form. Any number is taken; only `Position::is_legal` tells whether it is a move there.
    pub const fn from_raw(raw: u32) -> Move {
        Move(raw)
    }

    /// Where the piece starts. Meaningless for a drop.
    #[inline(always)]
    pub const fn from(self) -> Square {
        Square::new((self.0 >> 9 & 0x1ff) as usize)
    }

    /// Where the piece ends.
    #[inline(always)]
    pub const fn to(self) -> Square {
        Square::new((self.0 & 0x1ff) as usize)
    }

    /// Whether the piece promotes at the end of the move.
    #[inline(always)]
    pub const fn promotes(self) -> bool {
        self.0 & PROMOTE != 0
    }

    /// The kind put on the board, if this is a drop.
    pub const fn dropped(self) -> Option<PieceKind> {
        if self.0 & DROP != 0 { Some(PieceKind::new((self.0 >> 9 & 0x1ff) as usize)) } else { None }
    }

    /// Whether something is captured on the way.
    #[inline(always)]
    pub const fn has_way(self) -> bool {
        self.0 & (FIRST | SECOND) != 0
    }

    /// Whether the piece goes out and back without a capture (jitto), which only hands over the turn.
    #[inline(always)]
    pub const fn is_pass(self) -> bool {
        self.0 & (FIRST | SECOND | DROP) == 0 && self.from().index() == self.to().index()
    }

    /// Direction of the way, clockwise from up the board.
    pub(crate) const fn direction(self) -> usize {
        (self.0 >> 19 & 7) as usize
    }

    /// The squares captured on the way, besides `to`: the first and the second square in the way's direction.
    #[inline]
    pub fn on_the_way(self, board: Board) -> [Option<Square>; 2] {
        if !self.has_way() {
            return [None, None];
        }
        let first = board.neighbour(self.from(), self.direction());
        let second = first.and_then(|square| board.neighbour(square, self.direction()));
        [first.filter(|_| self.0 & FIRST != 0), second.filter(|_| self.0 & SECOND != 0)]
    }
}

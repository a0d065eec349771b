//! Kinds of pieces and pieces.

use crate::geometry::Color;

/// Index into the kinds of a variant. A promoted piece is a kind of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PieceKind(u8);

impl PieceKind {
    /// The most kinds a variant may have: a piece's code must fit into a byte.
    pub const MAX: usize = 127;

    /// The kind with this index.
    pub const fn new(index: usize) -> PieceKind {
        PieceKind(index as u8)
    }

    /// Index into `Variant::kinds`.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A piece: what it is and whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Owner.
    pub color: Color,
    /// Kind.
    pub kind: PieceKind,
}

impl Piece {
    /// 1 + 2·kind + (0 for Black, 1 for White). 0 stands for an empty square.
    pub const fn code(self) -> u8 {
        1 + 2 * self.kind.0 + self.color as u8
    }

    /// The piece with this code; `None` for 0.
    #[inline(always)]
    pub const fn from_code(code: u8) -> Option<Piece> {
        match code {
            0 => None,
            _ => {
                let color = if (code - 1) & 1 == 0 { Color::Black } else { Color::White };
                Some(Piece { color, kind: PieceKind((code - 1) >> 1) })
            }
        }
    }
}

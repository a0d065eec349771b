//! Squares, colours and directions of a board.

use std::fmt;
use std::ops::Not;

/// The largest number of files or ranks of a board: rank letters end at `q`.
pub const MAX_SIDE: usize = 17;
/// The largest number of squares of a board.
pub const MAX_SQUARES: usize = MAX_SIDE * MAX_SIDE;

/// A side of the game. Black (sente) moves first and up the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Color {
    /// Sente: moves first, upper-case letters in SFEN.
    Black,
    /// Gote: lower-case letters in SFEN.
    White,
}

impl Color {
    /// Both sides, Black first.
    pub const ALL: [Color; 2] = [Color::Black, Color::White];

    /// 0 for Black, 1 for White.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The other side.
    pub const fn opposite(self) -> Color {
        match self {
            Color::Black => Color::White,
            Color::White => Color::Black,
        }
    }

    /// `black` or `white`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Color::Black => "black",
            Color::White => "white",
        }
    }
}

impl Not for Color {
    type Output = Color;

    fn not(self) -> Color {
        self.opposite()
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A square of one board, counted in SFEN's reading order: the top rank (`a`, White's side) first, within a rank from
/// Black's left, that is from the highest file number, to the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Square(u16);

impl Square {
    /// The square with this number in reading order.
    pub const fn new(index: usize) -> Square {
        Square(index as u16)
    }

    /// The number in reading order, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The square so many places on in reading order, or back.
    #[inline(always)]
    pub(crate) const fn shifted(self, by: i32) -> Square {
        Square((self.0 as i32 + by) as u16)
    }

    /// How a player sees the square who sits at the other side of a board of `squares` squares.
    pub const fn rotated(self, squares: usize) -> Square {
        Square((squares - 1) as u16 - self.0)
    }
}

/// Steps to the eight neighbours as (to the owner's right, forward), clockwise from straight ahead.
pub(crate) const DIRECTIONS: [(i8, i8); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

/// Index into [`DIRECTIONS`] of a step (right, forward), each -1, 0 or 1, not both 0.
pub(crate) fn direction_of(right: i32, forward: i32) -> usize {
    const TABLE: [[usize; 3]; 3] = [[5, 6, 7], [4, 0, 0], [3, 2, 1]];
    TABLE[(right + 1) as usize][(forward + 1) as usize]
}

/// Size of a board; turns squares into coordinates and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Board {
    pub(crate) files: u8,
    pub(crate) ranks: u8,
}

impl Board {
    /// Number of squares.
    pub const fn squares(self) -> usize {
        self.files as usize * self.ranks as usize
    }

    /// The square in the middle, or one next to it.
    pub const fn middle(self) -> Square {
        Square::new(self.ranks as usize / 2 * self.files as usize + self.files as usize / 2)
    }

    /// (column from Black's left, row from the top).
    pub(crate) const fn column_row(self, square: Square) -> (i32, i32) {
        let index = square.0 as i32;
        (index % self.files as i32, index / self.files as i32)
    }

    /// The square at a distance of (`right`, `forward`) as `color` sees the board, or `None` off the board.
    pub(crate) fn step(self, square: Square, color: Color, right: i32, forward: i32) -> Option<Square> {
        let (column, row) = self.column_row(square);
        let (column, row) = match color {
            Color::Black => (column + right, row - forward),
            Color::White => (column - right, row + forward),
        };
        let inside = (0..self.files as i32).contains(&column) && (0..self.ranks as i32).contains(&row);
        inside.then(|| Square((row * self.files as i32 + column) as u16))
    }

    /// The neighbour in one of the eight absolute directions (as Black sees them).
    pub(crate) fn neighbour(self, square: Square, direction: usize) -> Option<Square> {
        let (right, forward) = DIRECTIONS[direction];
        self.step(square, Color::Black, right as i32, forward as i32)
    }

    /// (right, forward) from one square to another as `color` sees the board.
    pub(crate) fn offset(self, from: Square, to: Square, color: Color) -> (i32, i32) {
        let (from_column, from_row) = self.column_row(from);
        let (to_column, to_row) = self.column_row(to);
        match color {
            Color::Black => (to_column - from_column, from_row - to_row),
            Color::White => (from_column - to_column, to_row - from_row),
        }
    }

    /// King steps between two squares.
    pub(crate) fn distance(self, a: Square, b: Square) -> u32 {
        let (ac, ar) = self.column_row(a);
        let (bc, br) = self.column_row(b);
        ac.abs_diff(bc).max(ar.abs_diff(br))
    }

    /// Number of ranks from `color`'s far edge: 0 is the last rank a piece of that side can reach.
    pub(crate) fn ranks_from_far_edge(self, square: Square, color: Color) -> u8 {
        let row = (square.index() / self.files as usize) as u8;
        match color {
            Color::Black => row,
            Color::White => self.ranks - 1 - row,
        }
    }

    /// USI name: file number from Black's right, rank letter from the top, e.g. `7g`.
    pub fn name(self, square: Square) -> String {
        let (column, row) = self.column_row(square);
        format!("{}{}", self.files as i32 - column, (b'a' + row as u8) as char)
    }

    /// Reads a USI square at the start of `text`; returns it with the rest, or `None` when none of this board stands there.
    pub fn read_square(self, text: &str) -> Option<(Square, &str)> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let file: usize = text.get(..digits)?.parse().ok()?;
        let letter = *text.as_bytes().get(digits)?;
        let row = letter.checked_sub(b'a')? as usize;
        let on_board = (1..=self.files as usize).contains(&file) && row < self.ranks as usize;
        on_board.then(|| {
            let index = row * self.files as usize + self.files as usize - file;
            (Square::new(index), &text[digits + 1..])
        })
    }
}

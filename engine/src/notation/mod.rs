//! Moves, games and positions in other people's notations.
//!
//! | notation | who uses it | moves | games | positions |
//! |---|---|---|---|---|
//! | TSA | English books and articles (Hodges) | [`Position::tsa`], [`Position::parse_tsa`] | | |
//! | WinBoard | engines that speak CECP, XBoard | [`Position::winboard`], [`Position::parse_winboard`] | | [`Position::winboard_fen`], [`Position::from_winboard_fen`] |
//! | KIF | Japanese programs, lishogi | in games | [`kif::write`], [`kif::read`] | diagrams in games |
//!
//! USI and SFEN, which files and commands of this program use, are methods of [`Position`] too.
//!
//! All of them describe a move by the squares it goes over, so they lean on USI: a reader collects the squares, and
//! the rules of USI say which legal move that is.

pub mod kif;
mod spellings;
mod tsa;
pub mod winboard;

use crate::geometry::Square;
use crate::moves::Move;
use crate::piece::PieceKind;
use crate::position::Position;

/// The squares of a move that is no drop, from where it starts to where it ends, with all it captures on the way; of a
/// pass out to an empty neighbour and back.
fn path(position: &Position, mv: Move) -> Vec<Square> {
    let usi = position.usi(mv);
    let mut rest = usi.as_str();
    let mut squares = Vec::new();
    while let Some((square, after)) = position.variant.board.read_square(rest) {
        squares.push(square);
        rest = after;
    }
    squares
}

/// The legal move over these squares, or why there is none.
fn find(position: &Position, squares: &[Square], promotes: bool) -> Result<Move, String> {
    let mut usi: String = squares.iter().map(|&square| position.variant.board.name(square)).collect();
    if promotes {
        usi.push('+');
    }
    position.parse_usi(&usi).map_err(|error| error.message)
}

/// The legal drop of one of these kinds, or why there is none.
fn find_drop(position: &Position, kinds: &[PieceKind], to: Square, promotes: bool) -> Result<Move, String> {
    let fits = |mv: &Move| {
        mv.dropped().is_some_and(|kind| kinds.contains(&kind)) && mv.to() == to && mv.promotes() == promotes
    };
    legal_moves(position).into_iter().find(fits).ok_or_else(|| "the piece cannot be put there".to_string())
}

fn legal_moves(position: &Position) -> Vec<Move> {
    let mut moves = Vec::new();
    position.legal_moves(&mut moves);
    moves
}

/// The character, from 1, at which the end `rest` of `text` starts.
fn character(text: &str, rest: &str) -> usize {
    text.chars().count() - rest.chars().count() + 1
}

//! Coordinates and positions of the WinBoard protocol (CECP) and of engines that speak it.
//!
//! Files are letters from Black's left, ranks numbers from Black's first rank: Black's king of chu shogi starts on
//! `f1`. The first player, who is Black here, is called white there.

use std::fmt::Write as _;
use std::sync::Arc;

use thiserror::Error;

use super::{character, find, find_drop, legal_moves, path};
use crate::error::MoveError;
use crate::geometry::{Board, Color, Square};
use crate::moves::Move;
use crate::piece::PieceKind;
use crate::position::Position;
use crate::variant::Variant;

/// How a pass is written; it does not say who passes.
const PASS: &str = "@@@@";

/// Why a text is not a position.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("FEN, character {at}: {message}")]
pub struct FenError {
    /// Character of the text, from 1.
    pub at: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// Puts together moves that an engine sends leg by leg, each leg but the last ending in a comma.
///
/// ```
/// use engine::notation::winboard::Legs;
///
/// let mut legs = Legs::default();
/// assert_eq!(legs.push("j6i5,"), None);
/// assert_eq!(legs.push("i5i6").as_deref(), Some("j6i5,i5i6"));
/// assert_eq!(legs.push("e4e5").as_deref(), Some("e4e5"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Legs(String);

impl Legs {
    /// Takes the next leg; gives the whole move once it is complete.
    pub fn push(&mut self, leg: &str) -> Option<String> {
        let leg = leg.trim();
        self.0.push_str(leg);
        (!leg.ends_with(',')).then(|| std::mem::take(&mut self.0))
    }
}

impl Position {
    /// A legal move of this position in the coordinates of the WinBoard protocol.
    ///
    /// Moves of several legs have them joined by commas, also those that go there and back. `+` at the end promotes;
    /// without it a piece that could does not. A pass is `@@@@` whoever passes: the position after it is the same.
    /// A drop is the piece's letter, `@` and the square.
    ///
    /// ```
    /// use engine::{Position, Variant};
    ///
    /// let chu = Variant::load("chu", None)?;
    /// let position = Position::from_sfen(&chu, "6k5/12/12/12/12/12/6N5/5G1p4/4p7/12/12/6K5 b - 1")?;
    /// let mv = position.parse_winboard("g6h5,h5g6")?;
    /// assert_eq!(position.usi(mv), "6g5h6g");
    /// assert_eq!(position.winboard(mv), "g6h5,h5g6");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn winboard(&self, mv: Move) -> String {
        let board = self.variant.board;
        let mut text = String::new();
        if mv.is_pass() {
            return PASS.to_string();
        }
        if let Some(kind) = mv.dropped() {
            text = format!("{}@{}", self.variant.kind(kind).sfen(), name(board, mv.to()));
        } else {
            for leg in path(self, mv).windows(2) {
                let comma = if text.is_empty() { "" } else { "," };
                text += &format!("{comma}{}{}", name(board, leg[0]), name(board, leg[1]));
            }
        }
        if mv.promotes() {
            text.push('+');
        }
        text
    }

    /// Reads a legal move of this position in the coordinates of the WinBoard protocol. A final `=` declines promotion
    /// as its absence does. A pass without its squares is that of the first piece that can.
    ///
    /// # Errors
    /// [`MoveError`] with the character at fault, or why the move is not legal.
    pub fn parse_winboard(&self, text: &str) -> Result<Move, MoveError> {
        let fail =
            |rest: &str, message: String| Err(MoveError { text: text.to_string(), at: character(text, rest), message });
        if text == PASS {
            let pass = legal_moves(self).into_iter().find(|mv| mv.is_pass());
            return pass.map_or_else(|| fail(text, "no piece can pass".to_string()), Ok);
        }
        let board = self.variant.board;
        let expected = || {
            let last = (b'a' + board.files - 1) as char;
            format!("expected a square (a to {last}, 1 to {})", board.ranks)
        };
        let body = text.strip_suffix(['+', '=']).unwrap_or(text);
        let promotes = text.ends_with('+');
        // What stands after `rest` of the body: the same end of the whole text.
        let tail = |rest: &str| &text[body.len() - rest.len()..];
        if let Some((letter, target)) = body.split_once('@') {
            let kinds = &self.variant.kinds;
            let Some(kind) = kinds.iter().position(|kind| !kind.is_promoted() && kind.sfen() == letter) else {
                return fail(text, format!("no piece `{letter}` to put on the board"));
            };
            let Some((to, "")) = read_square(board, target) else { return fail(tail(target), expected()) };
            return find_drop(self, &[PieceKind::new(kind)], to, promotes).or_else(|message| fail(text, message));
        }
        let mut squares: Vec<Square> = Vec::new();
        let mut rest = body;
        loop {
            let Some((from, after)) = read_square(board, rest) else { return fail(tail(rest), expected()) };
            let Some((to, after)) = read_square(board, after) else { return fail(tail(after), expected()) };
            match squares.last() {
                None => squares.push(from),
                Some(&last) if last == from => {}
                Some(&last) => {
                    return fail(
                        tail(rest),
                        format!("the leg must start on {}, where the one before ended", name(board, last)),
                    );
                }
            }
            squares.push(to);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None if after.is_empty() => break,
                None => return fail(tail(after), "expected `,`, `+` or the end".to_string()),
            }
        }
        find(self, &squares, promotes).or_else(|message| fail(text, message))
    }

    /// The position as FEN for WinBoard, if every kind of the variant is one letter there and nothing is in reserve. The
    /// lion-ban square has no place in it; the count of moves without a capture is left at 0. HaChu takes the first field
    /// alone.
    ///
    /// ```
    /// use engine::{Position, Variant};
    ///
    /// let sho = Position::start(&Variant::load("sho", None)?);
    /// let fen = "lnsgkgsnl/1r2e2b1/ppppppppp/9/9/9/PPPPPPPPP/1B2E2R1/LNSGKGSNL w - 0 1";
    /// assert_eq!(sho.winboard_fen().as_deref(), Some(fen));
    /// assert_eq!(Position::from_winboard_fen(sho.variant(), fen)?.sfen(), sho.sfen());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn winboard_fen(&self) -> Option<String> {
        if !has_letters(&self.variant) || Color::ALL.into_iter().any(|color| self.has_reserve(color)) {
            return None;
        }
        let sfen = self.sfen();
        let mut fen = sfen.split(' ').next().unwrap_or_default().to_string();
        let side = if self.side_to_move() == Color::Black { 'w' } else { 'b' };
        write!(fen, " {side} - 0 {}", self.ply() / 2 + 1).expect("writing to a string does not fail");
        Some(fen)
    }

    /// The position of a FEN of WinBoard. After the board and the side to move only `-` and numbers may follow; the last
    /// number is that of the pair of moves.
    ///
    /// # Errors
    /// [`FenError`] with the character at fault.
    pub fn from_winboard_fen(variant: &Arc<Variant>, text: &str) -> Result<Position, FenError> {
        let fail = |rest: &str, message: String| Err(FenError { at: character(text, rest), message });
        if !has_letters(variant) {
            return fail(text, format!("pieces of {} have no single letters", variant.name()));
        }
        let (board, mut rest) = text.split_once(' ').unwrap_or((text, ""));
        let (side, first) = match rest.get(..1) {
            Some("w") => ("b", 0),
            Some("b") => ("w", 1),
            _ => return fail(rest, "expected the side to move: `w` for the first player or `b`".to_string()),
        };
        rest = &rest[1..];
        let mut pair = 1;
        while !rest.is_empty() {
            let field = rest.trim_start_matches(' ');
            let (word, after) = field.split_at(field.find(' ').unwrap_or(field.len()));
            match word.parse::<u32>() {
                Ok(number) if field.len() < rest.len() && number <= 100_000 => pair = number.max(1),
                _ if field.len() < rest.len() && matches!(word, "" | "-") => {}
                _ => return fail(field, "expected `-` or a number".to_string()),
            }
            rest = after;
        }
        let sfen = format!("{board} {side} - {}", 2 * pair - 1 + first);
        // The board starts both texts, so a fault in it stands at the same character.
        Position::from_sfen(variant, &sfen).map_err(|error| FenError { at: error.at, message: error.message })
    }
}

fn has_letters(variant: &Variant) -> bool {
    variant.kinds().iter().all(|kind| kind.code.chars().count() == 1)
}

fn name(board: Board, square: Square) -> String {
    let (column, row) = board.column_row(square);
    format!("{}{}", (b'a' + column as u8) as char, board.ranks as i32 - row)
}

/// The square at the start of `text`, and the rest.
fn read_square(board: Board, text: &str) -> Option<(Square, &str)> {
    let column = text.bytes().next()?.checked_sub(b'a')? as usize;
    let digits = text.bytes().skip(1).take_while(u8::is_ascii_digit).count();
    let rank: usize = text.get(1..1 + digits)?.parse().ok()?;
    let (files, ranks) = (board.files as usize, board.ranks as usize);
    let on_board = column < files && (1..=ranks).contains(&rank);
    on_board.then(|| (Square::new((ranks - rank) * files + column), &text[1 + digits..]))
}

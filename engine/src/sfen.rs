//! SFEN: board, side to move, lion-ban square, move number.
//!
//! Ranks from the top, separated by `/`, each from Black's left; digits count empty squares. A kind's code stands bare
//! when it is one letter, otherwise in brackets; lower case is White's; `+` before it is the promoted side. The third
//! field is `-` or, in variants with lion trading, the square where a non-lion has just taken a lion (lishogi's
//! dialect). The fourth is the number of the next move from 1 and may be missing.

use crate::error::SfenError;
use crate::geometry::{Color, Square};
use crate::piece::{Piece, PieceKind};
use crate::rules::CounterStrike;
use crate::variant::Variant;

/// A position's text, read but not set up.
pub(crate) struct Fields {
    /// [`Piece::code`] or 0 by square.
    pub(crate) board: Vec<u8>,
    pub(crate) side: Color,
    pub(crate) ban: Option<Square>,
    /// Plies played before the position.
    pub(crate) ply: u32,
}

pub(crate) fn read(variant: &Variant, text: &str) -> Result<Fields, SfenError> {
    let fail = |byte: usize, message: String| {
        let at = text.get(..byte).map_or(1, |before| before.chars().count() + 1);
        Err(SfenError { at, message })
    };
    let mut fields = Vec::new();
    let mut start = 0;
    for part in text.split(' ') {
        if !part.is_empty() {
            fields.push((start, part));
        }
        start += part.len() + 1;
    }
    let Some(&(board_at, board_text)) = fields.first() else {
        return fail(0, "empty; expected a board, a side, `-` and a move number".to_string());
    };
    let mut board = Vec::with_capacity(variant.squares());
    let (files, ranks) = (variant.files(), variant.ranks());
    let mut rank_count = 0;
    let mut at = board_at;
    for rank in board_text.split('/') {
        rank_count += 1;
        if rank_count > ranks {
            return fail(at, format!("more than {ranks} ranks"));
        }
        let mut rest = rank;
        let mut width = 0;
        while let Some(first) = rest.chars().next() {
            let place = at + rank.len() - rest.len();
            let (codes, length) = if first.is_ascii_digit() {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let empty = rest[..digits].parse::<usize>().unwrap_or(0);
                if empty == 0 || rest.starts_with('0') {
                    return fail(place, format!("`{}` empty squares", &rest[..digits]));
                }
                (empty, digits)
            } else {
                match read_piece(variant, rest) {
                    Some((piece, length)) => {
                        board.push(piece.code());
                        width += 1;
                        (0, length)
                    }
                    None => return fail(place, format!("no piece of {} starts with `{first}` here", variant.name())),
                }
            };
            width += codes;
            if width > files {
                return fail(place, format!("rank {rank_count} has more than {files} squares"));
            }
            board.resize(board.len() + codes, 0);
            rest = &rest[length..];
        }
        if width != files {
            return fail(at + rank.len(), format!("rank {rank_count} has {width} squares; expected {files}"));
        }
        at += rank.len() + 1;
    }
    if rank_count != ranks {
        return fail(board_at + board_text.len(), format!("{rank_count} ranks; expected {ranks}"));
    }
    let side = match fields.get(1) {
        Some((_, "b")) => Color::Black,
        Some((_, "w")) => Color::White,
        Some((at, other)) => return fail(*at, format!("side `{other}`; expected `b` or `w`")),
        None => return fail(text.len(), "no side to move; expected `b` or `w`".to_string()),
    };
    let ban = match fields.get(2) {
        None | Some((_, "-")) => None,
        Some((at, square)) => {
            if !variant.lion_trading || variant.rules().counter_strike == CounterStrike::None {
                return fail(*at, format!("`{square}`; expected `-`"));
            }
            match variant.board.read_square(square) {
                Some((square, "")) => Some(square),
                _ => return fail(*at, format!("`{square}`; expected `-` or a square such as `6f`")),
            }
        }
    };
    let ply = match fields.get(3) {
        None => 0,
        Some((at, number)) => match number.parse::<u32>() {
            Ok(number) if (1..=1_000_000).contains(&number) => number - 1,
            _ => return fail(*at, format!("move number `{number}`; expected 1 to 1000000")),
        },
    };
    if let Some((at, extra)) = fields.get(4) {
        return fail(*at, format!("`{extra}` after the move number"));
    }
    Ok(Fields { board, side, ban, ply })
}

/// The piece at the start of `text` and the length of its code.
fn read_piece(variant: &Variant, text: &str) -> Option<(Piece, usize)> {
    let promoted = text.starts_with('+');
    let body = &text[promoted as usize..];
    let (code, length) = match body.strip_prefix('[') {
        Some(inner) => {
            let close = inner.find(']')?;
            (&inner[..close], close + 2)
        }
        None => (body.get(..1)?, 1),
    };
    let color = if code.bytes().all(|b| b.is_ascii_uppercase()) {
        Color::Black
    } else if code.bytes().all(|b| b.is_ascii_lowercase()) {
        Color::White
    } else {
        return None;
    };
    let bracketed = body.starts_with('[');
    let kind = variant.kinds.iter().position(|kind| {
        kind.is_promoted() == promoted && (kind.code.len() > 1) == bracketed && kind.code.eq_ignore_ascii_case(code)
    })?;
    Some((Piece { color, kind: PieceKind::new(kind) }, promoted as usize + length))
}

pub(crate) fn write(variant: &Variant, board: &[u8], side: Color, ban: Option<Square>, ply: u32) -> String {
    let mut text = String::with_capacity(256);
    for (row, rank) in board.chunks(variant.files()).enumerate() {
        if row > 0 {
            text.push('/');
        }
        let mut empty = 0;
        for &code in rank {
            match Piece::from_code(code) {
                None => empty += 1,
                Some(piece) => {
                    if empty > 0 {
                        text.push_str(&empty.to_string());
                        empty = 0;
                    }
                    let letters = variant.kind(piece.kind).sfen();
                    match piece.color {
                        Color::Black => text.push_str(&letters),
                        Color::White => text.push_str(&letters.to_ascii_lowercase()),
                    }
                }
            }
        }
        if empty > 0 {
            text.push_str(&empty.to_string());
        }
    }
    text.push_str(if side == Color::Black { " b " } else { " w " });
    match ban {
        Some(square) => text.push_str(&variant.board.name(square)),
        None => text.push('-'),
    }
    text.push(' ');
    text.push_str(&(ply + 1).to_string());
    text
}

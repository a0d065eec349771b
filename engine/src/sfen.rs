//! SFEN: board, side to move, lion-ban square, move number.
//!
//! Ranks from the top, separated by `/`, each from Black's left; digits count empty squares. A kind's code stands bare
//! when it is one letter, otherwise in brackets; lower case is White's; `+` before it is the promoted side. The third
//! field is `-` or, in variants with lion trading, the square where a non-lion has just taken a lion (lishogi's
//! dialect). The fourth is the number of the next move from 1 and may be missing. Variants with drops have two more: the
//! reserve, each kind with its number before it if above one (`2LOX2l`, `-` for none), and the squares of pieces that were
//! put into the promotion zone and have not left it (`5b3c`, `-` or nothing for none).

use crate::error::SfenError;
use crate::geometry::{Color, Square};
use crate::piece::{Piece, PieceKind};
use crate::position::Position;
use crate::rules::{CounterStrike, Drops};
use crate::variant::Variant;

/// A position's text, read but not set up.
pub(crate) struct Fields {
    /// [`Piece::code`] or 0 by square.
    pub(crate) board: Vec<u8>,
    pub(crate) side: Color,
    pub(crate) ban: Option<Square>,
    /// Plies played before the position.
    pub(crate) ply: u32,
    /// By [`Piece::code`]; empty where the rules know no drops.
    pub(crate) reserve: Vec<u8>,
    pub(crate) fresh: Vec<Square>,
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
    let drops = variant.rules().drops != Drops::None;
    if let Some((at, extra)) = fields.get(if drops { 6 } else { 4 }) {
        return fail(*at, format!("`{extra}` at the end"));
    }
    let (mut reserve, mut fresh) = (Vec::new(), Vec::new());
    if drops {
        reserve.resize(usize::from(u8::MAX) + 1, 0);
        let mut rest = fields.get(4).map_or("", |(_, text)| text).trim_start_matches('-');
        while !rest.is_empty() {
            let at = fields[4].0 + fields[4].1.len() - rest.len();
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number = if digits == 0 { Some(1) } else { rest[..digits].parse::<u8>().ok() };
            let piece =
                read_piece(variant, &rest[digits..]).filter(|(piece, _)| !variant.kind(piece.kind).is_promoted());
            let (Some(number @ 1..), Some((piece, length))) = (number, piece) else {
                return fail(at, "expected a piece of the reserve, with its number before it, or `-`".to_string());
            };
            let held: &mut u8 = &mut reserve[piece.code() as usize];
            *held = held.saturating_add(number);
            rest = &rest[digits + length..];
        }
        let mut rest = fields.get(5).map_or("", |(_, text)| text).trim_start_matches('-');
        while !rest.is_empty() {
            let at = fields[5].0 + fields[5].1.len() - rest.len();
            let Some((square, after)) = variant.board.read_square(rest) else {
                return fail(at, "expected the square of a piece that was put into the promotion zone".to_string());
            };
            let piece = Piece::from_code(board[square.index()]);
            let fits = piece.is_some_and(|piece| {
                variant.kind(piece.kind).promotes_to.is_some() && variant.zone[piece.color.index()].has(square)
            });
            if !fits || fresh.contains(&square) {
                return fail(at, "no piece that could have been put there and still promote".to_string());
            }
            fresh.push(square);
            rest = after;
        }
    }
    Ok(Fields { board, side, ban, ply, reserve, fresh })
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

pub(crate) fn write(position: &Position) -> String {
    let (variant, state) = (&*position.variant, &position.state);
    let mut text = String::with_capacity(256);
    for (row, rank) in position.codes().chunks(variant.files()).enumerate() {
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
    text.push_str(if state.side == Color::Black { " b " } else { " w " });
    match state.ban {
        Some(square) => text.push_str(&variant.board.name(square)),
        None => text.push('-'),
    }
    text.push(' ');
    text.push_str(&(state.ply + 1).to_string());
    if variant.rules().drops != Drops::None {
        text.push(' ');
        write_reserve(position, &mut text);
        text.push(' ');
        let before = text.len();
        state.fresh.for_each(|square| text.push_str(&variant.board.name(square)));
        if text.len() == before {
            text.push('-');
        }
    }
    text
}

fn write_reserve(position: &Position, text: &mut String) {
    let before = text.len();
    for color in Color::ALL {
        for (kind, shown) in position.variant.kinds().iter().enumerate() {
            let count = position.reserve(color, PieceKind::new(kind));
            if count > 1 {
                text.push_str(&count.to_string());
            }
            if count > 0 {
                let code = shown.sfen();
                text.push_str(&if color == Color::Black { code } else { code.to_ascii_lowercase() });
            }
        }
    }
    if text.len() == before {
        text.push('-');
    }
}

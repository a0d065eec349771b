//! Board diagrams in KIF: positions that games begin from.

use std::sync::Arc;

use super::cursor::Cursor;
use super::names::Names;
use super::{KifError, kanji_number, wide};
use crate::geometry::Color;
use crate::piece::{Piece, PieceKind};
use crate::position::Position;
use crate::rules::Drops;
use crate::variant::Variant;

/// The header lines that hold the reserves.
pub(super) const RESERVES: [(&str, Color); 4] = [
    ("先手の持駒", Color::Black),
    ("下手の持駒", Color::Black),
    ("後手の持駒", Color::White),
    ("上手の持駒", Color::White),
];

/// A position as a diagram, with the reserves where the variant has them.
pub(super) fn write(position: &Position, names: &Names) -> String {
    let variant = position.variant();
    let width = names.cell_width() + 1;
    let mut text = String::new();
    let reserve = |color: Color, text: &mut String| {
        if variant.rules().drops != Drops::None {
            let key = if color == Color::Black { "先手の持駒" } else { "後手の持駒" };
            *text += &format!("{key}：{}\n", reserve_text(position, names, color));
        }
    };
    reserve(Color::White, &mut text);
    for file in (1..=variant.files()).rev() {
        text += &format!("{:>width$}", wide(file));
    }
    let border = format!("+{}+\n", "-".repeat(variant.files() * (width + 1)));
    text += "\n";
    text += &border;
    for (row, rank) in position.codes().chunks(variant.files()).enumerate() {
        text.push('|');
        for &code in rank {
            let cell = match Piece::from_code(code) {
                None => "・".to_string(),
                Some(Piece { color: Color::Black, kind }) => names.cell(kind).to_string(),
                Some(Piece { color: Color::White, kind }) => format!("v{}", names.cell(kind)),
            };
            text += &format!("{cell:>width$}");
        }
        text += &format!("|{}\n", kanji_number(row + 1));
    }
    text += &border;
    reserve(Color::Black, &mut text);
    if position.side_to_move() == Color::White {
        text += "後手番\n";
    }
    text
}

fn reserve_text(position: &Position, names: &Names, color: Color) -> String {
    let kinds = (0..position.variant().kinds().len()).map(PieceKind::new);
    let held = kinds.filter_map(|kind| match position.reserve(color, kind) {
        0 => None,
        1 => Some(names.cell(kind).to_string()),
        count => Some(names.cell(kind).to_string() + &kanji_number(count)),
    });
    let text = held.collect::<Vec<_>>().join("　");
    if text.is_empty() { "なし".to_string() } else { text }
}

/// The position of a diagram: its ranks with their `|`, and what stands after the headers of the reserves.
pub(super) fn read(
    variant: &Arc<Variant>,
    names: &Names,
    ranks: &[Cursor<'_>],
    reserves: &[(Color, Cursor<'_>)],
    side: Color,
) -> Result<Position, KifError> {
    let Some(first) = ranks.first() else { return Ok(Position::start(variant)) };
    if ranks.len() != variant.ranks() {
        return first.fail(format!("the diagram has {} ranks; expected {}", ranks.len(), variant.ranks()));
    }
    let mut sfen = String::new();
    for rank in ranks {
        if !sfen.is_empty() {
            sfen.push('/');
        }
        sfen += &read_rank(variant, names, rank.clone())?;
    }
    sfen += if side == Color::Black { " b - 1" } else { " w - 1" };
    let mut held = String::new();
    for (color, cursor) in reserves {
        held += &read_reserve(variant, names, *color, cursor.clone())?;
    }
    if variant.rules().drops != Drops::None {
        sfen += &format!(" {}", if held.is_empty() { "-" } else { &held });
    }
    Position::from_sfen(variant, &sfen).or_else(|error| first.fail(error.message))
}

fn read_rank(variant: &Variant, names: &Names, mut cursor: Cursor<'_>) -> Result<String, KifError> {
    cursor.eat("|");
    let mut sfen = String::new();
    let (mut squares, mut empty) = (0, 0);
    loop {
        cursor.spaces();
        let end = cursor.rest.starts_with('|');
        if end && squares < variant.files() {
            return cursor.fail(format!("{squares} squares; expected {}", variant.files()));
        }
        if end {
            break;
        }
        if squares == variant.files() {
            return cursor.fail(format!("more than {} squares; expected `|`", variant.files()));
        }
        squares += 1;
        if ["・", "･", "."].iter().any(|dot| cursor.eat(dot)) {
            empty += 1;
            continue;
        }
        let white = ["v", "V", "^"].iter().any(|mark| cursor.eat(mark));
        let Some((kind, rest)) = names.read_cell(cursor.rest) else {
            return cursor.fail("expected `・`, or a piece, `v` before it for White".to_string());
        };
        cursor.rest = rest;
        if empty > 0 {
            sfen += &empty.to_string();
            empty = 0;
        }
        sfen += &sfen_of(variant, kind, if white { Color::White } else { Color::Black });
    }
    Ok(if empty > 0 { sfen + &empty.to_string() } else { sfen })
}

fn read_reserve(variant: &Variant, names: &Names, color: Color, mut cursor: Cursor<'_>) -> Result<String, KifError> {
    let mut sfen = String::new();
    cursor.spaces();
    if cursor.eat("なし") {
        cursor.spaces();
    }
    while !cursor.rest.is_empty() {
        if variant.rules().drops == Drops::None {
            return cursor.fail(format!("no pieces are held in reserve in {}", variant.name()));
        }
        let Some((kind, rest)) = names.read_cell(cursor.rest) else {
            return cursor.fail("expected a piece and perhaps its number in kanji".to_string());
        };
        cursor.rest = rest;
        match cursor.kanji_number().unwrap_or(1) {
            count @ 1..=99 => sfen += &format!("{count}{}", sfen_of(variant, kind, color)),
            _ => return cursor.fail("more pieces than there can be".to_string()),
        }
        cursor.spaces();
    }
    Ok(sfen)
}

fn sfen_of(variant: &Variant, kind: PieceKind, color: Color) -> String {
    let letters = variant.kind(kind).sfen();
    if color == Color::Black { letters } else { letters.to_ascii_lowercase() }
}

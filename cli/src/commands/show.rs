//! `shishi show`

use anyhow::Context;
use clap::Args;
use engine::{Color, Position, Square, Variant};
use serde_json::json;

use crate::args::PositionArgs;
use crate::output;

#[derive(Args)]
#[command(after_help = "Examples:\n  shishi show chu\n  shishi show chu --piece lion")]
pub(crate) struct Show {
    #[command(flatten)]
    position: PositionArgs,
    /// Draw how this piece of Black's moves on an empty board instead
    #[arg(long, value_name = "ID")]
    piece: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Show) -> anyhow::Result<()> {
    let position = args.position.load()?;
    match &args.piece {
        None => show_position(&position, args.json),
        Some(id) => show_piece(position.variant(), id, args.json)?,
    }
    Ok(())
}

fn show_position(position: &Position, as_json: bool) {
    if as_json {
        let variant = position.variant();
        let squares: Vec<_> = (0..variant.squares())
            .map(Square::new)
            .filter_map(|square| {
                let piece = position.piece_at(square)?;
                let kind = variant.kind(piece.kind);
                Some(json!({"square": variant.board().name(square), "color": piece.color.as_str(), "id": kind.id, "symbol": kind.symbol}))
            })
            .collect();
        output::json(&json!({"sfen": position.sfen(), "side": position.side_to_move().as_str(), "pieces": squares}));
        return;
    }
    println!("{}", board(position));
    println!("{} to move", position.side_to_move());
    println!("{}", position.sfen());
}

/// The board as text: `v` before White's pieces, `+` before promoted ones, which show the piece they move as.
pub(crate) fn board(position: &Position) -> String {
    let variant = position.variant();
    grid(variant, |square| match position.piece_at(square) {
        None => " ・".to_string(),
        Some(piece) => {
            let kind = variant.kind(piece.kind);
            let side = if piece.color == Color::White { "v" } else { " " };
            let plus = if kind.is_promoted() { "+" } else { "" };
            format!("{side}{plus}{}", kind.symbol)
        }
    })
}

fn grid(variant: &Variant, cell: impl Fn(Square) -> String) -> String {
    let cells: Vec<String> = (0..variant.squares()).map(|index| cell(Square::new(index))).collect();
    let columns = cells.iter().map(|cell| output::width(cell)).max().unwrap_or(0).max(3) + 1;
    let mut text = String::new();
    for file in (1..=variant.files()).rev() {
        text += &output::pad(&format!(" {file}"), columns);
    }
    for (row, rank) in cells.chunks(variant.files()).enumerate() {
        text = text.trim_end().to_string() + "\n";
        for cell in rank {
            text += &output::pad(cell, columns);
        }
        text += &format!(" {}", (b'a' + row as u8) as char);
    }
    text
}

fn show_piece(variant: &std::sync::Arc<Variant>, id: &str, as_json: bool) -> anyhow::Result<()> {
    let kind = variant.kind_by_id(id).or_else(|| {
        // A piece that stands on the board only as a promoted one goes by its own name too.
        (0..variant.kinds().len()).map(engine::PieceKind::new).find(|&kind| variant.kind(kind).moves_as == id)
    });
    let kind = kind.with_context(|| {
        let ids: Vec<_> = variant.kinds().iter().map(|kind| kind.id.as_str()).collect();
        format!("{} has no piece `{id}`; it has {}", variant.name(), ids.join(", "))
    })?;
    let shown = variant.kind(kind);
    let middle = variant.board().middle();
    let position = lone_piece(variant, &shown.sfen(), middle)?;
    let mut moves = Vec::new();
    position.legal_moves(&mut moves);
    if as_json {
        let board = variant.board();
        let mut to: Vec<_> = moves.iter().filter(|mv| !mv.is_pass()).map(|mv| board.name(mv.to())).collect();
        to.sort();
        to.dedup();
        output::json(&json!({
            "id": shown.id, "name": shown.name, "kanji": shown.kanji, "romaji": shown.romaji, "code": shown.sfen(),
            "moves_as": shown.moves_as, "royal": shown.royal, "from": board.name(middle), "to": to,
            "passes": moves.iter().any(|mv| mv.is_pass()),
            "promotes_to": shown.promotes_to.map(|kind| &variant.kind(kind).moves_as),
        }));
        return Ok(());
    }
    println!("{} {} ({}), code {}", shown.name, shown.kanji, shown.romaji, shown.sfen());
    println!(
        "{}",
        grid(variant, |square| {
            if square == middle {
                format!(" {}", shown.symbol)
            } else if moves.iter().any(|mv| mv.to() == square) {
                " ●".to_string()
            } else {
                " ・".to_string()
            }
        })
    );
    if moves.iter().any(|mv| mv.is_pass()) {
        println!("It can capture and come back, capture on the way, or pass.");
    }
    if let Some(promoted) = shown.promotes_to {
        println!("It promotes to {}.", variant.kind(promoted).name);
    }
    Ok(())
}

/// A board with one piece of Black's.
fn lone_piece(variant: &std::sync::Arc<Variant>, code: &str, square: Square) -> anyhow::Result<Position> {
    let (files, ranks) = (variant.files(), variant.ranks());
    let (row, column) = (square.index() / files, square.index() % files);
    let gap = |count: usize| if count > 0 { count.to_string() } else { String::new() };
    let rows: Vec<_> = (0..ranks)
        .map(|r| if r == row { format!("{}{code}{}", gap(column), gap(files - column - 1)) } else { gap(files) })
        .collect();
    Ok(Position::from_sfen(variant, &format!("{} b - 1", rows.join("/")))?)
}

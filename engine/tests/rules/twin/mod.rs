//! The slow twin: the same games once more, written from the rules' text and the source tables alone.
//!
//! It looks for the obvious, not the fast: every move is generated as a start, an end and the sorted squares it
//! captures on, into a set; "is this square attacked" asks whether any piece has such a capture; the rules about
//! lions are asked of the board as it stands after the move. It shares no code and no data with the crate it checks:
//! it reads `tests/data/`, the crate reads its own variant files.

mod alternatives;
mod drops;
mod ending;
mod game;
mod lions;
mod moves;
mod position;
mod powers;
mod promotion;
mod rules;
mod usi;
mod variant;

pub(crate) use alternatives::alternatives;
pub(crate) use ending::TwinEnd;
pub(crate) use game::TwinGame;
pub(crate) use moves::TwinMove;
pub(crate) use position::{TwinPiece, TwinPosition};
pub(crate) use powers::Power;
pub(crate) use rules::RoyalCount;
pub(crate) use variant::TwinVariant;

use std::path::PathBuf;

/// A file of `tests/data`, as text.
pub(crate) fn data(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "data", name].iter().collect();
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The rows of a JSON-lines file of `tests/data`.
pub(crate) fn rows(name: &str) -> Vec<serde_json::Value> {
    parse_rows(&data(name), name)
}

/// The rows of a JSON-lines text.
pub(crate) fn parse_rows(text: &str, name: &str) -> Vec<serde_json::Value> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(n, line)| serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}:{}: {error}", n + 1)))
        .collect()
}

/// A text field of a JSON row.
pub(crate) fn text<'a>(row: &'a serde_json::Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {row}"))
}

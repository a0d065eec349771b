//! Values by square as text.

use eval::squares::{SquareTable, SquareValue, Squares};
use eval::values::{Method, Unit};

use crate::output;

/// A board for each kind, with what a square adds to the kind's mean value.
pub(super) fn text(squares: &Squares) -> String {
    let by = match (squares.method, &squares.judge) {
        (Method::Increment, judge) => format!("as {} judged them", judge.as_deref().unwrap_or("a judge")),
        (Method::Outcome, _) => "by outcomes".to_string(),
    };
    let unit = match (squares.unit, &squares.reference_title) {
        (Unit::Reference, Some(title)) => format!("points of {title}"),
        _ => "logits of winning".to_string(),
    };
    let head = format!(
        "{} under ruleset {}: {} positions at rest of {} games, {by}; values in {unit}\n\
         what a square adds to a piece's mean value, as Black sees the board; * where the 95 % interval leaves out 0, · where the \
         games do not determine it",
        squares.variant, squares.ruleset, squares.rows, squares.games
    );
    let decimals = if squares.unit == Unit::Logit { 2 } else { 1 };
    let tables = squares.tables.iter().map(|of| table(of, decimals));
    std::iter::once(head).chain(tables).collect::<Vec<_>>().join("\n\n")
}

fn table(table: &SquareTable, decimals: usize) -> String {
    let plus = if table.promoted { "+" } else { "" };
    let mut text = format!("{plus}{} {}: ", table.symbol, table.id);
    text += &match (table.value, table.low, table.high) {
        (Some(value), Some(low), Some(high)) => {
            format!("mean {value:.decimals$} ({low:.decimals$} – {high:.decimals$})")
        }
        _ => "no mean value identified".to_string(),
    };
    text += &format!(", {} of {} squares identified", table.identified(), table.cells.len());
    if table.folded {
        text += ", left and right together";
    }
    if table.identified() == 0 {
        return text;
    }
    let files = table.cells.len() / table.ranks;
    let number = |cell: &SquareValue| {
        let mark = if cell.is_apart() { "*" } else { " " };
        cell.difference.map_or("· ".to_string(), |difference| signed(difference, decimals) + mark)
    };
    let rows = table.cells.chunks(files).map(|rank| {
        let letter = rank[0].square.trim_start_matches(|c: char| c.is_ascii_digit());
        rank.iter().map(number).chain([letter.to_string()]).collect::<Vec<_>>()
    });
    let header = table.cells[..files].iter().map(|cell| format!("{} ", cell.file)).chain([String::new()]);
    text += "\n";
    text + &output::right_aligned(&std::iter::once(header.collect()).chain(rows).collect::<Vec<_>>())
}

/// `+0.4`, `-0.4`, `0.0`.
fn signed(number: f64, decimals: usize) -> String {
    let text = format!("{number:+.decimals$}");
    if text.trim_start_matches(['+', '-']).chars().all(|c| c == '0' || c == '.') { text[1..].to_string() } else { text }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn boards_stand_as_black_sees_them() {
        let cell = |square: &str, difference: Option<f64>| {
            serde_json::json!({"square": square, "file": square[..1].parse::<usize>().unwrap(), "rank": 1, "value": null,
                "low": null, "high": null, "difference": difference, "difference_low": difference.map(|d| d - 0.1), "difference_high": difference.map(|d| d + 0.1),
                "games": 1, "share": 0.1, "identified": difference.is_some()})
        };
        let cells = [cell("2a", Some(0.44)), cell("1a", None), cell("2b", Some(-0.02)), cell("1b", Some(-12.04))];
        let table: SquareTable = serde_json::from_value(serde_json::json!({"id": "pawn", "name": "pawn", "symbol": "歩",
            "promoted": false, "folded": true, "files": 3, "ranks": 2, "value": 1.0, "low": 0.9, "high": 1.1, "cells": cells}))
        .unwrap();
        let expected = "歩 pawn: mean 1.0 (0.9 – 1.1), 3 of 4 squares identified, left and right together\n   \
             2       1\n+0.4*      ·   a\n 0.0   -12.0*  b";
        assert_eq!(super::table(&table, 1), expected);
    }
}

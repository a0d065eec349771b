//! Values by phase of the game, and promotions.

use super::ValuesReport;
use super::markup::Markup;
use super::numbers::{count, counted, percent};
use super::page::note;
use super::tables::{Cell, table};
use crate::interval::Interval;
use crate::phase::PhaseValues;
use crate::values::PieceValue;

/// Values in each phase beside those of the whole game.
pub(super) fn phases(m: &mut Markup, values: &ValuesReport) {
    if values.phases.is_empty() {
        return;
    }
    m.leaf("h3", &[], "By phase of the game");
    let part =
        |phase: &PhaseValues, id: &str| phase.pieces.iter().find(|piece| piece.id == id).and_then(PieceValue::interval);
    let rows: Vec<Vec<Cell>> = values
        .pieces()
        .filter(|row| row.value.identified || values.phases.iter().any(|phase| part(phase, &row.value.id).is_some()))
        .map(|row| {
            let mut cells = vec![
                Cell::Kanji(row.kanji.clone(), row.promoted()),
                Cell::Piece(row.name.clone(), row.from.clone()),
                Cell::interval(row.value.interval()),
            ];
            cells.extend(values.phases.iter().map(|phase| Cell::interval(part(phase, &row.value.id))));
            cells
        })
        .collect();
    if rows.is_empty() {
        m.leaf("p", &[("class", &"missing")], "No piece is identified in any phase.");
        return;
    }
    let names = values.phases.iter().map(|phase| phase.phase.as_str());
    let headings: Vec<&str> = ["", "piece", "whole game"].into_iter().chain(names).collect();
    table(m, &headings, &rows);
    let line = |phase: &PhaseValues| {
        let scale = phase.scale.map_or("too few pieces identified for a scale".to_owned(), |scale| {
            let (value, low, high) = (scale.value, scale.low, scale.high);
            format!("{value:.3} logits per unit ({low:.3} to {high:.3}, by {} pieces)", phase.scale_pieces)
        });
        format!("{}: {}, {scale}", phase.phase.as_str(), counted(phase.games, "game"))
    };
    let lines: Vec<String> = values.phases.iter().map(line).collect();
    note(
        m,
        format!(
            "Phases by the pieces left: above two thirds, above one third, fewer. In each phase one factor makes the \
             pieces worth the same on average as in the whole game, so what counts is how pieces change against each \
             other: {}.",
            lines.join("; ")
        ),
    );
}

/// How often and when pieces promote.
pub(super) fn promotions(m: &mut Markup, values: &ValuesReport) {
    if values.promotions.is_empty() {
        return;
    }
    m.leaf("h3", &[], "Promotion");
    let rows: Vec<Vec<Cell>> = values
        .promotions
        .iter()
        .map(|p| {
            let piece = values.pieces().find(|row| row.value.id == p.id);
            let share =
                |s: Interval| Cell::Measured(percent(s.value), format!("({} to {})", percent(s.low), percent(s.high)));
            let plies =
                |[low, middle, high]: [u16; 3]| Cell::Measured(middle.to_string(), format!("({low} to {high})"));
            vec![
                Cell::Kanji(piece.map_or(String::new(), |row| row.kanji.clone()), false),
                Cell::Piece(piece.map_or(p.id.clone(), |row| row.name.clone()), None),
                Cell::number(count(p.promotions)),
                p.share.map_or(Cell::maybe(None), share),
                p.plies.map_or(Cell::maybe(None), plies),
                Cell::interval(p.before),
                Cell::interval(p.after),
            ]
        })
        .collect();
    let headings =
        ["", "piece", "promotions", "of all pieces, %", "move, median (quartiles)", "worth before", "worth after"];
    table(m, &headings, &rows);
    note(
        m,
        "Over all games, those that were cut off too, and both sides; moves of either side count from the first recorded \
         position. Intervals are 95\u{a0}%, clustered by game. The last move of a game is not seen.",
    );
}

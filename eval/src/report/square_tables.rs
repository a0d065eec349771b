//! Boards that show what pieces are worth by the square they stand on.

use std::cmp::Reverse;

use engine::Variant;

use super::markup::Markup;
use super::numbers::{count, counted, player, significant};
use super::page::{note, paragraph};
use super::pieces::spelled_base;
use super::svg::{At, text};
use crate::squares::{SquareTable, SquareValue, Squares};
use crate::values::Unit;

/// Kinds shown at once; the others unfold.
const SHOWN: usize = 6;

/// Files from which on squares are drawn small, without numbers in them.
const MANY_FILES: usize = 10;

/// Room around a board for the names of files and ranks.
const MARGIN: f64 = 15.0;

/// How much of the strongest colour a square has whose difference is the largest; more would drown its number.
const STRONGEST: f64 = 0.6;

/// What squares add to the value of pieces.
pub(super) fn squares(m: &mut Markup, squares: &Squares, rules: Option<&Variant>) {
    m.leaf("h3", &[("id", &"squares")], "By square");
    let judge = squares.judge.as_deref().map(player);
    let how = judge.as_ref().map_or("explains who won".to_owned(), |judge| format!("explains what {judge} expects"));
    let opinion = judge.map_or(String::new(), |judge| format!(" This is the opinion of {judge}."));
    paragraph(
        m,
        format!(
            "A regression {how} by where the pieces of one kind stand and by how many others either side has, over {} of \
             {} in which no capture is under way.{opinion}",
            counted(squares.rows, "position"),
            counted(squares.games, "game"),
        ),
    );
    let mut tables: Vec<&SquareTable> = squares.tables.iter().filter(|table| largest(table) > 0.0).collect();
    tables.sort_by_key(|table| Reverse(table.identified()));
    if tables.is_empty() {
        m.leaf("p", &[("class", &"missing")], "No square of any piece is identified: too few games.");
        return;
    }
    let boards = |m: &mut Markup, tables: &[&SquareTable]| {
        m.element("div", &[("class", &"boards")], |m| {
            tables.iter().for_each(|table| board(m, table, squares.unit, rules))
        });
        m.line();
    };
    let (shown, others) = tables.split_at(tables.len().min(SHOWN));
    boards(m, shown);
    if !others.is_empty() {
        m.element("details", &[], |m| {
            m.leaf("summary", &[], format!("{} more", counted(others.len() as u64, "piece")));
            boards(m, others);
        });
        m.line();
    }
    let nothing: Vec<String> =
        squares.tables.iter().filter(|table| largest(table) <= 0.0).map(|table| name(table, rules)).collect();
    if !nothing.is_empty() {
        note(m, format!("No square is identified for {}.", nothing.join(", ")));
    }
    let unit = match squares.unit {
        Unit::Reference => "points of the reference",
        Unit::Logit => "logits",
    };
    note(
        m,
        format!(
            "From values/squares.json. Numbers are what a square adds to the piece’s mean \
             value or takes from it, in {unit}, as the owner sees the board from below; bold where the 95\u{a0}% interval \
             leaves 0 out, blank with a dot where the games do not determine the value. The mean counts each square as \
             often as pieces stand on it. Of pieces that move alike to both sides left and right are one, and the right half \
             is shown. Every board has colours of its own. Point at a square for its interval. A square also stands for what \
             usually goes with it: a piece far ahead is there because something went well.",
        ),
    );
}

/// The largest difference of a table; 0 if there is none.
fn largest(table: &SquareTable) -> f64 {
    table.cells.iter().filter_map(|cell| cell.difference).fold(0.0, |most, difference| difference.abs().max(most))
}

/// English name, with what it was for a promoted piece.
fn name(table: &SquareTable, rules: Option<&Variant>) -> String {
    let kind = rules.and_then(|rules| rules.kind_by_id(&table.id).map(|kind| (rules, rules.kind(kind))));
    let base = kind.and_then(|(rules, kind)| Some(rules.kind(kind.base?).name.clone()));
    let spelled = || spelled_base(&table.id);
    let from = if table.promoted { base.or_else(spelled) } else { None };
    from.map_or(table.name.clone(), |from| format!("{} from {from}", table.name))
}

fn board(m: &mut Markup, table: &SquareTable, unit: Unit, rules: Option<&Variant>) {
    let name = name(table, rules);
    let kanji = rules.and_then(|rules| Some(rules.kind(rules.kind_by_id(&table.id)?).kanji.clone()));
    m.element("figure", &[], |m| {
        m.element("figcaption", &[], |m| {
            m.element("b", &[], |m| {
                let class = if table.promoted { "kanji promoted" } else { "kanji" };
                m.leaf("span", &[("class", &class), ("lang", &"ja")], kanji.as_ref().unwrap_or(&table.symbol));
                m.text(format!(" {name}"));
            });
            if let (Some(value), Some(low), Some(high)) = (table.value, table.low, table.high) {
                m.text(format!("mean {} ({} to {}), ", significant(value), significant(low), significant(high)));
            }
            let (identified, cells) = (table.identified() as u64, table.cells.len() as u64);
            m.text(format!("{} of {} squares identified", count(identified), count(cells)));
        });
        m.line();
        draw(m, table, &name, if unit == Unit::Logit { 2 } else { 1 });
    });
    m.line();
}

fn draw(m: &mut Markup, table: &SquareTable, name: &str, decimals: usize) {
    let files = table.cells.iter().map(|cell| cell.file).max().unwrap_or(1);
    let ranks = table.cells.iter().map(|cell| cell.rank).max().unwrap_or(1);
    let (wide, high) = if files < MANY_FILES { (30.0, 21.0) } else { (16.0, 16.0) };
    let (width, height) = (files as f64 * wide, ranks as f64 * high);
    let most = largest(table);
    let view = format!("0 0 {:.0} {:.0}", width + MARGIN + 2.0, height + MARGIN + 36.0);
    let label = format!("What each square adds to the value of the {name}");
    m.element("svg", &[("viewBox", &view), ("role", &"img"), ("aria-label", &label)], |m| {
        for file in 1..=files {
            text(m, 1.0 + (files - file) as f64 * wide + wide / 2.0, MARGIN - 5.0, "place", file);
        }
        for rank in 1..=ranks {
            let first = table.cells.iter().find(|cell| cell.rank == rank);
            let letter = first.map_or("", |cell| cell.square.trim_start_matches(|c: char| c.is_ascii_digit()));
            text(m, width + 9.0, MARGIN + (rank as f64 - 0.5) * high + 3.5, "place", letter);
        }
        for cell in &table.cells {
            let (x, y) = (1.0 + (files - cell.file) as f64 * wide, MARGIN + (cell.rank as f64 - 1.0) * high);
            m.element("g", &[], |m| {
                m.leaf("title", &[], described(cell));
                square(m, [x, y, wide, high], cell.difference, most);
                let [x, y] = [x + wide / 2.0, y + high / 2.0 + 3.2];
                match cell.difference {
                    None => text(m, x, y, "cell unknown", "·"),
                    Some(difference) if files < MANY_FILES => {
                        let class = if cell.is_apart() { "cell sure" } else { "cell" };
                        text(m, x, y, class, signed(difference, decimals));
                    }
                    Some(_) => {}
                }
            });
        }
        m.line();
        legend(m, width, MARGIN + height + 8.0, most, decimals);
    });
    m.line();
}

/// A square in the colour of its difference; without one in none.
fn square(m: &mut Markup, [x, y, width, height]: [f64; 4], difference: Option<f64>, most: f64) {
    let strength = difference.map_or(0.0, |difference| STRONGEST * difference.abs() / most);
    let class = match difference {
        None => "unknown",
        Some(difference) if difference < 0.0 => "less",
        Some(_) => "more",
    };
    let opacity = format!("{strength:.2}");
    let (x, y, width, height) = (At(x), At(y), At(width), At(height));
    m.empty(
        "rect",
        &[
            ("x", &x),
            ("y", &y),
            ("width", &width),
            ("height", &height),
            ("class", &format!("square {class}")),
            ("fill-opacity", &opacity),
        ],
    );
}

/// Colours with their numbers.
fn legend(m: &mut Markup, width: f64, top: f64, most: f64, decimals: usize) {
    let step = (width / 5.0).min(36.0);
    for (index, share) in [-1.0, -0.5, 0.0, 0.5, 1.0].into_iter().enumerate() {
        let x = 1.0 + index as f64 * step;
        square(m, [x, top, step, 8.0], Some(share * most), most);
        text(m, x + step / 2.0, top + 19.0, "place", signed(share * most, decimals));
    }
}

fn described(cell: &SquareValue) -> String {
    let games = counted(cell.games, "game");
    match (cell.difference, cell.difference_low, cell.difference_high, cell.value) {
        (Some(difference), Some(low), Some(high), Some(value)) => format!(
            "{}: {} ({} to {}), value {}; {games} with a difference",
            cell.square,
            signed(difference, 2),
            signed(low, 2),
            signed(high, 2),
            significant(value)
        ),
        _ => format!("{}: not determined; {games} with a difference", cell.square),
    }
}

/// `+0.4`, `−0.4`, `0.0`.
fn signed(number: f64, decimals: usize) -> String {
    let text = format!("{number:+.decimals$}");
    let is_zero = text[1..].chars().all(|c| c == '0' || c == '.');
    if is_zero { text[1..].to_owned() } else { text.replace('-', "−") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_signs_unless_they_round_to_nothing() {
        for (number, expected) in [(0.44, "+0.4"), (-0.44, "−0.4"), (-0.04, "0.0"), (0.0, "0.0"), (-12.36, "−12.4")]
        {
            assert_eq!(signed(number, 1), expected);
        }
    }
}

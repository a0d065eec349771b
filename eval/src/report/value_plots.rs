//! Plots of piece values.

use super::markup::Markup;
use super::numbers::{range, significant};
use super::pieces::PieceRow;
use super::svg::{At, Axis, Frame, WIDTH, line, svg, text, x_axis};

/// A value with its interval and its reference.
struct Measured<'a> {
    piece: &'a PieceRow,
    value: f64,
    low: f64,
    high: f64,
    reference: Option<f64>,
}

impl<'a> Measured<'a> {
    fn of(piece: &'a PieceRow) -> Option<Self> {
        let value = piece.value.value.filter(|&value| value > 0.0)?;
        let (low, high) = (piece.value.low?.max(value * 0.02), piece.value.high?);
        Some(Measured { piece, value, low, high, reference: piece.value.reference })
    }

    fn described(&self) -> String {
        let from = self.piece.from.as_ref().map_or(String::new(), |from| format!(", promoted {from}"));
        let reference = self.reference.map_or(String::new(), |x| format!("; reference {}", significant(x)));
        format!("{}{from}: {} ({}){reference}", self.piece.name, significant(self.value), range(self.low, self.high))
    }
}

/// The least and the greatest of some numbers above 0; 1 twice if there are none.
fn ends(numbers: impl Iterator<Item = f64> + Clone) -> [f64; 2] {
    let low = numbers.clone().fold(f64::INFINITY, f64::min);
    if low.is_finite() { [low, numbers.fold(0.0, f64::max)] } else { [1.0, 1.0] }
}

/// Rows of one plot at most.
const MOST_ROWS: usize = 36;

/// Parts of about equal length that fit into a plot each, with their titles.
pub(super) fn parts(pieces: &[PieceRow]) -> impl Iterator<Item = (&'static str, &[PieceRow])> {
    let plots = pieces.len().div_ceil(MOST_ROWS).max(1);
    let titles = std::iter::once("Values").chain(std::iter::repeat("Values, continued"));
    titles.zip(pieces.chunks(pieces.len().div_ceil(plots).max(1)))
}

/// Identified pieces, a row each: value with interval, and the reference. The axis is that of `all` pieces.
pub(super) fn dots(m: &mut Markup, all: &[PieceRow], part: &[PieceRow]) {
    let all = all.iter().filter_map(Measured::of);
    let numbers = all.flat_map(|p| [p.low, p.high].into_iter().chain(p.reference));
    let [low, high] = ends(numbers);
    let pieces: Vec<Measured<'_>> = part.iter().filter_map(Measured::of).collect();
    let rows = pieces.iter().map(|p| if p.piece.promoted() { 30.0 } else { 21.0 });
    let frame = Frame { left: 152.0, right: WIDTH - 8.0, top: 18.0, bottom: 22.0 + rows.clone().sum::<f64>() };
    let x = Axis::log(low, high, frame.left, frame.right);
    svg(m, frame.bottom + 36.0, "Value of each piece with its 95\u{a0}% interval, beside the reference", |m| {
        x_axis(m, frame, &x, "value, logarithmic", true);
        x.ticks().iter().for_each(|&tick| text(m, x.at(tick), frame.top - 6.0, "tick middle", x.label(tick)));
        let mut top = frame.top + 2.0;
        for (p, height) in pieces.iter().zip(rows) {
            let middle = top + height / 2.0;
            top += height;
            line(m, [frame.left, middle], [frame.right, middle], "grid");
            m.element("g", &[], |m| {
                m.leaf("title", &[], p.described());
                let kanji = if p.piece.promoted() { "kanji promoted" } else { "kanji" };
                match &p.piece.from {
                    None => text(m, frame.left - 36.0, middle + 4.0, "label end", &p.piece.name),
                    Some(from) => {
                        text(m, frame.left - 36.0, middle - 1.0, "label end", &p.piece.name);
                        text(m, frame.left - 36.0, middle + 10.0, "small end", format!("from {from}"));
                    }
                }
                text(m, frame.left - 18.0, middle + 5.0, &format!("{kanji} middle"), &p.piece.symbol);
                if let Some(reference) = p.reference {
                    diamond(m, x.at(reference), middle);
                }
                line(m, [x.at(p.low), middle], [x.at(p.high), middle], "whisker one");
                m.empty(
                    "circle",
                    &[("cx", &At(x.at(p.value))), ("cy", &At(middle)), ("r", &3.5), ("class", &"dot one")],
                );
            });
        }
    });
}

fn diamond(m: &mut Markup, x: f64, y: f64) {
    let corners = [[x, y - 5.0], [x + 5.0, y], [x, y + 5.0], [x - 5.0, y]];
    let points = corners.map(|[x, y]| format!("{x:.1},{y:.1}")).join(" ");
    m.empty("polygon", &[("points", &points), ("class", &"diamond")]);
}

/// Values against the reference, both logarithmic; on the diagonal they agree.
pub(super) fn scatter(m: &mut Markup, pieces: &[PieceRow]) {
    let pieces: Vec<Measured<'_>> = pieces.iter().filter_map(Measured::of).filter(|p| p.reference.is_some()).collect();
    let numbers = pieces.iter().flat_map(|p| [p.low, p.high].into_iter().chain(p.reference));
    let [low, high] = ends(numbers);
    let frame = Frame { left: 34.0, right: WIDTH - 8.0, top: 22.0, bottom: 340.0 };
    let x = Axis::log(low, high, frame.left, frame.right);
    let y = Axis::log(low, high, frame.bottom, frame.top);
    svg(m, 376.0, "Measured value against the reference, both logarithmic", |m| {
        for tick in y.ticks() {
            line(m, [frame.left, y.at(tick)], [frame.right, y.at(tick)], "grid");
            text(m, frame.left - 5.0, y.at(tick) + 3.5, "tick end", y.label(tick));
        }
        text(m, 2.0, frame.top - 9.0, "name", "measured");
        x_axis(m, frame, &x, "reference", true);
        line(m, [frame.left, frame.bottom], [frame.right, frame.top], "diagonal");
        let centers: Vec<[f64; 2]> = pieces.iter().map(|p| [x.at(p.reference.unwrap_or(1.0)), y.at(p.value)]).collect();
        let centers = apart(centers);
        for (p, &[cx, cy]) in pieces.iter().zip(&centers) {
            m.element("g", &[], |m| {
                m.leaf("title", &[], p.described());
                line(m, [cx, y.at(p.low)], [cx, y.at(p.high)], "whisker one");
                m.empty("circle", &[("cx", &At(cx)), ("cy", &At(cy)), ("r", &3.5), ("class", &"dot one")]);
            });
        }
        let labels = places(&centers, frame);
        for (p, place) in pieces.iter().zip(labels) {
            let class = if p.piece.promoted() { "kanji promoted middle" } else { "kanji middle" };
            if let Some([x, y]) = place {
                text(m, x, y + 5.0, class, &p.piece.symbol);
            }
        }
    });
}

/// How far apart points with the same reference may come to lie.
const MOST_SHIFT: f64 = 18.0;

/// Points above one another are set apart sideways a little, so that their intervals can be seen.
fn apart(points: Vec<[f64; 2]>) -> Vec<[f64; 2]> {
    let same = |x: f64| points.iter().filter(|point| (point[0] - x).abs() < 0.1).count();
    let shifted = |(index, &[x, y]): (usize, &[f64; 2])| {
        let before = points[..index].iter().filter(|point| (point[0] - x).abs() < 0.1).count();
        let others = same(x) as f64 - 1.0;
        let step = (MOST_SHIFT / others.max(1.0)).min(3.0);
        [x + step * (before as f64 - others / 2.0), y]
    };
    points.iter().enumerate().map(shifted).collect()
}

/// By how much a label may overlap with others and with points.
const MOST_OVERLAP: f64 = 80.0;

/// Where the label of each point goes: the side of it that is least crowded; nowhere if all are.
fn places(points: &[[f64; 2]], frame: Frame) -> Vec<Option<[f64; 2]>> {
    let sides = [
        [12.0, 0.0],
        [-12.0, 0.0],
        [10.0, -11.0],
        [-10.0, -11.0],
        [10.0, 11.0],
        [-10.0, 11.0],
        [24.0, 0.0],
        [-24.0, 0.0],
    ];
    let mut labels: Vec<Option<[f64; 2]>> = Vec::new();
    for &[x, y] in points {
        let overlap = |[lx, ly]: [f64; 2]| {
            let near =
                |[ox, oy]: [f64; 2], room: f64| (room - (lx - ox).abs()).max(0.0) * (room - (ly - oy).abs()).max(0.0);
            let outside =
                lx < frame.left + 6.0 || lx > frame.right - 6.0 || ly < frame.top + 6.0 || ly > frame.bottom - 6.0;
            labels.iter().flatten().map(|&label| near(label, 15.0)).sum::<f64>()
                + points.iter().map(|&point| near(point, 11.0)).sum::<f64>()
                + if outside { 1000.0 } else { 0.0 }
        };
        let best =
            sides.map(|[dx, dy]| [x + dx, y + dy]).into_iter().min_by(|&a, &b| overlap(a).total_cmp(&overlap(b)));
        labels.push(best.filter(|&side| overlap(side) <= MOST_OVERLAP));
    }
    labels
}

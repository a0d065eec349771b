//! Plots of what changes over generations, and bars.

use selfplay::data::Share;

use super::games::LengthBin;
use super::markup::Markup;
use super::numbers::{count, percent};
use super::svg::{At, Axis, Frame, WIDTH, line, svg, text, x_axis, y_axis};

/// A point of a line.
#[derive(Clone, Copy)]
pub(super) struct Point {
    /// Generation or network.
    pub(super) x: u32,
    /// The number.
    pub(super) y: f64,
    /// Ends of its interval.
    pub(super) interval: Option<[f64; 2]>,
}

/// A line with a style of its own.
pub(super) struct Line<'a> {
    /// Class in the style sheet: `one`, `two`, `floor`.
    pub(super) class: &'static str,
    /// What it shows.
    pub(super) name: &'a str,
    /// Its points.
    pub(super) points: Vec<Point>,
}

/// Names of the axes, and ends of the y axis that hold whatever the numbers are.
pub(super) struct Axes<'a> {
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) ends: Option<[f64; 2]>,
}

/// Lines over generations, with the interval of each point.
pub(super) fn lines(m: &mut Markup, axes: &Axes<'_>, lines: &[Line<'_>]) {
    let points = || lines.iter().flat_map(|line| &line.points);
    let (Some(first), Some(last)) = (points().map(|p| p.x).min(), points().map(|p| p.x).max()) else { return };
    let numbers = || points().flat_map(|p| [p.y].into_iter().chain(p.interval.into_iter().flatten()));
    let [low, high] =
        axes.ends.unwrap_or([numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max)]);
    let frame = Frame { left: 44.0, right: WIDTH - 8.0, top: 24.0, bottom: 180.0 };
    let x = Axis::whole(first, last, frame.left, frame.right);
    let y = Axis::linear(low, high, frame.bottom, frame.top);
    let names: Vec<&str> = lines.iter().map(|line| line.name).collect();
    svg(m, 216.0, &format!("{} by {}: {}", axes.y, axes.x, names.join(", ")), |m| {
        y_axis(m, frame, &y, axes.y);
        x_axis(m, frame, &x, axes.x, false);
        for (index, series) in lines.iter().enumerate() {
            // Lines over the same generations are set apart a little, so that their intervals can be seen.
            let shift = (index as f64 - (lines.len() - 1) as f64 / 2.0) * 3.0;
            let at = |p: &Point| [x.at(p.x.into()) + shift, y.at(p.y)];
            let path: Vec<String> = series.points.iter().map(|p| at(p).map(|c| format!("{c:.1}")).join(",")).collect();
            m.empty("polyline", &[("points", &path.join(" ")), ("class", &format!("line {}", series.class))]);
            for point in &series.points {
                let [cx, cy] = at(point);
                if let Some([low, high]) = point.interval {
                    line(m, [cx, y.at(low)], [cx, y.at(high)], &format!("whisker {}", series.class));
                }
                m.element(
                    "circle",
                    &[("cx", &At(cx)), ("cy", &At(cy)), ("r", &3), ("class", &format!("dot {}", series.class))],
                    |dot| {
                        let number = super::numbers::significant(point.y);
                        let interval = point
                            .interval
                            .map_or(String::new(), |[low, high]| format!(" ({})", super::numbers::range(low, high)));
                        dot.leaf("title", &[], format!("{} {}: {number}{interval}", axes.x, point.x));
                    },
                );
            }
        }
    });
}

/// Shares of a whole: a bar for each with its interval.
pub(super) fn shares(m: &mut Markup, label: &str, shares: &[(String, Share)]) {
    const ROW: f64 = 22.0;
    let frame = Frame { left: 112.0, right: 232.0, top: 4.0, bottom: 4.0 + ROW * shares.len() as f64 };
    let most = shares.iter().map(|(_, share)| share.high).fold(0.0, f64::max);
    let x = Axis::linear(0.0, most, frame.left, frame.right);
    svg(m, frame.bottom + 4.0, label, |m| {
        line(m, [frame.left, frame.top], [frame.left, frame.bottom], "axis");
        for (index, (name, share)) in shares.iter().enumerate() {
            let middle = frame.top + ROW * (index as f64 + 0.5);
            text(m, frame.left - 7.0, middle + 4.0, "label end", name);
            bar(m, [frame.left, middle - 6.0], [x.at(share.value), middle + 6.0]);
            line(m, [x.at(share.low), middle], [x.at(share.high), middle], "whisker ink");
            let [value, low, high] = [share.value, share.low, share.high].map(percent);
            text(m, x.at(share.high) + 6.0, middle + 4.0, "tick", format!("{value}\u{a0}% ({low}–{high})"));
        }
    });
}

/// How many games had which length.
pub(super) fn lengths(m: &mut Markup, bins: &[LengthBin]) {
    let frame = Frame { left: 44.0, right: WIDTH - 8.0, top: 24.0, bottom: 180.0 };
    let Some(end) = bins.last().map(|bin| bin.below) else { return };
    let most = bins.iter().map(|bin| bin.games).max().unwrap_or(0);
    let x = Axis::linear(0.0, end.into(), frame.left, frame.right);
    let y = Axis::linear(0.0, most as f64, frame.bottom, frame.top);
    svg(m, 216.0, "Number of games by their length in moves", |m| {
        y_axis(m, frame, &y, "games");
        for bin in bins {
            let (left, right) = (x.at(bin.from.into()), x.at(bin.below.into()));
            m.element("g", &[], |m| {
                m.leaf("title", &[], format!("{} to {} moves: {} games", bin.from, bin.below - 1, count(bin.games)));
                bar(m, [left + 0.5, y.at(bin.games as f64)], [right - 0.5, frame.bottom]);
            });
        }
        x_axis(m, frame, &x, "moves", false);
    });
}

fn bar(m: &mut Markup, [left, top]: [f64; 2], [right, bottom]: [f64; 2]) {
    let (width, height) = ((right - left).max(0.0), (bottom - top).max(0.0));
    m.empty(
        "rect",
        &[("x", &At(left)), ("y", &At(top)), ("width", &At(width)), ("height", &At(height)), ("class", &"bar")],
    );
}

//! Axes and frames of plots.

use std::fmt::{self, Display};

use super::markup::Markup;

/// Width of every plot in its own units: narrow enough that its text can be read on a telephone.
pub(super) const WIDTH: f64 = 360.0;

/// From how many numbers on a logarithmic axis only powers of ten are marked.
const MOST_TICKS: usize = 9;

/// A coordinate, to a tenth of a unit.
#[derive(Clone, Copy)]
pub(super) struct At(pub(super) f64);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}", self.0)
    }
}

/// The part of a plot inside its axes.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// Maps numbers to coordinates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    log: bool,
    step: f64,
}

impl Axis {
    /// From `low` to `high`, widened to round numbers; `from` and `to` are where they come to lie.
    pub(super) fn linear(low: f64, high: f64, from: f64, to: f64) -> Axis {
        let span = if high > low { high - low } else { low.abs().max(1.0) };
        let step = round_step(span / 5.0);
        let mut axis =
            Axis { low: (low / step).floor() * step, high: (high / step).ceil() * step, from, to, log: false, step };
        if axis.high <= axis.low {
            axis.high = axis.low + step;
        }
        axis
    }

    /// Whole numbers from `low` to `high`, with room at both ends.
    pub(super) fn whole(low: u32, high: u32, from: f64, to: f64) -> Axis {
        let step = round_step(f64::from(high - low) / 6.0).max(1.0).round();
        let room = f64::from(high - low).max(1.0) * 0.06;
        Axis { low: f64::from(low) - room, high: f64::from(high) + room, from, to, log: false, step }
    }

    /// Logarithmic, with room at both ends and wide enough for two ticks. Both numbers are above 0.
    pub(super) fn log(low: f64, high: f64, from: f64, to: f64) -> Axis {
        let (low, high) = (low / 1.25, high * 1.25);
        let widen = (4.0 * low / high).max(1.0).sqrt();
        Axis { low: low / widen, high: high * widen, from, to, log: true, step: 0.0 }
    }

    /// Where a number lies; beyond the ends, at the end.
    pub(super) fn at(&self, number: f64) -> f64 {
        let scale = |x: f64| if self.log { x.max(f64::MIN_POSITIVE).ln() } else { x };
        let share = (scale(number) - scale(self.low)) / (scale(self.high) - scale(self.low));
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round numbers to mark.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let within = |x: &f64| *x >= self.low - 1e-9 * self.low.abs() && *x <= self.high + 1e-9 * self.high.abs();
        if self.log {
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            let with = |digits: &[f64]| -> Vec<f64> {
                let all = (first..=last).flat_map(|power| digits.iter().map(move |digit| digit * 10f64.powi(power)));
                all.filter(within).collect()
            };
            let all = with(&[1.0, 2.0, 5.0]);
            return if all.len() <= MOST_TICKS { all } else { with(&[1.0]) };
        }
        let first = (self.low / self.step - 1e-6).ceil() as i64;
        (first..).map(|i| i as f64 * self.step).take_while(within).collect()
    }

    /// A tick's number as text.
    pub(super) fn label(&self, tick: f64) -> String {
        let decimals = if self.log { tick.log10().floor() } else { self.step.log10().floor() };
        let decimals = (-decimals).max(0.0) as usize;
        let text = format!("{tick:.decimals$}");
        if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
            "0".to_owned()
        } else {
            text.replace('-', "−")
        }
    }
}

/// 1, 2 or 5 times a power of ten, near `step` or above.
fn round_step(step: f64) -> f64 {
    if step <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(step.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * power >= step * 0.999).unwrap_or(10.0);
    digit * power
}

/// A drawing of a height, with a label for those who do not see it.
pub(super) fn svg(m: &mut Markup, height: f64, label: &str, draw: impl FnOnce(&mut Markup)) {
    let view = format!("0 0 {WIDTH} {height:.0}");
    m.element("svg", &[("viewBox", &view), ("role", &"img"), ("aria-label", &label)], draw);
    m.line();
}

/// Text in a drawing; `class` sets size, colour and where it is anchored.
pub(super) fn text(m: &mut Markup, x: f64, y: f64, class: &str, text: impl Display) {
    m.leaf("text", &[("x", &At(x)), ("y", &At(y)), ("class", &class)], text);
}

/// A line.
pub(super) fn line(m: &mut Markup, [x1, y1]: [f64; 2], [x2, y2]: [f64; 2], class: &str) {
    m.empty("line", &[("x1", &At(x1)), ("y1", &At(y1)), ("x2", &At(x2)), ("y2", &At(y2)), ("class", &class)]);
}

/// Ticks, their numbers and a name below a plot.
pub(super) fn x_axis(m: &mut Markup, frame: Frame, axis: &Axis, name: &str, grid: bool) {
    for tick in axis.ticks() {
        let x = axis.at(tick);
        if grid {
            line(m, [x, frame.top], [x, frame.bottom], "grid");
        }
        line(m, [x, frame.bottom], [x, frame.bottom + 4.0], "axis");
        text(m, x, frame.bottom + 16.0, "tick middle", axis.label(tick));
    }
    line(m, [frame.left, frame.bottom], [frame.right, frame.bottom], "axis");
    text(m, (frame.left + frame.right) / 2.0, frame.bottom + 31.0, "name middle", name);
}

/// Lines across a plot with their numbers beside it, and a name above.
pub(super) fn y_axis(m: &mut Markup, frame: Frame, axis: &Axis, name: &str) {
    for tick in axis.ticks() {
        let y = axis.at(tick);
        line(m, [frame.left, y], [frame.right, y], "grid");
        text(m, frame.left - 6.0, y + 3.5, "tick end", axis.label(tick));
    }
    text(m, 2.0, frame.top - 9.0, "name", name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        let axis = Axis::linear(0.13, 0.87, 0.0, 100.0);
        assert_eq!([axis.low, axis.high], [0.0, 1.0]);
        assert_eq!(axis.ticks().len(), 6);
        assert_eq!(axis.label(axis.ticks()[1]), "0.2");
        assert_eq!(axis.at(0.25), 25.0);
        assert_eq!(axis.at(7.0), 100.0);
        // 0.6 / 0.1 is a little more than 6 in binary.
        assert_eq!(Axis::linear(0.61, 1.09, 0.0, 1.0).ticks().len(), 6);
        let negative = Axis::linear(-30.0, 410.0, 0.0, 1.0);
        assert_eq!([negative.low, negative.high], [-100.0, 500.0]);
    }

    #[test]
    fn log_axes_mark_one_two_and_five() {
        let axis = Axis::log(0.8, 16.0, 0.0, 100.0);
        assert_eq!(axis.ticks(), [1.0, 2.0, 5.0, 10.0, 20.0]);
        assert_eq!(axis.label(10.0), "10");
        assert_eq!(axis.label(0.5), "0.5");
        assert!((axis.at((0.64f64 * 20.0).sqrt()) - 50.0).abs() < 1e-9);
        assert_eq!(Axis::log(0.5, 3000.0, 0.0, 1.0).ticks(), [1.0, 10.0, 100.0, 1000.0]);
        // One number alone still has ticks beside it.
        assert!(Axis::log(3.0, 3.0, 0.0, 1.0).ticks().len() >= 2);
    }

    #[test]
    fn degenerate_axes_have_a_width() {
        for axis in [Axis::linear(0.0, 0.0, 0.0, 1.0), Axis::linear(5.0, 5.0, 0.0, 1.0), Axis::whole(3, 3, 0.0, 1.0)] {
            assert!(axis.low < axis.high, "{axis:?}");
            assert!(!axis.ticks().is_empty(), "{axis:?}");
        }
    }
}

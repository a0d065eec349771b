//! Percentile intervals from resamples, and the agreement of two tables with such intervals.

use serde::{Deserialize, Serialize};

use crate::rank_stats::{PairCounts, log_fit, log_slope, spearman};

/// Fewest pieces that a scale is found from and for which agreement is said at all.
pub const MIN_PIECES: usize = 3;

/// A statistic of a reference and an estimate.
type Statistic = fn(&[f64], &[f64]) -> Option<f64>;

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What a statistic of agreement reaches between published tables of standard shogi.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ceiling {
    /// The statistic's name in JSON.
    pub statistic: &'static str,
    /// Between tables by experts and programmers: the median over the 28 pairs of eight.
    pub experts: f64,
    /// Between a table from self-play (AobaZero 2022) and a human expert's (Kaufman 2002).
    pub selfplay: f64,
}

/// The ceilings that are known. Somers' D and the slope have not been computed for those tables; of chu and dai dai no two
/// independent tables are known.
pub const CEILINGS: [Ceiling; 3] = [
    Ceiling { statistic: "tau_b", experts: 0.94, selfplay: 0.73 },
    Ceiling { statistic: "spearman", experts: 0.98, selfplay: 0.82 },
    Ceiling { statistic: "log_sd", experts: 0.20, selfplay: 0.28 },
];

/// Where the ceilings come from.
pub const CEILINGS_SOURCE: &str = "published values of standard shogi (Kaufman 2002, Grimbergen, YSS 7, Bonanza 6, AobaZero \
2022, Nanoha, Fairy-Stockfish): experts, the median over the 28 pairs of eight tables; self-play, AobaZero 2022 against Kaufman";

/// How an estimate agrees with a reference table. `None`: fewer than [`MIN_PIECES`] pieces, or not determined.
/// Resampling adds noise to the estimate, so the intervals lean towards less agreement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// Pieces compared.
    pub pieces: usize,
    /// Somers' D: order, over the pairs that the reference orders. The headline of order.
    pub somers_d: Option<Interval>,
    /// Kendall's tau-b: order, ties of the reference counted as failures; at most about 0.93 against a rounded table.
    pub tau_b: Option<Interval>,
    /// Spearman's rank correlation.
    pub spearman: Option<Interval>,
    /// Standard deviation of the log of estimate over reference, one factor free.
    pub log_sd: Option<Interval>,
    /// Deming slope of log estimate on log reference: under 1, the estimate is compressed.
    pub log_slope: Option<Interval>,
}

impl Agreement {
    /// Compares `estimate` with `reference`, entry by entry; `draws` are resamples of `estimate`.
    ///
    /// # Panics
    /// If lengths differ.
    pub fn of(reference: &[f64], estimate: &[f64], draws: &[Vec<f64>]) -> Self {
        let interval = |statistic: Statistic| {
            if reference.len() < MIN_PIECES {
                return None;
            }
            percentile_interval(statistic(reference, estimate)?, draws.iter().map(|draw| statistic(reference, draw)))
        };
        Agreement {
            pieces: reference.len(),
            somers_d: interval(|x, y| PairCounts::of(x, y).somers_d()),
            tau_b: interval(|x, y| PairCounts::of(x, y).tau_b()),
            spearman: interval(spearman),
            log_sd: interval(|x, y| log_fit(x, y).map(|fit| fit.sd)),
            log_slope: interval(log_slope),
        }
    }
}

/// `value` with the 2.5 and 97.5 % points of the draws; `None` without draws or if one of them is undetermined.
pub fn percentile_interval(value: f64, draws: impl Iterator<Item = Option<f64>>) -> Option<Interval> {
    let draws: Vec<f64> = draws.collect::<Option<_>>()?;
    percentiles(draws.into_iter(), [0.025, 0.975]).map(|[low, high]| Interval { value, low, high })
}

/// The points of the draws below which these shares of them lie, interpolated; `None` without draws.
pub(crate) fn percentiles(draws: impl Iterator<Item = f64>, shares: [f64; 2]) -> Option<[f64; 2]> {
    let mut sorted: Vec<f64> = draws.collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(shares.map(|share| {
        let position = share * last as f64;
        let below = position.floor() as usize;
        let above = (below + 1).min(last);
        sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// 0, 1, .., 1000 has its 2.5 % point at 25 (linear interpolation between order statistics).
    #[test]
    fn percentiles() {
        let shuffled = (0..=1000).map(|i| Some(f64::from(i * 5 % 1001)));
        let interval = percentile_interval(3.0, shuffled).unwrap();
        assert_eq!(interval, Interval { value: 3.0, low: 25.0, high: 975.0 });
        assert_eq!(percentile_interval(3.0, std::iter::empty()), None);
        assert_eq!(percentile_interval(3.0, [Some(1.0), None].into_iter()), None);
        let one = percentile_interval(3.0, [Some(1.0)].into_iter()).unwrap();
        assert_eq!((one.low, one.high), (1.0, 1.0));
    }
}

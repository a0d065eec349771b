//! Match statistics: Elo, normalised Elo, likelihood of superiority and the sequential test.
//!
//! The unit of evidence is the opening pair (both players have both colours from one opening), because the two games
//! of a pair are correlated; single games are supported for matches without pairs. Nothing here is ever NaN or
//! infinite: what a result does not determine is `None`.

use serde::{Deserialize, Serialize};

use crate::normal::{Z95, cumulative};

/// Normalised Elo per standard deviation of one game: 800 / ln 10.
pub const NELO_PER_SIGMA: f64 = 800.0 / std::f64::consts::LN_10;

/// Below this many units the normal approximation of [`Summary::elo_low`] gets two pseudo results: the plain interval
/// covers 88-91 % instead of 95 % at 10 pairs.
pub const MIN_UNITS_FOR_PLAIN_INTERVAL: u64 = 25;

/// What an empty cell counts in a likelihood ratio, so that a result not yet seen stays possible.
const EMPTY_CELL: f64 = 1e-3;

/// Games of a match without pairs: losses, draws, wins of the first player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trinomial(pub [u64; 3]);

/// Opening pairs by points of the first player: 0 (two losses), 1/2, 1, 3/2, 2 (two wins).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pentanomial(pub [u64; 5]);

impl Pentanomial {
    /// Counts one finished pair; `points` are the first player's points in half points, 0 to 4.
    ///
    /// # Panics
    /// If `points` is over 4.
    pub fn add(&mut self, points: usize) {
        self.0[points] += 1;
    }
}

/// Counts of equally spaced results, worst first, which is all the formulas need.
pub trait Results {
    /// Units (games or pairs) by result, from score 0 to score 1 in equal steps.
    fn counts(&self) -> &[u64];

    /// Number of units.
    fn units(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// Games in a unit: 1 or 2.
    fn games_per_unit(&self) -> u64 {
        (self.counts().len() as u64 - 1) / 2
    }

    /// Mean score a game in 0..=1; 1/2 when nothing was played.
    fn score(&self) -> f64 {
        Moments::of(self.counts().iter().map(|&n| n as f64)).mean
    }

    /// Elo, errors and likelihood of superiority.
    fn summary(&self) -> Summary {
        Summary::new(self.counts())
    }

    /// Standard error of the logit ln(s / (1 - s)) of the score by the delta method: that of the score over s (1 - s), with
    /// two pseudo results where [`Summary::elo_low`] has them. `None` when nothing was played.
    fn logit_error(&self) -> Option<f64> {
        let moments = Moments::for_interval(self.counts());
        (self.units() > 0).then(|| moments.standard_error() / (moments.mean * (1.0 - moments.mean)))
    }

    /// Log-likelihood ratio of "the normalised Elo is `high`" against "it is `low`".
    ///
    /// Exact generalised likelihood ratio: the best multinomial under each hypothesis, by fixed point on the
    /// linearised constraint (Van den Bergh's construction as in fishtest). Where the iteration has no solution or does
    /// not settle, the closed form (games/2) ln[(1+(t-t0)^2)/(1+(t-t1)^2)] takes its place. 0 when nothing was played.
    fn llr_normalized(&self, low: f64, high: f64) -> f64 {
        if self.units() == 0 {
            return 0.0;
        }
        let cells = Cells::new(self.counts());
        let games = self.games_per_unit() as f64;
        let t = |nelo: f64| nelo / NELO_PER_SIGMA * games.sqrt();
        let fit = |nelo| cells.best_with_t(t(nelo));
        match (fit(low), fit(high)) {
            (Some(p0), Some(p1)) => cells.llr(&p0, &p1),
            _ => cells.llr_closed_form(t(low), t(high)),
        }
    }

    /// Log-likelihood ratio of "the expected score is that of Elo `high`" against `low`, logistic model, exact.
    ///
    /// 0 when nothing was played. Elo differences are clamped to +-2000, beyond which a score is 0 or 1 to five digits.
    fn llr_logistic(&self, low: f64, high: f64) -> f64 {
        if self.units() == 0 {
            return 0.0;
        }
        let cells = Cells::new(self.counts());
        let fit = |elo: f64| cells.best_with_mean(expected_score(elo.clamp(-2000.0, 2000.0)));
        cells.llr(&fit(low), &fit(high))
    }
}

impl Results for Trinomial {
    fn counts(&self) -> &[u64] {
        &self.0
    }
}

impl Results for Pentanomial {
    fn counts(&self) -> &[u64] {
        &self.0
    }
}

/// Expected score of a player who is `elo` stronger, logistic curve.
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// The Elo difference with this expected score; `None` at or beyond 0 and 1.
pub fn elo_of_score(score: f64) -> Option<f64> {
    (score > 0.0 && score < 1.0).then(|| -400.0 * (1.0 / score - 1.0).log10())
}

/// What a match says, from the first player's side. `None` (JSON `null`) is "not determined by these results".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Mean score a game, 0..=1.
    pub score: f64,
    /// Logistic Elo of the score; `None` when every game was won or every game was lost.
    pub elo: Option<f64>,
    /// Half the width of the 95 % interval of `elo` without any pseudo results (what match runners print): 0 where
    /// all units ended alike.
    pub elo_error: Option<f64>,
    /// Lower end of the 95 % interval of `elo`; `None` is unbounded. Under [`MIN_UNITS_FOR_PLAIN_INTERVAL`] units, or
    /// when the plain interval is unbounded or has no width, one lost and one won unit are added first.
    pub elo_low: Option<f64>,
    /// Upper end, see `elo_low`.
    pub elo_high: Option<f64>,
    /// Normalised Elo: the advantage in standard deviations of a game times [`NELO_PER_SIGMA`].
    pub nelo: Option<f64>,
    /// 95 % error of `nelo`; depends only on the number of games.
    pub nelo_error: Option<f64>,
    /// Likelihood of superiority: probability that the score exceeds 1/2, normal approximation.
    pub los: f64,
}

impl Summary {
    fn new(counts: &[u64]) -> Self {
        let raw = Moments::of(counts.iter().map(|&n| n as f64));
        let elo_error = raw.elo_interval().map(|(low, high)| (high - low) / 2.0);
        let (low, high) = Moments::for_interval(counts).interval();
        let (elo_low, elo_high) = (elo_of_score(low), elo_of_score(high));
        let sigma_game = (((counts.len() - 1) / 2) as f64 * raw.variance).sqrt();
        let normalised = |x: f64| (raw.variance > 0.0).then(|| x / sigma_game * NELO_PER_SIGMA);
        let los = if raw.variance > 0.0 {
            cumulative((raw.mean - 0.5) / raw.standard_error())
        } else {
            // Every unit ended alike: certain, or exactly level.
            match raw.mean.total_cmp(&0.5) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 0.5,
                std::cmp::Ordering::Greater => 1.0,
            }
        };
        Summary {
            score: raw.mean,
            elo: elo_of_score(raw.mean),
            elo_error: elo_error.filter(|_| raw.units > 0.0),
            elo_low,
            elo_high,
            nelo: normalised(raw.mean - 0.5),
            nelo_error: normalised(Z95 * raw.standard_error()),
            los,
        }
    }
}

/// Mean and population variance of a unit's score.
#[derive(Clone, Copy)]
struct Moments {
    units: f64,
    mean: f64,
    variance: f64,
}

impl Moments {
    fn of(counts: impl ExactSizeIterator<Item = f64> + Clone) -> Self {
        let units: f64 = counts.clone().sum();
        if units == 0.0 {
            return Moments { units, mean: 0.5, variance: 0.0 };
        }
        let last = (counts.len() - 1) as f64;
        let scored = counts.enumerate().map(|(i, n)| (i as f64 / last, n));
        let mean = scored.clone().map(|(x, n)| n * x).sum::<f64>() / units;
        let variance = scored.map(|(x, n)| n * (x - mean).powi(2)).sum::<f64>() / units;
        Moments { units, mean, variance }
    }

    /// The moments that an interval comes from: with one unit lost and one won added where there are few, or where the
    /// plain interval is unbounded or has no width.
    fn for_interval(counts: &[u64]) -> Self {
        let raw = Moments::of(counts.iter().map(|&n| n as f64));
        let enough = raw.units >= MIN_UNITS_FOR_PLAIN_INTERVAL as f64;
        if enough && raw.elo_interval().is_some_and(|(low, high)| high > low) {
            return raw;
        }
        let last = counts.len() - 1;
        Moments::of(counts.iter().enumerate().map(|(i, &n)| n as f64 + if i == 0 || i == last { 1.0 } else { 0.0 }))
    }

    fn elo_interval(&self) -> Option<(f64, f64)> {
        let (low, high) = self.interval();
        elo_of_score(low).zip(elo_of_score(high))
    }

    fn standard_error(&self) -> f64 {
        if self.units > 0.0 { (self.variance / self.units).sqrt() } else { 0.0 }
    }

    fn interval(&self) -> (f64, f64) {
        let half = Z95 * self.standard_error();
        (self.mean - half, self.mean + half)
    }
}

/// Observed frequencies with no empty cell, for likelihood ratios.
struct Cells {
    units: f64,
    scores: Vec<f64>,
    frequencies: Vec<f64>,
}

impl Cells {
    fn new(counts: &[u64]) -> Self {
        let filled: Vec<f64> = counts.iter().map(|&n| if n == 0 { EMPTY_CELL } else { n as f64 }).collect();
        let units: f64 = filled.iter().sum();
        let last = (counts.len() - 1) as f64;
        Cells {
            units,
            scores: (0..counts.len()).map(|i| i as f64 / last).collect(),
            frequencies: filled.iter().map(|n| n / units).collect(),
        }
    }

    /// The most likely distribution whose mean is `score` (Owen's empirical likelihood); `score` is inside (0, 1).
    fn best_with_mean(&self, score: f64) -> Vec<f64> {
        let phi: Vec<f64> = self.scores.iter().map(|x| x - score).collect();
        self.tilt(&phi).expect("a score strictly between the extreme results has results on both sides")
    }

    /// The most likely distribution whose (mean - 1/2) / standard deviation is `t`; `None` if the iteration fails.
    fn best_with_t(&self, t: f64) -> Option<Vec<f64>> {
        let mut q = vec![1.0 / self.scores.len() as f64; self.scores.len()];
        for _ in 0..200 {
            let weighted = || self.scores.iter().zip(&q);
            let mean: f64 = weighted().map(|(x, p)| x * p).sum();
            let sigma = weighted().map(|(x, p)| p * (x - mean).powi(2)).sum::<f64>().sqrt();
            let phi: Vec<f64> =
                self.scores.iter().map(|x| x - 0.5 - 0.5 * t * sigma * (1.0 + ((x - mean) / sigma).powi(2))).collect();
            let next = self.tilt(&phi)?;
            let change = q.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            q = next;
            if change < 1e-12 {
                return Some(q);
            }
        }
        None
    }

    /// `frequencies / (1 + theta phi)` with theta such that its mean of `phi` is 0; `None` unless `phi` has both signs.
    fn tilt(&self, phi: &[f64]) -> Option<Vec<f64>> {
        let least = phi.iter().copied().fold(f64::INFINITY, f64::min);
        let most = phi.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(least < 0.0 && most > 0.0 && least.is_finite() && most.is_finite()) {
            return None;
        }
        // theta lies in (-1/most, -1/least), where the mean falls strictly from above to below 0. A rare result puts it
        // close to an end, so it is kept as the distance from the nearer end: 1 + theta phi then loses no digits.
        let denominators = |end: f64, distance: f64| phi.iter().map(move |v| (1.0 - v / end) + distance * v);
        let mean = |end, distance| -> f64 {
            let weighted = self.frequencies.iter().zip(phi);
            weighted.zip(denominators(end, distance)).map(|((p, v), d)| p * v / d).sum()
        };
        let half = 0.5 * (1.0 / most - 1.0 / least);
        let (end, sign) = if mean(most, half) > 0.0 { (least, -1.0) } else { (most, 1.0) };
        let (mut a, mut b) = (0.0, half);
        loop {
            let middle = 0.5 * (a + b);
            if middle <= a || middle >= b {
                break;
            }
            if sign * mean(end, sign * middle) > 0.0 {
                a = middle;
            } else {
                b = middle;
            }
        }
        let tilted: Vec<f64> = self.frequencies.iter().zip(denominators(end, sign * b)).map(|(p, d)| p / d).collect();
        tilted.iter().all(|q| q.is_finite() && *q > 0.0).then_some(tilted)
    }

    fn llr(&self, p0: &[f64], p1: &[f64]) -> f64 {
        self.units * self.frequencies.iter().zip(p0.iter().zip(p1)).map(|(p, (p0, p1))| p * (p1 / p0).ln()).sum::<f64>()
    }

    /// `t0`, `t1` in standard deviations of a unit.
    fn llr_closed_form(&self, t0: f64, t1: f64) -> f64 {
        let weighted = || self.scores.iter().zip(&self.frequencies);
        let mean: f64 = weighted().map(|(x, p)| x * p).sum();
        let variance: f64 = weighted().map(|(x, p)| p * (x - mean).powi(2)).sum();
        let t = (mean - 0.5) / variance.sqrt();
        // In units of games: a unit's t is sqrt(games per unit) times a game's.
        let games = ((self.scores.len() - 1) / 2) as f64;
        let square = |t1: f64| 1.0 + (t - t1).powi(2) / games;
        games * self.units / 2.0 * (square(t0) / square(t1)).ln()
    }
}

/// A sequential probability ratio test of "the normalised Elo is `high`" against "it is `low`".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sprt {
    /// Normalised Elo of the hypothesis to reject for: a candidate no better than this is not wanted.
    pub low: f64,
    /// Normalised Elo of the hypothesis to accept for.
    pub high: f64,
    /// Probability of accepting when the truth is `low`.
    pub alpha: f64,
    /// Probability of rejecting when the truth is `high`.
    pub beta: f64,
}

/// Where a sequential test stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The log-likelihood ratio reached the upper bound: `high` it is.
    Accept,
    /// It reached the lower bound: `low` it is.
    Reject,
    /// Neither yet. A match that stops here has not shown an improvement.
    Undecided,
}

/// A sequential test that cannot be carried out as asked.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SprtError {
    /// The two hypotheses do not differ, or differ the wrong way round.
    #[error("SPRT bounds: expected two finite numbers LOW < HIGH (normalised Elo), found {low} and {high}")]
    Bounds {
        /// The lower hypothesis as given.
        low: f64,
        /// The upper hypothesis as given.
        high: f64,
    },
    /// An error probability is out of range.
    #[error("SPRT {name}: expected an error probability above 0 and below 0.5, found {value}")]
    Probability {
        /// `alpha` or `beta`.
        name: &'static str,
        /// The value as given.
        value: f64,
    },
}

impl Sprt {
    /// A validated test.
    ///
    /// # Errors
    /// Bounds that are not finite and ascending, error probabilities outside (0, 0.5).
    pub fn new(low: f64, high: f64, alpha: f64, beta: f64) -> Result<Self, SprtError> {
        if !(low.is_finite() && high.is_finite() && low < high) {
            return Err(SprtError::Bounds { low, high });
        }
        for (name, value) in [("alpha", alpha), ("beta", beta)] {
            if !(value > 0.0 && value < 0.5) {
                return Err(SprtError::Probability { name, value });
            }
        }
        Ok(Sprt { low, high, alpha, beta })
    }

    /// The log-likelihood ratios at which the test ends (Wald): ln(beta / (1 - alpha)), ln((1 - beta) / alpha).
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }

    /// Log-likelihood ratio of the results so far, normalised model.
    pub fn llr(&self, results: &impl Results) -> f64 {
        results.llr_normalized(self.low, self.high)
    }

    /// Whether the results so far end the test.
    pub fn verdict(&self, results: &impl Results) -> Verdict {
        let llr = self.llr(results);
        let (lower, upper) = self.bounds();
        if llr >= upper {
            Verdict::Accept
        } else if llr <= lower {
            Verdict::Reject
        } else {
            Verdict::Undecided
        }
    }
}

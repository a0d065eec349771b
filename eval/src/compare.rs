//! Which pieces disagree with a reference table, and how sure that is.
//!
//! A table is rounded: a piece that it gives as x may be worth anything from x - h to x + h, h being half its step. With y
//! the estimate in units of the table by the common factor c,
//! z = (ln y - ln nearest end of that range) / sqrt(se(ln y)^2 + se(ln c)^2), 0 inside it. The two-sided p-values are
//! corrected for the number of pieces by Holm's step-down method (Scand. J. Statist. 6:65, 1979).

use serde::{Deserialize, Serialize};

use crate::interval::percentiles;
use crate::normal::cumulative;

/// Corrected p-value from which down a piece is said to disagree.
const LEVEL: f64 = 0.05;

/// Factor beyond the rounding within which an estimate counts as equivalent.
const EQUIVALENT: f64 = 1.25;

/// A piece beside its reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Value over reference, the common factor free.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Standard errors from the nearest value that the rounded reference may mean; 0 within.
    pub z: f64,
    /// Two-sided p-value, corrected for the number of pieces.
    pub p_holm: f64,
    /// What follows.
    pub verdict: Verdict,
}

/// What a comparison says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The corrected p-value is below 0.05.
    Differs,
    /// The 90 % interval lies within a factor of 1.25 of the rounded reference.
    Equivalent,
    /// Neither is shown.
    Open,
}

/// A piece to compare.
pub(crate) struct Compared {
    /// Estimate in units of the table.
    pub(crate) value: f64,
    pub(crate) reference: f64,
    /// Standard error of the log of the estimate.
    pub(crate) se_log: f64,
    /// Resamples of `value`.
    pub(crate) draws: Vec<f64>,
}

/// Compares pieces with a table rounded to multiples of `step`; `se_scale` is the standard error of the log of the common
/// factor.
pub(crate) fn compare(pieces: &[Compared], step: f64, se_scale: f64) -> Vec<Comparison> {
    let z: Vec<f64> = pieces.iter().map(|piece| piece.z(step, se_scale)).collect();
    let p: Vec<f64> = z.iter().map(|z| 2.0 * cumulative(-z.abs())).collect();
    let corrected = holm(&p);
    let of = |(i, piece): (usize, &Compared)| {
        let ratios = |share: [f64; 2]| percentiles(piece.draws.iter().map(|draw| draw / piece.reference), share);
        let ratio = piece.value / piece.reference;
        let [low, high] = ratios([0.025, 0.975]).unwrap_or([ratio; 2]);
        let [low90, high90] = ratios([0.05, 0.95]).unwrap_or([ratio; 2]);
        let [least, most] = piece.range(step).map(|end| end / piece.reference);
        let verdict = if corrected[i] < LEVEL {
            Verdict::Differs
        } else if low90 > least / EQUIVALENT && high90 < most * EQUIVALENT {
            Verdict::Equivalent
        } else {
            Verdict::Open
        };
        Comparison { ratio, low, high, z: z[i], p_holm: corrected[i], verdict }
    };
    pieces.iter().enumerate().map(of).collect()
}

impl Compared {
    /// What the rounded reference may mean; never down to 0.
    fn range(&self, step: f64) -> [f64; 2] {
        [(self.reference - step / 2.0).max(self.reference / 4.0), self.reference + step / 2.0]
    }

    fn z(&self, step: f64, se_scale: f64) -> f64 {
        let [least, most] = self.range(step);
        let nearest = self.value.clamp(least, most);
        (self.value / nearest).ln() / self.se_log.hypot(se_scale)
    }
}

/// p-values corrected by Holm's method, in the order given.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut corrected = vec![0.0; p.len()];
    let mut most: f64 = 0.0;
    for (rank, &i) in order.iter().enumerate() {
        most = most.max((p[i] * (p.len() - rank) as f64).min(1.0));
        corrected[i] = most;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }

    /// p-values of the example in Wikipedia's "Holm–Bonferroni method" (H1 to H4: .01, .04, .03, .005; at 0.05 only H1 and
    /// H4 are rejected). By hand: .005·4, .01·3, .03·2, and .04·1 raised to the one before.
    #[test]
    fn holm_by_hand() {
        for (found, expected) in holm(&[0.01, 0.04, 0.03, 0.005]).into_iter().zip([0.03, 0.06, 0.06, 0.02]) {
            close(found, expected);
        }
        assert!(holm(&[]).is_empty());
        close(holm(&[0.4, 0.9])[1], 0.9);
        close(holm(&[0.7, 0.9])[0], 1.0);
    }

    /// By hand from the formulas above.
    #[test]
    fn verdicts() {
        let piece = |value: f64, se_log: f64| Compared {
            value,
            reference: 4.0,
            se_log,
            draws: (0..=100).map(|i| value * (se_log * (f64::from(i) - 50.0) / 25.0).exp()).collect(),
        };
        let found = compare(&[piece(4.2, 0.02), piece(8.0, 0.1), piece(5.0, 0.3)], 0.5, 0.0);
        assert_eq!(
            found.iter().map(|c| c.verdict).collect::<Vec<_>>(),
            [Verdict::Equivalent, Verdict::Differs, Verdict::Open]
        );
        // 4.2 is what 4 may mean to half a point; ln(8 / 4.25) / 0.1; ln(5 / 4.25) / 0.3.
        close(found[0].z, 0.0);
        close(found[1].z, (8.0f64 / 4.25).ln() / 0.1);
        close(found[2].z, (5.0f64 / 4.25).ln() / 0.3);
        close(found[1].ratio, 2.0);
        assert!(found[1].p_holm < 1e-8 && found[0].p_holm == 1.0);
        // The error of the common factor counts too.
        let found = compare(&[piece(8.0, 0.3)], 0.5, 0.4);
        close(found[0].z, (8.0f64 / 4.25).ln() / 0.5);
    }
}

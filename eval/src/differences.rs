//! Values from measurements of values and of differences between them, by weighted least squares.
//!
//! A measurement says v_i = x ± e or v_i - v_j = x ± e, independently of the others. The best linear estimate minimises
//! Σ ((x - what the values say) / e)², and its covariance is the inverse of Σ a aᵀ / e², a being 1 at i and -1 at j.
//! Values that no chain of measurements links to one of a value itself are not determined, only their differences are.

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use crate::linalg::Cholesky;

/// A measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The value measured.
    pub of: usize,
    /// The value that it is measured against; `None` if against nothing.
    pub against: Option<usize>,
    /// What was found.
    pub found: f64,
    /// Its standard error, above 0.
    pub error: f64,
}

/// How well more measurements than values fit together: under the model the chi-square of these degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Misfit {
    /// Σ ((found - fitted) / error)².
    pub chi_square: f64,
    /// Measurements less values.
    pub degrees: usize,
}

/// The joint estimate.
#[derive(Clone, Debug)]
pub struct Joint {
    /// The values; `None` where only differences are known, or nothing.
    pub values: Vec<Option<f64>>,
    /// Whether the measurements fit together; `None` if there are just as many as values.
    pub misfit: Option<Misfit>,
    /// Indices of the values that are determined.
    determined: Vec<usize>,
    /// Of the determined values.
    covariance: Array2<f64>,
}

impl Joint {
    /// Estimates `values` values.
    ///
    /// # Panics
    /// If a measurement names a value that there is not, or the same one twice, or its error is not above 0.
    pub fn of(values: usize, measurements: &[Measurement]) -> Joint {
        let determined = determined(values, measurements);
        let column = |value: usize| determined.binary_search(&value).ok();
        let n = determined.len();
        let (mut information, mut sum) = (Array2::zeros((n, n)), Array1::zeros(n));
        let used: Vec<&Measurement> = measurements.iter().filter(|m| column(m.of).is_some()).collect();
        for m in &used {
            assert!(m.error > 0.0 && m.against != Some(m.of), "a measurement of one thing, with an error");
            let weight = m.error.powi(-2);
            let terms: Vec<(usize, f64)> = m.terms().filter_map(|(value, sign)| Some((column(value)?, sign))).collect();
            for &(i, sign) in &terms {
                sum[i] += sign * weight * m.found;
                for &(j, other) in &terms {
                    information[[i, j]] += sign * other * weight;
                }
            }
        }
        let factor = Cholesky::new(&information).expect("each value is linked to a measurement of a value itself");
        let found = factor.solve(&sum);
        let fitted =
            |m: &Measurement| -> f64 { m.terms().filter_map(|(v, sign)| Some(sign * found[column(v)?])).sum() };
        let misfit = (used.len() > n).then(|| Misfit {
            chi_square: used.iter().map(|m| ((m.found - fitted(m)) / m.error).powi(2)).sum(),
            degrees: used.len() - n,
        });
        Joint {
            values: (0..values).map(|value| column(value).map(|i| found[i])).collect(),
            misfit,
            covariance: factor.inverse(),
            determined,
        }
    }

    /// Covariance of two values; `None` if one of them is not determined.
    pub fn covariance(&self, i: usize, j: usize) -> Option<f64> {
        let at = |value: usize| self.determined.binary_search(&value).ok();
        Some(self.covariance[[at(i)?, at(j)?]])
    }

    /// Draws from the normal distribution of the estimate; `normal` gives independent standard normal numbers. Values that
    /// are not determined are not a number.
    pub(crate) fn draw(&self, mut normal: impl FnMut() -> f64) -> Vec<f64> {
        let factor = Cholesky::new(&self.covariance).expect("the inverse of a positive definite matrix is one");
        let noise = factor.times(&self.determined.iter().map(|_| normal()).collect());
        let mut draw: Vec<f64> = self.values.iter().map(|value| value.unwrap_or(f64::NAN)).collect();
        self.determined.iter().zip(noise).for_each(|(&value, noise)| draw[value] += noise);
        draw
    }
}

impl Measurement {
    fn terms(&self) -> impl Iterator<Item = (usize, f64)> {
        std::iter::once((self.of, 1.0)).chain(self.against.map(|against| (against, -1.0)))
    }
}

/// The values that a chain of measurements links to a measurement of one value itself, in order.
fn determined(values: usize, measurements: &[Measurement]) -> Vec<usize> {
    let mut known = vec![false; values];
    loop {
        let mut more = false;
        for m in measurements {
            let other = m.against.is_none_or(|against| known[against]);
            if other && !known[m.of] {
                known[m.of] = true;
                more = true;
            }
            if let Some(against) = m.against.filter(|&against| known[m.of] && !known[against]) {
                known[against] = true;
                more = true;
            }
        }
        if !more {
            return (0..values).filter(|&value| known[value]).collect();
        }
    }
}

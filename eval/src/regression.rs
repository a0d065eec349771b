//! Regressions with errors that are honest about clusters (positions of one game are nearly one observation).
//!
//! All models minimise sum_i w_i loss(y_i, eta_i) + ridge/2 |b|^2 with eta = b.x, by Newton's method from 0; the x of a row
//! are its entries times the slope of its stratum. With u_i and v_i the first derivative of -loss and the (expected)
//! second derivative of loss by eta:
//!
//! * bread H^-1 = (sum w v x x' + ridge I)^-1;
//! * score of cluster g: s_g = sum over its rows of w u x;
//! * covariance H^-1 (sum_g s_g s_g') H^-1 G/(G-1): the clustered sandwich.

use ndarray::{Array1, Array2, ArrayView1, Axis};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use crate::design::{Design, Row};
use crate::linalg::Cholesky;

/// Rows to a unit of parallel work.
const BLOCK_ROWS: usize = 8192;

/// Resamples computed together in a one-step bootstrap.
const RESAMPLES_AT_ONCE: usize = 8;

/// Newton steps before giving up; the slowest model needs a few dozen.
const MAX_STEPS: usize = 200;

/// Change of slopes from which down they count as found.
const SLOPE_TOLERANCE: f64 = 1e-6;

/// Least slope of a stratum: at 0 its rows would say nothing about the coefficients.
const LEAST_SLOPE: f64 = 0.05;

/// What the linear predictor eta says about the response y.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// Fractional logistic regression: y in 0..=1 has mean sigma(eta), a draw is 1/2.
    Logistic,
    /// Least squares: y has mean eta.
    Linear,
    /// Least squares of 2y - 1 on tanh(eta), y in 0..=1 (Tomasev et al. 2020). Gauss-Newton curvature.
    Tanh,
}

/// Derivatives of one row.
struct Local {
    loss: f64,
    /// -d loss / d eta.
    slope: f64,
    /// d2 loss / d eta2, or its expectation.
    curvature: f64,
}

impl Model {
    fn local(self, response: f64, eta: f64) -> Local {
        match self {
            Model::Logistic => {
                let tail = (-eta.abs()).exp();
                let near = tail / (1.0 + tail);
                let p = if eta >= 0.0 { 1.0 - near } else { near };
                Local {
                    loss: eta.max(0.0) + tail.ln_1p() - response * eta,
                    slope: response - p,
                    curvature: near * (1.0 - near),
                }
            }
            Model::Linear => Local { loss: 0.5 * (response - eta).powi(2), slope: response - eta, curvature: 1.0 },
            Model::Tanh => {
                let t = eta.tanh();
                let residual = 2.0 * response - 1.0 - t;
                let derivative = 1.0 - t * t;
                Local {
                    loss: 0.5 * residual * residual,
                    slope: residual * derivative,
                    curvature: derivative * derivative,
                }
            }
        }
    }

    fn takes(self, response: f64) -> bool {
        self == Model::Linear || (0.0..=1.0).contains(&response)
    }
}

/// Why a regression has no result.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RegressionError {
    /// There are no rows or no features.
    #[error("a regression needs rows and features, found {rows} rows and {features} features")]
    Empty {
        /// Number of rows.
        rows: usize,
        /// Number of features.
        features: usize,
    },
    /// The ridge is not a number of at least 0.
    #[error("ridge: expected a finite number of at least 0, found {0}")]
    Ridge(f64),
    /// A response is outside what the model describes.
    #[error("expected responses in 0..=1, found {0}")]
    Response(f64),
    /// Without a ridge, this feature is constant 0 or a combination of the features before it.
    #[error("feature {feature} cannot be told from the features before it")]
    Dependent {
        /// Index of the feature.
        feature: usize,
    },
    /// The optimum is at infinity (the features separate wins from losses) or was not reached.
    #[error("no optimum after {steps} Newton steps; a ridge makes it finite")]
    NotConverged {
        /// Steps tried.
        steps: usize,
    },
}

/// A fitted regression.
#[derive(Clone, Debug)]
pub struct Fit {
    /// One coefficient a feature, in units of eta.
    pub coefficients: Vec<f64>,
    /// Inverse of the penalised curvature, features x features.
    pub bread: Array2<f64>,
    /// Diagonal of the curvature without the ridge: the information on each feature if all others were known.
    pub information: Vec<f64>,
    /// Score of every cluster at the optimum, clusters x features.
    pub scores: Array2<f64>,
    /// Weighted loss at the optimum, without the ridge.
    pub loss: f64,
    /// Newton steps taken.
    pub steps: usize,
}

/// Fits `model` to `design`; `ridge` is 1 over the variance of a Gaussian prior on each coefficient (0: none).
///
/// # Errors
/// No rows, responses out of range, dependent features, an optimum at infinity.
pub fn fit(design: &Design, model: Model, ridge: f64) -> Result<Fit, RegressionError> {
    check(design, model, ridge)?;
    let problem = Problem::new(design, model, ridge);
    Ok(problem.fit(problem.minimise(&vec![0.0; design.features()], None)?))
}

/// Fits eta = k_s (b.x) with a slope k_s for each stratum s beside the coefficients, whose mean over the weight of the rows is
/// 1, and leaves the slopes in the design. b and k are fitted in turns until neither changes; each slope has a Gaussian
/// prior of mean and standard deviation 1. Errors and resamples of the fit take the slopes as known.
///
/// # Errors
/// As [`fit`].
pub fn fit_with_slopes(design: &mut Design, model: Model, ridge: f64) -> Result<Fit, RegressionError> {
    check(design, model, ridge)?;
    let weights = design.stratum_weights();
    let mut slopes = vec![1.0; weights.len()];
    let mut at = vec![0.0; design.features()];
    for _ in 0..MAX_STEPS {
        design.set_slopes(&slopes);
        let problem = Problem::new(design, model, ridge);
        let optimum = problem.minimise(&at, None)?;
        let mut next = problem.slopes(&optimum.coefficients, &slopes);
        let mean = next.iter().zip(&weights).map(|(k, w)| k * w).sum::<f64>() / weights.iter().sum::<f64>();
        next.iter_mut().for_each(|k| *k /= mean);
        let change = next.iter().zip(&slopes).fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()));
        if change < SLOPE_TOLERANCE || mean.is_nan() {
            return Ok(problem.fit(optimum));
        }
        slopes = next;
        at = optimum.coefficients;
    }
    Err(RegressionError::NotConverged { steps: MAX_STEPS })
}

fn check(design: &Design, model: Model, ridge: f64) -> Result<(), RegressionError> {
    let (rows, features) = (design.rows(), design.features());
    if rows == 0 || features == 0 {
        return Err(RegressionError::Empty { rows, features });
    }
    if !(ridge.is_finite() && ridge >= 0.0) {
        return Err(RegressionError::Ridge(ridge));
    }
    let responses = (0..design.kept_rows()).map(|row| design.row(row).response);
    responses.into_iter().find(|&response| !model.takes(response)).map_or(Ok(()), |r| Err(RegressionError::Response(r)))
}

impl Fit {
    /// Clustered sandwich covariance of the coefficients; `None` with fewer than two clusters.
    pub fn covariance(&self) -> Option<Array2<f64>> {
        let clusters = self.scores.nrows() as f64;
        (clusters >= 2.0).then(|| {
            let meat = self.scores.t().dot(&self.scores);
            self.bread.dot(&meat).dot(&self.bread) * (clusters / (clusters - 1.0))
        })
    }

    /// Coefficients of `replicates` resamples of the clusters, replicates x features, each by one Newton step from the
    /// optimum: b + H^-1 sum_g (n_g - 1) s_g with n multinomial. Depends on the seed alone, not on threads.
    pub fn bootstrap_one_step(&self, replicates: usize, seed: u64) -> Array2<f64> {
        let (clusters, features) = self.scores.dim();
        // A few resamples at a time, so that each score is read once for all of them.
        let starts: Vec<usize> = (0..replicates).step_by(RESAMPLES_AT_ONCE).collect();
        let rows: Vec<Array2<f64>> = starts
            .into_par_iter()
            .map(|start| {
                let end = (start + RESAMPLES_AT_ONCE).min(replicates);
                let mut excess = Array2::<f64>::zeros((end - start, clusters));
                for (mut row, replicate) in excess.rows_mut().into_iter().zip(start..) {
                    let counts = resample(clusters, seed, replicate);
                    row.iter_mut().zip(counts).for_each(|(x, n)| *x = f64::from(n) - 1.0);
                }
                let estimate = ArrayView1::from(&self.coefficients);
                // The bread is symmetric, so the product may stand on the right.
                excess.dot(&self.scores).dot(&self.bread) + estimate
            })
            .collect();
        let views: Vec<_> = rows.iter().map(|rows| rows.view()).collect();
        ndarray::concatenate(Axis(0), &views).unwrap_or_else(|_| Array2::zeros((0, features)))
    }

    /// The same resamples with a full refit each: exact, slower by the cost of a fit a replicate. `design`, `model` and
    /// `ridge` are those of the fit.
    ///
    /// # Errors
    /// A resample without an optimum; a ridge avoids it.
    pub fn bootstrap_refit(
        &self,
        design: &Design,
        model: Model,
        ridge: f64,
        replicates: usize,
        seed: u64,
    ) -> Result<Array2<f64>, RegressionError> {
        let problem = Problem::new(design, model, ridge);
        let rows = (0..replicates)
            .into_par_iter()
            .map(|replicate| {
                let counts = resample(design.clusters(), seed, replicate);
                Ok(problem.minimise(&self.coefficients, Some(&counts))?.coefficients)
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Array2::from_shape_fn((replicates, self.coefficients.len()), |(i, j)| rows[i][j]))
    }
}

/// How often each cluster is drawn in one resample.
fn resample(clusters: usize, seed: u64, replicate: usize) -> Vec<u32> {
    // Golden-ratio steps keep the replicates' seeds apart; seeding itself mixes them (SplitMix64).
    let stream = (replicate as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed.wrapping_add(stream));
    let mut counts = vec![0; clusters];
    for _ in 0..clusters {
        counts[rng.random_range(0..clusters as u64) as usize] += 1;
    }
    counts
}

struct Problem<'a> {
    design: &'a Design,
    model: Model,
    ridge: f64,
    blocks: Vec<std::ops::Range<usize>>,
}

struct Optimum {
    coefficients: Vec<f64>,
    factor: Cholesky,
    information: Vec<f64>,
    loss: f64,
    steps: usize,
}

/// Sums over rows; the curvature has its lower triangle filled.
struct Sums {
    loss: f64,
    gradient: Vec<f64>,
    curvature: Array2<f64>,
}

impl<'a> Problem<'a> {
    fn new(design: &'a Design, model: Model, ridge: f64) -> Self {
        Problem { design, model, ridge, blocks: design.blocks(BLOCK_ROWS) }
    }

    fn minimise(&self, start: &[f64], counts: Option<&[u32]>) -> Result<Optimum, RegressionError> {
        let mut at = start.to_vec();
        let mut sums = self.sums(&at, counts);
        for steps in 0..MAX_STEPS {
            let information = sums.curvature.diag().to_vec();
            sums.curvature.diag_mut().mapv_inplace(|v| v + self.ridge);
            sums.gradient.iter_mut().zip(&at).for_each(|(g, b)| *g -= self.ridge * b);
            let factor =
                Cholesky::new(&sums.curvature).map_err(|e| RegressionError::Dependent { feature: e.column })?;
            let step = factor.solve(&Array1::from_vec(sums.gradient));
            let size = step.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
            if size <= 1e-10 * (1.0 + at.iter().fold(0.0, |m: f64, b| m.max(b.abs()))) {
                return Ok(Optimum { coefficients: at, factor, information, loss: sums.loss, steps });
            }
            let before = self.objective(sums.loss, &at);
            let mut scale = 1.0;
            (at, sums) = loop {
                let trial: Vec<f64> = at.iter().zip(&step).map(|(b, s)| b + scale * s).collect();
                let sums = self.sums(&trial, counts);
                if self.objective(sums.loss, &trial) <= before + 1e-12 * before.abs() {
                    break (trial, sums);
                }
                scale /= 2.0;
                if scale < 1e-6 {
                    return Err(RegressionError::NotConverged { steps });
                }
            };
        }
        Err(RegressionError::NotConverged { steps: MAX_STEPS })
    }

    fn fit(&self, optimum: Optimum) -> Fit {
        Fit {
            bread: optimum.factor.inverse(),
            information: optimum.information,
            scores: self.scores(&optimum.coefficients),
            coefficients: optimum.coefficients,
            loss: optimum.loss,
            steps: optimum.steps,
        }
    }

    /// The slope of each stratum by Newton's method from `start`, the coefficients being `at`.
    fn slopes(&self, at: &[f64], start: &[f64]) -> Vec<f64> {
        let mut slopes = start.to_vec();
        for _ in 0..MAX_STEPS {
            let partial: Vec<Vec<[f64; 2]>> = self
                .blocks
                .par_iter()
                .map(|block| {
                    let mut sums = vec![[0.0; 2]; slopes.len()];
                    for row in block.clone().flat_map(|cluster| self.design.cluster(cluster)) {
                        let z = row.unsloped_dot(at);
                        let local = self.model.local(row.response, slopes[row.stratum as usize] * z);
                        let [gradient, curvature] = &mut sums[row.stratum as usize];
                        *gradient += row.weight * local.slope * z;
                        *curvature += row.weight * local.curvature * z * z;
                    }
                    sums
                })
                .collect();
            let mut change = 0.0f64;
            for (stratum, slope) in slopes.iter_mut().enumerate() {
                let sum = |i: usize| partial.iter().map(|sums| sums[stratum][i]).sum::<f64>();
                let step = (sum(0) - (*slope - 1.0)) / (sum(1) + 1.0);
                let next = (*slope + step).clamp(*slope / 2.0, *slope * 2.0).max(LEAST_SLOPE);
                change = change.max((next - *slope).abs());
                *slope = next;
            }
            if change < SLOPE_TOLERANCE / 10.0 {
                break;
            }
        }
        slopes
    }

    fn objective(&self, loss: f64, at: &[f64]) -> f64 {
        loss + 0.5 * self.ridge * at.iter().map(|b| b * b).sum::<f64>()
    }

    fn sums(&self, at: &[f64], counts: Option<&[u32]>) -> Sums {
        let n = at.len();
        let partial: Vec<(f64, Vec<f64>, Vec<f64>)> = self
            .blocks
            .par_iter()
            .map(|block| {
                let mut loss = 0.0;
                let mut gradient = vec![0.0; n];
                let mut curvature = vec![0.0; n * n];
                for cluster in block.clone() {
                    let times = counts.map_or(1.0, |c| f64::from(c[cluster]));
                    if times == 0.0 {
                        continue;
                    }
                    for row in self.design.cluster(cluster) {
                        let local = self.model.local(row.response, row.dot(at));
                        let weight = times * row.weight;
                        loss += weight * local.loss;
                        add_score(&row, weight * local.slope, &mut gradient);
                        let weight = weight * local.curvature * row.slope * row.slope;
                        for (k, &(i, x)) in row.entries.iter().enumerate() {
                            let line = &mut curvature[i as usize * n..][..n];
                            let x = weight * f64::from(x);
                            for &(j, y) in &row.entries[..=k] {
                                line[j as usize] += x * f64::from(y);
                            }
                        }
                    }
                }
                (loss, gradient, curvature)
            })
            .collect();
        // Summed in block order, so that the result does not depend on the number of threads.
        let mut total = Sums { loss: 0.0, gradient: vec![0.0; n], curvature: Array2::zeros((n, n)) };
        for (loss, gradient, curvature) in partial {
            total.loss += loss;
            total.gradient.iter_mut().zip(gradient).for_each(|(sum, x)| *sum += x);
            total.curvature.iter_mut().zip(curvature).for_each(|(sum, x)| *sum += x);
        }
        total
    }

    fn scores(&self, at: &[f64]) -> Array2<f64> {
        let n = at.len();
        let mut flat = vec![0.0; self.design.clusters() * n];
        flat.par_chunks_mut(n).enumerate().for_each(|(cluster, score)| {
            for row in self.design.cluster(cluster) {
                let local = self.model.local(row.response, row.dot(at));
                add_score(&row, row.weight * local.slope, score);
            }
        });
        Array2::from_shape_vec((self.design.clusters(), n), flat).expect("one score of n features a cluster")
    }
}

fn add_score(row: &Row<'_>, factor: f64, score: &mut [f64]) {
    for &(feature, value) in row.entries {
        score[feature as usize] += factor * row.slope * f64::from(value);
    }
}

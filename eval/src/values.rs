//! What each piece is worth, by regression on differences of piece counts, with intervals over whole games.
//!
//! A row is a position seen from one side: own minus enemy count of every kind. The model is
//! eta = constant + sum_j b_j d_j, with each game of total weight 1 and a weak Gaussian prior on the coefficients.
//! Positions of one game are nearly one observation, so every error and interval resamples games, not rows.
//! A value is published only when it is identified; otherwise it is `None`, never a number.

use serde::{Deserialize, Serialize};

use crate::compare::{Compared, Comparison, compare};
use crate::design::{DesignBuilder, RowError};
use crate::interval::{Agreement, Interval, percentile_interval};
use crate::reference::ReferenceTable;
use crate::regression::{self, Fit, Model, RegressionError};

/// What the coefficients explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The game's outcome, by fractional logistic regression. Biased towards equal values where the side that is
    /// better for other reasons also wins material; a log slope under 0.85 is the sign of it.
    Outcome,
    /// The change of a value network's logit over a settled exchange, by least squares on the change of the counts.
    /// Precise, and of the network's opinion.
    Increment,
}

/// How intervals are drawn from the resampled games.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bootstrap {
    /// One Newton step from the estimate for each resample (simulated coverage 92 % of a nominal 95 %).
    OneStep,
    /// A full fit for each resample.
    Refit,
}

/// Settings of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ValuesConfig {
    /// Standard deviation of the prior on each coefficient, in logits: about three times the strongest piece.
    pub prior_sd: f64,
    /// Number of resamples of the games for intervals, at least 100.
    pub replicates: usize,
    /// How each resample is fitted.
    pub bootstrap: Bootstrap,
    /// A piece is identified only if its counts differed in at least this many games.
    pub min_games: u64,
    /// A piece is identified only if the standard error of the log of its value is below this.
    pub max_log_error: f64,
}

impl Default for ValuesConfig {
    fn default() -> Self {
        ValuesConfig {
            prior_sd: 9.0,
            replicates: 1000,
            bootstrap: Bootstrap::OneStep,
            min_games: 200,
            max_log_error: 0.30,
        }
    }
}

/// A column of the regression: one kind, or several that move alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feature {
    /// Name in the result and in reference tables.
    pub id: String,
    /// Whether it may be compared with a reference table. Not for royals (a count of royals is a feature like any
    /// other, but its value is not that of a move) nor for pieces that promote to one.
    pub compared: bool,
}

/// One position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaterialRow<'a> {
    /// Any number that tells games apart. Rows of a game may come apart, but cost less memory together.
    pub game: u64,
    /// (kind, own minus enemy count), zeros left out; for [`Method::Increment`] the change of it. Either always from
    /// the side to move (a constant of 1 is then the worth of the move) or always from Black (then of moving first).
    pub diff: &'a [(u16, i16)],
    /// What the constant is multiplied by: 1, or for [`Method::Increment`] the change of whose move it is.
    pub constant: i16,
    /// From the same side: 0, 1/2 or 1, or the change in logits.
    pub outcome: f32,
    /// Weight within the game; a row of weight 0 is left out.
    pub weight: f32,
}

/// Why values cannot be measured.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ValuesError {
    /// A setting is out of range.
    #[error("values.{key}: expected {expected}, found {found}")]
    Config {
        /// The setting.
        key: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A row names a kind that has no feature.
    #[error("game {game}: expected a kind below {kinds}, found {kind}")]
    Kind {
        /// The game.
        game: u64,
        /// The kind as given.
        kind: u16,
        /// Number of kinds.
        kinds: usize,
    },
    /// An outcome is not in 0..=1.
    #[error("game {game}: expected an outcome in 0..=1, found {outcome}")]
    Outcome {
        /// The game.
        game: u64,
        /// The outcome as given.
        outcome: f32,
    },
    /// A row cannot be used.
    #[error("game {game}: {source}")]
    Row {
        /// The game.
        game: u64,
        /// What is wrong.
        source: RowError,
    },
    /// The regression failed.
    #[error(transparent)]
    Regression(#[from] RegressionError),
}

/// The rows of a measurement.
#[derive(Clone, Debug)]
pub struct Material {
    method: Method,
    features: Vec<Feature>,
    /// Feature of each kind.
    groups: Vec<u16>,
    builder: DesignBuilder,
    entries: Vec<(u16, i16)>,
}

impl Material {
    /// No rows yet; `groups[kind]` is the index of the kind's feature.
    ///
    /// # Panics
    /// If a group is no index of `features`, or there are more than 65535 features.
    pub fn new(method: Method, features: Vec<Feature>, groups: &[usize]) -> Self {
        assert!(groups.iter().all(|&g| g < features.len()), "every kind has a feature");
        Material {
            method,
            // One more: the constant.
            builder: DesignBuilder::new(features.len() + 1),
            groups: groups.iter().map(|&g| g as u16).collect(),
            features,
            entries: Vec::new(),
        }
    }

    /// Adds a position.
    ///
    /// # Errors
    /// A kind, outcome or weight out of range; nothing is added then.
    pub fn push(&mut self, row: &MaterialRow<'_>) -> Result<(), ValuesError> {
        let game = row.game;
        if self.method == Method::Outcome && !(0.0..=1.0).contains(&row.outcome) {
            let outcome = row.outcome;
            return Err(ValuesError::Outcome { game, outcome });
        }
        if row.weight == 0.0 {
            return Ok(());
        }
        self.entries.clear();
        for &(kind, count) in row.diff {
            let Some(&feature) = self.groups.get(kind as usize) else {
                let kinds = self.groups.len();
                return Err(ValuesError::Kind { game, kind, kinds });
            };
            self.entries.push((feature, count));
        }
        self.entries.push((self.features.len() as u16, row.constant));
        let (outcome, weight) = (f64::from(row.outcome), f64::from(row.weight));
        self.builder.push(game, &self.entries, outcome, weight).map_err(|source| ValuesError::Row { game, source })
    }

    /// Estimates the values and compares them with `reference`; the result depends on the rows and the seed alone.
    ///
    /// # Errors
    /// A setting out of range, no rows.
    pub fn measure(
        self,
        config: &ValuesConfig,
        reference: Option<&ReferenceTable>,
        seed: u64,
    ) -> Result<PieceValues, ValuesError> {
        config.validate()?;
        let model = match self.method {
            Method::Outcome => Model::Logistic,
            Method::Increment => Model::Linear,
        };
        let mut design = self.builder.finish();
        design.weight_clusters_equally();
        let ridge = config.prior_sd.powi(-2);
        let fit = regression::fit(&design, model, ridge)?;
        let replicates = match config.bootstrap {
            Bootstrap::OneStep => fit.bootstrap_one_step(config.replicates, seed),
            Bootstrap::Refit => fit.bootstrap_refit(&design, model, ridge, config.replicates, seed)?,
        };
        let games = design.clusters_with();
        let errors = log_errors(&fit, ridge);
        let shares = information_shares(&fit, ridge);
        let pieces: Vec<Estimate> = (0..self.features.len())
            .map(|j| {
                let coefficient = fit.coefficients[j];
                let se_log = errors[j];
                let compared = reference.filter(|_| self.features[j].compared);
                Estimate {
                    coefficient,
                    replicates: replicates.column(j).to_vec(),
                    se_log,
                    games: games[j],
                    information_share: shares[j],
                    identified: games[j] >= config.min_games && se_log.is_some_and(|se| se < config.max_log_error),
                    reference: compared.and_then(|table| table.value(&self.features[j].id)),
                }
            })
            .collect();
        let constant = self.features.len();
        let scales = Scales::of(&pieces, config.replicates);
        let comparisons = comparisons(&pieces, &scales, reference.map_or(0.0, |table| table.rounding));
        Ok(PieceValues {
            method: self.method,
            games: design.clusters() as u64,
            rows: design.rows() as u64,
            reference_table: reference.map(|table| table.id.clone()),
            unit: scales.unit,
            scale: scales.estimate,
            constant: percentile_interval(
                fit.coefficients[constant] / scales.estimate,
                replicates.column(constant).iter().zip(&scales.replicates).map(|(b, scale)| Some(b / scale)),
            ),
            agreement: agreement(&pieces, config.replicates),
            pieces: self
                .features
                .iter()
                .zip(pieces.iter().zip(comparisons))
                .map(|(feature, (piece, comparison))| piece.publish(&feature.id, &scales, comparison))
                .collect(),
        })
    }
}

impl ValuesConfig {
    /// Checks the ranges of all keys.
    ///
    /// # Errors
    /// [`ValuesError::Config`] with the first key out of range.
    pub fn validate(&self) -> Result<(), ValuesError> {
        let positive = |key, value: f64| {
            let ok = value > 0.0 && value.is_finite();
            let found = value.to_string();
            let expected = "a finite number above 0";
            if ok { Ok(()) } else { Err(ValuesError::Config { key, expected, found }) }
        };
        positive("prior_sd", self.prior_sd)?;
        positive("max_log_error", self.max_log_error)?;
        if self.replicates < 100 {
            return Err(ValuesError::Config {
                key: "replicates",
                expected: "at least 100",
                found: self.replicates.to_string(),
            });
        }
        Ok(())
    }
}

/// Standard error of the log of each coefficient; `None` where the coefficient is not positive or there are not two
/// games. The prior counts as one more observation: without its term, a direction that the data say nothing about
/// would look certain.
fn log_errors(fit: &Fit, ridge: f64) -> Vec<Option<f64>> {
    let Some(sandwich) = fit.covariance() else {
        return vec![None; fit.coefficients.len()];
    };
    let prior = fit.bread.dot(&fit.bread) * ridge;
    let of = |(j, &b): (usize, &f64)| (b > 0.0).then(|| (sandwich[[j, j]] + prior[[j, j]]).sqrt() / b);
    fit.coefficients.iter().enumerate().map(of).collect()
}

/// Share of the information on each coefficient that is left when the others are unknown too (1 / variance inflation).
fn information_shares(fit: &Fit, ridge: f64) -> Vec<f64> {
    let share = |(j, &information): (usize, &f64)| {
        if information > 0.0 { ((1.0 / fit.bread[[j, j]] - ridge) / information).clamp(0.0, 1.0) } else { 0.0 }
    };
    fit.information.iter().enumerate().map(share).collect()
}

/// One feature's numbers in logits.
struct Estimate {
    coefficient: f64,
    replicates: Vec<f64>,
    se_log: Option<f64>,
    games: u64,
    information_share: f64,
    identified: bool,
    /// Value in the reference table, if it may be compared with it.
    reference: Option<f64>,
}

impl Estimate {
    fn compared(&self) -> Option<f64> {
        self.reference.filter(|_| self.identified)
    }

    /// A resampled coefficient, with a floor so that it has a log; an identified one almost never meets it.
    fn replicate(&self, index: usize) -> f64 {
        self.replicates[index].max(0.02 * self.coefficient)
    }

    fn publish(&self, id: &str, scales: &Scales, comparison: Option<Comparison>) -> PieceValue {
        let interval = self.identified.then(|| {
            let draws = scales.replicates.iter().enumerate();
            percentile_interval(
                self.coefficient / scales.estimate,
                draws.map(|(i, scale)| Some(self.replicate(i) / scale)),
            )
        });
        let interval = interval.flatten();
        PieceValue {
            id: id.to_owned(),
            value: interval.map(|i| i.value),
            low: interval.map(|i| i.low),
            high: interval.map(|i| i.high),
            se_log: self.se_log,
            games_unbalanced: self.games,
            information_share: self.information_share,
            identified: self.identified,
            reference: self.reference,
            comparison,
        }
    }
}

/// Logits per point of the reference, for the estimate and every resample: the geometric mean over the compared
/// pieces. With fewer than [`FEWEST_COMPARED`] it would be those pieces' own values and make them equal to the reference;
/// then it is 1.
struct Scales {
    unit: Unit,
    estimate: f64,
    replicates: Vec<f64>,
}

impl Scales {
    fn of(pieces: &[Estimate], replicates: usize) -> Self {
        let compared: Vec<(&Estimate, f64)> = pieces.iter().filter_map(|p| Some((p, p.compared()?))).collect();
        if compared.len() < FEWEST_COMPARED {
            return Scales { unit: Unit::Logit, estimate: 1.0, replicates: vec![1.0; replicates] };
        }
        let mean = |of: &dyn Fn(&Estimate) -> f64| {
            let sum: f64 = compared.iter().map(|(p, x)| (of(p) / x).ln()).sum();
            (sum / compared.len() as f64).exp()
        };
        Scales {
            unit: Unit::Reference,
            estimate: mean(&|p| p.coefficient),
            replicates: (0..replicates).map(|i| mean(&|p| p.replicate(i))).collect(),
        }
    }
}

/// Pieces that the scale of the reference is found from, at least.
const FEWEST_COMPARED: usize = 3;

/// The comparison of each piece that is compared, once there is a common scale.
fn comparisons(pieces: &[Estimate], scales: &Scales, step: f64) -> Vec<Option<Comparison>> {
    if scales.unit == Unit::Logit {
        return pieces.iter().map(|_| None).collect();
    }
    let logs: Vec<f64> = scales.replicates.iter().map(|scale| scale.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let se_scale = (squares / (logs.len() as f64 - 1.0)).sqrt();
    let which: Vec<bool> = pieces.iter().map(|piece| piece.compared().is_some()).collect();
    let compared = pieces.iter().filter_map(|piece| {
        let draws = scales.replicates.iter().enumerate().map(|(i, scale)| piece.replicate(i) / scale);
        Some(Compared {
            value: piece.coefficient / scales.estimate,
            reference: piece.compared()?,
            se_log: piece.se_log?,
            draws: draws.collect(),
        })
    });
    let mut found = compare(&compared.collect::<Vec<_>>(), step, se_scale).into_iter();
    which.into_iter().map(|compared| if compared { found.next() } else { None }).collect()
}

fn agreement(pieces: &[Estimate], replicates: usize) -> Agreement {
    let compared: Vec<&Estimate> = pieces.iter().filter(|p| p.compared().is_some()).collect();
    let reference: Vec<f64> = compared.iter().filter_map(|p| p.compared()).collect();
    let estimate: Vec<f64> = compared.iter().map(|p| p.coefficient).collect();
    let draws: Vec<Vec<f64>> = (0..replicates).map(|i| compared.iter().map(|p| p.replicate(i)).collect()).collect();
    Agreement::of(&reference, &estimate, &draws)
}

/// The unit of published values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Points of the reference table, by one factor for all pieces.
    Reference,
    /// Logits of winning, because too little could be compared for a common scale.
    Logit,
}

/// Measured values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PieceValues {
    /// How they were measured.
    pub method: Method,
    /// Games with at least one row.
    pub games: u64,
    /// Rows.
    pub rows: u64,
    /// Name of the reference table, if there was one.
    pub reference_table: Option<String>,
    /// What `value` counts.
    pub unit: Unit,
    /// Logits per unit of `value`.
    pub scale: f64,
    /// The constant in the same unit: the worth of moving first, by increments that of having the move.
    pub constant: Option<Interval>,
    /// Every feature, in the order given.
    pub pieces: Vec<PieceValue>,
    /// Agreement with the reference over pieces that are identified and in it.
    pub agreement: Agreement,
}

/// A measured value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PieceValue {
    /// The feature's name.
    pub id: String,
    /// The value; `None` unless identified.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval over resampled games, the scale resampled with it.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Standard error of the log of the coefficient; `None` where the coefficient is not positive.
    pub se_log: Option<f64>,
    /// Games in which the two sides had different numbers of it.
    pub games_unbalanced: u64,
    /// Share of the information on it that its company with other pieces leaves, 0 to 1.
    pub information_share: f64,
    /// Whether the data determine the value well enough to print it.
    pub identified: bool,
    /// The reference table's value; `None` where it has none or the feature is not to be compared.
    pub reference: Option<f64>,
    /// Whether it disagrees with the reference; `None` where nothing can be said.
    #[serde(default)]
    pub comparison: Option<Comparison>,
}

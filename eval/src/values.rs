//! What each piece is worth, by regression on differences of piece counts, with intervals over whole games.
//!
//! A row is a position seen from one side: own minus enemy count of every kind. The model is
//! eta = k (constant + sum_j b_j d_j) with a slope k for each phase of the game, each game of total weight 1 and a weak
//! Gaussian prior on the coefficients. Then the same without slope for each phase alone.
//! Positions of one game are nearly one observation, so every error and interval resamples games, not rows.
//! A value is published only when it is identified; otherwise it is `None`, never a number.

use serde::{Deserialize, Serialize};

use crate::compare::Comparison;
use crate::design::{DesignBuilder, RowError};
use crate::estimate::{Estimates, Scales, agreement, comparisons};
use crate::interval::{Agreement, Interval, percentile_interval};
use crate::phase::{Phase, PhaseValues};
use crate::reference::ReferenceTable;
use crate::regression::{self, Model, RegressionError};

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
    /// A run measures the games of so many of its newest generations; all if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generations: Option<u32>,
}

impl Default for ValuesConfig {
    fn default() -> Self {
        ValuesConfig {
            prior_sd: 9.0,
            replicates: 1000,
            bootstrap: Bootstrap::OneStep,
            min_games: 200,
            max_log_error: 0.30,
            generations: None,
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

impl Feature {
    /// What the table says of it, if it may be compared.
    pub(crate) fn reference(&self, table: Option<&ReferenceTable>) -> Option<f64> {
        table.filter(|_| self.compared)?.value(&self.id)
    }
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
    /// How far the game is.
    pub phase: Phase,
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
        self.builder
            .push_in(row.phase as u8, game, &self.entries, outcome, weight)
            .map_err(|source| ValuesError::Row { game, source })
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
        let fit = regression::fit_with_slopes(&mut design, model, config.ridge())?;
        let estimates = Estimates::of(&design, &fit, model, config, seed)?;
        let pieces = &estimates.pieces;
        let references: Vec<Option<f64>> = self.features.iter().map(|feature| feature.reference(reference)).collect();
        let scales = Scales::by_references(pieces, &references, config.replicates);
        let comparisons = comparisons(pieces, &references, &scales, reference.map_or(0.0, |table| table.rounding));
        let names = || self.features.iter().map(|feature| feature.id.as_str());
        let mut phases = Vec::new();
        for phase in Phase::ALL {
            let mut part = design.only(phase as u8);
            if part.rows() > 0 {
                part.weight_clusters_equally();
                let slope = design.slope(phase as u8);
                let of_phase =
                    Estimates::of(&part, &regression::fit(&part, model, config.ridge())?, model, config, seed)?;
                phases.push(PhaseValues::new(
                    phase,
                    &part,
                    slope,
                    &of_phase,
                    &estimates,
                    &scales,
                    names(),
                    &references,
                ));
            }
        }
        Ok(PieceValues {
            method: self.method,
            games: design.clusters() as u64,
            rows: design.rows() as u64,
            reference_table: reference.map(|table| table.id.clone()),
            unit: scales.unit,
            scale: scales.estimate,
            constant: percentile_interval(
                estimates.constant / scales.estimate,
                estimates.constant_replicates.iter().zip(&scales.replicates).map(|(b, scale)| Some(b / scale)),
            ),
            agreement: agreement(pieces, &references, config.replicates),
            pieces: names()
                .zip(pieces)
                .zip(references.iter().zip(comparisons))
                .map(|((id, piece), (&reference, comparison))| PieceValue {
                    comparison,
                    ..piece.publish(id, Some(&scales), reference)
                })
                .collect(),
            phases,
        })
    }
}

impl ValuesConfig {
    /// Whether a value may be published: enough games with a difference, and a small error of its log.
    pub(crate) fn identifies(&self, games: u64, se_log: Option<f64>) -> bool {
        games >= self.min_games && se_log.is_some_and(|se| se < self.max_log_error)
    }

    /// The prior as the ridge of a regression.
    pub(crate) fn ridge(&self) -> f64 {
        self.prior_sd.powi(-2)
    }

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
        if self.generations == Some(0) {
            return Err(ValuesError::Config { key: "generations", expected: "at least 1", found: "0".to_owned() });
        }
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
    /// The constant in the same unit: the worth of moving first; by increments what allows for whose move it was.
    pub constant: Option<Interval>,
    /// Every feature, in the order given.
    pub pieces: Vec<PieceValue>,
    /// Agreement with the reference over pieces that are identified and in it.
    pub agreement: Agreement,
    /// The same for each phase of the game that occurs, in their order.
    #[serde(default)]
    pub phases: Vec<PhaseValues>,
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

impl PieceValue {
    /// The value with its 95 % interval; `None` unless identified.
    pub fn interval(&self) -> Option<Interval> {
        Some(Interval { value: self.value?, low: self.low?, high: self.high? })
    }
}

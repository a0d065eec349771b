//! Coefficients of a regression on piece counts, with resamples, and the scale that makes values of them.

use ndarray::Array2;

use crate::compare::{Compared, Comparison, compare};
use crate::design::Design;
use crate::interval::{Agreement, Interval, MIN_PIECES, percentile_interval};
use crate::regression::{Fit, Model, RegressionError};
use crate::values::{Bootstrap, PieceValue, Unit, ValuesConfig};

/// What a regression says about every feature; the constant is the last of its features.
pub(crate) struct Estimates {
    pub(crate) pieces: Vec<Estimate>,
    pub(crate) constant: f64,
    pub(crate) constant_replicates: Vec<f64>,
}

impl Estimates {
    /// The estimates of a fit of `design` with the ridge that `config` means.
    pub(crate) fn of(
        design: &Design,
        fit: &Fit,
        model: Model,
        config: &ValuesConfig,
        seed: u64,
    ) -> Result<Estimates, RegressionError> {
        let ridge = config.ridge();
        let replicates = match config.bootstrap {
            Bootstrap::OneStep => fit.bootstrap_one_step(config.replicates, seed),
            Bootstrap::Refit => fit.bootstrap_refit(design, model, ridge, config.replicates, seed)?,
        };
        let games = design.clusters_with();
        let errors = log_errors(fit, ridge);
        let shares = information_shares(fit, ridge);
        let constant = fit.coefficients.len() - 1;
        let piece = |j: usize| Estimate {
            coefficient: fit.coefficients[j],
            replicates: replicates.column(j).to_vec(),
            se_log: errors[j],
            games: games[j],
            information_share: shares[j],
            identified: config.identifies(games[j], errors[j]),
        };
        Ok(Estimates {
            pieces: (0..constant).map(piece).collect(),
            constant: fit.coefficients[constant],
            constant_replicates: replicates.column(constant).to_vec(),
        })
    }
}

/// Covariance of the coefficients; `None` if there are not two games. The prior counts as one more observation: without
/// its term, a direction that the data say nothing about would look certain.
pub(crate) fn covariance(fit: &Fit, ridge: f64) -> Option<Array2<f64>> {
    Some(fit.covariance()? + fit.bread.dot(&fit.bread) * ridge)
}

/// Standard error of the log of each coefficient; `None` where the coefficient is not positive or there are not two
/// games.
pub(crate) fn log_errors(fit: &Fit, ridge: f64) -> Vec<Option<f64>> {
    let Some(covariance) = covariance(fit, ridge) else {
        return vec![None; fit.coefficients.len()];
    };
    let of = |(j, &b): (usize, &f64)| (b > 0.0).then(|| covariance[[j, j]].sqrt() / b);
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
pub(crate) struct Estimate {
    pub(crate) coefficient: f64,
    pub(crate) replicates: Vec<f64>,
    pub(crate) se_log: Option<f64>,
    pub(crate) games: u64,
    pub(crate) information_share: f64,
    pub(crate) identified: bool,
}

impl Estimate {
    /// A resampled coefficient, with a floor so that it has a log; an identified one almost never meets it.
    pub(crate) fn replicate(&self, index: usize) -> f64 {
        self.replicates[index].max(0.02 * self.coefficient)
    }

    /// What is said of the piece in units of `scales`; no value where there are none.
    pub(crate) fn publish(&self, id: &str, scales: Option<&Scales>, reference: Option<f64>) -> PieceValue {
        let scales = scales.filter(|_| self.identified);
        let interval = scales.and_then(|scales| {
            let draws = scales.replicates.iter().enumerate();
            percentile_interval(
                self.coefficient / scales.estimate,
                draws.map(|(i, scale)| Some(self.replicate(i) / scale)),
            )
        });
        PieceValue {
            id: id.to_owned(),
            value: interval.map(|i| i.value),
            low: interval.map(|i| i.low),
            high: interval.map(|i| i.high),
            se_log: self.se_log,
            games_unbalanced: self.games,
            information_share: self.information_share,
            identified: interval.is_some(),
            reference,
            comparison: None,
        }
    }
}

/// What a piece's coefficient is measured by.
pub(crate) struct Yardstick<'a> {
    pub(crate) piece: &'a Estimate,
    pub(crate) value: f64,
    /// Resamples of `value`, where it is itself an estimate.
    pub(crate) replicates: Option<Vec<f64>>,
}

/// Logits per unit of value, for the estimate and every resample.
pub(crate) struct Scales {
    pub(crate) unit: Unit,
    pub(crate) estimate: f64,
    pub(crate) replicates: Vec<f64>,
}

impl Scales {
    /// The geometric mean of coefficient over yardstick; `None` with fewer than [`MIN_PIECES`] of them, for then it would
    /// be those pieces' own values and make them equal to what they are measured by.
    pub(crate) fn of(compared: &[Yardstick<'_>], replicates: usize) -> Option<Self> {
        let mean = |log: &dyn Fn(&Yardstick<'_>) -> f64| {
            let sum: f64 = compared.iter().map(log).sum();
            (sum / compared.len() as f64).exp()
        };
        let draw = |i: usize| {
            mean(&|y| (y.piece.replicate(i) / y.replicates.as_ref().map_or(y.value, |values| values[i])).ln())
        };
        (compared.len() >= MIN_PIECES).then(|| Scales {
            unit: Unit::Reference,
            estimate: mean(&|y| (y.piece.coefficient / y.value).ln()),
            replicates: (0..replicates).map(draw).collect(),
        })
    }

    /// By the references of identified pieces; with too few of them values are logits.
    pub(crate) fn by_references(pieces: &[Estimate], references: &[Option<f64>], replicates: usize) -> Self {
        let yardsticks: Vec<Yardstick<'_>> = pieces
            .iter()
            .zip(references)
            .filter(|(piece, _)| piece.identified)
            .filter_map(|(piece, &reference)| Some(Yardstick { piece, value: reference?, replicates: None }))
            .collect();
        let logits = || Scales { unit: Unit::Logit, estimate: 1.0, replicates: vec![1.0; replicates] };
        Scales::of(&yardsticks, replicates).unwrap_or_else(logits)
    }

    /// The scale with its interval.
    pub(crate) fn interval(&self) -> Option<Interval> {
        percentile_interval(self.estimate, self.replicates.iter().map(|&scale| Some(scale)))
    }
}

/// The comparison of each piece that is compared, once there is a common scale.
pub(crate) fn comparisons(
    pieces: &[Estimate],
    references: &[Option<f64>],
    scales: &Scales,
    step: f64,
) -> Vec<Option<Comparison>> {
    if scales.unit == Unit::Logit {
        return pieces.iter().map(|_| None).collect();
    }
    let logs: Vec<f64> = scales.replicates.iter().map(|scale| scale.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let se_scale = (squares / (logs.len() as f64 - 1.0)).sqrt();
    let compared = pieces.iter().zip(references).filter_map(|(piece, &reference)| {
        let draws = scales.replicates.iter().enumerate().map(|(i, scale)| piece.replicate(i) / scale);
        Some(Compared {
            value: piece.coefficient / scales.estimate,
            reference: reference.filter(|_| piece.identified)?,
            se_log: piece.se_log?,
            draws: draws.collect(),
        })
    });
    let mut found = compare(&compared.collect::<Vec<_>>(), step, se_scale).into_iter();
    let is_compared = |(piece, reference): (&Estimate, &Option<f64>)| piece.identified && reference.is_some();
    pieces.iter().zip(references).map(|pair| if is_compared(pair) { found.next() } else { None }).collect()
}

/// How the identified pieces agree with their references.
pub(crate) fn agreement(pieces: &[Estimate], references: &[Option<f64>], replicates: usize) -> Agreement {
    let (compared, reference): (Vec<&Estimate>, Vec<f64>) = pieces
        .iter()
        .zip(references)
        .filter(|(piece, _)| piece.identified)
        .filter_map(|(piece, &reference)| Some((piece, reference?)))
        .unzip();
    let estimate: Vec<f64> = compared.iter().map(|p| p.coefficient).collect();
    let draws: Vec<Vec<f64>> = (0..replicates).map(|i| compared.iter().map(|p| p.replicate(i)).collect()).collect();
    Agreement::of(&reference, &estimate, &draws)
}

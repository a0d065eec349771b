//! Whether a judge prices pieces as outcomes do.
//!
//! After an exchange the judge has said all it knows, so the material that changed must not help to predict the outcome
//! any more: in logit(score) = a logit(judge) + sum_j gamma_j dD_j, gamma_j is 0 if it prices piece j correctly.

use serde::{Deserialize, Serialize};

use crate::design::{DesignBuilder, RowError};
use crate::regression::{self, Model};
use crate::values::ValuesConfig;

/// Steps to a logit of the judge: a design holds integers, and this is far below any judge's noise.
const STEPS: f64 = 256.0;

/// |z| from which a piece is flagged.
const FLAGGED: f64 = 3.0;

/// What outcomes say about a judge's price of a piece.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Opinion {
    /// The feature's name.
    pub id: String,
    /// gamma / a: by how many of its own logits the judge prices the piece too low (below 0: too high).
    pub error: f64,
    /// Lower end of its 95 % interval, normal, clustered by game.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Error over its standard error.
    pub z: f64,
    /// Whether |z| is above 3.
    pub flagged: bool,
    /// Games with an exchange of it.
    pub games: u64,
}

/// The exchanges of the test.
pub(crate) struct OpinionRows {
    builder: DesignBuilder,
    groups: Vec<u16>,
    features: usize,
    entries: Vec<(u16, i16)>,
}

impl OpinionRows {
    pub(crate) fn new(features: usize, groups: &[usize]) -> OpinionRows {
        OpinionRows {
            // One more: the judge.
            builder: DesignBuilder::new(features + 1),
            groups: groups.iter().map(|&group| group as u16).collect(),
            features,
            entries: Vec::new(),
        }
    }

    /// Adds an exchange: the change of the counts, the judge's logit afterwards and the score of the game.
    pub(crate) fn push(&mut self, game: u64, diff: &[(u16, i16)], after: f32, score: f32) -> Result<(), RowError> {
        self.entries.clear();
        self.entries.extend(diff.iter().map(|&(kind, n)| (self.groups[kind as usize], n)));
        self.entries.push((self.features as u16, (f64::from(after) * STEPS).round() as i16));
        self.builder.push(game, &self.entries, f64::from(score), 1.0)
    }

    /// The errors of the pieces that enough games exchange (`min_games` of the configuration); none if the judge's
    /// logit does not predict outcomes at all.
    pub(crate) fn measure(self, ids: &[&str], config: &ValuesConfig) -> Vec<Opinion> {
        let mut design = self.builder.finish();
        design.weight_clusters_equally();
        let games = design.clusters_with();
        let Ok(fit) = regression::fit(&design, Model::Logistic, config.prior_sd.powi(-2)) else { return Vec::new() };
        let Some(covariance) = fit.covariance() else { return Vec::new() };
        let judge = self.features;
        let slope = fit.coefficients[judge] * STEPS;
        let slope_se = covariance[[judge, judge]].sqrt() * STEPS;
        if slope.is_nan() || slope < FLAGGED * slope_se {
            return Vec::new();
        }
        let of = |j: usize| {
            let error = fit.coefficients[j] / slope;
            // Delta method for a quotient.
            let variance = (covariance[[j, j]] - 2.0 * error * covariance[[j, judge]] * STEPS
                + error * error * slope_se * slope_se)
                / (slope * slope);
            let se = variance.max(0.0).sqrt();
            let z = error / se;
            (games[j] >= config.min_games && z.is_finite()).then(|| Opinion {
                id: ids[j].to_owned(),
                error,
                low: error - crate::normal::Z95 * se,
                high: error + crate::normal::Z95 * se,
                z,
                flagged: z.abs() > FLAGGED,
                games: games[j],
            })
        };
        (0..judge).filter_map(of).collect()
    }
}

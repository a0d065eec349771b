//! What a kind of piece is worth by the square it stands on.
//!
//! For one kind k at a time, over all positions at rest, every game with total weight 1:
//!
//! eta = k_phase (c + sum_{j != k} b_j d_j + sum_s b_{k,s} d_{k,s})
//!
//! where d_j is Black's number of kind j less White's, d_{k,s} Black's pieces k on cell s less White's, each side seen from
//! its own end of the board, and k_phase the slope of the phase in the regression without squares. eta explains the outcome of
//! the game, by logistic regression, or a judge's logit of the position, by least squares. The latter is precise, and the
//! judge's opinion of squares.

mod track;

use std::sync::Arc;

use engine::{PieceKind, Square, Variant};
use ndarray::Array2;
use rayon::prelude::*;
use selfplay::data::{PositionRow, ShardPair, ShardReader};
use serde::{Deserialize, Serialize};

use crate::estimate::{Estimates, Scales, covariance, log_errors};
use crate::interval::{Interval, percentile_interval};
use crate::judge::Judge;
use crate::measure::{Games, Layout, MeasureError};
use crate::phase::Phase;
use crate::reference::ReferenceTable;
use crate::regression::{self, Model};
use crate::rest;
use crate::values::{Method, Unit, ValuesConfig, ValuesError};
use track::{Cells, Track};

/// Kinds measured at the same time: bounds memory; no influence on the result.
const KINDS_AT_ONCE: usize = 4;

/// Kinds that have a value by square: all but the royal ones, of which each side nearly always has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds(Vec<PieceKind>);

/// Kinds that cannot be measured by square.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KindsError {
    /// No such kind.
    #[error("no piece `{id}`: expected `all` or some of {known}")]
    Unknown {
        /// The name as given.
        id: String,
        /// What may be asked for.
        known: String,
    },
    /// The kind is royal.
    #[error("`{id}` is royal, so nothing is known of its worth: expected `all` or some of {known}")]
    Royal {
        /// The kind.
        id: String,
        /// What may be asked for.
        known: String,
    },
}

impl Kinds {
    /// Every kind that is not royal, in the order of the variant.
    pub fn all(variant: &Variant) -> Kinds {
        let kinds = (0..variant.kinds().len()).map(PieceKind::new);
        Kinds(kinds.filter(|&kind| !variant.kind(kind).royal).collect())
    }

    /// The kinds with these ids.
    ///
    /// # Errors
    /// An id of no kind, or of a royal one.
    pub fn named(variant: &Variant, ids: &[String]) -> Result<Kinds, KindsError> {
        let known = || {
            let ids: Vec<&str> = Kinds::all(variant).0.iter().map(|&kind| variant.kind(kind).id.as_str()).collect();
            ids.join(", ")
        };
        let kind = |id: &String| match variant.kind_by_id(id) {
            None => Err(KindsError::Unknown { id: id.clone(), known: known() }),
            Some(kind) if variant.kind(kind).royal => Err(KindsError::Royal { id: id.clone(), known: known() }),
            Some(kind) => Ok(kind),
        };
        ids.iter().map(kind).collect::<Result<_, _>>().map(Kinds)
    }
}

/// Values by square of some kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Squares {
    /// Name of the variant.
    pub variant: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// What the values explain: outcomes, or for [`Method::Increment`] a judge's logit of positions.
    pub method: Method,
    /// Who judged positions; `None` if only outcomes count.
    pub judge: Option<String>,
    /// Title of the reference table that the scale comes from, if there is one.
    pub reference_title: Option<String>,
    /// First and last generation of the games that were looked at.
    #[serde(default)]
    pub generations: Option<[u32; 2]>,
    /// Games that count.
    pub games: u64,
    /// Positions at rest that count.
    pub rows: u64,
    /// What values count.
    pub unit: Unit,
    /// Logits per unit of value: as for piece values of the same positions without squares.
    pub scale: f64,
    /// A table for each kind asked for, in that order.
    pub tables: Vec<SquareTable>,
}

/// A kind's value by square, as Black sees the board; White's squares are turned by half a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SquareTable {
    /// The kind.
    pub id: String,
    /// English name.
    pub name: String,
    /// One or two Japanese characters.
    pub symbol: String,
    /// Whether it is the promoted side of a piece.
    pub promoted: bool,
    /// Whether left and right are one: only files on the right are cells then. So for kinds that move alike to both
    /// sides.
    pub folded: bool,
    /// Files of the board.
    pub files: usize,
    /// Ranks of the board.
    pub ranks: usize,
    /// Mean value, each cell weighted by how often pieces of the kind stand there, over cells with enough games;
    /// `None` unless identified.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval over resampled games, for these weights.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Rank by rank from the top, in each from Black's left.
    pub cells: Vec<SquareValue>,
}

/// The value on a square, or on two that mirror each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SquareValue {
    /// In USI, as Black sees it.
    pub square: String,
    /// File, from Black's right, from 1.
    pub file: usize,
    /// Rank from the top, from 1.
    pub rank: usize,
    /// The value; `None` unless identified.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The value less the kind's mean; `None` unless both are identified.
    pub difference: Option<f64>,
    /// Lower end of its 95 % interval.
    pub difference_low: Option<f64>,
    /// Upper end.
    pub difference_high: Option<f64>,
    /// Games in which there was a difference on it.
    pub games: u64,
    /// Share of the time of pieces of the kind that they stand there.
    pub share: f64,
    /// Whether there were enough games and the error of the value's logarithm is small.
    pub identified: bool,
}

impl SquareValue {
    /// Whether the interval of the difference leaves out 0.
    pub fn is_apart(&self) -> bool {
        self.difference_low.is_some_and(|low| low > 0.0) || self.difference_high.is_some_and(|high| high < 0.0)
    }
}

impl SquareTable {
    /// Number of cells whose value the games determine.
    pub fn identified(&self) -> usize {
        self.cells.iter().filter(|cell| cell.identified).count()
    }
}

/// The last shards, in the order given, that hold at least so many positions together; all if they do not.
///
/// # Errors
/// If a shard cannot be opened.
pub fn newest(shards: &[ShardPair], positions: u64) -> Result<&[ShardPair], MeasureError> {
    let mut first = shards.len();
    let mut found = 0;
    while first > 0 && found < positions {
        first -= 1;
        found += ShardReader::open::<PositionRow>(&shards[first].positions)?.rows();
    }
    Ok(&shards[first..])
}

/// Measures values by square: by outcomes, in games that somebody won or both drew, or by what a judge makes of positions
/// in all games. Intervals resample games by one Newton step, whatever `config.bootstrap` says. The result depends on
/// the shards, the kinds and the seed alone.
///
/// # Errors
/// If a shard cannot be read, judged or is of another game, or if there is nothing to measure.
pub fn measure_squares(
    variant: &Arc<Variant>,
    shards: &[ShardPair],
    kinds: &Kinds,
    judge: Option<&dyn Judge>,
    reference: Option<&ReferenceTable>,
    config: &ValuesConfig,
    seed: u64,
) -> Result<Squares, MeasureError> {
    config.validate()?;
    let layout = Layout::of(variant);
    let mut track = Track::new(variant);
    let mut all = Games::new(variant);
    rest::read(variant, shards, judge, true, |rests| {
        all.add(rests);
        for rest in rests.games().flatten() {
            let response = if judge.is_some() { rest.logit } else { rest.score };
            if let Some(response) = response {
                track.push(&rest, response);
            }
        }
        Ok(())
    })?;
    let (method, model) = match judge {
        None => (Method::Outcome, Model::Logistic),
        Some(_) => (Method::Increment, Model::Linear),
    };
    let work = Work { variant, layout: &layout, track: &track, model, config, seed };
    let by_feature = reference.map(|table| layout.reference(variant, table, &all.promotions));
    let (games, scales, slopes) = work.whole(by_feature.as_ref())?;
    let mut tables = Vec::with_capacity(kinds.0.len());
    for some in kinds.0.chunks(KINDS_AT_ONCE) {
        let measured: Vec<_> = some.par_iter().map(|&kind| work.table(kind, &scales, &slopes)).collect();
        for table in measured {
            tables.push(table?);
        }
    }
    Ok(Squares {
        variant: variant.name().to_owned(),
        ruleset: variant.ruleset().to_owned(),
        method,
        judge: judge.map(|judge| judge.id().to_owned()),
        reference_title: reference.map(ReferenceTable::title_by_kind),
        generations: all.generations,
        games,
        rows: track.rows(),
        unit: scales.unit,
        scale: scales.estimate,
        tables,
    })
}

/// What all kinds share.
struct Work<'a> {
    variant: &'a Variant,
    layout: &'a Layout,
    track: &'a Track,
    model: Model,
    config: &'a ValuesConfig,
    seed: u64,
}

impl Work<'_> {
    /// The number of games, the scale and the slopes of the phases, from the regression without squares. Its resamples are
    /// those of every table, since the games are.
    fn whole(&self, reference: Option<&ReferenceTable>) -> Result<(u64, Scales, Vec<f64>), MeasureError> {
        let features = &self.layout.features;
        let (mut design, _) = self.track.design(features.len(), &self.layout.groups, None)?;
        let fit =
            regression::fit_with_slopes(&mut design, self.model, self.config.ridge()).map_err(ValuesError::from)?;
        let pieces =
            Estimates::of(&design, &fit, self.model, self.config, self.seed).map_err(ValuesError::from)?.pieces;
        let references: Vec<Option<f64>> = features.iter().map(|feature| feature.reference(reference)).collect();
        let scales = Scales::by_references(&pieces, &references, self.config.replicates);
        Ok((design.clusters() as u64, scales, Phase::ALL.map(|phase| design.slope(phase as u8)).to_vec()))
    }

    fn table(&self, kind: PieceKind, scales: &Scales, slopes: &[f64]) -> Result<SquareTable, MeasureError> {
        let cells = Cells::of(self.variant, kind);
        let first = self.layout.features.len() + 1;
        let (mut design, shares) = self.track.design(first - 1, &self.layout.groups, Some(&cells))?;
        design.set_slopes(slopes);
        let fit = regression::fit(&design, self.model, self.config.ridge()).map_err(ValuesError::from)?;
        let replicates = fit.bootstrap_one_step(self.config.replicates, self.seed);
        let games = &design.clusters_with()[first..];
        let errors = &log_errors(&fit, self.config.ridge())[first..];
        let estimate = Numbers { values: &fit.coefficients[first..], replicates: &replicates, first, scales };

        let enough = |(&share, &games): (&f64, &u64)| if games >= self.config.min_games { share } else { 0.0 };
        let weights: Vec<f64> = shares.iter().zip(games).map(enough).collect();
        let mean = Mean::of(&estimate, &weights).filter(|mean| {
            let error = mean.error(covariance(&fit, self.config.ridge()).as_ref(), first);
            error.is_some_and(|error| error < self.config.max_log_error * mean.value)
        });
        let interval = mean.as_ref().and_then(|mean| estimate.scaled(mean.value, |i| mean.replicates[i]));
        let board = self.variant.board();
        let cell = |(cell, &square): (usize, &Square)| {
            let identified = self.config.identifies(games[cell], errors[cell]);
            let value = estimate.values[cell];
            let own = estimate.scaled(value, |i| estimate.replicate(i, cell)).filter(|_| identified);
            let difference = mean.as_ref().filter(|_| identified).and_then(|mean| {
                estimate.scaled(value - mean.value, |i| estimate.replicate(i, cell) - mean.replicates[i])
            });
            SquareValue {
                square: board.name(square),
                file: self.variant.files() - square.index() % self.variant.files(),
                rank: 1 + square.index() / self.variant.files(),
                value: own.map(|own| own.value),
                low: own.map(|own| own.low),
                high: own.map(|own| own.high),
                difference: difference.map(|difference| difference.value),
                difference_low: difference.map(|difference| difference.low),
                difference_high: difference.map(|difference| difference.high),
                games: games[cell],
                share: shares[cell],
                identified,
            }
        };
        let shown = self.variant.kind(kind);
        Ok(SquareTable {
            id: shown.id.clone(),
            name: shown.name.clone(),
            symbol: shown.symbol.clone(),
            promoted: shown.is_promoted(),
            folded: cells.folded,
            files: self.variant.files(),
            ranks: self.variant.ranks(),
            value: interval.map(|interval| interval.value),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            cells: cells.squares.iter().enumerate().map(cell).collect(),
        })
    }
}

/// The coefficients of cells, in logits.
struct Numbers<'a> {
    values: &'a [f64],
    /// Resamples x features, of which the cells are those from `first` on.
    replicates: &'a Array2<f64>,
    first: usize,
    scales: &'a Scales,
}

impl Numbers<'_> {
    fn replicate(&self, index: usize, cell: usize) -> f64 {
        self.replicates[[index, self.first + cell]]
    }

    /// A number of logits in units of value, with its interval.
    fn scaled(&self, value: f64, replicate: impl Fn(usize) -> f64) -> Option<Interval> {
        let draws = self.scales.replicates.iter().enumerate();
        percentile_interval(value / self.scales.estimate, draws.map(|(i, scale)| Some(replicate(i) / scale)))
    }
}

/// The weighted mean of a kind's cells, in logits.
struct Mean {
    weights: Vec<f64>,
    value: f64,
    replicates: Vec<f64>,
}

impl Mean {
    /// `None` if no cell has weight.
    fn of(numbers: &Numbers<'_>, weights: &[f64]) -> Option<Mean> {
        let all: f64 = weights.iter().sum();
        let weights: Vec<f64> = weights.iter().map(|weight| weight / all).collect();
        let mean = |value: &dyn Fn(usize) -> f64| -> f64 {
            weights.iter().enumerate().map(|(cell, weight)| weight * value(cell)).sum()
        };
        let value = mean(&|cell| numbers.values[cell]);
        let replicates = (0..numbers.replicates.nrows()).map(|i| mean(&|cell| numbers.replicate(i, cell))).collect();
        (all > 0.0).then_some(Mean { weights, value, replicates })
    }

    /// Its standard error, the weights taken for known.
    fn error(&self, covariance: Option<&Array2<f64>>, first: usize) -> Option<f64> {
        let cells = self.weights.iter().enumerate();
        let pairs = cells.clone().flat_map(|(i, a)| cells.clone().map(move |(j, b)| (i, j, a * b)));
        covariance.map(|c| pairs.map(|(i, j, weight)| weight * c[[first + i, first + j]]).sum::<f64>().sqrt())
    }
}

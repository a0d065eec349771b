//! Measuring piece values, with a line on stderr about it.

use std::sync::Arc;
use std::time::Instant;

use engine::Variant;
use eval::judge::Judge;
use eval::measure::{Measured, by_increment, by_outcome};
use eval::reference::ReferenceTable;
use eval::squares::{Kinds, Squares, measure_squares};
use eval::values::ValuesConfig;
use selfplay::data::ShardPair;

/// Values by square; by outcomes, or as the judge sees positions if there is one.
pub(crate) fn measure_by_square(
    variant: &Arc<Variant>,
    shards: &[ShardPair],
    kinds: &Kinds,
    judge: Option<&dyn Judge>,
    reference: Option<&ReferenceTable>,
    config: &ValuesConfig,
    seed: u64,
) -> anyhow::Result<Squares> {
    let started = Instant::now();
    let squares = measure_squares(variant, shards, kinds, judge, reference, config, seed)?;
    eprintln!(
        "values by square: {} positions of {} games, {:.1} s",
        squares.rows,
        squares.games,
        started.elapsed().as_secs_f64()
    );
    Ok(squares)
}

/// Values from shards; by outcomes, or by exchanges if there is a judge.
pub(crate) fn measure_values(
    variant: &Arc<Variant>,
    shards: &[ShardPair],
    judge: Option<&dyn Judge>,
    reference: Option<&ReferenceTable>,
    config: &ValuesConfig,
    seed: u64,
) -> anyhow::Result<Measured> {
    let started = Instant::now();
    let (measured, rows) = match judge {
        None => (by_outcome(variant, shards, reference, config, seed)?, "positions"),
        Some(judge) => (by_increment(variant, shards, judge, reference, config, seed)?, "exchanges"),
    };
    eprintln!(
        "piece values: {} {rows} of {} games, {:.1} s",
        measured.values.rows,
        measured.values.games,
        started.elapsed().as_secs_f64()
    );
    Ok(measured)
}

//! Piece values from recorded games: which positions count, which kinds are features, what they are compared with.

use std::sync::Arc;

use engine::Variant;
use selfplay::data::{DataError, PositionRow, ShardPair, ShardReader};
use serde::{Deserialize, Serialize};

use crate::exchange::{Exchange, exchanges};
use crate::judge::Judge;
use crate::opinion::{Opinion, OpinionRows};
use crate::promotion::{Promotion, Promotions};
use crate::reference::ReferenceTable;
use crate::rest::{self, Rest, Rests};
use crate::values::{Feature, Material, MaterialRow, Method, PieceValues, ValuesConfig, ValuesError};

/// Name of the feature that all royal kinds share where there are several.
pub const SECOND_ROYAL: &str = "second_royal";

/// Why values cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// A shard cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A shard is of another game.
    #[error("{path}: expected games of {expected}, found {found}")]
    Variant {
        /// The shard.
        path: std::path::PathBuf,
        /// Variant and ruleset measured.
        expected: String,
        /// Variant and ruleset of the shard.
        found: String,
    },
    /// A judge cannot judge a shard.
    #[error("{path}: {judge} cannot judge it: {what}")]
    Judge {
        /// The shard.
        path: std::path::PathBuf,
        /// The judge.
        judge: String,
        /// What is wrong.
        what: String,
    },
    /// The regression cannot be done.
    #[error(transparent)]
    Values(#[from] ValuesError),
}

/// Measured values with what people and programs need to read them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the variant.
    pub variant: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// Who judged positions; `None` if only outcomes count.
    #[serde(default)]
    pub judge: Option<String>,
    /// First and last generation of the games that were looked at; `None` in results of older programs.
    #[serde(default)]
    pub generations: Option<[u32; 2]>,
    /// Games that were cut off, so that nobody won or drew. By outcomes they do not count.
    #[serde(default)]
    pub cut_off: u64,
    /// Title of the reference table, if there is one.
    pub reference_title: Option<String>,
    /// Set if the reference table assumes the moves of another ruleset than the games were played with.
    pub warning: Option<String>,
    /// The values.
    #[serde(flatten)]
    pub values: PieceValues,
    /// Names of the pieces, in the order of `pieces`.
    pub names: Vec<PieceName>,
    /// Where the judge's opinion of a piece and the outcomes part; empty where only outcomes count.
    #[serde(default)]
    pub opinions: Vec<Opinion>,
    /// How often and when each kind promotes, over all games.
    #[serde(default)]
    pub promotions: Vec<Promotion>,
}

/// How to show a piece.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PieceName {
    /// English name.
    pub name: String,
    /// One or two Japanese characters.
    pub symbol: String,
    /// Whether it is the promoted side of a piece.
    pub promoted: bool,
}

/// The features of a variant: one for each kind that is not royal, and one for the royal kinds, which is the worth of a
/// second one.
pub(crate) struct Layout {
    pub(crate) features: Vec<Feature>,
    names: Vec<PieceName>,
    /// Feature of each kind.
    pub(crate) groups: Vec<usize>,
    /// (id, the id it moves as) of each feature.
    moves_as: Vec<(String, String)>,
}

impl Layout {
    pub(crate) fn of(variant: &Variant) -> Layout {
        let kinds = variant.kinds();
        let royals = kinds.iter().filter(|kind| kind.royal).count();
        let mut layout = Layout { features: Vec::new(), names: Vec::new(), groups: Vec::new(), moves_as: Vec::new() };
        let mut royal_feature = None;
        for kind in kinds {
            if let Some(feature) = royal_feature.filter(|_| kind.royal) {
                layout.groups.push(feature);
                continue;
            }
            let shared = kind.royal && royals > 1;
            if kind.royal {
                royal_feature = Some(layout.features.len());
            }
            let promotes_to_royal = kind.promotes_to.is_some_and(|promoted| variant.kind(promoted).royal);
            let id = if shared { SECOND_ROYAL.to_owned() } else { kind.id.clone() };
            layout.groups.push(layout.features.len());
            layout.moves_as.push((id.clone(), if shared { id.clone() } else { kind.moves_as.clone() }));
            layout.features.push(Feature { id, compared: !kind.royal && !promotes_to_royal });
            layout.names.push(PieceName {
                name: if shared { "second royal".to_owned() } else { kind.name.clone() },
                symbol: kind.symbol.clone(),
                promoted: kind.is_promoted(),
            });
        }
        layout
    }

    /// The reference by feature; where its values depend on the chance of promoting, the measured one counts.
    pub(crate) fn reference(
        &self,
        variant: &Variant,
        table: &ReferenceTable,
        promotions: &Promotions,
    ) -> ReferenceTable {
        let kinds = self.moves_as.iter().map(|(id, moves_as)| (id.as_str(), moves_as.as_str()));
        table.by_kind(kinds, |id| promotions.share(variant.kind_by_id(id)?.index()))
    }

    fn material(&self, method: Method) -> Material {
        Material::new(method, self.features.clone(), &self.groups)
    }
}

/// Measures by the outcome of games: the regression of [`Method::Outcome`] on the material of positions at rest.
///
/// A row is a position in whose game somebody won or both drew, and in which neither the move that led there nor the
/// move played captured: exchanges under way are no material. Counts and outcome are Black's. Every kind of piece is a
/// feature, promoted and not apart; royal kinds share one, the worth of a second royal. Royals and pieces that promote to
/// one are not compared with the reference, since their worth is more than that of their moves.
///
/// # Errors
/// If a shard cannot be read or is of another game, or if there is nothing to measure.
pub fn by_outcome(
    variant: &Arc<Variant>,
    shards: &[ShardPair],
    reference: Option<&ReferenceTable>,
    config: &ValuesConfig,
    seed: u64,
) -> Result<Measured, MeasureError> {
    let layout = Layout::of(variant);
    let mut material = layout.material(Method::Outcome);
    let mut games = Games::new(variant);
    rest::read(variant, shards, None, false, |rests| {
        games.add(rests);
        for rest in rests.games().flatten() {
            let Some(outcome) = rest.score else { continue };
            let Rest { game, diff, phase, .. } = rest;
            material.push(&MaterialRow { game, diff, constant: 1, outcome, weight: 1.0, phase })?;
        }
        Ok(())
    })?;
    finish(variant, layout, material, None, Vec::new(), &games, reference, config, seed)
}

/// Measures by exchanges: the regression of [`Method::Increment`] of the change in a judge's logit on the change of the
/// material, from the last position at rest before an exchange or promotion to the first one or two after it. Cut-off
/// games count too. The constant allows for whose move it was, who often is who was hit first; it is no worth of a tempo.
///
/// # Errors
/// If a shard cannot be read, judged or is of another game, or if there is nothing to measure.
pub fn by_increment(
    variant: &Arc<Variant>,
    shards: &[ShardPair],
    judge: &dyn Judge,
    reference: Option<&ReferenceTable>,
    config: &ValuesConfig,
    seed: u64,
) -> Result<Measured, MeasureError> {
    let layout = Layout::of(variant);
    let mut material = layout.material(Method::Increment);
    let mut opinions = OpinionRows::new(layout.features.len(), &layout.groups);
    let mut games = Games::new(variant);
    rest::read(variant, shards, Some(judge), false, |rests| {
        games.add(rests);
        for game in rests.games() {
            for exchange in exchanges(&game) {
                let Exchange { game, phase, diff, tempo, change, after, score } = &exchange;
                let row =
                    MaterialRow { game: *game, diff, constant: *tempo, outcome: *change, weight: 1.0, phase: *phase };
                material.push(&row)?;
                if let Some(score) = score {
                    opinions
                        .push(*game, diff, *after, *score)
                        .map_err(|source| ValuesError::Row { game: *game, source })?;
                }
            }
        }
        Ok(())
    })?;
    let ids: Vec<&str> = layout.features.iter().map(|feature| feature.id.as_str()).collect();
    let opinions = opinions.measure(&ids, config);
    finish(variant, layout, material, Some(judge.id()), opinions, &games, reference, config, seed)
}

/// The shards of the newest generations among some, so many of them.
///
/// # Errors
/// If a shard cannot be read.
pub fn newest_generations(shards: Vec<ShardPair>, number: u32) -> Result<Vec<ShardPair>, MeasureError> {
    let of_shards = shards.iter().map(generation).collect::<Result<Vec<u32>, _>>()?;
    let last = of_shards.iter().copied().max().unwrap_or(0);
    Ok(shards.into_iter().zip(of_shards).filter(|(_, of)| last - of < number).map(|(shard, _)| shard).collect())
}

fn generation(shard: &ShardPair) -> Result<u32, MeasureError> {
    Ok(ShardReader::open::<PositionRow>(&shard.positions)?.meta().generation)
}

/// What is said of the games beside the values.
pub(crate) struct Games {
    /// First and last generation.
    pub(crate) generations: Option<[u32; 2]>,
    cut_off: u64,
    pub(crate) promotions: Promotions,
}

impl Games {
    pub(crate) fn new(variant: &Variant) -> Games {
        Games { generations: None, cut_off: 0, promotions: Promotions::new(variant) }
    }

    pub(crate) fn add(&mut self, rests: &Rests) {
        let here = rests.generation;
        self.generations = Some(self.generations.map_or([here; 2], |[first, last]| [first.min(here), last.max(here)]));
        self.cut_off += rests.cut_off();
        self.promotions.merge(&rests.promotions);
    }
}

#[expect(clippy::too_many_arguments, reason = "the parts of a result, each used once")]
fn finish(
    variant: &Variant,
    layout: Layout,
    material: Material,
    judge: Option<&str>,
    opinions: Vec<Opinion>,
    games: &Games,
    reference: Option<&ReferenceTable>,
    config: &ValuesConfig,
    seed: u64,
) -> Result<Measured, MeasureError> {
    let by_kind = reference.map(|table| layout.reference(variant, table, &games.promotions));
    let values = material.measure(config, by_kind.as_ref(), seed)?;
    Ok(Measured {
        variant: variant.name().to_string(),
        ruleset: variant.ruleset().to_string(),
        judge: judge.map(str::to_owned),
        reference_title: reference.map(ReferenceTable::title_by_kind),
        warning: reference.and_then(|table| table.other_moves(variant)),
        generations: games.generations,
        cut_off: games.cut_off,
        promotions: games.promotions.finish(variant, &values.pieces),
        values,
        names: layout.names,
        opinions,
    })
}

//! Piece values from recorded games: which positions count, which kinds are features, what they are compared with.

use std::path::Path;
use std::sync::Arc;

use engine::{Move, Piece, PieceKind, Square, Variant};
use selfplay::data::{DataError, PositionRow, ShardPair, ShardReader};
use serde::{Deserialize, Serialize};

use crate::reference::ReferenceTable;
use crate::values::{Feature, Material, MaterialRow, Method, PieceValues, ValuesConfig, ValuesError};

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
    /// Title of the reference table, if there is one.
    pub reference_title: Option<String>,
    /// Set if the reference table assumes the moves of another ruleset than the games were played with.
    pub warning: Option<String>,
    /// The values.
    #[serde(flatten)]
    pub values: PieceValues,
    /// Names of the pieces, in the order of `pieces`.
    pub names: Vec<PieceName>,
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

/// Measures by the outcome of games: the regression of [`Method::Outcome`] on the material of positions at rest.
///
/// A row is a position in whose game somebody won or both drew, and in which neither the move that led there nor the
/// move played captured: exchanges under way are no material. Counts and outcome are Black's. Every kind of piece that
/// can be on the board is a feature; royals and pieces that promote to one are not compared with the reference, since their
/// worth is more than that of their moves.
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
    let kinds = variant.kinds();
    let features = kinds.iter().map(|kind| {
        let promotes_to_royal = kind.promotes_to.is_some_and(|promoted| variant.kind(promoted).royal);
        Feature { id: kind.id.clone(), compared: !kind.royal && !promotes_to_royal }
    });
    let groups: Vec<usize> = (0..kinds.len()).collect();
    let mut material = Material::new(Method::Outcome, features.collect(), &groups);
    for shard in shards {
        add_shard(variant, &shard.positions, &mut material)?;
    }
    let by_kind =
        reference.map(|table| table.by_kind(kinds.iter().map(|kind| (kind.id.as_str(), kind.moves_as.as_str()))));
    let values = material.measure(config, by_kind.as_ref(), seed)?;
    let other_moves = reference.and_then(|table| table.ruleset.as_deref()).filter(|&moves| moves != variant.ruleset());
    Ok(Measured {
        variant: variant.name().to_string(),
        ruleset: variant.ruleset().to_string(),
        reference_title: reference.map(|table| table.title.clone()),
        warning: other_moves.map(|moves| {
            format!(
                "the reference assumes the moves of ruleset {moves}, the games were played with {}",
                variant.ruleset()
            )
        }),
        values,
        names: kinds
            .iter()
            .map(|kind| PieceName {
                name: kind.name.clone(),
                symbol: kind.symbol.clone(),
                promoted: kind.is_promoted(),
            })
            .collect(),
    })
}

fn add_shard(variant: &Arc<Variant>, path: &Path, material: &mut Material) -> Result<(), MeasureError> {
    let reader = ShardReader::open::<PositionRow>(path)?;
    let meta = reader.meta();
    if meta.fingerprint != variant.fingerprint() {
        let name = |variant: &str, ruleset: &str, print: &str| format!("{variant}, ruleset {ruleset} ({print})");
        return Err(MeasureError::Variant {
            path: path.to_path_buf(),
            expected: name(variant.name(), variant.ruleset(), variant.fingerprint()),
            found: name(&meta.variant, &meta.ruleset, &meta.fingerprint),
        });
    }
    let mut counts = vec![0i16; variant.kinds().len()];
    let mut diff = Vec::new();
    // Whether the move that led to the next row captured, and in which game.
    let mut before = (u64::MAX, false);
    for group in 0..reader.groups() {
        for row in reader.read_group::<PositionRow>(group)? {
            let mv = Move::from_raw(row.moves[row.played as usize]);
            let captures = captures(&row.board, mv);
            let at_rest = !captures && before != (row.game_id, true);
            before = (row.game_id, captures);
            let Some(outcome) = row.outcome.filter(|_| at_rest) else { continue };
            count(&row.board, &mut counts);
            diff.clear();
            diff.extend(counts.iter().enumerate().filter(|(_, n)| **n != 0).map(|(kind, &n)| (kind as u16, n)));
            let for_black = if row.side_to_move == 0 { outcome } else { -outcome };
            material.push(&MaterialRow {
                game: row.game_id,
                diff: &diff,
                outcome: (f32::from(for_black) + 1.0) / 2.0,
                weight: 1.0,
            })?;
        }
    }
    Ok(())
}

/// Whether a legal move captures, told from the board alone.
fn captures(board: &[u8], mv: Move) -> bool {
    let to: Square = mv.to();
    mv.has_way() || (mv.dropped().is_none() && to != mv.from() && board[to.index()] != 0)
}

/// Black's pieces minus White's of each kind.
fn count(board: &[u8], counts: &mut [i16]) {
    counts.fill(0);
    for piece in board.iter().filter_map(|&code| Piece::from_code(code)) {
        let kind: PieceKind = piece.kind;
        counts[kind.index()] += if piece.color == engine::Color::Black { 1 } else { -1 };
    }
}

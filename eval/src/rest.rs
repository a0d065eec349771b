//! Positions at rest: those in which no exchange is under way, reduced to what values are measured from.
//!
//! At rest is a position that no capture led to and from which none was made. Whether a move captured is told from the
//! boards before and after it, so that moves need not be read; the last position of a game has none after it and does not
//! count.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use engine::{Piece, Position, Variant};
use rayon::prelude::*;
use selfplay::data::{PositionColumns, PositionRow, ShardPair, ShardReader};

use crate::judge::{Judge, logit};
use crate::measure::MeasureError;
use crate::phase::Phase;
use crate::promotion::Promotions;

/// Shards read before their rows are used: bounds memory; no influence on the result.
const SHARDS_AT_ONCE: usize = 16;

/// A position at rest. All of it is Black's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest<'a> {
    pub(crate) game: u64,
    pub(crate) ply: u16,
    pub(crate) black_to_move: bool,
    pub(crate) phase: Phase,
    /// Score of the game, 0, 1/2 or 1; `None` if it was cut off.
    pub(crate) score: Option<f32>,
    /// What the judge says; `None` without one.
    pub(crate) logit: Option<f32>,
    /// (kind, Black's minus White's), kinds ascending, zeros left out.
    pub(crate) diff: &'a [(u16, i16)],
    /// [`Piece::code`] of what stands on each square, 0 for nothing; empty if boards were not asked for.
    pub(crate) board: &'a [u8],
}

struct Entry {
    row: Row,
    diff: Range<u32>,
}

/// The positions at rest of a shard, in its order.
pub(crate) struct Rests {
    /// Generation of the shard's games.
    pub(crate) generation: u32,
    entries: Vec<Entry>,
    diffs: Vec<(u16, i16)>,
    /// The boards one after the other.
    boards: Vec<u8>,
    /// Of all positions.
    pub(crate) promotions: Promotions,
}

/// Pieces of each kind, Black's and White's.
type Counts = Vec<[i16; 2]>;

impl Rests {
    fn get(&self, index: usize) -> Rest<'_> {
        let entry = &self.entries[index];
        let squares = self.boards.len() / self.entries.len();
        let board = &self.boards[index * squares..][..squares];
        let Row { game, ply, black_to_move, phase, score, logit, .. } = entry.row;
        let diff = &self.diffs[entry.diff.start as usize..entry.diff.end as usize];
        Rest { game, ply, black_to_move, phase, score, logit, diff, board }
    }

    /// The games of the shard, each with its positions at rest.
    pub(crate) fn games(&self) -> impl Iterator<Item = Vec<Rest<'_>>> {
        let mut first = 0;
        self.entries.chunk_by(|a, b| a.row.game == b.row.game).map(move |game| {
            let rests = (first..first + game.len()).map(|index| self.get(index)).collect();
            first += game.len();
            rests
        })
    }

    /// Games without a result.
    pub(crate) fn cut_off(&self) -> u64 {
        self.games().filter(|game| game.iter().all(|rest| rest.score.is_none())).count() as u64
    }

    fn push(&mut self, row: Row, counts: &[[i16; 2]], board: &[u8]) {
        let start = self.diffs.len() as u32;
        let differences = counts.iter().enumerate().map(|(kind, [black, white])| (kind as u16, black - white));
        self.diffs.extend(differences.filter(|(_, n)| *n != 0));
        self.entries.push(Entry { row, diff: start..self.diffs.len() as u32 });
        self.boards.extend_from_slice(board);
    }
}

/// A row of a shard, told from Black's side. The next one tells whether its move captured.
#[derive(Clone, Copy)]
struct Row {
    game: u64,
    ply: u16,
    black_to_move: bool,
    /// Pieces of both sides.
    pieces: u16,
    phase: Phase,
    score: Option<f32>,
    logit: Option<f32>,
    /// Whether a capture led to it.
    after_capture: bool,
}

/// Reads all shards and hands them to `each` in order, positions with their boards if `boards`. Several are read at the same
/// time.
pub(crate) fn read(
    variant: &Arc<Variant>,
    shards: &[ShardPair],
    judge: Option<&dyn Judge>,
    boards: bool,
    mut each: impl FnMut(&Rests) -> Result<(), MeasureError>,
) -> Result<(), MeasureError> {
    for some in shards.chunks(SHARDS_AT_ONCE) {
        let rests: Vec<Result<Rests, MeasureError>> =
            some.par_iter().map(|shard| read_shard(variant, &shard.positions, judge, boards)).collect();
        for rests in rests {
            each(&rests?)?;
        }
    }
    Ok(())
}

/// A shard of positions, if it is of this game.
pub(crate) fn open(variant: &Variant, path: &Path) -> Result<ShardReader, MeasureError> {
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
    Ok(reader)
}

fn read_shard(
    variant: &Arc<Variant>,
    path: &Path,
    judge: Option<&dyn Judge>,
    boards: bool,
) -> Result<Rests, MeasureError> {
    let reader = open(variant, path)?;
    let kinds = variant.kinds().len();
    let at_start = Position::start(variant).codes().iter().filter(|&&code| code != 0).count();
    let promotions = Promotions::new(variant);
    let generation = reader.meta().generation;
    let mut rests = Rests { generation, entries: Vec::new(), diffs: Vec::new(), boards: Vec::new(), promotions };
    let bases: Vec<(usize, usize)> =
        variant.kinds().iter().enumerate().filter_map(|(i, k)| Some((i, k.base?.index()))).collect();
    let (mut counts, mut waiting_counts): (Counts, Counts) = (vec![[0; 2]; kinds], vec![[0; 2]; kinds]);
    let mut waiting: Option<Row> = None;
    let mut waiting_board = Vec::new();
    let mut wdl = Vec::new();
    for group in 0..reader.groups() {
        let columns = reader.read_position_columns(group)?;
        wdl.clear();
        if let Some(judge) = judge {
            let refused = |what| MeasureError::Judge { path: path.to_path_buf(), judge: judge.id().to_owned(), what };
            judge.judge(&columns, &mut wdl).map_err(refused)?;
            if wdl.len() != columns.len() {
                return Err(refused(format!("{} judgements of {} positions", wdl.len(), columns.len())));
            }
        }
        for i in 0..columns.len() {
            let pieces = count(columns.board(i), &mut counts);
            let phase = Phase::of(pieces.into(), at_start);
            let mut row = at(&columns, i, pieces, phase, wdl.get(i).copied());
            if let Some(before) = waiting.filter(|before| before.game == row.game) {
                row.after_capture = row.pieces < before.pieces;
                if !before.after_capture && !row.after_capture {
                    rests.push(before, &waiting_counts, &waiting_board);
                }
                // Only a promotion gives the mover another promoted piece.
                let mover = usize::from(!before.black_to_move);
                for &(_, base) in bases.iter().filter(|(kind, _)| counts[*kind][mover] > waiting_counts[*kind][mover]) {
                    rests.promotions.add(base, before.ply);
                }
            } else {
                rests.promotions.begin(&counts);
            }
            waiting = Some(row);
            std::mem::swap(&mut counts, &mut waiting_counts);
            waiting_board.clear();
            if boards {
                waiting_board.extend_from_slice(columns.board(i));
            }
        }
    }
    rests.promotions.end();
    Ok(rests)
}

fn at(columns: &PositionColumns, i: usize, pieces: u16, phase: Phase, wdl: Option<[f32; 3]>) -> Row {
    let black_to_move = columns.side_to_move[i] == 0;
    let sign = if black_to_move { 1.0 } else { -1.0 };
    Row {
        game: columns.game_id[i],
        ply: columns.ply[i],
        black_to_move,
        pieces,
        phase,
        score: columns.outcome[i].map(|outcome| (1.0 + sign * f32::from(outcome)) / 2.0),
        logit: wdl.and_then(logit).map(|logit| sign * logit as f32),
        after_capture: false,
    }
}

/// Counts the pieces of each kind; gives the number of all.
fn count(board: &[u8], counts: &mut [[i16; 2]]) -> u16 {
    counts.fill([0; 2]);
    let mut pieces = 0;
    for piece in board.iter().filter_map(|&code| Piece::from_code(code)) {
        counts[piece.kind.index()][piece.color.index()] += 1;
        pieces += 1;
    }
    pieces
}

//! The positions to learn from: a window over the newest of a run's shards, kept compactly in memory.
//!
//! A position stays as it is stored (bytes of the board, packed moves) and is encoded when a batch is made. Moves and
//! policy are kept only where the policy is a target, after a full search. For chu shogi that is about 200 bytes a
//! position, and 800 more with a policy over 100 moves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::Variant;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::data::{PositionRow, ShardReader};
use selfplay::derive_seed;

use crate::batch::Chunk;
use crate::config::TrainConfig;
use crate::encoding::{Encoder, StoredPosition};
use crate::error::DatasetError;
use crate::rng::{below, shuffle};
use crate::threads::on_threads;

/// The rows of one shard.
#[derive(Debug, Default)]
struct Rows {
    path: PathBuf,
    generation: u32,
    boards: Vec<u8>,
    sides: Vec<u8>,
    states: Vec<[u8; 8]>,
    moves: Vec<u32>,
    policy: Vec<f32>,
    /// Where each row's moves and policy end.
    ends: Vec<u32>,
    search_wdl: Vec<[f32; 3]>,
    outcomes: Vec<Option<i8>>,
    plies_left: Vec<u16>,
    /// A bit a square, `survival_bytes` a row.
    survives: Vec<u8>,
    games: Vec<u64>,
}

/// A position of a [`Dataset`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowId {
    shard: u32,
    row: u32,
}

/// A position as a batch shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Which one.
    pub row: RowId,
    /// Whether it is reflected left to right, if the position has a mirror image.
    pub reflected: bool,
}

/// Positions by how their games ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endings {
    /// Somebody won.
    pub decided: usize,
    /// Nobody did.
    pub drawn: usize,
    /// The game was cut off: no outcome to learn from.
    pub cut_off: usize,
}

/// A window over the positions of a run.
#[derive(Debug)]
pub struct Dataset {
    variant: Arc<Variant>,
    encoder: Encoder,
    config: TrainConfig,
    shards: Vec<Arc<Rows>>,
    training: Vec<RowId>,
    validation: Vec<RowId>,
}

impl Dataset {
    /// An empty window; see [`Dataset::update`].
    pub fn new(variant: &Arc<Variant>, config: &TrainConfig) -> Dataset {
        Dataset {
            variant: variant.clone(),
            encoder: Encoder::new(variant),
            config: config.clone(),
            shards: Vec::new(),
            training: Vec::new(),
            validation: Vec::new(),
        }
    }

    /// Moves the window to the newest shards of the generations up to `newest` (all, if `None`) under `positions`, the folder
    /// of a run with one folder `gen-NNNNNN` a generation; [`TrainConfig::window`] says how many. Shards that are in
    /// memory already are not read again.
    ///
    /// # Errors
    /// If a shard cannot be read, is of another variant or holds a position that does not fit it, or if there is nothing
    /// to train on. The window is as before then.
    pub fn update(&mut self, positions: &Path, newest: Option<u32>) -> Result<(), DatasetError> {
        let mut generations = generations(positions)?;
        generations.retain(|&(generation, _)| newest.is_none_or(|newest| generation <= newest));
        let newest = generations.last().map_or(newest.unwrap_or(0), |&(generation, _)| generation);
        let oldest = generations.first().map_or(newest, |&(generation, _)| generation);

        let mut all = Vec::new();
        for (generation, folder) in &generations {
            for path in shards(folder)? {
                let rows = match self.shards.iter().find(|rows| rows.path == path) {
                    Some(rows) => rows.len(),
                    None => ShardReader::open::<PositionRow>(&path)?.rows() as usize,
                };
                all.push((*generation, path, rows));
            }
        }
        let most = self.config.window(all.iter().map(|(_, _, rows)| rows).sum());
        let mut window: Vec<Arc<Rows>> = Vec::new();
        let mut count = 0;
        for (generation, path, rows) in all.into_iter().rev() {
            count += rows;
            if count > most && !window.is_empty() {
                break;
            }
            window.push(match self.shards.iter().find(|rows| rows.path == path) {
                Some(rows) => rows.clone(),
                None => Arc::new(self.read(&path, generation)?),
            });
        }
        window.reverse();
        let share = self.config.validation_share;
        let held_out = |game: u64| (derive_seed(&[HELD_OUT, game]) as f64) / 2f64.powi(64) < share;
        if !window.iter().any(|rows| rows.games.iter().any(|&game| !held_out(game))) {
            return Err(DatasetError::Empty { path: positions.to_path_buf(), oldest, newest });
        }

        self.shards = window;
        self.training.clear();
        self.validation.clear();
        for (shard, rows) in self.shards.iter().enumerate() {
            for (row, &game) in rows.games.iter().enumerate() {
                let list = if held_out(game) { &mut self.validation } else { &mut self.training };
                list.push(RowId { shard: shard as u32, row: row as u32 });
            }
        }
        // Evenly over the window.
        let most = self.config.validation_positions;
        if self.validation.len() > most {
            let all = std::mem::take(&mut self.validation);
            let spread = (0..most).map(|i| all[i * all.len() / most]);
            self.validation.extend(spread);
        }
        Ok(())
    }

    /// Positions to train on.
    pub fn training(&self) -> &[RowId] {
        &self.training
    }

    /// How many of them are of this generation or a later one: new to a network of that number.
    pub fn new_to(&self, generation: u32) -> usize {
        let is_new = |row: &&RowId| self.shards[row.shard as usize].generation >= generation;
        self.training.iter().filter(is_new).count()
    }

    /// How the games of the positions to train on ended.
    pub fn endings(&self) -> Endings {
        let mut endings = Endings::default();
        for id in &self.training {
            match self.shards[id.shard as usize].outcomes[id.row as usize] {
                Some(0) => endings.drawn += 1,
                Some(_) => endings.decided += 1,
                None => endings.cut_off += 1,
            }
        }
        endings
    }

    /// Positions of the games that are held out.
    pub fn validation(&self) -> &[RowId] {
        &self.validation
    }

    /// The encoder of the positions.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|rows| rows.bytes()).sum::<usize>()
            + (self.training.len() + self.validation.len()) * size_of::<RowId>()
    }

    /// Encodes positions with their targets into chunks of up to `chunk` positions. `chunks` is reused.
    pub fn fill(&self, samples: &[Sample], chunk: usize, threads: usize, chunks: &mut Vec<Chunk>) {
        chunks.resize_with(samples.len().div_ceil(chunk), Chunk::default);
        let mut work: Vec<_> = samples.chunks(chunk).zip(chunks.iter_mut()).collect();
        on_threads(threads, &mut work, |(samples, chunk)| {
            chunk.clear();
            for sample in *samples {
                self.shards[sample.row.shard as usize].push(
                    *sample,
                    self.config.search_share as f32,
                    &self.encoder,
                    chunk,
                );
            }
        });
    }

    fn read(&self, path: &Path, generation: u32) -> Result<Rows, DatasetError> {
        let reader = ShardReader::open::<PositionRow>(path)?;
        let (expected, found) = (self.variant.fingerprint(), &reader.meta().fingerprint);
        if expected != found {
            return Err(DatasetError::Variant {
                path: path.to_path_buf(),
                expected: expected.to_string(),
                found: found.clone(),
            });
        }
        let mut rows = Rows { path: path.to_path_buf(), generation, ..Rows::default() };
        for group in 0..reader.groups() {
            for row in reader.read_group::<PositionRow>(group)? {
                rows.append(&row, &self.encoder)?;
            }
        }
        rows.shrink();
        Ok(rows)
    }
}

/// Keeps the choice of held-out games apart from other uses of their numbers.
const HELD_OUT: u64 = 0x7661_6c69_6461_7465;

impl Rows {
    fn len(&self) -> usize {
        self.games.len()
    }

    fn bytes(&self) -> usize {
        let lists = self.ends.capacity() * 4 + self.moves.capacity() * 4 + self.policy.capacity() * 4;
        lists
            + self.boards.capacity()
            + self.sides.capacity()
            + self.states.capacity() * 8
            + self.search_wdl.capacity() * 12
            + self.outcomes.capacity() * size_of::<Option<i8>>()
            + self.plies_left.capacity() * 2
            + self.survives.capacity()
            + self.games.capacity() * 8
    }

    fn append(&mut self, row: &PositionRow, encoder: &Encoder) -> Result<(), DatasetError> {
        let index = self.len();
        let target = |what, expected| Err(DatasetError::Target { path: self.path.clone(), row: index, what, expected });
        if let Err(source) = encoder.check(StoredPosition::from(row)) {
            return Err(DatasetError::Row { path: self.path.clone(), row: index, source });
        }
        let sum =
            |numbers: &[f32]| numbers.iter().all(|&x| x >= 0.0).then(|| numbers.iter().map(|&x| x as f64).sum::<f64>());
        let near_one = |sum: Option<f64>| sum.filter(|sum| (sum - 1.0).abs() < 1e-3);
        let Some(wdl) = near_one(sum(&row.search_wdl)) else {
            return target("search_wdl", "three probabilities that sum to 1");
        };
        if row.survives.len() != row.board.len() {
            return target("survives", "a byte for each square");
        }
        if row.full_search {
            let Some(total) = near_one(sum(&row.policy)).filter(|_| row.policy.len() == row.moves.len()) else {
                return target("policy", "a probability for each move, which sum to 1");
            };
            self.moves.extend_from_slice(&row.moves);
            self.policy.extend(row.policy.iter().map(|&p| (p as f64 / total) as f32));
        }
        self.ends.push(self.moves.len() as u32);
        self.boards.extend_from_slice(&row.board);
        self.sides.push(row.side_to_move);
        self.states.push(row.state);
        self.search_wdl.push(row.search_wdl.map(|p| (p as f64 / wdl) as f32));
        self.outcomes.push(row.outcome);
        self.plies_left.push(row.plies_left);
        let bits = |squares: &[u8]| squares.iter().rev().fold(0, |bits, &there| bits << 1 | (there != 0) as u8);
        self.survives.extend(row.survives.chunks(8).map(bits));
        self.games.push(row.game_id);
        Ok(())
    }

    fn shrink(&mut self) {
        self.boards.shrink_to_fit();
        self.sides.shrink_to_fit();
        self.states.shrink_to_fit();
        self.moves.shrink_to_fit();
        self.policy.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.search_wdl.shrink_to_fit();
        self.outcomes.shrink_to_fit();
        self.plies_left.shrink_to_fit();
        self.survives.shrink_to_fit();
        self.games.shrink_to_fit();
    }

    fn push(&self, sample: Sample, search_share: f32, encoder: &Encoder, chunk: &mut Chunk) {
        let row = sample.row.row as usize;
        let start = if row == 0 { 0 } else { self.ends[row - 1] as usize };
        let list = start..self.ends[row] as usize;
        let squares = encoder.features().squares;
        let stored = StoredPosition {
            board: &self.boards[row * squares..(row + 1) * squares],
            side_to_move: self.sides[row],
            state: self.states[row],
            moves: &self.moves[list.clone()],
        };
        let reflected = sample.reflected && encoder.can_reflect(stored.board);
        encoder.push_stored(stored, reflected, &mut chunk.encoded).expect("checked when it was read");
        chunk.policy.extend_from_slice(&self.policy[list]);
        chunk.plies_left.push(self.outcomes[row].map(|_| self.plies_left[row]));
        let survives = &self.survives[row * squares.div_ceil(8)..];
        let pieces = stored.board.iter().enumerate().filter(|(_, code)| **code != 0);
        chunk.survives.extend(pieces.map(|(square, _)| survives[square / 8] >> (square % 8) & 1 == 1));
        chunk.wdl.push(value_target(self.outcomes[row], self.search_wdl[row], search_share));
    }
}

/// Target of the value: the outcome mixed with what the search said.
fn value_target(outcome: Option<i8>, search: [f32; 3], search_share: f32) -> [f32; 3] {
    let Some(outcome) = outcome else { return search };
    let mut target = search.map(|p| p * search_share);
    target[match outcome {
        1.. => 0,
        0 => 1,
        _ => 2,
    }] += 1.0 - search_share;
    target
}

/// An endless, shuffled stream of rows: every row once, then all again in another order.
pub struct Sampler<'a> {
    rows: &'a [RowId],
    reflect: bool,
    order: Vec<u32>,
    next: usize,
    rng: Xoshiro256PlusPlus,
}

impl<'a> Sampler<'a> {
    /// A stream over `rows`, which must not be empty; a function of the seed. With `reflect` about half of the samples
    /// are reflected.
    pub fn new(rows: &'a [RowId], reflect: bool, seed: u64) -> Sampler<'a> {
        assert!(!rows.is_empty(), "there are rows to draw from");
        let order = (0..rows.len() as u32).collect();
        Sampler { rows, reflect, order, next: rows.len(), rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Puts the next `count` samples into `out`, which is emptied first.
    pub fn draw(&mut self, count: usize, out: &mut Vec<Sample>) {
        out.clear();
        while out.len() < count {
            if self.next == self.order.len() {
                shuffle(&mut self.rng, &mut self.order);
                self.next = 0;
            }
            let take = (count - out.len()).min(self.order.len() - self.next);
            for &i in &self.order[self.next..self.next + take] {
                let reflected = self.reflect && below(&mut self.rng, 2) == 1;
                out.push(Sample { row: self.rows[i as usize], reflected });
            }
            self.next += take;
        }
    }
}

/// Folders `gen-NNNNNN` with their numbers, oldest first.
fn generations(positions: &Path) -> Result<Vec<(u32, PathBuf)>, DatasetError> {
    let mut found = Vec::new();
    for path in list(positions)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(number) = name.strip_prefix("gen-").and_then(|number| number.parse().ok()) {
            found.push((number, path));
        }
    }
    found.sort();
    Ok(found)
}

/// The shards in a folder, by name.
fn shards(folder: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let mut found = list(folder)?;
    found.retain(|path| path.extension().is_some_and(|extension| extension == "parquet"));
    found.sort();
    Ok(found)
}

fn list(folder: &Path) -> Result<Vec<PathBuf>, DatasetError> {
    let error = |source| DatasetError::Io { path: folder.to_path_buf(), source };
    fs::read_dir(folder).map_err(error)?.map(|entry| entry.map(|entry| entry.path()).map_err(error)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{positions, row, write_shard};

    #[test]
    fn the_window_moves() {
        let folder = tempfile::tempdir().expect("a folder");
        let sho = Variant::load("sho", None).expect("built in");
        let rows: Vec<PositionRow> =
            positions("sho", 1, 40).iter().enumerate().map(|(i, (game, moves))| row(game, moves, i as u64)).collect();
        let write = |name: &str, rows: &[PositionRow]| write_shard(&folder.path().join(name), &sho, rows);
        write("gen-000000/a.parquet", &rows[..10]);
        write("gen-000001/a.parquet", &rows[10..20]);
        write("gen-000001/b.parquet", &rows[20..30]);
        let config = TrainConfig { validation_share: 0.0, ..TrainConfig::default() };
        let mut data = Dataset::new(&sho, &config);
        let games = |data: &Dataset| -> Vec<u64> {
            data.training().iter().map(|id| data.shards[id.shard as usize].games[id.row as usize]).collect()
        };
        data.update(folder.path(), None).expect("sound");
        assert_eq!(games(&data), (0..30).collect::<Vec<_>>());
        write("gen-000002/a.parquet", &rows[30..]);
        data.update(folder.path(), Some(1)).expect("sound");
        assert_eq!(games(&data), (0..30).collect::<Vec<_>>());
        data.update(folder.path(), None).expect("sound");
        assert_eq!(games(&data), (0..40).collect::<Vec<_>>());
        assert_eq!([0, 1, 2, 3].map(|generation| data.new_to(generation)), [40, 30, 10, 0]);
        // As `testing::row` deals them out: three in five decided, one drawn, one cut off.
        assert_eq!(data.endings(), Endings { decided: 24, drawn: 8, cut_off: 8 });
        (data.config.window_positions, data.config.window_slope) = (25, 0.0);
        data.update(folder.path(), None).expect("sound");
        assert_eq!(games(&data), (20..40).collect::<Vec<_>>(), "whole shards, the newest first");

        // Encoded at batch time as the rows say, with and without moves.
        let mut chunks = Vec::new();
        let samples: Vec<_> = data.training()[..3].iter().map(|&row| Sample { row, reflected: false }).collect();
        data.fill(&samples, 2, 2, &mut chunks);
        assert_eq!(chunks.iter().map(|chunk| chunk.encoded.len()).collect::<Vec<_>>(), [2, 1]);
        for (i, row) in rows[20..23].iter().enumerate() {
            let chunk = &chunks[i / 2];
            let mut encoded = crate::encoded::Encoded::default();
            let moves: &[u32] = if row.full_search { &row.moves } else { &[] };
            let stored = StoredPosition { moves, ..row.into() };
            data.encoder().push_stored(stored, false, &mut encoded).expect("sound");
            let found = chunk.encoded.position(i % 2);
            assert_eq!(found.rows, encoded.position(0).rows);
            assert!(found.moves.iter().eq(encoded.position(0).moves.iter()));
        }
    }

    #[test]
    fn whole_games_are_held_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let sho = Variant::load("sho", None).expect("built in");
        let mut rows = Vec::new();
        for (i, (game, moves)) in positions("sho", 2, 400).iter().enumerate() {
            rows.push(PositionRow { game_id: i as u64 / 4, ..row(game, moves, i as u64) });
        }
        write_shard(&folder.path().join("gen-000007/a.parquet"), &sho, &rows);
        let config = TrainConfig { validation_share: 0.3, ..TrainConfig::default() };
        let mut data = Dataset::new(&sho, &config);
        data.update(folder.path(), None).expect("sound");
        let games = |ids: &[RowId]| -> std::collections::BTreeSet<u64> {
            ids.iter().map(|id| data.shards[id.shard as usize].games[id.row as usize]).collect()
        };
        let (training, validation) = (games(data.training()), games(data.validation()));
        assert!(training.is_disjoint(&validation));
        // 100 games, each held out with probability 0.3: within four standard deviations (4.6 each).
        assert!((12..=48).contains(&validation.len()), "{}", validation.len());
        assert_eq!(data.training().len() + data.validation().len(), 400);
    }

    #[test]
    fn bad_data_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let sho = Variant::load("sho", None).expect("built in");
        let (game, moves) = positions("sho", 1, 1).remove(0);
        let sound = row(&game, &moves, 0);
        let check = |rows: &[PositionRow], of: &str, expected: &str| {
            let path = folder.path().join("gen-000000/a.parquet");
            write_shard(&path, &sho, rows);
            let mut data = Dataset::new(&Variant::load(of, None).expect("built in"), &TrainConfig::default());
            let message = data.update(folder.path(), None).expect_err("bad").to_string();
            assert!(message.contains(expected), "{message}");
            assert!(data.training().is_empty());
        };
        check(std::slice::from_ref(&sound), "chu", "a.parquet: fingerprint of the variant");
        check(&[], "sho", "no position to train on");
        let mut bad = sound.clone();
        bad.board[0] = 255;
        check(&[sound.clone(), bad], "sho", "a.parquet, row 1: piece code");
        let mut bad = sound.clone();
        bad.policy.iter_mut().for_each(|p| *p *= 2.0);
        check(&[bad], "sho", "policy");
        let mut data = Dataset::new(&sho, &TrainConfig::default());
        assert!(matches!(data.update(Path::new("nowhere"), None), Err(DatasetError::Io { .. })));
    }

    #[test]
    fn value_targets() {
        let search = [0.5, 0.3, 0.2];
        let check = |outcome, share, expected: [f32; 3]| {
            let found = value_target(outcome, search, share);
            for i in 0..3 {
                assert!((found[i] - expected[i]).abs() < 1e-6, "{outcome:?} {share}: {found:?}");
            }
        };
        // (1 - share) · outcome + share · search, by hand.
        check(Some(1), 0.0, [1.0, 0.0, 0.0]);
        check(Some(0), 0.5, [0.25, 0.65, 0.1]);
        check(Some(-1), 0.3, [0.15, 0.09, 0.76]);
        check(None, 0.0, search);
    }

    #[test]
    fn sampler_draws_every_row_once_a_round() {
        let rows: Vec<_> = (0..100).map(|row| RowId { shard: 0, row }).collect();
        let draw = |seed| {
            let mut sampler = Sampler::new(&rows, true, seed);
            let mut out = Vec::new();
            let mut all = Vec::new();
            for _ in 0..10 {
                sampler.draw(30, &mut out);
                all.extend(out.iter().map(|sample| (sample.row.row, sample.reflected)));
            }
            all
        };
        let drawn = draw(1);
        for round in drawn.chunks(100) {
            let mut sorted: Vec<_> = round.iter().map(|(row, _)| *row).collect();
            sorted.sort();
            assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        }
        assert_ne!(drawn[..100], drawn[100..200], "another order each round");
        let reflected = drawn.iter().filter(|(_, reflected)| *reflected).count();
        // Half of 300, within four standard deviations (8.7 each).
        assert!((115..=185).contains(&reflected), "{reflected}");
        assert_eq!(drawn, draw(1));
        assert_ne!(drawn, draw(2));
    }
}

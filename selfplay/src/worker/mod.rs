//! Self-play: the games of a generation, played by many threads and kept in shards.
//!
//! Every game is a function of the run's seed, the generation and its number, and the shards of those numbers: the same run
//! gives the same files, byte for byte, for any number of threads and however often it was stopped and resumed.

mod config;
mod game;
mod store;
mod watch;

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

use engine::Variant;
use serde::Serialize;
use thiserror::Error;

use crate::config::ConfigError;
use crate::data::{DataError, ShardMeta};
use crate::evaluator::Evaluator;
use crate::lockstep::{self, Tables, Work};
use crate::openings::OpeningsError;
use crate::search::SearchConfig;

pub use config::SelfplayConfig;
pub use game::{GameRecord, RESIGNATION};
pub(crate) use store::games_of_shard;
pub use store::generation_folder;
pub use watch::{LiveGame, live_file};

use game::{SelfplayGame, Table};
use store::Store;
use watch::Watch;

/// What to play: all that games depend on, and where.
pub struct Generation<'a> {
    /// The game.
    pub variant: &'a Arc<Variant>,
    /// Judges positions for both sides.
    pub evaluator: &'a dyn Evaluator,
    /// Settings of self-play.
    pub config: &'a SelfplayConfig,
    /// Settings of a full search.
    pub search: &'a SearchConfig,
    /// Seed of the run.
    pub run_seed: u64,
    /// Number of the generation.
    pub number: u32,
    /// Numbers of the games: `0..config.games`, or one worker's share of them.
    pub games: Range<u64>,
    /// Threads to play on.
    pub threads: usize,
}

/// How far a generation is, and what it was like: of the games played now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Progress {
    /// Finished games, with those that were there before.
    pub games: u64,
    /// Games wanted.
    pub games_wanted: u64,
    /// Finished games that were there before.
    pub games_found: u64,
    /// Positions.
    pub positions: u64,
    /// Simulations.
    pub simulations: u64,
    /// Positions that the evaluator judged, in how many calls.
    pub evaluations: u64,
    /// See `evaluations`.
    pub batches: u64,
    /// Positions whose judgement was known already.
    pub cached: u64,
    /// Share of the threads' time that was spent in the evaluator, from 0 to 1.
    pub evaluator_share: f64,
    /// Games by the reason of their end.
    pub endings: BTreeMap<String, u64>,
    /// Games with the same opening and moves as one before them.
    pub duplicates: u64,
    /// Games in which a side would have resigned but had to play on, and in how many of them it did not lose.
    pub resign_audits: u64,
    /// See `resign_audits`.
    pub resign_audits_saved: u64,
}

impl Progress {
    /// Whether all games are finished.
    pub fn is_complete(&self) -> bool {
        self.games == self.games_wanted
    }

    fn add(&mut self, record: &GameRecord, seen: &mut HashSet<u64>) {
        self.games += 1;
        self.positions += record.positions.len() as u64;
        self.simulations += record.simulations;
        *self.endings.entry(record.game.reason.clone()).or_default() += 1;
        let mut hasher = DefaultHasher::new();
        (&record.game.opening_sfen, &record.game.moves).hash(&mut hasher);
        self.duplicates += u64::from(!seen.insert(hasher.finish()));
        if let Some(saved) = record.saved {
            self.resign_audits += 1;
            self.resign_audits_saved += u64::from(saved);
        }
    }

    /// Takes over what the threads have done in so many seconds of theirs together.
    fn measure(&mut self, work: &Work, thread_seconds: f64) {
        self.evaluations = work.evaluations.load(Ordering::Relaxed);
        self.batches = work.batches.load(Ordering::Relaxed);
        self.cached = work.cached.load(Ordering::Relaxed);
        let nanos = work.evaluator_nanos.load(Ordering::Relaxed);
        self.evaluator_share = nanos as f64 / 1e9 / thread_seconds.max(1e-9);
    }
}

/// A generation could not be played.
#[derive(Debug, Error)]
pub enum GenerateError {
    /// A setting out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The openings cannot be had.
    #[error(transparent)]
    Openings(#[from] OpeningsError),
    /// A shard could not be written or does not belong here.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// Plays what is missing of a generation and writes it as shards into the folder of a run; see [`Progress`] for what
/// comes back and what `progress` is told after each game.
///
/// Once `stop` is set, unfinished games are dropped and finished ones kept; the same call resumes.
///
/// # Errors
/// If a setting is out of range, if shards that are there come from other settings, or if the file system refuses.
pub fn generate(
    generation: &Generation<'_>,
    run: &Path,
    progress: &mut dyn FnMut(&Progress),
    stop: &AtomicBool,
) -> Result<Progress, GenerateError> {
    let Generation { variant, evaluator, config, search, .. } = *generation;
    config.validate()?;
    search.validate()?;
    let openings = config.openings(variant)?;
    let settings = config.settings(search, &openings);
    let meta = ShardMeta::new(variant, evaluator.id(), generation.run_seed, generation.number, settings.clone());
    let mut store = Store::open(run, meta, generation.games.clone(), config.games_per_shard)?;
    let missing = store.missing();
    let games_wanted = generation.games.end.saturating_sub(generation.games.start);
    let games_found = games_wanted - missing.len() as u64;
    let mut state = Progress { games: games_found, games_wanted, games_found, ..Progress::default() };
    progress(&state);
    if missing.is_empty() {
        return Ok(state);
    }

    let table = Table {
        variant,
        openings: &openings,
        watch: &Watch::new(run, generation.number, evaluator.id()),
        config,
        full: search.clone(),
        cheap: SearchConfig { simulations: config.cheap_simulations, noise: 0.0, ..search.clone() },
        settings,
        network: evaluator.id(),
        run_seed: generation.run_seed,
        generation: generation.number,
    };
    let threads = generation.threads.clamp(1, missing.len());
    let seats = config.games_per_thread.min(missing.len().div_ceil(threads));
    let failed = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    let mut written = Ok(());
    let work = Work::default();
    let started = Instant::now();
    let mut seen = HashSet::new();
    std::thread::scope(|scope| {
        let hall = Hall { table: &table, missing: &missing, started: AtomicUsize::new(0), finished: sender };
        let (failed, work) = (&failed, &work);
        scope.spawn(move || {
            let halt = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            let cache_bytes = if evaluator.is_costly() { config.cache_mb << 20 } else { 0 };
            let tables = Tables { threads, seats, cache_bytes, evaluators: &[evaluator], work };
            lockstep::run(&tables, &halt, &|game| hall.finish(game), &|old| hall.next(old));
        });
        for (number, record) in receiver {
            state.add(&record, &mut seen);
            state.measure(work, threads as f64 * started.elapsed().as_secs_f64());
            written = store.add(number, record);
            if written.is_err() {
                failed.store(true, Ordering::Relaxed);
                break;
            }
            progress(&state);
        }
    });
    written?;
    Ok(state)
}

/// Hands out games to play and takes finished ones.
struct Hall<'a> {
    table: &'a Table<'a>,
    missing: &'a [u64],
    started: AtomicUsize,
    finished: mpsc::Sender<(u64, GameRecord)>,
}

impl<'a> Hall<'a> {
    fn finish(&self, game: &mut SelfplayGame<'a>) {
        // Nobody receives any more only if writing failed, and then the game is lost anyway.
        let _ = self.finished.send((game.number(), game.record()));
    }

    fn next(&self, recycled: Option<SelfplayGame<'a>>) -> Option<SelfplayGame<'a>> {
        let number = *self.missing.get(self.started.fetch_add(1, Ordering::Relaxed))?;
        Some(SelfplayGame::new(self.table, number, recycled))
    }
}

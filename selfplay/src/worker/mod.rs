//! Self-play: the games of a generation, played by many threads and kept in shards.
//!
//! Every game is a function of the run's seed, the generation and its number, and the shards of those numbers: the same run
//! gives the same files, byte for byte, for any number of threads and however often it was stopped and resumed.

mod config;
mod game;
mod store;

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use engine::Variant;
use thiserror::Error;

use crate::config::ConfigError;
use crate::data::{DataError, ShardMeta};
use crate::evaluator::Evaluator;
use crate::lockstep;
use crate::search::SearchConfig;

pub use config::SelfplayConfig;
pub use game::{GameRecord, RESIGNATION, random_opening};
pub(crate) use store::games_of_shard;
pub use store::generation_folder;

use game::{SelfplayGame, Table};
use store::Store;

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

/// How far a generation is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Finished games, with those that were there before.
    pub games: u64,
    /// Games wanted.
    pub games_wanted: u64,
    /// Finished games that were there before.
    pub games_found: u64,
    /// Positions of the games played now.
    pub positions: u64,
    /// Simulations of the games played now.
    pub simulations: u64,
}

impl Progress {
    /// Whether all games are finished.
    pub fn is_complete(&self) -> bool {
        self.games == self.games_wanted
    }
}

/// A generation could not be played.
#[derive(Debug, Error)]
pub enum GenerateError {
    /// A setting out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
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
    let settings = config.settings(search);
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
    std::thread::scope(|scope| {
        let hall = Hall { table: &table, missing: &missing, started: AtomicUsize::new(0), finished: sender };
        let failed = &failed;
        scope.spawn(move || {
            let halt = || stop.load(Ordering::Relaxed) || failed.load(Ordering::Relaxed);
            lockstep::run(threads, seats, &[evaluator], &halt, &|finished| hall.next(finished));
        });
        for (number, record) in receiver {
            state.games += 1;
            state.positions += record.positions.len() as u64;
            state.simulations += record.simulations;
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
    fn next(&self, finished: Option<SelfplayGame<'a>>) -> Option<SelfplayGame<'a>> {
        let recycled = finished.map(|mut game| {
            // Nobody receives any more only if writing failed, and then the game is lost anyway.
            let _ = self.finished.send((game.number(), game.record()));
            game
        });
        let number = *self.missing.get(self.started.fetch_add(1, Ordering::Relaxed))?;
        Some(SelfplayGame::new(self.table, number, recycled))
    }
}

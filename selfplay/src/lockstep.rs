//! Many games at once: each thread steps a table of games together and judges all their waiting positions in one batch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::cache::Cache;
use crate::evaluator::{Evaluation, Evaluator, Query};

/// A game that alternates between its own work and waiting for a judgement.
pub(crate) trait Session: Send {
    /// Works until a position needs a judgement, and returns the number of the evaluator it wants; `None` when the game is over.
    fn advance(&mut self) -> Option<usize>;
    /// The position that waits.
    fn leaf(&self) -> Query<'_>;
    /// Takes the judgement.
    fn backup(&mut self, evaluation: &Evaluation);
}

/// How the tables are set.
pub(crate) struct Tables<'a> {
    pub(crate) threads: usize,
    /// The most games at once on each thread. A thread begins with few and takes more while that makes it faster.
    pub(crate) seats: usize,
    /// Memory for judgements, of all threads together.
    pub(crate) cache_bytes: usize,
    pub(crate) evaluators: &'a [&'a dyn Evaluator],
    pub(crate) work: &'a Work,
}

/// What has been done, by all threads together.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Positions judged by evaluators, in how many calls, and how long these took.
    pub(crate) evaluations: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) evaluator_nanos: AtomicU64,
    /// Positions whose judgement was in the cache.
    pub(crate) cached: AtomicU64,
}

/// Plays sessions on several threads, many at a time on each.
///
/// `finish` takes the result of a finished session; `next` returns a session for a free seat, made in the memory of an old
/// one if there is one, or `None` if there are no more: a slow game holds up no other. Once `stop` says so, what is
/// unfinished is dropped.
pub(crate) fn run<S: Session>(
    tables: &Tables<'_>,
    stop: &(dyn Fn() -> bool + Sync),
    finish: &(dyn Fn(&mut S) + Sync),
    next: &(dyn Fn(Option<S>) -> Option<S> + Sync),
) {
    std::thread::scope(|scope| {
        for _ in 1..tables.threads {
            scope.spawn(|| run_table(tables, stop, finish, next));
        }
        run_table(tables, stop, finish, next);
    });
}

fn run_table<S: Session>(
    tables: &Tables<'_>,
    stop: &(dyn Fn() -> bool + Sync),
    finish: &(dyn Fn(&mut S) + Sync),
    next: &(dyn Fn(Option<S>) -> Option<S> + Sync),
) {
    let mut table: Vec<S> = Vec::new();
    // The evaluator each session waits for, and the key of the position it is to judge.
    let mut wanted: Vec<(usize, u64)> = Vec::new();
    let mut answers: Vec<Evaluation> = Vec::new();
    answers.resize_with(tables.seats, Evaluation::default);
    let mut known = Evaluation::default();
    let mut cache = Cache::new(tables.cache_bytes / tables.threads);
    let mut tuner = Tuner::new(tables.seats);
    let mut more = true;
    loop {
        while more && table.len() < tuner.seats {
            match next(None) {
                Some(session) => table.push(session),
                None => more = false,
            }
        }
        if table.is_empty() {
            return;
        }
        wanted.clear();
        while let Some(session) = table.get_mut(wanted.len()) {
            // Asked for each game: one without a search never waits.
            if stop() {
                return;
            }
            match session.advance() {
                Some(number) => {
                    let leaf = session.leaf();
                    let key = cache.as_ref().map_or(0, |_| Cache::key(number, leaf.game));
                    if cache.as_ref().is_some_and(|cache| cache.get(key, leaf.moves.len(), &mut known)) {
                        tables.work.cached.fetch_add(1, Ordering::Relaxed);
                        session.backup(&known);
                    } else {
                        wanted.push((number, key));
                    }
                }
                None => {
                    let seat = wanted.len();
                    let mut finished = table.swap_remove(seat);
                    finish(&mut finished);
                    if more && table.len() < tuner.seats {
                        match next(Some(finished)) {
                            Some(session) => {
                                table.push(session);
                                let last = table.len() - 1;
                                table.swap(seat, last);
                            }
                            None => more = false,
                        }
                    }
                }
            }
        }
        for (number, evaluator) in tables.evaluators.iter().enumerate() {
            let waiting = || {
                wanted
                    .iter()
                    .enumerate()
                    .filter(|(_, (wanted, _))| *wanted == number)
                    .map(|(seat, &(_, key))| (seat, key))
            };
            let batch: Vec<Query<'_>> = waiting().map(|(seat, _)| table[seat].leaf()).collect();
            if batch.is_empty() {
                continue;
            }
            let answers = &mut answers[..batch.len()];
            let start = Instant::now();
            evaluator.evaluate(&batch, answers);
            let nanos = start.elapsed().as_nanos() as u64;
            tables.work.evaluations.fetch_add(batch.len() as u64, Ordering::Relaxed);
            tables.work.batches.fetch_add(1, Ordering::Relaxed);
            tables.work.evaluator_nanos.fetch_add(nanos, Ordering::Relaxed);
            tuner.add(batch.len(), table.len());
            for ((seat, key), answer) in waiting().zip(answers.iter()) {
                if let Some(cache) = &mut cache {
                    cache.put(key, answer);
                }
                table[seat].backup(answer);
            }
        }
    }
}

/// Finds how many games at once a thread is fastest with: doubles them while that gains something.
///
/// Only speed depends on it: a game is the same whatever is played beside it.
struct Tuner {
    /// Games at once now.
    seats: usize,
    most: usize,
    /// Judgements a second with half the games.
    before: f64,
    settled: bool,
    judged: usize,
    since: Instant,
}

impl Tuner {
    const FEWEST: usize = 8;
    /// How long each number is tried.
    const TRIAL: Duration = Duration::from_millis(500);
    /// What twice the games must gain.
    const GAIN: f64 = 1.03;

    fn new(most: usize) -> Tuner {
        let seats = most.min(Self::FEWEST);
        Tuner { seats, most, before: 0.0, settled: seats == most, judged: 0, since: Instant::now() }
    }

    fn add(&mut self, judged: usize, table: usize) {
        if self.settled {
            return;
        }
        // Nothing can be told from a table that is not full.
        if table < self.seats {
            self.judged = 0;
            self.since = Instant::now();
            return;
        }
        self.judged += judged;
        let elapsed = self.since.elapsed();
        if elapsed < Self::TRIAL {
            return;
        }
        let rate = self.judged as f64 / elapsed.as_secs_f64();
        if rate > self.before * Self::GAIN {
            self.before = rate;
            self.seats = (2 * self.seats).min(self.most);
            self.settled = self.seats == self.most;
        } else {
            self.seats /= 2;
            self.settled = true;
        }
        self.judged = 0;
        self.since = Instant::now();
    }
}

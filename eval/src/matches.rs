//! Matches: two players, pairs of games from the same opening with colours reversed.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use engine::{Color, Variant};
use selfplay::{ExternalError, GameSetup, PlayOptions, PlayedGame, Player, derive_seed, play_games};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::match_record::{MatchRecord, RecordError, RecordedGame, RecordedPair};
use crate::match_stats::{Pentanomial, Results, Sprt, SprtError, Verdict};
use crate::starts::{Odds, OddsError, PairStart, PairStarts};

/// Settings of a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MatchConfig {
    /// Games at most; an odd number is raised to the next even one, since openings are played by both sides.
    pub games: usize,
    /// Random plies of an opening: from 0 to so many, evenly drawn. Openings differ from each other.
    pub opening_plies: u32,
    /// Plies after which a game is cut off and counts as a draw; 0 for never.
    pub max_plies: usize,
    /// Simulations a move of a network whose player does not say otherwise.
    pub simulations: u32,
    /// Games at once on each thread, whose positions are judged together. No influence on the result.
    pub games_per_thread: usize,
    /// Memory for judgements that come again, in megabytes (2²⁰ bytes). No influence on the result.
    pub cache_mb: usize,
    /// Bounds (low, high) of a sequential test in normalised Elo, which ends the match early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sprt: Option<(f64, f64)>,
    /// Probability that the sequential test accepts at `low`.
    pub alpha: f64,
    /// Probability that it rejects at `high`.
    pub beta: f64,
}

impl Default for MatchConfig {
    fn default() -> Self {
        MatchConfig {
            games: 100,
            opening_plies: 8,
            max_plies: 1000,
            simulations: 32,
            games_per_thread: 32,
            cache_mb: 64,
            sprt: None,
            alpha: 0.05,
            beta: 0.05,
        }
    }
}

/// A setting of a match that is out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MatchConfigError {
    /// A key.
    #[error("`{key}`: expected {expected}, found {found}")]
    Key {
        /// The key.
        key: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it is.
        found: usize,
    },
    /// The sequential test.
    #[error(transparent)]
    Sprt(#[from] SprtError),
}

impl MatchConfig {
    /// Checks the ranges of all keys.
    ///
    /// # Errors
    /// The first key out of range.
    pub fn validate(&self) -> Result<(), MatchConfigError> {
        let keys = [
            ("games", self.games, 1..=10_000_000, "1 to 10000000"),
            ("opening_plies", self.opening_plies as usize, 0..=1000, "0 to 1000"),
            ("max_plies", self.max_plies, 0..=1_000_000, "0 to 1000000"),
            ("simulations", self.simulations as usize, 0..=1_000_000, "0 to 1000000"),
            ("cache_mb", self.cache_mb, 0..=1 << 20, "0 to 1048576"),
            ("games_per_thread", self.games_per_thread, 1..=65_536, "1 to 65536"),
        ];
        for (key, found, range, expected) in keys {
            if !range.contains(&found) {
                return Err(MatchConfigError::Key { key, expected, found });
            }
        }
        self.sprt()?;
        Ok(())
    }

    /// The sequential test, if one is asked for.
    ///
    /// # Errors
    /// If its bounds or error probabilities make no sense.
    pub fn sprt(&self) -> Result<Option<Sprt>, SprtError> {
        self.sprt.map(|(low, high)| Sprt::new(low, high, self.alpha, self.beta)).transpose()
    }
}

/// The result of a match from the first player's side. `None` (JSON `null`) is what the games do not determine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchResult {
    /// Name of the variant.
    pub variant: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// The first player.
    pub first: String,
    /// The second player.
    pub second: String,
    /// Games counted: those of finished pairs, a pair that repeats another one move by move not again.
    pub games: u64,
    /// Won by the first player.
    pub wins: u64,
    /// Drawn.
    pub draws: u64,
    /// Lost by the first player.
    pub losses: u64,
    /// Losses, draws and wins of the first player with Black, then with White; `None` in results of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_color: Option<[[u64; 3]; 2]>,
    /// Pairs by the first player's points: 0, 1/2, 1, 3/2, 2.
    pub pentanomial: Pentanomial,
    /// Mean score of a game.
    pub score: f64,
    /// Logistic Elo of the score.
    pub elo: Option<f64>,
    /// Half of its 95 % interval.
    pub elo_error: Option<f64>,
    /// Lower end of the interval with two pseudo pairs where there are few; see `match_stats::Summary`.
    pub elo_low: Option<f64>,
    /// Upper end, likewise.
    pub elo_high: Option<f64>,
    /// Normalised Elo.
    pub nelo: Option<f64>,
    /// Half of its 95 % interval.
    pub nelo_error: Option<f64>,
    /// Likelihood that the first player is stronger.
    pub los: f64,
    /// Log-likelihood ratio of the sequential test.
    pub llr: Option<f64>,
    /// Its bounds (low, high) in normalised Elo.
    pub bounds: Option<(f64, f64)>,
    /// What the sequential test says.
    pub verdict: Option<Verdict>,
    /// Games by the reason they ended.
    pub reasons: BTreeMap<String, u64>,
    /// Games that are not repetitions of another one in the match, move by move.
    pub distinct: u64,
    /// Pairs that repeat another one of the match move by move, and so are not counted.
    #[serde(default)]
    pub repeated_pairs: u64,
    /// Mean plies of a game after its opening.
    pub mean_plies: f64,
    /// Whether all games asked for were played, or the sequential test ended.
    pub complete: bool,
}

/// The two players of a match with their names.
pub struct Contestants<'a> {
    /// The player whose side results are given from.
    pub first: (&'a str, &'a Player),
    /// The other one.
    pub second: (&'a str, &'a Player),
}

/// How far a match is, for showing.
#[derive(Clone, Copy, Debug)]
pub struct MatchProgress {
    /// Games finished.
    pub games: usize,
    /// Games asked for.
    pub wanted: usize,
    /// Mean score of the first player over counted games, if there are any.
    pub score: Option<f64>,
}

/// Why a match cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// The sequential test makes no sense.
    #[error(transparent)]
    Sprt(#[from] SprtError),
    /// An external player failed.
    #[error(transparent)]
    External(#[from] ExternalError),
    /// Nothing to start from.
    #[error(transparent)]
    Odds(#[from] OddsError),
    /// Its record cannot be read or written, or is of another match.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// How a match is carried out, which has no influence on its games.
pub struct Conduct<'a> {
    /// Threads to play on.
    pub threads: usize,
    /// File that keeps finished pairs, see [`crate::match_record`]. A match whose record exists goes on from it.
    pub record: Option<&'a Path>,
    /// Ends the match as soon as it is set.
    pub stop: &'a AtomicBool,
}

/// Plays a match. Openings and all chance come from `seed`; the number of threads does not change the result. Pairs count in
/// the order of their openings, and a sequential test is asked after each of them, so that quick games do not weigh more.
///
/// Once `stop` is set no further pair is finished; the result counts the pairs before the first unfinished one and says that
/// it is not complete. `progress` is called whenever a game has ended, by any thread.
///
/// # Errors
/// If the sequential test of `config` makes no sense, a record cannot be used, or an external player fails.
pub fn play_match(
    variant: &Arc<Variant>,
    contestants: &Contestants<'_>,
    config: &MatchConfig,
    seed: u64,
    conduct: &Conduct<'_>,
    progress: &(dyn Fn(MatchProgress) + Sync),
) -> Result<MatchResult, MatchError> {
    play(variant, contestants, None, config, seed, conduct, progress)
}

/// Plays a match with odds of a player against itself, without a sequential test: in each pair the second player gives what
/// the odds say, from one opening with Black and with White. So the score is that of the side that gives nothing.
///
/// A record goes on with any number of games: a match of more games begins with the games of a shorter one.
///
/// # Errors
/// If a record cannot be used, an external player fails, or no opening is found in which the piece can be given.
pub fn play_odds(
    variant: &Arc<Variant>,
    player: (&str, &Player),
    odds: &Odds,
    config: &MatchConfig,
    seed: u64,
    conduct: &Conduct<'_>,
    progress: &(dyn Fn(MatchProgress) + Sync),
) -> Result<MatchResult, MatchError> {
    let config = MatchConfig { sprt: None, ..*config };
    let contestants = Contestants { first: player, second: player };
    play(variant, &contestants, Some(odds), &config, seed, conduct, progress)
}

fn play(
    variant: &Arc<Variant>,
    contestants: &Contestants<'_>,
    odds: Option<&Odds>,
    config: &MatchConfig,
    seed: u64,
    conduct: &Conduct<'_>,
    progress: &(dyn Fn(MatchProgress) + Sync),
) -> Result<MatchResult, MatchError> {
    let sprt = config.sprt()?;
    let pairs = config.games.div_ceil(2);
    let (record, mut recorded) = match conduct.record {
        None => (None, BTreeMap::new()),
        Some(path) => {
            let (record, recorded) = MatchRecord::open(path, &settings(variant, contestants, odds, config, seed))?;
            (Some(record), recorded)
        }
    };
    // Of a longer match with these odds; they stay in the record.
    let beyond = recorded.split_off(&pairs);
    // Without a test all pairs are one batch; with one, a batch keeps all threads busy and little is played in vain.
    let batch = if sprt.is_some() { (conduct.threads * config.games_per_thread).max(1) } else { pairs };
    let options = PlayOptions {
        threads: conduct.threads,
        games_per_thread: config.games_per_thread,
        max_plies: config.max_plies,
        cache_mb: config.cache_mb,
    };
    let mut starts = PairStarts::new(variant, config.opening_plies, odds, seed);
    let mut ledger = Ledger::new(record, recorded, sprt);
    let mut drawn = 0;
    while drawn < pairs && !ledger.decided() && !conduct.stop.load(Ordering::Relaxed) {
        let numbers = drawn..(drawn + batch).min(pairs);
        drawn = numbers.end;
        let (mut labels, mut setups) = (Vec::new(), Vec::new());
        for pair in numbers {
            let PairStart { opening, starts, games } = starts.draw()?;
            if ledger.has(pair) {
                continue;
            }
            labels.push((pair, opening, starts));
            setups.extend(games.into_iter().zip(Color::ALL).map(|(start, first_player)| {
                let seed = derive_seed(&[seed, pair as u64, first_player.index() as u64]);
                GameSetup { start, first_player, seed }
            }));
        }
        let shared = Mutex::new(ledger);
        let finished = |index: usize, game: &PlayedGame| {
            let setup = &setups[index];
            let game = RecordedGame::new(setup, game);
            let mut ledger = shared.lock().expect("no thread panics with the lock");
            let go_on = ledger.add(&labels[index / 2], setup.first_player, game);
            let now = MatchProgress { games: ledger.games, wanted: 2 * pairs, score: ledger.score() };
            drop(ledger);
            progress(now);
            go_on
        };
        let players = [contestants.first.1, contestants.second.1];
        play_games(players, &setups, &options, conduct.stop, &finished)?;
        ledger = shared.into_inner().expect("no thread panics with the lock");
        if let Some(error) = ledger.error.take() {
            return Err(error.into());
        }
    }
    let complete = ledger.next == pairs || ledger.decided();
    if complete
        && beyond.is_empty()
        && let Some(record) = ledger.record.take()
    {
        record.complete(ledger.next)?;
    }
    Ok(ledger.tally.result(variant, contestants, sprt.as_ref(), config.sprt, complete))
}

/// Everything that decides the games and the result of a match, for its record.
fn settings(
    variant: &Variant,
    contestants: &Contestants<'_>,
    odds: Option<&Odds>,
    config: &MatchConfig,
    seed: u64,
) -> Map<String, Value> {
    let search = |player: &Player| match player {
        Player::Net { evaluator, search } => json!({ "network": evaluator.id(), "search": search }),
        _ => Value::Null,
    };
    let settings = [
        ("variant", json!(variant.name())),
        ("ruleset", json!(variant.ruleset())),
        ("rules", json!(variant.fingerprint())),
        ("first", json!(contestants.first.0)),
        ("first_search", search(contestants.first.1)),
        ("second", json!(contestants.second.0)),
        ("second_search", search(contestants.second.1)),
        ("seed", json!(seed)),
        ("games", json!(config.games)),
        ("opening_plies", json!(config.opening_plies)),
        ("max_plies", json!(config.max_plies)),
        ("sprt", json!(config.sprt)),
        ("alpha", json!(config.alpha)),
        ("beta", json!(config.beta)),
    ];
    let mut settings: Map<String, Value> = settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    if let Some(odds) = odds {
        settings.insert("odds".to_owned(), json!(odds.name()));
        // Without a test the number decides nothing about the games before the last.
        settings.remove("games");
    }
    settings
}

/// Number of a pair, its opening, and with odds where each game starts.
type PairLabel = (usize, String, Option<[String; 2]>);

/// The finished games of a match on their way into its tally, which takes pairs in the order of their numbers.
struct Ledger {
    /// Games finished.
    games: usize,
    /// Games whose partner is not finished.
    single: BTreeMap<usize, [Option<RecordedGame>; 2]>,
    /// Finished pairs that are not counted yet, since an earlier one is not finished.
    waiting: BTreeMap<usize, RecordedPair>,
    /// The next pair to count; all before are counted.
    next: usize,
    tally: Tally,
    sprt: Option<Sprt>,
    verdict: Verdict,
    record: Option<MatchRecord>,
    /// Why the record could not be written.
    error: Option<RecordError>,
}

impl Ledger {
    fn new(record: Option<MatchRecord>, recorded: BTreeMap<usize, RecordedPair>, sprt: Option<Sprt>) -> Self {
        let mut ledger = Ledger {
            games: 2 * recorded.len(),
            single: BTreeMap::new(),
            waiting: recorded,
            next: 0,
            tally: Tally::default(),
            sprt,
            verdict: Verdict::Undecided,
            record,
            error: None,
        };
        ledger.count();
        ledger
    }

    fn decided(&self) -> bool {
        self.verdict != Verdict::Undecided
    }

    /// Whether a pair is finished.
    fn has(&self, pair: usize) -> bool {
        pair < self.next || self.waiting.contains_key(&pair)
    }

    fn score(&self) -> Option<f64> {
        (self.tally.pentanomial.units() > 0).then(|| self.tally.pentanomial.score())
    }

    /// Takes a finished game; breaks when the match is decided or cannot be recorded.
    fn add(&mut self, label: &PairLabel, first_player: Color, game: RecordedGame) -> ControlFlow<()> {
        let (pair, opening, starts) = label;
        self.games += 1;
        let games = self.single.entry(*pair).or_default();
        games[first_player.index()] = Some(game);
        if let [Some(_), Some(_)] = games
            && let Some([Some(one), Some(other)]) = self.single.remove(pair)
        {
            let (opening, starts) = (opening.clone(), starts.clone());
            let pair = RecordedPair { pair: *pair, opening, starts, games: [one, other] };
            if let Some(Err(error)) = self.record.as_mut().map(|record| record.add(&pair)) {
                self.error.get_or_insert(error);
            }
            self.waiting.insert(pair.pair, pair);
            self.count();
        }
        if self.decided() || self.error.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Counts the pairs whose turn has come.
    fn count(&mut self) {
        while !self.decided()
            && let Some(pair) = self.waiting.remove(&self.next)
        {
            self.tally.add(&pair);
            self.next += 1;
            if let Some(sprt) = &self.sprt {
                self.verdict = sprt.verdict(&self.tally.pentanomial);
            }
        }
    }
}

#[derive(Default)]
struct Tally {
    pentanomial: Pentanomial,
    /// Lost, drawn, won games of the first player with Black, then with White.
    by_color: [[u64; 3]; 2],
    reasons: BTreeMap<String, u64>,
    /// Hashes of all games (opening and moves), each once.
    games: HashSet<u64>,
    /// Hashes of all pairs.
    pairs: HashSet<u64>,
    repeated_pairs: u64,
    plies: u64,
}

impl Tally {
    /// Counts a pair, unless it repeats another one: that says nothing new, and would make intervals too narrow.
    fn add(&mut self, pair: &RecordedPair) {
        let moves = pair.games.each_ref().map(|game| &game.moves);
        if !self.pairs.insert(hash(&(&pair.opening, &pair.starts, moves))) {
            self.repeated_pairs += 1;
            return;
        }
        let mut points = 0;
        for (game, color) in pair.games.iter().zip(Color::ALL) {
            let half_points = game.half_points(color);
            self.by_color[color.index()][half_points] += 1;
            points += half_points;
            *self.reasons.entry(game.reason.clone()).or_default() += 1;
            let start = pair.starts.as_ref().map_or(&pair.opening, |starts| &starts[color.index()]);
            self.games.insert(hash(&(start, &game.moves)));
            self.plies += game.plies;
        }
        self.pentanomial.add(points);
    }

    fn result(
        self,
        variant: &Variant,
        contestants: &Contestants<'_>,
        sprt: Option<&Sprt>,
        bounds: Option<(f64, f64)>,
        complete: bool,
    ) -> MatchResult {
        let summary = self.pentanomial.summary();
        let [losses, draws, wins] = [0, 1, 2].map(|i| self.by_color[0][i] + self.by_color[1][i]);
        let games = wins + draws + losses;
        MatchResult {
            variant: variant.name().to_string(),
            ruleset: variant.ruleset().to_string(),
            first: contestants.first.0.to_string(),
            second: contestants.second.0.to_string(),
            games,
            wins,
            draws,
            losses,
            by_color: Some(self.by_color),
            pentanomial: self.pentanomial,
            score: summary.score,
            elo: summary.elo,
            elo_error: summary.elo_error,
            elo_low: summary.elo_low,
            elo_high: summary.elo_high,
            nelo: summary.nelo,
            nelo_error: summary.nelo_error,
            los: summary.los,
            llr: sprt.map(|sprt| sprt.llr(&self.pentanomial)),
            bounds,
            verdict: sprt.map(|sprt| sprt.verdict(&self.pentanomial)),
            reasons: self.reasons,
            distinct: self.games.len() as u64,
            repeated_pairs: self.repeated_pairs,
            mean_plies: self.plies as f64 / (games.max(1)) as f64,
            complete,
        }
    }
}

/// A hash that is the same in every process.
fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

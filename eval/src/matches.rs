//! Matches: two players, pairs of games from the same opening with colours reversed.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::{Color, Game, Move, Variant};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::{
    ExternalError, GameSetup, Openings, PlayOptions, PlayedGame, Player, RESIGNATION, derive_seed, play_games,
};
use serde::{Deserialize, Serialize};

use crate::match_stats::{Pentanomial, Results, Sprt, SprtError, Verdict};

/// The reason given for games that were cut off at [`MatchConfig::max_plies`].
const CUT_OFF: &str = "ply_cap";

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
    /// Games counted: those of finished pairs.
    pub games: u64,
    /// Won by the first player.
    pub wins: u64,
    /// Drawn.
    pub draws: u64,
    /// Lost by the first player.
    pub losses: u64,
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

/// Why a match has no result.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// The sequential test makes no sense.
    #[error(transparent)]
    Sprt(#[from] SprtError),
    /// An external player failed.
    #[error(transparent)]
    External(#[from] ExternalError),
}

/// Plays a match. Openings and all chance come from `seed`; the number of threads does not change the result. Pairs count in
/// the order of their openings, and a sequential test is asked after each of them, so that quick games do not weigh more.
///
/// Once `stop` is set the pairs finished until then are counted, and the result says that it is not complete.
///
/// # Errors
/// If the sequential test of `config` makes no sense, or an external player fails.
pub fn play_match(
    variant: &Arc<Variant>,
    contestants: &Contestants<'_>,
    config: &MatchConfig,
    seed: u64,
    threads: usize,
    stop: &AtomicBool,
    progress: &(dyn Fn(MatchProgress) + Sync),
) -> Result<MatchResult, MatchError> {
    let sprt = config.sprt()?;
    let pairs = config.games.div_ceil(2);
    // Without a test all pairs are one batch; with one, a batch keeps all threads busy and little is played in vain.
    let batch = if sprt.is_some() { (threads * config.games_per_thread).max(1) } else { pairs };
    let options = PlayOptions {
        threads,
        games_per_thread: config.games_per_thread,
        max_plies: config.max_plies,
        cache_mb: config.cache_mb,
    };
    let mut openings = FreshOpenings::new(variant, config.opening_plies, seed);
    let mut tally = Tally::default();
    let mut verdict = Verdict::Undecided;
    let mut played = 0;
    while played < pairs && verdict == Verdict::Undecided && !stop.load(Ordering::Relaxed) {
        let count = batch.min(pairs - played);
        let setups: Vec<GameSetup> = (played..played + count)
            .flat_map(|pair| {
                let start = openings.next();
                Color::ALL.map(|first_player| {
                    let seed = derive_seed(&[seed, pair as u64, first_player.index() as u64]);
                    GameSetup { start: start.clone(), first_player, seed }
                })
            })
            .collect();
        let before = AtomicUsize::new(2 * played);
        let score = (tally.pentanomial.units() > 0).then(|| tally.pentanomial.score());
        let report = |_: usize| {
            let games = before.fetch_add(1, Ordering::Relaxed) + 1;
            progress(MatchProgress { games, wanted: 2 * pairs, score });
        };
        let players = [contestants.first.1, contestants.second.1];
        let games = play_games(players, &setups, &options, stop, &report)?;
        for (pair, setup) in games.chunks(2).zip(setups.chunks(2)) {
            let [Some(one), Some(other)] = pair else { continue };
            tally.add_pair([one, other], [setup[0].first_player, setup[1].first_player]);
            if let Some(sprt) = &sprt {
                verdict = sprt.verdict(&tally.pentanomial);
                if verdict != Verdict::Undecided {
                    break;
                }
            }
        }
        played += count;
    }
    let complete = tally.pentanomial.units() as usize == pairs || verdict != Verdict::Undecided;
    Ok(tally.result(variant, contestants, sprt.as_ref(), config.sprt, complete))
}

/// Start positions that have not been used before.
struct FreshOpenings {
    openings: Openings,
    rng: Xoshiro256PlusPlus,
    used: HashSet<u64>,
}

impl FreshOpenings {
    fn new(variant: &Arc<Variant>, plies: u32, seed: u64) -> Self {
        let openings = Openings::new(variant, plies).balanced();
        FreshOpenings { openings, rng: Xoshiro256PlusPlus::seed_from_u64(seed), used: HashSet::new() }
    }

    fn next(&mut self) -> Game {
        // With very few plies there may be no further opening; then one comes again.
        const ATTEMPTS: usize = 100;
        let mut opening = self.openings.draw_game(&mut self.rng);
        for _ in 0..ATTEMPTS {
            if self.used.insert(opening.position().hash()) {
                break;
            }
            opening = self.openings.draw_game(&mut self.rng);
        }
        opening
    }
}

#[derive(Default)]
struct Tally {
    pentanomial: Pentanomial,
    /// Lost, drawn, won games of the first player.
    games: [u64; 3],
    reasons: BTreeMap<String, u64>,
    /// Moves of all games, each once.
    moves: HashSet<Vec<Move>>,
    plies: u64,
}

impl Tally {
    fn add_pair(&mut self, games: [&PlayedGame; 2], first_player: [Color; 2]) {
        let mut points = 0;
        for (game, color) in games.into_iter().zip(first_player) {
            let winner = game.resigned.map_or(game.outcome.and_then(|outcome| outcome.winner), |loser| Some(!loser));
            let half_points = winner.map_or(1, |winner| if winner == color { 2 } else { 0 });
            self.games[half_points] += 1;
            points += half_points;
            let unfinished = if game.resigned.is_some() { RESIGNATION } else { CUT_OFF };
            let reason = game.outcome.map_or(unfinished, |outcome| outcome.reason.as_str());
            *self.reasons.entry(reason.to_string()).or_default() += 1;
            self.moves.insert(game.moves.clone());
            self.plies += game.moves.len() as u64;
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
        let [losses, draws, wins] = self.games;
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
            distinct: self.moves.len() as u64,
            mean_plies: self.plies as f64 / (games.max(1)) as f64,
            complete,
        }
    }
}

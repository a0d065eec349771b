//! One self-play game in progress, and its record.

use std::sync::Arc;

use engine::{Color, Game, Move, Outcome, Reason, Variant};
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::data::{GameResult, GameRow, PositionRow, State, survivors};
use crate::evaluator::{Evaluation, Query};
use crate::lockstep::Session;
use crate::openings::Openings;
use crate::search::{Search, SearchConfig, SearchResult};
use crate::worker::config::SelfplayConfig;
use crate::worker::watch::Watch;

/// A finished game with what search thought of each position.
#[derive(Clone, Debug, PartialEq)]
pub struct GameRecord {
    /// The game.
    pub game: GameRow,
    /// Its positions, one for each move.
    pub positions: Vec<PositionRow>,
    /// Simulations that were run.
    pub simulations: u64,
    /// Whether the side that would have resigned did not lose, in a game that was played out to see that.
    pub saved: Option<bool>,
}

/// What all games of a generation share.
pub(super) struct Table<'a> {
    pub(super) variant: &'a Arc<Variant>,
    pub(super) openings: &'a Openings,
    pub(super) watch: &'a Watch<'a>,
    pub(super) config: &'a SelfplayConfig,
    pub(super) full: SearchConfig,
    pub(super) cheap: SearchConfig,
    pub(super) settings: String,
    pub(super) network: &'a str,
    pub(super) run_seed: u64,
    pub(super) generation: u32,
}

/// Why a game ended, and for whom.
#[derive(Clone, Copy)]
struct Ending {
    result: Option<GameResult>,
    reason: &'static str,
}

pub(super) struct SelfplayGame<'a> {
    table: &'a Table<'a>,
    number: u64,
    seed: u64,
    rng: Xoshiro256PlusPlus,
    game: Game,
    may_resign: bool,
    /// The side that would have resigned first.
    resigner: Option<Color>,
    /// Plies in a row with a lopsided value.
    lopsided: u32,
    /// Moves in a row, by colour, after which a side could have resigned.
    hopeless: [u32; 2],
    ending: Option<Ending>,
    usi: Vec<String>,
    rows: Vec<PositionRow>,
    simulations: u64,
    search: Search,
    /// Whether the search at work is a full one; `None` if none is at work.
    searching: Option<bool>,
    result: SearchResult,
}

impl<'a> SelfplayGame<'a> {
    /// Sets up a game of the generation; `recycled` gives its memory.
    pub(super) fn new(table: &'a Table<'a>, number: u64, recycled: Option<SelfplayGame<'a>>) -> SelfplayGame<'a> {
        let seed = crate::seed::derive(&[table.run_seed, table.generation.into(), number]);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let game = Game::new(table.openings.draw(&mut rng));
        let may_resign = table.config.resign_below.is_some() && rng.random::<f32>() >= table.config.resign_audit;
        let (search, result) = match recycled {
            Some(old) => (old.search, old.result),
            None => (Search::new(&game, &table.full, 0), SearchResult::default()),
        };
        SelfplayGame {
            table,
            number,
            seed,
            rng,
            game,
            may_resign,
            resigner: None,
            lopsided: 0,
            hopeless: [0; 2],
            ending: None,
            usi: Vec::new(),
            rows: Vec::new(),
            simulations: 0,
            search,
            searching: None,
            result,
        }
    }

    /// The record of the finished game.
    pub(super) fn record(&mut self) -> GameRecord {
        let ending = self.ending.expect("the game is finished");
        let table = self.table;
        let position = self.game.position();
        let moves: Vec<Move> = self.game.moves().collect();
        let marks = survivors(table.variant, &moves, position.codes());
        let plies = self.rows.len();
        for ((i, row), survives) in self.rows.iter_mut().enumerate().zip(marks) {
            row.survives = survives;
            row.plies_left = (plies - i) as u16;
            row.outcome = ending.result.map(|result| result.for_side(Color::ALL[row.side_to_move as usize]));
        }
        let game = GameRow {
            game_id: self.game_id(),
            generation: table.generation,
            variant: table.variant.name().to_owned(),
            ruleset: table.variant.ruleset().to_owned(),
            seed: self.seed,
            opening_sfen: self.game.start().sfen(),
            moves: std::mem::take(&mut self.usi),
            result: ending.result,
            reason: ending.reason.to_owned(),
            plies: plies as u32,
            black_network: table.network.to_owned(),
            white_network: table.network.to_owned(),
            search: table.settings.clone(),
        };
        self.table.watch.leave(self.number);
        let lost = |side: Color| ending.result == Some(GameResult::Won(!side));
        let saved = self.resigner.filter(|_| !self.may_resign).map(|side| !lost(side));
        GameRecord { game, positions: std::mem::take(&mut self.rows), simulations: self.simulations, saved }
    }

    /// Number of the game in its generation.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    fn game_id(&self) -> u64 {
        u64::from(self.table.generation) << 32 | self.number
    }

    fn start_search(&mut self) {
        let lopsided = self.lopsided >= self.table.config.lopsided_plies;
        let full = self.rng.random::<f32>() < self.table.config.full_fraction && !lopsided;
        let config = if full { &self.table.full } else { &self.table.cheap };
        self.search.restart(&self.game, config, self.rng.next_u64());
        self.searching = Some(full);
    }

    /// Records the position with what the search found, and plays a move.
    fn play(&mut self, full_search: bool) {
        let result = &self.result;
        let position = self.game.position();
        let side = position.side_to_move();
        let sampled = self.game.ply() < self.table.config.sample_plies as usize;
        let chosen = result.moves.iter().position(|&mv| mv == result.chosen).expect("the chosen move is legal");
        let played = if sampled { draw(&result.policy, self.table.config.temperature, &mut self.rng) } else { chosen };
        self.rows.push(PositionRow {
            game_id: self.game_id(),
            ply: self.rows.len() as u16,
            generation: self.table.generation,
            board: position.codes().to_vec(),
            side_to_move: side.index() as u8,
            state: State::of(&self.game).to_bytes(),
            moves: result.moves.iter().map(|mv| mv.raw()).collect(),
            policy: result.policy.iter().copied().map(shorten).collect(),
            played: played as u32,
            search_value: result.value,
            search_wdl: result.wdl,
            full_search,
            ..PositionRow::default()
        });
        self.simulations += u64::from(result.visits.iter().sum::<u32>());
        let mv = result.moves[played];
        self.usi.push(position.usi(mv));
        if let Some(below) = self.table.config.resign_below {
            let hopeless = &mut self.hopeless[side.index()];
            *hopeless = if result.value < below { *hopeless + 1 } else { 0 };
        }
        if let Some(above) = self.table.config.lopsided_above {
            self.lopsided = if result.value.abs() > above { self.lopsided + 1 } else { 0 };
        }
        self.table.watch.show(self.number, &self.game, mv, result.value);
        self.game.play_unchecked(mv);
        if self.hopeless[side.index()] >= self.table.config.resign_plies {
            self.resigner = self.resigner.or(Some(side));
        }
        self.ending = self.find_ending(side);
    }

    /// Whether the game has ended with the move `mover` has just made.
    fn find_ending(&self, mover: Color) -> Option<Ending> {
        let config = self.table.config;
        if let Some(Outcome { winner, reason }) = self.game.outcome() {
            let result = (reason != Reason::PlyCap).then_some(winner.map_or(GameResult::Draw, GameResult::Won));
            return Some(Ending { result, reason: reason.as_str() });
        }
        if config.max_plies > 0 && self.game.ply() >= config.max_plies as usize || self.rows.len() >= MOST_PLIES {
            return Some(Ending { result: None, reason: Reason::PlyCap.as_str() });
        }
        let resigns = self.may_resign && self.hopeless[mover.index()] >= config.resign_plies;
        resigns.then_some(Ending { result: Some(GameResult::Won(!mover)), reason: RESIGNATION })
    }
}

/// The reason of a game that a side gave up.
pub const RESIGNATION: &str = "resignation";

/// Where every game is cut off: plies are stored in 16 bits.
const MOST_PLIES: usize = 60_000;

impl Session for SelfplayGame<'_> {
    fn advance(&mut self) -> Option<usize> {
        while self.ending.is_none() {
            let Some(full) = self.searching else {
                self.start_search();
                continue;
            };
            if self.search.next_leaf().is_some() {
                return Some(0);
            }
            self.search.result_into(&mut self.result);
            self.searching = None;
            self.play(full);
        }
        None
    }

    fn leaf(&self) -> Query<'_> {
        self.search.leaf().expect("the game waits for a judgement")
    }

    fn backup(&mut self, evaluation: &Evaluation) {
        self.search.backup(evaluation);
    }
}

/// A probability with 14 significant bits, 0 below 2⁻²⁴: two thirds of the size on disk, and no difference to a target. The sum
/// of a policy stays within 10⁻⁴ of 1.
fn shorten(probability: f32) -> f32 {
    const DROPPED_BITS: u32 = 10;
    if probability < 1.0 / (1u32 << 24) as f32 {
        return 0.0;
    }
    let half = 1 << (DROPPED_BITS - 1);
    f32::from_bits((probability.to_bits() + half) >> DROPPED_BITS << DROPPED_BITS)
}

/// The index of a move, drawn with probabilities proportional to policy^(1/temperature).
fn draw(policy: &[f32], temperature: f32, rng: &mut impl Rng) -> usize {
    let largest = policy.iter().copied().fold(0.0, f32::max);
    // Divided by the largest first: a low temperature must not make everything zero.
    let weights = policy.iter().map(|p| (p / largest).powf(1.0 / temperature));
    let mut left = rng.random::<f32>() * weights.clone().sum::<f32>();
    let mut last = 0;
    for (i, weight) in weights.enumerate() {
        if weight > 0.0 {
            last = i;
            if left < weight {
                break;
            }
        }
        left -= weight;
    }
    last
}

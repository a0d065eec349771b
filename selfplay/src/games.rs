//! Games between two players, many at once.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::{Color, Game, Move, Outcome};

use crate::evaluator::{Evaluation, Evaluator, Query};
use crate::external::{Choice, External, ExternalError, Opponent};
use crate::lockstep::{self, Session, Tables, Work};
use crate::player::Player;
use crate::search::{Search, SearchConfig, SearchResult};
use crate::seed;

/// A game to be played.
#[derive(Clone)]
pub struct GameSetup {
    /// Where it starts; it must not be over.
    pub start: Game,
    /// Which side the first player has.
    pub first_player: Color,
    /// What all chance in the game comes from.
    pub seed: u64,
}

/// A game that was played.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedGame {
    /// How it ended; `None` if it was cut off at [`PlayOptions::max_plies`], or given up.
    pub outcome: Option<Outcome>,
    /// Who gave it up.
    pub resigned: Option<Color>,
    /// The moves after the start.
    pub moves: Vec<Move>,
}

/// How to play many games.
#[derive(Clone, Copy, Debug)]
pub struct PlayOptions {
    /// Threads to play on.
    pub threads: usize,
    /// Games at once on each thread, whose positions are judged together: the most, for a thread takes no more than make it
    /// faster.
    pub games_per_thread: usize,
    /// Memory for judgements that come again, in megabytes (2²⁰ bytes).
    pub cache_mb: usize,
    /// Plies after which a game is cut off; 0 for never.
    pub max_plies: usize,
}

/// Plays all games between two players and returns them in the order of `setups`; `None` for those that `stop` cut off.
/// A game depends on its setup alone, not on threads or on the other games. `finished` gets each game as it ends with its
/// index in `setups`, by any thread; when it breaks, the games that are being played are cut off like by `stop`.
///
/// With an external player each thread plays one game at a time, for it waits while that player thinks.
///
/// # Errors
/// If an external player fails; all games end then.
///
/// # Panics
/// If a game is over before it starts.
pub fn play_games(
    players: [&Player; 2],
    setups: &[GameSetup],
    options: &PlayOptions,
    stop: &AtomicBool,
    finished: &(dyn Fn(usize, &PlayedGame) -> ControlFlow<()> + Sync),
) -> Result<Vec<Option<PlayedGame>>, ExternalError> {
    let threads = options.threads.clamp(1, setups.len().max(1));
    let outside = players.iter().any(|player| matches!(player, Player::External(_)));
    let most = if outside { 1 } else { options.games_per_thread };
    let seats = most.clamp(1, setups.len().div_ceil(threads).max(1));
    let played: Mutex<Vec<Option<PlayedGame>>> = Mutex::new(vec![None; setups.len()]);
    let (started, enough) = (AtomicUsize::new(0), AtomicBool::new(false));
    let failure = Failure::default();
    let stop = || [stop, &enough, &failure.failed].into_iter().any(|flag| flag.load(Ordering::Relaxed));
    let finish = |game: &mut MatchGame<'_>| {
        let opponents = game.opponents.each_mut().map(Option::take);
        if game.abandoned {
            return;
        }
        let outcome = game.game.outcome();
        opponents.into_iter().flatten().for_each(|opponent| opponent.end(outcome));
        let moves = game.game.moves().skip(game.start_ply).collect();
        let record = PlayedGame { outcome, resigned: game.resigned, moves };
        if finished(game.number, &record).is_break() {
            enough.store(true, Ordering::Relaxed);
        }
        played.lock().expect("no thread panics with the lock")[game.number] = Some(record);
    };
    let next = |old: Option<MatchGame<'_>>| {
        let searches = old.map_or([None, None], |game| game.searches);
        let number = started.fetch_add(1, Ordering::Relaxed);
        let setup = setups.get(number)?;
        Some(MatchGame {
            number,
            players,
            setup,
            max_plies: options.max_plies,
            game: setup.start.clone(),
            start_ply: setup.start.ply(),
            searches,
            searching: false,
            result: SearchResult::default(),
            moves: Vec::new(),
            opponents: [None, None],
            resigned: None,
            abandoned: false,
            stop: &stop,
            failure: &failure,
        })
    };
    // A player without a search never asks its evaluator.
    let evaluators = players.map(|player| match player {
        Player::Net { evaluator, .. } => evaluator.as_ref(),
        _ => &crate::evaluator::Uniform as &dyn Evaluator,
    });
    let tables =
        Tables { threads, seats, cache_bytes: options.cache_mb << 20, evaluators: &evaluators, work: &Work::default() };
    lockstep::run(&tables, &stop, &finish, &next);
    match failure.error.into_inner().expect("no thread panics with the lock") {
        Some(error) => Err(error),
        None => Ok(played.into_inner().expect("no thread panics with the lock")),
    }
}

/// The first failure of an external player.
#[derive(Default)]
struct Failure {
    failed: AtomicBool,
    error: Mutex<Option<ExternalError>>,
}

impl Failure {
    fn set(&self, error: ExternalError) {
        self.error.lock().expect("no thread panics with the lock").get_or_insert(error);
        self.failed.store(true, Ordering::Relaxed);
    }
}

struct MatchGame<'a> {
    number: usize,
    players: [&'a Player; 2],
    setup: &'a GameSetup,
    max_plies: usize,
    game: Game,
    start_ply: usize,
    /// Each player's own: what one has searched is no knowledge of the other.
    searches: [Option<Search>; 2],
    /// Whether the mover's search is at work on this game's position.
    searching: bool,
    result: SearchResult,
    moves: Vec<Move>,
    /// Who plays this game for the players that are external.
    opponents: [Option<Box<dyn Opponent>>; 2],
    resigned: Option<Color>,
    /// Stopped, or an external player failed: there is no result.
    abandoned: bool,
    stop: &'a (dyn Fn() -> bool + Sync),
    failure: &'a Failure,
}

impl MatchGame<'_> {
    fn player_to_move(&self) -> usize {
        usize::from(self.game.position().side_to_move() != self.setup.first_player)
    }

    fn is_over(&self) -> bool {
        let plies = self.game.ply() - self.start_ply;
        self.abandoned
            || self.resigned.is_some()
            || self.max_plies > 0 && plies >= self.max_plies
            || self.game.outcome().is_some()
    }

    fn start_search(&mut self, config: &SearchConfig, seed: u64) {
        match &mut self.searches[self.player_to_move()] {
            Some(search) => search.restart(&self.game, config, seed),
            none => *none = Some(Search::new(&self.game, config, seed)),
        }
        self.searching = true;
    }

    /// Lets an external player move, and waits for it.
    fn ask(&mut self, mover: usize, external: &dyn External) {
        let mut choose = || {
            let opponent = match &mut self.opponents[mover] {
                Some(opponent) => opponent,
                none => none.insert(external.begin(&self.game, self.stop)?),
            };
            opponent.choose(&self.game, self.stop)
        };
        match choose() {
            Ok(Choice::Move(mv)) => self.game.play_unchecked(mv),
            Ok(Choice::Resign) => self.resigned = Some(self.game.position().side_to_move()),
            Ok(Choice::Stopped) => self.abandoned = true,
            Err(error) => {
                self.abandoned = true;
                self.failure.set(error);
            }
        }
    }

    fn search_at_work(&mut self) -> &mut Search {
        self.searches[self.player_to_move()].as_mut().expect("a search is at work while the game waits")
    }
}

impl Session for MatchGame<'_> {
    fn advance(&mut self) -> Option<usize> {
        loop {
            let mover = self.player_to_move();
            if self.searching {
                let search = self.searches[mover].as_mut().expect("a search is at work while the game waits");
                if search.next_leaf().is_some() {
                    return Some(mover);
                }
                search.result_into(&mut self.result);
                self.searching = false;
                self.game.play_unchecked(self.result.chosen);
                continue;
            }
            if self.is_over() {
                return None;
            }
            let seed = seed::derive(&[self.setup.seed, self.game.ply() as u64]);
            let player = self.players[mover];
            match player.choose_at_once(&self.game, seed, &mut self.moves) {
                Some(mv) => self.game.play_unchecked(mv),
                None => match player {
                    Player::Net { search, .. } => self.start_search(search, seed),
                    Player::External(external) => self.ask(mover, external.as_ref()),
                    Player::Random | Player::Material(_) => {}
                },
            }
        }
    }

    fn leaf(&self) -> Query<'_> {
        let search = self.searches[self.player_to_move()].as_ref();
        search.and_then(Search::leaf).expect("the game waits for a judgement")
    }

    fn backup(&mut self, evaluation: &Evaluation) {
        self.search_at_work().backup(evaluation);
    }
}

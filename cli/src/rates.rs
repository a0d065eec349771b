//! How fast self-play is.

use std::fmt;
use std::time::Duration;

use selfplay::Progress;
use serde::Serialize;

/// How fast self-play is, and what its games are like.
#[derive(Serialize)]
pub(crate) struct Rates {
    seconds: f64,
    games_per_second: f64,
    positions_per_second: f64,
    evaluations_per_second: f64,
    /// Positions judged at once.
    mean_batch: f64,
    /// Plies of a game.
    mean_plies: f64,
    /// Share of the positions to be judged whose judgement was known.
    cached_share: f64,
    /// Until all games wanted are played at this rate.
    seconds_left: f64,
    #[serde(skip)]
    evaluator_share: f64,
}

impl Rates {
    pub(crate) fn new(state: &Progress, elapsed: Duration) -> Rates {
        let ratio = |a: u64, b: f64| if b > 0.0 { a as f64 / b } else { 0.0 };
        let seconds = elapsed.as_secs_f64();
        let games = state.games - state.games_found;
        let games_per_second = ratio(games, seconds);
        Rates {
            seconds,
            games_per_second,
            positions_per_second: ratio(state.positions, seconds),
            evaluations_per_second: ratio(state.evaluations, seconds),
            mean_batch: ratio(state.evaluations, state.batches as f64),
            mean_plies: ratio(state.positions, games as f64),
            cached_share: ratio(state.cached, (state.cached + state.evaluations) as f64),
            seconds_left: ratio(state.games_wanted - state.games, games_per_second),
            evaluator_share: state.evaluator_share,
        }
    }
}

impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.1} games/s, {:.0} positions/s, {:.0} evaluations/s in batches of {:.0} ({:.0} % of the time), {:.0} plies a game",
            self.games_per_second,
            self.positions_per_second,
            self.evaluations_per_second,
            self.mean_batch,
            100.0 * self.evaluator_share,
            self.mean_plies,
        )?;
        match self.seconds_left.round() as u64 {
            0 => Ok(()),
            left => write!(f, ", {left} s left"),
        }
    }
}

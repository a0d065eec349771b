//! Players outside this program: whatever answers for them is behind these traits, so that games know nothing of
//! processes and protocols.

use std::error::Error as StdError;

use engine::{Game, Move, Outcome};

/// A player outside, who can play several games at once.
pub trait External: Send + Sync {
    /// Begins a game and returns who plays it. Gives up soon, with any answer, once `stop` says so.
    ///
    /// # Errors
    /// If it cannot play this game.
    fn begin(&self, game: &Game, stop: &dyn Fn() -> bool) -> Result<Box<dyn Opponent>, ExternalError>;
}

/// Who plays one game for an [`External`]. Dropped before [`end`](Opponent::end), the game is abandoned.
pub trait Opponent: Send {
    /// What it does in this position of its game, which is not over. Moves since its last choice are in the game's
    /// history. A move is legal there.
    ///
    /// # Errors
    /// An illegal move, no answer, or whatever else makes going on impossible.
    fn choose(&mut self, game: &Game, stop: &dyn Fn() -> bool) -> Result<Choice, ExternalError>;

    /// The game is over; without an outcome it was cut off or given up.
    fn end(self: Box<Self>, outcome: Option<Outcome>);
}

/// What a player does whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It moves.
    Move(Move),
    /// It gives the game up.
    Resign,
    /// It was told to stop and has not chosen.
    Stopped,
}

/// Why a player outside cannot go on: a match with it has no result.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ExternalError(Box<dyn StdError + Send + Sync>);

impl ExternalError {
    /// An error that says this.
    pub fn new(error: impl StdError + Send + Sync + 'static) -> ExternalError {
        ExternalError(Box::new(error))
    }
}

//! One game of a running generation for others to look at.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use engine::{Game, Move};
use serde::{Deserialize, Serialize};

/// A game in progress, as `live.json` in a run's folder tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LiveGame {
    /// Generation of the game.
    pub generation: u32,
    /// Number of the game in its generation.
    pub number: u64,
    /// Name of the variant.
    pub variant: String,
    /// Name of its ruleset.
    pub ruleset: String,
    /// What plays.
    pub network: String,
    /// The position after the last move.
    pub sfen: String,
    /// The moves played after the opening, in USI.
    pub moves: Vec<String>,
    /// Value that the search gave before the last move, for Black, from -1 to 1.
    pub value: f32,
}

/// Picks one game and writes it to a file now and then.
pub(super) struct Watch<'a> {
    file: PathBuf,
    generation: u32,
    network: &'a str,
    state: Mutex<State>,
}

struct State {
    /// The game that is shown.
    number: Option<u64>,
    shown: Option<Instant>,
}

/// The time between two writings.
const EVERY: Duration = Duration::from_millis(200);

impl<'a> Watch<'a> {
    pub(super) fn new(run: &Path, generation: u32, network: &'a str) -> Watch<'a> {
        let state = Mutex::new(State { number: None, shown: None });
        Watch { file: live_file(run), generation, network, state }
    }

    /// Shows the position after `mv` if this is the game that is shown, or if none is.
    pub(super) fn show(&self, number: u64, game: &Game, mv: Move, value: f32) {
        // Who finds the lock taken shows nothing this time.
        let Ok(mut state) = self.state.try_lock() else { return };
        if *state.number.get_or_insert(number) != number || state.shown.is_some_and(|shown| shown.elapsed() < EVERY) {
            return;
        }
        state.shown = Some(Instant::now());
        let mut position = game.start().clone();
        let mut moves: Vec<String> = Vec::new();
        for mv in game.moves().chain([mv]) {
            moves.push(position.usi(mv));
            position.play_unchecked(mv);
        }
        let variant = position.variant();
        let live = LiveGame {
            generation: self.generation,
            number,
            variant: variant.name().to_owned(),
            ruleset: variant.ruleset().to_owned(),
            network: self.network.to_owned(),
            sfen: position.sfen(),
            moves,
            value: if game.position().side_to_move() == engine::Color::Black { value } else { -value },
        };
        // Nothing depends on the file, so a failure to write it is no failure of the generation.
        let aside = self.file.with_extension("json.tmp");
        let _ = serde_json::to_vec(&live).map(|text| std::fs::write(&aside, text)).map(|written| match written {
            Ok(()) => std::fs::rename(&aside, &self.file),
            error => error,
        });
    }

    /// Another game may be shown once this one is over.
    pub(super) fn leave(&self, number: u64) {
        if let Ok(mut state) = self.state.lock()
            && state.number == Some(number)
        {
            state.number = None;
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Where a run shows one of its games.
pub fn live_file(run: &Path) -> PathBuf {
    run.join("live.json")
}

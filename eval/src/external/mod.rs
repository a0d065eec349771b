//! Engines of other people as players: processes that speak CECP or USI.
//!
//! The referee is ours: each move has to be legal under the ruleset of the match, and the game ends when our rules say
//! so. An engine may resign; that it claims a win or a draw in place of a move is an error, and said beside a move it is
//! passed over. An engine that makes an illegal move, refuses a legal one, ends, or does not answer in time is an
//! [`EngineError`]. Nothing of it is ever counted as a result.

mod cecp;
mod process;
mod usi;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use engine::{Game, Move, MoveError, Outcome, Position, Variant};
use selfplay::{Choice, External, ExternalError, ExternalSpec, Opponent, Protocol};
use thiserror::Error;

use process::{Heard, Process};

/// An engine failed.
#[derive(Debug, Error)]
#[error("engine `{}` {}{}{}", printable(.engine), printable(.fault), place(.sfen), said(.transcript))]
pub struct EngineError {
    /// The engine's command.
    pub engine: String,
    /// What happened.
    pub fault: Box<Fault>,
    /// The position in which it happened, if in a game.
    pub sfen: Option<String>,
    /// What was said until then: the engine's start and the game.
    pub transcript: Option<PathBuf>,
}

/// A text on one line and without what moves a terminal, which an engine may have said.
fn printable(text: &dyn ToString) -> String {
    let escape = |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
    text.to_string().chars().map(escape).collect()
}

fn place(sfen: &Option<String>) -> String {
    sfen.as_ref().map_or(String::new(), |sfen| format!("; position: {sfen}"))
}

fn said(path: &Option<PathBuf>) -> String {
    path.as_ref().map_or(String::new(), |path| format!("; transcript: {}", path.display()))
}

/// What an engine did wrong.
#[derive(Debug, Error)]
pub enum Fault {
    /// It could not be started.
    #[error("cannot be started ({0}); expected a program of the search path or with its folder")]
    Start(std::io::Error),
    /// Its transcript could not be begun.
    #[error("can have no transcript in {} ({error}); expected a folder to write to (`transcript=FOLDER`)", .folder.display())]
    Transcript {
        /// Where the transcript was to be.
        folder: PathBuf,
        /// What is wrong there.
        error: std::io::Error,
    },
    /// It does not play what is asked for.
    #[error("{0}")]
    Unable(String),
    /// It did not answer in time.
    #[error("gave no {waiting_for} in {} s; its last line{}: `{last}`", .within.as_secs_f64(), without_end(*.unfinished))]
    Silent {
        /// What was expected of it.
        waiting_for: &'static str,
        /// How long it was waited for.
        within: Duration,
        /// Its last line.
        last: String,
        /// Whether the end of that line has not come.
        unfinished: bool,
    },
    /// It ended.
    #[error("ended ({status}) when asked for {waiting_for}; its last line: `{last}`")]
    Ended {
        /// What was expected of it.
        waiting_for: &'static str,
        /// How it ended.
        status: String,
        /// Its last line.
        last: String,
    },
    /// It made an illegal move.
    #[error("made an illegal move: {0}")]
    Illegal(MoveError),
    /// It did not take a move that is legal.
    #[error("does not take the legal move `{mv}`: `{line}`; it may play by other rules than this ruleset")]
    Refused {
        /// The move as it was told.
        mv: String,
        /// What it said.
        line: String,
    },
    /// It claims a result in place of a move, while the game goes on.
    #[error("claims a result in a game that goes on: `{0}`")]
    Claim(String),
}

fn without_end(unfinished: bool) -> &'static str {
    if unfinished { " (without its end)" } else { "" }
}

/// What can go wrong between a line and an answer.
enum Trouble {
    Fault(Fault),
    Stopped,
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Trouble {
        Trouble::Fault(fault)
    }
}

/// A line with an engine, and its last words.
struct Line {
    process: Process,
    last: String,
}

impl Line {
    fn send(&mut self, line: &str) {
        self.process.send(line);
    }

    fn hear(&mut self, line: &str) {
        self.last = line.chars().take(200).collect();
    }

    /// The next line that is not empty.
    fn next(
        &mut self,
        waiting_for: &'static str,
        started: Instant,
        within: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<String, Trouble> {
        loop {
            match self.process.receive(started + within, stop) {
                Heard::Line(line) if line.is_empty() => {}
                Heard::Line(line) => {
                    self.hear(&line);
                    return Ok(line);
                }
                Heard::Nothing(part) => {
                    let unfinished = part.is_some();
                    part.iter().for_each(|part| self.hear(part));
                    return Err(Fault::Silent { waiting_for, within, last: self.last.clone(), unfinished }.into());
                }
                Heard::Ended => {
                    let status = self.process.wait(Duration::from_millis(500));
                    let status = status.map_or("it closed its output".to_string(), |status| status.to_string());
                    return Err(Fault::Ended { waiting_for, status, last: self.last.clone() }.into());
                }
                Heard::Stopped => return Err(Trouble::Stopped),
            }
        }
    }
}

/// A protocol: how to say what has to be said.
trait Dialogue: Send {
    /// From the start of the process until it can be told of a game.
    fn hello(&mut self, line: &mut Line, spec: &ExternalSpec, stop: &dyn Fn() -> bool) -> Result<(), Trouble>;
    /// A game begins, of which nothing has been told. Afterwards the engine is ready.
    fn new_game(
        &mut self,
        line: &mut Line,
        game: &Game,
        spec: &ExternalSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Trouble>;
    /// The engine is to move. Its answer is a legal move of the position; whether the game's history allows it is not looked at.
    fn choose(
        &mut self,
        line: &mut Line,
        game: &Game,
        spec: &ExternalSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<Choice, Trouble>;
    /// The game is over.
    fn end(&mut self, line: &mut Line, outcome: Option<Outcome>);
    /// The command that ends the engine.
    fn farewell(&self) -> &'static str;
}

/// An engine as a player: a process for each game at a time, kept for later games.
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    spec: ExternalSpec,
    variant: Arc<Variant>,
    /// Processes that play no game now.
    idle: Mutex<Vec<Talk>>,
}

impl Engine {
    /// An engine for games of a variant. Its program is started and asked whether it plays the variant.
    ///
    /// # Errors
    /// [`EngineError`] if it does not start, or does not play the variant, or does not know an option.
    pub fn new(spec: &ExternalSpec, variant: &Arc<Variant>) -> Result<Engine, EngineError> {
        let shared = Shared { spec: spec.clone(), variant: variant.clone(), idle: Mutex::new(Vec::new()) };
        let mut talk = shared.start()?;
        let hello = talk.dialogue.hello(&mut talk.line, spec, &|| false);
        hello.map_err(|trouble| talk.error(&shared.spec, trouble, None))?;
        talk.ready = true;
        shared.idle.lock().expect("no thread panics with the lock").push(talk);
        Ok(Engine { shared: Arc::new(shared) })
    }
}

impl Shared {
    fn start(&self) -> Result<Talk, EngineError> {
        let folder = self.spec.transcript.clone();
        let keep = folder.is_some();
        let folder = folder.unwrap_or_else(std::env::temp_dir);
        let process = Process::start(&self.spec.command, &folder, keep).map_err(|fault| EngineError {
            engine: self.spec.command.join(" "),
            fault: Box::new(fault),
            sfen: None,
            transcript: None,
        })?;
        let dialogue: Box<dyn Dialogue> = match self.spec.protocol {
            Protocol::Cecp => Box::new(cecp::Cecp::new(&self.variant)),
            Protocol::Usi => Box::new(usi::Usi::default()),
        };
        Ok(Talk { line: Line { process, last: String::new() }, dialogue, ready: false })
    }
}

impl External for Engine {
    fn begin(&self, game: &Game, stop: &dyn Fn() -> bool) -> Result<Box<dyn Opponent>, ExternalError> {
        let spec = &self.shared.spec;
        let idle = self.shared.idle.lock().expect("no thread panics with the lock").pop();
        let mut talk = match idle {
            Some(talk) => talk,
            None => self.shared.start().map_err(ExternalError::new)?,
        };
        let mut begin = || {
            if !talk.ready {
                talk.dialogue.hello(&mut talk.line, spec, stop)?;
                talk.ready = true;
            }
            talk.line.process.new_game();
            talk.dialogue.new_game(&mut talk.line, game, spec, stop)
        };
        match begin() {
            // Who was stopped has no game and is never asked: the first question finds the same flag.
            Ok(()) | Err(Trouble::Stopped) => {}
            Err(trouble) => return Err(ExternalError::new(talk.error(spec, trouble, Some(game)))),
        }
        Ok(Box::new(Seat { talk, shared: self.shared.clone() }))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for talk in self.idle.get_mut().expect("no thread panics with the lock").drain(..) {
            talk.line.process.quit(talk.dialogue.farewell());
        }
    }
}

/// A running engine and what it speaks.
struct Talk {
    line: Line,
    dialogue: Box<dyn Dialogue>,
    ready: bool,
}

impl Talk {
    fn error(&mut self, spec: &ExternalSpec, trouble: Trouble, game: Option<&Game>) -> EngineError {
        let fault = match trouble {
            Trouble::Fault(fault) => fault,
            Trouble::Stopped => Fault::Unable("was stopped".to_string()),
        };
        self.line.process.keep_transcript();
        EngineError {
            engine: spec.command.join(" "),
            fault: Box::new(fault),
            sfen: game.map(|game| game.position().sfen()),
            transcript: Some(self.line.process.transcript()),
        }
    }
}

/// An engine at a game.
struct Seat {
    talk: Talk,
    shared: Arc<Shared>,
}

impl Opponent for Seat {
    fn choose(&mut self, game: &Game, stop: &dyn Fn() -> bool) -> Result<Choice, ExternalError> {
        if stop() {
            return Ok(Choice::Stopped);
        }
        let spec = &self.shared.spec;
        let trouble = match self.talk.dialogue.choose(&mut self.talk.line, game, spec, stop) {
            Ok(Choice::Move(mv)) => match allowed(game, mv) {
                Ok(()) => return Ok(Choice::Move(mv)),
                Err(fault) => fault.into(),
            },
            Ok(choice) => return Ok(choice),
            Err(Trouble::Stopped) => return Ok(Choice::Stopped),
            Err(trouble) => trouble,
        };
        Err(ExternalError::new(self.talk.error(spec, trouble, Some(game))))
    }

    fn end(self: Box<Self>, outcome: Option<Outcome>) {
        let Seat { mut talk, shared } = *self;
        talk.dialogue.end(&mut talk.line, outcome);
        shared.idle.lock().expect("no thread panics with the lock").push(talk);
    }
}

/// Whether a legal move of the position is one of the game: its history may forbid it.
fn allowed(game: &Game, mv: Move) -> Result<(), Fault> {
    game.clone().play(mv).map_err(Fault::Illegal)
}

/// The moves of a game with the positions in which they were made, from a ply on.
fn moves_from(game: &Game, from: usize, mut each: impl FnMut(&Position, Move)) {
    let mut position = game.start().clone();
    for (ply, mv) in game.moves().enumerate() {
        if ply >= from {
            each(&position, mv);
        }
        position.play_unchecked(mv);
    }
}

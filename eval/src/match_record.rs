//! The record of a match: a file of its finished pairs, by which a match that was stopped goes on.
//!
//! The first line holds the settings that decide the games, each further line one finished pair, in the order in which
//! they finished. A line is added whole as its pair finishes; what a kill left of a line is cut off when the file is
//! opened again. Once the match is complete the file is written again with the pairs that count, in their order, so that it
//! is the same however often the match was stopped.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use engine::{Color, Game};
use selfplay::{GameSetup, PlayedGame, RESIGNATION};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::files::write_whole;

/// The reason given for games that were cut off.
const CUT_OFF: &str = "ply_cap";

/// A finished game of a match.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RecordedGame {
    /// `black`, `white`, or `None` for a draw.
    pub winner: Option<String>,
    /// Why it ended: a rule, `resignation`, or `ply_cap` where it was cut off.
    pub reason: String,
    /// Number of its moves after the opening.
    pub plies: u64,
    /// These moves as USI, with spaces between.
    pub moves: String,
}

impl RecordedGame {
    pub(crate) fn new(setup: &GameSetup, played: &PlayedGame) -> Self {
        let mut game: Game = setup.start.clone();
        let mut moves = Vec::with_capacity(played.moves.len());
        for &mv in &played.moves {
            moves.push(game.position().usi(mv));
            game.play_unchecked(mv);
        }
        let by_rule = played.outcome.and_then(|outcome| outcome.winner);
        let winner = played.resigned.map_or(by_rule, |loser| Some(!loser));
        let unfinished = if played.resigned.is_some() { RESIGNATION } else { CUT_OFF };
        RecordedGame {
            winner: winner.map(|color| color.as_str().to_owned()),
            reason: played.outcome.map_or(unfinished, |outcome| outcome.reason.as_str()).to_owned(),
            plies: played.moves.len() as u64,
            moves: moves.join(" "),
        }
    }

    /// Half points of the player who had `color`.
    pub(crate) fn half_points(&self, color: Color) -> usize {
        match &self.winner {
            None => 1,
            Some(winner) if winner == color.as_str() => 2,
            Some(_) => 0,
        }
    }
}

/// A finished pair of games from one opening.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedPair {
    /// Its number in the match, from 0.
    pub pair: usize,
    /// Where its games start, as SFEN; with odds before anything was given.
    pub opening: String,
    /// With odds: where each of its games starts, as SFEN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts: Option<[String; 2]>,
    /// The game in which the first player has Black, then the one in which it has White.
    pub games: [RecordedGame; 2],
}

/// Why a record cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not what is expected there.
    #[error("{}:{line}: not {expected}: {source}; remove the file to play the match from its start", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// What should be there.
        expected: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// The record is of a match with other settings.
    #[error(
        "{} is of another match: `{key}` is {there} there and {now} now; ask for the same match, or name another file",
        path.display()
    )]
    Differs {
        /// The file.
        path: PathBuf,
        /// The first setting that differs.
        key: String,
        /// Its value in the file, as JSON.
        there: String,
        /// Its value now, as JSON.
        now: String,
    },
    /// Another process writes it.
    #[error("{}: another process plays this match; wait for it or stop it", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
}

/// A record that is open for adding pairs.
#[derive(Debug)]
pub(crate) struct MatchRecord {
    path: PathBuf,
    file: File,
    header: String,
}

impl MatchRecord {
    /// Opens the record of the match with these settings, or begins it; gives the pairs that are finished.
    pub(crate) fn open(
        path: &Path,
        settings: &Map<String, Value>,
    ) -> Result<(Self, BTreeMap<usize, RecordedPair>), RecordError> {
        let io = |source| RecordError::Io { path: path.to_owned(), source };
        let line_error =
            |line, expected| move |source| RecordError::Line { path: path.to_owned(), line, expected, source };
        let header = Value::Object(settings.clone()).to_string();
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(io)?;
        }
        let options = File::options().create(true).truncate(false).read(true).write(true).open(path);
        let mut file = options.map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(RecordError::Locked { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(io)?;
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole].split_inclusive(|&byte| byte == b'\n').enumerate();
        let mut pairs = BTreeMap::new();
        if let Some((_, first)) = lines.next() {
            // Both as read, so that a number means the same in both.
            let expected = "the settings of a match";
            let there: Map<String, Value> = serde_json::from_slice(first).map_err(line_error(1, expected))?;
            let now: Map<String, Value> = serde_json::from_str(&header).map_err(line_error(1, expected))?;
            same(path, &there, &now)?;
        }
        for (index, line) in lines {
            let pair: RecordedPair =
                serde_json::from_slice(line).map_err(line_error(index + 1, "a finished pair of the match"))?;
            pairs.insert(pair.pair, pair);
        }
        file.set_len(whole as u64).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        if whole == 0 {
            file.write_all(format!("{header}\n").as_bytes()).map_err(io)?;
        }
        Ok((MatchRecord { path: path.to_owned(), file, header }, pairs))
    }

    /// Adds a finished pair.
    pub(crate) fn add(&mut self, pair: &RecordedPair) -> Result<(), RecordError> {
        self.file.write_all(line(pair).as_bytes()).map_err(|source| RecordError::Io { path: self.path.clone(), source })
    }

    /// Writes the record of a complete match: the first `counted` pairs in their order.
    pub(crate) fn complete(self, counted: usize) -> Result<(), RecordError> {
        let io = |source| RecordError::Io { path: self.path.clone(), source };
        let found = fs::read_to_string(&self.path).map_err(io)?;
        let mut pairs = BTreeMap::new();
        for (index, text) in found.lines().enumerate().skip(1) {
            let expected = "a finished pair of the match";
            let pair: RecordedPair = serde_json::from_str(text).map_err(|source| RecordError::Line {
                path: self.path.clone(),
                line: index + 1,
                expected,
                source,
            })?;
            pairs.insert(pair.pair, text);
        }
        let mut text = format!("{}\n", self.header);
        for line in pairs.range(..counted).map(|(_, line)| line) {
            text += line;
            text.push('\n');
        }
        if text != found { write_whole(&self.path, &text).map_err(io) } else { Ok(()) }
    }
}

/// A pair as a line of a record.
fn line(pair: &RecordedPair) -> String {
    serde_json::to_string(pair).expect("text and numbers are JSON") + "\n"
}

/// An error that names the first setting that differs.
fn same(path: &Path, there: &Map<String, Value>, now: &Map<String, Value>) -> Result<(), RecordError> {
    let differs = |key: &&String| there.get(*key) != now.get(*key);
    let Some(key) = now.keys().chain(there.keys()).find(differs) else { return Ok(()) };
    let text = |settings: &Map<String, Value>| settings.get(key).map_or("missing".to_owned(), Value::to_string);
    Err(RecordError::Differs { path: path.to_owned(), key: key.clone(), there: text(there), now: text(now) })
}

//! Errors of making a report.

use std::path::{Path, PathBuf};

use selfplay::data::DataError;

/// Why a report cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A JSON file of the run is damaged.
    #[error("{}: not the JSON expected there: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where in the file.
        source: serde_json::Error,
    },
    /// A line of a file with one JSON document a line is damaged.
    #[error("{}:{line}: not the event expected there: {source}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, counted from 1.
        line: usize,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A shard cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A recorded game cannot be played again.
    #[error("{}: game {game}: {what}", path.display())]
    Game {
        /// The shard.
        path: PathBuf,
        /// The game's `game_id`.
        game: u64,
        /// The move or position at fault and what is wrong with it.
        what: String,
    },
}

impl ReportError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> ReportError {
        let path = path.to_owned();
        move |source| ReportError::Io { path, source }
    }

    pub(super) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> ReportError {
        let path = path.to_owned();
        move |source| ReportError::Json { path, source }
    }
}

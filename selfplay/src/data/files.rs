//! Finding shards in a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::checksum::{listed_folder, sums_file};
use super::error::DataError;
use super::schema::ShardKind;

/// The two files of a shard. Either may be missing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShardPair {
    /// One row a game.
    pub games: PathBuf,
    /// One row a position.
    pub positions: PathBuf,
}

impl ShardPair {
    /// The pair that a file belongs to: the same path under `games` and under `positions`. `None` if it is under neither.
    pub fn of(path: &Path) -> Option<ShardPair> {
        let parts: Vec<&OsStr> = path.iter().collect();
        let kinds = [ShardKind::Games, ShardKind::Positions].map(ShardKind::as_str);
        let at = parts.iter().rposition(|part| kinds.iter().any(|kind| part == kind))?;
        let [games, positions] = kinds.map(|kind| {
            let mut parts = parts.clone();
            parts[at] = OsStr::new(kind);
            parts.iter().collect::<PathBuf>()
        });
        Some(ShardPair { games, positions })
    }

    /// Both files.
    pub(super) fn files(&self) -> [&Path; 2] {
        [&self.games, &self.positions]
    }
}

/// The shards in `paths`: files, or folders that are searched to any depth. Sorted, each once.
///
/// # Errors
/// If a path does not exist, or a file that is named lies neither in a folder `games` nor `positions`.
pub fn find_shards(paths: &[PathBuf]) -> Result<Vec<ShardPair>, DataError> {
    let mut found = BTreeMap::new();
    for path in paths {
        if path.is_dir() {
            walk(path, &mut |file| {
                if let Some(pair) = ShardPair::of(file).filter(|_| file.extension() == Some(OsStr::new("parquet"))) {
                    found.insert(pair, ());
                }
            })?;
        } else {
            fs::metadata(path).map_err(DataError::io(path))?;
            let what = "expected a shard in a folder `games` or `positions`";
            let pair =
                ShardPair::of(path).ok_or_else(|| DataError::Schema { path: path.clone(), what: what.to_owned() })?;
            found.insert(pair, ());
        }
    }
    Ok(found.into_keys().collect())
}

/// The folders in `paths`, searched to any depth, whose shards have a list of checksums. Sorted, each once; none for a path that is a
/// file.
///
/// # Errors
/// If a path does not exist.
pub fn find_checksums(paths: &[PathBuf]) -> Result<Vec<PathBuf>, DataError> {
    let mut found = BTreeSet::new();
    for path in paths {
        if !fs::metadata(path).map_err(DataError::io(path))?.is_dir() {
            continue;
        }
        walk(path, &mut |file| {
            let beside = || file.parent().filter(|folder| sums_file(folder).is_some_and(|list| list.exists()));
            found.extend(listed_folder(file).or_else(|| beside().map(Path::to_owned)));
        })?;
    }
    Ok(found.into_iter().collect())
}

/// Shows every file under a folder.
fn walk(folder: &Path, found: &mut dyn FnMut(&Path)) -> Result<(), DataError> {
    for entry in fs::read_dir(folder).map_err(DataError::io(folder))? {
        let path = entry.map_err(DataError::io(folder))?.path();
        if path.is_dir() {
            walk(&path, found)?;
        } else {
            found(&path);
        }
    }
    Ok(())
}

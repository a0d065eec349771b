//! Shards from disk.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use parquet::data_type::Int32Type;
use parquet::file::reader::{FileReader, SerializedFileReader};

use super::column::Columns;
use super::error::DataError;
use super::row::{GameRow, PositionRow};
use super::schema::ShardMeta;
use super::writer::Row;
use super::writer::private::ReadError;

/// All of a shard.
#[derive(Clone, Debug, PartialEq)]
pub struct Shard<R> {
    /// Where it comes from.
    pub meta: ShardMeta,
    /// Its rows, in the order they were written.
    pub rows: Vec<R>,
}

/// Reads a shard row group by row group, so that no more than one is in memory.
pub struct ShardReader {
    path: PathBuf,
    meta: ShardMeta,
    file: SerializedFileReader<File>,
}

impl ShardReader {
    /// Opens a shard of rows `R` and reads its metadata.
    ///
    /// # Errors
    /// If it is not a complete shard of this kind, of a schema version this program reads.
    pub fn open<R: Row>(path: &Path) -> Result<ShardReader, DataError> {
        let file = File::open(path).map_err(DataError::io(path))?;
        let file = guarded(path, || SerializedFileReader::new(file).map_err(DataError::parquet(path)))?;
        let pairs = file.metadata().file_metadata().key_value_metadata();
        let meta = ShardMeta::from_key_values(path, R::KIND, pairs)?;
        Ok(ShardReader { path: path.to_owned(), meta, file })
    }

    /// Where the shard comes from.
    pub fn meta(&self) -> &ShardMeta {
        &self.meta
    }

    /// Number of row groups.
    pub fn groups(&self) -> usize {
        self.file.num_row_groups()
    }

    /// Number of rows in all groups.
    pub fn rows(&self) -> u64 {
        self.file.metadata().file_metadata().num_rows().try_into().unwrap_or(0)
    }

    /// The rows of one row group.
    ///
    /// # Errors
    /// If the group is damaged, lacks a column, or a row means nothing; the error names file and row.
    pub fn read_group<R: Row>(&self, group: usize) -> Result<Vec<R>, DataError> {
        self.with_columns(group, |columns| R::read_group(columns, &self.meta))
    }

    /// Number of legal moves in each position of a row group of a shard of positions.
    pub(super) fn move_counts(&self, group: usize) -> Result<Vec<u32>, DataError> {
        self.with_columns(group, |columns| {
            let moves = columns.lists::<Int32Type>("moves")?;
            Ok(moves.starts.windows(2).map(|ends| (ends[1] - ends[0]) as u32).collect())
        })
    }

    pub(super) fn with_columns<T>(
        &self,
        group: usize,
        read: impl FnOnce(&Columns<'_>) -> Result<T, ReadError>,
    ) -> Result<T, DataError> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        guarded(&self.path, || {
            let reader = self.file.get_row_group(group).map_err(DataError::parquet(&self.path))?;
            read(&Columns { group: reader.as_ref(), schema }).map_err(|error| match error {
                ReadError::Column(source) => DataError::Parquet { path: self.path.clone(), source },
                ReadError::Row(row, what) => {
                    let groups = self.file.metadata().row_groups();
                    let before: i64 = groups[..group].iter().map(|g| g.num_rows()).sum();
                    DataError::Row { path: self.path.clone(), row: before as u64 + row as u64, what }
                }
            })
        })
    }
}

/// Runs a call into the parquet library, which panics on some damaged files.
fn guarded<T>(path: &Path, call: impl FnOnce() -> Result<T, DataError>) -> Result<T, DataError> {
    // Nothing outlives a panic: what the call works on is the file and what it returns.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        let what = "damaged: the parquet library failed on it".to_owned();
        Err(DataError::Schema { path: path.to_owned(), what })
    })
}

/// Reads a whole shard.
///
/// # Errors
/// As [`ShardReader::open`] and [`ShardReader::read_group`].
pub fn read_shard<R: Row>(path: &Path) -> Result<Shard<R>, DataError> {
    let reader = ShardReader::open::<R>(path)?;
    let mut rows = Vec::new();
    for group in 0..reader.groups() {
        rows.append(&mut reader.read_group(group)?);
    }
    Ok(Shard { meta: reader.meta, rows })
}

/// Reads a shard of games.
///
/// # Errors
/// As [`read_shard`].
pub fn read_games(path: &Path) -> Result<Shard<GameRow>, DataError> {
    read_shard(path)
}

/// Reads a shard of positions.
///
/// # Errors
/// As [`read_shard`].
pub fn read_positions(path: &Path) -> Result<Shard<PositionRow>, DataError> {
    read_shard(path)
}

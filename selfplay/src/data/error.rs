//! Errors of reading and writing shards.

use std::path::PathBuf;

use parquet::errors::ParquetError;
use thiserror::Error;

/// A shard could not be read or written.
#[derive(Debug, Error)]
pub enum DataError {
    /// The file system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not a parquet file, a truncated one, or one with damaged pages.
    #[error("{}: not a complete parquet file: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ParquetError,
    },
    /// A parquet file, but not a shard this program can read.
    #[error("{}: {what}", path.display())]
    Schema {
        /// The file.
        path: PathBuf,
        /// What was found and what was expected.
        what: String,
    },
    /// A row that means nothing.
    #[error("{}: row {row}: {what}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// Row in the file, from 0.
        row: u64,
        /// What was found and what was expected.
        what: String,
    },
}

impl DataError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> DataError {
        let path = path.into();
        move |source| DataError::Io { path, source }
    }

    pub(crate) fn parquet(path: impl Into<PathBuf>) -> impl FnOnce(ParquetError) -> DataError {
        let path = path.into();
        move |source| match source {
            // What the file system refused is no fault of the file's.
            ParquetError::External(error) => match error.downcast::<std::io::Error>() {
                Ok(source) => DataError::Io { path, source: *source },
                Err(other) => DataError::Parquet { path, source: ParquetError::External(other) },
            },
            source => DataError::Parquet { path, source },
        }
    }
}

//! Shards to disk: written aside, synced, renamed, so that a shard is there whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::Result as ParquetResult;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::ColumnPath;

use super::checksum::{Checksum, HashingWriter};
use super::column::Columns;
use super::error::DataError;
use super::schema::{ShardKind, ShardMeta};

/// Rows in a row group…
const GROUP: usize = 32_768;
/// …except for the last, which takes up what would make a group smaller than this.
const SMALLEST_GROUP: usize = 16_384;

/// What a shard holds: [`GameRow`](super::GameRow) or [`PositionRow`](super::PositionRow).
pub trait Row: Sized + private::Columnar {
    /// The kind of shard that holds such rows.
    const KIND: ShardKind;
}

pub(super) mod private {
    use super::*;

    /// Rows to and from columns.
    pub trait Columnar: Sized {
        /// What keeps this row out of a shard of boards of so many squares, if anything does.
        fn misfit(&self, squares: usize) -> Option<String>;
        /// Writes the rows as one row group, columns in the order of the schema.
        fn write_group(
            rows: &[Self],
            meta: &ShardMeta,
            group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
        ) -> ParquetResult<()>;
        /// Reads one row group; `Err` of a row names it.
        fn read_group(columns: &Columns<'_>, meta: &ShardMeta) -> Result<Vec<Self>, ReadError>;
    }

    /// Why a row group could not be read.
    pub enum ReadError {
        /// A column could not.
        Column(parquet::errors::ParquetError),
        /// This row of the group means nothing.
        Row(usize, String),
    }

    impl From<parquet::errors::ParquetError> for ReadError {
        fn from(error: parquet::errors::ParquetError) -> Self {
            ReadError::Column(error)
        }
    }
}

/// Writes one shard. Nothing is at its path before [`finish`](ShardWriter::finish); a writer that is dropped leaves nothing.
pub struct ShardWriter<R: Row> {
    path: PathBuf,
    aside: PathBuf,
    meta: ShardMeta,
    /// `None` once finished.
    file: Option<SerializedFileWriter<HashingWriter<File>>>,
    rows: Vec<R>,
}

impl<R: Row> ShardWriter<R> {
    /// Starts a shard at `path`, whose folder is made if there is none. A file that is there is replaced at the end.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn create(path: &Path, meta: &ShardMeta) -> Result<ShardWriter<R>, DataError> {
        let level = ZstdLevel::try_new(3).expect("3 is a level of zstd");
        ShardWriter::start(path, meta, Compression::ZSTD(level))
    }

    /// Writes a few rows to a file that is soon to be replaced by a shard: quickly, not compressed, and so that it outlives the
    /// program but perhaps not a power cut.
    ///
    /// # Errors
    /// If the file system refuses.
    pub(crate) fn write_part(path: &Path, meta: &ShardMeta, rows: &[R]) -> Result<(), DataError> {
        let mut writer = ShardWriter::start(path, meta, Compression::UNCOMPRESSED)?;
        if !rows.is_empty() {
            writer.write_group(rows)?;
        }
        writer.complete(false).map(drop)
    }

    fn start(path: &Path, meta: &ShardMeta, compression: Compression) -> Result<ShardWriter<R>, DataError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(DataError::io(folder))?;
        }
        let aside = aside(path);
        let file = File::create(&aside).map_err(DataError::io(&aside))?;
        let file = SerializedFileWriter::new(
            HashingWriter::new(file),
            R::KIND.columns(meta.squares()),
            Arc::new(properties(R::KIND, meta, compression)),
        )
        .map_err(DataError::parquet(&aside))?;
        Ok(ShardWriter { path: path.to_owned(), aside, meta: meta.clone(), file: Some(file), rows: Vec::new() })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If the row does not fit the shard's board or its lists do not match, or if the file system refuses.
    pub fn push(&mut self, row: R) -> Result<(), DataError> {
        if let Some(what) = row.misfit(self.meta.squares()) {
            return Err(DataError::Schema { path: self.path.clone(), what });
        }
        self.rows.push(row);
        if self.rows.len() == GROUP + SMALLEST_GROUP {
            self.write_first(GROUP)?;
        }
        Ok(())
    }

    fn write_first(&mut self, count: usize) -> Result<(), DataError> {
        let mut rows = std::mem::take(&mut self.rows);
        let written = self.write_group(&rows[..count]);
        rows.drain(..count);
        self.rows = rows;
        written
    }

    fn write_group(&mut self, rows: &[R]) -> Result<(), DataError> {
        let file = self.file.as_mut().expect("the file is there until the shard is complete");
        let write = |file: &mut SerializedFileWriter<HashingWriter<File>>| -> ParquetResult<()> {
            let mut group = file.next_row_group()?;
            R::write_group(rows, &self.meta, &mut group)?;
            group.close().map(|_| ())
        };
        write(file).map_err(DataError::parquet(&self.aside))
    }

    /// Completes the shard and puts it at its path, durably. Returns its checksum.
    ///
    /// # Errors
    /// If the file system refuses; nothing is at the path then.
    pub fn finish(self) -> Result<Checksum, DataError> {
        self.complete(true)
    }

    fn complete(mut self, durable: bool) -> Result<Checksum, DataError> {
        if !self.rows.is_empty() {
            self.write_first(self.rows.len())?;
        }
        let file = self.file.take().expect("the file is there until here");
        let finish = || {
            // Writes the footer too.
            let (file, checksum) = file.into_inner().map_err(DataError::parquet(&self.aside))?.finish();
            if durable {
                file.sync_all().map_err(DataError::io(&self.aside))?;
            }
            fs::rename(&self.aside, &self.path).map_err(DataError::io(&self.path))?;
            Ok(checksum)
        };
        let checksum = finish().inspect_err(|_| remove_aside(&self.aside))?;
        if durable {
            sync_folder(&self.path)?;
        }
        Ok(checksum)
    }
}

/// Where a file is written before it is renamed to `path`.
pub(super) fn aside(path: &Path) -> PathBuf {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".tmp");
    PathBuf::from(aside)
}

/// Removes what an error left over. Nothing reads it, so failing to remove it harms nobody.
pub(super) fn remove_aside(aside: &Path) {
    let _ = fs::remove_file(aside);
}

impl<R: Row> Drop for ShardWriter<R> {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            remove_aside(&self.aside);
        }
    }
}

/// Makes the entry of a file in its folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), DataError> {
    // Only Unix can open a folder to sync it; elsewhere the rename itself is what there is.
    if cfg!(unix) {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(DataError::io(folder))?;
    }
    Ok(())
}

fn properties(kind: ShardKind, meta: &ShardMeta, compression: Compression) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(meta.to_key_values(kind)));
    if kind == ShardKind::Positions {
        // Consecutive rows differ in a few bytes, which zstd sees and a dictionary would hide. The bytes of
        // probabilities compress better side by side.
        for name in ["board", "survives", "state", "moves.list.element"] {
            builder = builder.set_column_dictionary_enabled(column(name), false);
        }
        for name in ["policy.list.element", "search_wdl.list.element", "search_value"] {
            builder = builder
                .set_column_dictionary_enabled(column(name), false)
                .set_column_encoding(column(name), Encoding::BYTE_STREAM_SPLIT);
        }
        // The smallest and the largest board tell nobody anything.
        for name in ["board", "survives", "state", "moves.list.element", "policy.list.element"] {
            builder = builder.set_column_statistics_enabled(column(name), EnabledStatistics::None);
        }
    }
    builder.build()
}

fn column(path: &str) -> ColumnPath {
    ColumnPath::new(path.split('.').map(str::to_owned).collect())
}

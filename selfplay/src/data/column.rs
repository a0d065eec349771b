//! Columns to and from vectors: plain, optional and list ones.

use std::sync::Arc;

use parquet::basic::{Repetition, Type as Physical};
use parquet::column::reader::{ColumnReaderImpl, get_typed_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::io::Write;

/// Writes the next column of a row group: all values required.
pub(super) fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
) -> Result<()> {
    write_levels::<T>(group, values, None, None)
}

/// Writes the next column of a row group, which may hold nulls.
pub(super) fn write_optional<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    rows: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut values, mut present) = (Vec::new(), Vec::new());
    for row in rows {
        present.push(i16::from(row.is_some()));
        values.extend(row);
    }
    write_levels::<T>(group, &values, Some(&present), None)
}

/// Writes the next column of a row group, a list of required values in each row.
pub(super) fn write_lists<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    rows: impl Iterator<Item = impl IntoIterator<Item = T::T>>,
) -> Result<()> {
    let (mut values, mut present, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let before = values.len();
        values.extend(row);
        let length = values.len() - before;
        // An empty list is one entry that holds nothing.
        present.extend(std::iter::repeat_n(i16::from(length > 0), length.max(1)));
        repeated.push(0);
        repeated.extend(std::iter::repeat_n(1, length.saturating_sub(1)));
    }
    write_levels::<T>(group, &values, Some(&present), Some(&repeated))
}

fn write_levels<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    values: &[T::T],
    present: Option<&[i16]>,
    repeated: Option<&[i16]>,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("too many columns".to_owned()))?;
    column.typed::<T>().write_batch(values, present, repeated)?;
    column.close()
}

/// A list column: all values, and where each row's begin (one more entry than rows).
pub(super) struct Lists<V> {
    pub(super) values: Vec<V>,
    pub(super) starts: Vec<usize>,
}

impl<V> Lists<V> {
    pub(super) fn row(&self, row: usize) -> &[V] {
        &self.values[self.starts[row]..self.starts[row + 1]]
    }
}

/// What a column must look like to be read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Required,
    Optional,
    List,
}

/// The columns of one row group, found by name.
pub struct Columns<'a> {
    pub(super) group: &'a dyn RowGroupReader,
    pub(super) schema: &'a SchemaDescriptor,
}

impl Columns<'_> {
    fn rows(&self) -> Result<usize> {
        usize::try_from(self.group.metadata().num_rows())
            .map_err(|_| ParquetError::General("a negative number of rows".to_owned()))
    }

    fn open<T: DataType>(&self, name: &str, shape: Shape) -> Result<ColumnReaderImpl<T>> {
        let index = find(self.schema, name, T::get_physical_type(), shape).map_err(ParquetError::General)?;
        Ok(get_typed_column_reader::<T>(self.group.get_column_reader(index)?))
    }

    /// A column without nulls.
    pub(super) fn required<T: DataType>(&self, name: &str) -> Result<Vec<T::T>> {
        let mut values = Vec::new();
        let rows = self.rows()?;
        let (records, ..) = self.open::<T>(name, Shape::Required)?.read_records(rows, None, None, &mut values)?;
        self.expect_rows(name, records, values.len() == rows)?;
        Ok(values)
    }

    /// A column with nulls.
    pub(super) fn optional<T: DataType>(&self, name: &str) -> Result<Vec<Option<T::T>>> {
        let (mut values, mut present) = (Vec::new(), Vec::new());
        let rows = self.rows()?;
        let (records, ..) =
            self.open::<T>(name, Shape::Optional)?.read_records(rows, Some(&mut present), None, &mut values)?;
        let held = present.iter().filter(|&&level| level == 1).count();
        self.expect_rows(name, records, present.len() == rows && held == values.len())?;
        let mut values = values.into_iter();
        Ok(present.iter().map(|&level| if level == 1 { values.next() } else { None }).collect())
    }

    /// A column of lists of values, none of them null.
    pub(super) fn lists<T: DataType>(&self, name: &str) -> Result<Lists<T::T>> {
        let (mut values, mut present, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        let rows = self.rows()?;
        let (records, ..) = self.open::<T>(name, Shape::List)?.read_records(
            rows,
            Some(&mut present),
            Some(&mut repeated),
            &mut values,
        )?;
        let (mut starts, mut seen) = (Vec::new(), 0);
        for (&level, &repetition) in present.iter().zip(&repeated) {
            if repetition == 0 {
                starts.push(seen);
            }
            seen += usize::from(level == 1);
        }
        starts.push(seen);
        self.expect_rows(name, records, starts.len() == rows + 1 && seen == values.len())?;
        Ok(Lists { values, starts })
    }

    fn expect_rows(&self, name: &str, found: usize, complete: bool) -> Result<()> {
        let rows = self.rows()?;
        if found == rows && complete {
            return Ok(());
        }
        Err(ParquetError::General(format!("column `{name}` ends after {found} of {rows} rows")))
    }
}

/// The number of the column `name`, or what is wrong with it.
pub(super) fn find(
    schema: &SchemaDescriptor,
    name: &str,
    physical: Physical,
    shape: Shape,
) -> std::result::Result<usize, String> {
    let columns: &[Arc<ColumnDescriptor>] = schema.columns();
    let index = columns
        .iter()
        .position(|column| column.path().parts().first().is_some_and(|part| part == name))
        .ok_or_else(|| format!("no column `{name}`"))?;
    let column = &columns[index];
    let found = match (column.max_def_level(), column.max_rep_level()) {
        (0, 0) => Some(Shape::Required),
        (1, 0) if column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL => Some(Shape::Optional),
        (1, 1) => Some(Shape::List),
        _ => None,
    };
    if column.physical_type() != physical || found != Some(shape) {
        return Err(format!("column `{name}` has another type than version 1 of the schema gives it"));
    }
    Ok(index)
}

//! Positions without their moves and policies, which are most of a shard.

use parquet::data_type::{FixedLenByteArrayType, FloatType, Int32Type, Int64Type};

use super::column::Columns;
use super::error::DataError;
use super::reader::ShardReader;
use super::schema::ShardMeta;
use super::writer::private::ReadError;

/// Columns of a row group of positions, an entry a row: what stands on the board and what became of it. A column means
/// what the field of the same name means in a `PositionRow`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PositionColumns {
    /// Squares of the board.
    pub squares: usize,
    /// The game of each row.
    pub game_id: Vec<u64>,
    /// Plies played before it.
    pub ply: Vec<u16>,
    /// The boards one after the other, `squares` bytes each.
    pub boards: Vec<u8>,
    /// 0 Black, 1 White.
    pub side_to_move: Vec<u8>,
    /// What the board does not show.
    pub state: Vec<[u8; 8]>,
    /// Win, draw and loss by the search, for the side to move.
    pub search_wdl: Vec<[f32; 3]>,
    /// How the game ended, for the side to move.
    pub outcome: Vec<Option<i8>>,
}

impl PositionColumns {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.game_id.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.game_id.is_empty()
    }

    /// Board of a row.
    pub fn board(&self, row: usize) -> &[u8] {
        &self.boards[row * self.squares..][..self.squares]
    }

    fn read(columns: &Columns<'_>, meta: &ShardMeta) -> Result<PositionColumns, ReadError> {
        let squares = meta.squares();
        let boards = columns.required::<FixedLenByteArrayType>("board")?;
        let states = columns.required::<FixedLenByteArrayType>("state")?;
        let wdl = columns.lists::<FloatType>("search_wdl")?;
        let outcomes = columns.optional::<Int32Type>("outcome")?;
        let plies = columns.required::<Int32Type>("ply")?;
        let sides = columns.required::<Int32Type>("side_to_move")?;
        let mut read = PositionColumns {
            squares,
            game_id: columns.required::<Int64Type>("game_id")?.into_iter().map(|id| id as u64).collect(),
            boards: Vec::with_capacity(squares * boards.len()),
            ..PositionColumns::default()
        };
        let most_code = 2 * meta.kinds.len();
        for row in 0..read.len() {
            let fail = |what: String| ReadError::Row(row, what);
            let board = boards[row].data();
            if board.len() != squares || board.iter().any(|&code| code as usize > most_code) {
                return Err(fail(format!("board: expected {squares} codes of at most {most_code}")));
            }
            read.boards.extend_from_slice(board);
            read.ply.push(u16::try_from(plies[row]).map_err(|_| fail(format!("ply {}", plies[row])))?);
            read.side_to_move.push(match sides[row] {
                side @ 0..=1 => side as u8,
                side => return Err(fail(format!("side_to_move {side}, expected 0 or 1"))),
            });
            let state = states[row].data().try_into();
            read.state.push(state.map_err(|_| fail("state: expected 8 bytes".to_owned()))?);
            let found = wdl.row(row);
            let three = found.try_into().map_err(|_| fail(format!("search_wdl: {} values, expected 3", found.len())));
            read.search_wdl.push(three?);
            read.outcome.push(match outcomes[row] {
                None => None,
                Some(outcome @ -1..=1) => Some(outcome as i8),
                Some(other) => return Err(fail(format!("outcome {other}, expected -1, 0, 1 or null"))),
            });
        }
        Ok(read)
    }
}

impl ShardReader {
    /// The boards and results of one row group of a shard of positions; moves and policies stay on the disk.
    ///
    /// # Errors
    /// As [`ShardReader::read_group`].
    pub fn read_position_columns(&self, group: usize) -> Result<PositionColumns, DataError> {
        self.with_columns(group, |columns| PositionColumns::read(columns, self.meta()))
    }
}

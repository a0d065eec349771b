//! Rows to columns and back, in the order of the schema.

use std::io::Write;

use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, FloatType, Int32Type, Int64Type,
};
use parquet::errors::Result as ParquetResult;
use parquet::file::writer::SerializedRowGroupWriter;

use super::column::{self, Columns};
use super::row::{GameResult, GameRow, PositionRow};
use super::schema::{ShardKind, ShardMeta};
use super::writer::Row;
use super::writer::private::{Columnar, ReadError};

impl Row for GameRow {
    const KIND: ShardKind = ShardKind::Games;
}

impl Row for PositionRow {
    const KIND: ShardKind = ShardKind::Positions;
}

fn collect<R, T>(rows: &[R], value: impl Fn(&R) -> T) -> Vec<T> {
    rows.iter().map(value).collect()
}

fn text(value: &str) -> ByteArray {
    ByteArray::from(value)
}

fn bytes(value: &[u8]) -> FixedLenByteArray {
    ByteArray::from(value).into()
}

impl Columnar for GameRow {
    fn misfit(&self, _squares: usize) -> Option<String> {
        let moves = self.moves.len();
        (moves != self.plies as usize).then(|| format!("game {}: {} plies but {moves} moves", self.game_id, self.plies))
    }

    fn write_group(
        rows: &[Self],
        _meta: &ShardMeta,
        group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> ParquetResult<()> {
        column::write::<Int64Type>(group, &collect(rows, |r| r.game_id as i64))?;
        column::write::<Int32Type>(group, &collect(rows, |r| r.generation as i32))?;
        column::write::<ByteArrayType>(group, &collect(rows, |r| text(&r.variant)))?;
        column::write::<ByteArrayType>(group, &collect(rows, |r| text(&r.ruleset)))?;
        column::write::<Int64Type>(group, &collect(rows, |r| r.seed as i64))?;
        column::write::<ByteArrayType>(group, &collect(rows, |r| text(&r.opening_sfen)))?;
        column::write_lists::<ByteArrayType>(group, rows.iter().map(|r| r.moves.iter().map(|m| text(m))))?;
        column::write_optional::<ByteArrayType>(group, rows.iter().map(|r| r.result.map(|x| text(x.as_str()))))?;
        column::write::<ByteArrayType>(group, &collect(rows, |r| text(&r.reason)))?;
        column::write::<Int32Type>(group, &collect(rows, |r| r.plies as i32))?;
        column::write::<ByteArrayType>(group, &collect(rows, |r| text(&r.black_network)))?;
        column::write::<ByteArrayType>(group, &collect(rows, |r| text(&r.white_network)))?;
        column::write::<ByteArrayType>(group, &collect(rows, |r| text(&r.search)))
    }

    fn read_group(columns: &Columns<'_>, _meta: &ShardMeta) -> Result<Vec<Self>, ReadError> {
        let game_id = columns.required::<Int64Type>("game_id")?;
        let generation = columns.required::<Int32Type>("generation")?;
        let variant = texts(columns, "variant")?;
        let ruleset = texts(columns, "ruleset")?;
        let seed = columns.required::<Int64Type>("seed")?;
        let opening_sfen = texts(columns, "opening_sfen")?;
        let moves = columns.lists::<ByteArrayType>("moves")?;
        let result = columns.optional::<ByteArrayType>("result")?;
        let reason = texts(columns, "reason")?;
        let plies = columns.required::<Int32Type>("plies")?;
        let black_network = texts(columns, "black_network")?;
        let white_network = texts(columns, "white_network")?;
        let search = texts(columns, "search")?;
        let row = |i: usize| -> Result<GameRow, String> {
            let result = match &result[i] {
                None => None,
                Some(found) => Some(utf8("result", found).and_then(|text| {
                    GameResult::parse(&text).ok_or(format!("result `{text}`, expected black, white, draw or null"))
                })?),
            };
            let moves = moves.row(i).iter().map(|m| utf8("moves", m)).collect::<Result<Vec<_>, _>>()?;
            if moves.len() != plies[i] as u32 as usize {
                return Err(format!("{} plies but {} moves", plies[i] as u32, moves.len()));
            }
            Ok(GameRow {
                game_id: game_id[i] as u64,
                generation: generation[i] as u32,
                variant: variant[i].clone(),
                ruleset: ruleset[i].clone(),
                seed: seed[i] as u64,
                opening_sfen: opening_sfen[i].clone(),
                moves,
                result,
                reason: reason[i].clone(),
                plies: plies[i] as u32,
                black_network: black_network[i].clone(),
                white_network: white_network[i].clone(),
                search: search[i].clone(),
            })
        };
        (0..game_id.len()).map(|i| row(i).map_err(|what| ReadError::Row(i, what))).collect()
    }
}

fn utf8(name: &str, value: &ByteArray) -> Result<String, String> {
    value.as_utf8().map(str::to_owned).map_err(|_| format!("column `{name}` is not UTF-8"))
}

fn texts(columns: &Columns<'_>, name: &str) -> Result<Vec<String>, ReadError> {
    let values = columns.required::<ByteArrayType>(name)?;
    let text = |(i, value)| utf8(name, value).map_err(|what| ReadError::Row(i, what));
    values.iter().enumerate().map(text).collect()
}

impl Columnar for PositionRow {
    fn misfit(&self, squares: usize) -> Option<String> {
        let lengths = [self.board.len(), self.survives.len()];
        let what = if lengths != [squares; 2] {
            format!("a board of {} and marks of {} squares, expected {squares}", lengths[0], lengths[1])
        } else if self.moves.len() != self.policy.len() {
            format!("{} moves but {} probabilities", self.moves.len(), self.policy.len())
        } else if self.played as usize >= self.moves.len() {
            format!("move {} of {} was played", self.played, self.moves.len())
        } else {
            return None;
        };
        Some(format!("game {}, ply {}: {what}", self.game_id, self.ply))
    }

    fn write_group(
        rows: &[Self],
        meta: &ShardMeta,
        group: &mut SerializedRowGroupWriter<'_, impl Write + Send>,
    ) -> ParquetResult<()> {
        column::write::<Int64Type>(group, &collect(rows, |r| r.game_id as i64))?;
        column::write::<Int32Type>(group, &collect(rows, |r| r.ply.into()))?;
        column::write::<Int32Type>(group, &collect(rows, |r| r.generation as i32))?;
        column::write::<ByteArrayType>(group, &vec![text(&meta.variant); rows.len()])?;
        column::write::<FixedLenByteArrayType>(group, &collect(rows, |r| bytes(&r.board)))?;
        column::write::<Int32Type>(group, &collect(rows, |r| r.side_to_move.into()))?;
        column::write::<FixedLenByteArrayType>(group, &collect(rows, |r| bytes(&r.state)))?;
        column::write_lists::<Int32Type>(group, rows.iter().map(|r| r.moves.iter().map(|&m| m as i32)))?;
        column::write_lists::<FloatType>(group, rows.iter().map(|r| r.policy.iter().copied()))?;
        column::write::<Int32Type>(group, &collect(rows, |r| r.played as i32))?;
        column::write::<FloatType>(group, &collect(rows, |r| r.search_value))?;
        column::write_lists::<FloatType>(group, rows.iter().map(|r| r.search_wdl))?;
        column::write::<BoolType>(group, &collect(rows, |r| r.full_search))?;
        column::write_optional::<Int32Type>(group, rows.iter().map(|r| r.outcome.map(i32::from)))?;
        column::write::<Int32Type>(group, &collect(rows, |r| r.plies_left.into()))?;
        column::write::<FixedLenByteArrayType>(group, &collect(rows, |r| bytes(&r.survives)))
    }

    fn read_group(columns: &Columns<'_>, meta: &ShardMeta) -> Result<Vec<Self>, ReadError> {
        let game_id = columns.required::<Int64Type>("game_id")?;
        let ply = columns.required::<Int32Type>("ply")?;
        let generation = columns.required::<Int32Type>("generation")?;
        let board = columns.required::<FixedLenByteArrayType>("board")?;
        let side_to_move = columns.required::<Int32Type>("side_to_move")?;
        let state = columns.required::<FixedLenByteArrayType>("state")?;
        let moves = columns.lists::<Int32Type>("moves")?;
        let policy = columns.lists::<FloatType>("policy")?;
        let played = columns.required::<Int32Type>("played")?;
        let search_value = columns.required::<FloatType>("search_value")?;
        let search_wdl = columns.lists::<FloatType>("search_wdl")?;
        let full_search = columns.required::<BoolType>("full_search")?;
        let outcome = columns.optional::<Int32Type>("outcome")?;
        let plies_left = columns.required::<Int32Type>("plies_left")?;
        let survives = columns.required::<FixedLenByteArrayType>("survives")?;
        let row = |i: usize| -> Result<PositionRow, String> {
            let found = search_wdl.row(i).len();
            let row = PositionRow {
                game_id: game_id[i] as u64,
                ply: small("ply", ply[i])?,
                generation: generation[i] as u32,
                board: board[i].data().to_vec(),
                side_to_move: small::<u8>("side_to_move", side_to_move[i]).and_then(|side| {
                    if side < 2 { Ok(side) } else { Err(format!("side_to_move {side}, expected 0 or 1")) }
                })?,
                state: state[i].data().try_into().map_err(|_| "state: expected 8 bytes".to_owned())?,
                moves: moves.row(i).iter().map(|&m| m as u32).collect(),
                policy: policy.row(i).to_vec(),
                played: played[i] as u32,
                search_value: search_value[i],
                search_wdl: search_wdl
                    .row(i)
                    .try_into()
                    .map_err(|_| format!("search_wdl: {found} values, expected 3"))?,
                full_search: full_search[i],
                outcome: match outcome[i] {
                    None => None,
                    Some(outcome @ -1..=1) => Some(outcome as i8),
                    Some(other) => return Err(format!("outcome {other}, expected -1, 0, 1 or null")),
                },
                plies_left: small("plies_left", plies_left[i])?,
                survives: survives[i].data().to_vec(),
            };
            match row.misfit(meta.squares()) {
                Some(what) => Err(what),
                None => Ok(row),
            }
        };
        (0..game_id.len()).map(|i| row(i).map_err(|what| ReadError::Row(i, what))).collect()
    }
}

fn small<T: TryFrom<i32>>(name: &str, value: i32) -> Result<T, String> {
    T::try_from(value).map_err(|_| format!("{name} {value} is out of range"))
}

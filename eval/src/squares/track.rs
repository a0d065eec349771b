//! All positions at rest in little memory, and the regressions that are made of them.

use engine::{Color, Piece, PieceKind, Square, Variant};

use crate::design::{Design, DesignBuilder};
use crate::phase::Phase;
use crate::rest::Rest;
use crate::values::ValuesError;

/// The cells of a kind: squares as the owner sees them, those of a kind that moves alike to both sides folded left to right.
pub(crate) struct Cells {
    pub(crate) kind: PieceKind,
    pub(crate) folded: bool,
    /// The square that names each cell; for a folded cell the one on the owner's right.
    pub(crate) squares: Vec<Square>,
    /// Cell of each square as the owner sees it.
    of_square: Vec<u16>,
}

impl Cells {
    pub(crate) fn of(variant: &Variant, kind: PieceKind) -> Cells {
        let (files, folded) = (variant.files(), variant.is_symmetric(kind));
        // The named half is on the right, that is at the higher column.
        let named = |square: usize| {
            let (rank, column) = (square / files, square % files);
            rank * files + if folded { column.max(files - 1 - column) } else { column }
        };
        let squares: Vec<usize> = (0..variant.squares()).filter(|&square| named(square) == square).collect();
        let cell = |square| squares.binary_search(&named(square)).expect("a square is named by one that names a cell");
        Cells {
            kind,
            folded,
            of_square: (0..variant.squares()).map(|square| cell(square) as u16).collect(),
            squares: squares.into_iter().map(Square::new).collect(),
        }
    }

    fn cell(&self, square: u16, color: Color) -> usize {
        let square = match color {
            Color::Black => usize::from(square),
            Color::White => self.of_square.len() - 1 - usize::from(square),
        };
        self.of_square[square].into()
    }
}

struct Row {
    game: u64,
    phase: Phase,
    response: f32,
    /// Where its changes end; they begin where those of the row before end.
    end: usize,
}

/// Positions at rest, each kept as what differs from the one before in its game: about 40 bytes, a board has 81 to 289.
pub(crate) struct Track {
    rows: Vec<Row>,
    /// (square, code of what stands there now).
    changes: Vec<(u16, u8)>,
    /// The board of the last row.
    board: Vec<u8>,
}

impl Track {
    pub(crate) fn new(variant: &Variant) -> Track {
        Track { rows: Vec::new(), changes: Vec::new(), board: vec![0; variant.squares()] }
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows.len() as u64
    }

    pub(crate) fn push(&mut self, rest: &Rest<'_>, response: f32) {
        if self.rows.last().is_none_or(|row| row.game != rest.game) {
            self.board.fill(0);
        }
        for (square, (old, &new)) in self.board.iter_mut().zip(rest.board).enumerate() {
            if *old != new {
                *old = new;
                self.changes.push((square as u16, new));
            }
        }
        self.rows.push(Row { game: rest.game, phase: rest.phase, response, end: self.changes.len() });
    }

    /// The rows of a regression on the difference of each of `features` features, where `groups[kind]` is the feature of
    /// a kind; then the constant; then, if there are cells, the difference in each of them, which take the place of their
    /// kind's feature. Every game weighs 1. Also gives the shares of the time that pieces of the kind stand on each cell.
    pub(crate) fn design(
        &self,
        features: usize,
        groups: &[usize],
        cells: Option<&Cells>,
    ) -> Result<(Design, Vec<f64>), ValuesError> {
        let of_kind = cells.map_or(0, |cells| cells.squares.len());
        let first_cell = features + 1;
        let mut columns = Columns {
            values: vec![0; first_cell + of_kind],
            occupied: vec![0; of_kind],
            own: cells.map(|cells| groups[cells.kind.index()]),
        };
        let mut runs = Runs {
            builder: DesignBuilder::new(first_cell + of_kind),
            game: 0,
            phase: Phase::Opening,
            entries: Vec::new(),
            sum: 0.0,
            rows: 0,
            rows_of_game: 0,
            time_of_game: vec![0.0; of_kind],
            time: vec![0.0; of_kind],
        };
        let mut board = vec![0u8; self.board.len()];
        let mut entries = Vec::new();
        let (mut start, mut game) = (0, None);
        for row in &self.rows {
            if game != Some(row.game) {
                board.fill(0);
                columns.clear();
                columns.values[features] = 1;
                game = Some(row.game);
            }
            for &(square, code) in &self.changes[start..row.end] {
                let old = std::mem::replace(&mut board[usize::from(square)], code);
                for (code, by) in [(old, -1), (code, 1)] {
                    let Some(piece) = Piece::from_code(code) else { continue };
                    let sign = if piece.color == Color::Black { by } else { -by };
                    columns.values[groups[piece.kind.index()]] += sign;
                    if let Some(cells) = cells.filter(|cells| cells.kind == piece.kind) {
                        let cell = cells.cell(square, piece.color);
                        columns.values[first_cell + cell] += sign;
                        columns.occupied[cell] += by;
                    }
                }
            }
            start = row.end;
            columns.entries(&mut entries);
            runs.push(row, &mut entries, &columns.occupied)?;
        }
        runs.finish()
    }
}

/// What the regression knows of a position.
struct Columns {
    values: Vec<i16>,
    /// Pieces of the kind on each cell.
    occupied: Vec<i16>,
    /// The feature that cells take the place of.
    own: Option<usize>,
}

impl Columns {
    fn clear(&mut self) {
        self.values.fill(0);
        self.occupied.fill(0);
    }

    fn entries(&self, out: &mut Vec<(u16, i16)>) {
        let nonzero = self.values.iter().enumerate().filter(|&(column, &value)| value != 0 && self.own != Some(column));
        out.clear();
        out.extend(nonzero.map(|(column, &value)| (column as u16, value)));
    }
}

/// Joins rows of a game that follow one another and differ in the response alone: their mean with their weight together
/// has the same estimate and errors.
struct Runs {
    builder: DesignBuilder,
    game: u64,
    phase: Phase,
    entries: Vec<(u16, i16)>,
    sum: f64,
    rows: u32,
    rows_of_game: u32,
    /// Positions that pieces stood on each cell in, in this game and as shares in all before.
    time_of_game: Vec<f64>,
    time: Vec<f64>,
}

impl Runs {
    fn push(&mut self, row: &Row, entries: &mut Vec<(u16, i16)>, occupied: &[i16]) -> Result<(), ValuesError> {
        let goes_on = row.game == self.game && row.phase == self.phase && *entries == self.entries;
        if self.rows > 0 && !goes_on {
            self.end_run()?;
        }
        if row.game != self.game {
            self.end_game();
        }
        if self.rows == 0 {
            (self.game, self.phase) = (row.game, row.phase);
            std::mem::swap(&mut self.entries, entries);
        }
        self.sum += f64::from(row.response);
        self.rows += 1;
        self.rows_of_game += 1;
        self.time_of_game.iter_mut().zip(occupied).for_each(|(time, &pieces)| *time += f64::from(pieces));
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), ValuesError> {
        let (game, rows) = (self.game, f64::from(self.rows));
        let pushed = self.builder.push_in(self.phase as u8, game, &self.entries, self.sum / rows, rows);
        (self.sum, self.rows) = (0.0, 0);
        pushed.map_err(|source| ValuesError::Row { game, source })
    }

    fn end_game(&mut self) {
        let rows = f64::from(self.rows_of_game.max(1));
        for (time, of_game) in self.time.iter_mut().zip(&mut self.time_of_game) {
            *time += std::mem::take(of_game) / rows;
        }
        self.rows_of_game = 0;
    }

    fn finish(mut self) -> Result<(Design, Vec<f64>), ValuesError> {
        if self.rows > 0 {
            self.end_run()?;
        }
        self.end_game();
        let mut design = self.builder.finish();
        design.weight_clusters_equally();
        let all: f64 = self.time.iter().sum();
        Ok((design, self.time.iter().map(|time| if all > 0.0 { time / all } else { 0.0 }).collect()))
    }
}

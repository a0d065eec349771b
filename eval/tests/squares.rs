//! Values by square from shards made by hand: boards on which pieces stand anywhere, and judgements and outcomes that know
//! what each is worth where it stands.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use engine::{Board, Color, Piece, PieceKind, Square, Variant};
use eval::judge::{Judge, Recorded};
use eval::measure::by_outcome;
use eval::reference::ReferenceTable;
use eval::squares::{Kinds, KindsError, SquareTable, SquareValue, Squares, measure_squares, newest};
use eval::values::{Unit, ValuesConfig};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::data::{PositionRow, ShardMeta, ShardPair, ShardWriter, find_shards};
use tempfile::TempDir;

/// Pieces a side has or has not, with their worth in logits wherever they stand.
const OTHERS: [(&str, f64); 4] = [("rook", 0.9), ("bishop", 0.7), ("gold_general", 0.5), ("pawn", 0.2)];

/// Pieces of the measured kind a side has at most; at least one. With equal numbers only differences would be known.
const PIECES: u64 = 3;

/// How games are made. Squares are told as (file, rank), both from 1, as the piece's owner sees them.
#[derive(Clone, Copy)]
struct Made {
    variant: &'static str,
    kind: &'static str,
    games: u64,
    /// Whether pieces move within a game; if not, the outcome has the odds of the only position.
    moves: bool,
    /// Standard deviation of the error of a judgement that a whole game shares, and that of each position.
    noise: [f64; 2],
    /// Worth in logits.
    worth: fn(usize, usize) -> f64,
    /// Whether pieces stand there at all.
    stands: fn(usize, usize) -> bool,
    /// Turns the board by half a turn and changes the colours.
    swapped: bool,
    seed: u64,
}

const MADE: Made = Made {
    variant: "sho",
    kind: "silver_general",
    games: 1000,
    moves: true,
    noise: [0.3, 0.2],
    worth: |file, rank| 0.2 + 0.03 * rank as f64 - 0.02 * file.abs_diff(5) as f64,
    stands: |_, _| true,
    swapped: false,
    seed: 1,
};

fn file_rank(board: Board, square: usize) -> (usize, usize) {
    let name = board.name(Square::new(square));
    let digits = name.len() - 1;
    (name[..digits].parse().unwrap(), usize::from(name.as_bytes()[digits] - b'a') + 1)
}

struct Player {
    variant: Arc<Variant>,
    made: Made,
    rng: Xoshiro256PlusPlus,
}

impl Player {
    fn kind(&self, id: &str) -> PieceKind {
        self.variant.kind_by_id(id).unwrap()
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0
    }

    fn seen(&self, square: usize, color: Color) -> (usize, usize) {
        let squares = self.variant.squares();
        let own = if color == Color::Black { square } else { squares - 1 - square };
        file_rank(self.variant.board(), own)
    }

    fn put(&mut self, board: &mut [u8], piece: Piece) {
        loop {
            let square = self.rng.random_range(0..board.len() as u64) as usize;
            let (file, rank) = self.seen(square, piece.color);
            if board[square] == 0
                && (OTHERS.iter().any(|(id, _)| self.kind(id) == piece.kind) || (self.made.stands)(file, rank))
            {
                board[square] = piece.code();
                return;
            }
        }
    }

    fn eta(&self, board: &[u8]) -> f64 {
        let own = self.kind(self.made.kind);
        let pieces = board.iter().enumerate().filter_map(|(square, &code)| Some((square, Piece::from_code(code)?)));
        let worth = |(square, piece): (usize, Piece)| {
            let (file, rank) = self.seen(square, piece.color);
            let other = || OTHERS.iter().find(|(id, _)| self.kind(id) == piece.kind).unwrap().1;
            let worth = if piece.kind == own { (self.made.worth)(file, rank) } else { other() };
            if piece.color == Color::Black { worth } else { -worth }
        };
        pieces.map(worth).sum()
    }

    /// The rows of a game.
    fn play(&mut self, game: u64) -> Vec<PositionRow> {
        let own = self.kind(self.made.kind);
        let mut board = vec![0; self.variant.squares()];
        for color in [Color::Black, Color::White] {
            let pieces = self.rng.random_range(1..=PIECES);
            (0..pieces).for_each(|_| self.put(&mut board, Piece { color, kind: own }));
            for (id, _) in OTHERS {
                if self.rng.random::<f64>() < 0.5 {
                    let kind = self.kind(id);
                    self.put(&mut board, Piece { color, kind });
                }
            }
        }
        let shared = self.made.noise[0] * self.normal();
        let black_wins = self.rng.random::<f64>() < 1.0 / (1.0 + (-self.eta(&board)).exp());
        let mut rows = Vec::new();
        for ply in 0..7u16 {
            if self.made.moves && ply > 0 {
                let is_own = |square: &usize| Piece::from_code(board[*square]).is_some_and(|piece| piece.kind == own);
                let from: Vec<usize> = (0..board.len()).filter(is_own).collect();
                let from = from[self.rng.random_range(0..from.len() as u64) as usize];
                let piece = Piece::from_code(std::mem::take(&mut board[from])).unwrap();
                self.put(&mut board, piece);
            }
            let logit = self.eta(&board) + shared + self.made.noise[1] * self.normal();
            rows.push(self.row(game, ply, &board, logit, black_wins));
        }
        rows
    }

    /// `logit` is Black's.
    fn row(&self, game: u64, ply: u16, board: &[u8], logit: f64, black_wins: bool) -> PositionRow {
        let black_to_move = ply.is_multiple_of(2);
        let win = 1.0 / (1.0 + if black_to_move { -logit } else { logit }.exp());
        let mut row = PositionRow {
            game_id: game,
            ply,
            board: board.to_vec(),
            side_to_move: u8::from(!black_to_move),
            state: [0xff, 0xff, 1, 0, 0, 0, 0, 0],
            moves: vec![0],
            policy: vec![1.0],
            search_wdl: [win as f32, 0.0, (1.0 - win) as f32],
            survives: vec![0; board.len()],
            outcome: Some(if black_wins == black_to_move { 1 } else { -1 }),
            ..PositionRow::default()
        };
        if self.made.swapped {
            let other = |&code: &u8| {
                Piece::from_code(code).map_or(0, |piece| Piece { color: piece.color.opposite(), ..piece }.code())
            };
            row.board = board.iter().rev().map(other).collect();
            row.side_to_move = 1 - row.side_to_move;
        }
        row
    }
}

impl Made {
    fn write(self) -> Shards {
        let folder = tempfile::tempdir().unwrap();
        let variant = Variant::load(self.variant, None).unwrap();
        let mut player =
            Player { variant: variant.clone(), made: self, rng: Xoshiro256PlusPlus::seed_from_u64(self.seed) };
        // Two shards.
        for (shard, games) in [0..self.games / 2, self.games / 2..self.games].into_iter().enumerate() {
            let meta = ShardMeta::new(&variant, "made", 0, 0, "{}".to_owned());
            let path = folder.path().join(format!("positions/gen-000000/made-{shard}.parquet"));
            let mut writer = ShardWriter::<PositionRow>::create(&path, &meta).unwrap();
            games.flat_map(|game| player.play(game)).for_each(|row| writer.push(row).unwrap());
            writer.finish().unwrap();
        }
        Shards { shards: find_shards(&[folder.path().join("positions")]).unwrap(), variant, _folder: folder }
    }

    fn truth(&self, cell: &SquareValue) -> f64 {
        (self.worth)(cell.file, cell.rank)
    }
}

struct Shards {
    variant: Arc<Variant>,
    shards: Vec<ShardPair>,
    _folder: TempDir,
}

impl Shards {
    fn measure(&self, kind: &str, judge: Option<&dyn Judge>, config: &ValuesConfig) -> Squares {
        let kinds = Kinds::named(&self.variant, &[kind.to_owned()]).unwrap();
        measure_squares(&self.variant, &self.shards, &kinds, judge, None, config, 1).unwrap()
    }

    fn table(&self, kind: &str, judge: Option<&dyn Judge>, config: &ValuesConfig) -> SquareTable {
        self.measure(kind, judge, config).tables.remove(0)
    }
}

fn config() -> ValuesConfig {
    ValuesConfig { replicates: 300, min_games: 50, ..ValuesConfig::default() }
}

/// Each value that is identified lies within 3.5 standard errors of the truth; gives how many are.
fn assert_recovered(made: &Made, table: &SquareTable) -> usize {
    for cell in table.cells.iter().filter(|cell| cell.identified) {
        let (value, error) = (cell.value.unwrap(), (cell.high.unwrap() - cell.low.unwrap()) / 3.92);
        assert!((value - made.truth(cell)).abs() < 3.5 * error, "{}: {cell:?}", made.truth(cell));
    }
    table.identified()
}

/// The mean that the truth has where pieces stand.
fn mean_truth(made: &Made, table: &SquareTable) -> f64 {
    table.cells.iter().map(|cell| cell.share * made.truth(cell)).sum()
}

#[test]
fn judgements_give_the_truth_back() {
    let made = Made { games: 2000, ..MADE };
    let shards = made.write();
    let squares = shards.measure(made.kind, Some(&Recorded), &config());
    assert_eq!((squares.judge.as_deref(), squares.games, squares.unit), (Some("search"), 2000, Unit::Logit));
    // The last position of a game does not count.
    assert_eq!(squares.rows, 2000 * 6);
    let table = &squares.tables[0];
    // Five files of nine.
    assert!(table.folded && table.cells.len() == 45 && table.cells.iter().all(|cell| cell.file <= 5));
    assert_eq!((table.cells[0].square.as_str(), table.cells[44].square.as_str()), ("5a", "1i"));
    assert_eq!(assert_recovered(&made, table), 45);
    let share: f64 = table.cells.iter().map(|cell| cell.share).sum();
    assert!((share - 1.0).abs() < 1e-9);
    let mean = mean_truth(&made, table);
    assert!(table.low.unwrap() < mean && mean < table.high.unwrap(), "{mean}: {:?}", table.value);
    for cell in &table.cells {
        let difference = cell.value.unwrap() - table.value.unwrap();
        assert!((cell.difference.unwrap() - difference).abs() < 1e-9);
    }

    // Whatever the number of threads.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| shards.measure(made.kind, Some(&Recorded), &config())), squares);
    // The newest shards first, as many as needed.
    assert_eq!(newest(&shards.shards, 1).unwrap(), &shards.shards[1..]);
    assert_eq!(newest(&shards.shards, 1000 * 7 + 1).unwrap(), &shards.shards[..]);
}

#[test]
fn outcomes_give_the_truth_back_on_the_scale_of_piece_values() {
    let made = Made { games: 6000, moves: false, worth: |_, rank| 0.3 + 0.1 * rank as f64, ..MADE };
    let shards = made.write();
    let reference = ReferenceTable::default_for("sho");
    let kinds = Kinds::named(&shards.variant, &[made.kind.to_owned()]).unwrap();
    let variant = &shards.variant;
    let squares = measure_squares(variant, &shards.shards, &kinds, None, reference.as_ref(), &config(), 1).unwrap();
    let values = by_outcome(variant, &shards.shards, reference.as_ref(), &config(), 1).unwrap().values;
    assert_eq!((squares.unit, squares.games, squares.rows), (Unit::Reference, values.games, values.rows));
    assert!((squares.scale / values.scale - 1.0).abs() < 1e-9, "{} {}", squares.scale, values.scale);
    assert!(assert_recovered(&Made { worth: made.worth, ..made }, &in_logits(&squares)) > 30);
}

/// The table with the estimate of the scale undone; the error of the scale is small beside that of a square.
fn in_logits(squares: &Squares) -> SquareTable {
    let mut table = squares.tables[0].clone();
    for cell in &mut table.cells {
        for number in [&mut cell.value, &mut cell.low, &mut cell.high] {
            *number = number.map(|number| number * squares.scale);
        }
    }
    table
}

/// 95 % intervals hold the truth in 93 to 97 % of 900 cases, for values and for differences from the mean.
#[test]
fn intervals_cover() {
    let (mut cells, mut values, mut differences) = (0u32, 0u32, 0u32);
    for seed in 0..20 {
        let made = Made { seed: 100 + seed, games: 800, ..MADE };
        let table = made.write().table(made.kind, Some(&Recorded), &config());
        let mean = mean_truth(&made, &table);
        for cell in table.cells.iter().filter(|cell| cell.identified) {
            let truth = made.truth(cell);
            let inside =
                |low: Option<f64>, truth: f64, high: Option<f64>| low.unwrap() < truth && truth < high.unwrap();
            cells += 1;
            values += u32::from(inside(cell.low, truth, cell.high));
            differences += u32::from(inside(cell.difference_low, truth - mean, cell.difference_high));
        }
    }
    assert!(cells > 850, "{cells}");
    for covered in [values, differences] {
        let share = f64::from(covered) / f64::from(cells);
        assert!((0.93..=0.97).contains(&share), "{share} of {cells}");
    }
}

/// By the games' descriptions the left general steps to its left but not to its right, so its squares are not folded.
#[test]
fn a_lopsided_kind_is_not_folded() {
    let made = Made {
        variant: "daidai",
        kind: "left_general",
        games: 4000,
        noise: [0.01, 0.02],
        worth: |file, rank| 0.2 + 0.02 * file as f64 + 0.005 * rank as f64,
        ..MADE
    };
    let table = made.write().table(made.kind, Some(&Recorded), &config());
    assert!(!table.folded && table.cells.len() == 17 * 17);
    assert!(assert_recovered(&made, &table) > 250);
    let (left, right) = (&table.cells[0], &table.cells[16]);
    assert_eq!((left.square.as_str(), right.square.as_str()), ("17a", "1a"));
    // Worth 0.54 + 0.005 and 0.22 + 0.005.
    assert!(left.low.unwrap() > right.high.unwrap());
}

#[test]
fn swapped_colours_give_the_same_table() {
    let tolerance = 1e-6;
    for judge in [Some(&Recorded as &dyn Judge), None] {
        let of = |swapped| Made { swapped, ..MADE }.write().table(MADE.kind, judge, &config());
        let (one, other) = (of(false), of(true));
        for (a, b) in one.cells.iter().zip(&other.cells) {
            assert_eq!((a.identified, a.games, &a.square), (b.identified, b.games, &b.square));
            for (a, b) in [(a.value, b.value), (a.low, b.low), (a.difference_high, b.difference_high)] {
                assert!(a.is_some() == b.is_some() && (a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() < tolerance);
            }
        }
    }
}

#[test]
fn what_is_not_identified_has_no_number() {
    // Never on the two ranks before the owner's.
    let made = Made { stands: |_, rank| !(7..9).contains(&rank), ..MADE };
    let shards = made.write();
    let table = shards.table(made.kind, Some(&Recorded), &config());
    let number = |cell: &SquareValue| {
        [cell.value, cell.low, cell.high, cell.difference, cell.difference_low, cell.difference_high]
    };
    for cell in &table.cells {
        let empty = (7..9).contains(&cell.rank);
        assert_eq!((cell.identified, cell.games == 0, cell.share == 0.0), (!empty, empty, empty), "{cell:?}");
        assert!(number(cell).iter().all(|number| number.is_some() != empty), "{cell:?}");
    }
    let json = serde_json::to_value(&table.cells[7 * 5]).unwrap();
    assert!(json["value"].is_null() && json["difference_low"].is_null(), "{json}");
    assert_eq!(serde_json::from_value::<SquareTable>(serde_json::to_value(&table).unwrap()).unwrap(), table);

    // Too few games for anything.
    let table = shards.table(made.kind, Some(&Recorded), &ValuesConfig { min_games: 1001, ..config() });
    assert!(table.value.is_none() && table.low.is_none() && table.identified() == 0);
    assert!(table.cells.iter().all(|cell| number(cell).iter().all(Option::is_none)));
}

#[test]
fn royal_and_unknown_kinds_are_refused() {
    let variant = Variant::load("sho", None).unwrap();
    let named = |id: &str| Kinds::named(&variant, &["pawn".to_owned(), id.to_owned()]);
    assert!(named("rook").is_ok());
    let royal = named("king").unwrap_err();
    assert!(matches!(royal, KindsError::Royal { .. }) && royal.to_string().contains("rook, "), "{royal}");
    let unknown = named("dragon").unwrap_err();
    assert!(matches!(unknown, KindsError::Unknown { .. }) && !unknown.to_string().contains(", king,"), "{unknown}");
}

//! Piece values from shards made by hand: boards that lose pieces, and judgements that know what each was worth.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::{Color, Piece, Position, Variant};
use eval::judge::{Judge, Recorded, logit};
use eval::measure::{MeasureError, Measured, SECOND_ROYAL, by_increment, by_outcome, newest_generations};
use eval::values::ValuesConfig;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::data::{PositionColumns, PositionRow, ShardMeta, ShardPair, ShardReader, ShardWriter, find_shards};

/// The truth, in logits.
const TRUTH: [(&str, f64); 5] =
    [("rook", 1.0), ("bishop", 0.7), ("gold_general", 0.5), ("silver_general", 0.4), ("pawn", 0.1)];

/// What the side to move has.
const MOVE: f64 = 0.05;

fn worth(variant: &Variant, board: &[u8]) -> f64 {
    let pieces = board.iter().filter_map(|&code| Piece::from_code(code));
    pieces
        .map(|piece| {
            let id = variant.kind(piece.kind).id.as_str();
            let value = TRUTH.iter().find(|(known, _)| *known == id).map_or(0.0, |(_, value)| *value);
            if piece.color == Color::Black { value } else { -value }
        })
        .sum()
}

/// Writes games of 20 plies in each of which a piece leaves the board on every fourth ply, now of Black, now of White.
fn write(variant: &Arc<Variant>, folder: &Path, games: u64, noise: f64, seed: u64) -> Vec<ShardPair> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let meta = ShardMeta::new(variant, "made", 0, 0, "{}".to_owned());
    let path = folder.join("positions/gen-000000/made.parquet");
    let mut writer = ShardWriter::<PositionRow>::create(&path, &meta).unwrap();
    for game in 0..games {
        let mut board = Position::start(variant).codes().to_vec();
        let mut rows = Vec::new();
        for ply in 0..20u16 {
            if ply % 4 == 3 {
                let color = rng.random_range(0..2u8);
                let theirs = |&square: &usize| {
                    let piece = Piece::from_code(board[square]);
                    piece.is_some_and(|piece| {
                        piece.color.index() == usize::from(color) && !variant.kind(piece.kind).royal
                    })
                };
                let squares: Vec<usize> = (0..board.len()).filter(theirs).collect();
                board[squares[rng.random_range(0..squares.len() as u64) as usize]] = 0;
            }
            let side = (ply % 2) as u8;
            let sign = if side == 0 { 1.0 } else { -1.0 };
            let error: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            let eta = sign * worth(variant, &board) + MOVE + noise * error;
            let win = 1.0 / (1.0 + (-eta).exp());
            rows.push(PositionRow {
                game_id: game,
                ply,
                board: board.clone(),
                side_to_move: side,
                state: [0xff, 0xff, 1, 0, 0, 0, 0, 0],
                moves: vec![0],
                policy: vec![1.0],
                search_wdl: [win as f32, 0.0, (1.0 - win) as f32],
                survives: vec![0; board.len()],
                ..PositionRow::default()
            });
        }
        // Decided by chance, with the odds of the last position.
        let black = 1.0 / (1.0 + (-worth(variant, &board)).exp());
        let outcome: i8 = if rng.random::<f64>() < black { 1 } else { -1 };
        for mut row in rows {
            row.outcome = Some(if row.side_to_move == 0 { outcome } else { -outcome });
            writer.push(row).unwrap();
        }
    }
    writer.finish().unwrap();
    find_shards(&[folder.join("positions")]).unwrap()
}

fn config() -> ValuesConfig {
    ValuesConfig { replicates: 200, ..ValuesConfig::default() }
}

fn logits(measured: &Measured, id: &str) -> f64 {
    measured.values.pieces.iter().find(|piece| piece.id == id).unwrap().value.unwrap()
}

#[test]
fn recorded_judgements_give_the_truth_back() {
    let variant = Variant::load("sho", None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let shards = write(&variant, folder.path(), 3000, 0.0, 1);
    let measured = by_increment(&variant, &shards, &Recorded, None, &config(), 1).unwrap();
    assert_eq!(measured.judge.as_deref(), Some("search"));
    // Five pieces leave a game; what leaves on the last ply but one has no position at rest after it.
    assert_eq!((measured.values.games, measured.values.rows), (3000, 3000 * 4));
    for (id, truth) in TRUTH {
        // The prior and the single precision of the shard are all that is between.
        assert!((logits(&measured, id) / truth - 1.0).abs() < 1e-3, "{id}: {}", logits(&measured, id));
    }
    assert!((measured.values.constant.unwrap().value - MOVE).abs() < 1e-3);
    // A judge that is right is not contradicted.
    assert!(measured.opinions.iter().all(|opinion| !opinion.flagged), "{:?}", measured.opinions);
    // Both royals share a feature, of which there never was a difference.
    let royal = measured.values.pieces.iter().find(|piece| piece.id == SECOND_ROYAL).unwrap();
    assert!(royal.games_unbalanced == 0 && !royal.identified);
    assert!(measured.values.pieces.iter().all(|piece| piece.id != "king" && piece.id != "prince"));
    assert_eq!(measured.names.len(), measured.values.pieces.len());

    // Whatever the number of threads.
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let again = one.install(|| by_increment(&variant, &shards, &Recorded, None, &config(), 1).unwrap());
    assert_eq!(again.values, measured.values);

    // Outcomes say the same, less surely.
    let outcome = by_outcome(&variant, &shards, None, &config(), 1).unwrap();
    for (id, truth) in &TRUTH[..1] {
        let piece = outcome.values.pieces.iter().find(|piece| piece.id == *id).unwrap();
        assert!((piece.value.unwrap() / truth).ln().abs() < 3.5 * piece.se_log.unwrap(), "{piece:?}");
    }
}

/// A judge that takes rooks for worthless is found out; nothing else is said against it.
#[test]
fn a_wrong_judge_is_contradicted() {
    struct Blind<'a>(&'a Variant);
    impl Judge for Blind<'_> {
        fn id(&self) -> &str {
            "blind"
        }
        fn judge(&self, rows: &PositionColumns, out: &mut Vec<[f32; 3]>) -> Result<(), String> {
            let rook = self.0.kind_by_id("rook").unwrap();
            for row in 0..rows.len() {
                let pieces = rows.board(row).iter().filter_map(|&code| Piece::from_code(code));
                let rooks: f64 = pieces
                    .filter(|piece| piece.kind == rook)
                    .map(|piece| if piece.color.index() == usize::from(rows.side_to_move[row]) { 1.0 } else { -1.0 })
                    .sum();
                let eta = logit(rows.search_wdl[row]).unwrap() - rooks;
                let win = (1.0 / (1.0 + (-eta).exp())) as f32;
                out.push([win, 0.0, 1.0 - win]);
            }
            Ok(())
        }
    }
    let variant = Variant::load("sho", None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let shards = write(&variant, folder.path(), 4000, 0.0, 2);
    let measured = by_increment(&variant, &shards, &Blind(&variant), None, &config(), 1).unwrap();
    let flagged: Vec<_> =
        measured.opinions.iter().filter(|o| o.flagged).map(|o| (o.id.as_str(), o.error > 0.0)).collect();
    assert_eq!(flagged, [("rook", true)]);
}

#[test]
fn refusals_name_the_shard() {
    struct Mute;
    impl Judge for Mute {
        fn id(&self) -> &str {
            "mute"
        }
        fn judge(&self, _: &PositionColumns, _: &mut Vec<[f32; 3]>) -> Result<(), String> {
            Ok(())
        }
    }
    let variant = Variant::load("sho", None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let shards = write(&variant, folder.path(), 1, 0.0, 3);
    let error = by_increment(&variant, &shards, &Mute, None, &config(), 1).unwrap_err();
    assert!(error.to_string().ends_with("made.parquet: mute cannot judge it: 0 judgements of 20 positions"), "{error}");
    let other = Variant::load("chu", None).unwrap();
    let error = by_outcome(&other, &shards, None, &config(), 1).unwrap_err();
    assert!(matches!(error, MeasureError::Variant { .. }), "{error}");
}

/// The columns are those of the whole rows.
#[test]
fn projected_columns() {
    let variant = Variant::load("sho", None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let shards = write(&variant, folder.path(), 3, 0.5, 4);
    let reader = ShardReader::open::<PositionRow>(&shards[0].positions).unwrap();
    let (columns, rows) = (reader.read_position_columns(0).unwrap(), reader.read_group::<PositionRow>(0).unwrap());
    assert_eq!((columns.len(), rows.len()), (60, 60));
    for (i, row) in rows.iter().enumerate() {
        assert_eq!((columns.game_id[i], columns.ply[i], columns.board(i)), (row.game_id, row.ply, &row.board[..]));
        assert_eq!((columns.side_to_move[i], columns.state[i]), (row.side_to_move, row.state));
        assert_eq!((columns.search_wdl[i], columns.outcome[i]), (row.search_wdl, row.outcome));
    }
}

/// Clipped to 0.01 and 0.99: ln 99. A draw is half a point.
#[test]
fn logits_of_judgements() {
    assert_eq!(logit([0.3, 0.4, 0.3]), Some(0.0));
    assert!((logit([1.0, 0.0, 0.0]).unwrap() - 99f64.ln()).abs() < 1e-12);
    assert!((logit([0.0, 0.0, 1.0]).unwrap() + 99f64.ln()).abs() < 1e-12);
    assert!((logit([0.5, 0.5, 0.0]).unwrap() - 3f64.ln()).abs() < 1e-7);
    assert_eq!(logit([f32::NAN, 0.0, 0.0]), None);
    assert_eq!(logit([0.0; 3]), None);
}

/// Two games by hand: in one a pawn of Black's promotes and later the rook of White's, which takes a pawn on the way; in the
/// other nothing does.
#[test]
fn promotions_are_counted() {
    let variant = Variant::load("sho", None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let code = |id: &str, color| Piece { kind: variant.kind_by_id(id).unwrap(), color }.code();
    let start = Position::start(&variant).codes().to_vec();
    let mut boards = vec![start.clone(); 5];
    let swap = |board: &mut Vec<u8>, from: u8, to: u8| {
        let square = board.iter().position(|&code| code == from).unwrap();
        board[square] = to;
    };
    boards[1..].iter_mut().for_each(|b| swap(b, code("pawn", Color::Black), code("promoted_pawn", Color::Black)));
    boards[4..].iter_mut().for_each(|b| swap(b, code("rook", Color::White), code("promoted_rook", Color::White)));
    boards[4..].iter_mut().for_each(|b| swap(b, code("pawn", Color::Black), 0));
    let meta = ShardMeta::new(&variant, "made", 0, 0, "{}".to_owned());
    let path = folder.path().join("positions/gen-000000/made.parquet");
    let mut writer = ShardWriter::<PositionRow>::create(&path, &meta).unwrap();
    for (game, boards) in [boards, vec![start; 5]].into_iter().enumerate() {
        for (ply, board) in boards.into_iter().enumerate() {
            writer
                .push(PositionRow {
                    game_id: game as u64,
                    ply: ply as u16,
                    survives: vec![0; board.len()],
                    board,
                    side_to_move: (ply % 2) as u8,
                    moves: vec![0],
                    policy: vec![1.0],
                    search_wdl: [0.5, 0.0, 0.5],
                    outcome: Some(0),
                    ..PositionRow::default()
                })
                .unwrap();
        }
    }
    writer.finish().unwrap();
    let shards = find_shards(&[folder.path().join("positions")]).unwrap();
    let measured = by_outcome(&variant, &shards, None, &config(), 1).unwrap();
    // What can promote in sho shogi, and how many of it two sides have at the start of two games.
    let expected: BTreeMap<&str, (u64, u64, Option<[u16; 3]>)> = BTreeMap::from([
        ("bishop", (4, 0, None)),
        ("drunk_elephant", (4, 0, None)),
        ("knight", (8, 0, None)),
        ("lance", (8, 0, None)),
        ("pawn", (36, 1, Some([0; 3]))),
        ("rook", (4, 1, Some([3; 3]))),
        ("silver_general", (8, 0, None)),
    ]);
    let found = measured.promotions.iter().map(|p| (p.id.as_str(), (p.pieces, p.promotions, p.plies))).collect();
    assert_eq!(expected, found);
    assert!(measured.promotions.iter().all(|promotion| promotion.after.is_none()));
    // The newest generation is the only one, and no number is too large to ask for.
    for number in [1, u32::MAX] {
        assert_eq!(newest_generations(shards.clone(), number).unwrap(), shards);
    }
    assert_eq!(measured.generations, Some([0, 0]));
}

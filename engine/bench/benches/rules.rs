//! How fast the rules are, game by game: listing and counting moves, playing and undoing them, counting leaves, and
//! random games. `cargo bench --manifest-path engine/bench/Cargo.toml`; with `-- --test` each one runs once and only the
//! leaf counts are checked.
//! The clock is noisy on a busy machine; `scripts/instructions.sh` counts instructions instead.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use engine::{Game, Move, MoveSampler, Position, Variant, perft};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Positions that a benchmark goes through in one iteration.
const POSITIONS: usize = 64;
/// Where a random game stops, if its ruleset lets it go on.
const MOST_PLIES: usize = 1000;

struct Case {
    variant: &'static str,
    king_capture: bool,
    depth: u32,
    /// Leaves from the start at `depth`.
    leaves: u64,
}

/// Leaf counts: sho measured with Fairy-Stockfish, chu with shogiops (equal results of different routes counted once);
/// dai dai counted by two slow generators written separately from the rules (the tests of `engine` have all three).
const CASES: [Case; 3] = [
    Case { variant: "sho", king_capture: true, depth: 4, leaves: 446_259 },
    Case { variant: "chu", king_capture: false, depth: 3, leaves: 48_315 },
    Case { variant: "daidai", king_capture: false, depth: 3, leaves: 206_662 },
];

impl Case {
    fn load(&self) -> Arc<Variant> {
        Variant::load(self.variant, None).expect("a built-in variant")
    }
}

fn rules(criterion: &mut Criterion) {
    for case in &CASES {
        let mut group = criterion.benchmark_group(case.variant);
        group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
        moves(&mut group, case);
        leaves(&mut group, case);
        games(&mut group, case);
        group.finish();
    }
}

/// Work on the positions of random games. Throughput: positions, and for play and undo moves.
fn moves(group: &mut Group<'_>, case: &Case) {
    let mut positions = positions(&case.load());
    group.throughput(Throughput::Elements(POSITIONS as u64));
    let mut list = Vec::new();
    group.bench_function("legal_moves", |bencher| {
        bencher.iter(|| {
            for position in &positions {
                black_box(position).legal_moves(&mut list);
                black_box(&list);
            }
        });
    });
    group.bench_function("count_moves", |bencher| {
        bencher.iter(|| positions.iter().map(|position| black_box(position).count_moves()).sum::<usize>());
    });

    let lists: Vec<Vec<Move>> = positions.iter().map(legal_moves).collect();
    group.throughput(Throughput::Elements(lists.iter().map(|list| list.len() as u64).sum()));
    group.bench_function("play_and_undo", |bencher| {
        bencher.iter(|| {
            for (position, list) in positions.iter_mut().zip(&lists) {
                for &mv in list {
                    let undo = position.play_unchecked(black_box(mv));
                    position.undo(black_box(&undo));
                }
            }
        });
    });
}

/// Counting leaves from the start, the last ply counted or played. Throughput: leaves.
fn leaves(group: &mut Group<'_>, case: &Case) {
    let variant = if case.king_capture { case.load().king_capture() } else { case.load() };
    let mut start = Position::start(&variant);
    group.throughput(Throughput::Elements(case.leaves));
    for (name, play_leaves) in [("perft_counted", false), ("perft_played", true)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(perft(black_box(&mut start), case.depth, play_leaves), case.leaves));
        });
    }
}

/// Random games from the start to the end. Throughput: plies.
fn games(group: &mut Group<'_>, case: &Case) {
    const GAMES: u64 = 4;
    let mut game = Game::new(Position::start(&case.load()));
    let mut play_all = || -> usize {
        (0..GAMES)
            .map(|seed| {
                random_game(&mut game, seed, |_| ());
                game.ply()
            })
            .sum()
    };
    let plies = play_all();
    group.throughput(Throughput::Elements(plies as u64));
    group.bench_function("random_games", |bencher| bencher.iter(|| assert_eq!(play_all(), plies)));
}

fn random_game(game: &mut Game, seed: u64, mut look: impl FnMut(&Position)) {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sampler = MoveSampler::default();
    game.restart();
    while game.ply() < MOST_PLIES {
        let Some(mv) = sampler.draw(game, |below| chance.random_range(0..below)) else { break };
        look(game.position());
        game.play_unchecked(mv);
    }
}

/// Positions spread evenly over random games.
fn positions(variant: &Arc<Variant>) -> Vec<Position> {
    const GAMES: u64 = 4;
    let mut game = Game::new(Position::start(variant));
    let mut all = Vec::new();
    for seed in 0..GAMES {
        random_game(&mut game, seed, |position| all.push(position.clone()));
    }
    (0..POSITIONS).map(|n| all[n * all.len() / POSITIONS].clone()).collect()
}

fn legal_moves(position: &Position) -> Vec<Move> {
    let mut list = Vec::new();
    position.legal_moves(&mut list);
    list
}

criterion_group! {
    name = benches;
    config = Criterion::default().without_plots();
    targets = rules
}
criterion_main!(benches);

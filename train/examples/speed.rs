//! Speed of inference and of learning, by variant.
//!
//! `cargo run --release -p train --example speed -- [VARIANT…] [--resnet] [--threads=N]`
//!
//! Inference is on one thread and includes the encoding; 64 games at different plies take turns. Learning is whole steps:
//! encoding, gradients, optimiser. Rates are by the wall clock and by processor time (Linux): only the latter means
//! something on a busy machine, for learning it is the rate that one core would reach.

use std::time::Instant;

use engine::{Game, Move, Position, Variant};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::data::{PositionRow, State};
use selfplay::{Evaluation, Evaluator, Query};
use train::batch::Chunk;
use train::{
    Checkpoint, Device, Encoder, Gradients, Learner, Network, NetworkConfig, ResnetConfig, TrainConfig, evaluator,
};

const GAMES: usize = 64;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut names: Vec<String> = args.iter().filter(|arg| !arg.starts_with('-')).cloned().collect();
    if names.is_empty() {
        names = ["sho", "chu", "daidai"].map(str::to_string).to_vec();
    }
    let resnet = args.iter().any(|arg| arg == "--resnet");
    let network = if resnet { NetworkConfig::Resnet(ResnetConfig::default()) } else { NetworkConfig::default() };
    let threads = args.iter().find_map(|arg| arg.strip_prefix("--threads=")?.parse().ok());
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    for name in names {
        measure(&name, &network, threads);
    }
}

fn measure(name: &str, config: &NetworkConfig, threads: usize) {
    let variant = Variant::load(name, None).expect("a built-in variant");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut moves = Vec::new();
    let mut games: Vec<Game> = Vec::new();
    while games.len() < GAMES {
        let mut game = Game::new(Position::start(&variant));
        for _ in 0..rng.next_u64() % 160 {
            game.legal_moves(&mut moves);
            if moves.is_empty() || game.outcome().is_some() {
                break;
            }
            // Quiet moves, so that the board opens up and stays full.
            let mut choose = || moves[(rng.next_u64() % moves.len() as u64) as usize];
            let quiet = |mv: &Move| game.position().captures(*mv).next().is_none();
            let mv = (0..20).map(|_| choose()).find(quiet).unwrap_or(moves[0]);
            game.play_unchecked(mv);
        }
        if game.outcome().is_none() {
            games.push(game);
        }
    }
    let legal: Vec<Vec<Move>> = games
        .iter()
        .map(|game| {
            game.legal_moves(&mut moves);
            moves.clone()
        })
        .collect();
    let pieces: usize =
        games.iter().map(|game| game.position().codes().iter().filter(|&&code| code != 0).count()).sum();
    println!(
        "{name}: {} pieces, {} moves on average",
        pieces / GAMES,
        legal.iter().map(Vec::len).sum::<usize>() / GAMES
    );

    let network = Network::new(config, &variant, 1, &Device::flex()).expect("sound");
    let judge = evaluator(&network, &variant);
    let queries: Vec<Query<'_>> = games.iter().zip(&legal).map(|(game, moves)| Query { game, moves }).collect();
    let mut out = vec![Evaluation::default(); queries.len()];
    judge.evaluate(&queries, &mut out);
    let rounds = if matches!(config, NetworkConfig::Resnet(_)) { 10 } else { 200 };
    let clock = Clock::start();
    for _ in 0..rounds {
        judge.evaluate(&queries, &mut out);
    }
    clock.print("  inference, one thread", rounds * GAMES);

    let encoder = Encoder::new(&variant);
    let rows: Vec<PositionRow> = games.iter().zip(&legal).map(|(game, moves)| row(game, moves)).collect();
    let own_steps = if matches!(config, NetworkConfig::Resnet(_)) { 4 } else { 40 };
    for (gradients, batch, steps) in [(Gradients::Own, 512, own_steps), (Gradients::Autodiff, 256, 2)] {
        let config = TrainConfig { gradients, batch_size: batch, ..TrainConfig::default() };
        let checkpoint = Checkpoint { network: network.clone(), learner: None };
        let mut learner = Learner::new(checkpoint, &config, threads).expect("sound");
        let mut chunks = vec![Chunk::default(); batch.div_ceil(32)];
        learner.step(fill(&mut chunks, &rows, &encoder, batch), 1e-3);
        let clock = Clock::start();
        for _ in 0..steps {
            learner.step(fill(&mut chunks, &rows, &encoder, batch), 1e-3);
        }
        clock.print(&format!("  learning, {gradients:?}, batch {batch}, {threads} threads"), steps * batch);
    }
}

/// Wall-clock and processor time.
struct Clock {
    wall: Instant,
    processor: Option<f64>,
}

impl Clock {
    fn start() -> Clock {
        Clock { wall: Instant::now(), processor: processor_seconds() }
    }

    fn print(&self, what: &str, positions: usize) {
        let rate = |seconds: f64| positions as f64 / seconds;
        let wall = rate(self.wall.elapsed().as_secs_f64());
        let processor = processor_seconds().zip(self.processor).map(|(now, then)| rate(now - then));
        match processor {
            Some(processor) => println!("{what}: {wall:.0} positions/s, {processor:.0} per second of processor time"),
            None => println!("{what}: {wall:.0} positions/s"),
        }
    }
}

/// Processor time of this process, from Linux's `/proc` (hundredths of a second).
fn processor_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) / 100.0)
}

fn fill<'a>(chunks: &'a mut [Chunk], rows: &[PositionRow], encoder: &Encoder, batch: usize) -> &'a [Chunk] {
    chunks.iter_mut().for_each(Chunk::clear);
    for i in 0..batch {
        let row = &rows[i % rows.len()];
        let chunk = &mut chunks[i / 32];
        encoder.push_stored(row.into(), false, &mut chunk.encoded).expect("sound");
        chunk.policy.extend_from_slice(&row.policy);
        chunk.wdl.push(row.search_wdl);
        chunk.plies_left.push(Some(100));
        chunk.survives.extend(row.board.iter().filter(|&&code| code != 0).map(|code| code % 3 == 0));
    }
    chunks
}

fn row(game: &Game, moves: &[Move]) -> PositionRow {
    PositionRow {
        board: game.position().codes().to_vec(),
        side_to_move: game.position().side_to_move().index() as u8,
        state: State::of(game).to_bytes(),
        moves: moves.iter().map(|mv| mv.raw()).collect(),
        policy: vec![1.0 / moves.len() as f32; moves.len()],
        search_wdl: [0.5, 0.2, 0.3],
        full_search: true,
        ..PositionRow::default()
    }
}

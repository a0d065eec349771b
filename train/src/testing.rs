//! What tests share: random games, rows and networks.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::{Device, TensorData};
use engine::{Color, Game, Move, Position, Variant};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::data::{PositionRow, ShardMeta, ShardWriter, State};

use crate::batch::Chunk;
use crate::config::NetworkConfig;
use crate::encoding::{Encoder, Features};
use crate::network::Model;
use crate::rng::{below, uniform};

pub(crate) const VARIANTS: [&str; 3] = ["sho", "chu", "daidai"];

/// The game from `sfen` on after these moves in USI.
pub(crate) fn game_after(variant: &Arc<Variant>, sfen: &str, moves: &[&str]) -> Game {
    let mut game = Game::new(Position::from_sfen(variant, sfen).expect("a sound position"));
    for mv in moves {
        let mv = game.position().parse_usi(mv).expect("a move");
        game.play(mv).expect("legal");
    }
    game
}

/// `count` positions with their legal moves, from games of random moves that prefer captures.
pub(crate) fn positions(name: &str, seed: u64, count: usize) -> Vec<(Game, Vec<Move>)> {
    let variant = Variant::load(name, None).expect("built in");
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut found = Vec::new();
    let mut moves = Vec::new();
    while found.len() < count {
        let mut game = Game::new(Position::start(&variant));
        while found.len() < count && game.outcome().is_none() && game.ply() < 300 {
            game.legal_moves(&mut moves);
            if moves.is_empty() {
                break;
            }
            // Neighbours are alike: only some are kept, and the start once.
            if found.is_empty() || (game.ply() > 0 && rng.next_u64() % 5 == 0) {
                found.push((game.clone(), moves.clone()));
            }
            let mut mv = moves[below(&mut rng, moves.len())];
            for _ in 0..4 {
                if game.position().captures(mv).next().is_none() {
                    mv = moves[below(&mut rng, moves.len())];
                }
            }
            game.play_unchecked(mv);
        }
    }
    found
}

/// A row of the position with random targets. One in four is no full search, one in five has no outcome.
pub(crate) fn row(game: &Game, moves: &[Move], seed: u64) -> PositionRow {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut distribution = |count: usize| {
        let mut numbers: Vec<f32> = uniform(&mut rng, count, 1.0).iter().map(|x| (3.0 * x).exp()).collect();
        let sum: f32 = numbers.iter().sum();
        numbers.iter_mut().for_each(|x| *x /= sum);
        numbers
    };
    let policy = distribution(moves.len());
    let wdl: [f32; 3] = distribution(3).try_into().expect("three");
    PositionRow {
        game_id: seed,
        ply: game.ply() as u16,
        generation: 0,
        board: game.position().codes().to_vec(),
        side_to_move: (game.position().side_to_move() == Color::White) as u8,
        state: State::of(game).to_bytes(),
        moves: moves.iter().map(|mv| mv.raw()).collect(),
        policy,
        played: 0,
        search_value: wdl[0] - wdl[2],
        search_wdl: wdl,
        full_search: seed % 4 != 3,
        outcome: [Some(1), Some(0), Some(-1), Some(1), None][(seed % 5) as usize],
        plies_left: (seed % 300) as u16,
        survives: game.position().codes().iter().map(|&code| code & (seed >> 3) as u8 & 1).collect(),
    }
}

/// `count` positions with random targets, in chunks.
pub(crate) fn chunks(name: &str, seed: u64, count: usize, size: usize) -> Vec<Chunk> {
    let variant = Variant::load(name, None).expect("built in");
    let encoder = Encoder::new(&variant);
    let mut chunks = vec![Chunk::default()];
    for (i, (game, moves)) in positions(name, seed, count).iter().enumerate() {
        let row = row(game, moves, i as u64);
        let moves = if row.full_search { moves.as_slice() } else { &[] };
        if chunks.last().is_some_and(|chunk| chunk.encoded.len() == size) {
            chunks.push(Chunk::default());
        }
        let chunk = chunks.last_mut().expect("there is one");
        encoder.push_game(game, moves, &mut chunk.encoded);
        chunk.policy.extend(row.policy.iter().take(moves.len()));
        chunk.wdl.push(row.search_wdl);
        chunk.plies_left.push(row.outcome.map(|_| row.plies_left));
        let pieces = row.board.iter().zip(&row.survives).filter(|(code, _)| **code != 0);
        chunk.survives.extend(pieces.map(|(_, &survives)| survives != 0));
    }
    chunks
}

/// A network whose weights are all random, with activations in the middle of what the clipping lets through.
pub(crate) fn random_network(
    config: &NetworkConfig,
    features: &Features,
    rng: &mut impl Rng,
    device: &Device,
) -> Model {
    let random = |spec: crate::network::TensorSpec| {
        let limit = match spec.name.as_str() {
            "accumulator.square" | "accumulator.kind" => 0.03,
            "value.hidden.weight" | "policy.query.weight" | "survival.trace.weight" => 0.1,
            name if name.contains("conv") => 0.1,
            _ => 0.3,
        };
        TensorData::new(uniform(rng, spec.len(), limit), spec.shape)
    };
    let tensors = Model::specs(config, features).into_iter().map(random).collect();
    Model::from_tensors(config, tensors, device)
}

/// Writes a shard of positions.
pub(crate) fn write_shard(path: &Path, variant: &Variant, rows: &[PositionRow]) {
    let meta = ShardMeta::new(variant, "uniform", 0, 0, String::new());
    let mut writer = ShardWriter::<PositionRow>::create(path, &meta).expect("can be created");
    for row in rows {
        writer.push(row.clone()).expect("fits");
    }
    writer.finish().expect("can be written");
}

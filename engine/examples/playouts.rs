//! Plays random games to their end, one after the other in the same memory: `playouts VARIANT [GAMES]`. Prints the plies
//! and how many were played a second.

use std::error::Error;
use std::time::Instant;

use engine::{Game, MoveSampler, Position, Variant};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let variant = arguments.next().ok_or("expected a variant")?;
    let games: u32 = arguments.next().map_or(Ok(1000), |games| games.parse())?;
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut game = Game::new(Position::start(&Variant::load(&variant, None)?));
    let mut sampler = MoveSampler::default();
    let mut plies = 0;
    let start = Instant::now();
    for _ in 0..games {
        game.restart();
        while let Some(mv) = sampler.draw(&game, |below| chance.random_range(0..below)) {
            game.play_unchecked(mv);
        }
        plies += game.ply();
    }
    println!("{plies} plies, {:.0} plies/s", plies as f64 / start.elapsed().as_secs_f64());
    Ok(())
}

//! Simulations a second of one thread with an evaluator that costs nothing: the price of the rules and the tree.
//!
//! `cargo run --release -p selfplay --example search_speed [VARIANT [SIMULATIONS [SEED]]]`

use std::time::{Duration, Instant};

use engine::{Game, Position, Variant};
use selfplay::{Evaluation, Evaluator, Search, SearchConfig, SearchResult, Uniform};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let variant = Variant::load(&arguments.next().unwrap_or("chu".to_owned()), None)?;
    let simulations = arguments.next().map_or(Ok(16), |text| text.parse())?;
    let mut seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;

    let config = SearchConfig { simulations, ..SearchConfig::default() };
    let mut answer = [Evaluation::default()];
    let mut result = SearchResult::default();
    let (mut run, mut searches, mut legal) = (0, 0, 0);
    let mut game = Game::new(Position::start(&variant));
    let mut search = Search::new(&game, &config, seed);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(5) {
        if game.outcome().is_some() || game.ply() > 300 {
            game = Game::new(Position::start(&variant));
        }
        search.restart(&game, &config, seed);
        while let Some(leaf) = search.next_leaf() {
            Uniform.evaluate(&[leaf], &mut answer);
            search.backup(&answer[0]);
        }
        search.result_into(&mut result);
        game.play_unchecked(result.chosen);
        run += u64::from(result.visits.iter().sum::<u32>());
        searches += 1;
        legal += result.moves.len();
        seed += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{}: {:.0} simulations/s, {:.0} searches/s, {:.1} moves a position",
        variant.name(),
        run as f64 / seconds,
        f64::from(searches) / seconds,
        legal as f64 / f64::from(searches)
    );
    Ok(())
}

//! Games, positions and simulations a second of a whole generation, shards included, with an evaluator that costs nothing.
//!
//! `cargo run --release -p selfplay --example generation_speed FOLDER [VARIANT [GAMES [THREADS]]]`

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::Variant;
use selfplay::data::{check, find_shards, read_positions, stats};
use selfplay::{Generation, SearchConfig, SelfplayConfig, Uniform, generate};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let run = PathBuf::from(arguments.next().ok_or("expected a folder")?);
    let variant = Variant::load(&arguments.next().unwrap_or("chu".to_owned()), None)?;
    let games = arguments.next().map_or(Ok(256), |text| text.parse())?;
    let threads = arguments.next().map_or(Ok(1), |text| text.parse())?;

    let generation = Generation {
        variant: &variant,
        evaluator: &Uniform,
        config: &SelfplayConfig { games, ..SelfplayConfig::default() },
        search: &SearchConfig { simulations: 16, ..SearchConfig::default() },
        run_seed: 1,
        number: 0,
        games: 0..games,
        threads,
    };
    let start = Instant::now();
    let progress = generate(&generation, &run, &mut |_| (), &AtomicBool::new(false))?;
    let rate = |count: u64, start: Instant| count as f64 / start.elapsed().as_secs_f64();
    println!(
        "played: {:.1} games/s, {:.0} positions/s, {:.0} simulations/s",
        rate(progress.games - progress.games_found, start),
        rate(progress.positions, start),
        rate(progress.simulations, start)
    );
    let shards = find_shards(&[run])?;
    let start = Instant::now();
    let mut bytes = 0;
    let mut positions = 0;
    for shard in &shards {
        bytes += shard.positions.metadata()?.len();
        positions += read_positions(&shard.positions)?.rows.len() as u64;
    }
    println!(
        "read: {:.0} positions/s, {:.1} bytes a position",
        rate(positions, start),
        bytes as f64 / positions as f64
    );
    let start = Instant::now();
    let report = check(&shards, &[], &|name, ruleset| Variant::load(name, Some(ruleset)).ok());
    println!("checked: {:.0} positions/s, {} problems", rate(report.positions, start), report.problems.len());
    println!("{}", serde_json::to_string_pretty(&stats(&shards)?)?);
    Ok(())
}

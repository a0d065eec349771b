//! `shishi perft`

use std::time::Instant;

use clap::Args;
use serde_json::{Map, json};

use crate::args::PositionArgs;
use crate::output;

#[derive(Args)]
#[command(
    after_help = "Example: shishi perft chu 3\n\nA move is (from, to, squares captured, promotion); repetition is not counted; a game that has \
ended has no moves."
)]
pub(crate) struct Perft {
    #[command(flatten)]
    position: PositionArgs,
    /// Plies
    #[arg(value_parser = clap::value_parser!(u32).range(0..=20))]
    depth: u32,
    /// Show the count below each first move
    #[arg(long)]
    divide: bool,
    /// Only moves and the loss of the last royal: no rule about check or bare kings
    #[arg(long)]
    king_capture: bool,
    /// Play and undo the last ply too instead of counting it
    #[arg(long)]
    play_leaves: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Perft) -> anyhow::Result<()> {
    let mut variant = args.position.variant.load()?;
    if args.king_capture {
        variant = variant.king_capture();
    }
    let mut position = args.position.load_with(&variant)?;
    let sfen = position.sfen();
    let start = Instant::now();
    let divide = args.divide.then(|| engine::divide(&mut position, args.depth, args.play_leaves));
    let nodes = match &divide {
        Some(counts) if args.depth > 0 => counts.iter().map(|(_, count)| count).sum(),
        _ => engine::perft(&mut position, args.depth, args.play_leaves),
    };
    let seconds = start.elapsed().as_secs_f64();
    if args.json {
        let divide = divide.map(|counts| counts.into_iter().map(|(mv, n)| (mv, json!(n))).collect::<Map<_, _>>());
        output::json(&json!({
            "variant": variant.name(),
            "ruleset": variant.ruleset(),
            "sfen": sfen,
            "depth": args.depth,
            "nodes": nodes,
            "seconds": seconds,
            "divide": divide,
        }));
        return Ok(());
    }
    for (mv, count) in divide.into_iter().flatten() {
        println!("{mv}: {count}");
    }
    println!("perft {} = {nodes}", args.depth);
    eprintln!("{seconds:.3} s, {:.1} million/s", nodes as f64 / seconds.max(1e-9) / 1e6);
    Ok(())
}

//! Counts the leaves of the tree of legal moves: `perft VARIANT DEPTH [--king-capture] [--play-leaves]`.
//!
//! `scripts/instructions.sh` counts the instructions that this program takes.

use std::error::Error;

use engine::{Position, Variant, perft};

fn main() -> Result<(), Box<dyn Error>> {
    let (flags, plain): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let [variant, depth] = plain.as_slice() else { return Err("expected a variant and a depth".into()) };
    if let Some(unknown) = flags.iter().find(|flag| !["--king-capture", "--play-leaves"].contains(&flag.as_str())) {
        return Err(format!("unknown flag `{unknown}`; expected `--king-capture` or `--play-leaves`").into());
    }
    let has = |flag: &str| flags.iter().any(|given| given == flag);
    let variant = Variant::load(variant, None)?;
    let variant = if has("--king-capture") { variant.king_capture() } else { variant };
    println!("{}", perft(&mut Position::start(&variant), depth.parse()?, has("--play-leaves")));
    Ok(())
}

//! `shishi watch`

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use engine::Position;
use selfplay::{LiveGame, live_file};

use crate::args::VariantArgs;
use crate::commands::show::board;
use crate::session;

#[derive(Args)]
#[command(
    after_help = "Example: shishi watch runs/quick-chu\n\nShows one game after the other while self-play goes on in the run; Ctrl-C ends it."
)]
pub(crate) struct Watch {
    /// Run directory
    run: PathBuf,
    /// Show the position of now and end
    #[arg(long)]
    once: bool,
    /// File that defines the variant
    #[arg(long, value_name = "FILE")]
    variant_file: Option<PathBuf>,
}

/// The time between two looks at the run.
const EVERY: Duration = Duration::from_millis(250);
/// Ends the screen's contents and goes to its first line.
const CLEAR: &str = "\x1b[2J\x1b[H";

pub(crate) fn run(args: Watch) -> anyhow::Result<()> {
    if !args.run.is_dir() {
        bail!("{} is no run directory", args.run.display());
    }
    let stop = session::stop_flag()?;
    let mut out = std::io::stdout();
    let clear = if out.is_terminal() && !args.once { CLEAR } else { "" };
    let mut last = None;
    let mut waits = false;
    while !stop.load(Ordering::Relaxed) {
        match read(&args)? {
            Some(live) if last.as_ref() != Some(&live) => {
                // Whoever reads has gone away.
                if write!(out, "{clear}{}\n\n", text(&args, &live)?).and_then(|()| out.flush()).is_err() {
                    return Ok(());
                }
                last = Some(live);
                waits = false;
            }
            Some(_) => {}
            None if args.once => bail!("no game is being played in {}", args.run.display()),
            None if !waits => {
                eprintln!("no game is being played in {}; waiting", args.run.display());
                waits = true;
            }
            None => {}
        }
        if args.once {
            return Ok(());
        }
        std::thread::sleep(EVERY);
    }
    Ok(())
}

fn read(args: &Watch) -> anyhow::Result<Option<LiveGame>> {
    session::read_json(&live_file(&args.run))
}

fn text(args: &Watch, live: &LiveGame) -> anyhow::Result<String> {
    let variant = VariantArgs {
        variant: live.variant.clone(),
        ruleset: Some(live.ruleset.clone()),
        variant_file: args.variant_file.clone(),
    };
    let position = Position::from_sfen(&variant.load()?, &live.sfen).context("the game that is shown")?;
    let last = live.moves.last().map_or("", String::as_str);
    let mover = !position.side_to_move();
    Ok(format!(
        "{}, generation {}, game {}, {}\n{}\nply {}: {mover} {last}, value for Black {:+.2}",
        position.variant().title(),
        live.generation,
        live.number,
        live.network,
        board(&position),
        live.moves.len(),
        live.value,
    ))
}

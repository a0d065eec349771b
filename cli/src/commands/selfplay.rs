//! `shishi selfplay`

use std::path::PathBuf;

use clap::Args;
use selfplay::{Evaluator, Uniform};
use train::Checkpoint;

use crate::args::DeviceArg;
use crate::config::RunConfig;
use crate::pipeline::Run;
use crate::session;

#[derive(Args)]
#[command(
    after_help = "Example: shishi selfplay configs/quick/sho.toml --out runs/data --games 500\n\nGames are of the network's \
generation, or of generation 0 without one. Calling it again plays what is missing."
)]
pub(crate) struct Selfplay {
    /// Configuration: its tables run, selfplay and search
    config: PathBuf,
    /// Run directory that gets the games
    #[arg(long, value_name = "RUN")]
    out: PathBuf,
    /// Number of games instead of the configuration's
    #[arg(long)]
    games: Option<u64>,
    /// Checkpoint that plays; without one all moves are judged alike
    #[arg(long, value_name = "CHECKPOINT")]
    network: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArg,
    /// Threads; all cores if not given
    #[arg(long, value_parser = session::at_least_one)]
    threads: Option<usize>,
    /// Seed instead of the configuration's
    #[arg(long)]
    seed: Option<u64>,
}

pub(crate) fn run(args: Selfplay) -> anyhow::Result<()> {
    let mut config = RunConfig::read(&args.config)?;
    config.selfplay.games = args.games.unwrap_or(config.selfplay.games);
    config.run.seed = args.seed.unwrap_or(config.run.seed);
    let variant = config.variant()?;
    let (generation, evaluator): (u32, Box<dyn Evaluator>) = match &args.network {
        None => (0, Box::new(Uniform)),
        Some(folder) => {
            let network = Checkpoint::load(folder, &variant, &args.device.device)?.network;
            (network.description.generation, Box::new(train::evaluator(&network, &variant)))
        }
    };
    let run =
        Run::open(&args.out, config, true, session::threads(args.threads), args.device.device, session::stop_flag()?)?;
    run.play_with(generation, evaluator.as_ref())?;
    println!("{}", run.folder.display());
    Ok(())
}

//! `shishi train`

use std::path::PathBuf;

use clap::Args;

use crate::args::DeviceArg;
use crate::config::RunConfig;
use crate::pipeline::Run;
use crate::session;

#[derive(Args)]
#[command(
    after_help = "Example: shishi train configs/quick/sho.toml --run runs/data\n\nMakes the network that follows the newest games: \
it goes on from the network before it, or starts anew if there is none."
)]
pub(crate) struct Train {
    /// Configuration: its tables run, network and train
    config: PathBuf,
    /// Run directory with games; the network goes there too
    #[arg(long, value_name = "RUN")]
    run: PathBuf,
    /// Accept a run directory whose network is there already
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    device: DeviceArg,
    /// Threads; all cores if not given
    #[arg(long, value_parser = session::at_least_one)]
    threads: Option<usize>,
}

pub(crate) fn run(args: Train) -> anyhow::Result<()> {
    let config = RunConfig::read(&args.config)?;
    let run =
        Run::open(&args.run, config, true, session::threads(args.threads), args.device.device, session::stop_flag()?)?;
    let network = run.train_newest()?;
    println!("{}", network.display());
    Ok(())
}

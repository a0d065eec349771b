//! `shishi report`

use std::path::PathBuf;

use clap::Args;

use crate::output;

#[derive(Args)]
#[command(after_help = "Example: shishi report runs/quick-chu")]
pub(crate) struct Report {
    /// Run directory
    run: PathBuf,
    /// Print every number of the report as JSON instead of writing the page
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Report) -> anyhow::Result<()> {
    if args.json {
        output::json(&eval::report::summary(&args.run)?);
    } else {
        println!("{}", eval::report::write(&args.run)?.display());
    }
    Ok(())
}

//! `shishi run`

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use crate::args::DeviceArg;
use crate::config::RunConfig;
use crate::pipeline::Run;
use crate::session;

#[derive(Args)]
#[command(after_help = "Example: shishi run configs/quick/chu.toml")]
pub(crate) struct RunArgs {
    /// Configuration of the run
    config: PathBuf,
    /// Run directory; by default runs/FOLDER-NAME after the configuration's folder and name
    #[arg(long, value_name = "RUN")]
    out: Option<PathBuf>,
    /// Go on with a run that was stopped
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    device: DeviceArg,
    /// Threads; all cores if not given
    #[arg(long, value_parser = session::at_least_one)]
    threads: Option<usize>,
}

pub(crate) fn run(args: RunArgs) -> anyhow::Result<()> {
    let config = RunConfig::read(&args.config)?;
    let folder = args.out.unwrap_or_else(|| default_folder(&args.config));
    if args.resume && !folder.join("run.toml").exists() {
        bail!("{} is no run to go on with; leave out --resume to start one there", folder.display());
    }
    let stop = session::stop_flag()?;
    let run = Run::open(&folder, config, args.resume, session::threads(args.threads), args.device.device, stop)?;
    eprintln!("run directory: {}", folder.display());
    run.complete()?;
    let report = eval::report::write(&folder)?;
    if let Some(values) = run.measured()? {
        println!("{}\n", super::values::text(&values));
    }
    for result in run.last_measures()? {
        println!("{}\n", super::match_::text(&result));
    }
    println!("report: {}", report.display());
    Ok(())
}

/// `configs/quick/chu.toml` runs in `runs/quick-chu`.
fn default_folder(config: &Path) -> PathBuf {
    let part = |path: Option<&std::ffi::OsStr>| path.map(|name| name.to_string_lossy().into_owned());
    let name = part(config.file_stem()).unwrap_or_else(|| "run".to_string());
    match part(config.parent().and_then(Path::file_name)) {
        Some(folder) if folder != "configs" && folder != "." => Path::new("runs").join(format!("{folder}-{name}")),
        _ => Path::new("runs").join(name),
    }
}

//! The `shishi` command: reads the command line, calls the libraries, prints results.
//!
//! Results go to stdout, as text or with `--json` as one JSON document; progress and errors go to stderr. Exit codes:
//! 0 done, 2 bad input, 130 interrupted.

mod args;
mod commands;
mod config;
mod judge;
mod learning;
mod measuring;
mod output;
mod pipeline;
mod players;
mod rates;
mod session;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if error.is::<session::Interrupted>() {
                eprintln!("{error}");
                return ExitCode::from(130);
            }
            eprintln!("error: {}", text(&error));
            ExitCode::from(2)
        }
    }
}

/// An error with its causes, each said once: many an error's text has that of its cause at its end.
fn text(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(|cause| cause.to_string()).filter(|cause| !cause.is_empty()) {
        if !text.ends_with(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Variants(args) => commands::variants::run(args),
        Command::Show(args) => commands::show::run(args),
        Command::Check(args) => commands::check::run(args),
        Command::Perft(args) => commands::perft::run(args),
        Command::Moves(args) => commands::moves::run(args),
        Command::Selfplay(args) => commands::selfplay::run(args),
        Command::Train(args) => commands::train::run(args),
        Command::Match(args) => commands::match_::run(args),
        Command::Ladder(args) => commands::ladder::run(args),
        Command::Values(args) => commands::values::run(args),
        Command::Run(args) => commands::run::run(args),
        Command::Data(args) => commands::data::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Watch(args) => commands::watch::run(args),
    }
}

//! `shishi data check` and `shishi data stats`

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Subcommand};
use engine::Variant;
use selfplay::data::{CheckReport, DataStats, Share, check, find_checksums, find_shards, stats};

use crate::args::VariantArgs;
use crate::output;

#[derive(Args)]
pub(crate) struct Data {
    #[command(subcommand)]
    command: DataCommand,
}

#[derive(Subcommand)]
enum DataCommand {
    /// Validate shards: checksums, schema, targets, and every move by replaying the games
    #[command(after_help = "Example: shishi data check runs/quick-chu")]
    Check(Paths),
    /// Count games, endings, lengths, branching and duplicates
    #[command(after_help = "Example: shishi data stats runs/quick-chu")]
    Stats(Paths),
}

#[derive(Args)]
struct Paths {
    /// Run directories, folders of shards or shards
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// File that defines the variant of the games
    #[arg(long, value_name = "FILE")]
    variant_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Data) -> anyhow::Result<()> {
    match args.command {
        DataCommand::Check(paths) => run_check(&paths),
        DataCommand::Stats(paths) => run_stats(&paths),
    }
}

fn run_check(args: &Paths) -> anyhow::Result<()> {
    let (shards, listing) = (find_shards(&args.paths)?, find_checksums(&args.paths)?);
    if shards.is_empty() && listing.is_empty() {
        bail!("no shards in {}", args.paths[0].display());
    }
    let resolve = |variant: &str, ruleset: &str| -> Option<std::sync::Arc<Variant>> {
        let (variant, ruleset) = (variant.to_string(), Some(ruleset.to_string()));
        VariantArgs { variant, ruleset, variant_file: args.variant_file.clone() }.load().ok()
    };
    let report = check(&shards, &listing, &resolve);
    if args.json {
        output::json(&serde_json::to_value(&report)?);
    } else {
        let CheckReport { shards, games, positions, without_checksum, .. } = report;
        print!("{shards} shards, {games} games, {positions} positions");
        println!(
            "{}",
            if without_checksum > 0 {
                format!(", {without_checksum} shards without a checksum")
            } else {
                String::new()
            }
        );
    }
    if report.problems.is_empty() {
        return Ok(());
    }
    let lines = report.problems.iter().map(|problem| {
        let row = problem.row.map_or(String::new(), |row| format!(", row {row}"));
        format!("{}{row}: {}", problem.file.display(), problem.what)
    });
    bail!("problems found: {}\n{}", report.problems.len(), lines.collect::<Vec<_>>().join("\n"));
}

fn run_stats(args: &Paths) -> anyhow::Result<()> {
    let shards = find_shards(&args.paths)?;
    if shards.is_empty() {
        bail!("no shards in {}", args.paths[0].display());
    }
    let all = stats(&shards)?;
    if args.json {
        output::json(&serde_json::to_value(&all)?);
    } else {
        println!("{}", all.iter().map(text).collect::<Vec<_>>().join("\n\n"));
    }
    Ok(())
}

fn text(stats: &DataStats) -> String {
    let share = |share: &Option<Share>| {
        share.as_ref().map_or("not determined".to_string(), |share| {
            format!(
                "{:.1} % ({:.1} to {:.1}) of {} decided games",
                100.0 * share.value,
                100.0 * share.low,
                100.0 * share.high,
                share.of
            )
        })
    };
    let reasons: Vec<_> = stats.reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    format!(
        "{} under ruleset {}\n  games      {}\n  positions  {}\n  ends       {}\n  plies      {:.1} on average\n  branching  {:.1}\n  Black won    {}\n  duplicates {}",
        stats.variant,
        stats.ruleset,
        stats.games,
        stats.positions,
        reasons.join(", "),
        stats.mean_plies,
        stats.mean_branching,
        share(&stats.black_wins),
        stats.duplicates,
    )
}

//! `shishi values`

mod odds;
mod squares;
mod text;

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use eval::interval::{CEILINGS, CEILINGS_SOURCE};
use eval::judge::{Judge, Recorded};
use eval::measure::newest_generations;
use eval::reference::ReferenceTable;
use eval::squares::Kinds;
use selfplay::data::{PositionRow, ShardReader, find_shards};

use crate::args::VariantArgs;
use crate::judge::NetworkJudge;
use crate::measuring::{measure_by_square, measure_values};
use crate::{output, session};

pub(crate) use text::text;

#[derive(Args)]
#[command(
    after_help = "Example: shishi values runs/quick-chu\n\nA value is printed only if the games determine it: standard error of its \
logarithm below 0.30 and at least 200 games in which the sides had different numbers of the piece.\n\n\
With --method odds the run's network plays itself with one side a piece short, such as --pieces lion,rook,lion:queen; finished \
pairs are kept in RUN/values/odds, so the same command goes on, also to more --games, and the values in RUN/values/odds.json.\n\n\
--squares prints boards: what each square adds to a piece's mean value, by outcomes or as a judge sees it (docs/values.md)."
)]
pub(crate) struct Values {
    /// Run directories, folders of shards or shards
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Reference table: the id of an embedded one or a CSV file with columns id,value
    #[arg(long, value_name = "ID")]
    table: Option<String>,
    /// How values are estimated
    #[arg(long, default_value = "outcome")]
    method: MethodArg,
    /// Values by square instead: of these pieces, separated by commas, or of `all`
    #[arg(long, value_name = "PIECES", value_delimiter = ',')]
    squares: Vec<String>,
    /// For --method increment: the network that judges positions; if not given, what the searches said counts
    #[arg(long, value_name = "CHECKPOINT")]
    network: Option<PathBuf>,
    /// Games of so many of the newest generations; all if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    generations: Option<u32>,
    /// File that defines the variant of the games
    #[arg(long, value_name = "FILE")]
    variant_file: Option<PathBuf>,
    /// Seed of the resampling for intervals, and of matches with odds
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; all cores if not given
    #[arg(long, value_parser = session::at_least_one)]
    threads: Option<usize>,
    /// Add values by phase of the game (JSON always has them)
    #[arg(long)]
    phases: bool,
    /// Add how often and when pieces promote (JSON always has it)
    #[arg(long)]
    promotions: bool,
    #[command(flatten)]
    odds: odds::OddsArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MethodArg {
    /// Logistic regression of the outcome of games on the difference of piece counts
    Outcome,
    /// Regression of what an exchange changes in a judge's expectation on the pieces lost in it
    Increment,
    /// Matches of a player against itself in which one side gives a piece
    Odds,
}

pub(crate) fn run(args: Values) -> anyhow::Result<()> {
    if args.network.is_some() && args.method != MethodArg::Increment {
        bail!("--network goes with --method increment");
    }
    if args.method == MethodArg::Odds {
        let [run] = args.runs.as_slice() else { bail!("--method odds: expected one run directory") };
        if args.phases || args.promotions || !args.squares.is_empty() || args.generations.is_some() {
            bail!(
                "--phases, --promotions, --squares and --generations are about recorded games; they do not go with --method odds"
            );
        }
        if args.variant_file.is_some() {
            bail!("--variant-file does not go with --method odds: run.toml names the variant");
        }
        let Values { table, seed, threads, json, .. } = &args;
        let common = odds::Common { run, table: table.as_deref(), seed: *seed, threads: *threads, json: *json };
        return odds::run(&args.odds, &common);
    }
    if !args.squares.is_empty() && (args.phases || args.promotions) {
        bail!("--squares prints boards alone; ask for --phases and --promotions without it");
    }
    if let Some(name) = args.odds.given() {
        bail!("{name} goes with --method odds");
    }
    session::use_threads(args.threads)?;
    let mut shards = find_shards(&args.runs)?;
    if let Some(number) = args.generations {
        shards = newest_generations(shards, number)?;
    }
    let Some(first) = shards.first() else { bail!("no games in {}", args.runs[0].display()) };
    let meta = ShardReader::open::<PositionRow>(&first.positions)?.meta().clone();
    let variant =
        VariantArgs { variant: meta.variant, ruleset: Some(meta.ruleset), variant_file: args.variant_file }.load()?;
    let table = match &args.table {
        None => ReferenceTable::default_for(variant.name()),
        Some(id) => Some(reference(id)?),
    };
    let config = eval::values::ValuesConfig::default();
    let judge: Option<Box<dyn Judge>> = match (args.method, &args.network) {
        (MethodArg::Outcome | MethodArg::Odds, _) => None,
        (MethodArg::Increment, None) => Some(Box::new(Recorded)),
        (MethodArg::Increment, Some(folder)) => {
            Some(Box::new(NetworkJudge::load(folder, &variant, args.odds.device())?))
        }
    };
    let (judge, table) = (judge.as_deref(), table.as_ref());
    if !args.squares.is_empty() {
        let kinds = match args.squares.as_slice() {
            [all] if all == "all" => Kinds::all(&variant),
            ids => Kinds::named(&variant, ids)?,
        };
        let measured = measure_by_square(&variant, &shards, &kinds, judge, table, &config, args.seed)?;
        if args.json {
            output::json(&serde_json::to_value(&measured)?);
        } else {
            println!("{}", squares::text(&measured));
        }
        return Ok(());
    }
    let measured = measure_values(&variant, &shards, judge, table, &config, args.seed)?;
    if args.json {
        let mut document = serde_json::to_value(&measured)?;
        document["ceilings"] = serde_json::to_value(CEILINGS)?;
        document["ceilings_source"] = CEILINGS_SOURCE.into();
        output::json(&document);
        return Ok(());
    }
    println!("{}", text(&measured));
    if args.phases {
        println!("\n{}", text::phases(&measured));
    }
    if args.promotions {
        println!("\n{}", text::promotions(&measured));
    }
    Ok(())
}

fn reference(id: &str) -> anyhow::Result<ReferenceTable> {
    if let Some(table) = ReferenceTable::builtin(id) {
        return Ok(table);
    }
    let path = PathBuf::from(id);
    if !path.exists() {
        let ids: Vec<_> = ReferenceTable::builtin_ids().collect();
        bail!("no reference table `{id}`: neither a file nor one of {}", ids.join(", "));
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(ReferenceTable::from_csv(&text, &path)?)
}

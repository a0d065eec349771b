//! `shishi match`

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use eval::matches::{Conduct, Contestants, MatchConfig, MatchResult};
use selfplay::PlayerSpec;

use crate::args::{DeviceArg, VariantArgs};
use crate::session::Interrupted;
use crate::{output, pipeline, players, session};

#[derive(Args)]
#[command(
    after_help = "Example: shishi match sho --first net:runs/quick-sho/networks/000003,sims=32 --second random --games 100\n\n\
Players: random, material (greedy one ply), net:CHECKPOINT[,sims=N][,search=gumbel|puct], with 32 simulations and Gumbel \
search if not said otherwise; other engines: cecp:COMMAND[,KEY=VALUE]… or usi:COMMAND[,KEY=VALUE]… with time=SECONDS a move, \
depth=PLIES, deadline=SECONDS, start=SECONDS, memory=MB, variant=NAME, transcript=FOLDER, option.NAME=VALUE, such as \
cecp:hachu,time=0.1 with --ruleset hachu; quotes and \\ protect commas and spaces (docs/engines.md). With them each thread plays \
one game at a time. Each opening is played twice with colours reversed, so an odd number of games is raised by one.\n\n\
With --out a match that was stopped, even by force, loses unfinished pairs only: the same command goes on with it."
)]
pub(crate) struct Match {
    #[command(flatten)]
    variant: VariantArgs,
    /// The player whose side results are given from
    #[arg(long, value_name = "PLAYER")]
    first: PlayerSpec,
    /// The other player
    #[arg(long, value_name = "PLAYER")]
    second: PlayerSpec,
    /// Games at most [default: 100, with --sprt 10000]
    #[arg(long)]
    games: Option<usize>,
    /// Stop as soon as the normalised Elo is shown to be HIGH rather than LOW or the other way round
    #[arg(long, value_name = "LOW,HIGH", allow_hyphen_values = true)]
    sprt: Option<String>,
    /// Random plies of an opening at most
    #[arg(long, default_value_t = 8)]
    opening_plies: u32,
    /// Plies after which a game counts as a draw, 0 for never
    #[arg(long, default_value_t = 1000)]
    max_plies: usize,
    /// Seed of openings and chance
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArg,
    /// Threads; all cores if not given
    #[arg(long, value_parser = session::at_least_one)]
    threads: Option<usize>,
    /// Keep finished games beside FILE (in FILE's name with .games.jsonl) and the result in it, and go on with what is there
    #[arg(long, value_name = "FILE.json")]
    out: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Match) -> anyhow::Result<()> {
    let variant = args.variant.load()?;
    let sprt = args.sprt.as_deref().map(read_bounds).transpose()?;
    let config = MatchConfig {
        games: args.games.unwrap_or(if sprt.is_some() { 10_000 } else { 100 }),
        opening_plies: args.opening_plies,
        max_plies: args.max_plies,
        sprt,
        ..MatchConfig::default()
    };
    config.validate()?;
    let first = players::load(&args.first, &variant, config.simulations, &args.device.device)?;
    let second = players::load(&args.second, &variant, config.simulations, &args.device.device)?;
    let names = [args.first.to_string(), args.second.to_string()];
    let contestants = Contestants { first: (&names[0], &first), second: (&names[1], &second) };
    let stop = session::stop_flag()?;
    let record = args.out.as_deref().map(pipeline::record_of);
    if let (Some(out), Some(record)) = (&args.out, &record)
        && out.exists()
        && !record.exists()
    {
        bail!("{} exists and there is no {} to go on with; name another file", out.display(), record.display());
    }
    let conduct = Conduct { threads: session::threads(args.threads), record: record.as_deref(), stop: &stop };
    let result = pipeline::show_match("match", &variant, &contestants, &config, args.seed, &conduct)?;
    if args.json {
        output::json(&serde_json::to_value(&result)?);
    } else {
        println!("{}", text(&result));
    }
    if !result.complete {
        let kept = if record.is_some() { "; the same command goes on" } else { "" };
        return Err(Interrupted(format!("the result counts the pairs before the first unfinished one{kept}")).into());
    }
    if let Some(out) = &args.out {
        session::write_json(out, &result)?;
    }
    Ok(())
}

fn read_bounds(text: &str) -> anyhow::Result<(f64, f64)> {
    let parts: Vec<_> = text.split(',').collect();
    let &[low, high] = parts.as_slice() else { bail!("--sprt `{text}`: expected LOW,HIGH such as 0,50") };
    let number =
        |part: &str| part.trim().parse::<f64>().with_context(|| format!("--sprt `{text}`: `{part}` is no number"));
    Ok((number(low)?, number(high)?))
}

pub(crate) fn text(result: &MatchResult) -> String {
    let number = |value: Option<f64>| value.map_or("not determined".to_string(), signed);
    let error = |value: Option<f64>| value.map_or(String::new(), |value| format!(" ± {value:.1}"));
    if result.games == 0 {
        return format!("{} against {}: no finished pair of games", result.first, result.second);
    }
    let mut lines = vec![
        format!("{} against {}: {} games", result.first, result.second, result.games),
        format!(
            "won {}, drawn {}, lost {}; score {:.1} %",
            result.wins,
            result.draws,
            result.losses,
            100.0 * result.score
        ),
        format!("Elo {}", elo(result)),
        format!("nElo {}{}", number(result.nelo), error(result.nelo_error)),
        format!("likelihood of superiority {:.1} %", 100.0 * result.los),
        format!("pairs by points 0, ½, 1, 1½, 2: {:?}", result.pentanomial.0),
    ];
    if let (Some(llr), Some((low, high)), Some(verdict)) = (result.llr, result.bounds, result.verdict) {
        lines
            .push(format!("SPRT nElo {low} against {high}: log-likelihood ratio {llr:.2}, {verdict:?}").to_lowercase());
    }
    if result.repeated_pairs > 0 {
        lines.push(format!("{} pairs repeated others move by move and were counted once", result.repeated_pairs));
    }
    let reasons: Vec<_> = result.reasons.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    lines.push(format!(
        "ends: {}; {:.0} plies a game; {} distinct games",
        reasons.join(", "),
        result.mean_plies,
        result.distinct
    ));
    lines.join("\n")
}

/// Elo with its 95 % interval, or on which side of a bound it lies.
pub(crate) fn elo(result: &MatchResult) -> String {
    match (result.elo, result.elo_low, result.elo_high) {
        (Some(elo), Some(low), Some(high)) => format!("{} ({} to {})", signed(elo), signed(low), signed(high)),
        (_, Some(low), None) => format!("above {}", signed(low)),
        (_, None, Some(high)) => format!("below {}", signed(high)),
        _ => "not determined".to_string(),
    }
}

/// A number with its sign, and 0 without one of its own.
fn signed(value: f64) -> String {
    format!("{:+.1}", (10.0 * value).round() / 10.0 + 0.0)
}

//! `shishi values --method odds`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use engine::Variant;
use eval::compare::Verdict;
use eval::interval::Interval;
use eval::match_record::RecordError;
use eval::matches::{Conduct, MatchConfig, MatchError, play_odds};
use eval::measure::Measured;
use eval::odds::{Beside, OddsMatch, OddsPiece, OddsSettings, OddsValues};
use eval::reference::ReferenceTable;
use eval::starts::Odds;
use eval::values::Unit;
use selfplay::{Player, PlayerSpec, SearchConfig, derive_seed};
use train::{Checkpoint, Device};

use crate::args::DeviceArg;
use crate::config::RunConfig;
use crate::pipeline::{self, Gate};
use crate::session::{self, Interrupted, RunLock, number_of, read_json, write_json};
use crate::{output, players};

/// Games of each match if not said otherwise: the fewest that identify a value.
const GAMES: usize = 200;

/// What only matches with odds need.
#[derive(Args)]
pub(crate) struct OddsArgs {
    /// For --method odds: the odds, A for a side without one A, A:B for one with a B in its place
    #[arg(long, value_name = "A,A:B,…")]
    pieces: Option<String>,
    /// For --method odds: games of each match [default: 200]
    #[arg(long)]
    games: Option<usize>,
    /// For --method odds: who plays both sides [default: the run's last accepted network, searching as in self-play]
    #[arg(long)]
    player: Option<PlayerSpec>,
    /// For --method odds: simulations a move of a network [default: the run's measure.simulations]
    #[arg(long)]
    simulations: Option<u32>,
    /// For --method odds: random plies of an opening at most [default: the run's measure.opening_plies]
    #[arg(long)]
    opening_plies: Option<u32>,
    /// For --method odds: plies after which a game counts as a draw, 0 for never [default: the run's measure.max_plies]
    #[arg(long)]
    max_plies: Option<usize>,
    #[command(flatten)]
    device: DeviceArg,
}

impl OddsArgs {
    /// What networks are computed on.
    pub(crate) fn device(&self) -> &Device {
        &self.device.device
    }

    /// The first argument that is given, if any.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let all = [
            ("--pieces", self.pieces.is_some()),
            ("--games", self.games.is_some()),
            ("--player", self.player.is_some()),
            ("--simulations", self.simulations.is_some()),
            ("--opening-plies", self.opening_plies.is_some()),
            ("--max-plies", self.max_plies.is_some()),
        ];
        all.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }
}

/// What matches with odds share with the other methods.
pub(crate) struct Common<'a> {
    pub(crate) run: &'a Path,
    pub(crate) table: Option<&'a str>,
    pub(crate) seed: u64,
    pub(crate) threads: Option<usize>,
    pub(crate) json: bool,
}

pub(crate) fn run(args: &OddsArgs, common: &Common<'_>) -> anyhow::Result<()> {
    let path = common.run.join("run.toml");
    if !path.exists() {
        bail!("--method odds: expected a run directory with a run.toml, found none in {}", common.run.display());
    }
    let run_config = RunConfig::read(&path)?;
    let variant = run_config.variant()?;
    let odds = args.pieces.as_deref().context("--method odds: name the odds, such as --pieces lion,lion:queen")?;
    let odds = read_odds(&variant, odds)?;
    let measure = run_config.measure;
    let config = MatchConfig {
        games: args.games.unwrap_or(GAMES),
        opening_plies: args.opening_plies.unwrap_or(measure.opening_plies),
        max_plies: args.max_plies.unwrap_or(measure.max_plies),
        simulations: args.simulations.unwrap_or(measure.simulations),
        sprt: None,
        ..measure
    };
    config.validate()?;
    let table = match common.table {
        None => ReferenceTable::default_for(variant.name()),
        Some(id) => Some(super::reference(id)?),
    };
    let others = ["outcome", "increment"].map(|name| common.run.join("values").join(format!("{name}.json")));
    let others: Vec<Measured> =
        others.iter().filter_map(|path| read_json(path).transpose()).collect::<Result<_, _>>()?;
    let (name, player) = match &args.player {
        Some(spec) => (spec.to_string(), players::load(spec, &variant, config.simulations, &args.device.device)?),
        None => {
            let search = SearchConfig { simulations: config.simulations, ..run_config.search };
            last_accepted(common.run, &variant, search, &args.device)?
        }
    };
    let folder = common.run.join("values").join("odds");
    let _lock = RunLock::take(&folder)?;
    let settings = OddsSettings {
        player: name,
        simulations: config.simulations,
        opening_plies: config.opening_plies,
        max_plies: config.max_plies,
        games: config.games,
        seed: common.seed,
    };
    let wanted = Matches { variant: &variant, player: &player, settings: &settings, config: &config, folder: &folder };
    let matches = wanted.play(&odds, session::threads(common.threads))?;
    let values = OddsValues::of(&variant, settings, matches, table.as_ref(), &others, &run_config.values);
    write_json(&common.run.join("values").join("odds.json"), &values)?;
    if common.json {
        output::json(&serde_json::to_value(&values)?);
    } else {
        println!("{}", text(&values));
    }
    Ok(())
}

fn read_odds(variant: &Arc<Variant>, list: &str) -> anyhow::Result<Vec<Odds>> {
    let mut all: Vec<Odds> = Vec::new();
    for text in list.split(',') {
        let odds = Odds::parse(variant, text.trim()).context("--pieces")?;
        if all.contains(&odds) {
            bail!("--pieces: `{}` twice", odds.name());
        }
        all.push(odds);
    }
    Ok(all)
}

/// The network that played at the end of a run: the last one that was accepted, else the last there is. It searches as in
/// self-play, with noise: without chance two equal networks repeat moves, and nearly every game is drawn.
fn last_accepted(
    run: &Path,
    variant: &Arc<Variant>,
    search: SearchConfig,
    device: &DeviceArg,
) -> anyhow::Result<(String, Player)> {
    let folder = run.join("networks");
    let networks = crate::commands::ladder::existing(&folder)?;
    let mut accepted = None;
    for &network in networks.iter().rev() {
        let gate: Option<Gate> = read_json(&run.join("matches").join(format!("gate-{network:06}.json")))?;
        if gate.is_some_and(|gate| gate.accepted) {
            accepted = Some(network);
            break;
        }
    }
    let chosen = accepted
        .with_context(|| format!("no network in {} has passed a gate; name who plays by --player", folder.display()))?;
    let folder = folder.join(format!("{chosen:06}"));
    let network = Checkpoint::load(&folder, variant, &device.device)?.network;
    let player = Player::Net { evaluator: Arc::new(train::evaluator(&network, variant)), search };
    Ok((format!("net:{chosen:06}"), player))
}

/// Who plays, how, and where it is kept.
struct Matches<'a> {
    variant: &'a Arc<Variant>,
    player: &'a Player,
    settings: &'a OddsSettings,
    config: &'a MatchConfig,
    folder: &'a Path,
}

impl Matches<'_> {
    fn play(&self, all: &[Odds], threads: usize) -> anyhow::Result<Vec<OddsMatch>> {
        let stop = session::stop_flag()?;
        let mut matches = Vec::new();
        for odds in all {
            let record = self.record(odds);
            let conduct = Conduct { threads, record: Some(&record), stop: &stop };
            let seed = derive_seed(&[self.settings.seed, number_of(odds.name())]);
            let player = (self.settings.player.as_str(), self.player);
            let what = format!("odds {}", odds.name());
            let result = pipeline::show_progress(&what, self.config, |progress| {
                play_odds(self.variant, player, odds, self.config, seed, &conduct, progress)
            });
            let result = result.map_err(|error| match error.downcast_ref() {
                Some(MatchError::Record(RecordError::Differs { .. })) => {
                    error.context("matches with odds in other settings are kept there; move them away to play these")
                }
                _ => error,
            })?;
            if !result.complete {
                let kept = format!("finished pairs are in {}; the same command goes on", self.folder.display());
                return Err(Interrupted(kept).into());
            }
            matches.push(OddsMatch::new(self.variant, odds, result));
        }
        Ok(matches)
    }

    /// The record of a match; a colon may not stand in file names everywhere.
    fn record(&self, odds: &Odds) -> PathBuf {
        self.folder.join(format!("{}.games.jsonl", odds.name().replace(':', "-")))
    }
}

fn text(values: &OddsValues) -> String {
    let s = &values.settings;
    let mut text = format!(
        "{} under ruleset {}: {} games of {} against itself ({} simulations), one side giving odds\n",
        values.variant, values.ruleset, values.games, s.player, s.simulations
    );
    let logits = values.unit == Unit::Logit;
    if let Some(title) = &values.reference_title {
        let scale = if logits {
            "too few pieces are identified to find its scale, so values are logits of winning".to_owned()
        } else {
            format!("one factor, {:.3} logits a point, makes the scales equal", values.scale)
        };
        text += &format!("reference: {title}; {scale}\n");
    }
    if let Some(warning) = &values.warning {
        text += &format!("note: {warning}\n");
    }
    let rows: Vec<Vec<String>> = values.matches.iter().map(match_row).collect();
    let headings = ["odds", "score", "pairs 0, ½, 1, 1½, 2", "games", "logits", "95 % interval"];
    text += &format!("\n{}\n", output::table(&headings, &rows));
    let mut identified: Vec<&OddsPiece> = values.pieces.iter().filter(|piece| piece.identified).collect();
    identified.sort_by(|a, b| b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0)));
    if identified.is_empty() {
        text += "\nno piece is identified\n";
    } else {
        let rows: Vec<Vec<String>> = identified.iter().map(|piece| piece_row(piece, logits)).collect();
        let headings =
            ["", "piece", "value", "95 % interval", "reference", "games", "by outcomes", "by exchanges", "verdict"];
        text += &format!("\n{}\n", output::table(&headings, &rows));
    }
    let missing: Vec<&OddsPiece> = values.pieces.iter().filter(|piece| !piece.identified).collect();
    if !missing.is_empty() {
        text += "\nnot identified:\n";
    }
    for piece in missing {
        text += &format!("  {} {}: {}\n", piece.symbol, piece.id, piece.missing.join("; "));
    }
    if let Some(misfit) = values.misfit {
        text += &format!(
            "\nsingle odds and odds against each other: chi-square {:.1} for {} degree{} of freedom\n",
            misfit.chi_square,
            misfit.degrees,
            if misfit.degrees == 1 { "" } else { "s" }
        );
    }
    let beside: String = values.beside.iter().filter_map(beside).collect();
    if !beside.is_empty() {
        text += &format!("\n{beside}");
    }
    let agreement = super::text::agreement_of(&values.agreement, values.games);
    (text + &agreement).trim_end().to_string()
}

fn match_row(m: &OddsMatch) -> Vec<String> {
    let interval = match (m.logit_low, m.logit_high) {
        (Some(low), Some(high)) => format!("{low:.2} – {high:.2}"),
        (Some(low), None) => format!("at least {low:.2}"),
        (None, Some(high)) => format!("at most {high:.2}"),
        (None, None) => String::new(),
    };
    vec![
        m.name.clone(),
        format!("{:.1} %", 100.0 * m.result.score),
        m.result.pentanomial.0.map(|n| n.to_string()).join(" "),
        m.result.games.to_string(),
        m.logit.map_or(String::new(), |logit| format!("{:.2}", (100.0 * logit).round() / 100.0 + 0.0)),
        interval,
    ]
}

fn piece_row(piece: &OddsPiece, logits: bool) -> Vec<String> {
    let own = |value: Option<f64>| {
        value.map_or(String::new(), |value| if logits { format!("{value:.2}") } else { format!("{value:.1}") })
    };
    let other = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    let verdict = piece.comparison.as_ref().map_or("", |comparison| match comparison.verdict {
        Verdict::Differs => "differs",
        Verdict::Equivalent => "within a factor 1.25",
        Verdict::Open => "open",
    });
    vec![
        piece.symbol.clone(),
        piece.id.clone(),
        own(piece.value),
        format!("{} – {}", own(piece.low), own(piece.high)),
        other(piece.reference),
        piece.games.to_string(),
        other(piece.outcome),
        other(piece.increment),
        verdict.to_owned(),
    ]
}

/// How another method compares; nothing if it has no piece in common.
fn beside(beside: &Beside) -> Option<String> {
    let factor = beside.factor?;
    let (by, unit) = (beside.by(), beside.unit_name());
    let pieces = if beside.pieces == 1 { "1 piece".to_owned() } else { format!("{} pieces", beside.pieces) };
    let slope = beside.log_slope.map_or(String::new(), |Interval { value, low, high }| {
        format!("; their log-log slope on odds is {value:.2} ({low:.2} to {high:.2}), below 1 they are compressed")
    });
    Some(format!("by {by}: 1 {unit} is {factor:.3} logits of odds over {pieces}{slope}\n"))
}

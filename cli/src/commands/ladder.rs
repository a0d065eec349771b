//! `shishi ladder`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use clap::Args;
use engine::Variant;
use eval::ladder::{Entrant, Ladder as Rated, Pairing, next_pairing, skeleton};
use eval::match_record::RecordError;
use eval::matches::{Conduct, Contestants, MatchConfig, MatchError};
use selfplay::{Method, Player, PlayerSpec, derive_seed};

use crate::args::DeviceArg;
use crate::config::RunConfig;
use crate::session::{self, Interrupted, RunLock, number_of};
use crate::{output, pipeline, players};

/// Games of the matches that a ladder is made of.
const BLOCK: usize = 20;

/// Games for each player if not said otherwise.
const GAMES_PER_PLAYER: usize = 60;

/// Networks that play if not said otherwise, evenly spaced.
const NETWORKS: usize = 10;

#[derive(Args)]
#[command(after_help = "Example: shishi ladder runs/quick-chu --networks 0,2,4,last --games 400\n\n\
The random and the greedy player always play; --player adds others, as `shishi match --help` writes them. Matches of 20 games \
are played where they tell most, at first between neighbours. They are kept in RUN/ladder, so the same command goes on \
after a stop, and a larger --games or further players use what is there. `shishi report RUN` shows the ratings.")]
pub(crate) struct Ladder {
    /// Run directory
    run: PathBuf,
    /// Ruleset of the games; the run's if not given
    #[arg(long)]
    ruleset: Option<String>,
    /// Generations that play, such as 0,5,last, or all [default: ten of them, evenly spaced]
    #[arg(long, value_name = "LIST")]
    networks: Option<String>,
    /// Another player; may be given several times
    #[arg(long = "player", value_name = "PLAYER")]
    players: Vec<PlayerSpec>,
    /// The player whose rating is 0: random, material, net:GENERATION or a --player as given
    #[arg(long, default_value = "random")]
    anchor: String,
    /// Games in all, with those that were played before [default: 60 for each player]
    #[arg(long)]
    games: Option<usize>,
    /// Simulations a move of the networks [default: the run's measure.simulations]
    #[arg(long)]
    simulations: Option<u32>,
    /// Where matches and ratings are kept [default: RUN/ladder]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Seed of openings and chance
    #[arg(long, default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArg,
    /// Threads; all cores if not given
    #[arg(long, value_parser = session::at_least_one)]
    threads: Option<usize>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Ladder) -> anyhow::Result<()> {
    let mut run_config = RunConfig::read(&args.run.join("run.toml"))?;
    run_config.run.ruleset = args.ruleset.or(run_config.run.ruleset);
    let variant = run_config.variant()?;
    let simulations = args.simulations.unwrap_or(run_config.measure.simulations);
    let config = MatchConfig { games: BLOCK, simulations, sprt: None, ..run_config.measure };
    config.validate()?;
    let mut entrants = Vec::new();
    let mut seated = Vec::new();
    let mut enter = |name: String, network: Option<u32>, player: Player| {
        entrants.push(Entrant { name, network });
        seated.push(player);
    };
    let networks = args.run.join("networks");
    for generation in chosen(args.networks.as_deref(), &existing(&networks)?)? {
        let folder = networks.join(format!("{generation:06}"));
        let player = players::net(&folder, &variant, simulations, Method::Gumbel, &args.device.device)?;
        enter(format!("net:{generation:06}"), Some(generation), player);
    }
    let mut specs = vec![PlayerSpec::Random, PlayerSpec::Material];
    for spec in args.players {
        if specs.contains(&spec) {
            bail!("--player {spec}: this player plays already");
        }
        specs.push(spec);
    }
    for spec in specs {
        enter(spec.to_string(), None, players::load(&spec, &variant, simulations, &args.device.device)?);
    }
    let anchor = anchor(&args.anchor, &entrants)?;
    let games = args.games.unwrap_or(GAMES_PER_PLAYER * entrants.len());
    let least = BLOCK * skeleton(&entrants).len();
    if games < least {
        bail!("--games {games}: {} players need {least} games to be compared at all", entrants.len());
    }
    let folder = args.out.unwrap_or_else(|| args.run.join("ladder"));
    let _lock = RunLock::take(&folder)?;
    let table = Table {
        variant: &variant,
        entrants: &entrants,
        players: &seated,
        config: &config,
        folder: &folder,
        seed: args.seed,
        threads: session::threads(args.threads),
        stop: session::stop_flag()?,
    };
    let played = table.complete(games as u64)?;
    let rated = Rated::rate(&entrants, &played, anchor)?;
    let mut document = serde_json::to_value(&rated)?;
    let settings = serde_json::json!({
        "variant": variant.name(), "ruleset": variant.ruleset(), "simulations": simulations, "seed": args.seed,
        "opening_plies": config.opening_plies, "max_plies": config.max_plies,
    });
    if let (Some(document), serde_json::Value::Object(settings)) = (document.as_object_mut(), settings) {
        document.extend(settings);
    }
    session::write_json(&folder.join("ladder.json"), &document)?;
    if args.json {
        output::json(&document);
    } else {
        println!("{}", text(&rated));
    }
    Ok(())
}

/// The generations of the checkpoints in a folder.
pub(crate) fn existing(networks: &Path) -> anyhow::Result<BTreeSet<u32>> {
    let entries = networks.read_dir().with_context(|| format!("cannot read {}", networks.display()))?;
    let mut found = BTreeSet::new();
    for entry in entries {
        found.extend(entry?.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    }
    if found.is_empty() {
        bail!("{} holds no networks", networks.display());
    }
    Ok(found)
}

/// The generations of a list such as `0,5,last`; of no list some that are evenly spaced.
fn chosen(list: Option<&str>, existing: &BTreeSet<u32>) -> anyhow::Result<BTreeSet<u32>> {
    let all: Vec<u32> = existing.iter().copied().collect();
    let last = *all.last().context("the run has no networks")?;
    let Some(list) = list else {
        let most = all.len() - 1;
        let steps = most.clamp(1, NETWORKS - 1);
        return Ok((0..=steps).map(|step| all[most * step / steps]).collect());
    };
    if list.trim() == "all" {
        return Ok(existing.clone());
    }
    let generation = |text: &str| match text.trim() {
        "last" => Ok(last),
        text => match text.parse() {
            Ok(generation) if existing.contains(&generation) => Ok(generation),
            Ok(generation) => bail!("--networks: the run has no network {generation}; its last one is {last}"),
            Err(_) => bail!("--networks: expected generations such as 0,5,last, or all, found `{text}`"),
        },
    };
    list.split(',').map(generation).collect()
}

/// The index of the player that is named as anchor.
fn anchor(name: &str, entrants: &[Entrant]) -> anyhow::Result<usize> {
    let network = name.strip_prefix("net:").and_then(|number| number.parse::<u32>().ok());
    let is = |entrant: &Entrant| entrant.name == name || network.is_some() && entrant.network == network;
    entrants.iter().position(is).with_context(|| {
        let names: Vec<&str> = entrants.iter().map(|entrant| entrant.name.as_str()).collect();
        format!("--anchor {name}: no such player in this ladder; it has {}", names.join(", "))
    })
}

/// The players of a ladder and where their matches are kept.
struct Table<'a> {
    variant: &'a Arc<Variant>,
    entrants: &'a [Entrant],
    players: &'a [Player],
    config: &'a MatchConfig,
    folder: &'a Path,
    seed: u64,
    threads: usize,
    stop: Arc<AtomicBool>,
}

impl Table<'_> {
    /// Plays until there are so many games; gives all pairings.
    fn complete(&self, games: u64) -> anyhow::Result<Vec<Pairing>> {
        let mut played = Vec::new();
        // What was played before, in these settings.
        for a in 0..self.entrants.len() {
            for b in a + 1..self.entrants.len() {
                let [first, second] = self.in_order([a, b]);
                for number in 0.. {
                    if !self.record(first, second, number).exists() {
                        break;
                    }
                    self.block(&mut played, [first, second], number)?;
                }
            }
        }
        let count = |played: &[Pairing]| played.iter().map(Pairing::games).sum::<u64>();
        let mut blocks = played.iter().map(|pairing| pairing.games().div_ceil(BLOCK as u64)).sum::<u64>();
        // Pairs that repeat others do not count; so blocks are counted, not their games.
        while blocks * (BLOCK as u64) < games {
            let [first, second] = self.in_order(next_pairing(self.entrants, &played)?);
            let number = (0..).find(|&number| !self.record(first, second, number).exists());
            self.block(&mut played, [first, second], number.expect("some number is free"))?;
            blocks += 1;
            eprintln!("ladder: {} of {games} games", count(&played));
        }
        Ok(played)
    }

    /// Two players in the order of their file names, which does not depend on who else plays.
    fn in_order(&self, [a, b]: [usize; 2]) -> [usize; 2] {
        if file_name(&self.entrants[a].name) <= file_name(&self.entrants[b].name) { [a, b] } else { [b, a] }
    }

    fn record(&self, first: usize, second: usize, number: u32) -> PathBuf {
        let [first, second] = [first, second].map(|index| file_name(&self.entrants[index].name));
        self.folder.join(format!("{first}_{second}_{number:04}.games.jsonl"))
    }

    /// Plays one match, or reads it if it was played, and adds its games.
    fn block(&self, played: &mut Vec<Pairing>, [first, second]: [usize; 2], number: u32) -> anyhow::Result<()> {
        let interrupted = || {
            let kept = format!("finished games are in {}; the same command goes on", self.folder.display());
            anyhow::Error::from(Interrupted(kept))
        };
        if self.stop.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        let record = self.record(first, second, number);
        let names = [first, second].map(|index| self.entrants[index].name.as_str());
        let contestants =
            Contestants { first: (names[0], &self.players[first]), second: (names[1], &self.players[second]) };
        let seed = derive_seed(&[self.seed, number_of(names[0]), number_of(names[1]), number.into()]);
        let conduct = Conduct { threads: self.threads, record: Some(&record), stop: &self.stop };
        let what = format!("{} against {}", names[0], names[1]);
        let shown = pipeline::show_match(&what, self.variant, &contestants, self.config, seed, &conduct);
        let result = shown.map_err(|error| match error.downcast_ref::<MatchError>() {
            Some(MatchError::Record(RecordError::Differs { .. })) => {
                error.context(format!("{} holds a ladder in other settings; name another --out", self.folder.display()))
            }
            _ => error,
        })?;
        if !result.complete {
            return Err(interrupted());
        }
        let by_color = result.by_color.context("a match that was just played has no results by colour")?;
        match played.iter_mut().find(|pairing| [pairing.first, pairing.second] == [first, second]) {
            Some(pairing) => {
                pairing.by_color.iter_mut().flatten().zip(by_color.into_iter().flatten()).for_each(|(sum, n)| *sum += n)
            }
            None => {
                played.push(Pairing { first, second, by_color });
                // The same sums in the same order, whether just played or read.
                played.sort_by_key(|pairing| [pairing.first, pairing.second]);
            }
        }
        Ok(())
    }
}

/// A player's name in the name of a file; where that loses something, with a number that stands for the name.
fn file_name(name: &str) -> String {
    let plain: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
    let is_network = name.strip_prefix("net:").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    if plain == name || is_network {
        return plain;
    }
    let number = number_of(name);
    format!("{plain}-{number:016x}")
}

fn text(ladder: &Rated) -> String {
    let rows: Vec<Vec<String>> = ladder
        .players
        .iter()
        .map(|player| {
            let interval = if player.name == ladder.anchor {
                "anchor".to_string()
            } else {
                format!("{:+.0} to {:+.0}", player.low, player.high)
            };
            vec![
                player.name.clone(),
                format!("{:+.0}", player.elo + 0.0),
                interval,
                player.games.to_string(),
                format!("{:.1} %", 100.0 * player.score),
            ]
        })
        .collect();
    let elo = format!("Elo over {}", ladder.anchor);
    let mut lines = vec![output::table(&["player", &elo, "95 % interval", "games", "score"], &rows), String::new()];
    if let (Some(advantage), Some(error)) = (ladder.first_move_advantage, ladder.first_move_error) {
        lines.push(format!("Black's advantage: {advantage:+.0} ± {:.0} Elo", 1.96 * error));
    }
    lines.push(format!("{} games; Davidson's model of all of them, intervals are of the differences", ladder.games));
    if ladder.pseudo_results {
        lines.push(
            "some player won or lost every game: half a win and half a loss were added for every two who met, so large \
             differences are understated"
                .to_string(),
        );
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_chosen() {
        let check = |list: Option<&str>, last: u32, expected: &[u32]| {
            let found = chosen(list, &(0..=last).collect()).map(Vec::from_iter);
            assert_eq!(found.ok().as_deref().unwrap_or(&[]), expected, "{list:?} of {last}");
        };
        check(None, 0, &[0]);
        check(None, 3, &[0, 1, 2, 3]);
        check(None, 18, &[0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
        check(Some("5,last, 0"), 9, &[0, 5, 9]);
        check(Some("all"), 2, &[0, 1, 2]);
        check(Some("5"), 3, &[]);
        check(Some("first"), 3, &[]);
    }

    #[test]
    fn file_names_tell_players_apart() {
        assert_eq!(file_name("random"), "random");
        assert_eq!(file_name("net:000012"), "net-000012");
        let [a, b] = ["usi:engine a", "usi:engine-a"].map(file_name);
        assert!(a != b && a.starts_with("usi-engine-a-"), "{a} {b}");
    }

    #[test]
    fn anchors_are_found_by_name() {
        let entrants = [("net:000003", Some(3)), ("random", None)]
            .map(|(name, network)| Entrant { name: name.to_string(), network });
        assert_eq!(anchor("random", &entrants).ok(), Some(1));
        assert_eq!(anchor("net:3", &entrants).ok(), Some(0));
        assert_eq!(anchor("net:000003", &entrants).ok(), Some(0));
        let error = anchor("net:4", &entrants).expect_err("there is none").to_string();
        assert!(error.contains("net:000003, random"), "{error}");
    }
}

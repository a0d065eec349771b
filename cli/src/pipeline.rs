//! A run directory and the stages that fill it.
//!
//! Generation `g` plays games with the best network so far, trains network `g + 1` on them and the generations before,
//! and lets it play the old one (the gate) and the random and the greedy player (the measure). A stage is done when its result is there;
//! so a run can be stopped anywhere and goes on with the first stage whose result is missing.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use engine::Variant;
use eval::judge::{Judge, Recorded};
use eval::matches::{Conduct, Contestants, MatchConfig, MatchError, MatchProgress, MatchResult, play_match};
use eval::measure::{Measured, newest_generations};
use eval::reference::ReferenceTable;
use eval::squares::{Kinds, newest};
use selfplay::data::{PositionRow, ShardPair, ShardReader, find_shards};
use selfplay::{Evaluator, Generation, MaterialValues, Method, Player, Progress, Uniform, derive_seed, generate};
use serde::{Deserialize, Serialize};
use serde_json::json;
use train::{Checkpoint, Dataset, Device, Learner, Network};

use crate::commands::match_::elo;
use crate::config::RunConfig;
use crate::judge::NetworkJudge;
use crate::learning::{Unfinished, warn_of_losses, warn_of_targets};
use crate::measuring::{measure_by_square, measure_values};
use crate::players;
use crate::rates::Rates;
use crate::session::{Bar, Interrupted, RunLock, log_event, read_json, write_json, write_whole};

/// Domains of the seeds that a run derives from its own.
const NETWORK: u64 = 1;
const TRAINING: u64 = 2;
const GATE: u64 = 3;
const MEASURE: u64 = 4;
const VALUES: u64 = 5;

/// The time between two checkpoints from inside a session of learning.
const SAVE_EVERY: Duration = Duration::from_secs(60);

/// Values by square at the end of a run are measured from about so many of the newest positions.
const POSITIONS_BY_SQUARE: u64 = 300_000;

/// The time between two lines of `metrics.jsonl` about one generation's games.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// A gate match and its verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Gate {
    /// Generation of the new network.
    pub(crate) network: u32,
    /// Generation of the network it had to beat.
    pub(crate) against: u32,
    /// Whether it plays from now on.
    pub(crate) accepted: bool,
    /// The match, from the new network's side.
    #[serde(flatten)]
    pub(crate) result: MatchResult,
}

/// A run directory, held against other processes.
pub(crate) struct Run {
    pub(crate) folder: PathBuf,
    pub(crate) config: RunConfig,
    pub(crate) variant: Arc<Variant>,
    pub(crate) threads: usize,
    pub(crate) stop: Arc<AtomicBool>,
    /// What networks learn and play on.
    device: Device,
    _lock: RunLock,
}

impl Run {
    /// Opens a run directory for a configuration: a new one, or with `resume` one that has the same configuration.
    pub(crate) fn open(
        folder: &Path,
        config: RunConfig,
        resume: bool,
        threads: usize,
        device: Device,
        stop: Arc<AtomicBool>,
    ) -> anyhow::Result<Run> {
        let variant = config.variant()?;
        // Before anything is written.
        config.selfplay.openings(&variant)?;
        let path = folder.join("run.toml");
        let text = toml::to_string(&config).context("the configuration cannot be written as TOML")?;
        let there = path.exists();
        if there && !resume {
            bail!("{} is a run already; go on with it by --resume, or choose another --out", folder.display());
        }
        if !there && folder.read_dir().is_ok_and(|mut entries| entries.next().is_some_and(|entry| entry.is_ok())) {
            let only_lock = folder.read_dir()?.all(|entry| entry.is_ok_and(|entry| entry.file_name() == ".lock"));
            if !only_lock {
                bail!("{} holds other files and no run.toml; choose another --out", folder.display());
            }
        }
        let lock = RunLock::take(folder)?;
        if there {
            let old = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            if old != text {
                let line = old.lines().zip(text.lines()).position(|(a, b)| a != b).map_or(1, |i| i + 1);
                let (before, now) = (old.lines().nth(line - 1).unwrap_or(""), text.lines().nth(line - 1).unwrap_or(""));
                bail!(
                    "the configuration differs from {}, line {line}: there `{before}`, now `{now}`; change it back, or start another run with --out",
                    path.display()
                );
            }
        } else {
            write_whole(&path, &text)?;
        }
        Ok(Run { folder: folder.to_path_buf(), config, variant, threads, stop, device, _lock: lock })
    }

    fn network_folder(&self, generation: u32) -> PathBuf {
        self.folder.join("networks").join(format!("{generation:06}"))
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn interrupted(&self) -> anyhow::Error {
        Interrupted(format!("what is finished is in {}; go on with --resume", self.folder.display())).into()
    }

    fn seed(&self, domain: u64, generation: u32) -> u64 {
        derive_seed(&[self.config.run.seed, domain, generation.into()])
    }

    fn load(&self, generation: u32) -> anyhow::Result<Checkpoint> {
        Ok(Checkpoint::load(&self.network_folder(generation), &self.variant, &self.device)?)
    }

    /// All stages of all generations, then the values.
    pub(crate) fn complete(&self) -> anyhow::Result<()> {
        let started = Instant::now();
        self.first_network()?;
        let mut best = 0;
        for generation in 0..self.config.run.generations {
            self.play(generation, best)?;
            self.train(generation)?;
            best = self.gate(generation + 1, best)?;
            self.measure(generation + 1)?;
        }
        self.values(best)?;
        eprintln!("run complete in {:.0} s", started.elapsed().as_secs_f64());
        Ok(())
    }

    /// The untrained network, which the first trained one has to beat.
    fn first_network(&self) -> anyhow::Result<()> {
        if self.network_folder(0).exists() {
            return Ok(());
        }
        let network = Network::new(&self.config.network, &self.variant, self.seed(NETWORK, 0), &self.device)?;
        Ok(Checkpoint { network, learner: None }.save(&self.network_folder(0))?)
    }

    /// Self-play of a generation with the network `best`; network 0 knows nothing, so a judge that knows nothing and
    /// costs nothing takes its place.
    fn play(&self, generation: u32, best: u32) -> anyhow::Result<()> {
        let evaluator: Box<dyn Evaluator> = match best {
            0 => Box::new(Uniform),
            best => Box::new(train::evaluator(&self.load(best)?.network, &self.variant)),
        };
        self.play_with(generation, evaluator.as_ref())
    }

    /// Self-play of a generation with any evaluator.
    pub(crate) fn play_with(&self, generation: u32, evaluator: &dyn Evaluator) -> anyhow::Result<()> {
        let games = self.config.selfplay.games;
        let bar = Bar::new(&format!("generation {generation}, games"), games);
        let started = Instant::now();
        let work = Generation {
            variant: &self.variant,
            evaluator,
            config: &self.config.selfplay,
            search: &self.config.search,
            run_seed: self.config.run.seed,
            number: generation,
            games: 0..games,
            threads: self.threads,
        };
        let mut logged = Instant::now();
        let mut not_logged = Ok(());
        let mut show = |state: &Progress| {
            let rates = Rates::new(state, started.elapsed());
            bar.set(state.games, state.games_wanted, || rates.to_string());
            if logged.elapsed() >= LOG_EVERY {
                logged = Instant::now();
                let written = self.log_selfplay("selfplay_progress", generation, evaluator.id(), state, &rates);
                not_logged = std::mem::replace(&mut not_logged, Ok(())).and(written);
            }
        };
        let state = generate(&work, &self.folder, &mut show, &self.stop)?;
        not_logged?;
        let rates = Rates::new(&state, started.elapsed());
        let new = state.games - state.games_found;
        let endings: Vec<String> = state.endings.iter().map(|(reason, games)| format!("{games} {reason}")).collect();
        bar.finish(&format!(
            "{} games ({new} new), {} positions, {rates}{}{}",
            state.games,
            state.positions,
            if endings.is_empty() { "" } else { "; " },
            endings.join(", "),
        ));
        if !state.is_complete() {
            return Err(self.interrupted());
        }
        if new == 0 {
            return Ok(());
        }
        self.log_selfplay("selfplay", generation, evaluator.id(), &state, &rates)
    }

    fn log_selfplay(
        &self,
        event: &str,
        generation: u32,
        network: &str,
        state: &Progress,
        rates: &Rates,
    ) -> anyhow::Result<()> {
        let new = state.games - state.games_found;
        let mut event = json!({"event": event, "generation": generation, "network": network, "games": new});
        merge(&mut event, rates);
        merge(&mut event, state);
        log_event(&self.folder, &event)
    }

    /// Trains the network that follows a generation's games.
    pub(crate) fn train(&self, generation: u32) -> anyhow::Result<()> {
        let target = self.network_folder(generation + 1);
        if target.exists() {
            return Ok(());
        }
        self.train_from(generation, self.load(generation)?)
    }

    fn train_from(&self, generation: u32, checkpoint: Checkpoint) -> anyhow::Result<()> {
        let target = self.network_folder(generation + 1);
        let mut data = Dataset::new(&self.variant, &self.config.train);
        data.update(&self.folder.join("positions"), Some(generation))?;
        warn_of_targets(&data);
        let unfinished = Unfinished::new(&self.folder, generation);
        let checkpoint = match unfinished.newest()? {
            Some(folder) => Checkpoint::load(&folder, &self.variant, &self.device)?,
            None => checkpoint,
        };
        let mut learner = Learner::new(checkpoint, &self.config.train, self.threads)?;
        let bar = Bar::new(&format!("generation {generation}, training"), 0);
        let (mut saved, mut not_saved) = (Instant::now(), Ok(()));
        let metrics = learner.train(&data, self.seed(TRAINING, generation), &mut |progress, learner| {
            bar.set(progress.done, progress.steps, || {
                format!("policy {:.3}, value {:.3}", progress.losses.policy, progress.losses.value)
            });
            if self.stopped() || (saved.elapsed() >= SAVE_EVERY && progress.done < progress.steps) {
                not_saved = unfinished.save(learner, progress.done);
                saved = Instant::now();
            }
            if self.stopped() || not_saved.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        not_saved?;
        if self.stopped() {
            bar.finish("stopped");
            return Err(self.interrupted());
        }
        let validation = metrics.validation.map_or(String::new(), |losses| {
            format!(", held-out games: policy {:.3}, value {:.3}", losses.policy, losses.value)
        });
        bar.finish(&format!(
            "{} steps, policy {:.3}, value {:.3}{validation}, {:.0} positions/s",
            metrics.steps,
            metrics.training.policy,
            metrics.training.value,
            metrics.positions as f64 / metrics.seconds.max(1e-9)
        ));
        warn_of_losses(&metrics);
        learner.checkpoint(generation + 1)?.save(&target)?;
        unfinished.remove()?;
        let mut event = json!({"event": "train", "generation": generation, "network": generation + 1});
        merge(&mut event, &metrics);
        log_event(&self.folder, &event)
    }

    /// Trains on the newest games of the run; gives the folder of the network.
    pub(crate) fn train_newest(&self) -> anyhow::Result<PathBuf> {
        let shards = find_shards(&[self.folder.join("positions")])?;
        let newest = shards.last().map(|shard| ShardReader::open::<PositionRow>(&shard.positions)).transpose()?;
        let Some(newest) = newest else { bail!("{} holds no games", self.folder.display()) };
        let generation = newest.meta().generation;
        // Networks go on from the one before; what is missing in between starts anew.
        if !self.network_folder(generation).exists() {
            let network =
                Network::new(&self.config.network, &self.variant, self.seed(NETWORK, generation), &self.device)?;
            self.train_from(generation, Checkpoint { network, learner: None })?;
        } else {
            self.train(generation)?;
        }
        Ok(self.network_folder(generation + 1))
    }

    /// The match of a new network against the best one; tells which is the best then.
    fn gate(&self, network: u32, best: u32) -> anyhow::Result<u32> {
        let path = self.folder.join("matches").join(format!("gate-{network:06}.json"));
        if let Some(gate) = read_json::<Gate>(&path)? {
            return Ok(if gate.accepted { network } else { best });
        }
        let config = &self.config.gate.games;
        let (new, old) = (self.net(network, config)?, self.net(best, config)?);
        let what = format!("network {network} against {best}");
        let names = [format!("net:{network:06}"), format!("net:{best:06}")];
        let contestants = Contestants { first: (&names[0], &new), second: (&names[1], &old) };
        let result = self.match_of(&what, &contestants, config, self.seed(GATE, network), &path)?;
        let accepted = self.config.gate.accepts(&result);
        eprintln!(
            "network {network} {}",
            if accepted { "plays from now on" } else { "is not better; the old one goes on playing" }
        );
        let gate = Gate { network, against: best, accepted, result };
        write_json(&path, &gate)?;
        let mut event = json!({"event": "gate"});
        merge(&mut event, &gate);
        log_event(&self.folder, &event)?;
        Ok(if accepted { network } else { best })
    }

    /// The matches of a network against the benchmarks, which stay the same: the random and the greedy player.
    fn measure(&self, network: u32) -> anyhow::Result<()> {
        let material = Player::Material(MaterialValues::from_mobility(&self.variant));
        for (benchmark, opponent) in [("random", &Player::Random), ("material", &material)] {
            let path = self.folder.join("matches").join(format!("{benchmark}-{network:06}.json"));
            if path.exists() {
                continue;
            }
            let player = self.net(network, &self.config.measure)?;
            let name = format!("net:{network:06}");
            let contestants = Contestants { first: (&name, &player), second: (benchmark, opponent) };
            let what = format!("network {network} against {benchmark}");
            let result =
                self.match_of(&what, &contestants, &self.config.measure, self.seed(MEASURE, network), &path)?;
            write_json(&path, &result)?;
            let mut event = json!({"event": "measure", "network": network});
            merge(&mut event, &result);
            log_event(&self.folder, &event)?;
        }
        Ok(())
    }

    fn net(&self, network: u32, config: &MatchConfig) -> anyhow::Result<Player> {
        players::net(&self.network_folder(network), &self.variant, config.simulations, Method::Gumbel, &self.device)
    }

    /// A match whose result goes to `path`; it goes on where it was stopped.
    fn match_of(
        &self,
        what: &str,
        contestants: &Contestants<'_>,
        config: &MatchConfig,
        seed: u64,
        path: &Path,
    ) -> anyhow::Result<MatchResult> {
        let record = record_of(path);
        let conduct = Conduct { threads: self.threads, record: Some(&record), stop: &self.stop };
        let result = show_match(what, &self.variant, contestants, config, seed, &conduct)?;
        if result.complete { Ok(result) } else { Err(self.interrupted()) }
    }

    /// The piece values of the run, once they are measured.
    pub(crate) fn measured(&self) -> anyhow::Result<Option<Measured>> {
        read_json(&self.folder.join("values").join("outcome.json"))
    }

    /// The last network's matches against the benchmarks.
    pub(crate) fn last_measures(&self) -> anyhow::Result<Vec<MatchResult>> {
        let file = |benchmark| format!("{benchmark}-{:06}.json", self.config.run.generations);
        let results = ["random", "material"].map(|name| read_json(&self.folder.join("matches").join(file(name))));
        Ok(results.into_iter().collect::<anyhow::Result<Vec<Option<_>>>>()?.into_iter().flatten().collect())
    }

    /// Piece values from all games of the run, by outcomes and by what the network `best` makes of exchanges. Network 0
    /// has no opinion; then it is the searches' that counts.
    fn values(&self, best: u32) -> anyhow::Result<()> {
        let reference = ReferenceTable::default_for(self.variant.name());
        let shards = || -> anyhow::Result<Vec<ShardPair>> {
            let all = find_shards(&[self.folder.join("positions")])?;
            Ok(match self.config.values.generations {
                Some(number) => newest_generations(all, number)?,
                None => all,
            })
        };
        let measure = |name: &str, judge: &dyn Fn() -> anyhow::Result<Option<Box<dyn Judge>>>| {
            let path = self.folder.join("values").join(format!("{name}.json"));
            if path.exists() {
                return Ok(());
            }
            let (judge, seed) = (judge()?, self.seed(VALUES, 0));
            let (judge, table) = (judge.as_deref(), reference.as_ref());
            write_json(&path, &measure_values(&self.variant, &shards()?, judge, table, &self.config.values, seed)?)
        };
        measure("outcome", &|| Ok(None))?;
        let best_judge = || -> anyhow::Result<Box<dyn Judge>> {
            Ok(match best {
                0 => Box::new(Recorded),
                best => Box::new(NetworkJudge::load(&self.network_folder(best), &self.variant, &self.device)?),
            })
        };
        measure("increment", &|| best_judge().map(Some))?;
        let path = self.folder.join("values").join("squares.json");
        if path.exists() {
            return Ok(());
        }
        let squares = measure_by_square(
            &self.variant,
            newest(&shards()?, POSITIONS_BY_SQUARE)?,
            &Kinds::all(&self.variant),
            Some(best_judge()?.as_ref()),
            reference.as_ref(),
            &self.config.values,
            self.seed(VALUES, 0),
        )?;
        write_json(&path, &squares)
    }
}

/// A match with its progress and its result on stderr.
pub(crate) fn show_match(
    what: &str,
    variant: &Arc<Variant>,
    contestants: &Contestants<'_>,
    config: &MatchConfig,
    seed: u64,
    conduct: &Conduct<'_>,
) -> anyhow::Result<MatchResult> {
    show_progress(what, config, |progress| play_match(variant, contestants, config, seed, conduct, progress))
}

/// Any match with its progress and its result on stderr; without a word if all of it was played before.
pub(crate) fn show_progress(
    what: &str,
    config: &MatchConfig,
    play: impl FnOnce(&(dyn Fn(MatchProgress) + Sync)) -> Result<MatchResult, MatchError>,
) -> anyhow::Result<MatchResult> {
    let bar = Bar::new(what, config.games as u64);
    let played = AtomicBool::new(false);
    let result = play(&|progress| {
        played.store(true, Ordering::Relaxed);
        bar.set(progress.games as u64, progress.wanted as u64, || {
            progress.score.map_or(String::new(), |score| format!("score {:.1} %", 100.0 * score))
        });
    })?;
    match played.into_inner() {
        true => bar.finish(&format!("+{} ={} −{}, Elo {}", result.wins, result.draws, result.losses, elo(&result))),
        false => bar.clear(),
    }
    Ok(result)
}

/// The record of the match whose result is `result`: its finished games, a pair a line.
pub(crate) fn record_of(result: &Path) -> PathBuf {
    result.with_extension("games.jsonl")
}

/// Adds the fields of a structure to a JSON object.
fn merge(event: &mut serde_json::Value, more: &impl Serialize) {
    if let (Some(event), Ok(serde_json::Value::Object(more))) = (event.as_object_mut(), serde_json::to_value(more)) {
        more.into_iter().for_each(|(key, value)| {
            event.entry(key).or_insert(value);
        });
    }
}

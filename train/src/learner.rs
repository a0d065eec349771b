//! Learning: batches from a data set, gradients, steps of the optimiser, losses on held-out games.

use std::ops::ControlFlow;
use std::time::Instant;

use burn::tensor::{Device, TensorData};
use selfplay::derive_seed;
use serde::{Deserialize, Serialize};

use crate::batch::{Chunk, Losses, Targets};
use crate::checkpoint::{Checkpoint, Description, Network};
use crate::config::TrainConfig;
use crate::dataset::{Dataset, Sample, Sampler};
use crate::encoding::Features;
use crate::error::LearnerError;
use crate::gradient::{self, LossWeights};
use crate::method::{Method, StepConfig};
use crate::network::{Model, TensorSpec};
use crate::state::{State, wrong};

/// Positions that are encoded together: shared out among threads, and what a burn graph on a CPU likes best.
const CHUNK: usize = 32;

/// Where a session stands after a step.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps of this session that are done.
    pub done: u64,
    /// Steps of this session.
    pub steps: u64,
    /// Steps of the network's life.
    pub step: u64,
    /// Learning rate of the step.
    pub learning_rate: f64,
    /// Losses of the step's batch, before the step.
    pub losses: Losses,
}

/// What a session gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Steps made.
    pub steps: u64,
    /// Positions used, counting repetitions.
    pub positions: u64,
    /// Positions in the window, without the held-out ones.
    pub window: u64,
    /// Mean losses over the last tenth of the steps, each before its step, of the weights that learn.
    pub training: Losses,
    /// Losses of the network that plays on the held-out games before the session; `None` if no game is held out.
    pub validation_before: Option<Losses>,
    /// The same at the end.
    pub validation: Option<Losses>,
    /// Number of held-out positions these are means over.
    pub validation_positions: u64,
    /// Wall-clock time of the steps, without validation; of an interrupted session since it was resumed.
    pub seconds: f64,
}

/// Steps between two moves of the average. One at every step would cost as much as the step itself in memory traffic.
const AVERAGE_EVERY: u64 = 4;

/// Where an unfinished session stands. What it has drawn follows from the seed and the number of steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Session {
    seed: u64,
    steps: u64,
    /// Losses of the steps made.
    losses: Vec<Losses>,
    validation_before: Option<Losses>,
}

/// Name of the session in the state.
const SESSION: &str = "session";

/// A network that learns.
pub struct Learner {
    config: TrainConfig,
    description: Description,
    features: Features,
    specs: Vec<TensorSpec>,
    method: Method,
    /// The weights that play, if they are not those that learn.
    average: Option<Vec<Vec<f32>>>,
    session: Option<Session>,
    device: Device,
    threads: usize,
}

impl Learner {
    /// Goes on from a checkpoint, on the device its network is on; with `threads` on a CPU, whose number changes no
    /// result. A checkpoint from inside a session goes on with that session.
    ///
    /// # Errors
    /// Names the first key of `config` out of range, or says what is wrong with the state: one that one of the
    /// `Gradients` has kept is of no use to the other.
    pub fn new(checkpoint: Checkpoint, config: &TrainConfig, threads: usize) -> Result<Learner, LearnerError> {
        config.validate()?;
        let Checkpoint { network, learner } = checkpoint;
        let Network { description, features, model } = network;
        let specs = Model::specs(&description.network, &features);
        let mut state = learner.map(|file| State::read(&file)).transpose()?;
        let session = state.as_ref().and_then(|state| state.word(SESSION)).map(serde_json::from_str::<Session>);
        let session = session.transpose().map_err(|error| wrong(error.to_string()))?;
        let average = (config.average_decay > 0.0).then(|| {
            let numbers = |data: TensorData| data.try_into_vec::<f32>().expect("weights are f32");
            model.to_tensors().into_iter().map(numbers).collect()
        });
        let device = model.device();
        let method = Method::new(model, &description.network, &specs, state.as_mut(), config)?;
        let (config, threads) = (config.clone(), threads.max(1));
        Ok(Learner { config, description, features, specs, method, average, session, device, threads })
    }

    /// Steps made in the network's life.
    pub fn steps(&self) -> u64 {
        self.description.steps
    }

    /// The network that plays, as it is now.
    pub fn network(&self) -> Network {
        Network { description: self.description.clone(), features: self.features.clone(), model: self.model() }
    }

    fn model(&self) -> Model {
        match &self.average {
            None => self.method.model(),
            Some(average) => {
                let tensors = self.specs.iter().zip(average);
                let tensors = tensors.map(|(spec, values)| TensorData::new(values.clone(), spec.shape.clone()));
                Model::from_tensors(&self.description.network, tensors.collect(), &self.device)
            }
        }
    }

    /// The network as it is now as a child of the network it went on from, with what learning needs to go on.
    ///
    /// # Errors
    /// If the state cannot be written down.
    pub fn checkpoint(&self, generation: u32) -> Result<Checkpoint, LearnerError> {
        let mut network = self.network();
        if generation != self.description.generation {
            network.description.parent = Some(format!("{:06}", self.description.generation));
            network.description.generation = generation;
        }
        let mut state = State::default();
        self.method.save(&self.specs, &mut state)?;
        if let Some(session) = &self.session {
            state.put_word(SESSION, serde_json::to_string(session).map_err(|error| wrong(error.to_string()))?);
        }
        Ok(Checkpoint { network, learner: Some(state.write()?) })
    }

    /// One session over a data set: [`TrainConfig::steps`] steps for the positions that are new to the network, or what
    /// is left of them after a session was stopped. `progress` is called after each of them and may stop the session: then
    /// [`Learner::checkpoint`] keeps where it stands. A function of the network, the data set, the configuration and the
    /// seed, however often it was stopped.
    ///
    /// # Errors
    /// If a session was stopped that had another seed or length.
    pub fn train(
        &mut self,
        data: &Dataset,
        seed: u64,
        progress: &mut dyn FnMut(&Progress, &Learner) -> ControlFlow<()>,
    ) -> Result<Metrics, LearnerError> {
        let steps = self.config.steps(data.new_to(self.description.generation));
        let mut session = match self.session.take() {
            Some(session) if (session.seed, session.steps) == (seed, steps) => session,
            Some(session) => {
                let (old, old_seed) = (session.steps, session.seed);
                return Err(wrong(format!(
                    "a session of {old} steps with seed {old_seed} was stopped; expected {steps} steps with seed {seed}"
                )));
            }
            None => Session { seed, steps, losses: Vec::new(), validation_before: self.validate(data) },
        };
        let started = Instant::now();
        let first = session.losses.len() as u64;
        let mut sampler =
            Sampler::new(data.training(), self.config.reflect, derive_seed(&[seed, self.description.steps - first]));
        let (mut samples, mut chunks) = (Vec::new(), Vec::new());
        for _ in 0..first {
            sampler.draw(self.config.batch_size, &mut samples);
        }
        let mut done = first;
        while done < steps {
            sampler.draw(self.config.batch_size, &mut samples);
            data.fill(&samples, CHUNK, self.threads, &mut chunks);
            let learning_rate = self.config.learning_rate_at(self.description.steps, done, steps);
            let losses = self.step(&chunks, learning_rate);
            done += 1;
            session.losses.push(losses);
            let step = self.description.steps;
            // It is with the learner, so that a checkpoint holds it.
            self.session = Some(session);
            let stop = progress(&Progress { done, steps, step, learning_rate, losses }, self).is_break();
            session = self.session.take().expect("put there above");
            if stop && done < steps {
                self.session = Some(session.clone());
                break;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let last = session.losses.len().div_ceil(10);
        let mut training = Losses::default();
        session.losses[session.losses.len() - last..].iter().for_each(|losses| training.add(*losses));
        Ok(Metrics {
            steps: done,
            positions: done * self.config.batch_size as u64,
            window: data.training().len() as u64,
            training: training.over(Targets { policies: last, values: last, pieces: last, ends: last }),
            validation_before: session.validation_before,
            validation: self.validate(data),
            validation_positions: data.validation().len() as u64,
            seconds,
        })
    }

    /// One step on a batch; gives its losses before the step.
    pub fn step(&mut self, chunks: &[Chunk], learning_rate: f64) -> Losses {
        let TrainConfig { policy_weight, value_weight, survival_weight, plies_left_weight, .. } = self.config;
        let step = StepConfig {
            features: &self.features,
            weights: LossWeights {
                policy: policy_weight,
                value: value_weight,
                survival: survival_weight,
                plies_left: plies_left_weight,
            },
            learning_rate,
            threads: self.threads,
        };
        let losses = self.method.step(chunks, &step);
        self.description.steps += 1;
        let steps = self.description.steps;
        if let Some(average) = &mut self.average
            && steps.is_multiple_of(AVERAGE_EVERY)
        {
            // The first steps are much of a short life.
            let keep = self.config.average_decay.min((1.0 + steps as f64) / (10.0 + steps as f64));
            self.method.average(average, keep.powi(AVERAGE_EVERY as i32), self.threads);
        }
        losses
    }

    /// Losses of the network that plays on the held-out games; `None` if there are none.
    pub fn validate(&self, data: &Dataset) -> Option<Losses> {
        if data.validation().is_empty() {
            return None;
        }
        let mut chunks = Vec::new();
        let samples: Vec<_> = data.validation().iter().map(|&row| Sample { row, reflected: false }).collect();
        data.fill(&samples, CHUNK, self.threads, &mut chunks);
        Some(self.losses(&chunks))
    }

    /// Losses of the network that plays on positions with targets.
    pub fn losses(&self, chunks: &[Chunk]) -> Losses {
        gradient::losses(&self.model(), &self.features, chunks)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use engine::Variant;

    use super::*;
    use crate::config::{Gradients, MaterialConfig, NetworkConfig, NnueConfig, ResnetConfig};
    use crate::testing::{chunks, positions, row, write_shard};

    fn small() -> NetworkConfig {
        NetworkConfig::Nnue(NnueConfig { accumulator: 64, hidden: 16, policy_width: 16, survival_width: 8 })
    }

    fn resnet() -> NetworkConfig {
        NetworkConfig::Resnet(ResnetConfig { channels: 16, blocks: 1, hidden: 16, policy_width: 16 })
    }

    fn sho() -> Arc<Variant> {
        Variant::load("sho", None).expect("built in")
    }

    fn learner_of(network: &NetworkConfig, config: &TrainConfig, threads: usize) -> Learner {
        let network = Network::new(network, &sho(), 3, &Device::flex()).expect("sound");
        Learner::new(Checkpoint { network, learner: None }, config, threads).expect("sound")
    }

    fn learner(config: &TrainConfig, threads: usize) -> Learner {
        learner_of(&small(), config, threads)
    }

    fn weights(learner: &Learner) -> Vec<Vec<f32>> {
        let numbers = |data: TensorData| data.try_into_vec::<f32>().expect("f32");
        learner.model().to_tensors().into_iter().map(numbers).collect()
    }

    #[test]
    fn overfits_a_few_positions() {
        let batch = chunks("sho", 9, 40, CHUNK);
        let config = TrainConfig {
            learning_rate: 0.01,
            square_rate: 1.0,
            warmup_steps: 10,
            survival_weight: 1.0,
            plies_left_weight: 0.1,
            average_decay: 0.9,
            ..TrainConfig::default()
        };
        for network in [small(), resnet()] {
            let mut learner = learner_of(&network, &config, 2);
            let first = learner.step(&batch, 0.0);
            // A new network knows nothing: ln 3 for three outcomes, ln 2 for whether a piece survives.
            assert!((first.value - 3f64.ln()).abs() < 1e-6, "{first:?}");
            assert!((first.survival - 2f64.ln()).abs() < 1e-6, "{first:?}");
            for step in 0..400 {
                learner.step(&batch, config.learning_rate_at(step, step, 400));
            }
            let found = learner.losses(&batch);
            assert!(found.policy < found.policy_floor + 0.05, "{found:?}");
            assert!(found.value < found.value_floor + 0.05, "{found:?}");
            assert!(found.survival < 0.1 && found.plies_left < 0.2, "{found:?}");
        }
    }

    #[test]
    fn overfits_a_thousand_positions() {
        let batch = chunks("chu", 30, 1000, CHUNK);
        let config = TrainConfig {
            square_rate: 1.0,
            survival_weight: 0.0,
            plies_left_weight: 0.0,
            average_decay: 0.9,
            weight_decay: 0.0,
            ..TrainConfig::default()
        };
        let chu = Variant::load("chu", None).expect("built in");
        let network = Network::new(&NetworkConfig::default(), &chu, 3, &Device::flex()).expect("sound");
        let mut learner = Learner::new(Checkpoint { network, learner: None }, &config, 2).expect("sound");
        for step in 0..300u64 {
            let fall = 1.0 - step as f64 / 300.0;
            for part in batch.chunks(8) {
                learner.step(part, 4e-3 * fall);
            }
        }
        let found = learner.losses(&batch);
        assert!(found.policy < found.policy_floor + 0.05, "{found:?}");
        assert!(found.value < found.value_floor + 0.05, "{found:?}");
    }

    #[test]
    fn learns_which_kinds_survive() {
        // A constructed set: the pieces of every second kind survive, on all squares and for both sides.
        let batch = chunks("sho", 21, 96, CHUNK);
        let features = Features::of(&sho());
        let built = |chunk: &Chunk| {
            let mut chunk = chunk.clone();
            let rows = chunk.encoded.iter().flat_map(|position| position.rows);
            let pieces = rows.filter(|&&row| (row as usize) < features.piece_rows());
            chunk.survives = pieces.map(|&row| (row as usize / features.squares).is_multiple_of(2)).collect();
            chunk.plies_left.fill(Some(50));
            chunk
        };
        let batch: Vec<Chunk> = batch.iter().map(built).collect();
        let (training, held_out) = batch.split_at(2);
        let material = NetworkConfig::Material(MaterialConfig::default());
        for (network, learning_rate) in [(small(), 0.01), (resnet(), 0.01), (material, 0.1)] {
            let config = TrainConfig {
                policy_weight: 0.0,
                value_weight: 0.0,
                survival_weight: 1.0,
                plies_left_weight: 0.0,
                average_decay: 0.0,
                ..TrainConfig::default()
            };
            let mut learner = learner_of(&network, &config, 2);
            for _ in 0..200 {
                learner.step(training, learning_rate);
            }
            let found = learner.losses(held_out);
            assert!(found.survival < 0.02, "{network:?}: {found:?}");
        }
    }

    #[test]
    fn both_ways_of_learning_agree() {
        let batch = chunks("sho", 10, 40, CHUNK);
        let learn = |gradients| {
            let mut learner = learner(&TrainConfig { gradients, ..TrainConfig::default() }, 2);
            let losses: Vec<_> = (0..20).map(|_| learner.step(&batch, 1e-3)).collect();
            (losses, learner.checkpoint(1).expect("can be kept").learner.is_some())
        };
        let (own, autodiff) = (learn(Gradients::Own), learn(Gradients::Autodiff));
        assert!(own.1 && autodiff.1);
        for (a, b) in own.0.iter().zip(&autodiff.0) {
            assert!((a.policy - b.policy).abs() < 1e-3 && (a.value - b.value).abs() < 1e-3, "{a:?} {b:?}");
            assert!((a.survival - b.survival).abs() < 1e-3, "{a:?} {b:?}");
            assert!((a.plies_left - b.plies_left).abs() < 1e-2, "{a:?} {b:?}");
        }
        assert!(own.0[19].policy < own.0[0].policy - 0.01, "{:?}", own.0[19]);
    }

    #[test]
    fn the_network_that_plays_is_the_average_of_those_that_learn() {
        let batch = chunks("sho", 10, 40, CHUNK);
        let decay = 0.7;
        let config = TrainConfig { average_decay: decay, ..TrainConfig::default() };
        let mut averaged = learner(&config, 2);
        let mut plain = learner(&TrainConfig { average_decay: 0.0, ..config }, 2);
        // By the rule, in double precision: every fourth step, keep^4 of what was there, keep at most (1 + t) / (10 + t).
        let mut expected: Vec<f64> = weights(&plain).concat().iter().map(|&w| w as f64).collect();
        for step in 1..=12 {
            averaged.step(&batch, 1e-3);
            plain.step(&batch, 1e-3);
            if step % 4 == 0 {
                let keep = decay.min((1.0 + step as f64) / (10.0 + step as f64)).powi(4);
                let learning = weights(&plain).concat();
                expected.iter_mut().zip(learning).for_each(|(e, w)| *e = keep * *e + (1.0 - keep) * w as f64);
            }
        }
        for (found, expected) in weights(&averaged).concat().iter().zip(&expected) {
            assert!((*found as f64 - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    fn data(folder: &Path, config: &TrainConfig) -> Dataset {
        let variant = sho();
        let rows: Vec<_> =
            positions("sho", 11, 300).iter().enumerate().map(|(i, (game, moves))| row(game, moves, i as u64)).collect();
        write_shard(&folder.join("gen-000000/a.parquet"), &variant, &rows);
        let mut data = Dataset::new(&variant, config);
        data.update(folder, None).expect("can be read");
        data
    }

    #[test]
    fn learning_is_a_function_of_its_inputs() {
        let folder = tempfile::tempdir().expect("a folder");
        let config =
            TrainConfig { batch_size: 64, samples_per_position: 3.0, validation_share: 0.2, ..TrainConfig::default() };
        let data = data(folder.path(), &config);
        let learn = |threads, seed| {
            let mut learner = learner(&config, threads);
            let mut steps = 0;
            let metrics = learner.train(&data, seed, &mut |progress, _| {
                steps += 1;
                assert_eq!((progress.done, progress.step), (steps, steps));
                ControlFlow::Continue(())
            });
            let metrics = metrics.expect("a new session");
            assert_eq!(metrics.steps, config.steps(data.training().len()));
            (weights(&learner), Metrics { seconds: 0.0, ..metrics })
        };
        let once = learn(1, 5);
        assert!(once == learn(1, 5), "the same again");
        assert!(once == learn(3, 5), "the number of threads changes nothing");
        assert!(once.0 != learn(1, 6).0, "another seed, another order");
        let validation = once.1.validation.expect("games are held out");
        assert!(validation.policy >= validation.policy_floor && validation.value >= validation.value_floor);
        assert_eq!(once.1.validation_positions + once.1.window, 300);
    }

    /// A session stopped after every second step and taken up again from the disk equals one that was never stopped.
    fn stops_and_goes_on(network: &NetworkConfig, gradients: Gradients) {
        let folder = tempfile::tempdir().expect("a folder");
        let config = TrainConfig {
            batch_size: 40,
            samples_per_position: 1.0,
            validation_share: 0.2,
            gradients,
            ..TrainConfig::default()
        };
        let data = data(folder.path(), &config);
        let mut straight = learner_of(network, &config, 2);
        let expected = straight.train(&data, 5, &mut |_, _| ControlFlow::Continue(())).expect("a new session");
        assert!(expected.steps > 5);

        let mut stopped = learner_of(network, &config, 2);
        let mut times = 0;
        let metrics = loop {
            let metrics = stopped.train(&data, 5, &mut |progress, _| match progress.done % 2 {
                0 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            });
            let metrics = metrics.expect("the same session");
            if metrics.steps == expected.steps {
                break metrics;
            }
            let path = folder.path().join(format!("networks/stopped-{times}"));
            stopped.checkpoint(0).expect("can be kept").save(&path).expect("can be written");
            let checkpoint = Checkpoint::load(&path, &sho(), &Device::flex()).expect("sound");
            stopped = Learner::new(checkpoint, &config, 2).expect("sound");
            times += 1;
        };
        assert!(times >= 2);
        assert!(weights(&stopped) == weights(&straight), "{network:?} {gradients:?}");
        assert_eq!(Metrics { seconds: 0.0, ..metrics }, Metrics { seconds: 0.0, ..expected });

        let path = folder.path().join("networks/000001");
        stopped.checkpoint(1).expect("can be kept").save(&path).expect("can be written");
        let load = || Checkpoint::load(&path, &sho(), &Device::flex()).expect("sound");
        assert_eq!(load().network.description.parent.as_deref(), Some("000000"));
        if *network == small() {
            let other = match gradients {
                Gradients::Own => Gradients::Autodiff,
                Gradients::Autodiff => Gradients::Own,
            };
            let refused = Learner::new(load(), &TrainConfig { gradients: other, ..config }, 1);
            assert!(matches!(refused, Err(LearnerError::State { .. })));
        }
    }

    #[test]
    fn goes_on_inside_a_session_as_if_never_stopped() {
        stops_and_goes_on(&small(), Gradients::Own);
        stops_and_goes_on(&small(), Gradients::Autodiff);
        stops_and_goes_on(&resnet(), Gradients::Own);
        stops_and_goes_on(&NetworkConfig::Material(MaterialConfig::default()), Gradients::Own);
    }

    #[test]
    fn another_session_is_not_taken_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = TrainConfig { batch_size: 40, samples_per_position: 1.0, ..TrainConfig::default() };
        let data = data(folder.path(), &config);
        let mut learner = learner(&config, 1);
        learner.train(&data, 5, &mut |_, _| ControlFlow::Break(())).expect("a new session");
        let error = learner.train(&data, 6, &mut |_, _| ControlFlow::Break(())).expect_err("another seed").to_string();
        assert!(error.contains("seed 5") && error.contains("seed 6"), "{error}");
    }
}

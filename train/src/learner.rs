//! Learning: batches from a data set, gradients, steps of the optimiser, losses on held-out games.

use std::ops::ControlFlow;
use std::time::Instant;

use selfplay::derive_seed;
use serde::{Deserialize, Serialize};

use crate::batch::{Chunk, Losses, entropy};
use crate::checkpoint::{Checkpoint, Description, Network};
use crate::config::TrainConfig;
use crate::dataset::{Dataset, Sample, Sampler};
use crate::encoding::Features;
use crate::error::LearnerError;
use crate::gradient::{self, LossWeights};
use crate::kernel::{Activations, Kernel};
use crate::method::Method;
use crate::sparse;
use crate::threads::on_threads;

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
    /// Mean losses over the last tenth of the steps, each before its step.
    pub training: Losses,
    /// Losses on the held-out games at the end; `None` if no game is held out.
    pub validation: Option<Losses>,
    /// Number of held-out positions these are means over.
    pub validation_positions: u64,
    /// Wall-clock time of the steps, without validation.
    pub seconds: f64,
}

/// A network that learns.
pub struct Learner {
    config: TrainConfig,
    description: Description,
    features: Features,
    method: Method,
    threads: usize,
}

impl Learner {
    /// Goes on from a checkpoint, on the device its network is on; with `threads` on a CPU, whose number changes no
    /// result.
    ///
    /// # Errors
    /// Names the first key of `config` out of range, or says what is wrong with the state of the optimiser: a state that
    /// one of the `Gradients` has kept is of no use to the other.
    pub fn new(checkpoint: Checkpoint, config: &TrainConfig, threads: usize) -> Result<Learner, LearnerError> {
        config.validate()?;
        let Checkpoint { network, optimizer } = checkpoint;
        let features = network.features;
        let method = Method::new(network.model, optimizer, config)?;
        let (config, threads) = (config.clone(), threads.max(1));
        Ok(Learner { config, description: network.description, features, method, threads })
    }

    /// Steps made in the network's life.
    pub fn steps(&self) -> u64 {
        self.description.steps
    }

    /// The network as it is now.
    pub fn network(&self) -> Network {
        Network { description: self.description.clone(), features: self.features.clone(), model: self.method.model() }
    }

    /// The network as it is now as a child of the network it went on from, with the state of the optimiser.
    ///
    /// # Errors
    /// If the state cannot be written down.
    pub fn checkpoint(&self, generation: u32) -> Result<Checkpoint, LearnerError> {
        let mut network = self.network();
        if generation != self.description.generation {
            network.description.parent = Some(format!("{:06}", self.description.generation));
            network.description.generation = generation;
        }
        Ok(Checkpoint { network, optimizer: Some(self.method.state()?) })
    }

    /// One session over a data set: [`TrainConfig::steps`] steps for the positions that are new to the network. `progress` is called after each of them and may stop
    /// the session. A function of the network, the data set, the configuration and the seed.
    pub fn train(
        &mut self,
        data: &Dataset,
        seed: u64,
        progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    ) -> Metrics {
        let started = Instant::now();
        let steps = self.config.steps(data.new_to(self.description.generation));
        let reflect = self.config.reflect && data.encoder().can_reflect();
        let mut sampler = Sampler::new(data.training(), reflect, derive_seed(&[seed, self.description.steps]));
        let (mut samples, mut chunks) = (Vec::new(), Vec::new());
        let mut recent = Vec::new();
        let mut done = 0;
        while done < steps {
            sampler.draw(self.config.batch_size, &mut samples);
            data.fill(&samples, CHUNK, self.threads, &mut chunks);
            let learning_rate = self.config.learning_rate_at(self.description.steps, done, steps);
            let losses = self.step(&chunks, learning_rate);
            done += 1;
            recent.push(losses);
            let step = self.description.steps;
            if progress(&Progress { done, steps, step, learning_rate, losses }).is_break() {
                break;
            }
        }
        let seconds = started.elapsed().as_secs_f64();
        let last = recent.len().div_ceil(10);
        let mut training = Losses::default();
        recent[recent.len() - last..].iter().for_each(|losses| training.add(*losses));
        Metrics {
            steps: done,
            positions: done * self.config.batch_size as u64,
            window: data.training().len() as u64,
            training: training.over(last, last),
            validation: self.validate(data),
            validation_positions: data.validation().len() as u64,
            seconds,
        }
    }

    /// One step on a batch; gives its losses before the step.
    pub fn step(&mut self, chunks: &[Chunk], learning_rate: f64) -> Losses {
        let weights = LossWeights { policy: self.config.policy_weight, value: self.config.value_weight };
        let losses = self.method.step(&self.features, chunks, weights, learning_rate, self.threads);
        self.description.steps += 1;
        losses
    }

    /// Losses on the held-out games; `None` if there are none.
    pub fn validate(&self, data: &Dataset) -> Option<Losses> {
        if data.validation().is_empty() {
            return None;
        }
        let mut chunks = Vec::new();
        let samples: Vec<_> = data.validation().iter().map(|&row| Sample { row, reflected: false }).collect();
        data.fill(&samples, CHUNK, self.threads, &mut chunks);
        Some(losses(&Kernel::new(&self.method.model(), &self.features), &chunks, self.threads))
    }
}

/// Losses of a network on positions with targets.
pub fn losses(kernel: &Kernel, chunks: &[Chunk], threads: usize) -> Losses {
    let mut work: Vec<_> = chunks.iter().map(|chunk| (chunk, Losses::default())).collect();
    on_threads(threads, &mut work, |(chunk, sum)| {
        let (mut buffers, mut logits) = (Activations::default(), Vec::new());
        let mut targets = chunk.policy.as_slice();
        for (position, wdl) in chunk.encoded.iter().zip(&chunk.wdl) {
            let found = kernel.evaluate(position, &mut buffers, &mut logits);
            let (target, rest) = targets.split_at(logits.len());
            targets = rest;
            let value: f64 = wdl.iter().zip(found).map(|(&t, p)| -(t as f64) * (p as f64).max(1e-30).ln()).sum();
            sum.add(Losses {
                policy: if target.is_empty() { 0.0 } else { sparse::cross_entropy(&mut logits, target) },
                policy_floor: entropy(target),
                value,
                value_floor: entropy(wdl),
            });
        }
    });
    let mut sum = Losses::default();
    work.iter().for_each(|(_, part)| sum.add(*part));
    let (policies, values) = gradient::sizes(chunks);
    sum.over(policies, values)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use burn::tensor::Device;
    use engine::Variant;

    use super::*;
    use crate::config::{Gradients, NetworkConfig, NnueConfig};
    use crate::testing::{chunks, positions, row, write_shard};

    fn small() -> NetworkConfig {
        NetworkConfig::Nnue(NnueConfig { accumulator: 64, hidden: 16, policy_width: 16 })
    }

    fn learner(config: &TrainConfig, threads: usize) -> Learner {
        let variant = Variant::load("sho", None).expect("built in");
        let network = Network::new(&small(), &variant, 3, &Device::flex()).expect("sound");
        Learner::new(Checkpoint { network, optimizer: None }, config, threads).expect("sound")
    }

    fn weights(learner: &Learner) -> Vec<Vec<f32>> {
        learner.method.model().to_tensors().map(|data| data.try_into_vec::<f32>().expect("f32")).to_vec()
    }

    #[test]
    fn overfits_a_few_positions() {
        let batch = chunks("sho", 9, 40, CHUNK);
        let config = TrainConfig { learning_rate: 0.01, square_rate: 1.0, warmup_steps: 10, ..TrainConfig::default() };
        let mut learner = learner(&config, 2);
        let first = learner.step(&batch, 0.0);
        // A new network knows nothing: ln 3 for three outcomes.
        assert!((first.value - 3f64.ln()).abs() < 1e-6, "{first:?}");
        for step in 0..400 {
            learner.step(&batch, config.learning_rate_at(step, step, 400));
        }
        let found = losses(&Kernel::new(&learner.method.model(), &learner.features), &batch, 1);
        assert!(found.policy < found.policy_floor + 0.05, "{found:?}");
        assert!(found.value < found.value_floor + 0.05, "{found:?}");
    }

    #[test]
    fn both_ways_of_learning_agree() {
        let batch = chunks("sho", 10, 40, CHUNK);
        let learn = |gradients| {
            let mut learner = learner(&TrainConfig { gradients, ..TrainConfig::default() }, 2);
            let losses: Vec<_> = (0..20).map(|_| learner.step(&batch, 1e-3)).collect();
            (losses, learner.checkpoint(1).expect("can be kept").optimizer.is_some())
        };
        let (sparse, autodiff) = (learn(Gradients::Sparse), learn(Gradients::Autodiff));
        assert!(sparse.1 && autodiff.1);
        for (a, b) in sparse.0.iter().zip(&autodiff.0) {
            assert!((a.policy - b.policy).abs() < 1e-3 && (a.value - b.value).abs() < 1e-3, "{a:?} {b:?}");
        }
        assert!(sparse.0[19].policy < sparse.0[0].policy - 0.01, "{:?}", sparse.0[19]);
    }

    fn data(folder: &Path, config: &TrainConfig) -> Dataset {
        let variant = Variant::load("sho", None).expect("built in");
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
            let metrics = learner.train(&data, seed, &mut |progress| {
                steps += 1;
                assert_eq!((progress.done, progress.step), (steps, steps));
                ControlFlow::Continue(())
            });
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

    fn stops_and_goes_on(gradients: Gradients) {
        let folder = tempfile::tempdir().expect("a folder");
        let variant = Variant::load("sho", None).expect("built in");
        let batch = chunks("sho", 12, 40, CHUNK);
        let config = TrainConfig { gradients, ..TrainConfig::default() };
        let mut straight = learner(&config, 2);
        for _ in 0..5 {
            straight.step(&batch, 1e-3);
        }
        let path = folder.path().join("networks/000001");
        straight.checkpoint(1).expect("can be kept").save(&path).expect("can be written");
        for _ in 0..5 {
            straight.step(&batch, 1e-3);
        }

        let load = || Checkpoint::load(&path, &variant, &Device::flex()).expect("sound");
        assert_eq!(load().network.description.parent.as_deref(), Some("000000"));
        let mut resumed = Learner::new(load(), &config, 2).expect("sound");
        assert_eq!(resumed.steps(), 5);
        for _ in 0..5 {
            resumed.step(&batch, 1e-3);
        }
        assert!(weights(&resumed) == weights(&straight), "{gradients:?}");

        let other = match gradients {
            Gradients::Sparse => Gradients::Autodiff,
            Gradients::Autodiff => Gradients::Sparse,
        };
        let refused = Learner::new(load(), &TrainConfig { gradients: other, ..config }, 1);
        assert!(matches!(refused, Err(LearnerError::Optimizer { .. })));
    }

    #[test]
    fn goes_on_from_a_checkpoint_as_if_never_stopped() {
        stops_and_goes_on(Gradients::Sparse);
        stops_and_goes_on(Gradients::Autodiff);
    }
}

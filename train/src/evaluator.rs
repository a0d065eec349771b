//! Networks as judges of positions for the search.

use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::activation::softmax;
use selfplay::{Evaluation, Evaluator, Query};

use crate::checkpoint::Network;
use crate::device::is_cpu;
use crate::encoded::Encoded;
use crate::encoding::{Encoder, StoredPosition};
use crate::error::EncodingError;
use crate::kernel::{Activations, Kernel};
use crate::network::{Model, Output};
use crate::residual::{self, ResidualKernel};

/// Positions that burn judges at once at most, which bounds the memory.
const BATCH: usize = 256;

/// Judges positions. Threads share one.
pub struct NetworkEvaluator {
    id: String,
    encoder: Encoder,
    judge: Judge,
    /// A set for each thread that has been in here at the same time.
    buffers: Mutex<Vec<Buffers>>,
}

/// What computes.
enum Judge {
    /// On a CPU, as fast alone as in a batch.
    Kernel(Box<Kernel>),
    /// On a CPU.
    Residual(Box<ResidualKernel>),
    /// On the device of the network, in batches.
    Burn(Box<Model>),
}

#[derive(Default)]
struct Buffers {
    encoded: Encoded,
    activations: Activations,
    logits: Vec<f32>,
    residual: residual::Buffers,
}

/// The evaluator of a network for positions of `variant`, the variant the network is of. An `nnue` network plays through
/// [`Kernel`], the others through burn on the device they are on.
pub fn evaluator(network: &Network, variant: &Arc<engine::Variant>) -> NetworkEvaluator {
    let encoder = Encoder::new(variant);
    let judge = match &network.model {
        Model::Nnue(nnue) => Judge::Kernel(Box::new(Kernel::new(nnue, encoder.features()))),
        Model::Resnet(resnet) if is_cpu(&network.model.device()) => {
            Judge::Residual(Box::new(ResidualKernel::new(resnet, encoder.features())))
        }
        Model::Material(_) | Model::Resnet(_) => Judge::Burn(Box::new(network.model.clone())),
    };
    NetworkEvaluator { id: network.id(), judge, encoder, buffers: Mutex::default() }
}

impl NetworkEvaluator {
    /// Probabilities of win, draw and loss for the side to move in stored positions; their moves are not looked at.
    ///
    /// # Errors
    /// If a position is not of the network's variant.
    pub fn wdl_of_stored<'a>(
        &self,
        positions: impl Iterator<Item = StoredPosition<'a>>,
        out: &mut Vec<[f32; 3]>,
    ) -> Result<(), EncodingError> {
        let mut buffers = self.take();
        let mut result = Ok(());
        for position in positions {
            buffers.encoded.clear();
            result = self.encoder.push_stored(StoredPosition { moves: &[], ..position }, false, &mut buffers.encoded);
            if result.is_err() {
                break;
            }
            out.push(match &self.judge {
                Judge::Kernel(kernel) => {
                    let position = buffers.encoded.position(0);
                    kernel.evaluate(position, &mut buffers.activations, &mut buffers.logits)
                }
                Judge::Residual(_) | Judge::Burn(_) => {
                    let wdl = self.forward(&buffers.encoded, &mut buffers.residual).wdl_probabilities();
                    let wdl = wdl.into_data().try_into_vec::<f32>().expect("probabilities are f32");
                    wdl.try_into().expect("three probabilities")
                }
            });
        }
        self.give_back(buffers);
        result
    }

    /// What a network that wants batches says.
    fn forward(&self, encoded: &Encoded, buffers: &mut residual::Buffers) -> Output {
        match &self.judge {
            Judge::Residual(kernel) => kernel.forward(encoded, self.encoder.features(), buffers),
            Judge::Burn(model) => model.forward(encoded, self.encoder.features()),
            Judge::Kernel(_) => unreachable!("it judges one position at a time"),
        }
    }

    // Buffers are only ever whole sets in a list: a panic elsewhere leaves nothing half-done.
    fn take(&self) -> Buffers {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn give_back(&self, buffers: Buffers) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
    }
}

impl Evaluator for NetworkEvaluator {
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
        let mut buffers = self.take();
        match &self.judge {
            Judge::Kernel(kernel) => {
                for (query, out) in batch.iter().zip(out) {
                    buffers.encoded.clear();
                    self.encoder.push_game(query.game, query.moves, &mut buffers.encoded);
                    let position = buffers.encoded.position(0);
                    out.wdl = kernel.evaluate(position, &mut buffers.activations, &mut out.policy);
                }
            }
            Judge::Residual(_) | Judge::Burn(_) => {
                for (batch, out) in batch.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
                    buffers.encoded.clear();
                    for query in batch {
                        self.encoder.push_game(query.game, query.moves, &mut buffers.encoded);
                    }
                    let output = self.forward(&buffers.encoded, &mut buffers.residual);
                    read(output, &buffers.encoded, out);
                }
            }
        }
        self.give_back(buffers);
    }

    fn id(&self) -> &str {
        &self.id
    }
}

/// Reads off what a network says.
fn read(output: Output, encoded: &Encoded, out: &mut [Evaluation]) {
    let [_, most] = output.policy.dims();
    let policy = output.policy.into_data().try_into_vec::<f32>().expect("logits are f32");
    let wdl = softmax(output.wdl, 1).into_data().try_into_vec::<f32>().expect("probabilities are f32");
    for (i, (position, out)) in encoded.iter().zip(out).enumerate() {
        out.policy.clear();
        out.policy.extend_from_slice(&policy[i * most..i * most + position.moves.len()]);
        out.wdl.copy_from_slice(&wdl[3 * i..3 * i + 3]);
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use engine::Variant;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::config::{MaterialConfig, NetworkConfig, ResnetConfig};
    use crate::testing::{positions, random_network, row};

    #[test]
    fn a_position_is_judged_alike_in_any_batch() {
        let variant = Variant::load("chu", None).expect("built in");
        for config in [
            NetworkConfig::default(),
            NetworkConfig::Material(MaterialConfig::default()),
            NetworkConfig::Resnet(ResnetConfig { channels: 16, blocks: 2, ..ResnetConfig::default() }),
        ] {
            judges_alike(&variant, &config);
        }
    }

    fn judges_alike(variant: &Arc<Variant>, config: &NetworkConfig) {
        let mut network = Network::new(config, variant, 1, &Device::flex()).expect("sound");
        let features = network.features.clone();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        network.model = random_network(config, &features, &mut rng, &Device::flex());
        let judge = evaluator(&network, variant);
        assert_eq!(judge.id(), "net:000000");

        let positions = positions("chu", 3, 20);
        let queries: Vec<Query<'_>> = positions.iter().map(|(game, moves)| Query { game, moves }).collect();
        let mut together = vec![Evaluation::default(); queries.len()];
        judge.evaluate(&queries, &mut together);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for (query, expected) in queries.iter().zip(&together).rev() {
                        let mut alone = [Evaluation::default()];
                        judge.evaluate(std::slice::from_ref(query), &mut alone);
                        assert!(alone[0] == *expected);
                    }
                });
            }
        });
        for (evaluation, (_, moves)) in together.iter().zip(&positions) {
            assert_eq!(evaluation.policy.len(), moves.len());
            assert!((evaluation.wdl.iter().sum::<f32>() - 1.0).abs() < 1e-6);
        }
        let mut stored = Vec::new();
        let rows: Vec<_> = positions.iter().map(|(game, moves)| row(game, moves, 0)).collect();
        judge.wdl_of_stored(rows.iter().map(Into::into), &mut stored).expect("sound");
        for (stored, evaluation) in stored.iter().zip(&together) {
            assert!(stored.iter().zip(&evaluation.wdl).all(|(a, b)| (a - b).abs() < 1e-6));
        }
    }
}

//! Networks as judges of positions for the search.

use std::sync::{Arc, Mutex, PoisonError};

use selfplay::{Evaluation, Evaluator, Query};

use crate::checkpoint::Network;
use crate::encoded::Encoded;
use crate::encoding::Encoder;
use crate::kernel::{Activations, Kernel};

/// Judges positions on a CPU, as fast alone as in a batch. Threads share one.
pub struct NnueEvaluator {
    id: String,
    encoder: Encoder,
    kernel: Kernel,
    /// A set for each thread that has been in here at the same time.
    buffers: Mutex<Vec<Buffers>>,
}

#[derive(Default)]
struct Buffers {
    encoded: Encoded,
    activations: Activations,
}

/// The evaluator of a network for positions of `variant`, the variant the network is of.
pub fn evaluator(network: &Network, variant: &Arc<engine::Variant>) -> NnueEvaluator {
    let encoder = Encoder::new(variant);
    NnueEvaluator {
        id: network.id(),
        kernel: Kernel::new(&network.model, encoder.features()),
        encoder,
        buffers: Mutex::default(),
    }
}

impl Evaluator for NnueEvaluator {
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
        // Buffers are only ever whole sets in a list: a panic elsewhere leaves nothing half-done.
        let pool = || self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffers = pool().pop().unwrap_or_default();
        for (query, out) in batch.iter().zip(out) {
            buffers.encoded.clear();
            self.encoder.push_game(query.game, query.moves, &mut buffers.encoded);
            let position = buffers.encoded.position(0);
            out.wdl = self.kernel.evaluate(position, &mut buffers.activations, &mut out.policy);
        }
        pool().push(buffers);
    }

    fn id(&self) -> &str {
        &self.id
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use engine::Variant;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::config::{NetworkConfig, NnueConfig};
    use crate::testing::{positions, random_network};

    #[test]
    fn a_position_is_judged_alike_in_any_batch() {
        let variant = Variant::load("chu", None).expect("built in");
        let mut network = Network::new(&NetworkConfig::default(), &variant, 1, &Device::flex()).expect("sound");
        let features = network.features.clone();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        network.model = random_network(&NnueConfig::default(), &features, &mut rng, &Device::flex());
        let judge = evaluator(&network, &variant);
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
    }
}

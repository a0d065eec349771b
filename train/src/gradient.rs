//! Losses of a batch and their gradients by burn's automatic differentiation: for any device, and the slow twin of
//! [`crate::sparse`].

use burn::optim::GradientsParams;
use burn::tensor::activation::{log_softmax, softplus};
use burn::tensor::{Device, Tensor, TensorData};

use crate::batch::{Chunk, Losses, Targets, entropy, log_plies};
use crate::encoding::Features;
use crate::network::{Model, Output};

/// Weights of the losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossWeights {
    /// Of the policy.
    pub policy: f64,
    /// Of the value.
    pub value: f64,
    /// Of which pieces survive.
    pub survival: f64,
    /// Of the plies left.
    pub plies_left: f64,
}

/// Losses of a batch and the gradients of their weighted sum. The network must be on a device with autodiff.
pub fn gradients(
    network: &Model,
    features: &Features,
    chunks: &[Chunk],
    weights: LossWeights,
) -> (Losses, GradientsParams) {
    let targets = Targets::of(chunks, features);
    let mut losses = targets_floor(chunks);
    let mut total: Option<Tensor<1>> = None;
    for chunk in chunks {
        let sums = Sums::new(network.forward(&chunk.encoded, features), chunk, features);
        losses.add(sums.losses());
        let loss = sums.weighted(weights, targets);
        total = Some(match total {
            Some(total) => total + loss,
            None => loss,
        });
    }
    let gradients = match total {
        Some(total) => GradientsParams::from_grads(total.backward(), network),
        None => GradientsParams::new(),
    };
    (losses.over(targets), gradients)
}

/// Losses of a network on positions with targets.
pub fn losses(network: &Model, features: &Features, chunks: &[Chunk]) -> Losses {
    let mut losses = targets_floor(chunks);
    for chunk in chunks {
        losses.add(Sums::new(network.forward(&chunk.encoded, features), chunk, features).losses());
    }
    losses.over(Targets::of(chunks, features))
}

/// The losses of a chunk, summed over what has a target.
pub(crate) struct Sums {
    policy: Tensor<1>,
    value: Tensor<1>,
    survival: Tensor<1>,
    plies_left: Tensor<1>,
}

impl Sums {
    pub(crate) fn new(output: Output, chunk: &Chunk, features: &Features) -> Sums {
        let device = &output.wdl.device();
        let [size, moves] = output.policy.dims();
        let mut target = vec![0f32; size * moves];
        let mut given = chunk.policy.iter();
        for (row, position) in target.chunks_exact_mut(moves).zip(chunk.encoded.iter()) {
            row.iter_mut().zip(given.by_ref().take(position.moves.len())).for_each(|(t, &p)| *t = p);
        }
        let target = Tensor::<2>::from_data(TensorData::new(target, [size, moves]), device);
        Sums {
            policy: (log_softmax(output.policy, 1) * target).sum().neg(),
            value: value_loss(output.wdl, std::slice::from_ref(chunk)),
            survival: survival_loss(output.survival, chunk, features),
            plies_left: plies_left_loss(output.plies_left, std::slice::from_ref(chunk)),
        }
    }

    pub(crate) fn losses(&self) -> Losses {
        let number = |loss: &Tensor<1>| loss.clone().into_scalar::<f32>() as f64;
        Losses {
            policy: number(&self.policy),
            value: number(&self.value),
            survival: number(&self.survival),
            plies_left: number(&self.plies_left),
            ..Losses::default()
        }
    }

    pub(crate) fn weighted(self, weights: LossWeights, targets: Targets) -> Tensor<1> {
        let mean = |loss: Tensor<1>, weight: f64, count: usize| loss * (weight / count.max(1) as f64);
        mean(self.policy, weights.policy, targets.policies)
            + mean(self.value, weights.value, targets.values)
            + mean(self.survival, weights.survival, targets.pieces)
            + mean(self.plies_left, weights.plies_left, targets.ends)
    }
}

/// Cross-entropy of the value, summed over the positions, and the logits' part in the graph.
pub(crate) fn value_loss(wdl: Tensor<2>, chunks: &[Chunk]) -> Tensor<1> {
    let targets: Vec<f32> = chunks.iter().flat_map(|chunk| chunk.wdl.as_flattened().iter().copied()).collect();
    let targets = column(targets, 3, &wdl.device());
    (log_softmax(wdl, 1) * targets).sum().neg()
}

/// Squared errors of ln(1 + plies left), shape `[B, 1]`, summed over the positions of games with an end.
pub(crate) fn plies_left_loss(found: Tensor<2>, chunks: &[Chunk]) -> Tensor<1> {
    let all = || chunks.iter().flat_map(|chunk| &chunk.plies_left);
    let targets = all().map(|plies| plies.map_or(0.0, log_plies)).collect();
    let known = all().map(|plies| if plies.is_some() { 1.0 } else { 0.0 }).collect();
    let device = &found.device();
    let error = (found - column(targets, 1, device)) * column(known, 1, device);
    error.square().sum()
}

/// Cross-entropy of which pieces survive, by squares, summed over the pieces.
fn survival_loss(logits: Tensor<2>, chunk: &Chunk, features: &Features) -> Tensor<1> {
    let (size, squares, device) = (chunk.encoded.len(), features.squares, &logits.device());
    let (mut target, mut known) = (vec![0f32; size * squares], vec![0f32; size * squares]);
    for (i, fates) in chunk.fates(features).enumerate() {
        for (row, survives) in fates {
            known[i * squares + row % squares] = 1.0;
            target[i * squares + row % squares] = if survives { 1.0 } else { 0.0 };
        }
    }
    let (target, known) = (column(target, squares, device), column(known, squares, device));
    ((softplus(logits.clone(), 1.0) - logits * target) * known).sum()
}

fn column(values: Vec<f32>, width: usize, device: &Device) -> Tensor<2> {
    let size = values.len() / width;
    Tensor::from_data(TensorData::new(values, [size, width]), device)
}

/// Sums of the targets' entropies; the other losses are 0.
pub(crate) fn targets_floor(chunks: &[Chunk]) -> Losses {
    let mut losses = Losses::default();
    for chunk in chunks {
        losses.policy_floor += entropy(&chunk.policy);
        losses.value_floor += chunk.wdl.iter().map(|wdl| entropy(wdl)).sum::<f64>();
    }
    losses
}

#[cfg(test)]
mod tests {
    use burn::module::Module;
    use engine::Variant;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::config::{MaterialConfig, NetworkConfig, NnueConfig, ResnetConfig};
    use crate::rng::uniform;
    use crate::sparse::gradients_of;
    use crate::testing::{chunks, random_network};

    /// Along some random directions, one tensor at a time, the derivative is the quotient of differences of the loss.
    fn check(config: &NetworkConfig) {
        let features = &Features::of(&Variant::load("sho", None).expect("built in"));
        let chunks = chunks("sho", 5, 24, 8);
        let weights = LossWeights { policy: 1.0, value: 1.0, survival: 1.0, plies_left: 0.1 };
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
        let network = random_network(config, features, &mut rng, &Device::flex()).train();
        let (_, gradients) = gradients(&network, features, &chunks, weights);
        let gradients = gradients_of(&network, &gradients);
        let tensors = network.to_tensors();
        let loss = |index: usize, direction: &[f32], step: f32| {
            let mut tensors = tensors.clone();
            let mut values = tensors[index].clone().try_into_vec::<f32>().expect("weights are f32");
            values.iter_mut().zip(direction).for_each(|(value, d)| *value += step * d);
            tensors[index] = TensorData::new(values, tensors[index].shape().clone());
            let losses = losses(&Model::from_tensors(config, tensors, &Device::flex()), features, &chunks);
            weights.policy * losses.policy
                + weights.value * losses.value
                + weights.survival * losses.survival
                + weights.plies_left * losses.plies_left
        };
        for (index, spec) in Model::specs(config, features).iter().enumerate() {
            let direction = uniform(&mut rng, spec.len(), 1.0);
            let derivative: f64 = gradients[index].iter().zip(&direction).map(|(&g, &d)| g as f64 * d as f64).sum();
            // Small enough for few activations to pass a corner, large enough for single precision.
            let step = 2e-3 / (spec.len() as f32).sqrt().max(1.0) * 4.0;
            let quotient = (loss(index, &direction, step) - loss(index, &direction, -step)) / (2.0 * step as f64);
            let norm = gradients[index].iter().map(|&g| g as f64 * g as f64).sum::<f64>().sqrt();
            let error = (derivative - quotient).abs();
            assert!(error < 0.03 * norm + 2e-3, "{}: {derivative} by burn, {quotient} by differences", spec.name);
        }
    }

    #[test]
    fn gradients_are_difference_quotients() {
        check(&NetworkConfig::Material(MaterialConfig::default()));
        check(&NetworkConfig::Nnue(NnueConfig { accumulator: 32, hidden: 16, policy_width: 16, survival_width: 8 }));
        check(&NetworkConfig::Resnet(ResnetConfig { channels: 8, blocks: 2, hidden: 16, policy_width: 16 }));
    }
}

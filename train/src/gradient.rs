//! Losses of a batch and their gradients by burn's automatic differentiation: for any device, and the slow twin of
//! [`crate::sparse`].

use burn::optim::GradientsParams;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Tensor, TensorData};

use crate::batch::{Chunk, Losses, entropy};
use crate::encoding::Features;
use crate::network::{BatchTensors, Nnue};

/// Weights of the two losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossWeights {
    /// Of the policy.
    pub policy: f64,
    /// Of the value.
    pub value: f64,
}

/// Losses of a batch and the gradients of their weighted sum. The network must be on a device with autodiff.
pub fn gradients(
    network: &Nnue,
    features: &Features,
    chunks: &[Chunk],
    weights: LossWeights,
    device: &Device,
) -> (Losses, GradientsParams) {
    let (policies, values) = sizes(chunks);
    let mut losses = targets_floor(chunks);
    let mut total: Option<Tensor<1>> = None;
    for chunk in chunks {
        let batch = BatchTensors::new(&chunk.encoded, features, device);
        let (log_policy, log_wdl) = network.forward(&batch).log_probabilities();
        let [size, moves] = log_policy.dims();
        let mut target = vec![0f32; size * moves];
        let mut given = chunk.policy.iter();
        for (row, position) in target.chunks_exact_mut(moves).zip(chunk.encoded.iter()) {
            row.iter_mut().zip(given.by_ref().take(position.moves.len())).for_each(|(t, &p)| *t = p);
        }
        let target = Tensor::<2>::from_data(TensorData::new(target, [size, moves]), device);
        let policy = (log_policy * target).sum().neg();
        let value = (log_wdl * wdl_targets(std::slice::from_ref(chunk), device)).sum().neg();
        losses.policy += policy.clone().into_scalar::<f32>() as f64;
        losses.value += value.clone().into_scalar::<f32>() as f64;
        let loss = policy * (weights.policy / policies.max(1) as f64) + value * (weights.value / values as f64);
        total = Some(match total {
            Some(total) => total + loss,
            None => loss,
        });
    }
    let gradients = match total {
        Some(total) => GradientsParams::from_grads(total.backward(), network),
        None => GradientsParams::new(),
    };
    (losses.over(policies, values), gradients)
}

/// Cross-entropy of the value, summed over the positions, and the logits' part in the graph.
pub(crate) fn value_loss(wdl: Tensor<2>, chunks: &[Chunk], device: &Device) -> Tensor<1> {
    (log_softmax(wdl, 1) * wdl_targets(chunks, device)).sum().neg()
}

fn wdl_targets(chunks: &[Chunk], device: &Device) -> Tensor<2> {
    let targets: Vec<f32> = chunks.iter().flat_map(|chunk| chunk.wdl.as_flattened().iter().copied()).collect();
    let size = targets.len() / 3;
    Tensor::from_data(TensorData::new(targets, [size, 3]), device)
}

/// Numbers of positions with a target for the policy and for the value.
pub(crate) fn sizes(chunks: &[Chunk]) -> (usize, usize) {
    (chunks.iter().map(Chunk::policies).sum(), chunks.iter().map(|chunk| chunk.wdl.len()).sum())
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

//! Losses of a batch and their gradients on a CPU.
//!
//! Nearly all the work of a step is in two tables of which a position uses few rows: `square` and `moves` of the network.
//! burn would first copy out all rows in use. Here own loops sum over them, forwards and backwards, and burn's automatic
//! differentiation does what lies between: from the sum over the sparse features to the value's loss and to the query.
//!
//! Backwards, the rows are turned round: for each row of a table the list of positions that use it, in order. So each
//! row of the gradient is written once, threads share out the rows, and the result does not depend on their number.

use burn::module::Param;
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use crate::adamw::RowGradient;
use crate::batch::{Chunk, Losses};
use crate::encoding::Features;
use crate::gather::{add_rows, add_scaled, dot_rows};
use crate::gradient::{LossWeights, sizes, targets_floor, value_loss};
use crate::network::{HEADS, Heads, TENSORS, dense_inputs};
use crate::threads::on_threads;

/// A network as this module takes it: the big tables as plain numbers, the rest as a burn module on a CPU device with
/// autodiff.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// `Nnue::square`, row by row.
    pub square: &'a [f32],
    /// `Nnue::heads`.
    pub heads: &'a Heads,
    /// `Nnue::moves`, row by row.
    pub moves: &'a [f32],
}

/// Losses of a batch and the gradients of their weighted sum, as [`crate::gradient::gradients`] gives them, in the order
/// of `TENSOR_NAMES`. The buffers in `out` are used again.
pub fn gradients(
    parts: Parts<'_>,
    features: &Features,
    chunks: &[Chunk],
    weights: LossWeights,
    threads: usize,
    out: &mut [RowGradient; TENSORS],
) -> Losses {
    let (policies, values) = sizes(chunks);
    let device = parts.heads.bias.val().device();
    let [width] = parts.heads.bias.dims();
    let policy_width = parts.heads.query_bias.dims()[0] + 1;

    let sums = forward(chunks, parts.square, width, threads);
    let sums = Tensor::<2>::from_data(TensorData::new(sums, [values, width]), &device).require_grad();
    let positions = chunks.iter().flat_map(|chunk| chunk.encoded.iter());
    let (counts, state) = dense_inputs(positions, features, &device);
    let (query, wdl) = parts.heads.forward(sums.clone(), counts, state);

    let query_values = query.clone().inner().into_data();
    let query_values = query_values.as_slice::<f32>().expect("queries are f32");
    let scale = (weights.policy / policies.max(1) as f64) as f32;
    let policy = policy_gradients(chunks, query_values, parts.moves, policy_width, scale, threads);

    let value = value_loss(wdl, chunks, &device);
    let mut losses = targets_floor(chunks);
    losses.policy = policy.loss;
    losses.value = value.clone().into_scalar::<f32>() as f64;
    // The derivative of this product by the query is what the policy's loss has: burn carries it on from there.
    let carried = Tensor::<2>::from_data(TensorData::new(policy.query, [values, policy_width]), &device);
    let loss = value * (weights.value / values.max(1) as f64) + (query * carried).sum();
    let mut all = loss.backward();
    let sums = sums.grad_remove(&mut all).expect("the sums are a leaf of the graph").into_data();
    let sums = sums.as_slice::<f32>().expect("gradients are f32");
    let heads = GradientsParams::from_grads(all, parts.heads);
    for (out, values) in out[HEADS].iter_mut().zip(head_values(parts.heads, &heads)) {
        out.rows.clear();
        out.rows.push(0);
        out.values = values;
    }

    let [square, .., moves] = out;
    Uses::of_positions(chunks, features.position_rows())
        .gradient(width, threads, square, |uses, row| add_rows(sums, width, uses, row));
    Uses::of_moves(chunks, features.move_rows()).gradient(policy_width, threads, moves, |uses, row| {
        for &mv in uses {
            let position = policy.positions[mv as usize] as usize;
            let query = &query_values[position * policy_width..(position + 1) * policy_width];
            add_scaled(row, policy.logits[mv as usize], query);
        }
    });
    losses.over(policies, values)
}

/// Gradients of the heads' tensors, each as one row.
fn head_values(heads: &Heads, gradients: &GradientsParams) -> [Vec<f32>; HEADS.end - HEADS.start] {
    fn values<const D: usize>(param: &Param<Tensor<D>>, gradients: &GradientsParams) -> Vec<f32> {
        let gradient = gradients.get::<D>(param.id).expect("every tensor of the heads is in the graph");
        gradient.into_data().try_into_vec::<f32>().expect("gradients are f32")
    }
    [
        values(&heads.kind, gradients),
        values(&heads.state, gradients),
        values(&heads.bias, gradients),
        values(&heads.hidden_weight, gradients),
        values(&heads.hidden_bias, gradients),
        values(&heads.output_weight, gradients),
        values(&heads.output_bias, gradients),
        values(&heads.query_weight, gradients),
        values(&heads.query_bias, gradients),
    ]
}

/// For each position the sum over its rows of `square`.
fn forward(chunks: &[Chunk], square: &[f32], width: usize, threads: usize) -> Vec<f32> {
    let positions = chunks.iter().map(|chunk| chunk.encoded.len()).sum::<usize>();
    let mut sums = vec![0.0; positions * width];
    let mut work = Vec::with_capacity(chunks.len());
    let mut rest = sums.as_mut_slice();
    for chunk in chunks {
        let (own, after) = rest.split_at_mut(chunk.encoded.len() * width);
        work.push((chunk, own));
        rest = after;
    }
    on_threads(threads, &mut work, |(chunk, sums)| {
        for (position, sum) in chunk.encoded.iter().zip(sums.chunks_exact_mut(width)) {
            add_rows(square, width, position.rows, sum);
        }
    });
    sums
}

/// The policy's loss, summed over positions, and its derivatives.
struct PolicyGradients {
    loss: f64,
    /// By the query, `[positions, policy width]`.
    query: Vec<f32>,
    /// By each move's logit.
    logits: Vec<f32>,
    /// The position of each move.
    positions: Vec<u32>,
}

fn policy_gradients(
    chunks: &[Chunk],
    query: &[f32],
    moves: &[f32],
    policy_width: usize,
    scale: f32,
    threads: usize,
) -> PolicyGradients {
    struct Part<'a> {
        chunk: &'a Chunk,
        query: &'a [f32],
        query_gradient: &'a mut [f32],
        logits: &'a mut [f32],
        loss: f64,
    }
    let mut query_gradient = vec![0.0; query.len()];
    let mut logits = vec![0.0; chunks.iter().map(|chunk| chunk.policy.len()).sum()];
    let mut positions = Vec::with_capacity(logits.len());
    let mut parts = Vec::with_capacity(chunks.len());
    let (mut queries, mut query_gradients, mut all_logits) =
        (query, query_gradient.as_mut_slice(), logits.as_mut_slice());
    let mut first = 0;
    for chunk in chunks {
        for (i, position) in chunk.encoded.iter().enumerate() {
            positions.extend(std::iter::repeat_n((first + i) as u32, position.moves.len()));
        }
        first += chunk.encoded.len();
        let (query, rest) = queries.split_at(chunk.encoded.len() * policy_width);
        queries = rest;
        let (query_gradient, rest) = query_gradients.split_at_mut(query.len());
        query_gradients = rest;
        let (logits, rest) = all_logits.split_at_mut(chunk.policy.len());
        all_logits = rest;
        parts.push(Part { chunk, query, query_gradient, logits, loss: 0.0 });
    }
    on_threads(threads, &mut parts, |part| {
        let mut targets = part.chunk.policy.as_slice();
        let mut all_logits = &mut *part.logits;
        let queries = part.query.chunks_exact(policy_width).zip(part.query_gradient.chunks_exact_mut(policy_width));
        for (position, (query, query_gradient)) in part.chunk.encoded.iter().zip(queries) {
            let (target, rest) = targets.split_at(position.moves.len());
            targets = rest;
            let (logits, rest) = all_logits.split_at_mut(target.len());
            all_logits = rest;
            for (logit, rows) in logits.iter_mut().zip(position.moves.iter()) {
                *logit = dot_rows(moves, rows, query);
            }
            if target.is_empty() {
                continue;
            }
            part.loss += cross_entropy(logits, target);
            for (logit, rows) in logits.iter_mut().zip(position.moves.iter()) {
                *logit *= scale;
                for &row in rows {
                    let row = &moves[row as usize * policy_width..(row as usize + 1) * policy_width];
                    add_scaled(query_gradient, *logit, row);
                }
            }
        }
    });
    // In a fixed order, whatever thread computed what.
    let loss = parts.iter().map(|part| part.loss).sum();
    PolicyGradients { loss, query: query_gradient, logits, positions }
}

/// Cross-entropy of the softmax of `logits` (at least one) against `target`, which sums to 1. Puts its derivatives into
/// `logits`.
pub(crate) fn cross_entropy(logits: &mut [f32], target: &[f32]) -> f64 {
    let most = logits.iter().fold(f32::NEG_INFINITY, |most, &x| most.max(x));
    let mut sum = 0.0;
    let mut loss = 0.0;
    for (logit, &target) in logits.iter_mut().zip(target) {
        loss -= target as f64 * (*logit - most) as f64;
        *logit = (*logit - most).exp();
        sum += *logit;
    }
    for (logit, &target) in logits.iter_mut().zip(target) {
        *logit = *logit / sum - target;
    }
    loss + (sum as f64).ln() * target.iter().map(|&p| p as f64).sum::<f64>()
}

/// For each row of a table its uses in a batch, in order: numbers of positions or of moves.
struct Uses {
    /// Row `r` has the uses from `starts[r]` to `starts[r + 1]`.
    starts: Vec<u32>,
    uses: Vec<u32>,
}

impl Uses {
    fn of_positions(chunks: &[Chunk], rows: usize) -> Uses {
        Uses::new(rows, || chunks.iter().flat_map(|chunk| chunk.encoded.iter()).map(|position| position.rows))
    }

    fn of_moves(chunks: &[Chunk], rows: usize) -> Uses {
        Uses::new(rows, || {
            chunks.iter().flat_map(|chunk| chunk.encoded.iter()).flat_map(|position| position.moves.iter())
        })
    }

    /// From the lists of rows of users 0, 1, 2…
    fn new<'a, I: Iterator<Item = &'a [u32]>>(rows: usize, users: impl Fn() -> I) -> Uses {
        let mut starts = vec![0u32; rows + 1];
        for list in users() {
            for &row in list {
                starts[row as usize + 1] += 1;
            }
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = starts.clone();
        let mut uses = vec![0; starts[rows] as usize];
        for (user, list) in users().enumerate() {
            for &row in list {
                uses[next[row as usize] as usize] = user as u32;
                next[row as usize] += 1;
            }
        }
        Uses { starts, uses }
    }

    /// The table's gradient: `add` adds up what a row's uses contribute to it.
    fn gradient(&self, width: usize, threads: usize, out: &mut RowGradient, add: impl Fn(&[u32], &mut [f32]) + Sync) {
        const PIECE: usize = 64;
        let rows = self.starts.len() as u32 - 1;
        let uses = |row: u32| &self.uses[self.starts[row as usize] as usize..self.starts[row as usize + 1] as usize];
        out.rows.clear();
        out.rows.extend((0..rows).filter(|&row| !uses(row).is_empty()));
        out.values.clear();
        out.values.resize(out.rows.len() * width, 0.0);
        let mut pieces: Vec<_> = out.rows.chunks(PIECE).zip(out.values.chunks_mut(PIECE * width)).collect();
        on_threads(threads, &mut pieces, |(rows, gradients)| {
            for (&row, gradient) in rows.iter().zip(gradients.chunks_exact_mut(width)) {
                add(uses(row), gradient);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Module;
    use burn::tensor::Device;
    use engine::Variant;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::config::NnueConfig;
    use crate::gradient;
    use crate::network::{Nnue, TENSOR_NAMES};
    use crate::testing::{VARIANTS, chunks, random_network};

    /// All gradients, whole, in the order of `TENSOR_NAMES`.
    fn dense(network: &Nnue, features: &Features, gradients: &[RowGradient; TENSORS]) -> Vec<Vec<f32>> {
        let tables = [(0, features.position_rows()), (TENSORS - 1, features.move_rows())];
        let mut all: Vec<Vec<f32>> = gradients.iter().map(|gradient| gradient.values.clone()).collect();
        for (index, rows) in tables {
            let width = network.to_tensors()[index].shape().as_slice()[1];
            let mut whole = vec![0.0; rows * width];
            for (&row, values) in gradients[index].rows.iter().zip(gradients[index].values.chunks(width)) {
                whole[row as usize * width..][..width].copy_from_slice(values);
            }
            all[index] = whole;
        }
        all
    }

    fn burn_gradients(network: &Nnue, gradients: &GradientsParams) -> Vec<Vec<f32>> {
        let table = |id| {
            let gradient = gradients.get::<2>(id).expect("a gradient");
            gradient.into_data().try_into_vec::<f32>().expect("f32")
        };
        let mut all = vec![table(network.square.id)];
        all.extend(head_values(&network.heads, gradients));
        all.push(table(network.moves.id));
        all
    }

    #[test]
    fn agrees_with_burn() {
        let weights = LossWeights { policy: 1.5, value: 0.5 };
        for name in VARIANTS {
            let variant = Variant::load(name, None).expect("built in");
            let features = &Features::of(&variant);
            let config = NnueConfig { accumulator: 64, hidden: 16, policy_width: 16 };
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
            let network = random_network(&config, features, &mut rng, &Device::flex()).train();
            let device = network.heads.bias.val().device();
            let chunks = chunks(name, 8, 70, 32);
            let (expected_losses, expected) = gradient::gradients(&network, features, &chunks, weights, &device);
            let expected = burn_gradients(&network, &expected);
            let [square, .., moves] = network.to_tensors().map(|data| data.try_into_vec::<f32>().expect("f32"));
            let parts = Parts { square: &square, heads: &network.heads, moves: &moves };
            let mut buffers: [RowGradient; TENSORS] = Default::default();
            let mut before: Option<[RowGradient; TENSORS]> = None;
            for threads in [1, 2, 5] {
                let losses = gradients(parts, features, &chunks, weights, threads, &mut buffers);
                let close = |a: f64, b: f64| (a - b).abs() < 1e-4 * (1.0 + b.abs());
                assert!(close(losses.policy, expected_losses.policy), "{losses:?} {expected_losses:?}");
                assert!(close(losses.value, expected_losses.value), "{losses:?} {expected_losses:?}");
                for (index, (found, expected)) in dense(&network, features, &buffers).iter().zip(&expected).enumerate()
                {
                    let norm = expected.iter().map(|&g| g as f64 * g as f64).sum::<f64>().sqrt();
                    assert!(norm > 1e-4, "{name}: {} has a gradient", TENSOR_NAMES[index]);
                    assert_eq!(found.len(), expected.len());
                    for (a, b) in found.iter().zip(expected) {
                        assert!((a - b).abs() < 1e-4 * norm as f32, "{name}: {}: {a} {b}", TENSOR_NAMES[index]);
                    }
                }
                assert!(before.is_none_or(|before| before == buffers), "{name}: threads change nothing");
                before = Some(buffers.clone());
            }
        }
    }

    #[test]
    fn cross_entropy_and_its_derivatives() {
        let target = [0.5f32, 0.25, 0.25, 0.0];
        let logits = [0.3f32, -1.0, 2.0, 0.7];
        // By the definition, in double precision: -Σ t·ln(softmax), and its difference quotient.
        let exact = |logits: [f64; 4]| {
            let sum = logits.iter().map(|x| x.exp()).sum::<f64>().ln();
            (0..4).map(|i| -(target[i] as f64) * (logits[i] - sum)).sum::<f64>()
        };
        let wide = logits.map(|x| x as f64);
        let mut found = logits;
        assert!((cross_entropy(&mut found, &target) - exact(wide)).abs() < 1e-6);
        for i in 0..4 {
            let mut moved = wide;
            moved[i] += 1e-6;
            assert!((found[i] as f64 - (exact(moved) - exact(wide)) / 1e-6).abs() < 1e-5);
        }
    }
}

//! Losses of a batch and their gradients on a CPU.
//!
//! Nearly all the work of a step is in two tables of which a position uses few rows: `square` and `moves` of the network.
//! burn would first copy out all rows in use. Here own loops sum over them, forwards and backwards, and burn's automatic
//! differentiation does what lies between: from the sum over the sparse features to the value's loss and to the query.
//!
//! Backwards, the rows are turned round: for each row of a table the list of positions that use it, in order. So each
//! row of the gradient is written once, threads share out the rows, and the result does not depend on their number.

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use crate::adamw::RowGradient;
use crate::batch::{Chunk, Losses, Targets};
use crate::encoding::Features;
use crate::gather::{add_rows, add_scaled, dot_rows};
use crate::gradient::{LossWeights, plies_left_loss, targets_floor, value_loss};
use crate::network::{HEADS, Heads, dense_inputs};
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
/// of the network's tensors, into `out`, whose buffers are used again.
pub fn gradients(
    parts: Parts<'_>,
    features: &Features,
    chunks: &[Chunk],
    weights: LossWeights,
    threads: usize,
    out: &mut [RowGradient],
) -> Losses {
    let targets = Targets::of(chunks, features);
    let positions = targets.values;
    let device = parts.heads.bias.val().device();
    let [width] = parts.heads.bias.dims();
    let policy_width = parts.heads.query_bias.dims()[0] + 1;

    let sums = forward(chunks, parts.square, width, threads);
    let sums = Tensor::<2>::from_data(TensorData::new(sums, [positions, width]), &device).require_grad();
    let encoded = chunks.iter().flat_map(|chunk| chunk.encoded.iter());
    let (counts, state) = dense_inputs(encoded, features, &device);
    let heads = parts.heads.forward(sums.clone(), counts, state);

    let query = values(&heads.query);
    let scale = (weights.policy / targets.policies.max(1) as f64) as f32;
    let policy = policy_gradients(chunks, &query, parts.moves, policy_width, scale, threads);
    let scale = (weights.survival / targets.pieces.max(1) as f64) as f32;
    let by_kind = values(&heads.survival_kind);
    let survival = survival_gradients(chunks, features, &by_kind, &values(&heads.survival_square), scale);

    let value = value_loss(heads.wdl, chunks);
    let plies_left = plies_left_loss(heads.plies_left, chunks);
    let mut losses = targets_floor(chunks);
    losses.policy = policy.loss;
    losses.value = value.clone().into_scalar::<f32>() as f64;
    losses.survival = survival.loss;
    losses.plies_left = plies_left.clone().into_scalar::<f32>() as f64;
    // The derivatives of these products are those that own loops have found: burn carries them on from there.
    let carried = |output: Tensor<2>, gradient: Vec<f32>| {
        let shape = output.dims();
        (output * Tensor::from_data(TensorData::new(gradient, shape), &device)).sum()
    };
    let loss = value * (weights.value / positions.max(1) as f64)
        + plies_left * (weights.plies_left / targets.ends.max(1) as f64)
        + carried(heads.query, policy.query)
        + carried(heads.survival_kind, survival.kind)
        + carried(heads.survival_square, survival.square);
    let mut all = loss.backward();
    let sums = sums.grad_remove(&mut all).expect("the sums are a leaf of the graph").into_data();
    let sums = sums.as_slice::<f32>().expect("gradients are f32");
    let heads = GradientsParams::from_grads(all, parts.heads);
    for (out, values) in out[HEADS].iter_mut().zip(gradients_of(parts.heads, &heads)) {
        out.rows.clear();
        out.rows.push(0);
        out.values = values;
    }

    let [square, .., moves] = out else { unreachable!("a network has more than two tensors") };
    Uses::of_positions(chunks, features.position_rows())
        .gradient(width, threads, square, |uses, row| add_rows(sums, width, uses, row));
    Uses::of_moves(chunks, features.move_rows()).gradient(policy_width, threads, moves, |uses, row| {
        for &mv in uses {
            let position = policy.positions[mv as usize] as usize;
            let query = &query[position * policy_width..(position + 1) * policy_width];
            add_scaled(row, policy.logits[mv as usize], query);
        }
    });
    losses.over(targets)
}

fn values(tensor: &Tensor<2>) -> Vec<f32> {
    tensor.clone().inner().into_data().try_into_vec::<f32>().expect("activations are f32")
}

/// Gradients of a module's tensors, in the order of its fields.
pub(crate) fn gradients_of(module: &impl Module, gradients: &GradientsParams) -> Vec<Vec<f32>> {
    struct Collect<'a>(&'a GradientsParams, Vec<Vec<f32>>);
    impl ModuleVisitor for Collect<'_> {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            let gradient = self.0.get::<D>(param.id).expect("every tensor is in the graph");
            self.1.push(gradient.into_data().try_into_vec::<f32>().expect("gradients are f32"));
        }
    }
    let mut collected = Collect(gradients, Vec::new());
    module.visit(&mut collected);
    collected.1
}

/// The loss of which pieces survive, summed over the pieces, and its derivatives.
struct SurvivalGradients {
    loss: f64,
    /// By what side and kind give, `[positions, 2·K]`.
    kind: Vec<f32>,
    /// By what the square gives, `[positions, S]`.
    square: Vec<f32>,
}

fn survival_gradients(
    chunks: &[Chunk],
    features: &Features,
    by_kind: &[f32],
    by_square: &[f32],
    scale: f32,
) -> SurvivalGradients {
    let (kinds, squares) = (2 * features.kinds, features.squares);
    let mut found = SurvivalGradients { loss: 0.0, kind: vec![0.0; by_kind.len()], square: vec![0.0; by_square.len()] };
    let positions = chunks.iter().flat_map(|chunk| chunk.fates(features));
    for (i, fates) in positions.enumerate() {
        for (row, survives) in fates {
            let (kind, square) = (i * kinds + row / squares, i * squares + row % squares);
            let logit = by_kind[kind] + by_square[square];
            // ln(1 + e^-|x|): never too large for its type.
            let rest = (-logit.abs()).exp();
            found.loss += (logit.max(0.0) + rest.ln_1p() - if survives { logit } else { 0.0 }) as f64;
            let probability = if logit >= 0.0 { 1.0 / (1.0 + rest) } else { rest / (1.0 + rest) };
            let derivative = scale * (probability - if survives { 1.0 } else { 0.0 });
            found.kind[kind] += derivative;
            found.square[square] += derivative;
        }
    }
    found
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
    use burn::tensor::Device;
    use engine::Variant;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::config::{NetworkConfig, NnueConfig};
    use crate::gradient;
    use crate::network::{Model, TensorSpec};
    use crate::testing::{VARIANTS, chunks, random_network};

    /// All gradients, whole.
    fn dense(specs: &[TensorSpec], gradients: &[RowGradient]) -> Vec<Vec<f32>> {
        let whole = |(index, (spec, gradient)): (usize, (&TensorSpec, &RowGradient))| {
            if HEADS.contains(&index) {
                return gradient.values.clone();
            }
            let width = spec.shape[1];
            let mut whole = vec![0.0; spec.len()];
            for (&row, values) in gradient.rows.iter().zip(gradient.values.chunks(width)) {
                whole[row as usize * width..][..width].copy_from_slice(values);
            }
            whole
        };
        specs.iter().zip(gradients).enumerate().map(whole).collect()
    }

    #[test]
    fn agrees_with_burn() {
        let weights = LossWeights { policy: 1.5, value: 0.5, survival: 0.8, plies_left: 0.3 };
        for name in VARIANTS {
            let variant = Variant::load(name, None).expect("built in");
            let features = &Features::of(&variant);
            let config = NnueConfig { accumulator: 64, hidden: 16, policy_width: 16, survival_width: 8 };
            let config = NetworkConfig::Nnue(config);
            let specs = Model::specs(&config, features);
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
            let network = random_network(&config, features, &mut rng, &Device::flex()).train();
            let chunks = chunks(name, 8, 70, 32);
            let (expected_losses, expected) = gradient::gradients(&network, features, &chunks, weights);
            let expected = gradients_of(&network, &expected);
            let Model::Nnue(nnue) = &network else { unreachable!("it was configured so") };
            let numbers = |tensor: &Param<Tensor<2>>| values(&tensor.val());
            let (square, moves) = (numbers(&nnue.square), numbers(&nnue.moves));
            let parts = Parts { square: &square, heads: &nnue.heads, moves: &moves };
            let mut buffers = vec![RowGradient::default(); specs.len()];
            let mut before: Option<Vec<RowGradient>> = None;
            for threads in [1, 2, 5] {
                let losses = gradients(parts, features, &chunks, weights, threads, &mut buffers);
                let all = |losses: Losses| [losses.policy, losses.value, losses.survival, losses.plies_left];
                for (a, b) in all(losses).into_iter().zip(all(expected_losses)) {
                    assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{name}: {losses:?} {expected_losses:?}");
                }
                for (spec, (found, expected)) in specs.iter().zip(dense(&specs, &buffers).iter().zip(&expected)) {
                    let norm = expected.iter().map(|&g| g as f64 * g as f64).sum::<f64>().sqrt();
                    assert!(norm > 1e-5, "{name}: {} has a gradient", spec.name);
                    assert_eq!(found.len(), expected.len());
                    for (a, b) in found.iter().zip(expected) {
                        assert!((a - b).abs() < 1e-4 * norm as f32, "{name}: {}: {a} {b}", spec.name);
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

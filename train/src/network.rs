//! The networks as burn modules: what they compute, on any device, with gradients.
//!
//! This is the definition and the slow twin. Play on a CPU goes through [`crate::kernel`], learning on a CPU through
//! [`crate::sparse`], both tested against this one.

use burn::module::{Module, Param, ParamId};
use burn::tensor::activation::{log_softmax, softmax};
use burn::tensor::module::embedding;
use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::NnueConfig;
use crate::encoded::{Encoded, EncodedPosition};
use crate::encoding::{Features, STATE_FEATURES};
use crate::rng::uniform;

/// A network of sparse accumulators.
///
/// With `p` the sparse features of a position, `s` its dense ones, `n` the counts of own and enemy pieces by kind, less
/// those of the start position (so that a step on `kind` does not move all positions alike):
///
/// ```text
/// accumulator = clip(bias + Σ_p square[p] + n·kind + s·state)        clip(x) = min(max(x, 0), 1)
/// wdl logits  = clip(accumulator·hidden_weight + hidden_bias)·output_weight + output_bias
/// query       = `[accumulator·query_weight + query_bias, 1]`
/// logit(move) = query · Σ_f moves[f]                                 over the features f of the move
/// ```
///
/// A kind's own row is what its squares have in common, so that few games teach something about all squares. `square`,
/// `state`, `output_*`, `moves` and `query_bias` start at 0: a new network gives every move the same logit and win,
/// draw and loss the same probability.
#[derive(Module, Debug)]
pub struct Nnue {
    /// Shape `[2·K·S + S, accumulator]`.
    pub square: Param<Tensor<2>>,
    /// All but the two big tables.
    pub heads: Heads,
    /// Shape `[2·K·S + 3·K + 1, policy_width]`.
    pub moves: Param<Tensor<2>>,
}

/// The part of [`Nnue`] after the sum over the sparse features.
#[derive(Module, Debug)]
pub struct Heads {
    /// Shape `[2·K, accumulator]`.
    pub kind: Param<Tensor<2>>,
    /// Shape `[STATE_FEATURES, accumulator]`.
    pub state: Param<Tensor<2>>,
    /// Shape `[accumulator]`.
    pub bias: Param<Tensor<1>>,
    /// Shape `[accumulator, hidden]`.
    pub hidden_weight: Param<Tensor<2>>,
    /// Shape `[hidden]`.
    pub hidden_bias: Param<Tensor<1>>,
    /// Shape `[hidden, 3]`.
    pub output_weight: Param<Tensor<2>>,
    /// Shape `[3]`.
    pub output_bias: Param<Tensor<1>>,
    /// Shape `[accumulator, policy_width - 1]`.
    pub query_weight: Param<Tensor<2>>,
    /// Shape `[policy_width - 1]`.
    pub query_bias: Param<Tensor<1>>,
}

/// Number of tensors of [`Nnue`].
pub const TENSORS: usize = 11;

/// Which of them are those of [`Heads`]; the one before is `square`, the one after `moves`.
pub const HEADS: std::ops::Range<usize> = 1..10;

/// Names of the tensors in files, in the order of [`Nnue::shapes`].
pub const TENSOR_NAMES: [&str; TENSORS] = [
    "accumulator.square",
    "accumulator.kind",
    "accumulator.state",
    "accumulator.bias",
    "value.hidden.weight",
    "value.hidden.bias",
    "value.output.weight",
    "value.output.bias",
    "policy.query.weight",
    "policy.query.bias",
    "policy.moves",
];

/// What a network says about a batch of B positions, padded to M moves.
pub struct Output {
    /// Shape `[B, M]`: a logit a move; very low where there is no move.
    pub policy: Tensor<2>,
    /// Shape `[B, 3]`: logits of win, draw and loss for the side to move.
    pub wdl: Tensor<2>,
}

impl Output {
    /// Logarithms of the probabilities: shapes `[B, M]` and `[B, 3]`.
    pub fn log_probabilities(self) -> (Tensor<2>, Tensor<2>) {
        (log_softmax(self.policy, 1), log_softmax(self.wdl, 1))
    }

    /// Probabilities of win, draw and loss, shape `[B, 3]`.
    pub fn wdl_probabilities(&self) -> Tensor<2> {
        softmax(self.wdl.clone(), 1)
    }
}

impl Nnue {
    /// Shapes of the tensors, in the order of [`TENSOR_NAMES`].
    pub fn shapes(config: &NnueConfig, features: &Features) -> [Vec<usize>; TENSORS] {
        let NnueConfig { accumulator, hidden, policy_width } = *config;
        [
            vec![features.position_rows(), accumulator],
            vec![2 * features.kinds, accumulator],
            vec![STATE_FEATURES, accumulator],
            vec![accumulator],
            vec![accumulator, hidden],
            vec![hidden],
            vec![hidden, 3],
            vec![3],
            vec![accumulator, policy_width - 1],
            vec![policy_width - 1],
            vec![features.move_rows(), policy_width],
        ]
    }

    /// A new network; the same seed gives the same weights on every device.
    pub fn new(config: &NnueConfig, features: &Features, seed: u64, device: &Device) -> Nnue {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let fan_in = (3.0 / config.accumulator as f32).sqrt();
        let mut shapes = Nnue::shapes(config, features).into_iter();
        let tensors = std::array::from_fn(|index| {
            let shape = shapes.next().expect("as many shapes as names");
            let count = shape.iter().product();
            let values = match TENSOR_NAMES[index] {
                // Half-way through a game some ten kinds differ by one to three from the start: a spread of about 0.4.
                "accumulator.kind" => uniform(&mut rng, count, 0.1),
                "value.hidden.weight" | "policy.query.weight" => uniform(&mut rng, count, fan_in),
                // The middle of what the clipping lets through.
                "accumulator.bias" | "value.hidden.bias" => vec![0.5; count],
                _ => vec![0.0; count],
            };
            TensorData::new(values, shape)
        });
        Nnue::from_tensors(tensors, device)
    }

    /// The network with these tensors, in the order of [`TENSOR_NAMES`]; their shapes must be those of [`Nnue::shapes`].
    pub fn from_tensors(tensors: [TensorData; TENSORS], device: &Device) -> Nnue {
        let [square, a, b, c, d, e, f, g, h, i, moves] = tensors;
        Nnue {
            square: param(square, 0, device),
            heads: Heads::from_tensors([a, b, c, d, e, f, g, h, i], device),
            moves: param(moves, TENSORS - 1, device),
        }
    }

    /// The tensors, in the order of [`TENSOR_NAMES`].
    pub fn to_tensors(&self) -> [TensorData; TENSORS] {
        let [a, b, c, d, e, f, g, h, i] = self.heads.to_tensors();
        [data(&self.square), a, b, c, d, e, f, g, h, i, data(&self.moves)]
    }

    /// What the network says about a batch. Memory grows with B · pieces · accumulator: on a CPU, batches of 32 to 64
    /// positions are fastest.
    pub fn forward(&self, batch: &BatchTensors) -> Output {
        let rows = embedding(self.square.val(), batch.rows.clone());
        let [size, _, width] = rows.dims();
        let squares = batch.row_mask.clone().matmul(rows).reshape([size, width]);
        let (query, wdl) = self.heads.forward(squares, batch.counts.clone(), batch.state.clone());

        let [_, policy_width] = query.dims();
        let [_, moves, features] = batch.move_mask.dims();
        let vectors = embedding(self.moves.val(), batch.move_rows.clone());
        let parts = vectors.matmul(query.reshape([size, policy_width, 1])).reshape([size, moves, features]);
        let logits = (parts * batch.move_mask.clone()).sum_dim(2).reshape([size, moves]);
        Output { policy: logits + batch.no_move.clone(), wdl }
    }
}

impl Heads {
    /// The heads with these tensors, in the order of [`TENSOR_NAMES`] from [`HEADS`].
    pub fn from_tensors(tensors: [TensorData; HEADS.end - HEADS.start], device: &Device) -> Heads {
        let [kind, state, bias, hidden_weight, hidden_bias, output_weight, output_bias, query_weight, query_bias] =
            tensors;
        Heads {
            kind: param(kind, 1, device),
            state: param(state, 2, device),
            bias: param(bias, 3, device),
            hidden_weight: param(hidden_weight, 4, device),
            hidden_bias: param(hidden_bias, 5, device),
            output_weight: param(output_weight, 6, device),
            output_bias: param(output_bias, 7, device),
            query_weight: param(query_weight, 8, device),
            query_bias: param(query_bias, 9, device),
        }
    }

    /// The tensors, in the order of [`TENSOR_NAMES`] from [`HEADS`].
    pub fn to_tensors(&self) -> [TensorData; HEADS.end - HEADS.start] {
        [
            data(&self.kind),
            data(&self.state),
            data(&self.bias),
            data(&self.hidden_weight),
            data(&self.hidden_bias),
            data(&self.output_weight),
            data(&self.output_bias),
            data(&self.query_weight),
            data(&self.query_bias),
        ]
    }

    /// `squares` is the sum over the sparse features, shape `[B, accumulator]`, `counts` has shape `[B, 2·K]`, `state`
    /// `[B, STATE_FEATURES]`. Gives the query `[B, policy_width]` and the WDL logits `[B, 3]`.
    pub fn forward(&self, squares: Tensor<2>, counts: Tensor<2>, state: Tensor<2>) -> (Tensor<2>, Tensor<2>) {
        let sum =
            squares + counts.matmul(self.kind.val()) + state.matmul(self.state.val()) + self.bias.val().unsqueeze();
        let accumulator = sum.clamp(0.0, 1.0);
        let hidden = accumulator.clone().matmul(self.hidden_weight.val()) + self.hidden_bias.val().unsqueeze();
        let wdl = hidden.clamp(0.0, 1.0).matmul(self.output_weight.val()) + self.output_bias.val().unsqueeze();
        let query = accumulator.matmul(self.query_weight.val()) + self.query_bias.val().unsqueeze();
        let [size, _] = query.dims();
        let one = Tensor::ones([size, 1], &query.device());
        (Tensor::cat(vec![query, one], 1), wdl)
    }
}

/// The `index`th parameter. Ids are fixed, so that a stored state of an optimiser finds its parameters again.
fn param<const D: usize>(data: TensorData, index: usize, device: &Device) -> Param<Tensor<D>> {
    let mut param = Param::from_tensor(Tensor::from_data(data, device));
    param.id = ParamId::from(index as u64 + 1);
    param
}

fn data<const D: usize>(param: &Param<Tensor<D>>) -> TensorData {
    param.val().inner().into_data()
}

/// A batch of B positions as tensors, padded to the most pieces L, moves M and features a move F.
pub struct BatchTensors {
    /// Shape `[B, L]`: sparse features.
    pub rows: Tensor<2, Int>,
    /// Shape `[B, 1, L]`: 1 where there is one, else 0.
    pub row_mask: Tensor<3>,
    /// Shape `[B, 2·K]`: pieces by side (own first) and kind, less those of the start position.
    pub counts: Tensor<2>,
    /// Shape `[B, STATE_FEATURES]`.
    pub state: Tensor<2>,
    /// Shape `[B, M·F]`: features of moves.
    pub move_rows: Tensor<2, Int>,
    /// Shape `[B, M, F]`: 1 where there is one, else 0.
    pub move_mask: Tensor<3>,
    /// Shape `[B, M]`: 0 where there is a move, else a very low number.
    pub no_move: Tensor<2>,
}

/// Added to the logit of a move that is not there.
const NO_MOVE: f32 = -1e9;

impl BatchTensors {
    /// The tensors of a list of positions, which must not be empty.
    pub fn new(encoded: &Encoded, features: &Features, device: &Device) -> BatchTensors {
        let size = encoded.len();
        let most = |count: &dyn Fn(usize) -> usize| (0..size).map(count).max().unwrap_or(0).max(1);
        let pieces = most(&|i| encoded.position(i).rows.len());
        let moves = most(&|i| encoded.position(i).moves.len());
        let parts = most(&|i| encoded.position(i).moves.iter().map(<[u32]>::len).max().unwrap_or(0));

        let mut rows = vec![0i32; size * pieces];
        let mut row_mask = vec![0f32; size * pieces];
        let mut move_rows = vec![0i32; size * moves * parts];
        let mut move_mask = vec![0f32; size * moves * parts];
        let mut no_move = vec![NO_MOVE; size * moves];
        for (i, position) in encoded.iter().enumerate() {
            for (j, &row) in position.rows.iter().enumerate() {
                rows[i * pieces + j] = row as i32;
                row_mask[i * pieces + j] = 1.0;
            }
            for (j, move_features) in position.moves.iter().enumerate() {
                no_move[i * moves + j] = 0.0;
                for (k, &row) in move_features.iter().enumerate() {
                    move_rows[(i * moves + j) * parts + k] = row as i32;
                    move_mask[(i * moves + j) * parts + k] = 1.0;
                }
            }
        }
        let (counts, state) = dense_inputs(encoded.iter(), features, device);
        BatchTensors {
            rows: Tensor::from_data(TensorData::new(rows, [size, pieces]), device),
            row_mask: Tensor::from_data(TensorData::new(row_mask, [size, 1, pieces]), device),
            counts,
            state,
            move_rows: Tensor::from_data(TensorData::new(move_rows, [size, moves * parts]), device),
            move_mask: Tensor::from_data(TensorData::new(move_mask, [size, moves, parts]), device),
            no_move: Tensor::from_data(TensorData::new(no_move, [size, moves]), device),
        }
    }
}

/// Counts of pieces less those of the start, shape `[B, 2·K]`, and dense features, shape `[B, STATE_FEATURES]`.
pub(crate) fn dense_inputs<'a>(
    positions: impl Iterator<Item = EncodedPosition<'a>>,
    features: &Features,
    device: &Device,
) -> (Tensor<2>, Tensor<2>) {
    let kinds = 2 * features.kinds;
    let at_start: Vec<f32> = features.start_counts.iter().chain(&features.start_counts).map(|count| -count).collect();
    let (mut size, mut counts, mut state) = (0, Vec::new(), Vec::new());
    for position in positions {
        let start = counts.len();
        counts.extend_from_slice(&at_start);
        for &row in position.rows {
            if (row as usize) < features.piece_rows() {
                counts[start + row as usize / features.squares] += 1.0;
            }
        }
        state.extend_from_slice(position.state);
        size += 1;
    }
    (
        Tensor::from_data(TensorData::new(counts, [size, kinds]), device),
        Tensor::from_data(TensorData::new(state, [size, STATE_FEATURES]), device),
    )
}

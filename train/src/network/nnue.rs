//! The `nnue` architecture: sparse accumulators, made for CPUs.

use burn::module::{Module, Param};
use burn::tensor::module::embedding;
use burn::tensor::{Device, Tensor, TensorData};

use super::batch::{Moves, Rows, board, dense_inputs};
use super::{Output, Params, START_PLIES_LEFT, Start, TensorSpec};
use crate::config::NnueConfig;
use crate::encoded::Encoded;
use crate::encoding::{Features, STATE_FEATURES};

/// A network of sparse accumulators.
///
/// With `p` the sparse features of a position, `s` its dense ones, `n` the counts of own and enemy pieces by kind, less
/// those of the start position (so that a step on `kind` does not move all positions alike):
///
/// ```text
/// accumulator  = clip(bias + Σ_p square[p] + n·kind + s·state)        clip(x) = min(max(x, 0), 1)
/// hidden       = clip(accumulator·hidden_weight + hidden_bias)
/// wdl logits   = hidden·output_weight + output_bias
/// query        = `[accumulator·query_weight + query_bias, 1]`
/// logit(move)  = query · Σ_f moves[f]                                 over the features f of the move
/// trace        = accumulator·survival_weight + survival_bias
/// logit(piece) = trace · (survival_kind[side and kind] + survival_square[square])     that it survives
/// plies left   = hidden·plies_left_weight + plies_left_bias           as ln(1 + plies)
/// ```
///
/// A kind's own row is what its squares have in common, so that few games teach something about all squares. `square`,
/// `state`, `output_*`, `moves`, `query_bias` and what scores survival start at 0: a new network gives every move the same
/// logit and win, draw and loss the same probability.
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
    /// Shape `[accumulator, survival_width]`.
    pub survival_weight: Param<Tensor<2>>,
    /// Shape `[survival_width]`.
    pub survival_bias: Param<Tensor<1>>,
    /// Shape `[2·K, survival_width]`.
    pub survival_kind: Param<Tensor<2>>,
    /// Shape `[S, survival_width]`.
    pub survival_square: Param<Tensor<2>>,
    /// Shape `[hidden, 1]`.
    pub plies_left_weight: Param<Tensor<2>>,
    /// Shape `[1]`.
    pub plies_left_bias: Param<Tensor<1>>,
}

/// Which tensors of a [`Nnue`] are those of [`Heads`]; the one before is `square`, the one after `moves`.
pub(crate) const HEADS: std::ops::Range<usize> = 1..16;

/// What [`Heads`] give for B positions.
pub struct HeadsOutput {
    /// Shape `[B, policy_width]`; the last number is 1.
    pub query: Tensor<2>,
    /// Shape `[B, 3]`: logits of win, draw and loss.
    pub wdl: Tensor<2>,
    /// Shape `[B, 2·K]`: what side and kind give to the logit that a piece survives.
    pub survival_kind: Tensor<2>,
    /// Shape `[B, S]`: what the square gives to it.
    pub survival_square: Tensor<2>,
    /// Shape `[B, 1]`.
    pub plies_left: Tensor<2>,
}

impl Nnue {
    /// The tensors, in the order of the fields.
    pub(super) fn specs(config: &NnueConfig, features: &Features) -> Vec<TensorSpec> {
        let NnueConfig { accumulator, hidden, policy_width, survival_width } = *config;
        let zero = Start::Constant(0.0);
        let fan_in = Start::Uniform((3.0 / accumulator as f32).sqrt());
        // The middle of what the clipping lets through.
        let middle = Start::Constant(0.5);
        let spec = TensorSpec::new;
        vec![
            spec("accumulator.square", &[features.position_rows(), accumulator], zero),
            // Half-way through a game some ten kinds differ by one to three from the start: a spread of about 0.4.
            spec("accumulator.kind", &[2 * features.kinds, accumulator], Start::Uniform(0.1)),
            spec("accumulator.state", &[STATE_FEATURES, accumulator], zero),
            spec("accumulator.bias", &[accumulator], middle),
            spec("value.hidden.weight", &[accumulator, hidden], fan_in),
            spec("value.hidden.bias", &[hidden], middle),
            spec("value.output.weight", &[hidden, 3], zero),
            spec("value.output.bias", &[3], zero),
            spec("policy.query.weight", &[accumulator, policy_width - 1], fan_in),
            spec("policy.query.bias", &[policy_width - 1], zero),
            spec("survival.trace.weight", &[accumulator, survival_width], fan_in),
            spec("survival.trace.bias", &[survival_width], Start::Constant(1.0)),
            spec("survival.kind", &[2 * features.kinds, survival_width], zero),
            spec("survival.square", &[features.squares, survival_width], zero),
            spec("plies_left.weight", &[hidden, 1], zero),
            spec("plies_left.bias", &[1], Start::Constant(START_PLIES_LEFT)),
            spec("policy.moves", &[features.move_rows(), policy_width], zero),
        ]
    }

    pub(super) fn from_params(tensors: &mut Params<'_>) -> Nnue {
        Nnue { square: tensors.next(), heads: Heads::from_params(tensors), moves: tensors.next() }
    }

    /// What the network says about a list of positions. Memory grows with B · pieces · accumulator: on a CPU, batches of 32
    /// to 64 positions are fastest.
    pub(super) fn forward(&self, encoded: &Encoded, features: &Features) -> Output {
        let device = &self.square.val().device();
        let pieces = Rows::of_positions(encoded, device);
        let rows = embedding(self.square.val(), pieces.rows);
        let [size, length, width] = rows.dims();
        let squares = pieces.mask.reshape([size, 1, length]).matmul(rows).reshape([size, width]);
        let (counts, state) = dense_inputs(encoded.iter(), features, device);
        let heads = self.heads.forward(squares, counts, state);

        let moves = Moves::new(encoded, device, |rows, out| out.extend_from_slice(rows));
        let [_, policy_width] = heads.query.dims();
        let vectors = embedding(self.moves.val(), moves.rows);
        let parts = vectors.matmul(heads.query.reshape([size, policy_width, 1]));
        let parts = parts.reshape([size, moves.most, moves.parts]) * moves.mask;
        let policy = parts.sum_dim(2).reshape([size, moves.most]) + moves.no_move;
        let survival = heads.survival_kind.gather(1, board(encoded, features, 0, device)) + heads.survival_square;
        Output { policy, wdl: heads.wdl, survival, plies_left: heads.plies_left }
    }
}

impl Heads {
    /// The heads with these tensors, those of [`HEADS`].
    pub(crate) fn from_tensors(tensors: Vec<TensorData>, device: &Device) -> Heads {
        Heads::from_params(&mut Params::new(tensors, HEADS.start, device))
    }

    fn from_params(tensors: &mut Params<'_>) -> Heads {
        Heads {
            kind: tensors.next(),
            state: tensors.next(),
            bias: tensors.next(),
            hidden_weight: tensors.next(),
            hidden_bias: tensors.next(),
            output_weight: tensors.next(),
            output_bias: tensors.next(),
            query_weight: tensors.next(),
            query_bias: tensors.next(),
            survival_weight: tensors.next(),
            survival_bias: tensors.next(),
            survival_kind: tensors.next(),
            survival_square: tensors.next(),
            plies_left_weight: tensors.next(),
            plies_left_bias: tensors.next(),
        }
    }

    /// `squares` is the sum over the sparse features, shape `[B, accumulator]`, `counts` has shape `[B, 2·K]`, `state`
    /// `[B, STATE_FEATURES]`.
    pub fn forward(&self, squares: Tensor<2>, counts: Tensor<2>, state: Tensor<2>) -> HeadsOutput {
        let linear = |x: &Tensor<2>, weight: &Param<Tensor<2>>, bias: &Param<Tensor<1>>| {
            x.clone().matmul(weight.val()) + bias.val().unsqueeze()
        };
        let sum =
            squares + counts.matmul(self.kind.val()) + state.matmul(self.state.val()) + self.bias.val().unsqueeze();
        let accumulator = sum.clamp(0.0, 1.0);
        let hidden = linear(&accumulator, &self.hidden_weight, &self.hidden_bias).clamp(0.0, 1.0);
        let query = linear(&accumulator, &self.query_weight, &self.query_bias);
        let [size, _] = query.dims();
        let one = Tensor::ones([size, 1], &query.device());
        let trace = linear(&accumulator, &self.survival_weight, &self.survival_bias);
        HeadsOutput {
            query: Tensor::cat(vec![query, one], 1),
            wdl: linear(&hidden, &self.output_weight, &self.output_bias),
            survival_kind: trace.clone().matmul(self.survival_kind.val().transpose()),
            survival_square: trace.matmul(self.survival_square.val().transpose()),
            plies_left: linear(&hidden, &self.plies_left_weight, &self.plies_left_bias),
        }
    }
}

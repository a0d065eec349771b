//! The `resnet` architecture: convolutions with global pooling, made for GPUs.

use burn::module::{Module, Param};
use burn::tensor::activation::relu;
use burn::tensor::module::{conv2d, embedding};
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Int, Tensor, TensorData};

use super::batch::{Moves, board, dense_inputs, floats};
use super::{Output, Params, START_PLIES_LEFT, Start, TensorSpec};
use crate::config::ResnetConfig;
use crate::encoded::Encoded;
use crate::encoding::{Features, STATE_FEATURES};

/// A residual convolutional network. All squares S share the weights of C channels.
///
/// ```text
/// x            = piece[side and kind, or empty] + square[square] + state·state_weight + ban (on the lion-ban square)
/// each block:    u = relu(conv1(relu(x)) + bias1)
///                v = u + [mean u, max u]·pool                      mean and max over the squares
///                x = x + conv2(v) + bias2
/// t            = relu(x)
/// hidden       = relu([mean t, max t]·hidden_weight + hidden_bias)
/// wdl logits   = hidden·output_weight + output_bias
/// query        = `[t·from_weight + from_bias, 1]`                    a square
/// key          = t·to_weight + to_bias                             a square
/// logit(move)  = query[from] · (key[to] + Σ_f terms[f])            over captures, promotion, drop, pass
/// logit(piece) = t·survival_weight + survival_bias                 that it survives
/// plies left   = hidden·plies_left_weight + plies_left_bias        as ln(1 + plies)
/// ```
///
/// A drop has no square to come from: its query is that of the square it goes to.
///
/// Nothing is normalised by statistics of a batch: the second convolution of a block starts at 0 and the first one's spread
/// shrinks with the number of blocks, so that a deep network starts as the identity and its steps stay of one size (Zhang,
/// Dauphin, Ma, "Fixup initialization", 2019). What is computed for a position depends on that position alone.
#[derive(Module, Debug)]
pub struct Resnet {
    /// Shape `[2·K + 1, C]`; the last row is for empty squares.
    pub piece: Param<Tensor<2>>,
    /// Shape `[S, C]`.
    pub square: Param<Tensor<2>>,
    /// Shape `[STATE_FEATURES, C]`.
    pub state: Param<Tensor<2>>,
    /// Shape `[1, C]`.
    pub ban: Param<Tensor<2>>,
    /// The residual blocks.
    pub blocks: Vec<Block>,
    /// What reads the last activations.
    pub heads: ResnetHeads,
}

/// A block of [`Resnet`]. Weights of convolutions have the shape `[C out, C in, 3, 3]`.
#[derive(Module, Debug)]
pub struct Block {
    /// Weight of the first convolution.
    pub conv1: Param<Tensor<4>>,
    /// Shape `[C]`.
    pub bias1: Param<Tensor<1>>,
    /// Shape `[2·C, C]`.
    pub pool: Param<Tensor<2>>,
    /// Weight of the second convolution.
    pub conv2: Param<Tensor<4>>,
    /// Shape `[C]`.
    pub bias2: Param<Tensor<1>>,
}

/// The part of [`Resnet`] after its blocks.
#[derive(Module, Debug)]
pub struct ResnetHeads {
    /// Shape `[2·C, hidden]`.
    pub hidden_weight: Param<Tensor<2>>,
    /// Shape `[hidden]`.
    pub hidden_bias: Param<Tensor<1>>,
    /// Shape `[hidden, 3]`.
    pub output_weight: Param<Tensor<2>>,
    /// Shape `[3]`.
    pub output_bias: Param<Tensor<1>>,
    /// Shape `[C, policy_width - 1]`.
    pub from_weight: Param<Tensor<2>>,
    /// Shape `[policy_width - 1]`.
    pub from_bias: Param<Tensor<1>>,
    /// Shape `[C, policy_width]`.
    pub to_weight: Param<Tensor<2>>,
    /// Shape `[policy_width]`.
    pub to_bias: Param<Tensor<1>>,
    /// Shape `[3·K + 1, policy_width]`: the rows of the move features that name no square.
    pub terms: Param<Tensor<2>>,
    /// Shape `[C, 1]`.
    pub survival_weight: Param<Tensor<2>>,
    /// Shape `[1]`.
    pub survival_bias: Param<Tensor<1>>,
    /// Shape `[hidden, 1]`.
    pub plies_left_weight: Param<Tensor<2>>,
    /// Shape `[1]`.
    pub plies_left_bias: Param<Tensor<1>>,
}

impl Resnet {
    /// The tensors, in the order of the fields.
    pub(super) fn specs(config: &ResnetConfig, features: &Features) -> Vec<TensorSpec> {
        let ResnetConfig { channels, blocks, hidden, policy_width } = *config;
        let (zero, spec) = (Start::Constant(0.0), TensorSpec::new);
        // A spread of 1 / √inputs, evenly drawn.
        let fan_in = |inputs: usize| Start::Uniform((3.0 / inputs as f32).sqrt());
        let mut specs = vec![
            spec("stem.piece", &[2 * features.kinds + 1, channels], Start::Uniform(1.0)),
            spec("stem.square", &[features.squares, channels], Start::Uniform(0.1)),
            spec("stem.state", &[STATE_FEATURES, channels], zero),
            spec("stem.ban", &[1, channels], Start::Uniform(1.0)),
        ];
        let conv = [channels, channels, 3, 3];
        // √2 for the half that the activation cuts off (He et al., 2015), the number of blocks for Fixup.
        let first = Start::Uniform((6.0 / (9 * channels * blocks.max(1)) as f32).sqrt());
        for block in 0..blocks {
            let name = |part: &str| format!("blocks.{block}.{part}");
            specs.extend([
                spec(&name("conv1.weight"), &conv, first),
                spec(&name("conv1.bias"), &[channels], zero),
                spec(&name("pool.weight"), &[2 * channels, channels], zero),
                spec(&name("conv2.weight"), &conv, zero),
                spec(&name("conv2.bias"), &[channels], zero),
            ]);
        }
        specs.extend([
            spec("value.hidden.weight", &[2 * channels, hidden], fan_in(2 * channels)),
            spec("value.hidden.bias", &[hidden], zero),
            spec("value.output.weight", &[hidden, 3], zero),
            spec("value.output.bias", &[3], zero),
            spec("policy.from.weight", &[channels, policy_width - 1], fan_in(channels)),
            spec("policy.from.bias", &[policy_width - 1], zero),
            spec("policy.to.weight", &[channels, policy_width], zero),
            spec("policy.to.bias", &[policy_width], zero),
            spec("policy.terms", &[features.move_rows() - 2 * features.kinds * features.squares, policy_width], zero),
            spec("survival.weight", &[channels, 1], zero),
            spec("survival.bias", &[1], zero),
            spec("plies_left.weight", &[hidden, 1], zero),
            spec("plies_left.bias", &[1], Start::Constant(START_PLIES_LEFT)),
        ]);
        specs
    }

    pub(super) fn from_params(config: &ResnetConfig, tensors: &mut Params<'_>) -> Resnet {
        let block = |tensors: &mut Params<'_>| Block {
            conv1: tensors.next(),
            bias1: tensors.next(),
            pool: tensors.next(),
            conv2: tensors.next(),
            bias2: tensors.next(),
        };
        Resnet {
            piece: tensors.next(),
            square: tensors.next(),
            state: tensors.next(),
            ban: tensors.next(),
            blocks: (0..config.blocks).map(|_| block(tensors)).collect(),
            heads: ResnetHeads::from_params(tensors),
        }
    }

    pub(super) fn device(&self) -> Device {
        self.piece.val().device()
    }

    /// What the network says about a list of positions.
    pub(super) fn forward(&self, encoded: &Encoded, features: &Features) -> Output {
        let stem = self.stem(encoded, features);
        let [size, squares, channels] = stem.dims();
        let mut x = stem.swap_dims(1, 2).reshape([size, channels, features.ranks(), features.files]);
        for block in &self.blocks {
            x = block.forward(x);
        }
        let trunk = relu(x).reshape([size, channels, squares]).swap_dims(1, 2);
        self.heads.forward(trunk, encoded, features)
    }

    /// The activations before the blocks, shape `[B, S, C]`.
    fn stem(&self, encoded: &Encoded, features: &Features) -> Tensor<3> {
        let device = &self.device();
        let (size, squares) = (encoded.len(), features.squares);
        let pieces = embedding(self.piece.val(), board(encoded, features, 2 * features.kinds, device));
        let (_, state) = dense_inputs(encoded.iter(), features, device);
        let mut ban = vec![0f32; size * squares];
        for (position, ban) in encoded.iter().zip(ban.chunks_exact_mut(squares)) {
            for &row in position.rows.iter().filter(|&&row| row as usize >= features.piece_rows()) {
                ban[row as usize - features.piece_rows()] = 1.0;
            }
        }
        let ban = floats(ban, [size * squares, 1], device).matmul(self.ban.val());
        let [_, channels] = self.ban.val().dims();
        pieces
            + self.square.val().unsqueeze::<3>()
            + state.matmul(self.state.val()).reshape([size, 1, channels])
            + ban.reshape([size, squares, channels])
    }
}

impl Block {
    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        let conv = |x: Tensor<4>, weight: &Param<Tensor<4>>, bias: &Param<Tensor<1>>| {
            conv2d(x, weight.val(), Some(bias.val()), ConvOptions::new([1, 1], [1, 1], [1, 1], 1))
        };
        let u = relu(conv(relu(x.clone()), &self.conv1, &self.bias1));
        let [size, channels, ranks, files] = u.dims();
        let pooled = mean_and_max(u.clone().reshape([size, channels, ranks * files]).swap_dims(1, 2));
        let v = u + pooled.matmul(self.pool.val()).reshape([size, channels, 1, 1]);
        x + conv(v, &self.conv2, &self.bias2)
    }
}

impl ResnetHeads {
    fn from_params(tensors: &mut Params<'_>) -> ResnetHeads {
        ResnetHeads {
            hidden_weight: tensors.next(),
            hidden_bias: tensors.next(),
            output_weight: tensors.next(),
            output_bias: tensors.next(),
            from_weight: tensors.next(),
            from_bias: tensors.next(),
            to_weight: tensors.next(),
            to_bias: tensors.next(),
            terms: tensors.next(),
            survival_weight: tensors.next(),
            survival_bias: tensors.next(),
            plies_left_weight: tensors.next(),
            plies_left_bias: tensors.next(),
        }
    }

    /// `trunk` has shape `[B, S, C]`.
    pub(crate) fn forward(&self, trunk: Tensor<3>, encoded: &Encoded, features: &Features) -> Output {
        let device = &trunk.device();
        let [size, squares, channels] = trunk.dims();
        let linear = |x: Tensor<2>, weight: &Param<Tensor<2>>, bias: &Param<Tensor<1>>| {
            x.matmul(weight.val()) + bias.val().unsqueeze()
        };
        let hidden = relu(linear(mean_and_max(trunk.clone()), &self.hidden_weight, &self.hidden_bias));
        let each = trunk.reshape([size * squares, channels]);
        let from = linear(each.clone(), &self.from_weight, &self.from_bias);
        let query = Tensor::cat(vec![from, Tensor::ones([size * squares, 1], device)], 1);
        let key = linear(each.clone(), &self.to_weight, &self.to_bias);

        let first_term = (2 * features.kinds * squares) as u32;
        let moves = Moves::new(encoded, device, |rows, out| {
            out.extend(rows.iter().filter(|&&row| row >= first_term).map(|row| row - first_term));
        });
        let ends = MoveEnds::new(encoded, features, moves.most, device);
        let count = size * moves.most;
        let [_, width] = key.dims();
        let terms = embedding(self.terms.val(), moves.rows).reshape([count, moves.parts, width]);
        let terms = moves.mask.reshape([count, 1, moves.parts]).matmul(terms).reshape([count, width]);
        let scores = query.select(0, ends.from) * (key.select(0, ends.to) + terms);
        Output {
            policy: scores.sum_dim(1).reshape([size, moves.most]) + moves.no_move,
            wdl: linear(hidden.clone(), &self.output_weight, &self.output_bias),
            survival: linear(each, &self.survival_weight, &self.survival_bias).reshape([size, squares]),
            plies_left: linear(hidden, &self.plies_left_weight, &self.plies_left_bias),
        }
    }
}

/// Mean and maximum over the squares: `[B, S, C]` to `[B, 2·C]`.
fn mean_and_max(x: Tensor<3>) -> Tensor<2> {
    let [size, _, channels] = x.dims();
    let (mean, max) = (x.clone().mean_dim(1), x.max_dim(1));
    Tensor::cat(vec![mean.reshape([size, channels]), max.reshape([size, channels])], 1)
}

/// The squares between which moves go, as rows of the squares of all positions, padded to the most moves: `[B·M]` each.
struct MoveEnds {
    from: Tensor<1, Int>,
    to: Tensor<1, Int>,
}

impl MoveEnds {
    fn new(encoded: &Encoded, features: &Features, most: usize, device: &Device) -> MoveEnds {
        let count = encoded.len() * most;
        let (mut from, mut to) = (vec![0i32; count], vec![0i32; count]);
        for (i, position) in encoded.iter().enumerate() {
            for (j, rows) in position.moves.iter().enumerate() {
                let [start, end] = ends(rows, features);
                from[i * most + j] = (i * features.squares + start) as i32;
                to[i * most + j] = (i * features.squares + end) as i32;
            }
        }
        let tensor = |values: Vec<i32>| Tensor::from_data(TensorData::new(values, [count]), device);
        MoveEnds { from: tensor(from), to: tensor(to) }
    }
}

/// The squares between which a move goes; a drop comes from where it goes to.
fn ends(rows: &[u32], features: &Features) -> [usize; 2] {
    let (arrivals, squares) = (features.kinds * features.squares, features.squares);
    let find = |range: std::ops::Range<usize>| rows.iter().find(|&&row| range.contains(&(row as usize)));
    let to = *find(arrivals..2 * arrivals).expect("every move arrives somewhere");
    let from = *find(0..arrivals).unwrap_or(&to);
    [from as usize % squares, to as usize % squares]
}

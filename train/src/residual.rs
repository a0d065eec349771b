//! A `resnet` on a CPU: its stem and its tower of convolutions by own loops, its heads by burn.
//!
//! burn's convolutions reach half the speed of PyTorch's forwards and less backwards; [`Tower`] is faster than both. Forwards
//! the stem's sums and the tower give what the heads read; backwards burn goes from the losses to there, and own loops
//! go on.

use burn::module::Param;
use burn::optim::GradientsParams;
use burn::tensor::{Tensor, TensorData};

use crate::batch::{Chunk, Losses, Targets};
use crate::encoded::{Encoded, EncodedPosition};
use crate::encoding::Features;
use crate::gather::add_scaled;
use crate::gradient::{LossWeights, Sums, targets_floor};
use crate::network::{Block, Output, Resnet, ResnetHeads};
use crate::tower::{Activations, BlockGradients, BlockWeights, Packed, Tape, Tower};

/// What computes a network's positions for play.
#[derive(Clone, Debug)]
pub struct ResidualKernel {
    tower: Tower,
    stem: Stem,
    weights: Packed,
    heads: ResnetHeads,
}

/// Buffers of [`ResidualKernel::forward`], to be used again.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    x: Vec<f32>,
    activations: Activations,
}

impl ResidualKernel {
    /// Lays out the weights of a network, which must be on a CPU without autodiff.
    pub fn new(network: &Resnet, features: &Features) -> ResidualKernel {
        let stem = Stem::new(network);
        let tower = tower(network, features, stem.channels);
        let blocks: Vec<BlockNumbers> = network.blocks.iter().map(BlockNumbers::new).collect();
        let mut weights = Packed::default();
        tower.pack(&blocks.iter().map(BlockNumbers::weights).collect::<Vec<_>>(), &mut weights);
        ResidualKernel { tower, stem, weights, heads: network.heads.clone() }
    }

    /// What the network says about a list of positions, which must not be empty; as [`crate::network::Model::forward`].
    pub fn forward(&self, encoded: &Encoded, features: &Features, buffers: &mut Buffers) -> Output {
        let Buffers { x, activations } = buffers;
        x.clear();
        x.resize(encoded.len() * self.tower.position(), 0.0);
        for (position, x) in encoded.iter().zip(x.chunks_exact_mut(self.tower.position())) {
            self.stem.put(position, features, x);
        }
        self.tower.forward(&self.weights, x, activations);
        let device = &self.heads.output_bias.val().device();
        let shape = [encoded.len(), features.squares, self.stem.channels];
        let trunk = Tensor::from_data(TensorData::new(x.clone(), shape), device);
        self.heads.forward(trunk, encoded, features)
    }
}

fn tower(network: &Resnet, features: &Features, channels: usize) -> Tower {
    Tower::new(features.files, features.ranks(), channels, network.blocks.len())
}

fn numbers<const D: usize>(tensor: &Param<Tensor<D>>) -> Vec<f32> {
    tensor.val().inner().into_data().try_into_vec::<f32>().expect("weights are f32")
}

/// The stem's tables, or their gradients, row by row.
#[derive(Clone, Debug)]
struct Stem {
    channels: usize,
    piece: Vec<f32>,
    square: Vec<f32>,
    state: Vec<f32>,
    ban: Vec<f32>,
}

impl Stem {
    fn new(network: &Resnet) -> Stem {
        let [_, channels] = network.ban.dims();
        Stem {
            channels,
            piece: numbers(&network.piece),
            square: numbers(&network.square),
            state: numbers(&network.state),
            ban: numbers(&network.ban),
        }
    }

    /// The activations of one position before the blocks, `[S, C]`.
    fn put(&self, position: EncodedPosition<'_>, features: &Features, x: &mut [f32]) {
        let c = self.channels;
        let empty = &self.piece[2 * features.kinds * c..];
        let mut shared = empty.to_vec();
        for (state, row) in position.state.iter().zip(self.state.chunks_exact(c)) {
            add_scaled(&mut shared, *state, row);
        }
        for (x, square) in x.chunks_exact_mut(c).zip(self.square.chunks_exact(c)) {
            x.copy_from_slice(square);
            add_scaled(x, 1.0, &shared);
        }
        for (square, kind) in rows(position, features) {
            let x = &mut x[square * c..(square + 1) * c];
            match kind {
                Some(kind) => {
                    add_scaled(x, 1.0, &self.piece[kind * c..(kind + 1) * c]);
                    add_scaled(x, -1.0, empty);
                }
                None => add_scaled(x, 1.0, &self.ban),
            }
        }
    }

    /// Adds up the gradients of the tables for the gradient of what [`Stem::put`] gives.
    fn add_gradient(&mut self, position: EncodedPosition<'_>, features: &Features, gradient: &[f32]) {
        let c = self.channels;
        let mut shared = vec![0.0; c];
        for (gradient, square) in gradient.chunks_exact(c).zip(self.square.chunks_exact_mut(c)) {
            add_scaled(square, 1.0, gradient);
            add_scaled(&mut shared, 1.0, gradient);
        }
        for (state, row) in position.state.iter().zip(self.state.chunks_exact_mut(c)) {
            add_scaled(row, *state, &shared);
        }
        let empty = 2 * features.kinds * c;
        add_scaled(&mut self.piece[empty..], 1.0, &shared);
        for (square, kind) in rows(position, features) {
            let gradient = &gradient[square * c..(square + 1) * c];
            match kind {
                Some(kind) => {
                    add_scaled(&mut self.piece[kind * c..(kind + 1) * c], 1.0, gradient);
                    add_scaled(&mut self.piece[empty..], -1.0, gradient);
                }
                None => add_scaled(&mut self.ban, 1.0, gradient),
            }
        }
    }
}

/// What stands on squares: side and kind of a piece, or `None` for the lion-ban.
fn rows(position: EncodedPosition<'_>, features: &Features) -> impl Iterator<Item = (usize, Option<usize>)> {
    let (squares, pieces) = (features.squares, features.piece_rows());
    position.rows.iter().map(move |&row| {
        let row = row as usize;
        (row % squares, (row < pieces).then_some(row / squares))
    })
}

/// A block's weights as [`Tower`] takes them.
struct BlockNumbers {
    conv1: Vec<f32>,
    bias1: Vec<f32>,
    pool: Vec<f32>,
    conv2: Vec<f32>,
    bias2: Vec<f32>,
}

impl BlockNumbers {
    fn new(block: &Block) -> BlockNumbers {
        BlockNumbers {
            conv1: taps_first(&numbers(&block.conv1)),
            bias1: numbers(&block.bias1),
            pool: numbers(&block.pool),
            conv2: taps_first(&numbers(&block.conv2)),
            bias2: numbers(&block.bias2),
        }
    }

    fn zeros(channels: usize) -> BlockNumbers {
        let conv = vec![0.0; TAPS * channels * channels];
        let pool = vec![0.0; 2 * channels * channels];
        let bias = vec![0.0; channels];
        BlockNumbers { conv1: conv.clone(), bias1: bias.clone(), pool, conv2: conv, bias2: bias }
    }

    fn weights(&self) -> BlockWeights<'_> {
        BlockWeights {
            conv1: &self.conv1,
            bias1: &self.bias1,
            pool: &self.pool,
            conv2: &self.conv2,
            bias2: &self.bias2,
        }
    }

    fn gradients(&mut self) -> BlockGradients<'_> {
        BlockGradients {
            conv1: &mut self.conv1,
            bias1: &mut self.bias1,
            pool: &mut self.pool,
            conv2: &mut self.conv2,
            bias2: &mut self.bias2,
        }
    }
}

const TAPS: usize = 9;

/// `[C out, C in, 3, 3]` to `[9, C in, C out]`.
fn taps_first(weights: &[f32]) -> Vec<f32> {
    let channels = (weights.len() / TAPS).isqrt();
    let mut out = vec![0.0; weights.len()];
    for (i, &weight) in weights.iter().enumerate() {
        let (outer, inner, tap) = (i / TAPS / channels, i / TAPS % channels, i % TAPS);
        out[(tap * channels + inner) * channels + outer] = weight;
    }
    out
}

/// The reverse of [`taps_first`].
fn taps_last(weights: &[f32]) -> Vec<f32> {
    let channels = (weights.len() / TAPS).isqrt();
    let mut out = vec![0.0; weights.len()];
    for (i, out) in out.iter_mut().enumerate() {
        let (outer, inner, tap) = (i / TAPS / channels, i / TAPS % channels, i % TAPS);
        *out = weights[(tap * channels + inner) * channels + outer];
    }
    out
}

/// Losses of a batch and the gradients of their weighted sum, as [`crate::gradient::gradients`] gives them. The network must be
/// on a CPU with autodiff; the buffers in `tape` are used again. The result does not depend on the number of threads.
pub fn gradients(
    network: &Resnet,
    features: &Features,
    chunks: &[Chunk],
    weights: LossWeights,
    threads: usize,
    tape: &mut Tape,
) -> (Losses, GradientsParams) {
    let mut stem = Stem::new(network);
    let tower = tower(network, features, stem.channels);
    let (size, shape) = (tower.position(), [features.squares, stem.channels]);
    let positions: usize = chunks.iter().map(|chunk| chunk.encoded.len()).sum();
    let mut x = vec![0.0; positions * size];
    let all = || chunks.iter().flat_map(|chunk| chunk.encoded.iter());
    for (position, x) in all().zip(x.chunks_exact_mut(size)) {
        stem.put(position, features, x);
    }
    let blocks: Vec<BlockNumbers> = network.blocks.iter().map(BlockNumbers::new).collect();
    let block_weights: Vec<BlockWeights<'_>> = blocks.iter().map(BlockNumbers::weights).collect();
    tower.forward_saving(&block_weights, &mut x, threads, tape);

    let device = network.heads.output_bias.val().device();
    let targets = Targets::of(chunks, features);
    let mut losses = targets_floor(chunks);
    let (mut rest, mut trunks, mut total) = (x.as_slice(), Vec::new(), None::<Tensor<1>>);
    for chunk in chunks {
        let (own, after) = rest.split_at(chunk.encoded.len() * size);
        rest = after;
        let data = TensorData::new(own.to_vec(), [chunk.encoded.len(), shape[0], shape[1]]);
        let trunk = Tensor::<3>::from_data(data, &device).require_grad();
        let sums = Sums::new(network.heads.forward(trunk.clone(), &chunk.encoded, features), chunk, features);
        losses.add(sums.losses());
        let loss = sums.weighted(weights, targets);
        total = Some(match total {
            Some(total) => total + loss,
            None => loss,
        });
        trunks.push(trunk);
    }
    let Some(total) = total else { return (losses, GradientsParams::new()) };
    let mut all_gradients = total.backward();
    x.clear();
    for trunk in &trunks {
        let gradient = trunk.grad_remove(&mut all_gradients).expect("the trunk is a leaf of the graph").into_data();
        x.extend_from_slice(gradient.as_slice::<f32>().expect("gradients are f32"));
    }
    let mut gradients = GradientsParams::from_grads(all_gradients, &network.heads);

    let mut sums: Vec<BlockNumbers> = blocks.iter().map(|_| BlockNumbers::zeros(stem.channels)).collect();
    tower.backward(&mut x, threads, tape, &mut sums.iter_mut().map(BlockNumbers::gradients).collect::<Vec<_>>());
    for part in [&mut stem.piece, &mut stem.square, &mut stem.state, &mut stem.ban] {
        part.fill(0.0);
    }
    for (position, gradient) in all().zip(x.chunks_exact(size)) {
        stem.add_gradient(position, features, gradient);
    }
    let out = &mut gradients;
    put(out, &network.piece, stem.piece);
    put(out, &network.square, stem.square);
    put(out, &network.state, stem.state);
    put(out, &network.ban, stem.ban);
    for (block, sums) in network.blocks.iter().zip(sums) {
        put(out, &block.conv1, taps_last(&sums.conv1));
        put(out, &block.bias1, sums.bias1);
        put(out, &block.pool, sums.pool);
        put(out, &block.conv2, taps_last(&sums.conv2));
        put(out, &block.bias2, sums.bias2);
    }
    (losses.over(targets), gradients)
}

fn put<const D: usize>(gradients: &mut GradientsParams, param: &Param<Tensor<D>>, values: Vec<f32>) {
    let device = param.val().device().without_autodiff();
    gradients.register(param.id, Tensor::<D>::from_data(TensorData::new(values, param.dims()), &device));
}

#[cfg(test)]
mod tests {
    use burn::module::Module;
    use burn::tensor::Device;
    use engine::Variant;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::config::{NetworkConfig, ResnetConfig};
    use crate::gradient;
    use crate::network::Model;
    use crate::sparse::gradients_of;
    use crate::testing::{VARIANTS, chunks, random_network};

    fn network(features: &Features) -> (NetworkConfig, Model) {
        let config = ResnetConfig { channels: 16, blocks: 2, hidden: 16, policy_width: 16 };
        let config = NetworkConfig::Resnet(config);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(8);
        let model = random_network(&config, features, &mut rng, &Device::flex());
        (config, model)
    }

    fn residual(model: &Model) -> &Resnet {
        let Model::Resnet(network) = model else { unreachable!("it was configured so") };
        network
    }

    #[test]
    fn plays_as_the_burn_network() {
        for name in VARIANTS {
            let variant = Variant::load(name, None).expect("built in");
            let features = &Features::of(&variant);
            let (_, model) = network(features);
            let kernel = ResidualKernel::new(residual(&model), features);
            let mut buffers = Buffers::default();
            for chunk in chunks(name, 4, 40, 16) {
                let expected = model.forward(&chunk.encoded, features);
                let found = kernel.forward(&chunk.encoded, features, &mut buffers);
                for (found, expected) in [
                    (found.policy, expected.policy),
                    (found.wdl, expected.wdl),
                    (found.survival, expected.survival),
                    (found.plies_left, expected.plies_left),
                ] {
                    let [found, expected] =
                        [found, expected].map(|t| t.into_data().try_into_vec::<f32>().expect("f32"));
                    assert_eq!(found.len(), expected.len());
                    for (a, b) in found.iter().zip(&expected) {
                        assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "{name}: {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn learns_as_the_burn_network() {
        let weights = LossWeights { policy: 1.5, value: 0.5, survival: 0.8, plies_left: 0.3 };
        for name in VARIANTS {
            let variant = Variant::load(name, None).expect("built in");
            let features = &Features::of(&variant);
            let (config, model) = network(features);
            let model = model.train();
            let chunks = chunks(name, 8, 40, 16);
            let (expected_losses, expected) = gradient::gradients(&model, features, &chunks, weights);
            let expected = gradients_of(&model, &expected);
            let mut before: Option<Vec<Vec<f32>>> = None;
            let mut tape = Tape::default();
            for threads in [1, 3] {
                let (losses, found) = gradients(residual(&model), features, &chunks, weights, threads, &mut tape);
                assert!((losses.policy - expected_losses.policy).abs() < 1e-4, "{losses:?} {expected_losses:?}");
                assert!((losses.survival - expected_losses.survival).abs() < 1e-4, "{losses:?} {expected_losses:?}");
                let found = gradients_of(&model, &found);
                for (spec, (found, expected)) in Model::specs(&config, features).iter().zip(found.iter().zip(&expected))
                {
                    let norm = expected.iter().map(|&g| g as f64 * g as f64).sum::<f64>().sqrt();
                    assert!(norm > 1e-5 || spec.name == "stem.ban", "{name}: {} has a gradient", spec.name);
                    for (a, b) in found.iter().zip(expected) {
                        assert!((a - b).abs() < 2e-4 * norm.max(1e-5) as f32, "{name}: {}: {a} {b}", spec.name);
                    }
                }
                assert!(before.is_none_or(|before| before == found), "{name}: threads change nothing");
                before = Some(found);
            }
        }
    }
}

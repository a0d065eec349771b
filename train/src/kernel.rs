//! Inference on a CPU: the function of [`Nnue`], written over flat tables without a tensor library.
//!
//! Nothing is allocated once the buffers have grown, and each position is computed by itself, in a fixed order of
//! additions: what it is evaluated together with cannot matter.

use burn::tensor::TensorData;

use crate::encoded::EncodedPosition;
use crate::encoding::Features;
use crate::gather::{LANES, add_product, add_rows, dot_rows};
use crate::network::{Nnue, tensors_of};

/// A network's weights laid out for inference.
#[derive(Clone, Debug)]
pub struct Kernel {
    accumulator: usize,
    hidden: usize,
    policy_width: usize,
    /// `[2·K·S + S, accumulator]`: `square` with the row of its kind added.
    rows: Table,
    state: Table,
    bias: Vec<f32>,
    /// `[accumulator, hidden + policy_width]`: hidden layer and query side by side; the last column is 0.
    heads: Table,
    /// The constant 1 of the query is the last number.
    heads_bias: Vec<f32>,
    /// `[hidden, 3]`.
    output: Vec<f32>,
    output_bias: [f32; 3],
    moves: Table,
}

/// Buffers of [`Kernel::evaluate`], to be used again.
#[derive(Clone, Debug, Default)]
pub struct Activations {
    accumulator: Vec<f32>,
    heads: Vec<f32>,
}

/// Numbers that begin at a cache line, so that a row of 16 does not spread over two.
#[derive(Debug)]
struct Table {
    numbers: Vec<f32>,
    start: usize,
}

impl Table {
    fn new(values: &[f32]) -> Table {
        const LINE: usize = 64;
        let mut numbers = Vec::with_capacity(values.len() + LINE / size_of::<f32>());
        let beyond = numbers.as_ptr() as usize % LINE;
        let start = (LINE - beyond) % LINE / size_of::<f32>();
        numbers.resize(start, 0.0);
        numbers.extend_from_slice(values);
        Table { numbers, start }
    }

    fn get(&self) -> &[f32] {
        &self.numbers[self.start..]
    }
}

impl Clone for Table {
    fn clone(&self) -> Self {
        Table::new(self.get())
    }
}

impl Kernel {
    /// Lays out the weights of a network for positions with these features.
    pub fn new(network: &Nnue, features: &Features) -> Kernel {
        let numbers = |data: TensorData| data.try_into_vec::<f32>().expect("weights are f32");
        let mut tensors = tensors_of(network).into_iter().map(numbers);
        let mut next = || tensors.next().expect("as many tensors as an nnue has");
        let (square, kind, state, bias) = (next(), next(), next(), next());
        let [hidden_weight, hidden_bias, output, output_bias] = std::array::from_fn(|_| next());
        let (query_weight, query_bias) = (next(), next());
        // What lies between only teaches.
        let moves = tensors.next_back().expect("as many tensors as an nnue has");
        let (accumulator, hidden, policy_width) = (bias.len(), hidden_bias.len(), query_bias.len() + 1);

        let mut rows = square;
        let pieces = rows[..features.piece_rows() * accumulator].chunks_exact_mut(features.squares * accumulator);
        for (rows, kind) in pieces.zip(kind.chunks_exact(accumulator)) {
            for row in rows.chunks_exact_mut(accumulator) {
                row.iter_mut().zip(kind).for_each(|(x, k)| *x += k);
            }
        }
        // The counts at the start are the same for all positions.
        let bias = (0..accumulator).map(|column| {
            let row = |side: usize, i: usize| kind[(side * features.kinds + i) * accumulator + column] as f64;
            let counts = features.start_counts.iter().enumerate();
            let at_start: f64 = counts.map(|(i, &count)| count as f64 * (row(0, i) + row(1, i))).sum();
            (bias[column] as f64 - at_start) as f32
        });
        let bias = bias.collect();
        let mut heads = Vec::with_capacity(accumulator * (hidden + policy_width));
        for (hidden, query) in hidden_weight.chunks_exact(hidden).zip(query_weight.chunks_exact(policy_width - 1)) {
            heads.extend_from_slice(hidden);
            heads.extend_from_slice(query);
            heads.push(0.0);
        }
        let mut heads_bias = hidden_bias;
        heads_bias.extend_from_slice(&query_bias);
        heads_bias.push(1.0);
        Kernel {
            accumulator,
            hidden,
            policy_width,
            rows: Table::new(&rows),
            state: Table::new(&state),
            bias,
            heads: Table::new(&heads),
            heads_bias,
            output,
            output_bias: output_bias.try_into().expect("three outputs"),
            moves: Table::new(&moves),
        }
    }

    /// Judges one position: a logit for each of its moves, and the probabilities of win, draw and loss for the side to
    /// move.
    pub fn evaluate(
        &self,
        position: EncodedPosition<'_>,
        buffers: &mut Activations,
        policy: &mut Vec<f32>,
    ) -> [f32; 3] {
        let sum = &mut buffers.accumulator;
        sum.clear();
        sum.extend_from_slice(&self.bias);
        add_rows(self.rows.get(), self.accumulator, position.rows, sum);
        add_product(self.state.get(), self.accumulator, position.state, sum);
        clip(sum);

        let heads = &mut buffers.heads;
        heads.clear();
        heads.extend_from_slice(&self.heads_bias);
        add_product(self.heads.get(), self.hidden + self.policy_width, sum, heads);
        let (hidden, query) = heads.split_at_mut(self.hidden);
        clip(hidden);

        policy.clear();
        let moves = self.moves.get();
        policy.extend(position.moves.iter().map(|rows| dot_rows(moves, rows, query)));

        let mut wdl = self.output_bias;
        for (x, weights) in hidden.iter().zip(self.output.chunks_exact(3)) {
            for (sum, weight) in wdl.iter_mut().zip(weights) {
                *sum = weight.mul_add(*x, *sum);
            }
        }
        softmax(&mut wdl);
        wdl
    }
}

/// Clips to 0..=1.
fn clip(values: &mut [f32]) {
    for lanes in values.chunks_exact_mut(LANES) {
        for x in lanes {
            *x = x.clamp(0.0, 1.0);
        }
    }
}

/// Turns logits into probabilities.
pub(crate) fn softmax(logits: &mut [f32]) {
    let most = logits.iter().fold(f32::NEG_INFINITY, |most, &x| most.max(x));
    let mut sum = 0.0;
    for x in logits.iter_mut() {
        *x = (*x - most).exp();
        sum += *x;
    }
    logits.iter_mut().for_each(|x| *x /= sum);
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use engine::Variant;
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::config::{NetworkConfig, NnueConfig};
    use crate::encoded::Encoded;
    use crate::encoding::Encoder;
    use crate::network::Model;
    use crate::testing::{VARIANTS, positions, random_network};

    fn nnue(model: &Model) -> &Nnue {
        let Model::Nnue(network) = model else { unreachable!("it was configured so") };
        network
    }

    fn check(name: &str, config: NnueConfig) {
        let variant = Variant::load(name, None).expect("built in");
        let encoder = Encoder::new(&variant);
        let mut encoded = Encoded::default();
        for (game, moves) in positions(name, 4, 40) {
            encoder.push_game(&game, &moves, &mut encoded);
        }
        let features = encoder.features();
        let device = Device::flex();
        let config = NetworkConfig::Nnue(config);
        let network = random_network(&config, features, &mut Xoshiro256PlusPlus::seed_from_u64(6), &device);
        let kernel = Kernel::new(nnue(&network), features);
        let (mut buffers, mut logits) = (Activations::default(), Vec::new());

        let output = network.forward(&encoded, features);
        let wdl = output.wdl_probabilities().into_data().try_into_vec::<f32>().expect("f32");
        let [_, most] = output.policy.dims();
        let policy = output.policy.into_data().try_into_vec::<f32>().expect("f32");
        let mut spread = 0f32;
        for (i, position) in encoded.iter().enumerate() {
            let found = kernel.evaluate(position, &mut buffers, &mut logits);
            assert_eq!(logits.len(), position.moves.len());
            for (a, b) in found.iter().zip(&wdl[i * 3..]) {
                assert!((a - b).abs() < 1e-5, "{name} {config:?}: {found:?} {:?}", &wdl[i * 3..i * 3 + 3]);
            }
            for (a, b) in logits.iter().zip(&policy[i * most..]) {
                assert!((a - b).abs() < 1e-5, "{name} {config:?}: {a} {b}");
                spread = spread.max(a.abs());
            }
        }
        assert!(spread > 0.1, "the policy of a random network is not flat");
    }

    #[test]
    fn agrees_with_the_burn_network() {
        for name in VARIANTS {
            check(name, NnueConfig::default());
        }
        check("sho", NnueConfig { accumulator: 72, hidden: 16, policy_width: 8, survival_width: 8 });
        check("sho", NnueConfig { accumulator: 32, hidden: 8, policy_width: 64, survival_width: 16 });
    }

    #[test]
    fn a_new_network_knows_nothing() {
        let variant = Variant::load("chu", None).expect("built in");
        let encoder = Encoder::new(&variant);
        let network = Model::new(&NetworkConfig::default(), encoder.features(), 1, &Device::flex());
        let kernel = Kernel::new(nnue(&network), encoder.features());
        let (game, moves) = positions("chu", 1, 1).remove(0);
        let mut encoded = Encoded::default();
        encoder.push_game(&game, &moves, &mut encoded);
        let mut logits = Vec::new();
        let wdl = kernel.evaluate(encoded.position(0), &mut Activations::default(), &mut logits);
        assert_eq!(wdl, [1.0 / 3.0; 3]);
        assert!(logits.iter().all(|&logit| logit == 0.0));
    }
}

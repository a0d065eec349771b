//! 3×3 convolutions of one position, and their gradients.
//!
//! Channels go eight at a time into one vector register; a *plane* is eight channels of every cell of a board. The board
//! has a frame of empty cells so that no inner loop asks where it ends: a row of zeros before and after, and one zero
//! between rows that serves as the end of one and the start of the next.
//!
//! Each inner loop keeps 12 sums in registers and reads, for 12 fused multiply-adds, two vectors and six single numbers:
//! what a processor with 16 vector registers can do without waiting for its cache.

use std::ops::Range;

/// Numbers in one vector register (AVX2, f32).
pub(super) const LANES: usize = 8;

/// Squares whose sums are in registers at a time, with two vectors of channels each.
const GROUP: usize = 6;

/// Taps of a convolution: (dy + 1) · 3 + dx + 1.
pub(super) const TAPS: usize = 9;

/// Eight channels of one square.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(32))]
pub(super) struct Lanes(pub(super) [f32; LANES]);

pub(super) const ZERO: Lanes = Lanes([0.0; LANES]);

impl Lanes {
    #[inline(always)]
    pub(super) fn of(numbers: &[f32]) -> Lanes {
        Lanes(numbers.try_into().expect("eight channels"))
    }

    #[inline(always)]
    fn zip(self, other: Lanes, f: impl Fn(f32, f32) -> f32) -> Lanes {
        Lanes(std::array::from_fn(|i| f(self.0[i], other.0[i])))
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Lanes) -> Lanes {
        self.zip(other, |a, b| a + b)
    }

    /// `self + vector · x`.
    #[inline(always)]
    pub(super) fn plus_product(self, vector: Lanes, x: f32) -> Lanes {
        self.plus_products(vector, Lanes([x; LANES]))
    }

    /// `self + a · b`, number by number.
    #[inline(always)]
    pub(super) fn plus_products(self, a: Lanes, b: Lanes) -> Lanes {
        Lanes(std::array::from_fn(|i| a.0[i].mul_add(b.0[i], self.0[i])))
    }

    #[inline(always)]
    pub(super) fn times(self, x: f32) -> Lanes {
        self.zip(self, |a, _| a * x)
    }

    #[inline(always)]
    pub(super) fn max(self, other: Lanes) -> Lanes {
        self.zip(other, |a, b| if b > a { b } else { a })
    }

    #[inline(always)]
    pub(super) fn relu(self) -> Lanes {
        self.max(ZERO)
    }

    /// `self` where `by` is positive, else 0: the derivative of relu.
    #[inline(always)]
    pub(super) fn where_positive(self, by: Lanes) -> Lanes {
        self.zip(by, |x, by| if by > 0.0 { x } else { 0.0 })
    }

    /// `self` where `a` and `b` are equal, else 0.
    #[inline(always)]
    pub(super) fn where_equal(self, a: Lanes, b: Lanes) -> Lanes {
        Lanes(std::array::from_fn(|i| if a.0[i] == b.0[i] { self.0[i] } else { 0.0 }))
    }

    #[inline(always)]
    pub(super) fn sum(self) -> f32 {
        let half: [f32; LANES / 2] = std::array::from_fn(|i| self.0[i] + self.0[i + LANES / 2]);
        (half[0] + half[2]) + (half[1] + half[3])
    }
}

/// Where the squares of a board are among the cells of a plane with a frame.
#[derive(Clone, Debug)]
pub(super) struct Board {
    pub(super) files: usize,
    pub(super) ranks: usize,
    /// Cells from one row to the next.
    stride: usize,
    /// All squares in order, in groups, each as the cell of its first tap; the last square again where a group is short.
    groups: Vec<[usize; GROUP]>,
    /// From a square's first tap to its others.
    taps: [usize; TAPS],
}

impl Board {
    pub(super) fn new(files: usize, ranks: usize) -> Board {
        let stride = files + 1;
        let first_taps: Vec<usize> =
            (0..files * ranks).map(|square| square / files * stride + square % files).collect();
        let groups = first_taps.chunks(GROUP);
        let groups = groups.map(|group| std::array::from_fn(|i| group[i.min(group.len() - 1)])).collect();
        Board { files, ranks, stride, groups, taps: std::array::from_fn(|tap| tap / 3 * stride + tap % 3) }
    }

    pub(super) fn squares(&self) -> usize {
        self.files * self.ranks
    }

    /// Cells of a plane.
    pub(super) fn cells(&self) -> usize {
        (self.ranks + 2) * self.stride + 1
    }

    /// The cells of each row of the board.
    fn rows(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (files, stride) = (self.files, self.stride);
        (1..=self.ranks).map(move |row| row * stride + 1..row * stride + 1 + files)
    }

    /// The squares of each plane, in order.
    pub(super) fn inside<'a>(&self, planes: &'a [Lanes]) -> impl Iterator<Item = &'a Lanes> {
        planes.chunks_exact(self.cells()).flat_map(|plane| self.rows().flat_map(|row| &plane[row]))
    }

    /// Puts `values` (for each plane each square) on the squares of planes and zeros around them.
    pub(super) fn fill(&self, planes: &mut Vec<Lanes>, values: &[Lanes]) {
        planes.resize(values.len() / self.squares() * self.cells(), ZERO);
        for (plane, values) in planes.chunks_exact_mut(self.cells()).zip(values.chunks_exact(self.squares())) {
            plane[..=self.stride].fill(ZERO);
            for (row, values) in self.rows().zip(values.chunks_exact(self.files)) {
                plane[row.end] = ZERO;
                plane[row].copy_from_slice(values);
            }
            plane[(self.ranks + 1) * self.stride..].fill(ZERO);
        }
    }
}

/// Weights of a convolution in the order in which [`Conv::apply`] reads them.
#[derive(Clone, Debug, Default)]
pub(super) struct Conv {
    /// In the order of [`order`].
    weights: Vec<Lanes>,
    /// By output vector.
    bias: Vec<Lanes>,
}

/// Output vectors in pairs, as (the first, how many): the last may be single.
fn pairs(channels: usize) -> impl Iterator<Item = (usize, usize)> {
    let vectors = channels / LANES;
    (0..vectors).step_by(2).map(move |first| (first, (vectors - first).min(2)))
}

/// The vectors of weights in the order in which the inner loops go through them, as (tap, input channel, first output
/// channel): for each pair of output vectors, for each plane of the input, tap and channel of the plane, the pair's.
fn order(channels: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    pairs(channels).flat_map(move |(first, count)| {
        (0..channels).step_by(LANES).flat_map(move |plane| {
            (0..TAPS).flat_map(move |tap| {
                (plane..plane + LANES)
                    .flat_map(move |input| (first..first + count).map(move |vector| (tap, input, vector * LANES)))
            })
        })
    })
}

/// Adds sums in the order of the inner loops to weights `[9, C_in, C_out]`.
pub(super) fn add_in_order(channels: usize, sums: impl Iterator<Item = Lanes>, weights: &mut [f32]) {
    for ((tap, input, output), sum) in order(channels).zip(sums) {
        add_to(&mut weights[(tap * channels + input) * channels + output..][..LANES], sum);
    }
}

/// Adds a vector to eight numbers.
pub(super) fn add_to(numbers: &mut [f32], vector: Lanes) {
    for (number, x) in numbers.iter_mut().zip(vector.0) {
        *number += x;
    }
}

impl Conv {
    /// Takes weights `[9, C_in, C_out]` and biases `[C]`.
    pub(super) fn set(&mut self, weights: &[f32], bias: &[f32]) {
        let channels = bias.len();
        let at = |(tap, input, output)| Lanes::of(&weights[(tap * channels + input) * channels + output..][..LANES]);
        self.weights.clear();
        self.weights.extend(order(channels).map(at));
        self.bias.clear();
        self.bias.extend(bias.chunks_exact(LANES).map(Lanes::of));
    }

    /// Takes the same weights for the way back, from the gradient of the output to that of the input: turned by half a
    /// turn, inputs and outputs exchanged.
    pub(super) fn set_back(&mut self, weights: &[f32], channels: usize) {
        let row = |tap: usize, input: usize| &weights[(tap * channels + input) * channels..][..channels];
        let at = |(tap, input, output): (usize, usize, usize)| {
            Lanes(std::array::from_fn(|i| row(TAPS - 1 - tap, output + i)[input]))
        };
        self.weights.clear();
        self.weights.extend(order(channels).map(at));
        self.bias.clear();
        self.bias.resize(channels / LANES, ZERO);
    }

    /// Convolves `input` (planes with frame) and hands each result to `each`: the vector of channels, the square, the
    /// eight numbers; squares in order for each vector.
    #[inline(always)]
    pub(super) fn apply(&self, board: &Board, input: &[Lanes], mut each: impl FnMut(usize, usize, Lanes)) {
        let channels = self.bias.len() * LANES;
        let mut rest = self.weights.as_slice();
        for (first, count) in pairs(channels) {
            let (weights, after) = rest.split_at(count * TAPS * channels);
            rest = after;
            if count == 2 {
                self.apply_pair::<2>(board, input, weights, first, &mut each);
            } else {
                self.apply_pair::<1>(board, input, weights, first, &mut each);
            }
        }
    }

    #[inline(always)]
    fn apply_pair<const N: usize>(
        &self,
        board: &Board,
        input: &[Lanes],
        weights: &[Lanes],
        first: usize,
        each: &mut impl FnMut(usize, usize, Lanes),
    ) {
        let weights = weights.as_chunks::<N>().0.as_chunks::<LANES>().0.as_chunks::<TAPS>().0;
        let bias = std::array::from_fn(|n| self.bias[first + n]);
        let squares = board.squares();
        for (start, group) in (0..squares).step_by(GROUP).zip(&board.groups) {
            let sums = group_sums::<N>(board, input, weights, group, bias);
            for (square, sums) in (start..squares).zip(&sums) {
                for (n, &sum) in sums.iter().enumerate() {
                    each(first + n, square, sum);
                }
            }
        }
    }
}

/// Weights of one plane of the input and `N` output vectors.
type PlaneWeights<const N: usize> = [[[Lanes; N]; LANES]; TAPS];

#[inline(never)]
fn group_sums<const N: usize>(
    board: &Board,
    input: &[Lanes],
    weights: &[PlaneWeights<N>],
    group: &[usize; GROUP],
    bias: [Lanes; N],
) -> [[Lanes; N]; GROUP] {
    let mut sums = [bias; GROUP];
    for (plane, weights) in input.chunks_exact(board.cells()).zip(weights) {
        for (&tap, weights) in board.taps.iter().zip(weights) {
            let cells = group.map(|square| &plane[square + tap]);
            for (i, weights) in weights.iter().enumerate() {
                for k in 0..GROUP {
                    for n in 0..N {
                        sums[k][n] = sums[k][n].plus_product(weights[n], cells[k].0[i]);
                    }
                }
            }
        }
    }
    sums
}

/// Adds a convolution's gradient by its weights to `out` (in the order of the inner loops, see [`add_in_order`]): `input` and
/// `output`, the gradient of the result, are planes with frame.
pub(super) fn add_weight_gradient(
    board: &Board,
    channels: usize,
    input: &[Lanes],
    output: &[Lanes],
    out: &mut [Lanes],
) {
    let cells = board.cells();
    let mut rest = out;
    for (first, count) in pairs(channels) {
        for input in input.chunks_exact(cells) {
            let (sums, after) = std::mem::take(&mut rest).split_at_mut(count * TAPS * LANES);
            rest = after;
            let output = &output[first * cells..(first + count) * cells];
            if count == 2 {
                add_plane_gradient::<2>(board, input, output, sums);
            } else {
                add_plane_gradient::<1>(board, input, output, sums);
            }
        }
    }
}

fn add_plane_gradient<const N: usize>(board: &Board, input: &[Lanes], output: &[Lanes], out: &mut [Lanes]) {
    let out = out.as_chunks_mut::<N>().0.as_chunks_mut::<LANES>().0.as_chunks_mut::<3>().0;
    for (dy, out) in out.iter_mut().enumerate() {
        add_row_gradient::<N, 0>(board, input, output, dy, out);
        add_row_gradient::<N, 2>(board, input, output, dy, out);
        add_row_gradient::<N, 4>(board, input, output, dy, out);
        add_row_gradient::<N, 6>(board, input, output, dy, out);
    }
}

/// The three taps of row `dy` and the input channels `I` and `I + 1`.
#[inline(never)]
fn add_row_gradient<const N: usize, const I: usize>(
    board: &Board,
    input: &[Lanes],
    output: &[Lanes],
    dy: usize,
    out: &mut [[[Lanes; N]; LANES]; 3],
) {
    let cells = board.cells();
    let mut sums = [[[ZERO; N]; 2]; 3];
    for row in board.rows() {
        let above = (row.start - 1 + dy * board.stride) - board.stride;
        let windows = input[above..above + board.files + 2].windows(3);
        let outputs: [&[Lanes]; N] = std::array::from_fn(|n| &output[n * cells..][row.clone()]);
        for (x, window) in windows.enumerate() {
            let output: [Lanes; N] = outputs.map(|output| output[x]);
            for tap in 0..3 {
                let input = [window[tap].0[I], window[tap].0[I + 1]];
                for (sums, x) in sums[tap].iter_mut().zip(input) {
                    for n in 0..N {
                        sums[n] = sums[n].plus_product(output[n], x);
                    }
                }
            }
        }
    }
    for (out, sums) in out.iter_mut().zip(&sums) {
        for (out, sums) in out[I..I + 2].iter_mut().zip(sums) {
            for (out, &sum) in out.iter_mut().zip(sums) {
                *out = out.plus(sum);
            }
        }
    }
}

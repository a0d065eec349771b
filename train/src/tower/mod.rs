//! A residual tower of convolutions on a CPU: blocks of two 3×3 convolutions, with what is on the whole board pooled
//! between them.
//!
//! For positions `[squares, channels]` (square = rank · files + file), each block computes, zeros being beyond the edge,
//!
//! ```text
//! u = relu(conv1(relu(x)) + bias1)
//! g = [mean of u over the squares, max of u over the squares]
//! x = x + conv2(u + g·pool) + bias2
//! ```
//!
//! and the tower's result is relu(x). The pooling after Wu, "Accelerating Self-Play Learning in Go" (2019), section 4.1.
//!
//! Each position is computed by itself, in a fixed order of additions: what it is computed together with cannot matter.
//!
//! | module     | holds                                                              |
//! |------------|--------------------------------------------------------------------|
//! | `conv`     | the inner loops: a convolution of a position, and its gradients    |
//! | `training` | a pass over a batch that is remembered, and the way back           |

mod conv;
#[cfg(test)]
mod tests;
mod training;

use conv::{Board, Conv, LANES, Lanes, TAPS, ZERO};
pub use training::Tape;

/// The shape of a tower.
#[derive(Clone, Debug)]
pub struct Tower {
    board: Board,
    channels: usize,
    blocks: usize,
}

/// Weights of one block, row by row.
#[derive(Clone, Copy, Debug)]
pub struct BlockWeights<'a> {
    /// `[9, C_in, C_out]`; the tap of the neighbour `dx` files and `dy` ranks on is (dy + 1) · 3 + dx + 1.
    pub conv1: &'a [f32],
    /// `[C]`.
    pub bias1: &'a [f32],
    /// `[2·C, C]`: means, then maxima.
    pub pool: &'a [f32],
    /// As `conv1`.
    pub conv2: &'a [f32],
    /// `[C]`.
    pub bias2: &'a [f32],
}

/// Gradients of one block's weights, in the shapes of [`BlockWeights`].
#[derive(Debug)]
pub struct BlockGradients<'a> {
    /// Of `conv1`.
    pub conv1: &'a mut [f32],
    /// Of `bias1`.
    pub bias1: &'a mut [f32],
    /// Of `pool`.
    pub pool: &'a mut [f32],
    /// Of `conv2`.
    pub conv2: &'a mut [f32],
    /// Of `bias2`.
    pub bias2: &'a mut [f32],
}

/// Weights of a tower in the order in which the inner loops read them. See [`Tower::pack`].
#[derive(Clone, Debug, Default)]
pub struct Packed {
    blocks: Vec<PackedBlock>,
}

#[derive(Clone, Debug, Default)]
struct PackedBlock {
    conv1: Conv,
    /// `[2·C, C]`.
    pool: Vec<Lanes>,
    conv2: Conv,
}

/// Buffers of [`Tower::forward`], to be used again.
#[derive(Clone, Debug, Default)]
pub struct Activations {
    /// For each plane each square.
    x: Vec<Lanes>,
    /// relu(x); planes with frame.
    active: Vec<Lanes>,
    hidden: Hidden,
    scratch: Scratch,
}

/// What lies between a block's convolutions and the way back needs.
#[derive(Clone, Debug, Default)]
struct Hidden {
    /// u; for each plane each square.
    u: Vec<Lanes>,
    /// g: means, then maxima.
    pooled: Vec<Lanes>,
}

/// Buffers that hold nothing beyond a block.
#[derive(Clone, Debug, Default)]
struct Scratch {
    /// g·pool.
    shift: Vec<Lanes>,
    /// u + g·pool, for each plane each square.
    shifted: Vec<Lanes>,
    /// The same as planes with frame.
    framed: Vec<Lanes>,
}

impl Tower {
    /// A tower for boards of `files` × `ranks` squares.
    ///
    /// # Panics
    ///
    /// If `channels` is not a positive multiple of 8.
    pub fn new(files: usize, ranks: usize, channels: usize, blocks: usize) -> Tower {
        assert!(channels > 0 && channels.is_multiple_of(LANES), "channels are a multiple of {LANES}");
        Tower { board: Board::new(files, ranks), channels, blocks }
    }

    /// Numbers of a position: squares · channels.
    pub fn position(&self) -> usize {
        self.board.squares() * self.channels
    }

    /// Puts the weights of all blocks in the order in which [`Tower::forward`] reads them.
    ///
    /// # Panics
    ///
    /// If `weights` are not this tower's.
    pub fn pack(&self, weights: &[BlockWeights<'_>], out: &mut Packed) {
        let c = self.channels;
        assert_eq!(weights.len(), self.blocks, "blocks");
        out.blocks.resize(self.blocks, PackedBlock::default());
        for (block, out) in weights.iter().zip(&mut out.blocks) {
            let found = [block.conv1, block.bias1, block.pool, block.conv2, block.bias2].map(<[f32]>::len);
            assert_eq!(found, [TAPS * c * c, c, 2 * c * c, TAPS * c * c, c], "numbers of a block's weights");
            out.conv1.set(block.conv1, block.bias1);
            out.pool.clear();
            out.pool.extend(block.pool.chunks_exact(LANES).map(Lanes::of));
            out.conv2.set(block.conv2, block.bias2);
        }
    }

    /// Computes the tower of each position of `x` (`[positions, squares, channels]`) and puts the result in its place.
    ///
    /// # Panics
    ///
    /// If `weights` are another tower's or `x` does not hold whole positions.
    pub fn forward(&self, weights: &Packed, x: &mut [f32], buffers: &mut Activations) {
        self.check(weights, x);
        let Activations { x: lanes, active, hidden, scratch } = buffers;
        for position in x.chunks_exact_mut(self.position()) {
            self.load(position, lanes);
            self.activate(lanes, active, &mut scratch.shifted);
            for block in &weights.blocks {
                self.first_half(block, active, hidden);
                self.shift(block, hidden, scratch);
                self.second_half(block, &scratch.framed, lanes);
                self.activate(lanes, active, &mut scratch.shifted);
            }
            self.store(self.board.inside(active), position);
        }
    }

    fn check(&self, weights: &Packed, x: &[f32]) {
        assert_eq!(weights.blocks.len(), self.blocks, "blocks");
        assert!(x.len().is_multiple_of(self.position()), "whole positions");
    }

    fn vectors(&self) -> usize {
        self.channels / LANES
    }

    /// `[squares, channels]` into a buffer with for each plane each square.
    fn load(&self, position: &[f32], lanes: &mut Vec<Lanes>) {
        lanes.clear();
        for vector in 0..self.vectors() {
            let numbers = position.chunks_exact(self.channels);
            lanes.extend(numbers.map(|channels| Lanes::of(&channels[vector * LANES..][..LANES])));
        }
    }

    /// The reverse of [`Tower::load`].
    fn store<'a>(&self, mut lanes: impl Iterator<Item = &'a Lanes>, position: &mut [f32]) {
        for vector in 0..self.vectors() {
            for (channels, lanes) in position.chunks_exact_mut(self.channels).zip(&mut lanes) {
                channels[vector * LANES..][..LANES].copy_from_slice(&lanes.0);
            }
        }
    }

    /// `active` = relu(x).
    fn activate(&self, x: &[Lanes], active: &mut Vec<Lanes>, buffer: &mut Vec<Lanes>) {
        buffer.clear();
        buffer.extend(x.iter().map(|x| x.relu()));
        self.board.fill(active, buffer);
    }

    /// From relu(x) to u and what is pooled of it.
    fn first_half(&self, block: &PackedBlock, active: &[Lanes], hidden: &mut Hidden) {
        let squares = self.board.squares();
        let Hidden { u, pooled } = hidden;
        u.resize(self.vectors() * squares, ZERO);
        pooled.clear();
        pooled.resize(2 * self.vectors(), ZERO);
        let (mean, max) = pooled.split_at_mut(self.vectors());
        block.conv1.apply(&self.board, active, |vector, square, h| {
            let relu = h.relu();
            u[vector * squares + square] = relu;
            mean[vector] = mean[vector].plus(relu);
            max[vector] = max[vector].max(relu);
        });
        mean.iter_mut().for_each(|mean| *mean = mean.times(1.0 / squares as f32));
    }

    /// `scratch.framed` = u + g·pool.
    fn shift(&self, block: &PackedBlock, hidden: &Hidden, scratch: &mut Scratch) {
        let Scratch { shift, shifted, framed } = scratch;
        shift.clear();
        shift.resize(self.vectors(), ZERO);
        let pooled = hidden.pooled.iter().flat_map(|lanes| lanes.0);
        for (pooled, weights) in pooled.zip(block.pool.chunks_exact(self.vectors())) {
            for (shift, &weights) in shift.iter_mut().zip(weights) {
                *shift = shift.plus_product(weights, pooled);
            }
        }
        shifted.clear();
        for (u, &shift) in hidden.u.chunks_exact(self.board.squares()).zip(&*shift) {
            shifted.extend(u.iter().map(|u| u.plus(shift)));
        }
        self.board.fill(framed, shifted);
    }

    /// Adds conv2 and its bias to x.
    fn second_half(&self, block: &PackedBlock, shifted: &[Lanes], x: &mut [Lanes]) {
        let squares = self.board.squares();
        block.conv2.apply(&self.board, shifted, |vector, square, sum| {
            let x = &mut x[vector * squares + square];
            *x = x.plus(sum);
        });
    }
}

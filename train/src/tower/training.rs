//! A pass over a batch that is remembered, and from its result's gradient the way back.
//!
//! Positions go in groups of a fixed size, each with its own sums of gradients; the sums of all groups are added in
//! order. So it does not matter how many threads share out the groups.

use super::conv::{Conv, LANES, Lanes, TAPS, ZERO, add_in_order, add_to, add_weight_gradient};
use super::{BlockGradients, BlockWeights, Hidden, Packed, Scratch, Tower};
use crate::threads::on_threads;

/// Positions whose gradients are summed up before those of other positions are added.
const GROUP: usize = 16;

/// What [`Tower::forward_saving`] leaves for [`Tower::backward`]. To be used again.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    packed: Packed,
    /// For the way back; by block conv1, conv2.
    back: Vec<[Conv; 2]>,
    groups: Vec<Group>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    positions: Vec<Saved>,
    gradients: Vec<BlockSums>,
    scratch: Scratch,
    /// The gradient of x; for each plane each square.
    x: Vec<Lanes>,
    /// The gradient of what is between the convolutions; for each plane each square.
    hidden: Vec<Lanes>,
    /// The gradient of a convolution's result; planes with frame.
    framed: Vec<Lanes>,
}

/// What a position's way back needs.
#[derive(Clone, Debug, Default)]
struct Saved {
    /// relu(x) before each block and after the last; planes with frame.
    active: Vec<Vec<Lanes>>,
    hidden: Vec<Hidden>,
}

/// A block's gradients, the convolutions' in the order of the inner loops.
#[derive(Clone, Debug, Default)]
struct BlockSums {
    conv1: Vec<Lanes>,
    bias1: Vec<Lanes>,
    pool: Vec<Lanes>,
    conv2: Vec<Lanes>,
    bias2: Vec<Lanes>,
}

impl Tower {
    /// [`Tower::forward`], on up to `threads` threads, that remembers on `tape` what the way back needs.
    ///
    /// # Panics
    ///
    /// If `weights` are not this tower's or `x` does not hold whole positions.
    pub fn forward_saving(&self, weights: &[BlockWeights<'_>], x: &mut [f32], threads: usize, tape: &mut Tape) {
        self.pack(weights, &mut tape.packed);
        self.check(&tape.packed, x);
        tape.back.resize_with(self.blocks, Default::default);
        for ([conv1, conv2], weights) in tape.back.iter_mut().zip(weights) {
            conv1.set_back(weights.conv1, self.channels);
            conv2.set_back(weights.conv2, self.channels);
        }
        let parts = x.chunks_mut(GROUP * self.position());
        tape.groups.resize_with(parts.len(), Group::default);
        let packed = &tape.packed;
        let mut work: Vec<_> = tape.groups.iter_mut().zip(parts).collect();
        on_threads(threads, &mut work, |(group, x)| self.forward_group(packed, x, group));
    }

    /// From the gradient of the result (`[positions, squares, channels]`) to that of the input, in its place; adds those
    /// of the weights to `out`. For the pass remembered on `tape`. Where several squares have the maximum, its gradient
    /// goes to the first.
    ///
    /// # Panics
    ///
    /// If `gradient` or `out` is not of the shape of that pass.
    pub fn backward(&self, gradient: &mut [f32], threads: usize, tape: &mut Tape, out: &mut [BlockGradients<'_>]) {
        let positions = tape.groups.iter().map(|group| group.positions.len()).sum::<usize>();
        assert_eq!(gradient.len(), positions * self.position(), "numbers of the gradient");
        assert_eq!(out.len(), self.blocks, "blocks");
        let Tape { packed, back, groups } = tape;
        let mut work: Vec<_> = groups.iter_mut().zip(gradient.chunks_mut(GROUP * self.position())).collect();
        on_threads(threads, &mut work, |(group, gradient)| self.backward_group(packed, back, gradient, group));

        let groups = &*groups;
        let mut work: Vec<_> = out.iter_mut().enumerate().collect();
        on_threads(threads, &mut work, |(block, out)| {
            let block = *block;
            let sums = |part: fn(&BlockSums) -> &Vec<Lanes>| {
                let parts = groups.iter().map(move |group| part(&group.gradients[block]).as_slice());
                let count = parts.clone().next().map_or(0, <[Lanes]>::len);
                (0..count).map(move |i| parts.clone().fold(ZERO, |sum, part| sum.plus(part[i])))
            };
            add_in_order(self.channels, sums(|sums| &sums.conv1), out.conv1);
            add_vectors(sums(|sums| &sums.bias1), out.bias1);
            add_vectors(sums(|sums| &sums.pool), out.pool);
            add_in_order(self.channels, sums(|sums| &sums.conv2), out.conv2);
            add_vectors(sums(|sums| &sums.bias2), out.bias2);
        });
    }

    fn forward_group(&self, packed: &Packed, x: &mut [f32], group: &mut Group) {
        let Group { positions, scratch, x: lanes, .. } = group;
        positions.resize_with(x.len() / self.position(), Saved::default);
        for (position, saved) in x.chunks_exact_mut(self.position()).zip(positions) {
            saved.active.resize_with(self.blocks + 1, Vec::new);
            saved.hidden.resize_with(self.blocks, Hidden::default);
            self.load(position, lanes);
            self.activate(lanes, &mut saved.active[0], &mut scratch.shifted);
            for (i, (block, hidden)) in packed.blocks.iter().zip(&mut saved.hidden).enumerate() {
                self.first_half(block, &saved.active[i], hidden);
                self.shift(block, hidden, scratch);
                self.second_half(block, &scratch.framed, lanes);
                self.activate(lanes, &mut saved.active[i + 1], &mut scratch.shifted);
            }
            self.store(self.board.inside(&saved.active[self.blocks]), position);
        }
    }

    fn backward_group(&self, packed: &Packed, back: &[[Conv; 2]], gradient: &mut [f32], group: &mut Group) {
        let (squares, vectors) = (self.board.squares(), self.vectors());
        let Group { positions, gradients, scratch, x, hidden, framed } = group;
        hidden.resize(vectors * squares, ZERO);
        gradients.resize_with(self.blocks, BlockSums::default);
        gradients.iter_mut().for_each(|sums| sums.clear(self.channels));
        for (position, saved) in gradient.chunks_exact_mut(self.position()).zip(&*positions) {
            self.load(position, x);
            x.iter_mut()
                .zip(self.board.inside(&saved.active[self.blocks]))
                .for_each(|(x, &t)| *x = x.where_positive(t));
            for (i, block) in packed.blocks.iter().enumerate().rev() {
                let ([conv1, conv2], sums, active) = (&back[i], &mut gradients[i], &saved.active[i]);
                self.board.fill(framed, x);
                self.shift(block, &saved.hidden[i], scratch);
                add_weight_gradient(&self.board, self.channels, &scratch.framed, framed, &mut sums.conv2);
                add_sums(x, squares, &mut sums.bias2);
                conv2.apply(&self.board, framed, |vector, square, sum| hidden[vector * squares + square] = sum);
                self.backward_hidden(&block.pool, &saved.hidden[i], hidden, &mut scratch.shift, &mut sums.pool);
                self.board.fill(framed, hidden);
                add_weight_gradient(&self.board, self.channels, active, framed, &mut sums.conv1);
                add_sums(hidden, squares, &mut sums.bias1);
                conv1.apply(&self.board, framed, |vector, square, sum| hidden[vector * squares + square] = sum);
                for ((x, gradient), &active) in x.iter_mut().zip(&*hidden).zip(self.board.inside(active)) {
                    *x = x.plus(gradient.where_positive(active));
                }
            }
            self.store(x.iter(), position);
        }
    }

    /// Turns the gradient of u + g·pool into that of u before relu; adds that of `pool` to `sums`.
    fn backward_hidden(
        &self,
        pool: &[Lanes],
        saved: &Hidden,
        gradient: &mut [Lanes],
        shift: &mut Vec<Lanes>,
        sums: &mut [Lanes],
    ) {
        let (squares, vectors) = (self.board.squares(), self.vectors());
        shift.clear();
        shift.resize(vectors, ZERO);
        add_sums(gradient, squares, shift);
        let pooled = saved.pooled.iter().flat_map(|lanes| lanes.0);
        for (pooled, sums) in pooled.zip(sums.chunks_exact_mut(vectors)) {
            for (sum, &shift) in sums.iter_mut().zip(&*shift) {
                *sum = sum.plus_product(shift, pooled);
            }
        }
        // The gradients of eight of g's numbers.
        let of_pooled = |vector: usize| {
            Lanes(std::array::from_fn(|i| {
                let weights = &pool[(vector * LANES + i) * vectors..][..vectors];
                weights.iter().zip(&*shift).fold(ZERO, |sum, (&a, &b)| sum.plus_products(a, b)).sum()
            }))
        };
        let planes = gradient.chunks_exact_mut(squares).zip(saved.u.chunks_exact(squares));
        for (vector, (gradient, u)) in planes.enumerate() {
            let mean = of_pooled(vector).times(1.0 / squares as f32);
            let (max, mut to_first) = (saved.pooled[vectors + vector], of_pooled(vectors + vector));
            for (gradient, &u) in gradient.iter_mut().zip(u) {
                let to_max = to_first.where_equal(u, max);
                to_first = to_first.plus(to_max.times(-1.0));
                *gradient = gradient.plus(mean).plus(to_max).where_positive(u);
            }
        }
    }
}

impl BlockSums {
    fn clear(&mut self, channels: usize) {
        let vectors = channels / LANES;
        let parts = [
            (&mut self.conv1, TAPS * channels * vectors),
            (&mut self.bias1, vectors),
            (&mut self.pool, 2 * channels * vectors),
            (&mut self.conv2, TAPS * channels * vectors),
            (&mut self.bias2, vectors),
        ];
        for (sums, count) in parts {
            sums.clear();
            sums.resize(count, ZERO);
        }
    }
}

/// Adds vectors to a table, eight numbers each.
fn add_vectors(vectors: impl Iterator<Item = Lanes>, out: &mut [f32]) {
    out.chunks_exact_mut(LANES).zip(vectors).for_each(|(out, vector)| add_to(out, vector));
}

/// Adds for each plane the sum over its squares to `out`.
fn add_sums(planes: &[Lanes], squares: usize, out: &mut [Lanes]) {
    for (plane, out) in planes.chunks_exact(squares).zip(out) {
        *out = plane.iter().fold(*out, |sum, &x| sum.plus(x));
    }
}

//! AdamW over tables of which a step changes few rows, for CPUs.
//!
//! burn's own AdamW makes a new tensor for each of about fifteen operations, from a gradient that is 0 nearly
//! everywhere; over the big tables that costs many times the gradient. This one computes the same function in place, in
//! one pass, and leaves alone the rows that no batch has used yet.

use crate::threads::on_threads;

/// AdamW (Loshchilov and Hutter, 2019, <https://arxiv.org/abs/1711.05101>, algorithm 2) with a limit on the norm of each
/// tensor's gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    /// Decay of the mean of gradients.
    pub beta_1: f32,
    /// Decay of the mean of squared gradients.
    pub beta_2: f32,
    /// Added to the root of the latter.
    pub epsilon: f32,
    /// Share of the weight subtracted per step and learning rate.
    pub weight_decay: f32,
    /// Gradients of greater Euclidean norm are scaled down to it; `None`: no limit.
    pub max_norm: Option<f32>,
}

/// A tensor that learns: rows of weights, with the means that AdamW keeps of their gradients.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Numbers in a row.
    pub width: usize,
    /// The weights, row by row.
    pub weights: Vec<f32>,
    /// Decaying mean of the gradients.
    pub moment_1: Vec<f32>,
    /// Decaying mean of their squares.
    pub moment_2: Vec<f32>,
}

impl Parameter {
    /// A tensor that has not learnt yet.
    pub fn new(width: usize, weights: Vec<f32>) -> Parameter {
        let zeros = vec![0.0; weights.len()];
        Parameter { width, moment_1: zeros.clone(), moment_2: zeros, weights }
    }
}

/// A gradient that is 0 except in some rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowGradient {
    /// The rows, ascending.
    pub rows: Vec<u32>,
    /// Their gradients, row by row.
    pub values: Vec<f32>,
}

/// Rows a piece: pieces are what threads share out.
const PIECE: usize = 64;

/// Smaller moments are 0: a row that is never used again would end in denormal numbers, which are slow.
const TINY: f32 = 1e-30;

/// Some rows of a parameter and the gradients of those among them that have one.
struct Piece<'a> {
    first: usize,
    weights: &'a mut [f32],
    moment_1: &'a mut [f32],
    moment_2: &'a mut [f32],
    rows: &'a [u32],
    gradients: &'a [f32],
}

/// The constants of one step.
#[derive(Clone, Copy)]
struct Step {
    beta_1: f32,
    beta_2: f32,
    epsilon: f32,
    scale: f32,
    keep: f32,
    rate: f32,
    correction: f32,
}

impl AdamW {
    /// Step number `time`, from 1, of one parameter. The result does not depend on the number of threads.
    pub fn step(
        &self,
        parameter: &mut Parameter,
        gradient: &RowGradient,
        time: u64,
        learning_rate: f64,
        threads: usize,
    ) {
        let time = i32::try_from(time).unwrap_or(i32::MAX);
        let step = Step {
            beta_1: self.beta_1,
            beta_2: self.beta_2,
            epsilon: self.epsilon,
            scale: self.scale(&gradient.values),
            keep: (1.0 - learning_rate * self.weight_decay as f64) as f32,
            rate: (learning_rate / (1.0 - (self.beta_1 as f64).powi(time))) as f32,
            correction: (1.0 / (1.0 - (self.beta_2 as f64).powi(time))) as f32,
        };
        let width = parameter.width;
        let (mut rows, mut gradients) = (gradient.rows.as_slice(), gradient.values.as_slice());
        let size = PIECE * width;
        let moments = parameter.moment_1.chunks_mut(size).zip(parameter.moment_2.chunks_mut(size));
        let mut pieces: Vec<Piece<'_>> = Vec::new();
        for (i, (weights, (moment_1, moment_2))) in parameter.weights.chunks_mut(size).zip(moments).enumerate() {
            let first = i * PIECE;
            let own = rows.partition_point(|&row| (row as usize) < first + PIECE);
            let (own_rows, rest) = rows.split_at(own);
            let (own_gradients, rest_gradients) = gradients.split_at(own * width);
            (rows, gradients) = (rest, rest_gradients);
            pieces.push(Piece { first, weights, moment_1, moment_2, rows: own_rows, gradients: own_gradients });
        }
        on_threads(threads, &mut pieces, |piece| step.piece(piece, width));
    }

    fn scale(&self, gradient: &[f32]) -> f32 {
        let Some(max_norm) = self.max_norm else { return 1.0 };
        let square = |part: &[f32]| {
            let mut lanes = [0f32; 8];
            for lane in part.chunks(8) {
                lanes.iter_mut().zip(lane).for_each(|(sum, g)| *sum += g * g);
            }
            lanes.iter().map(|&sum| sum as f64).sum::<f64>()
        };
        let norm = gradient.chunks(1024).map(square).sum::<f64>().sqrt() as f32;
        if norm > max_norm { max_norm / norm } else { 1.0 }
    }
}

impl Step {
    fn piece(self, piece: &mut Piece<'_>, width: usize) {
        let mut gradients = piece.rows.iter().zip(piece.gradients.chunks_exact(width)).peekable();
        let moments = piece.moment_1.chunks_exact_mut(width).zip(piece.moment_2.chunks_exact_mut(width));
        for (i, (weights, (m, v))) in piece.weights.chunks_exact_mut(width).zip(moments).enumerate() {
            match gradients.next_if(|(row, _)| **row as usize == piece.first + i) {
                Some((_, gradient)) => self.row(weights, gradient, m, v),
                None if !is_zero(v) => self.row_without_gradient(weights, m, v),
                None if self.keep != 1.0 && !is_zero(weights) => weights.iter_mut().for_each(|w| *w *= self.keep),
                None => {}
            }
        }
    }

    fn row(self, weights: &mut [f32], gradient: &[f32], m: &mut [f32], v: &mut [f32]) {
        for (((weight, &gradient), m), v) in weights.iter_mut().zip(gradient).zip(m).zip(v) {
            let gradient = gradient * self.scale;
            *m = self.beta_1 * *m + (1.0 - self.beta_1) * gradient;
            *v = self.beta_2 * *v + (1.0 - self.beta_2) * gradient * gradient;
            *weight = self.keep * *weight - self.rate * *m / ((*v * self.correction).sqrt() + self.epsilon);
        }
    }

    fn row_without_gradient(self, weights: &mut [f32], m: &mut [f32], v: &mut [f32]) {
        let decayed = |x: f32| if x.abs() < TINY { 0.0 } else { x };
        for ((weight, m), v) in weights.iter_mut().zip(m).zip(v) {
            *m = decayed(self.beta_1 * *m);
            *v = decayed(self.beta_2 * *v);
            *weight = self.keep * *weight - self.rate * *m / ((*v * self.correction).sqrt() + self.epsilon);
        }
    }
}

fn is_zero(row: &[f32]) -> bool {
    row.iter().fold(0, |bits, x| bits | x.to_bits()) == 0
}

#[cfg(test)]
mod tests {
    use burn::grad_clipping::GradientClippingConfig;
    use burn::module::{Module, Param};
    use burn::optim::{AdamWConfig, GradientsParams};
    use burn::tensor::{Device, Tensor, TensorData};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::rng::{below, uniform};

    #[derive(Module, Debug)]
    struct Matrix {
        weight: Param<Tensor<2>>,
    }

    const ROWS: usize = 300;
    const WIDTH: usize = 24;

    /// Random gradients in some of the rows, the last rows without any; the later ones exceed the limit of 1.
    fn gradients() -> Vec<RowGradient> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
        (1..=12)
            .map(|step| {
                let rows: Vec<u32> = (0..ROWS as u32 - 50).filter(|_| below(&mut rng, 3) == 0).collect();
                let values = uniform(&mut rng, rows.len() * WIDTH, 0.005 * step as f32);
                RowGradient { rows, values }
            })
            .collect()
    }

    #[test]
    fn agrees_with_burn() {
        let start = uniform(&mut Xoshiro256PlusPlus::seed_from_u64(1), ROWS * WIDTH, 1.0);
        let device = Device::flex().autodiff();
        let tensor = |values| Tensor::<2>::from_data(TensorData::new(values, [ROWS, WIDTH]), &device);
        let mut burn = AdamWConfig::new()
            .with_epsilon(1e-8)
            .with_weight_decay(0.1)
            .with_grad_clipping(Some(GradientClippingConfig::Norm(1.0)))
            .init();
        let mut module = Matrix { weight: Param::from_tensor(tensor(start.clone())) };
        let own = AdamW { beta_1: 0.9, beta_2: 0.999, epsilon: 1e-8, weight_decay: 0.1, max_norm: Some(1.0) };
        let mut alone = Parameter::new(WIDTH, start);
        let mut shared = alone.clone();
        for (step, gradient) in gradients().iter().enumerate() {
            let mut dense = vec![0.0; ROWS * WIDTH];
            for (&row, values) in gradient.rows.iter().zip(gradient.values.chunks(WIDTH)) {
                dense[row as usize * WIDTH..][..WIDTH].copy_from_slice(values);
            }
            let mut all = GradientsParams::new();
            all.register(module.weight.id, tensor(dense).inner());
            module = burn.step(0.01, module, all);
            own.step(&mut alone, gradient, step as u64 + 1, 0.01, 1);
            own.step(&mut shared, gradient, step as u64 + 1, 0.01, 3);
        }
        let expected = module.weight.val().inner().into_data().try_into_vec::<f32>().expect("f32");
        for (a, b) in alone.weights.iter().zip(&expected) {
            assert!((a - b).abs() < 1e-5, "{a} {b}");
        }
        assert!(alone == shared, "the number of threads changes nothing");
    }
}

use super::*;

/// A tower's weights, or their gradients, by block: conv1, bias1, pool, conv2, bias2.
type Weights<T> = Vec<[Vec<T>; 5]>;

/// Numbers from -1 to 1 without pattern, from a linear congruential generator.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, count: usize, scale: f32) -> Vec<f32> {
        let next = |_| {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 40) as f32 / (1u64 << 23) as f32 * scale - scale
        };
        (0..count).map(next).collect()
    }
}

fn random_weights(tower: &Tower, numbers: &mut Numbers) -> Weights<f32> {
    let c = tower.channels;
    let scale = 1.0 / (c as f32).sqrt();
    let block = |_| [(9 * c * c, 0.6), (c, 1.0), (2 * c * c, 0.5), (9 * c * c, 0.6), (c, 1.0)];
    (0..tower.blocks).map(block).map(|parts| parts.map(|(count, x)| numbers.next(count, x * scale))).collect()
}

fn borrowed(weights: &Weights<f32>) -> Vec<BlockWeights<'_>> {
    let blocks = weights.iter();
    blocks.map(|[conv1, bias1, pool, conv2, bias2]| BlockWeights { conv1, bias1, pool, conv2, bias2 }).collect()
}

fn wide(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().map(|&x| x as f64).collect()
}

/// The slow twin: the definition in double precision, one number after the other, one position at a time.
struct Slow<'a> {
    tower: &'a Tower,
    weights: Weights<f64>,
}

/// What a block of the slow twin computed on its way: x, u, g, u + g·pool.
type SlowBlock = [Vec<f64>; 4];

impl Slow<'_> {
    fn new<'a>(tower: &'a Tower, weights: &Weights<f32>) -> Slow<'a> {
        Slow { tower, weights: weights.iter().map(|block| block.each_ref().map(|part| wide(part))).collect() }
    }

    /// For each pair of neighbours and pair of channels the numbers of (square, output), (neighbour, input), weight.
    fn each_product(&self, mut add: impl FnMut(usize, usize, usize)) {
        let (files, ranks, c) = (self.tower.board.files as isize, self.tower.board.ranks as isize, self.tower.channels);
        for (square, tap) in (0..files * ranks).flat_map(|square| (0..9).map(move |tap| (square, tap))) {
            let (file, rank) = (square % files + tap % 3 - 1, square / files + tap / 3 - 1);
            if !(0..files).contains(&file) || !(0..ranks).contains(&rank) {
                continue;
            }
            let (square, neighbour, tap) = (square as usize, (rank * files + file) as usize, tap as usize);
            for (input, output) in (0..c).flat_map(|input| (0..c).map(move |output| (input, output))) {
                add(square * c + output, neighbour * c + input, (tap * c + input) * c + output);
            }
        }
    }

    fn conv(&self, input: &[f64], weights: &[f64], bias: &[f64]) -> Vec<f64> {
        let mut out = bias.repeat(self.tower.board.squares());
        self.each_product(|to, from, weight| out[to] += input[from] * weights[weight]);
        out
    }

    /// Gradient by the input; adds those by weights and bias.
    fn conv_back(&self, input: &[f64], weights: &[f64], gradient: &[f64], by: [&mut Vec<f64>; 2]) -> Vec<f64> {
        let [by_weights, by_bias] = by;
        let mut by_input = vec![0.0; input.len()];
        self.each_product(|to, from, weight| {
            by_input[from] += gradient[to] * weights[weight];
            by_weights[weight] += gradient[to] * input[from];
        });
        gradient.iter().enumerate().for_each(|(i, x)| by_bias[i % self.tower.channels] += x);
        by_input
    }

    fn forward(&self, input: &[f64]) -> (Vec<f64>, Vec<SlowBlock>) {
        let c = self.tower.channels;
        let squares = self.tower.board.squares();
        let mut x = input.to_vec();
        let mut blocks = Vec::new();
        for [conv1, bias1, pool, conv2, bias2] in &self.weights {
            let u = relu(&self.conv(&relu(&x), conv1, bias1));
            let channel = |channel: usize| u.iter().skip(channel).step_by(c);
            let mut g: Vec<f64> = (0..c).map(|i| channel(i).sum::<f64>() / squares as f64).collect();
            g.extend((0..c).map(|i| channel(i).fold(0.0, |a: f64, &b| a.max(b))));
            let shift: Vec<f64> = (0..c).map(|to| (0..2 * c).map(|from| g[from] * pool[from * c + to]).sum()).collect();
            let v: Vec<f64> = u.iter().enumerate().map(|(i, u)| u + shift[i % c]).collect();
            let after = x.iter().zip(self.conv(&v, conv2, bias2)).map(|(a, b)| a + b).collect();
            blocks.push([std::mem::replace(&mut x, after), u, g, v]);
        }
        (relu(&x), blocks)
    }

    /// Gradient by the input; adds those by the weights to `out`.
    fn backward(&self, input: &[f64], gradient: &[f64], out: &mut Weights<f64>) -> Vec<f64> {
        let c = self.tower.channels;
        let squares = self.tower.board.squares();
        let (t, blocks) = self.forward(input);
        let mut dx = masked(gradient, &t);
        for (([conv1, _, pool, conv2, _], out), [x, u, g, v]) in self.weights.iter().zip(out).zip(&blocks).rev() {
            let [out1, bias1, out_pool, out2, bias2] = out;
            let dv = self.conv_back(v, conv2, &dx, [out2, bias2]);
            let mut du = dv.clone();
            for from in 0..2 * c {
                let mut dg = 0.0;
                for to in 0..c {
                    let shift: f64 = dv.iter().skip(to).step_by(c).sum();
                    out_pool[from * c + to] += g[from] * shift;
                    dg += pool[from * c + to] * shift;
                }
                let squares_of = |square: usize| square * c + from % c;
                if from < c {
                    (0..squares).for_each(|square| du[squares_of(square)] += dg / squares as f64);
                } else {
                    let first = (0..squares).find(|&square| u[squares_of(square)] == g[from]).expect("the maximum");
                    du[squares_of(first)] += dg;
                }
            }
            let da = self.conv_back(&relu(x), conv1, &masked(&du, u), [out1, bias1]);
            dx.iter_mut().zip(masked(&da, x)).for_each(|(dx, da)| *dx += da);
        }
        dx
    }
}

fn relu(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| x.max(0.0)).collect()
}

fn masked(gradient: &[f64], by: &[f64]) -> Vec<f64> {
    gradient.iter().zip(by).map(|(&x, &by)| if by > 0.0 { x } else { 0.0 }).collect()
}

/// All gradients by the fast way: of the input, and of the weights, added to `1.0`.
fn fast(tower: &Tower, weights: &Weights<f32>, x: &[f32], by: &[f32], threads: usize) -> [Vec<Vec<f32>>; 2] {
    let mut tape = Tape::default();
    let mut t = x.to_vec();
    // Twice, the first time with another number of positions: what buffers held before must not matter.
    tower.forward_saving(&borrowed(weights), &mut x[..tower.position()].to_vec(), threads, &mut tape);
    tower.forward_saving(&borrowed(weights), &mut t, threads, &mut tape);
    let mut own: Weights<f32> =
        weights.iter().map(|block| block.each_ref().map(|part| vec![1.0; part.len()])).collect();
    let blocks = own.iter_mut();
    let mut out: Vec<_> =
        blocks.map(|[conv1, bias1, pool, conv2, bias2]| BlockGradients { conv1, bias1, pool, conv2, bias2 }).collect();
    let mut gradient = by.to_vec();
    tower.backward(&mut gradient, threads, &mut tape, &mut out);
    [vec![t, gradient], own.into_iter().flatten().collect()]
}

#[track_caller]
fn assert_close(found: &[f32], exact: &[f64], what: &str) {
    let most = exact.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    assert!(most > 1e-3 && found.len() == exact.len(), "{what}: {most}, {} of {}", found.len(), exact.len());
    for (i, (&a, &b)) in found.iter().zip(exact).enumerate() {
        assert!((a as f64 - b).abs() < 1e-5 * most, "{what}, number {i}: {a} instead of {b}; the largest is {most}");
    }
}

fn check(files: usize, ranks: usize, channels: usize, blocks: usize, positions: usize) {
    let what = format!("{files}×{ranks}, {channels} channels");
    let tower = Tower::new(files, ranks, channels, blocks);
    let mut numbers = Numbers(5);
    let weights = random_weights(&tower, &mut numbers);
    let x = numbers.next(positions * tower.position(), 1.0);
    let by = numbers.next(x.len(), 1.0);

    let slow = Slow::new(&tower, &weights);
    let mut exact_weights: Weights<f64> =
        slow.weights.iter().map(|block| block.each_ref().map(|part| vec![0.0; part.len()])).collect();
    let (mut exact, mut exact_gradient) = (Vec::new(), Vec::new());
    for (x, by) in x.chunks(tower.position()).zip(by.chunks(tower.position())) {
        exact.extend(slow.forward(&wide(x)).0);
        exact_gradient.extend(slow.backward(&wide(x), &wide(by), &mut exact_weights));
    }

    let [outputs, gradients] = fast(&tower, &weights, &x, &by, 1);
    assert_close(&outputs[0], &exact, &what);
    assert_close(&outputs[1], &exact_gradient, &format!("{what}: gradient of the input"));
    for (i, (found, exact)) in gradients.iter().zip(exact_weights.iter().flatten()).enumerate() {
        let found: Vec<f32> = found.iter().map(|x| x - 1.0).collect();
        assert_close(&found, exact, &format!("{what}: gradient of tensor {i}"));
    }

    let (mut packed, mut buffers) = (Packed::default(), Activations::default());
    tower.pack(&borrowed(&weights), &mut packed);
    let mut all = x.clone();
    tower.forward(&packed, &mut all, &mut buffers);
    assert_eq!(all, outputs[0], "{what}: inference");
    let mut last = x[x.len() - tower.position()..].to_vec();
    tower.forward(&packed, &mut last, &mut buffers);
    assert_eq!(last, all[x.len() - tower.position()..], "{what}: a position by itself");
}

#[test]
fn agrees_with_the_slow_twin() {
    for (files, ranks) in [(9, 9), (12, 12), (17, 17), (5, 7)] {
        check(files, ranks, 8, 3, 3);
        check(files, ranks, 32, 2, 2);
    }
    for files in [9, 12, 17] {
        check(files, files, 64, 1, 1);
    }
    check(4, 3, 24, 2, 19);
}

#[test]
fn gradients_are_difference_quotients() {
    const STEP: f64 = 1e-6;
    let tower = Tower::new(4, 3, 8, 2);
    let mut numbers = Numbers(11);
    let weights = random_weights(&tower, &mut numbers);
    let x = numbers.next(tower.position(), 1.0);
    let by = numbers.next(x.len(), 1.0);
    let [outputs, gradients] = fast(&tower, &weights, &x, &by, 1);

    let mut slow = Slow::new(&tower, &weights);
    let loss =
        |slow: &Slow<'_>, x: &[f64]| slow.forward(x).0.iter().zip(&by).map(|(t, &by)| t * by as f64).sum::<f64>();
    let mut moved = wide(&x);
    let exact: Vec<f64> = (0..x.len())
        .map(|i| {
            let [less, more] = [-STEP, STEP].map(|step| {
                moved[i] = x[i] as f64 + step;
                loss(&slow, &moved)
            });
            moved[i] = x[i] as f64;
            (more - less) / (2.0 * STEP)
        })
        .collect();
    assert_close(&outputs[1], &exact, "gradient of the input");
    for (tensor, found) in gradients.iter().enumerate() {
        let (block, part) = (tensor / 5, tensor % 5);
        let exact: Vec<f64> = (0..found.len())
            .map(|i| {
                let before = slow.weights[block][part][i];
                let [less, more] = [-STEP, STEP].map(|step| {
                    slow.weights[block][part][i] = before + step;
                    loss(&slow, &wide(&x))
                });
                slow.weights[block][part][i] = before;
                (more - less) / (2.0 * STEP)
            })
            .collect();
        let found: Vec<f32> = found.iter().map(|x| x - 1.0).collect();
        assert_close(&found, &exact, &format!("gradient of tensor {tensor}"));
    }
}

#[test]
fn the_gradient_of_a_maximum_goes_to_the_first() {
    // Without weights u is bias1 on every square; conv2 has 1 on the middle tap and pool passes each maximum to its
    // channel. The result's gradient, 1 everywhere, comes to 1 at each square of u and to the number of squares at the
    // first. So bias1's is twice the number of squares: all there is, counted once.
    let tower = Tower::new(3, 2, 8, 1);
    let mut weights: Weights<f32> = vec![[vec![0.0; 576], vec![0.5; 8], vec![0.0; 128], vec![0.0; 576], vec![0.0; 8]]];
    for i in 0..8 {
        weights[0][2][(8 + i) * 8 + i] = 1.0;
        weights[0][3][(4 * 8 + i) * 8 + i] = 1.0;
    }
    // Square 0 has input 1 and no other: the middle tap of conv1's gradient is what comes to square 0.
    let mut x = vec![0.0; 48];
    x[..8].fill(1.0);
    let [outputs, gradients] = fast(&tower, &weights, &x, &[1.0; 48], 1);
    assert!(outputs[0].iter().skip(8).all(|&t| t == 1.0), "0.5 and the pooled 0.5");
    assert!(gradients[1].iter().all(|&g| g - 1.0 == 12.0), "{:?}", gradients[1]);
    assert!(gradients[0][4 * 64..5 * 64].iter().all(|&g| g - 1.0 == 7.0), "1 + 6");
}

#[test]
fn threads_change_nothing() {
    let tower = Tower::new(5, 4, 16, 2);
    let mut numbers = Numbers(3);
    let weights = random_weights(&tower, &mut numbers);
    let x = numbers.next(70 * tower.position(), 1.0);
    let by = numbers.next(x.len(), 1.0);
    let one = fast(&tower, &weights, &x, &by, 1);
    for threads in [2, 3, 8] {
        assert_eq!(fast(&tower, &weights, &x, &by, threads), one, "{threads} threads");
    }
}

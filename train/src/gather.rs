//! Sums over rows of flat tables, the inner loops of inference and of training.
//!
//! The loops run over arrays of fixed size so that the compiler keeps the sums in vector registers.

/// Numbers in one vector register (AVX2, f32).
pub(crate) const LANES: usize = 8;

/// Columns that are summed in registers at a time. Widths of tables are multiples of [`LANES`]; multiples of this are
/// fastest.
const BLOCK: usize = 8;

type Lanes = [f32; LANES];

/// Adds the given rows of `table` (rows of `width` numbers) to `out` (`width` numbers), in the order given.
pub(crate) fn add_rows(table: &[f32], width: usize, rows: &[u32], out: &mut [f32]) {
    let row = |index: u32, column: usize, count: usize| {
        let start = index as usize * width + column;
        &table[start..start + count]
    };
    let mut column = 0;
    while column + BLOCK * LANES <= width {
        let sums = &mut out[column..column + BLOCK * LANES];
        let mut total = load::<BLOCK>(sums);
        for &index in rows {
            let lanes = row(index, column, BLOCK * LANES);
            for (sum, lane) in total.iter_mut().zip(lanes.chunks_exact(LANES)) {
                for i in 0..LANES {
                    sum[i] += lane[i];
                }
            }
        }
        store(&total, sums);
        column += BLOCK * LANES;
    }
    while column < width {
        let sums = &mut out[column..column + LANES];
        let mut total = load::<1>(sums);
        for &index in rows {
            let lane = row(index, column, LANES);
            for i in 0..LANES {
                total[0][i] += lane[i];
            }
        }
        store(&total, sums);
        column += LANES;
    }
}

/// Adds `input` (n numbers) times `weights` (n rows of `width` numbers) to `out` (`width` numbers).
pub(crate) fn add_product(weights: &[f32], width: usize, input: &[f32], out: &mut [f32]) {
    let mut column = 0;
    while column + BLOCK * LANES <= width {
        let sums = &mut out[column..column + BLOCK * LANES];
        let mut total = load::<BLOCK>(sums);
        for (&x, row) in input.iter().zip(weights.chunks_exact(width)) {
            let lanes = &row[column..column + BLOCK * LANES];
            for (sum, lane) in total.iter_mut().zip(lanes.chunks_exact(LANES)) {
                for i in 0..LANES {
                    sum[i] = lane[i].mul_add(x, sum[i]);
                }
            }
        }
        store(&total, sums);
        column += BLOCK * LANES;
    }
    while column < width {
        let sums = &mut out[column..column + LANES];
        let mut total = load::<1>(sums);
        for (&x, row) in input.iter().zip(weights.chunks_exact(width)) {
            for i in 0..LANES {
                total[0][i] = row[column + i].mul_add(x, total[0][i]);
            }
        }
        store(&total, sums);
        column += LANES;
    }
}

/// Dot product of `vector` with the sum of the given rows of `table`.
#[inline]
pub(crate) fn dot_rows(table: &[f32], rows: &[u32], vector: &[f32]) -> f32 {
    match vector.len() {
        16 => dot_rows_of::<2>(table, rows, vector),
        32 => dot_rows_of::<4>(table, rows, vector),
        64 => dot_rows_of::<8>(table, rows, vector),
        width => {
            let mut total = [0.0; LANES];
            for &index in rows {
                let row = &table[index as usize * width..(index as usize + 1) * width];
                for (lane, part) in row.chunks_exact(LANES).zip(vector.chunks_exact(LANES)) {
                    for i in 0..LANES {
                        total[i] = lane[i].mul_add(part[i], total[i]);
                    }
                }
            }
            sum_lanes(total)
        }
    }
}

#[inline(always)]
fn dot_rows_of<const N: usize>(table: &[f32], rows: &[u32], vector: &[f32]) -> f32 {
    let width = N * LANES;
    let vector = load::<N>(vector);
    let mut total = [[0.0; LANES]; N];
    for &index in rows {
        let row = &table[index as usize * width..(index as usize + 1) * width];
        for n in 0..N {
            let lane = &row[n * LANES..(n + 1) * LANES];
            for i in 0..LANES {
                total[n][i] = lane[i].mul_add(vector[n][i], total[n][i]);
            }
        }
    }
    let mut sum = total[0];
    for lanes in &total[1..] {
        for i in 0..LANES {
            sum[i] += lanes[i];
        }
    }
    sum_lanes(sum)
}

/// Adds `scale` times `vector` to a row.
#[inline(always)]
pub(crate) fn add_scaled(row: &mut [f32], scale: f32, vector: &[f32]) {
    for (sum, &x) in row.iter_mut().zip(vector) {
        *sum = x.mul_add(scale, *sum);
    }
}

#[inline(always)]
fn sum_lanes(lanes: Lanes) -> f32 {
    let mut half = [0.0; 4];
    for i in 0..4 {
        half[i] = lanes[i] + lanes[i + 4];
    }
    (half[0] + half[2]) + (half[1] + half[3])
}

#[inline(always)]
fn load<const N: usize>(from: &[f32]) -> [Lanes; N] {
    let mut lanes = [[0.0; LANES]; N];
    for (lane, part) in lanes.iter_mut().zip(from.chunks_exact(LANES)) {
        lane.copy_from_slice(part);
    }
    lanes
}

#[inline(always)]
fn store<const N: usize>(lanes: &[Lanes; N], to: &mut [f32]) {
    for (lane, part) in lanes.iter().zip(to.chunks_exact_mut(LANES)) {
        part.copy_from_slice(lane);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 64.0).collect()
    }

    fn check(width: usize) {
        let (height, rows) = (11, [3u32, 10, 0, 3]);
        let table = numbers(height * width);
        let vector = numbers(width);
        // The slow twin: one number after the other, in double precision.
        let sum = |column: usize| rows.iter().map(|&row| table[row as usize * width + column] as f64).sum::<f64>();

        let mut sums = vec![1.0; width];
        add_rows(&table, width, &rows, &mut sums);
        for (column, &found) in sums.iter().enumerate() {
            assert!((found as f64 - 1.0 - sum(column)).abs() < 1e-5, "width {width}, column {column}");
        }

        let expected: f64 = (0..width).map(|column| sum(column) * vector[column] as f64).sum();
        assert!((dot_rows(&table, &rows, &vector) as f64 - expected).abs() < 1e-4, "width {width}");

        let input = numbers(height);
        let mut product = vec![2.0; width];
        add_product(&table, width, &input, &mut product);
        for (column, &found) in product.iter().enumerate() {
            let exact: f64 =
                (0..height).map(|row| input[row] as f64 * table[row * width + column] as f64).sum::<f64>() + 2.0;
            assert!((found as f64 - exact).abs() < 1e-4, "width {width}, column {column}");
        }
    }

    #[test]
    fn sums_agree_with_the_plain_ones() {
        for width in [8, 16, 24, 32, 64, 72, 256] {
            check(width);
        }
    }
}

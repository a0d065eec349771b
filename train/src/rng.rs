//! Random numbers with fixed algorithms: the same seed gives the same numbers everywhere.

use rand::Rng;

/// A number below `bound`, which must not be 0 (the high half of a 64-bit product; the bias is below `bound` / 2^64).
pub(crate) fn below(rng: &mut impl Rng, bound: usize) -> usize {
    ((rng.next_u64() as u128 * bound as u128) >> 64) as usize
}

/// `count` numbers drawn evenly from `-limit..limit`.
pub(crate) fn uniform(rng: &mut impl Rng, count: usize, limit: f32) -> Vec<f32> {
    (0..count).map(|_| ((rng.next_u64() >> 40) as f32 / (1u64 << 23) as f32 - 1.0) * limit).collect()
}

/// Puts `items` into a random order (Fisher and Yates).
pub(crate) fn shuffle<T>(rng: &mut impl Rng, items: &mut [T]) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(rng, last + 1));
    }
}

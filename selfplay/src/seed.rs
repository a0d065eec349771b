//! Seeds: everything random is a function of the run's seed and of what it is for, never of threads or time.

/// The increment of SplitMix64: 2⁶⁴ over the golden ratio, made odd.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014).
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// A seed for what `parts` name, e.g. (run seed, generation, game number). Every part goes through the whole of a
/// SplitMix64 step, so neighbouring numbers give unrelated seeds, and the order of the parts matters.
pub fn derive(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state: u64, part| mix(state.wrapping_add(GAMMA) ^ mix(part.wrapping_add(GAMMA))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mix_is_splitmix64() {
        // The first outputs for seed 1234567, as listed at rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64.
        let expected = [6457827717110365317u64, 3203168211198807973, 9817491932198370423];
        for (i, expected) in expected.into_iter().enumerate() {
            assert_eq!(mix(1234567u64.wrapping_add(GAMMA.wrapping_mul(i as u64 + 1))), expected);
        }
    }

    #[test]
    fn every_part_matters() {
        let seeds = [derive(&[1, 2, 3]), derive(&[1, 3, 2]), derive(&[1, 2]), derive(&[1, 2, 4]), derive(&[0, 2, 3])];
        for (i, a) in seeds.iter().enumerate() {
            assert!(seeds[i + 1..].iter().all(|b| a != b));
        }
    }
}

//! Benchmarks of the rules core; see `benches/`.

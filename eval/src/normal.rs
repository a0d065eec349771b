//! The normal distribution, to double precision.

/// The 97.5 % point of the standard normal distribution.
pub(crate) const Z95: f64 = 1.959963984540054;

/// Standard normal distribution function.
pub(crate) fn cumulative(z: f64) -> f64 {
    let x = z.abs() / std::f64::consts::SQRT_2;
    let tail = 0.5 * complementary_error(x);
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// erfc(x) for x >= 0: the all-positive series of erf near 0, Laplace's continued fraction beyond
/// (Abramowitz and Stegun 7.1.6 and 7.1.14).
fn complementary_error(x: f64) -> f64 {
    let root_pi = std::f64::consts::PI.sqrt();
    if x < 2.0 {
        let mut term = x;
        let mut sum = x;
        let mut n = 0.0;
        while term > sum * 1e-17 {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        1.0 - 2.0 / root_pi * (-x * x).exp() * sum
    } else {
        // From the inside out; 60 levels are converged to rounding for x >= 2.
        let inner = (1..=60).rev().fold(x, |f, k| x + k as f64 / 2.0 / f);
        (-x * x).exp() / (root_pi * inner)
    }
}

#[cfg(test)]
mod tests {
    use super::cumulative;

    /// From the C library's erfc: erfc(-z / sqrt 2) / 2.
    #[test]
    fn distribution_function() {
        for (z, p) in [
            (0.0, 0.5),
            (1.0, 0.8413447460685429),
            (2.0, 0.9772498680518208),
            (-1.0, 0.15865525393145707),
            (-3.0, 0.0013498980316300957),
            (-5.0, 2.866515718791946e-07),
            (-10.0, 7.619853024160593e-24),
        ] {
            let got = cumulative(z);
            assert!((got - p).abs() <= 1e-13 * p, "{z}: {got} {p}");
        }
        assert_eq!(cumulative(f64::INFINITY), 1.0);
        assert_eq!(cumulative(f64::NEG_INFINITY), 0.0);
    }
}

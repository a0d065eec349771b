//! Dense symmetric positive definite systems, small enough that a plain Cholesky factor is all that is needed.

use ndarray::{Array1, Array2};

/// The lower Cholesky factor of a symmetric positive definite matrix.
pub(crate) struct Cholesky(Array2<f64>);

/// The matrix is not positive definite: this column depends on the ones before it.
#[derive(Debug)]
pub(crate) struct NotPositiveDefinite {
    pub(crate) column: usize,
}

impl Cholesky {
    /// Factors `matrix` (only its lower triangle is read). A pivot below 1e-12 of its diagonal entry counts as zero.
    pub(crate) fn new(matrix: &Array2<f64>) -> Result<Self, NotPositiveDefinite> {
        let n = matrix.nrows();
        let mut l = Array2::<f64>::zeros((n, n));
        for j in 0..n {
            for i in j..n {
                let dot: f64 = (0..j).map(|k| l[[i, k]] * l[[j, k]]).sum();
                let rest = matrix[[i, j]] - dot;
                if i > j {
                    l[[i, j]] = rest / l[[j, j]];
                } else if rest.is_finite() && rest > 1e-12 * matrix[[j, j]].abs() {
                    l[[j, j]] = rest.sqrt();
                } else {
                    return Err(NotPositiveDefinite { column: j });
                }
            }
        }
        Ok(Cholesky(l))
    }

    /// Solves `matrix x = b`.
    pub(crate) fn solve(&self, b: &Array1<f64>) -> Array1<f64> {
        let (l, n) = (&self.0, b.len());
        let mut x = b.clone();
        for i in 0..n {
            let dot: f64 = (0..i).map(|k| l[[i, k]] * x[k]).sum();
            x[i] = (x[i] - dot) / l[[i, i]];
        }
        for i in (0..n).rev() {
            let dot: f64 = (i + 1..n).map(|k| l[[k, i]] * x[k]).sum();
            x[i] = (x[i] - dot) / l[[i, i]];
        }
        x
    }

    /// The factor times a vector.
    pub(crate) fn times(&self, x: &Array1<f64>) -> Array1<f64> {
        self.0.dot(x)
    }

    /// The inverse of the matrix, exactly symmetric.
    pub(crate) fn inverse(&self) -> Array2<f64> {
        let n = self.0.nrows();
        let mut inverse = Array2::<f64>::zeros((n, n));
        for j in 0..n {
            let mut unit = Array1::zeros(n);
            unit[j] = 1.0;
            let column = self.solve(&unit);
            for i in j..n {
                inverse[[i, j]] = column[i];
                inverse[[j, i]] = column[i];
            }
        }
        inverse
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use ndarray::array;

    /// Inverse of a matrix worked out by hand: det = 4*3 - 2*2 = 8.
    #[test]
    fn inverse_by_hand() {
        let factor = Cholesky::new(&array![[4.0, 2.0], [2.0, 3.0]]).unwrap();
        let want = array![[3.0 / 8.0, -2.0 / 8.0], [-2.0 / 8.0, 4.0 / 8.0]];
        assert!((factor.inverse() - want).iter().all(|d| d.abs() < 1e-15));
        let x = factor.solve(&array![8.0, 16.0]);
        assert!((x - array![-1.0, 6.0]).iter().all(|d| d.abs() < 1e-14));
    }

    #[test]
    fn dependent_column_is_named() {
        let singular = array![[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 1.0]];
        assert_eq!(Cholesky::new(&singular).err().unwrap().column, 1);
        assert_eq!(Cholesky::new(&array![[0.0]]).err().unwrap().column, 0);
        assert!(Cholesky::new(&array![[f64::NAN]]).is_err());
    }
}

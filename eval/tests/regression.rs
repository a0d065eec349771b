//! Regressions against golden vectors (see `data/README.md`), by hand, and at the edges.
#![allow(clippy::unwrap_used)]

use eval::design::*;
use eval::regression::*;
use serde_json::Value;

fn floats(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap();
    list.iter().map(|v| v.as_f64().unwrap()).collect()
}

fn assert_all_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= tolerance, "{what}: got {got}, expected {want}");
    }
}

fn dense(rows: &[(u64, &[i16], f64, f64)]) -> Design {
    let mut builder = DesignBuilder::new(rows.first().map_or(0, |r| r.1.len()));
    for &(cluster, x, y, weight) in rows {
        // Backwards and with zeros: the builder sorts and drops.
        let entries: Vec<(u16, i16)> = (0..x.len()).rev().map(|j| (j as u16, x[j])).collect();
        builder.push(cluster, &entries, y, weight).unwrap();
    }
    builder.finish()
}

/// The golden rows in an order given by `order`, to see that regrouping changes nothing.
fn golden_design(v: &Value, order: impl Iterator<Item = usize>) -> Design {
    let (y, games) = (floats(&v["y"]), floats(&v["game"]));
    let x: Vec<Vec<i16>> =
        v["X"].as_array().unwrap().iter().map(|row| floats(row).iter().map(|&x| x as i16).collect()).collect();
    let rows: Vec<_> = order.map(|i| (games[i] as u64 + 1000, x[i].as_slice(), y[i], 1.0)).collect();
    dense(&rows)
}

fn errors(covariance: &ndarray::Array2<f64>) -> Vec<f64> {
    covariance.diag().iter().map(|v| v.sqrt()).collect()
}

#[test]
fn golden_vectors() {
    let file: Value = serde_json::from_str(include_str!("data/piece_regression_golden.json")).unwrap();
    for v in file["vectors"].as_array().unwrap() {
        let want = |key: &str| floats(&v["expected"][key]);
        let rows = v["y"].as_array().unwrap().len();
        let stride = 7; // coprime to every row count of the file
        assert_ne!(rows % stride, 0);
        let shuffled: Vec<usize> = (0..rows).map(|i| i * stride % rows).collect();
        for design in [golden_design(v, 0..rows), golden_design(v, shuffled.into_iter())] {
            let logit = fit(&design, Model::Logistic, 0.0).unwrap();
            assert_all_close(&logit.coefficients, &want("beta_logit"), 1e-6, "logit");
            assert_all_close(&errors(&logit.bread), &want("se_naive"), 1e-6, "naive");
            let clustered = errors(&logit.covariance().unwrap());
            let key = "se_cluster_CR0_times_sqrt_G_over_Gm1";
            assert_all_close(&clustered, &want(key), 1e-6, "clustered");
            let ridge = fit(&design, Model::Logistic, 1.0).unwrap();
            assert_all_close(&ridge.coefficients, &want("beta_logit_ridge1"), 1e-6, "ridge");
            let tanh = fit(&design, Model::Tanh, 0.0).unwrap();
            assert_all_close(&tanh.coefficients, &want("tanh_mse_w"), 1e-5, "tanh");
        }
    }
}

/// y = b x by hand: x = 1, 2, 3 and y = 1, 3, 2 give b = 13/14; residuals 1/14, 16/14, -11/14. Clusters {1, 2}, {3}:
/// scores 1/14 + 32/14 and -33/14, so the sandwich is 2 (33/14)^2 / 14^2 times G/(G-1) = 2.
#[test]
fn linear_by_hand() {
    let design = dense(&[(1, &[1], 1.0, 1.0), (1, &[2], 3.0, 1.0), (2, &[3], 2.0, 1.0)]);
    let fit = fit(&design, Model::Linear, 0.0).unwrap();
    assert_all_close(&fit.coefficients, &[13.0 / 14.0], 1e-12, "b");
    assert_all_close(fit.scores.as_slice().unwrap(), &[33.0 / 14.0, -33.0 / 14.0], 1e-12, "s");
    let variance = fit.covariance().unwrap()[[0, 0]];
    assert!((variance - 4.0 * (33.0f64 / 14.0).powi(2) / 196.0).abs() < 1e-12);
    assert_eq!(fit.information, [14.0]);
}

/// A weight of 2 is the row twice, a weight of 0 no row, and equal cluster weights sum to 1.
#[test]
fn weights() {
    let (a, b, c): (&[i16], &[i16], &[i16]) = (&[1, 0], &[-1, 2], &[0, 1]);
    let weighted = dense(&[(1, a, 1.0, 2.0), (1, b, 0.5, 1.0), (2, c, 0.0, 1.0), (2, a, 0.0, 1.0), (3, c, 1.0, 0.0)]);
    let repeated = dense(&[(1, a, 1.0, 1.0), (1, a, 1.0, 1.0), (1, b, 0.5, 1.0), (2, c, 0.0, 1.0), (2, a, 0.0, 1.0)]);
    let of = |design: &Design| fit(design, Model::Logistic, 0.5).unwrap();
    assert_all_close(&of(&weighted).coefficients, &of(&repeated).coefficients, 1e-12, "weight 2");
    assert_eq!(weighted.clusters_with(), [2, 2]);
    let (mut one, mut two) = (weighted.clone(), repeated.clone());
    one.weight_clusters_equally();
    two.weight_clusters_equally();
    assert_all_close(&of(&one).coefficients, &of(&two).coefficients, 1e-12, "equal");
    // Cluster 1 weighs 1 instead of 3.
    assert!((of(&one).coefficients[0] - of(&weighted).coefficients[0]).abs() > 1e-3);
}

/// A pseudo-random game of the bootstrap and speed tests: two features, outcome by a fixed rule.
fn toy(clusters: u64) -> Design {
    let mut builder = DesignBuilder::new(3);
    let mut state = 1u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    for cluster in 0..clusters {
        let y = next(3) as f64 / 2.0;
        for _ in 0..4 {
            let mut entry = |j| (j, next(5) as i16 - 2 + (y * 2.0) as i16 - 1);
            let entries = [entry(0), entry(1), entry(2)];
            builder.push(cluster, &entries, y, 1.0).unwrap();
        }
    }
    builder.finish()
}

#[test]
fn bootstraps_agree_with_the_sandwich() {
    let design = toy(2000);
    let fit = fit(&design, Model::Logistic, 0.01).unwrap();
    let sandwich = errors(&fit.covariance().unwrap());
    let one_step = fit.bootstrap_one_step(600, 5);
    let refit = fit.bootstrap_refit(&design, Model::Logistic, 0.01, 600, 5).unwrap();
    for (j, &error) in sandwich.iter().enumerate() {
        for (name, replicates) in [("one step", &one_step), ("refit", &refit)] {
            let sd = replicates.column(j).std(1.0);
            // A standard deviation of 600 draws is good to 3 %; 4 of those.
            assert!((sd / error - 1.0).abs() < 0.12, "{name} {j}: {sd} {}", error);
        }
        // The same resamples: one step is close to the refit, replicate by replicate.
        let gap = (&one_step.column(j) - &refit.column(j)).mapv(f64::abs).mean().unwrap();
        assert!(gap < 0.1 * error, "{gap}");
    }
    // The seed decides, not the threads.
    assert_eq!(one_step, fit.bootstrap_one_step(600, 5));
    assert_ne!(one_step, fit.bootstrap_one_step(600, 6));
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one_step, single.install(|| fit.bootstrap_one_step(600, 5)));
    let again = single.install(|| eval::regression::fit(&design, Model::Logistic, 0.01)).unwrap();
    assert_eq!(again.coefficients, fit.coefficients);
}

#[test]
fn degenerate_designs() {
    let run = |rows: &[(u64, &[i16], f64, f64)], ridge| fit(&dense(rows), Model::Logistic, ridge);
    assert!(matches!(run(&[], 1.0), Err(RegressionError::Empty { .. })));
    // A feature that is always 0, and one that repeats another.
    let zero: &[(u64, &[i16], f64, f64)] = &[(1, &[1, 0], 1.0, 1.0), (2, &[1, 0], 0.0, 1.0)];
    assert_eq!(run(zero, 0.0).unwrap_err(), RegressionError::Dependent { feature: 1 });
    assert_eq!(run(zero, 0.1).unwrap().coefficients, [0.0, 0.0]);
    let twice: &[(u64, &[i16], f64, f64)] = &[(1, &[1, 1], 1.0, 1.0), (2, &[1, 1], 0.0, 1.0), (3, &[2, 2], 1.0, 1.0)];
    assert_eq!(run(twice, 0.0).unwrap_err(), RegressionError::Dependent { feature: 1 });
    let shared = run(twice, 0.1).unwrap().coefficients;
    assert!((shared[0] - shared[1]).abs() < 1e-9);
    // Perfect separation: at infinity without a ridge, finite with one.
    let separated: &[(u64, &[i16], f64, f64)] = &[(1, &[1], 1.0, 1.0), (2, &[-1], 0.0, 1.0)];
    assert!(run(separated, 0.0).is_err());
    assert!(run(separated, 0.01).unwrap().coefficients[0].is_finite());
    // One cluster has no clustered error.
    assert!(run(&[(1, &[1], 0.5, 1.0)], 0.1).unwrap().covariance().is_none());
    let bad = run(&[(1, &[1], 1.5, 1.0)], 0.1).unwrap_err();
    assert_eq!(bad, RegressionError::Response(1.5));
    assert!(matches!(run(separated, f64::NAN), Err(RegressionError::Ridge(_))));
    assert!(matches!(run(separated, -1.0), Err(RegressionError::Ridge(_))));
}

#[test]
fn bad_rows_are_refused() {
    let mut builder = DesignBuilder::new(2);
    assert!(matches!(builder.push(1, &[(2, 1)], 0.0, 1.0), Err(RowError::Feature { .. })));
    let twice = [(1, 30000), (1, 30000)];
    assert!(matches!(builder.push(1, &twice, 0.0, 1.0), Err(RowError::Value { .. })));
    for (y, w) in [(f64::NAN, 1.0), (0.0, f64::INFINITY), (0.0, -1.0)] {
        assert!(matches!(builder.push(1, &[], y, w), Err(RowError::Number { .. })));
    }
    assert_eq!(builder.finish().rows(), 0);
}

/// Slopes of strata, by hand: with y = k_s 3 x exactly, k = 1/2, 1 and 3/2 in strata of equal weight has the mean 1 already; the
/// ridge is far too small to matter, the prior of the slopes too with so many rows.
#[test]
fn slopes_of_strata_are_found() {
    let truth = [0.5, 1.0, 1.5];
    let mut builder = DesignBuilder::new(2);
    for cluster in 0..9000u64 {
        let stratum = (cluster % 3) as u8;
        let x = [(cluster % 5) as i16 - 2, (cluster % 7) as i16 - 3];
        let y = truth[stratum as usize] * (3.0 * f64::from(x[0]) - 2.0 * f64::from(x[1]));
        builder.push_in(stratum, cluster, &[(0, x[0]), (1, x[1])], y, 1.0).unwrap();
    }
    let mut design = builder.finish();
    let sloped = fit_with_slopes(&mut design, Model::Linear, 1e-9).unwrap();
    assert_all_close(&sloped.coefficients, &[3.0, -2.0], 1e-3, "coefficients");
    assert_all_close(&[0, 1, 2].map(|s| design.slope(s)), &truth, 1e-3, "slopes");
    // One stratum alone is an ordinary regression on its rows.
    let part = design.only(2);
    assert_eq!((part.rows(), part.occupied_clusters(), part.clusters()), (3000, 3000, 9000));
    assert_all_close(&fit(&part, Model::Linear, 1e-9).unwrap().coefficients, &[4.5, -3.0], 1e-6, "alone");
    // Without strata nothing changes.
    let mut plain = dense(&[(1, &[1, 0], 2.0, 1.0), (2, &[0, 1], 3.0, 1.0), (3, &[1, 1], 4.0, 1.0)]);
    let usual = fit(&plain, Model::Linear, 0.1).unwrap();
    assert_eq!(fit_with_slopes(&mut plain, Model::Linear, 0.1).unwrap().coefficients, usual.coefficients);
}

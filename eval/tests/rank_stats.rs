//! Agreement of value tables against golden vectors (see `data/README.md`).
#![allow(clippy::unwrap_used)]

use eval::rank_stats::*;
use serde_json::Value;

fn floats(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap();
    list.iter().map(|v| v.as_f64().unwrap()).collect()
}

#[test]
fn golden_vectors() {
    let file: Value = serde_json::from_str(include_str!("data/rank_stats_golden.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len(), 13);
    for v in vectors {
        let (x, y) = (floats(&v["x"]), floats(&v["y"]));
        let (name, want) = (v["name"].as_str().unwrap(), &v["expected"]);
        let check = |got: Option<f64>, key: &str| match (got, &want[key]) {
            // "nan" in the file is `None` here.
            (None, Value::String(_)) => {}
            (_, Value::Null) => {}
            (Some(got), want) if (got - want.as_f64().unwrap()).abs() <= 1e-9 => {}
            (got, want) => panic!("{name} {key}: got {got:?}, expected {want}"),
        };
        let pairs = PairCounts::of(&x, &y);
        check(pairs.tau_b(), "kendall_tau_b");
        check(spearman(&x, &y), "spearman");
        if want["concordant"].is_null() {
            assert_eq!(name, "all tied x -> nan");
            assert_eq!(pairs.somers_d(), None);
            continue;
        }
        check(pairs.somers_d(), "tau_x_ref");
        check(Some(pairs.concordant as f64), "concordant");
        check(Some(pairs.discordant as f64), "discordant");
        check(Some(pairs.tied_x as f64), "ties_x_only");
        check(Some(pairs.tied_y as f64), "ties_y_only");
        check(Some(pairs.tied_both as f64), "ties_both");
        check(pearson(&x, &y), "pearson");
        let fit = log_fit(&x, &y).unwrap();
        check(Some(fit.scale), "scale");
        check(Some(fit.sd), "log_sd_unbiased");
        check(Some(fit.max), "max_abs_log");
        let ln = |v: &[f64]| v.iter().map(|x| x.ln()).collect::<Vec<_>>();
        check(pearson(&ln(&x), &ln(&y)), "log_pearson");
    }
}

/// The slope of an exact power law is its exponent whatever the scale; with Sxx = Syy and correlation above 0 it is 1.
#[test]
fn log_slope_by_construction() {
    let x = [1.0f64, 2.0, 3.0, 8.0, 20.0];
    for exponent in [-2.0, -0.5, 0.3, 1.0, 2.5] {
        let y = x.map(|v| 7.0 * v.powf(exponent));
        assert!((log_slope(&x, &y).unwrap() - exponent).abs() < 1e-12);
    }
    let swapped = [2.0, 1.0, 3.0, 8.0, 20.0];
    assert!((log_slope(&x, &swapped).unwrap() - 1.0).abs() < 1e-12);
    // Deming's slope by the formula at Sxx = 2, Syy = 4, Sxy = 2 (logs -1, 0, 1 and -1, -1, 2; means 0):
    // Sxx = 2, Syy = 6, Sxy = 3: (4 + sqrt(16 + 36)) / 6.
    let e = |v: [f64; 3]| v.map(f64::exp);
    let slope = log_slope(&e([-1.0, 0.0, 1.0]), &e([-1.0, -1.0, 2.0])).unwrap();
    assert!((slope - (4.0 + 52f64.sqrt()) / 6.0).abs() < 1e-12);
}

#[test]
fn undetermined_is_none() {
    assert_eq!(PairCounts::of(&[], &[]).tau_b(), None);
    assert_eq!(PairCounts::of(&[1.0], &[1.0]).somers_d(), None);
    assert_eq!(spearman(&[1.0], &[2.0]), None);
    assert_eq!(pearson(&[1.0, 1.0], &[1.0, 2.0]), None);
    assert_eq!(log_fit(&[1.0], &[1.0]), None);
    assert_eq!(log_fit(&[1.0, 2.0], &[1.0, 0.0]), None);
    assert_eq!(log_fit(&[1.0, 2.0], &[1.0, -3.0]), None);
    assert_eq!(log_slope(&[1.0, 1.0], &[1.0, 1.0]), None);
    assert_eq!(log_slope(&[1.0, 1.0], &[1.0, 2.0]), None);
    // A constant estimate is fully compressed.
    assert_eq!(log_slope(&[1.0, 2.0], &[1.0, 1.0]), Some(0.0));
}

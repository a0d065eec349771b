//! Match statistics against golden vectors (see `data/README.md`) and at degenerate counts.
#![allow(clippy::unwrap_used)]

use eval::match_stats::*;
use serde_json::Value;

fn golden(kind: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("data/match_stats_golden.json")).unwrap();
    let vectors: Vec<Value> =
        file["vectors"].as_array().unwrap().iter().filter(|v| v["kind"] == kind).cloned().collect();
    assert!(!vectors.is_empty(), "no vectors of kind {kind}");
    vectors
}

/// Every golden vector has a test: its kind is one of those read here or in `pool.rs`.
#[test]
fn all_kinds_are_read() {
    let here = ["elo_report", "llr", "sprt_bounds", "expected_score"];
    let in_pool = ["davidson", "davidson_fit2", "bayeselo", "bayeselo_fit"];
    let read: usize = here.iter().chain(&in_pool).map(|kind| golden(kind).len()).sum();
    assert_eq!(read, 61);
}

/// A number, or `None` for the golden file's null and its "inf" strings.
fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn assert_close(got: Option<f64>, want: &Value, tolerance: f64, what: &str) {
    match (got, number(want)) {
        (None, None) => {}
        (Some(got), Some(want)) if (got - want).abs() <= tolerance => {}
        _ => panic!("{what}: got {got:?}, expected {want}"),
    }
}

fn with_results<T>(counts: &Value, f: impl FnOnce(&dyn Results) -> T) -> T {
    let counts: Vec<u64> = counts.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    match counts.len() {
        3 => f(&Trinomial(counts.try_into().unwrap())),
        5 => f(&Pentanomial(counts.try_into().unwrap())),
        n => panic!("{n} counts"),
    }
}

#[test]
fn elo_report() {
    for v in golden("elo_report") {
        let (id, want) = (v["id"].as_str().unwrap(), &v["expected"]);
        let (summary, units) = with_results(&v["input"]["counts"], |r| (r.summary(), r.units()));
        assert_eq!(units, want["n_units"].as_u64().unwrap(), "{id}");
        assert_close(Some(summary.score), &want["score"], 1e-6, id);
        assert_close(summary.elo, &want["elo"], 1e-6, id);
        assert_close(summary.elo_error, &want["elo_err95"], 1e-6, id);
        assert_close(summary.nelo, &want["nelo"], 1e-6, id);
        assert_close(summary.nelo_error, &want["nelo_err95"], 1e-6, id);
        assert_close(Some(summary.los), &want["los"], 1e-6, id);
        if units >= MIN_UNITS_FOR_PLAIN_INTERVAL {
            assert_close(summary.elo_low, &want["elo_lo"], 1e-6, id);
            assert_close(summary.elo_high, &want["elo_hi"], 1e-6, id);
        }
    }
}

#[test]
fn log_likelihood_ratios() {
    for v in golden("llr") {
        let (id, want) = (v["id"].as_str().unwrap(), &v["expected"]);
        let bound = |name: &str| v["input"][name].as_f64().unwrap();
        let (low, high) = (bound("elo0"), bound("elo1"));
        let (logistic, normalized) =
            with_results(&v["input"]["counts"], |r| (r.llr_logistic(low, high), r.llr_normalized(low, high)));
        assert_close(Some(logistic), &want["llr_logistic"], 1e-5, id);
        assert_close(Some(normalized), &want["llr_normalized"], 1e-5, id);
    }
}

#[test]
fn sprt_bounds() {
    for v in golden("sprt_bounds") {
        let input = |name: &str| v["input"][name].as_f64().unwrap();
        let sprt = Sprt::new(0.0, 50.0, input("alpha"), input("beta")).unwrap();
        let (lower, upper) = sprt.bounds();
        assert_close(Some(lower), &v["expected"]["lower"], 1e-6, "lower");
        assert_close(Some(upper), &v["expected"]["upper"], 1e-6, "upper");
    }
}

#[test]
fn expected_scores() {
    for v in golden("expected_score") {
        let elo = v["input"]["elo"].as_f64().unwrap();
        assert_close(Some(expected_score(elo)), &v["expected"]["score"], 1e-6, "");
        assert!((elo_of_score(expected_score(elo)).unwrap() - elo).abs() < 1e-9);
    }
}

/// Every small or lopsided result gives finite numbers and a verdict on the right side (fastchess issues 877 and 879,
/// cutechess 881, fishtest 115: hangs, NaN and infinite bounds at such counts).
#[test]
fn degenerate_counts_stay_finite() {
    let mut cases = vec![[0; 5]];
    for cell in 0..5 {
        for n in [1, 2, 6, 1000, 1_000_000] {
            let mut counts = [0; 5];
            counts[cell] = n;
            cases.push(counts);
            for other in 0..5 {
                let mut two = counts;
                two[other] += 1;
                cases.push(two);
            }
        }
    }
    let bounds = [(0.0, 50.0), (-20.0, 20.0), (0.0, 1.0), (400.0, 500.0), (-900.0, -800.0), (0.0, 3000.0)];
    for counts in cases {
        let results = Pentanomial(counts);
        let s = results.summary();
        let numbers = [Some(s.score), s.elo, s.elo_error, s.elo_low, s.elo_high, s.nelo, s.nelo_error, Some(s.los)];
        assert!(numbers.iter().flatten().all(|x| x.is_finite()), "{s:?}");
        assert!((0.0..=1.0).contains(&s.los));
        let swapped = Pentanomial([counts[4], counts[3], counts[2], counts[1], counts[0]]);
        for (low, high) in bounds {
            let llr = results.llr_normalized(low, high);
            assert!(llr.is_finite(), "{counts:?} [{low}, {high}]: {llr}");
            assert!(results.llr_logistic(low, high).is_finite());
            // Symmetry: swapping the players mirrors the test.
            let mirrored = swapped.llr_normalized(-high, -low);
            assert!(
                (llr + mirrored).abs() <= 1e-6 * llr.abs().max(1.0),
                "{counts:?} [{low}, {high}]: {llr} {mirrored}"
            );
        }
    }
}

#[test]
fn verdicts() {
    let check = |counts, low, high, want| {
        let sprt = Sprt::new(low, high, 0.05, 0.05).unwrap();
        let results = Pentanomial(counts);
        assert_eq!(sprt.verdict(&results), want, "{counts:?} llr {}", sprt.llr(&results));
    };
    // Nothing played, or one pair lost, decides nothing (fastchess issue 879: H0 accepted after one pair).
    check([0; 5], 0.0, 50.0, Verdict::Undecided);
    check([1, 0, 0, 0, 0], 0.0, 50.0, Verdict::Undecided);
    check([0, 0, 0, 0, 1], 0.0, 50.0, Verdict::Undecided);
    // 728 games all but one drawn (cutechess issue 881): level play refutes an advantage of 50.
    check([0, 1, 362, 1, 0], 0.0, 50.0, Verdict::Reject);
    check([40, 0, 0, 0, 0], 0.0, 50.0, Verdict::Reject);
    check([0, 0, 0, 0, 40], 0.0, 50.0, Verdict::Accept);
    // Golden vector llr-12 (2.9455 against the bound 2.9444) and llr-15.
    check([379, 10170, 21828, 10640, 343], 0.0, 2.0, Verdict::Accept);
    check([5, 5, 36, 22, 22], 0.0, 30.0, Verdict::Accept);
}

#[test]
fn bad_tests_are_refused() {
    for (low, high, alpha, beta) in [
        (50.0, 0.0, 0.05, 0.05),
        (5.0, 5.0, 0.05, 0.05),
        (f64::NAN, 5.0, 0.05, 0.05),
        (0.0, f64::INFINITY, 0.05, 0.05),
        (0.0, 5.0, 0.0, 0.05),
        (0.0, 5.0, 0.05, 0.5),
        (0.0, 5.0, f64::NAN, 0.05),
    ] {
        assert!(Sprt::new(low, high, alpha, beta).is_err());
    }
}

/// Simulated matches at either hypothesis: wrong decisions stay near the promised 5 %, and the mean length is that of
/// the simulation notes (about 140 pairs for bounds 50 apart).
#[test]
fn error_rates() {
    use rand::{RngExt, SeedableRng};
    let sprt = Sprt::new(0.0, 50.0, 0.05, 0.05).unwrap();
    let base = [0.1, 0.2, 0.4, 0.2, 0.1];
    for (truth, wrong) in [(0.0, Verdict::Accept), (50.0, Verdict::Reject)] {
        // Shift weight from losses to wins until mean and deviation give the wanted normalised Elo.
        let shifted = |e: f64| [-1.0, -0.5, 0.0, 0.5, 1.0].map(|x| e * x);
        let nelo = |e: f64| {
            let p: Vec<f64> = base.iter().zip(shifted(e)).map(|(b, s)| b + s).collect();
            let mean: f64 = p.iter().enumerate().map(|(i, p)| p * i as f64 / 4.0).sum();
            let variance: f64 = p.iter().enumerate().map(|(i, p)| p * (i as f64 / 4.0 - mean).powi(2)).sum();
            (mean - 0.5) / (2.0 * variance).sqrt() * NELO_PER_SIGMA
        };
        let (mut low, mut high) = (0.0, 0.1);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if nelo(middle) < truth { low = middle } else { high = middle }
        }
        let shift = shifted(low);
        let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(11);
        let (mut errors, mut pairs) = (0, 0);
        let trials = 400;
        for _ in 0..trials {
            let mut results = Pentanomial::default();
            let verdict = loop {
                for _ in 0..4 {
                    let mut u: f64 = rng.random();
                    let points = (0..4).find(|&i| {
                        u -= base[i] + shift[i];
                        u < 0.0
                    });
                    results.add(points.unwrap_or(4));
                }
                let verdict = sprt.verdict(&results);
                if verdict != Verdict::Undecided {
                    break verdict;
                }
            };
            errors += u64::from(verdict == wrong);
            pairs += results.units();
        }
        // 5 % of 400 is 20 with a standard deviation of 4.4.
        assert!(errors <= 33, "truth {truth}: {errors} errors");
        let mean = pairs / trials;
        assert!((110..=180).contains(&mean), "truth {truth}: {mean} pairs");
    }
}

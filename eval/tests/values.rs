//! Piece values from simulated games whose true values are known, and at the edges.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use eval::phase::Phase;
use eval::reference::ReferenceTable;
use eval::values::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The truth of the simulations, in points.
const TRUTH: [(&str, f64); 7] = [("a", 20.0), ("b", 12.0), ("c", 8.0), ("d", 6.0), ("e", 5.0), ("f", 4.0), ("g", 3.0)];

/// Logits per point.
const SCALE: f64 = 0.12;

fn table(factor: f64) -> ReferenceTable {
    let rows: String = TRUTH.iter().map(|(id, value)| format!("{id},{}\n", value * factor)).collect();
    ReferenceTable::from_csv(&format!("id,value\n{rows}"), Path::new("truth.csv")).unwrap()
}

fn features() -> Vec<Feature> {
    let feature = |id: &&str| Feature { id: id.to_string(), compared: true };
    TRUTH.iter().map(|(id, _)| id).map(feature).collect()
}

fn material(method: Method) -> Material {
    Material::new(method, features(), &[0, 1, 2, 3, 4, 5, 6])
}

struct Simulation {
    rng: Xoshiro256PlusPlus,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        Simulation { rng: Xoshiro256PlusPlus::seed_from_u64(seed) }
    }

    /// Differences of -1, 0 or 1 of every piece and a result (30 % of the games that could be lost are drawn) that
    /// has exactly the model's mean.
    fn game(&mut self) -> (Vec<(u16, i16)>, f32) {
        let diff: Vec<(u16, i16)> =
            (0..TRUTH.len()).map(|j| (j as u16, self.rng.random_range(0..3u32) as i16 - 1)).collect();
        let points: f64 = diff.iter().map(|&(j, d)| TRUTH[j as usize].1 * f64::from(d)).sum();
        let p = 1.0 / (1.0 + (-SCALE * points).exp());
        let draw = 0.6 * p.min(1.0 - p);
        let u: f64 = self.rng.random();
        let outcome = if u < p - draw / 2.0 {
            1.0
        } else if u < p + draw / 2.0 {
            0.5
        } else {
            0.0
        };
        (diff, outcome)
    }
}

fn push(material: &mut Material, game: u64, diff: &[(u16, i16)], outcome: f32) {
    let row = MaterialRow { game, diff, constant: 1, outcome, weight: 1.0, phase: Phase::Opening };
    material.push(&row).unwrap();
}

fn simulated(games: u64, seed: u64) -> Material {
    let mut simulation = Simulation::new(seed);
    let mut material = material(Method::Outcome);
    for game in 0..games {
        let (diff, outcome) = simulation.game();
        // Long games have more rows and must not count more.
        for _ in 0..1 + game % 8 {
            push(&mut material, game, &diff, outcome);
        }
    }
    material
}

#[test]
fn known_values_are_recovered() {
    let config = ValuesConfig::default();
    let values = simulated(6000, 1).measure(&config, Some(&table(1.0)), 7).unwrap();
    assert_eq!((values.games, values.unit), (6000, Unit::Reference));
    assert_eq!(values.rows, (0..6000).map(|g| 1 + g % 8).sum::<u64>());
    assert!((values.scale / SCALE).ln().abs() < 0.1, "{}", values.scale);
    for (piece, (id, truth)) in values.pieces.iter().zip(TRUTH) {
        assert!(piece.identified && piece.id == id);
        assert_eq!(piece.reference, Some(truth));
        let (value, se) = (piece.value.unwrap(), piece.se_log.unwrap());
        assert!((value / truth).ln().abs() < 3.5 * se, "{id}: {value} {se}");
        assert!(piece.low.unwrap() < value && value < piece.high.unwrap());
        // Differences are independent and nonzero in 2/3 of the games.
        assert!(piece.information_share > 0.5);
        assert!(piece.games_unbalanced.abs_diff(4000) < 200);
    }
    let agreement = &values.agreement;
    assert_eq!(agreement.pieces, 7);
    assert!(agreement.somers_d.unwrap().value > 0.9);
    assert!(agreement.log_sd.unwrap().value < 0.12);
    let slope = agreement.log_slope.unwrap();
    assert!(slope.low < 1.0 && 1.0 < slope.high, "{slope:?}");
    // Outcomes are symmetric: the constant is 0.
    let constant = values.constant.unwrap();
    assert!(constant.low < 0.0 && 0.0 < constant.high);

    // The reference's unit is its own affair.
    let scaled = simulated(6000, 1).measure(&config, Some(&table(50.0)), 7).unwrap();
    let ratio = scaled.pieces[3].value.unwrap() / values.pieces[3].value.unwrap();
    assert!((ratio - 50.0).abs() < 1e-9);
    let gap = scaled.agreement.log_sd.unwrap().value - agreement.log_sd.unwrap().value;
    assert!(gap.abs() < 1e-9);

    // Without a reference, values are logits.
    let bare = simulated(6000, 1).measure(&config, None, 7).unwrap();
    assert_eq!((bare.unit, bare.scale), (Unit::Logit, 1.0));
    let logits = bare.pieces[0].value.unwrap();
    assert!((logits / (values.pieces[0].value.unwrap() * values.scale) - 1.0).abs() < 1e-9);
    assert_eq!(bare.agreement.somers_d, None);

    // Full refits tell the same story as single steps.
    let refit = ValuesConfig { bootstrap: Bootstrap::Refit, replicates: 100, ..config };
    let slow = simulated(6000, 1).measure(&refit, Some(&table(1.0)), 7).unwrap();
    for (a, b) in slow.pieces.iter().zip(&values.pieces) {
        assert_eq!(a.value, b.value);
        assert!((a.low.unwrap() / b.low.unwrap()).ln().abs() < 0.1);
        assert!((a.high.unwrap() / b.high.unwrap()).ln().abs() < 0.1);
    }
}

/// 95 % intervals over games cover the truth about 95 % of the time; taking the 6 rows of a game for 6 games does not.
#[test]
fn coverage() {
    let covered = |rows_are_games: bool, simulations: u64| {
        let (mut hits, mut all) = (0u32, 0);
        for seed in 0..simulations {
            let mut simulation = Simulation::new(100 + seed);
            let mut material = material(Method::Outcome);
            for game in 0..1500 {
                let (diff, outcome) = simulation.game();
                for row in 0..6 {
                    let game = if rows_are_games { game * 6 + row } else { game };
                    push(&mut material, game, &diff, outcome);
                }
            }
            let config = ValuesConfig { replicates: 300, ..ValuesConfig::default() };
            let values = material.measure(&config, None, seed).unwrap();
            for (piece, (_, truth)) in values.pieces.iter().zip(TRUTH) {
                if let (Some(low), Some(high)) = (piece.low, piece.high) {
                    all += 1;
                    hits += u32::from(low < truth * SCALE && truth * SCALE < high);
                }
            }
        }
        assert!(all > 6 * simulations, "{all}");
        f64::from(hits) / all as f64
    };
    // 560 intervals: a standard error of one point if they were independent.
    let clustered = covered(false, 80);
    assert!((0.915..0.985).contains(&clustered), "{clustered}");
    let naive = covered(true, 15);
    assert!(naive < 0.70, "{naive}");
}

/// Logit increments of a noisy network: sum of true points, no games decided.
#[test]
fn increments() {
    let mut simulation = Simulation::new(5);
    let mut material = material(Method::Increment);
    for game in 0..500 {
        for _ in 0..4 {
            let (diff, _) = simulation.game();
            let points: f64 = diff.iter().map(|&(j, d)| TRUTH[j as usize].1 * f64::from(d)).sum();
            let noise: f64 = (0..12).map(|_| simulation.rng.random::<f64>()).sum::<f64>() - 6.0;
            push(&mut material, game, &diff, (SCALE * points + 0.4 * noise) as f32);
        }
    }
    let config = ValuesConfig::default();
    let values = material.measure(&config, Some(&table(1.0)), 1).unwrap();
    for (piece, (id, truth)) in values.pieces.iter().zip(TRUTH) {
        let value = piece.value.unwrap();
        let se = piece.se_log.unwrap();
        assert!((value / truth).ln().abs() < 3.5 * se && se < 0.1, "{id}: {value} {se}");
    }
}

/// Intervals from increments over 150 simulated trials (1050 intervals, a standard error of 0.7 points if they were
/// independent) cover the truth in 93 to 97 %, though the errors of a game go together.
#[test]
fn increment_coverage() {
    let trials = 150;
    let (mut hits, mut all) = (0u32, 0);
    for seed in 0..trials {
        let mut simulation = Simulation::new(9000 + seed);
        let mut material = material(Method::Increment);
        let config = ValuesConfig { replicates: 400, ..ValuesConfig::default() };
        for game in 0..400 {
            let mut noise = |size: f64| size * ((0..12).map(|_| simulation.rng.random::<f64>()).sum::<f64>() - 6.0);
            let (common, own) = (noise(0.5), [noise(0.4), noise(0.4), noise(0.4), noise(0.4)]);
            for own in own {
                let (diff, _) = simulation.game();
                let points: f64 = diff.iter().map(|&(j, d)| TRUTH[j as usize].1 * f64::from(d)).sum();
                push(&mut material, game, &diff, (SCALE * points + common + own) as f32);
            }
        }
        let values = material.measure(&config, None, seed).unwrap();
        for (piece, (_, truth)) in values.pieces.iter().zip(TRUTH) {
            all += 1;
            let inside = piece.low.unwrap() < truth * SCALE && truth * SCALE < piece.high.unwrap();
            hits += u32::from(inside);
        }
    }
    let covered = f64::from(hits) / f64::from(all);
    assert!(all == 1050 && (0.93..0.97).contains(&covered), "{covered}");
}

/// Simulated games with pieces that the data cannot tell: `never` is never unbalanced, `twin` always goes with a
/// kind of feature 0, `rare` differs in under 200 games, `harmful` loses.
#[test]
fn what_is_not_identified_has_no_value() {
    let mut features = features();
    for id in ["never", "twin", "rare", "harmful"] {
        features.push(Feature { id: id.into(), compared: true });
    }
    let groups: Vec<usize> = (0..features.len()).collect();
    let mut material = Material::new(Method::Outcome, features, &groups);
    let mut simulation = Simulation::new(9);
    for game in 0..3000u64 {
        let (mut diff, outcome) = simulation.game();
        diff.push((8, diff[0].1));
        if game % 16 == 0 {
            diff.push((9, if outcome > 0.5 { 1 } else { -1 }));
        }
        diff.push((10, if outcome > 0.5 { -1 } else { 1 }));
        push(&mut material, game, &diff, outcome);
    }
    let values = material.measure(&ValuesConfig::default(), Some(&table(1.0)), 7).unwrap();
    let check = |id: &str, games: std::ops::RangeInclusive<u64>| {
        let piece = values.pieces.iter().find(|p| p.id == id).unwrap();
        assert!(!piece.identified, "{piece:?}");
        assert_eq!((piece.value, piece.low, piece.high), (None, None, None));
        assert!(games.contains(&piece.games_unbalanced), "{piece:?}");
        piece.clone()
    };
    assert_eq!(check("never", 0..=0).information_share, 0.0);
    // Both of a pair that always goes together, though the ridge splits their sum into two tight halves.
    assert!(check("twin", 1800..=2200).information_share < 1e-3);
    assert!(check("a", 1800..=2200).information_share < 1e-3);
    check("rare", 188..=188);
    assert_eq!(check("harmful", 3000..=3000).se_log, None);
}

#[test]
fn too_little_to_compare() {
    // Two games: nothing is identified, and nothing is NaN.
    let mut two = material(Method::Outcome);
    push(&mut two, 1, &[(0, 1)], 1.0);
    push(&mut two, 2, &[(0, -1)], 0.0);
    let values = two.measure(&ValuesConfig::default(), Some(&table(1.0)), 1).unwrap();
    assert_eq!((values.games, values.rows, values.unit), (2, 2, Unit::Logit));
    assert!(values.pieces.iter().all(|p| !p.identified && p.value.is_none()));
    assert_eq!(values.agreement.tau_b, None);
    assert!(values.scale.is_finite());
    // One game; and one without any difference.
    let mut one = material(Method::Outcome);
    push(&mut one, 1, &[], 0.5);
    let values = one.measure(&ValuesConfig::default(), None, 1).unwrap();
    assert!(values.pieces.iter().all(|p| p.se_log.is_none()));
    // No game.
    let none = material(Method::Outcome).measure(&ValuesConfig::default(), None, 1);
    assert!(matches!(none, Err(ValuesError::Regression(_))));
    // Two pieces in the reference: half of what they say would fix the scale, so they fix none and are no comparison.
    let table = ReferenceTable::from_csv("id,value\na,20\nb,12\n", Path::new("t.csv")).unwrap();
    let values = simulated(3000, 1).measure(&ValuesConfig::default(), Some(&table), 7).unwrap();
    assert_eq!((values.unit, values.agreement.pieces), (Unit::Logit, 2));
    assert_eq!(values.agreement.log_sd, None);
    assert_eq!(values.pieces[2].reference, None);
    assert!(values.pieces[2].value.is_some());
}

/// Kinds that move alike share a feature, and an excluded feature has no reference.
#[test]
fn groups_and_exclusions() {
    let mut features = features();
    features[0].compared = false;
    let mut grouped = Material::new(Method::Outcome, features, &[0, 1, 2, 3, 4, 5, 6, 1]);
    let mut plain = material(Method::Outcome);
    let mut simulation = Simulation::new(3);
    for game in 0..3000 {
        let (diff, outcome) = simulation.game();
        push(&mut plain, game, &diff, outcome);
        // The same, with kind 1 partly counted as kind 7.
        let mut split = diff.clone();
        split[1].1 -= 3;
        split.push((7, 3));
        push(&mut grouped, game, &split, outcome);
    }
    let config = ValuesConfig::default();
    let plain = plain.measure(&config, Some(&table(1.0)), 7).unwrap();
    let grouped = grouped.measure(&config, Some(&table(1.0)), 7).unwrap();
    assert_eq!((plain.agreement.pieces, grouped.agreement.pieces), (7, 6));
    assert_eq!(grouped.pieces[0].reference, None);
    let logits = |v: &PieceValues, j: usize| v.pieces[j].value.unwrap() * v.scale;
    for j in 0..7 {
        assert!((logits(&plain, j) - logits(&grouped, j)).abs() < 1e-9);
    }
}

/// The names that `shishi values --json` promises.
#[test]
fn json_names() {
    let config = ValuesConfig { replicates: 100, ..ValuesConfig::default() };
    let values = simulated(3000, 1).measure(&config, Some(&table(1.0)), 7).unwrap();
    let json = serde_json::to_value(&values).unwrap();
    assert_eq!(json["method"], "outcome");
    for name in ["games", "rows", "scale"] {
        assert!(json[name].is_number(), "{name}");
    }
    for name in ["id", "value", "low", "high", "reference", "identified"] {
        assert!(!json["pieces"][0][name].is_null(), "{name}");
    }
    for name in ["somers_d", "tau_b", "spearman", "log_sd", "log_slope"] {
        for part in ["value", "low", "high"] {
            assert!(json["agreement"][name][part].is_number(), "{name} {part}");
        }
    }
    let back: PieceValues = serde_json::from_value(json).unwrap();
    assert_eq!(back.pieces.len(), values.pieces.len());
}

#[test]
fn bad_input_is_refused() {
    let mut rows = material(Method::Outcome);
    let row =
        |diff, outcome, weight| MaterialRow { game: 4, diff, constant: 1, outcome, weight, phase: Phase::Opening };
    for outcome in [-0.1, 1.1, f32::NAN] {
        let error = rows.push(&row(&[], outcome, 1.0)).unwrap_err();
        assert!(matches!(error, ValuesError::Outcome { game: 4, .. }));
    }
    let error = rows.push(&row(&[(7, 1)], 0.5, 1.0)).unwrap_err();
    assert_eq!(error.to_string(), "game 4: expected a kind below 7, found 7");
    for weight in [-1.0, f32::NAN] {
        let error = rows.push(&row(&[], 0.5, weight)).unwrap_err();
        assert!(matches!(error, ValuesError::Row { game: 4, .. }));
    }
    rows.push(&row(&[(0, 1)], 0.5, 0.0)).unwrap();
    let default = ValuesConfig::default();
    for config in [
        ValuesConfig { prior_sd: 0.0, ..default.clone() },
        ValuesConfig { max_log_error: f64::NAN, ..default.clone() },
        ValuesConfig { replicates: 99, ..default.clone() },
    ] {
        let error = rows.clone().measure(&config, None, 1).unwrap_err();
        assert!(matches!(error, ValuesError::Config { .. }));
    }
    // A row of weight 0 is no row.
    assert!(rows.measure(&default, None, 1).is_err());
}

//! Values by phase, from simulated exchanges whose true values in each phase are known.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use eval::phase::Phase;
use eval::reference::ReferenceTable;
use eval::values::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Points in the opening and in the endgame; the middlegame lies between (geometric mean).
const TRUTH: [(&str, [f64; 2]); 5] =
    [("a", [20.0, 10.0]), ("b", [8.0, 8.0]), ("c", [6.0, 6.0]), ("d", [3.0, 6.0]), ("e", [2.0, 2.0])];

/// Logits to a point in each phase.
const SLOPES: [f64; 3] = [0.06, 0.1, 0.2];

fn truth(piece: usize, phase: Phase) -> f64 {
    let [opening, endgame] = TRUTH[piece].1;
    match phase {
        Phase::Opening => opening,
        Phase::Middlegame => (opening * endgame).sqrt(),
        Phase::Endgame => endgame,
    }
}

/// Games with three exchanges in each phase, in which every piece may be lost, and an error that a game's rows share.
fn simulated(games: u64, seed: u64) -> PieceValues {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let features = TRUTH.iter().map(|(id, _)| Feature { id: (*id).to_string(), compared: true }).collect();
    let mut material = Material::new(Method::Increment, features, &[0, 1, 2, 3, 4]);
    let normal =
        move |size: f64, rng: &mut Xoshiro256PlusPlus| size * ((0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0);
    for game in 0..games {
        let common = normal(0.3, &mut rng);
        for phase in Phase::ALL.into_iter().cycle().take(9) {
            let diff: Vec<(u16, i16)> =
                (0..TRUTH.len() as u16).map(|j| (j, rng.random_range(0..3u32) as i16 - 1)).collect();
            let points: f64 = diff.iter().map(|&(j, d)| truth(j as usize, phase) * f64::from(d)).sum();
            let change = (SLOPES[phase as usize] * points + common + normal(0.3, &mut rng)) as f32;
            let row = MaterialRow { game, diff: &diff, constant: 0, outcome: change, weight: 1.0, phase };
            material.push(&row).unwrap();
        }
    }
    let table: String = TRUTH.iter().map(|(id, [x, y])| format!("{id},{}\n", (x * y).sqrt())).collect();
    let table = ReferenceTable::from_csv(&format!("id,value\n{table}"), Path::new("truth.csv")).unwrap();
    let config = ValuesConfig { replicates: 300, ..ValuesConfig::default() };
    material.measure(&config, Some(&table), seed).unwrap()
}

/// By what the phase's values are multiplied to be, on geometric average, those of the whole game.
fn factor(values: &PieceValues, phase: Phase) -> f64 {
    let logs = values.pieces.iter().enumerate().map(|(j, p)| (truth(j, phase) / p.value.unwrap()).ln());
    (logs.sum::<f64>() / TRUTH.len() as f64).exp()
}

#[test]
fn phases_have_their_own_values() {
    let values = simulated(4000, 1);
    assert_eq!(values.rows, 36_000);
    assert_eq!(values.phases.iter().map(|p| p.phase).collect::<Vec<_>>(), Phase::ALL);
    for part in &values.phases {
        assert_eq!((part.games, part.rows), (4000, 12_000), "{:?}", part.phase);
        let factor = factor(&values, part.phase);
        for (j, piece) in part.pieces.iter().enumerate() {
            let log = (piece.value.unwrap() * factor / truth(j, part.phase)).ln();
            assert!(log.abs() < 4.0 * piece.se_log.unwrap(), "{:?} {} {log}", part.phase, piece.id);
        }
    }
    // A point counts for more from phase to phase, from the opening to the endgame between 0.2 10 / (0.06 20) times (what
    // piece a gains in logits) and 0.2 6 / (0.06 3) times (piece d).
    let slope = |i: usize| values.phases[i].slope;
    assert!(slope(0) < slope(1) && slope(1) < slope(2));
    assert!((1.67..6.67).contains(&(slope(2) / slope(0))), "{} {}", slope(0), slope(2));
    let scale = |i: usize| values.phases[i].scale.unwrap();
    assert!(scale(0).high < scale(1).low && scale(1).high < scale(2).low);
}

/// 95 % intervals in each phase over 40 trials (600 intervals, a standard error of one point if they were independent).
#[test]
fn coverage_by_phase() {
    let (mut hits, mut all) = (0u32, 0u32);
    // What the phase's values are relative to depends on the whole game's, whose limit a large trial gives.
    let limit = simulated(20_000, 999);
    for seed in 0..40 {
        let values = simulated(400, 2000 + seed);
        for part in &values.phases {
            let factor = factor(&limit, part.phase);
            for (j, piece) in part.pieces.iter().enumerate() {
                let truth = truth(j, part.phase) / factor;
                all += 1;
                hits += u32::from(piece.low.unwrap() < truth && truth < piece.high.unwrap());
            }
        }
    }
    let covered = f64::from(hits) / f64::from(all);
    assert!(all == 600 && (0.92..0.98).contains(&covered), "{covered}");
}

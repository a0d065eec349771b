//! Ladders and match intervals in simulated matches whose truth is known, and how pairings are chosen.
#![allow(clippy::unwrap_used)]

use eval::ladder::{Entrant, Ladder, Pairing, next_pairing, skeleton};
use eval::match_stats::{Pentanomial, Results};
use eval::pool::{PoolError, probabilities};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

fn entrants(networks: u32, others: &[&str]) -> Vec<Entrant> {
    let networks = (0..networks).map(|n| Entrant { name: format!("net:{n:06}"), network: Some(n) });
    let others = others.iter().map(|name| Entrant { name: name.to_string(), network: None });
    networks.chain(others).collect()
}

/// 0 lost, 1 drawn, 2 won.
fn draw(rng: &mut impl RngExt, probabilities: [f64; 3]) -> usize {
    let u: f64 = rng.random();
    if u < probabilities[0] { 0 } else { usize::from(u >= probabilities[0] + probabilities[1]) + 1 }
}

/// Ten games with each colour between players of these ratings.
fn meet(rng: &mut impl RngExt, difference: f64, advantage: f64, nu: f64) -> [[u64; 3]; 2] {
    [advantage, -advantage].map(|advantage| {
        let mut counts = [0; 3];
        for _ in 0..10 {
            counts[draw(rng, probabilities(difference + advantage, nu))] += 1;
        }
        counts
    })
}

fn add(played: &mut Vec<Pairing>, [first, second]: [usize; 2], by_color: [[u64; 3]; 2]) {
    match played.iter_mut().find(|p| [p.first, p.second] == [first, second]) {
        Some(p) => p.by_color.iter_mut().flatten().zip(by_color.iter().flatten()).for_each(|(sum, n)| *sum += n),
        None => played.push(Pairing { first, second, by_color }),
    }
}

#[test]
fn the_skeleton_links_neighbours_and_ends() {
    let players = entrants(3, &["random", "material"]);
    assert_eq!(skeleton(&players), [[0, 1], [1, 2], [0, 3], [2, 3], [0, 4], [2, 4], [3, 4]]);
    assert_eq!(skeleton(&entrants(0, &["a", "b", "c"])), [[0, 1], [1, 2]]);
    assert_eq!(skeleton(&entrants(1, &["a"])), [[0, 1]]);
    // Networks in any order.
    let mut players = entrants(3, &[]);
    players.swap(0, 2);
    assert_eq!(skeleton(&players), [[2, 1], [1, 0]]);
}

#[test]
fn pairings_are_chosen_where_they_tell_most() {
    let players = entrants(3, &["random"]);
    let even = [[5, 0, 5], [5, 0, 5]];
    let mut played = Vec::new();
    for pairing in skeleton(&players) {
        assert_eq!(next_pairing(&players, &played).unwrap(), pairing);
        // The random player loses all.
        add(&mut played, pairing, if pairing[1] == 3 { [[0, 0, 10]; 2] } else { even });
    }
    // Networks 0 and 2 have not met and are equal; whom random meets is known beforehand.
    assert_eq!(next_pairing(&players, &played).unwrap(), [0, 2]);
    add(&mut played, [0, 2], even);
    let next = next_pairing(&players, &played).unwrap();
    assert!(next[1] < 3, "{next:?}");
}

#[test]
fn what_nothing_links_is_not_rated() {
    let players = entrants(2, &["a"]);
    let played = [Pairing { first: 0, second: 1, by_color: [[1, 0, 1]; 2] }];
    assert_eq!(Ladder::rate(&players, &played, 0), Err(PoolError::Disconnected(0, 2)));
}

#[test]
fn a_ladder_adds_up() {
    let players = entrants(2, &["random"]);
    let played = [
        Pairing { first: 1, second: 0, by_color: [[2, 1, 7], [3, 2, 5]] },
        Pairing { first: 0, second: 2, by_color: [[0, 0, 10], [0, 0, 10]] },
    ];
    let ladder = Ladder::rate(&players, &played, 2).unwrap();
    let names: Vec<&str> = ladder.players.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["net:000001", "net:000000", "random"]);
    let [best, middle, last] = &ladder.players[..] else { panic!("three players") };
    assert_eq!([best.wins, best.draws, best.losses], [12, 3, 5]);
    assert_eq!([middle.wins, middle.draws, middle.losses], [25, 3, 12]);
    assert_eq!([last.elo, last.error, last.score], [0.0, 0.0, 0.0]);
    assert_eq!((ladder.games, ladder.anchor.as_str()), (40, "random"));
    assert!(ladder.pseudo_results && ladder.first_move_advantage.is_some_and(|x| x > 0.0));
    assert_eq!(ladder.pairings[0].score, 13.5 / 20.0);
    let json = serde_json::to_string(&ladder).unwrap();
    let again: Ladder = serde_json::from_str(&json).unwrap();
    assert_eq!(again.players.len(), 3);
}

/// 300 simulated ladders of seven players over 600 games each, pairings chosen by the ladder itself: 93 to 97 % of the
/// 95 % intervals of differences to the anchor hold the truth (1800 intervals; their error is about one point, since those
/// of a ladder hang together).
#[test]
fn intervals_of_ladders_cover_the_truth() {
    let players = entrants(5, &["random", "material"]);
    let truth = [0.0, 80.0, 150.0, 260.0, 300.0, -120.0, 90.0];
    let (advantage, nu) = (30.0, 0.3);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(5);
    let (mut inside, mut intervals, mut advantage_inside) = (0, 0, 0);
    let trials = 300;
    for _ in 0..trials {
        let mut played = Vec::new();
        for _ in 0..30 {
            let [a, b] = next_pairing(&players, &played).unwrap();
            let by_color = meet(&mut rng, truth[a] - truth[b], advantage, nu);
            add(&mut played, [a, b], by_color);
        }
        let ladder = Ladder::rate(&players, &played, 5).unwrap();
        for player in ladder.players.iter().filter(|player| player.name != "random") {
            let index = players.iter().position(|p| p.name == player.name).unwrap();
            intervals += 1;
            inside += u32::from((player.low..=player.high).contains(&(truth[index] - truth[5])));
        }
        let (found, error) = (ladder.first_move_advantage.unwrap(), ladder.first_move_error.unwrap());
        advantage_inside += u32::from((found - advantage).abs() <= 1.96 * error);
    }
    let coverage = f64::from(inside) / f64::from(intervals);
    assert!((0.93..=0.97).contains(&coverage), "{coverage}");
    // 300 trials: 95 % with an error of 1.3 points.
    let coverage = f64::from(advantage_inside) / f64::from(trials);
    assert!((0.91..=0.985).contains(&coverage), "{coverage}");
}

/// 4000 simulated matches for each number of pairs: 93 to 97 % of the 95 % intervals of the Elo hold the truth from 50 pairs
/// on, and at 10 pairs, where two pseudo pairs go in, no fewer.
#[test]
fn intervals_of_matches_cover_the_truth() {
    // Games of a pair hang together: the opening favours Black by 150 Elo or White.
    let game = |elo: f64| probabilities(elo, 0.4);
    let (elo, bias, trials) = (60.0, 150.0, 4000);
    let expected = [bias, -bias].map(|bias| {
        let [_, draw, win] = game(elo + bias);
        win + draw / 2.0
    });
    let score = (expected[0] + expected[1]) / 2.0;
    let truth = -400.0 * (1.0 / score - 1.0).log10();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    for (pairs, most) in [(10, 0.995), (50, 0.97), (200, 0.97)] {
        let mut inside = 0;
        for _ in 0..trials {
            let mut results = Pentanomial::default();
            for _ in 0..pairs {
                results.add(draw(&mut rng, game(elo + bias)) + draw(&mut rng, game(elo - bias)));
            }
            let summary = results.summary();
            let low = summary.elo_low.unwrap_or(f64::NEG_INFINITY);
            let high = summary.elo_high.unwrap_or(f64::INFINITY);
            inside += u32::from(low <= truth && truth <= high);
        }
        let coverage = f64::from(inside) / f64::from(trials);
        assert!((0.93..=most).contains(&coverage), "{pairs} pairs: {coverage}");
    }
}

//! Pool ratings against golden vectors (see `data/README.md`) and at the edges of the model.
#![allow(clippy::unwrap_used)]

use eval::pool::*;
use eval::{bayes_elo, match_stats::*};
use serde_json::Value;

fn encounter(first: usize, second: usize, wins: u64, draws: u64, losses: u64) -> Encounter {
    Encounter { first, second, wins, draws, losses }
}

fn assert_close(got: f64, want: &Value, tolerance: f64, what: &str) {
    let want = want.as_f64().unwrap();
    assert!((got - want).abs() <= tolerance, "{what}: got {got}, expected {want}");
}

#[test]
fn golden_pools() {
    let file: Value = serde_json::from_str(include_str!("data/pool_golden.json")).unwrap();
    for v in file["vectors"].as_array().unwrap() {
        let players = v["players"].as_u64().unwrap() as usize;
        let games: Vec<Encounter> = v["games"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let n = |i: usize| row[i].as_u64().unwrap();
                encounter(n(0) as usize, n(1) as usize, n(2), n(3), n(4))
            })
            .collect();
        let pool = Pool::fit(players, &games).unwrap();
        let want = &v["expected"];
        assert!(!pool.pseudo_results);
        for i in 0..players {
            assert_close(pool.ratings[i], &want["ratings"][i], 0.02, "rating");
            assert_close(pool.errors[i], &want["se"][i], 0.05, "error");
        }
        let advantage = pool.first_move_advantage.unwrap();
        assert_close(advantage, &want["first_move_advantage"], 0.02, "advantage");
        assert_close(pool.nu, &want["nu"], 1e-4, "nu");
        assert_close(-pool.log_likelihood, &want["neg_loglik"], 1e-5, "likelihood");
        let difference = pool.difference(0, 1);
        assert_close(difference.error, &want["se_diff_0_1"], 0.05, "difference");
        assert_eq!(difference.elo, pool.ratings[0] - pool.ratings[1]);
        assert_eq!(pool.difference(2, 2).error, 0.0);
    }
}

fn match_vectors(kind: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("data/match_stats_golden.json")).unwrap();
    let all = file["vectors"].as_array().unwrap();
    all.iter().filter(|v| v["kind"] == kind).cloned().collect()
}

#[test]
fn davidson_probabilities() {
    for v in match_vectors("davidson") {
        let input = |name: &str| v["input"][name].as_f64().unwrap();
        let [loss, draw, win] = probabilities(input("rating_diff"), input("nu"));
        assert_close(loss, &v["expected"]["loss"], 1e-6, "loss");
        assert_close(draw, &v["expected"]["draw"], 1e-6, "draw");
        assert_close(win, &v["expected"]["win"], 1e-6, "win");
    }
}

/// Two players who met once with each colour and the same result: closed form in the golden file, no advantage.
#[test]
fn two_players() {
    for v in match_vectors("davidson_fit2") {
        let n = |i: usize| v["input"]["counts"][i].as_u64().unwrap();
        let games = [encounter(0, 1, n(2), n(1), n(0)), encounter(1, 0, n(0), n(1), n(2))];
        let pool = Pool::fit(2, &games).unwrap();
        assert_close(pool.difference(0, 1).elo, &v["expected"]["rating_diff"], 1e-6, "");
        assert_close(pool.nu, &v["expected"]["nu"], 1e-6, "nu");
        assert!(pool.first_move_advantage.unwrap().abs() < 1e-9);
        // One colour only: the same difference, and the advantage cannot be told from it.
        let pool = Pool::fit(2, &games[..1]).unwrap();
        assert_close(pool.difference(0, 1).elo, &v["expected"]["rating_diff"], 1e-6, "");
        assert_eq!(pool.first_move_advantage, None);
    }
}

#[test]
fn bayes_elo_vectors() {
    for v in match_vectors("bayeselo") {
        let input = |name: &str| v["input"][name].as_f64().unwrap();
        let [loss, draw, win] = bayes_elo::probabilities(input("bayeselo"), input("drawelo"));
        assert_close(loss, &v["expected"]["loss"], 1e-6, "loss");
        assert_close(draw, &v["expected"]["draw"], 1e-6, "draw");
        assert_close(win, &v["expected"]["win"], 1e-6, "win");
        let elo = elo_of_score(win + draw / 2.0).unwrap();
        assert_close(elo, &v["expected"]["logistic_elo"], 1e-6, "elo");
    }
    for v in match_vectors("bayeselo_fit") {
        let n = |i: usize| v["input"]["counts"][i].as_u64().unwrap();
        let (elo, draw) = bayes_elo::fit(&Trinomial([n(0), n(1), n(2)])).unwrap();
        assert_close(elo, &v["expected"]["bayeselo"], 1e-6, "bayeselo");
        assert_close(draw, &v["expected"]["drawelo"], 1e-6, "drawelo");
    }
    assert_eq!(bayes_elo::fit(&Trinomial([0, 3, 9])), None);
}

/// Results that put a rating, the advantage or the draw parameter at infinity get pseudo results and stay finite.
#[test]
fn infinite_ratings_get_pseudo_results() {
    let check = |players, games: &[Encounter]| {
        let pool = Pool::fit(players, games).unwrap();
        assert!(pool.pseudo_results, "{games:?}");
        let numbers = pool.ratings.iter().chain(&pool.errors);
        assert!(numbers.copied().all(f64::is_finite), "{pool:?}");
        assert!(pool.nu.is_finite() && pool.log_likelihood.is_finite());
        pool
    };
    let pool = check(2, &[encounter(0, 1, 10, 0, 0), encounter(1, 0, 0, 0, 10)]);
    // Half a win and half a loss for the two together: 20.5 : 0.5, so 400 log10(41).
    assert!((pool.difference(0, 1).elo - 400.0 * 41f64.log10()).abs() < 1e-6);
    assert_eq!(pool.nu, 0.0);
    check(2, &[encounter(0, 1, 0, 10, 0), encounter(1, 0, 0, 10, 0)]);
    check(2, &[encounter(0, 1, 5, 10, 0), encounter(1, 0, 0, 10, 7)]);
    // The first mover always wins: the advantage is infinite, not a rating.
    check(2, &[encounter(0, 1, 9, 0, 0), encounter(1, 0, 9, 0, 0)]);
    // A newcomer who lost everything against an otherwise balanced pool.
    check(3, &[encounter(0, 1, 5, 2, 4), encounter(1, 0, 5, 2, 4), encounter(2, 0, 0, 0, 6), encounter(1, 2, 6, 0, 0)]);
}

/// A ladder whose ends are 3000 Elo apart but whose neighbours are not is fitted without pseudo results.
#[test]
fn long_ladder_is_finite() {
    let games: Vec<Encounter> =
        (0..10).flat_map(|i| [encounter(i + 1, i, 85, 0, 15), encounter(i, i + 1, 15, 0, 85)]).collect();
    let pool = Pool::fit(11, &games).unwrap();
    assert!(!pool.pseudo_results);
    // Each step is 400 log10(85/15) and steps add up.
    let step = 400.0 * (85.0f64 / 15.0).log10();
    assert!((pool.difference(10, 0).elo - 10.0 * step).abs() < 1e-6);
    assert!(pool.ratings.iter().sum::<f64>().abs() < 1e-6);
}

#[test]
fn bad_pools_are_refused() {
    let game = encounter(0, 1, 1, 1, 1);
    assert_eq!(Pool::fit(0, &[]), Err(PoolError::Empty));
    assert_eq!(Pool::fit(3, &[game]), Err(PoolError::Disconnected(0, 2)));
    assert_eq!(Pool::fit(2, &[encounter(0, 1, 0, 0, 0)]), Err(PoolError::Disconnected(0, 1)));
    for (first, second) in [(0, 2), (2, 0), (1, 1)] {
        let error = Pool::fit(2, &[game, encounter(first, second, 1, 0, 0)]).unwrap_err();
        assert!(matches!(error, PoolError::Players { index: 1, .. }));
    }
    // One player alone is rated 0 without error.
    let alone = Pool::fit(1, &[]).unwrap();
    assert_eq!((alone.ratings, alone.errors), (vec![0.0], vec![0.0]));
}

/// A ladder of an hour of chu: networks that mostly draw with each other and win every game against the random player, so
/// that ratings lie thousands of Elo apart. At the optimum every player's wins less losses, with half a pseudo win and half a
/// pseudo loss for every pairing, are what the ratings expect (the likelihood's own equations).
#[test]
fn ratings_far_apart_are_found() {
    // Losses, draws, wins of the first with Black, then with White. Players: material, random, networks 0 to 27.
    let met: [(usize, usize, [[u64; 3]; 2]); 14] = [
        (0, 2, [[0, 0, 10], [0, 0, 10]]),
        (0, 6, [[10, 0, 0], [10, 0, 0]]),
        (0, 9, [[10, 0, 0], [10, 0, 0]]),
        (0, 1, [[0, 0, 10], [0, 0, 10]]),
        (2, 3, [[2, 8, 0], [1, 9, 0]]),
        (2, 1, [[0, 3, 7], [1, 5, 4]]),
        (3, 4, [[2, 7, 1], [4, 6, 0]]),
        (4, 5, [[5, 4, 1], [3, 5, 2]]),
        (5, 6, [[1, 9, 0], [2, 8, 0]]),
        (5, 8, [[1, 9, 0], [3, 7, 0]]),
        (6, 7, [[1, 9, 0], [1, 9, 0]]),
        (7, 8, [[0, 10, 0], [2, 6, 2]]),
        (8, 9, [[4, 6, 0], [3, 7, 0]]),
        (9, 1, [[0, 0, 10], [0, 0, 10]]),
    ];
    let encounters: Vec<Encounter> = met
        .iter()
        .flat_map(|&(a, b, [black, white])| {
            let [losses, draws, wins] = black;
            let with_black = Encounter { first: a, second: b, wins, draws, losses };
            let [losses, draws, wins] = white;
            [with_black, Encounter { first: b, second: a, wins: losses, draws, losses: wins }]
        })
        .collect();
    let pool = Pool::fit(10, &encounters).unwrap();
    assert!(pool.pseudo_results);
    let mut surplus = [0.0; 10];
    for e in &encounters {
        let difference = pool.ratings[e.first] - pool.ratings[e.second] + pool.first_move_advantage.unwrap();
        let [loss, _, win] = probabilities(difference, pool.nu);
        // Half a win and half a loss a pairing, a quarter of each an encounter, cancel in the difference but not in the games.
        let games = (e.wins + e.draws + e.losses) as f64 + 0.5;
        let more = e.wins as f64 - e.losses as f64 - games * (win - loss);
        surplus[e.first] += more;
        surplus[e.second] -= more;
    }
    assert!(surplus.iter().all(|surplus: &f64| surplus.abs() < 1e-6), "{surplus:?}");
    assert!(pool.difference(9, 1).elo > 1500.0);
}

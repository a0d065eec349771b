//! Values by odds: where games start, what a match says, what all matches say together, how sure that is.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::{Color, Piece, Position, Variant};
use eval::differences::{Joint, Measurement};
use eval::match_record::RecordedPair;
use eval::match_stats::{Pentanomial, Results};
use eval::matches::{Conduct, MatchConfig, MatchError, MatchResult, play_odds};
use eval::measure::Measured;
use eval::odds::{OddsMatch, OddsSettings, OddsValues};
use eval::reference::ReferenceTable;
use eval::starts::Odds;
use eval::values::{Unit, ValuesConfig};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::{MaterialValues, Player};
use serde_json::json;

fn sho() -> Arc<Variant> {
    Variant::load("sho", None).unwrap()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-6 * expected.abs().max(1.0), "{found} {expected}");
}

/// The material player with odds; stopped from outside after `games` games.
fn play(
    odds: &str,
    config: &MatchConfig,
    record: Option<&Path>,
    games: usize,
    threads: usize,
) -> Result<MatchResult, MatchError> {
    let variant = sho();
    let player = Player::Material(MaterialValues::from_mobility(&variant));
    let stop = AtomicBool::new(false);
    let conduct = Conduct { threads, record, stop: &stop };
    let odds = Odds::parse(&variant, odds).unwrap();
    play_odds(&variant, ("material", &player), &odds, config, 5, &conduct, &|progress| {
        if progress.games >= games {
            stop.store(true, Ordering::Relaxed);
        }
    })
}

fn config() -> MatchConfig {
    MatchConfig { games: 24, max_plies: 150, games_per_thread: 2, opening_plies: 4, ..MatchConfig::default() }
}

fn pairs(record: &Path) -> Vec<RecordedPair> {
    fs::read_to_string(record).unwrap().lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A match with such pairs, its other numbers as the match statistics give them.
fn of_pairs(variant: &Arc<Variant>, odds: &str, pentanomial: [u64; 5]) -> OddsMatch {
    let [a, b, c, d, e] = pentanomial;
    let mut result = serde_json::to_value(Pentanomial(pentanomial).summary()).unwrap();
    let more = json!({
        "variant": "sho", "ruleset": "standard", "first": "x", "second": "x", "games": 2 * (a + b + c + d + e),
        "wins": d + 2 * e + c, "draws": b + d, "losses": 2 * a + b + c, "pentanomial": pentanomial, "reasons": {},
        "distinct": 2 * (a + b + c + d + e), "mean_plies": 9.0, "complete": true,
    });
    result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    OddsMatch::new(variant, &Odds::parse(variant, odds).unwrap(), serde_json::from_value(result).unwrap())
}

fn values(matches: &[(&str, [u64; 5])], reference: Option<&ReferenceTable>, others: &[Measured]) -> OddsValues {
    let variant = sho();
    let settings =
        OddsSettings { player: "x".to_owned(), simulations: 1, opening_plies: 4, max_plies: 100, games: 200, seed: 1 };
    let matches = matches.iter().map(|(odds, pairs)| of_pairs(&variant, odds, *pairs)).collect();
    OddsValues::of(&variant, settings, matches, reference, others, &ValuesConfig::default())
}

const ROOK: [u64; 5] = [0, 0, 20, 0, 80];
const BISHOP: [u64; 5] = [10, 0, 40, 0, 50];
const GOLD: [u64; 5] = [60, 0, 160, 0, 180];

#[test]
fn names_that_cannot_be_given() {
    let variant = sho();
    let check = |odds: &str, parts: &[&str]| {
        let error = Odds::parse(&variant, odds).unwrap_err().to_string();
        assert!(parts.iter().chain(&[odds]).all(|part| error.contains(part)), "{error}");
    };
    check("lion", &["is no piece", "A or A:B of drunk_elephant, rook, bishop"]);
    check("king", &["`king` is royal", "rook"]);
    check("promoted_drunk_elephant", &["is royal"]);
    check("promoted_rook", &["not on the board at the start"]);
    check("rook:king", &["`king` is royal"]);
    check("rook:", &["`` is no piece"]);
    check("rook:rook", &["stand in for itself"]);
    let odds = Odds::parse(&variant, "rook:bishop").unwrap();
    assert_eq!((odds.name(), odds.piece()), ("rook:bishop", variant.kind_by_id("rook").unwrap()));
    assert_eq!(odds.against(), variant.kind_by_id("bishop"));
}

/// Each game starts at its pair's opening with one square changed: that of the giver's piece.
#[test]
fn both_games_start_at_the_opening_with_a_piece_given() {
    let variant = sho();
    for odds in ["rook", "pawn", "rook:gold_general", "silver_general:knight"] {
        let folder = tempfile::tempdir().unwrap();
        let record = folder.path().join("odds.jsonl");
        play(odds, &config(), Some(&record), usize::MAX, 2).unwrap();
        let given = Odds::parse(&variant, odds).unwrap();
        let found = pairs(&record);
        assert_eq!(found.len(), 12);
        for pair in found {
            let read = |sfen: &str| Position::from_sfen(&variant, sfen).unwrap();
            let opening = read(&pair.opening);
            // The first player has Black in the first game, so White gives there.
            for (start, giver) in pair.starts.unwrap().iter().zip([Color::White, Color::Black]) {
                let start = read(start);
                let boards = opening.codes().iter().zip(start.codes());
                let changed: Vec<_> = boards.filter(|(before, after)| before != after).collect();
                let piece = |kind| Piece { color: giver, kind }.code();
                let expected = (piece(given.piece()), given.against().map_or(0, piece));
                assert_eq!(changed, [(&expected.0, &expected.1)], "{odds}: {}", start.sfen());
                assert_eq!(start.side_to_move(), opening.side_to_move());
                assert!(start.winning_capture().is_none());
            }
        }
    }
}

/// From the start position itself the two sides give pieces that stand opposite each other by half a turn of the board.
#[test]
fn sides_give_the_same_one_of_their_pieces() {
    let variant = sho();
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("odds.jsonl");
    play("pawn", &MatchConfig { opening_plies: 0, ..config() }, Some(&record), usize::MAX, 1).unwrap();
    let start = Position::start(&variant);
    let mut given = Vec::new();
    for pair in pairs(&record) {
        let [white, black] = pair.starts.unwrap().map(|sfen| {
            let position = Position::from_sfen(&variant, &sfen).unwrap();
            position.codes().iter().zip(start.codes()).position(|(now, before)| now != before).unwrap()
        });
        assert_eq!(white + black, variant.squares() - 1);
        given.push(black);
    }
    given.sort_unstable();
    given.dedup();
    assert!(given.len() > 3, "chance chooses among nine: {given:?}");
}

#[test]
fn a_match_in_parts_is_the_match_and_begins_a_longer_one() {
    let folder = tempfile::tempdir().unwrap();
    let [once, parts, other] = ["once", "parts", "other"].map(|name| folder.path().join(name));
    let whole = play("rook", &config(), Some(&once), usize::MAX, 2).unwrap();
    assert!(whole.complete && whole.score > 0.5, "a rook is worth something: {}", whole.score);
    assert_eq!(whole, play("rook", &config(), None, usize::MAX, 1).unwrap());
    assert!(!play("rook", &config(), Some(&parts), 5, 1).unwrap().complete);
    assert_eq!(play("rook", &config(), Some(&parts), usize::MAX, 2).unwrap(), whole);
    assert_eq!(fs::read(&parts).unwrap(), fs::read(&once).unwrap());
    // A shorter one of the same record, which stays as it is; a longer one.
    let shorter = MatchConfig { games: 10, ..config() };
    assert_eq!(
        play("rook", &shorter, Some(&once), 0, 1).unwrap(),
        play("rook", &shorter, None, usize::MAX, 1).unwrap()
    );
    assert_eq!(fs::read(&parts).unwrap(), fs::read(&once).unwrap());
    let longer = MatchConfig { games: 30, ..config() };
    let went_on = play("rook", &longer, Some(&once), usize::MAX, 1).unwrap();
    assert_eq!(went_on, play("rook", &longer, Some(&other), usize::MAX, 2).unwrap());
    assert_eq!(fs::read(&other).unwrap(), fs::read(&once).unwrap());
    // Other odds are another match.
    let error = play("bishop", &config(), Some(&parts), usize::MAX, 1).unwrap_err().to_string();
    assert!(error.contains("`odds` is \"rook\" there and \"bishop\" now"), "{error}");
}

/// By hand: score, variance of pairs about it, error over s (1 - s).
#[test]
fn logit_and_error_by_hand() {
    let variant = sho();
    let check = |pairs: [u64; 5], logit: f64, error: f64, [low, high]: [f64; 2]| {
        let found = of_pairs(&variant, "rook", pairs);
        close(found.logit.unwrap(), logit);
        close(found.logit_error.unwrap(), error);
        close(found.logit_low.unwrap(), low);
        close(found.logit_high.unwrap(), high);
    };
    let ends =
        |s: f64, se: f64| [-1.0, 1.0].map(|sign| s + sign * 1.959963984540054 * se).map(|s| (s / (1.0 - s)).ln());
    // s = (40/2 + 50)/100 = 0.7, variance (40/4 + 50)/100 - 0.49 = 0.11.
    let se = 0.0011f64.sqrt();
    check(BISHOP, (7.0f64 / 3.0).ln(), se / 0.21, ends(0.7, se));
    // s = 0.8; ten pairs are few, so the error is that of [2, 0, 2, 0, 8]: s = 9/12, variance 8.5/12 - 9/16.
    let se = ((8.5f64 / 12.0 - 0.5625) / 12.0).sqrt();
    check([1, 0, 2, 0, 7], 4.0f64.ln(), se / 0.1875, ends(0.75, se));
    // Nothing lost: no finite value, but a lower end, that of [1, 0, 0, 0, 101].
    let won = of_pairs(&variant, "rook", [0, 0, 0, 0, 100]);
    let s: f64 = 101.0 / 102.0;
    let low = ends(s, (s * (1.0 - s) / 102.0).sqrt())[0];
    assert_eq!((won.logit, won.logit_high), (None, None));
    close(won.logit_low.unwrap(), low);
}

/// By hand: A 2 ± 1/2, B 1 ± 1, A - B 1/2 ± 1. Information [[5, -1], [-1, 2]], sums (8.5, 0.5), determinant 9.
#[test]
fn values_and_differences_by_hand() {
    let measurement = |of, against, found, error| Measurement { of, against, found, error };
    let (a, b) = (measurement(0, None, 2.0, 0.5), measurement(1, None, 1.0, 1.0));
    let difference = measurement(0, Some(1), 0.5, 1.0);
    let joint = Joint::of(2, &[a, b, difference]);
    close(joint.values[0].unwrap(), 17.5 / 9.0);
    close(joint.values[1].unwrap(), 11.0 / 9.0);
    for (i, j, expected) in [(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 5.0)] {
        close(joint.covariance(i, j).unwrap(), expected / 9.0);
    }
    // (1/18)² · 4 + (2/9)² + (2/9)² = 1/9.
    let misfit = joint.misfit.unwrap();
    close(misfit.chi_square, 1.0 / 9.0);
    assert_eq!(misfit.degrees, 1);

    // As many as values: each is what was found, variances add along the chain.
    let joint = Joint::of(2, &[difference, b]);
    close(joint.values[0].unwrap(), 1.5);
    close(joint.covariance(0, 0).unwrap(), 2.0);
    assert_eq!(joint.misfit, None);
    // Nothing is known of 2 and 3 but their difference.
    let joint = Joint::of(4, &[a, b, measurement(2, Some(3), 1.0, 1.0)]);
    assert_eq!(joint.values[2..], [None, None]);
    close(joint.values[0].unwrap(), 2.0);
    assert_eq!(joint.covariance(0, 2), None);
    assert!(Joint::of(2, &[]).values.iter().all(Option::is_none));
}

#[test]
fn what_is_missing_is_said() {
    let check = |matches: &[(&str, [u64; 5])], id: &str, missing: &[&str]| {
        let values = values(matches, None, &[]);
        let piece = values.pieces.iter().find(|piece| piece.id == id).unwrap();
        assert_eq!(piece.identified, missing.is_empty(), "{piece:?}");
        assert_eq!(piece.value.is_some(), missing.is_empty());
        assert_eq!(piece.missing.len(), missing.len(), "{:?}", piece.missing);
        for (found, part) in piece.missing.iter().zip(missing) {
            assert!(found.contains(part), "{found}: {part}");
        }
    };
    check(&[("rook", ROOK)], "rook", &[]);
    check(&[("rook", [0, 0, 10, 0, 40])], "rook", &["100 of 200 games"]);
    // s = 0.6, variance 0.14, error sqrt(0.0014) / 0.24 / ln 1.5 = 0.3845.
    check(&[("rook", [20, 0, 40, 0, 40])], "rook", &["0.38, not below 0.30"]);
    check(&[("rook", [4, 0, 4, 0, 4])], "rook", &["24 of 200 games", "no positive value"]);
    check(&[("rook", [0, 0, 0, 0, 100])], "rook", &["all 200 games won, at least 3.51"]);
    check(&[("rook", [0, 0, 0, 0, 100]), ("bishop", BISHOP)], "rook", &["`rook:bishop` would measure the difference"]);
    check(&[("rook", [100, 0, 0, 0, 0])], "rook", &["all 200 games lost"]);
    check(&[("rook:bishop", BISHOP)], "bishop", &["only compared with other pieces"]);
    // A swap makes up for what odds alone cannot tell.
    let swapped = [("rook", [0, 0, 0, 0, 100]), ("bishop", GOLD), ("rook:bishop", ROOK)];
    check(&swapped, "rook", &[]);
    let values = values(&swapped, None, &[]);
    close(values.pieces[0].value.unwrap(), 9.0f64.ln() + (13.0f64 / 7.0).ln());
    assert_eq!(values.pieces[0].score, Some(1.0));
}

#[test]
fn odds_of_single_pieces_are_the_values() {
    let matches = [("rook", ROOK), ("bishop", BISHOP)];
    let found = values(&matches, ReferenceTable::default_for("sho").as_ref(), &[]);
    assert_eq!((found.unit, found.scale, found.games), (Unit::Logit, 1.0, 400));
    for (piece, m) in found.pieces.iter().zip(&found.matches) {
        close(piece.value.unwrap(), m.logit.unwrap());
        assert_eq!((piece.low, piece.high), (m.logit_low, m.logit_high));
        close(piece.se_log.unwrap(), m.logit_error.unwrap() / m.logit.unwrap());
        assert_eq!(piece.comparison, None);
    }
    assert_eq!(found.agreement.somers_d, None);
    // The last digit of a number may change in JSON.
    let read: OddsValues = serde_json::from_str(&serde_json::to_string(&found).unwrap()).unwrap();
    close(read.pieces[1].value.unwrap(), found.pieces[1].value.unwrap());
    assert_eq!((read.method.as_str(), read.matches[1].result.games), ("odds", 200));
}

/// Three pieces of the table (rook 500, bishop 320, gold 220) give one factor: the geometric mean of logit over points.
/// Beside values by outcomes that are the square roots of the logits: a slope of 1/2 on the log scale.
#[test]
fn one_factor_makes_the_scales_equal() {
    let logits = [9.0f64.ln(), (7.0f64 / 3.0).ln(), (13.0f64 / 7.0).ln()];
    let ids = ["rook", "bishop", "gold_general"];
    let piece = |(id, logit): (&str, &f64)| {
        json!({"id": id, "value": logit.sqrt(), "low": 0.1, "high": 9.0, "se_log": 0.001, "games_unbalanced": 300,
            "information_share": 1.0, "identified": true, "reference": null})
    };
    let outcome = json!({
        "variant": "sho", "ruleset": "standard", "reference_title": null, "warning": null, "method": "outcome", "games": 300,
        "rows": 9000, "reference_table": null, "unit": "logit", "scale": 1.0, "constant": null, "names": [],
        "pieces": ids.into_iter().zip(&logits).map(piece).collect::<Vec<_>>(),
        "agreement": {"pieces": 0, "somers_d": null, "tau_b": null, "spearman": null, "log_sd": null, "log_slope": null},
    });
    let outcome: Measured = serde_json::from_value(outcome).unwrap();
    let table = ReferenceTable::default_for("sho").unwrap();
    let matches = [("rook", ROOK), ("bishop", BISHOP), ("gold_general", GOLD)];
    let found = values(&matches, Some(&table), std::slice::from_ref(&outcome));
    assert_eq!(found.unit, Unit::Reference);
    let product: f64 = logits.iter().product();
    close(found.scale, (product / (500.0 * 320.0 * 220.0)).cbrt());
    for (piece, logit) in found.pieces.iter().zip(logits) {
        close(piece.value.unwrap(), logit / found.scale);
        assert!(piece.low < piece.value && piece.value < piece.high);
        close(piece.comparison.as_ref().unwrap().ratio, piece.value.unwrap() / piece.reference.unwrap());
        close(piece.outcome.unwrap(), logit.sqrt());
        assert_eq!(piece.increment, None);
    }
    close(found.agreement.somers_d.unwrap().value, 1.0);
    let [beside] = found.beside.as_slice() else { panic!("one other method") };
    assert_eq!(beside.pieces, 3);
    close(beside.factor.unwrap(), product.powf(1.0 / 6.0));
    let slope = beside.log_slope.unwrap();
    close(slope.value, 0.5);
    assert!(slope.low < 0.5 && slope.high > 0.5 && slope.high - slope.low < 0.4, "{slope:?}");
    // What promotes to a royal piece is worth more than its moves.
    let elephant = values(&[("drunk_elephant", ROOK)], Some(&table), &[]);
    assert_eq!(elephant.pieces[0].reference, None);
}

/// Matches of 100 pairs of independent games with known probabilities of win and draw.
#[test]
fn intervals_hold_the_true_value() {
    let variant = sho();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(11);
    for (win, draw) in [(0.5, 0.1), (0.6, 0.2), (0.75, 0.1), (0.86, 0.02)] {
        const MATCHES: usize = 2000;
        let score: f64 = win + draw / 2.0;
        let truth = (score / (1.0 - score)).ln();
        let held = (0..MATCHES).filter(|_| {
            let mut pairs = Pentanomial::default();
            for _ in 0..100 {
                let points = |x: f64| if x < win { 2 } else { usize::from(x < win + draw) };
                pairs.add(points(rng.random()) + points(rng.random()));
            }
            let found = of_pairs(&variant, "rook", pairs.0);
            found.logit_low.unwrap() < truth && truth < found.logit_high.unwrap()
        });
        let coverage = held.count() as f64 / MATCHES as f64;
        assert!((0.93..=0.97).contains(&coverage), "{win} {draw}: {coverage}");
    }
}

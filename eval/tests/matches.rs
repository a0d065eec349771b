//! Matches: what is kept of a stopped one, what counts, and in which order.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::Variant;
use eval::match_record::RecordError;
use eval::match_stats::Verdict;
use eval::matches::{Conduct, Contestants, MatchConfig, MatchError, MatchResult, play_match};
use selfplay::{MaterialValues, Player, SearchConfig, Uniform};

fn variant() -> Arc<Variant> {
    Variant::load("sho", None).unwrap()
}

/// Material against random; stopped from outside after `games` games.
fn play(config: &MatchConfig, record: Option<&Path>, games: usize, threads: usize) -> Result<MatchResult, MatchError> {
    let variant = variant();
    let material = Player::Material(MaterialValues::from_mobility(&variant));
    let contestants = Contestants { first: ("material", &material), second: ("random", &Player::Random) };
    let stop = AtomicBool::new(false);
    let conduct = Conduct { threads, record, stop: &stop };
    play_match(&variant, &contestants, config, 3, &conduct, &|progress| {
        if progress.games >= games {
            stop.store(true, Ordering::Relaxed);
        }
    })
}

fn config() -> MatchConfig {
    MatchConfig { games: 40, max_plies: 120, games_per_thread: 2, ..MatchConfig::default() }
}

#[test]
fn a_match_in_parts_is_the_match() {
    let tests = [
        config(),
        MatchConfig { sprt: Some((0.0, 300.0)), games: 400, ..config() },
        // Undecided at the cap.
        MatchConfig { sprt: Some((300.0, 301.0)), ..config() },
    ];
    for config in tests {
        let folder = tempfile::tempdir().unwrap();
        let (once, parts) = (folder.path().join("once.jsonl"), folder.path().join("parts.jsonl"));
        let whole = play(&config, Some(&once), usize::MAX, 2).unwrap();
        assert!(whole.complete);
        assert_eq!(whole, play(&config, None, usize::MAX, 1).unwrap());
        let mut stops = 0;
        let resumed = loop {
            let pairs = |text: &str| text.lines().count().saturating_sub(1);
            let before = fs::read_to_string(&parts).map_or(0, |text| pairs(&text));
            let result = play(&config, Some(&parts), 2 * before + 5, 2).unwrap();
            if result.complete {
                break result;
            }
            stops += 1;
            // What a kill leaves of a line goes.
            let mut text = fs::read_to_string(&parts).unwrap();
            assert!(pairs(&text) > before);
            text += "{\"pair\":7,\"ope";
            fs::write(&parts, text).unwrap();
        };
        assert!(stops > 0);
        assert_eq!(resumed, whole);
        assert_eq!(fs::read(&parts).unwrap(), fs::read(&once).unwrap());
        // What is complete is not played again.
        assert_eq!(play(&config, Some(&parts), 0, 1).unwrap(), whole);
    }
}

#[test]
fn a_stopped_match_counts_pairs_up_to_the_first_unfinished_one() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("match.jsonl");
    let config = MatchConfig { games_per_thread: 16, ..config() };
    let result = play(&config, Some(&record), 12, 1).unwrap();
    assert!(!result.complete);
    let text = fs::read_to_string(&record).unwrap();
    let mut finished: Vec<u64> = text
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["pair"].as_u64().unwrap())
        .collect();
    finished.sort_unstable();
    let in_order = finished.iter().zip(0..).take_while(|&(&pair, index)| pair == index).count();
    assert_eq!(result.games, 2 * in_order as u64);
}

#[test]
fn another_match_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("match.jsonl");
    play(&config(), Some(&record), 5, 1).unwrap();
    let before = fs::read(&record).unwrap();
    let check = |config: MatchConfig, key: &str, there: &str, now: &str| {
        let error = play(&config, Some(&record), usize::MAX, 1).unwrap_err();
        let parts = [format!("`{key}` is {there} there and {now} now"), record.display().to_string()];
        assert!(parts.iter().all(|part| error.to_string().contains(part)), "{error}");
        assert_eq!(fs::read(&record).unwrap(), before);
    };
    check(MatchConfig { games: 42, ..config() }, "games", "40", "42");
    check(MatchConfig { opening_plies: 7, ..config() }, "opening_plies", "8", "7");
    check(MatchConfig { sprt: Some((0.0, 5.0)), ..config() }, "sprt", "null", "[0.0,5.0]");
    // What has no influence on games may change.
    assert!(play(&MatchConfig { cache_mb: 1, games_per_thread: 5, ..config() }, Some(&record), usize::MAX, 3).is_ok());

    fs::write(&record, "{\"variant\":\"sho\"}\nnonsense\n").unwrap();
    let error = play(&config(), Some(&record), usize::MAX, 1).unwrap_err();
    assert!(matches!(error, MatchError::Record(RecordError::Differs { .. })), "{error}");
    let mut text = String::from_utf8(before).unwrap();
    text += "nonsense\n";
    fs::write(&record, &text).unwrap();
    let error = play(&config(), Some(&record), usize::MAX, 1).unwrap_err();
    let at = format!("match.jsonl:{}: not a finished pair", text.lines().count());
    assert!(error.to_string().contains(&at), "{error}");
}

/// From the start position alone a search without chance plays the same pair again and again, which is one result.
#[test]
fn repeated_pairs_count_once() {
    let variant = variant();
    let search = SearchConfig { simulations: 4, noise: 0.0, ..SearchConfig::default() };
    let player = Player::Net { evaluator: Arc::new(Uniform), search };
    let contestants = Contestants { first: ("one", &player), second: ("other", &player) };
    let config = MatchConfig { games: 12, opening_plies: 0, max_plies: 60, ..MatchConfig::default() };
    let stop = AtomicBool::new(false);
    let conduct = Conduct { threads: 2, record: None, stop: &stop };
    let result = play_match(&variant, &contestants, &config, 1, &conduct, &|_| {}).unwrap();
    assert!(result.complete);
    assert_eq!((result.games, result.repeated_pairs, result.distinct), (2, 5, 1));
    assert_eq!(result.pentanomial.0, [0, 0, 1, 0, 0]);
}

#[test]
fn colors_add_up() {
    let result = play(&config(), None, usize::MAX, 2).unwrap();
    let [black, white] = result.by_color.unwrap();
    assert_eq!(black.iter().sum::<u64>(), 20);
    assert_eq!(white.iter().sum::<u64>(), 20);
    let both = [0, 1, 2].map(|i| black[i] + white[i]);
    assert_eq!(both, [result.losses, result.draws, result.wins]);
    assert_eq!(result.games, 40);
    assert_eq!(result.verdict, None);
}

/// The verdict stops the match, and pairs after the one that decided do not count.
#[test]
fn a_verdict_ends_the_match() {
    let config = MatchConfig { sprt: Some((0.0, 100.0)), games: 1000, games_per_thread: 32, ..config() };
    let result = play(&config, None, usize::MAX, 2).unwrap();
    assert_eq!(result.verdict, Some(Verdict::Accept));
    assert!(result.complete && result.games < 200, "{}", result.games);
}

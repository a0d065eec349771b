//! Reports of made-up run directories: their numbers, what is missing, what is damaged, and the markup.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::{Position, Variant};
use eval::judge::Recorded;
use eval::ladder::{Entrant, Ladder, Pairing};
use eval::measure::{Measured, by_increment, by_outcome};
use eval::odds::{OddsMatch, OddsSettings, OddsValues};
use eval::reference::ReferenceTable;
use eval::report::{self, ReportError};
use eval::starts::Odds;
use eval::values::ValuesConfig;
use selfplay::data::find_shards;
use selfplay::{Generation, SearchConfig, SelfplayConfig, Uniform, generate};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Games in each of two generations.
const GAMES: u64 = 48;

fn write_text(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn play(run: &Path, variant: &str, number: u32) {
    let config = SelfplayConfig { games: GAMES, max_plies: 150, ..SelfplayConfig::default() };
    let search = SearchConfig { simulations: 2, ..SearchConfig::default() };
    let config = SelfplayConfig { cheap_simulations: 1, ..config };
    let work = Generation {
        variant: &Variant::load(variant, None).unwrap(),
        evaluator: &Uniform,
        config: &config,
        search: &search,
        run_seed: 5,
        number,
        games: 0..GAMES,
        threads: 1,
    };
    generate(&work, run, &mut |_| {}, &AtomicBool::new(false)).unwrap();
}

/// A match from the first player's side, its derived numbers as the match statistics give them for these games.
fn match_result(first: &str, second: &str, pentanomial: [u64; 5]) -> Value {
    use eval::match_stats::{Pentanomial, Results};
    let [a, b, c, d, e] = pentanomial;
    let summary = Pentanomial(pentanomial).summary();
    let (wins, draws, losses) = (d + 2 * e + c, b + d, 2 * a + b + c);
    let all = [losses, draws, wins];
    let halves = all.map(|n| n / 2);
    let rest = all.map(|n| n - n / 2);
    let mut result = serde_json::to_value(summary).unwrap();
    let more = json!({
        "variant": "sho", "ruleset": "standard", "first": first, "second": second, "games": 2 * (a + b + c + d + e),
        "wins": wins, "draws": draws, "losses": losses, "pentanomial": pentanomial, "llr": null, "bounds": null, "verdict": null,
        "reasons": {"royal_captured": wins + losses, "ply_cap": draws}, "distinct": 2 * (a + b + c + d + e), "mean_plies": 88.5,
        "complete": true, "by_color": [halves, rest],
    });
    result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    result
}

fn events() -> String {
    let train = |generation: u32, policy: f64| {
        json!({"event": "train", "generation": generation, "network": generation + 1, "steps": 400, "positions": 102_400,
            "window": 1234, "training": {"policy": policy, "policy_floor": 1.5, "value": 0.9, "value_floor": 0.4},
            "validation": {"policy": policy + 0.125, "value": 0.95}, "validation_positions": 321, "seconds": 10.0})
    };
    let selfplay = |generation: u32, games: u64| {
        json!({"event": "selfplay", "generation": generation, "network": "uniform", "games": games, "positions": 100 * games,
            "simulations": 200 * games, "seconds": 0.5, "positions_per_second": 200.0 * games as f64})
    };
    // Generation 0 in two sittings; the last line was being written when the program was killed.
    let lines = [
        selfplay(0, 5),
        selfplay(0, 7),
        train(0, 3.25),
        json!({"event": "gate", "network": 1}),
        selfplay(1, 12),
        train(1, 2.75),
    ];
    lines.map(|line| line.to_string()).join("\n") + "\n{\"event\": \"tra"
}

/// A run of two generations of sho.
pub fn whole_run() -> TempDir {
    let folder = TempDir::new().unwrap();
    let run = folder.path();
    write_text(&run.join("run.toml"), "[run]\nvariant = \"sho\"\ngenerations = 2 # <b> & \"quotes\"\n");
    write_text(&run.join("metrics.jsonl"), &events());
    let gate = |network: u32, pentanomial: [u64; 5], accepted: bool| {
        let mut gate = match_result(&format!("net:{network:06}"), &format!("net:{:06}", network - 1), pentanomial);
        gate["network"] = json!(network);
        gate["against"] = json!(network - 1);
        gate["accepted"] = json!(accepted);
        write_text(&run.join(format!("matches/gate-{network:06}.json")), &gate.to_string());
    };
    gate(1, [1, 2, 10, 12, 5], true);
    gate(2, [4, 6, 14, 3, 3], false);
    let entrant = |(name, network): (&str, _)| Entrant { name: name.to_owned(), network };
    let entrants = [("net:000000", Some(0)), ("net:000002", Some(2)), ("random", None)].map(entrant);
    let pairing = |first, second, by_color| Pairing { first, second, by_color };
    let played = [pairing(0, 1, [[6, 0, 4], [7, 1, 2]]), pairing(1, 2, [[1, 0, 9], [0, 0, 10]])];
    let ladder = Ladder::rate(&entrants, &played, 2).unwrap();
    write_text(&run.join("ladder/ladder.json"), &serde_json::to_string(&ladder).unwrap());
    for (network, pentanomial) in [(1, [0, 1, 5, 4, 40]), (2, [0, 0, 0, 0, 50])] {
        let result = match_result(&format!("net:{network:06}"), "random", pentanomial);
        write_text(&run.join(format!("matches/random-{network:06}.json")), &result.to_string());
    }
    play(run, "sho", 0);
    play(run, "sho", 1);
    // So few games identify nothing under the usual limits.
    let config = ValuesConfig { replicates: 100, min_games: 4, max_log_error: 2.0, ..ValuesConfig::default() };
    let variant = Variant::load("sho", None).unwrap();
    let shards = find_shards(&[run.join("positions")]).unwrap();
    let table = ReferenceTable::default_for("sho");
    let measured = by_outcome(&variant, &shards, table.as_ref(), &config, 1).unwrap();
    write_text(&run.join("values/outcome.json"), &serde_json::to_string(&measured).unwrap());
    let odds = odds(&variant, std::slice::from_ref(&measured), table.as_ref());
    write_text(&run.join("values/odds.json"), &serde_json::to_string(&odds).unwrap());
    let measured = by_increment(&variant, &shards, &Recorded, table.as_ref(), &config, 1).unwrap();
    write_text(&run.join("values/increment.json"), &serde_json::to_string(&measured).unwrap());
    folder
}

/// Odds of a rook, worth ln 9 by 100 pairs, and of a bishop, which won every game.
fn odds(variant: &Arc<Variant>, others: &[Measured], table: Option<&ReferenceTable>) -> OddsValues {
    let settings = OddsSettings {
        player: "net:000002".to_owned(),
        simulations: 8,
        opening_plies: 4,
        max_plies: 300,
        games: 200,
        seed: 7,
    };
    let matches = [("rook", [0, 0, 20, 0, 80]), ("bishop", [0, 0, 0, 0, 100])].map(|(name, pairs)| {
        let result = serde_json::from_value(match_result("net:000002", "net:000002", pairs)).unwrap();
        OddsMatch::new(variant, &Odds::parse(variant, name).unwrap(), result)
    });
    OddsValues::of(variant, settings, matches.into(), table, others, &ValuesConfig::default())
}

fn html(run: &Path) -> String {
    fs::read_to_string(report::write(run).unwrap()).unwrap()
}

/// Every tag is closed, in the right order; text has no bare `<` or `&`.
fn assert_balanced(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "a bare > in {:?}", &rest[..at]);
        for entity in rest[..at].split('&').skip(1) {
            assert!(
                ["lt;", "gt;", "amp;", "quot;", "#39;"].iter().any(|known| entity.starts_with(known)),
                "{entity:?}"
            );
        }
        let end = at + rest[at..].find('>').unwrap();
        let (tag, after) = (&rest[at + 1..end], &rest[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            let name = tag.split(' ').next().unwrap();
            // Their contents are not markup.
            if ["script", "style"].contains(&name) {
                rest = &rest[rest.find(&format!("</{name}>")).unwrap() + name.len() + 3..];
            } else {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_whole_run_is_reported() {
    let run = whole_run();
    let html = html(run.path());
    assert_balanced(&html);
    let contains = |text: &str| assert!(html.contains(text), "no {text:?}");
    // 50 pairs won of 50; the lower end with a lost and a won pseudo pair: mean 51/52 − 1.96·√(51/52/52/52) = 0.9434.
    contains(
        "Network 2, the last of this run, scores 100\u{a0}% against a player who moves at random (95\u{a0}% interval 94.3 to 100, 100 games)",
    );
    contains("It did not pass its gate: network 1 goes on playing.");
    contains("小将棋");
    contains("Ruleset standard");
    contains("96 games");
    // Points of the second gate: 4·0 + 6·½ + 14·1 + 3·1½ + 3·2 = 27.5 of 60.
    contains("45.8\u{a0}% (");
    contains("1, failed");
    contains("Elo above random");
    contains("40 games between 3 players");
    contains("3.375");
    contains("2.875");
    // 12 games in two sittings of half a second each: 1200 positions a second.
    contains("1,200");
    contains("Lengths in generation 1");
    contains("Somers’ D");
    contains("By phase of the game");
    contains("worth after");
    contains("0.94");
    contains("飛車");
    contains("By odds matches");
    // ln 9, and the ends of its interval: 0.9 ± 1.96 · 0.02.
    contains("<td class=\"number\">2.20</td><td class=\"number\">1.82 to 2.74</td>");
    contains("all 200 games won, at least 3.51 logits; `bishop:rook` would measure the difference");
    contains(
        "shishi values RUN --method odds --pieces rook,bishop --games 200 --simulations 8 --opening-plies 4 --max-plies 300 --seed 7",
    );
    contains("dragon king<span class=\"from\"> from rook</span>");
    contains("generations = 2 # &lt;b&gt; &amp; &quot;quotes&quot;");
    assert!(!html.contains(&run.path().display().to_string()), "the report knows where it was made");
    for foreign in ["http://", "https://", "@import", "src="] {
        let own = html.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains(foreign), "{foreign} in the page");
    }
    // The same files give the same report.
    assert_eq!(html, self::html(run.path()));
    assert!(!run.path().join("report.html.tmp").exists());
}

#[test]
fn the_summary_has_the_numbers_of_the_report() {
    let run = whole_run();
    let summary = report::summary(run.path()).unwrap();
    let report = report::load(run.path()).unwrap();
    let number =
        |pointer: &str| summary.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {pointer}"));
    assert_eq!(number("/strength/networks/2/random/score"), 1.0);
    assert_eq!(number("/strength/networks/2/gate/losses"), 28.0);
    assert_eq!(number("/strength/games"), 320.0);
    assert_eq!(number("/strength/playing"), 1.0);
    assert_eq!(number("/strength/networks/0/elo_over_first/value"), 0.0);
    assert_eq!(number("/ladder/players/0/wins"), 32.0);
    assert_eq!(number("/ladder/players/2/elo"), 0.0);
    assert_eq!(number("/learning/selfplay/0/games"), 12.0);
    assert_eq!(number("/learning/selfplay/0/seconds"), 1.0);
    assert_eq!(number("/learning/training/1/validation/policy"), 2.875);
    assert_eq!(number("/games/games"), 96.0);
    assert_eq!(number("/odds/matches/0/score"), 0.9);
    assert_eq!(summary.pointer("/odds/pieces/1/value"), Some(&Value::Null));
    let ended: u64 = report.games.as_ref().unwrap().endings.iter().map(|ending| ending.games).sum();
    assert_eq!(ended, 2 * GAMES);
    // Both royal kinds share a feature.
    let kinds = Variant::load("sho", None).unwrap().kinds().len() - 1;
    assert_eq!(report.values.as_ref().unwrap().kinds(), kinds);
    assert_eq!(report.shown.len(), 3);
    for game in &report.shown {
        assert_eq!(game.generation, 1);
        // Some of the games have a winner, and those are shown.
        assert!(["black", "white"].contains(&game.result.as_deref().unwrap()));
        assert_eq!(game.values.len(), game.moves.len());
    }
}

/// Two equal results of one match leave its rating what the match alone says: with d = 400·log₁₀(wins / losses) when nothing
/// is drawn, and the error of a difference √(1/wins + 1/losses) · 400/ln 10.
#[test]
fn the_joint_rating_of_one_match_is_that_of_the_match() {
    let folder = TempDir::new().unwrap();
    let mut gate = match_result("net:000001", "net:000000", [5, 0, 10, 0, 15]);
    gate["network"] = json!(1);
    gate["against"] = json!(0);
    gate["accepted"] = json!(true);
    write_text(&folder.path().join("matches/gate-000001.json"), &gate.to_string());
    let report = report::load(folder.path()).unwrap();
    let over = report.strength.unwrap().networks[1].elo_over_first.unwrap();
    let (wins, losses): (f64, f64) = (40.0, 20.0);
    assert!((over.value - 400.0 * (wins / losses).log10()).abs() < 1e-6, "{over:?}");
    let error = 1.959964 * (1.0 / wins + 1.0 / losses).sqrt() * 400.0 / std::f64::consts::LN_10;
    assert!((over.high - over.value - error).abs() < 1e-3, "{over:?} {error}");
}

#[test]
fn what_is_missing_is_said() {
    let folder = TempDir::new().unwrap();
    let html = html(folder.path());
    assert_balanced(&html);
    for missing in ["matches/", "metrics.jsonl", "games/", "values/outcome.json", "run.toml"] {
        assert!(html.contains("class=\"missing\"") && html.contains(missing), "{missing}");
    }
    assert!(report::load(folder.path()).unwrap().headline.is_empty());

    // Games alone, of another variant, with the longest symbols there are.
    play(folder.path(), "daidai", 0);
    let html = self::html(folder.path());
    assert_balanced(&html);
    assert!(html.contains("大大将棋") || html.contains("Dai dai shogi"));
    fs::remove_dir_all(folder.path().join("positions")).unwrap();
    assert!(report::load(folder.path()).unwrap().shown.iter().all(|game| game.values.is_empty()));
}

/// The boards that the page's script builds from its data are those of the games as the engine plays them.
#[test]
fn the_boards_of_shown_games_are_right() {
    for variant in Variant::builtin_names() {
        let folder = TempDir::new().unwrap();
        play(folder.path(), variant, 0);
        let html = html(folder.path());
        let (_, data) = html.split_once("id=\"game-data\">").unwrap();
        let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        let shown = report::load(folder.path()).unwrap().shown;
        assert_eq!(data["games"].as_array().unwrap().len(), shown.len());
        let rules = Variant::load(variant, None).unwrap();
        for (game, data) in shown.iter().zip(data["games"].as_array().unwrap()) {
            let mut position = Position::from_sfen(&rules, &game.opening_sfen).unwrap();
            let mut board: Vec<u64> =
                data["start"].as_array().unwrap().iter().map(|code| code.as_u64().unwrap()).collect();
            assert_eq!(data["steps"].as_array().unwrap().len(), game.moves.len());
            for (text, step) in game.moves.iter().zip(data["steps"].as_array().unwrap()) {
                let mv = position.parse_usi(text).unwrap();
                position.play_unchecked(mv);
                let numbers =
                    |i: usize| step[i].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect::<Vec<_>>();
                numbers(0).chunks(2).for_each(|change| board[change[0] as usize] = change[1]);
                assert!(board.iter().zip(position.codes()).all(|(&ours, &code)| ours == u64::from(code)), "{text}");
                assert!(numbers(1).contains(&(mv.to().index() as u64)));
            }
        }
    }
}

#[test]
fn no_directory_no_report() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("nothing");
    assert!(matches!(report::write(&missing), Err(ReportError::Io { path, .. }) if path == missing));
    assert!(!missing.exists());
}

#[test]
fn damage_is_named() {
    let check = |file: &str, text: &str, expected: &str| {
        let folder = TempDir::new().unwrap();
        write_text(&folder.path().join(file), text);
        let error = report::write(folder.path()).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains(expected), "{error}");
        assert!(!folder.path().join("report.html").exists());
    };
    check("values/outcome.json", "{\"variant\": ", "line 1");
    check("values/odds.json", "{}", "missing field");
    check("matches/random-000003.json", "{}", "missing field");
    check("matches/gate-000003.json", "[1]", "invalid type");
    check("ladder/ladder.json", "{}", "missing field");
    check("metrics.jsonl", "{\"event\": \"x\"}\n{\"event\": \"train\"}\n", ":2:");
    check("games/gen-000000/000000-000001.parquet", "PAR1", "parquet");
}

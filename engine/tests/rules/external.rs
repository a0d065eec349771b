//! Published facts about chu shogi that are not part of this project: whole games, rule cases, move counts, problems.
//!
//! They lie in the folder that the environment variable `SHISHI_EXTERNAL` names. Without it these tests say so and
//! pass.

use crate::referee::{Referee, Twin};
use crate::subject::{self, Core};
use crate::suite::{self, strings, without_number};
use crate::twin::{TwinEnd, TwinGame, TwinPosition, parse_rows, text};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;

/// A file of the external folder.
pub(crate) fn external(name: &str) -> Option<String> {
    let Some(folder) = std::env::var_os("SHISHI_EXTERNAL") else {
        // Straight to the stream: what a passing test prints is not shown otherwise.
        writeln!(std::io::stderr(), "SHISHI_EXTERNAL is not set: {name} is not looked at").expect("stderr is open");
        return None;
    };
    let path = PathBuf::from(folder).join(name);
    Some(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
}

pub(crate) fn external_rows(name: &str) -> Vec<Value> {
    external(name).map_or(Vec::new(), |file| parse_rows(&file, name))
}

/// A falcon or eagle taking a lion on its middle square during the ban: lishogi's server allows it, its client refuses. The
/// rows give the server's verdict; ruleset `lishogi` follows the client.
const SERVER_ALLOWS_MID_SQUARE: [&str; 7] = ["C05", "C05b", "C05c", "RT30-1", "RT30-2", "RT32-1", "RT32-2"];

/// A bare royal against several pieces: the source plays on, ruleset `jcsa` calls it a win after another source.
const JCSA_PLAYS_ON: [&str; 1] = ["C15"];

/// Each ruleset with the column of verdicts that is asked of it. The last two are the tests' own: they hold without
/// exception, the program's two but for the rows named above.
const COLUMNS: [(&str, &str); 4] = [
    ("lishogi", "legal_lishogi"),
    ("jcsa", "legal_jcsa"),
    ("lishogi_server", "legal_lishogi"),
    ("jcsa_play_on", "legal_jcsa"),
];

fn rule_cases<R: Referee>() {
    let rows = ["jcsa_cases.jsonl", "rule_cases.jsonl"].map(external_rows).concat();
    let mut wrong = Vec::new();
    for row in &rows {
        let (id, mv) = (text(row, "id"), text(row, "move"));
        for (ruleset, column) in COLUMNS {
            let expected = &row[column];
            let position = R::read("chu", ruleset, text(row, "sfen"));
            match mv {
                "(status)" => {
                    let Some(status) = expected.as_str() else { continue };
                    if ruleset == "jcsa" && JCSA_PLAYS_ON.contains(&id) {
                        assert_eq!(status, "playing", "{id}: the source plays on");
                        // White has the several pieces.
                        assert_eq!(R::end(&position), Some(TwinEnd::win(true, "bare_king")), "{id}");
                        continue;
                    }
                    check_status::<R>(&format!("{id} {ruleset}"), &position, status, row);
                }
                "(count)" => {
                    if let Some(count) = expected.as_u64() {
                        assert_eq!(R::count(&position) as u64, count, "{id} {ruleset}");
                    }
                }
                "(mate)" => {
                    if let Some(answer) = expected.as_str() {
                        assert_eq!(wins_by_force::<R>(&position), answer == "yes", "{id} {ruleset}");
                    }
                }
                _ => {
                    let Some(mut legal) = expected.as_bool() else { continue };
                    if ruleset == "lishogi" && SERVER_ALLOWS_MID_SQUARE.contains(&id) {
                        assert!(legal, "{id}: the server allows it");
                        legal = false;
                    }
                    let found = if row["any_route"].as_bool() == Some(true) {
                        R::moves(&position).iter().any(|m| any_route(&position_of(ruleset, row), mv, m))
                    } else {
                        R::is_legal(&position, mv)
                    };
                    if found != legal {
                        wrong.push(format!("{id} {ruleset}: {mv} in {}: legal {found}", R::sfen(&position)));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn position_of(ruleset: &str, row: &Value) -> TwinPosition {
    Twin::read("chu", ruleset, text(row, "sfen"))
}

/// Whether a move leads from and to the same squares as another.
fn any_route(position: &TwinPosition, wanted: &str, mv: &str) -> bool {
    let ends = |mv| {
        let mv = position.parse_usi(mv);
        (mv.from, mv.to)
    };
    ends(wanted) == ends(mv)
}

fn check_status<R: Referee>(name: &str, position: &R::Position, status: &str, row: &Value) {
    let end = R::end(position);
    let winner = row["winner"].as_str().map(|side| side == "gote");
    match status {
        "playing" => assert_eq!(end, None, "{name}"),
        "draw" | "draw (jishogi, by agreement)" => assert_eq!(end, Some(TwinEnd::draw("bare_king")), "{name}"),
        "royalslost" => assert_eq!(end, winner.map(|w| TwinEnd::win(w, "royal_captured")), "{name}"),
        "bareking" | "stalemate" => {
            let reason = if status == "stalemate" { "no_moves" } else { "bare_king" };
            let end = end.unwrap_or_else(|| panic!("{name}: not over"));
            assert_eq!(end.reason, reason, "{name}");
            assert!(winner.is_none() || end.white_won == winner, "{name}: {end:?}");
        }
        // Nothing is said about having no move; the rules' text makes it a loss.
        "unregulated" => assert_eq!(end, Some(TwinEnd::win(true, "no_moves")), "{name}"),
        other => panic!("{name}: unknown status {other}"),
    }
}

/// Whether the side to move takes the last royal at once, or makes a move after which it can whatever the answer.
fn wins_by_force<R: Referee>(position: &R::Position) -> bool {
    let takes =
        |p: &R::Position| R::next(p).iter().any(|after| R::end(after).is_some_and(|e| e.reason == "royal_captured"));
    takes(position) || R::next(position).iter().any(|after| R::end(after).is_none() && R::next(after).iter().all(takes))
}

#[test]
fn rule_cases_of_twin() {
    rule_cases::<Twin>();
}

fn move_counts<R: Referee>() {
    for line in external("lishogi_movecounts.tsv").unwrap_or_default().lines() {
        let (sfen, count) = line.split_once('\t').expect("two columns");
        let position = R::read("chu", "lishogi", sfen);
        let twin = Twin::read("chu", "lishogi", sfen);
        // Every way to a result is counted there.
        let routes: usize = R::moves(&position).iter().map(|mv| twin.routes(&twin.parse_usi(mv))).sum();
        assert_eq!(routes.to_string(), count, "{sfen}");
    }
}

#[test]
fn move_counts_of_twin() {
    move_counts::<Twin>();
}

/// Replays the games; the caller says how each ended.
fn games<R: Referee>() {
    for row in external_rows("lishogi_games.jsonl") {
        let mut position = R::read("chu", "lishogi", text(&row, "start_sfen"));
        let id = &row["id"];
        for mv in strings(&row["moves"]) {
            assert_eq!(R::end(&position), None, "game {id}");
            position = R::play(&position, mv);
        }
        assert_eq!(R::sfen(&position), text(&row, "final_sfen"), "game {id}");
        let winner = row["winner"].as_str().map(|side| side == "gote");
        let end =
            (text(&row, "status") == "royals_lost").then_some(TwinEnd { white_won: winner, reason: "royal_captured" });
        assert_eq!(R::end(&position), end, "game {id}");
    }
}

#[test]
fn games_of_twin() {
    games::<Twin>();
    for row in external_rows("lishogi_games.jsonl") {
        let mut game = TwinGame::new(Twin::read("chu", "lishogi", text(&row, "start_sfen")));
        let mut most = 1;
        for mv in strings(&row["moves"]) {
            game.play(&game.position().parse_usi(mv));
            most = most.max(game.occurrences());
        }
        assert_eq!(Some(most as u64), row["max_repetition"].as_u64(), "game {}", row["id"]);
        let capped = text(&row, "status") == "unfinished_on_board_server_draw_at_1000_plies";
        assert_eq!(game.end() == Some(TwinEnd::draw("ply_cap")), capped, "game {}", row["id"]);
    }
}

/// Mating problems: every move is legal, every move of the attacker's attacks the king, and where the source says so
/// every answer at the end leaves it to be taken. The attacker mostly has no king, so ends are not asked for.
fn problems<R: Referee>() {
    let file = external("mate_problems.json").map_or(Value::Null, |file| serde_json::from_str(&file).expect("JSON"));
    let mates = file["problems"].as_array().cloned().unwrap_or_default();
    for row in &mates {
        let end = problem::<R>(text(row, "id"), text(row, "sfen"), &row["solution_usi"], true);
        assert_eq!(without_number(&R::sfen(&end)), without_number(text(row, "final_sfen")), "{}", text(row, "id"));
    }
    for row in external_rows("tsume.jsonl") {
        if row["solution"].is_array() {
            problem::<R>(text(&row, "id"), text(&row, "sfen"), &row["solution"], row["end_state"] == "mate");
        }
    }
}

fn problem<R: Referee>(id: &str, sfen: &str, line: &Value, mate: bool) -> R::Position {
    let mut position = R::read("chu", "historical", sfen);
    for (ply, mv) in strings(line).enumerate() {
        assert!(R::is_legal(&position, mv), "{id}, ply {}: {mv} in {}", ply + 1, R::sfen(&position));
        position = R::play(&position, mv);
        if ply % 2 == 0 {
            assert!(R::gives_check(&position), "{id}, ply {}: {mv} does not attack the king", ply + 1);
        }
    }
    if mate {
        assert!(R::next(&position).iter().all(|after| R::attacks_a_royal(after)), "{id}: no mate");
    }
    position
}

#[test]
fn problems_of_twin() {
    problems::<Twin>();
}

#[test]
fn lion_trading_of_twin() {
    if let Some(file) = external("chu_lion_trading_published.json") {
        suite::chu_lion_trading::<Twin>(&file);
    }
}

#[test]
fn rule_cases_of_core() {
    rule_cases::<Core>();
}

#[test]
fn move_counts_of_core() {
    move_counts::<Core>();
}

#[test]
fn games_of_core() {
    games::<Core>();
    for row in external_rows("lishogi_games.jsonl") {
        let mut game = engine::Game::new(subject::read("chu", "lishogi", text(&row, "start_sfen")));
        let mut most = 1;
        for mv in strings(&row["moves"]) {
            let mv = game.position().parse_usi(mv).unwrap_or_else(|error| panic!("game {}: {error}", row["id"]));
            game.play(mv).unwrap_or_else(|error| panic!("game {}: {error}", row["id"]));
            most = most.max(game.occurrences());
        }
        assert_eq!(Some(most as u64), row["max_repetition"].as_u64(), "game {}", row["id"]);
        let capped = text(&row, "status") == "unfinished_on_board_server_draw_at_1000_plies";
        assert_eq!(game.outcome().map(subject::as_end) == Some(TwinEnd::draw("ply_cap")), capped, "game {}", row["id"]);
    }
}

#[test]
fn problems_of_core() {
    problems::<Core>();
}

#[test]
fn lion_trading_of_core() {
    if let Some(file) = external("chu_lion_trading_published.json") {
        suite::chu_lion_trading::<Core>(&file);
    }
}

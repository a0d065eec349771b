//! The conformance suite: what other programs measured and cases worked by hand, for any referee.

use crate::referee::Referee;
use crate::twin::{TwinEnd, TwinMove, TwinPiece, TwinPosition, TwinVariant, data, rows, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a line of play stops in a count of leaves.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// At any end of the game.
    AnyEnd,
    /// Only where the last royal is gone.
    RoyalLost,
}

/// Leaves below a position; repetition is not looked at.
pub(crate) fn perft<R: Referee>(position: &R::Position, depth: usize, stop: Stop) -> u64 {
    let over = R::end(position).is_some_and(|end| stop == Stop::AnyEnd || end.reason == "royal_captured");
    match (over, depth) {
        (true, _) => 0,
        (false, 1) => R::count(position) as u64,
        (false, _) => R::next(position).iter().map(|next| perft::<R>(next, depth - 1, stop)).sum(),
    }
}

/// Compares as many depths as stay below a number of leaves.
pub(crate) fn check_perft<R: Referee>(name: &str, position: &R::Position, counts: &Value, stop: Stop, most: u64) {
    for (n, count) in counts.as_array().expect("counts").iter().enumerate() {
        let count = count.as_u64().expect("a count");
        if count > most {
            return;
        }
        assert_eq!(perft::<R>(position, n + 1, stop), count, "{name} to depth {}: {}", n + 1, R::sfen(position));
    }
}

pub(crate) fn strings(list: &Value) -> impl Iterator<Item = &str> {
    list.as_array().expect("a list").iter().map(|v| v.as_str().expect("texts"))
}

/// Fairy-Stockfish's `a1` is the corner on Black's left, file 9 of rank i.
fn from_fairy(mv: &str) -> String {
    let (squares, plus) = mv.strip_suffix('+').map_or((mv, ""), |squares| (squares, "+"));
    let bytes = squares.as_bytes();
    let square = |file: u8, rank: u8| format!("{}{}", 9 - (file - b'a'), (b'i' - (rank - b'1')) as char);
    format!("{}{}{plus}", square(bytes[0], bytes[1]), square(bytes[2], bytes[3]))
}

/// Fairy-Stockfish without any rule about check.
pub(crate) fn sho_king_capture<R: Referee>(most: u64) {
    for row in rows("sho_perft.jsonl") {
        let position = R::read("sho", "standard", text(&row, "sfen"));
        check_perft::<R>(text(&row, "id"), &position, &row["depth_counts_kingcapture"], Stop::RoyalLost, most);
        if R::end(&position).is_none_or(|end| end.reason != "royal_captured") {
            let expected: BTreeSet<String> = strings(&row["moves_kingcapture"]).map(from_fairy).collect();
            assert_eq!(R::moves(&position), expected, "{}", text(&row, "id"));
        }
    }
}

/// Fairy-Stockfish with its rule about check.
pub(crate) fn sho_fairy<R: Referee>(most: u64) {
    for row in rows("sho_perft.jsonl") {
        let position = R::read("sho", "fairy", text(&row, "sfen"));
        check_perft::<R>(text(&row, "id"), &position, &row["depth_counts"], Stop::AnyEnd, most);
        let expected: BTreeSet<String> = strings(&row["moves"]).map(from_fairy).collect();
        assert_eq!(R::moves(&position), expected, "{}", text(&row, "id"));
    }
    // Measured with Fairy-Stockfish too: it counts the royals before the move, so an elephant cannot promote to save
    // a lone king. (Counted after the move there would be 11 moves.)
    assert_eq!(R::count(&R::read("sho", "fairy", "4k4/9/4E4/9/4r4/9/9/9/4K4 b - 1")), 4);
    assert_eq!(R::count(&R::read("sho", "standard", "4k4/9/4E4/9/4r4/9/9/9/4K4 b - 1")), 19);
}

/// Counts of shogiops in which routes to the same result are one move.
pub(crate) fn chu_counts<R: Referee>(most: u64) {
    for row in rows("chu_perft.jsonl") {
        let position = R::read("chu", "lishogi", text(&row, "sfen"));
        check_perft::<R>(text(&row, "id"), &position, &row["depth_counts_distinct"], Stop::AnyEnd, most);
    }
}

/// Move lists of shogiops, distinct and raw.
pub(crate) fn chu_move_lists<R: Referee>() {
    for row in rows("chu_divide.jsonl") {
        let position = R::read("chu", "lishogi", text(&row, "sfen"));
        for list in ["moves_distinct", "moves_raw"] {
            let spelled = |mv| R::spelled(&position, mv).unwrap_or_else(|| panic!("{}: {mv}", text(&row, "id")));
            let expected: BTreeSet<String> = strings(&row[list]).map(spelled).collect();
            assert_eq!(R::moves(&position), expected, "{} {list}", text(&row, "id"));
        }
    }
}

/// Verdicts of shogiops on single moves and endings.
pub(crate) fn chu_edges<R: Referee>() {
    for row in rows("chu_edge.jsonl") {
        let id = text(&row, "id");
        let position = R::read("chu", "lishogi", text(&row, "sfen"));
        if let Some(legal) = row["legal"].as_object() {
            for (mv, expected) in legal {
                assert_eq!(Some(R::is_legal(&position, mv)), expected.as_bool(), "{id}: {mv}");
            }
        } else {
            assert_eq!(R::end(&position), edge_end(&row["outcome"]), "{id}");
        }
        if let Some(mv) = row["after"].as_str() {
            let after = R::play(&R::read("chu", "lishogi", text(&row, "start_sfen")), mv);
            assert_eq!(R::sfen(&after), text(&row, "sfen"), "{id}");
        }
    }
}

/// The end of a `chu_edge.jsonl` row.
fn edge_end(outcome: &Value) -> Option<TwinEnd> {
    let winner = outcome["winner"].as_str().map(|side| side == "gote");
    let reason = match outcome["result"].as_str()? {
        "bareKing" | "draw" => "bare_king",
        "kingsLost" => "royal_captured",
        other => panic!("unknown result {other}"),
    };
    Some(TwinEnd { white_won: winner, reason })
}

/// Own cases of the lion trading rules, and any file of that form.
pub(crate) fn chu_lion_trading<R: Referee>(file: &str) {
    let file: Value = serde_json::from_str(file).expect("JSON");
    let mut wrong = Vec::new();
    for case in file["cases"].as_array().expect("cases") {
        for (ruleset, expected) in case["legal"].as_object().expect("verdicts") {
            let name = format!("{} {ruleset}", text(case, "id"));
            let position = R::read("chu", ruleset, text(case, "sfen"));
            let legal = R::is_legal(&position, text(case, "move"));
            if Some(legal) != expected.as_bool() {
                wrong.push(format!("{name}: {} in {}: legal {legal}", text(case, "move"), text(case, "sfen")));
            }
        }
        // What led there is lawful with lishogi's promotions; not every ruleset has them.
        let mut played = R::read("chu", "lishogi", text(case, "sfen_start"));
        for mv in strings(&case["prelude"]) {
            played = R::play(&played, mv);
        }
        assert_eq!(
            without_number(&R::sfen(&played)),
            without_number(text(case, "sfen")),
            "{}: prelude",
            text(case, "id")
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// An SFEN without the number of the move.
pub(crate) fn without_number(sfen: &str) -> String {
    sfen.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// Pieces of sho and chu on small boards.
pub(crate) fn pieces_of_sho_and_chu<R: Referee>() {
    let cases: Value = serde_json::from_str(&data("chu_sho_piece_tests.json")).expect("JSON");
    for case in cases.as_array().expect("cases") {
        let game = text(case, "game");
        let ruleset = if game == "sho" { "standard" } else { text(case, "ruleset") };
        let position = R::read(game, ruleset, text(case, "sfen"));
        let expected = piece_moves::<R>(case, &position);
        assert_eq!(moves_from::<R>(&position, text(case, "from")), expected, "{}", text(case, "id"));
        assert_eq!(Some(expected.len() as u64), case["canonical_move_count"].as_u64(), "{}", text(case, "id"));
    }
}

fn moves_from<R: Referee>(position: &R::Position, from: &str) -> BTreeSet<String> {
    let begins = |mv: &String| {
        mv.strip_prefix(from).is_some_and(|rest| rest.starts_with('~') || rest.as_bytes()[0].is_ascii_digit())
    };
    R::moves(position).into_iter().filter(begins).collect()
}

/// The moves a row of `chu_sho_piece_tests.json` asks for.
fn piece_moves<R: Referee>(case: &Value, position: &R::Position) -> BTreeSet<String> {
    let from = text(case, "from");
    let mut expected = BTreeSet::new();
    let forced: Vec<&str> = strings(&case["promotion_forced"]).collect();
    for to in strings(&case["quiet"]).chain(strings(&case["captures"])).filter(|to| !forced.contains(to)) {
        expected.insert(format!("{from}{to}"));
    }
    for to in strings(&case["promotion_optional"]).chain(strings(&case["promotion_forced"])) {
        expected.insert(format!("{from}{to}+"));
    }
    for way in case["two_step"].as_array().expect("a list") {
        let mv = format!("{from}{}{}", text(way, "via"), text(way, "to"));
        expected.insert(R::spelled(position, &mv).unwrap_or_else(|| panic!("{}: {mv}", text(case, "id"))));
    }
    if case["pass"].as_bool() == Some(true) {
        expected.insert(format!("{from}~{from}"));
    }
    expected
}

/// Pieces of dai dai alone on the board with a few others.
pub(crate) fn pieces_of_daidai<R: Referee>() {
    let file: Value = serde_json::from_str(&data("daidai_piece_tests.json")).expect("JSON");
    for case in file["tests"].as_array().expect("tests") {
        let (name, ruleset) = (text(case, "name"), text(case, "ruleset"));
        let variant = TwinVariant::load("daidai", ruleset);
        let board = daidai_case(&variant, case);
        let position = R::read("daidai", ruleset, &board.sfen());
        let expected = daidai_moves(&board, case);
        let spelled: BTreeSet<String> = expected.iter().map(|mv| board.usi(mv)).collect();
        assert_eq!(moves_from::<R>(&position, text(case, "from")), spelled, "{name}");
        assert_eq!(Some(spelled.len() as u64), case["count"].as_u64(), "{name}");
        for mv in expected.iter().filter(|mv| !mv.is_pass()) {
            let after = R::play(&position, &board.usi(mv));
            let after = TwinPosition::parse(&variant, &R::sfen(&after));
            let becomes = case["becomes_after_capture"].as_str().filter(|_| !mv.captured.is_empty());
            let kind = after.board[mv.to].map(|p| after.kind(p).moves_as.as_str());
            assert_eq!(kind, Some(becomes.unwrap_or(text(case, "piece"))), "{name}");
        }
    }
}

/// The position of a row of `daidai_piece_tests.json`.
fn daidai_case(variant: &Arc<TwinVariant>, case: &Value) -> TwinPosition {
    let mut position = TwinPosition::start(variant);
    position.board.fill(None);
    let mut put = |row: &Value, square: &str| {
        let at = variant.parse_square(square).expect("a square");
        let promoted = row["promoted"].as_bool().expect("promoted");
        let kind = variant.kind_of_name(text(row, "piece"), promoted).expect("a piece");
        position.board[at] = Some(TwinPiece { white: text(row, "side") == "white", kind });
    };
    put(case, text(case, "from"));
    for other in case["others"].as_array().expect("others") {
        put(other, text(other, "sq"));
    }
    position.white_to_move = text(case, "side") == "white";
    position
}

/// The moves a row of `daidai_piece_tests.json` asks for.
fn daidai_moves(board: &TwinPosition, case: &Value) -> Vec<TwinMove> {
    let square = |s: &str| board.variant.parse_square(s).expect("a square");
    let promotes = case["becomes_after_capture"].is_string();
    let read = |row: &Value| {
        let mut captured: Vec<usize> = strings(&row["captures"]).map(square).collect();
        captured.sort_unstable();
        let promote = promotes && !captured.is_empty();
        TwinMove { from: square(text(case, "from")), to: square(text(row, "to")), captured, promote, dropped: None }
    };
    case["expected"].as_array().expect("a list").iter().map(read).collect()
}

/// From two generators written separately from the rules (rules' text, section 11).
pub(crate) fn daidai_counts<R: Referee>(depths: usize) {
    for (ruleset, counts) in
        [("historical", [59, 3463, 206_662]), ("jcsa", [59, 3463, 206_662]), ("shogi_association", [58, 3346, 196_084])]
    {
        let position = R::start("daidai", ruleset);
        for (depth, count) in (1..=depths).zip(counts) {
            assert_eq!(perft::<R>(&position, depth, Stop::AnyEnd), count, "{ruleset} to depth {depth}");
        }
    }
}

/// Games HaChu played against itself: legal moves throughout under its own ruleset, promotions included.
pub(crate) fn hachu_games<R: Referee>() {
    let file = data("hachu_games.txt");
    let lines: Vec<&str> = file.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    assert_eq!(lines.len() % 3, 0, "three lines a game");
    for game in lines.chunks(3) {
        let mut position = R::start("chu", "hachu");
        let mut plies = 0;
        for mv in game[2].split_whitespace() {
            position = R::play(&position, mv);
            plies += 1;
        }
        assert!(game[0].contains(&format!("| {plies} plies")), "{}: {plies} moves", game[0]);
    }
}

//! Short mates are found by plain search: own ones, and published ones that are not part of this project.

use crate::external::{external, external_rows};
use crate::histories::cases;
use crate::referee::{Referee, Twin};
use crate::subject::Core;
use crate::twin::text;
use serde_json::Value;

/// Whether the side to move mates within so many plies, with a check at every move of its own. Mate: whatever the other
/// side answers, its last royal can be taken.
fn mates<R: Referee>(position: &R::Position, plies: u64) -> bool {
    R::next(position).iter().any(|after| R::gives_check(after) && is_lost::<R>(after, plies - 1))
}

/// Whether every answer lets the last royal be taken at once or leads to a mate within the plies left.
fn is_lost<R: Referee>(position: &R::Position, plies: u64) -> bool {
    // Those that are refuted at once need no search, so they come first.
    let replies = R::next(position).into_iter();
    let escapes: Vec<R::Position> = replies.filter(|reply| !R::takes_last_royal(reply)).collect();
    escapes.is_empty() || (plies >= 2 && escapes.iter().all(|reply| mates::<R>(reply, plies - 1)))
}

/// Own mates are found in as many plies as they need and not in fewer.
fn own<R: Referee>() {
    for case in cases("mates.json") {
        let position = R::read("chu", "historical", text(&case, "sfen"));
        let needed = [1, 3, 5].into_iter().find(|&plies| mates::<R>(&position, plies));
        assert_eq!(needed, case["plies"].as_u64(), "{}", text(&case, "id"));
    }
}

#[test]
fn own_mates_by_twin() {
    own::<Twin>();
}

#[test]
fn own_mates_by_core() {
    own::<Core>();
}

/// Rows whose line of up to five plies is not all there is to it: with the last move given here the other side defends
/// better than in that line, so the mate takes longer. (One line is a solver's; for the other the solver's is 11 plies.)
const BETTER_DEFENCES: [(&str, &str); 2] = [("tsukuri15", "2i4g 3f4g"), ("tukurimono02", "5a4b 5b4b 4f6d 4b5b")];

/// Published mates of up to five plies. The attacker mostly has no king.
#[test]
fn published_mates() {
    let file = external("mate_problems.json").map_or(Value::Null, |file| serde_json::from_str(&file).expect("JSON"));
    let mut problems = file["problems"].as_array().cloned().unwrap_or_default();
    problems.extend(external_rows("tsume.jsonl").into_iter().filter(|row| row["mate"] == "yes"));
    for row in &problems {
        let (id, sfen) = (text(row, "id"), text(row, "sfen"));
        let plies = row["plies"].as_u64().expect("a number of plies");
        if plies > 5 {
            continue;
        }
        let mut position = Core::read("chu", "historical", sfen);
        let defence = BETTER_DEFENCES.iter().find(|(other, _)| *other == id);
        assert_eq!(mates::<Core>(&position, plies), defence.is_none(), "{id}: mate in {plies}: {sfen}");
        let mut left = plies;
        for mv in defence.into_iter().flat_map(|(_, line)| line.split(' ')) {
            position = Core::play(&position, mv);
            left -= 1;
        }
        assert_eq!(mates::<Core>(&position, left), defence.is_none(), "{id}: mate in {left} after the better defence");
    }
}

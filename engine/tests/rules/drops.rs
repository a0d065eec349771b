//! Hand-worked cases of Heisei chu shogi's reserve, for the crate and for the twin.

use crate::histories::{cases, expected_end};
use crate::referee::{Referee, Twin};
use crate::subject::Core;
use crate::suite::strings;
use crate::twin::text;

fn heisei_chu<R: Referee>() {
    let mut wrong = Vec::new();
    for case in cases("heisei_chu_cases.json") {
        let (id, ruleset, sfen) = (text(&case, "id"), text(&case, "ruleset"), text(&case, "sfen"));
        if case["start"] == true {
            assert_eq!(R::sfen(&R::start("heisei_chu", ruleset)), sfen, "{id}");
        }
        let mut position = R::read("heisei_chu", ruleset, sfen);
        assert_eq!(R::sfen(&position), sfen, "{id}: read and written");
        for mv in case["play"].as_array().into_iter().flatten() {
            position = R::play(&position, mv.as_str().expect("texts"));
        }
        if let Some(after) = case["after"].as_str() {
            assert_eq!(R::sfen(&position), after, "{id}");
        }
        if let Some(count) = case["count"].as_u64()
            && R::count(&position) as u64 != count
        {
            wrong.push(format!("{id}: {} moves", R::count(&position)));
        }
        for (list, expected) in [("legal", true), ("illegal", false)] {
            if case[list].is_null() {
                continue;
            }
            for mv in strings(&case[list]).filter(|mv| R::is_legal(&position, mv) != expected) {
                wrong.push(format!("{id}: {mv} is not {list} in {}", R::sfen(&position)));
            }
        }
        if case.get("end").is_some() && R::end(&position) != expected_end(&case) {
            wrong.push(format!("{id}: ends as {:?}", R::end(&position)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn heisei_chu_of_twin() {
    heisei_chu::<Twin>();
}

#[test]
fn heisei_chu_of_core() {
    heisei_chu::<Core>();
}

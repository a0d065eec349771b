//! Hand-worked cases of repetition and of bare royals, for the crate and for the twin.

use crate::referee::{Referee, Twin};
use crate::subject::{self, Core, as_end, spell};
use crate::suite::strings;
use crate::twin::{TwinEnd, TwinGame, TwinPosition, TwinVariant, data, text};
use engine::Game;
use serde_json::Value;
use std::collections::BTreeSet;

pub(crate) fn cases(name: &str) -> Vec<Value> {
    serde_json::from_str(&data(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub(crate) fn expected_end(case: &Value) -> Option<TwinEnd> {
    let end = case["end"].as_object()?;
    let reason = match end["reason"].as_str()? {
        "repetition" => "repetition",
        "perpetual_check" => "perpetual_check",
        "perpetual_attack" => "perpetual_attack",
        "repetition_burden" => "repetition_burden",
        "bare_king" => "bare_king",
        "no_moves" => "no_moves",
        other => panic!("unknown reason {other}"),
    };
    Some(TwinEnd { white_won: end["winner"].as_str().map(|side| side == "white"), reason })
}

/// A game's history as the cases ask about it.
trait History {
    fn begin(case: &Value) -> Self;
    fn play(&mut self, usi: &str);
    fn end(&self) -> Option<TwinEnd>;
    /// The legal moves with the repetition ban.
    fn moves(&self) -> BTreeSet<String>;
    /// A move's text as in `moves`.
    fn spelled(&self, usi: &str) -> String;
}

impl History for TwinGame {
    fn begin(case: &Value) -> TwinGame {
        let variant = TwinVariant::load(text(case, "game"), text(case, "ruleset"));
        TwinGame::new(TwinPosition::parse(&variant, text(case, "sfen")))
    }

    fn play(&mut self, usi: &str) {
        let mv = self.position().parse_usi(usi);
        assert!(TwinGame::moves(self).contains(&mv), "{usi} in {}", self.position().sfen());
        TwinGame::play(self, &mv);
    }

    fn end(&self) -> Option<TwinEnd> {
        TwinGame::end(self)
    }

    fn moves(&self) -> BTreeSet<String> {
        TwinGame::moves(self).iter().map(|mv| self.position().usi(mv)).collect()
    }

    fn spelled(&self, usi: &str) -> String {
        Twin::spelled(self.position(), usi).expect("a move")
    }
}

impl History for Game {
    fn begin(case: &Value) -> Game {
        Game::new(subject::read(text(case, "game"), text(case, "ruleset"), text(case, "sfen")))
    }

    fn play(&mut self, usi: &str) {
        let mv = self.position().parse_usi(usi).unwrap_or_else(|error| panic!("{usi}: {error}"));
        Game::play(self, mv).unwrap_or_else(|error| panic!("{usi} in {}: {error}", self.position().sfen()));
    }

    fn end(&self) -> Option<TwinEnd> {
        self.outcome().map(as_end)
    }

    fn moves(&self) -> BTreeSet<String> {
        let mut moves = Vec::new();
        self.legal_moves(&mut moves);
        moves.into_iter().map(|mv| spell(self.position(), mv)).collect()
    }

    fn spelled(&self, usi: &str) -> String {
        Core::spelled(self.position(), usi).unwrap_or_else(|| panic!("{usi} is no move"))
    }
}

fn repetition<H: History>() {
    let mut wrong = Vec::new();
    for case in cases("repetition_cases.json") {
        let id = text(&case, "id");
        let mut game = H::begin(&case);
        for _ in 0..case["times"].as_u64().expect("times") {
            for mv in strings(&case["moves"]) {
                assert_eq!(game.end(), None, "{id}: before {mv}");
                game.play(mv);
            }
        }
        if game.end() != expected_end(&case) {
            wrong.push(format!("{id}: ends as {:?}", game.end()));
        }
        for (list, allowed) in [("banned", false), ("allowed", true)] {
            for mv in strings(&case[list]) {
                if game.moves().contains(&game.spelled(mv)) != allowed {
                    wrong.push(format!("{id}: {mv} is not {list}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn bare<R: Referee>() {
    let mut wrong = Vec::new();
    for case in cases("bare_cases.json") {
        let position = R::read(text(&case, "game"), text(&case, "ruleset"), text(&case, "sfen"));
        if R::end(&position) != expected_end(&case) {
            wrong.push(format!("{}: {}: ends as {:?}", text(&case, "id"), text(&case, "sfen"), R::end(&position)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn repetition_of_twin() {
    repetition::<TwinGame>();
}

#[test]
fn repetition_of_core() {
    repetition::<Game>();
}

#[test]
fn bare_royals_of_twin() {
    bare::<Twin>();
}

#[test]
fn bare_royals_of_core() {
    bare::<Core>();
}

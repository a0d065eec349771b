//! The crate against its slow twin: random games of every game and ruleset, compared at every ply.
//!
//! `SHISHI_DIFF_GAMES` sets the number of games for each ruleset and way of playing.

use crate::referee::Referee;
use crate::subject::{self, Core, as_end, as_twin, legal, spell};
use crate::twin::{TwinGame, TwinMove, TwinVariant};
use crate::wandering::{WALKS, Walk, all_rulesets, chance, wander};
use engine::{Color, Game, Position, Square};
use rand::RngExt;
use std::collections::BTreeSet;

fn games() -> u64 {
    const DEFAULT: u64 = 3;
    match std::env::var("SHISHI_DIFF_GAMES") {
        Ok(games) => games.parse().unwrap_or_else(|_| panic!("SHISHI_DIFF_GAMES={games}: not a number")),
        Err(_) => DEFAULT,
    }
}

/// Everything the two can be asked about a position and its history.
fn compare(name: &str, twin: &TwinGame, game: &Game) {
    let (slow, fast) = (twin.position(), game.position());
    assert_eq!(fast.sfen(), slow.sfen(), "{name}");
    let name = format!("{name}\n{}\n", slow.sfen());

    let moves = legal(fast);
    let found: BTreeSet<TwinMove> = moves.iter().map(|&mv| as_twin(fast, mv)).collect();
    let expected: BTreeSet<TwinMove> = slow.moves().into_iter().collect();
    let texts = |moves: &mut dyn Iterator<Item = &TwinMove>| moves.map(|mv| slow.usi(mv)).collect::<Vec<_>>();
    assert_eq!(
        (texts(&mut found.difference(&expected)), texts(&mut expected.difference(&found))),
        (vec![], vec![]),
        "{name}moves of the crate alone, of the twin alone"
    );
    assert_eq!(moves.len(), found.len(), "{name}a move is given twice");
    assert_eq!(fast.count_moves(), found.len(), "{name}count_moves");
    let spelled: BTreeSet<String> = moves.iter().map(|&mv| spell(fast, mv)).collect();
    assert_eq!(spelled, expected.iter().map(|mv| slow.usi(mv)).collect(), "{name}texts");

    assert_eq!(game.outcome().map(as_end), twin.end(), "{name}outcome");
    assert_eq!(game.occurrences(), twin.occurrences(), "{name}occurrences");
    if twin.end().is_none() {
        let mut allowed = Vec::new();
        game.legal_moves(&mut allowed);
        let allowed: BTreeSet<TwinMove> = allowed.iter().map(|&mv| as_twin(fast, mv)).collect();
        assert_eq!(allowed, twin.moves().into_iter().collect(), "{name}moves with the repetition ban");
    }

    let royals = slow.royals(!slow.white_to_move);
    let wins = !royals.is_empty() && expected.iter().any(|mv| royals.iter().all(|at| mv.captured.contains(at)));
    let winning = fast.winning_capture();
    assert_eq!(winning.is_some(), wins, "{name}winning capture");
    if let Some(mv) = winning {
        let mv = as_twin(fast, mv);
        assert!(
            expected.contains(&mv) && royals.iter().all(|at| mv.captured.contains(at)),
            "{name}winning capture {mv:?}"
        );
    }
}

fn compare_attacks(name: &str, twin: &TwinGame, fast: &Position) {
    let slow = twin.position();
    for at in 0..slow.board.len() {
        for color in [Color::Black, Color::White] {
            let (found, expected) =
                (fast.is_attacked(Square::new(at), color), slow.attacked(at, color == Color::White));
            assert_eq!(
                found,
                expected,
                "{name}\n{}\nattack on {} by {color:?}",
                slow.sfen(),
                slow.variant.square_text(at)
            );
        }
    }
    assert_eq!(Core::attacks_a_royal(fast), crate::referee::Twin::attacks_a_royal(slow), "{name}");
}

/// One random game, compared at every ply. Panics where the two part.
fn walk_once(game: &str, ruleset: &str, walk: Walk, number: u64) {
    let variant = TwinVariant::load(game, ruleset);
    let name = format!("{game} {ruleset} {walk:?} {number}");
    let mut chance = chance(&name, number);
    let start = walk.start(&variant, &mut chance);
    let mut fast = Game::new(subject::read(game, ruleset, &start.sfen()));
    let mut line = format!("{name}: {}", start.sfen());
    let mut other = chance.clone();
    wander(walk, start, &mut chance, |twin, mv| {
        compare(&line, twin, &fast);
        if other.random_range(0..8) == 0 {
            compare_attacks(&line, twin, fast.position());
        }
        let Some(mv) = mv else { return };
        line.push_str(&format!(" {}", twin.position().usi(mv)));
        let same = legal(fast.position()).into_iter().find(|&m| as_twin(fast.position(), m) == *mv);
        fast.play(same.expect("compared above")).unwrap_or_else(|error| panic!("{line}: {error}"));
    });
}

/// Goes on after a game in which the two part, so that one run shows all that is wrong.
fn walks(walk: Walk) {
    let mut parted = Vec::new();
    for (game, ruleset) in all_rulesets() {
        for number in 0..games() {
            if std::panic::catch_unwind(|| walk_once(game, &ruleset, walk, number)).is_err() {
                parted.push(format!("{game} {ruleset} {walk:?} {number}"));
            }
        }
    }
    assert!(parted.is_empty(), "the crate and its twin part in {parted:?}: see above");
}

#[test]
fn from_the_start() {
    walks(WALKS[0]);
}

#[test]
fn on_crowded_boards() {
    walks(WALKS[1]);
}

#[test]
fn on_sparse_boards() {
    walks(WALKS[2]);
}

#[test]
fn to_and_fro() {
    walks(WALKS[3]);
}

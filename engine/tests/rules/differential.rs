//! The crate against its slow twin: random games of every game and ruleset, compared at every ply.
//!
//! `SHISHI_DIFF_GAMES` sets the number of games for each ruleset and way of playing, `SHISHI_DIFF_FIRST` the number of the
//! first one, `SHISHI_DIFF_ONLY` which rulesets: those whose name, game before it, starts so. With any of them each test
//! says what it has compared. `scripts/differential.sh` sets them.

use crate::referee::Referee;
use crate::subject::{self, Core, as_end, as_twin, legal, spell};
use crate::twin::{TwinGame, TwinMove, TwinPosition, TwinVariant, alternatives};
use crate::wandering::{Chance, Walk, all_rulesets, chance, wander};
use engine::{Color, Game, Position, Square, VariantSpec};
use rand::RngExt;
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::time::Instant;

/// What to compare.
struct Order {
    games: Range<u64>,
    only: String,
    /// Whether to say what has been done.
    loud: bool,
}

fn order() -> Order {
    const DEFAULT: u64 = 3;
    let number = |name: &str| -> Option<u64> {
        let text = std::env::var(name).ok()?;
        Some(text.parse().unwrap_or_else(|_| panic!("{name}={text}: not a number")))
    };
    let (games, first) = (number("SHISHI_DIFF_GAMES"), number("SHISHI_DIFF_FIRST"));
    let only = std::env::var("SHISHI_DIFF_ONLY").ok();
    let loud = games.is_some() || first.is_some() || only.is_some();
    let first = first.unwrap_or(0);
    Order { games: first..first + games.unwrap_or(DEFAULT), only: only.unwrap_or_default(), loud }
}

/// Everything the two can be asked about a position and its history.
fn compare(name: &str, twin: &TwinGame, game: &Game) {
    let (slow, fast) = (twin.position(), game.position());
    assert_eq!(fast.sfen(), slow.sfen(), "{name}");
    let name = format!("{name}\n{}\n", slow.sfen());

    let moves = legal(fast);
    let found: BTreeSet<TwinMove> = moves.iter().map(|&mv| as_twin(fast, mv)).collect();
    let expected = twin.moves_on_board();
    same_moves(&format!("{name}moves"), slow, &found, expected);
    assert_eq!(moves.len(), found.len(), "{name}a move is given twice");
    assert_eq!(fast.count_moves(), found.len(), "{name}count_moves");
    assert_eq!(game.outcome().map(as_end), twin.end(), "{name}outcome");
    assert_eq!(game.occurrences(), twin.occurrences(), "{name}occurrences");
    if twin.end().is_none() {
        let mut allowed = Vec::new();
        game.legal_moves(&mut allowed);
        let allowed: BTreeSet<TwinMove> = allowed.iter().map(|&mv| as_twin(fast, mv)).collect();
        same_moves(&format!("{name}moves with the repetition ban"), slow, &allowed, twin.moves());
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

fn same_moves(name: &str, position: &TwinPosition, found: &BTreeSet<TwinMove>, expected: &BTreeSet<TwinMove>) {
    let texts = |moves: &mut dyn Iterator<Item = &TwinMove>| moves.map(|mv| position.usi(mv)).collect::<Vec<_>>();
    let alone = (texts(&mut found.difference(expected)), texts(&mut expected.difference(found)));
    assert_eq!(alone, (vec![], vec![]), "{name}: of the crate alone, of the twin alone");
}

/// Compares the texts of all moves.
fn compare_texts(name: &str, twin: &TwinGame, fast: &Position) {
    let found: BTreeSet<String> = legal(fast).iter().map(|&mv| spell(fast, mv)).collect();
    let expected: BTreeSet<String> = twin.moves_on_board().iter().map(|mv| twin.position().usi(mv)).collect();
    assert_eq!(found, expected, "{name}\n{}\ntexts", twin.position().sfen());
}

/// Compares who attacks some of the squares, and the royals.
fn compare_attacks(name: &str, twin: &TwinGame, fast: &Position, chance: &mut Chance) {
    const SQUARES: usize = 8;
    let slow = twin.position();
    for _ in 0..SQUARES {
        let at = chance.random_range(0..slow.board.len());
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

/// One random game, compared at every ply; the number of positions. Panics where the two part.
fn walk_once(game: &str, ruleset: &str, walk: Walk, number: u64) -> u64 {
    let variant = TwinVariant::load(game, ruleset);
    let name = format!("{game} {ruleset} {walk:?} {number}");
    let mut chance = chance(&name, number);
    let start = walk.start(&variant, &mut chance);
    let mut fast = Game::new(subject::read(game, ruleset, &start.sfen()));
    let mut line = format!("{name}: {}", start.sfen());
    let mut other = chance.clone();
    let mut positions = 0;
    wander(walk, start, &mut chance, |twin, mv| {
        compare(&line, twin, &fast);
        // What costs more than it finds is not compared every time.
        if other.random_range(0..8) == 0 {
            compare_texts(&line, twin, fast.position());
            compare_attacks(&line, twin, fast.position(), &mut other);
        }
        positions += 1;
        let Some(mv) = mv else { return };
        line.push_str(&format!(" {}", twin.position().usi(mv)));
        let same = legal(fast.position()).into_iter().find(|&m| as_twin(fast.position(), m) == *mv);
        fast.play(same.expect("compared above")).unwrap_or_else(|error| panic!("{line}: {error}"));
    });
    positions
}

/// Goes on after a game in which the two part, so that one run shows all that is wrong. Plays one of `share` games ordered.
fn walks(walk: Walk, rulesets: &[(&str, String)], share: u64) {
    let mut order = order();
    order.games = order.games.start / share..order.games.end.div_ceil(share);
    let mut parted = Vec::new();
    for (game, ruleset) in
        rulesets.iter().filter(|(game, ruleset)| format!("{game} {ruleset}").starts_with(&order.only))
    {
        let (start, mut positions) = (Instant::now(), 0);
        for number in order.games.clone() {
            match std::panic::catch_unwind(|| walk_once(game, ruleset, walk, number)) {
                Ok(compared) => positions += compared,
                Err(_) => parted.push(format!("{game} {ruleset} {walk:?} {number}")),
            }
        }
        if order.loud {
            let (games, seconds) = (order.games.end - order.games.start, start.elapsed().as_secs_f64());
            let line =
                format!("compared: {game} {ruleset}: {walk:?} {games} games {positions} positions {seconds:.1} s");
            // Straight to the stream: what a passing test prints is not shown otherwise.
            writeln!(std::io::stderr(), "{line}").expect("stderr is open");
        }
    }
    assert!(parted.is_empty(), "the crate and its twin part in {parted:?}: see above");
}

#[test]
fn starts() {
    for (game, ruleset) in all_rulesets() {
        let variant = TwinVariant::load(game, &ruleset);
        assert_eq!(Core::sfen(&Core::start(game, &ruleset)), TwinPosition::start(&variant).sfen(), "{game} {ruleset}");
    }
}

#[test]
fn from_the_start() {
    walks(Walk::Start, &all_rulesets(), 1);
}

#[test]
fn on_crowded_boards() {
    walks(Walk::Crowded, &all_rulesets(), 1);
}

#[test]
fn on_sparse_boards() {
    walks(Walk::Sparse, &all_rulesets(), 1);
}

#[test]
fn to_and_fro() {
    walks(Walk::ToAndFro, &all_rulesets(), 1);
}

/// Every other move that a source gives a piece of dai dai, by name, on boards with many of that piece.
#[test]
fn other_moves_of_daidai() {
    let alternatives = alternatives();
    let file = include_str!("../../variants/daidai.toml");
    let spec: VariantSpec = toml::from_str(file).expect("a variant file");
    let names: BTreeSet<&str> = alternatives.iter().map(|other| other.name.as_str()).collect();
    assert_eq!(names, spec.alternatives.keys().map(String::as_str).collect(), "all of them, each once");
    assert_eq!(names.len(), alternatives.len(), "all of them, each once");
    for other in &alternatives {
        assert_eq!(spec.alternatives[&other.name].piece.get_ref(), &other.piece, "{}", other.name);
    }
    let rulesets: Vec<(&str, String)> =
        alternatives.iter().map(|other| ("daidai", format!("with {}", other.name))).collect();
    // A few will do: they differ in one piece.
    walks(Walk::Crowded, &rulesets, 8);
}

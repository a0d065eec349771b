//! The crate as a referee.

use crate::referee::Referee;
use crate::twin::{TwinEnd, TwinMove, data};
use engine::{Color, Move, Outcome, Position, Square, Variant, VariantError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The rules core under test.
pub(crate) struct Core;

/// A built-in variant, or one of those that `more_*.toml` adds, or `with` one of the named alternatives; each is compiled
/// once.
pub(crate) fn variant(game: &str, ruleset: &str) -> Arc<Variant> {
    static READ: Mutex<BTreeMap<String, Arc<Variant>>> = Mutex::new(BTreeMap::new());
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    let load = || compile(game, ruleset).unwrap_or_else(|error| panic!("{game} {ruleset}: {error}"));
    Arc::clone(read.entry(format!("{game} {ruleset}")).or_insert_with(load))
}

fn compile(game: &str, ruleset: &str) -> Result<Arc<Variant>, VariantError> {
    if let Some(alternative) = ruleset.strip_prefix("with ") {
        let text = format!(
            "extends = '{game}'\nname = 'other'\ntitle = 'With another move'\n\
             [rulesets.with]\ntitle = '{alternative}'\nalternatives = ['{alternative}']\n\
             [rulesets.with.rules]\nrepetition = 'second_forbidden'\n"
        );
        return Variant::from_toml(&text, Some("with"));
    }
    match Variant::load(game, Some(ruleset)) {
        Err(VariantError::UnknownRuleset { .. }) => {
            Variant::from_toml(&data(&format!("more_{game}.toml")), Some(ruleset))
        }
        found => found,
    }
}

/// A position of a variant.
pub(crate) fn read(game: &str, ruleset: &str, sfen: &str) -> Position {
    Position::from_sfen(&variant(game, ruleset), sfen)
        .unwrap_or_else(|error| panic!("{game} {ruleset} {sfen}: {error}"))
}

/// All legal moves.
pub(crate) fn legal(position: &Position) -> Vec<Move> {
    let mut moves = Vec::new();
    position.legal_moves(&mut moves);
    moves
}

/// A move's text, a pass with a tilde.
pub(crate) fn spell(position: &Position, mv: Move) -> String {
    if mv.is_pass() {
        let square = position.variant().board().name(mv.from());
        return format!("{square}~{square}");
    }
    position.usi(mv)
}

/// A move in the twin's form.
pub(crate) fn as_twin(position: &Position, mv: Move) -> TwinMove {
    if let Some(kind) = mv.dropped() {
        let dropped = Some(position.variant().kind(kind).sfen());
        let to = mv.to().index();
        return TwinMove { from: to, to, captured: Vec::new(), promote: mv.promotes(), dropped };
    }
    let mut captured: Vec<usize> = position.captures(mv).map(|(square, _)| square.index()).collect();
    captured.sort_unstable();
    TwinMove { from: mv.from().index(), to: mv.to().index(), captured, promote: mv.promotes(), dropped: None }
}

/// An outcome in the twin's form.
pub(crate) fn as_end(outcome: Outcome) -> TwinEnd {
    TwinEnd { white_won: outcome.winner.map(|color| color == Color::White), reason: outcome.reason.as_str() }
}

/// Squares of a side's royals.
pub(crate) fn royals(position: &Position, color: Color) -> Vec<Square> {
    let squares = (0..position.variant().squares()).map(Square::new);
    let royal = |square: &Square| {
        position.piece_at(*square).is_some_and(|p| p.color == color && position.variant().kind(p.kind).royal)
    };
    squares.filter(royal).collect()
}

impl Referee for Core {
    type Position = Position;

    fn read(game: &str, ruleset: &str, sfen: &str) -> Position {
        read(game, ruleset, sfen)
    }

    fn start(game: &str, ruleset: &str) -> Position {
        Position::start(&variant(game, ruleset))
    }

    fn sfen(position: &Position) -> String {
        position.sfen()
    }

    fn count(position: &Position) -> usize {
        position.count_moves()
    }

    fn moves(position: &Position) -> BTreeSet<String> {
        legal(position).iter().map(|&mv| spell(position, mv)).collect()
    }

    fn spelled(position: &Position, usi: &str) -> Option<String> {
        position.parse_usi(usi).ok().map(|mv| spell(position, mv))
    }

    fn play(position: &Position, usi: &str) -> Position {
        let mv = position.parse_usi(usi).unwrap_or_else(|error| panic!("{usi} in {}: {error}", position.sfen()));
        let mut after = position.clone();
        after.play_unchecked(mv);
        after
    }

    fn next(position: &Position) -> Vec<Position> {
        let play = |mv| {
            let mut after = position.clone();
            after.play_unchecked(mv);
            after
        };
        legal(position).into_iter().map(play).collect()
    }

    fn end(position: &Position) -> Option<TwinEnd> {
        position.outcome_with_moves().map(as_end)
    }

    fn attacks_a_royal(position: &Position) -> bool {
        attacks_a_royal(position, position.side_to_move())
    }

    fn gives_check(position: &Position) -> bool {
        attacks_a_royal(position, !position.side_to_move())
    }

    fn takes_last_royal(position: &Position) -> bool {
        position.winning_capture().is_some()
    }
}

fn attacks_a_royal(position: &Position, side: Color) -> bool {
    royals(position, !side).into_iter().any(|square| position.is_attacked(square, side))
}

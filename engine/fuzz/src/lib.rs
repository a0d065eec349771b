//! What the fuzz targets share: the text that describes a position with moves, and what must hold of any position.

use std::sync::{Arc, LazyLock};

use engine::{Color, Move, Position, Square, Variant};

/// Every built-in variant under each of its rulesets.
pub static VARIANTS: LazyLock<Vec<Arc<Variant>>> = LazyLock::new(|| {
    let load = |name, ruleset: Option<&str>| Variant::load(name, ruleset).expect("a built-in variant");
    Variant::builtin_names()
        .flat_map(|name| {
            let rulesets = load(name, None).rulesets().to_vec();
            rulesets.into_iter().map(move |(ruleset, _)| load(name, Some(&ruleset)))
        })
        .collect()
});

/// The variant that `NAME RULESET` names.
pub fn find_variant(text: &str) -> Option<Arc<Variant>> {
    let (name, ruleset) = text.split_once(' ')?;
    VARIANTS.iter().find(|variant| (variant.name(), variant.ruleset()) == (name, ruleset)).cloned()
}

/// Seeds of the text targets, one [`Line`] each.
pub const SEEDS: &str = include_str!("../seeds/positions.txt");

/// `VARIANT RULESET | SFEN | MOVES`: a position and moves from there.
pub struct Line<'t> {
    /// The tables of the game.
    pub variant: Arc<Variant>,
    /// A position's text; nobody has looked at it yet.
    pub sfen: &'t str,
    /// Texts of moves, likewise.
    pub moves: Vec<&'t str>,
}

impl Line<'_> {
    /// Splits a line; `None` if it does not start with a variant and one of its rulesets.
    pub fn read(text: &str) -> Option<Line<'_>> {
        let mut fields = text.split('|');
        let variant = find_variant(fields.next()?.trim())?;
        let sfen = fields.next()?.trim();
        let moves = fields.next().unwrap_or_default().split_whitespace().collect();
        Some(Line { variant, sfen, moves })
    }

    /// The position, if the text is one. An error must point into the text.
    pub fn position(&self) -> Option<Position> {
        let read = Position::from_sfen(&self.variant, self.sfen);
        if let Err(error) = &read {
            assert!((1..=self.sfen.chars().count() + 1).contains(&error.at), "{error}");
        }
        read.ok()
    }
}

/// The legal moves.
pub fn legal_moves(position: &Position) -> Vec<Move> {
    let mut moves = Vec::new();
    position.legal_moves(&mut moves);
    moves
}

/// What must hold of any position: the ways to ask for the same thing agree, and reading, playing and undoing change
/// nothing.
pub fn check_position(position: &Position) {
    let moves = legal_moves(position);
    let name = position.sfen();
    let read = Position::from_sfen(position.variant(), &name).expect("its own text");
    assert_eq!((read.sfen(), read.hash()), (name.clone(), position.hash()), "read again");
    assert_eq!(legal_moves(&read), moves, "read again: {name}");

    assert_eq!(position.count_moves(), moves.len(), "{name}");
    assert_eq!(position.has_legal_move(), !moves.is_empty(), "{name}");
    let mut different = moves.clone();
    different.sort();
    different.dedup();
    assert_eq!(different.len(), moves.len(), "a move twice: {name}");

    let enemy = !position.side_to_move();
    let royals = position.royal_count(enemy);
    let takes_all = |mv: Move| {
        let taken = position.captures(mv).filter(|(_, piece)| piece.color == enemy);
        royals > 0 && taken.filter(|(_, piece)| position.variant().kind(piece.kind).royal).count() == royals
    };
    let winning = position.winning_capture();
    assert_eq!(winning.is_some(), moves.iter().any(|&mv| takes_all(mv)), "{name}");
    assert!(winning.is_none_or(|mv| takes_all(mv) && moves.contains(&mv)), "{name}");

    for square in (0..position.variant().squares()).map(Square::new) {
        for color in Color::ALL {
            position.is_attacked(square, color);
        }
    }
    let ended = position.outcome();
    assert_eq!(position.outcome_with_moves().is_some(), ended.is_some() || moves.is_empty(), "{name}");

    // All of them, unless a made-up board has thousands: reading a move's text lists the moves each time.
    let mut played = position.clone();
    for &mv in moves.iter().step_by(moves.len() / 250 + 1) {
        check_move(&mut played, mv);
    }
    assert_eq!(legal_moves(&played), moves, "after playing and undoing all: {name}");
}

/// What must hold of a legal move: its text means it, playing gives the hash of the text of the position reached, and
/// undoing restores everything.
pub fn check_move(position: &mut Position, mv: Move) {
    let before = (position.sfen(), position.hash(), position.side_to_move());
    let text = position.usi(mv);
    assert_eq!(position.parse_usi(&text), Ok(mv), "{}", before.0);
    let undo = position.play_unchecked(mv);
    check_hash(position);
    assert_eq!(position.side_to_move(), !before.2, "{} {text}", before.0);
    position.undo(&undo);
    assert_eq!((position.sfen(), position.hash(), position.side_to_move()), before, "{text}");
}

/// The hash kept up by playing moves is that of the position read from its text.
pub fn check_hash(position: &Position) {
    let name = position.sfen();
    let read = Position::from_sfen(position.variant(), &name).expect("its own text");
    assert_eq!((read.sfen(), read.hash()), (name, position.hash()));
}

//! What must hold of any position the crate can be in, tried on random games: taking back, hashes, texts, symmetry.

use crate::subject::{self, as_twin, legal};
use crate::twin::{TwinMove, TwinPiece, TwinPosition, TwinVariant};
use crate::wandering::{Chance, WALKS, Walk, all_rulesets, chance};
use engine::{Color, Game, Move, Position};
use rand::RngExt;
use std::collections::BTreeSet;
use std::sync::Arc;

const GAMES: u64 = 2;

/// Shows `check` every position of random games of every game and ruleset.
fn everywhere(name: &str, mut check: impl FnMut(&str, &Arc<TwinVariant>, &Position, &mut Chance)) {
    for (game, ruleset) in all_rulesets() {
        let variant = TwinVariant::load(game, &ruleset);
        for walk in WALKS {
            for number in 0..GAMES {
                let mut chance = chance(&format!("{name} {game} {ruleset} {walk:?}"), number);
                random_game(game, &ruleset, walk, &mut chance, |game, chance| {
                    let position = game.position();
                    check(&format!("{ruleset}: {}", position.sfen()), &variant, position, chance);
                });
            }
        }
    }
}

/// A random game of the crate's, from where the twin would start it.
fn random_game(
    game: &str,
    ruleset: &str,
    walk: Walk,
    chance: &mut Chance,
    mut look: impl FnMut(&Game, &mut Chance),
) -> Game {
    let start = walk.start(&TwinVariant::load(game, ruleset), chance);
    let mut game = Game::new(subject::read(game, ruleset, &start.sfen()));
    look(&game, chance);
    for _ in 0..walk.plies() {
        let mut moves = Vec::new();
        game.legal_moves(&mut moves);
        let captures: Vec<Move> =
            moves.iter().copied().filter(|&mv| game.position().captures(mv).next().is_some()).collect();
        let choice = if !captures.is_empty() && chance.random_range(0..3) == 0 { &captures } else { &moves };
        if choice.is_empty() {
            break;
        }
        game.play(choice[chance.random_range(0..choice.len())]).expect("a legal move");
        look(&game, chance);
    }
    game
}

/// All that shows of a position.
fn all_of(position: &Position) -> (String, u64, Vec<u8>, Vec<Move>, Option<engine::Outcome>) {
    let mut moves = legal(position);
    moves.sort();
    (position.sfen(), position.hash(), position.codes().to_vec(), moves, position.outcome())
}

#[test]
fn undo_restores_a_position() {
    everywhere("undo", |name, _, position, _| {
        let before = all_of(position);
        for &mv in &before.3 {
            let mut played = position.clone();
            let undo = played.play_unchecked(mv);
            played.undo(&undo);
            assert_eq!((played.sfen(), played.hash()), (before.0.clone(), before.1), "{name}: {}", position.usi(mv));
            assert_eq!(played.codes(), before.2, "{name}: {}", position.usi(mv));
        }
        if let Some(&mv) = before.3.first() {
            let mut played = position.clone();
            let undo = played.play_unchecked(mv);
            played.undo(&undo);
            assert_eq!(all_of(&played), before, "{name}: {}", position.usi(mv));
        }
    });
}

#[test]
fn undo_restores_a_game() {
    let all_of = |game: &Game| {
        let mut moves = Vec::new();
        game.legal_moves(&mut moves);
        moves.sort();
        (game.position().sfen(), game.ply(), game.occurrences(), game.plies_since_capture(), game.outcome(), moves)
    };
    for (game, ruleset) in all_rulesets() {
        for walk in WALKS {
            let mut seen = Vec::new();
            let mut chance = chance(&format!("game {game} {ruleset} {walk:?}"), 0);
            let mut played = random_game(game, &ruleset, walk, &mut chance, |game, _| seen.push(all_of(game)));
            let moves: Vec<Move> = played.moves().collect();
            assert_eq!(moves.len() + 1, seen.len(), "{game} {ruleset} {walk:?}");
            while let Some(before) = seen.pop() {
                assert_eq!(all_of(&played), before, "{game} {ruleset} {walk:?}");
                assert_eq!(played.undo(), seen.len().checked_sub(1).map(|n| moves[n]), "{game} {ruleset} {walk:?}");
            }
        }
    }
}

#[test]
fn hashes_follow_the_board() {
    everywhere("hash", |name, _, position, _| {
        let read = Position::from_sfen(position.variant(), &position.sfen()).expect("its own text");
        assert_eq!(read.sfen(), position.sfen());
        assert_eq!(read.hash(), position.hash(), "{name}");
        for mv in legal(position) {
            let mut played = position.clone();
            played.play_unchecked(mv);
            assert_ne!(played.hash(), position.hash(), "{name}: {}", position.usi(mv));
        }
    });
}

#[test]
fn texts_name_moves() {
    everywhere("usi", |name, _, position, _| {
        let moves = legal(position);
        let texts: BTreeSet<String> = moves.iter().map(|&mv| position.usi(mv)).collect();
        assert_eq!(texts.len(), moves.len(), "{name}: two moves with one text");
        for mv in moves {
            assert_eq!(position.parse_usi(&position.usi(mv)), Ok(mv), "{name}: {}", position.usi(mv));
            assert_eq!(Move::from_raw(mv.raw()), mv);
        }
    });
}

/// The other ways to write a move that the twin knows: a pass over any empty neighbour it can go to, a quiet double
/// step.
#[test]
fn texts_may_go_another_way() {
    everywhere("ways", |name, variant, position, _| {
        let slow = TwinPosition::parse(variant, &position.sfen());
        for mv in legal(position).into_iter().filter(|mv| !mv.has_way()) {
            let twin = as_twin(position, mv);
            for over in slow.quiet_ways(&twin) {
                let square = |at: usize| variant.square_text(at);
                let text = format!("{}{}{}", square(twin.from), square(over), square(twin.to));
                let text = if mv.promotes() { text + "+" } else { text };
                assert_eq!(position.parse_usi(&text), Ok(mv), "{name}: {text}");
            }
        }
    });
}

#[test]
fn only_listed_moves_are_legal() {
    everywhere("legal", |name, _, position, chance| {
        let moves = legal(position);
        for &mv in &moves {
            assert!(position.is_legal(mv), "{name}: {}", position.usi(mv));
        }
        assert_eq!(position.count_moves(), moves.len(), "{name}");
        let squares = position.variant().squares() as u32;
        for _ in 0..200 {
            // Any start, end and promotion, and the moves near those that are legal.
            let plain = chance.random_range(0..squares) << 9
                | chance.random_range(0..squares)
                | chance.random_range(0..2) << 18;
            let near = moves
                .get(chance.random_range(0..moves.len().max(1)))
                .map_or(0, |mv| mv.raw() ^ 1 << chance.random_range(18..25));
            for raw in [plain, near, chance.random_range(0..u32::MAX)] {
                let mv = Move::from_raw(raw);
                assert_eq!(position.is_legal(mv), moves.contains(&mv), "{name}: raw move {raw:#x}");
            }
        }
    });
}

/// A position as another one, with its squares and pieces replaced one for one.
struct Turn<'a> {
    square: &'a dyn Fn(usize) -> usize,
    piece: &'a dyn Fn(TwinPiece) -> TwinPiece,
    other_side: bool,
}

impl Turn<'_> {
    fn position(&self, position: &TwinPosition) -> TwinPosition {
        let mut turned = position.clone();
        for (at, piece) in position.board.iter().enumerate() {
            turned.board[(self.square)(at)] = piece.map(self.piece);
        }
        turned.ban = position.ban.map(self.square);
        turned.fresh = position.fresh.iter().map(|&at| (self.square)(at)).collect();
        turned.white_to_move ^= self.other_side;
        if self.other_side {
            turned.reserve.reverse();
        }
        turned
    }

    fn mv(&self, mv: &TwinMove) -> TwinMove {
        let mut captured: Vec<usize> = mv.captured.iter().map(|&at| (self.square)(at)).collect();
        captured.sort_unstable();
        TwinMove { from: (self.square)(mv.from), to: (self.square)(mv.to), captured, ..mv.clone() }
    }

    /// The turned position has the turned moves, attacks and end.
    fn check(&self, name: &str, variant: &Arc<TwinVariant>, position: &Position) {
        let moves = |position: &Position| -> BTreeSet<TwinMove> {
            legal(position).iter().map(|&mv| as_twin(position, mv)).collect()
        };
        let slow = self.position(&TwinPosition::parse(variant, &position.sfen()));
        let turned = Position::from_sfen(position.variant(), &slow.sfen()).expect("a turned position");
        let expected: BTreeSet<TwinMove> = moves(position).iter().map(|mv| self.mv(mv)).collect();
        assert_eq!(moves(&turned), expected, "{name}, turned: {}", slow.sfen());
        let color = |color: Color| if self.other_side { !color } else { color };
        for at in 0..slow.board.len() {
            let (here, there) = (engine::Square::new(at), engine::Square::new((self.square)(at)));
            for by in [Color::Black, Color::White] {
                assert_eq!(
                    turned.is_attacked(there, color(by)),
                    position.is_attacked(here, by),
                    "{name}: attack on {at}"
                );
            }
        }
        let end = |position: &Position| position.outcome_with_moves().map(|o| (o.winner, o.reason));
        assert_eq!(end(&turned), end(position).map(|(winner, reason)| (winner.map(color), reason)), "{name}, turned");
    }
}

#[test]
fn sides_are_alike() {
    everywhere("turn", |name, variant, position, _| {
        let squares = position.variant().squares();
        let turn = Turn {
            square: &|at| squares - 1 - at,
            piece: &|piece| TwinPiece { white: !piece.white, ..piece },
            other_side: true,
        };
        turn.check(name, variant, position);
        let square = engine::Square::new(squares / 3);
        assert_eq!(square.rotated(squares).index(), squares - 1 - squares / 3);
    });
}

/// Left and right are alike where every piece on the board has a mirror image; two of dai dai have none.
#[test]
fn left_and_right_are_alike() {
    let mut checked = 0;
    everywhere("mirror", |name, variant, position, _| {
        let files = position.variant().files();
        // Pieces without a mirror image leave the board.
        let mut slow = TwinPosition::parse(variant, &position.sfen());
        for square in &mut slow.board {
            *square = square.filter(|piece| variant.kinds[piece.kind].mirror.is_some());
        }
        let position = Position::from_sfen(position.variant(), &slow.sfen()).expect("the same with fewer pieces");
        let turn = Turn {
            square: &|at| at / files * files + files - 1 - at % files,
            piece: &|piece| TwinPiece { kind: variant.kinds[piece.kind].mirror.expect("the others left"), ..piece },
            other_side: false,
        };
        turn.check(name, variant, &position);
        checked += 1;
    });
    assert!(checked > 1000);
}

/// Spoilt texts are refused or mean something; they never panic.
#[test]
fn spoilt_texts_are_refused() {
    const SIGNS: &[u8] = b"0123456789abcdeklnpqrxKLNPX+-/[]* ~";
    let spoil = |text: &str, chance: &mut Chance| {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..chance.random_range(1..4) {
            let at = chance.random_range(0..=bytes.len());
            let sign = SIGNS[chance.random_range(0..SIGNS.len())];
            match chance.random_range(0..3) {
                0 => bytes.insert(at, sign),
                _ if at == bytes.len() => {}
                1 => bytes[at] = sign,
                _ => drop(bytes.remove(at)),
            }
        }
        String::from_utf8(bytes).expect("ASCII")
    };
    let mut read = 0;
    everywhere("spoilt", |_, _, position, chance| {
        if let Ok(other) = Position::from_sfen(position.variant(), &spoil(&position.sfen(), chance)) {
            let again = Position::from_sfen(position.variant(), &other.sfen()).expect("its own text");
            assert_eq!((again.sfen(), again.hash()), (other.sfen(), other.hash()));
            other.outcome_with_moves();
            read += 1;
        }
        for mv in legal(position).into_iter().take(20) {
            let text = spoil(&position.usi(mv), chance);
            if let Ok(other) = position.parse_usi(&text) {
                assert!(position.is_legal(other), "{}: {text}", position.sfen());
            }
        }
    });
    assert!(read > 50);
    for text in
        ["", " ", "é", "7é7f", "+", "b", "99999999999999999999a1a", "1a", "1a1", "1a1a1a1a1a1a1a", "*", "P*", "P*5e"]
    {
        for (game, ruleset) in all_rulesets() {
            let start = Position::start(&subject::variant(game, &ruleset));
            assert!(start.parse_usi(text).is_err(), "{text}");
            assert!(Position::from_sfen(start.variant(), text).is_err(), "{text}");
        }
    }
}

//! Moves in TSA notation and WinBoard's coordinates, and WinBoard's FEN, from any text: refused with a place in the
//! text, or a legal move or position that is written and read again.

#![no_main]

use engine::{Game, Move, MoveError, Position};
use engine_fuzz::{Line, check_position, legal_moves};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|text: &str| -> Corpus {
    let Some(line) = Line::read(text) else { return Corpus::Reject };
    let position = match Position::from_winboard_fen(&line.variant, line.sfen) {
        Ok(position) => {
            check_position(&position);
            let fen = position.winboard_fen().expect("it was read from one");
            let again = Position::from_winboard_fen(&line.variant, &fen).expect("its own text");
            assert_eq!(again.codes(), position.codes(), "{fen}");
            position
        }
        Err(error) => {
            assert!((1..=line.sfen.chars().count() + 1).contains(&error.at), "{error}");
            let Some(position) = line.position() else { return Corpus::Reject };
            position
        }
    };
    let mut game = Game::new(position);
    for word in line.moves {
        let position = game.position();
        let tsa = checked(position, word, position.parse_tsa(word));
        let winboard = checked(position, word, position.parse_winboard(word));
        if let Some(mv) = tsa.or(winboard) {
            check_text(position, mv, &position.tsa(mv), Position::parse_tsa);
            check_text(position, mv, &position.winboard(mv), Position::parse_winboard);
            // Repetition may forbid it, or the game may have ended.
            let _ = game.play(mv);
        }
    }
    Corpus::Keep
});

/// The move that was read, which must be legal; an error must point into the word.
fn checked(position: &Position, word: &str, read: Result<Move, MoveError>) -> Option<Move> {
    match read {
        Ok(mv) => {
            assert!(legal_moves(position).contains(&mv), "{word}");
            Some(mv)
        }
        Err(error) => {
            assert!((1..=word.chars().count() + 1).contains(&error.at), "{error}");
            None
        }
    }
}

/// A move's own text means it, or the same pass of another piece.
fn check_text(position: &Position, mv: Move, text: &str, read: fn(&Position, &str) -> Result<Move, MoveError>) {
    let again = read(position, text).unwrap_or_else(|error| panic!("{error}: {}", position.sfen()));
    assert!(again == mv || (again.is_pass() && mv.is_pass()), "{text}: {}", position.sfen());
}

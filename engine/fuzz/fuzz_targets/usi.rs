//! Moves from any text, one after the other: refused with a place in the text, or a legal move that has a text.

#![no_main]

use engine::Game;
use engine_fuzz::{Line, check_move, legal_moves};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|text: &str| -> Corpus {
    let Some(line) = Line::read(text) else { return Corpus::Reject };
    let Some(position) = line.position() else { return Corpus::Reject };
    let mut game = Game::new(position);
    for word in line.moves {
        match game.position().parse_usi(word) {
            Ok(mv) => {
                assert!(legal_moves(game.position()).contains(&mv), "{word}");
                check_move(&mut game.position().clone(), mv);
                // Repetition may forbid it, or the game may have ended.
                let before = (game.position().sfen(), game.ply());
                if game.play(mv).is_err() {
                    assert_eq!((game.position().sfen(), game.ply()), before);
                }
            }
            Err(error) => {
                assert_eq!(error.text, word);
                assert!((1..=word.chars().count() + 1).contains(&error.at), "{error}");
            }
        }
    }
    Corpus::Keep
});

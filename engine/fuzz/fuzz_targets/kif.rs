//! Games in KIF from any text: refused with a line and column of the text, or a game that is written and read again.
//! The first line is a comment that names the variant: `# VARIANT RULESET`.

#![no_main]

use engine::notation::kif;
use engine_fuzz::find_variant;
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|text: &str| -> Corpus {
    let first = text.lines().next().unwrap_or_default();
    let Some(variant) = first.strip_prefix("# ").and_then(find_variant) else { return Corpus::Reject };
    match kif::read(text, &variant) {
        Ok(read) => {
            let headers: Vec<_> = read.headers.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let written = kif::write(&read.game, &headers);
            let again = kif::read(&written, &variant).unwrap_or_else(|error| panic!("{error}\n{written}"));
            let start = |game: &engine::Game| (game.start().codes().to_vec(), game.start().side_to_move());
            assert_eq!(start(&again.game), start(&read.game), "{written}");
            assert!(again.game.moves().eq(read.game.moves()), "{written}");
        }
        Err(error) => {
            let line = text.lines().nth(error.line - 1).unwrap_or_default();
            assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}");
        }
    }
    Corpus::Keep
});

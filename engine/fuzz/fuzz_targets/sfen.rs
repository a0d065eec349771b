//! Positions from any text: refused with a place in the text, or a position that holds together.

#![no_main]

use engine_fuzz::{Line, check_position};
use libfuzzer_sys::{Corpus, fuzz_target};

fuzz_target!(|text: &str| -> Corpus {
    let Some(line) = Line::read(text) else { return Corpus::Reject };
    if let Some(position) = line.position() {
        check_position(&position);
    }
    Corpus::Keep
});

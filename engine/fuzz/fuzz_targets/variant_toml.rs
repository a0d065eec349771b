//! Variants from any text: refused with places in the text, or a game whose start and first plies hold together.

#![no_main]

use engine::{Game, Position, Variant, VariantError};
use engine_fuzz::{check_position, legal_moves};
use libfuzzer_sys::{Corpus, fuzz_target};

/// Plies played of each game; the moves are taken from all over the list.
const PLIES: usize = 6;

fuzz_target!(|text: &str| -> Corpus {
    let variant = match Variant::from_toml(text, None) {
        Ok(variant) => variant,
        Err(VariantError::Invalid(issues)) => {
            assert!(!issues.is_empty());
            let lines = text.matches('\n').count() + 1;
            assert!(issues.iter().all(|issue| issue.line.is_none_or(|line| (1..=lines).contains(&line))));
            return Corpus::Keep;
        }
        Err(error) => panic!("{error}"),
    };
    for (ruleset, _) in variant.rulesets() {
        let other = Variant::from_toml(text, Some(ruleset)).expect("every ruleset was checked");
        assert_eq!(other.ruleset(), ruleset);
    }
    for kind in 0..variant.kinds().len() {
        variant.mobility(engine::PieceKind::new(kind));
    }
    for (name, sfen) in variant.positions() {
        Position::from_sfen(&variant, sfen).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let mut game = Game::new(Position::start(&variant));
    let mut moves = legal_moves(game.position());
    for ply in 0..PLIES {
        check_position(game.position());
        game.legal_moves(&mut moves);
        let Some(&mv) = moves.get(ply * 7919 % moves.len().max(1)) else { break };
        game.play(mv).expect("a legal move");
    }
    Corpus::Keep
});

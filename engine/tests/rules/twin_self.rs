//! The slow twin alone against what other programs measured: the proof that twin and data agree.

use crate::referee::{Referee, Twin};
use crate::suite::{self, Stop};
use crate::twin::{Power, RoyalCount, TwinGame, TwinMove, TwinPosition, TwinVariant, data, rows, text};
use std::collections::BTreeSet;
use std::sync::Arc;

#[test]
fn sho_king_capture() {
    suite::sho_king_capture::<Twin>(20_000);
}

#[test]
fn sho_fairy() {
    suite::sho_fairy::<Twin>(20_000);
    // The counts with the royals counted after the move were derived from the lists without check.
    let after =
        Arc::new(TwinVariant::load_with("sho", "fairy", |rules| rules.royals_counted = RoyalCount::AfterTheMove));
    for row in rows("sho_perft.jsonl") {
        let position = TwinPosition::parse(&after, text(&row, "sfen"));
        suite::check_perft::<Twin>(text(&row, "id"), &position, &row["depth_counts_truelegal"], Stop::AnyEnd, 20_000);
    }
    assert_eq!(TwinPosition::parse(&after, "4k4/9/4E4/9/4r4/9/9/9/4K4 b - 1").moves().len(), 11);
}

#[test]
fn chu_counts() {
    suite::chu_counts::<Twin>(20_000);
}

/// shogiops counts every route to a result.
#[test]
fn chu_raw_counts() {
    for row in rows("chu_perft.jsonl") {
        let position = Twin::read("chu", "lishogi", text(&row, "sfen"));
        let routes: usize = position.moves().iter().map(|mv| position.routes(mv)).sum();
        assert_eq!(Some(routes as u64), row["depth_counts"][0].as_u64(), "{}", text(&row, "id"));
    }
}

#[test]
fn chu_move_lists() {
    suite::chu_move_lists::<Twin>();
}

#[test]
fn chu_edges() {
    suite::chu_edges::<Twin>();
}

#[test]
fn chu_lion_trading() {
    for file in ["chu_lion_trading.json", "chu_lion_trading_more.json"] {
        suite::chu_lion_trading::<Twin>(&data(file));
    }
}

#[test]
fn pieces() {
    suite::pieces_of_sho_and_chu::<Twin>();
    suite::pieces_of_daidai::<Twin>();
}

#[test]
fn hachu_games() {
    suite::hachu_games::<Twin>();
}

#[test]
fn daidai_counts() {
    suite::daidai_counts::<Twin>(2);
    // The same with the repetition ban: the pairs of passes fall away (rules' text, section 11).
    for (ruleset, count) in [("historical", 3459), ("shogi_association", 3345)] {
        let start = TwinGame::new(Twin::start("daidai", ruleset));
        let replies = start.moves().iter().map(|mv| {
            let mut game = start.clone();
            game.play(mv);
            game.moves().len()
        });
        assert_eq!(replies.sum::<usize>(), count, "{ruleset}");
    }
}

/// A slide that may pass over pieces occurs in alternative tables only, so it is tried by hand.
#[test]
fn range_over() {
    let mut variant = TwinVariant::load_with("sho", "standard", |_| ());
    let rook = variant.kind_of_code("R").expect("a rook");
    variant.kinds[rook].powers = vec![Power::RangeOver { dir: (0, 1), over: 1 }];
    let position = TwinPosition::parse(&Arc::new(variant), "4k4/4p4/9/4p4/9/4P4/9/4R4/4K4 b - 1");
    let from = position.variant.parse_square("5h").expect("a square");
    // Up to the pawn of its own, over it, and as far as the enemy's behind it; not over a second one.
    let found: BTreeSet<String> = position.free_moves(from).iter().map(|mv: &TwinMove| position.usi(mv)).collect();
    assert_eq!(found, ["5h5g", "5h5e", "5h5d"].map(String::from).into());
}

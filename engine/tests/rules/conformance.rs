//! The crate against the conformance suite.

use crate::subject::{self, Core};
use crate::suite;
use crate::twin::{data, rows, text};

#[test]
fn sho_king_capture() {
    suite::sho_king_capture::<Core>(600_000);
}

#[test]
fn sho_fairy() {
    suite::sho_fairy::<Core>(600_000);
}

#[test]
fn chu_counts() {
    suite::chu_counts::<Core>(200_000);
}

/// The crate's own count of leaves, as deep as the data go.
#[test]
fn perft() {
    for row in rows("chu_perft.jsonl") {
        let mut position = subject::read("chu", "lishogi", text(&row, "sfen"));
        for (n, count) in row["depth_counts_distinct"].as_array().expect("counts").iter().enumerate() {
            let depth = u32::try_from(n + 1).expect("a small depth");
            for play_leaves in [false, true] {
                let found = engine::perft(&mut position, depth, play_leaves);
                assert_eq!(Some(found), count.as_u64(), "{} to depth {depth}", text(&row, "id"));
            }
        }
    }
    for row in rows("sho_perft.jsonl") {
        let mut position = subject::read("sho", "fairy", text(&row, "sfen"));
        for (n, count) in row["depth_counts"].as_array().expect("counts").iter().enumerate() {
            let depth = u32::try_from(n + 1).expect("a small depth");
            let found = engine::perft(&mut position, depth, false);
            assert_eq!(Some(found), count.as_u64(), "{} to depth {depth}", text(&row, "id"));
        }
    }
}

#[test]
fn chu_move_lists() {
    suite::chu_move_lists::<Core>();
}

#[test]
fn chu_edges() {
    suite::chu_edges::<Core>();
}

#[test]
fn chu_lion_trading() {
    for file in ["chu_lion_trading.json", "chu_lion_trading_more.json"] {
        suite::chu_lion_trading::<Core>(&data(file));
    }
}

#[test]
fn pieces() {
    suite::pieces_of_sho_and_chu::<Core>();
    suite::pieces_of_daidai::<Core>();
}

#[test]
fn hachu_games() {
    suite::hachu_games::<Core>();
}

#[test]
fn daidai_counts() {
    suite::daidai_counts::<Core>(3);
}

//! Playing games does not allocate once their memory has grown: a counting allocator watches.

use std::alloc::System;

use engine::{Game, MoveSampler, Position, Variant};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn games_do_not_allocate_after_warm_up() {
    for (variant, games) in [("sho", 200), ("chu", 200), ("daidai", 10)] {
        let mut game = Game::new(Position::start(&Variant::load(variant, None).expect("built in")));
        let (mut sampler, mut moves) = (MoveSampler::default(), Vec::new());
        let mut play = |seeds: std::ops::Range<u64>| {
            let mut plies = 0;
            for seed in seeds {
                let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
                game.restart();
                while let Some(mv) = sampler.draw(&game, |below| chance.random_range(0..below)) {
                    game.legal_moves(&mut moves);
                    assert!(moves.contains(&mv));
                    game.play_unchecked(mv);
                }
                plies += game.ply();
            }
            plies
        };
        // The same games twice: the first time the memory grows to what they need.
        let grown = play(0..games);
        let region = Region::new(ALLOCATOR);
        assert_eq!(play(0..games), grown);
        let change = region.change();
        assert_eq!((change.allocations, change.reallocations), (0, 0), "{variant}: {change:?}");
    }
}

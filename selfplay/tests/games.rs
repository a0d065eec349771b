//! Games between players.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use engine::{Color, Game, Position, Variant};
use selfplay::{GameSetup, MaterialValues, PlayOptions, PlayedGame, Player, SearchConfig, Uniform, play_games};

fn setups(variant: &Arc<Variant>, games: u64) -> Vec<GameSetup> {
    let setup = |seed| GameSetup {
        start: Game::new(Position::start(variant)),
        first_player: if seed % 2 == 0 { Color::Black } else { Color::White },
        seed,
    };
    (0..games).map(setup).collect()
}

fn play(players: [&Player; 2], setups: &[GameSetup], threads: usize, games_per_thread: usize) -> Vec<PlayedGame> {
    let options = PlayOptions { threads, games_per_thread, cache_mb: 1, max_plies: 400 };
    let finished = AtomicUsize::new(0);
    let progress = |_: usize, _: &PlayedGame| {
        finished.fetch_add(1, Ordering::Relaxed);
        ControlFlow::Continue(())
    };
    let played = play_games(players, setups, &options, &AtomicBool::new(false), &progress).expect("no external player");
    assert_eq!(finished.into_inner(), setups.len());
    played.into_iter().map(|game| game.expect("not stopped")).collect()
}

/// Wins and losses of the first player.
fn score(setups: &[GameSetup], games: &[PlayedGame]) -> (usize, usize) {
    let (mut wins, mut losses) = (0, 0);
    for (setup, game) in setups.iter().zip(games) {
        if let Some(winner) = game.outcome.and_then(|outcome| outcome.winner) {
            if winner == setup.first_player { wins += 1 } else { losses += 1 }
        }
    }
    (wins, losses)
}

fn search(simulations: u32) -> Player {
    Player::Net {
        evaluator: Arc::new(Uniform),
        search: SearchConfig { simulations, noise: 0.0, ..SearchConfig::default() },
    }
}

#[test]
fn games_do_not_depend_on_threads_and_are_legal() {
    for variant in ["sho", "chu", "daidai"] {
        let variant = Variant::load(variant, None).expect("built in");
        let material = Player::Material(MaterialValues::from_mobility(&variant));
        let setups = setups(&variant, 6);
        let one = play([&search(8), &material], &setups, 1, 6);
        let three = play([&search(8), &material], &setups, 3, 1);
        assert!(one == three);
        for (setup, played) in setups.iter().zip(&one) {
            let mut game = setup.start.clone();
            for &mv in &played.moves {
                game.play(mv).expect("legal");
            }
            assert_eq!(game.outcome(), played.outcome);
            assert!(played.outcome.is_some() || played.moves.len() == 400);
        }
    }
}

#[test]
fn choosing_alone_is_choosing_among_many() {
    let variant = Variant::load("sho", None).expect("built in");
    let setups = setups(&variant, 2);
    let players = [&Player::Random, &search(8)];
    let played = play(players, &setups, 2, 1);
    let mut game = setups[0].start.clone();
    for (ply, &mv) in played[0].moves.iter().enumerate().take(20) {
        let player = players[ply % 2];
        assert_eq!(player.choose(&game, selfplay::derive_seed(&[setups[0].seed, ply as u64])), mv);
        game.play(mv).expect("legal");
    }
}

#[test]
fn material_beats_random_at_every_game() {
    for (variant, games) in [("sho", 40), ("chu", 20), ("daidai", 8)] {
        let variant = Variant::load(variant, None).expect("built in");
        let setups = setups(&variant, games);
        let material = Player::Material(MaterialValues::from_mobility(&variant));
        let (wins, losses) = score(&setups, &play([&material, &Player::Random], &setups, 2, 8));
        assert!(wins > 3 * losses && wins + losses > 0, "{}: {wins} to {losses}", variant.name());
    }
}

#[test]
fn a_stopped_match_keeps_what_is_finished() {
    let variant = Variant::load("sho", None).expect("built in");
    let setups = setups(&variant, 50);
    let options = PlayOptions { threads: 1, games_per_thread: 2, cache_mb: 1, max_plies: 50 };
    // From outside, and by what the games were played for.
    for from_outside in [true, false] {
        let (stop, games) = (AtomicBool::new(false), AtomicUsize::new(0));
        let finished = |_: usize, _: &PlayedGame| {
            let enough = games.fetch_add(1, Ordering::Relaxed) + 1 >= 10;
            stop.store(enough && from_outside, Ordering::Relaxed);
            if enough && !from_outside { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let played = play_games([&Player::Random, &Player::Random], &setups, &options, &stop, &finished)
            .expect("no external player");
        let finished = played.iter().filter(|game| game.is_some()).count();
        assert!((10..50).contains(&finished), "{finished}");
    }
}

#[test]
fn material_takes_the_most_valuable_piece() {
    let variant = Variant::load("sho", None).expect("built in");
    // The pawn on 5e can take a rook on 5d; the lance on 1i a pawn on 1d.
    let sfen = "4k4/9/9/4r3p/4P4/9/9/9/4K3L b - 1";
    let game = Game::new(Position::from_sfen(&variant, sfen).expect(sfen));
    let material = Player::Material(MaterialValues::from_mobility(&variant));
    for seed in 0..10 {
        assert_eq!(game.position().usi(material.choose(&game, seed)), "5e5d");
    }
    let values = |n: usize| MaterialValues::new(&variant, vec![1.0; n]);
    assert!(values(variant.kinds().len()).is_some() && values(3).is_none());
}

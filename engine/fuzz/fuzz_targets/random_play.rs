//! Games in which the bytes choose the variant with its ruleset, the start, and each move.

#![no_main]

use std::sync::{Arc, LazyLock};

use engine::{Game, Move, Outcome, Position, Variant};
use engine_fuzz::{Line, SEEDS, VARIANTS, check_hash, check_position};
use libfuzzer_sys::fuzz_target;

/// Longer games only take time.
const MOST_PLIES: usize = 80;

/// For each of [`VARIANTS`] its start and the seeds' positions of the same game.
static STARTS: LazyLock<Vec<Vec<Position>>> = LazyLock::new(|| {
    let seeds: Vec<Line> = SEEDS.lines().filter_map(Line::read).collect();
    let starts = |variant: &Arc<Variant>| {
        let same_game = seeds.iter().filter(|line| line.variant.name() == variant.name());
        let read = |line: &Line| Position::from_sfen(variant, line.sfen).ok();
        std::iter::once(Position::start(variant)).chain(same_game.filter_map(read)).collect()
    };
    VARIANTS.iter().map(starts).collect()
});

/// What undoing must bring back.
#[derive(Debug, PartialEq)]
struct State {
    sfen: String,
    hash: u64,
    moves: Vec<Move>,
    occurrences: usize,
    plies_since_capture: usize,
    outcome: Option<Outcome>,
}

impl State {
    fn of(game: &Game) -> State {
        let mut moves = Vec::new();
        game.legal_moves(&mut moves);
        State {
            sfen: game.position().sfen(),
            hash: game.position().hash(),
            moves,
            occurrences: game.occurrences(),
            plies_since_capture: game.plies_since_capture(),
            outcome: game.outcome(),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [variant, start, choices @ ..] = data else { return };
    let starts = &STARTS[*variant as usize % STARTS.len()];
    let mut game = Game::new(starts[*start as usize % starts.len()].clone());
    let mut states = Vec::new();
    for choice in choices.chunks_exact(2).take(MOST_PLIES) {
        let state = State::of(&game);
        assert_eq!(state.moves.is_empty(), state.outcome.is_some(), "{}", state.sfen);
        if state.moves.is_empty() {
            break;
        }
        let choice = u16::from_le_bytes([choice[0], choice[1]]);
        let mv = state.moves[choice as usize % state.moves.len()];
        let text = game.position().usi(mv);
        assert_eq!(game.position().parse_usi(&text), Ok(mv), "{}", state.sfen);
        if choice >> 14 == 0 {
            refuse_others(&mut game, &state, mv, choice);
        }
        game.play(mv).expect("a legal move");
        check_hash(game.position());
        states.push(state);
    }
    check_position(game.position());
    while let Some(state) = states.pop() {
        game.undo().expect("a move was played");
        assert_eq!(State::of(&game), state);
    }
    assert_eq!(game.undo(), None);
});

/// Other numbers, near that of a legal move and those of passes on and off the board, are legal only if they are in the
/// list; otherwise nothing is played.
fn refuse_others(game: &mut Game, state: &State, mv: Move, choice: u16) {
    let near = mv.raw() ^ u32::from(choice | 1).rotate_left(u32::from(choice >> 9));
    let square = u32::from(choice) & 0x1ff;
    for other in [near, square << 9 | square].map(Move::from_raw) {
        if !state.moves.contains(&other) {
            game.play(other).expect_err("not in the list");
            assert_eq!(State::of(game), *state);
        }
    }
}

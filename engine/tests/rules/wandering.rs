//! Random positions and random games that go where the rules are: crowded boards, lions, bare royals, repetition.

use crate::twin::{TwinGame, TwinMove, TwinPiece, TwinPosition, TwinVariant};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::sync::Arc;

pub(crate) type Chance = Xoshiro256PlusPlus;

/// The generator of a named test and game number.
pub(crate) fn chance(name: &str, number: u64) -> Chance {
    let seed =
        name.bytes().fold(number.wrapping_add(1), |seed, byte| seed.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
    Chance::seed_from_u64(seed)
}

/// Every game with every ruleset.
pub(crate) fn all_rulesets() -> Vec<(&'static str, String)> {
    let rulesets = |game: &'static str| TwinVariant::rulesets(game).into_iter().map(move |ruleset| (game, ruleset));
    ["sho", "chu", "heisei_chu", "daidai"].into_iter().flat_map(rulesets).collect()
}

/// How a random game starts and goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// From the start position.
    Start,
    /// From a board with many pieces anywhere.
    Crowded,
    /// From a board with a few pieces, royals among them.
    Sparse,
    /// From a board with a few pieces, going to and fro.
    ToAndFro,
}

pub(crate) const WALKS: [Walk; 4] = [Walk::Start, Walk::Crowded, Walk::Sparse, Walk::ToAndFro];

impl Walk {
    /// The position it starts from.
    pub(crate) fn start(self, variant: &Arc<TwinVariant>, chance: &mut Chance) -> TwinPosition {
        let squares = variant.files * variant.ranks;
        let pieces = match self {
            Walk::Start => return TwinPosition::start(variant),
            Walk::Crowded => chance.random_range(squares / 8..squares / 3),
            Walk::Sparse => chance.random_range(0..5),
            Walk::ToAndFro => chance.random_range(1..6),
        };
        scattered(variant, usize::try_from(pieces).expect("not negative"), chance)
    }

    /// The plies it goes.
    pub(crate) fn plies(self) -> usize {
        match self {
            Walk::Start => 80,
            Walk::Crowded => 20,
            Walk::Sparse => 30,
            Walk::ToAndFro => 60,
        }
    }

    /// The next move: captures more often than others, and to and fro back to where a piece came from or a pass.
    pub(crate) fn choose(
        self,
        game: &TwinGame,
        moves: &[TwinMove],
        own_last: Option<&TwinMove>,
        chance: &mut Chance,
    ) -> TwinMove {
        let any = |list: &[TwinMove], chance: &mut Chance| list[chance.random_range(0..list.len())].clone();
        let back =
            |mv: &TwinMove| mv.is_pass() || own_last.is_some_and(|last| mv.from == last.to && mv.to == last.from);
        let takes_lion = |mv: &TwinMove| {
            mv.captured.iter().any(|&at| game.position().board[at].is_some_and(|p| game.position().kind(p).lion))
        };
        let wanted: Vec<TwinMove> = match (self, chance.random_range(0..4)) {
            (Walk::ToAndFro, 0..3) => moves.iter().filter(|mv| back(mv)).cloned().collect(),
            (Walk::ToAndFro, _) => moves.iter().filter(|mv| mv.captured.is_empty()).cloned().collect(),
            (_, 0) => moves.iter().filter(|mv| !mv.captured.is_empty()).cloned().collect(),
            (_, 1) => moves.iter().filter(|mv| mv.captured.len() > 1 || takes_lion(mv)).cloned().collect(),
            _ => Vec::new(),
        };
        if wanted.is_empty() { any(moves, chance) } else { any(&wanted, chance) }
    }
}

/// A board with a royal and up to `pieces` more a side, of any kind, anywhere.
fn scattered(variant: &Arc<TwinVariant>, pieces: usize, chance: &mut Chance) -> TwinPosition {
    let mut position = TwinPosition::start(variant);
    position.board.fill(None);
    position.white_to_move = chance.random_range(0..2) == 1;
    let kinds = variant.kinds.len();
    let squares = position.board.len();
    let royal = variant.kinds.iter().position(|k| k.royal).expect("a royal");
    // What the rules are about stands there more often: lions, or a piece that moves otherwise than in the main text.
    let often: Vec<usize> = (0..kinds).filter(|&k| variant.kinds[k].lion || variant.kinds[k].changed).collect();
    for white in [false, true] {
        for n in 0..=pieces {
            let kind = match chance.random_range(0..4) {
                _ if n == 0 => royal,
                0 if !often.is_empty() => often[chance.random_range(0..often.len())],
                _ => chance.random_range(0..kinds),
            };
            // Royals of the first kind stand alone: no set-up and no promotion gives a side two of them.
            if n > 0 && kind == royal {
                continue;
            }
            let at = chance.random_range(0..squares);
            let free = position.board[at].is_none();
            let at = if free { at } else { position.board.iter().position(Option::is_none).expect("an empty square") };
            position.board[at] = Some(TwinPiece { white, kind });
        }
    }
    if variant.rules.lion_trading && chance.random_range(0..3) == 0 {
        position.ban = Some(chance.random_range(0..squares));
    }
    for counts in &mut position.reserve {
        let most = chance.random_range(0..3);
        counts.iter_mut().for_each(|count| *count = chance.random_range(0..=most));
    }
    if variant.has_drops() {
        for (at, square) in position.board.iter().enumerate() {
            let put = square.is_some_and(|p| variant.reserve.contains(&p.kind) && position.in_zone(p.white, at));
            if put && chance.random_range(0..2) == 0 {
                position.fresh.insert(at);
            }
        }
    }
    position
}

/// Plays a random game on the twin and shows every position to `look`, with the legal moves and the move chosen (none
/// at the end).
pub(crate) fn wander(
    walk: Walk,
    start: TwinPosition,
    chance: &mut Chance,
    mut look: impl FnMut(&TwinGame, Option<&TwinMove>),
) {
    let mut game = TwinGame::new(start);
    let mut played: Vec<TwinMove> = Vec::new();
    loop {
        let moves: Vec<TwinMove> = game.moves().iter().cloned().collect();
        if game.end().is_some() || played.len() == walk.plies() {
            look(&game, None);
            return;
        }
        let own_last = played.len().checked_sub(2).map(|n| &played[n]);
        let mv = walk.choose(&game, &moves, own_last, chance);
        look(&game, Some(&mv));
        game.play(&mv);
        played.push(mv);
    }
}

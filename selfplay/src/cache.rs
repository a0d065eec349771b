//! A cache of judgements with a fixed size.

use engine::Game;

use crate::data::State;
use crate::evaluator::Evaluation;
use crate::seed;

/// Judgements of one thread's evaluators, the oldest forgotten first. Games are the same with it and without it: a
/// judgement is a function of what the key is made of, and is looked up by all 64 bits of it.
///
/// The key is board, side, reserve, ban square, occurrences, plies since the last capture and ply: all of a game that an
/// evaluator may look at. So positions reached by another order of moves share a judgement, and so does the next search of
/// a game. The hash of a position alone would not do: where repetition goes by type it takes kinds that move alike for one.
pub(crate) struct Cache {
    /// Direct-mapped: a key has one place.
    entries: Vec<Entry>,
    /// Policies, in a ring.
    policies: Vec<f32>,
    /// Logits written since the start; modulo the ring's length the place of the next one.
    written: u64,
}

#[derive(Clone, Copy, Default)]
struct Entry {
    key: u64,
    start: u64,
    moves: u32,
    wdl: [f32; 3],
}

/// Logits that the ring has for each entry: about the moves of a chu position.
const MOVES: usize = 64;

impl Cache {
    /// A cache of about so many bytes; `None` if that is too few for any use.
    pub(crate) fn new(bytes: usize) -> Option<Cache> {
        let entries = bytes / (size_of::<Entry>() + MOVES * size_of::<f32>());
        (entries >= 64).then(|| Cache {
            entries: vec![Entry::default(); entries],
            policies: vec![0.0; entries * MOVES],
            written: 0,
        })
    }

    /// The key of a position for evaluator number `evaluator`.
    pub(crate) fn key(evaluator: usize, game: &Game) -> u64 {
        let (position, state) = (game.position(), u64::from_le_bytes(State::of(game).to_bytes()));
        let (eights, rest) = position.codes().as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        let board = eights.iter().chain([&last]).fold(0, |hash, codes| seed::mix(hash ^ u64::from_le_bytes(*codes)));
        // 0 is the key of empty entries.
        seed::derive(&[evaluator as u64, position.hash(), board, state]).max(1)
    }

    fn place(&self, key: u64) -> usize {
        // The high bits of the product are an even draw below the number of entries.
        ((u128::from(key) * self.entries.len() as u128) >> 64) as usize
    }

    /// Fills `out` with the judgement of a key, if it is there and has so many moves.
    pub(crate) fn get(&self, key: u64, moves: usize, out: &mut Evaluation) -> bool {
        let entry = self.entries[self.place(key)];
        let forgotten = self.written - entry.start > self.policies.len() as u64;
        if entry.key != key || entry.moves as usize != moves || forgotten {
            return false;
        }
        let start = (entry.start % self.policies.len() as u64) as usize;
        out.policy.clear();
        out.policy.extend_from_slice(&self.policies[start..start + moves]);
        out.wdl = entry.wdl;
        true
    }

    /// Keeps a judgement.
    pub(crate) fn put(&mut self, key: u64, judged: &Evaluation) {
        let (moves, ring) = (judged.policy.len(), self.policies.len());
        if moves > ring {
            return;
        }
        let mut start = (self.written % ring as u64) as usize;
        if start + moves > ring {
            // A policy lies in one piece.
            self.written += (ring - start) as u64;
            start = 0;
        }
        self.policies[start..start + moves].copy_from_slice(&judged.policy);
        let place = self.place(key);
        self.entries[place] = Entry { key, start: self.written, moves: moves as u32, wdl: judged.wdl };
        self.written += moves as u64;
    }
}

#[cfg(test)]
mod tests {
    use engine::{Kind, Position, Variant};

    use super::*;

    /// Two boards of dai dai that are one for repetition: a piece of each of two kinds that move alike.
    #[test]
    fn kinds_that_move_alike_have_keys_of_their_own() {
        let variant = Variant::load("daidai", None).expect("built in");
        let alike = |a: &Kind, b: &Kind| a.id < b.id && a.moves_as == b.moves_as && a.promotes_to == b.promotes_to;
        let kinds = variant.kinds();
        let pair = kinds.iter().flat_map(|a| kinds.iter().map(move |b| (a, b))).find(|(a, b)| alike(a, b));
        let (a, b) = pair.expect("the ruleset counts repetition by type because there are such kinds");
        let game = |kind: &Kind| {
            let ranks = "17/".repeat(14);
            let sfen = format!("8k8/17/{ranks}8K7{} b - 1", kind.sfen());
            Game::new(Position::from_sfen(&variant, &sfen).expect("sound"))
        };
        assert_eq!(game(a).position().hash(), game(b).position().hash());
        assert_ne!(Cache::key(0, &game(a)), Cache::key(0, &game(b)));
        assert_ne!(Cache::key(0, &game(a)), Cache::key(1, &game(a)));
    }

    #[test]
    fn what_was_put_comes_back_until_it_is_forgotten() {
        assert!(Cache::new(100).is_none());
        let mut cache = Cache::new(64 * 1024).expect("large enough");
        let judged = |n: u64| Evaluation {
            policy: (0..30 + n % 50).map(|i| (n * 1000 + i) as f32).collect(),
            wdl: [n as f32, 0.0, 1.0],
        };
        let key = |n: u64| seed::derive(&[n]);
        let mut out = Evaluation::default();
        for n in 0..5000 {
            cache.put(key(n), &judged(n));
            // The newest is always there; an older one is right or not there at all.
            for age in [0, 1, 5, 50, 500, 4000].into_iter().filter(|age| *age <= n) {
                let wanted = judged(n - age);
                let found = cache.get(key(n - age), wanted.policy.len(), &mut out);
                assert!(found || age > 0);
                assert!(!found || out == wanted, "{n} {age}");
            }
        }
        assert!(!cache.get(key(0), 30, &mut out), "the oldest is forgotten");
        assert!(!cache.get(key(4999), 31, &mut out), "another number of moves");
        assert!(!cache.get(key(5000), 30, &mut out), "never put");
    }
}

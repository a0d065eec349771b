//! Games: a position with its history, repetition and outcome.

use crate::error::MoveError;
use crate::moves::Move;
use crate::outcome::{Outcome, Reason};
use crate::position::{Position, Undo};
use crate::rules::Repetition;

#[derive(Clone, Debug)]
struct Ply {
    undo: Undo,
    /// Repetition key of the position after the move.
    key: u64,
    /// The first ply after which positions can equal later ones: nothing was captured or promoted since.
    reversible_from: u32,
    last_capture: u32,
}

/// A game: where it started, the moves, the position now, and how it ended.
#[derive(Clone, Debug)]
pub struct Game {
    start: Position,
    position: Position,
    start_key: u64,
    plies: Vec<Ply>,
    /// Memory for moves.
    moves: Vec<Move>,
    /// How many positions so far have a key of each bucket: most keys have none, and no history need be searched for them.
    seen: Vec<u32>,
    outcome: Option<Outcome>,
}

const BUCKETS: usize = 2048;

fn bucket(key: u64) -> usize {
    key as usize % BUCKETS
}

impl Game {
    /// A game from this position on.
    pub fn new(start: Position) -> Game {
        let mut game = Game {
            start_key: start.repetition_key(),
            position: start.clone(),
            start,
            plies: Vec::with_capacity(256),
            moves: Vec::with_capacity(256),
            seen: vec![0; BUCKETS],
            outcome: None,
        };
        game.seen[bucket(game.start_key)] = 1;
        game.outcome = game.find_outcome();
        game
    }

    /// Starts again from the same position, keeping the memory.
    pub fn restart(&mut self) {
        while !self.plies.is_empty() {
            self.undo();
        }
        self.outcome = self.find_outcome();
    }

    /// Where the game started.
    pub fn start(&self) -> &Position {
        &self.start
    }

    /// Where the game stands.
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// How the game ended; `None` while it goes on.
    pub fn outcome(&self) -> Option<Outcome> {
        self.outcome
    }

    /// Number of moves played.
    pub fn ply(&self) -> usize {
        self.plies.len()
    }

    /// The moves played.
    pub fn moves(&self) -> impl ExactSizeIterator<Item = Move> + '_ {
        self.plies.iter().map(|ply| ply.undo.mv())
    }

    /// The last move with what it captured, if any was played.
    pub fn last(&self) -> Option<&Undo> {
        self.plies.last().map(|ply| &ply.undo)
    }

    /// How many times the position has stood, now included.
    pub fn occurrences(&self) -> usize {
        self.earlier(self.position.repetition_key(), self.plies.len()) + 1
    }

    /// Moves played since the last capture, or since the start of the game.
    pub fn plies_since_capture(&self) -> usize {
        self.plies.len() - self.plies.last().map_or(0, |ply| ply.last_capture as usize)
    }

    /// The legal moves: those of the position without the ones that repetition forbids; none once the game has ended.
    /// Clears `moves` first.
    pub fn legal_moves(&self, moves: &mut Vec<Move>) {
        moves.clear();
        if self.outcome.is_none() {
            self.moves_now(moves);
        }
    }

    /// Whether repetition allows a legal move of the position.
    pub(crate) fn may_play(&self, mv: Move) -> bool {
        self.forbidden_repetition().is_none_or(|most| self.may_stand(mv, most))
    }

    fn moves_now(&self, moves: &mut Vec<Move>) {
        self.position.legal_moves(moves);
        if let Some(most) = self.forbidden_repetition() {
            moves.retain(|&mv| self.may_stand(mv, most));
        }
    }

    /// How often a position may have stood before a move to it is forbidden, if the rules forbid such moves now.
    fn forbidden_repetition(&self) -> Option<usize> {
        let most = match self.position.variant.rules.repetition {
            Repetition::SecondForbidden => 1,
            Repetition::FourthForbidden => 3,
            Repetition::Ignored | Repetition::FourthEnds => return None,
        };
        let side = self.position.side_to_move();
        let free = self.position.variant.rules.check_may_repeat && self.position.in_check(side);
        (!free).then_some(most)
    }

    /// Whether the position after a move has stood less than `most` times.
    fn may_stand(&self, mv: Move, most: usize) -> bool {
        self.position.quiet_key_after(mv).is_none_or(|key| self.earlier(key, self.plies.len() + 1) < most)
    }

    /// How often a position with this key, reached after `ply` plies, has stood before.
    fn earlier(&self, key: u64, ply: usize) -> usize {
        if self.seen[bucket(key)] == 0 {
            return 0;
        }
        let first = self.plies.last().map_or(0, |ply| ply.reversible_from as usize);
        // Only positions with the same side to move can be equal: every second one.
        let mut found = 0;
        let mut at = ply;
        while at >= first + 2 {
            at -= 2;
            found += (self.key_at(at) == key) as usize;
        }
        found
    }

    /// Repetition key of the position after so many plies.
    fn key_at(&self, ply: usize) -> u64 {
        if ply == 0 { self.start_key } else { self.plies[ply - 1].key }
    }

    /// Plays a move.
    ///
    /// # Errors
    /// [`MoveError`] if it is not legal, or the game has ended; nothing is played then.
    pub fn play(&mut self, mv: Move) -> Result<(), MoveError> {
        let mut moves = Vec::new();
        self.legal_moves(&mut moves);
        if moves.contains(&mv) {
            self.play_unchecked(mv);
            return Ok(());
        }
        let message = match self.outcome {
            Some(outcome) => format!("the game has ended ({})", outcome.reason),
            None if self.position.is_legal(mv) => "the position has stood before; the ruleset forbids it".to_string(),
            None => "not a legal move".to_string(),
        };
        Err(MoveError { text: self.position.usi(mv), at: 1, message })
    }

    /// Plays a move without asking whether it is legal.
    ///
    /// # Panics
    /// May panic, or leave the game meaningless, if the move is not one of [`Game::legal_moves`].
    pub fn play_unchecked(&mut self, mv: Move) {
        let (reversible_from, last_capture) =
            self.plies.last().map_or((0, 0), |ply| (ply.reversible_from, ply.last_capture));
        let undo = self.position.play_unchecked(mv);
        let now = self.plies.len() as u32 + 1;
        let capture = undo.is_capture();
        let irreversible = capture || mv.promotes() || mv.dropped().is_some();
        let key = self.position.repetition_key();
        self.seen[bucket(key)] += 1;
        self.plies.push(Ply {
            undo,
            key,
            reversible_from: if irreversible { now } else { reversible_from },
            last_capture: if capture { now } else { last_capture },
        });
        self.outcome = self.find_outcome();
    }

    /// Takes back the last move; returns it, or `None` at the start.
    pub fn undo(&mut self) -> Option<Move> {
        let ply = self.plies.pop()?;
        self.position.undo(&ply.undo);
        self.seen[bucket(ply.key)] -= 1;
        // A move was played from here, so the game had not ended.
        self.outcome = None;
        Some(ply.undo.mv())
    }

    fn find_outcome(&mut self) -> Option<Outcome> {
        if let Some(outcome) = self.position.outcome() {
            return Some(outcome);
        }
        let rules = &self.position.variant.rules;
        let (repetition, ply_cap) = (rules.repetition, rules.ply_cap);
        if repetition == Repetition::FourthEnds && self.occurrences() >= 4 {
            return Some(self.repetition_outcome());
        }
        if !self.has_legal_move() {
            return Some(self.position.stalemate());
        }
        let capped = ply_cap > 0 && self.position.ply() >= ply_cap;
        capped.then_some(Outcome::draw(Reason::PlyCap))
    }

    fn has_legal_move(&mut self) -> bool {
        if !self.position.has_legal_move() {
            return false;
        }
        let forbids =
            matches!(self.position.variant.rules.repetition, Repetition::SecondForbidden | Repetition::FourthForbidden);
        let first = self.plies.last().map_or(0, |ply| ply.reversible_from as usize);
        // More moves than positions that could come back: one of them is allowed.
        if !forbids || self.position.count_moves() > (self.plies.len() - first) / 2 + 1 {
            return true;
        }
        let mut moves = std::mem::take(&mut self.moves);
        self.moves_now(&mut moves);
        let any = !moves.is_empty();
        self.moves = moves;
        any
    }

    /// Goes back to where the position now stood first and returns. Calls `look` after each move of the way, the last
    /// first, with the position, the move and memory for others.
    pub(crate) fn walk_back(&mut self, mut look: impl FnMut(&mut Position, Move, &mut Vec<Move>)) {
        let key = self.position.repetition_key();
        let first = self.plies.last().map_or(0, |ply| ply.reversible_from as usize);
        let start = (first..self.plies.len()).find(|&ply| self.key_at(ply) == key).unwrap_or(self.plies.len());
        for ply in self.plies[start..].iter().rev() {
            look(&mut self.position, ply.undo.mv(), &mut self.moves);
            self.position.undo(&ply.undo);
        }
        for ply in &self.plies[start..] {
            self.position.play_unchecked(ply.undo.mv());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Game, Move, Position, Variant};

    /// A packed move may be any number: it is legal or an error, never a panic. The first number was found by fuzzing.
    #[test]
    fn any_number_is_a_move_or_an_error() {
        for name in Variant::builtin_names() {
            let variant = Variant::load(name, None).expect("built in");
            let start = Game::new(Position::start(&variant));
            let mut moves = Vec::new();
            start.legal_moves(&mut moves);
            let spread = (0..20_000u32).map(|i| i.wrapping_mul(0x9e37_79b1));
            for raw in
                [u32::from_le_bytes([0x32, 0x50, 0x33, 0]), u32::MAX, 0x1ff, 0x1ff << 9].into_iter().chain(spread)
            {
                let mv = Move::from_raw(raw);
                assert_eq!(start.clone().play(mv).is_ok(), moves.contains(&mv), "{name} {raw:#x}");
                let _ = (start.position().captures(mv).count(), start.position().usi(mv));
            }
        }
    }
}

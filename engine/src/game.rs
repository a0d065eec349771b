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
    outcome: Option<Outcome>,
}

impl Game {
    /// A game from this position on.
    pub fn new(start: Position) -> Game {
        let mut game = Game {
            start_key: start.repetition_key(),
            position: start.clone(),
            start,
            plies: Vec::with_capacity(256),
            outcome: None,
        };
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

    fn moves_now(&self, moves: &mut Vec<Move>) {
        self.position.legal_moves(moves);
        let allowed = match self.position.variant.rules.repetition {
            Repetition::SecondForbidden => 1,
            Repetition::FourthForbidden => 3,
            Repetition::Ignored | Repetition::FourthEnds => return,
        };
        let side = self.position.side_to_move();
        if self.position.variant.rules.check_may_repeat && self.position.in_check(side) {
            return;
        }
        moves.retain(|&mv| match self.position.quiet_key_after(mv) {
            Some(key) => self.earlier(key, self.plies.len() + 1) < allowed,
            None => true,
        });
    }

    /// How often a position with this key, reached after `ply` plies, has stood before.
    fn earlier(&self, key: u64, ply: usize) -> usize {
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
        self.plies.push(Ply {
            undo,
            key: self.position.repetition_key(),
            reversible_from: if irreversible { now } else { reversible_from },
            last_capture: if capture { now } else { last_capture },
        });
        self.outcome = self.find_outcome();
    }

    /// Takes back the last move; returns it, or `None` at the start.
    pub fn undo(&mut self) -> Option<Move> {
        let ply = self.plies.pop()?;
        self.position.undo(&ply.undo);
        // A move was played from here, so the game had not ended.
        self.outcome = None;
        Some(ply.undo.mv())
    }

    fn find_outcome(&self) -> Option<Outcome> {
        let rules = &self.position.variant.rules;
        if let Some(outcome) = self.position.outcome() {
            return Some(outcome);
        }
        if rules.repetition == Repetition::FourthEnds && self.occurrences() >= 4 {
            return Some(self.repetition_outcome());
        }
        if !self.has_legal_move() {
            return Some(self.position.stalemate());
        }
        let capped = rules.ply_cap > 0 && self.position.ply() >= rules.ply_cap;
        capped.then_some(Outcome::draw(Reason::PlyCap))
    }

    fn has_legal_move(&self) -> bool {
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
        let mut moves = Vec::new();
        self.moves_now(&mut moves);
        !moves.is_empty()
    }

    /// The undo records since the position now last stood for the first time, for judging a repetition.
    pub(crate) fn cycle(&self) -> impl DoubleEndedIterator<Item = &Undo> {
        let key = self.position.repetition_key();
        let first = self.plies.last().map_or(0, |ply| ply.reversible_from as usize);
        let start = (first..self.plies.len()).find(|&ply| self.key_at(ply) == key).unwrap_or(self.plies.len());
        self.plies[start..].iter().map(|ply| &ply.undo)
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

//! The twin's games: positions in a row, and what repeating one means.

use super::ending::TwinEnd;
use super::moves::TwinMove;
use super::position::TwinPosition;
use super::variant::Repetition;
use std::collections::HashSet;

/// A game from a given position on.
#[derive(Clone, Debug)]
pub(crate) struct TwinGame {
    positions: Vec<TwinPosition>,
    keys: Vec<String>,
    /// One for every move: what the repetition rules ask of it.
    notes: Vec<Note>,
}

/// What a move did.
#[derive(Clone, Copy, Debug)]
struct Note {
    white: bool,
    check: bool,
    /// Check, or the moved piece could take something from where it now stands.
    attack: bool,
    pass: bool,
}

impl TwinGame {
    pub(crate) fn new(start: TwinPosition) -> TwinGame {
        TwinGame { keys: vec![start.key()], positions: vec![start], notes: Vec::new() }
    }

    pub(crate) fn position(&self) -> &TwinPosition {
        self.positions.last().expect("a game has its start")
    }

    pub(crate) fn play(&mut self, mv: &TwinMove) {
        let after = self.position().after(mv);
        let white = self.position().white_to_move;
        let check = after.checks(white);
        let attack = check || after.could_take_from(mv.to);
        self.notes.push(Note { white, check, attack, pass: mv.is_pass() });
        self.keys.push(after.key());
        self.positions.push(after);
    }

    /// Legal moves with the repetition ban, where there is one.
    pub(crate) fn moves(&self) -> HashSet<TwinMove> {
        let position = self.position();
        let mut moves = position.moves();
        if position.variant.rules.repetition == Repetition::Ban {
            moves.retain(|mv| !self.keys.contains(&position.after(mv).key()));
        }
        moves
    }

    /// How often the current position has stood.
    pub(crate) fn occurrences(&self) -> usize {
        let now = self.keys.last().expect("a game has its start");
        self.keys.iter().filter(|key| *key == now).count()
    }

    pub(crate) fn end(&self) -> Option<TwinEnd> {
        let position = self.position();
        if let Some(end) = position.end_by_material() {
            return Some(end);
        }
        if self.moves().is_empty() {
            return Some(position.end_without_moves());
        }
        let rules = &position.variant.rules;
        if rules.repetition != Repetition::Ban && self.occurrences() >= 4 {
            return Some(self.end_by_repetition());
        }
        rules.ply_cap.filter(|&cap| self.notes.len() >= cap).map(|_| TwinEnd::draw("ply_cap"))
    }

    fn end_by_repetition(&self) -> TwinEnd {
        let now = self.keys.last().expect("a game has its start");
        let first = self.keys.iter().position(|key| key == now).expect("it stands now");
        let cycle = &self.notes[first..];
        let every = |white: bool, what: fn(&Note) -> bool| cycle.iter().filter(|n| n.white == white).all(what);
        // The one side that did it with every move.
        let alone = |what: fn(&Note) -> bool| match (every(false, what), every(true, what)) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            _ => None,
        };
        let by_check = || alone(|n| n.check).map(|white| (white, "perpetual_check"));
        let by_attack = || alone(|n| n.attack).map(|white| (white, "perpetual_attack"));
        let by_pass = || cycle.iter().all(|n| n.pass).then(|| (cycle[0].white, "repetition_burden"));
        let loser = match self.position().variant.rules.repetition {
            Repetition::Ban => unreachable!("such a position cannot be made"),
            Repetition::PerpetualCheck => by_check(),
            Repetition::PerpetualAttack => by_attack(),
            Repetition::Instigator => by_check().or_else(by_attack).or_else(by_pass),
        };
        loser.map_or(TwinEnd::draw("repetition"), |(white, reason)| TwinEnd::win(!white, reason))
    }
}

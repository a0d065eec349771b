//! The twin's games: positions in a row, and what repeating one means.

use super::ending::TwinEnd;
use super::moves::TwinMove;
use super::position::TwinPosition;
use super::rules::Repetition;
use std::collections::BTreeSet;

/// A game from a given position on. What is asked of the position it stands at is worked out once.
#[derive(Clone, Debug)]
pub(crate) struct TwinGame {
    positions: Vec<TwinPosition>,
    keys: Vec<Vec<u16>>,
    played: Vec<TwinMove>,
    /// The legal moves from the board alone, and those left by the repetition ban.
    on_board: BTreeSet<TwinMove>,
    allowed: BTreeSet<TwinMove>,
    end: Option<TwinEnd>,
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
        let mut game = TwinGame {
            keys: vec![start.key()],
            positions: vec![start],
            played: Vec::new(),
            on_board: BTreeSet::new(),
            allowed: BTreeSet::new(),
            end: None,
        };
        game.look_round();
        game
    }

    pub(crate) fn position(&self) -> &TwinPosition {
        self.positions.last().expect("a game has its start")
    }

    pub(crate) fn play(&mut self, mv: &TwinMove) {
        let after = self.position().after(mv);
        self.keys.push(after.key());
        self.positions.push(after);
        self.played.push(mv.clone());
        self.look_round();
    }

    /// Legal moves from the board alone.
    pub(crate) fn moves_on_board(&self) -> &BTreeSet<TwinMove> {
        &self.on_board
    }

    /// Legal moves with the repetition ban, where there is one.
    pub(crate) fn moves(&self) -> &BTreeSet<TwinMove> {
        &self.allowed
    }

    pub(crate) fn end(&self) -> Option<TwinEnd> {
        self.end
    }

    /// How often the current position has stood.
    pub(crate) fn occurrences(&self) -> usize {
        self.stood(self.keys.last().expect("a game has its start"))
    }

    fn stood(&self, key: &[u16]) -> usize {
        self.keys.iter().filter(|other| *other == key).count()
    }

    fn look_round(&mut self) {
        self.on_board = self.position().moves();
        self.allowed = self.without_repetitions();
        self.end = self.find_end();
    }

    fn without_repetitions(&self) -> BTreeSet<TwinMove> {
        let position = self.position();
        let rules = &position.variant.rules;
        let most = match rules.repetition {
            Repetition::Ban => 1,
            Repetition::BanFourth => 3,
            _ => usize::MAX,
        };
        let mut moves = self.on_board.clone();
        if most == usize::MAX || (rules.check_may_repeat && position.checks(!position.white_to_move)) {
            return moves;
        }
        moves.retain(|mv| self.stood(&position.after(mv).key()) < most);
        moves
    }

    fn find_end(&self) -> Option<TwinEnd> {
        let position = self.position();
        if let Some(end) = position.end_by_material() {
            return Some(end);
        }
        if self.allowed.is_empty() {
            return Some(position.end_without_moves());
        }
        let rules = &position.variant.rules;
        let bans = matches!(rules.repetition, Repetition::Ban | Repetition::BanFourth);
        if !bans && self.occurrences() >= 4 {
            return Some(self.end_by_repetition());
        }
        rules.ply_cap.filter(|&cap| self.played.len() >= cap).map(|_| TwinEnd::draw("ply_cap"))
    }

    fn note(&self, ply: usize) -> Note {
        let (mv, after, white) = (&self.played[ply], &self.positions[ply + 1], self.positions[ply].white_to_move);
        let check = after.checks(white);
        Note { white, check, attack: check || after.could_take_from(mv.to), pass: mv.is_pass() }
    }

    fn end_by_repetition(&self) -> TwinEnd {
        let now = self.keys.last().expect("a game has its start");
        let first = self.keys.iter().position(|key| key == now).expect("it stands now");
        let cycle: Vec<Note> = (first..self.played.len()).map(|ply| self.note(ply)).collect();
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
        let rules = &self.position().variant.rules;
        let loser = match rules.repetition {
            Repetition::Ban | Repetition::BanFourth => unreachable!("such a position cannot be made"),
            Repetition::Draw => None,
            Repetition::PerpetualCheck => by_check(),
            Repetition::PerpetualAttack => by_attack(),
            Repetition::Instigator => by_check().or_else(by_attack).or_else(by_pass),
        };
        let repeater = || rules.repeater_loses.then(|| (!self.position().white_to_move, "repetition_burden"));
        let loser = loser.or_else(repeater);
        loser.map_or(TwinEnd::draw("repetition"), |(white, reason)| TwinEnd::win(!white, reason))
    }
}

//! How a game ends, and what of it can be told from the board alone.

use std::fmt;

use crate::geometry::{Color, Square};
use crate::moves::Move;
use crate::position::{Position, Set};
use crate::rules::{BareAgainstMany, BareKing, BareRebare, Stalemate};

/// Why a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The last royal of the loser was captured.
    RoyalCaptured,
    /// The side to move has no legal move.
    NoMoves,
    /// The loser has nothing but a royal; without a winner, both.
    BareKing,
    /// A position stood for the fourth time and nobody was to blame.
    Repetition,
    /// A position stood for the fourth time and the loser gave check with every move between.
    PerpetualCheck,
    /// A position stood for the fourth time and the loser attacked with every move between.
    PerpetualAttack,
    /// A position stood for the fourth time and the loser was the first to pass, or was to move.
    RepetitionBurden,
    /// The variant's limit of plies.
    PlyCap,
}

impl Reason {
    /// All reasons.
    pub const ALL: [Reason; 8] = [
        Reason::RoyalCaptured,
        Reason::NoMoves,
        Reason::BareKing,
        Reason::Repetition,
        Reason::PerpetualCheck,
        Reason::PerpetualAttack,
        Reason::RepetitionBurden,
        Reason::PlyCap,
    ];

    /// The reason in small letters with `_`, as in files and JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::RoyalCaptured => "royal_captured",
            Reason::NoMoves => "no_moves",
            Reason::BareKing => "bare_king",
            Reason::Repetition => "repetition",
            Reason::PerpetualCheck => "perpetual_check",
            Reason::PerpetualAttack => "perpetual_attack",
            Reason::RepetitionBurden => "repetition_burden",
            Reason::PlyCap => "ply_cap",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// Who won; `None` for a draw.
    pub winner: Option<Color>,
    /// Why.
    pub reason: Reason,
}

impl Outcome {
    pub(crate) const fn win(winner: Color, reason: Reason) -> Outcome {
        Outcome { winner: Some(winner), reason }
    }

    pub(crate) const fn draw(reason: Reason) -> Outcome {
        Outcome { winner: None, reason }
    }
}

impl Position {
    /// The end of the game as far as the board tells it: a lost last royal, or bare kings. A side that has no royal
    /// because the position was set up so has lost too; if neither has one, nobody has.
    ///
    /// Not here: no legal move ([`Position::outcome_with_moves`]), repetition and the limit of plies (`Game`).
    pub fn outcome(&self) -> Option<Outcome> {
        match (self.has_royal(Color::Black), self.has_royal(Color::White)) {
            (true, false) => return Some(Outcome::win(Color::Black, Reason::RoyalCaptured)),
            (false, true) => return Some(Outcome::win(Color::White, Reason::RoyalCaptured)),
            (false, false) => return None,
            (true, true) => {}
        }
        match self.variant.rules.bare_king {
            BareKing::None => None,
            BareKing::Loses => self.bare_loses(),
            BareKing::Jcsa => self.bare_jcsa(),
            BareKing::Lishogi => self.bare_lishogi(),
        }
    }

    /// [`Position::outcome`], or the loss or draw of a side to move that has no legal move.
    pub fn outcome_with_moves(&self) -> Option<Outcome> {
        self.outcome().or_else(|| (self.count_moves() == 0).then(|| self.stalemate()))
    }

    /// What it means that the side to move has no legal move.
    pub(crate) fn stalemate(&self) -> Outcome {
        match self.variant.rules.stalemate {
            Stalemate::Loss => Outcome::win(!self.state.side, Reason::NoMoves),
            Stalemate::Draw => Outcome::draw(Reason::NoMoves),
        }
    }

    /// Pieces of a side that can still move on an empty board, counted only as far as `up_to`.
    fn live_pieces(&self, color: Color, up_to: usize) -> usize {
        self.count_live(color, up_to, |_, _| true)
    }

    fn count_live(&self, color: Color, up_to: usize, counts: impl Fn(Square, usize) -> bool) -> usize {
        let kind = |square: Square| self.piece_at(square).expect("occupied").kind.index();
        let mut pieces = self.set(color, Set::Occupied);
        std::iter::from_fn(|| pieces.pop())
            .filter(|&square| self.is_live(color, square) && counts(square, kind(square)))
            .take(up_to + 1)
            .count()
    }

    /// Whether the piece of `color` on a square could move on an empty board.
    fn is_live(&self, color: Color, square: Square) -> bool {
        let rules = &self.variant.kind_rules[self.piece_at(square).expect("occupied").kind.index()];
        !(rules.any_dead && rules.dead[color.index()].has(square))
    }

    /// Whether a side has one live piece, a royal.
    fn is_bare(&self, color: Color) -> bool {
        // Dead pieces are few; with many pieces there is nothing to count.
        self.piece_count(color) <= 24
            && !self.has_reserve(color)
            && self.royal_count(color) == 1
            && self.live_pieces(color, 1) == 1
    }

    /// A bare side loses; it may be given one move to bare the other. Source: Wikipedia's sho shogi article; the
    /// exception from other games with a bare-king rule.
    fn bare_loses(&self) -> Option<Outcome> {
        let bare = |color: Color| self.piece_count(color) == 1 && !self.has_reserve(color);
        let rebare = self.variant.rules.bare_immediate_rebare == BareRebare::Draw;
        for color in Color::ALL.into_iter().filter(|&color| bare(color)) {
            if bare(!color) {
                return Some(Outcome::draw(Reason::BareKing));
            }
            if !(rebare && self.state.side == color && self.can_bare()) {
                return Some(Outcome::win(!color, Reason::BareKing));
            }
        }
        None
    }

    /// Whether the side to move can capture so that nothing but a royal is left to the other side, or not even that.
    fn can_bare(&self) -> bool {
        let enemy = !self.state.side;
        // A move captures at most three pieces.
        let live = self.live_pieces(enemy, 4);
        let royals = self.royal_count(enemy);
        let bares = |mv: Move| {
            let (mut live, mut royals, mut captures) = (live, royals, false);
            for (square, piece) in self.captures(mv) {
                captures = true;
                live -= usize::from(self.is_live(enemy, square));
                royals -= usize::from(self.variant.kind_rules[piece.kind.index()].royal);
            }
            captures && (royals == 0 || live == 1)
        };
        let answers = |mv| !self.must_answer_check() || self.clone().is_answer(mv);
        live <= 4 && self.find_move(|mv| bares(mv) && answers(mv)).is_some()
    }

    /// A royal and one other piece, which must not be a minor one, or several pieces of any sort, beat a bare royal that
    /// cannot take at once; two bare royals are a draw. Source: JCSA regulations of
    /// 2019, second hand; docs/rules.md lists what is uncertain.
    fn bare_jcsa(&self) -> Option<Outcome> {
        let bare = Color::ALL.map(|color| self.is_bare(color));
        if bare == [true, true] {
            return (!self.side_to_move_takes_royal()).then_some(Outcome::draw(Reason::BareKing));
        }
        let loser = Color::ALL.into_iter().find(|color| bare[color.index()])?;
        let winner = !loser;
        let others = self.live_pieces(winner, 3).saturating_sub(1);
        let counting = self.count_live(winner, 3, |_, kind| !self.variant.kind_rules[kind].minor).saturating_sub(1);
        let enough = match (others, self.variant.rules.bare_against_many) {
            (1, _) => counting == 1,
            (2.., BareAgainstMany::Win) => true,
            _ => false,
        };
        if !enough {
            return None;
        }
        // The bared side may still take the last other piece (a draw) or the last royal (a win) if it is to move.
        if self.state.side == loser && (self.side_to_move_takes_royal() || (others == 1 && self.can_bare())) {
            return None;
        }
        Some(Outcome::win(winner, Reason::BareKing))
    }

    fn side_to_move_takes_royal(&self) -> bool {
        self.winning_capture().is_some()
    }

    /// As lishogi decides it: against a bare royal, two counting pieces (royals count; minor and dead ones do not) win
    /// if no royal of theirs is attacked and, with only two, none stands next to the bare royal.
    fn bare_lishogi(&self) -> Option<Outcome> {
        let bare = Color::ALL.map(|color| self.is_bare(color));
        let attacked = |color: Color| self.in_check(color);
        if bare == [true, true] {
            let safe = Color::ALL.into_iter().all(|color| !attacked(color));
            return safe.then_some(Outcome::draw(Reason::BareKing));
        }
        let loser = Color::ALL.into_iter().find(|color| bare[color.index()])?;
        let winner = !loser;
        let counting = |_: Square, kind: usize| !self.variant.kind_rules[kind].minor;
        let strong = self.count_live(winner, 3, counting);
        if strong < 2 || self.royal_count(winner) != 1 || attacked(winner) {
            return None;
        }
        let mut near = false;
        self.royals(loser, |royal| {
            let neighbours = self.variant.neighbours[royal.index()];
            near = self.count_live(winner, 3, |square, kind| counting(square, kind) && neighbours.has(square)) > 0;
        });
        (strong >= 3 || !near).then_some(Outcome::win(winner, Reason::BareKing))
    }
}

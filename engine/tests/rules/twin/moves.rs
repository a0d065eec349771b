//! The twin's moves: straight from the powers of the tables, into a set.

use super::position::{Found, TwinPosition};
use super::powers::{Power, Step};
use super::promotion;
use super::rules::RoyalCount;
use std::collections::BTreeSet;

/// A move as the rules count it: two ways to the same start, end, captures and promotion are one move.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TwinMove {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// Sorted squares, `to` among them when an enemy stands there.
    pub(crate) captured: Vec<usize>,
    pub(crate) promote: bool,
    /// The code of a piece put on the board; it starts where it ends.
    pub(crate) dropped: Option<String>,
}

impl TwinMove {
    /// Hands over the turn: ends where it started and takes nothing.
    pub(crate) fn is_pass(&self) -> bool {
        self.from == self.to && self.captured.is_empty() && self.dropped.is_none()
    }
}

/// Where a piece can end and what it takes on the way.
type Ways = BTreeSet<(usize, Vec<usize>)>;

impl TwinPosition {
    /// All ends and captures of the piece on `from`, without any rule about lions, promotion or check.
    fn ways(&self, from: usize) -> Ways {
        let mut ways = Ways::new();
        let Some(piece) = self.board[from] else { return ways };
        let look = |at: usize, step: Step| self.look(piece.white, from, at, step);
        for power in &self.kind(piece).powers {
            match power {
                Power::Slide { dir, most } => slide(&look, from, *dir, *most, &mut ways),
                Power::Jump(by) => add(&mut ways, &[look(from, *by)]),
                Power::Hook(dir) => {
                    slide(&look, from, *dir, i32::MAX, &mut ways);
                    let mut corner = from;
                    while let Found::Free(at) = look(corner, *dir) {
                        corner = at;
                        slide(&look, corner, (dir.1, -dir.0), i32::MAX, &mut ways);
                        slide(&look, corner, (-dir.1, dir.0), i32::MAX, &mut ways);
                    }
                }
                Power::RangeOver { dir, over } => range_over(self, from, piece.white, *dir, *over, &mut ways),
                Power::LineLion { dir, steps } => self.line_lion(&look, from, *dir, *steps, &mut ways),
                Power::Lion { first, second, jumps } => {
                    for by in jumps {
                        add(&mut ways, &[look(from, *by)]);
                    }
                    for one in first {
                        let met = look(from, *one);
                        add(&mut ways, &[met]);
                        let Some(at) = met.open() else { continue };
                        for two in second {
                            add(&mut ways, &[met, look(at, *two)]);
                        }
                    }
                }
            }
        }
        ways
    }

    /// The results of a line lion's power, by where it ends.
    fn line_lion(&self, look: &impl Fn(usize, Step) -> Found, from: usize, dir: Step, steps: i32, ways: &mut Ways) {
        let on_line = |n: i32| look(from, (dir.0 * n, dir.1 * n));
        let (start, first, second) = (Found::Free(from), on_line(1), on_line(2));
        add(ways, &[first, start]);
        add(ways, &[first]);
        add(ways, &[second]);
        add(ways, &[first, second]);
        if steps < 3 {
            return;
        }
        let third = on_line(3);
        add(ways, &[second, first]);
        add(ways, &[third]);
        add(ways, &[second, third]);
        add(ways, &[first, second, third]);
        if self.variant.rules.step_then_jump || matches!(second, Found::Free(_)) {
            add(ways, &[first, third]);
        }
    }

    /// Moves of the piece on `from` before any rule about lions, promotion or check.
    pub(crate) fn free_moves(&self, from: usize) -> Vec<TwinMove> {
        let plain = |(to, captured)| TwinMove { from, to, captured, ..TwinMove::default() };
        self.ways(from).into_iter().map(plain).collect()
    }

    /// Whether a side could capture on a square: would any of its pieces take an enemy that stands there?
    pub(crate) fn attacked(&self, square: usize, by_white: bool) -> bool {
        let mut board = self.clone();
        let kind = board.board[square].map_or(0, |p| p.kind);
        board.board[square] = Some(super::TwinPiece { white: !by_white, kind });
        board
            .of_side(by_white)
            .iter()
            .any(|&(from, _)| board.ways(from).iter().any(|(_, captured)| captured.contains(&square)))
    }

    /// Whether a side gives check: it threatens to take the last royal of the other. A side with two is not in check.
    pub(crate) fn checks(&self, by_white: bool) -> bool {
        matches!(self.royals(!by_white)[..], [royal] if self.attacked(royal, by_white))
    }

    /// Whether the piece on a square could take anything from there if its side were to move. What the rules about
    /// lions forbid it cannot take.
    pub(crate) fn could_take_from(&self, square: usize) -> bool {
        let mut turned = self.clone();
        turned.white_to_move = !self.white_to_move;
        turned.ban = None;
        turned.free_moves(square).iter().any(|mv| !mv.captured.is_empty() && turned.lion_rules_allow(mv))
    }

    /// The legal moves of one piece, from the board alone.
    pub(crate) fn moves_from(&self, from: usize) -> BTreeSet<TwinMove> {
        let mut legal = BTreeSet::new();
        for mv in self.free_moves(from) {
            if !self.lion_rules_allow(&mv) {
                continue;
            }
            for promote in promotion::choices(self, &mv) {
                let mv = TwinMove { promote, ..mv.clone() };
                if self.answers_check(&mv) {
                    legal.insert(mv);
                }
            }
        }
        legal
    }

    /// The legal moves of the side to move, from the board alone. A finished game is not looked at.
    pub(crate) fn moves(&self) -> BTreeSet<TwinMove> {
        let mut moves: BTreeSet<TwinMove> =
            self.of_side(self.white_to_move).iter().flat_map(|&(from, _)| self.moves_from(from)).collect();
        moves.extend(self.drops().into_iter().filter(|mv| self.answers_check(mv)));
        moves
    }

    fn answers_check(&self, mv: &TwinMove) -> bool {
        let rules = &self.variant.rules;
        if !rules.must_answer_check {
            return true;
        }
        let white = self.white_to_move;
        let after = self.after(mv);
        // Not reached in a game with this rule: whose king could be taken has not answered the check.
        if after.royals(!white).is_empty() {
            return true;
        }
        let only = match rules.royals_counted {
            RoyalCount::AfterTheMove => after.royals(white),
            RoyalCount::BeforeTheMove => {
                let moved = |at: usize| if at == mv.from { mv.to } else { at };
                self.royals(white).into_iter().map(moved).collect()
            }
        };
        only.len() != 1 || !after.attacked(only[0], !white)
    }

    /// In how many ways shogiops counts a move: every empty square that two steps may lead over is a way of its own,
    /// and a pass has no way but over one.
    pub(crate) fn routes(&self, mv: &TwinMove) -> usize {
        if mv.captured.iter().any(|&at| at != mv.to) {
            return 1;
        }
        self.quiet_ways(mv).len() + usize::from(!mv.is_pass())
    }

    /// The empty squares over which two steps lead to the same end.
    pub(crate) fn quiet_ways(&self, mv: &TwinMove) -> BTreeSet<usize> {
        let mut over = BTreeSet::new();
        let Some(piece) = self.board[mv.from] else { return over };
        let look = |at: usize, step: Step| self.look(piece.white, mv.from, at, step);
        for power in &self.kind(piece).powers {
            let (first, second) = match power {
                Power::Lion { first, second, .. } => (first.clone(), second.clone()),
                Power::LineLion { dir, .. } => (vec![*dir], vec![*dir, (-dir.0, -dir.1)]),
                _ => continue,
            };
            for one in first {
                let Found::Free(at) = look(mv.from, one) else { continue };
                if second.iter().any(|two| look(at, *two).open() == Some(mv.to)) {
                    over.insert(at);
                }
            }
        }
        over
    }
}

/// Adds the result of going over the given squares and stopping on the last, if a piece may stop on all of them.
fn add(ways: &mut Ways, path: &[Found]) {
    let end = path.last().and_then(|found| found.open());
    let Some(end) = end.filter(|_| path.iter().all(|found| found.open().is_some())) else { return };
    let mut captured: Vec<usize> =
        path.iter().filter_map(|found| if let Found::Enemy(at) = found { Some(*at) } else { None }).collect();
    captured.sort_unstable();
    captured.dedup();
    ways.insert((end, captured));
}

fn slide(look: &impl Fn(usize, Step) -> Found, from: usize, dir: Step, most: i32, ways: &mut Ways) {
    let mut at = from;
    let mut left = most;
    while left > 0 {
        let found = look(at, dir);
        add(ways, &[found]);
        let Found::Free(next) = found else { return };
        at = next;
        left -= 1;
    }
}

fn range_over(position: &TwinPosition, from: usize, white: bool, dir: Step, over: i32, ways: &mut Ways) {
    let (mut distance, mut passed) = (1, 0);
    while passed <= over {
        let found = position.look(white, from, from, (dir.0 * distance, dir.1 * distance));
        if found == Found::Outside {
            return;
        }
        add(ways, &[found]);
        passed += i32::from(!matches!(found, Found::Free(_)));
        distance += 1;
    }
}

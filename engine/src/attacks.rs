//! Who attacks a square, and where slides lead.

use crate::bitboard::{BigBits, Bits, MAX_WORDS};
use crate::geometry::{Color, Square, direction_of};
use crate::piece::Piece;
use crate::position::{Position, Set};
use crate::variant::{Rider, Variant};

impl Rider {
    /// All squares moved one step, those without a next square left out.
    #[inline(always)]
    pub(crate) fn step<const W: usize>(&self, color: Color, set: Bits<W>) -> Bits<W> {
        let shift = self.shift[color.index()];
        let movable = set.and(self.source[color.index()].narrow());
        if shift > 0 { movable.up(shift as u32) } else { movable.down(-shift as u32) }
    }

    /// Where slides of up to `range` steps from all squares of `set` lead over `empty` squares: these and the first
    /// one beyond them.
    #[inline]
    pub(crate) fn flood<const W: usize>(&self, color: Color, set: Bits<W>, range: u8, empty: Bits<W>) -> Bits<W> {
        let shift = self.shift[color.index()];
        let source = self.source[color.index()].narrow();
        let mut front = set;
        let mut reached = Bits::EMPTY;
        for _ in 0..range {
            let movable = front.and(source);
            front = if shift > 0 { movable.up(shift as u32) } else { movable.down(-shift as u32) };
            reached = reached.or(front);
            front = front.and(empty);
            if front.is_empty() {
                break;
            }
        }
        reached
    }
}

/// Where a slide with at most one turn leads from `from`: all squares of both legs, own pieces included.
pub(crate) fn hook_targets<const W: usize>(
    variant: &Variant,
    hooks: [bool; 8],
    color: Color,
    from: Square,
    empty: Bits<W>,
) -> Bits<W> {
    let mut start = Bits::<W>::EMPTY;
    start.toggle(from);
    let mut reached = Bits::EMPTY;
    for direction in (0..8).filter(|&d| hooks[d]) {
        let leg = &variant.directions[direction];
        let first = leg.flood(color, start, leg.range, empty);
        let corners = first.and(empty);
        reached = reached.or(first);
        if corners.is_empty() {
            continue;
        }
        for turn in [2, 6] {
            let leg = &variant.directions[(direction + turn) % 8];
            reached = reached.or(leg.flood(color, corners, leg.range, empty));
        }
    }
    reached
}

impl Position {
    /// Whether a piece of `by` could capture on `square` if an enemy stood there. Nothing about lion trading.
    pub fn is_attacked(&self, square: Square, by: Color) -> bool {
        self.is_attacked_without(square, by, [None; 3])
    }

    /// The same on the board without what stands on the squares of `gone`.
    pub(crate) fn is_attacked_without(&self, square: Square, by: Color, gone: [Option<Square>; 3]) -> bool {
        let variant = &*self.variant;
        let state = &self.state;
        for line in &variant.lines {
            let step = line.shift[by.index()];
            let mut at = square.index() as i32;
            for distance in 1..=line.room[by.index()][square.index()] {
                at -= step;
                let code = state.board[at as usize];
                if code == 0 || gone.contains(&Some(Square::new(at as usize))) {
                    continue;
                }
                let piece = Piece::from_code(code).expect("not empty");
                if piece.color == by && line.range[piece.kind.index()] >= distance {
                    return true;
                }
                break;
            }
        }
        let mut attacked = false;
        self.set(by, Set::Special).for_each(|from| {
            if !attacked && from != square && !gone.contains(&Some(from)) {
                attacked = self.special_attacks(square, by, from, gone);
            }
        });
        attacked
    }

    /// Whether the special piece of `by` on `from` could capture on `square` by something other than a plain slide.
    fn special_attacks(&self, square: Square, by: Color, from: Square, gone: [Option<Square>; 3]) -> bool {
        let variant = &*self.variant;
        let kind = self.piece_at(from).expect("special pieces stand on their squares").kind;
        let powers = &variant.powers[kind.index()];
        if powers.lion && variant.two_steps[from.index()].has(square) {
            return true;
        }
        if powers.lines.iter().any(|&steps| steps > 0) {
            let (right, forward) = variant.board.offset(from, square, by);
            let distance = right.abs().max(forward.abs());
            let straight = right == 0 || forward == 0 || right.abs() == forward.abs();
            let direction = direction_of(right.signum(), forward.signum());
            if straight && powers.lines[direction] as i32 >= distance {
                return true;
            }
        }
        for direction in (0..8).filter(|&d| powers.over[d] > 0) {
            let stands = |at: &Square| self.piece_at(*at).is_some() && !gone.contains(&Some(*at));
            let between = variant.ray(from, direction, by).take_while(|&at| at != square).filter(stands).count();
            let on_ray = variant.ray(from, direction, by).any(|at| at == square);
            if on_ray && between <= powers.over[direction] as usize {
                return true;
            }
        }
        if powers.hooks.contains(&true) {
            let mut occupied = self.set(Color::Black, Set::Occupied).or(self.set(Color::White, Set::Occupied));
            for gone in gone.into_iter().flatten() {
                occupied = occupied.without(BigBits::from_squares([gone]));
            }
            let empty = Bits([u64::MAX; MAX_WORDS]).without(occupied);
            return hook_targets(variant, powers.hooks, by, from, empty).has(square);
        }
        false
    }

    /// Whether the piece on `from` could capture on `square`, which holds anything, as the board stands.
    pub(crate) fn piece_attacks(&self, from: Square, square: Square) -> bool {
        let Some(piece) = self.piece_at(from) else { return false };
        let variant = &*self.variant;
        for line in variant.lines.iter().filter(|line| line.range[piece.kind.index()] > 0) {
            let step = line.shift[piece.color.index()];
            let mut at = square.index() as i32;
            for _ in 0..line.room[piece.color.index()][square.index()].min(line.range[piece.kind.index()]) {
                at -= step;
                if at as usize == from.index() {
                    return true;
                }
                if self.state.board[at as usize] != 0 {
                    break;
                }
            }
        }
        variant.powers[piece.kind.index()].special && self.special_attacks(square, piece.color, from, [None; 3])
    }

    /// Whether the last royal of `color` could be captured by the other side. A side with two royals is not in check.
    /// Nothing about lion trading.
    pub fn in_check(&self, color: Color) -> bool {
        let mut attacked = self.royal_count(color) == 1;
        self.royals(color, |square| attacked = attacked && self.is_attacked(square, !color));
        attacked
    }

    /// Calls `f` with the square of each royal of a side.
    pub(crate) fn royals(&self, color: Color, mut f: impl FnMut(Square)) {
        self.set(color, Set::Royals).for_each(&mut f);
    }
}

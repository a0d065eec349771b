//! Who attacks a square, and where slides lead.

use wide::u64x4;

use crate::bitboard::{BigBits, Bits, MAX_WORDS};
use crate::geometry::{Color, Square, direction_of};
use crate::lanes::{Quad, Team};
use crate::piece::Piece;
use crate::position::{Position, Set};
use crate::variant::Variant;

/// Where a slide with at most one turn leads from `from`: all squares of both legs, own pieces included. `ranges` as in
/// `Powers::hook_ranges`.
pub(crate) fn hook_targets<const W: usize>(
    variant: &Variant,
    ranges: [u64x4; 2],
    color: Color,
    from: Square,
    empty: Quad<W>,
) -> Bits<W> {
    let mut start = Bits::<W>::EMPTY;
    start.toggle(from);
    let [ahead, back] = &variant.compass;
    let start = Quad::splat(start);
    let first = ahead.flood(color, start, ranges[0], empty).or(back.flood(color, start, ranges[1], empty));
    // Both directions of a line turn into both directions of the line across it.
    let corners = first.and(empty).turned();
    let flood = |team: &Team| team.flood(color, corners, team.range(), empty);
    first.or(flood(ahead)).or(flood(back)).union()
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
            return hook_targets(variant, powers.hook_ranges, by, from, Quad::splat(empty)).has(square);
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

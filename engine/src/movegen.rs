//! Generating and counting moves.
//!
//! Ordinary pieces move by *riders*: an offset and a range that many kinds share. A position keeps for each rider the
//! set of its pieces, so one shift of a set moves all of them at once. Slides of the same rider never meet, because
//! the piece behind stops at the piece in front: the sets of reached squares are disjoint, and counting moves is
//! counting bits. Pieces with powers of several steps (lion, line lion, hook) are special and move one by one.
//!
//! Promotion choices and lion trading need a look at single moves. They can matter only where a rider's pieces stand
//! in the zone, reach it, or reach a lion; everywhere else the whole set is taken.

use crate::attacks::hook_targets;
use crate::bitboard::{BigBits, Bits, MAX_WORDS};
use crate::geometry::{Color, Square};
use crate::moves::Move;
use crate::piece::PieceKind;
use crate::position::{Position, Set, State};
use crate::rules::{Drops, MustAnswerCheck, Promotion};
use crate::variant::{Powers, Rider, Variant};

/// Takes generated moves.
trait Sink {
    /// Whether only the number of moves matters. A capture that must promote is one move too.
    const COUNTS: bool;

    fn one(&mut self, mv: Move);

    /// So many moves more; only if `COUNTS`.
    fn add(&mut self, number: usize);

    /// Plain moves that end on `targets` and started `back` squares before.
    #[inline(always)]
    fn many<const W: usize>(&mut self, targets: Bits<W>, back: i32) {
        if Self::COUNTS {
            self.add(targets.count());
        } else {
            targets.for_each(|to| self.one(Move::plain(Square::new((to.index() as i32 - back) as usize), to)));
        }
    }

    /// Plain moves from one square to `targets`.
    #[inline(always)]
    fn fan<const W: usize>(&mut self, from: Square, targets: Bits<W>) {
        if Self::COUNTS {
            self.add(targets.count());
        } else {
            targets.for_each(|to| self.one(Move::plain(from, to)));
        }
    }

    /// Whether no further move is of interest.
    #[inline(always)]
    fn is_full(&self) -> bool {
        false
    }
}

struct Counter(usize);

impl Sink for Counter {
    const COUNTS: bool = true;

    #[inline(always)]
    fn one(&mut self, _: Move) {
        self.0 += 1;
    }

    #[inline(always)]
    fn add(&mut self, number: usize) {
        self.0 += number;
    }
}

impl Sink for Vec<Move> {
    const COUNTS: bool = false;

    #[inline(always)]
    fn one(&mut self, mv: Move) {
        self.push(mv);
    }

    fn add(&mut self, _: usize) {}
}

/// Looks for a move that captures all of `royals`.
struct Finder<'p> {
    position: &'p Position,
    royals: BigBits,
    found: Option<Move>,
}

impl Sink for Finder<'_> {
    const COUNTS: bool = false;

    fn one(&mut self, mv: Move) {
        if self.found.is_none() {
            let mut left = self.royals;
            for (square, _) in self.position.captures(mv).filter(|(square, _)| self.royals.has(*square)) {
                left.toggle(square);
            }
            self.found = left.is_empty().then_some(mv);
        }
    }

    fn add(&mut self, _: usize) {}

    fn is_full(&self) -> bool {
        self.found.is_some()
    }
}

/// Whether there is any move.
struct Any(bool);

impl Sink for Any {
    const COUNTS: bool = true;

    fn one(&mut self, _: Move) {
        self.0 = true;
    }

    fn add(&mut self, number: usize) {
        self.0 |= number > 0;
    }

    fn is_full(&self) -> bool {
        self.0
    }
}

/// Calls a function that is generic over the number of words for the board of `$variant`.
macro_rules! by_words {
    ($variant:expr, $function:ident ( $($argument:expr),* )) => {
        match $variant.words {
            2 => $function::<2, _>($($argument),*),
            3 => $function::<3, _>($($argument),*),
            _ => $function::<MAX_WORDS, _>($($argument),*),
        }
    };
}

impl Position {
    /// All legal moves, without a look at repetition. Clears `moves` first. A game that has ended still lists moves.
    pub fn legal_moves(&self, moves: &mut Vec<Move>) {
        moves.clear();
        by_words!(self.variant, generate(self, moves));
        if self.must_answer_check() {
            let mut after = self.clone();
            moves.retain(|&mv| after.is_answer(mv));
        }
    }

    /// Number of legal moves, without a look at repetition.
    pub fn count_moves(&self) -> usize {
        if self.must_answer_check() {
            let mut moves = Vec::new();
            self.legal_moves(&mut moves);
            return moves.len();
        }
        let mut counter = Counter(0);
        by_words!(self.variant, generate(self, &mut counter));
        counter.0
    }

    /// Whether this is one of [`Position::legal_moves`].
    pub fn is_legal(&self, mv: Move) -> bool {
        let mut moves = Vec::new();
        self.legal_moves(&mut moves);
        moves.contains(&mv)
    }

    /// A legal move that takes the last royal of the other side, if there is one.
    pub fn winning_capture(&self) -> Option<Move> {
        let (us, enemy) = (self.state.side, !self.state.side);
        let royals = self.set(enemy, Set::Royals);
        // Only a special piece can take two royals at once; all must be attacked in any case.
        let mut attacked = !royals.is_empty();
        royals.for_each(|square| attacked = attacked && self.is_attacked(square, us));
        if !attacked {
            return None;
        }
        let mut finder = Finder { position: self, royals, found: None };
        by_words!(self.variant, generate(self, &mut finder));
        finder.found
    }

    /// Whether there is any legal move, without a look at repetition.
    pub fn has_legal_move(&self) -> bool {
        if self.must_answer_check() {
            return self.count_moves() > 0;
        }
        let mut any = Any(false);
        by_words!(self.variant, generate(self, &mut any));
        any.0
    }

    fn must_answer_check(&self) -> bool {
        self.variant.rules.must_answer_check == MustAnswerCheck::SoleRoyal && self.royal_count(self.state.side) == 1
    }

    /// Whether the royal that stood alone before `mv`, or what became of it, is safe after it.
    fn is_answer(&mut self, mv: Move) -> bool {
        let side = self.state.side;
        let mut royal = None;
        self.royals(side, |square| royal = Some(square));
        let royal = royal.map(|square| if square == mv.from() { mv.to() } else { square });
        let undo = self.play_unchecked(mv);
        let safe = royal.is_none_or(|square| !self.is_attacked(square, !side)) || self.royal_count(!side) == 0;
        self.undo(&undo);
        safe
    }
}

/// What generation looks at again and again.
struct Generator<'p, const W: usize, S> {
    position: &'p Position,
    variant: &'p Variant,
    state: &'p State,
    us: Color,
    own: Bits<W>,
    enemy: Bits<W>,
    empty: Bits<W>,
    /// The other side's lions, if capturing them is restricted.
    lions: Bits<W>,
    /// Our pieces that can promote.
    promotable: Bits<W>,
    sink: &'p mut S,
}

fn generate<const W: usize, S: Sink>(position: &Position, sink: &mut S) {
    let (variant, state) = (&*position.variant, &position.state);
    let us = state.side;
    let own = state.set(variant, us, Set::Occupied);
    let enemy: Bits<W> = state.set(variant, !us, Set::Occupied);
    let empty = Bits([u64::MAX; W]).without(own.or(enemy));
    let lions = if variant.lion_trading { state.set(variant, !us, Set::Lions) } else { Bits::EMPTY };
    let promotable = state.set(variant, us, Set::Promotable);
    let mut generator = Generator { position, variant, state, us, own, enemy, empty, lions, promotable, sink };
    generator.riders();
    if !generator.sink.is_full() {
        generator.special_pieces();
    }
    if variant.rules.drops != Drops::None && !generator.sink.is_full() {
        generator.drops();
    }
}

impl<const W: usize, S: Sink> Generator<'_, W, S> {
    #[inline(always)]
    fn riders(&mut self) {
        let zone: Bits<W> = self.variant.zone[self.us.index()].narrow();
        // Moves looked at one by one: of pieces that start here, and to squares there.
        let (single_from, single_to) = match self.variant.rules.promotion {
            Promotion::None => (Bits::EMPTY, self.lions),
            Promotion::FirstCapture if S::COUNTS => (Bits::EMPTY, self.lions),
            Promotion::FirstCapture => (Bits::EMPTY, self.lions.or(self.enemy)),
            _ if self.promotable.is_empty() => (Bits::EMPTY, self.lions),
            _ => (zone.and(self.promotable), self.lions.or(zone)),
        };
        let variant = self.variant;
        for (rider, set) in variant.riders.iter().zip(self.state.riders::<W>(variant, self.us)) {
            if self.sink.is_full() {
                return;
            }
            if set.is_empty() {
                continue;
            }
            let single = set.and(single_from);
            if !single.is_empty() {
                self.rider(rider, single, Bits([u64::MAX; W]));
            }
            self.rider(rider, set.without(single_from), single_to);
        }
    }

    /// The moves of the pieces of `set` as this rider, those that end on `single_to` one by one.
    #[inline(always)]
    fn rider(&mut self, rider: &Rider, set: Bits<W>, single_to: Bits<W>) {
        let shift = rider.shift[self.us.index()];
        let source = rider.source[self.us.index()].narrow();
        if shift > 0 {
            self.slide::<true>(set, source, shift, rider.range, single_to);
        } else {
            self.slide::<false>(set, source, shift, rider.range, single_to);
        }
    }

    #[inline(always)]
    fn slide<const UP: bool>(&mut self, set: Bits<W>, source: Bits<W>, shift: i32, range: u8, single_to: Bits<W>) {
        let own = self.own;
        let next = |front: Bits<W>| {
            let movable = front.and(source);
            let moved = if UP { movable.up(shift as u32) } else { movable.down(-shift as u32) };
            moved.without(own)
        };
        if S::COUNTS {
            let mut front = next(set);
            let mut reached = front;
            for _ in 1..range {
                front = front.without(self.enemy);
                if front.is_empty() {
                    break;
                }
                front = next(front);
                reached = reached.or(front);
            }
            if reached.and(single_to).is_empty() {
                return self.sink.add(reached.count());
            }
        }
        let mut front = set;
        let mut back = 0;
        for _ in 0..range {
            front = next(front);
            if front.is_empty() {
                break;
            }
            back += shift;
            let single = front.and(single_to);
            self.sink.many(front.without(single), back);
            single.for_each(|to| self.emit(Move::plain(Square::new((to.index() as i32 - back) as usize), to)));
            front = front.without(self.enemy);
        }
    }

    /// One plain move, after its promotion choices and the rules of lion trading.
    #[inline]
    fn emit(&mut self, mv: Move) {
        if self.lions.has(mv.to()) && !self.position.lion_trade_allows(mv) {
            return;
        }
        if !self.promotable.has(mv.from()) {
            return self.sink.one(mv);
        }
        let (plain, promoting) = promotion_choices(self.position, self.us, mv);
        if plain {
            self.sink.one(mv);
        }
        if promoting {
            self.sink.one(mv.promoting());
        }
    }

    /// A move that captures on its way, likewise.
    fn emit_way(&mut self, mv: Move) {
        if !self.lions.is_empty() && !self.position.lion_trade_allows(mv) {
            return;
        }
        let can_promote = self.promotable.has(mv.from());
        let (plain, promoting) =
            if can_promote { promotion_choices(self.position, self.us, mv) } else { (true, false) };
        if plain {
            self.sink.one(mv);
        }
        if promoting {
            self.sink.one(mv.promoting());
        }
    }

    /// Pieces of the reserve on empty squares next to an own piece.
    fn drops(&mut self) {
        let variant = self.variant;
        let near = variant.directions.iter().fold(Bits::<W>::EMPTY, |near, way| near.or(way.step(self.us, self.own)));
        let zone: Bits<W> = variant.zone[self.us.index()].narrow();
        for (kind, rules) in variant.kind_rules.iter().enumerate() {
            let kind = PieceKind::new(kind);
            if self.position.reserve(self.us, kind) == 0 {
                continue;
            }
            let targets = near.and(self.empty).without(rules.dead[self.us.index()].narrow());
            targets.for_each(|to| self.sink.one(Move::drop(kind, to)));
            if rules.promotes_to.is_some() {
                targets.and(zone).for_each(|to| self.sink.one(Move::drop(kind, to).promoting()));
            }
        }
    }

    fn special_pieces(&mut self) {
        let pieces: Bits<W> = self.state.set(self.variant, self.us, Set::Special);
        let variant = self.variant;
        pieces.for_each(|from| {
            let kind = self.position.piece_at(from).expect("special pieces stand on their squares").kind;
            self.special(from, &variant.powers[kind.index()]);
        });
    }

    fn special(&mut self, from: Square, powers: &Powers) {
        let mut start = Bits::<W>::EMPTY;
        start.toggle(from);
        // Squares reached without a capture on the way.
        let mut plain = Bits::<W>::EMPTY;
        let mut passes = false;
        for (direction, &range) in powers.slides.iter().enumerate().filter(|(_, range)| **range > 0) {
            plain = plain.or(self.variant.directions[direction].flood(self.us, start, range, self.empty));
        }
        for &(right, forward) in &powers.jumps {
            if let Some(to) = self.variant.board.step(from, self.us, right as i32, forward as i32) {
                let mut target = Bits::EMPTY;
                target.toggle(to);
                plain = plain.or(target);
            }
        }
        for direction in (0..8).filter(|&d| powers.over[d] > 0) {
            plain = plain.or(self.slide_over(from, direction, powers.over[direction]));
        }
        if powers.hooks.contains(&true) {
            plain = plain.or(hook_targets(self.variant, powers.hooks, self.us, from, self.empty));
        }
        if powers.lion {
            let near: Bits<W> = self.variant.neighbours[from.index()].narrow();
            plain = plain.or(self.variant.two_steps[from.index()].narrow());
            passes = !near.and(self.empty).is_empty();
            let steps = &self.variant.steps[from.index()];
            for (direction, first) in steps.iter().enumerate() {
                if let Some(first) = first.filter(|&first| self.enemy.has(first)) {
                    self.lion_way(from, direction, first);
                }
            }
        }
        for direction in (0..8).filter(|&d| powers.lines[d] > 0) {
            passes |= self.line(from, direction, powers.lines[direction], powers.lion, &mut plain);
        }
        let plain = plain.without(self.own);
        if self.promotable.has(from) || !plain.and(self.lions).is_empty() {
            plain.for_each(|to| self.emit(Move::plain(from, to)));
        } else {
            self.sink.fan(from, plain);
        }
        if passes {
            self.sink.one(Move::plain(from, from));
        }
    }

    /// Squares of a slide that passes over up to `pieces` pieces.
    fn slide_over(&self, from: Square, direction: usize, pieces: u8) -> Bits<W> {
        let mut reached = Bits::EMPTY;
        let mut left = pieces;
        for square in self.variant.ray(from, direction, self.us) {
            reached.toggle(square);
            if !self.empty.has(square) {
                if left == 0 {
                    break;
                }
                left -= 1;
            }
        }
        reached
    }

    /// A lion captures on the neighbour `first` and goes back or on.
    fn lion_way(&mut self, from: Square, direction: usize, first: Square) {
        self.emit_way(Move::with_way(from, from, direction, true, false));
        let near: Bits<W> = self.variant.neighbours[first.index()].narrow();
        near.without(self.own).for_each(|to| self.emit_way(Move::with_way(from, to, direction, true, false)));
    }

    /// The moves of a line lion in one of its directions. Adds to `plain` what needs no capture on the way; returns
    /// whether it can pass. `lion`: the piece is a lion too, which has the ways over the first square already.
    fn line(&mut self, from: Square, direction: usize, steps: u8, lion: bool, plain: &mut Bits<W>) -> bool {
        // Directions of moves are absolute, those of powers are the owner's.
        let direction = if self.us == Color::Black { direction } else { (direction + 4) % 8 };
        let next = |square: Option<Square>| square.and_then(|s| self.variant.steps[s.index()][direction]);
        let first = next(Some(from));
        let second = next(first);
        let third = if steps > 2 { next(second) } else { None };
        for square in [first, second, third].into_iter().flatten() {
            let mut target = Bits::EMPTY;
            target.toggle(square);
            *plain = plain.or(target);
        }
        let (own, enemy) = (self.own, self.enemy);
        let free = |square: Option<Square>| square.filter(|&square| !own.has(square));
        let hostile = |square: Option<Square>| square.is_some_and(|square| enemy.has(square));
        let way = |to, first, second| Move::with_way(from, to, direction, first, second);
        if hostile(first) && !lion {
            self.emit_way(way(from, true, false));
            if let Some(to) = free(second) {
                self.emit_way(way(to, true, false));
            }
        }
        if steps > 2 {
            if let Some(to) = free(first)
                && hostile(second)
            {
                // Out to the second square and back to the first. Its own capture is that of the last square.
                self.emit_way(way(to, false, true));
            }
            if let Some(to) = free(third) {
                if hostile(second) {
                    self.emit_way(way(to, false, true));
                }
                if hostile(first) {
                    if hostile(second) {
                        self.emit_way(way(to, true, true));
                    }
                    let empty_second = second.is_some_and(|square| self.empty.has(square));
                    if empty_second || self.variant.rules.step_then_jump {
                        self.emit_way(way(to, true, false));
                    }
                }
            }
        }
        first.is_some_and(|square| self.empty.has(square))
    }
}

/// Whether the move of a piece that can promote may end (unpromoted, promoted).
fn promotion_choices(position: &Position, us: Color, mv: Move) -> (bool, bool) {
    let variant = &*position.variant;
    let kind = position.piece_at(mv.from()).expect("a move starts on a piece").kind;
    let rules = &variant.kind_rules[kind.index()];
    let (from, to) = (mv.from(), mv.to());
    let zone = &variant.zone[us.index()];
    let captures = || mv.has_way() || (to != from && position.state.board[to.index()] != 0);
    let chance = match variant.rules.promotion {
        Promotion::None => false,
        Promotion::FirstCapture => return if captures() { (false, true) } else { (true, false) },
        Promotion::ZoneTouch => zone.has(from) || zone.has(to),
        Promotion::ZoneEntry => !zone.has(from) && zone.has(to),
        Promotion::ZoneEntryOrCapture => {
            (!zone.has(from) && zone.has(to)) || ((zone.has(from) || zone.has(to)) && captures())
        }
    };
    let chance = chance || position.state.fresh.has(from);
    let left = variant.board.ranks_from_far_edge(to, us);
    let forced = left < rules.forced_ranks;
    (!forced, chance || forced || (left == 0 && rules.second_chance))
}

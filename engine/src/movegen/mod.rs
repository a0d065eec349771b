//! Generating and counting moves.
//!
//! Ordinary pieces move by *riders*: an offset and a range that many kinds share. A position keeps for each rider the
//! set of its pieces, so one shift of a set moves all of them at once. Slides of the same rider never meet, because
//! the piece behind stops at the piece in front: the sets of reached squares are disjoint, and counting moves is
//! counting bits. Pieces with powers of several steps (lion, line lion, hook) are special and move one by one.
//!
//! Promotions are further sets of moves: of pieces that can promote, to squares where they may. Single moves are looked at
//! only where they take a lion or end where a promotion may be forced.

mod sink;
mod special;

use crate::bitboard::{Bits, MAX_WORDS, for_each_bit};
use crate::geometry::{Color, Square};
use crate::lanes::{Quad, Team};
use crate::moves::Move;
use crate::piece::PieceKind;
use crate::position::{Position, Set, State};
use crate::rules::{Drops, MustAnswerCheck, Promotion};
use crate::variant::Variant;
use sink::{Any, Counter, Finder, Sink};

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
        self.keep_answers(moves);
    }

    /// The legal moves of the piece on a square, without a look at repetition; none if it is not the mover's. Clears
    /// `moves` first.
    pub fn legal_moves_of(&self, from: Square, moves: &mut Vec<Move>) {
        moves.clear();
        if self.piece_at(from).is_none_or(|piece| piece.color != self.state.side) {
            return;
        }
        by_words!(self.variant, generate_piece(self, from, moves));
        self.keep_answers(moves);
    }

    /// Takes out the moves that leave a check unanswered, where the rules forbid that.
    fn keep_answers(&self, moves: &mut Vec<Move>) {
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
        self.find_move(|mv| {
            let mut left = royals;
            for (square, _) in self.captures(mv).filter(|(square, _)| royals.has(*square)) {
                left.toggle(square);
            }
            left.is_empty()
        })
    }

    /// The first legal move that is wanted, without a look at check and repetition.
    pub(crate) fn find_move(&self, wanted: impl FnMut(Move) -> bool) -> Option<Move> {
        let mut finder = Finder { wanted, found: None };
        by_words!(self.variant, generate(self, &mut finder));
        finder.found
    }

    /// Whether one of the foremost few ordinary pieces can step to an empty square, which no rule but check forbids.
    fn has_quiet_step(&self) -> bool {
        const PIECES: usize = 4;
        let us = self.state.side;
        let mut pieces = self.set(us, Set::Occupied);
        (0..PIECES).map_while(|_| if us == Color::Black { pieces.pop() } else { pieces.pop_last() }).any(|from| {
            let kind = self.variant.code_kind(self.state.board[from.index()]);
            let mut rays = self.variant.powers[kind].rays.from(us, from);
            rays.any(|(shift, room)| room > 0 && self.state.board[from.shifted(shift).index()] == 0)
        })
    }

    /// Whether there is any legal move, without a look at repetition.
    pub fn has_legal_move(&self) -> bool {
        if self.must_answer_check() {
            return self.count_moves() > 0;
        }
        if self.has_quiet_step() {
            return true;
        }
        let mut any = Any(false);
        by_words!(self.variant, any_move(self, &mut any));
        any.0
    }

    /// A plain move that the mover's pieces can make, and the same with a promotion: those of the two that are legal,
    /// without a look at check. Clears `moves` first.
    pub(crate) fn choices(&self, mv: Move, moves: &mut Vec<Move>) {
        moves.clear();
        by_words!(self.variant, generate_choices(self, mv, moves));
    }

    pub(crate) fn must_answer_check(&self) -> bool {
        self.variant.rules.must_answer_check == MustAnswerCheck::SoleRoyal && self.royal_count(self.state.side) == 1
    }

    /// Whether the royal that stood alone before `mv`, or what became of it, is safe after it.
    pub(crate) fn is_answer(&mut self, mv: Move) -> bool {
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

/// Pieces and where they can end with a further sort of move.
#[derive(Clone, Copy)]
struct Class<const W: usize> {
    pieces: Bits<W>,
    targets: Bits<W>,
    promotes: bool,
}

impl<const W: usize> Class<W> {
    const NONE: Self = Class { pieces: Bits::EMPTY, targets: Bits::EMPTY, promotes: false };
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
    let mut generator = Generator::<W, S>::new(position, sink);
    generator.riders();
    if !generator.sink.is_full() {
        generator.special_pieces();
    }
    if position.variant.rules.drops != Drops::None && !generator.sink.is_full() {
        generator.drops();
    }
}

/// The moves of the piece on `from`, which must be the mover's.
fn generate_piece<const W: usize, S: Sink>(position: &Position, from: Square, sink: &mut S) {
    Generator::<W, S>::new(position, sink).piece(from);
}

/// A plain move that the mover's pieces can make, with its promotion choices, if lion trading allows it.
fn generate_choices<const W: usize, S: Sink>(position: &Position, mv: Move, sink: &mut S) {
    Generator::<W, S>::new(position, sink).emit(mv);
}

/// Whether there is any move. The pieces are asked one by one, those in front first: they are seldom blocked.
fn any_move<const W: usize, S: Sink>(position: &Position, sink: &mut S) {
    let mut generator = Generator::<W, S>::new(position, sink);
    let mut own = generator.own;
    let black = generator.us == Color::Black;
    while let Some(from) = if black { own.pop() } else { own.pop_last() } {
        generator.piece(from);
        if generator.sink.is_full() {
            return;
        }
    }
    if position.variant.rules.drops != Drops::None {
        generator.drops();
    }
}

impl<'p, const W: usize, S: Sink> Generator<'p, W, S> {
    #[inline(always)]
    fn new(position: &'p Position, sink: &'p mut S) -> Self {
        let (variant, state) = (&*position.variant, &position.state);
        let us = state.side;
        let own: Bits<W> = state.set(variant, us, Set::Occupied);
        let enemy: Bits<W> = state.set(variant, !us, Set::Occupied);
        let empty = Bits([u64::MAX; W]).without(own.or(enemy));
        let lions = if variant.lion_trading { state.set(variant, !us, Set::Lions) } else { Bits::EMPTY };
        let promotable = state.set(variant, us, Set::Promotable);
        Generator { position, variant, state, us, own, enemy, empty, lions, promotable, sink }
    }

    #[inline(always)]
    fn riders(&mut self) {
        let variant = self.variant;
        let promotion = variant.rules.promotion;
        let all = Bits([u64::MAX; W]);
        let (zone, edge): (Bits<W>, Bits<W>) =
            (variant.zone[self.us.index()].narrow(), variant.edge[self.us.index()].narrow());
        let fresh: Bits<W> = self.state.fresh.narrow();
        let promotable = self.promotable;
        let by_capture = promotion == Promotion::FirstCapture;
        let inside = match promotion {
            Promotion::ZoneTouch => all,
            Promotion::ZoneEntryOrCapture => self.enemy,
            Promotion::None | Promotion::ZoneEntry | Promotion::FirstCapture => Bits::EMPTY,
        };
        // All pieces make plain moves here, and those of a class further moves that end on its targets.
        let (plain, classes) = if !by_capture {
            let promoting =
                |pieces: Bits<W>, targets| Class { pieces: pieces.and(promotable), targets, promotes: true };
            let classes = [
                promoting(all.without(zone.or(fresh)), zone),
                promoting(zone.without(fresh), inside),
                promoting(fresh, all),
            ];
            (all, classes)
        } else if S::COUNTS {
            (all, [Class::NONE; 3])
        } else {
            let capturing = |pieces, promotes| Class { pieces, targets: self.enemy, promotes };
            let classes = [capturing(all.without(promotable), false), capturing(promotable, true), Class::NONE];
            (self.empty, classes)
        };
        // Where a move must be looked at alone.
        let singles = if promotable.is_empty() || by_capture { self.lions } else { self.lions.or(edge) };
        let plain = plain.without(singles);
        let further = classes.iter().filter(|class| !class.pieces.and(self.own).is_empty());
        let further = further.fold(Bits::EMPTY, |all, class| all.or(class.targets));
        for (team, set) in variant.teams.iter().zip(self.state.teams::<W>(variant, self.us)) {
            if self.sink.is_full() {
                return;
            }
            let reached = self.team(team, set, plain, singles, false);
            if reached.and(Quad::splat(further)).is_empty() {
                continue;
            }
            for class in &classes {
                let pieces = set.and(Quad::splat(class.pieces));
                if !pieces.is_empty() {
                    self.team(team, pieces, class.targets.without(singles), Bits::EMPTY, class.promotes);
                }
            }
        }
    }

    /// The moves of the pieces of `set` as these riders that end on `targets`, those that end on `singles` one by one.
    /// Returns where the pieces can go.
    #[inline(always)]
    fn team(&mut self, team: &Team, set: Quad<W>, targets: Bits<W>, singles: Bits<W>, promotes: bool) -> Quad<W> {
        let (us, own, enemy) = (self.us, Quad::splat(self.own), Quad::splat(self.enemy));
        let mut reached = Quad::EMPTY;
        if S::COUNTS {
            team.walk(us, set, own, enemy, |front, _| reached = reached.or(front));
            self.sink.add(reached.and(Quad::splat(targets)).count());
            let alone = !reached.and(Quad::splat(singles)).empty_lanes();
            if alone.any() {
                team.walk(us, set.only(alone), own, enemy, |front, steps| self.emit_all(team, front, singles, steps));
            }
        } else {
            team.walk(us, set, own, enemy, |front, steps| {
                reached = reached.or(front);
                front.and(Quad::splat(targets)).for_each_word(|lane, i, word| {
                    self.sink.many(i, word, team.shift(us, lane) * steps, promotes);
                });
                self.emit_all(team, front, singles, steps);
            });
        }
        reached
    }

    /// One by one the moves of `steps` steps that end on a square of `singles`.
    #[inline(always)]
    fn emit_all(&mut self, team: &Team, front: Quad<W>, singles: Bits<W>, steps: i32) {
        let front = front.and(Quad::splat(singles));
        if front.is_empty() {
            return;
        }
        front.for_each_word(|lane, i, word| {
            let back = team.shift(self.us, lane) * steps;
            for_each_bit(i, word, |to| self.emit(Move::plain(to.shifted(-back), to)));
        });
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
        let own = Quad::splat(self.own);
        let [ahead, back] = &variant.compass;
        let near = ahead.step(self.us, own).or(back.step(self.us, own)).union();
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
        pieces.for_each(|from| self.piece(from));
    }

    /// The moves of one of our pieces, found by walking over the board.
    fn piece(&mut self, from: Square) {
        let (variant, us) = (self.variant, self.us.index());
        let Some(piece) = self.position.piece_at(from) else { return };
        let powers = &variant.powers[piece.kind.index()];
        if powers.special {
            return self.special(from, powers);
        }
        // Where a move must be looked at alone.
        let zone: Bits<W> = variant.zone[us].narrow();
        let singles = self.lions.or(match variant.rules.promotion {
            Promotion::None => Bits::EMPTY,
            _ if !self.promotable.has(from) => Bits::EMPTY,
            Promotion::FirstCapture => self.enemy,
            _ if zone.has(from) || self.state.fresh.has(from) => Bits([u64::MAX; W]),
            _ => zone.or(variant.edge[us].narrow()),
        });
        for (shift, room) in powers.rays.from(self.us, from) {
            if self.sink.is_full() {
                return;
            }
            let mut to = from;
            for _ in 0..room {
                to = to.shifted(shift);
                if self.own.has(to) {
                    break;
                }
                let mv = Move::plain(from, to);
                if singles.has(to) {
                    self.emit(mv);
                } else {
                    self.sink.one(mv);
                }
                if self.enemy.has(to) {
                    break;
                }
            }
        }
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

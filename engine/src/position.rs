//! Positions: a board, the side to move, and the little state the rules need. Playing and undoing moves.

use std::sync::Arc;

use crate::bitboard::{BigBits, Bits};
use crate::error::SfenError;
use crate::geometry::{Color, MAX_SQUARES, Square};
use crate::lanes::{LANES, Quad};
use crate::moves::Move;
use crate::piece::{Piece, PieceKind};
use crate::rules::CounterStrike;
use crate::sfen;
use crate::variant::Variant;

/// A position of one variant. `Clone` copies a few kilobytes; play and undo do not allocate.
#[derive(Clone, Debug)]
pub struct Position {
    pub(crate) variant: Arc<Variant>,
    pub(crate) state: State,
}

/// Sets of squares that a position keeps besides those of the riders.
#[derive(Clone, Copy)]
pub(crate) enum Set {
    Occupied,
    /// Pieces that can promote.
    Promotable,
    /// Pieces that move piece by piece.
    Special,
    /// Lions for the rules of lion trading.
    Lions,
    Royals,
}

impl Set {
    /// Where the sets of the riders begin: at the next team.
    pub(crate) const COUNT: usize = 5_usize.next_multiple_of(LANES);
}

/// All of a position that moves change.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// [`Piece::code`] by square, 0 where empty.
    pub(crate) board: [u8; MAX_SQUARES],
    /// For each colour the sets of squares named by [`Set`] and then, for each rider, the squares of the ordinary
    /// pieces that move so; four sets together, as [`Quad::load`] reads them.
    sets: Box<[u64]>,
    /// Pieces in reserve by [`Piece::code`]; empty where the rules know no drops.
    pub(crate) reserve: Box<[u8]>,
    /// Pieces that were put into the promotion zone and have not left it: they may still promote with any move.
    pub(crate) fresh: BigBits,
    /// `fresh` before each move played, where the rules know drops.
    fresh_before: Vec<BigBits>,
    pub(crate) side: Color,
    pub(crate) ban: Option<Square>,
    pub(crate) hash: u64,
    pub(crate) ply: u32,
}

/// What [`Position::undo`] needs to take a move back.
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    mv: Move,
    /// Codes of the piece that moved, as it was, and of what stood on `to` and on the way.
    moved: u8,
    taken: u8,
    on_the_way: [u8; 2],
    ban: Option<Square>,
    hash: u64,
}

impl Undo {
    /// The move.
    pub fn mv(&self) -> Move {
        self.mv
    }

    /// Whether the move captured anything.
    pub fn is_capture(&self) -> bool {
        self.taken != 0 || self.on_the_way != [0; 2]
    }

    /// Codes ([`Piece::code`], 0 for none) of the captured pieces: on the way (first, second), then on `to`.
    pub fn captured(&self) -> [u8; 3] {
        [self.on_the_way[0], self.on_the_way[1], self.taken]
    }

    /// Code of the piece that moved, as it was before the move.
    pub fn moved(&self) -> u8 {
        self.moved
    }
}

impl Position {
    /// The start position of a variant.
    pub fn start(variant: &Arc<Variant>) -> Position {
        Position::from_sfen(variant, variant.start_sfen()).expect("the start position was checked with the variant")
    }

    /// The position that an SFEN describes; the module `sfen` has the dialect. Any arrangement of pieces is taken, also
    /// one without royals.
    ///
    /// # Errors
    /// [`SfenError`] with the character at fault.
    pub fn from_sfen(variant: &Arc<Variant>, text: &str) -> Result<Position, SfenError> {
        let fields = sfen::read(variant, text)?;
        let mut state = State {
            board: [0; MAX_SQUARES],
            sets: vec![0; 2 * variant.sets_per_color() * variant.words].into_boxed_slice(),
            reserve: fields.reserve.into_boxed_slice(),
            fresh: BigBits::from_squares(fields.fresh),
            fresh_before: Vec::new(),
            side: fields.side,
            ban: fields.ban,
            hash: 0,
            ply: fields.ply,
        };
        for (square, &code) in fields.board.iter().enumerate() {
            if code != 0 {
                state.put(variant, code, Square::new(square));
            }
        }
        if fields.side == Color::White {
            state.hash ^= SIDE_KEY;
        }
        state.hash ^= ban_key(fields.ban) ^ fresh_key(state.fresh);
        for (code, &count) in state.reserve.iter().enumerate() {
            state.hash ^= reserve_key(code as u8, count);
        }
        Ok(Position { variant: variant.clone(), state })
    }

    /// The position as SFEN.
    pub fn sfen(&self) -> String {
        sfen::write(self)
    }

    /// The tables of the game.
    pub fn variant(&self) -> &Arc<Variant> {
        &self.variant
    }

    /// Who moves next.
    pub fn side_to_move(&self) -> Color {
        self.state.side
    }

    /// [`Piece::code`] of each square in reading order, 0 where empty.
    pub fn codes(&self) -> &[u8] {
        &self.state.board[..self.variant.squares()]
    }

    /// What stands on a square; nothing on squares off the board, which moves made from any number may name.
    #[inline]
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        Piece::from_code(self.state.board.get(square.index()).copied().unwrap_or(0))
    }

    /// Puts a piece on a square in place of what stands there, or clears it with `None`: for setting up positions. A
    /// piece that was put into the promotion zone takes its right to promote there with it.
    ///
    /// # Panics
    /// If the square is off the board.
    pub fn set_piece(&mut self, square: Square, piece: Option<Piece>) {
        let Position { variant, state } = self;
        assert!(square.index() < variant.squares(), "a square of the board");
        let there = state.board[square.index()];
        if there != 0 {
            state.take(variant, there, square);
        }
        if state.fresh.has(square) {
            state.toggle_fresh(square);
        }
        if let Some(piece) = piece {
            state.put(variant, piece.code(), square);
        }
    }

    /// A number that two positions share when board, side to move and lion-ban square are the same; under
    /// `repetition_by_type` pieces that move and promote alike are.
    pub fn hash(&self) -> u64 {
        self.state.hash
    }

    /// The hash that says whether a position has come back: without the ban square where the rules leave it out.
    pub(crate) fn repetition_key(&self) -> u64 {
        if self.variant.rules.repetition_ignores_ban {
            self.state.hash ^ ban_key(self.state.ban)
        } else {
            self.state.hash
        }
    }

    /// The square where a non-lion has just taken a lion, while that restricts the reply.
    pub fn ban_square(&self) -> Option<Square> {
        self.state.ban
    }

    /// Plies before this position as SFEN's move number gives them.
    pub fn ply(&self) -> u32 {
        self.state.ply
    }

    /// The words of one of a side's sets.
    fn words(&self, color: Color, set: Set) -> impl Iterator<Item = u64> + '_ {
        let first = &self.state.sets[self.variant.first_word(color, set as usize)..];
        first.iter().step_by(LANES).take(self.variant.words).copied()
    }

    pub(crate) fn set(&self, color: Color, set: Set) -> BigBits {
        BigBits::widen(self.words(color, set))
    }

    /// Number of squares in one of a side's sets.
    pub(crate) fn set_count(&self, color: Color, set: Set) -> usize {
        self.words(color, set).map(|word| word.count_ones() as usize).sum()
    }

    /// Number of pieces a side has.
    pub fn piece_count(&self, color: Color) -> usize {
        self.set_count(color, Set::Occupied)
    }

    pub(crate) fn has_royal(&self, color: Color) -> bool {
        self.words(color, Set::Royals).any(|word| word != 0)
    }

    /// Number of royal pieces a side has.
    pub fn royal_count(&self, color: Color) -> usize {
        self.set_count(color, Set::Royals)
    }

    /// Number of pieces of one kind a side has. Counts the board.
    pub fn count(&self, color: Color, kind: PieceKind) -> usize {
        let code = Piece { color, kind }.code();
        self.codes().iter().filter(|&&other| other == code).count()
    }

    /// What a move captures: on the way (first, second), then on its last square.
    pub fn captures(&self, mv: Move) -> impl Iterator<Item = (Square, Piece)> + '_ {
        let [first, second] = mv.on_the_way(self.variant.board);
        let last = (mv.dropped().is_none() && mv.to() != mv.from()).then(|| mv.to());
        [first, second, last].into_iter().flatten().filter_map(|square| Some((square, self.piece_at(square)?)))
    }

    /// The repetition key after a move, if that neither captures nor promotes; other moves make positions that have
    /// not stood before.
    pub(crate) fn quiet_key_after(&self, mv: Move) -> Option<u64> {
        let (from, to) = (mv.from(), mv.to());
        let quiet = !mv.has_way() && !mv.promotes() && mv.dropped().is_none();
        let code = self.variant.hash_codes[self.state.board[from.index()] as usize];
        (quiet && (from == to || self.state.board[to.index()] == 0)).then(|| {
            let state = &self.state;
            let key = state.hash ^ ban_key(state.ban) ^ SIDE_KEY ^ piece_key(code, from) ^ piece_key(code, to);
            if !state.fresh.has(from) {
                return key;
            }
            let stays = self.variant.zone[state.side.index()].has(to);
            key ^ FRESH_KEYS[from.index()] ^ if stays { FRESH_KEYS[to.index()] } else { 0 }
        })
    }

    /// What `ask` finds if the other side may move. The board stays, nothing is banned.
    pub(crate) fn with_turn_given<T>(&mut self, ask: impl FnOnce(&Position) -> T) -> T {
        let (ban, hash) = (self.state.ban, self.state.hash);
        self.state.hash ^= ban_key(ban) ^ SIDE_KEY;
        self.state.ban = None;
        self.state.side = !self.state.side;
        let answer = ask(self);
        self.state.side = !self.state.side;
        (self.state.ban, self.state.hash) = (ban, hash);
        answer
    }

    /// Pieces of one kind that a side has in reserve.
    pub fn reserve(&self, color: Color, kind: PieceKind) -> usize {
        self.state.reserve.get(Piece { color, kind }.code() as usize).map_or(0, |&count| count as usize)
    }

    /// Whether a side has anything in reserve.
    pub fn has_reserve(&self, color: Color) -> bool {
        self.state.reserve.iter().skip(1 + color.index()).step_by(2).any(|&count| count > 0)
    }

    /// Plays a move without asking whether it is legal.
    ///
    /// # Panics
    /// May panic, or leave the position meaningless, if the move is not one of [`Position::legal_moves`].
    pub fn play_unchecked(&mut self, mv: Move) -> Undo {
        let Position { variant, state } = self;
        if !state.reserve.is_empty() {
            state.fresh_before.push(state.fresh);
            if let Some(kind) = mv.dropped() {
                return state.drop_piece(variant, kind, mv);
            }
        }
        let (from, to) = (mv.from(), mv.to());
        let moved = state.board[from.index()];
        let mut undo = Undo { mv, moved, taken: 0, on_the_way: [0; 2], ban: state.ban, hash: state.hash };
        let mut lion_taken = None;
        state.hash ^= ban_key(state.ban) ^ SIDE_KEY;
        if mv.has_way() {
            for (code, square) in undo.on_the_way.iter_mut().zip(mv.on_the_way(variant.board)) {
                let Some(square) = square else { continue };
                *code = state.board[square.index()];
                state.take(variant, *code, square);
                if is_lion(variant, *code) {
                    lion_taken = Some(square);
                }
            }
        }
        if from != to {
            undo.taken = state.board[to.index()];
            if undo.taken != 0 {
                state.take(variant, undo.taken, to);
                if is_lion(variant, undo.taken) {
                    lion_taken = Some(to);
                }
            }
        }
        if mv.promotes() {
            state.take(variant, moved, from);
            state.put(variant, promoted_code(variant, moved), to);
        } else {
            state.shift(variant, moved, from, to);
        }
        if !state.reserve.is_empty() {
            state.leave_fresh(variant, mv, moved);
        }
        state.ban =
            lion_taken.filter(|_| variant.rules.counter_strike != CounterStrike::None && !is_lion(variant, moved));
        state.hash ^= ban_key(state.ban);
        state.side = !state.side;
        state.ply += 1;
        undo
    }

    /// Takes back the last move played.
    ///
    /// # Panics
    /// May panic, or leave the position meaningless, if `undo` does not come from the last move played.
    pub fn undo(&mut self, undo: &Undo) {
        let Position { variant, state } = self;
        let mv = undo.mv;
        let (from, to) = (mv.from(), mv.to());
        if !state.reserve.is_empty() {
            state.fresh = state.fresh_before.pop().expect("a move was played");
            if mv.dropped().is_some() {
                return state.undo_drop(variant, undo);
            }
        }
        if mv.promotes() {
            state.take(variant, state.board[to.index()], to);
            state.put(variant, undo.moved, from);
        } else {
            state.shift(variant, undo.moved, to, from);
        }
        if undo.taken != 0 {
            state.put(variant, undo.taken, to);
        }
        if mv.has_way() {
            for (code, square) in undo.on_the_way.into_iter().zip(mv.on_the_way(variant.board)) {
                if let (Some(square), true) = (square, code != 0) {
                    state.put(variant, code, square);
                }
            }
        }
        state.side = !state.side;
        state.ply -= 1;
        state.ban = undo.ban;
        state.hash = undo.hash;
    }
}

fn is_lion(variant: &Variant, code: u8) -> bool {
    Piece::from_code(code).is_some_and(|piece| variant.kind_rules[piece.kind.index()].lion_trade)
}

fn promoted_code(variant: &Variant, code: u8) -> u8 {
    let piece = Piece::from_code(code).expect("a move starts on a piece");
    let kind = variant.kind_rules[piece.kind.index()].promotes_to.expect("only pieces that can promote do");
    Piece { color: piece.color, kind }.code()
}

impl State {
    /// Puts a piece on an empty square.
    #[inline]
    fn put(&mut self, variant: &Variant, code: u8, square: Square) {
        self.board[square.index()] = code;
        self.toggle(variant, code, square);
    }

    /// Takes a piece off its square.
    #[inline]
    fn take(&mut self, variant: &Variant, code: u8, square: Square) {
        self.board[square.index()] = 0;
        self.toggle(variant, code, square);
    }

    /// Moves a piece to an empty square, or to its own.
    #[inline]
    fn shift(&mut self, variant: &Variant, code: u8, from: Square, to: Square) {
        self.board[from.index()] = 0;
        self.board[to.index()] = code;
        let key_code = variant.hash_codes[code as usize];
        self.hash ^= piece_key(key_code, from) ^ piece_key(key_code, to);
        let (from, to) = (from.index(), to.index());
        for &set in &variant.sets_of_code[code as usize] {
            self.sets[set as usize + from / 64 * LANES] ^= 1 << (from % 64);
            self.sets[set as usize + to / 64 * LANES] ^= 1 << (to % 64);
        }
    }

    /// Puts a piece of the reserve on the board.
    fn drop_piece(&mut self, variant: &Variant, kind: PieceKind, mv: Move) -> Undo {
        let code = Piece { color: self.side, kind }.code();
        let undo = Undo { mv, moved: code, taken: 0, on_the_way: [0; 2], ban: self.ban, hash: self.hash };
        let left = &mut self.reserve[code as usize];
        self.hash ^= ban_key(self.ban) ^ SIDE_KEY ^ reserve_key(code, *left) ^ reserve_key(code, *left - 1);
        *left -= 1;
        let placed = if mv.promotes() { promoted_code(variant, code) } else { code };
        self.put(variant, placed, mv.to());
        let can_promote = variant.kind_rules[kind.index()].promotes_to.is_some() && !mv.promotes();
        if can_promote && variant.zone[self.side.index()].has(mv.to()) {
            self.toggle_fresh(mv.to());
        }
        self.ban = None;
        self.side = !self.side;
        self.ply += 1;
        undo
    }

    fn undo_drop(&mut self, variant: &Variant, undo: &Undo) {
        let to = undo.mv.to();
        self.take(variant, self.board[to.index()], to);
        self.reserve[undo.moved as usize] += 1;
        self.side = !self.side;
        self.ply -= 1;
        self.ban = undo.ban;
        self.hash = undo.hash;
    }

    fn toggle_fresh(&mut self, square: Square) {
        self.fresh.toggle(square);
        self.hash ^= FRESH_KEYS[square.index()];
    }

    /// What a move does to the pieces that were put into the zone: captured ones are gone, a mover keeps its right to
    /// promote while it stays in the zone and has not promoted.
    fn leave_fresh(&mut self, variant: &Variant, mv: Move, moved: u8) {
        let was_fresh = self.fresh.has(mv.from());
        let [first, second] = mv.on_the_way(variant.board);
        for square in [Some(mv.from()), first, second, Some(mv.to())].into_iter().flatten() {
            if self.fresh.has(square) {
                self.toggle_fresh(square);
            }
        }
        let color = Piece::from_code(moved).map_or(self.side, |piece| piece.color);
        if was_fresh && !mv.promotes() && variant.zone[color.index()].has(mv.to()) {
            self.toggle_fresh(mv.to());
        }
    }

    /// Everything that changes with a piece on a square.
    #[inline]
    fn toggle(&mut self, variant: &Variant, code: u8, square: Square) {
        self.hash ^= piece_key(variant.hash_codes[code as usize], square);
        for &set in &variant.sets_of_code[code as usize] {
            self.sets[set as usize + square.index() / 64 * LANES] ^= 1 << (square.index() % 64);
        }
    }

    #[inline(always)]
    pub(crate) fn set<const W: usize>(&self, variant: &Variant, color: Color, set: Set) -> Bits<W> {
        let words = &self.sets[variant.first_word(color, set as usize)..][..(W - 1) * LANES + 1];
        Bits(std::array::from_fn(|w| words[w * LANES]))
    }

    /// For each team the squares of a side's pieces that move as its riders.
    #[inline(always)]
    pub(crate) fn teams<const W: usize>(&self, variant: &Variant, color: Color) -> impl Iterator<Item = Quad<W>> {
        self.sets[variant.first_word(color, Set::COUNT)..].chunks_exact(W * LANES).map(Quad::load)
    }
}

const SIDE_KEY: u64 = mix(1);

/// SplitMix64's output function.
const fn mix(seed: u64) -> u64 {
    let z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

const fn keys<const N: usize>(first: u64) -> [u64; N] {
    let mut keys = [0; N];
    let mut i = 0;
    while i < N {
        keys[i] = mix(first + i as u64) | 1;
        i += 1;
    }
    keys
}

static CODE_KEYS: [u64; 256] = keys(1_000);
static SQUARE_KEYS: [u64; MAX_SQUARES] = keys(2_000);
static BAN_KEYS: [u64; MAX_SQUARES] = keys(3_000);
static FRESH_KEYS: [u64; MAX_SQUARES] = keys(4_000);

/// Zobrist key of a piece on a square. Made from two small tables: one of all pairs would not fit the fast caches.
#[inline(always)]
fn piece_key(code: u8, square: Square) -> u64 {
    let product = CODE_KEYS[code as usize].wrapping_mul(SQUARE_KEYS[square.index()]);
    product ^ product >> 32
}

#[inline(always)]
fn ban_key(ban: Option<Square>) -> u64 {
    ban.map_or(0, |square| BAN_KEYS[square.index()])
}

/// Key of so many pieces of a code in reserve.
fn reserve_key(code: u8, count: u8) -> u64 {
    if count == 0 { 0 } else { mix(10_000 + ((code as u64) << 8 | count as u64)) }
}

fn fresh_key(fresh: BigBits) -> u64 {
    let mut key = 0;
    fresh.for_each(|square| key ^= FRESH_KEYS[square.index()]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A position set up piece by piece is the one that its SFEN describes.
    #[test]
    fn pieces_are_put_and_cleared() {
        let cases = [
            (
                "chu",
                "lfcsgekgscfl/a1b1txot1b1a/mvrhdqndhrvm/pppppppppppp/3i4i3/12/12/3I4I3/PPPPPPPPPPPP/MVRHDNQDHRVM/A1B1TOXT1B1A/LFCSGKEGSCFL b - 1",
            ),
            // The silver on 5c was put there.
            ("heisei_chu", "12/12/7S4/12/12/12/12/12/12/12/12/12 b - 1 - 5c"),
        ];
        for (name, sfen) in cases {
            let variant = Variant::load(name, None).expect(name);
            let mut position = Position::from_sfen(&variant, sfen).expect(sfen);
            for square in (0..variant.squares()).map(Square::new) {
                let there = position.piece_at(square);
                for piece in [None, Piece::from_code(5), there.filter(|_| square.index() % 2 == 0)] {
                    position.set_piece(square, piece);
                    let read = Position::from_sfen(&variant, &position.sfen()).expect("its own text");
                    assert_eq!(position.piece_at(square), piece);
                    assert_eq!((position.hash(), &position.state.sets), (read.hash(), &read.state.sets));
                }
            }
        }
    }
}

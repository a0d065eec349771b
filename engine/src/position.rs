//! Positions: a board, the side to move, and the little state the rules need. Playing and undoing moves.

use std::sync::Arc;

use crate::bitboard::{BigBits, Bits};
use crate::error::SfenError;
use crate::geometry::{Color, MAX_SQUARES, Square};
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
    pub(crate) const COUNT: usize = 5;
}

/// All of a position that moves change.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// [`Piece::code`] by square, 0 where empty.
    pub(crate) board: [u8; MAX_SQUARES],
    /// For each colour the sets of squares named by [`Set`] and then, for each rider, the squares of the ordinary
    /// pieces that move so; `words` words a set.
    sets: Box<[u64]>,
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
        state.hash ^= ban_key(fields.ban);
        Ok(Position { variant: variant.clone(), state })
    }

    /// The position as SFEN.
    pub fn sfen(&self) -> String {
        sfen::write(&self.variant, self.codes(), self.state.side, self.state.ban, self.state.ply)
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

    /// What stands on a square.
    #[inline]
    pub fn piece_at(&self, square: Square) -> Option<Piece> {
        Piece::from_code(self.state.board[square.index()])
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
    fn words(&self, color: Color, set: Set) -> &[u64] {
        let words = self.variant.words;
        let start = (color.index() * self.variant.sets_per_color() + set as usize) * words;
        &self.state.sets[start..start + words]
    }

    pub(crate) fn set(&self, color: Color, set: Set) -> BigBits {
        BigBits::widen(self.words(color, set))
    }

    /// Number of squares in one of a side's sets.
    pub(crate) fn set_count(&self, color: Color, set: Set) -> usize {
        self.words(color, set).iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Number of pieces a side has.
    pub fn piece_count(&self, color: Color) -> usize {
        self.set_count(color, Set::Occupied)
    }

    pub(crate) fn has_royal(&self, color: Color) -> bool {
        self.words(color, Set::Royals).iter().any(|&word| word != 0)
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
        (quiet && (from == to || self.state.board[to.index()] == 0))
            .then(|| self.state.hash ^ ban_key(self.state.ban) ^ SIDE_KEY ^ piece_key(code, from) ^ piece_key(code, to))
    }

    /// Lets the other side move. The board stays, nothing is banned.
    pub(crate) fn give_turn(&mut self) {
        let state = &mut self.state;
        state.hash ^= ban_key(state.ban) ^ SIDE_KEY;
        state.ban = None;
        state.side = !state.side;
    }

    /// Plays a move without asking whether it is legal.
    ///
    /// # Panics
    /// May panic, or leave the position meaningless, if the move is not one of [`Position::legal_moves`].
    pub fn play_unchecked(&mut self, mv: Move) -> Undo {
        let Position { variant, state } = self;
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
            self.sets[set as usize + from / 64] ^= 1 << (from % 64);
            self.sets[set as usize + to / 64] ^= 1 << (to % 64);
        }
    }

    /// Everything that changes with a piece on a square.
    #[inline]
    fn toggle(&mut self, variant: &Variant, code: u8, square: Square) {
        self.hash ^= piece_key(variant.hash_codes[code as usize], square);
        for &set in &variant.sets_of_code[code as usize] {
            self.sets[set as usize + square.index() / 64] ^= 1 << (square.index() % 64);
        }
    }

    #[inline(always)]
    pub(crate) fn set<const W: usize>(&self, variant: &Variant, color: Color, set: Set) -> Bits<W> {
        Bits::load(&self.sets[(color.index() * variant.sets_per_color() + set as usize) * W..])
    }

    /// For each rider the squares of a side's pieces that move so.
    #[inline(always)]
    pub(crate) fn riders<const W: usize>(&self, variant: &Variant, color: Color) -> impl Iterator<Item = Bits<W>> {
        let start = (color.index() * variant.sets_per_color() + Set::COUNT) * W;
        self.sets[start..].chunks_exact(W).map(Bits::load)
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

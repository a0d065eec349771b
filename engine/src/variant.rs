//! A variant under one ruleset: immutable tables compiled from its file.

use std::fmt::Write as _;
use std::sync::Arc;

use wide::u64x4;

use crate::bitboard::BigBits;
use crate::compile;
use crate::error::VariantError;
use crate::geometry::{Board, Color, MAX_SIDE, Square};
use crate::lanes::{LANES, Team};
use crate::piece::{Piece, PieceKind};
use crate::position::Set;
use crate::rules::{BareKing, MustAnswerCheck, Promotion, Rules};

/// The built-in variant files by name.
const BUILTIN: [(&str, &str); 4] = [
    ("sho", include_str!("../variants/sho.toml")),
    ("chu", include_str!("../variants/chu.toml")),
    ("daidai", include_str!("../variants/daidai.toml")),
    ("heisei_chu", include_str!("../variants/heisei_chu.toml")),
];

/// Text of a built-in variant's file.
pub(crate) fn builtin(name: &str) -> Option<&'static str> {
    BUILTIN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// What users see of a kind of piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Name in files and tables; `promoted_` and the id of the unpromoted piece for a promoted one.
    pub id: String,
    /// English name of the piece it moves as.
    pub name: String,
    /// Japanese name of the piece it moves as.
    pub kanji: String,
    /// One or two characters for boards.
    pub symbol: String,
    /// Reading of the Japanese name.
    pub romaji: String,
    /// Letters in SFEN, upper case, without brackets or `+`.
    pub code: String,
    /// Abbreviation in TSA notation, of the unpromoted piece.
    pub tsa: String,
    /// What it becomes by promotion.
    pub promotes_to: Option<PieceKind>,
    /// What it was before its promotion; `None` for an unpromoted piece.
    pub base: Option<PieceKind>,
    /// Id of the piece definition it moves as.
    pub moves_as: String,
    /// Its loss, if it is the last royal, loses the game.
    pub royal: bool,
    /// A lion for the rules of lion trading.
    pub lion_trade: bool,
    /// A minor piece: no bridge for a lion, and it does not count against a bare king.
    pub minor: bool,
    /// Pieces of this kind a side has at the start.
    pub count: usize,
    /// The kind it becomes in a left-right reflection, if there is one.
    pub mirror: Option<PieceKind>,
}

impl Kind {
    /// Whether this is the promoted side of a piece.
    pub fn is_promoted(&self) -> bool {
        self.base.is_some()
    }

    /// The piece in SFEN as Black's: `P`, `+P`, `[LC]`, `+[LC]`.
    pub fn sfen(&self) -> String {
        let plus = if self.is_promoted() { "+" } else { "" };
        if self.code.chars().count() == 1 { format!("{plus}{}", self.code) } else { format!("{plus}[{}]", self.code) }
    }
}

/// One way of moving that some kinds share; see the module `movegen`.
#[derive(Clone, Debug)]
pub(crate) struct Rider {
    /// The offset of one step as the owner sees it: to the right and forward.
    pub(crate) offset: (i8, i8),
    pub(crate) range: u8,
    /// Difference of square numbers of one step, by colour.
    pub(crate) shift: [i32; 2],
    /// Squares from which one step stays on the board, by colour.
    pub(crate) source: [BigBits; 2],
}

/// The slides and jumps of a kind, for walking over the board.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rays {
    /// Difference of square numbers of one step of each, by colour.
    pub(crate) shifts: [Vec<i16>; 2],
    /// Steps of each that stay on the board and within the range, square by square, by colour.
    pub(crate) rooms: [Vec<u8>; 2],
}

impl Rays {
    /// Of each ray the difference of square numbers of one step, and how many steps there are room for.
    #[inline(always)]
    pub(crate) fn from(&self, color: Color, square: Square) -> impl Iterator<Item = (i32, u8)> {
        let shifts = &self.shifts[color.index()];
        let rooms = &self.rooms[color.index()][square.index() * shifts.len()..][..shifts.len()];
        shifts.iter().zip(rooms).map(|(&shift, &room)| (shift.into(), room))
    }
}

/// One offset of any slide, for asking who attacks a square.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Difference of square numbers of one step towards the attacked square, by colour of the attacker.
    pub(crate) shift: [i32; 2],
    /// How many steps back from a square stay on the board and within the longest range, by colour and square.
    pub(crate) room: [Vec<u8>; 2],
    /// How far each kind slides along this offset; 0 if not at all.
    pub(crate) range: Vec<u8>,
}

/// How a kind moves, compiled.
#[derive(Clone, Debug, Default)]
pub(crate) struct Powers {
    /// Numbers of riders, those of the first team first; empty if `special`.
    pub(crate) riders: Vec<u8>,
    /// The same for walking over the board.
    pub(crate) rays: Rays,
    /// All slides of a special piece, range by direction clockwise from straight ahead.
    pub(crate) slides: [u8; 8],
    /// The same for the teams of `Variant::compass`.
    pub(crate) slide_ranges: [u64x4; 2],
    /// Jumps of a special piece.
    pub(crate) jumps: Vec<Rider>,
    /// How many pieces a slide in each direction may pass over; 0 if it is not of that sort.
    pub(crate) over: [u8; 8],
    pub(crate) lion: bool,
    /// Steps of the line lion by direction; 0 for none.
    pub(crate) lines: [u8; 8],
    /// Whether the piece slides along the direction and may turn.
    pub(crate) hooks: [bool; 8],
    /// How far it slides so, for the teams of `Variant::compass`.
    pub(crate) hook_ranges: [u64x4; 2],
    /// Moves piece by piece, not through the riders.
    pub(crate) special: bool,
}

/// What the rules say about a kind, compiled.
#[derive(Clone, Debug)]
pub(crate) struct KindRules {
    pub(crate) promotes_to: Option<PieceKind>,
    pub(crate) royal: bool,
    pub(crate) lion_trade: bool,
    pub(crate) minor: bool,
    /// Must promote when it ends on one of the last so many ranks.
    pub(crate) forced_ranks: u8,
    pub(crate) second_chance: bool,
    /// Squares from which it could not move on an empty board, by colour.
    pub(crate) dead: [BigBits; 2],
    pub(crate) any_dead: bool,
}

/// How many moves a piece can ever have from a square, at most.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Slots {
    /// Ends of moves: of an ordinary piece exactly those on an empty board. Without the ways of lions over a neighbour.
    pub(crate) ends: u16,
    /// Twice as many where some of the moves have a choice to promote.
    pub(crate) all: u16,
}

/// The immutable tables of one game under one ruleset. Build it with [`Variant::load`] or [`Variant::from_toml`].
#[derive(Clone, Debug)]
pub struct Variant {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) kanji: String,
    pub(crate) sources: Vec<String>,
    pub(crate) ruleset: String,
    pub(crate) rulesets: Vec<(String, String)>,
    pub(crate) board: Board,
    pub(crate) words: usize,
    pub(crate) start: String,
    pub(crate) positions: Vec<(String, String)>,
    pub(crate) rules: Rules,
    pub(crate) kinds: Vec<Kind>,
    pub(crate) kind_rules: Vec<KindRules>,
    pub(crate) powers: Vec<Powers>,
    pub(crate) teams: Vec<Team>,
    /// For each [`Piece::code`] by square.
    pub(crate) slots: Vec<Slots>,
    /// By [`Piece::code`]: the first words of a position's sets that the piece belongs to.
    pub(crate) sets_of_code: Vec<Box<[u16]>>,
    /// By [`Piece::code`]: the code that stands for it in hashes.
    pub(crate) hash_codes: Vec<u8>,
    /// The neighbours of each square in the eight absolute directions.
    pub(crate) steps: Vec<[Option<Square>; 8]>,
    /// Unlimited slides in the eight directions: what special pieces move by. Clockwise from the owner's right; so the
    /// same lanes of the two teams are opposite directions.
    pub(crate) compass: [Team; 2],
    pub(crate) lines: Vec<Line>,
    pub(crate) zone: [BigBits; 2],
    /// The ranks where a piece must promote or may do so a second time, by colour.
    pub(crate) edge: [BigBits; 2],
    /// The (up to) eight neighbours of each square.
    pub(crate) neighbours: Vec<BigBits>,
    /// The squares two king steps away or nearer, without the square itself.
    pub(crate) two_steps: Vec<BigBits>,
    /// Whether any rule of lion trading is on.
    pub(crate) lion_trading: bool,
    pub(crate) fingerprint: String,
}

impl Variant {
    /// Names of the built-in variants.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(name, _)| *name)
    }

    /// A built-in variant under `ruleset`, or under its default one.
    ///
    /// # Errors
    /// [`VariantError`] if there is no such variant or ruleset.
    pub fn load(name: &str, ruleset: Option<&str>) -> Result<Arc<Variant>, VariantError> {
        let text = builtin(name).ok_or_else(|| {
            let known = Variant::builtin_names().collect::<Vec<_>>().join(", ");
            VariantError::UnknownVariant { name: name.to_string(), known }
        })?;
        Variant::from_toml(text, ruleset)
    }

    /// The variant that a file's `text` describes, under `ruleset`, or under its default one.
    ///
    /// # Errors
    /// [`VariantError`] with every issue found and its place in the text.
    pub fn from_toml(text: &str, ruleset: Option<&str>) -> Result<Arc<Variant>, VariantError> {
        compile::variant(text, ruleset).map(Arc::new)
    }

    /// The same game in which only the loss of the last royal ends it: no rule about check or bare kings. For counting
    /// moves against programs that count so.
    pub fn king_capture(&self) -> Arc<Variant> {
        let mut variant = self.clone();
        variant.rules.bare_king = BareKing::None;
        variant.rules.must_answer_check = MustAnswerCheck::No;
        variant.fingerprint = variant.compute_fingerprint();
        Arc::new(variant)
    }

    /// Name on the command line.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Name for people.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Name in Japanese.
    pub fn kanji(&self) -> &str {
        &self.kanji
    }

    /// Where the rules are from.
    pub fn sources(&self) -> &[String] {
        &self.sources
    }

    /// Name of the ruleset.
    pub fn ruleset(&self) -> &str {
        &self.ruleset
    }

    /// All rulesets of the variant: (name, what it is), the default one first.
    pub fn rulesets(&self) -> &[(String, String)] {
        &self.rulesets
    }

    /// Size of the board.
    pub fn board(&self) -> Board {
        self.board
    }

    /// Number of files.
    pub fn files(&self) -> usize {
        self.board.files as usize
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.board.ranks as usize
    }

    /// Number of squares.
    pub fn squares(&self) -> usize {
        self.board.squares()
    }

    /// SFEN of the start position.
    pub fn start_sfen(&self) -> &str {
        &self.start
    }

    /// Further start positions: (name, SFEN).
    pub fn positions(&self) -> &[(String, String)] {
        &self.positions
    }

    /// The rules, apart from how pieces move.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The kinds of pieces; a [`PieceKind`] is an index into them.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// What this kind is.
    pub fn kind(&self, kind: PieceKind) -> &Kind {
        &self.kinds[kind.index()]
    }

    /// The kind with this id.
    pub fn kind_by_id(&self, id: &str) -> Option<PieceKind> {
        self.kinds.iter().position(|kind| kind.id == id).map(PieceKind::new)
    }

    /// How many squares a piece of this kind reaches in one move from the middle of an empty board, a hook's first leg
    /// counted only. A crude measure of its worth that needs no game.
    pub fn mobility(&self, kind: PieceKind) -> usize {
        let middle = self.board.middle();
        let powers = &self.powers[kind.index()];
        let mut reached = vec![false; self.squares()];
        let mut slide = |right: i8, forward: i8, range: u8| {
            for k in 1..=range as i32 {
                match self.board.step(middle, Color::Black, right as i32 * k, forward as i32 * k) {
                    Some(square) => reached[square.index()] = true,
                    None => break,
                }
            }
        };
        for &rider in &powers.riders {
            let rider = self.rider(rider);
            slide(rider.offset.0, rider.offset.1, rider.range);
        }
        for (d, &(right, forward)) in crate::geometry::DIRECTIONS.iter().enumerate() {
            let hook = if powers.hooks[d] || powers.over[d] > 0 { crate::betza::UNLIMITED } else { 0 };
            slide(right, forward, powers.slides[d].max(powers.lines[d]).max(hook));
        }
        for jump in &powers.jumps {
            slide(jump.offset.0, jump.offset.1, 1);
        }
        if powers.lion {
            self.two_steps[middle.index()].for_each(|square| reached[square.index()] = true);
        }
        reached.iter().filter(|&&hit| hit).count()
    }

    /// A hexadecimal number that changes with anything that changes the game: board, start, moves, rules.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The number of the kind of a code that stands on a board.
    #[inline(always)]
    pub(crate) fn code_kind(&self, code: u8) -> usize {
        Piece::from_code(code).expect("a piece").kind.index()
    }

    /// Number of sets of squares that a position keeps for each side.
    pub(crate) fn sets_per_color(&self) -> usize {
        Set::COUNT + self.teams.len() * LANES
    }

    /// Where a position keeps the first word of a set of one side; the further words follow at distances of `LANES`.
    #[inline(always)]
    pub(crate) fn first_word(&self, color: Color, set: usize) -> usize {
        let set = color.index() * self.sets_per_color() + set;
        set / LANES * LANES * self.words + set % LANES
    }

    pub(crate) fn rider(&self, number: u8) -> &Rider {
        &self.teams[number as usize / LANES].riders()[number as usize % LANES]
    }

    /// The squares from one to the edge in a direction as `color` sees it, clockwise from straight ahead.
    pub(crate) fn ray(&self, from: Square, direction: usize, color: Color) -> impl Iterator<Item = Square> + '_ {
        let direction = (direction + 4 * color.index()) % 8;
        std::iter::successors(self.steps[from.index()][direction], move |square| self.steps[square.index()][direction])
    }

    /// Fills the tables by code from the others.
    pub(crate) fn index_codes(&mut self) {
        let of_code = |code: u8| {
            let Some(piece) = Piece::from_code(code) else { return Box::default() };
            let Some(rules) = self.kind_rules.get(piece.kind.index()) else { return Box::default() };
            let powers = &self.powers[piece.kind.index()];
            let own = [
                (true, Set::Occupied),
                (rules.promotes_to.is_some(), Set::Promotable),
                (powers.special, Set::Special),
                (rules.lion_trade, Set::Lions),
                (rules.royal, Set::Royals),
            ];
            let own = own.into_iter().filter(|(member, _)| *member).map(|(_, set)| set as usize);
            let riders = powers.riders.iter().map(|&rider| Set::COUNT + rider as usize);
            own.chain(riders).map(|set| self.first_word(piece.color, set) as u16).collect()
        };
        self.sets_of_code = (0..=u8::MAX).map(of_code).collect();
        self.hash_codes = (0..=u8::MAX).map(|code| self.hash_code(code)).collect();
        let slots = |code: u8| {
            let piece = Piece::from_code(code).filter(|piece| piece.kind.index() < self.kinds.len());
            let of = |square| piece.map_or(Slots::default(), |piece| self.count_slots(piece, Square::new(square)));
            (0..self.squares()).map(of).collect::<Vec<_>>()
        };
        self.slots = (0..=u8::MAX).flat_map(slots).collect();
    }

    #[inline(always)]
    pub(crate) fn slots(&self, code: u8, square: Square) -> Slots {
        self.slots[code as usize * self.squares() + square.index()]
    }

    fn count_slots(&self, piece: Piece, from: Square) -> Slots {
        let (powers, color) = (&self.powers[piece.kind.index()], piece.color);
        let rays: usize = powers.rays.from(color, from).map(|(_, room)| usize::from(room)).sum();
        let straight = |direction: usize, range: u8| self.ray(from, direction, color).take(range.into()).count();
        let special = (0..8).map(|d| {
            let over = if powers.over[d] > 0 { MAX_SIDE as u8 } else { 0 };
            // Of a line lion three plain ends and six ways with a capture.
            straight(d, powers.slides[d]) + straight(d, over) + if powers.lines[d] > 0 { 9 } else { 0 }
        });
        let lion = if powers.lion { self.two_steps[from.index()].count() } else { 0 };
        let hooks = if powers.hooks.contains(&true) { self.squares() } else { 0 };
        // One move of special pieces is the pass.
        let ends = rays + special.sum::<usize>() + powers.jumps.len() + lion + hooks + usize::from(powers.special);
        let zone = self.zone[color.index()].or(self.edge[color.index()]);
        let reaches_zone = powers.special
            || powers
                .rays
                .from(color, from)
                .any(|(shift, room)| (1..=room).any(|steps| zone.has(from.shifted(i32::from(steps) * shift))));
        let choice = self.kind_rules[piece.kind.index()].promotes_to.is_some()
            && self.rules.promotion != Promotion::FirstCapture
            && (zone.has(from) || reaches_zone);
        let ends = ends as u16;
        Slots { ends, all: if choice { 2 * ends } else { ends } }
    }

    fn hash_code(&self, code: u8) -> u8 {
        let piece = Piece::from_code(code).filter(|piece| piece.kind.index() < self.kinds.len());
        let Some(piece) = piece.filter(|_| self.rules.repetition_by_type) else { return code };
        let kind = &self.kinds[piece.kind.index()];
        let same = |other: &Kind| other.moves_as == kind.moves_as && other.promotes_to == kind.promotes_to;
        let first = self.kinds.iter().position(same).expect("a kind is like itself");
        Piece { kind: PieceKind::new(first), ..piece }.code()
    }

    pub(crate) fn compute_fingerprint(&self) -> String {
        let mut text = format!("{} {} {:?} {} {:?}", self.name, self.ruleset, self.board, self.start, self.rules);
        for (kind, powers) in self.kinds.iter().zip(&self.powers) {
            let riders: Vec<_> =
                powers.riders.iter().map(|&number| (self.rider(number).offset, self.rider(number).range)).collect();
            let jumps: Vec<_> = powers.jumps.iter().map(|jump| jump.offset).collect();
            let special = (powers.slides, jumps, powers.over, powers.lion, powers.lines, powers.hooks);
            write!(
                text,
                "\n{} {} {riders:?} {special:?} {} {} {} {:?}",
                kind.id,
                kind.sfen(),
                kind.royal,
                kind.lion_trade,
                kind.minor,
                kind.promotes_to
            )
            .expect("writing to a string does not fail");
        }
        // FNV-1a, 64 bits.
        let hash = text
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3));
        format!("{hash:016x}")
    }
}

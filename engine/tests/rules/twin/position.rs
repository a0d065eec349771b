//! The twin's board: SFEN, squares, making a move.

use super::TwinMove;
use super::powers::Step;
use super::variant::{TwinKind, TwinVariant};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A piece on the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TwinPiece {
    pub(crate) white: bool,
    pub(crate) kind: usize,
}

/// What a moving piece finds on a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Outside,
    Own,
    Free(usize),
    Enemy(usize),
}

impl Found {
    /// The square, when a piece may stop there.
    pub(crate) fn open(self) -> Option<usize> {
        match self {
            Found::Free(at) | Found::Enemy(at) => Some(at),
            Found::Outside | Found::Own => None,
        }
    }
}

/// Pieces in reserve, Black's and White's, in the order of the variant's list; empty lists where there is no reserve.
pub(crate) type Reserve = [Vec<u32>; 2];

/// Board, side to move, the square on which a non-lion has just taken a lion, and what drops need.
#[derive(Clone, Debug)]
pub(crate) struct TwinPosition {
    pub(crate) variant: Arc<TwinVariant>,
    /// Reading order: top rank first, from Black's left.
    pub(crate) board: Vec<Option<TwinPiece>>,
    pub(crate) white_to_move: bool,
    pub(crate) ban: Option<usize>,
    pub(crate) number: u32,
    pub(crate) reserve: Reserve,
    /// Squares of pieces that were put into the zone, did not promote and have not left it.
    pub(crate) fresh: BTreeSet<usize>,
}

impl TwinVariant {
    /// Square of a text such as `12a`.
    pub(crate) fn parse_square(&self, text: &str) -> Option<usize> {
        let digits = text.chars().take_while(char::is_ascii_digit).count();
        let (file, rank) = text.split_at(digits);
        let file: i32 = file.parse().ok()?;
        let mut letters = rank.chars();
        let rank = letters.next().filter(char::is_ascii_lowercase)? as i32 - 'a' as i32;
        let inside = (1..=self.files).contains(&file) && rank < self.ranks && letters.next().is_none();
        inside.then(|| (rank * self.files + self.files - file) as usize)
    }

    pub(crate) fn square_text(&self, at: usize) -> String {
        let (rank, column) = self.place(at);
        format!("{}{}", self.files - column, (b'a' + rank as u8) as char)
    }

    /// Rank from the top and column from Black's left.
    pub(crate) fn place(&self, at: usize) -> (i32, i32) {
        (at as i32 / self.files, at as i32 % self.files)
    }

    /// Distance in king steps.
    pub(crate) fn distance(&self, a: usize, b: usize) -> i32 {
        let ((ra, ca), (rb, cb)) = (self.place(a), self.place(b));
        (ra - rb).abs().max((ca - cb).abs())
    }

    /// How far a square is from the farthest rank of a side: 0 is its last rank.
    pub(crate) fn ranks_to_go(&self, white: bool, at: usize) -> i32 {
        let rank = self.place(at).0;
        if white { self.ranks - 1 - rank } else { rank }
    }

    pub(crate) fn board_text(&self, board: &[Option<TwinPiece>]) -> String {
        let mut lines = Vec::new();
        for rank in board.chunks(self.files as usize) {
            let (mut line, mut empty) = (String::new(), 0);
            for square in rank {
                let Some(piece) = square else {
                    empty += 1;
                    continue;
                };
                if empty > 0 {
                    line.push_str(&empty.to_string());
                    empty = 0;
                }
                line.push_str(&self.piece_text(*piece));
            }
            if empty > 0 {
                line.push_str(&empty.to_string());
            }
            lines.push(line);
        }
        lines.join("/")
    }

    /// The squares of an SFEN's first field; panics with the reason when it cannot.
    pub(crate) fn parse_board(&self, text: &str) -> Vec<Option<TwinPiece>> {
        let mut board = Vec::new();
        for line in text.split('/') {
            let mut rest = line;
            while let Some(first) = rest.chars().next() {
                if first.is_ascii_digit() {
                    let digits = rest.chars().take_while(char::is_ascii_digit).count();
                    let empty: usize = rest[..digits].parse().expect("digits");
                    board.extend(std::iter::repeat_n(None, empty));
                    rest = &rest[digits..];
                    continue;
                }
                let (piece, after) = self.parse_piece(rest);
                board.push(Some(piece));
                rest = after;
            }
            assert_eq!(board.len() % self.files as usize, 0, "a rank of the wrong length: {text}");
        }
        assert_eq!(board.len(), (self.files * self.ranks) as usize, "the wrong number of ranks: {text}");
        board
    }

    /// The piece at the start of a text, and what follows it.
    pub(crate) fn parse_piece<'t>(&self, text: &'t str) -> (TwinPiece, &'t str) {
        let (plus, after) = text.strip_prefix('+').map_or(("", text), |after| ("+", after));
        let (letters, after) = match after.strip_prefix('[') {
            Some(inside) => inside.split_once(']').unwrap_or_else(|| panic!("no closing bracket: {text}")),
            None => after.split_at(1),
        };
        let code = format!("{plus}{}", letters.to_uppercase());
        let kind = self.kind_of_code(&code).unwrap_or_else(|| panic!("unknown piece {code}: {text}"));
        (TwinPiece { white: letters.chars().all(|c| c.is_ascii_lowercase()), kind }, after)
    }

    /// A piece as the SFEN has it.
    pub(crate) fn piece_text(&self, piece: TwinPiece) -> String {
        let code = &self.kinds[piece.kind].code;
        let (plus, letters) = code.strip_prefix('+').map_or(("", code.as_str()), |letters| ("+", letters));
        let letters = if piece.white { letters.to_lowercase() } else { letters.to_string() };
        if letters.len() == 1 { format!("{plus}{letters}") } else { format!("{plus}[{letters}]") }
    }
}

impl TwinPosition {
    pub(crate) fn start(variant: &Arc<TwinVariant>) -> TwinPosition {
        Self::parse(variant, &variant.start)
    }

    /// Reads an SFEN; panics with the reason when it cannot.
    pub(crate) fn parse(variant: &Arc<TwinVariant>, sfen: &str) -> TwinPosition {
        let fields: Vec<&str> = sfen.split_whitespace().collect();
        assert!(fields.len() >= 2, "too short an SFEN: {sfen}");
        let board = variant.parse_board(fields[0]);
        let ban = match fields.get(2) {
            None | Some(&"-") => None,
            Some(square) => Some(variant.parse_square(square).unwrap_or_else(|| panic!("no square {square}: {sfen}"))),
        };
        let number = fields.get(3).map_or(1, |n| n.parse().unwrap_or_else(|_| panic!("no move number {n}: {sfen}")));
        let reserve = variant.parse_reserve(fields.get(4).unwrap_or(&"-"));
        let fresh = variant.parse_squares(fields.get(5).unwrap_or(&"-"));
        let white_to_move = fields[1] == "w";
        TwinPosition { variant: Arc::clone(variant), board, white_to_move, ban, number, reserve, fresh }
    }

    pub(crate) fn sfen(&self) -> String {
        let side = if self.white_to_move { "w" } else { "b" };
        let third = self.ban.map_or("-".to_string(), |at| self.variant.square_text(at));
        let text = format!("{} {side} {third} {}", self.variant.board_text(&self.board), self.number);
        if !self.variant.has_drops() {
            return text;
        }
        let fresh: String = self.fresh.iter().map(|&at| self.variant.square_text(at)).collect();
        let fresh = if fresh.is_empty() { "-" } else { &fresh };
        format!("{text} {} {fresh}", self.variant.reserve_text(&self.reserve))
    }

    pub(crate) fn kind(&self, piece: TwinPiece) -> &TwinKind {
        &self.variant.kinds[piece.kind]
    }

    /// Squares with a side's pieces.
    pub(crate) fn of_side(&self, white: bool) -> Vec<(usize, TwinPiece)> {
        let pieces = self.board.iter().enumerate();
        pieces.filter_map(|(at, piece)| piece.filter(|p| p.white == white).map(|p| (at, p))).collect()
    }

    /// Squares of a side's royals.
    pub(crate) fn royals(&self, white: bool) -> Vec<usize> {
        self.of_side(white).into_iter().filter(|(_, p)| self.kind(*p).royal).map(|(at, _)| at).collect()
    }

    /// What a piece of `white`'s that started on `from` finds at a displacement from `at`, seen by its owner. The
    /// start counts as empty.
    pub(crate) fn look(&self, white: bool, from: usize, at: usize, (right, forward): Step) -> Found {
        let (rank, column) = self.variant.place(at);
        let sign = if white { -1 } else { 1 };
        let (rank, column) = (rank - sign * forward, column + sign * right);
        if !(0..self.variant.ranks).contains(&rank) || !(0..self.variant.files).contains(&column) {
            return Found::Outside;
        }
        let square = (rank * self.variant.files + column) as usize;
        match self.board[square] {
            Some(_) if square == from => Found::Free(square),
            None => Found::Free(square),
            Some(piece) if piece.white == white => Found::Own,
            Some(_) => Found::Enemy(square),
        }
    }

    /// The board after a move. Panics when no piece stands on its start.
    pub(crate) fn after(&self, mv: &TwinMove) -> TwinPosition {
        let mut next = self.clone();
        next.ban = None;
        next.white_to_move = !self.white_to_move;
        next.number += 1;
        let mut piece = match &mv.dropped {
            Some(code) => next.take_from_reserve(code),
            None => self.board[mv.from].expect("a piece on the move's start"),
        };
        next.move_fresh(mv, piece);
        let lion_taken = |at: &&usize| self.board[**at].is_some_and(|p| self.kind(p).lion);
        let taken: Vec<usize> = mv.captured.iter().filter(lion_taken).copied().collect();
        if self.variant.rules.lion_trading && !self.kind(piece).lion {
            next.ban = taken.iter().find(|&&at| at == mv.to).or(taken.first()).copied();
        }
        if mv.promote {
            piece.kind = self.kind(piece).promotes_to.expect("a piece that promotes");
        }
        next.board[mv.from] = None;
        for &at in &mv.captured {
            next.board[at] = None;
        }
        next.board[mv.to] = Some(piece);
        next
    }

    /// What makes two positions the same: side to move, the pieces, the square of the ban, reserve and fresh pieces.
    pub(crate) fn key(&self) -> Vec<u16> {
        let rules = &self.variant.rules;
        let same = |kind: usize| if rules.same_kind_when_promoted { self.variant.first_alike[kind] } else { kind };
        let number = |n: usize| u16::try_from(n).expect("a small number");
        let square = |piece: &Option<TwinPiece>| match piece {
            None => 0,
            Some(piece) => 1 + 2 * number(same(piece.kind)) + u16::from(piece.white),
        };
        let mut key: Vec<u16> = self.board.iter().map(square).collect();
        key.push(u16::from(self.white_to_move));
        let ban = self.ban.filter(|_| !rules.repetition_ignores_ban_square);
        key.push(ban.map_or(u16::MAX, number));
        key.extend(self.reserve.iter().flatten().map(|&count| number(count as usize)));
        key.extend(self.fresh.iter().map(|&at| number(at)));
        key
    }
}

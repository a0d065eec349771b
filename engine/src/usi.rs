//! Moves as text in USI, both ways.
//!
//! A move is its squares one after the other: from, what is captured on the way, to; `+` if the piece promotes. A lion
//! that captures and comes back ends where it started; a pass goes to an empty neighbour and back. When reading,
//! empty squares may stand on the way too: they make no difference. A drop is the kind's code, `*` and the square.

use crate::error::MoveError;
use crate::geometry::Square;
use crate::moves::Move;
use crate::piece::PieceKind;
use crate::position::Position;

impl Position {
    /// A move of this position as USI text.
    pub fn usi(&self, mv: Move) -> String {
        let board = self.variant.board;
        let name = |square| board.name(square);
        if let Some(kind) = mv.dropped() {
            let plus = if mv.promotes() { "+" } else { "" };
            let code = self.variant.kinds().get(kind.index()).map(|kind| kind.sfen()).unwrap_or_default();
            return format!("{code}*{}{plus}", name(mv.to()));
        }
        let (from, to) = (mv.from(), mv.to());
        let mut text = name(from);
        if mv.is_pass()
            && let Some(via) = self.first_empty_step(from)
        {
            text += &name(via);
        }
        let [first, second] = mv.on_the_way(board);
        for square in [first, second].into_iter().flatten() {
            // Out to the second square and back: what is captured on the first one comes before.
            let back_to_first = first.is_none() && board.distance(from, to) == 1 && from != to;
            if back_to_first && self.piece_at(to).is_some() {
                text += &name(to);
            }
            text += &name(square);
        }
        text += &name(to);
        if mv.promotes() {
            text.push('+');
        }
        text
    }

    /// The first empty neighbour, clockwise from up the board, over which the piece on `from` can pass.
    fn first_empty_step(&self, from: Square) -> Option<Square> {
        let piece = self.piece_at(from)?;
        let powers = &self.variant.powers[piece.kind.index()];
        (0..8)
            .filter(|&direction| {
                let own = (direction + 4 * piece.color.index()) % 8;
                powers.lion || powers.lines[own] > 0
            })
            .filter_map(|direction| self.variant.board.neighbour(from, direction))
            .find(|&square| self.piece_at(square).is_none())
    }

    /// Reads a legal move of this position.
    ///
    /// # Errors
    /// [`MoveError`] with the character at fault, or why the move is not legal.
    pub fn parse_usi(&self, text: &str) -> Result<Move, MoveError> {
        let fail = |rest: &str, message: String| {
            let read = &text[..text.len() - rest.len()];
            Err(MoveError { text: text.to_string(), at: read.chars().count() + 1, message })
        };
        let board = self.variant.board;
        if let Some((code, target)) = text.split_once('*') {
            let kind = self.variant.kinds().iter().position(|kind| !kind.is_promoted() && kind.sfen() == code);
            let Some(kind) = kind.map(PieceKind::new) else {
                return fail(text, format!("no piece `{code}` to put on the board"));
            };
            let Some((to, rest @ ("" | "+"))) = board.read_square(target) else {
                return fail(target, "expected a square and perhaps `+`".to_string());
            };
            let drop = Move::drop(kind, to);
            let mv = if rest == "+" { drop.promoting() } else { drop };
            return if self.is_legal(mv) { Ok(mv) } else { fail(text, "the piece cannot be put there".to_string()) };
        }
        let mut squares: Vec<Square> = Vec::new();
        let mut rest = text;
        while !rest.is_empty() && rest != "+" {
            match board.read_square(rest) {
                Some((square, after)) if squares.len() < 4 => {
                    squares.push(square);
                    rest = after;
                }
                Some(_) => return fail(rest, "more than four squares".to_string()),
                None => {
                    let last = (b'a' + board.ranks - 1) as char;
                    return fail(rest, format!("expected a square (1 to {}, a to {last}) or a final `+`", board.files));
                }
            }
        }
        let promotes = rest == "+";
        let (&[from, ref way @ ..], Some(&to)) = (squares.as_slice(), squares.last()) else {
            return fail("", "empty; expected a move such as `7g7f`".to_string());
        };
        let Some((_, between)) = way.split_last() else {
            return fail("", "only one square; expected where the piece goes".to_string());
        };
        match self.piece_at(from) {
            None => return fail(text, format!("no piece on {}", board.name(from))),
            Some(piece) if piece.color != self.side_to_move() => {
                return fail(
                    text,
                    format!("the piece on {} is {}'s, who is not to move", board.name(from), piece.color),
                );
            }
            Some(_) => {}
        }
        if !between.is_empty() && !self.can_walk(from, between, to) {
            return fail("", "the piece does not move over these squares".to_string());
        }
        let mut taken: Vec<Square> = between
            .iter()
            .copied()
            .filter(|&square| square != to && square != from && self.piece_at(square).is_some())
            .collect();
        taken.sort();
        taken.dedup();
        let mut moves = Vec::new();
        self.legal_moves(&mut moves);
        let same_way = |mv: &Move| {
            let mut on_the_way: Vec<_> = mv.on_the_way(board).into_iter().flatten().collect();
            on_the_way.sort();
            // A pass is only meant where the text goes out and back.
            mv.from() == from && mv.to() == to && on_the_way == taken && !(from == to && between.is_empty())
        };
        let found: Vec<Move> = moves.into_iter().filter(same_way).collect();
        match found.iter().find(|mv| mv.promotes() == promotes) {
            Some(&mv) => Ok(mv),
            None if found.is_empty() => fail(text, self.why_not(from, to)),
            None if promotes => fail(rest, "the piece cannot promote with this move".to_string()),
            None => fail("", "the piece must promote with this move: add `+`".to_string()),
        }
    }

    /// Whether a way over the squares `between` is one of several steps that the piece on `from` has.
    fn can_walk(&self, from: Square, between: &[Square], to: Square) -> bool {
        let Some(piece) = self.piece_at(from) else { return false };
        let powers = &self.variant.powers[piece.kind.index()];
        let near = |a: Square, b: Square| self.variant.board.distance(a, b) <= 1;
        if powers.lion && matches!(between, &[via] if via != from && near(from, via) && near(via, to)) {
            return true;
        }
        (0..8).any(|direction| {
            let steps = powers.lines[(direction + 4 * piece.color.index()) % 8] as usize;
            let step = |square: &Square| self.variant.steps[square.index()][direction];
            let line: Vec<Square> = std::iter::successors(step(&from), step).take(steps).collect();
            // Back to the start only from the first square: no steps are left further out.
            let back = to != from || between == line.get(..1).unwrap_or_default();
            steps > 0 && back && between.iter().chain([&to]).all(|square| line.contains(square) || *square == from)
        })
    }

    fn why_not(&self, from: Square, to: Square) -> String {
        if self.variant.lion_trading && from != to && !self.lion_trade_allows(Move::plain(from, to)) {
            return "the rules of lion trading forbid the capture".to_string();
        }
        format!(
            "no legal move goes from {} to {} like this",
            self.variant.board.name(from),
            self.variant.board.name(to)
        )
    }
}

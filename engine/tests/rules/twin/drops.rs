//! Pieces in reserve: putting them on the board, and the right to promote that comes with it.

use super::moves::TwinMove;
use super::position::{Reserve, TwinPiece, TwinPosition};
use super::variant::TwinVariant;
use std::collections::BTreeSet;

impl TwinVariant {
    pub(crate) fn has_drops(&self) -> bool {
        !self.reserve.is_empty()
    }

    /// The fifth field of an SFEN.
    pub(crate) fn reserve_text(&self, reserve: &Reserve) -> String {
        let mut text = String::new();
        for (white, counts) in [false, true].into_iter().zip(reserve) {
            for (&kind, &count) in self.reserve.iter().zip(counts).filter(|(_, count)| **count > 0) {
                if count > 1 {
                    text.push_str(&count.to_string());
                }
                text.push_str(&self.piece_text(TwinPiece { white, kind }));
            }
        }
        if text.is_empty() { "-".to_string() } else { text }
    }

    pub(crate) fn parse_reserve(&self, text: &str) -> Reserve {
        let mut reserve = [vec![0; self.reserve.len()], vec![0; self.reserve.len()]];
        let mut rest = if text == "-" { "" } else { text };
        while !rest.is_empty() {
            let digits = rest.chars().take_while(char::is_ascii_digit).count();
            let count: u32 = if digits == 0 { 1 } else { rest[..digits].parse().expect("digits") };
            let (piece, after) = self.parse_piece(&rest[digits..]);
            let at = self.reserve.iter().position(|&kind| kind == piece.kind);
            reserve[usize::from(piece.white)][at.unwrap_or_else(|| panic!("not for the reserve: {text}"))] += count;
            rest = after;
        }
        reserve
    }

    /// Squares written one after the other, or `-`.
    pub(crate) fn parse_squares(&self, text: &str) -> BTreeSet<usize> {
        let mut squares = BTreeSet::new();
        let mut rest = if text == "-" { "" } else { text };
        while !rest.is_empty() {
            let length = rest.chars().take_while(char::is_ascii_digit).count() + 1;
            let (square, after) = rest.split_at(length.min(rest.len()));
            squares.insert(self.parse_square(square).unwrap_or_else(|| panic!("no square {square}: {text}")));
            rest = after;
        }
        squares
    }
}

impl TwinPosition {
    /// Whether a side has anything in reserve.
    pub(crate) fn has_reserve(&self, white: bool) -> bool {
        self.reserve[usize::from(white)].iter().any(|&count| count > 0)
    }

    pub(crate) fn in_zone(&self, white: bool, at: usize) -> bool {
        self.variant.ranks_to_go(white, at) < self.variant.rules.zone
    }

    /// Every way to put a piece on an empty square next to one of the side's own, but not where it could never move;
    /// in the zone it may appear promoted.
    pub(crate) fn drops(&self) -> Vec<TwinMove> {
        let white = self.white_to_move;
        if !self.has_reserve(white) {
            return Vec::new();
        }
        let own = self.of_side(white);
        let mut empty_board = self.clone();
        empty_board.board.fill(None);
        let mut drops = Vec::new();
        for to in (0..self.board.len()).filter(|&at| self.board[at].is_none()) {
            if !own.iter().any(|&(at, _)| self.variant.distance(at, to) == 1) {
                continue;
            }
            for (n, &kind) in self.variant.reserve.iter().enumerate() {
                empty_board.board[to] = Some(TwinPiece { white, kind });
                if self.reserve[usize::from(white)][n] == 0 || empty_board.free_moves(to).is_empty() {
                    continue;
                }
                let dropped = Some(self.variant.kinds[kind].code.clone());
                let mv = TwinMove { from: to, to, captured: Vec::new(), promote: false, dropped };
                if self.in_zone(white, to) && self.variant.kinds[kind].promotes_to.is_some() {
                    drops.push(TwinMove { promote: true, ..mv.clone() });
                }
                drops.push(mv);
            }
            empty_board.board[to] = None;
        }
        drops
    }

    /// Takes a piece of the side that has just moved out of its reserve.
    pub(crate) fn take_from_reserve(&mut self, code: &str) -> TwinPiece {
        let white = !self.white_to_move;
        let at = self.variant.reserve.iter().position(|&kind| self.variant.kinds[kind].code == code);
        let at = at.unwrap_or_else(|| panic!("{code} is never in reserve"));
        let count = &mut self.reserve[usize::from(white)][at];
        *count = count.checked_sub(1).unwrap_or_else(|| panic!("no {code} in reserve"));
        TwinPiece { white, kind: self.variant.reserve[at] }
    }

    /// Follows the right to promote: it comes with being put into the zone, goes with the piece, and ends with capture,
    /// promotion or leaving the zone.
    pub(crate) fn move_fresh(&mut self, mv: &TwinMove, piece: TwinPiece) {
        let had_right = self.fresh.remove(&mv.from) || mv.dropped.is_some();
        for at in &mv.captured {
            self.fresh.remove(at);
        }
        let can_promote = self.kind(piece).promotes_to.is_some();
        if had_right && !mv.promote && can_promote && self.in_zone(piece.white, mv.to) {
            self.fresh.insert(mv.to);
        }
    }
}

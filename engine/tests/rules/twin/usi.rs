//! The twin's texts of moves.

use super::moves::TwinMove;
use super::position::TwinPosition;

impl TwinPosition {
    /// The text of a move. Squares taken on the way stand between, the nearest first, and among them the end when the
    /// piece goes on from there and comes back. Which neighbour a pass is written
    /// with says nothing, so here it is a tilde.
    pub(crate) fn usi(&self, mv: &TwinMove) -> String {
        let square = |at: usize| self.variant.square_text(at);
        let plus = if mv.promote { "+" } else { "" };
        if let Some(code) = &mv.dropped {
            return format!("{code}*{}{plus}", square(mv.to));
        }
        let mut text = square(mv.from);
        if mv.is_pass() {
            text.push('~');
        }
        let reach = |at: usize| self.variant.distance(mv.from, at);
        let turns_back = mv.captured.iter().any(|&at| reach(at) > reach(mv.to));
        let mut via: Vec<usize> = mv.captured.iter().copied().filter(|&at| at != mv.to || turns_back).collect();
        via.sort_by_key(|&at| reach(at));
        for at in via {
            text.push_str(&square(at));
        }
        text + &square(mv.to) + plus
    }

    /// The squares of a move's text.
    fn path(&self, text: &str) -> Vec<usize> {
        let mut path = Vec::new();
        let squares = text.replace(['~', '+'], "");
        let mut rest = squares.as_str();
        while !rest.is_empty() {
            let length = rest.chars().take_while(char::is_ascii_digit).count() + 1;
            let (square, after) = rest.split_at(length.min(rest.len()));
            path.push(self.variant.parse_square(square).unwrap_or_else(|| panic!("no square {square} in {text}")));
            rest = after;
        }
        path
    }

    /// Whether a text names squares on the way that take nothing and over which two steps would not lead there.
    pub(crate) fn goes_astray(&self, text: &str) -> bool {
        if text.contains('*') {
            return false;
        }
        let (path, mv) = (self.path(text), self.parse_usi(text));
        let ways = self.quiet_ways(&mv);
        let between = &path[1..path.len() - 1];
        between.iter().any(|at| !mv.captured.contains(at) && !ways.contains(at)) && !text.contains('~')
    }

    /// Reads a move's text. Nothing is checked but that the squares exist and something stands on the first.
    pub(crate) fn parse_usi(&self, text: &str) -> TwinMove {
        if let Some((code, square)) = text.split_once('*') {
            let to = self.path(square)[0];
            let (promote, dropped) = (text.ends_with('+'), Some(code.to_string()));
            return TwinMove { from: to, to, captured: Vec::new(), promote, dropped };
        }
        let (path, promote) = (self.path(text), text.ends_with('+'));
        let (from, to) = (path[0], *path.last().expect("two squares"));
        let mover =
            self.board[from].unwrap_or_else(|| panic!("{text}: nothing on the first square of {}", self.sfen()));
        let mut captured: Vec<usize> =
            path[1..].iter().copied().filter(|&at| self.board[at].is_some_and(|p| p.white != mover.white)).collect();
        captured.sort_unstable();
        captured.dedup();
        TwinMove { from, to, captured, promote, dropped: None }
    }
}

//! TSA notation, as English writing about large shogi has it since Hodges.

use super::spellings::SPELLINGS;
use super::{character, legal_moves, path};
use crate::error::MoveError;
use crate::geometry::Square;
use crate::moves::Move;
use crate::piece::PieceKind;
use crate::position::Position;
use crate::variant::Variant;

/// What happens on a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Move,
    Capture,
    /// A capture without moving.
    Igui,
    Drop,
}

impl Sign {
    /// The longest first, for reading.
    const ALL: [Sign; 4] = [Sign::Igui, Sign::Capture, Sign::Move, Sign::Drop];

    const fn as_str(self) -> &'static str {
        match self {
            Sign::Move => "-",
            Sign::Capture => "x",
            Sign::Igui => "x!",
            Sign::Drop => "*",
        }
    }
}

impl Position {
    /// A legal move of this position in TSA notation.
    ///
    /// The piece's abbreviation, `-` or `x`, the square, and `+` if it promotes or `=` if it could have and does not.
    /// Promoted pieces are `+` with the abbreviation of what they were. Where another piece that is written alike can
    /// do the same, the square it comes from stands after the piece. Further captures follow one by one, and a move
    /// that ends elsewhere than at its last capture says where with `-`. A capture without moving is `x!` with the
    /// square of what is taken, a pass names its own square twice, a drop has `*`.
    ///
    /// ```
    /// use engine::{Position, Variant};
    ///
    /// let chu = Variant::load("chu", None)?;
    /// let position = Position::from_sfen(&chu, "6k5/12/12/12/12/12/6N5/5G1p4/4p7/12/12/6K5 b - 1")?;
    /// let tsa = |usi: &str| position.parse_usi(usi).map(|mv| position.tsa(mv));
    /// assert_eq!(tsa("7h6h")?, "G-6h");
    /// assert_eq!(tsa("6g5h4g")?, "Lnx5h-4g");
    /// assert_eq!(tsa("6g5h6g")?, "Lnx!5h");
    /// assert_eq!(position.parse_tsa("Lnx!5h"), Ok(position.parse_usi("6g5h6g")?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tsa(&self, mv: Move) -> String {
        let board = self.variant.board;
        let moves = legal_moves(self);
        let steps = self.tsa_steps(mv);
        let mut text = self.tsa_kind(mv).map_or_else(String::new, |kind| abbreviation(&self.variant, kind));
        let alike = |other: Move| {
            other.from() != mv.from() && self.tsa_kind(other) == self.tsa_kind(mv) && self.tsa_steps(other) == steps
        };
        if mv.dropped().is_none() && (mv.is_pass() || moves.iter().any(|&other| alike(other))) {
            text += &board.name(mv.from());
        }
        for (sign, square) in steps {
            text += sign.as_str();
            text += &board.name(square);
        }
        if mv.promotes() {
            text.push('+');
        } else if moves.contains(&mv.promoting()) {
            text.push('=');
        }
        text
    }

    /// Reads a legal move of this position in TSA notation. The square where the piece starts may always be given.
    ///
    /// # Errors
    /// [`MoveError`] with the character at fault, or why the text does not name one legal move.
    pub fn parse_tsa(&self, text: &str) -> Result<Move, MoveError> {
        let fail =
            |rest: &str, message: String| Err(MoveError { text: text.to_string(), at: character(text, rest), message });
        let variant = &*self.variant;
        let board = variant.board;
        let Some((kinds, after_piece)) = read_piece(variant, text) else {
            return fail(text, format!("expected the abbreviation of a piece of {}", variant.name()));
        };
        let piece = &text[..text.len() - after_piece.len()];
        let (origin, mut rest) = match board.read_square(after_piece) {
            Some((square, rest)) => (Some(square), rest),
            None => (None, after_piece),
        };
        let mut steps: Vec<(Sign, Square)> = Vec::new();
        while (steps.is_empty() || !rest.is_empty()) && !matches!(rest, "+" | "=") {
            let Some(sign) = Sign::ALL.into_iter().find(|sign| rest.starts_with(sign.as_str())) else {
                let what = if steps.is_empty() { "`-`, `x`, `x!` or `*`" } else { "`x`, `-`, `+`, `=` or the end" };
                return fail(rest, format!("expected {what}"));
            };
            rest = &rest[sign.as_str().len()..];
            match board.read_square(rest) {
                Some((square, after)) => {
                    steps.push((sign, square));
                    rest = after;
                }
                None => return fail(rest, format!("expected a square after `{}`", sign.as_str())),
            }
        }
        let of_piece = |mv: &&Move| {
            self.tsa_kind(**mv).is_some_and(|kind| kinds.contains(&kind))
                && origin.is_none_or(|square| mv.dropped().is_none() && square == mv.from())
        };
        let moves = legal_moves(self);
        let found: Vec<Move> =
            moves.iter().filter(of_piece).copied().filter(|&mv| self.tsa_steps(mv) == steps).collect();
        let Some(&first) = found.first() else {
            let squares = |steps: &[(Sign, Square)]| steps.iter().map(|&(_, square)| square).collect::<Vec<_>>();
            let other_signs = moves.iter().filter(of_piece).map(|&mv| self.tsa_steps(mv));
            return match other_signs.into_iter().find(|other| squares(other) == squares(&steps)) {
                Some(signs) => {
                    let meant: String = signs
                        .iter()
                        .map(|&(sign, square)| format!("{}{}", sign.as_str(), board.name(square)))
                        .collect();
                    fail(after_piece, format!("wrong sign; the move is `{meant}`"))
                }
                None => fail(text, format!("no `{piece}` has a legal move like this")),
            };
        };
        if let Some(other) = found.iter().find(|mv| mv.dropped().is_none() && mv.from() != first.from()) {
            let (one, two) = (board.name(first.from()), board.name(other.from()));
            return fail(after_piece, format!("from {one} or from {two}? Name the square after the piece"));
        }
        let promoting = found.iter().find(|mv| mv.promotes());
        let plain = found.iter().find(|mv| !mv.promotes());
        match (rest, plain, promoting) {
            ("+", _, Some(&mv)) | ("=", Some(&mv), Some(_)) | ("", Some(&mv), None) => Ok(mv),
            ("+", ..) => fail(rest, "the piece cannot promote with this move".to_string()),
            ("=", _, None) => fail(rest, "the piece cannot promote with this move: leave out `=`".to_string()),
            (_, None, _) => fail(rest, "the piece must promote with this move: write `+`".to_string()),
            _ => fail(rest, "the piece may promote with this move: write `+` or `=`".to_string()),
        }
    }

    /// The kind that moves or is dropped.
    fn tsa_kind(&self, mv: Move) -> Option<PieceKind> {
        mv.dropped().or_else(|| self.piece_at(mv.from()).map(|piece| piece.kind))
    }

    /// What a move does, square by square.
    fn tsa_steps(&self, mv: Move) -> Vec<(Sign, Square)> {
        let (from, to) = (mv.from(), mv.to());
        if mv.dropped().is_some() {
            return vec![(Sign::Drop, to)];
        }
        // Most moves; the general case below gives the same.
        if !mv.has_way() && from != to {
            let sign = if self.piece_at(to).is_some() { Sign::Capture } else { Sign::Move };
            return vec![(sign, to)];
        }
        let mut steps: Vec<(Sign, Square)> = Vec::new();
        for square in path(self, mv) {
            if square != from && self.piece_at(square).is_some() && steps.iter().all(|&(_, other)| other != square) {
                steps.push((if from == to { Sign::Igui } else { Sign::Capture }, square));
            }
        }
        let ends_elsewhere = steps.last().is_none_or(|&(_, last)| last != to);
        if ends_elsewhere && (from != to || steps.is_empty()) {
            steps.push((Sign::Move, to));
        }
        steps
    }
}

fn abbreviation(variant: &Variant, kind: PieceKind) -> String {
    let kind = variant.kind(kind);
    format!("{}{}", if kind.is_promoted() { "+" } else { "" }, kind.tsa)
}

/// The kinds that the start of `text` abbreviates, and the rest.
fn read_piece<'t>(variant: &Variant, text: &'t str) -> Option<(Vec<PieceKind>, &'t str)> {
    let body = text.strip_prefix('+').unwrap_or(text);
    let promoted = body.len() < text.len();
    let has = |tsa: &str| variant.kinds().iter().any(|kind| kind.tsa == tsa);
    let own = variant.kinds().iter().map(|kind| (kind.tsa.as_str(), kind.tsa.as_str()));
    let pairs = SPELLINGS.tsa.iter().map(|[one, two]| (one.as_str(), two.as_str()));
    let others =
        pairs.flat_map(|(one, two)| [(one, two), (two, one)]).filter(|&(read, meant)| !has(read) && has(meant));
    let (read, meant) =
        own.chain(others).filter(|(read, _)| body.starts_with(read)).max_by_key(|(read, _)| read.len())?;
    let kinds: Vec<PieceKind> = (0..variant.kinds().len())
        .map(PieceKind::new)
        .filter(|&kind| variant.kind(kind).tsa == meant && variant.kind(kind).is_promoted() == promoted)
        .collect();
    (!kinds.is_empty()).then(|| (kinds, &body[read.len()..]))
}

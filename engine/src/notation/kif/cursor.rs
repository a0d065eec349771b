//! Reading a line of KIF piece by piece.

use super::{DIGITS, KifError};
use crate::geometry::{Board, Square};

/// A line and how far it has been read.
#[derive(Clone)]
pub(super) struct Cursor<'t> {
    line: usize,
    text: &'t str,
    pub(super) rest: &'t str,
}

impl<'t> Cursor<'t> {
    /// The start of a line with this number from 1.
    pub(super) fn new(line: usize, text: &'t str) -> Cursor<'t> {
        Cursor { line, text, rest: text }
    }

    /// The place of the end `rest` of the line, spaces behind it left out.
    pub(super) fn at_end(&self, rest: &'t str) -> Cursor<'t> {
        Cursor { text: self.text.trim_end(), rest, ..*self }
    }

    pub(super) fn fail<T>(&self, message: String) -> Result<T, KifError> {
        let column = self.text.chars().count() - self.rest.chars().count() + 1;
        Err(KifError { line: self.line, column, message })
    }

    pub(super) fn eat(&mut self, what: &str) -> bool {
        match self.rest.strip_prefix(what) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    pub(super) fn spaces(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes digits, full-width or ASCII, as they are.
    pub(super) fn digits(&mut self) -> Vec<u32> {
        let mut digits = Vec::new();
        while let Some((digit, after)) = digit(self.rest) {
            digits.push(digit);
            self.rest = after;
        }
        digits
    }

    /// A number below 100 in kanji.
    pub(super) fn kanji_number(&mut self) -> Option<usize> {
        let first = self.kanji_ones();
        if !self.eat("十") {
            return first;
        }
        let tens = 10 * first.unwrap_or(1);
        Some(tens + self.kanji_ones().unwrap_or(0))
    }

    fn kanji_ones(&mut self) -> Option<usize> {
        let digit = (1..10).find(|&digit| self.rest.starts_with(DIGITS[digit]))?;
        self.rest = &self.rest[DIGITS[digit].len()..];
        Some(digit)
    }

    /// The number of a move with what sets it off.
    pub(super) fn move_number(&mut self) -> Option<usize> {
        let mut cursor = self.clone();
        let digits = cursor.digits();
        let before = cursor.rest.len();
        while cursor.rest.starts_with(char::is_whitespace)
            || ["手目", ".", "。", "、"].iter().any(|sep| cursor.eat(sep))
        {
            cursor.spaces();
        }
        if digits.is_empty() || cursor.rest.len() == before {
            return None;
        }
        self.rest = cursor.rest;
        Some(value(&digits))
    }

    /// Which step of a move of several steps the line holds, from 1.
    pub(super) fn step(&mut self) -> Option<usize> {
        let mut cursor = self.clone();
        let step = cursor.kanji_number().filter(|_| cursor.eat("歩目"))?;
        self.rest = cursor.rest;
        Some(step)
    }

    /// File and rank: digits and a kanji number or a letter; on small boards two digits are enough, on larger ones as
    /// many digits as can only be divided in one way.
    pub(super) fn square(&mut self, board: Board) -> Option<Square> {
        let mut cursor = self.clone();
        let digits = cursor.digits();
        let letter = cursor.rest.bytes().next().filter(u8::is_ascii_lowercase);
        let (file, rank) = if let Some(rank) = cursor.kanji_number() {
            (value(&digits), rank)
        } else if let Some(letter) = letter {
            cursor.rest = &cursor.rest[1..];
            (value(&digits), (letter - b'a') as usize + 1)
        } else {
            let splits = (1..digits.len()).map(|at| digits.split_at(at)).filter(|(_, rank)| rank[0] != 0);
            let mut fitting = splits
                .map(|(file, rank)| (value(file), value(rank)))
                .filter(|&(file, rank)| on(board, file, rank).is_some());
            fitting.next().filter(|_| fitting.next().is_none())?
        };
        let square = on(board, file, rank)?;
        self.rest = cursor.rest;
        Some(square)
    }

    /// Where the piece comes from: a square in brackets.
    pub(super) fn origin(&mut self, board: Board) -> Option<Square> {
        let mut cursor = self.clone();
        let open = cursor.eat("(") || cursor.eat("（");
        let arrow = cursor.eat("←");
        let square = cursor.square(board).filter(|_| open || arrow)?;
        if open && !cursor.eat(")") && !cursor.eat("）") {
            return None;
        }
        self.rest = cursor.rest;
        Some(square)
    }

    /// What may stand behind a move: a time, a sign that variations follow, a comment.
    pub(super) fn end_of_move(&mut self) -> Result<Option<&'t str>, KifError> {
        self.spaces();
        let mut time = self.clone();
        if time.eat("(") || time.eat("（") {
            let inside =
                |c: char| c.is_whitespace() || matches!(c, '0'..='9' | '０'..='９' | ':' | '：' | '/' | '／' | '.');
            time.rest = time.rest.trim_start_matches(inside);
            if time.eat(")") || time.eat("）") {
                time.eat("+");
                self.rest = time.rest;
                self.spaces();
            }
        }
        match self.rest.chars().next() {
            None | Some('#' | '&') => Ok(None),
            Some(star @ ('*' | '＊')) => Ok(Some(self.rest[star.len_utf8()..].trim())),
            Some(_) => self.fail("expected a time in brackets or the end of the line".to_string()),
        }
    }
}

/// A digit at the start of `text`, full-width or ASCII, and the rest.
pub(super) fn digit(text: &str) -> Option<(u32, &str)> {
    let first = text.chars().next()?;
    let digit = match first {
        '0'..='9' => first as u32 - '0' as u32,
        '０'..='９' => first as u32 - '０' as u32,
        _ => return None,
    };
    Some((digit, &text[first.len_utf8()..]))
}

/// The number with these digits, capped where it means nothing any more.
pub(super) fn value(digits: &[u32]) -> usize {
    digits.iter().fold(0, |value, &digit| (10 * value + digit as usize).min(9_999_999))
}

fn on(board: Board, file: usize, rank: usize) -> Option<Square> {
    let (files, ranks) = (board.files as usize, board.ranks as usize);
    let on_board = (1..=files).contains(&file) && (1..=ranks).contains(&rank);
    on_board.then(|| Square::new(rank * files - file))
}

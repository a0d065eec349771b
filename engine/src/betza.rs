//! Betza's notation for the ordinary moves of a piece, in the dialect of the variant files.
//!
//! A move string is a row of atoms, each with optional direction letters before it and an optional range after it:
//!
//! * `W` one square orthogonally, `F` one square diagonally, `K` both; `R`, `B`, `Q` the same without limit;
//! * a number after an atom limits how far it slides: `R2`, `B5`, `Q3`;
//! * `D` jumps two squares orthogonally, `A` two diagonally, `N` like a knight;
//! * letters before an atom leave only some directions: `f` forward, `b` backward, `l` left, `r` right, `v` forward and
//!   backward, `s` left and right. Of a diagonal move `f` means both forward diagonals; of a knight's move `ff` means
//!   the two that go furthest forward;
//! * letters in brackets name one exact diagonal: `[fr]B` slides forward to the right only.
//!
//! Left and right are the owner's.

use crate::geometry::MAX_SIDE;

/// A way to move along a straight line: `range` times (`right`, `forward`) over empty squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slide {
    pub(crate) right: i8,
    pub(crate) forward: i8,
    pub(crate) range: u8,
}

/// A range that no board limits.
pub(crate) const UNLIMITED: u8 = MAX_SIDE as u8;

const ORTHOGONAL: [(i8, i8); 4] = [(0, 1), (1, 0), (0, -1), (-1, 0)];
const DIAGONAL: [(i8, i8); 4] = [(1, 1), (1, -1), (-1, -1), (-1, 1)];
const KNIGHT: [(i8, i8); 8] = [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// Reads a move string. The result has one slide for each offset, the longest that the string gives.
///
/// # Errors
/// The byte position in `text` and what is wrong there.
pub(crate) fn parse(text: &str) -> Result<Vec<Slide>, (usize, String)> {
    let bytes = text.as_bytes();
    let mut slides: Vec<Slide> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let mut exact: Vec<&str> = Vec::new();
        let mut letters = String::new();
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'f' | b'b' | b'l' | b'r' | b's' | b'v' => {
                    letters.push(byte as char);
                    at += 1;
                }
                b'[' => {
                    let close = text[at..].find(']').ok_or((at, "`[` without `]`".to_string()))?;
                    exact.push(&text[at + 1..at + close]);
                    at += close + 1;
                }
                _ => break,
            }
        }
        let atom = *bytes.get(at).ok_or((start, "direction letters without an atom after them".to_string()))?;
        let atom_at = at;
        if !b"WFKRBQDAN".contains(&atom) {
            let found = text[atom_at..].chars().next().unwrap_or('?');
            return Err((atom_at, format!("unknown letter `{found}`; expected one of W F K R B Q D A N")));
        }
        at += 1;
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let number = match &text[at..at + digits] {
            "" => None,
            digits => Some(
                digits
                    .parse::<u8>()
                    .ok()
                    .filter(|n| (1..=UNLIMITED).contains(n))
                    .ok_or((at, format!("range `{digits}`; expected 1 to {UNLIMITED}")))?,
            ),
        };
        at += digits;
        let both = [ORTHOGONAL, DIAGONAL].concat();
        let (offsets, scale, range): (&[(i8, i8)], i8, u8) = match atom {
            b'W' => (&ORTHOGONAL, 1, 1),
            b'F' => (&DIAGONAL, 1, 1),
            b'K' => (&both, 1, 1),
            b'R' => (&ORTHOGONAL, 1, UNLIMITED),
            b'B' => (&DIAGONAL, 1, UNLIMITED),
            b'Q' => (&both, 1, UNLIMITED),
            b'D' => (&ORTHOGONAL, 2, 1),
            b'A' => (&DIAGONAL, 2, 1),
            _ => (&KNIGHT, 1, 1),
        };
        if number.is_some() && !b"RBQ".contains(&atom) {
            return Err((atom_at, format!("`{}` takes no range; only R, B and Q do", atom as char)));
        }
        for group in &exact {
            let diagonal = matches!(*group, "fr" | "rf" | "fl" | "lf" | "br" | "rb" | "bl" | "lb");
            if !diagonal || !b"FBQKA".contains(&atom) {
                let what = "brackets name one diagonal (fr, fl, br or bl) of F, K, A, B or Q";
                return Err((start, format!("`[{group}]{}`: {what}", atom as char)));
            }
        }
        let chosen: Vec<_> = offsets
            .iter()
            .copied()
            .filter(|&offset| {
                (letters.is_empty() && exact.is_empty())
                    || wanted(&letters, offset, atom)
                    || exact.iter().any(|group| group.chars().all(|letter| points(letter, offset)))
                        && offset.0 != 0
                        && offset.1 != 0
                        && !exact.is_empty()
            })
            .collect();
        if chosen.is_empty() {
            return Err((start, format!("no direction of `{}` is left", atom as char)));
        }
        for (right, forward) in chosen {
            let (right, forward) = (right * scale, forward * scale);
            let range = number.unwrap_or(range);
            match slides.iter_mut().find(|slide| (slide.right, slide.forward) == (right, forward)) {
                Some(slide) => slide.range = slide.range.max(range),
                None => slides.push(Slide { right, forward, range }),
            }
        }
    }
    Ok(slides)
}

fn wanted(letters: &str, offset: (i8, i8), atom: u8) -> bool {
    if atom == b'N' {
        let far = |doubled: &str, letter: char| letters.contains(doubled) && points(letter, offset);
        let (along, across) = (offset.1.abs() == 2, offset.0.abs() == 2);
        return (along && (far("ff", 'f') || far("bb", 'b'))) || (across && (far("ll", 'l') || far("rr", 'r')));
    }
    // Of a step or slide in all eight directions a sideways letter means the straight one, as in `frlK`.
    let mixed = matches!(atom, b'K' | b'Q');
    letters.chars().any(|letter| {
        let sideways = matches!(letter, 'l' | 'r' | 's');
        points(letter, offset) && !(mixed && sideways && offset.1 != 0)
    })
}

fn points(letter: char, (right, forward): (i8, i8)) -> bool {
    match letter {
        'f' => forward > 0,
        'b' => forward < 0,
        'l' => right < 0,
        'r' => right > 0,
        'v' => forward != 0,
        _ => right != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        parse(text).expect(text).len()
    }

    /// Numbers of directions counted by hand on a diagram of each piece.
    #[test]
    fn directions() {
        for (text, expected) in [
            ("K", 8),
            ("FfsW", 7),
            ("ffN", 2),
            ("vRfB", 4),
            ("frlK", 5),
            ("fR[fr][bl]BbW", 4),
            ("rlR[fr]BfbR2fF", 6),
            ("Q2fQ", 8),
            ("rlWfDbA", 5),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
    }

    #[test]
    fn errors_name_the_place() {
        for (text, place) in [("WxF", 1), ("fR[f", 2), ("fr", 0), ("W2", 0), ("R99", 1), ("[fr]W", 0), ("Wé", 1)] {
            assert_eq!(parse(text).expect_err(text).0, place, "{text}");
        }
    }
}

//! Reading KIF.

use std::sync::Arc;

use super::cursor::{Cursor, digit, value};
use super::diagram::{self, RESERVES};
use super::names::Names;
use super::{Ending, KifError, KifGame, WORDS, start_position};
use crate::game::Game;
use crate::geometry::{Color, Square};
use crate::notation::{find, find_drop};
use crate::piece::PieceKind;
use crate::variant::Variant;

/// Reads a game of `variant`. Every move must be legal there; the rules play it.
///
/// The game begins from the variant's start position, one of its named positions (`手合割`), or a diagram. Where moves are
/// numbered, the numbers must follow each other.
///
/// # Errors
/// [`KifError`] with the line and column at fault.
///
/// ```
/// use engine::Variant;
/// use engine::notation::kif::{self, Ending};
///
/// let sho = Variant::load("sho", None)?;
/// let read = kif::read("先手：甲\n1 ７六歩(77)\n2 ３四歩(33)\n3 ２二角成(88)\n4 同　銀(31)\n5 投了\n", &sho)?;
/// assert_eq!((read.game.ply(), read.ending), (4, Some(Ending::Resignation)));
///
/// let error = kif::read("1 ７六歩(77)\n2 ３四金(33)\n", &sho).unwrap_err();
/// assert_eq!((error.line, error.column), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(text: &str, variant: &Arc<Variant>) -> Result<KifGame, KifError> {
    let mut reader = Reader::new(variant);
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = 0;
    for line in text.lines() {
        lines += 1;
        if reader.line(Cursor::new(lines, line))? == Flow::Stop {
            break;
        }
    }
    reader.finish(Cursor::new(lines.max(1), ""))
}

/// Key and value of a header line.
pub(super) fn header(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(['：', ':'])?;
    let (key, value) = (key.trim(), value.trim());
    // A time also has a colon, but stands in brackets; the other lines begin with a sign of their own.
    let other = ['#', '&', '*', '＊', '|', '+'];
    let words = ["変化", "まで", "手数"];
    let fits = !key.is_empty()
        && !key.contains(['(', '（'])
        && !key.starts_with(other)
        && !words.iter().any(|word| key.starts_with(word))
        && !line.trim_end_matches('\n').contains(['\n', '\r']);
    fits.then_some((key, value))
}

#[derive(PartialEq, Eq)]
enum Flow {
    Next,
    Stop,
}

/// One step of a move.
struct Step {
    to: Square,
    /// The destination is 同 or 仝.
    same: bool,
    from: Option<Square>,
    kinds: Vec<PieceKind>,
    /// 成 or 不成.
    promotes: Option<bool>,
    drop: bool,
}

/// A move of several steps of which not all may have been read.
struct Pending<'t> {
    steps: Vec<Step>,
    place: Cursor<'t>,
}

struct Reader<'t> {
    variant: Arc<Variant>,
    names: Names,
    headers: Vec<(String, String)>,
    handicap: Option<(String, Cursor<'t>)>,
    ranks: Vec<Cursor<'t>>,
    reserves: Vec<(Color, Cursor<'t>)>,
    side: Color,
    comments: Vec<(usize, String)>,
    /// Once moves have begun.
    game: Option<Game>,
    pending: Option<Pending<'t>>,
    /// What the first move's number is more than 0.
    first_number: Option<usize>,
    ending: Option<Ending>,
    winner: Option<Color>,
    /// After the line that ends the game.
    over: bool,
}

impl<'t> Reader<'t> {
    fn new(variant: &Arc<Variant>) -> Reader<'t> {
        Reader {
            variant: variant.clone(),
            names: Names::new(variant),
            headers: Vec::new(),
            handicap: None,
            ranks: Vec::new(),
            reserves: Vec::new(),
            side: Color::Black,
            comments: Vec::new(),
            game: None,
            pending: None,
            first_number: None,
            ending: None,
            winner: None,
            over: false,
        }
    }

    fn finish(mut self, end: Cursor<'t>) -> Result<KifGame, KifError> {
        self.finish_pending()?;
        self.begin(&end)?;
        let game = self.game.expect("the game has begun");
        let Reader { headers, comments, ending, winner, .. } = self;
        Ok(KifGame { headers, game, comments, ending, winner })
    }

    /// One line, whatever it holds.
    fn line(&mut self, mut cursor: Cursor<'t>) -> Result<Flow, KifError> {
        cursor.spaces();
        let rest = cursor.rest.trim_end();
        let starts = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
        let before_moves = self.game.is_none();
        if rest.is_empty() || starts(&["#", "&", "手数"]) {
            return Ok(Flow::Next);
        } else if starts(&["*", "＊"]) {
            self.comments.push((self.plies(), rest.trim_start_matches(['*', '＊']).trim().to_string()));
        } else if starts(&["変化"]) {
            return Ok(Flow::Stop);
        } else if starts(&["まで"]) {
            self.closing(cursor)?;
        } else if starts(&["後手番", "上手番"]) && before_moves {
            self.side = Color::White;
        } else if starts(&["先手番", "下手番"]) && before_moves {
            self.side = Color::Black;
        } else if starts(&["|"]) && before_moves {
            self.ranks.push(cursor);
        } else if starts(&["+-"]) && before_moves {
            // The edge of a diagram.
        } else if let Some((key, value)) = header(rest) {
            self.header(key, value, &cursor)?;
        } else if before_moves && rest.chars().all(|c| c.is_whitespace() || digit(c.encode_utf8(&mut [0; 4])).is_some())
        {
            // The files of a diagram.
        } else {
            self.move_line(cursor)?;
        }
        Ok(Flow::Next)
    }

    fn header(&mut self, key: &str, value: &'t str, cursor: &Cursor<'t>) -> Result<(), KifError> {
        let place = cursor.at_end(value);
        if let Some(&(_, color)) = RESERVES.iter().find(|(reserve, _)| *reserve == key) {
            self.reserves.push((color, place));
            return Ok(());
        }
        match (key, value) {
            ("手番", "後手" | "上手") if self.game.is_none() => self.side = Color::White,
            ("手合割", _) => self.handicap = Some((value.to_string(), place)),
            _ => {}
        }
        if !value.is_empty() {
            self.headers.push((key.to_string(), value.to_string()));
        }
        Ok(())
    }

    /// Sets up the start position once the headers are over.
    fn begin(&mut self, cursor: &Cursor<'t>) -> Result<(), KifError> {
        if self.game.is_some() {
            return Ok(());
        }
        let position = if !self.ranks.is_empty() {
            diagram::read(&self.variant, &self.names, &self.ranks, &self.reserves, self.side)?
        } else {
            let (handicap, place) = self.handicap.as_ref().map_or(("", cursor), |(text, place)| (text.as_str(), place));
            match start_position(&self.variant, handicap) {
                Some(position) => position,
                None => {
                    let (name, kanji) = (self.variant.name(), self.variant.kanji());
                    return place.fail(format!(
                        "`{handicap}` is no start position of {name}; expected 平手, {kanji} or a diagram of the board"
                    ));
                }
            }
        };
        self.game = Some(Game::new(position));
        Ok(())
    }

    /// Moves read, one that is not complete included.
    fn plies(&self) -> usize {
        self.game.as_ref().map_or(0, Game::ply) + self.pending.is_some() as usize
    }

    fn move_line(&mut self, mut cursor: Cursor<'t>) -> Result<(), KifError> {
        self.begin(&cursor)?;
        let place = cursor.clone();
        let number = cursor.move_number();
        let step = cursor.step();
        cursor.spaces();
        if step.is_none_or(|step| step == 1) {
            self.finish_pending()?;
        }
        if self.over {
            return place.fail("a line after the end of the game".to_string());
        }
        let game = self.game.as_ref().expect("the game has begun");
        let side = game.position().side_to_move();
        if let Some(number) = number {
            let first = *self.first_number.get_or_insert(number.saturating_sub(game.ply()));
            let expected = first + game.ply();
            if number != expected {
                return place.fail(format!("move number {number}; expected {expected}"));
            }
        }
        if let Some((word, ending)) = WORDS.iter().find(|(word, _)| cursor.rest.starts_with(word)) {
            cursor.eat(word);
            self.ending = Some(*ending);
            self.over = true;
            self.winner = ending.winner(side);
            return self.end_of_line(cursor);
        }
        let marks = [("▲", Color::Black), ("☗", Color::Black), ("△", Color::White), ("☖", Color::White)];
        if let Some((mark, color)) = marks.into_iter().find(|(mark, _)| cursor.rest.starts_with(mark)) {
            if color != side {
                return cursor.fail(format!("`{mark}` is {color}'s, but {side} is to move"));
            }
            cursor.eat(mark);
        }
        let read = self.step(&mut cursor, step.unwrap_or(1) == 1)?;
        match (step, &mut self.pending) {
            (None | Some(1), pending) => *pending = Some(Pending { steps: vec![read], place }),
            (Some(step), Some(pending)) if pending.steps.len() + 1 == step => {
                // Some programs write 仝 for all steps if the last one ends where the move before did.
                if let (Some(before), Some(from)) = (pending.steps.last_mut().filter(|step| step.same), read.from) {
                    before.to = from;
                }
                pending.steps.push(read);
            }
            (Some(step), _) => return place.fail(format!("step {step} without the step before")),
        }
        if step.is_none() {
            self.finish_pending()?;
        }
        self.end_of_line(cursor)
    }

    fn end_of_line(&mut self, mut cursor: Cursor<'t>) -> Result<(), KifError> {
        if let Some(comment) = cursor.end_of_move()? {
            self.comments.push((self.plies(), comment.to_string()));
        }
        Ok(())
    }

    /// Destination, piece, promotion, origin.
    fn step(&self, cursor: &mut Cursor<'t>, first: bool) -> Result<Step, KifError> {
        let board = self.variant.board();
        let same = cursor.eat("同") || cursor.eat("仝");
        let to = if same {
            let last = self.game.as_ref().and_then(Game::last).map(|undo| undo.mv().to());
            match last {
                Some(square) => square,
                None => {
                    return cursor.fail("the same square as that of the move before, but there is none".to_string());
                }
            }
        } else {
            match cursor.square(board) {
                Some(square) => square,
                None => {
                    return cursor.fail("expected a square such as `7八`, `同`, or the end of the game".to_string());
                }
            }
        };
        cursor.spaces();
        let Some((kinds, rest)) = self.names.read(cursor.rest) else {
            return cursor.fail(format!("expected the name of a piece of {}", self.variant.name()));
        };
        cursor.rest = rest;
        let promotes = if cursor.eat("不成") {
            Some(false)
        } else if cursor.eat("成") || cursor.eat("+") {
            Some(true)
        } else {
            None
        };
        let drop = cursor.eat("打");
        cursor.spaces();
        for mark in ["（居食い）", "(居食い)", "（じっと）", "(じっと)", "まで"] {
            if cursor.eat(mark) {
                break;
            }
        }
        cursor.spaces();
        let from = cursor.origin(board);
        if from.is_none() && first && !drop {
            return cursor.fail("expected the square the piece comes from, such as `(77)` or `（←7九）`".to_string());
        }
        Ok(Step { to, same, from, kinds, promotes, drop })
    }

    /// Plays the move whose steps have been read.
    fn finish_pending(&mut self) -> Result<(), KifError> {
        let Some(Pending { steps, place }) = self.pending.take() else { return Ok(()) };
        let game = self.game.as_mut().expect("a move is read after the game has begun");
        let position = game.position();
        let name = |square: Square| position.variant().board().name(square);
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Ok(()) };
        let promotes = last.promotes == Some(true);
        let found = if first.drop && steps.len() == 1 {
            find_drop(position, &first.kinds, first.to, promotes)
        } else {
            let mut squares: Vec<Square> = first.from.into_iter().collect();
            let piece = first.from.and_then(|from| position.piece_at(from));
            for (number, step) in steps.iter().enumerate() {
                if step.from.is_some_and(|from| squares.last().is_some_and(|&before| before != from)) {
                    return place.fail(format!("step {} does not start where the one before ended", number + 1));
                }
                if piece.is_none_or(|piece| !step.kinds.contains(&piece.kind)) {
                    let start = first.from.map_or_else(String::new, name);
                    return place.fail(format!("another piece than the one named stands on {start}"));
                }
                if step.drop || (step.promotes == Some(true) && number + 1 < steps.len()) {
                    return place.fail(format!("step {} puts a piece on the board or promotes one", number + 1));
                }
                squares.push(step.to);
            }
            find(position, &squares, promotes)
        };
        let mv = found.or_else(|message| place.fail(message))?;
        game.play(mv).or_else(|error| place.fail(error.message))
    }

    /// The closing line: まで, the number of moves, the result.
    fn closing(&mut self, mut cursor: Cursor<'t>) -> Result<(), KifError> {
        self.begin(&cursor)?;
        self.finish_pending()?;
        let game = self.game.as_ref().expect("the game has begun");
        cursor.eat("まで");
        let place = cursor.clone();
        let digits = cursor.digits();
        if !digits.is_empty() && self.first_number.is_none_or(|first| first == 1) && value(&digits) != game.ply() {
            return place.fail(format!("{} moves; {} have been read", value(&digits), game.ply()));
        }
        let says = |words: [&str; 2]| words.iter().any(|word| cursor.rest.contains(word));
        let won = ["勝ち", "勝"].iter().any(|word| cursor.rest.contains(word));
        let lost = cursor.rest.contains("負け");
        let named = if says(["先手", "下手"]) {
            Some(Color::Black)
        } else if says(["後手", "上手"]) {
            Some(Color::White)
        } else {
            None
        };
        let winner = match (won, lost) {
            (true, false) => named,
            (false, true) => named.map(|side| !side),
            _ => None,
        };
        if winner.is_some() && self.winner.is_some() && winner != self.winner {
            return place.fail("the winner is not the one that the last line of the game gives".to_string());
        }
        self.winner = self.winner.or(winner);
        self.over = true;
        let drawn = [Ending::Repetition, Ending::Impasse, Ending::Draw, Ending::Interrupted];
        let word = WORDS.iter().find(|(word, ending)| drawn.contains(ending) && cursor.rest.contains(word));
        self.ending = self.ending.or(word.filter(|_| winner.is_none()).map(|(_, ending)| *ending));
        Ok(())
    }
}

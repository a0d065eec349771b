//! Whole games in KIF, the format of Japanese programs.
//!
//! Sources: Y. Kakinoki's description of the format for shogi; for large boards, where nothing is written down, what
//! lishogi writes and reads for chu shogi. Boards of up to nine files and ranks are written as shogi is:
//!
//! ```text
//!    1 ７六歩(77)
//! ```
//!
//! and larger ones with full names and the origin in the same form as the destination, a move of several steps line by
//! line:
//!
//! ```text
//!    1手目   7八歩兵 （←7九）
//!   57手目一歩目 6六獅子 （←7七）
//!   57手目二歩目 7七獅子（居食い） （←6六）
//! ```
//!
//! Either form is read on any board, with full-width or ASCII digits, with `同` or `仝` for the square of the move
//! before. The text is UTF-8. Times are skipped, and so are variations (`変化`), which stand behind the game.

mod cursor;
mod diagram;
mod names;
mod read;

use std::sync::Arc;

use thiserror::Error;

use super::{legal_moves, path};
use crate::game::Game;
use crate::geometry::{Board, Color, Square};
use crate::moves::Move;
use crate::outcome::Reason;
use crate::position::Position;
use crate::variant::Variant;
use names::Names;
pub use read::read;

/// How a record says that a game ended. What a side did or suffered is meant of the side to move at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// 投了: the side to move resigned.
    Resignation,
    /// 詰み: the side to move is mated, has lost its royals or cannot move.
    Mate,
    /// 千日手: a draw by repetition.
    Repetition,
    /// 持将棋: a draw because neither can win.
    Impasse,
    /// 引き分け: another draw.
    Draw,
    /// 中断: the record stops; nobody has won.
    Interrupted,
    /// 切れ負け: the side to move ran out of time.
    TimeUp,
    /// 反則勝ち: the side to move wins because the move before broke the rules.
    WinByFoul,
    /// 反則負け: the side to move loses because it broke the rules.
    Foul,
    /// 入玉勝ち: the side to move wins by a declaration.
    Declaration,
    /// 不戦勝: the side to move wins because the other did not appear.
    WinByDefault,
    /// 不戦敗: the side to move loses because it did not appear.
    Default,
}

/// The words; the first of an ending is the one written.
const WORDS: [(&str, Ending); 17] = [
    ("投了", Ending::Resignation),
    ("詰み", Ending::Mate),
    ("千日手", Ending::Repetition),
    ("持将棋", Ending::Impasse),
    ("引き分け", Ending::Draw),
    ("引分け", Ending::Draw),
    ("中断", Ending::Interrupted),
    ("切れ負け", Ending::TimeUp),
    ("時間切れ", Ending::TimeUp),
    ("Time-up", Ending::TimeUp),
    ("TIME_UP", Ending::TimeUp),
    ("反則勝ち", Ending::WinByFoul),
    ("反則負け", Ending::Foul),
    ("入玉勝ち", Ending::Declaration),
    ("宣言勝ち", Ending::Declaration),
    ("不戦勝", Ending::WinByDefault),
    ("不戦敗", Ending::Default),
];

impl Ending {
    /// The word in the record.
    pub fn as_str(self) -> &'static str {
        WORDS.iter().find(|(_, ending)| *ending == self).expect("every ending has a word").0
    }

    /// Who has won when the game ended so with `side` to move; `None` for a draw or an unfinished game.
    pub fn winner(self, side: Color) -> Option<Color> {
        match self {
            Ending::Repetition | Ending::Impasse | Ending::Draw | Ending::Interrupted => None,
            Ending::WinByFoul | Ending::Declaration | Ending::WinByDefault => Some(side),
            Ending::Resignation | Ending::Mate | Ending::TimeUp | Ending::Foul | Ending::Default => Some(!side),
        }
    }

    /// What KIF has for the end of a game. It has no word for some: a bared royal, and a side that loses by its own
    /// last move without a foul; then only the closing line names the winner.
    pub fn of(game: &Game) -> Option<Ending> {
        let Some(outcome) = game.outcome() else { return Some(Ending::Interrupted) };
        let to_move_wins = outcome.winner.map(|winner| winner == game.position().side_to_move());
        match (outcome.reason, to_move_wins) {
            (Reason::Repetition, None) => Some(Ending::Repetition),
            (_, None) => Some(Ending::Draw),
            (Reason::RoyalCaptured | Reason::NoMoves, Some(false)) => Some(Ending::Mate),
            (Reason::PerpetualCheck | Reason::PerpetualAttack | Reason::RepetitionBurden, Some(true)) => {
                Some(Ending::WinByFoul)
            }
            (Reason::PerpetualCheck | Reason::PerpetualAttack | Reason::RepetitionBurden, Some(false)) => {
                Some(Ending::Foul)
            }
            _ => None,
        }
    }
}

/// A game read from KIF.
#[derive(Clone, Debug)]
pub struct KifGame {
    /// Header lines in order, those without a value left out: `先手`, `後手`, `開始日時` and so on.
    pub headers: Vec<(String, String)>,
    /// The game with its moves, played by the rules.
    pub game: Game,
    /// Comments: after how many moves, text.
    pub comments: Vec<(usize, String)>,
    /// How the record says that the game ended, if it does.
    pub ending: Option<Ending>,
    /// Who won, as the ending or the closing line says.
    pub winner: Option<Color>,
}

/// Why a text is not a game in KIF.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("KIF, line {line}, column {column}: {message}")]
pub struct KifError {
    /// Line from 1.
    pub line: usize,
    /// Column from 1, in characters.
    pub column: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// A game as KIF, ended as its outcome says; a game without one is written as interrupted.
///
/// `headers` are lines before the moves such as (`先手`, name of Black); a pair that cannot be such a line is left out. A
/// game that does not begin from the variant's start position has a diagram. It shows neither the lion-ban square nor
/// which pieces were just put into the promotion zone.
///
/// ```
/// use engine::notation::kif;
/// use engine::{Game, Position, Variant};
///
/// let chu = Variant::load("chu", None)?;
/// let mut game = Game::new(Position::start(&chu));
/// for usi in ["7i7h", "7d7e"] {
///     game.play(game.position().parse_usi(usi)?)?;
/// }
/// let text = kif::write(&game, &[("先手", "Ōhashi")]);
/// assert!(text.contains("先手：Ōhashi\n"));
/// assert!(text.contains("   1手目   7八歩兵 （←7九）\n   2手目   7五歩兵 （←7四）\n"));
/// assert!(text.ends_with("まで2手で中断\n"));
/// assert!(kif::read(&text, &chu)?.game.moves().eq(game.moves()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(game: &Game, headers: &[(&str, &str)]) -> String {
    write_text(game, headers, Ending::of(game), game.outcome().and_then(|outcome| outcome.winner))
}

/// A game as KIF, ended in a way that the rules core does not know of, such as by resignation. Otherwise as
/// [`write()`].
pub fn write_ended(game: &Game, headers: &[(&str, &str)], ending: Ending) -> String {
    write_text(game, headers, Some(ending), ending.winner(game.position().side_to_move()))
}

fn write_text(game: &Game, headers: &[(&str, &str)], ending: Option<Ending>, winner: Option<Color>) -> String {
    let variant = game.position().variant();
    let names = Names::new(variant);
    let mut text = String::new();
    let players = ["先手", "後手"];
    for &(key, value) in headers.iter().filter(|(key, _)| *key != "手合割" && !players.contains(key)) {
        let line = header_line(key, value);
        if read::header(&line) == Some((key, value)) {
            text += &line;
        }
    }
    let from_start = without_number(&game.start().sfen()) == without_number(&Position::start(variant).sfen());
    if from_start {
        text += &header_line("手合割", variant.kanji());
    } else {
        text += &diagram::write(game.start(), &names);
    }
    for player in players {
        let value = headers.iter().find(|(key, _)| *key == player).map_or("", |(_, value)| value);
        let line = header_line(player, value);
        text += if read::header(&line) == Some((player, value)) { line } else { header_line(player, "") }.as_str();
    }
    text += "手数----指手---------消費時間--\n";
    let mut position = game.start().clone();
    let mut last = None;
    for (ply, mv) in game.moves().enumerate() {
        text += &move_lines(&position, &names, ply + 1, mv, last);
        position.play_unchecked(mv);
        last = Some(mv.to());
    }
    let plies = game.ply();
    if let Some(ending) = ending {
        text += &format!("{:>4}   {}\n", plies + 1, ending.as_str());
    }
    let result = match (winner, ending) {
        (Some(Color::Black), _) => "先手の勝ち",
        (Some(Color::White), _) => "後手の勝ち",
        (None, Some(ending)) => ending.as_str(),
        (None, None) => return text,
    };
    text + &format!("まで{plies}手で{result}\n")
}

fn header_line(key: &str, value: &str) -> String {
    format!("{key}：{value}\n")
}

/// An SFEN without its move number and lion-ban square.
fn without_number(sfen: &str) -> Vec<&str> {
    sfen.split(' ').enumerate().filter(|(field, _)| !matches!(field, 2 | 3)).map(|(_, text)| text).collect()
}

/// The line of a move, or one for each of its steps.
fn move_lines(position: &Position, names: &Names, number: usize, mv: Move, last: Option<Square>) -> String {
    let board = position.variant().board();
    let square = |square: Square, names: &Names| {
        let (file, rank) = file_rank(board, square);
        let file = if names.is_small() { wide(file) } else { file.to_string() };
        file + &kanji_number(rank)
    };
    // Not in moves of several steps: there not every program understands it.
    let to = |to: Square, single: bool| match (single && last == Some(to), names.is_small()) {
        (true, true) => "同　".to_string(),
        (true, false) => "仝".to_string(),
        (false, _) => square(to, names),
    };
    let promotion = if mv.promotes() {
        "成"
    } else if legal_moves(position).contains(&mv.promoting()) {
        "不成"
    } else {
        ""
    };
    let number = if names.is_small() { format!("{number:>4}") } else { format!("{number:>4}手目") };
    let space = if names.is_small() { " " } else { "   " };
    if let Some(kind) = mv.dropped() {
        return format!("{number}{space}{}{}{promotion}打\n", square(mv.to(), names), names.written(kind));
    }
    let Some(piece) = position.piece_at(mv.from()) else { return String::new() };
    let name = names.written(piece.kind);
    let origin = |from: Square| {
        let (file, rank) = file_rank(board, from);
        if names.is_small() { format!("({file}{rank})") } else { format!(" （←{}）", square(from, names)) }
    };
    let path = path(position, mv);
    let steps = path.len() - 1;
    let mut lines = String::new();
    for (step, leg) in path.windows(2).enumerate() {
        let which = if steps == 1 { space.to_string() } else { format!("{}歩目 ", kanji_number(step + 1)) };
        let promotion = if step + 1 == steps { promotion } else { "" };
        let igui = step + 1 == steps && mv.from() == mv.to() && !mv.is_pass();
        let igui = if igui { "（居食い）" } else { "" };
        lines += &format!("{number}{which}{}{name}{promotion}{igui}{}\n", to(leg[1], steps == 1), origin(leg[0]));
    }
    lines
}

/// (file, rank) from 1, from Black's right and from the top.
fn file_rank(board: Board, square: Square) -> (usize, usize) {
    let (column, row) = board.column_row(square);
    ((board.files as i32 - column) as usize, row as usize + 1)
}

/// A number below 100 in kanji.
fn kanji_number(number: usize) -> String {
    let (tens, ones) = (number / 10 % 10, number % 10);
    let tens = match tens {
        0 => String::new(),
        1 => "十".to_string(),
        _ => format!("{}十", DIGITS[tens]),
    };
    tens + DIGITS[ones]
}

/// Kanji digits; a zero is not written.
const DIGITS: [&str; 10] = ["", "一", "二", "三", "四", "五", "六", "七", "八", "九"];

/// A number in full-width digits.
fn wide(number: usize) -> String {
    let digit =
        |c: char| char::from_u32(c as u32 - '0' as u32 + '０' as u32).expect("full-width digits are characters");
    number.to_string().chars().map(digit).collect()
}

/// The variant's start position or one of its named ones, by what stands after `手合割`.
fn start_position(variant: &Arc<Variant>, handicap: &str) -> Option<Position> {
    let own = [variant.kanji(), variant.name(), variant.title(), "平手", ""];
    if own.iter().any(|name| name.eq_ignore_ascii_case(handicap)) {
        return Some(Position::start(variant));
    }
    let (_, sfen) = variant.positions().iter().find(|(name, _)| name == handicap)?;
    Position::from_sfen(variant, sfen).ok()
}

//! Rows of the two kinds of shards.

use engine::{Color, Variant};

/// How a game ended, as far as it was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameResult {
    /// This side won.
    Won(Color),
    /// Nobody won.
    Draw,
}

impl GameResult {
    /// `black`, `white` or `draw`.
    pub fn as_str(self) -> &'static str {
        match self {
            GameResult::Won(color) => color.as_str(),
            GameResult::Draw => "draw",
        }
    }

    /// The result with this text.
    pub fn parse(text: &str) -> Option<GameResult> {
        [GameResult::Won(Color::Black), GameResult::Won(Color::White), GameResult::Draw]
            .into_iter()
            .find(|result| result.as_str() == text)
    }

    /// 1 if `color` won, -1 if it lost, 0 for a draw.
    pub fn for_side(self, color: Color) -> i8 {
        match self {
            GameResult::Won(winner) => {
                if winner == color {
                    1
                } else {
                    -1
                }
            }
            GameResult::Draw => 0,
        }
    }
}

/// One game.
#[derive(Clone, Debug, PartialEq)]
pub struct GameRow {
    /// Generation · 2³² + number of the game in its generation.
    pub game_id: u64,
    /// Generation of networks it belongs to.
    pub generation: u32,
    /// Name of the variant.
    pub variant: String,
    /// Name of its ruleset.
    pub ruleset: String,
    /// What all chance in the game came from.
    pub seed: u64,
    /// Where the recorded play starts, after any random opening. Repetition is counted from here.
    pub opening_sfen: String,
    /// The moves from there, in USI.
    pub moves: Vec<String>,
    /// Who won; `None` if play was cut off by a ply cap.
    pub result: Option<GameResult>,
    /// Why it ended: the name of an `engine::Reason`, `ply_cap` or `resignation`.
    pub reason: String,
    /// Number of moves.
    pub plies: u32,
    /// Identity of Black's network.
    pub black_network: String,
    /// Identity of White's network.
    pub white_network: String,
    /// Settings of search and self-play, as JSON.
    pub search: String,
}

/// One position of a game, with what the search made of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PositionRow {
    /// The game it is from.
    pub game_id: u64,
    /// Plies played before it, counted from the game's opening.
    pub ply: u16,
    /// Generation of the game.
    pub generation: u32,
    /// `Piece::code` on each square in SFEN's reading order, 0 on empty ones; never turned round.
    pub board: Vec<u8>,
    /// Whose turn it is: 0 Black, 1 White.
    pub side_to_move: u8,
    /// Little-endian: u16 square where lions are safe this move, or 0xffff; u8 how often the position has stood; u8 zero; u16 plies
    /// since the last capture; u16 ply.
    pub state: [u8; 8],
    /// `Move::raw` of every legal move, in generation order.
    pub moves: Vec<u32>,
    /// Improved policy: a probability for each of them.
    pub policy: Vec<f32>,
    /// Index into `moves` of what was played.
    pub played: u32,
    /// Value the search gave, for the side to move, from -1 to 1.
    pub search_value: f32,
    /// Win, draw and loss it gave, for the side to move.
    pub search_wdl: [f32; 3],
    /// Whether it was a full search: the policies of cheap ones are no targets.
    pub full_search: bool,
    /// How the game ended for the side to move: 1 won, 0 drawn, -1 lost; `None` if it was cut off by a ply cap.
    pub outcome: Option<i8>,
    /// Plies from here to the end of the game.
    pub plies_left: u16,
    /// For each square 1 if the piece on it is still on the board at the end of the game, promoted or not, else 0.
    pub survives: Vec<u8>,
}

/// Numbers in [`PositionRow::state`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Index of the square where lions are safe this move.
    pub ban_square: Option<u16>,
    /// How often the position has stood, 1 the first time; 255 and more are 255.
    pub occurrences: u8,
    /// Plies since the last capture.
    pub plies_since_capture: u16,
    /// Plies since the start of the game.
    pub ply: u16,
}

const NO_SQUARE: u16 = 0xffff;

impl State {
    /// The eight bytes.
    pub fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[0..2].copy_from_slice(&self.ban_square.unwrap_or(NO_SQUARE).to_le_bytes());
        bytes[2] = self.occurrences;
        bytes[4..6].copy_from_slice(&self.plies_since_capture.to_le_bytes());
        bytes[6..8].copy_from_slice(&self.ply.to_le_bytes());
        bytes
    }

    /// The numbers in eight bytes.
    pub fn from_bytes(bytes: [u8; 8]) -> State {
        let pair = |i: usize| u16::from_le_bytes([bytes[i], bytes[i + 1]]);
        State {
            ban_square: Some(pair(0)).filter(|&square| square != NO_SQUARE),
            occurrences: bytes[2],
            plies_since_capture: pair(4),
            ply: pair(6),
        }
    }

    /// The state where `game` stands.
    pub fn of(game: &engine::Game) -> State {
        let small = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        State {
            ban_square: game.position().ban_square().map(|square| square.index() as u16),
            occurrences: u8::try_from(game.occurrences()).unwrap_or(u8::MAX),
            plies_since_capture: small(game.plies_since_capture()),
            ply: small(game.ply()),
        }
    }
}

/// Marks the pieces of each position that are on the board at the end, given the positions' boards, the moves between
/// them and the final board.
///
/// Goes backwards: a piece that moved carries its mark back to where it came from, and what a move captured is lost.
pub fn survivors(variant: &Variant, moves: &[engine::Move], last_board: &[u8]) -> Vec<Vec<u8>> {
    let mut marks: Vec<u8> = last_board.iter().map(|&code| u8::from(code != 0)).collect();
    let mut all: Vec<Vec<u8>> = moves
        .iter()
        .rev()
        .map(|&mv| {
            let mark = std::mem::take(&mut marks[mv.to().index()]);
            for square in mv.on_the_way(variant.board()).into_iter().flatten() {
                marks[square.index()] = 0;
            }
            if mv.dropped().is_none() {
                marks[mv.from().index()] = mark;
            }
            marks.clone()
        })
        .collect();
    all.reverse();
    all
}

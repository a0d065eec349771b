//! What a network sees of a position and of its legal moves. This is the only file that knows features.
//!
//! Everything is seen by the side to move: for White the board is turned by 180 degrees and the colours are swapped, so
//! "own" and "forward" mean the same for both sides. `K` is the number of kinds, `S` the number of squares.
//!
//! **Sparse features of a position**: indices into `2·K·S + S` rows, one for each piece and at most one more.
//!
//! | rows                    | meaning                                                               |
//! |-------------------------|-----------------------------------------------------------------------|
//! | `kind·S + square`       | an own piece of `kind` on `square`                                    |
//! | `(K + kind)·S + square` | an enemy piece of `kind` on `square`                                  |
//! | `2·K·S + square`        | the rules forbid to capture a lion on `square` in this move           |
//!
//! **Dense features of a position** ([`STATE_FEATURES`] numbers in 0..=1):
//!
//! | index | meaning                                                                                 |
//! |-------|-----------------------------------------------------------------------------------------|
//! | 0     | 1 if the position stands for the second time or more                                    |
//! | 1     | 1 if it stands for the third time or more                                               |
//! | 2     | `n / (n + 50)`, `n` the plies since the last capture                                    |
//! | 3     | `n / (n + 200)`, `n` the plies played                                                   |
//!
//! **Features of a move**: two or more indices into `2·K·S + 3·K + 1` rows, whose sum describes the move.
//!
//! | rows                      | meaning                                                             |
//! |---------------------------|---------------------------------------------------------------------|
//! | `kind·S + square`         | a piece of `kind` leaves `square` (not for a drop)                  |
//! | `K·S + kind·S + square`   | a piece of `kind` (before promotion) arrives at `square`            |
//! | `2·K·S + kind`            | a piece of `kind` is captured; named once for each such piece       |
//! | `2·K·S + K + kind`        | the piece promotes to `kind`                                        |
//! | `2·K·S + 2·K + kind`      | a piece of `kind` is dropped                                        |
//! | `2·K·S + 3·K`             | the move is a pass                                                  |
//!
//! Deliberately absent: what a player has in reserve, attacks, and the history of the board.

use std::sync::Arc;

use engine::{Board, Color, Game, Move, Variant};
use selfplay::data::{PositionRow, State};

use crate::encoded::Encoded;
use crate::error::EncodingError;

/// Version of the tables above. A checkpoint of another version is refused.
pub const ENCODING_VERSION: u32 = 1;

/// Number of dense features of a position.
pub const STATE_FEATURES: usize = 4;

/// Sizes of the feature tables of one variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Number of kinds of the variant.
    pub kinds: usize,
    /// Number of squares of the board.
    pub squares: usize,
    /// Number of files: square / files is the rank from the far side, square % files the place in it.
    pub files: usize,
    /// Pieces of each kind that a side has at the start. Networks see counts of pieces as differences from these.
    pub start_counts: Vec<f32>,
}

impl Features {
    /// The sizes for a variant.
    pub fn of(variant: &Variant) -> Features {
        let start_counts = variant.kinds().iter().map(|kind| kind.count as f32).collect();
        Features { kinds: variant.kinds().len(), squares: variant.squares(), files: variant.files(), start_counts }
    }

    /// Number of ranks.
    pub fn ranks(&self) -> usize {
        self.squares / self.files
    }

    /// Rows of the table of pieces alone, `2·K·S`: row / S is the kind and side.
    pub fn piece_rows(&self) -> usize {
        2 * self.kinds * self.squares
    }

    /// Rows of the table of sparse features of a position.
    pub fn position_rows(&self) -> usize {
        self.piece_rows() + self.squares
    }

    /// Rows of the table of move features.
    pub fn move_rows(&self) -> usize {
        2 * self.kinds * self.squares + 3 * self.kinds + 1
    }
}

/// A position as a shard stores it: the parts of a `PositionRow` that the encoding reads.
#[derive(Clone, Copy, Debug)]
pub struct StoredPosition<'a> {
    /// `Piece::code` a square, 0 for empty, not turned.
    pub board: &'a [u8],
    /// 0 for Black, 1 for White.
    pub side_to_move: u8,
    /// As in `PositionRow::state`.
    pub state: [u8; 8],
    /// `Move::raw` of the moves to encode.
    pub moves: &'a [u32],
}

impl<'a> From<&'a PositionRow> for StoredPosition<'a> {
    fn from(row: &'a PositionRow) -> Self {
        StoredPosition { board: &row.board, side_to_move: row.side_to_move, state: row.state, moves: &row.moves }
    }
}

/// Encodes positions of one variant.
#[derive(Clone, Debug)]
pub struct Encoder {
    features: Features,
    board: Board,
    /// Index of the kind that each kind promotes to; its own where it does not promote.
    promotes_to: Vec<u16>,
    /// How Black and White see each square, and how they see it reflected.
    squares: [[Vec<u16>; 2]; 2],
    /// Each kind, and what it is in a reflection.
    kinds: [Vec<u16>; 2],
    /// Whether each kind, and all that it can become, has a mirror image.
    mirrored: Vec<bool>,
}

/// Which way a board is looked at: rows of the tables of [`Encoder`].
#[derive(Clone, Copy)]
struct View<'a> {
    squares: &'a [u16],
    kinds: &'a [u16],
}

impl View<'_> {
    #[inline(always)]
    fn square(self, square: usize) -> usize {
        self.squares[square] as usize
    }

    #[inline(always)]
    fn kind(self, kind: usize) -> usize {
        self.kinds[kind] as usize
    }
}

impl Encoder {
    /// An encoder for positions of `variant`.
    pub fn new(variant: &Arc<Variant>) -> Encoder {
        let kinds = || variant.kinds().iter().enumerate();
        let (files, count) = (variant.files(), variant.squares());
        let squares = [false, true].map(|turned| {
            [false, true].map(|reflected| {
                let see = |square: usize| {
                    let seen = if turned { count - 1 - square } else { square };
                    let column = if reflected { files - 1 - seen % files } else { seen % files };
                    (seen / files * files + column) as u16
                };
                (0..count).map(see).collect()
            })
        });
        Encoder {
            features: Features::of(variant),
            board: variant.board(),
            promotes_to: kinds().map(|(i, kind)| kind.promotes_to.map_or(i, |to| to.index()) as u16).collect(),
            squares,
            kinds: [
                kinds().map(|(i, _)| i as u16).collect(),
                kinds().map(|(i, kind)| kind.mirror.map_or(i, |mirror| mirror.index()) as u16).collect(),
            ],
            mirrored: kinds().map(|(i, _)| is_mirrored(variant, i)).collect(),
        }
    }

    /// Whether a stored board reflected left to right is a board of this game: whether all its pieces, and all that they can
    /// become, have mirror images. (No rule tells left from right.) In dai dai shogi that is so once the pieces without a
    /// mirror image have left the board.
    pub fn can_reflect(&self, board: &[u8]) -> bool {
        board.iter().all(|&code| code == 0 || self.mirrored[(code as usize - 1) >> 1])
    }

    /// Sizes of the feature tables.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Appends the current position of `game` with the given legal moves to `out`.
    pub fn push_game(&self, game: &Game, moves: &[Move], out: &mut Encoded) {
        let position = game.position();
        let side = position.side_to_move();
        self.push(position.codes(), side, false, State::of(game), moves.iter().copied(), out);
    }

    /// Appends a stored position with its moves to `out`, as it is or reflected left to right.
    ///
    /// # Errors
    /// If the board has another size, or a piece, square or move is not of this variant; `out` is unchanged then.
    ///
    /// # Panics
    /// If it is to be reflected and [`Encoder::can_reflect`] says no.
    pub fn push_stored(
        &self,
        stored: StoredPosition<'_>,
        reflected: bool,
        out: &mut Encoded,
    ) -> Result<(), EncodingError> {
        self.check(stored)?;
        assert!(!reflected || self.can_reflect(stored.board), "the position has a mirror image");
        let side = Color::ALL[stored.side_to_move as usize];
        let moves = stored.moves.iter().map(|&raw| Move::from_raw(raw));
        self.push(stored.board, side, reflected, State::from_bytes(stored.state), moves, out);
        Ok(())
    }

    /// Whether a stored position can be encoded.
    ///
    /// # Errors
    /// As [`Encoder::push_stored`].
    pub fn check(&self, stored: StoredPosition<'_>) -> Result<(), EncodingError> {
        let (kinds, squares) = (self.features.kinds, self.features.squares);
        let error = |what, expected: String, found: usize| Err(EncodingError { what, expected, found });
        if stored.board.len() != squares {
            return error("board length", squares.to_string(), stored.board.len());
        }
        if let Some(&code) = stored.board.iter().find(|&&code| code as usize > 2 * kinds) {
            return error("piece code", format!("at most {}", 2 * kinds), code as usize);
        }
        if stored.side_to_move > 1 {
            return error("side to move", "0 or 1".into(), stored.side_to_move as usize);
        }
        if let Some(ban) = State::from_bytes(stored.state).ban_square.filter(|&ban| ban as usize >= squares) {
            return error("lion-ban square", format!("below {squares}"), ban as usize);
        }
        for &raw in stored.moves {
            let mv = Move::from_raw(raw);
            let sound = mv.to().index() < squares
                && match mv.dropped() {
                    Some(kind) => kind.index() < kinds,
                    None => mv.from().index() < squares && stored.board[mv.from().index()] != 0,
                };
            if !sound {
                return error("move", "a move of a piece on the board".into(), raw as usize);
            }
        }
        Ok(())
    }

    fn push(
        &self,
        board: &[u8],
        side: Color,
        reflected: bool,
        state: State,
        moves: impl Iterator<Item = Move>,
        out: &mut Encoded,
    ) {
        let (kinds, squares) = (self.features.kinds, self.features.squares);
        let (mover, reflection) = (side.index(), reflected as usize);
        let view = View { squares: &self.squares[mover][reflection], kinds: &self.kinds[reflection] };
        for (square, &code) in board.iter().enumerate() {
            if code != 0 {
                let (kind, color) = ((code as usize - 1) >> 1, (code as usize - 1) & 1);
                // XOR turns "is White" into "is an enemy".
                let row = ((color ^ mover) * kinds + view.kind(kind)) * squares + view.square(square);
                out.position_rows.push(row as u32);
            }
        }
        if let Some(square) = state.ban_square {
            out.position_rows.push((self.features.piece_rows() + view.square(square as usize)) as u32);
        }
        out.position_ends.push(out.position_rows.len() as u32);

        let saturating = |count: u16, half: f32| count as f32 / (count as f32 + half);
        out.state.extend([
            if state.occurrences >= 2 { 1.0 } else { 0.0 },
            if state.occurrences >= 3 { 1.0 } else { 0.0 },
            saturating(state.plies_since_capture, 50.0),
            saturating(state.ply, 200.0),
        ]);

        for mv in moves {
            self.push_move(board, mv, view, &mut out.move_rows);
            out.move_ends.push(out.move_rows.len() as u32);
        }
        out.legal_ends.push(out.move_ends.len() as u32);
    }

    #[inline]
    fn push_move(&self, board: &[u8], mv: Move, view: View<'_>, rows: &mut Vec<u32>) {
        let (kinds, squares) = (self.features.kinds, self.features.squares);
        let captured_rows = 2 * kinds * squares;
        let (from, to) = (mv.from().index(), mv.to().index());
        let kind = match mv.dropped() {
            Some(kind) => {
                rows.push((captured_rows + 2 * kinds + view.kind(kind.index())) as u32);
                kind.index()
            }
            None => {
                let kind = (board[from] as usize - 1) >> 1;
                rows.push((view.kind(kind) * squares + view.square(from)) as u32);
                kind
            }
        };
        rows.push(((kinds + view.kind(kind)) * squares + view.square(to)) as u32);
        let mut captured = |square: usize| {
            if board[square] != 0 {
                rows.push((captured_rows + view.kind((board[square] as usize - 1) >> 1)) as u32);
            }
        };
        if mv.has_way() {
            for square in mv.on_the_way(self.board).into_iter().flatten() {
                captured(square.index());
            }
        }
        if to != from {
            captured(to);
        }
        if mv.promotes() {
            rows.push((captured_rows + kinds + view.kind(self.promotes_to[kind] as usize)) as u32);
        }
        if mv.is_pass() {
            rows.push((captured_rows + 3 * kinds) as u32);
        }
    }
}

/// Whether a kind and all that it can become have mirror images, which become each other's.
fn is_mirrored(variant: &Variant, mut kind: usize) -> bool {
    let kinds = variant.kinds();
    let promoted = |kind: usize| kinds[kind].promotes_to.map(|to| to.index());
    loop {
        let Some(mirror) = kinds[kind].mirror.map(|mirror| mirror.index()) else { return false };
        match (promoted(kind), promoted(mirror)) {
            (None, None) => return true,
            (Some(one), Some(other)) if kinds[one].mirror.is_some_and(|image| image.index() == other) => kind = one,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::Position;

    use super::*;
    use crate::testing::{VARIANTS, game_after, positions, row};

    #[test]
    fn a_game_and_its_row_encode_alike() {
        for name in VARIANTS {
            let encoder = Encoder::new(&Variant::load(name, None).expect("built in"));
            for (game, moves) in positions(name, 1, 60) {
                let (mut played, mut stored) = (Encoded::default(), Encoded::default());
                encoder.push_game(&game, &moves, &mut played);
                encoder.push_stored((&row(&game, &moves, 1)).into(), false, &mut stored).expect("sound");
                assert_eq!(played, stored, "{name} {}", game.position().sfen());
            }
        }
    }

    /// A row as seen in another way: squares, directions (clockwise from up) and codes of pieces changed one by one. The
    /// bits of a move are those that its doc lists.
    fn changed(
        row: &PositionRow,
        square: impl Fn(usize) -> usize,
        direction: impl Fn(u32) -> u32,
        code: impl Fn(u8) -> u8,
    ) -> PositionRow {
        let mut out = row.clone();
        for (from, &piece) in row.board.iter().enumerate() {
            out.board[square(from)] = if piece == 0 { 0 } else { code(piece) };
        }
        let ban = u16::from_le_bytes([row.state[0], row.state[1]]);
        if ban != 0xffff {
            out.state[..2].copy_from_slice(&(square(ban as usize) as u16).to_le_bytes());
        }
        for mv in &mut out.moves {
            let way = if *mv >> 22 & 3 != 0 { direction(*mv >> 19 & 7) } else { 0 };
            let (from, to) = (square((*mv >> 9 & 511) as usize), square((*mv & 511) as usize));
            *mv = *mv & !(7 << 19 | 0x3ffff) | way << 19 | (from as u32) << 9 | to as u32;
        }
        out
    }

    fn sorted(encoder: &Encoder, row: &PositionRow, reflected: bool) -> (Vec<u32>, Vec<f32>, Vec<Vec<u32>>) {
        let mut encoded = Encoded::default();
        encoder.push_stored(row.into(), reflected, &mut encoded).expect("sound");
        let position = encoded.position(0);
        let mut rows = position.rows.to_vec();
        rows.sort();
        (rows, position.state.to_vec(), position.moves.iter().map(<[u32]>::to_vec).collect())
    }

    #[test]
    fn both_sides_see_the_same() {
        for name in VARIANTS {
            let variant = Variant::load(name, None).expect("built in");
            let encoder = Encoder::new(&variant);
            let last = variant.squares() - 1;
            for (game, moves) in positions(name, 2, 60) {
                let here = row(&game, &moves, 1);
                // Half a turn and the other colour.
                let mut there = changed(&here, |s| last - s, |d| (d + 4) & 7, |code| ((code - 1) ^ 1) + 1);
                there.side_to_move = 1 - here.side_to_move;
                let sfen = game.position().sfen();
                assert_eq!(sorted(&encoder, &here, false), sorted(&encoder, &there, false), "{name} {sfen}");
            }
        }
    }

    #[test]
    fn a_reflection_is_what_the_reflected_position_gives() {
        for name in VARIANTS {
            let variant = Variant::load(name, None).expect("built in");
            let encoder = Encoder::new(&variant);
            let files = variant.files();
            let flip = |s: usize| s / files * files + files - 1 - s % files;
            let mirror = |code: u8| {
                let (kind, color) = ((code as usize - 1) >> 1, (code - 1) & 1);
                let image = variant.kinds()[kind].mirror.expect("has a mirror image").index();
                (image as u8) << 1 | color
            };
            for (game, moves) in positions(name, 5, 60) {
                let mut here = row(&game, &moves, 1);
                let sfen = game.position().sfen();
                // By the games' descriptions: only dai dai shogi has pieces without a mirror image, on the board from the
                // start. Without them it can be reflected.
                assert!(name == "daidai" || encoder.can_reflect(&here.board), "{name} {sfen}");
                for code in &mut here.board {
                    if *code != 0 && variant.kinds()[(*code as usize - 1) >> 1].mirror.is_none() {
                        assert_eq!(name, "daidai");
                        *code = 0;
                    }
                }
                here.moves.retain(|mv| here.board[(mv >> 9 & 511) as usize] != 0);
                assert!(encoder.can_reflect(&here.board), "{name} {sfen}");
                let there = changed(&here, flip, |d| (8 - d) & 7, |code| mirror(code) + 1);
                assert_eq!(sorted(&encoder, &here, true), sorted(&encoder, &there, false), "{name} {sfen}");
            }
        }
    }

    #[test]
    fn a_board_with_a_piece_without_mirror_image_is_not_reflected() {
        let variant = Variant::load("daidai", None).expect("built in");
        let encoder = Encoder::new(&variant);
        let start = Position::start(&variant);
        assert!(!encoder.can_reflect(start.codes()));
        // The rules' text: the blue dragon and the white tiger are the two.
        let without = |ids: &[&str]| -> Vec<u8> {
            let codes = ids.iter().map(|id| variant.kind_by_id(id).expect("a kind").index());
            let codes: Vec<usize> = codes.collect();
            let kept = |&code: &u8| if code != 0 && codes.contains(&((code as usize - 1) >> 1)) { 0 } else { code };
            start.codes().iter().map(kept).collect()
        };
        assert!(encoder.can_reflect(&without(&["blue_dragon", "white_tiger"])));
        assert!(!encoder.can_reflect(&without(&["blue_dragon"])));
        assert!(!encoder.can_reflect(&without(&["white_tiger"])));
    }

    #[test]
    fn features_follow_the_table() {
        // A lone lion takes two pawns in one move, and a go-between promotes: rows by hand from the table in the doc.
        let variant = Variant::load("chu", None).expect("built in");
        let encoder = Encoder::new(&variant);
        let (kinds, squares) = (variant.kinds().len() as u32, 144);
        let kind = |id: &str| variant.kind_by_id(id).expect("a kind of chu").index() as u32;
        let sfen = "k11/12/12/12/I4p6/6p5/6N5/12/12/12/12/11K b - 1";
        let game = game_after(&variant, sfen, &[]);
        let mut encoded = Encoded::default();
        let square = |file: u32, rank: u32| (rank - 1) * 12 + (12 - file);
        let check = |usi: &str, expected: Vec<u32>, encoded: &mut Encoded| {
            let mv = game.position().parse_usi(usi).expect("a move of this position");
            encoded.clear();
            encoder.push_game(&game, &[mv], encoded);
            assert_eq!(encoded.position(0).moves.iter().next().expect("one move"), expected, "{usi}");
        };
        let (lion, pawn, boy) = (kind("lion"), kind("pawn"), kind("go_between"));
        let from = |kind: u32, at: u32| kind * squares + at;
        let to = |kind: u32, at: u32| (kinds + kind) * squares + at;
        let captured = |kind: u32| 2 * kinds * squares + kind;
        let double = vec![from(lion, square(6, 7)), to(lion, square(7, 5)), captured(pawn), captured(pawn)];
        check("6g6f7e", double, &mut encoded);
        check("6g6f6g", vec![from(lion, square(6, 7)), to(lion, square(6, 7)), captured(pawn)], &mut encoded);
        let pass = vec![from(lion, square(6, 7)), to(lion, square(6, 7)), captured(0) + 3 * kinds];
        check("6g5g6g", pass, &mut encoded);
        let promoted = captured(0) + kinds + kind("promoted_go_between");
        let enters = vec![from(boy, square(12, 5)), to(boy, square(12, 4)), promoted];
        check("12e12d+", enters, &mut encoded);
        let board = encoded.position(0).rows;
        let own = [from(boy, square(12, 5)), from(lion, square(6, 7)), from(kind("king"), square(1, 12))];
        let enemy = [to(kind("king"), square(12, 1)), to(pawn, square(7, 5)), to(pawn, square(6, 6))];
        for row in own.iter().chain(&enemy) {
            assert!(board.contains(row), "{row} of {board:?}");
        }
        assert_eq!(board.len(), 6);
    }

    #[test]
    fn bad_rows_are_refused() {
        let encoder = Encoder::new(&Variant::load("sho", None).expect("built in"));
        let (game, moves) = positions("sho", 3, 2).remove(0);
        let sound = row(&game, &moves, 1);
        let check = |change: &dyn Fn(&mut PositionRow), what: &str| {
            let mut bad = sound.clone();
            change(&mut bad);
            let mut encoded = Encoded::default();
            let error = encoder.push_stored((&bad).into(), false, &mut encoded).expect_err(what);
            assert_eq!((error.what, encoded), (what, Encoded::default()));
        };
        check(&|row| row.board.truncate(80), "board length");
        check(&|row| row.board[40] = 255, "piece code");
        check(&|row| row.side_to_move = 2, "side to move");
        check(&|row| row.state[0] = 200, "lion-ban square");
        check(&|row| row.state[..2].copy_from_slice(&[81, 0]), "lion-ban square");
        check(&|row| row.moves[0] |= 511, "move");
        check(&|row| row.board[(row.moves[0] >> 9 & 511) as usize] = 0, "move");
    }
}

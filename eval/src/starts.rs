//! Where the two games of a pair start: at one opening, or with odds, where one side gives a piece.

use std::collections::HashSet;
use std::sync::Arc;

use engine::{Color, Game, Piece, PieceKind, Position, Square, Variant};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::{MaterialValues, Openings};

/// What one side has less than the other: a piece, or a piece that is replaced by another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Odds {
    name: String,
    piece: PieceKind,
    against: Option<PieceKind>,
}

/// Odds that cannot be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OddsError {
    /// A name is not that of a piece that can be given.
    #[error("odds `{text}`: `{id}` {what}; expected A or A:B of {known}")]
    Piece {
        /// The odds as written.
        text: String,
        /// The name at fault.
        id: String,
        /// What is wrong with it.
        what: &'static str,
        /// The names there are.
        known: String,
    },
    /// A piece would be replaced by its like.
    #[error("odds `{text}`: `{id}` would stand in for itself; expected two different pieces")]
    Same {
        /// The odds as written.
        text: String,
        /// The piece.
        id: String,
    },
    /// No opening leaves something to play for.
    #[error(
        "odds `{name}`: in {attempts} openings of up to {plies} plies the piece was gone, or without it the game was over or \
         lost material at once; try fewer plies, or other odds"
    )]
    NoOpening {
        /// The odds.
        name: String,
        /// Openings that were drawn.
        attempts: usize,
        /// Random plies of an opening at most.
        plies: u32,
    },
}

impl Odds {
    /// Odds as written: `A`, one side is without one A; `A:B`, it has a B in the place of one A.
    ///
    /// # Errors
    /// [`OddsError::Piece`] for kinds that are unknown, royal, or not on the board at the start.
    pub fn parse(variant: &Arc<Variant>, text: &str) -> Result<Odds, OddsError> {
        let start = Position::start(variant);
        let there = |kind: PieceKind| Color::ALL.into_iter().all(|color| start.count(color, kind) > 0);
        let kind = |id: &str| {
            let what = match variant.kind_by_id(id) {
                None => "is no piece",
                Some(kind) if variant.kind(kind).royal => "is royal",
                Some(kind) if !there(kind) => "is not on the board at the start",
                Some(kind) => return Ok(kind),
            };
            let kinds = variant.kinds().iter().enumerate();
            let known = kinds.filter(|(i, kind)| !kind.royal && there(PieceKind::new(*i)));
            let known: Vec<&str> = known.map(|(_, kind)| kind.id.as_str()).collect();
            Err(OddsError::Piece { text: text.to_owned(), id: id.to_owned(), what, known: known.join(", ") })
        };
        let (piece, against) = match text.split_once(':') {
            None => (kind(text)?, None),
            Some((piece, against)) => (kind(piece)?, Some(kind(against)?)),
        };
        if against == Some(piece) {
            return Err(OddsError::Same { text: text.to_owned(), id: variant.kind(piece).id.clone() });
        }
        Ok(Odds { name: text.to_owned(), piece, against })
    }

    /// The odds as written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kind of the piece that is given.
    pub fn piece(&self) -> PieceKind {
        self.piece
    }

    /// The kind of the piece that comes into its place.
    pub fn against(&self) -> Option<PieceKind> {
        self.against
    }

    /// The games in which White, then Black gives the piece with this number, counted on each side from its own left and
    /// front; `None` if it is gone on one side, or one of the games is not worth playing.
    fn games(&self, opening: &Game, number: usize, values: &MaterialValues) -> Option<[Game; 2]> {
        let mut moves = Vec::new();
        // What hangs with the piece on the board hangs for both sides alike, in their two games.
        let hung_before = values.wins_at_once(opening, &mut moves);
        let mut without = |giver: Color| {
            let at_start = squares_of(opening.start(), Piece { color: giver, kind: self.piece });
            let square = follow(opening, *at_start.get(number % at_start.len().max(1))?)?;
            let mut position = opening.position().clone();
            position.set_piece(square, self.against.map(|kind| Piece { color: giver, kind }));
            let game = Game::new(position);
            let goes_on = game.outcome().is_none() && game.position().winning_capture().is_none();
            (goes_on && (hung_before || !values.wins_at_once(&game, &mut moves))).then_some(game)
        };
        Some([without(Color::White)?, without(Color::Black)?])
    }
}

/// Where pieces like this stand, as their owner sees it from the left and the front on.
fn squares_of(position: &Position, piece: Piece) -> Vec<Square> {
    let all = position.codes().iter().enumerate();
    let mut squares: Vec<Square> =
        all.filter(|&(_, &code)| code == piece.code()).map(|(index, _)| Square::new(index)).collect();
    if piece.color == Color::White {
        squares.reverse();
    }
    squares
}

/// Where the piece that started on `square` stands now; `None` if it was captured or promoted.
fn follow(game: &Game, square: Square) -> Option<Square> {
    let mut position = game.start().clone();
    let mut now = square;
    for mv in game.moves() {
        if mv.dropped().is_none() && mv.from() == now {
            if mv.promotes() {
                return None;
            }
            now = mv.to();
        } else if position.captures(mv).any(|(captured, _)| captured == now) {
            return None;
        }
        position.play_unchecked(mv);
    }
    Some(now)
}

/// Where a pair starts.
pub(crate) struct PairStart {
    /// The opening, as SFEN.
    pub(crate) opening: String,
    /// With odds: where each of its games starts, as SFEN.
    pub(crate) starts: Option<[String; 2]>,
    /// The game in which the first player has Black, then the one in which it has White.
    pub(crate) games: [Game; 2],
}

/// The starts of the pairs of a match, whose openings have not been used before.
pub(crate) struct PairStarts<'a> {
    openings: Openings,
    plies: u32,
    odds: Option<&'a Odds>,
    values: MaterialValues,
    rng: Xoshiro256PlusPlus,
    used: HashSet<u64>,
}

/// Openings that are drawn for one pair at most.
const ATTEMPTS: usize = 100;

impl<'a> PairStarts<'a> {
    pub(crate) fn new(variant: &Arc<Variant>, plies: u32, odds: Option<&'a Odds>, seed: u64) -> Self {
        PairStarts {
            openings: Openings::new(variant, plies).balanced(),
            plies,
            odds,
            values: MaterialValues::from_mobility(variant),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            used: HashSet::new(),
        }
    }

    /// The start of the next pair.
    pub(crate) fn draw(&mut self) -> Result<PairStart, OddsError> {
        let Some(odds) = self.odds else {
            let opening = self.opening();
            let sfen = opening.position().sfen();
            return Ok(PairStart { opening: sfen, starts: None, games: [opening.clone(), opening] });
        };
        for _ in 0..ATTEMPTS {
            let opening = self.opening();
            let count = opening.start().count(Color::Black, odds.piece).max(1);
            let number = self.rng.random_range(0..count);
            if let Some(games) = odds.games(&opening, number, &self.values) {
                let starts = Some(games.each_ref().map(|game| game.position().sfen()));
                return Ok(PairStart { opening: opening.position().sfen(), starts, games });
            }
        }
        Err(OddsError::NoOpening { name: odds.name.clone(), attempts: ATTEMPTS, plies: self.plies })
    }

    fn opening(&mut self) -> Game {
        // With very few plies there may be no further opening; then one comes again.
        let mut opening = self.openings.draw_game(&mut self.rng);
        for _ in 0..ATTEMPTS {
            if self.used.insert(opening.position().hash()) {
                break;
            }
            opening = self.openings.draw_game(&mut self.rng);
        }
        opening
    }
}

//! Where games start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Game, Move, Piece, Position, SfenError, Variant};
use rand::seq::SliceRandom;
use rand::{Rng, RngExt};
use thiserror::Error;

use crate::material::MaterialValues;

/// Start positions with random plies played from them.
#[derive(Clone, Debug)]
pub struct Openings {
    starts: Vec<Position>,
    most_plies: u32,
    /// What pieces are worth for telling whether an opening loses some.
    values: Option<MaterialValues>,
}

/// Openings could not be had.
#[derive(Debug, Error)]
pub enum OpeningsError {
    /// The variant has no start position of this name.
    #[error("no start position `{name}`; there are: {known}")]
    Unknown {
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line of the file is no position.
    #[error("{}, line {line}: {source}", path.display())]
    Sfen {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Why.
        source: SfenError,
    },
    /// A position from which no game can be played.
    #[error("{}, line {line}: the game is over, or the side to move takes the last royal", path.display())]
    Over {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// The file has no position.
    #[error("{}: no positions; expected an SFEN on each line", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

impl Openings {
    /// Openings from 0 to `most_plies` random plies after the variant's start position.
    pub fn new(variant: &Arc<Variant>, most_plies: u32) -> Openings {
        Openings { starts: vec![Position::start(variant)], most_plies, values: None }
    }

    /// Openings in which neither side has lost material or is about to: pieces are worth their mobility. What is given up
    /// to begin with, as in a handicap, is not counted.
    pub fn balanced(self) -> Openings {
        let values = Some(MaterialValues::from_mobility(self.starts[0].variant()));
        Openings { values, ..self }
    }

    /// The same with these of the variant's named positions as starts; `start` is the variant's own. No names leave the
    /// starts as they are.
    ///
    /// # Errors
    /// A name that the variant does not have.
    pub fn with_positions(self, names: &[String]) -> Result<Openings, OpeningsError> {
        if names.is_empty() {
            return Ok(self);
        }
        let variant = self.starts[0].variant().clone();
        let named: BTreeMap<&str, &str> =
            variant.positions().iter().map(|(name, sfen)| (name.as_str(), sfen.as_str())).collect();
        let start = |name: &String| match named.get(name.as_str()) {
            Some(sfen) => Ok(Position::from_sfen(&variant, sfen).expect("checked with the variant")),
            None if name == START => Ok(Position::start(&variant)),
            None => {
                let known = std::iter::once(START).chain(named.keys().copied()).collect::<Vec<_>>().join(", ");
                Err(OpeningsError::Unknown { name: name.clone(), known })
            }
        };
        let starts = names.iter().map(start).collect::<Result<_, _>>()?;
        Ok(Openings { starts, ..self })
    }

    /// The same with the positions of a file as starts: an SFEN a line; empty lines and those that begin with `#` are
    /// passed over.
    ///
    /// # Errors
    /// If the file cannot be read, or the first line that is no position a game can be played from.
    pub fn with_file(self, path: &Path) -> Result<Openings, OpeningsError> {
        let variant = self.starts[0].variant().clone();
        let text =
            std::fs::read_to_string(path).map_err(|source| OpeningsError::Io { path: path.to_owned(), source })?;
        let lines = text.lines().enumerate().map(|(i, line)| (i + 1, line.trim()));
        let starts = lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(line, sfen)| {
                let position = Position::from_sfen(&variant, sfen).map_err(|source| OpeningsError::Sfen {
                    path: path.to_owned(),
                    line,
                    source,
                })?;
                let playable = Game::new(position.clone()).outcome().is_none() && position.winning_capture().is_none();
                playable.then_some(position).ok_or_else(|| OpeningsError::Over { path: path.to_owned(), line })
            })
            .collect::<Result<Vec<_>, _>>()?;
        if starts.is_empty() {
            return Err(OpeningsError::Empty { path: path.to_owned() });
        }
        Ok(Openings { starts, ..self })
    }

    /// A number that changes with the starts.
    pub fn fingerprint(&self) -> u64 {
        let hashes: Vec<u64> = self.starts.iter().map(Position::hash).collect();
        crate::seed::derive(&hashes)
    }

    /// An opening: a start, evenly drawn, and from 0 to the most plies, evenly drawn. A ply is not played if it ends the
    /// game or lets the other side take the last royal. Where that leaves no ply, or material would be lost, the opening
    /// is drawn anew; after a hundred such draws it is the start itself.
    pub fn draw(&self, rng: &mut impl Rng) -> Position {
        self.draw_game(rng).position().clone()
    }

    /// [`draw`](Openings::draw) with the moves from the start to the opening.
    pub fn draw_game(&self, rng: &mut impl Rng) -> Game {
        const ATTEMPTS: usize = 100;
        let start = &self.starts[rng.random_range(0..self.starts.len())];
        let plies = rng.random_range(0..=self.most_plies);
        let mut moves = Vec::new();
        let drawn = (0..ATTEMPTS).find_map(|_| {
            let game = random_plies(start, plies, &mut moves, rng)?;
            let kept = self.values.as_ref().is_none_or(|values| keeps_material(values, start, &game, &mut moves));
            kept.then_some(game)
        });
        drawn.unwrap_or_else(|| Game::new(start.clone()))
    }
}

/// The name of a variant's own start position.
const START: &str = "start";

fn random_plies(start: &Position, plies: u32, moves: &mut Vec<Move>, rng: &mut impl Rng) -> Option<Game> {
    let mut game = Game::new(start.clone());
    for _ in 0..plies {
        game.legal_moves(moves);
        moves.shuffle(rng);
        let safe = moves.iter().any(|&mv| {
            game.play_unchecked(mv);
            let safe = game.outcome().is_none() && game.position().winning_capture().is_none();
            if !safe {
                game.undo();
            }
            safe
        });
        if !safe {
            return None;
        }
    }
    Some(game)
}

/// Whether the balance of material is that of the start, and the side to move cannot win some at once.
fn keeps_material(values: &MaterialValues, start: &Position, game: &Game, moves: &mut Vec<Move>) -> bool {
    let position = game.position();
    let balance = |position: &Position| -> f32 {
        let side = position.side_to_move();
        let pieces = position.codes().iter().filter_map(|&code| Piece::from_code(code));
        pieces.map(|piece| if piece.color == side { values.of(piece) } else { -values.of(piece) }).sum()
    };
    let sign = if position.side_to_move() == start.side_to_move() { 1.0 } else { -1.0 };
    if (balance(position) - sign * balance(start)).abs() > 1e-3 {
        return false;
    }
    !values.wins_at_once(game, moves)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn chu() -> Arc<Variant> {
        Variant::load("chu", None).expect("built in")
    }

    /// Cases by hand: kings far apart, a rook of White's on the fourth rank of sho and who takes it.
    #[test]
    fn material_that_hangs_is_seen() {
        let variant = Variant::load("sho", None).expect("built in");
        let values = MaterialValues::from_mobility(&variant);
        let keeps = |sfen: &str| {
            let position = Position::from_sfen(&variant, sfen).expect(sfen);
            keeps_material(&values, &position, &Game::new(position.clone()), &mut Vec::new())
        };
        assert!(keeps("4k4/9/9/9/9/9/9/9/4K4 b - 1"), "nothing to take");
        assert!(!keeps("4k4/9/9/4r4/9/9/9/4R4/4K4 b - 1"), "a rook for nothing");
        assert!(!keeps("4k4/4l4/9/4r4/9/9/9/4L4/4K4 b - 1"), "a protected rook for a lance");
        assert!(keeps("4k4/4l4/9/4p4/9/9/9/4R4/4K4 b - 1"), "a protected pawn is not worth a rook");
        // The lost piece counts even if nothing hangs now.
        let start = Position::from_sfen(&variant, "4k4/9/9/9/9/9/9/9/R3K4 b - 1").expect("sound");
        let without = Position::from_sfen(&variant, "4k4/9/9/9/9/9/9/9/4K4 w - 1").expect("sound");
        assert!(!keeps_material(&values, &start, &Game::new(without), &mut Vec::new()));
    }

    #[test]
    fn balanced_openings_keep_material_and_starts_can_be_chosen() {
        let variant = chu();
        let name = variant.positions()[0].0.clone();
        let openings = Openings::new(&variant, 10).balanced();
        let values = MaterialValues::from_mobility(&variant);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        for _ in 0..50 {
            let opening = Game::new(openings.draw(&mut rng));
            assert!(keeps_material(&values, &Position::start(&variant), &opening, &mut Vec::new()));
        }
        let handicap = openings.clone().with_positions(std::slice::from_ref(&name)).expect("a name of the variant's");
        assert_ne!(handicap.fingerprint(), openings.fingerprint());
        let none = Openings { most_plies: 0, ..handicap };
        assert_eq!(none.draw(&mut rng).sfen(), variant.positions()[0].1);
        let error = openings.clone().with_positions(&["knight_odds".to_owned()]).expect_err("no such name").to_string();
        assert!(error.contains("knight_odds") && error.contains(&name) && error.contains("start"), "{error}");
    }

    #[test]
    fn files_of_positions() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("openings.txt");
        let variant = chu();
        let read = |text: &str| {
            std::fs::write(&path, text).expect("writable");
            Openings::new(&variant, 0).with_file(&path).map_err(|error| error.to_string())
        };
        let start = variant.start_sfen();
        assert_eq!(read(&format!("# one\n\n{start}\n")).expect("sound").starts.len(), 1);
        let error = |text: &str, part: &str| {
            let error = read(text).expect_err(text);
            assert!(error.contains("openings.txt") && error.contains(part), "{error}");
        };
        error("# nothing\n", "no positions");
        error(&format!("{start}\nrubbish b - 1\n"), "line 2");
        error("6k5/12/12/12/12/12/12/12/12/12/12/12 b - 1\n", "line 1: the game is over");
        std::fs::remove_file(&path).expect("there");
        let missing = Openings::new(&variant, 0).with_file(&path).expect_err("gone").to_string();
        assert!(missing.contains("openings.txt"), "{missing}");
    }
}

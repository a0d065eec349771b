//! The rules of historical shogi variants: variants as data, positions, moves, games.
//!
//! A [`Variant`] is read from a file and compiled to tables; a [`Position`] is a board of it, with moves to generate,
//! play and undo; a [`Game`] adds the history and with it repetition and the outcome. No input or output, no clock, no
//! chance: everything is a function of its arguments.
//!
//! ```
//! use engine::{Game, Position, Variant};
//!
//! let variant = Variant::load("chu", None)?;
//! let mut game = Game::new(Position::start(&variant));
//! let mv = game.position().parse_usi("7j6h")?;
//! game.play(mv)?;
//! assert_eq!(game.position().side_to_move(), engine::Color::White);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attacks;
mod betza;
mod bitboard;
mod compile;
mod error;
mod game;
mod geometry;
mod lanes;
mod movegen;
mod moves;
pub mod notation;
mod outcome;
mod perft;
mod piece;
mod position;
mod repetition;
mod rules;
mod sampling;
mod sfen;
mod spec;
mod symmetry;
mod trading;
mod usi;
mod variant;

pub use error::{Issue, MoveError, SfenError, VariantError};
pub use game::Game;
pub use geometry::{Board, Color, MAX_SIDE, MAX_SQUARES, Square};
pub use moves::Move;
pub use outcome::{Outcome, Reason};
pub use perft::{divide, perft};
pub use piece::{Piece, PieceKind};
pub use position::{Position, Undo};
pub use rules::*;
pub use sampling::MoveSampler;
pub use spec::{AlternativeSpec, LineLionSpec, MovesSpec, PieceSpec, RangeOverSpec, RulesetSpec, VariantSpec};
pub use variant::{Kind, Variant};

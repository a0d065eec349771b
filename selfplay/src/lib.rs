//! Search, players, self-play workers and the records of their games.
//!
//! * [`Search`] plans a move with few simulations (Gumbel search) and stops at each position it needs judged;
//! * an [`Evaluator`] judges batches of positions: a network, which lives elsewhere, or [`Uniform`];
//! * a [`Player`] chooses moves, and [`play_games`] plays many games between two of them;
//! * [`generate`] plays the games of a generation and keeps them as parquet shards;
//! * [`data`] reads, checks and counts shards.
//!
//! Everything random is a function of seeds that callers give: the same seed gives the same games for any number of
//! threads. No neural library is known here.

mod cache;
mod config;
pub mod data;
mod evaluator;
mod external;
mod external_spec;
mod games;
mod lockstep;
mod material;
mod openings;
mod player;
mod search;
mod seed;
mod worker;

pub use config::ConfigError;
pub use evaluator::{Evaluation, Evaluator, Query, Uniform};
pub use external::{Choice, External, ExternalError, Opponent};
pub use external_spec::{ExternalSpec, Protocol};
pub use games::{GameSetup, PlayOptions, PlayedGame, play_games};
pub use material::MaterialValues;
pub use openings::{Openings, OpeningsError};
pub use player::{Player, PlayerSpec, PlayerSpecError};
pub use search::{Method, Search, SearchConfig, SearchResult};
pub use seed::derive as derive_seed;
pub use worker::{
    GameRecord, GenerateError, Generation, LiveGame, Progress, RESIGNATION, SelfplayConfig, generate,
    generation_folder, live_file,
};

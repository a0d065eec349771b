//! Records of games: parquet shards of games and of positions, their readers, and what checks and counts them.
//!
//! ```text
//! RUN/games/gen-000003/000000-000127.parquet        one row a game
//! RUN/positions/gen-000003/000000-000127.parquet    one row a position
//! RUN/checksums/games-gen-000003.sha256              checksums of the files of a folder
//! ```
//!
//! What a path says is also a column, and the metadata of each file say in words how to read boards and moves
//! ([`ShardMeta`]). Shards hold moves and targets, never a network's input planes.

mod check;
mod checksum;
mod column;
mod columnar;
mod error;
mod files;
mod projection;
mod reader;
mod row;
mod schema;
mod stats;
mod writer;

pub use check::{CheckReport, Problem, Resolve, check};
pub use checksum::{Checksum, Checksums, sums_file};
pub use error::DataError;
pub use files::{ShardPair, find_checksums, find_shards};
pub use projection::PositionColumns;
pub use reader::{Shard, ShardReader, read_games, read_positions, read_shard};
pub use row::{GameResult, GameRow, PositionRow, State, survivors};
pub use schema::{SCHEMA_VERSION, ShardKind, ShardMeta};
pub use stats::{DataStats, Share, stats};
pub use writer::{Row, ShardWriter};

//! What is in a shard: columns, and the metadata that make a file readable without this program.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use engine::Variant;
use parquet::file::metadata::KeyValue;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::Type;

use super::error::DataError;

/// Version of the schema, `major.minor`. Readers refuse another major version and ignore columns they do not know.
pub const SCHEMA_VERSION: &str = "1.0";

/// The two kinds of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardKind {
    /// One row a game.
    Games,
    /// One row a position.
    Positions,
}

impl ShardKind {
    /// `games` or `positions`: the value of the metadata key `kind`, and the folder of a run.
    pub fn as_str(self) -> &'static str {
        match self {
            ShardKind::Games => "games",
            ShardKind::Positions => "positions",
        }
    }

    /// The columns, for boards of so many squares.
    pub(crate) fn columns(self, squares: usize) -> Arc<Type> {
        let text = match self {
            ShardKind::Games => GAMES.to_owned(),
            ShardKind::Positions => POSITIONS.replace("SQUARES", &squares.to_string()),
        };
        Arc::new(parse_message_type(&text).expect("the schemas below are well-formed"))
    }

    fn description(self) -> &'static str {
        match self {
            ShardKind::Games => GAMES_DESCRIPTION,
            ShardKind::Positions => POSITIONS_DESCRIPTION,
        }
    }
}

const GAMES: &str = "
message games {
  required int64 game_id (INTEGER(64, false));
  required int32 generation (INTEGER(32, false));
  required binary variant (STRING);
  required binary ruleset (STRING);
  required int64 seed (INTEGER(64, false));
  required binary opening_sfen (STRING);
  required group moves (LIST) { repeated group list { required binary element (STRING); } }
  optional binary result (STRING);
  required binary reason (STRING);
  required int32 plies (INTEGER(32, false));
  required binary black_network (STRING);
  required binary white_network (STRING);
  required binary search (STRING);
}";

const POSITIONS: &str = "
message positions {
  required int64 game_id (INTEGER(64, false));
  required int32 ply (INTEGER(16, false));
  required int32 generation (INTEGER(32, false));
  required binary variant (STRING);
  required fixed_len_byte_array(SQUARES) board;
  required int32 side_to_move (INTEGER(8, false));
  required fixed_len_byte_array(8) state;
  required group moves (LIST) { repeated group list { required int32 element (INTEGER(32, false)); } }
  required group policy (LIST) { repeated group list { required float element; } }
  required int32 played (INTEGER(32, false));
  required float search_value;
  required group search_wdl (LIST) { repeated group list { required float element; } }
  required boolean full_search;
  optional int32 outcome (INTEGER(8, true));
  required int32 plies_left (INTEGER(16, false));
  required fixed_len_byte_array(SQUARES) survives;
}";

const GAMES_DESCRIPTION: &str = "One row a game. game_id = generation * 2^32 + number of the game. opening_sfen: where \
the recorded play starts. moves: USI; files count from Black's right, ranks are letters from the top, a captured square on the way \
stands between. result: black, white, draw, or null if cut off by a ply cap. search: settings as JSON.";

const POSITIONS_DESCRIPTION: &str = "One row a position, in the order of games and plies. board: one byte a square, ranks from the top \
(White's side), within a rank from Black's left (the highest file) to the right; 0 empty, else 1 + 2 * kind + colour (0 Black, 1 White), \
kind an index into the metadata key kinds; never turned round. side_to_move: 0 Black, 1 White. state, little-endian: uint16 square where \
lions are safe this move or 0xffff, uint8 occurrences of the position, uint8 zero, uint16 plies since a capture, uint16 ply. moves: every \
legal move; bits 0-8 target square, 9-17 start square, 18 promotion, 19-21 direction of the way clockwise from up the board, 22 and 23 \
capture on the first and second square of the way from the start square, 24 drop (bits 9-17 hold the kind). policy: improved policy of \
the search over moves. played: index into moves. search_value, search_wdl (win, draw, loss), outcome (1, 0, -1, null if cut off by a ply \
cap): for the side to move. full_search: whether policy is a target. plies_left: plies to the end. survives: 1 where the piece on the \
square is still on the board at the end.";

/// Where a shard comes from: its key-value metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardMeta {
    /// Program and version that wrote it.
    pub program: String,
    /// Name of the variant.
    pub variant: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// Fingerprint of the variant's tables and rules.
    pub fingerprint: String,
    /// Files of the board.
    pub files: usize,
    /// Ranks of the board.
    pub ranks: usize,
    /// Ids of the kinds, in the order of their numbers in `board`.
    pub kinds: Vec<String>,
    /// Identity of the network that played both sides.
    pub network: String,
    /// Seed of the run.
    pub seed: u64,
    /// Generation of the games.
    pub generation: u32,
    /// Settings of search and self-play that the games depend on, as JSON.
    pub settings: String,
}

impl ShardMeta {
    /// Metadata for games of a generation, by this program.
    pub fn new(variant: &Variant, network: &str, seed: u64, generation: u32, settings: String) -> ShardMeta {
        ShardMeta {
            program: concat!("shishi ", env!("CARGO_PKG_VERSION")).to_owned(),
            variant: variant.name().to_owned(),
            ruleset: variant.ruleset().to_owned(),
            fingerprint: variant.fingerprint().to_owned(),
            files: variant.files(),
            ranks: variant.ranks(),
            kinds: variant.kinds().iter().map(|kind| kind.id.clone()).collect(),
            network: network.to_owned(),
            seed,
            generation,
            settings,
        }
    }

    /// Squares of the board.
    pub fn squares(&self) -> usize {
        self.files * self.ranks
    }

    pub(crate) fn to_key_values(&self, kind: ShardKind) -> Vec<KeyValue> {
        let kinds = serde_json::to_string(&self.kinds).expect("a list of strings is JSON");
        [
            ("schema_version", SCHEMA_VERSION.to_owned()),
            ("kind", kind.as_str().to_owned()),
            ("description", kind.description().to_owned()),
            ("program", self.program.clone()),
            ("variant", self.variant.clone()),
            ("ruleset", self.ruleset.clone()),
            ("fingerprint", self.fingerprint.clone()),
            ("files", self.files.to_string()),
            ("ranks", self.ranks.to_string()),
            ("kinds", kinds),
            ("network", self.network.clone()),
            ("seed", self.seed.to_string()),
            ("generation", self.generation.to_string()),
            ("settings", self.settings.clone()),
        ]
        .into_iter()
        .map(|(key, value)| KeyValue::new(key.to_owned(), value))
        .collect()
    }

    pub(crate) fn from_key_values(
        path: &Path,
        kind: ShardKind,
        pairs: Option<&Vec<KeyValue>>,
    ) -> Result<ShardMeta, DataError> {
        let pairs: BTreeMap<&str, &str> =
            pairs.into_iter().flatten().filter_map(|pair| Some((pair.key.as_str(), pair.value.as_deref()?))).collect();
        let schema = |what: String| DataError::Schema { path: path.to_owned(), what };
        let text = |key: &str| {
            pairs.get(key).copied().ok_or_else(|| schema(format!("no metadata key `{key}`: not a shard of self-play")))
        };
        let version = text("schema_version")?;
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        if major(version) != major(SCHEMA_VERSION) {
            return Err(schema(format!("schema version {version}, this program reads {SCHEMA_VERSION}")));
        }
        let found = text("kind")?;
        if found != kind.as_str() {
            return Err(schema(format!("a shard of {found}, expected {}", kind.as_str())));
        }
        fn number<T: std::str::FromStr>(key: &str, value: &str) -> Result<T, String> {
            value.parse().map_err(|_| format!("metadata key `{key}` is `{value}`, expected a number"))
        }
        let meta = ShardMeta {
            program: text("program")?.to_owned(),
            variant: text("variant")?.to_owned(),
            ruleset: text("ruleset")?.to_owned(),
            fingerprint: text("fingerprint")?.to_owned(),
            files: number("files", text("files")?).map_err(schema)?,
            ranks: number("ranks", text("ranks")?).map_err(schema)?,
            kinds: serde_json::from_str(text("kinds")?)
                .map_err(|e| schema(format!("metadata key `kinds`: {e}, expected a JSON list of ids")))?,
            network: text("network")?.to_owned(),
            seed: number("seed", text("seed")?).map_err(schema)?,
            generation: number("generation", text("generation")?).map_err(schema)?,
            settings: text("settings")?.to_owned(),
        };
        if !(1..=64).contains(&meta.files) || !(1..=64).contains(&meta.ranks) {
            return Err(schema(format!("a board of {} by {} squares", meta.files, meta.ranks)));
        }
        Ok(meta)
    }
}

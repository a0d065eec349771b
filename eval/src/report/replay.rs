//! Games of the last generation, played again for showing.

use std::path::Path;
use std::sync::Arc;

use engine::{Color, Game, Move, Position, Variant};
use selfplay::data::{GameResult, GameRow, PositionRow, ShardPair, ShardReader, read_games};
use serde::Serialize;

use super::ReportError;

/// Which games are shown, by the share of games that are shorter.
const QUANTILES: [f64; 3] = [0.1, 0.5, 0.9];

/// A recorded game with what it takes to step through it.
#[derive(Clone, Debug, Serialize)]
pub struct ShownGame {
    /// Its number in the shards.
    pub game_id: u64,
    /// Its generation.
    pub generation: u32,
    /// Identity of Black's network.
    pub black_network: String,
    /// Identity of White's network.
    pub white_network: String,
    /// Where the record starts.
    pub opening_sfen: String,
    /// The moves from there, in USI.
    pub moves: Vec<String>,
    /// `black`, `white` or `draw`; `None` if it was cut off.
    pub result: Option<String>,
    /// Why it ended.
    pub reason: String,
    /// What the search gave for Black before each move, from -1 (lost) to 1 (won); empty if it is not recorded.
    pub values: Vec<f32>,
    /// `Piece::code` on each square at the start.
    #[serde(skip)]
    pub(super) start: Vec<u8>,
    /// Whether White moves first.
    #[serde(skip)]
    pub(super) white_first: bool,
    /// What each move does.
    #[serde(skip)]
    pub(super) steps: Vec<Step>,
}

/// What a move changes on the board.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    /// Squares with their new codes.
    pub(super) changes: Vec<(usize, u8)>,
    /// Where the piece went from and to, and what it captured on the way.
    pub(super) marks: Vec<usize>,
}

/// A short, a middling and a long game of the last generation, among those that somebody won if there are any. None if
/// the shards were played under other rules than `rules`.
pub(super) fn choose(shards: &[ShardPair], rules: &Arc<Variant>) -> Result<Vec<ShownGame>, ReportError> {
    let mut games: Vec<(GameRow, &ShardPair)> = Vec::new();
    for shard in shards.iter().rev() {
        let found = read_games(&shard.games)?;
        if found.meta.fingerprint != rules.fingerprint() {
            return Ok(Vec::new());
        }
        if games.first().is_some_and(|(game, _)| game.generation != found.meta.generation) {
            break;
        }
        games.extend(found.rows.into_iter().map(|game| (game, shard)));
    }
    let won = |(game, _): &(GameRow, &ShardPair)| matches!(game.result, Some(GameResult::Won(_)));
    if games.iter().any(won) {
        games.retain(won);
    }
    games.sort_by_key(|(game, _)| (game.plies, game.game_id));
    let last = games.len().saturating_sub(1) as f64;
    let mut chosen: Vec<usize> = QUANTILES.iter().map(|share| (share * last).round() as usize).collect();
    chosen.dedup();
    let chosen = chosen.into_iter().filter_map(|index| games.get(index));
    chosen.map(|(game, shard)| replay(game, shard, rules)).collect()
}

fn replay(row: &GameRow, shard: &ShardPair, rules: &Arc<Variant>) -> Result<ShownGame, ReportError> {
    let damaged = |what: String| ReportError::Game { path: shard.games.clone(), game: row.game_id, what };
    let start = Position::from_sfen(rules, &row.opening_sfen).map_err(|error| damaged(error.to_string()))?;
    let (codes, white_first) = (start.codes().to_vec(), start.side_to_move() == Color::White);
    let mut game = Game::new(start);
    let mut steps = Vec::with_capacity(row.moves.len());
    for (ply, text) in row.moves.iter().enumerate() {
        let at_fault = |error: engine::MoveError| damaged(format!("move {}: {error}", ply + 1));
        let mv = game.position().parse_usi(text).map_err(at_fault)?;
        let before = game.position().codes().to_vec();
        game.play(mv).map_err(at_fault)?;
        steps.push(Step::new(mv, &before, game.position().codes(), rules));
    }
    Ok(ShownGame {
        game_id: row.game_id,
        generation: row.generation,
        black_network: row.black_network.clone(),
        white_network: row.white_network.clone(),
        opening_sfen: row.opening_sfen.clone(),
        moves: row.moves.clone(),
        result: row.result.map(|result: GameResult| result.as_str().to_owned()),
        reason: row.reason.clone(),
        values: search_values(&shard.positions, row)?,
        start: codes,
        white_first,
        steps,
    })
}

impl Step {
    fn new(mv: Move, before: &[u8], after: &[u8], rules: &Variant) -> Step {
        let changed = before.iter().zip(after).enumerate().filter(|(_, (old, new))| old != new);
        let from = if mv.dropped().is_none() { Some(mv.from()) } else { None };
        let on_the_way = mv.on_the_way(rules.board()).into_iter().flatten();
        let mut marks: Vec<usize> = from.into_iter().chain([mv.to()]).chain(on_the_way).map(|s| s.index()).collect();
        marks.dedup();
        Step { changes: changed.map(|(square, (_, &new))| (square, new)).collect(), marks }
    }
}

/// What the search gave for Black before each move of a game; empty unless every position is recorded.
fn search_values(path: &Path, game: &GameRow) -> Result<Vec<f32>, ReportError> {
    let mut values = Vec::new();
    if !path.exists() {
        return Ok(values);
    }
    let reader = ShardReader::open::<PositionRow>(path)?;
    for group in 0..reader.groups() {
        let rows = reader.read_group::<PositionRow>(group)?;
        let own = rows.iter().filter(|row| row.game_id == game.game_id);
        values.extend(own.map(|row| if row.side_to_move == 0 { row.search_value } else { -row.search_value }));
        if values.len() >= game.moves.len() {
            break;
        }
    }
    if values.len() != game.moves.len() {
        values.clear();
    }
    Ok(values)
}

//! Validation of shards: everything that can be told from the rows and the rules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::{Color, Game, Move, Position, Reason, Variant};
use rayon::prelude::*;
use serde::Serialize;

use super::checksum::{Checksum, Checksums, sums_file};
use super::error::DataError;
use super::files::ShardPair;
use super::reader::{Shard, read_games, read_positions};
use super::row::{GameResult, GameRow, PositionRow, State, survivors};
use crate::worker::{RESIGNATION, games_of_shard};

/// Something wrong with a shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The file.
    pub file: PathBuf,
    /// Row in the file, from 0; `None` if it is about the whole file.
    pub row: Option<u64>,
    /// What was found and what was expected.
    pub what: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Shards looked at.
    pub shards: u64,
    /// Games replayed.
    pub games: u64,
    /// Positions compared with the replay.
    pub positions: u64,
    /// Shards of which a file is in no list of checksums.
    pub without_checksum: u64,
    /// What is wrong, by file; of one shard the first few.
    pub problems: Vec<Problem>,
}

/// Problems of one shard that are listed; more would only repeat them.
const MOST_PROBLEMS: usize = 10;

/// Largest error of a sum of probabilities.
const TOLERANCE: f32 = 1e-3;

/// Finds a variant by name and ruleset.
pub type Resolve<'a> = &'a (dyn Fn(&str, &str) -> Option<Arc<Variant>> + Sync);

/// Checks shards: that files have the checksums listed beside them, are whole and of this schema, that targets sum to 1, that every game replays by the rules to
/// the result and reason it gives, and that every position is what the replay gives: board, state, legal moves, move played,
/// outcome, survivors.
///
/// `listing` are folders, found by [`find_checksums`](super::find_checksums), whose lists name no file that is not there.
///
/// `resolve` finds the variant a shard names, e.g. `|name, ruleset| Variant::load(name, Some(ruleset)).ok()`.
pub fn check(shards: &[ShardPair], listing: &[PathBuf], resolve: Resolve<'_>) -> CheckReport {
    let mut all = CheckReport::default();
    let listed = Listed::read(shards, listing, &mut all.problems);
    let reports: Vec<CheckReport> = shards.par_iter().map(|shard| check_shard(shard, &listed, resolve)).collect();
    for mut report in reports {
        all.shards += report.shards;
        all.games += report.games;
        all.positions += report.positions;
        all.without_checksum += report.without_checksum;
        all.problems.append(&mut report.problems);
    }
    all
}

/// The checksums beside shards, by folder.
struct Listed {
    by_folder: BTreeMap<PathBuf, Checksums>,
}

impl Listed {
    /// Reads the lists beside the shards and in `listing`. Problems are lists that cannot be read, and lines of the latter
    /// without a file, but for the files of `shards`: those are looked at with their shard.
    fn read(shards: &[ShardPair], listing: &[PathBuf], problems: &mut Vec<Problem>) -> Listed {
        let files: BTreeSet<&Path> = shards.iter().flat_map(ShardPair::files).collect();
        let folders = files.iter().filter_map(|file| file.parent()).chain(listing.iter().map(PathBuf::as_path));
        let mut by_folder = BTreeMap::new();
        for folder in folders.collect::<BTreeSet<_>>() {
            match Checksums::read(folder) {
                Ok(checksums) => {
                    by_folder.insert(folder.to_owned(), checksums);
                }
                Err(error) => problems.push(unreadable(&sums_file(folder).unwrap_or_default(), &error)),
            }
        }
        for folder in listing {
            let names = by_folder.get(folder).into_iter().flat_map(Checksums::names);
            let gone =
                names.map(|name| folder.join(name)).filter(|file| !files.contains(file.as_path()) && !file.exists());
            problems.extend(gone.map(|file| Problem { file, row: None, what: GONE.to_owned() }));
        }
        Listed { by_folder }
    }

    fn get(&self, file: &Path) -> Option<Checksum> {
        self.by_folder.get(file.parent()?)?.get(file.file_name()?.to_str()?)
    }
}

const GONE: &str = "its checksum is listed, but it is not there";

/// Compares a file with its line, if it has one.
fn check_sum(file: &Path, listed: Option<Checksum>) -> Result<(), Problem> {
    let Some(expected) = listed else { return Ok(()) };
    let problem = |what: String| Problem { file: file.to_owned(), row: None, what };
    if !file.exists() {
        return Err(problem(GONE.to_owned()));
    }
    let found = Checksum::of_file(file).map_err(|error| unreadable(file, &error))?;
    if found != expected {
        return Err(problem(format!("its SHA-256 differs from the one listed: expected {expected}, found {found}")));
    }
    Ok(())
}

fn check_shard(shard: &ShardPair, listed: &Listed, resolve: Resolve<'_>) -> CheckReport {
    let mut report = CheckReport { shards: 1, ..CheckReport::default() };
    for file in shard.files() {
        let expected = listed.get(file);
        if expected.is_none() && file.exists() {
            report.without_checksum = 1;
        }
        report.problems.extend(check_sum(file, expected).err());
    }
    // What is gone has been reported; a damaged file is read all the same, for that tells what the damage did.
    if report.problems.iter().any(|problem| problem.what == GONE) {
        return report;
    }
    let games = read_games(&shard.games).map_err(|error| unreadable(&shard.games, &error));
    let positions = read_positions(&shard.positions).map_err(|error| unreadable(&shard.positions, &error));
    report.problems.extend(games.as_ref().err().cloned());
    report.problems.extend(positions.as_ref().err().cloned());
    let (Ok(games), Ok(positions)) = (games, positions) else { return report };
    match variant_of(shard, &games, &positions, resolve) {
        Ok(variant) => ShardCheck { shard, variant, report: &mut report }.run(&games.rows, &positions.rows),
        Err(problem) => report.problems.push(problem),
    }
    report
}

fn unreadable(path: &Path, error: &DataError) -> Problem {
    let row = match error {
        DataError::Row { row, .. } => Some(*row),
        _ => None,
    };
    // The error's text names the file and the row, which the problem has already.
    let what = match error {
        DataError::Io { source, .. } => source.to_string(),
        DataError::Parquet { source, .. } => format!("not a complete parquet file: {source}"),
        DataError::Schema { what, .. } | DataError::Row { what, .. } => what.clone(),
    };
    Problem { file: path.to_owned(), row, what }
}

/// The variant both files of a shard were made with, if its rules are still the same.
fn variant_of(
    shard: &ShardPair,
    games: &Shard<GameRow>,
    positions: &Shard<PositionRow>,
    resolve: Resolve<'_>,
) -> Result<Arc<Variant>, Problem> {
    let problem = |file: &Path, what: String| Problem { file: file.to_owned(), row: None, what };
    let meta = &games.meta;
    if positions.meta != *meta {
        return Err(problem(&shard.positions, "its metadata differ from those of its games".to_owned()));
    }
    let variant = resolve(&meta.variant, &meta.ruleset)
        .ok_or_else(|| problem(&shard.games, format!("no variant {} with ruleset {}", meta.variant, meta.ruleset)))?;
    if variant.fingerprint() != meta.fingerprint {
        let [made, now] = [&meta.fingerprint, variant.fingerprint()];
        return Err(problem(&shard.games, format!("made with other rules: fingerprint {made}, now {now}")));
    }
    Ok(variant)
}

struct ShardCheck<'a> {
    shard: &'a ShardPair,
    variant: Arc<Variant>,
    report: &'a mut CheckReport,
}

impl ShardCheck<'_> {
    fn run(mut self, games: &[GameRow], positions: &[PositionRow]) {
        self.check_names(games);
        let mut first = 0;
        for (row, game) in games.iter().enumerate() {
            if self.report.problems.len() >= MOST_PROBLEMS {
                return;
            }
            let end = positions.len().min(first + game.plies as usize);
            self.check_game(row, game, first, &positions[first..end]);
            first = end;
        }
        if first < positions.len() {
            self.add_position(first, "no game has this position".to_owned());
        }
    }

    fn add_game(&mut self, row: usize, what: String) {
        self.report.problems.push(Problem { file: self.shard.games.clone(), row: Some(row as u64), what });
    }

    fn add_position(&mut self, row: usize, what: String) {
        self.report.problems.push(Problem { file: self.shard.positions.clone(), row: Some(row as u64), what });
    }

    /// The games must be those the file is named after, in order.
    fn check_names(&mut self, games: &[GameRow]) {
        let Some(named) = games_of_shard(&self.shard.games) else { return };
        let found = games.iter().map(|game| game.game_id ^ u64::from(game.generation) << 32);
        if !found.eq(named.clone()) {
            let what = format!("expected the games {} to {}, in order", named.start(), named.end());
            self.report.problems.push(Problem { file: self.shard.games.clone(), row: None, what });
        }
    }

    fn check_game(&mut self, row: usize, record: &GameRow, first: usize, positions: &[PositionRow]) {
        let opening = match Position::from_sfen(&self.variant, &record.opening_sfen) {
            Ok(opening) => opening,
            Err(error) => return self.add_game(row, format!("opening_sfen: {error}")),
        };
        let mut game = Game::new(opening);
        let mut moves = Vec::new();
        for (ply, text) in record.moves.iter().enumerate() {
            game.legal_moves(&mut moves);
            let mv = match game.position().parse_usi(text) {
                Ok(mv) if moves.contains(&mv) => mv,
                Ok(_) => return self.add_game(row, format!("move {ply}, {text}, is not legal")),
                Err(error) => return self.add_game(row, format!("move {ply}: {error}")),
            };
            match positions.get(ply) {
                Some(position) => {
                    if let Err(what) = check_position(record, ply, &game, &moves, mv, position) {
                        return self.add_position(first + ply, what);
                    }
                }
                None => return self.add_game(row, format!("{} of {} positions", positions.len(), record.plies)),
            }
            game.play_unchecked(mv);
        }
        if let Err(what) = check_ending(record, &game) {
            return self.add_game(row, what);
        }
        for (ply, position) in positions.iter().enumerate() {
            let side = Color::ALL[usize::from(position.side_to_move)];
            if position.outcome != record.result.map(|result| result.for_side(side)) {
                return self.add_position(first + ply, "outcome: not the game's result".to_owned());
            }
        }
        let played: Vec<Move> = game.moves().collect();
        let marks = survivors(&self.variant, &played, game.position().codes());
        if let Some(ply) = (0..positions.len()).find(|&ply| positions[ply].survives != marks[ply]) {
            return self.add_position(first + ply, "survives: not the pieces that reach the end".to_owned());
        }
        self.report.games += 1;
        self.report.positions += positions.len() as u64;
    }
}

/// Compares a row with the game where it should have been recorded, in all that does not depend on how the game ends.
fn check_position(
    record: &GameRow,
    ply: usize,
    game: &Game,
    moves: &[Move],
    played: Move,
    row: &PositionRow,
) -> Result<(), String> {
    let expect = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    expect(row.game_id == record.game_id, "game_id: not the game's")?;
    expect(row.ply as usize == ply, "ply: not in order")?;
    expect(row.generation == record.generation, "generation: not the game's")?;
    let position = game.position();
    expect(row.board == position.codes(), "board: not where the game's moves lead")?;
    expect(row.side_to_move as usize == position.side_to_move().index(), "side_to_move: not whose turn it is")?;
    expect(row.state == State::of(game).to_bytes(), "state: not that of the game")?;
    let mut listed = row.moves.clone();
    let mut legal: Vec<u32> = moves.iter().map(|mv| mv.raw()).collect();
    listed.sort_unstable();
    legal.sort_unstable();
    expect(listed == legal, "moves: not the legal moves")?;
    expect(row.moves[row.played as usize] == played.raw(), "played: not the game's move")?;
    expect(is_distribution(&row.policy), "policy: does not sum to 1")?;
    expect(is_distribution(&row.search_wdl), "search_wdl: does not sum to 1")?;
    expect((-1.0..=1.0).contains(&row.search_value), "search_value: not from -1 to 1")?;
    expect(row.plies_left as usize == record.plies as usize - ply, "plies_left: not the plies to the end")
}

fn is_distribution(probabilities: &[f32]) -> bool {
    let sum: f32 = probabilities.iter().sum();
    (sum - 1.0).abs() < TOLERANCE && probabilities.iter().all(|&p| p >= 0.0)
}

/// Compares a game's result and reason with where its moves led.
fn check_ending(record: &GameRow, game: &Game) -> Result<(), String> {
    let found = record.result.map_or("none", GameResult::as_str);
    let claimed = format!("{found} by {}", record.reason);
    let cut_off = Reason::PlyCap.as_str();
    match game.outcome() {
        Some(outcome) if outcome.reason == Reason::PlyCap && record.reason == cut_off && record.result.is_none() => {
            Ok(())
        }
        Some(outcome) => {
            let result = outcome.winner.map_or(GameResult::Draw, GameResult::Won);
            if record.result == Some(result) && record.reason == outcome.reason.as_str() {
                return Ok(());
            }
            Err(format!("ended with {claimed}, but the rules say {} by {}", result.as_str(), outcome.reason))
        }
        None if record.reason == RESIGNATION && matches!(record.result, Some(GameResult::Won(_))) => Ok(()),
        None if record.reason == cut_off && record.result.is_none() => Ok(()),
        None => Err(format!("ended with {claimed}, but the game is not over")),
    }
}

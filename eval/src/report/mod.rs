//! The report of a run: one page that needs nothing but a browser, and the same numbers as data.
//!
//! ```text
//! run.toml ─ metrics.jsonl ─ matches/*.json ─ ladder/ladder.json ─ values/*.json ─ games/, positions/
//!      └────────── load ──────────┘
//!               RunReport ──→ summary (JSON)
//!                   └───────→ write (report.html)
//! ```
//!
//! Whatever a run has not come to yet is missing from its report, which says so. A report depends on the files of
//! the run alone, not on when or where it is made.

mod board;
mod error;
mod games;
mod headline;
mod learning;
mod markup;
mod numbers;
mod odds;
mod page;
mod phases;
mod pieces;
mod plots;
mod replay;
mod sections;
mod side_by_side;
mod square_tables;
mod strength;
mod svg;
mod tables;
mod value_plots;
mod variant;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::Variant;
use selfplay::data::find_shards;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use error::ReportError;
pub use games::{Ending, GamesReport, GenerationGames, LengthBin, Plies};
pub use learning::{Learning, Losses, SelfplayRate, Training};
pub use pieces::{PieceRow, ValuesReport};
pub use replay::ShownGame;
use strength::BENCHMARKS;
pub use strength::{Gate, NetworkStrength, ScoredMatch, Strength};
pub use variant::VariantInfo;

use crate::files::write_whole;
use crate::ladder::Ladder;
use crate::matches::MatchResult;
use crate::measure::Measured;
use crate::odds::OddsValues;
use crate::squares::Squares;

/// All that a report says. A part is `None`, or its list empty, where the run has no file for it.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// The results in sentences.
    pub headline: Vec<String>,
    /// What was played.
    pub variant: Option<VariantInfo>,
    /// The configuration as the run keeps it.
    pub config: Option<String>,
    /// What matches say about the networks.
    pub strength: Option<Strength>,
    /// Ratings of networks and other players by `shishi ladder`.
    pub ladder: Option<Ladder>,
    /// What self-play and training took and gave.
    pub learning: Option<Learning>,
    /// Endings and lengths of the games of self-play.
    pub games: Option<GamesReport>,
    /// Piece values by outcomes, beside a reference.
    pub values: Option<ValuesReport>,
    /// Piece values by exchanges.
    pub increment: Option<ValuesReport>,
    /// Piece values by matches with odds.
    pub odds: Option<OddsValues>,
    /// Piece values by square.
    pub squares: Option<Squares>,
    /// Games of the last generation, to play through.
    pub shown: Vec<ShownGame>,
    /// The rules, if they are at hand.
    #[serde(skip)]
    rules: Option<Arc<Variant>>,
}

/// Reads what a run directory holds.
///
/// # Errors
/// If `run` is no directory, or a file in it cannot be read; missing files are no errors.
pub fn load(run: &Path) -> Result<RunReport, ReportError> {
    fs::read_dir(run).map_err(ReportError::io(run))?;
    let config = read_text(&run.join("run.toml"))?;
    let (gates, benchmarks) = read_matches(&run.join("matches"))?;
    let measured: Option<Measured> = read_json(&run.join("values").join("outcome.json"))?;
    let increment: Option<Measured> = read_json(&run.join("values").join("increment.json"))?;
    let folders: Vec<PathBuf> =
        ["games", "positions"].iter().map(|name| run.join(name)).filter(|folder| folder.is_dir()).collect();
    let shards: Vec<_> = find_shards(&folders)?.into_iter().filter(|shard| shard.games.exists()).collect();
    let games = GamesReport::read(&shards)?;

    let results = || benchmarks.iter().flatten().map(|(_, result)| result).chain(gates.iter().map(|gate| &gate.result));
    let name = games
        .as_ref()
        .map(|games| (games.variant.clone(), games.ruleset.clone()))
        .or_else(|| measured.as_ref().map(|values| (values.variant.clone(), values.ruleset.clone())))
        .or_else(|| results().next().map(|result| (result.variant.clone(), result.ruleset.clone())));
    let rules = name.as_ref().and_then(|(name, ruleset)| variant::open(name, ruleset, config.as_deref()));
    let shown = match &rules {
        Some(rules) => replay::choose(&shards, rules)?,
        None => Vec::new(),
    };
    let mut report = RunReport {
        headline: Vec::new(),
        variant: name.map(|(name, ruleset)| VariantInfo::new(name, ruleset, rules.as_deref())),
        config,
        strength: Strength::of(benchmarks, gates),
        ladder: read_json(&run.join("ladder").join("ladder.json"))?,
        learning: Learning::read(&run.join("metrics.jsonl"))?,
        games,
        values: measured.map(|measured| ValuesReport::new(measured, rules.as_deref())),
        increment: increment.map(|measured| ValuesReport::new(measured, rules.as_deref())),
        odds: read_json(&run.join("values").join("odds.json"))?,
        squares: read_json(&run.join("values").join("squares.json"))?,
        shown,
        rules,
    };
    report.headline = headline::sentences(&report);
    Ok(report)
}

/// Every number of the report as JSON: [`RunReport`], field by field.
///
/// # Errors
/// As [`load`].
pub fn summary(run: &Path) -> Result<serde_json::Value, ReportError> {
    let report = load(run)?;
    serde_json::to_value(&report).map_err(ReportError::json(run))
}

/// Writes `report.html` into a run directory, whole or not at all; gives its path.
///
/// # Errors
/// As [`load`], or if the file system refuses; an older report stays then.
pub fn write(run: &Path) -> Result<PathBuf, ReportError> {
    let html = page::html(&load(run)?);
    let path = run.join("report.html");
    write_whole(&path, &html).map_err(ReportError::io(&path))?;
    Ok(path)
}

/// The text of a file, or `None` if there is no such file.
fn read_text(path: &Path) -> Result<Option<String>, ReportError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ReportError::io(path)(error)),
    }
}

/// A JSON document, or `None` if there is no such file.
fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ReportError> {
    let text = read_text(path)?;
    text.map(|text| serde_json::from_str(&text)).transpose().map_err(ReportError::json(path))
}

/// Gate matches, and matches against each of the benchmarks with the network's number, by network.
type Matches = (Vec<Gate>, [Vec<(u32, MatchResult)>; 2]);

fn read_matches(folder: &Path) -> Result<Matches, ReportError> {
    let mut matches: Matches = Default::default();
    if !folder.is_dir() {
        return Ok(matches);
    }
    for entry in fs::read_dir(folder).map_err(ReportError::io(folder))? {
        let path = entry.map_err(ReportError::io(folder))?.path();
        let Some((kind, number)) = path
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".json")?.split_once('-'))
            .and_then(|(kind, number)| Some((kind.to_owned(), number.parse::<u32>().ok()?)))
        else {
            continue;
        };
        match kind.as_str() {
            "gate" => matches.0.extend(read_json::<Gate>(&path)?),
            _ => {
                if let Some(at) = BENCHMARKS.iter().position(|(name, _)| *name == kind) {
                    matches.1[at].extend(read_json::<MatchResult>(&path)?.map(|result| (number, result)));
                }
            }
        }
    }
    matches.0.sort_by_key(|gate| gate.network);
    matches.1.iter_mut().for_each(|results| results.sort_by_key(|(network, _)| *network));
    Ok(matches)
}

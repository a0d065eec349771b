//! Published tables of piece values, embedded, and a user's own in the same format (`reference/README.md`).

use std::path::Path;

use engine::Variant;
use serde::Serialize;

/// Embedded tables: id, the column that holds the values, the file.
const BUILTIN: [(&str, &str, &str); 16] = [
    ("chu_wikipedia_gcsa", "value", include_str!("../reference/chu_wikipedia_gcsa.csv")),
    ("chu_gcsa_exchange", "value", EXCHANGE),
    // By the chance of promoting, in per cent.
    ("chu_gcsa_exchange_p0", "p0", EXCHANGE),
    ("chu_gcsa_exchange_p25", "p25", EXCHANGE),
    ("chu_gcsa_exchange_p50", "p50", EXCHANGE),
    ("chu_gcsa_exchange_p75", "p75", EXCHANGE),
    ("chu_gcsa_exchange_p100", "p100", EXCHANGE),
    ("chu_hgmuller", "value", include_str!("../reference/chu_hgmuller.csv")),
    ("chu_lishogi", "value", include_str!("../reference/chu_lishogi.csv")),
    ("daidai_gcsa", "value", include_str!("../reference/daidai_gcsa.csv")),
    ("sho_hachu", "value", include_str!("../reference/sho_hachu.csv")),
    ("standard_lishogi", "lishogi", STANDARD),
    ("standard_aobazero", "aobazero_2022", STANDARD),
    ("standard_bonanza", "bonanza6", STANDARD),
    ("standard_nanoha_mini", "nanoha_mini", STANDARD),
    ("standard_nanoha_nano", "nanoha_nano", STANDARD),
];

const EXCHANGE: &str = include_str!("../reference/chu_gcsa_exchange.csv");
const STANDARD: &str = include_str!("../reference/standard_shogi.csv");

/// A table of piece values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReferenceTable {
    /// Name to ask for it by; the file's stem for a user's own.
    pub id: String,
    /// What it is, for people.
    pub title: String,
    /// Where it was published; the path for a user's own that does not say.
    pub source: String,
    /// Its unit, as the source puts it ("pawn = 1"); empty if it does not say. Comparisons do not depend on it.
    pub scale: String,
    /// The variant it is about.
    pub variant: Option<String>,
    /// The ruleset whose moves it assumes; `None` if it does not matter or is not said.
    pub ruleset: Option<String>,
    /// Step that its values are rounded to: what it says, else the largest of 1, 1/2, 1/4, 1/10, 1/20 and 1/100 that all of
    /// them are multiples of, else 0.
    pub rounding: f64,
    /// Its rows in their order.
    pub rows: Vec<ReferenceRow>,
    /// Whether it is the one to use for its variant when none is named.
    #[serde(skip)]
    default: bool,
}

/// A piece in a table. Values are positive; `None` where the table does not rate the piece.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReferenceRow {
    /// Piece id.
    pub id: String,
    /// Value before promotion, in the table's scale.
    pub value: Option<f64>,
    /// Piece it promotes to.
    pub promoted_id: Option<String>,
    /// Value after promotion, where the table gives it in this row.
    pub promoted_value: Option<f64>,
    /// Pairs of a chance of promoting and the value with it, where the table says how the value before promotion depends on
    /// that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_promotion: Vec<[f64; 2]>,
}

impl ReferenceRow {
    /// The value with this chance of promoting: that of the nearest chance given, or the one for all.
    fn value_at(&self, chance: Option<f64>) -> Option<f64> {
        let Some(chance) = chance else { return self.value };
        let distance = |pair: &&[f64; 2]| (pair[0] - chance).abs();
        let nearest = self.by_promotion.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map(|pair| pair[1]).or(self.value)
    }
}

/// A table that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {problem}")]
pub struct ReferenceError {
    /// The file, as given.
    pub path: String,
    /// Line, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: ReferenceProblem,
}

/// What is wrong with a line of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceProblem {
    /// The header lacks a column.
    #[error("expected a header line with the columns id and {value}, found no column {missing:?}")]
    Column {
        /// The value column looked for.
        value: String,
        /// The missing one.
        missing: String,
    },
    /// There is no header line, or no row below it.
    #[error("expected a header line and rows, found no more lines")]
    Empty,
    /// A row has more or fewer fields than the header.
    #[error("expected {expected} fields as in the header, found {found}")]
    Fields {
        /// Fields in the header.
        expected: usize,
        /// Fields in the row.
        found: usize,
    },
    /// A quoted field does not end on its line, or text follows its closing quote.
    #[error("expected a closing quote at the end of the field")]
    Quote,
    /// The id is empty.
    #[error("expected a piece id, found an empty field")]
    Id,
    /// The same id stands in an earlier row.
    #[error("piece {id:?} is already on line {first}")]
    Duplicate {
        /// The id.
        id: String,
        /// Line of the first row.
        first: usize,
    },
    /// A value is not a number of at least 0.
    #[error("{column}: expected a number of at least 0 or nothing, found {found:?}")]
    Number {
        /// The column.
        column: String,
        /// The text.
        found: String,
    },
}

impl ReferenceTable {
    /// Names of the embedded tables.
    pub fn builtin_ids() -> impl Iterator<Item = &'static str> {
        BUILTIN.iter().map(|(id, _, _)| *id)
    }

    /// An embedded table; `None` if there is none of that name.
    pub fn builtin(id: &str) -> Option<Self> {
        let (id, column, text) = BUILTIN.iter().find(|(known, _, _)| *known == id)?;
        let mut table = parse(text, id, column).expect("every embedded table is read by a test");
        table.id = (*id).to_owned();
        if *column != "value" {
            table.title = format!("{} ({column})", table.title);
        }
        Some(table)
    }

    /// The embedded table to compare a variant with when none is named.
    pub fn default_for(variant: &str) -> Option<Self> {
        Self::builtin_ids()
            .filter_map(Self::builtin)
            .find(|table| table.default && table.variant.as_deref() == Some(variant))
    }

    /// Reads a table from the text of the file at `path` (which is not opened; it names the table and its errors).
    ///
    /// # Errors
    /// The first line that is not as `reference/README.md` says.
    pub fn from_csv(text: &str, path: &Path) -> Result<Self, ReferenceError> {
        parse(text, &path.display().to_string(), "value")
    }

    /// Value of a piece: its own row's, else the promoted value of a row that promotes to it.
    pub fn value(&self, id: &str) -> Option<f64> {
        let own = self.rows.iter().find(|row| row.id == id);
        own.and_then(|row| row.value).or_else(|| {
            self.rows.iter().filter(|row| row.promoted_id.as_deref() == Some(id)).find_map(|row| row.promoted_value)
        })
    }
}

impl ReferenceTable {
    /// A note if the table assumes the moves of another ruleset than games of the variant are played with.
    pub(crate) fn other_moves(&self, variant: &Variant) -> Option<String> {
        let (moves, played) = (self.ruleset.as_deref()?, variant.ruleset());
        let note = format!("the reference assumes the moves of ruleset {moves}, the games were played with {played}");
        (moves != played).then_some(note)
    }

    /// The same table with a row for each kind of a variant: its own value, or that of the piece it moves as. `kinds`
    /// are pairs of these ids. Where values depend on the chance of promoting, `chance` says what that of a kind is.
    pub fn by_kind<'a>(
        &self,
        kinds: impl Iterator<Item = (&'a str, &'a str)>,
        chance: impl Fn(&str) -> Option<f64>,
    ) -> Self {
        let own = |id: &str| self.rows.iter().find(|row| row.id == id)?.value_at(chance(id));
        let row = |(id, moves_as): (&str, &str)| ReferenceRow {
            id: id.to_owned(),
            value: own(id).or_else(|| self.value(id)).or_else(|| self.value(moves_as)),
            promoted_id: None,
            promoted_value: None,
            by_promotion: Vec::new(),
        };
        ReferenceTable { rows: kinds.map(row).collect(), ..self.clone() }
    }

    /// The title of [`by_kind`](ReferenceTable::by_kind): where values depend on the chance of promoting it says so.
    pub(crate) fn title_by_kind(&self) -> String {
        let depends = self.rows.iter().any(|row| !row.by_promotion.is_empty());
        format!("{}{}", self.title, if depends { ", by the measured chance of promoting" } else { "" })
    }
}

/// Column positions from a header.
struct Columns {
    count: usize,
    id: usize,
    value: usize,
    promoted_id: Option<usize>,
    promoted_value: Option<usize>,
    /// Chances of promoting, and the columns of the values with them.
    by_promotion: Vec<(f64, usize)>,
}

impl Columns {
    fn of(header: &[String], value: &str) -> Result<Self, ReferenceProblem> {
        let find = |name: &str| header.iter().position(|h| h == name);
        let need = |name: &str| {
            find(name).ok_or_else(|| ReferenceProblem::Column { value: value.to_owned(), missing: name.to_owned() })
        };
        Ok(Columns {
            count: header.len(),
            id: need("id")?,
            value: need(value)?,
            promoted_id: find("promoted_id").or_else(|| find("promotes_to")),
            promoted_value: find("promoted_value"),
            // A column that is asked for by its name is meant for all chances.
            by_promotion: if value == "value" {
                header.iter().enumerate().filter_map(chance).collect()
            } else {
                Vec::new()
            },
        })
    }
}

/// `p25` heads the values with a chance of promoting of 25 %.
fn chance((column, heading): (usize, &String)) -> Option<(f64, usize)> {
    let percent: u8 = heading.strip_prefix('p')?.parse().ok()?;
    (percent <= 100).then(|| (f64::from(percent) / 100.0, column))
}

fn parse(text: &str, path: &str, value_column: &str) -> Result<ReferenceTable, ReferenceError> {
    let error = |line: usize, problem| ReferenceError { path: path.to_owned(), line, problem };
    let stem = Path::new(path).file_stem();
    let id = stem.map_or(path.to_owned(), |s| s.to_string_lossy().into_owned());
    let mut table = ReferenceTable {
        title: id.clone(),
        id,
        source: path.to_owned(),
        scale: String::new(),
        variant: None,
        ruleset: None,
        rounding: 0.0,
        rows: Vec::new(),
        default: false,
    };
    let mut rounding = None;
    let mut columns: Option<Columns> = None;
    let mut first_lines: Vec<usize> = Vec::new();
    let mut line = 0;
    for content in text.trim_start_matches('\u{feff}').lines() {
        line += 1;
        if let Some(comment) = content.strip_prefix('#') {
            if columns.is_none() {
                read_key(&mut table, comment);
                rounding = read_rounding(comment).map_err(|p| error(line, p))?.or(rounding);
            }
            continue;
        }
        if content.trim().is_empty() {
            continue;
        }
        let fields = split(content).ok_or_else(|| error(line, ReferenceProblem::Quote))?;
        let Some(columns) = &columns else {
            columns = Some(Columns::of(&fields, value_column).map_err(|p| error(line, p))?);
            continue;
        };
        let row = read_row(&fields, columns, value_column).map_err(|p| error(line, p))?;
        if let Some(i) = table.rows.iter().position(|other| other.id == row.id) {
            let (id, first) = (row.id, first_lines[i]);
            return Err(error(line, ReferenceProblem::Duplicate { id, first }));
        }
        table.rows.push(row);
        first_lines.push(line);
    }
    if table.rows.is_empty() {
        return Err(error(line + 1, ReferenceProblem::Empty));
    }
    table.rounding = rounding.unwrap_or_else(|| step_of(&table.rows));
    Ok(table)
}

/// Takes `key: value` out of a comment if it is one of the known keys.
fn read_key(table: &mut ReferenceTable, comment: &str) {
    let Some((key, value)) = comment.split_once(':') else {
        return;
    };
    let value = value.trim().to_owned();
    match key.trim() {
        "title" => table.title = value,
        "source" => table.source = value,
        "scale" => table.scale = value,
        "variant" => table.variant = Some(value),
        "ruleset" => table.ruleset = Some(value),
        "default" => table.default = value == "yes",
        _ => {}
    }
}

fn read_rounding(comment: &str) -> Result<Option<f64>, ReferenceProblem> {
    let Some((_, found)) = comment.split_once(':').filter(|(key, _)| key.trim() == "rounding") else { return Ok(None) };
    let found = found.trim();
    let problem = || ReferenceProblem::Number { column: "rounding".to_owned(), found: found.to_owned() };
    let step: f64 = found.parse().map_err(|_| problem())?;
    if step.is_finite() && step >= 0.0 { Ok(Some(step)) } else { Err(problem()) }
}

/// The step that values look rounded to.
fn step_of(rows: &[ReferenceRow]) -> f64 {
    let values = || rows.iter().flat_map(|row| [row.value, row.promoted_value]).flatten();
    let whole = |x: f64| (x - x.round()).abs() < 1e-6;
    [1.0, 0.5, 0.25, 0.1, 0.05, 0.01].into_iter().find(|step| values().all(|x| whole(x / step))).unwrap_or(0.0)
}

fn read_row(fields: &[String], columns: &Columns, value_column: &str) -> Result<ReferenceRow, ReferenceProblem> {
    if fields.len() != columns.count {
        return Err(ReferenceProblem::Fields { expected: columns.count, found: fields.len() });
    }
    let id = fields[columns.id].clone();
    if id.is_empty() {
        return Err(ReferenceProblem::Id);
    }
    let number = |column: usize, name: &str| {
        let text = fields[column].as_str();
        if text.is_empty() {
            return Ok(None);
        }
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() && x >= 0.0 => Ok((x > 0.0).then_some(x)),
            _ => Err(ReferenceProblem::Number { column: name.to_owned(), found: text.to_owned() }),
        }
    };
    let promoted = columns.promoted_value;
    let mut by_promotion = Vec::new();
    for &(chance, column) in &columns.by_promotion {
        by_promotion.extend(number(column, "a value by the chance of promoting")?.map(|value| [chance, value]));
    }
    Ok(ReferenceRow {
        id,
        by_promotion,
        value: number(columns.value, value_column)?,
        promoted_id: columns.promoted_id.map(|i| fields[i].clone()).filter(|id| !id.is_empty()),
        promoted_value: promoted.map_or(Ok(None), |i| number(i, "promoted_value"))?,
    })
}

/// Fields of a CSV line, trimmed; `None` if a quote is left open or text follows a closing quote. A quoted field
/// doubles its quotes.
fn split(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.trim_start().strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                (rest[..end].trim().to_owned(), &rest[end..])
            }
        };
        fields.push(field);
        match after.trim_start() {
            "" => return Some(fields),
            more => rest = more.strip_prefix(',')?,
        }
    }
}

/// The field up to its closing quote, and what follows.
fn unquote(mut rest: &str) -> Option<(String, &str)> {
    let mut field = String::new();
    loop {
        let (text, after) = rest.split_once('"')?;
        field.push_str(text);
        match after.strip_prefix('"') {
            Some(more) => {
                field.push('"');
                rest = more;
            }
            None => return Some((field, after)),
        }
    }
}

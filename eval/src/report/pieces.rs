//! Piece values, ready to show.

use engine::Variant;
use serde::Serialize;

use super::numbers::counted;
use crate::interval::{Agreement, Interval};
use crate::measure::{Measured, PieceName};
use crate::opinion::Opinion;
use crate::phase::PhaseValues;
use crate::promotion::Promotion;
use crate::values::{Method, PieceValue, Unit};

/// A piece with its value.
#[derive(Clone, Debug, Serialize)]
pub struct PieceRow {
    /// English name of the piece it moves as.
    pub name: String,
    /// For a promoted piece the English name of what it was.
    pub from: Option<String>,
    /// Japanese name; the symbol where the variant's definition is not at hand.
    pub kanji: String,
    /// One or two characters for boards.
    pub symbol: String,
    /// The measurement.
    #[serde(flatten)]
    pub value: PieceValue,
}

/// The measured values of a run.
#[derive(Clone, Debug, Serialize)]
pub struct ValuesReport {
    /// How they were measured.
    pub method: Method,
    /// Who judged positions; `None` if only outcomes count.
    pub judge: Option<String>,
    /// Games that count.
    pub games: u64,
    /// Their first and last generation.
    pub generations: Option<[u32; 2]>,
    /// Games that were cut off, so that nobody won or drew.
    pub cut_off: u64,
    /// Positions that count.
    pub rows: u64,
    /// What a value counts.
    pub unit: Unit,
    /// Title of the reference table.
    pub reference_title: Option<String>,
    /// Set if the reference table assumes other moves than the games were played with.
    pub warning: Option<String>,
    /// What moving first is worth, in the same unit.
    pub constant: Option<Interval>,
    /// Pieces whose value the games determine, dearest first.
    pub identified: Vec<PieceRow>,
    /// The others, in the order of the variant.
    pub not_identified: Vec<PieceRow>,
    /// Agreement with the reference.
    pub agreement: Agreement,
    /// Where the judge's opinion of a piece and the outcomes part.
    pub opinions: Vec<Opinion>,
    /// Values in each phase of the game.
    pub phases: Vec<PhaseValues>,
    /// How often and when each kind promotes.
    pub promotions: Vec<Promotion>,
}

impl ValuesReport {
    pub(super) fn new(measured: Measured, rules: Option<&Variant>) -> Self {
        let Measured {
            generations, cut_off, reference_title, warning, values, names, judge, opinions, promotions, ..
        } = measured;
        let rows = values.pieces.into_iter().zip(names).map(|(value, name)| PieceRow::new(value, name, rules));
        let (mut identified, not_identified): (Vec<_>, Vec<_>) = rows.partition(|row| row.value.value.is_some());
        identified.sort_by(|a, b| b.value.value.unwrap_or(0.0).total_cmp(&a.value.value.unwrap_or(0.0)));
        ValuesReport {
            method: values.method,
            judge,
            opinions,
            phases: values.phases,
            promotions,
            games: values.games,
            generations,
            cut_off,
            rows: values.rows,
            unit: values.unit,
            reference_title,
            warning,
            constant: values.constant,
            identified,
            not_identified,
            agreement: values.agreement,
        }
    }

    /// `12,345 games of generations 3 to 7`.
    pub(super) fn games_counted(&self) -> String {
        let games = counted(self.games, "game");
        match self.generations {
            Some([first, last]) if first == last => format!("{games} of generation {first}"),
            Some([first, last]) => format!("{games} of generations {first} to {last}"),
            None => games,
        }
    }

    /// The identified piece of this id.
    pub(super) fn identified(&self, id: &str) -> Option<&PieceRow> {
        self.identified.iter().find(|row| row.value.id == id)
    }

    /// All pieces, the identified ones first.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &PieceRow> {
        self.identified.iter().chain(&self.not_identified)
    }

    /// Number of features: kinds of pieces, all royal ones together.
    pub fn kinds(&self) -> usize {
        self.identified.len() + self.not_identified.len()
    }
}

impl PieceRow {
    fn new(value: PieceValue, name: PieceName, rules: Option<&Variant>) -> Self {
        let kind = rules.and_then(|rules| rules.kind_by_id(&value.id).map(|kind| rules.kind(kind)));
        let base = kind.and_then(|kind| Some(rules?.kind(kind.base?).name.clone()));
        let spelled = || spelled_base(&value.id);
        PieceRow {
            from: if name.promoted { base.or_else(spelled) } else { None },
            kanji: kind.map_or(name.symbol.clone(), |kind| kind.kanji.clone()),
            name: name.name,
            symbol: name.symbol,
            value,
        }
    }

    /// Whether it is the promoted side of a piece.
    pub fn promoted(&self) -> bool {
        self.from.is_some()
    }
}

/// What a promoted piece was, as its id spells it, where the variant's definition is not at hand.
pub(super) fn spelled_base(id: &str) -> Option<String> {
    Some(id.strip_prefix("promoted_")?.replace('_', " "))
}

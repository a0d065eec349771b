//! What the values say: which pieces disagree with the reference, and what two methods say of the same pieces.

use super::markup::Markup;
use super::numbers::{count, counted, player, range, significant};
use super::page::{note, paragraph};
use super::tables::{self, Cell, table};
use super::{PieceRow, ValuesReport};
use crate::compare::Verdict;
use crate::interval::CEILINGS_SOURCE;
use crate::values::Unit;

/// Which pieces disagree with the reference, and how sure that is.
pub(super) fn disagreements(m: &mut Markup, values: &ValuesReport) {
    let compared = || values.identified.iter().filter_map(|row| Some((row, row.value.comparison.as_ref()?)));
    if compared().next().is_none() {
        return;
    }
    let of = |verdict: Verdict| compared().filter(move |(_, c)| c.verdict == verdict).map(|(row, _)| row);
    let names = |verdict| of(verdict).map(name).collect::<Vec<_>>().join(", ");
    m.leaf("h3", &[], "Pieces that disagree with the reference");
    if of(Verdict::Differs).next().is_none() {
        paragraph(m, "None, beyond what chance and the rounding of the reference explain.");
    } else {
        let row = |p: &PieceRow| {
            let c = p.value.comparison.as_ref();
            vec![
                Cell::Kanji(p.kanji.clone(), p.promoted()),
                Cell::Piece(p.name.clone(), p.from.clone()),
                Cell::maybe(c.map(|c| significant(c.ratio))),
                Cell::maybe(c.map(|c| range(c.low, c.high))),
                Cell::maybe(
                    c.map(|c| if c.p_holm < 0.001 { "< 0.001".to_owned() } else { format!("{:.3}", c.p_holm) }),
                ),
                Cell::number(count(p.value.games_unbalanced)),
            ]
        };
        let headings =
            ["", "piece", "value / reference", "95\u{a0}% interval", "p, corrected", "games with a difference"];
        table(m, &headings, &of(Verdict::Differs).map(row).collect::<Vec<_>>());
    }
    for (what, verdict) in
        [("Shown to be within a factor of 1.25", Verdict::Equivalent), ("Neither shown", Verdict::Open)]
    {
        if of(verdict).next().is_some() {
            paragraph(m, format!("{what}: {}.", names(verdict)));
        }
    }
    note(
        m,
        format!(
            "Tested: {}, against the range of values that the rounded reference may mean; p-values corrected by Holm’s \
             method for testing so many. Disagreement is no error: the reference is opinion.",
            counted(compared().count() as u64, "piece")
        ),
    );
    note(m, format!("Ceilings of agreement come from {CEILINGS_SOURCE}."));
}

fn name(row: &PieceRow) -> String {
    row.from.as_ref().map_or(row.name.clone(), |from| format!("{} from {from}", row.name))
}

/// Values by exchanges beside those by outcomes.
pub(super) fn methods(m: &mut Markup, outcome: Option<&ValuesReport>, increment: &ValuesReport) {
    m.leaf("h3", &[], "By outcomes and by exchanges");
    let judge = &increment.judge.as_deref().map_or("a judge".to_owned(), player);
    paragraph(
        m,
        format!(
            "The second way to measure: how {judge} changes its expectation over {} of {}, explained by the pieces that \
             were lost or promoted in them. It is more precise, and it is the judge’s opinion.",
            counted(increment.rows, "exchange"),
            increment.games_counted()
        ),
    );
    // Side by side only in one unit.
    let outcome = outcome.filter(|outcome| outcome.unit == increment.unit);
    let unit = match increment.unit {
        Unit::Reference => "points of the reference",
        Unit::Logit => "logits",
    };
    let cell = |row: Option<&PieceRow>| {
        let value = row.map(|row| &row.value);
        [
            Cell::maybe(value.and_then(|v| v.value).map(significant)),
            Cell::maybe(value.and_then(|v| v.low.zip(v.high)).map(|(low, high)| range(low, high))),
            Cell::maybe(value.map(|v| count(v.games_unbalanced))),
        ]
    };
    let shown = increment.pieces().filter(|row| {
        row.value.identified || outcome.is_some_and(|outcome| outcome.identified(&row.value.id).is_some())
    });
    let row = |p: &PieceRow| {
        let mut cells = vec![Cell::Kanji(p.kanji.clone(), p.promoted()), Cell::Piece(p.name.clone(), p.from.clone())];
        cells.extend(cell(outcome.and_then(|outcome| outcome.identified(&p.value.id))));
        cells.extend(cell(increment.identified(&p.value.id)));
        cells.push(Cell::maybe(p.value.reference.map(significant)));
        cells
    };
    let headings = [
        "",
        "piece",
        "by outcomes",
        "95\u{a0}% interval",
        "games",
        "by exchanges",
        "95\u{a0}% interval",
        "games",
        "reference",
    ];
    let rows: Vec<_> = shown.map(row).collect();
    if rows.is_empty() {
        m.leaf("p", &[("class", &"missing")], "No piece is identified either way.");
    } else {
        table(m, &headings, &rows);
    }
    if increment.agreement.somers_d.is_some() {
        paragraph(m, "Agreement of the values by exchanges with the reference:");
        tables::agreement(m, &increment.agreement);
    }
    opinions(m, increment, judge);
    note(
        m,
        format!(
            "From values/increment.json, in {unit}. A judge’s logit says what it expects after an exchange; if the lost \
             pieces still help to predict who wins, it prices them wrongly. That is tested for each piece, and |z| above \
             3 is reported. Intervals resample whole games."
        ),
    );
}

fn opinions(m: &mut Markup, increment: &ValuesReport, judge: &str) {
    if increment.opinions.is_empty() {
        return;
    }
    let flagged: Vec<_> = increment.opinions.iter().filter(|opinion| opinion.flagged).collect();
    let tested = counted(increment.opinions.len() as u64, "piece");
    if flagged.is_empty() {
        paragraph(m, format!("Outcomes contradict {judge} on none of {tested}."));
        return;
    }
    paragraph(m, format!("Outcomes contradict {judge} on {} of {tested}:", count(flagged.len() as u64)));
    let row = |opinion: &&crate::opinion::Opinion| {
        let piece = increment.pieces().find(|row| row.value.id == opinion.id);
        vec![
            Cell::Kanji(piece.map_or(String::new(), |p| p.kanji.clone()), piece.is_some_and(PieceRow::promoted)),
            Cell::Piece(piece.map_or(opinion.id.clone(), |p| p.name.clone()), piece.and_then(|p| p.from.clone())),
            Cell::number(significant(opinion.error)),
            Cell::number(range(opinion.low, opinion.high)),
            Cell::number(format!("{:.1}", opinion.z)),
            Cell::number(count(opinion.games)),
        ]
    };
    let headings = ["", "piece", "priced too low by, logits", "95\u{a0}% interval", "z", "games"];
    table(m, &headings, &flagged.iter().map(row).collect::<Vec<_>>());
}

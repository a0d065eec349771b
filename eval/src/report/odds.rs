//! Values by matches with odds.

use super::markup::Markup;
use super::numbers::{count, counted, percent, player, range, significant};
use super::page::{note, paragraph};
use super::tables::{self, Cell, table};
use crate::odds::{Beside, OddsMatch, OddsPiece, OddsValues};
use crate::values::Unit;

/// The matches, the values that follow from them beside the others of the run, and how to play them again.
pub(super) fn odds(m: &mut Markup, odds: &OddsValues) {
    m.leaf("h3", &[], "By odds matches");
    let settings = &odds.settings;
    paragraph(
        m,
        format!(
            "The third way to measure: {} of {} against itself, in which one side gives a piece, or has another one in its \
             place. The logit of the other side’s score is what the difference is worth to this player; nothing else \
             differs between the sides, since each opening is played with both colours.",
            counted(odds.games, "game"),
            player(&settings.player)
        ),
    );
    matches(m, odds);
    values(m, odds);
    if let Some(misfit) = odds.misfit {
        note(
            m,
            format!(
                "Odds of single pieces and of pieces against each other are solved together by least squares; they fit with \
                 chi-square {:.1} for {}.",
                misfit.chi_square,
                counted(misfit.degrees as u64, "degree") + " of freedom"
            ),
        );
    }
    odds.beside.iter().filter_map(beside).for_each(|text| paragraph(m, text));
    if odds.agreement.somers_d.is_some() {
        paragraph(m, "Agreement of the values by odds with the reference:");
        tables::agreement(m, &odds.agreement);
    }
    let unit = match odds.unit {
        Unit::Reference => format!("points of the reference, {} logits each", significant(odds.scale)),
        Unit::Logit => "logits".to_owned(),
    };
    note(
        m,
        format!(
            "From values/odds.json, values in {unit}. Errors are over pairs of games; under 25 pairs, and where all went one \
             way, one lost and one won pair is added to them. A value that is won always has no number. To play the matches again:"
        ),
    );
    m.element("pre", &[], |m| m.leaf("code", &[], command(odds)));
    m.line();
}

fn matches(m: &mut Markup, odds: &OddsValues) {
    let row = |x: &OddsMatch| {
        let interval = match (x.logit_low, x.logit_high) {
            (Some(low), Some(high)) => range(low, high),
            (Some(low), None) => format!("at least {}", significant(low)),
            (None, Some(high)) => format!("at most {}", significant(high)),
            (None, None) => String::new(),
        };
        vec![
            Cell::Words(x.name.replace('_', " ").replace(':', " against ")),
            Cell::number(format!("{}\u{a0}%", percent(x.result.score))),
            Cell::maybe(x.logit.map(significant)),
            Cell::number(interval),
            Cell::number(count(x.result.games)),
            Cell::number(x.result.pentanomial.0.map(count).join(" – ")),
        ]
    };
    let headings = ["odds", "score", "logits", "95\u{a0}% interval", "games", "pairs by points 0, ½, 1, 1½, 2"];
    table(m, &headings, &odds.matches.iter().map(row).collect::<Vec<_>>());
}

fn values(m: &mut Markup, odds: &OddsValues) {
    let kanji = |p: &OddsPiece| [Cell::Kanji(p.kanji.clone(), false), Cell::Piece(p.name.clone(), None)];
    let score = |p: &OddsPiece| Cell::maybe(p.score.map(|score| format!("{}\u{a0}%", percent(score))));
    let row = |p: &&OddsPiece| {
        let mut cells = Vec::from(kanji(p));
        cells.extend([
            score(p),
            Cell::maybe(p.value.map(significant)),
            Cell::maybe(p.low.zip(p.high).map(|(low, high)| range(low, high))),
            Cell::number(count(p.games)),
            Cell::maybe(p.outcome.map(significant)),
            Cell::maybe(p.increment.map(significant)),
            Cell::maybe(p.reference.map(significant)),
        ]);
        cells
    };
    let mut identified: Vec<&OddsPiece> = odds.pieces.iter().filter(|piece| piece.identified).collect();
    identified.sort_by(|a, b| b.value.unwrap_or(0.0).total_cmp(&a.value.unwrap_or(0.0)));
    if identified.is_empty() {
        m.leaf("p", &[("class", &"missing")], "No piece is identified by these matches.");
    } else {
        let headings =
            ["", "piece", "score", "value", "95\u{a0}% interval", "games", "by outcomes", "by exchanges", "reference"];
        table(m, &headings, &identified.iter().map(row).collect::<Vec<_>>());
    }
    let missing: Vec<&OddsPiece> = odds.pieces.iter().filter(|piece| !piece.identified).collect();
    if !missing.is_empty() {
        paragraph(m, "Not identified, and what is missing:");
        let row = |p: &&OddsPiece| {
            let mut cells = Vec::from(kanji(p));
            cells.extend([score(p), Cell::number(count(p.games)), Cell::Sentence(p.missing.join("; "))]);
            cells
        };
        table(m, &["", "piece", "score", "games", "missing"], &missing.iter().map(row).collect::<Vec<_>>());
    }
}

/// How another method compares; nothing if it has no piece in common.
fn beside(beside: &Beside) -> Option<String> {
    let factor = significant(beside.factor?);
    let (by, unit) = (beside.by(), beside.unit_name());
    let slope = beside.log_slope.map_or(String::new(), |slope| {
        format!(
            " Their log-log slope on the values by odds is {} ({}); below 1, cheap pieces are dearer there.",
            significant(slope.value),
            range(slope.low, slope.high)
        )
    });
    let pieces = counted(beside.pieces as u64, "piece");
    Some(format!("By {by}: one {unit} there is {factor} logits of odds, over {pieces} identified by both.{slope}"))
}

fn command(odds: &OddsValues) -> String {
    let s = &odds.settings;
    let names: Vec<&str> = odds.matches.iter().map(|x| x.name.as_str()).collect();
    // The run's own network needs no naming.
    let own = s.player.strip_prefix("net:").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
    let player = if own { String::new() } else { format!(" --player '{}'", s.player) };
    format!(
        "shishi values RUN --method odds --pieces {} --games {}{player} --simulations {} --opening-plies {} --max-plies {} --seed {}",
        names.join(","),
        s.games,
        s.simulations,
        s.opening_plies,
        s.max_plies,
        s.seed
    )
}

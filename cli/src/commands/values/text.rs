//! Measured values as text.

use eval::compare::Verdict;
use eval::interval::{Agreement, CEILINGS, CEILINGS_SOURCE, Interval};
use eval::measure::Measured;
use eval::phase::PhaseValues;
use eval::values::{Method, PieceValue, Unit};

use crate::output;

/// The table of values, dearest piece first, then what could not be identified, then the agreement.
pub(crate) fn text(measured: &Measured) -> String {
    let values = &measured.values;
    let logits = values.unit == Unit::Logit;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    let own = |value: Option<f64>| {
        value.map_or(String::new(), |value| if logits { format!("{value:.2}") } else { format!("{value:.1}") })
    };
    let mut order: Vec<usize> = (0..values.pieces.len()).filter(|&i| values.pieces[i].identified).collect();
    order.sort_by(|&a, &b| values.pieces[b].value.unwrap_or(0.0).total_cmp(&values.pieces[a].value.unwrap_or(0.0)));
    let rows: Vec<_> = order
        .iter()
        .map(|&i| {
            let (piece, name) = (&values.pieces[i], &measured.names[i]);
            let plus = if name.promoted { "+" } else { "" };
            vec![
                format!("{plus}{}", name.symbol),
                piece.id.clone(),
                own(piece.value),
                format!("{} – {}", own(piece.low), own(piece.high)),
                number(piece.reference),
                piece.games_unbalanced.to_string(),
                format!("{:.0} %", 100.0 * piece.information_share),
            ]
        })
        .collect();
    let generations = match measured.generations {
        Some([first, last]) if first == last => format!(" of generation {first}"),
        Some([first, last]) => format!(" of generations {first} to {last}"),
        None => String::new(),
    };
    let cut_off = match (values.method, measured.cut_off) {
        (Method::Outcome, 1..) => format!("; {} games were cut off and do not count", measured.cut_off),
        _ => String::new(),
    };
    let mut text = format!(
        "{} under ruleset {}: {} of {} games{generations}{cut_off}\n",
        measured.variant,
        measured.ruleset,
        match (values.method, &measured.judge) {
            (Method::Increment, judge) =>
                format!("{} exchanges judged by {}", values.rows, judge.as_deref().unwrap_or("a judge")),
            _ => format!("{} positions at rest", values.rows),
        },
        values.games
    );
    if let Some(title) = &measured.reference_title {
        let scale = if logits {
            "too few pieces are identified to find its scale, so values are logits of winning"
        } else {
            "one factor for all pieces makes the scales equal"
        };
        text += &format!("reference: {title}; {scale}\n");
    }
    if let Some(warning) = &measured.warning {
        text += &format!("note: {warning}\n");
    }
    text += "\n";
    if rows.is_empty() {
        text += "no piece is identified: too few games, or pieces that always leave together\n";
    } else {
        let headings = ["", "piece", "value", "95 % interval", "reference", "games with a difference", "told apart"];
        text += &output::table(&headings, &rows);
        text += "\ntold apart: how far the piece is measured independently of others, 100 % if none comes and goes with it\n";
        if values.unit == Unit::Reference {
            let percent = 100.0 / (1.0 + (-values.scale).exp());
            text += &format!(
                "one point is {:.3} logits: it turns an even game into one of {:.1} %\n",
                values.scale, percent
            );
        }
        if values.method == Method::Increment {
            text += "intervals are for other games of the same players, not for another judge\n";
        }
    }
    let missing: Vec<_> =
        values.pieces.iter().filter(|piece| !piece.identified).map(|piece| piece.id.as_str()).collect();
    if !missing.is_empty() {
        text += &format!("\nnot identified: {}\n", missing.join(", "));
    }
    text += &disagreements(measured);
    text += &opinions(measured);
    text += &agreement(measured);
    text.trim_end().to_string()
}

/// Which pieces disagree with the reference, and what is open.
fn disagreements(measured: &Measured) -> String {
    let pieces = || measured.values.pieces.iter().filter_map(|piece| Some((piece, piece.comparison.as_ref()?)));
    let ids = |verdict: Verdict| {
        let some = pieces().filter(|(_, comparison)| comparison.verdict == verdict);
        some.map(|(piece, _)| piece.id.as_str()).collect::<Vec<_>>().join(", ")
    };
    let tested = pieces().count();
    if tested == 0 {
        return String::new();
    }
    let differing: Vec<_> = pieces().filter(|(_, comparison)| comparison.verdict == Verdict::Differs).collect();
    let mut text = format!(
        "\ndisagree with the reference beyond its rounding: {} of {tested} pieces (Holm-corrected p < 0.05)\n",
        differing.len()
    );
    for (piece, c) in differing {
        let p = if c.p_holm < 0.001 { "p < 0.001".to_string() } else { format!("p = {:.3}", c.p_holm) };
        text += &format!(
            "  {}: {:.2} times the reference ({:.2} to {:.2}), {p}, {} games\n",
            piece.id, c.ratio, c.low, c.high, piece.games_unbalanced
        );
    }
    for (what, verdict) in [("within a factor 1.25 of it", Verdict::Equivalent), ("neither shown", Verdict::Open)] {
        let ids = ids(verdict);
        if !ids.is_empty() {
            text += &format!("{what}: {ids}\n");
        }
    }
    text
}

/// Agreement over all pieces, beside what published tables reach.
fn agreement(measured: &Measured) -> String {
    agreement_of(&measured.values.agreement, measured.values.games)
}

pub(super) fn agreement_of(agreement: &Agreement, games: u64) -> String {
    let lines = [
        ("Somers' D", "somers_d", agreement.somers_d),
        ("tau-b", "tau_b", agreement.tau_b),
        ("Spearman", "spearman", agreement.spearman),
        ("log-sd", "log_sd", agreement.log_sd),
        ("log-log slope", "log_slope", agreement.log_slope),
    ];
    let row = |(name, key, interval): (&str, &str, Option<Interval>)| {
        let i = interval?;
        let ceiling = CEILINGS.iter().find(|ceiling| ceiling.statistic == key);
        let of = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
        Some(vec![
            name.to_string(),
            format!("{:.2}", i.value),
            format!("{:.2} – {:.2}", i.low, i.high),
            of(ceiling.map(|c| c.experts)),
            of(ceiling.map(|c| c.selfplay)),
        ])
    };
    let rows: Vec<_> = lines.into_iter().filter_map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let headings = ["", "here", "95 % interval", "experts", "self-play"];
    format!(
        "\nagreement with the reference over {} pieces, from {} games\n{}\nexperts, self-play: {CEILINGS_SOURCE}\n",
        agreement.pieces,
        games,
        output::table(&headings, &rows)
    )
}

/// Where outcomes contradict the judge.
fn opinions(measured: &Measured) -> String {
    let flagged: Vec<_> = measured.opinions.iter().filter(|opinion| opinion.flagged).collect();
    let Some(judge) = measured.judge.as_deref().filter(|_| !measured.opinions.is_empty()) else {
        return String::new();
    };
    let tested = measured.opinions.len();
    if flagged.is_empty() {
        return format!("\noutcomes do not contradict {judge} on any of {tested} pieces (|z| at most 3)\n");
    }
    let mut text = format!("\noutcomes contradict {judge} on {} of {tested} pieces (|z| > 3)\n", flagged.len());
    for opinion in flagged {
        let way = if opinion.error > 0.0 { "too low" } else { "too high" };
        text += &format!(
            "  {}: {:.2} logits {way} ({:.2} to {:.2}), z {:.1}, {} games\n",
            opinion.id,
            opinion.error.abs(),
            opinion.low.abs().min(opinion.high.abs()),
            opinion.low.abs().max(opinion.high.abs()),
            opinion.z,
            opinion.games
        );
    }
    text
}

/// Values in each phase of the game beside those of the whole.
pub(super) fn phases(measured: &Measured) -> String {
    let values = &measured.values;
    let cell = |piece: &PieceValue| match (piece.value, piece.low, piece.high) {
        (Some(value), Some(low), Some(high)) => format!("{value:.1} ({low:.1} – {high:.1})"),
        _ => "–".to_string(),
    };
    let row = |(i, piece): (usize, &PieceValue)| {
        let name = &measured.names[i];
        let parts: Vec<String> = values.phases.iter().map(|phase| cell(&phase.pieces[i])).collect();
        (piece.identified || values.phases.iter().any(|phase| phase.pieces[i].identified)).then(|| {
            let plus = if name.promoted { "+" } else { "" };
            let mut row = vec![format!("{plus}{}", name.symbol), piece.id.clone(), cell(piece)];
            row.extend(parts);
            row
        })
    };
    let rows: Vec<_> = values.pieces.iter().enumerate().filter_map(row).collect();
    let headings: Vec<&str> =
        ["", "piece", "whole game"].into_iter().chain(values.phases.iter().map(|phase| phase.phase.as_str())).collect();
    let line = |phase: &PhaseValues| {
        let scale = phase.scale.map_or("fewer than three pieces identified".to_string(), |scale| {
            let (value, low, high) = (scale.value, scale.low, scale.high);
            format!("{value:.3} ({low:.3} to {high:.3}) logits per unit by {} pieces", phase.scale_pieces)
        });
        format!("{}: {} rows of {} games, {scale}", phase.phase.as_str(), phase.rows, phase.games)
    };
    let lines: Vec<String> = values.phases.iter().map(line).collect();
    format!(
        "by phase (pieces left: above two thirds, above one third, fewer); in each phase one factor makes the pieces worth \
         the same on average as in the whole game\n{}\n{}",
        output::table(&headings, &rows),
        lines.join("\n")
    )
}

/// How often and when pieces promote, with their values before and after.
pub(super) fn promotions(measured: &Measured) -> String {
    let worth = |interval: Option<Interval>| {
        interval.map_or("–".to_string(), |i| format!("{:.1} ({:.1} – {:.1})", i.value, i.low, i.high))
    };
    let symbol = |id: &str| {
        let position = measured.values.pieces.iter().position(|piece| piece.id == id);
        position.map_or(String::new(), |i| measured.names[i].symbol.clone())
    };
    let rows: Vec<_> = measured
        .promotions
        .iter()
        .map(|p| {
            let percent = |share: f64| format!("{:.1}", 100.0 * share);
            vec![
                symbol(&p.id),
                p.id.clone(),
                p.promotions.to_string(),
                p.share.map_or(String::new(), |s| {
                    format!("{} % ({} – {})", percent(s.value), percent(s.low), percent(s.high))
                }),
                p.plies.map_or(String::new(), |[low, middle, high]| format!("{middle} ({low} – {high})")),
                worth(p.before),
                worth(p.after),
            ]
        })
        .collect();
    let headings = ["", "piece", "promotions", "of all pieces", "ply, median (quartiles)", "worth before", "after"];
    format!("promotions in all games\n{}", output::table(&headings, &rows))
}

//! The results of a run in sentences.

use super::numbers::{count, counted, elo, percent, percent_interval, significant};
use super::strength::BENCHMARKS;
use super::{GamesReport, RunReport, ScoredMatch, Strength, ValuesReport};
use crate::interval::Interval;
use crate::values::Unit;

/// What the report says first.
pub(super) fn sentences(report: &RunReport) -> Vec<String> {
    let games = report.games.as_ref().map(|games| of_games(games, report));
    [report.strength.as_ref().and_then(of_strength), games, report.values.as_ref().map(of_values)]
        .into_iter()
        .flatten()
        .collect()
}

fn of_strength(strength: &Strength) -> Option<String> {
    let last = strength.last()?;
    let against = |scored: &Option<ScoredMatch>, whom: &str| {
        let scored = scored.as_ref()?;
        Some(format!(
            "scores {}\u{a0}% against {whom} (95\u{a0}% interval {} to {}, {})",
            percent(scored.score_interval.value),
            percent(scored.score_interval.low),
            percent(scored.score_interval.high),
            counted(scored.result.games, "game")
        ))
    };
    let [random, material] =
        [(&last.random, 0), (&last.material, 1)].map(|(scored, at)| against(scored, BENCHMARKS[at].1));
    let over_first = last.elo_over_first.filter(|_| last.network != strength.first).map(|over| {
        format!(
            "stands {} Elo {} network {}{} ({} to {}, all {} of the run’s matches rated together)",
            elo(over.value.abs()).trim_start_matches('+'),
            if over.value < 0.0 { "below" } else { "above" },
            strength.first,
            if strength.first == 0 { ", which had learned nothing yet" } else { "" },
            elo(over.low),
            elo(over.high),
            counted(strength.games, "game")
        )
    });
    let said: Vec<String> = [random, material, over_first].into_iter().flatten().collect();
    if said.is_empty() {
        return None;
    }
    let verdict = match strength.playing {
        Some(playing) if playing != last.network => {
            format!(" It did not pass its gate: network {playing} goes on playing.")
        }
        _ => String::new(),
    };
    Some(format!("Network {}, the last of this run, {}.{verdict}", last.network, said.join(" and ")))
}

fn of_games(games: &GamesReport, report: &RunReport) -> String {
    let name = report.variant.as_ref().map_or(games.variant.as_str(), |variant| &variant.title);
    let generations = games.generations.len() as u64;
    format!(
        "The program played {} of {name} against itself in {}. Half of them ended within {}; {}\u{a0}% had a winner \
         ({} to {}).",
        counted(games.games, "game"),
        counted(generations, "generation"),
        counted(games.plies.median.into(), "move"),
        percent(games.decided.value),
        percent(games.decided.low),
        percent(games.decided.high),
    )
}

fn of_values(values: &ValuesReport) -> String {
    let found = format!(
        "{} determine the value of {} of {} kinds of pieces",
        values.games_counted(),
        values.identified.len(),
        values.kinds()
    );
    let agreement = &values.agreement;
    let (Some(order), Some(spread), Some(title), Unit::Reference) =
        (agreement.somers_d, agreement.log_sd, &values.reference_title, values.unit)
    else {
        return format!("{found}; too few of them to compare with a published table.");
    };
    let pairs = Interval { value: pairs(order.value), low: pairs(order.low), high: pairs(order.high) };
    format!(
        "{found}. Over the {} that the table “{title}” rates too: of two pieces that the table tells apart, {} are in \
         the same order, and a value is typically off by a factor of {} ({} to {}), one factor for all pieces being \
         free.",
        count(agreement.pieces as u64),
        percent_interval(&pairs),
        significant(spread.value.exp()),
        significant(spread.low.exp()),
        significant(spread.high.exp()),
    )
}

/// The share of pairs in the same order that Somers' D means (ties of the estimate do not occur).
fn pairs(somers_d: f64) -> f64 {
    (1.0 + somers_d) / 2.0
}

//! Tables of the page.

use super::markup::Markup;
use super::numbers::{
    count, duration, elo_interval, percent, percent_interval, player, range, rate, significant, words,
};
use super::{GamesReport, Learning, NetworkStrength, PieceRow, ScoredMatch, Strength, Training, ValuesReport};
use crate::interval::{Agreement, CEILINGS, Interval};
use crate::ladder::{Ladder, Rated};

/// What stands in a table.
pub(super) enum Cell {
    /// A few words, at the left.
    Words(String),
    /// A sentence, which may take several lines.
    Sentence(String),
    /// A number, at the right.
    Number(String),
    /// A number with its interval; under it where the page is narrow.
    Measured(String, String),
    /// Name of a piece and, if it is promoted, of what it was.
    Piece(String, Option<String>),
    /// Japanese; of a promoted piece if true.
    Kanji(String, bool),
}

impl Cell {
    pub(super) fn number(text: impl Into<String>) -> Cell {
        Cell::Number(text.into())
    }

    fn words(text: impl Into<String>) -> Cell {
        Cell::Words(text.into())
    }

    /// A value with its interval, if there is one.
    pub(super) fn interval(interval: Option<Interval>) -> Cell {
        match interval {
            Some(i) => Cell::Measured(significant(i.value), format!("({})", range(i.low, i.high))),
            None => Cell::Number(String::new()),
        }
    }

    /// A number that there may not be.
    pub(super) fn maybe(text: Option<String>) -> Cell {
        Cell::Number(text.unwrap_or_default())
    }
}

/// More rows than this scroll under their headings.
const TALL: usize = 40;

/// A table that scrolls sideways where the page is narrow. Headings stand as their columns do.
pub(super) fn table(m: &mut Markup, headings: &[&str], rows: &[Vec<Cell>]) {
    let is_number =
        |column: usize| rows.first().is_some_and(|row| matches!(row[column], Cell::Number(_) | Cell::Measured(..)));
    let class = if rows.len() > TALL { "scroll tall" } else { "scroll" };
    m.element("div", &[("class", &class)], |m| {
        m.element("table", &[], |m| {
            m.element("thead", &[], |m| {
                m.element("tr", &[], |m| {
                    for (column, heading) in headings.iter().enumerate() {
                        let class = if is_number(column) { "number" } else { "words" };
                        m.leaf("th", &[("scope", &"col"), ("class", &class)], heading);
                    }
                });
            });
            m.line();
            m.element("tbody", &[], |m| {
                for row in rows {
                    m.element("tr", &[], |m| {
                        for cell in row {
                            match cell {
                                Cell::Words(text) => m.leaf("td", &[], text),
                                Cell::Sentence(text) => m.leaf("td", &[("class", &"sentence")], text),
                                Cell::Number(text) => m.leaf("td", &[("class", &"number")], text),
                                Cell::Measured(value, interval) => m.element("td", &[("class", &"number")], |m| {
                                    m.text(value);
                                    m.leaf("span", &[("class", &"from")], format!(" {interval}"));
                                }),
                                Cell::Piece(name, from) => m.element("td", &[], |m| {
                                    m.text(name);
                                    if let Some(from) = from {
                                        m.leaf("span", &[("class", &"from")], format!(" from {from}"));
                                    }
                                }),
                                Cell::Kanji(text, promoted) => {
                                    let class = if *promoted { "kanji promoted" } else { "kanji" };
                                    m.leaf("td", &[("class", &class), ("lang", &"ja")], text);
                                }
                            }
                        }
                    });
                    m.line();
                }
            });
        });
    });
    m.line();
}

/// What is known of each network.
pub(super) fn strength(m: &mut Markup, strength: &Strength) {
    let headings = [
        "network",
        "score against random",
        "score against material",
        "games",
        "gate against",
        "won – drawn – lost",
        "score",
        "Elo above first",
    ];
    let rows: Vec<Vec<Cell>> = strength.networks.iter().map(network_row).collect();
    table(m, &headings, &rows);
}

fn network_row(network: &NetworkStrength) -> Vec<Cell> {
    let score =
        |scored: &Option<ScoredMatch>| Cell::maybe(scored.as_ref().map(|s| percent_interval(&s.score_interval)));
    let record = |s: &ScoredMatch| [s.result.wins, s.result.draws, s.result.losses].map(count).join(" – ");
    let mut games: Vec<String> =
        [&network.random, &network.material].into_iter().flatten().map(|s| count(s.result.games)).collect();
    games.dedup();
    let gate = network
        .gate_against
        .zip(network.gate_accepted)
        .map(|(against, accepted)| format!("{against}, {}", if accepted { "passed" } else { "failed" }));
    vec![
        Cell::number(network.network.to_string()),
        score(&network.random),
        score(&network.material),
        Cell::number(games.join(" / ")),
        Cell::words(gate.unwrap_or_default()),
        Cell::maybe(network.gate.as_ref().map(record)),
        score(&network.gate),
        Cell::maybe(
            network
                .elo_over_first
                .as_ref()
                .map(|over| if over.low == over.high { "0".to_owned() } else { elo_interval(over) }),
        ),
    ]
}

/// The players of a ladder, strongest first.
pub(super) fn ladder(m: &mut Markup, ladder: &Ladder) {
    let over = format!("Elo above {}", player(&ladder.anchor));
    let row = |rated: &Rated| {
        let interval = Interval { value: rated.elo, low: rated.low, high: rated.high };
        let is_anchor = rated.name == ladder.anchor;
        vec![
            Cell::words(player(&rated.name)),
            Cell::number(if is_anchor { "0".to_owned() } else { elo_interval(&interval) }),
            Cell::number(count(rated.games)),
            Cell::number([rated.wins, rated.draws, rated.losses].map(count).join(" – ")),
            Cell::number(format!("{}\u{a0}%", percent(rated.score))),
        ]
    };
    let rows: Vec<Vec<Cell>> = ladder.players.iter().map(row).collect();
    table(m, &["player", &over, "games", "won – drawn – lost", "score"], &rows);
}

/// Losses of each network.
pub(super) fn training(m: &mut Markup, learning: &Learning) {
    let headings = [
        "network",
        "steps",
        "positions in window",
        "policy, training",
        "policy, held out",
        "value, training",
        "value, held out",
        "positions held out",
        "time",
        "positions a second",
    ];
    let row = |t: &Training| {
        let held_out =
            |loss: fn(&super::Losses) -> f64| Cell::maybe(t.validation.as_ref().map(|l| format!("{:.3}", loss(l))));
        vec![
            Cell::number(t.network.to_string()),
            Cell::number(count(t.steps)),
            Cell::number(count(t.window)),
            Cell::number(format!("{:.3}", t.training.policy)),
            held_out(|losses| losses.policy),
            Cell::number(format!("{:.3}", t.training.value)),
            held_out(|losses| losses.value),
            Cell::number(count(t.validation_positions)),
            Cell::number(duration(t.seconds)),
            Cell::number(rate(t.positions, t.seconds)),
        ]
    };
    table(m, &headings, &learning.training.iter().map(row).collect::<Vec<_>>());
}

/// Speed of self-play.
pub(super) fn selfplay(m: &mut Markup, learning: &Learning) {
    let headings = [
        "generation",
        "played by",
        "games",
        "positions",
        "time",
        "games an hour",
        "positions a second",
        "simulations a second",
    ];
    let row = |s: &super::SelfplayRate| {
        vec![
            Cell::number(s.generation.to_string()),
            Cell::words(player(&s.network)),
            Cell::number(count(s.games)),
            Cell::number(count(s.positions)),
            Cell::number(duration(s.seconds)),
            Cell::number(rate(3600 * s.games, s.seconds)),
            Cell::number(rate(s.positions, s.seconds)),
            Cell::number(rate(s.simulations, s.seconds)),
        ]
    };
    table(m, &headings, &learning.selfplay.iter().map(row).collect::<Vec<_>>());
}

/// Games of each generation.
pub(super) fn generations(m: &mut Markup, games: &GamesReport) {
    let mut headings =
        vec!["generation", "played by", "games", "Black won", "White won", "drawn", "cut off", "moves, mean", "median"];
    let reasons: Vec<String> = games.endings.iter().map(|ending| words(&ending.reason)).collect();
    headings.extend(reasons.iter().map(String::as_str));
    let row = |g: &super::GenerationGames| {
        let result = |name: &str| Cell::number(count(g.results.get(name).copied().unwrap_or(0)));
        let error = g.plies.mean_error.map_or(String::new(), |error| format!(" ± {error:.1}"));
        let mut row = vec![
            Cell::number(g.generation.to_string()),
            Cell::words(g.networks.iter().map(|name| player(name)).collect::<Vec<_>>().join(", ")),
            Cell::number(count(g.games)),
            result("black"),
            result("white"),
            result("draw"),
            result("undecided"),
            Cell::number(format!("{:.1}{error}", g.plies.mean)),
            Cell::number(count(g.plies.median.into())),
        ];
        let of_reason = |reason: &str| Cell::number(count(g.reasons.get(reason).copied().unwrap_or(0)));
        row.extend(games.endings.iter().map(|ending| of_reason(&ending.reason)));
        row
    };
    table(m, &headings, &games.generations.iter().map(row).collect::<Vec<_>>());
}

/// All values.
pub(super) fn values(m: &mut Markup, values: &ValuesReport) {
    let headings = [
        "",
        "piece",
        "value",
        "95\u{a0}% interval",
        "reference",
        "value / reference",
        "games with a difference",
        "told apart",
    ];
    let row = |p: &PieceRow| {
        let v = &p.value;
        let interval = v.low.zip(v.high).map(|(low, high)| range(low, high));
        vec![
            Cell::Kanji(p.kanji.clone(), p.promoted()),
            Cell::Piece(p.name.clone(), p.from.clone()),
            Cell::maybe(v.value.map(significant)),
            Cell::maybe(interval),
            Cell::maybe(v.reference.map(significant)),
            Cell::maybe(v.value.zip(v.reference).map(|(value, reference)| significant(value / reference))),
            Cell::number(count(v.games_unbalanced)),
            Cell::number(format!("{}\u{a0}%", percent(v.information_share))),
        ]
    };
    table(m, &headings, &values.identified.iter().map(row).collect::<Vec<_>>());
}

/// Pieces that the games do not rate, and why.
pub(super) fn not_identified(m: &mut Markup, values: &ValuesReport) {
    let headings = ["", "piece", "games with a difference", "error of the logarithm", "told apart", "reference"];
    let row = |p: &PieceRow| {
        let v = &p.value;
        vec![
            Cell::Kanji(p.kanji.clone(), p.promoted()),
            Cell::Piece(p.name.clone(), p.from.clone()),
            Cell::number(count(v.games_unbalanced)),
            Cell::number(v.se_log.map_or("no positive value".to_owned(), |error| format!("{error:.2}"))),
            Cell::number(format!("{}\u{a0}%", percent(v.information_share))),
            Cell::maybe(v.reference.map(significant)),
        ]
    };
    table(m, &headings, &values.not_identified.iter().map(row).collect::<Vec<_>>());
}

/// Agreement with the reference, beside what other tables reach.
pub(super) fn agreement(m: &mut Markup, agreement: &Agreement) {
    let headings =
        ["", "this run", "95\u{a0}% interval", "experts among themselves", "self-play against experts", "what it is"];
    let lines: [(&str, &str, Option<Interval>, &str); 5] = [
        (
            "Somers’ D",
            "somers_d",
            agreement.somers_d,
            "order, over the pairs that the reference tells apart: 1 the same, 0 unrelated",
        ),
        ("tau-b", "tau_b", agreement.tau_b, "order, ties counted: against rounded numbers at most about 0.93"),
        ("Spearman", "spearman", agreement.spearman, "correlation of the ranks"),
        ("log-sd", "log_sd", agreement.log_sd, "spread of the logarithm of value / reference: 0.1 is about 10\u{a0}%"),
        ("log-log slope", "log_slope", agreement.log_slope, "1 the same range; below 1 cheap pieces come out too dear"),
    ];
    let row = |(name, key, interval, meaning): (&str, &str, Option<Interval>, &str)| {
        let ceiling = CEILINGS.iter().find(|ceiling| ceiling.statistic == key);
        vec![
            Cell::words(name),
            Cell::number(interval.map_or("not determined".to_owned(), |i| significant(i.value))),
            Cell::maybe(interval.map(|i| range(i.low, i.high))),
            Cell::maybe(ceiling.map(|ceiling| format!("{:.2}", ceiling.experts))),
            Cell::maybe(ceiling.map(|ceiling| format!("{:.2}", ceiling.selfplay))),
            Cell::Sentence(meaning.to_owned()),
        ]
    };
    table(m, &headings, &lines.into_iter().map(row).collect::<Vec<_>>());
}

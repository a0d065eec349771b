//! The sections of the page that tell results.

use selfplay::data::Share;

use super::games::GenerationGames;
use super::learning::Losses;
use super::markup::Markup;
use super::numbers::{count, counted, elo_interval, player, share, significant, words};
use super::page::{figure, note, paragraph};
use super::plots::{self, Axes, Line, Point};
use super::{
    GamesReport, Learning, NetworkStrength, ScoredMatch, Strength, Training, ValuesReport, side_by_side, tables,
    value_plots,
};
use crate::interval::Interval;
use crate::ladder::{Ladder, Rated};
use crate::normal::Z95;
use crate::values::{Method, Unit};

/// How strong the networks are.
pub(super) fn strength(m: &mut Markup, strength: &Strength) {
    let scores = |of: fn(&NetworkStrength) -> &Option<ScoredMatch>| {
        let point = |network: &NetworkStrength| {
            let score = of(network).as_ref()?.score_interval;
            let percent = [score.value, score.low, score.high].map(|x| 100.0 * x);
            Some(Point { x: network.network, y: percent[0], interval: Some([percent[1], percent[2]]) })
        };
        strength.networks.iter().filter_map(point).collect::<Vec<_>>()
    };
    let over_first = strength.networks.iter().filter_map(|network| {
        let over = network.elo_over_first?;
        let interval = (network.network != strength.first).then_some([over.low, over.high]);
        Some(Point { x: network.network, y: over.value, interval })
    });
    m.element("div", &[("class", &"pair")], |m| {
        let lines = [
            Line { class: "one", name: "at random", points: scores(|network| &network.random) },
            Line { class: "two", name: "what it can", points: scores(|network| &network.material) },
        ];
        let lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
        if !lines.is_empty() {
            let title = "Score against a player who moves at random, and one who takes what it can";
            let key: Vec<(&str, &str)> = lines.iter().map(|line| (line.class, line.name)).collect();
            figure(m, title, "Bars are 95\u{a0}% intervals.", &key, |m| {
                plots::lines(m, &Axes { x: "network", y: "score, %", ends: Some([0.0, 100.0]) }, &lines);
            });
        }
        let line = Line { class: "one", name: "Elo above the first network", points: over_first.collect() };
        if !line.points.is_empty() {
            let title = format!("Elo above network {}", strength.first);
            let reading = "All matches rated together. Bars are 95\u{a0}% intervals.";
            figure(m, &title, reading, &[], |m| {
                plots::lines(m, &Axes { x: "network", y: "Elo", ends: None }, &[line]);
            });
        }
    });
    tables::strength(m, strength);
    if let Some(why) = &strength.not_rated {
        note(m, format!("There is no joint rating: {why}."));
    }
    let pseudo = if strength.pseudo_results {
        " Some match went all one way, which would put a rating at infinity; half a win and half a loss were added for \
         every two who met, so that large differences are understated."
    } else {
        ""
    };
    note(
        m,
        format!(
            "From the {} in matches/. In brackets are 95\u{a0}% intervals. Openings are random and each is played \
             twice with colours reversed; the interval of a score is over these pairs. The joint rating is Davidson’s \
             model with an advantage of Black and games as its unit.{pseudo}",
            counted(strength.games, "game")
        ),
    );
}

/// How networks and other players stand in a pool of all their games.
pub(super) fn ladder(m: &mut Markup, ladder: &Ladder) {
    let anchor = player(&ladder.anchor);
    let point = |x, rated: &Rated| {
        let interval = (rated.name != ladder.anchor).then_some([rated.low, rated.high]);
        Point { x, y: rated.elo, interval }
    };
    let mut networks: Vec<Point> =
        ladder.players.iter().filter_map(|rated| Some(point(rated.network?, rated))).collect();
    networks.sort_by_key(|point| point.x);
    if let (Some(first), Some(last)) = (networks.first(), networks.last()) {
        let ends = [first.x, last.x];
        let others = ladder.players.iter().filter(|rated| rated.network.is_none());
        let mut lines = vec![Line { class: "one", name: "networks", points: networks }];
        lines.extend(others.enumerate().map(|(index, rated)| Line {
            class: if index == 0 { "two" } else { "floor" },
            name: &rated.name,
            // The interval once, at the end.
            points: vec![Point { interval: None, ..point(ends[0], rated) }, point(ends[1], rated)],
        }));
        let keys: Vec<(&str, &str)> = lines.iter().map(|line| (line.class, line.name)).collect();
        figure(m, &format!("Elo above {anchor}"), "Bars are 95\u{a0}% intervals of the difference.", &keys, |m| {
            plots::lines(m, &Axes { x: "network", y: "Elo", ends: None }, &lines);
        });
    }
    tables::ladder(m, ladder);
    let advantage = match (ladder.first_move_advantage, ladder.first_move_error) {
        (Some(elo), Some(error)) => {
            let interval = Interval { value: elo, low: elo - Z95 * error, high: elo + Z95 * error };
            format!(" Having Black is worth {} Elo.", elo_interval(&interval))
        }
        _ => String::new(),
    };
    let pseudo = if ladder.pseudo_results {
        " Some player won or lost every game against the rest; half a win and half a loss were added for every two who met, \
         so that large differences are understated."
    } else {
        ""
    };
    note(
        m,
        format!(
            "From ladder/ladder.json: {} between {}, chosen where they tell most and rated together by Davidson’s model with an \
             advantage of Black and games as its unit. Intervals are of the difference to {anchor}, 95\u{a0}%.{advantage}{pseudo}",
            counted(ladder.games, "game"),
            counted(ladder.players.len() as u64, "player"),
        ),
    );
}

/// What training and self-play took and gave.
pub(super) fn learning(m: &mut Markup, learning: &Learning) {
    let line = |class, name, of: &dyn Fn(&Training) -> Option<f64>| Line {
        class,
        name,
        points: learning
            .training
            .iter()
            .filter_map(|t| Some(Point { x: t.network, y: of(t)?, interval: None }))
            .collect(),
    };
    let draw = |m: &mut Markup, title: &str, loss: fn(&Losses) -> f64, floor: fn(&Losses) -> Option<f64>| {
        let lines = [
            line("one", "training", &|t| Some(loss(&t.training))),
            line("two", "held out", &|t| t.validation.as_ref().map(loss)),
            line("floor", "least possible, held out", &|t| t.validation.as_ref().and_then(floor)),
        ];
        let lines: Vec<Line> = lines.into_iter().filter(|line| !line.points.is_empty()).collect();
        let keys: Vec<(&str, &str)> = lines.iter().map(|line| (line.class, line.name)).collect();
        figure(m, title, "", &keys, |m| plots::lines(m, &Axes { x: "network", y: "nats", ends: None }, &lines));
    };
    if !learning.training.is_empty() {
        m.element("div", &[("class", &"pair")], |m| {
            draw(m, "Loss of the policy", |losses| losses.policy, |losses| losses.policy_floor);
            draw(m, "Loss of the value", |losses| losses.value, |losses| losses.value_floor);
        });
        tables::training(m, learning);
        note(
            m,
            "From the events “train” in metrics.jsonl. Cross-entropies in nats, means over positions: in training \
             over the last tenth of the steps, held out over games that no step saw. One training each, so there are \
             no intervals. Targets change from generation to generation: a loss may rise while the network gets \
             stronger.",
        );
    }
    if !learning.selfplay.is_empty() {
        m.leaf("h3", &[], "Speed of self-play");
        tables::selfplay(m, learning);
        note(m, "From the events “selfplay” in metrics.jsonl: wall-clock time on the machine of the run.");
    }
}

/// How games ended and how long they were.
pub(super) fn games(m: &mut Markup, games: &GamesReport) {
    let black = games.black_wins.as_ref().map_or(String::new(), |black| {
        format!(" Of the {} with a winner Black, who moves first, won {}.", count(black.of), share(black))
    });
    let duplicates = match games.duplicates {
        0 => "no two of them alike".to_owned(),
        n => format!("{} of them the same as another one move by move", count(n)),
    };
    paragraph(
        m,
        format!(
            "{} with {}, {duplicates}. {} had a winner.{black}",
            counted(games.games, "game"),
            counted(games.positions, "recorded position"),
            share(&games.decided),
        ),
    );
    m.element("div", &[("class", &"pair")], |m| {
        let endings: Vec<(String, Share)> = games.endings.iter().map(|e| (words(&e.reason), e.share)).collect();
        let results: Vec<(String, Share)> =
            games.results.iter().map(|(name, share)| (result(name).to_owned(), *share)).collect();
        let reading = "Share of all games, with 95\u{a0}% intervals.";
        figure(m, "How games ended", reading, &[], |m| {
            plots::shares(m, "Share of games by the reason they ended", &endings)
        });
        figure(m, "Who won", reading, &[], |m| plots::shares(m, "Share of games by result", &results));
    });
    m.element("div", &[("class", &"pair")], |m| {
        let middle = |g: &GenerationGames| Point {
            x: g.generation,
            y: g.plies.median.into(),
            interval: Some([g.plies.lower_quartile.into(), g.plies.upper_quartile.into()]),
        };
        let line = Line { class: "one", name: "median", points: games.generations.iter().map(middle).collect() };
        let last = games.generations.last().map_or(0, |g| g.generation);
        if line.points.len() > 1 {
            figure(m, "Length of games", "Median; bars hold the middle half of the games.", &[], |m| {
                plots::lines(m, &Axes { x: "generation", y: "moves", ends: None }, &[line]);
            });
        }
        figure(m, &format!("Lengths in generation {last}"), "Games by their number of moves.", &[], |m| {
            plots::lengths(m, &games.last_lengths)
        });
    });
    tables::generations(m, games);
    note(
        m,
        "From the shards in games/ and positions/. A move of one side counts as one. Intervals of shares are \
         Wilson’s, of means normal, all at 95\u{a0}%. Games that were cut off have no result.",
    );
}

/// A result in words.
fn result(name: &str) -> &str {
    match name {
        "black" => "Black won",
        "white" => "White won",
        "draw" => "drawn",
        _ => "cut off",
    }
}

/// What the pieces are worth.
pub(super) fn values(m: &mut Markup, values: &ValuesReport) {
    let unit = match values.unit {
        Unit::Reference => "Values are in points of the reference: one factor for all pieces makes the scales equal.",
        Unit::Logit => {
            "Too few pieces can be compared with a reference for a common scale, so values are in logits of winning."
        }
    };
    let how = match values.method {
        Method::Outcome => {
            "A logistic regression explains who won by how many pieces of each kind either side had more, in \
             positions in which no capture is under way."
        }
        Method::Increment => {
            "A regression explains how a settled exchange changes what the network expects by the pieces that were \
             lost."
        }
    };
    paragraph(
        m,
        format!(
            "{how} {} of {} count, every game with the same weight. {unit}",
            counted(values.rows, "position"),
            values.games_counted()
        ),
    );
    if values.method == Method::Outcome && values.cut_off > 0 {
        paragraph(
            m,
            format!("Another {} were cut off without a result and do not count.", counted(values.cut_off, "game")),
        );
    }
    if let Some(title) = &values.reference_title {
        paragraph(m, format!("Reference: {title}."));
    }
    if let Some(warning) = &values.warning {
        paragraph(m, format!("Caution: {warning}."));
    }
    let compared = values.identified.iter().any(|piece| piece.value.reference.is_some());
    if values.identified.is_empty() {
        m.leaf(
            "p",
            &[("class", &"missing")],
            "No piece is identified: too few games, or pieces that always leave the board together.",
        );
    } else {
        m.element("div", &[("class", &"pair")], |m| {
            let keys: &[(&str, &str)] = if compared {
                &[("one", "measured, 95\u{a0}% interval"), ("diamond", "reference")]
            } else {
                &[("one", "measured, 95\u{a0}% interval")]
            };
            for (index, (title, part)) in value_plots::parts(&values.identified).enumerate() {
                let reading = if index == 0 { "Promoted pieces in red." } else { "" };
                figure(m, title, reading, keys, |m| value_plots::dots(m, &values.identified, part));
            }
            if compared {
                let reading = "On the dashed line both agree. Bars are 95\u{a0}% intervals.";
                figure(m, "Measured against reference", reading, &[], |m| value_plots::scatter(m, &values.identified));
            }
        });
    }
    if let Some(moving_first) = values.constant {
        let (value, low, high) = (moving_first.value, moving_first.low, moving_first.high);
        paragraph(
            m,
            format!("Moving first is worth {} ({} to {}).", significant(value), significant(low), significant(high)),
        );
    }
    m.leaf("h3", &[], "Agreement with the reference");
    if values.agreement.somers_d.is_some() || values.agreement.log_sd.is_some() {
        tables::agreement(m, &values.agreement);
        note(
            m,
            format!(
                "Over the {} that are identified and in the reference. How good can that be? The third and the fourth \
                 number are what published tables of standard shogi reach: eight of them compared with each other \
                 (medians over the 28 pairs), and one that came from self-play compared with a human expert’s. Values \
                 are partly a matter of opinion: to agree more closely than this would not mean to be more right.",
                counted(values.agreement.pieces as u64, "piece")
            ),
        );
    } else {
        m.leaf("p", &[("class", &"missing")], "Fewer than three pieces are both identified and in the reference.");
    }
    side_by_side::disagreements(m, values);
    if !values.identified.is_empty() {
        m.leaf("h3", &[], "All values");
        tables::values(m, values);
    }
    if !values.not_identified.is_empty() {
        m.leaf("h3", &[], "Not identified");
        tables::not_identified(m, values);
    }
    note(
        m,
        "From values/outcome.json, which comes from the shards in positions/. Intervals are 95\u{a0}%, by resampling \
         whole games. A piece is identified if enough games had a difference in it and the error of its value’s \
         logarithm is small (both limits are in the configuration, under values). Told apart: the share of the \
         information on a piece that is left after allowing for the pieces it comes and goes with. The side that is \
         better for other reasons also wins material, which makes pieces look more equal than they are: cheap ones \
         tend to come out too dear. A log-log slope below 0.85 is the sign of it.",
    );
}

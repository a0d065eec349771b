//! The page, section by section.

use super::markup::Markup;
use super::numbers::{counted, player};
use super::{RunReport, board, odds, phases, sections, side_by_side, square_tables};

/// The report as one HTML file that needs nothing else.
pub(super) fn html(report: &RunReport) -> String {
    let mut m = Markup::default();
    let title = report.variant.as_ref().map_or("a run", |variant| &variant.title);
    m.own("<!DOCTYPE html>\n");
    m.element("html", &[("lang", &"en")], |m| {
        m.element("head", &[], |m| {
            m.empty("meta", &[("charset", &"utf-8")]);
            m.empty("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
            m.empty("meta", &[("name", &"color-scheme"), ("content", &"light dark")]);
            // Nothing is ever fetched, and no browser need be trusted for that.
            let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";
            m.empty("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &policy)]);
            m.leaf("title", &[], format!("Shishi: report of {title}"));
            m.line();
            m.element("style", &[], |m| m.own(include_str!("style.css")));
        });
        m.line();
        m.element("body", &[], |m| m.element("main", &[], |m| body(m, report)));
    });
    m.line();
    m.finish()
}

fn body(m: &mut Markup, report: &RunReport) {
    header(m, report);
    section(m, "strength", "Strength over generations");
    or_missing(
        m,
        report.strength.as_ref(),
        "No match has been played yet: the run has no files in matches/.",
        sections::strength,
    );
    if let Some(ladder) = &report.ladder {
        m.leaf("h3", &[], "Ladder");
        sections::ladder(m, ladder);
    }
    section(m, "learning", "Learning");
    or_missing(
        m,
        report.learning.as_ref(),
        "Nothing is logged yet: the run has no events in metrics.jsonl.",
        sections::learning,
    );
    section(m, "games", "The games of self-play");
    or_missing(m, report.games.as_ref(), "No games yet: the run has no shards in games/.", sections::games);
    section(m, "values", "What the pieces are worth");
    or_missing(m, report.values.as_ref(), "Not measured yet: the run has no values/outcome.json.", sections::values);
    if let Some(increment) = &report.increment {
        side_by_side::methods(m, report.values.as_ref(), increment);
    }
    if let Some(odds) = &report.odds {
        odds::odds(m, odds);
    }
    // The more precise way says more about phases.
    if let Some(values) = report.increment.as_ref().or(report.values.as_ref()) {
        phases::phases(m, values);
        phases::promotions(m, values);
    }
    if let Some(squares) = &report.squares {
        square_tables::squares(m, squares, report.rules.as_deref());
    }
    section(m, "play", "Games to play through");
    play(m, report);
    section(m, "reproduce", "How to reproduce this");
    reproduce(m, report);
}

fn section(m: &mut Markup, id: &str, title: &str) {
    m.line();
    m.leaf("h2", &[("id", &id)], title);
    m.line();
}

fn or_missing<T>(m: &mut Markup, part: Option<&T>, missing: &str, write: fn(&mut Markup, &T)) {
    match part {
        Some(part) => write(m, part),
        None => m.leaf("p", &[("class", &"missing")], missing),
    }
}

/// A paragraph.
pub(super) fn paragraph(m: &mut Markup, text: impl std::fmt::Display) {
    m.leaf("p", &[], text);
    m.line();
}

/// A paragraph in small print.
pub(super) fn note(m: &mut Markup, text: impl std::fmt::Display) {
    m.leaf("p", &[("class", &"note")], text);
    m.line();
}

/// A figure: its title, how to read it, the classes and names of what is drawn, the drawing.
pub(super) fn figure(
    m: &mut Markup,
    title: &str,
    reading: &str,
    keys: &[(&str, &str)],
    draw: impl FnOnce(&mut Markup),
) {
    m.element("figure", &[], |m| {
        m.element("figcaption", &[], |m| {
            m.leaf("b", &[], title);
            m.text(reading);
            if !keys.is_empty() {
                m.element("span", &[("class", &"keys")], |m| {
                    for (class, name) in keys {
                        m.leaf("span", &[("class", &format!("key {class}"))], name);
                        m.text(" ");
                    }
                });
            }
        });
        m.line();
        draw(m);
    });
    m.line();
}

fn header(m: &mut Markup, report: &RunReport) {
    m.leaf("p", &[("class", &"over")], "Shishi · report of a run");
    m.element("h1", &[], |m| match &report.variant {
        None => m.text("A run without games"),
        Some(variant) => {
            m.text(&variant.title);
            if let Some(kanji) = &variant.kanji {
                m.text(" ");
                m.leaf("span", &[("class", &"kanji"), ("lang", &"ja")], kanji);
            }
        }
    });
    if let Some(variant) = &report.variant {
        let board = variant.board.map_or(String::new(), |[files, ranks]| format!(" · board of {files}×{ranks}"));
        let pieces = match (variant.pieces, variant.kinds) {
            (Some(pieces), Some(kinds)) => format!(" · {pieces} pieces a side, {kinds} kinds with the promoted ones"),
            _ => String::new(),
        };
        let about = variant.ruleset_title.as_ref().map_or(String::new(), |title| format!(" ({title})"));
        m.leaf("p", &[("class", &"under")], format!("Ruleset {}{about}{board}{pieces}", variant.ruleset));
    }
    if !report.headline.is_empty() {
        m.element("div", &[("class", &"headline")], |m| report.headline.iter().for_each(|text| paragraph(m, text)));
    }
    m.element("nav", &[("aria-label", &"Sections")], |m| {
        let links = [
            ("strength", "Strength"),
            ("learning", "Learning"),
            ("games", "Games"),
            ("values", "Piece values"),
            ("play", "Play through"),
            ("reproduce", "Reproduce"),
        ];
        links.iter().for_each(|(id, name)| m.leaf("a", &[("href", &format!("#{id}"))], name));
    });
}

fn play(m: &mut Markup, report: &RunReport) {
    let (Some(rules), Some(game)) = (&report.rules, report.shown.first()) else {
        let why = match report.games {
            None => "No games yet: the run has no shards in games/.",
            Some(_) => "The games were played under rules that the program does not have, so they cannot be shown.",
        };
        m.leaf("p", &[("class", &"missing")], why);
        return;
    };
    let mut networks = vec![game.black_network.as_str(), game.white_network.as_str()];
    networks.dedup();
    paragraph(
        m,
        format!(
            "{} of generation {}, played by {}: a short, a middling and a long one. Use the buttons or the arrow \
             keys. White’s pieces stand upside down, promoted pieces are red, the last move is marked.",
            counted(report.shown.len() as u64, "game"),
            game.generation,
            networks.iter().map(|name| player(name)).collect::<Vec<_>>().join(" and ")
        ),
    );
    board::viewer(m, &report.shown, rules);
    if report.shown.iter().any(|game| !game.values.is_empty()) {
        note(m, "Below the board: what the search expected before each move. Click to go there.");
    }
    m.data("game-data", &board::data(&report.shown, rules));
    m.line();
    m.element("script", &[], |m| m.own(include_str!("viewer.js")));
    m.line();
}

fn reproduce(m: &mut Markup, report: &RunReport) {
    let Some(config) = &report.config else {
        m.leaf("p", &[("class", &"missing")], "The run has no run.toml.");
        return;
    };
    paragraph(m, "Keep the configuration below as run.toml, and let the program do it all again:");
    m.element("pre", &[], |m| m.leaf("code", &[], "shishi run run.toml --out runs/again"));
    if let Some(values) = report.values.as_ref().or(report.increment.as_ref()) {
        paragraph(m, "Or measure the values of the same games again:");
        let generations =
            values.generations.map_or(String::new(), |[first, last]| format!(" --generations {}", last - first + 1));
        let judge = report.increment.as_ref().and_then(|values| values.judge.as_deref());
        let network = judge.and_then(|judge| judge.strip_prefix("net:"));
        let network = network.map_or(String::new(), |number| format!(" --network RUN/networks/{number}"));
        let commands =
            format!("shishi values RUN{generations}\nshishi values RUN{generations} --method increment{network}");
        m.element("pre", &[], |m| m.leaf("code", &[], commands));
    }
    let program =
        report.games.as_ref().map_or(String::new(), |games| format!(" The games were played by {}.", games.program));
    let rules = report.variant.as_ref().and_then(|variant| variant.fingerprint.as_ref());
    let rules = rules.map_or(String::new(), |fingerprint| format!(" Fingerprint of the rules: {fingerprint}."));
    note(
        m,
        format!(
            "The same program on the same kind of processor plays the same games, whatever the number of threads; \
             only times differ.{program}{rules}"
        ),
    );
    m.element("pre", &[("tabindex", &0)], |m| m.leaf("code", &[], config));
}

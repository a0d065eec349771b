//! The board on which recorded games are stepped through. Rust draws what stays; a script puts the pieces on it.

use engine::Variant;
use serde_json::{Value, json};

use super::ShownGame;
use super::markup::Markup;
use super::numbers::words;
use super::svg::At;

/// Side of a square, in the drawing's own units.
const SQUARE: f64 = 30.0;

/// Room for file numbers and rank letters.
const MARGIN: f64 = 16.0;

/// What the script needs: pieces by kind, and each game as its first board and the changes move by move.
pub(super) fn data(games: &[ShownGame], rules: &Variant) -> Value {
    let kinds: Vec<Value> =
        rules.kinds().iter().map(|kind| json!([kind.symbol, i32::from(kind.is_promoted())])).collect();
    let games: Vec<Value> = games
        .iter()
        .map(|game| {
            let steps = game.steps.iter().map(|step| {
                json!([step.changes.iter().flat_map(|&(s, c)| [s, c.into()]).collect::<Vec<_>>(), step.marks])
            });
            json!({
                "start": game.start,
                "white": game.white_first,
                "moves": game.moves,
                "steps": steps.collect::<Vec<_>>(),
                "values": game.values.iter().map(|value| (100.0 * value).round() as i32).collect::<Vec<_>>(),
                "end": end(game),
            })
        })
        .collect();
    json!({"files": rules.files(), "square": SQUARE, "margin": MARGIN, "kinds": kinds, "games": games})
}

fn end(game: &ShownGame) -> String {
    let result = match game.result.as_deref() {
        Some("black") => "Black won",
        Some("white") => "White won",
        Some(_) => "drawn",
        None => "no result",
    };
    format!("{result}: {}", words(&game.reason))
}

/// The board with its buttons.
pub(super) fn viewer(m: &mut Markup, games: &[ShownGame], rules: &Variant) {
    // Squares of the small boards need not be as large as the page allows.
    let width = format!("max-width: {:.1}rem", (6.0 + 2.4 * rules.files() as f64).min(44.0));
    m.element("div", &[("id", &"viewer"), ("class", &"viewer"), ("style", &width), ("tabindex", &0)], |m| {
        m.element("div", &[("class", &"choice"), ("role", &"group"), ("aria-label", &"Game")], |m| {
            for (index, game) in games.iter().enumerate() {
                let label = format!("{} moves, {}", game.moves.len(), end(game));
                m.leaf("button", &[("type", &"button"), ("data-game", &index)], label);
            }
        });
        m.line();
        board(m, rules);
        m.element("div", &[("class", &"controls")], |m| {
            for (step, label, sign) in [
                ("start", "first position", "|‹"),
                ("back", "back", "‹"),
                ("on", "on", "›"),
                ("end", "last position", "›|"),
            ] {
                m.leaf("button", &[("type", &"button"), ("data-step", &step), ("aria-label", &label)], sign);
            }
            m.empty("input", &[("type", &"range"), ("min", &0), ("max", &0), ("value", &0), ("aria-label", &"move")]);
        });
        m.line();
        m.leaf("p", &[("class", &"now"), ("aria-live", &"polite")], "");
        m.element(
            "svg",
            &[
                ("class", &"course"),
                ("viewBox", &"0 0 360 70"),
                ("role", &"img"),
                ("aria-label", &"What the search expected for Black, move by move"),
            ],
            |m| {
                m.empty("line", &[("x1", &0), ("y1", &35), ("x2", &360), ("y2", &35), ("class", &"grid")]);
                m.leaf("text", &[("x", &5), ("y", &14), ("class", &"small")], "Black ahead");
                m.leaf("text", &[("x", &5), ("y", &64), ("class", &"small")], "White ahead");
                m.empty("polyline", &[("points", &""), ("class", &"line one")]);
                m.empty("line", &[("x1", &0), ("y1", &0), ("x2", &0), ("y2", &70), ("class", &"cursor")]);
            },
        );
        m.line();
    });
    m.leaf("noscript", &[], "Stepping through the games needs JavaScript.");
    m.line();
}

fn board(m: &mut Markup, rules: &Variant) {
    let (files, ranks) = (rules.files(), rules.ranks());
    let (width, height) = (files as f64 * SQUARE, ranks as f64 * SQUARE);
    let view = format!("0 0 {:.0} {:.0}", width + MARGIN + 2.0, height + MARGIN + 2.0);
    let label = format!("Board of {files} by {ranks} squares");
    m.element("svg", &[("class", &"board"), ("viewBox", &view), ("role", &"img"), ("aria-label", &label)], |m| {
        m.empty("rect", &[("x", &1), ("y", &MARGIN), ("width", &width), ("height", &height), ("class", &"wood")]);
        m.leaf("g", &[("class", &"marks")], "");
        for file in 0..=files {
            let x = 1.0 + file as f64 * SQUARE;
            m.empty(
                "line",
                &[("x1", &At(x)), ("y1", &MARGIN), ("x2", &At(x)), ("y2", &At(MARGIN + height)), ("class", &"rule")],
            );
        }
        for rank in 0..=ranks {
            let y = MARGIN + rank as f64 * SQUARE;
            m.empty(
                "line",
                &[("x1", &1), ("y1", &At(y)), ("x2", &At(1.0 + width)), ("y2", &At(y)), ("class", &"rule")],
            );
        }
        for file in 0..files {
            let x = 1.0 + (file as f64 + 0.5) * SQUARE;
            m.leaf("text", &[("x", &At(x)), ("y", &At(MARGIN - 5.0)), ("class", &"place")], files - file);
        }
        for rank in 0..ranks {
            let y = MARGIN + (rank as f64 + 0.5) * SQUARE + 3.5;
            let letter = char::from(b'a' + rank as u8);
            m.leaf("text", &[("x", &At(width + MARGIN / 2.0 + 2.0)), ("y", &At(y)), ("class", &"place")], letter);
        }
        m.leaf("g", &[("class", &"men")], "");
    });
    m.line();
}

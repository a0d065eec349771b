//! USI, with positions and moves of lions as lishogi writes them.

use std::time::Instant;

use engine::{Color, Game, Outcome};
use selfplay::{Choice, ExternalSpec};

use super::{Dialogue, Fault, Line, Trouble, moves_from};

/// What engines of several games call the option that says which one.
const VARIANT_OPTIONS: [&str; 2] = ["USI_Variant", "UCI_Variant"];

/// A conversation in USI.
#[derive(Default)]
pub(super) struct Usi {
    options: Vec<String>,
    /// Its side in this game, once it has been asked for a move.
    color: Option<Color>,
}

impl Usi {
    fn wait(
        line: &mut Line,
        word: &'static str,
        spec: &ExternalSpec,
        stop: &dyn Fn() -> bool,
        mut each: impl FnMut(&str),
    ) -> Result<(), Trouble> {
        let started = Instant::now();
        loop {
            let heard = line.next(word, started, spec.start(), stop)?;
            if heard == word {
                return Ok(());
            }
            each(&heard);
        }
    }
}

impl Dialogue for Usi {
    fn hello(&mut self, line: &mut Line, spec: &ExternalSpec, stop: &dyn Fn() -> bool) -> Result<(), Trouble> {
        line.send("usi");
        let options = &mut self.options;
        Usi::wait(line, "usiok", spec, stop, |heard| options.extend(option_name(heard)))?;
        let has = |name: &str| self.options.iter().any(|option| option == name);
        let known = || self.options.join(", ");
        let mut settings = spec.options.clone();
        if let Some(variant) = &spec.variant {
            let Some(name) = VARIANT_OPTIONS.into_iter().find(|name| has(name)) else {
                let what = format!("has no option to say which game; it has {}", known());
                return Err(Fault::Unable(what).into());
            };
            settings.insert(0, (name.to_string(), variant.clone()));
        }
        for (name, value) in settings {
            if !has(&name) {
                return Err(Fault::Unable(format!("has no option `{name}`; it has {}", known())).into());
            }
            line.send(&format!("setoption name {name} value {value}"));
        }
        line.send("isready");
        Usi::wait(line, "readyok", spec, stop, |_| {})
    }

    fn new_game(
        &mut self,
        line: &mut Line,
        _game: &Game,
        spec: &ExternalSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Trouble> {
        self.color = None;
        line.send("usinewgame");
        line.send("isready");
        Usi::wait(line, "readyok", spec, stop, |_| {})
    }

    fn choose(
        &mut self,
        line: &mut Line,
        game: &Game,
        spec: &ExternalSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<Choice, Trouble> {
        self.color = Some(game.position().side_to_move());
        line.send(&position(game));
        line.send(&match (spec.time, spec.depth) {
            (None, Some(depth)) => format!("go depth {depth}"),
            (_, None) => format!("go btime 0 wtime 0 byoyomi {}", spec.time().as_millis()),
            (Some(time), Some(depth)) => format!("go btime 0 wtime 0 byoyomi {} depth {depth}", time.as_millis()),
        });
        let started = Instant::now();
        loop {
            let heard = line.next("`bestmove`", started, spec.deadline(), stop)?;
            let mut words = heard.split_whitespace();
            if words.next() != Some("bestmove") {
                continue;
            }
            return match words.next().unwrap_or_default() {
                "resign" => Ok(Choice::Resign),
                "win" => Err(Fault::Claim(heard).into()),
                text => Ok(Choice::Move(game.position().parse_usi(text).map_err(Fault::Illegal)?)),
            };
        }
    }

    fn end(&mut self, line: &mut Line, outcome: Option<Outcome>) {
        let Some(outcome) = outcome else { return };
        let result = match (outcome.winner, self.color) {
            (None, _) => "draw",
            (Some(winner), Some(color)) if winner == color => "win",
            (Some(_), Some(_)) => "lose",
            // It does not know either which side it had.
            (Some(_), None) => return,
        };
        line.send(&format!("gameover {result}"));
    }

    fn farewell(&self) -> &'static str {
        "quit"
    }
}

/// The name in a line `option name NAME type …`.
fn option_name(line: &str) -> Option<String> {
    let (name, _) = line.strip_prefix("option name ")?.split_once(" type ")?;
    Some(name.to_string())
}

/// The command that tells of a game's start and moves.
fn position(game: &Game) -> String {
    let mut text = format!("position sfen {}", game.start().sfen());
    if game.ply() > 0 {
        text += " moves";
    }
    moves_from(game, 0, |position, mv| {
        text.push(' ');
        text += &position.usi(mv);
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Position, Variant};

    #[test]
    fn options_are_read() {
        assert_eq!(option_name("option name USI_Hash type spin default 16").as_deref(), Some("USI_Hash"));
        assert_eq!(option_name("option name Two words type check default true").as_deref(), Some("Two words"));
        assert_eq!(option_name("id name X"), None);
    }

    #[test]
    fn a_game_is_its_start_and_its_moves() {
        let variant = Variant::load("sho", None).expect("built in");
        let mut game = Game::new(Position::start(&variant));
        let start = "position sfen lnsgkgsnl/1r2e2b1/ppppppppp/9/9/9/PPPPPPPPP/1B2E2R1/LNSGKGSNL b - 1";
        assert_eq!(position(&game), start);
        for text in ["7g7f", "3c3d", "8h2b+"] {
            game.play(game.position().parse_usi(text).expect(text)).expect(text);
        }
        assert_eq!(position(&game), format!("{start} moves 7g7f 3c3d 8h2b+"));
    }
}

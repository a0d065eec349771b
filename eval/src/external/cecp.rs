//! CECP, the protocol of XBoard and WinBoard, version 2.
//!
//! The engine is kept in force mode: it gets all moves of a game, of the opening too, and thinks on `go` alone. Before
//! that it is shown a clock with the time for one move. An engine that answers `ping` is asked to before each `go`, so
//! that what it says to a move is known before it thinks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::notation::winboard::Legs;
use engine::{Color, Game, Outcome, Position, Variant};
use selfplay::{Choice, ExternalSpec};

use super::{Dialogue, Fault, Line, Trouble, moves_from};

/// Memory in megabytes for an engine that takes a limit and was given none.
const MEMORY: u32 = 64;

/// A conversation in CECP.
pub(super) struct Cecp {
    variant: Arc<Variant>,
    features: Features,
    pings: u32,
    /// Plies of the game that the engine knows.
    told: usize,
    /// The last move it was told.
    last_told: String,
}

/// What an engine says it can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Features {
    ping: bool,
    setboard: bool,
    usermove: bool,
    memory: bool,
    done: bool,
    /// `None` if it does not say.
    variants: Option<Vec<String>>,
    options: BTreeSet<String>,
}

impl Features {
    /// Takes a line `feature …` and returns the names in it.
    fn read(&mut self, line: &str) -> Vec<String> {
        let mut names = Vec::new();
        let mut rest = line.strip_prefix("feature").unwrap_or_default().trim_start();
        while let Some((name, after)) = rest.split_once('=') {
            let (value, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => after.split_once(' ').unwrap_or((after, "")),
            };
            let on = value == "1";
            match name {
                "ping" => self.ping = on,
                "setboard" => self.setboard = on,
                "usermove" => self.usermove = on,
                "memory" => self.memory = on,
                "done" => self.done = on,
                "variants" => self.variants = Some(value.split(',').map(|name| name.trim().to_string()).collect()),
                "option" => {
                    let name = value.split_once(" -").map_or(value, |(name, _)| name);
                    self.options.insert(name.to_string());
                }
                _ => {}
            }
            names.push(name.to_string());
            rest = after.trim_start();
        }
        names
    }
}

impl Cecp {
    pub(super) fn new(variant: &Arc<Variant>) -> Cecp {
        Cecp { variant: variant.clone(), features: Features::default(), pings: 0, told: 0, last_told: String::new() }
    }

    fn name_of_variant<'a>(&'a self, spec: &'a ExternalSpec) -> &'a str {
        spec.variant.as_deref().unwrap_or(self.variant.name())
    }

    /// Tells the moves that the engine does not know.
    fn tell_moves(&mut self, line: &mut Line, game: &Game) {
        moves_from(game, self.told, |position, mv| {
            self.last_told = position.winboard(mv);
            let word = if self.features.usermove { "usermove " } else { "" };
            line.send(&format!("{word}{}", self.last_told));
        });
        self.told = game.ply();
    }

    /// Waits until the engine has done what it was told, if it can say so.
    fn settle(&mut self, line: &mut Line, within: Duration, stop: &dyn Fn() -> bool) -> Result<(), Trouble> {
        if !self.features.ping {
            return Ok(());
        }
        self.pings += 1;
        line.send(&format!("ping {}", self.pings));
        let pong = format!("pong {}", self.pings);
        let started = Instant::now();
        loop {
            let heard = line.next("`pong`", started, within, stop)?;
            if heard == pong {
                return Ok(());
            }
            self.check_refusal(&heard)?;
        }
    }

    fn check_refusal(&self, heard: &str) -> Result<(), Fault> {
        let refused = heard.to_ascii_lowercase().starts_with("illegal move");
        if refused { Err(Fault::Refused { mv: self.last_told.clone(), line: heard.to_string() }) } else { Ok(()) }
    }
}

impl Dialogue for Cecp {
    fn hello(&mut self, line: &mut Line, spec: &ExternalSpec, stop: &dyn Fn() -> bool) -> Result<(), Trouble> {
        line.send("xboard");
        line.send("protover 2");
        let started = Instant::now();
        while !self.features.done {
            let heard = line.next("`feature done=1`", started, spec.start(), stop)?;
            if heard.starts_with("feature ") {
                for name in self.features.read(&heard) {
                    line.send(&format!("accepted {name}"));
                }
            }
        }
        let variant = self.name_of_variant(spec);
        if let Some(variants) = &self.features.variants
            && !variants.iter().any(|name| name == variant)
        {
            let known = variants.join(", ");
            let what = format!("does not play `{variant}`; it plays {known} (`variant=NAME` if the name is another)");
            return Err(Fault::Unable(what).into());
        }
        if let Some((name, _)) = spec.options.iter().find(|(name, _)| !self.features.options.contains(name)) {
            let known: Vec<_> = self.features.options.iter().map(String::as_str).collect();
            return Err(Fault::Unable(format!("has no option `{name}`; it has {}", known.join(", "))).into());
        }
        if self.features.memory {
            line.send(&format!("memory {}", spec.memory.unwrap_or(MEMORY)));
        }
        Ok(())
    }

    fn new_game(
        &mut self,
        line: &mut Line,
        game: &Game,
        spec: &ExternalSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), Trouble> {
        line.send("new");
        line.send(&format!("variant {}", self.name_of_variant(spec)));
        for (name, value) in &spec.options {
            line.send(&format!("option {name}={value}"));
        }
        line.send("nopost");
        line.send("easy");
        line.send("force");
        if spec.time.is_some() || spec.depth.is_none() {
            line.send(&format!("st {}", spec.time().as_secs_f64().ceil()));
        }
        if let Some(depth) = spec.depth {
            line.send(&format!("sd {depth}"));
        }
        let start = game.start();
        if start.sfen() != Position::start(&self.variant).sfen() {
            let fen = start.winboard_fen().filter(|_| self.features.setboard && start.ban_square().is_none());
            let Some(fen) = fen else {
                return Err(Fault::Unable("cannot be told of this start position".to_string()).into());
            };
            line.send(&format!("setboard {fen}"));
        }
        self.told = 0;
        self.tell_moves(line, game);
        self.settle(line, spec.start(), stop)
    }

    fn choose(
        &mut self,
        line: &mut Line,
        game: &Game,
        spec: &ExternalSpec,
        stop: &dyn Fn() -> bool,
    ) -> Result<Choice, Trouble> {
        self.tell_moves(line, game);
        self.settle(line, spec.deadline(), stop)?;
        let centiseconds = (spec.time().as_millis() / 10).max(1);
        line.send(&format!("time {centiseconds}"));
        line.send(&format!("otim {centiseconds}"));
        line.send("go");
        let started = Instant::now();
        let mut legs = Legs::default();
        let mover = game.position().side_to_move();
        loop {
            let heard = line.next("move", started, spec.deadline(), stop)?;
            self.check_refusal(&heard)?;
            if let Some(leg) = heard.strip_prefix("move ") {
                if let Some(text) = legs.push(leg) {
                    let mv = game.position().parse_winboard(&text).map_err(Fault::Illegal)?;
                    line.send("force");
                    self.told = game.ply() + 1;
                    return Ok(Choice::Move(mv));
                }
            } else if heard == "resign" {
                return Ok(Choice::Resign);
            } else if let Some(winner) = claim(&heard) {
                if winner == Some(!mover) {
                    return Ok(Choice::Resign);
                }
                // Without `ping` it may belong to the move before.
                if self.features.ping {
                    return Err(Fault::Claim(heard).into());
                }
            }
        }
    }

    fn end(&mut self, line: &mut Line, outcome: Option<Outcome>) {
        let result = match outcome.map(|outcome| outcome.winner) {
            Some(Some(Color::Black)) => "1-0",
            Some(Some(Color::White)) => "0-1",
            Some(None) => "1/2-1/2",
            None => "*",
        };
        let reason = outcome.map_or("", |outcome| outcome.reason.as_str());
        line.send(&format!("result {result} {{{reason}}}"));
        line.send("force");
    }

    fn farewell(&self) -> &'static str {
        "quit"
    }
}

/// Who has won according to a line that claims a result; `Some(None)` is a draw.
fn claim(line: &str) -> Option<Option<Color>> {
    match line.split_whitespace().next()? {
        "1-0" => Some(Some(Color::Black)),
        "0-1" => Some(Some(Color::White)),
        "1/2-1/2" => Some(None),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read() {
        let mut features = Features::default();
        let names = features.read(r#"feature ping=1 setboard=0 variants="chu, sho" myname="A = b" usermove=1"#);
        assert_eq!(names, ["ping", "setboard", "variants", "myname", "usermove"]);
        features.read(r#"feature option="Allow repeats -check 0" done=0"#);
        let expected = Features {
            ping: true,
            usermove: true,
            variants: Some(vec!["chu".to_string(), "sho".to_string()]),
            options: ["Allow repeats".to_string()].into(),
            ..Features::default()
        };
        assert_eq!(features, expected);
    }

    #[test]
    fn claims_are_read() {
        assert_eq!(claim("1-0 {mate}"), Some(Some(Color::Black)));
        assert_eq!(claim("0-1"), Some(Some(Color::White)));
        assert_eq!(claim("1/2-1/2 {repetition}"), Some(None));
        assert_eq!(claim("# 1-0"), None);
    }
}

//! Players: whatever chooses a move from a game.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use engine::{Game, Move};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::evaluator::{Evaluation, Evaluator};
use crate::external::External;
use crate::external_spec::{ExternalSpec, Protocol};
use crate::material::MaterialValues;
use crate::search::{Method, Search, SearchConfig};

/// Chooses moves.
#[derive(Clone)]
pub enum Player {
    /// Any legal move, drawn evenly.
    Random,
    /// The largest material gain in one ply.
    Material(MaterialValues),
    /// A search with an evaluator.
    Net {
        /// Judges positions.
        evaluator: Arc<dyn Evaluator>,
        /// How to search; without `noise` the choice is the same for every seed.
        search: SearchConfig,
    },
    /// Somebody outside this program, who may resign or fail.
    External(Arc<dyn External>),
}

impl Player {
    /// The move this player makes. A function of its arguments. For many games at once [`play_games`](crate::play_games) is
    /// faster.
    ///
    /// # Panics
    /// If the game is over, or the player is an external one: those play whole games, in `play_games`.
    pub fn choose(&self, game: &Game, seed: u64) -> Move {
        match self {
            Player::Net { evaluator, search } => {
                let mut search = Search::new(game, search, seed);
                let mut answer = [Evaluation::default()];
                while let Some(leaf) = search.next_leaf() {
                    evaluator.evaluate(&[leaf], &mut answer);
                    search.backup(&answer[0]);
                }
                search.result().chosen
            }
            Player::Random | Player::Material(_) => {
                self.choose_at_once(game, seed, &mut Vec::new()).expect("only a search has to wait for an evaluator")
            }
            Player::External(_) => panic!("an external player chooses in whole games alone"),
        }
    }

    /// The move, if it needs no evaluator.
    pub(crate) fn choose_at_once(&self, game: &Game, seed: u64, moves: &mut Vec<Move>) -> Option<Move> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        match self {
            Player::Random => {
                game.legal_moves(moves);
                Some(moves[rng.random_range(0..moves.len())])
            }
            Player::Material(values) => Some(values.choose(game, moves, &mut rng)),
            Player::Net { .. } | Player::External(_) => None,
        }
    }
}

/// A player as written on the command line: `random`, `material`, `net:CHECKPOINT[,sims=N][,search=gumbel|puct]`,
/// `cecp:COMMAND[,KEY=VALUE]…`, `usi:COMMAND[,KEY=VALUE]…`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum PlayerSpec {
    /// `random`
    Random,
    /// `material`
    Material,
    /// `net:CHECKPOINT…`
    Net {
        /// Folder of the checkpoint.
        checkpoint: PathBuf,
        /// Simulations a move; `None` for the default of what reads it.
        simulations: Option<u32>,
        /// How it searches.
        method: Method,
    },
    /// `cecp:COMMAND…` or `usi:COMMAND…`
    External(Box<ExternalSpec>),
}

/// Text that is no player.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "player `{text}`: {what}; expected `random`, `material`, `net:CHECKPOINT[,sims=N][,search=gumbel|puct]`, \
     `cecp:COMMAND[,KEY=VALUE]…` or `usi:COMMAND[,KEY=VALUE]…`"
)]
pub struct PlayerSpecError {
    text: String,
    what: String,
}

impl FromStr for PlayerSpec {
    type Err = PlayerSpecError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |what: String| PlayerSpecError { text: text.to_owned(), what };
        match text {
            "random" => return Ok(PlayerSpec::Random),
            "material" => return Ok(PlayerSpec::Material),
            _ => {}
        }
        for (name, protocol) in [("cecp:", Protocol::Cecp), ("usi:", Protocol::Usi)] {
            if let Some(rest) = text.strip_prefix(name) {
                return ExternalSpec::parse(protocol, rest)
                    .map(|spec| PlayerSpec::External(Box::new(spec)))
                    .map_err(error);
            }
        }
        let net = text.strip_prefix("net:").ok_or_else(|| error("no such player".to_owned()))?;
        let mut parts = net.split(',');
        let checkpoint =
            parts.next().filter(|path| !path.is_empty()).ok_or_else(|| error("no checkpoint".to_owned()))?;
        let mut simulations = None;
        let mut method = Method::Gumbel;
        for part in parts {
            match part.split_once('=') {
                Some(("sims", _)) if simulations.is_some() => return Err(error("`sims` twice".to_owned())),
                Some(("sims", number)) => {
                    let number =
                        number.parse().map_err(|_| error(format!("`sims={number}` is not a number of simulations")))?;
                    simulations = Some(number);
                }
                Some(("search", "gumbel")) => method = Method::Gumbel,
                Some(("search", "puct")) => method = Method::Puct,
                Some(("search", other)) => return Err(error(format!("no search `{other}`"))),
                _ => return Err(error(format!("no option `{part}`"))),
            }
        }
        Ok(PlayerSpec::Net { checkpoint: checkpoint.into(), simulations, method })
    }
}

impl fmt::Display for PlayerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlayerSpec::Random => f.write_str("random"),
            PlayerSpec::Material => f.write_str("material"),
            PlayerSpec::External(spec) => spec.fmt(f),
            PlayerSpec::Net { checkpoint, simulations, method } => {
                write!(f, "net:{}", checkpoint.display())?;
                simulations.map_or(Ok(()), |n| write!(f, ",sims={n}"))?;
                f.write_str(match method {
                    Method::Gumbel => "",
                    Method::Puct => ",search=puct",
                })
            }
        }
    }
}

impl TryFrom<String> for PlayerSpec {
    type Error = PlayerSpecError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<PlayerSpec> for String {
    fn from(spec: PlayerSpec) -> String {
        spec.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_come_back() {
        for text in [
            "random",
            "material",
            "net:run/networks/000003",
            "net:x,sims=8",
            "net:x,sims=800,search=puct",
            "usi:e 'a b',time=0.5",
        ] {
            assert_eq!(text.parse::<PlayerSpec>().expect(text).to_string(), text);
        }
        let gumbel: PlayerSpec = "net:x,search=gumbel,sims=8".parse().expect("options in any order");
        assert_eq!(gumbel, PlayerSpec::Net { checkpoint: "x".into(), simulations: Some(8), method: Method::Gumbel });
    }

    #[test]
    fn errors_name_what_is_wrong() {
        let check = |text: &str, part: &str| {
            let error = text.parse::<PlayerSpec>().expect_err(text).to_string();
            assert!(error.contains(text) && error.contains(part), "{error}");
        };
        check("mcts", "no such player");
        check("net:", "no checkpoint");
        check("net:x,sims=many", "`sims=many`");
        check("net:x,sims=-1", "`sims=-1`");
        check("net:x,sims=1,sims=2", "`sims` twice");
        check("net:x,search=alphabeta", "no search `alphabeta`");
        check("net:x,fast", "no option `fast`");
        check("cecp:", "no command");
        check("usi:x,fast=1", "no key `fast`");
    }
}

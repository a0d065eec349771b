//! How strong the networks are.

use serde::{Deserialize, Serialize};

use crate::interval::Interval;
use crate::ladder::encounters_of;
use crate::match_stats::expected_score;
use crate::matches::MatchResult;
use crate::normal::Z95;
use crate::pool::{Encounter, Pool};

/// The match of a new network against the one that played until then, with its verdict.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gate {
    /// Number of the new network.
    pub network: u32,
    /// Number of the network it had to beat.
    pub against: u32,
    /// Whether it plays from now on.
    pub accepted: bool,
    /// The match, from the new network's side.
    #[serde(flatten)]
    pub result: MatchResult,
}

/// A match with the interval of its score.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredMatch {
    /// Mean score of a game, 0 to 1, with the 95 % interval that belongs to `elo_low` and `elo_high`.
    pub score_interval: Interval,
    /// The match.
    #[serde(flatten)]
    pub result: MatchResult,
}

impl ScoredMatch {
    fn new(result: MatchResult) -> Self {
        // No bound on the rating is a bound of 0 or 1 on the score.
        let low = result.elo_low.map_or(0.0, expected_score).min(result.score);
        let high = result.elo_high.map_or(1.0, expected_score).max(result.score);
        ScoredMatch { score_interval: Interval { value: result.score, low, high }, result }
    }
}

/// Players that all networks are matched against: the beginning of the file's name, and what to call the player.
pub(super) const BENCHMARKS: [(&str, &str); 2] =
    [("random", "a player who moves at random"), ("material", "a player who takes what it can")];

/// What is known about one network.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkStrength {
    /// Its number.
    pub network: u32,
    /// Its match against the player who moves at random.
    pub random: Option<ScoredMatch>,
    /// Its match against the player who takes the most material in one ply.
    pub material: Option<ScoredMatch>,
    /// The network it had to beat.
    pub gate_against: Option<u32>,
    /// Whether it did.
    pub gate_accepted: Option<bool>,
    /// That match.
    pub gate: Option<ScoredMatch>,
    /// Elo above the first network by the joint rating of all matches, with its 95 % interval.
    pub elo_over_first: Option<Interval>,
}

/// What is known about all networks.
#[derive(Clone, Debug, Serialize)]
pub struct Strength {
    /// The networks, in order.
    pub networks: Vec<NetworkStrength>,
    /// The one that ratings are counted from.
    pub first: u32,
    /// The one that plays after the last gate, if there was a gate.
    pub playing: Option<u32>,
    /// Games in all matches.
    pub games: u64,
    /// Whether half a win and half a loss were added to every match of the joint rating, since some match alone would
    /// put a rating at infinity.
    pub pseudo_results: bool,
    /// Why there is no joint rating, if there is none.
    pub not_rated: Option<String>,
}

impl Strength {
    /// `None` without any match.
    pub(super) fn of(benchmarks: [Vec<(u32, MatchResult)>; 2], gates: Vec<Gate>) -> Option<Strength> {
        let mut numbers: Vec<u32> = benchmarks.iter().flatten().map(|(network, _)| *network).collect();
        numbers.extend(gates.iter().flat_map(|gate| [gate.network, gate.against]));
        numbers.sort_unstable();
        numbers.dedup();
        let first = *numbers.first()?;
        let games = benchmarks.iter().flatten().map(|(_, result)| result).chain(gates.iter().map(|gate| &gate.result));
        let games = games.map(|result| result.games).sum();
        let rated = rate(&numbers, &benchmarks, &gates);
        let playing = gates.last().map(|gate| if gate.accepted { gate.network } else { gate.against });
        let mut networks: Vec<NetworkStrength> = numbers
            .iter()
            .enumerate()
            .map(|(index, &network)| NetworkStrength {
                network,
                random: None,
                material: None,
                gate_against: None,
                gate_accepted: None,
                gate: None,
                elo_over_first: rated.as_ref().ok().map(|pool| {
                    let found = pool.difference(index, 0);
                    let half = Z95 * found.error;
                    Interval { value: found.elo, low: found.elo - half, high: found.elo + half }
                }),
            })
            .collect();
        let at = |network: u32| numbers.binary_search(&network).expect("every network of a match is listed");
        let [random, material] = benchmarks;
        for (network, result) in random {
            networks[at(network)].random = Some(ScoredMatch::new(result));
        }
        for (network, result) in material {
            networks[at(network)].material = Some(ScoredMatch::new(result));
        }
        for gate in gates {
            let network = &mut networks[at(gate.network)];
            network.gate_against = Some(gate.against);
            network.gate_accepted = Some(gate.accepted);
            network.gate = Some(ScoredMatch::new(gate.result));
        }
        Some(Strength {
            networks,
            first,
            playing,
            games,
            pseudo_results: rated.as_ref().is_ok_and(|pool| pool.pseudo_results),
            not_rated: rated.err(),
        })
    }

    /// The last network.
    pub fn last(&self) -> Option<&NetworkStrength> {
        self.networks.last()
    }
}

/// Ratings from all matches together: networks by their index in `numbers`, then the benchmarks.
fn rate(numbers: &[u32], benchmarks: &[Vec<(u32, MatchResult)>; 2], gates: &[Gate]) -> Result<Pool, String> {
    if gates.is_empty() {
        return Err("no match between networks".to_owned());
    }
    let at = |network: u32| numbers.binary_search(&network).expect("every network of a match is listed");
    let played = benchmarks.iter().filter(|results| !results.is_empty());
    let against_benchmarks = played.clone().enumerate().flat_map(|(benchmark, results)| {
        results.iter().map(move |(network, result)| (at(*network), numbers.len() + benchmark, result))
    });
    let against_each_other = gates.iter().map(|gate| (at(gate.network), at(gate.against), &gate.result));
    let encounters: Option<Vec<[Encounter; 2]>> = against_benchmarks
        .chain(against_each_other)
        .map(|(first, second, result)| encounters_of(result, first, second))
        .collect();
    let encounters = encounters.ok_or("the matches are of a program that did not keep results by colour")?.concat();
    let players = numbers.len() + played.count();
    Pool::fit(players, &encounters).map_err(|error| error.to_string())
}

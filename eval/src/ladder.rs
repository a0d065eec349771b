//! Ladders: many players rated together from short matches, each of which is chosen by what is known so far.
//!
//! A ladder first plays a skeleton that holds all players together: networks against the one before, the others against the
//! first and the last network. Then it plays where a match tells most. By the ratings so far a game between two players has the information
//! I = p_win + p_loss - (p_win - p_loss)² (per x², see [`crate::pool`]), and adding n games shrinks the volume of all ratings' joint
//! uncertainty by the factor 1 + n I v, v being the variance of the two players' difference (D-optimal design). So neither players
//! far apart nor players who are well compared already meet again. The choice depends on results alone, hence a
//! resumed ladder is the uninterrupted one.

use serde::{Deserialize, Serialize};

use crate::matches::MatchResult;
use crate::normal::Z95;
use crate::pool::{Encounter, Pool, PoolError, probabilities};

/// A player of a ladder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrant {
    /// Its name.
    pub name: String,
    /// Generation, if it is a network of the run.
    pub network: Option<u32>,
}

/// Results of two players, added up over their matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Index of one player.
    pub first: usize,
    /// Index of the other.
    pub second: usize,
    /// Losses, draws and wins of `first` with Black, then with White.
    pub by_color: [[u64; 3]; 2],
}

impl Pairing {
    /// Games of the pairing.
    pub fn games(&self) -> u64 {
        self.by_color.iter().flatten().sum()
    }

    fn encounters(&self) -> [Encounter; 2] {
        encounters(self.first, self.second, self.by_color)
    }
}

/// What a match adds to a pool, the first move being Black's; `None` if it does not tell colours apart.
pub fn encounters_of(result: &MatchResult, first: usize, second: usize) -> Option<[Encounter; 2]> {
    result.by_color.map(|by_color| encounters(first, second, by_color))
}

fn encounters(first: usize, second: usize, [black, white]: [[u64; 3]; 2]) -> [Encounter; 2] {
    [
        Encounter { first, second, losses: black[0], draws: black[1], wins: black[2] },
        // From the side of Black, who is `second` here.
        Encounter { first: second, second: first, losses: white[2], draws: white[1], wins: white[0] },
    ]
}

/// The pairings that hold a ladder together, in the order in which they are played.
pub fn skeleton(players: &[Entrant]) -> Vec<[usize; 2]> {
    let of = |networks: bool| (0..players.len()).filter(move |&i| players[i].network.is_some() == networks);
    let mut networks: Vec<usize> = of(true).collect();
    networks.sort_by_key(|&i| players[i].network);
    let mut pairings: Vec<[usize; 2]> = networks.windows(2).map(|pair| [pair[0], pair[1]]).collect();
    let others: Vec<usize> = of(false).collect();
    let ends = [networks.first(), networks.last().filter(|_| networks.len() > 1)];
    pairings.extend(others.iter().flat_map(|&other| ends.into_iter().flatten().map(move |&end| [end, other])));
    pairings.extend(others.windows(2).map(|pair| [pair[0], pair[1]]));
    pairings
}

/// The pairing to play next: of the skeleton the first that was not played, then the most informative one.
///
/// # Errors
/// As [`Pool::fit`].
pub fn next_pairing(players: &[Entrant], played: &[Pairing]) -> Result<[usize; 2], PoolError> {
    let was_played = |&[a, b]: &[usize; 2]| {
        played.iter().any(|p| p.games() > 0 && [[p.first, p.second], [p.second, p.first]].contains(&[a, b]))
    };
    if let Some(missing) = skeleton(players).into_iter().find(|pairing| !was_played(pairing)) {
        return Ok(missing);
    }
    let pool = fit(players.len(), played)?;
    let mut best = ([0, 1], f64::NEG_INFINITY);
    for a in 0..players.len() {
        for b in a + 1..players.len() {
            let difference = pool.difference(a, b);
            let advantage = pool.first_move_advantage.unwrap_or(0.0);
            let information = [advantage, -advantage].map(|advantage| {
                let [loss, _, win] = probabilities(difference.elo + advantage, pool.nu);
                win + loss - (win - loss).powi(2)
            });
            let gain = (information[0] + information[1]) * difference.error.powi(2);
            if gain > best.1 {
                best = ([a, b], gain);
            }
        }
    }
    Ok(best.0)
}

fn fit(players: usize, played: &[Pairing]) -> Result<Pool, PoolError> {
    let encounters: Vec<Encounter> = played.iter().flat_map(Pairing::encounters).collect();
    Pool::fit(players, &encounters)
}

/// A rated player.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rated {
    /// Its name.
    pub name: String,
    /// Generation, if it is a network of the run.
    pub network: Option<u32>,
    /// Elo above the anchor.
    pub elo: f64,
    /// Standard error of this difference; 0 for the anchor itself.
    pub error: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Games played.
    pub games: u64,
    /// Won.
    pub wins: u64,
    /// Drawn.
    pub draws: u64,
    /// Lost.
    pub losses: u64,
    /// Mean score of these games, whoever the opponents were.
    pub score: f64,
}

/// Results of two players by their names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Met {
    /// One player.
    pub first: String,
    /// The other.
    pub second: String,
    /// Games.
    pub games: u64,
    /// Losses, draws and wins of `first` with Black, then with White.
    pub by_color: [[u64; 3]; 2],
    /// Mean score of `first`.
    pub score: f64,
    /// The score that the ratings expect, colours being even.
    pub expected_score: f64,
}

/// A rated ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// Name of the player whose rating is 0.
    pub anchor: String,
    /// Games in all.
    pub games: u64,
    /// The players, strongest first.
    pub players: Vec<Rated>,
    /// Who played whom.
    pub pairings: Vec<Met>,
    /// What having Black, who moves first from the usual start, is worth, Elo; `None` if it cannot be told from the ratings.
    pub first_move_advantage: Option<f64>,
    /// Its standard error.
    pub first_move_error: Option<f64>,
    /// Draws per geometric mean of wins and losses between equals.
    pub nu: f64,
    /// Log-likelihood of the results.
    pub log_likelihood: f64,
    /// Whether half a win and half a loss were added to every pairing, since the results alone put some rating at infinity.
    pub pseudo_results: bool,
}

impl Ladder {
    /// Rates players from their games; `anchor` is an index.
    ///
    /// # Errors
    /// As [`Pool::fit`]: nothing is rated that no chain of games links.
    ///
    /// # Panics
    /// If `anchor` is not below the number of players.
    pub fn rate(players: &[Entrant], played: &[Pairing], anchor: usize) -> Result<Ladder, PoolError> {
        let pool = fit(players.len(), played)?;
        let mut results = vec![[0; 3]; players.len()];
        for e in played.iter().flat_map(Pairing::encounters) {
            for (player, counts) in [(e.first, [e.losses, e.draws, e.wins]), (e.second, [e.wins, e.draws, e.losses])] {
                results[player].iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
            }
        }
        let mut rated: Vec<Rated> = players
            .iter()
            .enumerate()
            .map(|(index, player)| {
                let difference = pool.difference(index, anchor);
                let [losses, draws, wins] = results[index];
                Rated {
                    name: player.name.clone(),
                    network: player.network,
                    elo: difference.elo,
                    error: difference.error,
                    low: difference.elo - Z95 * difference.error,
                    high: difference.elo + Z95 * difference.error,
                    games: losses + draws + wins,
                    wins,
                    draws,
                    losses,
                    score: score([losses, draws, wins]),
                }
            })
            .collect();
        rated.sort_by(|a, b| b.elo.total_cmp(&a.elo));
        let advantage = pool.first_move_advantage.unwrap_or(0.0);
        let met = |p: &Pairing| {
            let counts = [0, 1, 2].map(|i| p.by_color[0][i] + p.by_color[1][i]);
            let elo = pool.difference(p.first, p.second).elo;
            let expected = [advantage, -advantage].map(|advantage| {
                let [_, draw, win] = probabilities(elo + advantage, pool.nu);
                win + draw / 2.0
            });
            Met {
                first: players[p.first].name.clone(),
                second: players[p.second].name.clone(),
                games: p.games(),
                by_color: p.by_color,
                score: score(counts),
                expected_score: (expected[0] + expected[1]) / 2.0,
            }
        };
        Ok(Ladder {
            anchor: players[anchor].name.clone(),
            games: played.iter().map(Pairing::games).sum(),
            players: rated,
            pairings: played.iter().map(met).collect(),
            first_move_advantage: pool.first_move_advantage,
            first_move_error: pool.first_move_error,
            nu: pool.nu,
            log_likelihood: pool.log_likelihood,
            pseudo_results: pool.pseudo_results,
        })
    }
}

fn score([losses, draws, wins]: [u64; 3]) -> f64 {
    let games = losses + draws + wins;
    if games == 0 { 0.5 } else { (wins as f64 + draws as f64 / 2.0) / games as f64 }
}

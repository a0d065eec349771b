//! Ratings of a pool of players from all their games together: Davidson's model of wins, draws and losses with a
//! first-move advantage.
//!
//! With x = (r_first - r_second + A) ln 10 / 800 the first player wins, draws, loses with weights e^x : nu : e^-x
//! (Davidson 1970). Maximum likelihood by Newton's method; the log-likelihood is concave.

use ndarray::{Array1, Array2};

use crate::linalg::Cholesky;

/// ln 10 / 800: from Elo to the model's x.
const PER_ELO: f64 = std::f64::consts::LN_10 / 800.0;

/// An |x| on some edge beyond which the optimum is taken to be at infinity (a score of 1e-7).
const MAX_EDGE: f64 = 8.0;

/// A |ln nu| beyond which the draw parameter is taken to be at infinity.
const MAX_LOG_NU: f64 = 20.0;

/// Results of `first` (who moves first) against `second`, from the first's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encounter {
    /// Index of the player who moved first.
    pub first: usize,
    /// Index of the opponent.
    pub second: usize,
    /// Games the first player won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games the first player lost.
    pub losses: u64,
}

/// Why a pool has no ratings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// An encounter names a player who is not in the pool, or pairs a player with itself.
    #[error("encounter {index}: expected two different players below {players}, found {first} and {second}")]
    Players {
        /// Position of the encounter in the input.
        index: usize,
        /// Number of players in the pool.
        players: usize,
        /// The first player as given.
        first: usize,
        /// The second player as given.
        second: usize,
    },
    /// No chain of games links the two players, so their ratings cannot be compared.
    #[error("the pool falls apart: no chain of games links players {0} and {1}")]
    Disconnected(usize, usize),
    /// The pool has no players.
    #[error("the pool has no players")]
    Empty,
    /// Newton's method did not settle.
    #[error("the ratings did not converge")]
    NotConverged,
}

/// A difference of two ratings with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Rating of the first minus rating of the second, Elo.
    pub elo: f64,
    /// Standard error of the difference, Elo.
    pub error: f64,
}

/// Fitted ratings.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Elo of every player; the mean is 0.
    pub ratings: Vec<f64>,
    /// Standard errors of `ratings` about the pool's mean. To compare players use [`Pool::difference`].
    pub errors: Vec<f64>,
    /// What moving first is worth, Elo; `None` when no player had both colours in a way that separates it from the
    /// ratings (it is then taken as 0).
    pub first_move_advantage: Option<f64>,
    /// Its standard error, Elo.
    pub first_move_error: Option<f64>,
    /// Draw parameter: draws per geometric mean of wins and losses between equals. 0 when nothing was drawn.
    pub nu: f64,
    /// Log-likelihood of the results as given, without pseudo results.
    pub log_likelihood: f64,
    /// Whether half a win and half a loss were added for every two players who met (shared among their encounters), because
    /// the results alone put some rating at infinity.
    pub pseudo_results: bool,
    /// Covariance of `ratings`, players x players.
    covariance: Array2<f64>,
}

impl Pool {
    /// Rates `players` players.
    ///
    /// # Errors
    /// Bad indices, a pool that no chain of games holds together.
    pub fn fit(players: usize, encounters: &[Encounter]) -> Result<Self, PoolError> {
        if players == 0 {
            return Err(PoolError::Empty);
        }
        for (index, e) in encounters.iter().enumerate() {
            if e.first >= players || e.second >= players || e.first == e.second {
                return Err(PoolError::Players { index, players, first: e.first, second: e.second });
            }
        }
        let played: Vec<Encounter> = encounters.iter().copied().filter(|e| e.wins + e.draws + e.losses > 0).collect();
        let advantage = advantage_is_separable(players, &played)?;
        let fit = |pseudo| Model::new(players, &played, advantage, pseudo).maximise();
        fit(false).or_else(|| fit(true)).ok_or(PoolError::NotConverged)
    }

    /// Rating of `player` minus rating of `anchor`.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn difference(&self, player: usize, anchor: usize) -> Difference {
        let c = &self.covariance;
        let variance = c[[player, player]] + c[[anchor, anchor]] - 2.0 * c[[player, anchor]];
        Difference { elo: self.ratings[player] - self.ratings[anchor], error: variance.max(0.0).sqrt() }
    }
}

/// Probabilities of loss, draw and win at a rating difference (with the first-move advantage in it).
pub fn probabilities(difference: f64, nu: f64) -> [f64; 3] {
    let strength = (difference * PER_ELO).exp();
    let total = strength + nu + 1.0 / strength;
    [1.0 / strength / total, nu / total, strength / total]
}

/// Walks the graph of games. An error if it is not connected; otherwise whether the first-move advantage can be told
/// from the ratings: it cannot when levels exist with level(first) - level(second) = 1 on every edge.
fn advantage_is_separable(players: usize, played: &[Encounter]) -> Result<bool, PoolError> {
    let mut neighbours = vec![Vec::new(); players];
    for e in played {
        neighbours[e.first].push((e.second, -1));
        neighbours[e.second].push((e.first, 1));
    }
    let mut level: Vec<Option<i64>> = vec![None; players];
    level[0] = Some(0);
    let mut open = vec![0];
    let mut separable = false;
    while let Some(player) = open.pop() {
        let here = level[player].expect("only levelled players are opened");
        for &(other, step) in &neighbours[player] {
            match level[other] {
                None => {
                    level[other] = Some(here + step);
                    open.push(other);
                }
                Some(there) => separable |= there != here + step,
            }
        }
    }
    match level.iter().position(Option::is_none) {
        Some(apart) => Err(PoolError::Disconnected(0, apart)),
        None => Ok(separable),
    }
}

/// The likelihood in its free parameters: x-scale ratings of players 1.. (player 0 is held at 0), then the advantage
/// and ln nu where they are free.
struct Model<'a> {
    players: usize,
    played: &'a [Encounter],
    /// Wins, and as many losses, that are added to each encounter; empty for none.
    pseudo: Vec<f64>,
    advantage: Option<usize>,
    log_nu: Option<usize>,
    parameters: usize,
}

struct Derivatives {
    log_likelihood: f64,
    gradient: Array1<f64>,
    information: Array2<f64>,
}

impl<'a> Model<'a> {
    fn new(players: usize, played: &'a [Encounter], advantage: bool, pseudo: bool) -> Self {
        let mut parameters = players - 1;
        let mut next = |free: bool| {
            free.then(|| {
                parameters += 1;
                parameters - 1
            })
        };
        let advantage = next(advantage);
        // Without a draw the optimum is at nu = 0, which ln nu cannot reach.
        let log_nu = next(played.iter().any(|e| e.draws > 0));
        let pair = |e: &Encounter| [e.first.min(e.second), e.first.max(e.second)];
        let share = |e: &Encounter| 0.5 / played.iter().filter(|other| pair(other) == pair(e)).count() as f64;
        let pseudo = if pseudo { played.iter().map(share).collect() } else { Vec::new() };
        Model { players, played, pseudo, advantage, log_nu, parameters }
    }

    fn nu(&self, at: &Array1<f64>) -> f64 {
        self.log_nu.map_or(0.0, |i| at[i].exp())
    }

    /// Parameters that x of an encounter depends on, with their signs.
    fn terms(&self, e: &Encounter) -> impl Iterator<Item = (usize, f64)> + Clone {
        let rating = |player: usize, sign| player.checked_sub(1).map(|i| (i, sign));
        rating(e.first, 1.0).into_iter().chain(rating(e.second, -1.0)).chain(self.advantage.map(|i| (i, 1.0)))
    }

    fn x(&self, e: &Encounter, at: &Array1<f64>) -> f64 {
        self.terms(e).map(|(i, sign)| sign * at[i]).sum()
    }

    /// Encounters with their pseudo wins, and as many losses.
    fn with_pseudo(&self) -> impl Iterator<Item = (&Encounter, f64)> {
        self.played.iter().zip(self.pseudo.iter().copied().chain(std::iter::repeat(0.0)))
    }

    fn log_likelihood<'b>(&self, at: &Array1<f64>, encounters: impl Iterator<Item = (&'b Encounter, f64)>) -> f64 {
        let nu = self.nu(at);
        let sum = encounters.map(|(e, pseudo)| {
            let x = self.x(e, at);
            let (wins, losses) = (e.wins as f64 + pseudo, e.losses as f64 + pseudo);
            let draws = e.draws as f64;
            let log_total = (x.exp() + nu + (-x).exp()).ln();
            let drawn = if draws > 0.0 { draws * nu.ln() } else { 0.0 };
            (wins - losses) * x + drawn - (wins + draws + losses) * log_total
        });
        sum.sum()
    }

    fn derivatives(&self, at: &Array1<f64>) -> Derivatives {
        let mut gradient = Array1::zeros(self.parameters);
        let mut information = Array2::zeros((self.parameters, self.parameters));
        let nu = self.nu(at);
        for (e, pseudo) in self.with_pseudo() {
            let [p_loss, p_draw, p_win] = probabilities(self.x(e, at) / PER_ELO, nu);
            let (wins, losses) = (e.wins as f64 + pseudo, e.losses as f64 + pseudo);
            let games = wins + e.draws as f64 + losses;
            let mean = p_win - p_loss;
            let slope = wins - losses - games * mean;
            let curvature = games * (p_win + p_loss - mean * mean);
            for (i, sign) in self.terms(e) {
                gradient[i] += sign * slope;
                for (j, other) in self.terms(e) {
                    information[[i, j]] += sign * other * curvature;
                }
                if let Some(k) = self.log_nu {
                    let cross = -sign * games * mean * p_draw;
                    information[[i, k]] += cross;
                    information[[k, i]] += cross;
                }
            }
            if let Some(k) = self.log_nu {
                gradient[k] += e.draws as f64 - games * p_draw;
                information[[k, k]] += games * p_draw * (1.0 - p_draw);
            }
        }
        Derivatives { log_likelihood: self.log_likelihood(at, self.with_pseudo()), gradient, information }
    }

    /// Newton with step halving; `None` when the optimum is at infinity or is not found.
    fn maximise(&self) -> Option<Pool> {
        let mut at = Array1::zeros(self.parameters);
        let games: f64 = self.played.iter().map(|e| (e.wins + e.draws + e.losses) as f64).sum();
        for _ in 0..200 {
            let d = self.derivatives(&at);
            let factor = Cholesky::new(&d.information).ok()?;
            let largest = d.gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
            if largest <= 1e-11 * (1.0 + games) {
                return Some(self.pool(&at, &factor));
            }
            let step = factor.solve(&d.gradient);
            let mut scale = 1.0;
            let tolerance = 1e-12 * d.log_likelihood.abs();
            at = loop {
                let trial = &at + &(&step * scale);
                if self.log_likelihood(&trial, self.with_pseudo()) >= d.log_likelihood - tolerance {
                    break trial;
                }
                scale /= 2.0;
                if scale < 1e-9 {
                    return None;
                }
            };
            let too_far = |e: &Encounter| self.x(e, &at).abs() > MAX_EDGE;
            // Pseudo results keep the optimum finite, however far away it is.
            if self.pseudo.is_empty() && self.played.iter().any(too_far)
                || self.log_nu.is_some_and(|i| at[i].abs() > MAX_LOG_NU)
            {
                return None;
            }
        }
        None
    }

    fn pool(&self, at: &Array1<f64>, factor: &Cholesky) -> Pool {
        let n = self.players;
        let inverse = factor.inverse();
        // Player 0 is at 0 exactly; centring turns ratings against it into ratings about the mean.
        let mut ratings = vec![0.0; n];
        let mut anchored = Array2::<f64>::zeros((n, n));
        for i in 1..n {
            ratings[i] = at[i - 1] / PER_ELO;
            for j in 1..n {
                anchored[[i, j]] = inverse[[i - 1, j - 1]] / (PER_ELO * PER_ELO);
            }
        }
        let mean = ratings.iter().sum::<f64>() / n as f64;
        ratings.iter_mut().for_each(|r| *r -= mean);
        let row_means: Vec<f64> = (0..n).map(|i| anchored.row(i).sum() / n as f64).collect();
        let grand_mean = row_means.iter().sum::<f64>() / n as f64;
        let covariance =
            Array2::from_shape_fn((n, n), |(i, j)| anchored[[i, j]] - row_means[i] - row_means[j] + grand_mean);
        Pool {
            errors: (0..n).map(|i| covariance[[i, i]].max(0.0).sqrt()).collect(),
            ratings,
            first_move_advantage: self.advantage.map(|i| at[i] / PER_ELO),
            first_move_error: self.advantage.map(|i| inverse[[i, i]].max(0.0).sqrt() / PER_ELO),
            nu: self.nu(at),
            log_likelihood: self.log_likelihood(at, self.played.iter().map(|e| (e, 0.0))),
            pseudo_results: !self.pseudo.is_empty(),
            covariance,
        }
    }
}

//! BayesElo's model of single games, only to read numbers printed by tools that use it.
//!
//! Our own tests use normalised Elo on pairs: a BayesElo difference depends on the draw rate and the model ignores
//! that the games of a pair are correlated.

use crate::match_stats::Trinomial;

/// Probabilities of loss, draw and win at a BayesElo advantage and a draw parameter (both in Elo units):
/// W = 1/(1 + 10^((d - e)/400)), L = 1/(1 + 10^((d + e)/400)).
pub fn probabilities(advantage: f64, draw: f64) -> [f64; 3] {
    let of = |x: f64| 1.0 / (1.0 + 10f64.powf((draw - x) / 400.0));
    let (loss, win) = (of(-advantage), of(advantage));
    [loss, 1.0 - win - loss, win]
}

/// The advantage and draw parameter that reproduce the observed frequencies; `None` without both a win and a loss.
pub fn fit(results: &Trinomial) -> Option<(f64, f64)> {
    let [losses, draws, wins] = results.0.map(|n| n as f64);
    if losses == 0.0 || wins == 0.0 {
        return None;
    }
    let odds_win = wins / (losses + draws);
    let odds_loss = losses / (wins + draws);
    Some((200.0 * (odds_win / odds_loss).log10(), -200.0 * (odds_win * odds_loss).log10()))
}

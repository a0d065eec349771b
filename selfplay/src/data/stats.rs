//! Counts over shards.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use engine::Color;
use serde::Serialize;

use super::error::DataError;
use super::files::ShardPair;
use super::reader::{ShardReader, read_games};
use super::row::{GameResult, GameRow, PositionRow};

/// A share of a sample with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share found, from 0 to 1.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Size of the sample.
    pub of: u64,
}

impl Share {
    /// The share `hits / of` with Wilson's score interval (Wilson, "Probable inference, the law of succession, and statistical
    /// inference", 1927, equation 6). `None` for an empty sample.
    pub fn wilson(hits: u64, of: u64) -> Option<Share> {
        const Z: f64 = 1.959963984540054;
        if of == 0 {
            return None;
        }
        let n = of as f64;
        let value = hits as f64 / n;
        let scale = 1.0 / (1.0 + Z * Z / n);
        let middle = scale * (value + Z * Z / (2.0 * n));
        let half = scale * Z * (value * (1.0 - value) / n + Z * Z / (4.0 * n * n)).sqrt();
        Some(Share { value, low: (middle - half).max(0.0), high: (middle + half).min(1.0), of })
    }
}

/// What is in the shards of one variant under one ruleset.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DataStats {
    /// Name of the variant.
    pub variant: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// First and last generation.
    pub generations: [u32; 2],
    /// Shards.
    pub shards: u64,
    /// Games.
    pub games: u64,
    /// Positions.
    pub positions: u64,
    /// Games by result: `black`, `white`, `draw`, and `undecided` for those cut off by a ply cap.
    pub results: BTreeMap<String, u64>,
    /// Games by the reason of their end.
    pub reasons: BTreeMap<String, u64>,
    /// Mean number of moves in a game; 0 without games.
    pub mean_plies: f64,
    /// Moves in the shortest game, the middle one and the longest one.
    pub plies: [u32; 3],
    /// Mean number of legal moves in a position; 0 without positions.
    pub mean_branching: f64,
    /// Most legal moves in a position.
    pub most_branching: u32,
    /// Games that Black won of all that somebody won; 0.5 is no advantage of the first move.
    pub black_wins: Option<Share>,
    /// Games with the opening and all the moves of an earlier one.
    pub duplicates: u64,
}

#[derive(Default)]
struct Counts {
    generations: Option<[u32; 2]>,
    shards: u64,
    results: BTreeMap<String, u64>,
    reasons: BTreeMap<String, u64>,
    plies: Vec<u32>,
    positions: u64,
    moves: u64,
    most_moves: u32,
    seen: HashSet<u64>,
    duplicates: u64,
}

impl Counts {
    fn add_game(&mut self, game: &GameRow) {
        let [first, last] = self.generations.unwrap_or([game.generation; 2]);
        self.generations = Some([first.min(game.generation), last.max(game.generation)]);
        let result = game.result.map_or("undecided", GameResult::as_str);
        *self.results.entry(result.to_owned()).or_default() += 1;
        *self.reasons.entry(game.reason.clone()).or_default() += 1;
        self.plies.push(game.plies);
        let mut hasher = DefaultHasher::new();
        (&game.opening_sfen, &game.moves).hash(&mut hasher);
        self.duplicates += u64::from(!self.seen.insert(hasher.finish()));
    }

    fn add_positions(&mut self, move_counts: &[u32]) {
        self.positions += move_counts.len() as u64;
        self.moves += move_counts.iter().map(|&n| u64::from(n)).sum::<u64>();
        self.most_moves = move_counts.iter().copied().fold(self.most_moves, u32::max);
    }

    fn into_stats(mut self, (variant, ruleset): (String, String)) -> DataStats {
        self.plies.sort_unstable();
        let mean = |sum: u64, of: u64| if of == 0 { 0.0 } else { sum as f64 / of as f64 };
        let games = self.plies.len() as u64;
        let plies = match self.plies.as_slice() {
            [] => [0; 3],
            [first, .., last] => [*first, self.plies[self.plies.len() / 2], *last],
            [only] => [*only; 3],
        };
        let won = |color| self.results.get(GameResult::Won(color).as_str()).copied().unwrap_or(0);
        let (black, white) = (won(Color::Black), won(Color::White));
        DataStats {
            variant,
            ruleset,
            generations: self.generations.unwrap_or_default(),
            shards: self.shards,
            games,
            positions: self.positions,
            mean_plies: mean(self.plies.iter().map(|&n| u64::from(n)).sum(), games),
            plies,
            mean_branching: mean(self.moves, self.positions),
            most_branching: self.most_moves,
            black_wins: Share::wilson(black, black + white),
            duplicates: self.duplicates,
            results: self.results,
            reasons: self.reasons,
        }
    }
}

/// Counts what is in shards, for each variant and ruleset apart.
///
/// # Errors
/// The first shard that cannot be read.
pub fn stats(shards: &[ShardPair]) -> Result<Vec<DataStats>, DataError> {
    let mut all: BTreeMap<(String, String), Counts> = BTreeMap::new();
    for shard in shards {
        let games = read_games(&shard.games)?;
        let counts = all.entry((games.meta.variant, games.meta.ruleset)).or_default();
        counts.shards += 1;
        games.rows.iter().for_each(|game| counts.add_game(game));
        let positions = ShardReader::open::<PositionRow>(&shard.positions)?;
        for group in 0..positions.groups() {
            counts.add_positions(&positions.move_counts(group)?);
        }
    }
    Ok(all.into_iter().map(|(key, counts)| counts.into_stats(key)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_ends_are_as_far_as_the_definition_says() {
        // The interval holds the shares p with |found − p| ≤ z·√(p(1 − p)/n), so its ends solve the equation, z = 1.96.
        for (hits, of) in [(7, 10), (1, 3), (530, 1000), (0, 10), (10, 10)] {
            let share = Share::wilson(hits, of).expect("a sample");
            for end in [share.low, share.high] {
                let distance = (share.value - end).abs();
                let bound = 1.959964 * (end * (1.0 - end) / of as f64).sqrt();
                assert!((distance - bound).abs() < 1e-6, "{share:?}");
            }
            assert!(share.low < share.value || hits == 0);
            assert!(share.high > share.value || hits == of);
        }
        assert_eq!(Share::wilson(0, 0), None);
    }
}

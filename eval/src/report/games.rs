//! How the games of self-play ended and how long they were.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use selfplay::data::{GameResult, GameRow, PositionRow, ShardPair, ShardReader, Share, read_games};
use serde::Serialize;

use super::ReportError;
use crate::normal::Z95;

/// Most bars in a histogram of lengths.
const MOST_BINS: u32 = 24;

/// A way games ended.
#[derive(Clone, Debug, Serialize)]
pub struct Ending {
    /// Its name.
    pub reason: String,
    /// Games that ended so.
    pub games: u64,
    /// Their share of all games.
    pub share: Share,
}

/// Lengths of some games in plies.
#[derive(Clone, Debug, Serialize)]
pub struct Plies {
    /// Mean.
    pub mean: f64,
    /// Half of the mean's 95 % interval; `None` for a single game.
    pub mean_error: Option<f64>,
    /// The shortest game.
    pub shortest: u32,
    /// A quarter of the games are not longer.
    pub lower_quartile: u32,
    /// Half of the games are not longer.
    pub median: u32,
    /// Three quarters of the games are not longer.
    pub upper_quartile: u32,
    /// The longest game.
    pub longest: u32,
}

/// Games whose lengths are near each other.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LengthBin {
    /// Fewest plies.
    pub from: u32,
    /// Plies from which the next bin begins.
    pub below: u32,
    /// Games.
    pub games: u64,
}

/// The games of one generation.
#[derive(Clone, Debug, Serialize)]
pub struct GenerationGames {
    /// The generation.
    pub generation: u32,
    /// Networks that played.
    pub networks: BTreeSet<String>,
    /// Games.
    pub games: u64,
    /// Games by result: `black`, `white`, `draw`, `undecided`.
    pub results: BTreeMap<String, u64>,
    /// Games by the reason they ended.
    pub reasons: BTreeMap<String, u64>,
    /// Their lengths.
    pub plies: Plies,
}

/// All games of self-play.
#[derive(Clone, Debug, Serialize)]
pub struct GamesReport {
    /// Name of the variant.
    pub variant: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// The program that played them.
    pub program: String,
    /// Games.
    pub games: u64,
    /// Recorded positions.
    pub positions: u64,
    /// Games with the opening and all moves of another one.
    pub duplicates: u64,
    /// Games that somebody won, of all.
    pub decided: Share,
    /// Results `black`, `white`, `draw` and `undecided` (cut off) with their shares of all games; those that occur.
    pub results: Vec<(String, Share)>,
    /// Games that Black won, of all that somebody won.
    pub black_wins: Option<Share>,
    /// Ways the games ended, the most frequent first.
    pub endings: Vec<Ending>,
    /// Lengths.
    pub plies: Plies,
    /// The same by generation.
    pub generations: Vec<GenerationGames>,
    /// Lengths in the last generation.
    pub last_lengths: Vec<LengthBin>,
}

#[derive(Default)]
struct Counts {
    networks: BTreeSet<String>,
    results: BTreeMap<String, u64>,
    reasons: BTreeMap<String, u64>,
    plies: Vec<u32>,
}

impl Counts {
    fn add(&mut self, game: &GameRow) {
        self.networks.extend([game.black_network.clone(), game.white_network.clone()]);
        let result = game.result.map_or("undecided", GameResult::as_str);
        *self.results.entry(result.to_owned()).or_default() += 1;
        *self.reasons.entry(game.reason.clone()).or_default() += 1;
        self.plies.push(game.plies);
    }

    fn result(&self, result: &str) -> u64 {
        self.results.get(result).copied().unwrap_or(0)
    }
}

impl GamesReport {
    /// `None` without games.
    pub(super) fn read(shards: &[ShardPair]) -> Result<Option<GamesReport>, ReportError> {
        let mut all = Counts::default();
        let mut generations: BTreeMap<u32, Counts> = BTreeMap::new();
        let mut seen = HashSet::new();
        let mut positions = 0;
        let mut meta = None;
        for shard in shards {
            let games = read_games(&shard.games)?;
            for game in games.rows {
                all.add(&game);
                generations.entry(game.generation).or_default().add(&game);
                // Hashes, since all moves of many games are a lot of text.
                let mut hasher = DefaultHasher::new();
                (game.opening_sfen, game.moves).hash(&mut hasher);
                seen.insert(hasher.finish());
            }
            if shard.positions.exists() {
                positions += ShardReader::open::<PositionRow>(&shard.positions)?.rows();
            }
            meta = Some(games.meta);
        }
        let games = all.plies.len() as u64;
        let (Some(meta), Some(decided)) = (meta, Share::wilson(all.result("black") + all.result("white"), games))
        else {
            return Ok(None);
        };
        let last = generations.values().next_back().map(|counts| counts.plies.clone()).unwrap_or_default();
        let share = |(reason, &count): (&String, &u64)| {
            Some(Ending { reason: reason.clone(), games: count, share: Share::wilson(count, games)? })
        };
        let mut endings: Vec<Ending> = all.reasons.iter().filter_map(share).collect();
        endings.sort_by_key(|ending| std::cmp::Reverse(ending.games));
        Ok(Some(GamesReport {
            variant: meta.variant,
            ruleset: meta.ruleset,
            program: meta.program,
            games,
            positions,
            duplicates: games - seen.len() as u64,
            decided,
            results: ["black", "white", "draw", "undecided"]
                .into_iter()
                .filter_map(|result| Some((result.to_owned(), Share::wilson(all.result(result), games)?)))
                .filter(|(_, share)| share.value > 0.0)
                .collect(),
            black_wins: Share::wilson(all.result("black"), all.result("black") + all.result("white")),
            endings,
            plies: Plies::of(all.plies),
            generations: generations
                .into_iter()
                .map(|(generation, counts)| GenerationGames {
                    generation,
                    networks: counts.networks,
                    games: counts.plies.len() as u64,
                    results: counts.results,
                    reasons: counts.reasons,
                    plies: Plies::of(counts.plies),
                })
                .collect(),
            last_lengths: bins(&last),
        }))
    }
}

impl Plies {
    /// # Panics
    /// Without games.
    fn of(mut plies: Vec<u32>) -> Plies {
        plies.sort_unstable();
        let n = plies.len() as f64;
        let mean = plies.iter().map(|&n| f64::from(n)).sum::<f64>() / n;
        let squares: f64 = plies.iter().map(|&n| (f64::from(n) - mean).powi(2)).sum();
        let at = |share: f64| plies[(share * (n - 1.0)).round() as usize];
        Plies {
            mean,
            mean_error: (n > 1.0).then(|| Z95 * (squares / (n - 1.0) / n).sqrt()),
            shortest: at(0.0),
            lower_quartile: at(0.25),
            median: at(0.5),
            upper_quartile: at(0.75),
            longest: at(1.0),
        }
    }
}

/// Bins of equal width, a round number of plies, from 0 on.
fn bins(plies: &[u32]) -> Vec<LengthBin> {
    let longest = plies.iter().copied().max().unwrap_or(0);
    let widths = (0..).flat_map(|power| [1, 2, 5].map(|step| step * 10u32.pow(power)));
    let width = widths.into_iter().find(|width| longest / width < MOST_BINS).expect("widths grow beyond every length");
    let mut bins: Vec<LengthBin> =
        (0..=longest / width).map(|i| LengthBin { from: i * width, below: (i + 1) * width, games: 0 }).collect();
    plies.iter().for_each(|&n| bins[(n / width) as usize].games += 1);
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 25, 26, .., 120: the bins are 5 wide, and each full one holds 5 games. Expected numbers by counting.
    #[test]
    fn lengths_fall_into_round_bins() {
        let plies: Vec<u32> = (25..=120).collect();
        let bins = bins(&plies);
        assert_eq!((bins.len(), bins[5].from, bins[5].below, bins[5].games, bins[4].games), (13, 50, 60, 10, 10));
        assert_eq!(bins.iter().map(|bin| bin.games).sum::<u64>(), 96);
        assert_eq!(super::bins(&[0]).len(), 1);
        assert_eq!(super::bins(&[]).len(), 1);
    }

    /// 1, 2, .., 9: variance 7.5, so the error of the mean is 1.96·√(7.5/9) = 1.789.
    #[test]
    fn lengths_have_a_mean_with_its_error_and_quartiles() {
        let plies = Plies::of((1..=9).rev().collect());
        assert_eq!(
            [plies.shortest, plies.lower_quartile, plies.median, plies.upper_quartile, plies.longest],
            [1, 3, 5, 7, 9]
        );
        assert_eq!(plies.mean, 5.0);
        assert!((plies.mean_error.expect("nine games") - 1.789).abs() < 1e-3);
        assert_eq!(Plies::of(vec![7]).mean_error, None);
    }
}

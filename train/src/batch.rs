//! Positions with their targets, encoded and ready for a step.

use crate::encoded::Encoded;
use crate::encoding::Features;

/// Some positions of a batch, encoded together.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// The positions. Only those with a target for the policy have moves.
    pub encoded: Encoded,
    /// Target of the value: probabilities of win, draw and loss for the side to move.
    pub wdl: Vec<[f32; 3]>,
    /// Target of the policy: a probability for each of all encoded moves.
    pub policy: Vec<f32>,
    /// Plies from each position to the end of its game; `None` if the game was cut off, which hides what survives as well.
    pub plies_left: Vec<Option<u16>>,
    /// Whether each piece is still there at the end of the game: one for each piece of all positions, in the order of the
    /// positions' sparse features.
    pub survives: Vec<bool>,
}

impl Chunk {
    /// Forgets the positions, keeps the memory.
    pub fn clear(&mut self) {
        self.encoded.clear();
        self.wdl.clear();
        self.policy.clear();
        self.plies_left.clear();
        self.survives.clear();
    }

    /// For each position its pieces (their sparse features) with what becomes of them; no pieces where that is unknown.
    pub(crate) fn fates(&self, features: &Features) -> impl Iterator<Item = impl Iterator<Item = (usize, bool)>> {
        let (mut survives, pieces) = (self.survives.as_slice(), features.piece_rows());
        self.encoded.iter().zip(&self.plies_left).map(move |(position, plies_left)| {
            let count = position.rows.iter().filter(|&&row| (row as usize) < pieces).count();
            let (own, rest) = survives.split_at(count);
            survives = rest;
            let known = if plies_left.is_some() { own } else { &[] };
            position.rows.iter().map(|&row| row as usize).zip(known.iter().copied())
        })
    }
}

/// Losses, each a mean over what has that target.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// Cross-entropy of the policy over the legal moves, in nats.
    pub policy: f64,
    /// Entropy of the policy's targets: no network can have a lower loss.
    pub policy_floor: f64,
    /// Cross-entropy of win, draw and loss, in nats.
    pub value: f64,
    /// Entropy of the value's targets.
    pub value_floor: f64,
    /// Cross-entropy of whether a piece survives to the end of the game, in nats; a mean over pieces.
    pub survival: f64,
    /// Squared error of ln(1 + plies to the end of the game).
    pub plies_left: f64,
}

/// How many there are of each kind of target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Targets {
    /// Positions with a target for the policy.
    pub policies: usize,
    /// Positions.
    pub values: usize,
    /// Pieces of which it is known whether they survive.
    pub pieces: usize,
    /// Positions of games with an end.
    pub ends: usize,
}

impl Targets {
    /// Those of a batch.
    pub fn of(chunks: &[Chunk], features: &Features) -> Targets {
        let mut targets = Targets::default();
        for chunk in chunks {
            targets.policies += chunk.encoded.iter().filter(|position| !position.moves.is_empty()).count();
            targets.values += chunk.wdl.len();
            targets.pieces += chunk.fates(features).map(Iterator::count).sum::<usize>();
            targets.ends += chunk.plies_left.iter().flatten().count();
        }
        targets
    }
}

impl Losses {
    /// Adds up.
    pub(crate) fn add(&mut self, other: Losses) {
        self.policy += other.policy;
        self.policy_floor += other.policy_floor;
        self.value += other.value;
        self.value_floor += other.value_floor;
        self.survival += other.survival;
        self.plies_left += other.plies_left;
    }

    /// Turns sums into means.
    pub(crate) fn over(self, targets: Targets) -> Losses {
        let mean = |sum: f64, count: usize| sum / count.max(1) as f64;
        Losses {
            policy: mean(self.policy, targets.policies),
            policy_floor: mean(self.policy_floor, targets.policies),
            value: mean(self.value, targets.values),
            value_floor: mean(self.value_floor, targets.values),
            survival: mean(self.survival, targets.pieces),
            plies_left: mean(self.plies_left, targets.ends),
        }
    }
}

/// Entropy of a distribution in nats.
pub(crate) fn entropy(distribution: &[f32]) -> f64 {
    distribution.iter().filter(|&&p| p > 0.0).map(|&p| -(p as f64) * (p as f64).ln()).sum()
}

/// The target of what a network says about the plies left.
pub(crate) fn log_plies(plies: u16) -> f32 {
    (1.0 + plies as f32).ln()
}

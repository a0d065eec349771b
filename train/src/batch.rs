//! Positions with their targets, encoded and ready for a step.

use crate::encoded::Encoded;

/// Some positions of a batch, encoded together.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// The positions. Only those with a target for the policy have moves.
    pub encoded: Encoded,
    /// Target of the value: probabilities of win, draw and loss for the side to move.
    pub wdl: Vec<[f32; 3]>,
    /// Target of the policy: a probability for each of all encoded moves.
    pub policy: Vec<f32>,
}

impl Chunk {
    /// Forgets the positions, keeps the memory.
    pub fn clear(&mut self) {
        self.encoded.clear();
        self.wdl.clear();
        self.policy.clear();
    }

    /// Number of positions with a target for the policy.
    pub fn policies(&self) -> usize {
        self.encoded.iter().filter(|position| !position.moves.is_empty()).count()
    }
}

/// Cross-entropies in nats, each a mean over the positions with that target.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Losses {
    /// Of the policy over the legal moves.
    pub policy: f64,
    /// Entropy of the policy's targets: no network can have a lower loss.
    pub policy_floor: f64,
    /// Of win, draw and loss.
    pub value: f64,
    /// Entropy of the value's targets.
    pub value_floor: f64,
}

impl Losses {
    /// Sums weighted by numbers of positions, to be divided by [`Losses::over`].
    pub(crate) fn add(&mut self, other: Losses) {
        self.policy += other.policy;
        self.policy_floor += other.policy_floor;
        self.value += other.value;
        self.value_floor += other.value_floor;
    }

    /// Turns sums over positions into means.
    pub(crate) fn over(self, policies: usize, values: usize) -> Losses {
        let (policies, values) = (policies.max(1) as f64, values.max(1) as f64);
        Losses {
            policy: self.policy / policies,
            policy_floor: self.policy_floor / policies,
            value: self.value / values,
            value_floor: self.value_floor / values,
        }
    }
}

/// Entropy of a distribution in nats.
pub(crate) fn entropy(distribution: &[f32]) -> f64 {
    distribution.iter().filter(|&&p| p > 0.0).map(|&p| -(p as f64) * (p as f64).ln()).sum()
}

//! What judges positions: a batch of positions with their legal moves in, a policy and a value for each out.

use engine::{Game, Move};

/// One position to judge, with its legal moves (never empty).
#[derive(Clone, Copy)]
pub struct Query<'a> {
    /// The game up to the position.
    pub game: &'a Game,
    /// The legal moves there, in the order in which `Evaluation::policy` answers.
    pub moves: &'a [Move],
}

/// The judgement of one position.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// A logit for each of the given moves; only differences matter.
    pub policy: Vec<f32>,
    /// Probabilities of a win, a draw and a loss for the side to move; they sum to 1.
    pub wdl: [f32; 3],
}

/// A judge of positions, e.g. a network. Called by several threads at once.
pub trait Evaluator: Send + Sync {
    /// Fills `out[i]` for `batch[i]`; the two have the same length, and the buffers in `out` are reused between calls.
    /// A position's result must not depend on what else is in the batch.
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]);

    /// Whether a judgement costs so much that it is worth keeping for the next time.
    fn is_costly(&self) -> bool {
        true
    }

    /// What names the network in records: `uniform`, `net:000003`…
    fn id(&self) -> &str;
}

/// Knows nothing: every move alike, and win, draw and loss equally likely.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform;

impl Evaluator for Uniform {
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
        for (query, out) in batch.iter().zip(out) {
            out.policy.clear();
            out.policy.resize(query.moves.len(), 0.0);
            out.wdl = [1.0 / 3.0; 3];
        }
    }

    fn is_costly(&self) -> bool {
        false
    }

    fn id(&self) -> &str {
        "uniform"
    }
}

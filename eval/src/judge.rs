//! Who says how likely a recorded position is to be won.

use selfplay::data::PositionColumns;

/// Bounds of an expected score before its logit is taken: beyond, a judge's confidence is not worth its noise.
const CLIP: [f64; 2] = [0.01, 0.99];

/// Judges recorded positions. Called on several threads at once; what it says of a row must not depend on the others.
pub trait Judge: Sync {
    /// What names it in results: `search`, `net:000003`.
    fn id(&self) -> &str;

    /// Pushes onto `out` the probabilities of win, draw and loss for the side to move, an entry for each row.
    ///
    /// # Errors
    /// What is wrong with a row, in words.
    fn judge(&self, rows: &PositionColumns, out: &mut Vec<[f32; 3]>) -> Result<(), String>;
}

/// The search that chose the moves: what the shards say themselves.
#[derive(Clone, Copy, Debug)]
pub struct Recorded;

impl Judge for Recorded {
    fn id(&self) -> &str {
        "search"
    }

    fn judge(&self, rows: &PositionColumns, out: &mut Vec<[f32; 3]>) -> Result<(), String> {
        out.extend_from_slice(&rows.search_wdl);
        Ok(())
    }
}

/// Logit of the expected score (win plus half a draw), the score clipped to 0.01..=0.99; `None` for probabilities that
/// are no numbers.
pub fn logit(wdl: [f32; 3]) -> Option<f64> {
    let [win, draw, loss] = wdl.map(f64::from);
    let score = (win + 0.5 * draw) / (win + draw + loss);
    score.is_finite().then(|| {
        let score = score.clamp(CLIP[0], CLIP[1]);
        (score / (1.0 - score)).ln()
    })
}

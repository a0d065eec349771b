//! A network as the judge of recorded positions.

use std::path::Path;
use std::sync::Arc;

use engine::Variant;
use eval::judge::Judge;
use selfplay::Evaluator;
use selfplay::data::PositionColumns;
use train::encoding::StoredPosition;
use train::{Checkpoint, Device, NetworkEvaluator};

/// A fixed network's own opinion, without search.
pub(crate) struct NetworkJudge(NetworkEvaluator);

impl NetworkJudge {
    /// The network of a checkpoint folder.
    pub(crate) fn load(folder: &Path, variant: &Arc<Variant>, device: &Device) -> anyhow::Result<NetworkJudge> {
        let network = Checkpoint::load(folder, variant, device)?.network;
        Ok(NetworkJudge(train::evaluator(&network, variant)))
    }
}

impl Judge for NetworkJudge {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn judge(&self, rows: &PositionColumns, out: &mut Vec<[f32; 3]>) -> Result<(), String> {
        let first = out.len();
        let stored = (0..rows.len()).map(|row| StoredPosition {
            board: rows.board(row),
            side_to_move: rows.side_to_move[row],
            state: rows.state[row],
            moves: &[],
        });
        self.0.wdl_of_stored(stored, out).map_err(|error| {
            let row = out.len() - first;
            format!("game {}, ply {}: {error}", rows.game_id[row], rows.ply[row])
        })
    }
}

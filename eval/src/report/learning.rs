//! What a run logs about self-play and training.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{ReportError, read_text};

/// Losses of a network, mean over positions, in nats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Cross-entropy of the policy.
    pub policy: f64,
    /// Entropy of the policy's targets, below which no loss can be.
    #[serde(default)]
    pub policy_floor: Option<f64>,
    /// Cross-entropy of win, draw and loss.
    pub value: f64,
    /// Entropy of the value's targets.
    #[serde(default)]
    pub value_floor: Option<f64>,
}

/// The training of one network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Training {
    /// The newest generation of games it saw.
    pub generation: u32,
    /// Number of the network that came out.
    pub network: u32,
    /// Steps.
    pub steps: u64,
    /// Positions used, repetitions counted.
    pub positions: u64,
    /// Positions to draw from.
    pub window: u64,
    /// Losses at the end of training.
    pub training: Losses,
    /// Losses on games held out, if there were any.
    pub validation: Option<Losses>,
    /// Positions of the held-out games.
    pub validation_positions: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// The self-play of one generation, all sittings together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SelfplayRate {
    /// The generation.
    pub generation: u32,
    /// The network that played.
    pub network: String,
    /// Games.
    pub games: u64,
    /// Positions of these games.
    pub positions: u64,
    /// Simulations of the searches.
    pub simulations: u64,
    /// Wall-clock time.
    pub seconds: f64,
}

/// Self-play and training by generation.
#[derive(Clone, Debug, Serialize)]
pub struct Learning {
    /// Self-play.
    pub selfplay: Vec<SelfplayRate>,
    /// Training.
    pub training: Vec<Training>,
}

#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    Selfplay(SelfplayRate),
    Train(Training),
    /// Matches have files of their own.
    #[serde(other)]
    Other,
}

impl Learning {
    /// `None` if there is no such file, or neither self-play nor training in it.
    pub(super) fn read(path: &Path) -> Result<Option<Learning>, ReportError> {
        let text = read_text(path)?.unwrap_or_default();
        // A line without an end was being written when the program was killed.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut selfplay: BTreeMap<u32, SelfplayRate> = BTreeMap::new();
        let mut training: BTreeMap<u32, Training> = BTreeMap::new();
        for (index, line) in whole.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let event = serde_json::from_str(line).map_err(|source| ReportError::Line {
                path: path.to_owned(),
                line: index + 1,
                source,
            })?;
            match event {
                Event::Selfplay(new) => {
                    let Some(known) = selfplay.get_mut(&new.generation) else {
                        selfplay.insert(new.generation, new);
                        continue;
                    };
                    known.games += new.games;
                    known.positions += new.positions;
                    known.simulations += new.simulations;
                    known.seconds += new.seconds;
                }
                Event::Train(new) => drop(training.insert(new.network, new)),
                Event::Other => {}
            }
        }
        let learning =
            Learning { selfplay: selfplay.into_values().collect(), training: training.into_values().collect() };
        let empty = learning.selfplay.is_empty() && learning.training.is_empty();
        Ok((!empty).then_some(learning))
    }
}

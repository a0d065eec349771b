//! Players from their names on the command line.

use std::path::Path;
use std::sync::Arc;

use engine::Variant;
use eval::external::Engine;
use selfplay::{MaterialValues, Method, Player, PlayerSpec, SearchConfig};
use train::{Checkpoint, Device};

/// The player of a spec. Networks search without noise, so that strength alone decides.
pub(crate) fn load(
    spec: &PlayerSpec,
    variant: &Arc<Variant>,
    simulations: u32,
    device: &Device,
) -> anyhow::Result<Player> {
    Ok(match spec {
        PlayerSpec::Random => Player::Random,
        PlayerSpec::Material => Player::Material(MaterialValues::from_mobility(variant)),
        PlayerSpec::External(spec) => Player::External(Arc::new(Engine::new(spec, variant)?)),
        PlayerSpec::Net { checkpoint, simulations: own, method } => {
            net(checkpoint, variant, own.unwrap_or(simulations), *method, device)?
        }
    })
}

/// A network that searches.
pub(crate) fn net(
    checkpoint: &Path,
    variant: &Arc<Variant>,
    simulations: u32,
    method: Method,
    device: &Device,
) -> anyhow::Result<Player> {
    let checkpoint = Checkpoint::load(checkpoint, variant, device)?;
    let evaluator = train::evaluator(&checkpoint.network, variant);
    let search = SearchConfig { method, simulations, noise: 0.0, ..SearchConfig::default() };
    Ok(Player::Net { evaluator: Arc::new(evaluator), search })
}

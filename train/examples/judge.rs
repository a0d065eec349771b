//! What a network says about recorded positions, as JSON, a position a line: for comparing other programs with this one.
//!
//! `cargo run --release -p train --example judge -- CHECKPOINT POSITIONS.parquet [COUNT]`
//!
//! `wdl`: probabilities of win, draw and loss for the side to move; `policy`: logits of the legal moves in their order;
//! `survival`: logits a square as the mover sees the board; `plies_left`: ln(1 + plies).

use std::error::Error;
use std::path::Path;

use engine::Variant;
use selfplay::data::{PositionRow, ShardReader};
use train::encoded::Encoded;
use train::{Checkpoint, Device, Encoder};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [checkpoint, shard, rest @ ..] = args.as_slice() else {
        return Err("expected CHECKPOINT POSITIONS.parquet [COUNT]".into());
    };
    let count = rest.first().map_or(Ok(100), |count| count.parse())?;
    let reader = ShardReader::open::<PositionRow>(Path::new(shard))?;
    let meta = reader.meta();
    let variant = Variant::load(&meta.variant, Some(&meta.ruleset))?;
    let network = Checkpoint::load(Path::new(checkpoint), &variant, &Device::flex())?.network;
    let encoder = Encoder::new(&variant);
    let mut rows = Vec::new();
    for group in 0..reader.groups() {
        rows.extend(reader.read_group::<PositionRow>(group)?);
    }
    for row in rows.iter().take(count) {
        let mut encoded = Encoded::default();
        encoder.push_stored(row.into(), false, &mut encoded)?;
        let output = network.model.forward(&encoded, encoder.features());
        let numbers = |tensor: burn::tensor::Tensor<2>| tensor.into_data().try_into_vec::<f32>();
        let wdl = numbers(output.wdl_probabilities()).map_err(|_| "probabilities are f32")?;
        let [policy, survival, plies_left] = [output.policy, output.survival, output.plies_left].map(numbers);
        let line = serde_json::json!({
            "wdl": wdl,
            "policy": policy.map_err(|_| "logits are f32")?,
            "survival": survival.map_err(|_| "logits are f32")?,
            "plies_left": plies_left.map_err(|_| "numbers are f32")?[0],
        });
        println!("{line}");
    }
    Ok(())
}

#!/usr/bin/env bash
# Trains a small network of each architecture and variant and compares what `scripts/network.py` says about recorded positions
# with what the program says: all numbers must agree to 1e-4. With TORCH=PYTHON, a Python that has torch, the PyTorch modules
# of `scripts/network_torch.py` are compared as well.
#
#   scripts/check_networks.sh [VARIANT…]
set -euo pipefail
cd "$(dirname "$0")/.."
shishi=${SHISHI:-target/release/shishi}
python=target/python/bin/python
"$python" -c 'import numpy, pyarrow, safetensors' 2>/dev/null || {
  [ -x "$python" ] || python3 -m venv target/python
  "$python" -m pip install --quiet numpy pyarrow safetensors
}
cargo build --release --quiet -p train --example judge
judge=target/release/examples/judge

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- sho chu
for variant in "$@"; do
  for network in $'"material"' $'"nnue"\naccumulator = 32' $'"resnet"\nchannels = 8\nblocks = 2'; do
    run=$folder/run
    rm -rf "$run"
    printf '[run]\nvariant = "%s"\ngenerations = 1\n[selfplay]\ngames = 12\nmax_plies = 800\nopening_plies = 20\n[search]\nsimulations = 4\n' "$variant" >"$folder/config.toml"
    printf '[network]\narchitecture = %s\n[train]\nsamples_per_position = 20\nbatch_size = 64\nlearning_rate = 0.02\nsquare_rate = 1.0\nvalidation_share = 0.0\n' "$network" >>"$folder/config.toml"
    "$shishi" selfplay "$folder/config.toml" --out "$run" >/dev/null 2>&1
    "$shishi" train "$folder/config.toml" --run "$run" >/dev/null 2>&1
    shard=$(ls "$run"/positions/gen-000000/*.parquet)
    "$judge" "$run/networks/000001" "$shard" 60 >"$folder/expected"
    printf '%-7s %-24s ' "$variant" "${network//$'\n'/, }"
    "$python" scripts/network.py "$run/networks/000001" "$shard" 60 >"$folder/found"
    "$python" scripts/compare_judgements.py "$folder/expected" "$folder/found"
    if [ -n "${TORCH:-}" ]; then
      printf '%-32s ' '  PyTorch'
      "$TORCH" scripts/network_torch.py "$run/networks/000001" "$shard" 60 >"$folder/found"
      "$python" scripts/compare_judgements.py "$folder/expected" "$folder/found"
    fi
  done
done

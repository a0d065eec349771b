#!/usr/bin/env bash
# Runs the Python of docs/data.md on a small run, and compares what it counts with `shishi data stats`.
#
#   scripts/check_docs.sh
#
# A block after a line `<!-- not run -->` is left out. Python's packages are kept under target/.
set -euo pipefail
cd "$(dirname "$0")/.."
shishi=${SHISHI:-target/release/shishi}
python=target/python/bin/python
if ! "$python" -c 'import duckdb, pandas, polars, pyarrow' 2>/dev/null; then
  mkdir -p target
  python3 -m venv --clear target/python
  "$python" -m pip install --quiet pandas pyarrow polars duckdb
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
run=$folder/run
"$shishi" selfplay configs/ci/sho.toml --out "$run" --games 64 >/dev/null
"$shishi" data check "$run"
"$shishi" data stats "$run" --json >"$folder/stats.json"
RUN=$run "$python" scripts/run_blocks.py docs/data.md "$folder/stats.json"

#!/usr/bin/env bash
# Runs a configuration, kills it with SIGKILL at random moments, resumes it, and checks that it completes and that no
# finished game is lost or damaged.
#
#   scripts/kill_and_resume.sh CONFIG KILLS [SECONDS]
#
# SECONDS is the longest time before a kill (default 8).
set -euo pipefail
config=$1 kills=$2 longest=${3:-8}
cd "$(dirname "$0")/.."
shishi=${SHISHI:-target/release/shishi}
run=$(mktemp -d)/run
log=$run.log
trap 'rm -rf "$(dirname "$run")"' EXIT

finished() { { find "$run/games" -name '*.parquet' ! -path '*/parts/*' 2>/dev/null || true; } | sort; }

resume=
for kill in $(seq "$kills"); do
  before=$(finished)
  "$shishi" run "$config" --out "$run" $resume >"$log" 2>&1 &
  pid=$!
  sleep "$(awk -v s="$longest" -v r="$RANDOM" 'BEGIN { print 0.3 + (s - 0.3) * r / 32768 }')"
  if kill -KILL "$pid" 2>/dev/null; then echo "kill $kill"; else echo "kill $kill came too late: the run was complete"; fi
  wait "$pid" 2>/dev/null || true
  [ -f "$run/run.toml" ] && resume=--resume
  lost=$(comm -23 <(printf '%s\n' "$before" | grep . || true) <(finished))
  [ -z "$lost" ] || { echo "lost shards: $lost"; exit 1; }
done
"$shishi" run "$config" --out "$run" $resume >"$log" 2>&1 || { cat "$log"; exit 1; }
[ -s "$run/report.html" ] || { echo "no report"; exit 1; }
"$shishi" data check "$run"
tail -n 12 "$log"

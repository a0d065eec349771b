#!/usr/bin/env bash
# Runs a configuration, kills it with SIGKILL at random moments, resumes it, and checks that it completes, that no
# finished game is lost, and (by `shishi data check`) that none is damaged or there twice.
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

# Generation and number of every finished game: in a shard FIRST-LAST.parquet or alone in a part.
finished() {
  { find "$run/games" -name '*.parquet' -o -name '*.part' 2>/dev/null || true; } |
    sed -nE 's|.*/(gen-[0-9]+)/([0-9]+)-([0-9]+)\.parquet$|\1 \2 \3|p; s|.*/(gen-[0-9]+)/parts/([0-9]+)\.part$|\1 \2 \2|p' |
    awk '{ for (game = $2 + 0; game <= $3 + 0; game++) print $1, game }' | sort -u
}

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
  [ -z "$lost" ] || { printf 'lost games:\n%s\n' "$lost"; exit 1; }
done
"$shishi" run "$config" --out "$run" $resume >"$log" 2>&1 || { cat "$log"; exit 1; }
[ -s "$run/report.html" ] || { echo "no report"; exit 1; }
"$shishi" data check "$run"
tail -n 12 "$log"

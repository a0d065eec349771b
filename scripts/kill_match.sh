#!/usr/bin/env bash
# Plays a match, kills it with SIGKILL at random moments, goes on with it, and checks that no finished pair is lost and that
# the result and the record are those of a match that was never stopped.
#
#   scripts/kill_match.sh KILLS [GAMES]
set -euo pipefail
kills=$1 games=${2:-600}
cd "$(dirname "$0")/.."
shishi=${SHISHI:-target/release/shishi}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
match=("$shishi" match chu --first material --second random --games "$games" --threads 2 --seed 4)
lines() { if [ -f "$folder/parts.games.jsonl" ]; then wc -l <"$folder/parts.games.jsonl"; else echo 0; fi; }

"${match[@]}" --out "$folder/whole.json" >/dev/null 2>&1
for kill in $(seq "$kills"); do
  before=$(lines)
  "${match[@]}" --out "$folder/parts.json" >/dev/null 2>&1 &
  pid=$!
  sleep "$(awk -v r="$RANDOM" 'BEGIN { print 0.2 + 0.8 * r / 32768 }')"
  if kill -KILL "$pid" 2>/dev/null; then echo "kill $kill"; else echo "kill $kill came too late: the match was complete"; fi
  wait "$pid" 2>/dev/null || true
  # The last line may have been a part of one.
  [ "$(lines)" -ge "$((before - 1))" ] || { echo "lost pairs: $before lines before, $(lines) after"; exit 1; }
done
"${match[@]}" --out "$folder/parts.json" >/dev/null 2>&1
cmp "$folder/whole.json" "$folder/parts.json"
cmp "$folder/whole.games.jsonl" "$folder/parts.games.jsonl"
echo "the result is that of a match that was never stopped"

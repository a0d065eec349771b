#!/usr/bin/env bash
# Plays random games on the rules core and on its slow twin (engine/tests/rules/twin) and compares the two at every ply: all
# moves, repetition, outcomes, attacks, texts. A quarter of the games starts from the start position, a quarter each from
# crowded and from sparse boards, a quarter goes to and fro. Prints how much was compared for every variant and ruleset.
#
#   scripts/differential.sh [GAMES] [ONLY] [FIRST]
#
# GAMES   games for each variant and ruleset, 2000 if not given
# ONLY    rulesets whose name, variant before it, starts so: "chu", "daidai historical", "daidai with " (other moves by name:
#         an eighth of the games each)
# FIRST   number of the first game, 0 if not given: other numbers are other games, so a long run can be made in parts
#
# Exit 1 if the two part somewhere; the game and position are printed. Exit 2: bad arguments.
set -euo pipefail
cd "$(dirname "$0")/.."

games=${1:-2000}
first=${3:-0}
if ! [[ $games =~ ^[1-9][0-9]*$ && $first =~ ^[0-9]+$ ]]; then
  echo "usage: scripts/differential.sh [GAMES] [ONLY] [FIRST]" >&2
  exit 2
fi
# Four ways of playing share the games.
export SHISHI_DIFF_GAMES=$(((games + 3) / 4)) SHISHI_DIFF_FIRST=$(((first + 3) / 4)) SHISHI_DIFF_ONLY=${2:-}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
cargo test --release -p engine --test rules differential:: >"$log" 2>&1 || status=1
if ! grep -q '^running ' "$log"; then
  cat "$log" >&2
  exit 1
fi
# Lines of the tests: compared: GAME RULESET: WALK N games N positions S s
grep -o 'compared: .*' "$log" | awk '
  { match($0, /: [a-z_0-9 ]+: /); name = substr($0, RSTART + 2, RLENGTH - 4); split(substr($0, RSTART + RLENGTH), part, " ")
    if (!(name in games)) names[++count] = name
    games[name] += part[2]; positions[name] += part[4]; seconds[name] += part[6] }
  END {
    for (i = 1; i <= count; i++) {
      name = names[i]
      printf "%-52s %7d games %10d positions %8.1f s\n", name, games[name], positions[name], seconds[name]
      total += games[name]; all += positions[name]
    }
    printf "%-52s %7d games %10d positions\n", "together", total, all
  }'
if [ $status -ne 0 ]; then
  grep -v '^test .* ok$\|compared: ' "$log" >&2
fi
exit $status

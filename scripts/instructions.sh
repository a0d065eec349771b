#!/usr/bin/env bash
# Counts the instructions per leaf of perft and per ply of random games, which do not depend on how busy the machine is,
# and compares them with the recorded numbers. Start-up (depth 0, or no game: reading the variant) is taken off. "counted"
# counts the moves of the last ply, "played" plays and undoes them too.
#
#   scripts/instructions.sh            compare; exit 1 if something takes over 10 % more than recorded
#   scripts/instructions.sh --record   write the numbers to engine/bench/instructions.json
#
# Exit 2: bad arguments, or valgrind is missing. The numbers hold for the toolchain and the CPU flags they were recorded
# with; record again when those change.
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

recorded=engine/bench/instructions.json
case "${1:-}" in
  "" | --record) mode="${1:-}" ;;
  *) echo "usage: scripts/instructions.sh [--record]" >&2; exit 2 ;;
esac
if [ -z "$mode" ] && [ ! -f "$recorded" ]; then
  echo "no $recorded to compare with; write it with: scripts/instructions.sh --record" >&2
  exit 2
fi
if ! command -v valgrind >/dev/null; then
  echo "valgrind is missing; install it with: sudo apt-get install valgrind (or dnf, pacman, apk)" >&2
  exit 2
fi

cargo build --release --quiet -p engine --examples
examples="${CARGO_TARGET_DIR:-target}/release/examples"

# Instructions that an example executes with these arguments.
instructions() {
  local example=$1; shift
  valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$examples/$example" "$@" 2>&1 >/dev/null |
    awk '/I +refs:/ { gsub(",", "", $NF); print $NF; found = 1 }
      END { if (!found) { print "valgrind gave no count" > "/dev/stderr"; exit 1 } }'
}

# Instructions per leaf or ply (the first number that the example prints), without the start-up.
measure() {
  local example=$1 variant=$2 size=$3; shift 3
  local units startup all
  units=$("$examples/$example" "$variant" "$size" "$@" | awk '{ print $1 }')
  startup=$(instructions "$example" "$variant" 0 "$@")
  all=$(instructions "$example" "$variant" "$size" "$@")
  awk -v a="$all" -v s="$startup" -v n="$units" 'BEGIN { printf "%.1f\n", (a - s) / n }'
}

# One "name number" a line.
measured=$(
  while read -r name arguments; do
    # shellcheck disable=SC2086 # the arguments are words
    number=$(measure $arguments)
    echo "$name $number"
  done <<'END'
sho_counted perft sho 4 --king-capture
sho_played perft sho 4 --king-capture --play-leaves
sho_games playouts sho 100
chu_counted perft chu 3
chu_played perft chu 3 --play-leaves
chu_games playouts chu 100
daidai_counted perft daidai 3
daidai_played perft daidai 3 --play-leaves
daidai_games playouts daidai 20
END
)

if [ "$mode" = --record ]; then
  awk '{ printf "%s  \"%s\": %s", NR == 1 ? "{\n" : ",\n", $1, $2 } END { print "\n}" }' <<<"$measured" >"$recorded.new"
  mv "$recorded.new" "$recorded"
  cat "$recorded"
  exit
fi

# The file has one `"name": number` a line.
awk '
  NR == FNR { gsub(/[",:]/, ""); if (NF == 2) before[$1] = $2; next }
  !($1 in before) { printf "%-16s %8.1f instructions each, not recorded\n", $1, $2; worse = 1; next }
  {
    change = 100 * ($2 / before[$1] - 1)
    bad = change > 10
    worse = worse || bad
    printf "%-16s %8.1f instructions each, recorded %8.1f, %+6.1f %%%s\n", $1, $2, before[$1], change, bad ? "  WORSE" : ""
  }
  END {
    if (worse) print "over 10 % more than recorded, or not recorded; if that is meant, run scripts/instructions.sh --record" > "/dev/stderr"
    exit worse
  }
' "$recorded" <(echo "$measured")

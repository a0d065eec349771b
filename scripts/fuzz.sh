#!/usr/bin/env bash
# Runs every fuzz target of the rules core for some seconds; exit 1 if one of them found something or did not finish.
#
#   scripts/fuzz.sh [SECONDS] [TARGET...]      default: 20 seconds, all targets
#
# Seeds are made from engine/fuzz/seeds and the variant files; what the fuzzer learns stays in engine/fuzz/corpus. Inputs
# that fail are left in engine/fuzz/artifacts. Exit 2: bad arguments, or cargo-fuzz is missing.
set -euo pipefail
cd "$(dirname "$0")/../engine"

seconds=${1:-20}
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: scripts/fuzz.sh [SECONDS] [TARGET...]" >&2
  exit 2
fi
if ! command -v cargo-fuzz >/dev/null; then
  echo "cargo-fuzz is missing; install it with: cargo install cargo-fuzz --locked" >&2
  exit 2
fi
targets=("${@:2}")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(cargo fuzz list)

# seed TARGET NAME: writes standard input as a seed.
seed() { mkdir -p "fuzz/corpus/$1" && cat >"fuzz/corpus/$1/$2"; }

# lines FILE TARGET...: each line of a text file is a seed of the targets.
lines() {
  local number=0 line target
  while IFS= read -r line; do
    number=$((number + 1))
    [[ $line == \#* ]] && continue
    for target in "${@:2}"; do printf '%s' "$line" | seed "$target" "seed-$number"; done
  done <"$1"
}
lines fuzz/seeds/positions.txt sfen usi
lines fuzz/seeds/notation.txt notation
# The first two bytes of a game choose the ruleset and the start, the others the moves: any text will do for them.
text=$(<fuzz/seeds/notation.txt)
for number in {0..39}; do
  printf "\\x$(printf %02x "$number")\\x$(printf %02x $((number / 4)))%s" "${text:number*160:160}" |
    seed random_play "seed-$number"
done
for file in fuzz/seeds/kif/*.kif; do seed kif "seed-$(basename "$file")" <"$file"; done
for file in variants/*.toml fuzz/seeds/*.toml; do seed variant_toml "seed-$(basename "$file")" <"$file"; done

failed=()
for target in "${targets[@]}"; do
  echo "== $target: $seconds s"
  options=(-max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0)
  case $target in
    variant_toml) options+=(-max_len=24000 -dict=fuzz/seeds/variant_toml.dict) ;;
    kif) options+=(-max_len=4000 -dict=fuzz/seeds/kif.dict) ;;
    random_play) options+=(-max_len=162) ;;
    *) options+=(-max_len=2000) ;;
  esac
  # A sanitizer would find nothing in code without `unsafe`; traced comparisons make all of it five times slower.
  cargo fuzz run --sanitizer none --no-trace-compares "$target" -- "${options[@]}" 2>&1 |
    sed '/^"\|NEW_FUNC\|^###### \|^WARNING: Failed to find/d' || failed+=("$target")
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "failed or interrupted: ${failed[*]}" >&2
  inputs=$(find fuzz/artifacts -type f 2>/dev/null)
  [ -z "$inputs" ] || echo "inputs that fail (cd engine && cargo fuzz run -s none TARGET INPUT):
$inputs" >&2
  exit 1
fi

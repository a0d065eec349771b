"""Runs the Python blocks of a page in order in one interpreter; its counts must be those of `shishi data stats --json`.

    python scripts/run_blocks.py PAGE STATS
"""

import json
import sys
import traceback

# What the page counts, by the name it has in the statistics.
COUNTS = {
    "games": [
        "len(games)",
        "pl_games.select(pl.len()).collect().item()",
        "duckdb.sql(f'SELECT count(*) FROM {GAMES}').fetchall()[0][0]",
    ],
    "positions": [
        "len(positions)",
        "len(joined)",
        "pl_positions.select(pl.len()).collect().item()",
        "duckdb.sql(f'SELECT count(*) FROM {POSITIONS}').fetchall()[0][0]",
    ],
}


def blocks(lines):
    """The line number of each block's fence, and its code."""
    start, code, before = None, [], ""
    for number, line in enumerate(lines, 1):
        if start is None and line.rstrip() == "```python":
            start, code, run = number, [], before != "<!-- not run -->"
        elif start is not None and line.rstrip() == "```":
            if run:
                yield start, "".join(code)
            start = None
        elif start is not None:
            code.append(line)
        if line.strip():
            before = line.strip()
    if start is not None:
        sys.exit(f"line {start}: the block has no end")


def main(page, stats):
    with open(page, encoding="utf-8") as file:
        found = list(blocks(file.readlines()))
    if not found:
        sys.exit(f"{page}: no Python blocks")
    names = {"__name__": "__main__"}
    for line, code in found:
        try:
            # Empty lines first, so that a traceback has the page's line numbers.
            exec(compile("\n" * line + code, page, "exec"), names)
        except Exception:
            traceback.print_exc()
            sys.exit(f"{page}: the block at line {line} failed")
    with open(stats, encoding="utf-8") as file:
        (expected,) = json.load(file)
    for key, expressions in COUNTS.items():
        for expression in expressions:
            counted = eval(expression, names)
            if counted != expected[key]:
                sys.exit(f"{page}: {expression} is {counted}, but `shishi data stats` counts {expected[key]} {key}")
    print(f"{page}: {len(found)} blocks, {expected['games']} games and {expected['positions']} positions as counted by shishi")


main(*sys.argv[1:])

"""Compares two files of judgements, a JSON object a line, number by number; fails beyond 1e-4.

    python scripts/compare_judgements.py EXPECTED FOUND
"""

import json
import sys

expected, found = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])
assert len(expected) == len(found) > 0, f"{len(expected)} and {len(found)} positions"
worst, spread = {}, {}
for a, b in zip(expected, found):
    for key in a:
        one, other = ([x[key]] if isinstance(x[key], float) else x[key] for x in (a, b))
        assert len(one) == len(other), f"{key}: {len(one)} and {len(other)} numbers"
        worst[key] = max(worst.get(key, 0), *(abs(x - y) for x, y in zip(one, other)))
        spread[key] = max(spread.get(key, 0), *(abs(x) for x in one))
print(len(expected), "positions, largest difference", ", ".join(f"{key} {x:.1e} of {spread[key]:.3g}" for key, x in worst.items()))
assert max(worst.values()) < 1e-4, "the judgements differ"
assert spread["policy"] > 0.01 and spread["survival"] > 0.01, "the network has learnt nothing that could differ"

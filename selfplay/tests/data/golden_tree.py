"""The golden tree of the search test: a plain second writing of the paper's equations.

Danihelka, Guez, Schrittwieser, Silver, "Policy improvement by planning with Gumbel" (ICLR 2022), without noise: the
considered moves are those with the largest logits. Reads golden_tree.json (positions with their moves, logits and win, draw,
loss for the side to move), searches, and writes what it found as "expected" into the file.

    python3 golden_tree.py golden_tree.json
"""

import json
import math
import sys


def softmax(xs):
    top = max(xs)
    es = [math.exp(x - top) for x in xs]
    return [e / sum(es) for e in es]


class Node:
    def __init__(self, entry):
        self.moves = entry.get("moves", [])
        self.logits = entry.get("logits", [])
        self.judged = entry["wdl"] if "wdl" in entry else entry["result"]
        self.children = [None] * len(self.moves)
        self.sums = [[0.0, 0.0, 0.0] for _ in self.moves]  # for the side to move here
        self.visits = [0] * len(self.moves)


def value(case, wdl):
    return wdl[0] - wdl[2] + case["draw_value"] * wdl[1]


def completed(node):
    """Mean of visited moves, v_mix of the others (equation 33)."""
    priors = softmax(node.logits)
    n = sum(node.visits)
    means = [[s / v for s in sums] if v else None for sums, v in zip(node.sums, node.visits)]
    mixed = node.judged
    if n:
        seen = sum(p for p, v in zip(priors, node.visits) if v)
        average = [sum(p * m[i] for p, m in zip(priors, means) if m) / seen for i in range(3)]
        mixed = [(node.judged[i] + n * average[i]) / (1 + n) for i in range(3)]
    return [m or mixed for m in means]


def sigma(case, node, wdl):
    """Equation 8, values brought to [0, 1]."""
    return (case["c_visit"] + max(node.visits)) * case["c_scale"] * (value(case, wdl) + 1) / 2


def scores(case, node):
    return [l + sigma(case, node, q) for l, q in zip(node.logits, completed(node))]


def schedule(m, n):
    """Figure 1: the visits that the next considered move must have."""
    if m == 1:
        return list(range(n))
    out, kept, visits = [], m, 0
    while len(out) < n:
        for _ in range(max(1, n // (math.ceil(math.log2(m)) * kept))):
            out += [visits] * kept
            visits += 1
        kept = max(2, kept // 2)
    return out[:n]


def simulate(case, root, first):
    path, node, key, edge = [], root, [], first
    while True:
        path.append((node, edge))
        key.append(node.moves[edge])
        child = node.children[edge]
        if child is None:
            child = node.children[edge] = Node(case["nodes"][" ".join(key)])
            break
        if not child.moves:
            break
        node = child
        improved = softmax(scores(case, node))
        total = sum(node.visits)
        edge = max(range(len(node.moves)), key=lambda a: improved[a] - node.visits[a] / (1 + total))
    wdl = child.judged
    for node, edge in reversed(path):
        wdl = wdl[::-1]
        node.visits[edge] += 1
        node.sums[edge] = [s + x for s, x in zip(node.sums[edge], wdl)]


def tree(node):
    return {
        "visits": dict(zip(node.moves, node.visits)),
        "children": {m: tree(c) for m, c in zip(node.moves, node.children) if c and sum(c.visits)},
    }


def main(path):
    with open(path) as file:
        case = json.load(file)
    root = Node(case["nodes"][""])
    n = case["simulations"]
    m = min(case["considered"], len(root.moves), n)
    considered = sorted(range(len(root.moves)), key=lambda a: -root.logits[a])[:m]
    best = lambda v: max((a for a in considered if root.visits[a] == v), key=lambda a: scores(case, root)[a])
    for wanted in schedule(m, n):
        simulate(case, root, best(wanted))
    policy = softmax(scores(case, root))
    wdl = [sum(p * q[i] for p, q in zip(policy, completed(root))) for i in range(3)]
    case["expected"] = {
        "chosen": root.moves[best(max(root.visits))],
        "policy": policy,
        "wdl": wdl,
        "value": value(case, wdl),
        "tree": tree(root),
    }
    with open(path, "w") as file:
        json.dump(case, file, indent=1)
        file.write("\n")


main(sys.argv[1])

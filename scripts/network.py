"""Shishi's networks in NumPy: a checkpoint is read, positions of a shard are encoded and judged.

    python scripts/network.py CHECKPOINT POSITIONS.parquet [COUNT]

prints what the network says about the first positions, as JSON, a position a line: `wdl` (probabilities of win, draw and
loss for the side to move), `policy` (a logit for each legal move in the shard's order), `survival` (a logit a square, as the
mover sees the board, that the piece there is on the board at the end), `plies_left` (ln(1 + plies to the end)).

Needs numpy, safetensors and pyarrow. Features and formulas are those of docs/networks.md.
"""

import json
import pathlib
import sys
import tomllib

import numpy as np
from safetensors.numpy import load_file


class Network:
    """A checkpoint: `tensors` by name, and the tables of its variant."""

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.description = tomllib.loads((folder / "network.toml").read_text())
        self.tensors = load_file(folder / "weights.safetensors")
        tables = self.description["tables"]
        self.files, self.squares = tables["files"], tables["files"] * tables["ranks"]
        self.kinds = len(tables["kinds"])
        self.promotes_to = tables["promotes_to"]
        self.start_counts = np.array(tables["start_counts"], np.float32)

    def encode(self, row):
        """A row of a positions shard as features: see `Features`."""
        board = np.frombuffer(row["board"], np.uint8).astype(int)
        side = row["side_to_move"]
        turn = (lambda square: self.squares - 1 - square) if side else (lambda square: square)
        pieces = []
        for square in np.flatnonzero(board):
            kind, color = divmod(board[square] - 1, 2)
            pieces.append(((color ^ side) * self.kinds + kind, turn(square)))
        state = np.frombuffer(row["state"], np.uint8)
        ban = int(state[0]) + 256 * int(state[1])
        since_capture, ply = (int(state[i]) + 256 * int(state[i + 1]) for i in (4, 6))
        dense = [state[2] >= 2, state[2] >= 3, since_capture / (since_capture + 50), ply / (ply + 200)]
        moves = [self.move(board, int(move), turn) for move in row["moves"]]
        return Features(pieces, None if ban == 0xFFFF else turn(ban), np.array(dense, np.float32), moves)

    def move(self, board, move, turn):
        """(kind that moves, from or None, to, numbers of the other features counted from the first)."""
        kinds, files = self.kinds, self.files
        to, start, drop = move & 511, move >> 9 & 511, move >> 24 & 1
        other = []
        if drop:
            kind, start = start, None
            other.append(2 * kinds + kind)
        else:
            kind = (board[start] - 1) // 2
        # Squares of the way with a capture: one or two steps on in the direction, clockwise from up the board.
        rank, file = [(-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1)][move >> 19 & 7]
        captured = [start + (rank * files + file) * n for n in (1, 2) if move >> (21 + n) & 1]
        if to != start:
            captured.append(to)
        other += [(board[square] - 1) // 2 for square in captured if board[square]]
        if move >> 18 & 1:
            other.append(kinds + self.promotes_to[kind])
        if to == start and not captured:
            other.append(3 * kinds)
        return kind, None if start is None else turn(start), turn(to), other

    def judge(self, features):
        """(logits of win, draw, loss; logits of the moves; logits of survival by square; ln(1 + plies left))."""
        architecture = self.description["network"]["architecture"]
        return {"material": material, "nnue": nnue, "resnet": resnet}[architecture](self, features)


class Features:
    """`pieces`: (side · K + kind, square); `ban`: square or None; `dense`: 4 numbers; `moves`: see `Network.move`. Squares and
    sides are the mover's."""

    def __init__(self, pieces, ban, dense, moves):
        self.pieces, self.ban, self.dense, self.moves = pieces, ban, dense, moves

    def counts(self, network):
        """Pieces by side and kind, less those of the start position."""
        counts = np.bincount([kind for kind, _ in self.pieces], minlength=2 * network.kinds)
        return counts.astype(np.float32) - np.tile(network.start_counts, 2)


def clip(x):
    return np.clip(x, 0, 1)


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def material(network, f):
    t, kinds = network.tensors, network.kinds
    phases = len(t["value.kind"])
    share = min(len(f.pieces) / (2 * network.start_counts.sum()), 1)
    phase = np.maximum(1 - np.abs(share * (phases - 1) - np.arange(phases)), 0)
    counts = f.counts(network)
    score = phase @ (t["value.kind"] @ (counts[:kinds] - counts[kinds:]) + t["value.tempo"][:, 0])
    table = t["policy.moves"][:, 0]
    survival = np.zeros(network.squares)
    survival[:] = t["survival.kind"][0, 0]
    for kind, square in f.pieces:
        survival[square] = t["survival.kind"][kind, 0]
    # A drop is no move of a piece on the board.
    rows = [([] if start is None else [kind]) + [kinds + row for row in other] for kind, start, _, other in f.moves]
    policy = np.array([table[row].sum() for row in rows])
    wdl = np.array([score / 2, phase @ t["value.draw"][:, 0], -score / 2])
    return wdl, policy, survival, phase @ t["plies_left.phase"][:, 0]


def nnue(network, f):
    t, kinds, squares = network.tensors, network.kinds, network.squares
    rows = [kind * squares + square for kind, square in f.pieces]
    if f.ban is not None:
        rows.append(2 * kinds * squares + f.ban)
    accumulator = clip(
        t["accumulator.bias"]
        + t["accumulator.square"][rows].sum(0)
        + f.counts(network) @ t["accumulator.kind"]
        + f.dense @ t["accumulator.state"]
    )
    hidden = clip(accumulator @ t["value.hidden.weight"] + t["value.hidden.bias"])
    query = np.append(accumulator @ t["policy.query.weight"] + t["policy.query.bias"], 1)
    policy = []
    for kind, start, to, other in f.moves:
        rows = [] if start is None else [kind * squares + start]
        rows += [(kinds + kind) * squares + to] + [2 * kinds * squares + row for row in other]
        policy.append(query @ t["policy.moves"][rows].sum(0))
    trace = accumulator @ t["survival.trace.weight"] + t["survival.trace.bias"]
    on_square = np.zeros(squares, int)
    for kind, square in f.pieces:
        on_square[square] = kind
    survival = (t["survival.kind"][on_square] + t["survival.square"]) @ trace
    wdl = hidden @ t["value.output.weight"] + t["value.output.bias"]
    return wdl, np.array(policy), survival, (hidden @ t["plies_left.weight"] + t["plies_left.bias"])[0]


def conv3x3(x, weight, bias):
    """`x`: [C, ranks, files], zeros beyond the edge; `weight`: [C out, C in, 3, 3]."""
    _, ranks, files = x.shape
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    taps = [padded[:, y : y + ranks, z : z + files] for y in range(3) for z in range(3)]
    return np.einsum("oit,tiyz->oyz", weight.reshape(*weight.shape[:2], 9), np.stack(taps)) + bias[:, None, None]


def mean_and_max(x):
    return np.concatenate([x.mean(-1), x.max(-1)])


def relu(x):
    return np.maximum(x, 0)


def resnet(network, f):
    t, kinds, squares = network.tensors, network.kinds, network.squares
    on_square = np.full(squares, 2 * kinds)
    for kind, square in f.pieces:
        on_square[square] = kind
    x = t["stem.piece"][on_square] + t["stem.square"] + f.dense @ t["stem.state"]
    if f.ban is not None:
        x[f.ban] += t["stem.ban"][0]
    x = x.T.reshape(-1, squares // network.files, network.files)
    for block in range(network.description["network"]["blocks"]):
        w = {part: t[f"blocks.{block}.{part}"] for part in ("conv1.weight", "conv1.bias", "pool.weight", "conv2.weight", "conv2.bias")}
        u = relu(conv3x3(relu(x), w["conv1.weight"], w["conv1.bias"]))
        v = u + (mean_and_max(u.reshape(len(u), -1)) @ w["pool.weight"])[:, None, None]
        x = x + conv3x3(v, w["conv2.weight"], w["conv2.bias"])
    trunk = relu(x).reshape(len(x), -1).T
    hidden = relu(mean_and_max(trunk.T) @ t["value.hidden.weight"] + t["value.hidden.bias"])
    query = trunk @ t["policy.from.weight"] + t["policy.from.bias"]
    query = np.concatenate([query, np.ones((squares, 1), np.float32)], 1)
    key = trunk @ t["policy.to.weight"] + t["policy.to.bias"]
    policy = [
        query[to if start is None else start] @ (key[to] + t["policy.terms"][other].sum(0))
        for _, start, to, other in f.moves
    ]
    survival = (trunk @ t["survival.weight"] + t["survival.bias"])[:, 0]
    wdl = hidden @ t["value.output.weight"] + t["value.output.bias"]
    return wdl, np.array(policy), survival, (hidden @ t["plies_left.weight"] + t["plies_left.bias"])[0]


def rows_of(shard, count):
    import pyarrow.parquet as parquet

    columns = ["board", "side_to_move", "state", "moves"]
    return parquet.read_table(shard, columns=columns).slice(0, count).to_pylist()


def main():
    checkpoint, shard, *count = sys.argv[1:]
    network = Network(checkpoint)
    for row in rows_of(shard, int(count[0]) if count else 100):
        wdl, policy, survival, plies_left = network.judge(network.encode(row))
        line = {"wdl": softmax(wdl), "policy": policy, "survival": survival, "plies_left": plies_left}
        print(json.dumps({key: np.asarray(value).tolist() for key, value in line.items()}))


if __name__ == "__main__":
    main()

"""Shishi's networks as PyTorch modules: the same functions as scripts/network.py, for batches, with gradients.

    python scripts/network_torch.py CHECKPOINT POSITIONS.parquet [COUNT]

prints what scripts/network.py prints. Needs torch besides what that needs. `Material`, `Nnue` and `Resnet` take a `Batch`;
their parameters have the names of the tensors in `weights.safetensors`, dots instead of which stand underscores.
"""

import json
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from network import Network, rows_of


class Batch:
    """Positions (`network.Features`), padded. `board`: [B, S] side and kind on each square, 2·K where none; `counts`: [B, 2·K];
    `dense`: [B, 4]; `ban`: [B, S]; moves: `start`, `to`: [B, M] squares, `kind`: [B, M], `drop`: [B, M], `other`: [B, M, F] rows
    after the tables of squares, -1 where none; `moves`: their numbers."""

    def __init__(self, network, features):
        size, squares, kinds = len(features), network.squares, network.kinds
        board = np.full((size, squares), 2 * kinds)
        ban = np.zeros((size, squares), np.float32)
        most = max(len(f.moves) for f in features)
        parts = max(len(other) for f in features for *_, other in f.moves) or 1
        start, to, kind = (np.zeros((size, most), int) for _ in range(3))
        drop = np.zeros((size, most), bool)
        other = np.full((size, most, parts), -1)
        for i, f in enumerate(features):
            for code, square in f.pieces:
                board[i, square] = code
            if f.ban is not None:
                ban[i, f.ban] = 1
            for j, (mover, origin, target, rows) in enumerate(f.moves):
                kind[i, j], to[i, j] = mover, target
                drop[i, j] = origin is None
                start[i, j] = target if origin is None else origin
                other[i, j, : len(rows)] = rows
        self.board, self.ban = torch.from_numpy(board), torch.from_numpy(ban)
        self.counts = torch.from_numpy(np.stack([f.counts(network) for f in features]))
        self.dense = torch.from_numpy(np.stack([f.dense for f in features]))
        self.start, self.to, self.kind, self.drop = map(torch.from_numpy, (start, to, kind, drop))
        self.other, self.moves = torch.from_numpy(other), [len(f.moves) for f in features]

    def other_rows(self, table):
        """Sum of the rows of `table` over the other features of each move: [B, M, width]."""
        return (F.embedding(self.other.clamp(min=0), table) * (self.other >= 0).unsqueeze(-1)).sum(2)


class Base(nn.Module):
    def __init__(self, network):
        super().__init__()
        self.kinds, self.squares, self.files = network.kinds, network.squares, network.files
        self.start = float(network.start_counts.sum())
        for name, values in network.tensors.items():
            self.register_parameter(name.replace(".", "_"), nn.Parameter(torch.from_numpy(values.copy())))

    def get(self, name):
        return getattr(self, name.replace(".", "_"))

    def linear(self, x, name):
        return x @ self.get(f"{name}.weight") + self.get(f"{name}.bias")


class Material(Base):
    def forward(self, b):
        k, table = self.kinds, self.policy_moves
        phases = len(self.value_kind)
        share = ((b.board < 2 * k).sum(1) / (2 * self.start)).clamp(max=1)
        phase = (1 - (share[:, None] * (phases - 1) - torch.arange(phases)).abs()).clamp(min=0)
        difference = b.counts[:, :k] - b.counts[:, k:]
        score = ((phase @ self.value_kind) * difference).sum(1, keepdim=True) + phase @ self.value_tempo
        wdl = torch.cat([score / 2, phase @ self.value_draw, -score / 2], 1)
        mover = table[b.kind, 0] * ~b.drop
        survival = self.survival_kind[b.board.where(b.board < 2 * k, 0), 0]
        return wdl, mover + b.other_rows(table[k:])[..., 0], survival, phase @ self.plies_left_phase


class Nnue(Base):
    def forward(self, b):
        k, s = self.kinds, self.squares
        rows = b.board * s + torch.arange(s)
        table = self.accumulator_square
        there = b.board < 2 * k
        squares = F.embedding_bag(rows.where(there, 0), table, per_sample_weights=there.float(), mode="sum")
        squares = squares + b.ban @ table[2 * k * s :]
        sums = squares + b.counts @ self.accumulator_kind + b.dense @ self.accumulator_state + self.accumulator_bias
        accumulator = sums.clamp(0, 1)
        hidden = self.linear(accumulator, "value.hidden").clamp(0, 1)
        query = F.pad(self.linear(accumulator, "policy.query"), (0, 1), value=1.0)
        moves = self.policy_moves
        vectors = moves[b.kind * s + b.start] * ~b.drop[..., None] + moves[(k + b.kind) * s + b.to]
        vectors = vectors + b.other_rows(moves[2 * k * s :])
        trace = self.linear(accumulator, "survival.trace")
        kind = self.survival_kind[b.board.where(there, 0)]
        survival = ((kind + self.survival_square) @ trace[:, :, None])[..., 0]
        return self.linear(hidden, "value.output"), (vectors @ query[:, :, None])[..., 0], survival, self.linear(hidden, "plies_left")


class Resnet(Base):
    def __init__(self, network):
        super().__init__(network)
        self.blocks = network.description["network"]["blocks"]

    @staticmethod
    def mean_and_max(x):
        return torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)

    def forward(self, b):
        s = self.squares
        x = self.stem_piece[b.board] + self.stem_square + (b.dense @ self.stem_state)[:, None] + b.ban[..., None] * self.stem_ban
        x = x.transpose(1, 2).reshape(len(x), -1, s // self.files, self.files)
        for block in range(self.blocks):
            conv = lambda x, name: F.conv2d(x, self.get(f"blocks.{block}.{name}.weight"), self.get(f"blocks.{block}.{name}.bias"), padding=1)
            u = conv(x.relu(), "conv1").relu()
            v = u + (self.mean_and_max(u) @ self.get(f"blocks.{block}.pool.weight"))[:, :, None, None]
            x = x + conv(v, "conv2")
        x = x.relu()
        hidden = self.linear(self.mean_and_max(x), "value.hidden").relu()
        trunk = x.flatten(2).transpose(1, 2)
        query = F.pad(self.linear(trunk, "policy.from"), (0, 1), value=1.0)
        key = self.linear(trunk, "policy.to")
        at = lambda table, squares: table[torch.arange(len(table))[:, None], squares]
        policy = (at(query, b.start) * (at(key, b.to) + b.other_rows(self.policy_terms))).sum(-1)
        survival = self.linear(trunk, "survival")[..., 0]
        return self.linear(hidden, "value.output"), policy, survival, self.linear(hidden, "plies_left")


def module(network):
    """The module of a checkpoint."""
    return {"material": Material, "nnue": Nnue, "resnet": Resnet}[network.description["network"]["architecture"]](network)


def main():
    checkpoint, shard, *count = sys.argv[1:]
    network = Network(checkpoint)
    rows = rows_of(shard, int(count[0]) if count else 100)
    batch = Batch(network, [network.encode(row) for row in rows])
    with torch.no_grad():
        wdl, policy, survival, plies_left = module(network)(batch)
    for i, moves in enumerate(batch.moves):
        line = {"wdl": wdl[i].softmax(0), "policy": policy[i, :moves], "survival": survival[i], "plies_left": plies_left[i, 0]}
        print(json.dumps({key: value.tolist() for key, value in line.items()}))


if __name__ == "__main__":
    main()

//! The tree of a search: nodes and edges in flat vectors that keep their memory from search to search.

use engine::Move;
use wide::f32x8;

use super::config::{SearchConfig, Sigma};

/// Index of a node. The root is 0.
pub(super) type NodeId = u32;

/// No such node or edge.
pub(super) const NONE: u32 = u32::MAX;

/// A position that has been judged, or in which the game is over.
pub(super) struct Node {
    /// The first of its edges in the edge vectors, and how many there are: its legal moves in generation order. None
    /// where the game is over.
    first_edge: u32,
    edges: u32,
    /// The edge that leads here (`NONE` at the root).
    edge: u32,
    /// Visited children, newest first: the head of the list, and the next child of this node's parent.
    first_child: NodeId,
    next_sibling: NodeId,
    /// The edge with the largest prior that has not been visited, `NONE` if all have.
    best_unvisited: u32,
    /// Judgements backed up through this node, its own included.
    visits: u32,
    /// Sums of the backed-up probabilities that the player who moved into this node wins and loses.
    win: f32,
    loss: f32,
    /// Win, draw and loss for the side to move here: the evaluator's word, or the result if the game is over.
    judged: [f32; 3],
}

/// Values of a node's moves, the unvisited ones given the mixed value.
pub(super) struct Completed {
    /// Win, draw and loss for the side to move, by the node's judgement and its visited moves (v_mix, the paper's
    /// equation 33): what an unvisited move is taken to be worth.
    pub(super) mixed: [f32; 3],
    /// Mean of all judgements below the node and its own.
    pub(super) mean: [f32; 3],
    /// Visits of the most visited move.
    pub(super) most_visits: u32,
    /// Visits of all moves.
    pub(super) visits: u32,
    /// Prior probability of the visited moves.
    visited_prior: f32,
}

/// The nodes and edges of one search. Values are those of the side to move at the node they are asked of.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    moves: Vec<Move>,
    priors: Vec<f32>,
    children: Vec<NodeId>,
    /// exp(σ(q) − σ(v_mix)) of visited children, while a move is selected.
    scratch: Vec<f32>,
}

/// Turns logits into log-probabilities.
///
/// # Panics
/// If a logit is infinite or not a number: the evaluator is broken, and the search would be meaningless.
pub(super) fn log_softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|l| (l - largest).exp()).sum();
    let shift = largest + checked(sum).ln();
    logits.iter_mut().for_each(|l| *l -= shift);
}

/// Turns logits into probabilities.
///
/// # Panics
/// As [`log_softmax`].
pub(super) fn softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scale = 1.0 / checked(exponentials(logits, largest));
    logits.iter_mut().for_each(|l| *l *= scale);
}

/// Replaces each number by exp(number − `largest`), eight at a time; returns the sum.
fn exponentials(numbers: &mut [f32], largest: f32) -> f32 {
    let mut sum = f32x8::ZERO;
    let (eights, rest) = numbers.as_chunks_mut::<8>();
    for eight in eights {
        let exp = (f32x8::new(*eight) - f32x8::splat(largest)).exp();
        sum += exp;
        *eight = exp.to_array();
    }
    if !rest.is_empty() {
        let mut eight = [f32::NEG_INFINITY; 8];
        eight[..rest.len()].copy_from_slice(rest);
        let exp = (f32x8::new(eight) - f32x8::splat(largest)).exp();
        sum += exp;
        rest.copy_from_slice(&exp.to_array()[..rest.len()]);
    }
    sum.reduce_add()
}

/// A sum of exponentials of which the largest is 1.
fn checked(sum: f32) -> f32 {
    assert!(sum.is_finite() && sum >= 1.0, "an evaluator gave a logit that is not a number");
    sum
}

impl Tree {
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.moves.clear();
        self.priors.clear();
        self.children.clear();
    }

    /// Makes a node the root and drops all that is not below it; `memory` is another tree's and is lost.
    pub(super) fn reroot(&mut self, root: NodeId, memory: &mut Tree) {
        memory.clear();
        let mut waiting = vec![(root, NONE, NONE)];
        while let Some((old, parent, edge)) = waiting.pop() {
            let node = &self.nodes[old as usize];
            let range = self.range(old);
            let id = memory.add(parent, edge, &self.moves[range.clone()], &self.priors[range.clone()], node.judged);
            let copy = &mut memory.nodes[id as usize];
            (copy.visits, copy.win, copy.loss) = (node.visits, node.win, node.loss);
            let first_edge = copy.first_edge;
            // A list of children has the newest first, and each child added goes to the front.
            waiting.extend(self.visited_children(old).map(|child| {
                let edge = self.nodes[child as usize].edge - range.start as u32;
                (child, id, first_edge + edge)
            }));
        }
        std::mem::swap(self, memory);
    }

    /// The moves of a node, in generation order.
    pub(super) fn moves(&self, node: NodeId) -> &[Move] {
        &self.moves[self.range(node)]
    }

    /// The move of an edge.
    pub(super) fn edge_move(&self, edge: u32) -> Move {
        self.moves[edge as usize]
    }

    /// The node an edge leads to, `NONE` before its first visit.
    pub(super) fn child(&self, edge: u32) -> NodeId {
        self.children[edge as usize]
    }

    /// The prior probabilities of a node's moves.
    pub(super) fn priors(&self, node: NodeId) -> &[f32] {
        &self.priors[self.range(node)]
    }

    /// The visits of a node, its own judgement included.
    #[cfg(test)]
    pub(super) fn node_visits(&self, node: NodeId) -> u32 {
        self.nodes[node as usize].visits
    }

    /// Number of nodes.
    #[cfg(test)]
    pub(super) fn len(&self) -> NodeId {
        self.nodes.len() as NodeId
    }

    /// Whether there is no root.
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The visits of an edge.
    pub(super) fn visits(&self, edge: u32) -> u32 {
        match self.child(edge) {
            NONE => 0,
            child => self.nodes[child as usize].visits,
        }
    }

    /// Whether the game is over at a node.
    pub(super) fn is_terminal(&self, node: NodeId) -> bool {
        self.nodes[node as usize].edges == 0
    }

    /// Win, draw and loss for the side to move, as judged at the node itself.
    pub(super) fn judged(&self, node: NodeId) -> [f32; 3] {
        self.nodes[node as usize].judged
    }

    /// The edges of a node.
    pub(super) fn range(&self, node: NodeId) -> std::ops::Range<usize> {
        let node = &self.nodes[node as usize];
        node.first_edge as usize..(node.first_edge + node.edges) as usize
    }

    /// Adds a node reached from `parent` by `edge` (both `NONE` for the root) with its legal moves and their prior
    /// probabilities; no moves where the game is over.
    pub(super) fn add(
        &mut self,
        parent: NodeId,
        edge: u32,
        moves: &[Move],
        priors: &[f32],
        judged: [f32; 3],
    ) -> NodeId {
        let id = self.nodes.len() as NodeId;
        let first_edge = self.moves.len() as u32;
        self.moves.extend_from_slice(moves);
        self.priors.extend_from_slice(priors);
        self.children.resize(self.moves.len(), NONE);
        self.nodes.push(Node {
            first_edge,
            edges: moves.len() as u32,
            edge,
            first_child: NONE,
            next_sibling: NONE,
            best_unvisited: NONE,
            visits: 0,
            win: 0.0,
            loss: 0.0,
            judged,
        });
        self.nodes[id as usize].best_unvisited = self.find_best_unvisited(id);
        if parent != NONE {
            self.children[edge as usize] = id;
            let older = std::mem::replace(&mut self.nodes[parent as usize].first_child, id);
            self.nodes[id as usize].next_sibling = older;
            if self.nodes[parent as usize].best_unvisited == edge {
                self.nodes[parent as usize].best_unvisited = self.find_best_unvisited(parent);
            }
        }
        id
    }

    fn find_best_unvisited(&self, node: NodeId) -> u32 {
        let (mut best, mut best_prior) = (NONE, f32::NEG_INFINITY);
        for edge in self.range(node) {
            if self.children[edge] == NONE && self.priors[edge] > best_prior {
                (best, best_prior) = (edge as u32, self.priors[edge]);
            }
        }
        best
    }

    /// Adds the judgement of the last node of `path`, given for the side to move there, to every node of it. The one
    /// place where a value changes sides.
    pub(super) fn backup(&mut self, path: &[NodeId], judged: [f32; 3]) {
        let [mut win, _, mut loss] = judged;
        for &id in path.iter().rev() {
            std::mem::swap(&mut win, &mut loss);
            let node = &mut self.nodes[id as usize];
            node.visits += 1;
            node.win += win;
            node.loss += loss;
        }
    }

    /// Mean win, draw and loss of a visited child, for the side to move at its parent.
    fn child_wdl(&self, child: NodeId) -> [f32; 3] {
        let node = &self.nodes[child as usize];
        let visits = node.visits as f32;
        let (win, loss) = (node.win / visits, node.loss / visits);
        [win, (1.0 - win - loss).max(0.0), loss]
    }

    fn visited_children(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let some = |child: NodeId| (child != NONE).then_some(child);
        let first = some(self.nodes[node as usize].first_child);
        std::iter::successors(first, move |&child| some(self.nodes[child as usize].next_sibling))
    }

    /// The mixed value of a node: its judgement counts as one visit, and the visited moves, weighted by their priors,
    /// as all of theirs.
    pub(super) fn completed(&self, node: NodeId) -> Completed {
        let (mut visits, mut most_visits, mut visited_prior) = (0, 0, 0.0);
        let (mut weighted, mut mean) = ([0.0; 3], self.judged(node));
        for child in self.visited_children(node) {
            let node = &self.nodes[child as usize];
            // Even a prior that underflowed must count for something, or the sum below could be zero.
            let prior = self.priors[node.edge as usize].max(f32::MIN_POSITIVE);
            let wdl = self.child_wdl(child);
            visits += node.visits;
            most_visits = most_visits.max(node.visits);
            visited_prior += prior;
            (0..3).for_each(|i| {
                weighted[i] += prior * wdl[i];
                mean[i] += node.visits as f32 * wdl[i];
            });
        }
        mean.iter_mut().for_each(|sum| *sum /= (visits + 1) as f32);
        let mut mixed = self.judged(node);
        if visits > 0 {
            let n = visits as f32;
            (0..3).for_each(|i| mixed[i] = (mixed[i] + n * weighted[i] / visited_prior) / (n + 1.0));
        }
        Completed { mixed, mean, most_visits, visits, visited_prior }
    }

    /// σ at a node.
    pub(super) fn sigma(&self, node: NodeId, completed: &Completed, config: &SearchConfig) -> Sigma {
        config.sigma(completed.most_visits, || {
            // All unvisited moves have the mixed value.
            let mixed = config.value(completed.mixed);
            self.visited_children(node).fold((mixed, mixed), |(low, high), child| {
                let value = config.value(self.child_wdl(child));
                (low.min(value), high.max(value))
            })
        })
    }

    /// Win, draw and loss of a move, completed.
    pub(super) fn edge_wdl(&self, edge: u32, completed: &Completed) -> [f32; 3] {
        match self.child(edge) {
            NONE => completed.mixed,
            child => self.child_wdl(child),
        }
    }

    /// The move to follow by PUCT: argmax Q(a) + c · P(a) · √ΣN / (1 + N(a)); of equals the first in generation order.
    ///
    /// All unvisited moves share one Q, so of them only that with the largest prior can be chosen.
    pub(super) fn select_puct(&self, node: NodeId, config: &SearchConfig) -> u32 {
        let completed = self.completed(node);
        let exploration = config.exploration(completed.visits);
        let mut best = self.nodes[node as usize].best_unvisited;
        let mut best_score = match best {
            NONE => f32::NEG_INFINITY,
            edge => {
                let first_play = config.value(completed.mean) - config.fpu_reduction * completed.visited_prior.sqrt();
                first_play + exploration * self.priors[edge as usize]
            }
        };
        for child in self.visited_children(node) {
            let (edge, visits) = (self.nodes[child as usize].edge, self.nodes[child as usize].visits);
            let score =
                config.value(self.child_wdl(child)) + exploration * self.priors[edge as usize] / (1.0 + visits as f32);
            if score > best_score || score == best_score && edge < best {
                (best, best_score) = (edge, score);
            }
        }
        best
    }

    /// The move to follow at an inner node: the one whose visits lag most behind the improved policy,
    /// argmax π'(a) − N(a) / (1 + ΣN) (equation 14 of the paper); of equals the first in generation order.
    ///
    /// π'(a) ∝ prior(a) · exp(σ(q(a))), and all unvisited moves share one q. So only visited moves need an exponential,
    /// and of the unvisited ones only that with the largest prior can be chosen.
    pub(super) fn select(&mut self, node: NodeId, config: &SearchConfig) -> u32 {
        let completed = self.completed(node);
        let sigma = self.sigma(node, &completed, config);
        let sigma = |wdl| sigma.of(config.value(wdl));
        let base = sigma(completed.mixed);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(self.visited_children(node).map(|child| sigma(self.child_wdl(child)) - base));
        let largest = scratch.iter().copied().fold(0.0, f32::max);
        let unvisited_weight = (-largest).exp();
        let mut sum = unvisited_weight * (1.0 - completed.visited_prior).max(0.0);
        for (child, weight) in self.visited_children(node).zip(&mut scratch) {
            *weight = self.priors[self.nodes[child as usize].edge as usize] * (*weight - largest).exp();
            sum += *weight;
        }
        let sum = sum.max(f32::MIN_POSITIVE);
        let per_visit = 1.0 / (1.0 + completed.visits as f32);

        let mut best = self.nodes[node as usize].best_unvisited;
        let mut best_score = match best {
            NONE => f32::NEG_INFINITY,
            edge => self.priors[edge as usize] * unvisited_weight / sum,
        };
        for (child, weight) in self.visited_children(node).zip(&scratch) {
            let child = &self.nodes[child as usize];
            let score = weight / sum - child.visits as f32 * per_visit;
            if score > best_score || score == best_score && child.edge < best {
                (best, best_score) = (child.edge, score);
            }
        }
        self.scratch = scratch;
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softmax_is_that_of_double_precision() {
        for count in [1, 2, 7, 8, 9, 31, 100] {
            let logits: Vec<f32> = (0..count).map(|i| ((i * 37 % 101) as f32 - 50.0) / 4.0).collect();
            let mut found = logits.clone();
            softmax(&mut found);
            let sum: f64 = logits.iter().map(|&l| f64::from(l).exp()).sum();
            for (found, &logit) in found.iter().zip(&logits) {
                let expected = f64::from(logit).exp() / sum;
                assert!((f64::from(*found) / expected - 1.0).abs() < 1e-5, "{found} {expected}");
            }
        }
        let mut extreme = [1000.0, -1000.0, 1000.0];
        softmax(&mut extreme);
        assert_eq!(extreme, [0.5, 0.0, 0.5]);
    }
}

//! Gumbel search: plans with few simulations and learns from all of them.
//!
//! At the root a few moves, drawn without replacement from the policy by the Gumbel trick, share the simulations by
//! sequential halving; below it moves are followed so that visits approach the improved policy. The improved policy,
//! softmax(logits + σ(completed Q)), is the target to learn. After Danihelka, Guez, Schrittwieser, Silver, "Policy
//! improvement by planning with Gumbel" (ICLR 2022); the equations named below are that paper's.
//!
//! A [`Search`] does not judge positions. It stops at each position it needs judged, so that the positions of many games
//! can be judged together:
//!
//! ```
//! use engine::{Game, Position, Variant};
//! use selfplay::{Evaluation, Evaluator, Search, SearchConfig, Uniform};
//!
//! let variant = Variant::load("sho", None)?;
//! let game = Game::new(Position::start(&variant));
//! let mut search = Search::new(&game, &SearchConfig::default(), 1);
//! let mut answer = [Evaluation::default()];
//! while let Some(leaf) = search.next_leaf() {
//!     Uniform.evaluate(&[leaf], &mut answer);
//!     search.backup(&answer[0]);
//! }
//! let result = search.result();
//! assert_eq!(result.moves.len(), result.policy.len());
//! # Ok::<(), engine::VariantError>(())
//! ```
//!
//! [`Method::Puct`] searches the same tree by the older rule, for play with many simulations, and can keep it for the
//! next move. Gumbel search starts each move anew, for its draw would no longer be one; what it judged before it gets
//! from the cache of judgements that the games of a thread share, as it does positions reached by another order of moves.
//!
//! Deliberately absent: statistics shared between transpositions (repetition makes their values differ), virtual loss
//! (leaves are gathered from many games, never twice from one).

mod config;
mod halving;
#[cfg(test)]
mod tests;
mod tree;

use engine::{Game, Move, Outcome};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

pub use config::{Method, SearchConfig};

use crate::evaluator::{Evaluation, Query};
use tree::{NONE, NodeId, Tree, log_softmax, softmax};

const ROOT: NodeId = 0;
const WIN: [f32; 3] = [1.0, 0.0, 0.0];
const DRAW: [f32; 3] = [0.0, 1.0, 0.0];
const LOSS: [f32; 3] = [0.0, 0.0, 1.0];

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The move to play.
    pub chosen: Move,
    /// The legal moves, in generation order.
    pub moves: Vec<Move>,
    /// The improved policy: a probability for each move.
    pub policy: Vec<f32>,
    /// Simulations spent on each move.
    pub visits: Vec<u32>,
    /// Value for the side to move, from -1 (lost) to 1 (won): `wdl` with the configured value of a draw.
    pub value: f32,
    /// Win, draw and loss for the side to move: the completed values of the moves, weighted by the improved policy.
    pub wdl: [f32; 3],
}

impl Default for SearchResult {
    /// No result yet: memory for [`Search::result_into`].
    fn default() -> Self {
        SearchResult {
            chosen: Move::from_raw(0),
            moves: Vec::new(),
            policy: Vec::new(),
            visits: Vec::new(),
            value: 0.0,
            wdl: [0.0; 3],
        }
    }
}

/// What a search is waiting for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The judgement of the root.
    Root,
    /// The next simulation.
    Ready,
    /// The judgement of the position that the path's last node leads to by this edge.
    Leaf(u32),
    /// Nothing.
    Done,
}

/// One move's search: call [`next_leaf`](Search::next_leaf) and [`backup`](Search::backup) in turn until there is no
/// leaf, then [`result`](Search::result).
pub struct Search {
    config: SearchConfig,
    state: State,
    /// Stands at the root between simulations, at the leaf while one waits for its judgement.
    game: Game,
    tree: Tree,
    /// Nodes from the root to where the simulation is.
    path: Vec<NodeId>,
    /// Legal moves where the game stands: of the root, then of the leaf.
    moves: Vec<Move>,
    logits: Vec<f32>,
    rng: Xoshiro256PlusPlus,
    /// Log-probability of each root move, and the same plus its Gumbel noise.
    root_logits: Vec<f32>,
    noisy_logits: Vec<f32>,
    /// Root moves in sequential halving.
    candidates: Vec<u32>,
    /// Visits that the candidate tried by each simulation must have.
    schedule: Vec<u32>,
    simulation: usize,
    /// A root move that takes the last royal.
    winning: Option<Move>,
    /// Memory for the tree of the next move.
    spare: Tree,
}

impl Search {
    /// A search of the position where `game` stands. The same arguments and the same judgements give the same result.
    ///
    /// # Panics
    /// If the game is over.
    pub fn new(game: &Game, config: &SearchConfig, seed: u64) -> Search {
        let mut search = Search {
            config: config.clone(),
            state: State::Done,
            game: game.clone(),
            tree: Tree::default(),
            path: Vec::new(),
            moves: Vec::new(),
            logits: Vec::new(),
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            root_logits: Vec::new(),
            noisy_logits: Vec::new(),
            candidates: Vec::new(),
            schedule: Vec::new(),
            simulation: 0,
            winning: None,
            spare: Tree::default(),
        };
        search.begin(NONE);
        search
    }

    /// Starts over on another position, as `new` would, but in the memory of the last search.
    ///
    /// # Panics
    /// If the game is over.
    pub fn restart(&mut self, game: &Game, config: &SearchConfig, seed: u64) {
        let kept = if config.method == Method::Puct && config.reuse_tree { self.node_of(game, config) } else { NONE };
        self.config.clone_from(config);
        self.game.clone_from(game);
        self.rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        self.begin(kept);
    }

    /// The node of the finished search where `game` stands, if it went on from there; `NONE` otherwise.
    fn node_of(&self, game: &Game, config: &SearchConfig) -> NodeId {
        let before = self.game.ply();
        let goes_on = self.state == State::Done
            && self.winning.is_none()
            && self.config == *config
            && game.ply() > before
            && game.start().hash() == self.game.start().hash()
            && game.start().codes() == self.game.start().codes()
            && self.game.moves().eq(game.moves().take(before));
        if !goes_on {
            return NONE;
        }
        game.moves()
            .skip(before)
            .try_fold(ROOT, |node, mv| {
                let edge = self.tree.range(node).find(|&edge| self.tree.edge_move(edge as u32) == mv)?;
                Some(self.tree.child(edge as u32)).filter(|&child| child != NONE)
            })
            .filter(|&node| !self.tree.is_terminal(node))
            .unwrap_or(NONE)
    }

    /// Starts on the position where the game stands, from the tree below the node `kept` if that is not `NONE`.
    fn begin(&mut self, kept: NodeId) {
        self.path.clear();
        self.candidates.clear();
        self.simulation = 0;
        self.game.legal_moves(&mut self.moves);
        assert!(!self.moves.is_empty(), "a finished game was searched");
        self.winning = self.game.position().winning_capture();
        if self.winning.is_some() {
            self.tree.clear();
            self.state = State::Done;
        } else if kept == NONE {
            self.tree.clear();
            self.state = State::Root;
        } else {
            self.tree.reroot(kept, &mut self.spare);
            self.begin_puct();
            self.state = State::Ready;
        }
    }

    /// PUCT has no schedule but for its length; visits that are there already count.
    fn begin_puct(&mut self) {
        let there = if self.tree.is_empty() { 0 } else { self.tree.completed(ROOT).visits };
        self.schedule.clear();
        self.schedule.resize(self.config.simulations.saturating_sub(there) as usize, 0);
    }

    /// The next position to judge: answer it with [`backup`](Search::backup). `None` when the search is done.
    /// Simulations that end in a finished game need no judgement and happen inside.
    pub fn next_leaf(&mut self) -> Option<Query<'_>> {
        while self.state == State::Ready {
            if self.simulation == self.schedule.len() {
                self.state = State::Done;
            } else {
                self.simulate();
                self.simulation += 1;
            }
        }
        self.leaf()
    }

    /// The position that waits for its judgement, again.
    pub fn leaf(&self) -> Option<Query<'_>> {
        match self.state {
            State::Root | State::Leaf(_) => Some(Query { game: &self.game, moves: &self.moves }),
            State::Ready | State::Done => None,
        }
    }

    /// Walks from the root to a new position, or to a finished game that is counted at once.
    fn simulate(&mut self) {
        let mut node = ROOT;
        self.path.clear();
        self.path.push(ROOT);
        let puct = self.config.method == Method::Puct;
        let mut edge = if puct { self.tree.select_puct(ROOT, &self.config) } else { self.select_root() };
        loop {
            self.game.play_unchecked(self.tree.edge_move(edge));
            let child = self.tree.child(edge);
            if child == NONE {
                break;
            }
            node = child;
            self.path.push(node);
            if self.tree.is_terminal(node) {
                self.finish(self.tree.judged(node));
                return;
            }
            edge = match self.config.method {
                Method::Gumbel => self.tree.select(node, &self.config),
                Method::Puct => self.tree.select_puct(node, &self.config),
            };
        }
        match self.result_here() {
            Some(wdl) => {
                self.path.push(self.tree.add(node, edge, &[], &[], wdl));
                self.finish(wdl);
            }
            None => {
                self.game.legal_moves(&mut self.moves);
                self.state = State::Leaf(edge);
            }
        }
    }

    /// Win, draw and loss for the side to move where the game stands, if that is certain: the game is over, or the last
    /// royal can be taken at once.
    fn result_here(&self) -> Option<[f32; 3]> {
        if let Some(Outcome { winner, .. }) = self.game.outcome() {
            let side = self.game.position().side_to_move();
            return Some(winner.map_or(DRAW, |winner| if winner == side { WIN } else { LOSS }));
        }
        self.game.position().winning_capture().map(|_| WIN)
    }

    /// Gives the judgement of the position that [`next_leaf`](Search::next_leaf) returned.
    ///
    /// # Panics
    /// If no position waits for one, or if the evaluator is broken: not one logit for each move, a logit that is not a
    /// number, probabilities that do not sum to 1.
    pub fn backup(&mut self, evaluation: &Evaluation) {
        assert_eq!(evaluation.policy.len(), self.moves.len(), "an evaluator must give a logit for each move");
        let sum: f32 = evaluation.wdl.iter().sum();
        assert!((sum - 1.0).abs() < 1e-3, "an evaluator gave win, draw and loss that sum to {sum}");
        self.logits.clone_from(&evaluation.policy);
        let (parent, edge) = match self.state {
            State::Root => {
                match self.config.method {
                    Method::Gumbel => {
                        log_softmax(&mut self.logits);
                        self.begin_halving();
                    }
                    Method::Puct => self.begin_puct(),
                }
                (NONE, NONE)
            }
            State::Leaf(edge) => (*self.path.last().expect("a simulation starts at the root"), edge),
            State::Ready | State::Done => panic!("no position waits for a judgement"),
        };
        softmax(&mut self.logits);
        self.path.push(self.tree.add(parent, edge, &self.moves, &self.logits, evaluation.wdl));
        self.finish(evaluation.wdl);
    }

    /// Backs up along the path and takes the moves of the simulation back.
    fn finish(&mut self, judged: [f32; 3]) {
        self.tree.backup(&self.path, judged);
        for _ in 1..self.path.len() {
            self.game.undo();
        }
        self.state = State::Ready;
    }

    /// Draws the considered moves: the largest of logit + Gumbel noise are a sample without replacement (section 3.1).
    fn begin_halving(&mut self) {
        self.root_logits.clone_from(&self.logits);
        self.noisy_logits.clone_from(&self.logits);
        if self.config.noise > 0.0 {
            for logit in &mut self.noisy_logits {
                *logit += self.config.noise * gumbel(&mut self.rng);
            }
        }
        let simulations = self.config.simulations as usize;
        let considered = (self.config.considered as usize).min(self.moves.len()).min(simulations).max(1);
        let noisy = &self.noisy_logits;
        self.candidates.clear();
        self.candidates.extend(0..self.moves.len() as u32);
        // Equals stay in generation order, so the sort is a function of the logits alone.
        let order = |a: &u32, b: &u32| noisy[*b as usize].total_cmp(&noisy[*a as usize]).then(a.cmp(b));
        if considered < self.candidates.len() {
            self.candidates.select_nth_unstable_by(considered - 1, order);
            self.candidates.truncate(considered);
        }
        self.candidates.sort_unstable_by(order);
        halving::plan(&mut self.schedule, considered, simulations);
    }

    /// The candidate whose turn it is: of those with the scheduled visits, the largest logit + noise + σ(Q).
    fn select_root(&self) -> u32 {
        let wanted = self.schedule[self.simulation];
        self.best_candidate(wanted).expect("each phase of the schedule visits the moves that the last one kept")
    }

    /// Of the candidates with so many visits, the one with the largest logit + noise + σ(completed Q).
    fn best_candidate(&self, visits: u32) -> Option<u32> {
        let completed = self.tree.completed(ROOT);
        let sigma = self.tree.sigma(ROOT, &completed, &self.config);
        let score = |edge: u32| {
            let wdl = self.tree.edge_wdl(edge, &completed);
            self.noisy_logits[edge as usize] + sigma.of(self.config.value(wdl))
        };
        let mut best: Option<(u32, f32)> = None;
        for &edge in self.candidates.iter().filter(|&&edge| self.tree.visits(edge) == visits) {
            let score = score(edge);
            if best.is_none_or(|(_, best)| score > best) {
                best = Some((edge, score));
            }
        }
        best.map(|(edge, _)| edge)
    }

    /// What the search found.
    ///
    /// # Panics
    /// If it is not done.
    pub fn result(&self) -> SearchResult {
        let mut result = SearchResult::default();
        self.result_into(&mut result);
        result
    }

    /// What the search found, in the memory of an older result.
    ///
    /// # Panics
    /// If the search is not done.
    pub fn result_into(&self, result: &mut SearchResult) {
        assert!(self.state == State::Done, "the search is not done");
        result.policy.clear();
        result.visits.clear();
        if let Some(winning) = self.winning {
            result.moves.clone_from(&self.moves);
            result.policy.extend(self.moves.iter().map(|&m| if m == winning { 1.0 } else { 0.0 }));
            result.visits.resize(self.moves.len(), 0);
            result.chosen = winning;
            result.wdl = WIN;
        } else {
            result.moves.clear();
            result.moves.extend_from_slice(self.tree.moves(ROOT));
            match self.config.method {
                Method::Gumbel => self.improved_policy(result),
                Method::Puct => self.visit_policy(result),
            }
        }
        result.value = self.config.value(result.wdl);
    }

    /// The shares of the visits, the most visited move (of equals the one with the larger prior), and the mean value.
    fn visit_policy(&self, result: &mut SearchResult) {
        let completed = self.tree.completed(ROOT);
        let edges = self.tree.range(ROOT);
        result.visits.extend(edges.clone().map(|edge| self.tree.visits(edge as u32)));
        let priors = self.tree.priors(ROOT);
        match completed.visits {
            0 => result.policy.extend_from_slice(priors),
            all => result.policy.extend(result.visits.iter().map(|&visits| visits as f32 / all as f32)),
        }
        let rank = |&i: &usize| (result.visits[i], priors[i]);
        let better = |a: &usize, b: &usize| rank(a).partial_cmp(&rank(b)).expect("priors are numbers").then(b.cmp(a));
        let best = (0..priors.len()).max_by(better).expect("the root has moves");
        result.chosen = result.moves[best];
        result.wdl = completed.mean;
    }

    /// π' = softmax(logits + σ(completed Q)) (equation 11), the visits, the best of the most visited moves, and the value
    /// under π'.
    fn improved_policy(&self, result: &mut SearchResult) {
        let completed = self.tree.completed(ROOT);
        let sigma = self.tree.sigma(ROOT, &completed, &self.config);
        for (edge, logit) in self.root_logits.iter().enumerate() {
            let wdl = self.tree.edge_wdl(edge as u32, &completed);
            result.policy.push(logit + sigma.of(self.config.value(wdl)));
            result.visits.push(self.tree.visits(edge as u32));
        }
        let most_visits = result.visits.iter().copied().max().expect("the root has moves");
        let chosen = self.best_candidate(most_visits).expect("only candidates are visited at the root");
        result.chosen = self.tree.edge_move(chosen);
        softmax(&mut result.policy);
        result.wdl = [0.0; 3];
        for (edge, probability) in result.policy.iter().enumerate() {
            let wdl = self.tree.edge_wdl(edge as u32, &completed);
            (0..3).for_each(|i| result.wdl[i] += probability * wdl[i]);
        }
        let sum: f32 = result.wdl.iter().sum();
        result.wdl.iter_mut().for_each(|p| *p /= sum);
    }
}

/// A draw from the standard Gumbel distribution.
fn gumbel(rng: &mut impl Rng) -> f32 {
    // 24 random bits and a half: strictly between 0 and 1, so that both logarithms are finite.
    let uniform = ((rng.next_u64() >> 40) as f64 + 0.5) / (1u64 << 24) as f64;
    -(-uniform.ln()).ln() as f32
}

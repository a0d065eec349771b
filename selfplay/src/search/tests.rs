use std::collections::BTreeMap;

use engine::{Game, Move, Position, Variant};
use serde::Deserialize;

use super::tree::NONE;
use super::{Method, NodeId, ROOT, Search, SearchConfig, SearchResult};
use crate::evaluator::{Evaluation, Evaluator, Query, Uniform};

fn game(variant: &str, sfen: &str) -> Game {
    let variant = Variant::load(variant, None).expect("built in");
    Game::new(Position::from_sfen(&variant, sfen).expect(sfen))
}

fn run(search: &mut Search, evaluator: &dyn Evaluator) -> SearchResult {
    let mut answer = [Evaluation::default()];
    while let Some(leaf) = search.next_leaf() {
        evaluator.evaluate(&[leaf], &mut answer);
        search.backup(&answer[0]);
    }
    search.result()
}

fn search(game: &Game, simulations: u32, seed: u64) -> SearchResult {
    let config = SearchConfig { simulations, ..SearchConfig::default() };
    run(&mut Search::new(game, &config, seed), &Uniform)
}

/// Judges by a hash of the position and the move: as good as an arbitrary network.
struct Arbitrary;

impl Evaluator for Arbitrary {
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
        let unit = |parts: &[u64]| (crate::seed::derive(parts) >> 40) as f32 / (1u64 << 24) as f32;
        for (query, out) in batch.iter().zip(out) {
            let hash = query.game.position().hash();
            out.policy.clear();
            out.policy.extend(query.moves.iter().map(|mv| 4.0 * unit(&[hash, mv.raw().into()])));
            let (win, loss) = (0.5 * unit(&[hash, 1]), 0.5 * unit(&[hash, 2]));
            out.wdl = [win, 1.0 - win - loss, loss];
        }
    }

    fn id(&self) -> &str {
        "arbitrary"
    }
}

#[derive(Deserialize)]
struct GoldenCase {
    variant: String,
    sfen: String,
    simulations: u32,
    considered: u32,
    c_visit: f32,
    c_scale: f32,
    draw_value: f32,
    /// By the moves that lead there.
    nodes: BTreeMap<String, GoldenNode>,
    expected: GoldenResult,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum GoldenNode {
    Judged { moves: Vec<String>, logits: Vec<f32>, wdl: [f32; 3] },
    Over { result: [f32; 3] },
}

#[derive(Deserialize)]
struct GoldenResult {
    chosen: String,
    policy: Vec<f32>,
    wdl: [f32; 3],
    value: f32,
    tree: GoldenTree,
}

#[derive(Deserialize)]
struct GoldenTree {
    visits: BTreeMap<String, u32>,
    children: BTreeMap<String, GoldenTree>,
}

impl Evaluator for GoldenCase {
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
        for (query, out) in batch.iter().zip(out) {
            let mut position = query.game.start().clone();
            let mut path = Vec::new();
            for mv in query.game.moves() {
                path.push(position.usi(mv));
                position.play_unchecked(mv);
            }
            let path = path.join(" ");
            let Some(GoldenNode::Judged { moves, logits, wdl }) = self.nodes.get(&path) else {
                panic!("the golden tree does not judge `{path}`");
            };
            let logit =
                |mv: Move| logits[moves.iter().position(|name| *name == position.usi(mv)).expect("a legal move")];
            out.policy.clear();
            out.policy.extend(query.moves.iter().map(|&mv| logit(mv)));
            out.wdl = *wdl;
        }
    }

    fn id(&self) -> &str {
        "golden"
    }
}

impl GoldenCase {
    fn check_node(&self, search: &Search, node: NodeId, position: &Position, path: &str, expected: &GoldenTree) {
        let tree = &search.tree;
        for (&mv, edge) in tree.moves(node).iter().zip(tree.range(node)) {
            let name = position.usi(mv);
            let key = format!("{path} {name}").trim_start().to_owned();
            assert_eq!(tree.visits(edge as u32), expected.visits[&name], "visits of `{key}`");
            let child = tree.child(edge as u32);
            if child == NONE {
                continue;
            }
            if let Some(GoldenNode::Over { result }) = self.nodes.get(&key) {
                assert!(tree.is_terminal(child), "`{key}` ends the game");
                assert_eq!(tree.judged(child), *result, "result after `{key}`");
            }
            if let Some(expected) = expected.children.get(&name) {
                let mut next = position.clone();
                next.play_unchecked(mv);
                self.check_node(search, child, &next, &key, expected);
            }
        }
    }
}

#[test]
fn golden_tree() {
    // Expected values by `golden_tree.py` beside the data: a second writing of the paper's equations that softmaxes
    // over all moves and knows nothing of this code.
    let case: GoldenCase =
        serde_json::from_str(include_str!("../../tests/data/golden_tree.json")).expect("the golden tree is JSON");
    let game = game(&case.variant, &case.sfen);
    let config = SearchConfig {
        simulations: case.simulations,
        considered: case.considered,
        c_visit: case.c_visit,
        c_scale: case.c_scale,
        noise: 0.0,
        draw_value: case.draw_value,
        ..SearchConfig::default()
    };
    let mut search = Search::new(&game, &config, 0);
    let result = run(&mut search, &case);
    let expected = &case.expected;
    case.check_node(&search, ROOT, game.position(), "", &expected.tree);
    assert_eq!(game.position().usi(result.chosen), expected.chosen);
    let close = |a: f32, b: f32| assert!((a - b).abs() < 1e-5, "{a} {b}");
    let GoldenNode::Judged { moves, .. } = &case.nodes[""] else { panic!("the root is judged") };
    for (&mv, &probability) in result.moves.iter().zip(&result.policy) {
        let at = moves.iter().position(|name| *name == game.position().usi(mv)).expect("a legal move");
        close(probability, expected.policy[at]);
    }
    (0..3).for_each(|i| close(result.wdl[i], expected.wdl[i]));
    close(result.value, expected.value);
}

/// The choice at a node by a softmax over all moves, as equation 14 of the paper stands.
fn prior(search: &Search, node: NodeId, edge: u32) -> f32 {
    search.tree.priors(node)[edge as usize - search.tree.range(node).start]
}

fn select_slowly(search: &Search, node: NodeId) -> u32 {
    let tree = &search.tree;
    let completed = tree.completed(node);
    let config = &search.config;
    let edges = || tree.range(node).map(|edge| edge as u32);
    let value = |edge: u32| f64::from(config.value(tree.edge_wdl(edge, &completed)));
    let mixed = f64::from(config.value(completed.mixed));
    let (low, high) = match config.rescale {
        true => edges().map(value).fold((mixed, mixed), |(low, high), value| (low.min(value), high.max(value))),
        false => (-1.0, 1.0),
    };
    let weight = |edge: u32| {
        let scale = (f64::from(config.c_visit) + f64::from(completed.most_visits)) * f64::from(config.c_scale);
        let sigma = scale * (value(edge) - low) / (high - low).max(1e-4);
        f64::from(prior(search, node, edge)) * sigma.exp()
    };
    let sum: f64 = edges().map(weight).sum();
    let visits: u32 = edges().map(|edge| tree.visits(edge)).sum();
    let score = |edge: u32| weight(edge) / sum - f64::from(tree.visits(edge)) / f64::from(1 + visits);
    edges().max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).expect("a node with moves")
}

#[test]
fn selection_is_the_softmax_over_all_moves() {
    for variant in ["sho", "chu", "daidai"] {
        let variant = Variant::load(variant, None).expect("built in");
        let start = Game::new(Position::start(&variant));
        // A small scale, so that priors, values and visits all have a say.
        for (c_scale, rescale) in [(0.1, false), (0.02, true)] {
            let config = SearchConfig { simulations: 600, considered: 4, c_scale, rescale, ..SearchConfig::default() };
            let mut search = Search::new(&start, &config, 5);
            run(&mut search, &Arbitrary);
            let visited: Vec<NodeId> = (1..search.tree.len()).filter(|&node| !search.tree.is_terminal(node)).collect();
            assert!(visited.len() > 500);
            for node in visited {
                assert_eq!(search.tree.select(node, &config), select_slowly(&search, node), "node {node}");
            }
        }
    }
}

/// PUCT over all moves alike, in double precision: Q + c(N)·P·√N / (1 + n), with the first-play value for unvisited ones.
fn select_puct_slowly(search: &Search, node: NodeId) -> u32 {
    let (tree, config) = (&search.tree, &search.config);
    let edges = || tree.range(node).map(|edge| edge as u32);
    let visits = |edge| f64::from(tree.visits(edge));
    let value = |edge| f64::from(config.value(tree.edge_wdl(edge, &tree.completed(node))));
    let all: f64 = edges().map(visits).sum();
    let visited = || edges().filter(|&edge| visits(edge) > 0.0);
    let seen: f64 = visited().map(|edge| f64::from(prior(search, node, edge))).sum();
    let own = f64::from(config.value(tree.judged(node)));
    let mean = (own + visited().map(|edge| visits(edge) * value(edge)).sum::<f64>()) / (1.0 + all);
    let c = f64::from(config.c_puct) + ((all + f64::from(config.c_base) + 1.0) / f64::from(config.c_base)).ln();
    let score = |edge: u32| {
        let value = if visits(edge) > 0.0 { value(edge) } else { mean - f64::from(config.fpu_reduction) * seen.sqrt() };
        value + c * f64::from(prior(search, node, edge)) * all.max(1.0).sqrt() / (1.0 + visits(edge))
    };
    edges().max_by(|&a, &b| score(a).total_cmp(&score(b)).then(b.cmp(&a))).expect("a node with moves")
}

fn puct(simulations: u32) -> SearchConfig {
    SearchConfig { method: Method::Puct, simulations, ..SearchConfig::default() }
}

#[test]
fn puct_selects_as_over_all_moves() {
    for variant in ["sho", "chu", "daidai"] {
        let variant = Variant::load(variant, None).expect("built in");
        let mut search = Search::new(&Game::new(Position::start(&variant)), &puct(600), 5);
        run(&mut search, &Arbitrary);
        for node in (0..search.tree.len()).filter(|&node| !search.tree.is_terminal(node)) {
            let (fast, slow) = (search.tree.select_puct(node, &search.config), select_puct_slowly(&search, node));
            // Single precision may order two scores otherwise that differ in the last digits.
            assert!(fast == slow || prior(&search, node, fast) == prior(&search, node, slow), "node {node}");
        }
    }
}

#[test]
fn puct_plays_the_most_visited_move_and_solves_mates() {
    for (variant, sfen, mating) in MATES {
        let game = game(variant, sfen);
        let result = run(&mut Search::new(&game, &puct(3000), 1), &Uniform);
        assert_eq!(result.visits.iter().sum::<u32>(), 3000);
        let best = result.moves.iter().position(|&mv| mv == result.chosen).expect("a legal move");
        assert_eq!(result.visits[best], result.visits.iter().copied().max().expect("moves"));
        assert!((result.policy[best] - result.visits[best] as f32 / 3000.0).abs() < 1e-6);
        let mut after = game.clone();
        after.play_unchecked(result.chosen);
        let reply = run(&mut Search::new(&after, &puct(200), 1), &Uniform);
        assert!(reply.value < -0.9, "{variant}: {} {}", game.position().usi(result.chosen), reply.value);
        let lost = run(&mut Search::new(&played(&game, &[mating]), &puct(200), 1), &Uniform);
        assert!(lost.value < -0.9, "{variant}: {}", lost.value);
    }
}

#[test]
fn puct_keeps_the_tree_below_the_moves_played() {
    let simulations = |search: &mut Search| {
        run(search, &Arbitrary);
        search.simulation as u32
    };
    for variant in ["sho", "chu", "daidai"] {
        let mut game = Game::new(Position::start(&Variant::load(variant, None).expect("built in")));
        let mut search = Search::new(&game, &puct(400), 1);
        assert_eq!(simulations(&mut search), 400);
        for _ in 0..5 {
            let first = search.result();
            game.play_unchecked(first.chosen);
            let kept = first.visits.iter().copied().max().expect("moves") - 1;
            search.restart(&game, &puct(400), 1);
            // The root's judgement was one of the visits; the others count as simulations.
            assert_eq!(simulations(&mut search), 400 - kept);
            assert_eq!(search.result().visits.iter().sum::<u32>(), 400);
            for node in (0..search.tree.len()).filter(|&node| !search.tree.is_terminal(node)) {
                let below: u32 = search.tree.range(node).map(|edge| search.tree.visits(edge as u32)).sum();
                assert_eq!(search.tree.node_visits(node), below + 1, "node {node}");
            }
        }
        // Another game, other settings, or a game that was taken back: nothing is kept.
        let other = Game::new(game.position().clone());
        search.restart(&other, &puct(400), 1);
        assert_eq!(simulations(&mut search), 400);
        game.play_unchecked(search.result().chosen);
        search.restart(&game, &puct(400), 1);
        assert_eq!(simulations(&mut search), 400);
        game.play_unchecked(search.result().chosen);
        search.restart(&game, &SearchConfig { reuse_tree: false, ..puct(400) }, 1);
        assert_eq!(simulations(&mut search), 400);
    }
}

/// The same three stages of a mate in each variant: White's king on the far rank, Black's pawn two squares before it, and Black's
/// gold general beside the pawn. The gold general between the two is mate: it is protected, and attacks the king and every
/// square the king can step to.
const MATES: [(&str, &str, &str); 3] = [
    ("sho", "4k4/9/p3PG3/9/9/9/9/9/4K4 b - 1", "4c5b"),
    ("chu", "6k5/12/p5PG4/12/12/12/12/12/12/12/12/5K6 b - 1", "5c6b"),
    ("daidai", "8k8/17/p7PG7/17/17/17/17/17/17/17/17/17/17/17/17/17/8K8 b - 1", "8c9b"),
];

fn played(game: &Game, moves: &[&str]) -> Game {
    let mut game = game.clone();
    for text in moves {
        let mv = game.position().parse_usi(text).expect(text);
        game.play(mv).expect(text);
    }
    game
}

#[test]
fn the_last_royal_is_taken_without_the_network() {
    for (variant, sfen, mating) in MATES {
        // White passes the time with its pawn; Black takes the king.
        let pawn = Variant::load(variant, None).expect("built in").files();
        let game = played(&game(variant, sfen), &[mating, &format!("{pawn}c{pawn}d")]);
        let mut search = Search::new(&game, &SearchConfig::default(), 1);
        assert!(search.next_leaf().is_none(), "{variant}: nothing to judge");
        let result = search.result();
        let captured =
            game.position().captures(result.chosen).any(|(_, piece)| game.position().variant().kind(piece.kind).royal);
        assert!(captured, "{variant}: {}", game.position().usi(result.chosen));
        assert_eq!((result.value, result.wdl), (1.0, [1.0, 0.0, 0.0]));
        let best = result.moves.iter().position(|&mv| mv == result.chosen).expect("a legal move");
        assert_eq!(result.policy[best], 1.0);
        assert_eq!(result.policy.iter().sum::<f32>(), 1.0);
    }
}

#[test]
fn a_forced_loss_is_seen() {
    for (variant, sfen, mating) in MATES {
        let game = played(&game(variant, sfen), &[mating]);
        let result = search(&game, 64, 1);
        assert!(result.value < -0.95, "{variant}: {}", result.value);
        assert!(result.wdl[2] > 0.95, "{variant}: {:?}", result.wdl);
    }
}

#[test]
fn a_mate_in_one_is_preferred() {
    for (variant, sfen, mating) in MATES {
        let game = game(variant, sfen);
        let result = search(&game, 400, 1);
        let mating = game.position().parse_usi(mating).expect(mating);
        // Uniform priors: whatever the policy prefers, the search found. The pawn's promotion mates as well in sho.
        let value = |mv: Move| {
            let mut after = game.clone();
            after.play_unchecked(mv);
            -search(&after, 64, 1).value
        };
        assert!(value(result.chosen) > 0.95, "{variant}: {}", game.position().usi(result.chosen));
        let at = result.moves.iter().position(|&mv| mv == mating).expect("a legal move");
        let uniform = 1.0 / result.moves.len() as f32;
        assert!(result.policy[at] > 4.0 * uniform, "{variant}: {}", result.policy[at]);
        assert!(result.value > 0.5, "{variant}: {}", result.value);
    }
}

#[test]
fn visits_are_those_of_sequential_halving() {
    // 16 moves and 32 simulations: one round of 16, one of 8, two of 4 (the schedule's own test has the arithmetic).
    let game = game("chu", Variant::load("chu", None).expect("built in").start_sfen());
    for seed in 0..10 {
        let config = SearchConfig::default();
        let result = run(&mut Search::new(&game, &config, seed), &Arbitrary);
        let mut visits: Vec<u32> = result.visits.iter().copied().filter(|&n| n > 0).collect();
        visits.sort_unstable();
        assert_eq!(visits, [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4]);
        let chosen = result.moves.iter().position(|&mv| mv == result.chosen).expect("a legal move");
        assert_eq!(result.visits[chosen], 4);
    }
}

#[test]
fn results_are_distributions_and_repeat() {
    for variant in ["sho", "chu", "daidai"] {
        let variant = Variant::load(variant, None).expect("built in");
        let start = Game::new(Position::start(&variant));
        let other = played(&start, &[]);
        for (simulations, seed) in [(0, 1), (1, 2), (7, 3), (40, 4)] {
            let config = SearchConfig { simulations, ..SearchConfig::default() };
            let result = run(&mut Search::new(&start, &config, seed), &Arbitrary);
            assert!((result.policy.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!((result.wdl.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            assert!((result.value - (result.wdl[0] - result.wdl[2])).abs() < 1e-6);
            assert_eq!(result.visits.iter().sum::<u32>(), simulations);
            // A search in the memory of another one is the same search.
            let mut reused = Search::new(&other, &SearchConfig { noise: 0.0, ..config.clone() }, 99);
            run(&mut reused, &Uniform);
            reused.restart(&start, &config, seed);
            assert_eq!(run(&mut reused, &Arbitrary), result);
        }
    }
}

#[test]
fn without_noise_the_seed_does_not_matter() {
    let game = game("sho", "4k4/9/9/4p4/9/4P4/9/9/4K4 b - 1");
    let config = SearchConfig { noise: 0.0, simulations: 20, ..SearchConfig::default() };
    let result = |seed| run(&mut Search::new(&game, &config, seed), &Arbitrary);
    assert_eq!(result(1), result(2));
}

#[test]
fn noise_draws_from_the_policy() {
    // With no simulations the choice is a draw from softmax(logits) (the Gumbel-max trick), here nine moves to one.
    struct TenToOne;
    impl Evaluator for TenToOne {
        fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
            for (query, out) in batch.iter().zip(out) {
                let others = (query.moves.len() - 1) as f32;
                out.policy = query.moves.iter().map(|_| (0.1 / others).ln()).collect();
                out.policy[0] = 0.9f32.ln();
                out.wdl = [0.0, 1.0, 0.0];
            }
        }
        fn id(&self) -> &str {
            "ten to one"
        }
    }
    let game = game("sho", "4k4/9/9/4p4/9/4P4/9/9/4K4 b - 1");
    let config = SearchConfig { simulations: 0, ..SearchConfig::default() };
    let first = |seed| {
        let result = run(&mut Search::new(&game, &config, seed), &TenToOne);
        usize::from(result.chosen == result.moves[0])
    };
    let hits: usize = (0..2000).map(first).sum();
    // Binomial with p = 0.9: five standard deviations are 67.
    assert!(hits.abs_diff(1800) < 67, "{hits}");
}

#[test]
fn a_draw_is_worth_what_the_configuration_says() {
    let config = SearchConfig { draw_value: -0.5, ..SearchConfig::default() };
    assert_eq!(config.value([0.25, 0.5, 0.25]), -0.25);
    assert_eq!(SearchConfig::default().value([0.25, 0.5, 0.25]), 0.0);
}

#[test]
#[should_panic(expected = "not a number")]
fn a_broken_evaluator_is_noticed() {
    let game = game("sho", "4k4/9/9/4p4/9/4P4/9/9/4K4 b - 1");
    let mut search = Search::new(&game, &SearchConfig::default(), 1);
    let moves = search.next_leaf().expect("the root").moves.len();
    search.backup(&Evaluation { policy: vec![f32::NAN; moves], wdl: [1.0, 0.0, 0.0] });
}

#[test]
fn rescaled_values_run_from_0_to_1() {
    // By hand: (50 + 4) · 0.1 = 5.4 logits between the worst and the best move; half-way is half of it.
    let config = SearchConfig { c_scale: 0.1, rescale: true, ..SearchConfig::default() };
    let sigma = config.sigma(4, || (-0.2, 0.3));
    for (value, expected) in [(-0.2, 0.0), (0.05, 2.7), (0.3, 5.4)] {
        assert!((sigma.of(value) - expected).abs() < 1e-5, "{value}");
    }
    let same = config.sigma(4, || (0.1, 0.1));
    assert_eq!(same.of(0.1), 0.0, "moves of one value weigh nothing");
}

#[test]
fn configurations_are_strict() {
    let parse = |text: &str| serde_json::from_str::<SearchConfig>(text);
    assert_eq!(parse("{}").expect("all keys have defaults"), SearchConfig::default());
    assert!(parse(r#"{"simulation": 5}"#).expect_err("unknown").to_string().contains("simulation"));
    let bad = parse(r#"{"draw_value": 2.0}"#).expect("a number").validate().expect_err("out of range");
    assert_eq!(bad.to_string(), "`draw_value` is 2, expected from -1 to 1");
}

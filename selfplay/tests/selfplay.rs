//! Self-play from end to end with an evaluator that is not a network: the same files for any number of threads, resuming,
//! checking, counting.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use engine::{Color, Game, Move, Position, Variant};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use selfplay::data::{
    self, DataError, GameResult, GameRow, PositionRow, ShardKind, ShardPair, ShardWriter, State, find_shards,
    read_games, read_positions,
};
use selfplay::{
    Evaluation, Evaluator, GenerateError, Generation, LiveGame, Openings, Player, Progress, Query, SearchConfig,
    SelfplayConfig, Uniform, generate, generation_folder, live_file,
};

// The list of checksums is compared with what coreutils prints.
#[cfg(target_os = "linux")]
#[path = "selfplay/checksums.rs"]
mod checksums;

struct Setting {
    variant: Arc<Variant>,
    config: SelfplayConfig,
    search: SearchConfig,
    seed: u64,
    threads: usize,
}

fn setting(variant: &str) -> Setting {
    Setting {
        variant: Variant::load(variant, None).expect("built in"),
        config: SelfplayConfig {
            games: 11,
            games_per_thread: 3,
            games_per_shard: 4,
            opening_plies: 4,
            max_plies: 60,
            cheap_simulations: 2,
            sample_plies: 10,
            ..SelfplayConfig::default()
        },
        search: SearchConfig { simulations: 6, considered: 4, ..SearchConfig::default() },
        seed: 7,
        threads: 1,
    }
}

impl Setting {
    fn run(&self, run: &Path) -> Result<Progress, GenerateError> {
        self.run_for(run, usize::MAX)
    }

    /// Stops after so many judgements.
    fn run_for(&self, run: &Path, judgements: usize) -> Result<Progress, GenerateError> {
        let stop = AtomicBool::new(false);
        self.play(&Stopping { left: AtomicUsize::new(judgements), stop: &stop }, run, &stop)
    }

    fn run_with(&self, evaluator: &dyn Evaluator, run: &Path) -> Progress {
        self.play(evaluator, run, &AtomicBool::new(false)).expect("plays")
    }

    fn play(&self, evaluator: &dyn Evaluator, run: &Path, stop: &AtomicBool) -> Result<Progress, GenerateError> {
        let generation = Generation {
            variant: &self.variant,
            evaluator,
            config: &self.config,
            search: &self.search,
            run_seed: self.seed,
            number: 3,
            games: 0..self.config.games,
            threads: self.threads,
        };
        generate(&generation, run, &mut |_| (), stop)
    }
}

/// Knows nothing, and stops the run after some judgements.
struct Stopping<'a> {
    left: AtomicUsize,
    stop: &'a AtomicBool,
}

impl Evaluator for Stopping<'_> {
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
        Uniform.evaluate(batch, out);
        let left = self.left.load(Ordering::Relaxed).saturating_sub(batch.len());
        self.left.store(left, Ordering::Relaxed);
        if left == 0 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn id(&self) -> &str {
        Uniform.id()
    }
}

/// Every file under a folder with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("inside").to_owned();
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

fn resolve(name: &str, ruleset: &str) -> Option<Arc<Variant>> {
    Variant::load(name, Some(ruleset)).ok()
}

fn shards(run: &Path) -> Vec<ShardPair> {
    find_shards(&[run.to_owned()]).expect("a run")
}

#[test]
fn the_same_files_for_any_number_of_threads_and_every_check_passes() {
    for variant in ["sho", "chu", "daidai"] {
        let mut setting = setting(variant);
        let one = tempfile::tempdir().expect("a folder");
        let progress = setting.run(one.path()).expect("plays");
        assert!(progress.is_complete());
        let expected = files(one.path());
        let names: Vec<String> = expected.keys().map(|path| path.display().to_string()).collect();
        let kinds = ["games", "positions"];
        let shards_of = |kind: &str| {
            ["000000-000003", "000004-000007", "000008-000010"]
                .map(|games| format!("{kind}/gen-000003/{games}.parquet"))
        };
        let lists = kinds.map(|kind| format!("checksums/{kind}-gen-000003.sha256"));
        assert_eq!(names, [lists.to_vec(), kinds.map(shards_of).concat()].concat());

        setting.threads = 3;
        setting.config.games_per_thread = 2;
        setting.config.cache_mb = 0;
        let three = tempfile::tempdir().expect("a folder");
        setting.run(three.path()).expect("plays");
        assert!(files(three.path()) == expected, "{variant}: other files with three threads");

        let report = data::check(&shards(one.path()), &[], &resolve);
        assert_eq!(report.problems, []);
        assert_eq!((report.shards, report.games, report.positions), (3, 11, progress.positions));

        let stats = &data::stats(&shards(one.path())).expect("readable")[0];
        assert_eq!((stats.variant.as_str(), stats.generations, stats.games), (variant, [3, 3], 11));
        assert_eq!(stats.positions, progress.positions);
        assert_eq!(stats.mean_plies, progress.positions as f64 / 11.0);
        assert_eq!(stats.results.values().sum::<u64>(), 11);
        assert_eq!(stats.duplicates, 0);
        assert!(stats.mean_branching > 10.0 && f64::from(stats.most_branching) >= stats.mean_branching);
    }
}

#[test]
fn another_seed_or_generation_is_another_game() {
    let mut setting = setting("sho");
    setting.config.games = 1;
    let moves = |setting: &Setting| {
        let run = tempfile::tempdir().expect("a folder");
        setting.run(run.path()).expect("plays");
        read_games(&shards(run.path())[0].games).expect("readable").rows.remove(0).moves
    };
    let first = moves(&setting);
    setting.seed = 8;
    assert_ne!(first, moves(&setting));
}

#[test]
fn a_stopped_run_resumes_to_the_same_files() {
    let mut setting = setting("sho");
    let whole = tempfile::tempdir().expect("a folder");
    setting.run(whole.path()).expect("plays");

    let stopped = tempfile::tempdir().expect("a folder");
    setting.threads = 2;
    let (mut before, mut stops) = (0, 0);
    loop {
        // Some games' worth of judgements.
        let progress = setting.run_for(stopped.path(), 1000).expect("plays");
        assert_eq!(progress.games_found, before, "finished games are kept");
        if progress.is_complete() {
            break;
        }
        before = progress.games;
        stops += 1;
        assert!(stops < 20, "no progress");
    }
    assert!(stops > 1, "it was stopped more than once");
    assert!(files(stopped.path()) == files(whole.path()));
    // Nothing is left to do.
    assert_eq!(setting.run(stopped.path()).expect("complete").games_found, 11);
}

#[test]
fn a_lost_shard_is_played_again_and_a_longer_run_goes_on() {
    let mut setting = setting("sho");
    let run = tempfile::tempdir().expect("a folder");
    setting.run(run.path()).expect("plays");
    let expected = files(run.path());
    let pairs = shards(run.path());
    fs::remove_file(&pairs[0].games).expect("there");
    fs::remove_file(&pairs[1].positions).expect("there");
    let progress = setting.run(run.path()).expect("plays");
    assert_eq!(progress.games_found, 3);
    assert!(files(run.path()) == expected);

    setting.config.games = 13;
    let progress = setting.run(run.path()).expect("plays");
    assert_eq!((progress.games_found, progress.games), (11, 13));
    assert_eq!(data::check(&shards(run.path()), &[], &resolve).problems, []);
}

#[test]
fn shards_of_other_settings_are_refused() {
    let mut setting = setting("sho");
    setting.config.games = 2;
    let run = tempfile::tempdir().expect("a folder");
    setting.run(run.path()).expect("plays");
    setting.seed = 8;
    let error = setting.run(run.path()).expect_err("another seed").to_string();
    assert!(error.contains("000000-000001.parquet") && error.contains("seed 7") && error.contains('8'), "{error}");
    setting.seed = 7;
    setting.search.simulations = 5;
    let error = setting.run(run.path()).expect_err("other settings").to_string();
    assert!(error.contains("settings"), "{error}");
}

#[test]
fn settings_out_of_range_are_refused() {
    let mut setting = setting("sho");
    setting.config.temperature = 0.0;
    let run = tempfile::tempdir().expect("a folder");
    let error = setting.run(run.path()).expect_err("no temperature").to_string();
    assert_eq!(error, "`temperature` is 0, expected above 0 and at most 100");
    assert!(files(run.path()).is_empty());
}

#[test]
fn resignation_ends_games_early() {
    let mut setting = setting("sho");
    // A side whose search says less than 0 twice in a row gives up, which happens even to one that knows nothing.
    setting.config.resign_below = Some(0.0);
    setting.config.resign_plies = 2;
    setting.config.resign_audit = 0.0;
    setting.config.max_plies = 200;
    let run = tempfile::tempdir().expect("a folder");
    setting.run(run.path()).expect("plays");
    let stats = &data::stats(&shards(run.path())).expect("readable")[0];
    assert!(stats.reasons.get(selfplay::RESIGNATION).is_some_and(|&n| n >= 1), "{:?}", stats.reasons);
    assert_eq!(data::check(&shards(run.path()), &[], &resolve).problems, []);
}

/// Is sure that Black wins.
struct BlackWins;

impl Evaluator for BlackWins {
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
        Uniform.evaluate(batch, out);
        for (query, out) in batch.iter().zip(out) {
            let black = query.game.position().side_to_move() == Color::Black;
            out.wdl = if black { [0.99, 0.0, 0.01] } else { [0.01, 0.0, 0.99] };
        }
    }

    fn id(&self) -> &str {
        "black wins"
    }
}

#[test]
fn resignations_are_audited() {
    let mut setting = setting("sho");
    setting.config.resign_below = Some(-0.9);
    setting.config.resign_plies = 2;
    setting.config.resign_audit = 1.0;
    let run = tempfile::tempdir().expect("a folder");
    let progress = setting.run_with(&BlackWins, run.path());
    // White would give up every game after two of its moves, and none is lost by the cap of 60 plies.
    assert_eq!((progress.resign_audits, progress.endings.get("resignation")), (11, None));
    let lost = read_all_games(run.path()).filter(|game| game.result == Some(GameResult::Won(Color::Black))).count();
    assert_eq!(progress.resign_audits_saved, 11 - lost as u64);

    setting.config.resign_audit = 0.0;
    let run = tempfile::tempdir().expect("a folder");
    let progress = setting.run_with(&BlackWins, run.path());
    assert_eq!((progress.resign_audits, progress.endings["resignation"]), (0, 11));
    assert!(read_all_games(run.path()).all(|game| game.result == Some(GameResult::Won(Color::Black))));
}

fn read_all_games(run: &Path) -> impl Iterator<Item = GameRow> {
    shards(run).into_iter().flat_map(|shard| read_games(&shard.games).expect("readable").rows)
}

#[test]
fn lopsided_games_are_searched_cheaply() {
    let mut setting = setting("sho");
    setting.config.full_fraction = 1.0;
    setting.config.lopsided_above = Some(0.9);
    setting.config.lopsided_plies = 3;
    let run = tempfile::tempdir().expect("a folder");
    setting.run_with(&BlackWins, run.path());
    let rows = read_positions(&shards(run.path())[0].positions).expect("readable").rows;
    for row in &rows {
        // A royal that can be taken makes the value certain for one ply, of either sign.
        assert_eq!(row.full_search, row.ply < 3, "game {} ply {}: {}", row.game_id, row.ply, row.search_value);
    }
}

/// Reads the game that is shown whenever it is asked for a judgement.
struct Looking {
    file: PathBuf,
    seen: Mutex<Vec<LiveGame>>,
}

impl Evaluator for Looking {
    fn evaluate(&self, batch: &[Query<'_>], out: &mut [Evaluation]) {
        if let Ok(text) = fs::read_to_string(&self.file) {
            let live = serde_json::from_str(&text).expect("written whole");
            self.seen.lock().expect("no panics").push(live);
        }
        Uniform.evaluate(batch, out);
    }

    fn id(&self) -> &str {
        "looking"
    }
}

#[test]
fn one_game_can_be_watched() {
    let setting = setting("chu");
    let run = tempfile::tempdir().expect("a folder");
    let looking = Looking { file: live_file(run.path()), seen: Mutex::default() };
    setting.run_with(&looking, run.path());
    assert!(!looking.file.exists(), "nothing is shown once nothing is played");
    let seen = looking.seen.into_inner().expect("no panics");
    assert!(!seen.is_empty());
    for live in seen {
        let game = read_all_games(run.path()).find(|game| game.game_id & 0xffff_ffff == live.number).expect("recorded");
        assert_eq!(game.moves[..live.moves.len()], live.moves);
        let mut position = Position::from_sfen(&setting.variant, &game.opening_sfen).expect("recorded");
        for text in &live.moves {
            position.play_unchecked(position.parse_usi(text).expect("recorded"));
        }
        assert_eq!(position.sfen(), live.sfen);
        assert_eq!((live.variant.as_str(), live.network.as_str(), live.generation), ("chu", "looking", 3));
    }
}

fn one_shard() -> (tempfile::TempDir, ShardPair) {
    let mut setting = setting("sho");
    setting.config.games = 3;
    let run = tempfile::tempdir().expect("a folder");
    setting.run(run.path()).expect("plays");
    let pair = shards(run.path()).remove(0);
    (run, pair)
}

/// Writes the shard again with changed rows.
fn change(pair: &ShardPair, games: impl Fn(&mut Vec<GameRow>), positions: impl Fn(&mut Vec<PositionRow>)) {
    fn write<R: data::Row>(path: &Path, mut shard: data::Shard<R>, change: impl Fn(&mut Vec<R>)) {
        change(&mut shard.rows);
        let mut writer = ShardWriter::create(path, &shard.meta).expect("writable");
        shard.rows.into_iter().for_each(|row| writer.push(row).expect("fits"));
        writer.finish().expect("writable");
    }
    write(&pair.games, read_games(&pair.games).expect("readable"), games);
    write(&pair.positions, read_positions(&pair.positions).expect("readable"), positions);
}

/// Another result than this one.
fn other(result: Option<GameResult>) -> Option<GameResult> {
    if result == Some(GameResult::Draw) { Some(GameResult::Won(Color::Black)) } else { Some(GameResult::Draw) }
}

#[test]
fn check_finds_what_is_wrong() {
    type Change<R> = fn(&mut Vec<R>);
    let cases: &[(Change<GameRow>, Change<PositionRow>, &str)] = &[
        (|_| (), |p| p[5].policy[0] += 0.5, "positions row 5: policy: does not sum to 1"),
        (|_| (), |p| p[6].search_wdl = [0.5, 0.0, 0.0], "positions row 6: search_wdl: does not sum to 1"),
        (|_| (), |p| p[7].search_value = f32::NAN, "positions row 7: search_value"),
        (|_| (), |p| p[8].board[40] ^= 2, "positions row 8: board"),
        (|_| (), |p| p[9].side_to_move ^= 1, "positions row 9: side_to_move"),
        (|_| (), |p| p[10].state[4] ^= 1, "positions row 10: state"),
        (|_| (), |p| p[11].moves[0] = 0, "positions row 11: moves"),
        (|_| (), |p| p[12].played = (p[12].played + 1) % 2, "positions row 12: played"),
        (|_| (), |p| p[13].plies_left += 1, "positions row 13: plies_left"),
        (|_| (), |p| p[14].survives[0] ^= 1, "positions row 14: survives"),
        (|_| (), |p| p[15].outcome = Some(if p[15].outcome == Some(1) { -1 } else { 1 }), "positions row 15: outcome"),
        (|_| (), |p| p.truncate(30), " positions"),
        (|_| (), |p| p.push(p[0].clone()), "no game has this position"),
        (|_| (), |p| p.swap(1, 2), "positions row 1: ply"),
        (|g| g[0].moves[3] = "5a5i".to_owned(), |_| (), "games row 0: move 3"),
        // The piece has left that square.
        (|g| g[1].moves[5] = g[1].moves[3].clone(), |_| (), "games row 1: move 5"),
        (|g| g[1].opening_sfen = "9/9".to_owned(), |_| (), "row 1: opening_sfen"),
        (|g| g[2].reason = "repetition".to_owned(), |_| (), "games row 2: ended with"),
        (|g| g[1].result = other(g[1].result), |_| (), "games row 1: ended with"),
        (|g| g.swap(0, 1), |_| (), "expected the games 0 to 2"),
    ];
    let (_run, pair) = one_shard();
    let intact = [&pair.games, &pair.positions].map(|path| fs::read(path).expect("there"));
    for (games, positions, expected) in cases {
        change(&pair, games, positions);
        let problems = data::check(std::slice::from_ref(&pair), &[], &resolve).problems;
        let text = |problem: &data::Problem| {
            let kind = if problem.file == pair.games { "games" } else { "positions" };
            match problem.row {
                Some(row) => format!("{kind} row {row}: {}", problem.what),
                None => problem.what.clone(),
            }
        };
        assert!(problems.iter().any(|problem| text(problem).contains(expected)), "{expected}: {problems:?}");
        fs::write(&pair.games, &intact[0]).expect("writable");
        fs::write(&pair.positions, &intact[1]).expect("writable");
    }
    assert_eq!(data::check(&[pair], &[], &resolve).problems, []);
}

#[test]
fn damaged_files_are_errors_never_panics() {
    let (_run, pair) = one_shard();
    for path in [&pair.games, &pair.positions] {
        let intact = fs::read(path).expect("there");
        for length in [0, 3, 4, intact.len() / 2, intact.len() - 1] {
            fs::write(path, &intact[..length]).expect("writable");
            let problems = data::check(std::slice::from_ref(&pair), &[], &resolve).problems;
            assert!(problems.iter().any(|problem| problem.file == *path), "cut to {length} bytes");
        }
        // Every 97th byte turned over: some of these only change a number, but none may panic.
        for at in (0..intact.len()).step_by(97) {
            let mut bytes = intact.clone();
            bytes[at] ^= 0xff;
            fs::write(path, &bytes).expect("writable");
            let _ = data::check(std::slice::from_ref(&pair), &[], &resolve);
        }
        fs::write(path, &intact).expect("writable");
    }
    fs::remove_file(&pair.games).expect("there");
    assert_eq!(data::check(std::slice::from_ref(&pair), &[], &resolve).problems.len(), 1);
    assert!(matches!(read_games(&pair.games), Err(DataError::Io { .. })));
    assert!(matches!(read_games(&pair.positions), Err(DataError::Schema { .. })));
    assert!(find_shards(std::slice::from_ref(&pair.games)).is_err(), "a path that is not there");
}

/// Survivors by giving every piece a name and following it forwards.
fn survivors_slowly(boards: &[Vec<u8>], moves: &[Move], variant: &Variant) -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<Option<usize>>> = Vec::new();
    let mut now: Vec<Option<usize>> = boards[0].iter().enumerate().map(|(i, &code)| (code != 0).then_some(i)).collect();
    for mv in moves {
        names.push(now.clone());
        let piece = now[mv.from().index()].take();
        for square in mv.on_the_way(variant.board()).into_iter().flatten() {
            now[square.index()] = None;
        }
        now[mv.to().index()] = piece;
    }
    let survives = |name: &Option<usize>| u8::from(name.is_some() && now.contains(name));
    names.iter().map(|board| board.iter().map(survives).collect()).collect()
}

#[test]
fn survivors_are_the_pieces_that_reach_the_end() {
    for variant in ["sho", "chu", "daidai"] {
        let variant = Variant::load(variant, None).expect("built in");
        let mut captures = 0;
        for seed in 0..20 {
            let mut game = Game::new(Position::start(&variant));
            let mut boards = vec![game.position().codes().to_vec()];
            while game.outcome().is_none() && game.ply() < 200 {
                let mv = Player::Random.choose(&game, seed * 1000 + game.ply() as u64);
                captures += mv.on_the_way(variant.board()).into_iter().flatten().count();
                game.play_unchecked(mv);
                boards.push(game.position().codes().to_vec());
            }
            let moves: Vec<Move> = game.moves().collect();
            let fast = data::survivors(&variant, &moves, game.position().codes());
            assert!(fast == survivors_slowly(&boards, &moves, &variant), "{}, seed {seed}", variant.name());
        }
        assert!(variant.name() == "sho" || captures > 0, "no lion captured on its way");
    }
}

#[test]
fn openings_are_safe_and_varied() {
    for variant in ["sho", "chu", "daidai"] {
        let variant = Variant::load(variant, None).expect("built in");
        let openings = Openings::new(&variant, 12);
        let opening = |seed| openings.draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut seen = BTreeSet::new();
        for seed in 0..50 {
            let position = opening(seed);
            assert!(position.winning_capture().is_none() && Game::new(position.clone()).outcome().is_none());
            assert_eq!(position.sfen(), opening(seed).sfen());
            seen.insert(position.sfen());
        }
        assert!(seen.len() > 40, "{} of 50 differ", seen.len());
    }
}

#[test]
fn a_share_of_the_searches_is_full() {
    let mut setting = setting("sho");
    setting.config.games = 40;
    setting.config.games_per_shard = 40;
    let run = tempfile::tempdir().expect("a folder");
    setting.run(run.path()).expect("plays");
    let rows = read_positions(&shards(run.path())[0].positions).expect("readable").rows;
    let full = rows.iter().filter(|row| row.full_search).count() as f64 / rows.len() as f64;
    // 0.25 by default, five standard deviations for some 1500 positions.
    assert!(rows.len() > 1000 && (full - 0.25).abs() < 0.055, "{full} of {}", rows.len());
}

#[test]
fn state_bytes_come_back() {
    let state = State { ban_square: Some(300), occurrences: 3, plies_since_capture: 1000, ply: 40_000 };
    assert_eq!(state.to_bytes(), [0x2c, 0x01, 3, 0, 0xe8, 0x03, 0x40, 0x9c]);
    assert_eq!(State::from_bytes(state.to_bytes()), state);
    let state = State { ban_square: None, ..state };
    assert_eq!(State::from_bytes(state.to_bytes()), state);
}

#[test]
fn rows_come_back_and_misfits_are_refused() {
    let (run, pair) = one_shard();
    let shard = read_positions(&pair.positions).expect("readable");
    let folder = generation_folder(run.path(), ShardKind::Positions, 9);
    let copy = folder.join("copy.parquet");
    // Enough rows for several row groups.
    let rows: Vec<PositionRow> = shard.rows.iter().cycle().take(70_000).cloned().collect();
    let mut writer = ShardWriter::create(&copy, &shard.meta).expect("writable");
    rows.iter().for_each(|row| writer.push(row.clone()).expect("fits"));
    let mut misfit = rows[0].clone();
    misfit.policy.pop();
    assert!(writer.push(misfit).expect_err("lists of different lengths").to_string().contains("copy.parquet"));
    assert!(!copy.exists(), "nothing is there before it is complete");
    writer.finish().expect("writable");
    assert!(read_positions(&copy).expect("readable").rows == rows);
    let reader = data::ShardReader::open::<PositionRow>(&copy).expect("readable");
    assert_eq!((reader.rows(), reader.groups()), (70_000, 2));

    let writer: ShardWriter<PositionRow> =
        ShardWriter::create(&folder.join("dropped.parquet"), &shard.meta).expect("writable");
    drop(writer);
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "a dropped writer leaves nothing");
}

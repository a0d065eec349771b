//! The checksums of shards: written, completed, obeyed. What a file's checksum is, coreutils says.

use std::process::Command;

use selfplay::data::{find_checksums, sums_file};

use super::*;

fn run_with_shards() -> (tempfile::TempDir, Setting, Vec<ShardPair>) {
    let setting = setting("sho");
    let run = tempfile::tempdir().expect("a folder");
    setting.run(run.path()).expect("plays");
    let pairs = shards(run.path());
    (run, setting, pairs)
}

fn folders(run: &Path) -> [PathBuf; 2] {
    [ShardKind::Games, ShardKind::Positions].map(|kind| generation_folder(run, kind, 3))
}

/// What `sha256sum` prints of a folder of shards, in the run.
fn coreutils(folder: &Path) -> String {
    let run = folder.parent().and_then(Path::parent).expect("in a run");
    let inside = folder.strip_prefix(run).expect("in the run").display();
    let command = format!("LC_ALL=C sha256sum {inside}/*.parquet");
    let output = Command::new("sh").args(["-c", &command]).current_dir(run).output();
    String::from_utf8(output.expect("coreutils").stdout).expect("text")
}

fn list_of(folder: &Path) -> PathBuf {
    sums_file(folder).expect("a folder of shards")
}

fn list(folder: &Path) -> String {
    fs::read_to_string(list_of(folder)).expect("there")
}

fn remove_lists(run: &Path) {
    for folder in folders(run) {
        fs::remove_file(list_of(&folder)).expect("there");
    }
}

fn flip(file: &Path, at: usize) {
    let mut bytes = fs::read(file).expect("there");
    bytes[at] ^= 1;
    fs::write(file, bytes).expect("writable");
}

/// The middle of the pages and the middle of the footer: a parquet file ends with the footer, its length in four bytes and
/// `PAR1` (the format's documentation, "File format").
fn middles(file: &Path) -> [usize; 2] {
    let bytes = fs::read(file).expect("there");
    let (rest, magic) = bytes.split_last_chunk::<4>().expect("long enough");
    let (rest, length) = rest.split_last_chunk::<4>().expect("long enough");
    assert_eq!(magic, b"PAR1");
    let footer = rest.len() - u32::from_le_bytes(*length) as usize;
    [footer / 2, (footer + rest.len()) / 2]
}

#[test]
fn lists_are_those_of_coreutils() {
    let (run, mut setting, _) = run_with_shards();
    for games in [11, 13] {
        setting.config.games = games;
        setting.run(run.path()).expect("plays");
        for folder in folders(run.path()) {
            assert_eq!(list(&folder), coreutils(&folder));
            let check = Command::new("sha256sum")
                .args(["--check", "--strict"])
                .arg(list_of(&folder))
                .current_dir(run.path())
                .output();
            assert!(check.expect("coreutils").status.success());
        }
    }
}

#[test]
fn shards_without_a_line_get_theirs() {
    let (run, setting, pairs) = run_with_shards();
    let expected = files(run.path());
    let [games, positions] = folders(run.path());
    let second_line_removed = |folder: &Path| {
        let all = list(folder);
        let kept: Vec<&str> = all.lines().enumerate().filter(|(i, _)| *i != 1).map(|(_, line)| line).collect();
        fs::write(list_of(folder), kept.join("\n")).expect("writable");
    };
    // As the program may leave it when it is killed, and as older versions left it.
    let states: [(&dyn Fn(), u64); 4] = [
        (&|| second_line_removed(&positions), 1),
        (&|| [&games, &positions].into_iter().for_each(|folder| second_line_removed(folder)), 1),
        (&|| remove_lists(run.path()), 3),
        (
            &|| {
                second_line_removed(&games);
                fs::write(list_of(&games).with_extension("sha256.tmp"), "half a li").expect("writable");
            },
            1,
        ),
    ];
    for (i, (state, without)) in states.into_iter().enumerate() {
        state();
        let report = data::check(&pairs, &find_checksums(&[run.path().to_owned()]).expect("a run"), &resolve);
        assert_eq!((report.problems, report.without_checksum), (vec![], without), "state {i}");
        assert_eq!(setting.run(run.path()).expect("complete").games_found, 11, "state {i}");
        assert!(files(run.path()) == expected, "state {i}");
    }
}

#[test]
fn an_unlisted_shard_that_cannot_be_read_is_played_again() {
    let (run, setting, pairs) = run_with_shards();
    let expected = files(run.path());
    remove_lists(run.path());
    let bytes = fs::read(&pairs[1].positions).expect("there");
    fs::write(&pairs[1].positions, &bytes[..bytes.len() / 2]).expect("writable");
    // Its footer can be read, but not its pages.
    let mut bytes = fs::read(&pairs[0].positions).expect("there");
    let [pages, _] = middles(&pairs[0].positions);
    bytes[4..pages].fill(0);
    fs::write(&pairs[0].positions, &bytes).expect("writable");
    assert_eq!(setting.run(run.path()).expect("plays").games_found, 3);
    assert!(files(run.path()) == expected);
}

#[test]
fn a_shard_other_than_listed_stops_the_resumed_run() {
    let (run, setting, pairs) = run_with_shards();
    let expected = files(run.path());
    for file in [&pairs[0].games, &pairs[2].positions] {
        for at in middles(file) {
            flip(file, at);
            let damaged = files(run.path());
            let error = setting.run(run.path()).expect_err("damaged").to_string();
            let says = [file.to_str().expect("text"), "SHA-256 differs from the one listed", "remove it and resume"];
            assert!(says.iter().all(|text| error.contains(text)), "{error}");
            assert!(files(run.path()) == damaged, "nothing is touched");
            fs::remove_file(file).expect("there");
            assert!(setting.run(run.path()).expect("plays").is_complete());
            assert!(files(run.path()) == expected);
        }
    }
    let list = list_of(&folders(run.path())[0]);
    fs::write(&list, "hello\n").expect("writable");
    let error = setting.run(run.path()).expect_err("no list").to_string();
    assert!(error.contains(list.to_str().expect("text")) && error.contains("line 1"), "{error}");
}

#[test]
fn check_names_the_file_with_one_byte_turned() {
    let (run, _, pairs) = run_with_shards();
    let listing = find_checksums(&[run.path().to_owned()]).expect("a run");
    assert_eq!(listing, folders(run.path()));
    for file in pairs.iter().flat_map(|pair| [&pair.games, &pair.positions]) {
        let (folder, name) = (file.parent().expect("a folder"), file.file_name().expect("a name").to_str());
        let sum = || {
            let sums = coreutils(folder);
            let line = sums.lines().find(|line| line.ends_with(name.expect("text"))).expect("printed");
            line[..64].to_owned()
        };
        let (intact, before) = (fs::read(file).expect("there"), sum());
        for at in middles(file) {
            flip(file, at);
            let problems = data::check(&pairs, &listing, &resolve).problems;
            let what = format!("its SHA-256 differs from the one listed: expected {before}, found {}", sum());
            assert!(problems.contains(&data::Problem { file: file.clone(), row: None, what }), "{problems:?}");
            fs::write(file, &intact).expect("writable");
        }
    }
    assert_eq!(data::check(&pairs, &listing, &resolve).problems, []);
}

#[test]
fn check_misses_files_that_are_listed() {
    let (run, _, pairs) = run_with_shards();
    let found = |paths: &[PathBuf]| {
        let (shards, listing) = (find_shards(paths).expect("a run"), find_checksums(paths).expect("a run"));
        data::check(&shards, &listing, &resolve).problems
    };
    let gone = |file: &PathBuf| {
        let what = "its checksum is listed, but it is not there".to_owned();
        data::Problem { file: file.clone(), row: None, what }
    };
    let all = [run.path().to_owned()];
    // One half of a shard.
    fs::remove_file(&pairs[1].positions).expect("there");
    assert_eq!(found(&all), [gone(&pairs[1].positions)]);
    // The whole shard: only who asks for the folder misses it.
    fs::remove_file(&pairs[1].games).expect("there");
    assert_eq!(found(&all), [gone(&pairs[1].games), gone(&pairs[1].positions)]);
    assert_eq!(found(std::slice::from_ref(&pairs[0].games)), []);
    // Every shard.
    for file in [&pairs[0], &pairs[2]].into_iter().flat_map(|pair| [&pair.games, &pair.positions]) {
        fs::remove_file(file).expect("there");
    }
    assert_eq!(found(&all).len(), 6);
    // A list that is none.
    let [folder, _] = folders(run.path());
    fs::write(list_of(&folder), "hello\n").expect("writable");
    let problems = found(&all);
    assert!(problems.iter().any(|problem| problem.file == list_of(&folder)), "{problems:?}");
}

//! Engines as players, against scripts that speak like engines. The moves were worked out by hand on the diagrams.
#![cfg(unix)]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::{Color, Game, Position, Reason, Variant};
use eval::external::Engine;
use selfplay::{
    ExternalError, ExternalSpec, GameSetup, PlayOptions, PlayedGame, Player, PlayerSpec, Protocol, play_games,
};

const HELLO: &str = "echo 'feature ping=1 setboard=1 usermove=1 option=\"Odd rule -check 0\" variants=\"chu\" done=1'";

/// An engine that speaks CECP and does one thing after the other when it is to move. Its process is told in its transcript.
fn cecp(answers: &[&str]) -> String {
    cecp_with(HELLO, ":", answers)
}

fn cecp_with(hello: &str, told: &str, answers: &[&str]) -> String {
    let cases: String = answers.iter().enumerate().map(|(n, answer)| format!("{}) {answer};;\n", n + 1)).collect();
    format!(
        "echo pid $$ >&2; n=0\nwhile read -r line; do case \"$line\" in\nprotover*) {hello};;\n\
         ping*) echo \"pong ${{line#ping }}\";;\nusermove*) {told};;\nnew) n=0;;\n\
         go) n=$((n+1)); case $n in\n{cases}esac;;\nquit) exit 0;;\nesac; done"
    )
}

fn usi(answers: &[&str]) -> String {
    let cases: String = answers.iter().enumerate().map(|(n, answer)| format!("{}) {answer};;\n", n + 1)).collect();
    format!(
        "echo pid $$ >&2; n=0\nwhile read -r line; do case \"$line\" in\n\
         usi) echo 'option name UCI_Variant type combo default chess var chu'; echo usiok;;\n\
         isready) echo readyok;;\nusinewgame) n=0;;\n\
         go*) n=$((n+1)); case $n in\n{cases}esac;;\nquit) exit 0;;\nesac; done"
    )
}

fn spec(protocol: Protocol, script: &str, folder: &Path) -> ExternalSpec {
    let text = match protocol {
        Protocol::Cecp => "cecp:sh,deadline=5",
        Protocol::Usi => "usi:sh,deadline=5,variant=chu",
    };
    let PlayerSpec::External(spec) = text.parse().expect(text) else { panic!("no engine") };
    let command = ["sh", "-c", script].map(str::to_string).to_vec();
    ExternalSpec { command, transcript: Some(folder.to_owned()), ..*spec }
}

fn chu() -> Arc<Variant> {
    Variant::load("chu", Some("hachu")).expect("built in")
}

fn player(spec: &ExternalSpec) -> Player {
    Player::External(Arc::new(Engine::new(spec, &chu()).expect("it starts")))
}

type Played = Result<Vec<Option<PlayedGame>>, ExternalError>;

/// Games from a position in which the first player is Black.
fn play(players: [&Player; 2], sfen: &str, games: usize, threads: usize, stop: &AtomicBool) -> Played {
    let start = Game::new(Position::from_sfen(&chu(), sfen).expect(sfen));
    let setup = GameSetup { start, first_player: Color::Black, seed: 1 };
    let options = PlayOptions { threads, games_per_thread: 8, cache_mb: 0, max_plies: 100 };
    play_games(players, &vec![setup; games], &options, stop, &|_, _| ControlFlow::Continue(()))
}

fn transcripts(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

/// All processes that wrote their numbers into transcripts are gone, zombies too.
fn assert_gone(folder: &Path) {
    let mut seen = 0;
    for path in transcripts(folder) {
        let text = std::fs::read_to_string(path).expect("a transcript");
        for pid in text.lines().filter_map(|line| line.strip_prefix("pid ")) {
            seen += 1;
            let lives = || {
                let status = Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status();
                status.expect("kill runs").success()
            };
            // What is not our child is gone once whoever inherits it has looked.
            let since = Instant::now();
            while lives() && since.elapsed() < Duration::from_secs(5) {
                std::thread::sleep(Duration::from_millis(20));
            }
            assert!(!lives(), "{pid} lives");
        }
    }
    assert!(seen > 0);
}

/// Black: king 1l, lion 6g, silvers 11e and 9e, pawns 2d, 2e, 1e. White: king 12a, lion 3c, pawns 7h and 5h, silvers 4h and 2h.
const LIONS: &str = "k11/12/9n2/10P1/1S1S6PP/12/6N5/5p1ps1s1/12/12/12/11K b - 1";

#[test]
fn every_kind_of_move_goes_both_ways() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("cecp"), folder.path().join("usi"));
    let black = cecp(&[
        "echo 'move g6h5,'; echo 'move h5g6'",
        "echo 'move @@@@'",
        "echo 'move g6f5,'; echo 'move f5e4'",
        "echo 'move e4e6'",
        "echo 'move d8d9+'",
        "echo 'move b8b9'",
    ]);
    let white = usi(&[
        "echo bestmove 3c2d2e",
        "echo bestmove 4h4i+",
        "echo info depth 1; echo bestmove 2e2d2e ponder 1a1b",
        "echo bestmove 2h2i",
        "echo bestmove 2e1e2e",
        "echo bestmove resign",
    ]);
    let first = player(&spec(Protocol::Cecp, &black, &one));
    let second = player(&spec(Protocol::Usi, &white, &two));
    let played = play([&first, &second], LIONS, 1, 1, &AtomicBool::new(false)).expect("no failure");
    drop((first, second));
    let game = played[0].as_ref().expect("finished");
    assert_eq!((game.outcome, game.resigned), (None, Some(Color::White)));
    // Igui, double capture; pass, promotion; hit and move on, pass; jump, promotion declined; promotion, igui; declined.
    let moves = "6g5h6g 3c2d2e 6g6f6g 4h4i+ 6g7h8i 2e2d2e 8i8g 2h2i 9e9d+ 2e1e2e 11e11d";
    let mut position = Position::from_sfen(&chu(), LIONS).expect(LIONS);
    for (&mv, text) in game.moves.iter().zip(moves.split(' ')) {
        assert_eq!(position.parse_usi(text), Ok(mv), "{text}");
        position.play_unchecked(mv);
    }
    assert_eq!(game.moves.len(), 11);
    let said = std::fs::read_to_string(&transcripts(&two)[0]).expect("a transcript");
    assert!(said.contains("> setoption name UCI_Variant value chu\n"));
    let last = said.lines().rfind(|line| line.contains("> position")).expect("a position");
    assert!(last.ends_with(&format!("position sfen {LIONS} moves {moves}")), "{last}");
    let said = std::fs::read_to_string(&transcripts(&one)[0]).expect("a transcript");
    let told: Vec<_> = said.lines().filter_map(|line| line.split_once("> usermove ")).map(|(_, mv)| mv).collect();
    assert_eq!(told, ["j10k9,k9k8", "i5i4+", "@@@@", "k5k4", "k8l8,l8k8"]);
    assert_gone(&one);
    assert_gone(&two);
}

/// Black's rook takes the king at once.
const ROOK: &str = "k11/12/12/12/12/12/12/12/12/12/12/R10K b - 1";

#[test]
fn games_are_played_to_the_end_on_a_process_for_each_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("cecp"), folder.path().join("usi"));
    // The rook steps aside and takes the king that does so too.
    let black = cecp(&["echo 'move a1b1'", "echo 'move b1b12'; echo '1-0 {king capture}'"]);
    let first = player(&spec(Protocol::Cecp, &black, &one));
    let second = player(&spec(Protocol::Usi, &usi(&["echo bestmove 12a11a"]), &two));
    for _ in 0..2 {
        let played = play([&first, &second], ROOK, 6, 2, &AtomicBool::new(false)).expect("no failure");
        for game in played {
            let outcome = game.expect("finished").outcome.expect("over");
            assert_eq!((outcome.winner, outcome.reason), (Some(Color::Black), Reason::RoyalCaptured));
        }
    }
    drop((first, second));
    for folder in [one, two] {
        let processes = transcripts(&folder).len();
        assert!((1..=2).contains(&processes), "{processes}");
        assert_gone(&folder);
    }
}

/// One game of a script that cannot be finished: the error names what happened, where and the transcript, and nothing is
/// left running. The transcript is returned.
fn check_fault(protocol: Protocol, script: &str, deadline: f64, parts: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut spec = spec(protocol, script, folder.path());
    spec.deadline = Some(Duration::from_secs_f64(deadline));
    let player = player(&spec);
    let since = Instant::now();
    let error = play([&player, &Player::Random], ROOK, 3, 2, &AtomicBool::new(false)).expect_err(script);
    assert!(since.elapsed() < Duration::from_secs_f64(deadline + 4.0));
    drop(player);
    let error = error.to_string();
    for part in parts {
        assert!(error.contains(part), "`{part}` in: {error}");
    }
    assert!(!error.contains(char::is_control), "{error:?}");
    let path = error.rsplit_once("transcript: ").expect("a transcript").1;
    let said = std::fs::read_to_string(path).expect("a transcript");
    assert!(said.contains("> go"), "{error}");
    assert_gone(folder.path());
    said
}

#[test]
fn faults_stop_the_match() {
    let cecp_fault = |answer: &str, parts: &[&str]| {
        check_fault(Protocol::Cecp, &cecp(&[answer]), 0.5, &[parts, &[&format!("position: {ROOK}")]].concat())
    };
    let usi_fault = |answer: &str, parts: &[&str]| check_fault(Protocol::Usi, &usi(&[answer]), 0.5, parts);
    cecp_fault("echo 'move a1b2'", &["illegal move", "`a1b2`"]);
    cecp_fault("echo 'move much too odd'", &["illegal move", "`much too odd`"]);
    cecp_fault(":", &["no move in 0.5 s"]);
    cecp_fault("sleep 100", &["no move in 0.5 s"]);
    cecp_fault("sleep 100 & echo pid $! >&2; wait", &["no move in 0.5 s"]);
    cecp_fault("while :; do echo nonsense; done", &["no move in 0.5 s", "`nonsense`"]);
    cecp_fault("printf 'no end of line %0100000d' 1; sleep 100", &["no move in 0.5 s"]);
    cecp_fault("echo oops; exit 3", &["exit status: 3", "`oops`"]);
    cecp_fault("kill -9 $$", &["signal: 9"]);
    let said = cecp_fault("echo no network >&2; exit 3", &["exit status: 3"]);
    assert!(said.contains("\nno network\n"), "{said}");
    // What it leaves behind holds its output open.
    cecp_fault("sleep 100 & echo pid $! >&2; exit 3", &["exit status: 3"]);
    cecp_fault("printf 'red \\033[31m \\000.\\n'; exit 3", &["exit status: 3", r"`red \u{1b}[31m \0.`"]);
    cecp_fault("echo '1-0 {mate}'", &["claims a result", "`1-0 {mate}`"]);
    cecp_fault("echo '1/2-1/2 {repetition}'", &["claims a result"]);
    usi_fault("echo bestmove 12l11k", &["illegal move", "`12l11k`"]);
    usi_fault("echo bestmove", &["illegal move"]);
    usi_fault("echo bestmove win", &["claims a result"]);
    usi_fault("exec 1>&-; sleep 100", &["it closed its output"]);
    let parts = ["no `bestmove` in 0.5 s", "its last line (without its end): `bestmove 12l11l`"];
    let said = usi_fault("printf 'bestmove 12l11l'", &parts);
    assert!(said.contains("< bestmove 12l11l (without its end)\n"), "{said}");
}

#[test]
fn what_an_engine_started_ends_with_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = cecp(&["sleep 100 & echo pid $! >&2; echo resign"]);
    let first = player(&spec(Protocol::Cecp, &script, folder.path()));
    play([&first, &Player::Random], ROOK, 1, 1, &AtomicBool::new(false)).expect("no failure");
    drop(first);
    assert_gone(folder.path());
}

#[test]
fn a_transcript_has_an_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = usi(&["head -c 80000000 /dev/zero >&2; echo bestmove resign"]);
    let mut spec = spec(Protocol::Usi, &script, folder.path());
    spec.deadline = Some(Duration::from_secs(60));
    let first = player(&spec);
    play([&first, &Player::Random], ROOK, 1, 1, &AtomicBool::new(false)).expect("no failure");
    drop(first);
    let said = std::fs::read(&transcripts(folder.path())[0]).expect("a transcript");
    assert!((64 << 20..65 << 20).contains(&said.len()), "{}", said.len());
    assert!(said.ends_with(b"(more is not written down)\n"));
}

#[test]
fn usi_engines_are_told_who_has_won() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let first = player(&spec(Protocol::Usi, &usi(&["echo bestmove 12l11l", "echo bestmove 11l11a"]), &one));
    let second = player(&spec(Protocol::Usi, &usi(&["echo bestmove 12a11a"]), &two));
    play([&first, &second], ROOK, 2, 1, &AtomicBool::new(false)).expect("no failure");
    drop((first, second));
    for (folder, result) in [(one, "> gameover win\n"), (two, "> gameover lose\n")] {
        let said = std::fs::read_to_string(&transcripts(&folder)[0]).expect("a transcript");
        assert_eq!(said.matches(result).count(), 2, "{said}");
    }
}

#[test]
fn a_legal_move_that_is_not_taken_stops_the_match() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = cecp_with(HELLO, "echo 'Illegal move: odd'", &["echo 'move a1b1'", "echo 'move b1a1'"]);
    let (first, second) = (player(&spec(Protocol::Cecp, &script, folder.path())), Player::Random);
    let error = play([&first, &second], ROOK, 1, 1, &AtomicBool::new(false)).expect_err("refused").to_string();
    assert!(error.contains("does not take the legal move `a12") && error.contains("Illegal move: odd"), "{error}");
}

#[test]
fn a_move_that_repeats_is_not_let_through() {
    let folder = tempfile::tempdir().expect("a folder");
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    // Both go there and back: White would bring the start position about a second time.
    let first = player(&spec(Protocol::Cecp, &cecp(&["echo 'move a1b1'", "echo 'move b1a1'"]), &one));
    let second = player(&spec(Protocol::Usi, &usi(&["echo bestmove 12a12b", "echo bestmove 12b12a"]), &two));
    let error = play([&first, &second], ROOK, 1, 1, &AtomicBool::new(false)).expect_err("repeats").to_string();
    assert!(error.contains("`12b12a`") && error.contains("has stood before"), "{error}");
}

#[test]
fn resigning_is_losing() {
    for (script, protocol) in [
        (cecp(&["echo resign"]), Protocol::Cecp),
        (cecp(&["echo '0-1 {resign}'"]), Protocol::Cecp),
        (usi(&["echo bestmove resign"]), Protocol::Usi),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let first = player(&spec(protocol, &script, folder.path()));
        let played = play([&first, &Player::Random], ROOK, 2, 1, &AtomicBool::new(false)).expect("no failure");
        let resigned = |game: Option<PlayedGame>| game.expect("finished").resigned == Some(Color::Black);
        assert!(played.into_iter().all(resigned), "{script}");
    }
}

#[test]
fn stopping_ends_engines_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = player(&spec(Protocol::Cecp, &cecp(&["sleep 100"]), folder.path()));
    let stop = AtomicBool::new(false);
    let since = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        let played = play([&first, &Player::Random], ROOK, 2, 2, &stop).expect("no failure");
        assert_eq!(played, [None, None]);
    });
    assert!(since.elapsed() < Duration::from_secs(3));
    drop(first);
    assert_gone(folder.path());
}

#[test]
fn a_start_may_be_slow_but_not_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let hello = format!("echo 'feature done=0'; sleep 0.6; {HELLO}");
    let mut spec = spec(Protocol::Cecp, &cecp_with(&hello, ":", &["echo resign"]), folder.path());
    let first = player(&spec);
    assert!(play([&first, &Player::Random], ROOK, 1, 1, &AtomicBool::new(false)).is_ok());
    drop(first);
    spec.start = Some(Duration::from_millis(200));
    let error = Engine::new(&spec, &chu()).err().expect("too slow").to_string();
    assert!(error.contains("`feature done=1` in 0.2 s"), "{error}");
    assert_gone(folder.path());
}

#[test]
fn engines_that_cannot_are_found_out_before_the_first_game() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |change: &dyn Fn(&mut ExternalSpec), part: &str| {
        let mut spec = spec(Protocol::Cecp, &cecp(&[]), folder.path());
        change(&mut spec);
        let error = Engine::new(&spec, &chu()).err().expect(part).to_string();
        assert!(error.contains(part), "{error}");
    };
    let option = |name: &str| vec![(name.to_string(), "1".to_string())];
    check(&|spec| spec.command = vec!["no such program".to_string()], "cannot be started");
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("a file");
    check(&|spec| spec.transcript = Some(file.join("folder")), "can have no transcript in ");
    check(&|spec| spec.variant = Some("tenjiku".to_string()), "does not play `tenjiku`; it plays chu");
    check(&|spec| spec.options = option("Hash"), "no option `Hash`; it has Odd rule");
    let mut spec = spec(Protocol::Cecp, &cecp(&["echo resign"]), folder.path());
    spec.options = option("Odd rule");
    assert!(Engine::new(&spec, &chu()).is_ok());
}

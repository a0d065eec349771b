//! The notations besides USI: worked cases, round trips, faults, and texts that are none.

use engine::notation::kif::{self, Ending};
use engine::notation::winboard::Legs;
use engine::{Color, Game, Move, PieceKind, Position, Variant};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

fn variant(name: &str) -> Arc<Variant> {
    Variant::load(name, None).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn legal(position: &Position) -> Vec<Move> {
    let mut moves = Vec::new();
    position.legal_moves(&mut moves);
    moves
}

fn data() -> Value {
    serde_json::from_str(include_str!("data/notation_cases.json")).expect("the data are JSON")
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {value}"))
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn lines(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list of lines").iter().map(|line| line.as_str().expect("a line")).collect()
}

/// The position that a case names.
fn set_up(variant: &Arc<Variant>, sfen: &str) -> Position {
    match sfen {
        "start" => Position::start(variant),
        sfen => Position::from_sfen(variant, sfen).unwrap_or_else(|error| panic!("{sfen}: {error}")),
    }
}

/// The headers of a game from a position, with the diagram.
fn kif_headers(start: &Position) -> String {
    let empty = kif::write_ended(&Game::new(start.clone()), &[], Ending::Interrupted);
    let end = empty.find("手数").expect("the line before the moves");
    empty[..end].to_string()
}

/// Whether two moves are one to someone who cannot tell which piece passes.
fn same(a: Move, b: Move) -> bool {
    a == b || (a.is_pass() && b.is_pass())
}

#[test]
fn worked_cases() {
    for case in list(&data(), "cases") {
        let variant = variant(text(case, "variant"));
        let position = set_up(&variant, text(case, "sfen"));
        let usi = text(case, "usi");
        let mv = position.parse_usi(usi).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(position.tsa(mv), text(case, "tsa"), "{usi} in TSA");
        for read in std::iter::once(&case["tsa"]).chain(list(case, "tsa_read")) {
            let read = read.as_str().expect("text");
            assert_eq!(position.parse_tsa(read), Ok(mv), "{read}");
        }
        assert_eq!(position.winboard(mv), text(case, "winboard"), "{usi} for WinBoard");
        let read = position.parse_winboard(text(case, "winboard"));
        assert!(read.as_ref().is_ok_and(|&read| same(read, mv)), "{usi}: {read:?}");

        let written = lines(&case["kif"]);
        let mut game = Game::new(position.clone());
        game.play(mv).unwrap_or_else(|error| panic!("{case}: {error}"));
        let record = kif::write(&game, &[]);
        let found: Vec<&str> = record.lines().map(str::trim_start).filter(|line| written.contains(line)).collect();
        assert_eq!(found, written, "{usi} in KIF:\n{record}");
        let headers = kif_headers(&position);
        for read in std::iter::once(&case["kif"]).chain(list(case, "kif_read")) {
            let record = format!("{headers}{}\n", lines(read).join("\n"));
            let read = kif::read(&record, &variant).unwrap_or_else(|error| panic!("{error}\n{record}"));
            let found = read.game.moves().next().unwrap_or_else(|| panic!("no move in\n{record}"));
            assert!(same(found, mv), "{record}");
        }
    }
}

#[test]
fn faults() {
    let data = data();
    let position = set_up(&variant("chu"), text(&data, "faults_sfen"));
    for case in list(&data, "faults") {
        let read = match text(case, "notation") {
            "tsa" => position.parse_tsa(text(case, "text")),
            _ => position.parse_winboard(text(case, "text")),
        };
        let error = read.err().unwrap_or_else(|| panic!("{case} is a move"));
        assert_eq!(error.at as u64, case["at"].as_u64().expect("a number"), "{case}: {error}");
    }
    for case in list(&data, "kif_faults") {
        let error = kif::read(text(case, "text"), &variant(text(case, "variant"))).err();
        let error = error.unwrap_or_else(|| panic!("{case} is a game"));
        let place = (Some(error.line as u64), Some(error.column as u64));
        assert_eq!(place, (case["line"].as_u64(), case["column"].as_u64()), "{case}: {error}");
    }
}

/// The notation cannot tell two pieces from each other that share an abbreviation.
#[test]
fn abbreviations_are_unique() {
    for name in Variant::builtin_names() {
        let variant = variant(name);
        let unpromoted = variant.kinds().iter().filter(|kind| !kind.is_promoted());
        let all: Vec<&str> = unpromoted.map(|kind| kind.tsa.as_str()).collect();
        let different: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), different.len(), "{name}: {all:?}");
    }
}

fn chance(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// An SFEN's board from its squares, `None` where empty.
fn board_text(variant: &Variant, squares: &[Option<String>]) -> String {
    let rank = |squares: &[Option<String>]| {
        let mut text = String::new();
        for run in squares.chunk_by(|a, b| a.is_none() && b.is_none()) {
            text += &run[0].clone().unwrap_or_else(|| run.len().to_string());
        }
        text
    };
    squares.chunks(variant.files()).map(rank).collect::<Vec<_>>().join("/")
}

/// A board with pieces of any kind on a part of its squares, so that lions and their kin have much to take.
fn crowded(variant: &Arc<Variant>, chance: &mut Xoshiro256PlusPlus) -> Position {
    let share = chance.random_range(5..40);
    let mut square = |_| {
        (chance.random_range(0..100) < share).then(|| {
            let kind = variant.kind(PieceKind::new(chance.random_range(0..variant.kinds().len()))).sfen();
            if chance.random_range(0..2) == 0 { kind } else { kind.to_ascii_lowercase() }
        })
    };
    let squares: Vec<Option<String>> = (0..variant.squares()).map(&mut square).collect();
    let side = if chance.random_range(0..2) == 0 { "b" } else { "w" };
    set_up(variant, &format!("{} {side} - 1", board_text(variant, &squares)))
}

/// Every legal move of a position there and back.
fn check_moves(position: &Position, texts: &mut usize) {
    let mut written = BTreeSet::new();
    for mv in legal(position) {
        let usi = position.usi(mv);
        let tsa = position.tsa(mv);
        assert_eq!(position.parse_tsa(&tsa), Ok(mv), "{usi} as {tsa} in {}", position.sfen());
        let winboard = position.winboard(mv);
        let read = position.parse_winboard(&winboard).unwrap_or_else(|error| panic!("{usi}: {error}"));
        let [mut one, mut two] = [position.clone(), position.clone()];
        one.play_unchecked(mv);
        two.play_unchecked(read);
        assert!(same(read, mv), "{usi} as {winboard} in {}", position.sfen());
        assert_eq!(one.hash(), two.hash(), "{usi} as {winboard} in {}", position.sfen());
        assert!(written.insert(tsa.clone()), "{tsa} twice in {}", position.sfen());
        *texts += 1;
    }
}

#[test]
fn moves_there_and_back() {
    for name in Variant::builtin_names() {
        let variant = variant(name);
        let mut chance = chance(7);
        let (mut texts, mut ways) = (0, 0);
        // The slow part is that every text is compared with all legal moves.
        let (games, boards) = if variant.files() > 12 { (1, 6) } else { (3, 12) };
        for _ in 0..games {
            let mut game = Game::new(Position::start(&variant));
            while game.outcome().is_none() && game.ply() < 120 {
                let mut moves = Vec::new();
                game.legal_moves(&mut moves);
                if game.ply().is_multiple_of(6) {
                    check_moves(game.position(), &mut texts);
                }
                game.play_unchecked(moves[chance.random_range(0..moves.len())]);
            }
        }
        for _ in 0..boards {
            let position = crowded(&variant, &mut chance);
            ways += legal(&position).iter().filter(|mv| mv.has_way()).count();
            check_moves(&position, &mut texts);
        }
        assert!(texts > 1_000, "{name}: only {texts} moves");
        assert!(name == "sho" || ways > 20, "{name}: only {ways} moves with captures on the way");
    }
}

/// A random game, from the start or from a crowded board.
fn random_game(start: Position, plies: usize, chance: &mut Xoshiro256PlusPlus) -> Game {
    let mut game = Game::new(start);
    let mut moves = Vec::new();
    while game.outcome().is_none() && game.ply() < plies {
        game.legal_moves(&mut moves);
        game.play_unchecked(moves[chance.random_range(0..moves.len())]);
    }
    game
}

fn board_of(sfen: &str) -> String {
    sfen.split(' ').take(2).collect::<Vec<_>>().join(" ")
}

fn check_record(game: &Game, headers: &[(&str, &str)]) {
    let variant = game.position().variant();
    let record = kif::write(game, headers);
    let read = kif::read(&record, variant).unwrap_or_else(|error| panic!("{error}\n{record}"));
    assert!(read.game.moves().eq(game.moves()), "{record}");
    assert_eq!(board_of(&read.game.start().sfen()), board_of(&game.start().sfen()), "{record}");
    assert_eq!(board_of(&read.game.position().sfen()), board_of(&game.position().sfen()), "{record}");
    assert_eq!(read.ending, Ending::of(game), "{record}");
    assert_eq!(read.winner, game.outcome().and_then(|outcome| outcome.winner), "{record}");
    for (key, value) in headers {
        assert!(read.headers.contains(&(key.to_string(), value.to_string())), "{key} in {record}");
    }
}

#[test]
fn games_there_and_back() {
    let headers =
        [("先手", "Ōhashi Sōkei"), ("後手", "後手の名"), ("開始日時", "2024/01/31 12:00:00"), ("棋戦", "試し")];
    for name in Variant::builtin_names() {
        let variant = variant(name);
        let mut chance = chance(11);
        let (games, plies) = if variant.files() > 12 { (2, 150) } else { (6, 300) };
        for number in 0..games {
            let start = if number % 2 == 0 { Position::start(&variant) } else { crowded(&variant, &mut chance) };
            check_record(&random_game(start, plies, &mut chance), &headers);
        }
        // Few pieces, many endings.
        for _ in 0..20 {
            check_record(&random_game(crowded(&variant, &mut chance), 30, &mut chance), &[]);
        }
    }
}

/// Every kind of each side on one board, so every name in diagrams is there.
#[test]
fn diagrams_there_and_back() {
    for name in Variant::builtin_names() {
        let variant = variant(name);
        let mut board: Vec<Option<String>> = Vec::new();
        for kind in variant.kinds().iter().map(|kind| kind.sfen()) {
            board.push(Some(kind.to_ascii_lowercase()));
            board.push(Some(kind));
        }
        assert!(board.len() <= variant.squares(), "{name}: more kinds than squares");
        board.resize(variant.squares(), None);
        let board = board_text(&variant, &board);
        for side in ["b", "w"] {
            let position = set_up(&variant, &format!("{board} {side} - 1"));
            let read = kif::read(&kif_headers(&position), &variant).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read.game.start().sfen(), position.sfen(), "{name}");
        }
    }
}

/// lishogi's diagram of a chu shogi position, as its own tests give it.
#[test]
fn diagram_as_lishogi_has_it() {
    let record = " １２ １１ １０ ９  ８  ７  ６  ５  ４  ３  ２  １
+------------------------------------------------+
|  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・|一
|  ・  ・  ・  ・  ・  ・  ・  ・  ・  獅  獅  ・|二
|  ・  ・  鷹  鷹  ・  ・  ・  ・  ・  ・  ・  ・|三
|  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・|四
|  ・  ・  ・  ・  ・  ・  ・  ・  ・v成獅  ・  ・|五
|  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・|六
|  ・  ・  ・  ・  ・  獅  ・  ・  ・  獅  ・  ・|七
|  ・  ・  ・  ・  ・ 成獅  ・  ・  ・  ・  ・  ・|八
|  ・  ・  ・  ・  ・  ・  ・  ・  ・  鷹  ・  ・|九
|  ・  ・  鷹  ・  ・  ・  ・  ・  ・  ・  ・  ・|十
|  ・  ・  鷹  ・  ・  ・  ・  ・  ・  鷹  ・  ・|十一
|  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・  ・|十二
+------------------------------------------------+
";
    let sfen = "12/9NN1/2+H+H8/12/9+o2/12/5N3N2/5+O6/9+H2/2+H9/2+H6+H2/12 b - 1";
    let chu = variant("chu");
    let read = kif::read(record, &chu).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.game.start().sfen(), sfen);
    let written = kif_headers(&set_up(&chu, sfen));
    // The line of the files differs in a space.
    let body = |text: &str| text[text.find('|').expect("a rank")..].lines().take(13).collect::<Vec<_>>().join("\n");
    assert_eq!(body(&written), body(record));
}

/// A game in the layout of Kakinoki's programs (times, comments, a variation behind) with sho shogi's moves, and what it
/// says about itself.
#[test]
fn record_as_programs_write_it() {
    let record = "\u{feff}# ----  Kifu for Windows  棋譜ファイル  ----\r
開始日時：1999/07/15(木) 19:07:12\r
手合割：平手　　\r
先手：先手の対局者名\r
後手：\r
手数----指手---------消費時間-- # この行は、なくてもいい\r
*まえがき\r
   1 ７六歩(77)   ( 0:16/00:00:16)\r
   2 ３四歩(33)   ( 0:00/00:00:00)+\r
*角道が開く\r
*\r
&しおり\r
   3 ８八玉(59)   ( 0:01/00:00:17)\r
";
    let sho = variant("sho");
    let error = kif::read(record, &sho).expect_err("the king does not reach 8八");
    assert_eq!((error.line, error.column), (13, 4), "{error}");
    let rest = "   3 ２二角成(88)\r
   4 同　銀(31)   ( 0:02/00:00:02)\r
   5 投了         ( 0:03/00:00:20)\r
まで4手で後手の勝ち\r
\r
変化：2手\r
   2 ？？";
    let record = record.replace("   3 ８八玉(59)   ( 0:01/00:00:17)\r", rest);
    let read = kif::read(&record, &sho).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(replay(&read.game), ["7g7f", "3c3d", "8h2b+", "3a2b"]);
    assert_eq!((read.ending, read.winner), (Some(Ending::Resignation), Some(Color::White)));
    let written = kif::write_ended(&read.game, &[], Ending::Resignation);
    let end =
        "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 ２二角成(88)\n   4 同　銀(31)\n   5   投了\nまで4手で後手の勝ち\n";
    assert!(written.ends_with(end), "{written}");
    assert_eq!(read.comments, [(0, "まえがき".to_string()), (2, "角道が開く".to_string()), (2, String::new())]);
    assert_eq!(read.headers[2], ("先手".to_string(), "先手の対局者名".to_string()));
}

fn replay(game: &Game) -> Vec<String> {
    let mut position = game.start().clone();
    let play = |mv: Move| {
        let usi = position.usi(mv);
        position.play_unchecked(mv);
        usi
    };
    game.moves().map(play).collect()
}

/// HaChu's games have its coordinates and USI side by side.
#[test]
fn hachu_writes_the_same_moves() {
    let chu = Variant::load("chu", Some("hachu")).expect("a built-in ruleset");
    let file = include_str!("data/hachu_games.txt");
    let lines: Vec<&str> = file.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect();
    let (mut moves, mut double) = (0, 0);
    for game in lines.chunks(3) {
        let mut position = Position::start(&chu);
        for (winboard, usi) in game[1].split_whitespace().zip(game[2].split_whitespace()) {
            let mv = position.parse_usi(usi).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(position.parse_winboard(winboard), Ok(mv), "{usi}");
            // HaChu names the empty square of a quiet double step.
            let back = position.winboard(mv);
            assert!(back == winboard || (!mv.has_way() && winboard.contains(',')), "{winboard} as {back}");
            let mut legs = Legs::default();
            let sent: Vec<String> = winboard.split_inclusive(',').filter_map(|leg| legs.push(leg)).collect();
            assert_eq!(sent, [winboard]);
            position.play_unchecked(mv);
            moves += 1;
            double += winboard.contains(',') as usize;
        }
    }
    assert!(moves > 1_500 && double > 50, "{moves} moves, {double} of two legs");
}

#[test]
fn winboard_positions() {
    for name in ["sho", "chu"] {
        let variant = variant(name);
        let mut chance = chance(3);
        for _ in 0..200 {
            let position = crowded(&variant, &mut chance);
            let fen = position.winboard_fen().expect("single letters");
            let read = Position::from_winboard_fen(&variant, &fen).unwrap_or_else(|error| panic!("{fen}: {error}"));
            assert_eq!(board_of(&read.sfen()), board_of(&position.sfen()));
        }
    }
    let daidai = Position::start(&variant("daidai"));
    assert_eq!(daidai.winboard_fen(), None);
    // Chu shogi's start as XBoard writes positions.
    let chu = variant("chu");
    let fen = "lfcsgekgscfl/a1b1txot1b1a/mvrhdqndhrvm/pppppppppppp/3i4i3/12/12/3I4I3/PPPPPPPPPPPP/MVRHDNQDHRVM/A1B1TOXT1B1A/LFCSGKEGSCFL w - 0 1";
    assert_eq!(
        Position::from_winboard_fen(&chu, fen).map(|position| position.sfen()),
        Ok(Position::start(&chu).sfen())
    );
    for (fen, at) in [("", 1), ("12", 3), ("12 x", 4), ("12 w -", 1), ("12/12 w x", 9), ("玉 w", 1), ("12 w- 0 1", 5)]
    {
        let error = Position::from_winboard_fen(&chu, fen).expect_err(fen);
        assert!(error.at <= fen.chars().count() + 1, "{fen}: {error}");
        assert!(at == error.at || fen.starts_with("12 w -"), "{fen}: {error}");
    }
}

/// Changes a text in a few places: characters taken out, doubled, swapped, replaced.
fn mutated(text: &str, strange: &[char], chance: &mut Xoshiro256PlusPlus) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..chance.random_range(1..4) {
        let at = chance.random_range(0..chars.len() + 1);
        let strange = strange[chance.random_range(0..strange.len())];
        match chance.random_range(0..5) {
            0 => chars.insert(at, strange),
            1 if at < chars.len() => chars[at] = strange,
            2 if at < chars.len() => {
                chars.remove(at);
            }
            3 if at < chars.len() => chars.insert(at, chars[at]),
            _ if !chars.is_empty() => {
                let (a, b) = (at % chars.len(), chance.random_range(0..chars.len()));
                chars.swap(a, b);
            }
            _ => {}
        }
    }
    chars.into_iter().collect()
}

const STRANGE: [char; 40] = [
    'a', 'q', 'x', 'z', 'L', 'n', '+', '=', '-', '!', '*', '@', ',', '0', '1', '9', '７', '十', '七', '歩', '金', '成',
    '不', '打', '同', '仝', '（', ')', '←', '：', '|', '・', 'v', '手', 'ま', '\n', '\t', '\u{3000}', '\u{0}', '𠵇',
];

fn slices(text: &str) -> impl Iterator<Item = &str> {
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    cuts.into_iter().flat_map(move |cut| [&text[..cut], &text[cut..]])
}

#[test]
fn any_text_is_a_move_or_an_error_in_it() {
    for name in Variant::builtin_names() {
        let variant = variant(name);
        let mut chance = chance(17);
        for _ in 0..8 {
            let position = crowded(&variant, &mut chance);
            let check = |text: &str| {
                for read in [position.parse_tsa(text), position.parse_winboard(text)] {
                    match read {
                        Ok(mv) => assert!(position.is_legal(mv), "{text}"),
                        Err(error) => assert!((1..=text.chars().count() + 1).contains(&error.at), "{text}: {error}"),
                    }
                }
                if let Err(error) = Position::from_winboard_fen(&variant, text) {
                    assert!((1..=text.chars().count() + 2).contains(&error.at), "{text}: {error}");
                }
            };
            for mv in legal(&position).into_iter().take(12) {
                for text in [position.tsa(mv), position.winboard(mv)] {
                    slices(&text).for_each(check);
                    for _ in 0..8 {
                        check(&mutated(&text, &STRANGE, &mut chance));
                    }
                }
            }
            let fen = position.winboard_fen().unwrap_or_else(|| position.sfen());
            for _ in 0..50 {
                check(&mutated(&fen, &STRANGE, &mut chance));
            }
        }
    }
}

#[test]
fn any_text_is_a_game_or_an_error_in_it() {
    for name in Variant::builtin_names() {
        let variant = variant(name);
        let mut chance = chance(19);
        let check = |text: &str| match kif::read(text, &variant) {
            Ok(read) => assert!(read.game.ply() <= text.lines().count()),
            Err(error) => {
                let text = text.trim_start_matches('\u{feff}');
                let line = text.lines().nth(error.line - 1).unwrap_or("");
                assert!(error.line <= text.lines().count().max(1), "{error}\n{text}");
                assert!((1..=line.chars().count() + 1).contains(&error.column), "{error}\n{text}");
            }
        };
        for number in 0..4 {
            let start = if number % 2 == 0 { Position::start(&variant) } else { crowded(&variant, &mut chance) };
            let game = random_game(start, 12, &mut chance);
            let record = kif::write(&game, &[("先手", "A"), ("場所", "B：C")]);
            for _ in 0..150 {
                check(&mutated(&record, &STRANGE, &mut chance));
            }
            if number < 2 {
                slices(&record).step_by(3).for_each(check);
            }
        }
        check("");
        check("\u{feff}");
        check("玉\u{0}：\r一歩目");
        // What cannot stand in a header line is left out.
        let game = Game::new(Position::start(&variant));
        let odd = [("", "x"), ("a\nb", "c"), ("(k", "v"), ("#k", "v"), ("k", "a\r\nb"), ("先手", "two\nlines")];
        let read = kif::read(&kif::write(&game, &odd), &variant).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.headers, [("手合割".to_string(), variant.kanji().to_string())]);
    }
}

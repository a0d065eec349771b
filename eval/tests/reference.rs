//! Embedded reference tables and the reading of a user's own.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use eval::reference::*;

#[test]
fn every_embedded_table_is_read() {
    for id in ReferenceTable::builtin_ids() {
        let table = ReferenceTable::builtin(id).unwrap();
        assert_eq!(table.id, id);
        for text in [&table.title, &table.source, &table.scale] {
            assert!(!text.is_empty(), "{id}");
        }
        assert!(table.variant.is_some(), "{id}");
        assert!(table.rows.len() >= 10, "{id}");
    }
    assert!(ReferenceTable::builtin("none_such").is_none());
}

/// Rows looked up in the files by eye.
#[test]
fn values_of_the_embedded_tables() {
    let check = |table: &str, id: &str, want: Option<f64>| {
        let table = ReferenceTable::builtin(table).unwrap();
        assert_eq!(table.value(id), want, "{} {id}", table.id);
    };
    check("chu_wikipedia_gcsa", "lion", Some(20.0));
    check("chu_wikipedia_gcsa", "pawn", Some(1.0));
    check("chu_gcsa_exchange", "dragon_horse", Some(3.5));
    // Only in a promotion column.
    check("chu_gcsa_exchange", "soaring_eagle", Some(5.5));
    check("chu_gcsa_exchange", "pawn", None);
    check("chu_gcsa_exchange", "kirin", None);
    // Without the tag digit: 154 in the source.
    check("chu_hgmuller", "kirin", Some(1.5));
    check("chu_lishogi", "king", None);
    check("chu_lishogi", "promoted_pawn", Some(3.0));
    check("daidai_gcsa", "hook_mover", Some(114.0));
    check("daidai_gcsa", "wizard_stork", Some(11.0));
    check("daidai_gcsa", "king", Some(4.0));
    check("sho_hachu", "pawn", Some(80.0));
    check("standard_aobazero", "rook", Some(871.0));
    check("standard_nanoha_nano", "pawn", Some(91.0));
}

#[test]
fn defaults() {
    let id = |variant| ReferenceTable::default_for(variant).map(|t| (t.id, t.ruleset));
    assert_eq!(id("chu"), Some(("chu_wikipedia_gcsa".into(), None)));
    let daidai = Some(("daidai_gcsa".into(), Some("shogi_association".into())));
    assert_eq!(id("daidai"), daidai);
    assert_eq!(id("sho"), Some(("sho_hachu".into(), None)));
    assert_eq!(id("standard_shogi"), None);
}

#[test]
fn own_table() {
    let text = "\u{feff}# my notes\n# scale: pawn = 2\n\nnote,value , id\r\n\"a \"\"b\"\", c\",2,pawn\n,,king\n,0,x\n";
    let table = ReferenceTable::from_csv(text, Path::new("dir/mine.csv")).unwrap();
    assert_eq!((table.id.as_str(), table.title.as_str()), ("mine", "mine"));
    assert_eq!((table.source.as_str(), table.scale.as_str()), ("dir/mine.csv", "pawn = 2"));
    assert_eq!(table.value("pawn"), Some(2.0));
    assert_eq!(table.value("king"), None);
    assert_eq!(table.value("x"), None);
    assert_eq!(table.rows.len(), 3);
}

#[test]
fn errors_name_the_line() {
    let check = |text: &str, want: &str| {
        let error = ReferenceTable::from_csv(text, Path::new("t.csv")).unwrap_err();
        assert_eq!(error.to_string(), want);
    };
    let empty = "expected a header line and rows, found no more lines";
    check("", &format!("t.csv:1: {empty}"));
    check("id,value\n", &format!("t.csv:2: {empty}"));
    check(
        "# c\nid,worth\npawn,1\n",
        "t.csv:2: expected a header line with the columns id and value, found no column \"value\"",
    );
    check("id,value\npawn\n", "t.csv:2: expected 2 fields as in the header, found 1");
    check("id,value\npawn,1,2\n", "t.csv:2: expected 2 fields as in the header, found 3");
    check("id,value\n\"pawn,1\n", "t.csv:2: expected a closing quote at the end of the field");
    check("id,value\n\"pawn\"x,1\n", "t.csv:2: expected a closing quote at the end of the field");
    check("id,value\n,1\n", "t.csv:2: expected a piece id, found an empty field");
    check("id,value\na,1\n\n#\na,2\n", "t.csv:5: piece \"a\" is already on line 2");
    for bad in ["-1", "nan", "inf", "x", "1 2"] {
        check(
            &format!("id,value\na,{bad}\n"),
            &format!("t.csv:2: value: expected a number of at least 0 or nothing, found {bad:?}"),
        );
    }
}

/// What values are rounded to: said, or seen from the values. Wikipedia's are whole, the exchange values halves, HaChu's
/// tenths (of lion = 10).
#[test]
fn rounding() {
    let of = |id| ReferenceTable::builtin(id).unwrap().rounding;
    assert_eq!((of("chu_wikipedia_gcsa"), of("chu_gcsa_exchange"), of("chu_hgmuller")), (1.0, 0.5, 0.1));
    let read = |text: &str| ReferenceTable::from_csv(text, Path::new("own.csv"));
    assert_eq!(read("id,value\na,1.5\nb,2.25\n").unwrap().rounding, 0.25);
    assert_eq!(read("id,value\na,3.14159\n").unwrap().rounding, 0.0);
    assert_eq!(read("# rounding: 2\nid,value\na,4\n").unwrap().rounding, 2.0);
    let error = read("# title: x\n# rounding: some\nid,value\na,4\n").unwrap_err();
    assert_eq!(error.to_string(), "own.csv:2: rounding: expected a number of at least 0 or nothing, found \"some\"");
}

/// Exchange values by the chance of promoting, from the table's own columns.
#[test]
fn promotion_probabilities() {
    let of = |id| ReferenceTable::builtin(id).unwrap().value("dragon_horse");
    assert_eq!((of("chu_gcsa_exchange_p0"), of("chu_gcsa_exchange_p100")), (Some(3.5), Some(4.5)));
}

/// The column nearest to the measured chance counts, read off the table: the horse at 30 % like at 25 %, at 95 % like at 100 %.
/// What a rook becomes cannot promote again and is worth a dragon king that does not.
#[test]
fn values_by_the_measured_chance_of_promoting() {
    let check = |chance: Option<f64>, expected: [Option<f64>; 3]| {
        let table = ReferenceTable::builtin("chu_gcsa_exchange").unwrap();
        let kinds = [("dragon_horse", "dragon_horse"), ("promoted_rook", "dragon_king"), ("lion", "lion")];
        let of_horse = |id: &str| chance.filter(|_| id == "dragon_horse");
        let by_kind = table.by_kind(kinds.into_iter(), of_horse);
        assert_eq!(kinds.map(|(id, _)| by_kind.value(id)), expected, "{chance:?}");
    };
    check(None, [Some(3.5), Some(4.0), Some(10.0)]);
    check(Some(0.0), [Some(3.5), Some(4.0), Some(10.0)]);
    check(Some(0.3), [Some(4.0), Some(4.0), Some(10.0)]);
    check(Some(0.95), [Some(4.5), Some(4.0), Some(10.0)]);
    let quarter = ReferenceTable::builtin("chu_gcsa_exchange_p25").unwrap();
    let all = quarter.by_kind([("dragon_horse", "dragon_horse")].into_iter(), |_| Some(1.0));
    assert_eq!(all.value("dragon_horse"), Some(4.0), "a column that is asked for is meant for all chances");
    let own = "id,value,p0,p50,p900\na,1,1,2,x\n";
    let table = ReferenceTable::from_csv(own, Path::new("own.csv")).unwrap();
    assert_eq!(table.by_kind([("a", "a")].into_iter(), |_| Some(0.9)).value("a"), Some(2.0));
    let bad = ReferenceTable::from_csv("id,value,p50\na,1,x\n", Path::new("own.csv")).unwrap_err();
    assert!(bad.to_string().contains("own.csv:2") && bad.to_string().contains('x'), "{bad}");
}

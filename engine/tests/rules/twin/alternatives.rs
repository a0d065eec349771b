//! The moves that single sources of dai dai shogi give a piece, by name.

use super::data;
use super::powers::{Power, read_list};

/// How one source has a piece of dai dai move.
pub(crate) struct Alternative {
    /// The piece and its first source.
    pub(crate) name: String,
    pub(crate) piece: String,
    pub(crate) powers: Vec<Power>,
}

/// A source's name in that of an alternative.
fn source_name(source: &str) -> String {
    let long = match source {
        "SZ" => "shogi_zushiki",
        "SSZ" => "sho_shogi_zushiki",
        "SRZ" => "rokushu",
        "JWIKI" => "japanese_wikipedia",
        "ENGLISH/SHOGI_ASSOCIATION" => "shogi_association",
        other => return other.to_lowercase(),
    };
    long.to_string()
}

/// All rows of the table that are for this game, spelled out, and not said to agree with the main text.
pub(crate) fn alternatives() -> Vec<Alternative> {
    let all: toml::Table = data("alternatives_daidai.toml").parse().expect("the alternatives are TOML");
    let mut found = Vec::new();
    for row in all["alt"].as_array().expect("a list of rows") {
        let texts = |key: &str| -> Vec<&str> {
            row[key].as_array().expect("a list").iter().map(|text| text.as_str().expect("texts")).collect()
        };
        let status = row["status"].as_str().expect("a status");
        let Some(moves) = row.get("moves").filter(|_| texts("game").contains(&"dai_dai") && status != "agrees") else {
            continue;
        };
        let piece = row["id"].as_str().expect("a piece").to_string();
        let name = format!("{piece}_{}", source_name(texts("source")[0]));
        let powers = read_list(&serde_json::to_value(moves).expect("TOML as JSON"));
        found.push(Alternative { name, piece, powers });
    }
    found
}

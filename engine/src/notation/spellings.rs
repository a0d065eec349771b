//! The other spellings of `spellings.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spellings {
    /// Pairs of abbreviations of one piece.
    pub(super) tsa: Vec<[String; 2]>,
    /// Pairs: a character as read, as meant.
    characters: Vec<[char; 2]>,
    /// Of several names of a piece, the one written.
    pub(super) names: Vec<String>,
    /// What the piece was, as what it moves, names, the one on large boards first.
    promoted: Vec<Vec<String>>,
}

pub(super) static SPELLINGS: LazyLock<Spellings> =
    LazyLock::new(|| toml::from_str(include_str!("spellings.toml")).expect("the program's own file is well formed"));

impl Spellings {
    /// The text with each character in its common form; as many characters as before.
    pub(super) fn plain(&self, text: &str) -> String {
        let common = |c: char| self.characters.iter().find(|[other, _]| *other == c).map_or(c, |&[_, common]| common);
        text.chars().map(common).collect()
    }

    /// Names of a piece that was `base` and now moves as `now`, both in plain characters; the one on large boards first.
    pub(super) fn promoted<'s>(&'s self, base: &'s str, now: &'s str) -> impl Iterator<Item = &'s str> {
        let meant =
            move |row: &&Vec<String>| row.first().is_some_and(|b| b == base) && row.get(1).is_some_and(|n| n == now);
        self.promoted.iter().filter(meant).flat_map(|row| row[2..].iter().map(String::as_str))
    }
}

//! What was played.

use std::fs;
use std::sync::Arc;

use engine::Variant;
use serde::Serialize;

/// The game of a run, for people.
#[derive(Clone, Debug, Serialize)]
pub struct VariantInfo {
    /// Name of the variant.
    pub name: String,
    /// Name of the ruleset.
    pub ruleset: String,
    /// Name for people; `name` where the variant's definition is not at hand.
    pub title: String,
    /// Name in Japanese.
    pub kanji: Option<String>,
    /// What the ruleset is.
    pub ruleset_title: Option<String>,
    /// Files and ranks of the board.
    pub board: Option<[usize; 2]>,
    /// Pieces a side at the start.
    pub pieces: Option<usize>,
    /// Kinds of pieces, promoted ones counted too.
    pub kinds: Option<usize>,
    /// Fingerprint of tables and rules.
    pub fingerprint: Option<String>,
}

impl VariantInfo {
    pub(super) fn new(name: String, ruleset: String, rules: Option<&Variant>) -> Self {
        let described = rules.and_then(|rules| rules.rulesets().iter().find(|(known, _)| *known == ruleset));
        VariantInfo {
            title: rules.map_or(name.clone(), |rules| rules.title().to_owned()),
            kanji: rules.map(|rules| rules.kanji().to_owned()),
            ruleset_title: described.map(|(_, title)| title.clone()),
            board: rules.map(|rules| [rules.files(), rules.ranks()]),
            pieces: rules.map(|rules| rules.kinds().iter().map(|kind| kind.count).sum()),
            kinds: rules.map(|rules| rules.kinds().len()),
            fingerprint: rules.map(|rules| rules.fingerprint().to_owned()),
            name,
            ruleset,
        }
    }
}

/// The variant of this name: from the file that the configuration names, else a built-in one. `None` if it is not to be
/// had, for instance because the file has been moved; a report does without then.
pub(super) fn open(name: &str, ruleset: &str, config: Option<&str>) -> Option<Arc<Variant>> {
    let own = || {
        let config: toml::Table = config?.parse().ok()?;
        let path = config.get("run")?.get("variant_file")?.as_str()?;
        let variant = Variant::from_toml(&fs::read_to_string(path).ok()?, Some(ruleset)).ok()?;
        (variant.name() == name).then_some(variant)
    };
    own().or_else(|| Variant::load(name, Some(ruleset)).ok())
}

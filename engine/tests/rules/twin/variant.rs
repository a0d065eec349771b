//! The twin's variants: kinds of piece and rule switches, read from the source tables.

use super::alternatives::alternatives;
use super::data;
use super::powers::{Power, read_list, read_powers};
use super::rules::TwinRules;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What can stand on a square.
#[derive(Clone, Debug)]
pub(crate) struct TwinKind {
    /// Letters of the SFEN, capitals, a promoted one with `+` before them.
    pub(crate) code: String,
    /// Name of the source table's row that says how it moves.
    pub(crate) moves_as: String,
    /// Name of the unpromoted piece.
    pub(crate) base: String,
    pub(crate) promoted: bool,
    pub(crate) promotes_to: Option<usize>,
    pub(crate) powers: Vec<Power>,
    pub(crate) royal: bool,
    /// Subject of the lion trading rules.
    pub(crate) lion: bool,
    /// Too small to be a bridge or to win against a bare royal.
    pub(crate) minor: bool,
    /// Dead once on the last rank.
    pub(crate) stuck: bool,
    /// The kind that is its image in a mirror, if there is one.
    pub(crate) mirror: Option<usize>,
    /// Moves as one source alone has it.
    pub(crate) changed: bool,
}

/// One game under one ruleset.
#[derive(Clone, Debug)]
pub(crate) struct TwinVariant {
    pub(crate) files: i32,
    pub(crate) ranks: i32,
    pub(crate) kinds: Vec<TwinKind>,
    pub(crate) rules: TwinRules,
    pub(crate) start: String,
    /// The kinds of which a side can have pieces in reserve.
    pub(crate) reserve: Vec<usize>,
    /// For each kind the first one that moves alike and as well can or cannot promote.
    pub(crate) first_alike: Vec<usize>,
}

/// What the file of rules says about a game, completed from the game it extends.
fn rules_of(game: &str) -> toml::Table {
    let all: toml::Table = data("twin_rules.toml").parse().expect("twin_rules.toml is TOML");
    let table = all[game].as_table().expect("a table a game");
    match table.get("extends").and_then(|parent| parent.as_str()) {
        None => table.clone(),
        Some(parent) => {
            let mut whole = rules_of(parent);
            whole.extend(table.clone());
            whole.remove("extends");
            whole.remove("more");
            whole
        }
    }
}

impl TwinVariant {
    /// Names of the rulesets of a game, the tests' own among them.
    pub(crate) fn rulesets(game: &str) -> Vec<String> {
        let table = rules_of(game);
        let tables = ["rulesets", "more"].into_iter().filter_map(|key| table.get(key)?.as_table());
        tables.flat_map(|rulesets| rulesets.keys().cloned()).collect()
    }

    /// A game's variant; each is read once. `with NAME` is the default ruleset with one other move.
    pub(crate) fn load(game: &str, ruleset: &str) -> Arc<TwinVariant> {
        static READ: Mutex<BTreeMap<String, Arc<TwinVariant>>> = Mutex::new(BTreeMap::new());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let variant =
            read.entry(format!("{game} {ruleset}")).or_insert_with(|| Arc::new(Self::load_with(game, ruleset, |_| ())));
        Arc::clone(variant)
    }

    /// As `load`, with a last change of the switches.
    pub(crate) fn load_with(game: &str, ruleset: &str, change: impl FnOnce(&mut TwinRules)) -> TwinVariant {
        let mut table = rules_of(game);
        let codes = table.remove("codes");
        let default = table.remove("default_ruleset").expect("a default ruleset");
        let rulesets = [table.remove("rulesets"), table.remove("more")];
        let alternative = ruleset.strip_prefix("with ");
        let named = if alternative.is_some() { default.as_str().expect("a name") } else { ruleset };
        let changes = rulesets.iter().flatten().find_map(|rulesets| rulesets.get(named)?.as_table());
        let changes = changes.unwrap_or_else(|| panic!("{game} has no ruleset {named}"));
        table.extend(changes.clone());
        let mut rules: TwinRules = table.try_into().unwrap_or_else(|error| panic!("{game} {ruleset}: {error}"));
        change(&mut rules);

        let pieces: toml::Table = data(&rules.pieces).parse().expect("the piece table is TOML");
        let moves: Value = serde_json::from_str(&data(&rules.moves)).expect("the moves table is JSON");
        let mut powers = read_powers(&moves);
        let mut lost_promotion = None;
        if let Some(name) = &rules.alternatives {
            let all: toml::Table = data("alternatives_daidai.toml").parse().expect("the alternatives are TOML");
            let set = &all["ruleset"][name.as_str()];
            for (id, row) in set["replace"].as_table().expect("replacements") {
                let row = serde_json::to_value(&row["moves"]).expect("TOML as JSON");
                powers.insert(id.clone(), read_list(&row));
            }
            if set["lion_dog_promotes"].as_bool() == Some(false) {
                lost_promotion = Some("lion_dog".to_string());
            }
        }

        let changed = alternative.map(|name| {
            let found = alternatives().into_iter().find(|other| other.name == name);
            let found = found.unwrap_or_else(|| panic!("no alternative {name}"));
            powers.insert(found.piece.clone(), found.powers);
            found.piece
        });

        let mut variant = TwinVariant {
            files: 0,
            ranks: 0,
            kinds: Vec::new(),
            rules,
            start: String::new(),
            reserve: Vec::new(),
            first_alike: Vec::new(),
        };
        if pieces.contains_key("setup") {
            variant.read_array_by_squares(&pieces, &powers, codes.as_ref(), lost_promotion.as_deref());
        } else {
            variant.read_sfen_table(&pieces, &powers);
        }
        for kind in &mut variant.kinds {
            kind.changed = Some(&kind.moves_as) == changed.as_ref();
        }
        let alike =
            |a: &TwinKind, b: &TwinKind| a.moves_as == b.moves_as && a.promotes_to.is_some() == b.promotes_to.is_some();
        let kinds = &variant.kinds;
        let first = |kind| kinds.iter().position(|other| alike(other, kind)).expect("a kind is like itself");
        variant.first_alike = kinds.iter().map(first).collect();
        if !variant.rules.reserve.is_empty() {
            variant.start_with_reserve();
        }
        variant
    }

    /// Takes the pieces of the reserve off the board of the start.
    fn start_with_reserve(&mut self) {
        let kind = |id: &String| self.kinds.iter().position(|k| !k.promoted && k.base == *id).expect("a piece");
        self.reserve = self.rules.reserve.iter().map(kind).collect();
        let mut board = self.parse_board(self.start.split(' ').next().expect("a board"));
        let mut counts = [vec![0; self.reserve.len()], vec![0; self.reserve.len()]];
        for square in &mut board {
            let Some(piece) = *square else { continue };
            if let Some(n) = self.reserve.iter().position(|&kind| kind == piece.kind) {
                counts[usize::from(piece.white)][n] += 1;
                *square = None;
            }
        }
        self.start = format!("{} b - 1 {} -", self.board_text(&board), self.reserve_text(&counts));
    }

    fn add_kind(
        &mut self,
        base: &str,
        code: String,
        moves_as: &str,
        promoted: bool,
        powers: &BTreeMap<String, Vec<Power>>,
    ) -> usize {
        let has = |list: &[String], id: &str| list.iter().any(|x| x == id);
        let rules = &self.rules;
        let kind = TwinKind {
            code,
            moves_as: moves_as.to_string(),
            base: base.to_string(),
            promoted,
            promotes_to: None,
            powers: powers.get(moves_as).unwrap_or_else(|| panic!("no moves for {moves_as}")).clone(),
            royal: has(&rules.royals, moves_as),
            lion: has(&rules.lions, moves_as),
            minor: !promoted && has(&rules.minors, base),
            stuck: !promoted && has(&rules.stuck, base),
            mirror: Some(self.kinds.len()),
            changed: false,
        };
        self.kinds.push(kind);
        self.kinds.len() - 1
    }

    /// Tables of the kind that name SFEN letters and promoted codes.
    fn read_sfen_table(&mut self, table: &toml::Table, powers: &BTreeMap<String, Vec<Power>>) {
        self.files = number(table, "files");
        self.ranks = number(table, "ranks");
        self.start = table["initial_sfen"].as_str().expect("initial_sfen").to_string();
        for row in list(table, "piece") {
            let id = string(row, "id");
            self.add_kind(id, string(row, "sfen").to_string(), id, false, powers);
        }
        for row in list(table, "promoted_code") {
            let from = string(row, "from");
            let promoted = self.add_kind(from, string(row, "sfen").to_string(), string(row, "moves_as"), true, powers);
            let base =
                self.kinds.iter().position(|k| k.base == from && !k.promoted).expect("the promoted piece's base");
            self.kinds[base].promotes_to = Some(promoted);
        }
    }

    /// Tables of the kind that give squares with ids: the SFEN is put together here.
    fn read_array_by_squares(
        &mut self,
        table: &toml::Table,
        powers: &BTreeMap<String, Vec<Power>>,
        codes: Option<&toml::Value>,
        lost_promotion: Option<&str>,
    ) {
        let game = table["game"].as_table().expect("game");
        self.files = number(game, "width");
        self.ranks = number(game, "height");
        let mut rows = list(table, "piece");
        // Kinds that arise by promotion alone stand on the board as promoted pieces only.
        rows.retain(|row| row["initial"].as_bool() == Some(true));
        let code_of = |id: &str, row: &toml::Table| {
            let given = codes.and_then(|c| c.get(id)).and_then(|c| c.as_str());
            given.unwrap_or_else(|| string(row, "abbr")).to_uppercase()
        };
        for row in &rows {
            let id = string(row, "id");
            self.add_kind(id, code_of(id, row), id, false, powers);
        }
        for row in &rows {
            let (id, to) = (string(row, "id"), string(row, "promotes_to"));
            if to.is_empty() || lost_promotion == Some(id) {
                continue;
            }
            let promoted = self.add_kind(id, format!("+{}", code_of(id, row)), to, true, powers);
            let base = self.kinds.iter().position(|k| k.base == id && !k.promoted).expect("added above");
            self.kinds[base].promotes_to = Some(promoted);
        }
        for row in &rows {
            let kind = |id: &str| self.kinds.iter().position(|k| k.base == id && !k.promoted);
            let (at, image) = (kind(string(row, "id")).expect("added above"), string(row, "mirror"));
            if image != "self" {
                self.kinds[at].mirror = kind(image);
            }
        }
        let mut board = vec![None; (self.files * self.ranks) as usize];
        for (white, side) in [(false, "black"), (true, "white")] {
            for (square, id) in table["setup"][side].as_table().expect("a setup a side") {
                let kind = self.kinds.iter().position(|k| !k.promoted && Some(k.base.as_str()) == id.as_str());
                let kind = kind.unwrap_or_else(|| panic!("{square}: unknown piece {id}"));
                let at = self.parse_square(square).unwrap_or_else(|| panic!("no square {square}"));
                board[at] = Some(super::TwinPiece { white, kind });
            }
        }
        self.start = format!("{} b - 1", self.board_text(&board));
    }

    /// Kind of a code (capitals, `+` before a promoted one's).
    pub(crate) fn kind_of_code(&self, code: &str) -> Option<usize> {
        self.kinds.iter().position(|k| k.code == code)
    }

    /// Kind of a piece by its source name and whether it is promoted; `moves_as` names a promoted one too.
    pub(crate) fn kind_of_name(&self, name: &str, promoted: bool) -> Option<usize> {
        let named = |k: &TwinKind| if promoted { k.moves_as == name } else { k.base == name };
        self.kinds
            .iter()
            .position(|k| k.promoted == promoted && named(k))
            .or_else(|| self.kinds.iter().position(|k| k.moves_as == name))
    }
}

fn number(table: &toml::Table, key: &str) -> i32 {
    table[key].as_integer().and_then(|n| i32::try_from(n).ok()).unwrap_or_else(|| panic!("no number {key}"))
}

fn string<'a>(table: &'a toml::Table, key: &str) -> &'a str {
    table[key].as_str().unwrap_or_else(|| panic!("no text {key}"))
}

fn list<'a>(table: &'a toml::Table, key: &str) -> Vec<&'a toml::Table> {
    table[key].as_array().expect("a list").iter().map(|row| row.as_table().expect("a list of tables")).collect()
}

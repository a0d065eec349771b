//! The twin's variants: kinds of piece and rule switches, read from the source tables.

use super::data;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A displacement as the owner sees it: to the right, forward.
pub(crate) type Step = (i32, i32);

/// One power of a kind of piece.
#[derive(Clone, Debug)]
pub(crate) enum Power {
    /// Up to `most` squares in a line, not over anything.
    Slide { dir: Step, most: i32 },
    /// Straight to one square, whatever is between.
    Jump(Step),
    /// A slide with one optional right-angled turn.
    Hook(Step),
    /// Two king steps, or a jump to where two steps could lead.
    Lion { first: Vec<Step>, second: Vec<Step>, jumps: Vec<Step> },
    /// Up to `steps` steps on one line, capturing on any of them.
    LineLion { dir: Step, steps: i32 },
    /// A slide that may pass over up to `over` pieces.
    RangeOver { dir: Step, over: i32 },
}

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
}

/// When a piece may promote.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Promotion {
    /// A move that starts or ends in the zone.
    Touch,
    /// Entering the zone, or a capture that starts or ends in it.
    EntryOrCapture,
    /// Entering the zone only.
    Entry,
    /// With the first capture, forced.
    FirstCapture,
}

/// Whether the ban after a non-lion took a lion asks for protection.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CounterStrike {
    #[default]
    Always,
    ProtectedOnly,
}

/// What a repeated position means.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Repetition {
    /// No earlier position may be made again.
    Ban,
    /// Fourth occurrence: draw, but who checked with every move loses.
    PerpetualCheck,
    /// Fourth occurrence: draw, but who alone attacked with every move loses.
    PerpetualAttack,
    /// Fourth occurrence: the instigator loses (checker, attacker, first to pass), else a draw.
    Instigator,
}

/// What a bare royal means.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bare {
    None,
    /// Any material beside a royal wins, but a single minor piece.
    AnyMaterial,
    /// Two counting pieces win, with conditions of adjacency and attack.
    TwoCounting,
}

/// When the royals are counted where check must be answered.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoyalCount {
    #[default]
    BeforeTheMove,
    AfterTheMove,
}

/// Squares from the last rank on which a piece must promote.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forced {
    pub(crate) pieces: Vec<String>,
    pub(crate) ranks: i32,
}

/// Every switch of the rules.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TwinRules {
    moves: String,
    pieces: String,
    #[serde(default)]
    alternatives: Option<String>,
    royals: Vec<String>,
    lions: Vec<String>,
    minors: Vec<String>,
    stuck: Vec<String>,
    #[serde(default)]
    pub(crate) zone: i32,
    pub(crate) promotion: Promotion,
    pub(crate) second_chance: Vec<String>,
    #[serde(default)]
    pub(crate) forced: Vec<Forced>,
    #[serde(default)]
    pub(crate) lion_trading: bool,
    #[serde(default)]
    pub(crate) captured_minor_still_protects: bool,
    #[serde(default)]
    pub(crate) counter_strike: CounterStrike,
    #[serde(default)]
    pub(crate) same_square_exempt: bool,
    #[serde(default)]
    pub(crate) mid_square_tested: bool,
    pub(crate) repetition: Repetition,
    #[serde(default)]
    pub(crate) repetition_ignores_ban_square: bool,
    #[serde(default)]
    pub(crate) same_kind_when_promoted: bool,
    pub(crate) bare: Bare,
    /// Whether an attack on one of two royals is a check.
    #[serde(default)]
    pub(crate) check_on_any_royal: bool,
    /// Whether one bare royal may still take the other.
    #[serde(default)]
    pub(crate) bare_royals_play_on: bool,
    /// Whether a bare royal loses to a side with one royal only.
    #[serde(default)]
    pub(crate) bare_loses_to_single_royal_only: bool,
    /// Whether a bare side may save itself by baring the other on its next move.
    #[serde(default)]
    pub(crate) rebare: bool,
    #[serde(default)]
    pub(crate) must_answer_check: bool,
    #[serde(default)]
    pub(crate) royals_counted: RoyalCount,
    #[serde(default)]
    pub(crate) step_then_jump: bool,
    #[serde(default)]
    pub(crate) ply_cap: Option<usize>,
}

/// One game under one ruleset.
#[derive(Clone, Debug)]
pub(crate) struct TwinVariant {
    pub(crate) files: i32,
    pub(crate) ranks: i32,
    pub(crate) kinds: Vec<TwinKind>,
    pub(crate) rules: TwinRules,
    pub(crate) start: String,
}

impl TwinVariant {
    /// Names of the rulesets of a game.
    pub(crate) fn rulesets(game: &str) -> Vec<String> {
        let all: toml::Table = data("twin_rules.toml").parse().expect("twin_rules.toml is TOML");
        all[game]["rulesets"].as_table().expect("a table of rulesets").keys().cloned().collect()
    }

    /// A game's variant; each is read once.
    pub(crate) fn load(game: &str, ruleset: &str) -> Arc<TwinVariant> {
        static READ: Mutex<BTreeMap<String, Arc<TwinVariant>>> = Mutex::new(BTreeMap::new());
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let variant =
            read.entry(format!("{game} {ruleset}")).or_insert_with(|| Arc::new(Self::load_with(game, ruleset, |_| ())));
        Arc::clone(variant)
    }

    /// As `load`, with a last change of the switches.
    pub(crate) fn load_with(game: &str, ruleset: &str, change: impl FnOnce(&mut TwinRules)) -> TwinVariant {
        let all: toml::Table = data("twin_rules.toml").parse().expect("twin_rules.toml is TOML");
        let mut table = all[game].as_table().expect("a table a game").clone();
        let codes = table.remove("codes");
        table.remove("default_ruleset");
        let rulesets = table.remove("rulesets").expect("rulesets");
        let changes = rulesets
            .get(ruleset)
            .and_then(|t| t.as_table())
            .unwrap_or_else(|| panic!("{game} has no ruleset {ruleset}"));
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

        let mut variant = TwinVariant { files: 0, ranks: 0, kinds: Vec::new(), rules, start: String::new() };
        if pieces.contains_key("setup") {
            variant.read_array_by_squares(&pieces, &powers, codes.as_ref(), lost_promotion.as_deref());
        } else {
            variant.read_sfen_table(&pieces, &powers);
        }
        variant
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

/// Both shapes of the moves tables: `kinds.ID.powers` and `pieces.ID.moves`.
fn read_powers(moves: &Value) -> BTreeMap<String, Vec<Power>> {
    let (rows, key) =
        if moves["pieces"].is_object() { (&moves["pieces"], "moves") } else { (&moves["kinds"], "powers") };
    rows.as_object().expect("an object of pieces").iter().map(|(id, row)| (id.clone(), read_list(&row[key]))).collect()
}

fn read_list(list: &Value) -> Vec<Power> {
    list.as_array().expect("a list of powers").iter().map(read_power).collect()
}

fn step(value: &Value) -> Step {
    let part = |n: usize| {
        value[n].as_i64().and_then(|n| i32::try_from(n).ok()).unwrap_or_else(|| panic!("not a direction: {value}"))
    };
    (part(0), part(1))
}

fn steps(value: &Value) -> Vec<Step> {
    value.as_array().expect("a list of directions").iter().map(step).collect()
}

const AROUND: [Step; 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];

fn read_power(row: &Value) -> Power {
    let int = |key: &str| row[key].as_i64().and_then(|n| i32::try_from(n).ok());
    let dir = || step(&row["dir"]);
    match row["kind"].as_str().expect("a kind of power") {
        "step" => Power::Slide { dir: dir(), most: 1 },
        "limited" => Power::Slide { dir: dir(), most: int("n").expect("a limit") },
        "range" => Power::Slide { dir: dir(), most: i32::MAX },
        "jump" => {
            // One table gives the whole displacement, the other a direction and a distance.
            let (x, y) = dir();
            let times = int("dist").unwrap_or(1);
            Power::Jump((x * times, y * times))
        }
        "hook" => Power::Hook(dir()),
        "range_over" => Power::RangeOver { dir: dir(), over: int("max_over").expect("a number of pieces") },
        "linear_lion" => Power::LineLion { dir: dir(), steps: int("n").or(int("limit")).expect("a number of steps") },
        "lion" if row["jumps"].is_array() => Power::Lion {
            first: steps(&row["first_step_dirs"]),
            second: steps(&row["second_step_dirs"]),
            jumps: steps(&row["jumps"]),
        },
        "lion" => {
            let radius = int("radius").expect("a radius");
            let square = (-radius..=radius).flat_map(|x| (-radius..=radius).map(move |y| (x, y)));
            Power::Lion {
                first: AROUND.to_vec(),
                second: AROUND.to_vec(),
                jumps: square.filter(|&s| s != (0, 0)).collect(),
            }
        }
        other => panic!("unknown power {other}"),
    }
}

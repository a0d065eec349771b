//! From a variant file to tables: reads the TOML, checks everything, reports every issue with its place.

mod movement;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::betza::{self, Slide};
use crate::bitboard::{BigBits, MAX_WORDS};
use crate::error::{Issue, VariantError};
use crate::geometry::{Board, Color, DIRECTIONS, MAX_SIDE, Square};
use crate::lanes::{COMPASS, LANES, Team};
use crate::piece::{Piece, PieceKind};
use crate::rules::{CounterStrike, LionAtDistance, Rules};
use crate::sfen;
use crate::spec::{MovesSpec, PieceSpec, VariantSpec};
use crate::variant::{Kind, KindRules, Variant, builtin};
use movement::{Movement, lines, rider, teams};

/// The most teams of riders: a rider's number is a byte.
const MAX_TEAMS: usize = 256 / LANES;

struct Issues<'t> {
    text: &'t str,
    found: Vec<Issue>,
}

impl Issues<'_> {
    fn at(&mut self, span: Range<usize>, message: String) {
        let before = &self.text[..span.start.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        self.found.push(Issue {
            line: Some(before.matches('\n').count() + 1),
            column: Some(before[line_start..].chars().count() + 1),
            message,
        });
    }
}

fn join<'a>(names: impl Iterator<Item = &'a String>) -> String {
    names.map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// A spec in which nothing is missing.
struct Whole {
    spec: VariantSpec,
    files: Spanned<u8>,
    ranks: Spanned<u8>,
    start: Spanned<String>,
    default_ruleset: Spanned<String>,
}

pub(crate) fn variant(text: &str, ruleset: Option<&str>) -> Result<Variant, VariantError> {
    let mut issues = Issues { text, found: Vec::new() };
    let Some(whole) = read(&mut issues) else { return Err(VariantError::Invalid(issues.found)) };
    let spec = &whole.spec;
    let default = whole.default_ruleset.get_ref();
    let known = || join(spec.rulesets.keys());
    if !spec.rulesets.contains_key(default) {
        issues.at(whole.default_ruleset.span(), format!("ruleset `{default}` is not defined; there are: {}", known()));
        return Err(VariantError::Invalid(issues.found));
    }
    let ruleset = ruleset.unwrap_or(default);
    if !spec.rulesets.contains_key(ruleset) {
        let (variant, ruleset) = (spec.name.clone(), ruleset.to_string());
        return Err(VariantError::UnknownRuleset { variant, ruleset, known: known() });
    }
    // Every ruleset is checked, the chosen one is used.
    let mut chosen = None;
    for name in spec.rulesets.keys() {
        let built = build(&whole, name, &mut issues);
        if name == ruleset {
            chosen = built;
        }
        if !issues.found.is_empty() {
            break;
        }
    }
    match chosen {
        Some(variant) if issues.found.is_empty() => Ok(variant),
        _ => Err(VariantError::Invalid(issues.found)),
    }
}

fn parse(issues: &mut Issues<'_>) -> Option<VariantSpec> {
    toml::from_str(issues.text)
        .map_err(|error| issues.at(error.span().unwrap_or(0..0), error.message().trim().to_string()))
        .ok()
}

/// Reads a file and completes it from the variant it extends.
fn read(issues: &mut Issues<'_>) -> Option<Whole> {
    let mut spec = parse(issues)?;
    if let Some(parent) = spec.extends.clone() {
        let name = parent.get_ref();
        let Some(text) = builtin(name) else {
            let known = Variant::builtin_names().collect::<Vec<_>>().join(", ");
            issues.at(parent.span(), format!("no built-in variant `{name}`; there are {known}"));
            return None;
        };
        let mut inner = Issues { text, found: Vec::new() };
        let parent_spec = parse(&mut inner).filter(|spec| spec.extends.is_none());
        let Some(parent_spec) = parent_spec else {
            issues.at(parent.span(), format!("`{name}` extends another variant itself"));
            return None;
        };
        inherit(&mut spec, parent_spec, parent.span());
    }
    let mut need = |missing: bool, key: &str| {
        if missing {
            issues.at(0..0, format!("missing key `{key}`"));
        }
    };
    need(spec.kanji.is_none(), "kanji");
    need(spec.piece.is_empty(), "piece");
    need(spec.files.is_none(), "files");
    need(spec.ranks.is_none(), "ranks");
    need(spec.start.is_none(), "start");
    need(spec.default_ruleset.is_none(), "default_ruleset");
    let whole = (spec.files.clone(), spec.ranks.clone(), spec.start.clone(), spec.default_ruleset.clone());
    let (Some(files), Some(ranks), Some(start), Some(default_ruleset)) = whole else { return None };
    Some(Whole { spec, files, ranks, start, default_ruleset })
}

/// Fills what `spec` does not say from its parent. What comes from there has its place at `place`.
fn inherit(spec: &mut VariantSpec, parent: VariantSpec, place: Range<usize>) {
    fn moved<T>(value: Spanned<T>, place: &Range<usize>) -> Spanned<T> {
        Spanned::new(place.clone(), value.into_inner())
    }
    fn fill<T>(own: &mut Option<Spanned<T>>, parent: Option<Spanned<T>>, place: &Range<usize>) {
        if own.is_none() {
            *own = parent.map(|value| moved(value, place));
        }
    }
    spec.kanji = spec.kanji.take().or(parent.kanji);
    if spec.sources.is_empty() {
        spec.sources = parent.sources;
    }
    // Start positions belong to a board and an army; those of the parent are not taken.
    fill(&mut spec.files, parent.files, &place);
    fill(&mut spec.ranks, parent.ranks, &place);
    fill(&mut spec.start, parent.start, &place);
    fill(&mut spec.default_ruleset, parent.default_ruleset, &place);
    for (key, value) in parent.rules {
        spec.rules.entry(key).or_insert(moved(value, &place));
    }
    for (name, mut ruleset) in parent.rulesets {
        ruleset.rules = ruleset.rules.into_iter().map(|(key, value)| (key, moved(value, &place))).collect();
        ruleset.moves = ruleset.moves.into_iter().map(|(id, value)| (id, moved(value, &place))).collect();
        ruleset.alternatives = ruleset.alternatives.into_iter().map(|name| moved(name, &place)).collect();
        spec.rulesets.entry(name).or_insert(ruleset);
    }
    for (name, mut alternative) in parent.alternatives {
        alternative.piece = moved(alternative.piece, &place);
        alternative.moves = moved(alternative.moves, &place);
        spec.alternatives.entry(name).or_insert(alternative);
    }
    for piece in parent.piece {
        if spec.piece.iter().all(|own| own.id.get_ref() != piece.id.get_ref()) {
            spec.piece.push(PieceSpec {
                id: moved(piece.id, &place),
                code: piece.code.map(|code| moved(code, &place)),
                moves: moved(piece.moves, &place),
                promotes_to: piece.promotes_to.map(|id| moved(id, &place)),
                mirror: piece.mirror.map(|id| moved(id, &place)),
                ..piece
            });
        }
    }
}

fn build(whole: &Whole, ruleset: &str, issues: &mut Issues<'_>) -> Option<Variant> {
    let spec = &whole.spec;
    let mut side = |given: &Spanned<u8>, what: &str| {
        let value = *given.get_ref();
        if !(3..=MAX_SIDE as u8).contains(&value) {
            issues.at(given.span(), format!("{value} {what}; expected 3 to {MAX_SIDE}"));
        }
        value
    };
    let board = Board { files: side(&whole.files, "files"), ranks: side(&whole.ranks, "ranks") };
    let rules = resolve_rules(spec, ruleset, issues);
    let overrides = overrides(spec, ruleset, issues);

    let mut by_id: HashMap<&str, usize> = HashMap::new();
    let mut by_code: HashMap<String, &str> = HashMap::new();
    for (index, piece) in spec.piece.iter().enumerate() {
        let id = piece.id.get_ref();
        let plain = !id.is_empty() && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !plain || id.starts_with("promoted_") {
            issues
                .at(piece.id.span(), format!("id `{id}`: use small letters, digits and `_`, no `promoted_` before it"));
        }
        if by_id.insert(id, index).is_some() {
            issues.at(piece.id.span(), format!("a second piece `{id}`"));
        }
        if let Some(code) = &piece.code {
            let text = code.get_ref();
            if text.is_empty() || !text.bytes().all(|b| b.is_ascii_uppercase()) {
                issues.at(code.span(), format!("code `{text}`: expected capital letters A to Z"));
            }
            if let Some(other) = by_code.insert(text.clone(), id) {
                issues.at(code.span(), format!("code `{text}` is that of `{other}` already"));
            }
        }
    }
    for (id, moves) in &overrides {
        if !by_id.contains_key(id.as_str()) {
            issues.at(moves.span(), format!("ruleset `{ruleset}` changes the moves of `{id}`, which is no piece here"));
        }
    }
    let moves_of =
        |piece: &PieceSpec| -> Spanned<MovesSpec> { overrides.get(piece.id.get_ref()).unwrap_or(&piece.moves).clone() };
    let movements: Vec<Movement> = spec.piece.iter().map(|piece| Movement::read(&moves_of(piece), issues)).collect();

    // The unpromoted kinds in the file's order, then the promoted ones in the same order.
    let on_board: Vec<usize> = (0..spec.piece.len()).filter(|&i| spec.piece[i].code.is_some()).collect();
    let mut definitions: Vec<(usize, usize, Option<usize>)> = Vec::new(); // (piece, moves as, base kind)
    for &piece in &on_board {
        definitions.push((piece, piece, None));
    }
    let mut promotes_to = vec![None; on_board.len()];
    for (kind, &piece) in on_board.iter().enumerate() {
        let Some(target) = &spec.piece[piece].promotes_to else { continue };
        let Some(&target_index) = by_id.get(target.get_ref().as_str()) else {
            issues.at(
                target.span(),
                format!(
                    "`{}` promotes to `{}`, which is no piece here",
                    spec.piece[piece].id.get_ref(),
                    target.get_ref()
                ),
            );
            continue;
        };
        if !rules.never_promote.contains(spec.piece[piece].id.get_ref()) {
            promotes_to[kind] = Some(PieceKind::new(definitions.len()));
        }
        definitions.push((piece, target_index, Some(kind)));
    }
    promotes_to.resize(definitions.len(), None);
    if definitions.len() > PieceKind::MAX {
        issues.at(
            0..0,
            format!("{} kinds of pieces with promoted ones; at most {} fit", definitions.len(), PieceKind::MAX),
        );
        return None;
    }
    check_names(&rules, &by_id, issues);
    if !issues.found.is_empty() {
        return None;
    }

    let kind_of = |piece: usize, promoted: bool| {
        definitions.iter().position(|&(p, _, base)| p == piece && base.is_some() == promoted).map(PieceKind::new)
    };
    let mut kinds = Vec::new();
    for (index, &(piece, mover, base)) in definitions.iter().enumerate() {
        let (own, shown) = (&spec.piece[piece], &spec.piece[mover]);
        let id = own.id.get_ref();
        let mirror = match &own.mirror {
            None => Some(PieceKind::new(index)),
            Some(name) if name.get_ref() == "none" => None,
            Some(name) => {
                let partner = by_id.get(name.get_ref().as_str()).and_then(|&p| kind_of(p, base.is_some()));
                if partner.is_none() {
                    issues.at(name.span(), format!("mirror `{}` of `{id}` is no piece here", name.get_ref()));
                }
                partner
            }
        };
        kinds.push(Kind {
            id: if base.is_some() { format!("promoted_{id}") } else { id.clone() },
            name: shown.name.clone(),
            kanji: shown.kanji.clone(),
            symbol: shown.symbol.clone(),
            romaji: shown.romaji.clone(),
            code: own.code.as_ref().map(|code| code.get_ref().clone()).unwrap_or_default(),
            tsa: own.tsa.clone(),
            promotes_to: promotes_to[index],
            base: base.map(PieceKind::new),
            moves_as: shown.id.get_ref().clone(),
            royal: shown.royal,
            lion_trade: shown.lion_trade,
            minor: own.minor && base.is_none(),
            count: 0,
            mirror,
        });
    }
    let kind_movements: Vec<&Movement> = definitions.iter().map(|&(_, mover, _)| &movements[mover]).collect();
    let teams = teams(board, &kind_movements);
    if teams.len() > MAX_TEAMS {
        issues.at(0..0, format!("over {} different slides", (MAX_TEAMS - 1) * LANES));
        return None;
    }
    let powers = kind_movements.iter().map(|movement| movement.powers(board, &teams)).collect();
    let squares = || (0..board.squares()).map(Square::new);
    let around = |square: Square, far: u32| {
        BigBits::from_squares(squares().filter(move |&other| (1..=far).contains(&board.distance(square, other))))
    };
    let kind_rules: Vec<_> = definitions
        .iter()
        .zip(&kinds)
        .zip(&kind_movements)
        .map(|((&(piece, _, base), kind), movement)| {
            let id = spec.piece[piece].id.get_ref();
            let dead = Color::ALL.map(|color| {
                BigBits::from_squares(squares().filter(|&square| !movement.can_leave(board, square, color)))
            });
            KindRules {
                promotes_to: kind.promotes_to,
                royal: kind.royal,
                lion_trade: kind.lion_trade,
                minor: kind.minor,
                forced_ranks: if base.is_none() { rules.forced.get(id).copied().unwrap_or(0) } else { 0 },
                second_chance: base.is_none() && rules.second_chance.contains(id),
                any_dead: !dead[0].is_empty(),
                dead,
            }
        })
        .collect();
    let last_ranks = |ranks: u8| {
        Color::ALL.map(|color| {
            BigBits::from_squares(squares().filter(|&square| board.ranks_from_far_edge(square, color) < ranks))
        })
    };
    let edge_ranks =
        kind_rules.iter().map(|rules: &KindRules| rules.forced_ranks.max(rules.second_chance.into())).max();
    let lion_trading = kinds.iter().any(|kind| kind.lion_trade)
        && (rules.lion_at_distance != LionAtDistance::Free || rules.counter_strike != CounterStrike::None);
    let mut rulesets: Vec<_> =
        spec.rulesets.iter().map(|(name, ruleset)| (name.clone(), ruleset.title.clone())).collect();
    rulesets.sort_by_key(|(name, _)| name != whole.default_ruleset.get_ref());
    let mut variant = Variant {
        name: spec.name.clone(),
        title: spec.title.clone(),
        kanji: spec.kanji.clone().unwrap_or_default(),
        sources: spec.sources.clone(),
        ruleset: ruleset.to_string(),
        rulesets,
        board,
        words: words(board.squares()),
        start: whole.start.get_ref().clone(),
        positions: spec.positions.iter().map(|(name, sfen)| (name.clone(), sfen.get_ref().clone())).collect(),
        lines: lines(board, &kind_movements),
        kinds,
        kind_rules,
        slots: Vec::new(),
        powers,
        teams,
        compass: COMPASS.map(|directions| {
            let slide = |d: usize| Slide { right: DIRECTIONS[d].0, forward: DIRECTIONS[d].1, range: betza::UNLIMITED };
            Team::new(directions.map(|d| rider(board, slide(d))).into())
        }),
        zone: last_ranks(rules.zone_ranks),
        edge: last_ranks(edge_ranks.unwrap_or(0)),
        neighbours: squares().map(|square| around(square, 1)).collect(),
        two_steps: squares().map(|square| around(square, 2)).collect(),
        lion_trading,
        rules,
        sets_of_code: Vec::new(),
        hash_codes: Vec::new(),
        steps: squares().map(|square| std::array::from_fn(|d| board.neighbour(square, d))).collect(),
        fingerprint: String::new(),
    };
    variant.index_codes();
    variant.fingerprint = variant.compute_fingerprint();
    for text in std::iter::once(&whole.start).chain(spec.positions.values()) {
        match sfen::read(&variant, text.get_ref()) {
            Err(error) => issues.at(text.span(), error.to_string()),
            Ok(fields) if text.get_ref() == whole.start.get_ref() => {
                for code in fields.board {
                    if let Some(Piece { color: Color::Black, kind }) = Piece::from_code(code) {
                        variant.kinds[kind.index()].count += 1;
                    }
                }
            }
            Ok(_) => {}
        }
    }
    Some(variant)
}

/// Words of a set of squares: one of the few numbers that `movegen` is compiled for.
fn words(squares: usize) -> usize {
    match squares.div_ceil(64) {
        0..=2 => 2,
        3 => 3,
        _ => MAX_WORDS,
    }
}

/// The default rules with the shared changes and those of the ruleset.
fn resolve_rules(spec: &VariantSpec, ruleset: &str, issues: &mut Issues<'_>) -> Rules {
    let mut rules = Rules::default();
    let mut table = toml::Table::try_from(&rules).expect("rules are a table");
    for (key, value) in spec.rules.iter().chain(&spec.rulesets[ruleset].rules) {
        let before = table.insert(key.clone(), value.get_ref().clone());
        match Rules::deserialize(table.clone()) {
            Ok(read) => rules = read,
            Err(error) => {
                issues.at(value.span(), format!("ruleset `{ruleset}`, `{key}`: {}", error.message().trim()));
                match before {
                    Some(before) => table.insert(key.clone(), before),
                    None => table.remove(key),
                };
            }
        }
    }
    rules
}

/// The moves that a ruleset changes, by the piece's id: its alternatives, then its own.
fn overrides(spec: &VariantSpec, ruleset: &str, issues: &mut Issues<'_>) -> BTreeMap<String, Spanned<MovesSpec>> {
    let ruleset = &spec.rulesets[ruleset];
    let mut moves = BTreeMap::new();
    for name in &ruleset.alternatives {
        match spec.alternatives.get(name.get_ref()) {
            Some(alternative) => {
                moves.insert(alternative.piece.get_ref().clone(), alternative.moves.clone());
            }
            None => {
                let known = join(spec.alternatives.keys());
                issues.at(name.span(), format!("no alternative `{}`; there are: {known}", name.get_ref()));
            }
        }
    }
    moves.extend(ruleset.moves.iter().map(|(id, spec)| (id.clone(), spec.clone())));
    moves
}

/// Names of pieces in the rules must exist.
fn check_names(rules: &Rules, by_id: &HashMap<&str, usize>, issues: &mut Issues<'_>) {
    let named = rules.second_chance.iter().chain(rules.forced.keys()).chain(&rules.never_promote);
    for id in named.filter(|id| !by_id.contains_key(id.as_str())) {
        let place = issues.text.find(id.as_str()).unwrap_or(0);
        issues.at(place..place, format!("the rules name `{id}`, which is no piece here"));
    }
}

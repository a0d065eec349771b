//! Names of pieces in KIF.

use crate::notation::spellings::SPELLINGS;
use crate::piece::PieceKind;
use crate::variant::{Kind, Variant};

/// All ways of writing the kinds of a variant.
pub(super) struct Names {
    /// By kind: in diagrams and on small boards. Unique in the built-in variants.
    cells: Vec<String>,
    /// By kind: the full name.
    full: Vec<String>,
    /// Everything that is read, in plain characters.
    read: Vec<(String, PieceKind)>,
    small: bool,
}

impl Names {
    pub(super) fn new(variant: &Variant) -> Names {
        let kinds = variant.kinds();
        let cells: Vec<String> = (0..kinds.len()).map(|kind| cell(variant, kind)).collect();
        let full = kinds.iter().map(|kind| full(variant, kind)).collect();
        let mut read = Vec::new();
        for (index, kind) in kinds.iter().enumerate() {
            let mut add = |name: &str| {
                let entry = (SPELLINGS.plain(name), PieceKind::new(index));
                if !entry.0.is_empty() && !read.contains(&entry) {
                    read.push(entry);
                }
            };
            add(&cells[index]);
            add(&kind.symbol);
            let names = alternatives(&kind.kanji);
            names.iter().for_each(|name| add(name));
            // A piece with two names also has two characters.
            names.iter().filter(|_| names.len() > 1).for_each(|name| add(&initial(name)));
            if let Some(base) = kind.base.map(|base| variant.kind(base)) {
                add(&format!("成{}", kind.symbol));
                add(&format!("成{}", base.symbol));
                alternatives(&base.kanji).iter().for_each(|base| add(&format!("成{base}")));
                promoted_names(base, kind).for_each(|name| add(&name));
            }
        }
        Names { cells, full, read, small: variant.files() <= 9 && variant.ranks() <= 9 }
    }

    /// Whether the board is written as that of shogi.
    pub(super) fn is_small(&self) -> bool {
        self.small
    }

    /// The name in a move.
    pub(super) fn written(&self, kind: PieceKind) -> &str {
        if self.small { &self.cells[kind.index()] } else { &self.full[kind.index()] }
    }

    /// The name in a diagram.
    pub(super) fn cell(&self, kind: PieceKind) -> &str {
        &self.cells[kind.index()]
    }

    /// Characters of the longest name in a diagram.
    pub(super) fn cell_width(&self) -> usize {
        self.cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(1)
    }

    /// The kinds that the longest name at the start of `text` can mean, and the rest.
    pub(super) fn read<'t>(&self, text: &'t str) -> Option<(Vec<PieceKind>, &'t str)> {
        let start: String = text.chars().take(12).collect();
        let plain = SPELLINGS.plain(&start);
        let fits = self.read.iter().filter(|(name, _)| plain.starts_with(name));
        let longest = fits.clone().map(|(name, _)| name.chars().count()).max()?;
        let kinds = fits.filter(|(name, _)| name.chars().count() == longest).map(|&(_, kind)| kind).collect();
        let end = text.char_indices().nth(longest).map_or(text.len(), |(at, _)| at);
        Some((kinds, &text[end..]))
    }

    /// The kind that stands in a diagram at the start of `text`, and the rest.
    pub(super) fn read_cell<'t>(&self, text: &'t str) -> Option<(PieceKind, &'t str)> {
        let (kinds, rest) = self.read(text)?;
        let name = &text[..text.len() - rest.len()];
        let exact = self.cells.iter().position(|cell| cell == name).map(PieceKind::new);
        let only = || kinds.first().copied().filter(|_| kinds.len() == 1);
        exact.or_else(only).map(|kind| (kind, rest))
    }
}

/// The names of a piece that has several, in plain characters.
fn alternatives(kanji: &str) -> Vec<String> {
    kanji.split('/').map(|name| SPELLINGS.plain(name)).collect()
}

/// What a promoted kind is called besides the names of its kanji.
fn promoted_names(base: &Kind, kind: &Kind) -> impl Iterator<Item = String> {
    let now = alternatives(&kind.kanji);
    alternatives(&base.kanji).into_iter().flat_map(move |was| {
        let names = |now: &String| SPELLINGS.promoted(&was, now).map(str::to_string).collect::<Vec<_>>();
        now.iter().flat_map(names).collect::<Vec<_>>()
    })
}

/// The name on large boards.
fn full(variant: &Variant, kind: &Kind) -> String {
    let promoted = kind.base.and_then(|base| promoted_names(variant.kind(base), kind).next());
    promoted.or_else(|| preferred(kind)).or_else(|| alternatives(&kind.kanji).pop()).unwrap_or_default()
}

/// The one written of several names of a piece.
fn preferred(kind: &Kind) -> Option<String> {
    alternatives(&kind.kanji).into_iter().find(|name| SPELLINGS.names.contains(name))
}

fn initial(name: &str) -> String {
    name.chars().take(1).collect()
}

/// A short name: the piece's own character; for a promoted piece, where that is taken, a name of one character, or 成
/// and the character of what it moves as or was.
fn cell(variant: &Variant, index: usize) -> String {
    let kinds = variant.kinds();
    let kind = &kinds[index];
    let Some(base) = kind.base.map(|base| variant.kind(base)) else {
        return preferred(kind).map_or_else(|| kind.symbol.clone(), |name| initial(&name));
    };
    let mut alike = kinds.iter().enumerate().filter(|(other, shown)| *other != index && shown.symbol == kind.symbol);
    if alike.clone().next().is_none() {
        return kind.symbol.clone();
    }
    let mut names = promoted_names(base, kind);
    if let Some(name) = names.find(|name| name.chars().count() == 1) {
        return name;
    }
    let taken = alike.any(|(_, shown)| shown.is_promoted());
    format!("成{}", if taken { &base.symbol } else { &kind.symbol })
}

//! Which kinds move alike to the left and to the right.

use crate::piece::PieceKind;
use crate::variant::{Powers, Rider, Variant};

impl Variant {
    /// Whether a kind moves alike to the left and to the right, and all that it can become too. Left and right mean the
    /// same for such a piece; [`Kind::mirror`](crate::Kind::mirror) tells which kind a lopsided one becomes in a reflection.
    pub fn is_symmetric(&self, kind: PieceKind) -> bool {
        std::iter::successors(Some(kind), |&kind| self.kind(kind).promotes_to).all(|kind| {
            let powers = &self.powers[kind.index()];
            let riders = powers.riders.iter().map(|&number| self.rider(number));
            offsets_are_symmetric(riders) && is_symmetric(powers)
        })
    }
}

fn is_symmetric(powers: &Powers) -> bool {
    // Directions go clockwise from straight ahead.
    let symmetric = |same: &dyn Fn(usize, usize) -> bool| (1..4).all(|right| same(right, 8 - right));
    offsets_are_symmetric(powers.jumps.iter())
        && symmetric(&|a, b| powers.slides[a] == powers.slides[b])
        && symmetric(&|a, b| powers.over[a] == powers.over[b])
        && symmetric(&|a, b| powers.lines[a] == powers.lines[b])
        && symmetric(&|a, b| powers.hooks[a] == powers.hooks[b])
}

fn offsets_are_symmetric<'a>(riders: impl Iterator<Item = &'a Rider> + Clone) -> bool {
    let all = |sign: i8| {
        let moves = riders.clone().map(|rider| (sign * rider.offset.0, rider.offset.1, rider.range));
        let mut moves: Vec<_> = moves.collect();
        moves.sort_unstable();
        moves
    };
    all(1) == all(-1)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The files name the kinds that have another one or none as their mirror image, by the games' descriptions; moves
    /// must say the same.
    #[test]
    fn kinds_that_are_their_own_mirror_image_move_so() {
        for name in Variant::builtin_names() {
            let variant = Variant::load(name, None).unwrap();
            let own = |kind: PieceKind| variant.kind(kind).mirror == Some(kind);
            for kind in (0..variant.kinds().len()).map(PieceKind::new) {
                // What a lopsided piece becomes may be symmetric, although the file says nothing of its mirror image.
                if variant.kind(kind).is_promoted() {
                    continue;
                }
                let promoted = variant.kind(kind).promotes_to;
                let expected = own(kind) && promoted.is_none_or(|kind| variant.is_symmetric(kind));
                assert_eq!(variant.is_symmetric(kind), expected, "{name}: {}", variant.kind(kind).id);
            }
        }
        let variant = Variant::load("daidai", None).unwrap();
        let mut lopsided: Vec<&str> = (0..variant.kinds().len())
            .map(PieceKind::new)
            .filter(|&kind| !variant.kind(kind).is_promoted() && !variant.is_symmetric(kind))
            .map(|kind| variant.kind(kind).id.as_str())
            .collect();
        lopsided.sort_unstable();
        // By Wikipedia's diagrams of moves.
        let expected = ["blue_dragon", "left_chariot", "left_general", "right_chariot", "right_general", "white_tiger"];
        assert_eq!(lopsided, expected);
    }
}

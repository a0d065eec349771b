//! How often and when pieces promote.

use std::collections::BTreeMap;

use engine::Variant;
use serde::{Deserialize, Serialize};

use crate::interval::Interval;
use crate::normal::Z95;
use crate::values::PieceValue;

/// Promotions of a kind, over all games and both sides. The last move of a game is not seen, since no position follows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promotion {
    /// The kind.
    pub id: String,
    /// What it becomes.
    pub promoted_id: String,
    /// Pieces of the kind in the first recorded positions.
    pub pieces: u64,
    /// Those that promoted later.
    pub promotions: u64,
    /// Share of pieces that promote, with a 95 % interval (normal, clustered by game); `None` without pieces.
    pub share: Option<Interval>,
    /// Quartiles of the ply, counted from the first recorded position; `None` without promotions.
    pub plies: Option<[u16; 3]>,
    /// What the piece is worth, as far as it is identified.
    pub before: Option<Interval>,
    /// What it is worth once promoted.
    pub after: Option<Interval>,
}

/// The promotions of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
struct OfKind {
    pieces: u64,
    promotions: u64,
    /// Sums over games of promotions², promotions · pieces and pieces², for the error of the share.
    squares: [f64; 3],
    /// Promotions by ply.
    plies: BTreeMap<u16, u64>,
}

/// Promotions counted, by kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Promotions {
    kinds: Vec<OfKind>,
    /// Pieces and promotions of each kind in the game that is being read.
    game: Vec<[u32; 2]>,
}

impl Promotions {
    pub(crate) fn new(variant: &Variant) -> Promotions {
        let kinds = variant.kinds().len();
        Promotions { kinds: vec![OfKind::default(); kinds], game: vec![[0, 0]; kinds] }
    }

    /// A game begins with these pieces of each kind of both sides.
    pub(crate) fn begin(&mut self, counts: &[[i16; 2]]) {
        self.end();
        self.game.iter_mut().zip(counts).for_each(|(game, [black, white])| *game = [(black + white) as u32, 0]);
    }

    /// A piece of a kind promotes.
    pub(crate) fn add(&mut self, kind: usize, ply: u16) {
        self.game[kind][1] += 1;
        *self.kinds[kind].plies.entry(ply).or_default() += 1;
    }

    /// The game that is being read is over.
    pub(crate) fn end(&mut self) {
        for (kind, game) in self.kinds.iter_mut().zip(&mut self.game) {
            let [pieces, promotions] = std::mem::take(game);
            kind.pieces += u64::from(pieces);
            kind.promotions += u64::from(promotions);
            let [n, p] = [pieces, promotions].map(f64::from);
            kind.squares.iter_mut().zip([p * p, p * n, n * n]).for_each(|(sum, x)| *sum += x);
        }
    }

    pub(crate) fn merge(&mut self, other: &Promotions) {
        for (kind, other) in self.kinds.iter_mut().zip(&other.kinds) {
            kind.pieces += other.pieces;
            kind.promotions += other.promotions;
            kind.squares.iter_mut().zip(other.squares).for_each(|(sum, x)| *sum += x);
            other.plies.iter().for_each(|(&ply, n)| *kind.plies.entry(ply).or_default() += n);
        }
    }

    /// Share of the pieces of a kind that promote; `None` without pieces.
    pub(crate) fn share(&self, kind: usize) -> Option<f64> {
        Some(self.kinds[kind].share()?.value)
    }

    /// The kinds that can promote, beside their values.
    pub(crate) fn finish(&self, variant: &Variant, values: &[PieceValue]) -> Vec<Promotion> {
        let value = |id: &str| values.iter().find(|piece| piece.id == id)?.interval();
        let of = |(kind, counted): (&engine::Kind, &OfKind)| {
            let promoted = &variant.kind(kind.promotes_to?).id;
            Some(Promotion {
                id: kind.id.clone(),
                promoted_id: promoted.clone(),
                pieces: counted.pieces,
                promotions: counted.promotions,
                share: counted.share(),
                plies: counted.quartiles(),
                before: value(&kind.id),
                after: value(promoted),
            })
        };
        variant.kinds().iter().zip(&self.kinds).filter_map(of).collect()
    }
}

impl OfKind {
    fn share(&self) -> Option<Interval> {
        let pieces = (self.pieces > 0).then_some(self.pieces as f64)?;
        let share = self.promotions as f64 / pieces;
        let [pp, pn, nn] = self.squares;
        // Variance of a ratio of sums over games.
        let error = (pp - 2.0 * share * pn + share * share * nn).max(0.0).sqrt() / pieces;
        Some(Interval { value: share, low: (share - Z95 * error).max(0.0), high: (share + Z95 * error).min(1.0) })
    }

    fn quartiles(&self) -> Option<[u16; 3]> {
        let last = self.promotions.checked_sub(1)?;
        let at = |quarter: u64| {
            let (rank, mut below) = (last * quarter / 4, 0);
            let mut found = self.plies.iter().skip_while(|(_, n)| {
                below += **n;
                below <= rank
            });
            found.next().map(|(&ply, _)| ply)
        };
        Some([at(1)?, at(2)?, at(3)?])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Worked by hand: three games with 2, 2 and 0 pieces, of which 1, 2 and 0 promote.
    #[test]
    fn shares_and_quartiles() {
        let mut counted = Promotions { kinds: vec![OfKind::default()], game: vec![[0, 0]] };
        for (pieces, plies) in [([1, 1], vec![30]), ([2, 0], vec![10, 20]), ([0, 0], vec![])] {
            counted.begin(&[pieces]);
            plies.into_iter().for_each(|ply| counted.add(0, ply));
        }
        counted.end();
        let kind = &counted.kinds[0];
        assert_eq!((kind.pieces, kind.promotions), (4, 3));
        // Residuals 1 - 3/4 2 and 2 - 3/4 2: ±1/2, so the error is √(1/2) / 4.
        let share = kind.share().unwrap();
        assert!((share.value - 0.75).abs() < 1e-12 && (share.low - (0.75 - Z95 * 0.5f64.sqrt() / 4.0)).abs() < 1e-12);
        assert_eq!(share.high, 1.0);
        assert_eq!(kind.quartiles(), Some([10, 20, 20]));
        let mut twice = counted.clone();
        twice.merge(&counted);
        assert_eq!((twice.kinds[0].pieces, twice.kinds[0].promotions), (8, 6));
        assert_eq!(twice.kinds[0].share().unwrap().value, 0.75);
        assert_eq!(OfKind::default().share(), None);
    }
}

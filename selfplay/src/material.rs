//! A player that takes what it can: one ply of material.

use engine::{Game, Move, Piece, PieceKind, Variant};
use rand::{Rng, RngExt};

/// A fixed value for each kind of a variant, in any one unit.
#[derive(Clone, Debug, PartialEq)]
pub struct MaterialValues(Vec<f32>);

impl MaterialValues {
    /// Values by `PieceKind::index`. `None` if there is not one finite value for each kind.
    pub fn new(variant: &Variant, values: Vec<f32>) -> Option<MaterialValues> {
        let fits = values.len() == variant.kinds().len() && values.iter().all(|value| value.is_finite());
        fits.then_some(MaterialValues(values))
    }

    /// Values from the variant's tables alone: how many squares a piece of the kind reaches from the middle of an empty
    /// board. Royals count as much as everything of an army together.
    pub fn from_mobility(variant: &Variant) -> MaterialValues {
        let mobility = |i| variant.mobility(PieceKind::new(i)) as f32;
        let mut values: Vec<f32> = (0..variant.kinds().len()).map(mobility).collect();
        let army: f32 = variant.kinds().iter().zip(&values).map(|(kind, value)| kind.count as f32 * value).sum();
        for (kind, value) in variant.kinds().iter().zip(&mut values) {
            if kind.royal {
                *value = army;
            }
        }
        MaterialValues(values)
    }

    /// The value of a piece.
    pub fn of(&self, piece: Piece) -> f32 {
        self.0[piece.kind.index()]
    }

    /// What a move gains: the pieces it takes, and what its promotion adds.
    pub fn gain(&self, game: &Game, mv: Move) -> f32 {
        let position = game.position();
        let taken: f32 = position.captures(mv).map(|(_, piece)| self.of(piece)).sum();
        let promotion = position.piece_at(mv.from()).filter(|_| mv.promotes()).map_or(0.0, |piece| {
            let promoted = position.variant().kind(piece.kind).promotes_to.unwrap_or(piece.kind);
            self.of(Piece { kind: promoted, ..piece }) - self.of(piece)
        });
        taken + promotion
    }

    /// Whether the side to move can win material at once: some capture takes more than it puts at risk. `moves` is memory.
    pub fn wins_at_once(&self, game: &Game, moves: &mut Vec<Move>) -> bool {
        let position = game.position();
        game.legal_moves(moves);
        let mut after = position.clone();
        moves.iter().any(|&mv| {
            let taken: f32 = position.captures(mv).map(|(_, piece)| self.of(piece)).sum();
            if taken == 0.0 {
                return false;
            }
            let undo = after.play_unchecked(mv);
            let at_risk = match after.piece_at(mv.to()) {
                Some(piece) if after.is_attacked(mv.to(), !piece.color) => self.of(piece),
                _ => 0.0,
            };
            after.undo(&undo);
            taken > at_risk
        })
    }

    /// A move that takes the last royal if there is one, else one of those with the largest gain, drawn evenly.
    ///
    /// # Panics
    /// If the game is over.
    pub fn choose(&self, game: &Game, moves: &mut Vec<Move>, rng: &mut impl Rng) -> Move {
        if let Some(winning) = game.position().winning_capture() {
            return winning;
        }
        game.legal_moves(moves);
        let largest = moves.iter().map(|&mv| self.gain(game, mv)).fold(f32::NEG_INFINITY, f32::max);
        moves.retain(|&mv| self.gain(game, mv) == largest);
        moves[rng.random_range(0..moves.len())]
    }
}

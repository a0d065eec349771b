//! Exchanges: the material and a judge's opinion before and after captures and promotions.

use crate::phase::Phase;
use crate::rest::Rest;

/// What lies between two positions at rest with different material. All of it is Black's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exchange {
    pub(crate) game: u64,
    /// The phase before it.
    pub(crate) phase: Phase,
    /// Change of (kind, Black's minus White's), kinds ascending, zeros left out.
    pub(crate) diff: Vec<(u16, i16)>,
    /// Change of whose move it is: +1 where Black moves, -1 where White does.
    pub(crate) tempo: i16,
    /// Change of the judge's logit.
    pub(crate) change: f32,
    /// The judge's logit afterwards.
    pub(crate) after: f32,
    /// Score of the game; `None` if it was cut off.
    pub(crate) score: Option<f32>,
}

/// The exchanges of a game, whose positions at rest these are. The logit before is that of the last position at rest, the
/// one afterwards that of the first, or the mean of the first two if nothing happens between them: then each side has
/// the move once.
pub(crate) fn exchanges(game: &[Rest<'_>]) -> Vec<Exchange> {
    let mut found = Vec::new();
    for (i, pair) in game.windows(2).enumerate() {
        let (before, after) = (&pair[0], &pair[1]);
        if before.diff == after.diff {
            continue;
        }
        let (Some(logit_before), Some(logit_after)) = (before.logit, after.logit) else { continue };
        let tempo = |rest: &Rest<'_>| if rest.black_to_move { 1 } else { -1 };
        let second = game.get(i + 2).filter(|next| next.ply == after.ply + 1 && next.diff == after.diff);
        let (after_logit, after_tempo) = match second.and_then(|next| next.logit.map(|logit| (next, logit))) {
            Some((next, logit)) => ((logit_after + logit) / 2.0, (tempo(after) + tempo(next)) / 2),
            None => (logit_after, tempo(after)),
        };
        found.push(Exchange {
            game: before.game,
            phase: before.phase,
            diff: change(before.diff, after.diff),
            tempo: after_tempo - tempo(before),
            change: after_logit - logit_before,
            after: after_logit,
            score: before.score,
        });
    }
    found
}

/// `after` minus `before`, both by ascending kind.
fn change(before: &[(u16, i16)], after: &[(u16, i16)]) -> Vec<(u16, i16)> {
    let mut change: Vec<(u16, i16)> = Vec::new();
    let (mut b, mut a) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let kind = match (b.peek(), a.peek()) {
            (None, None) => return change,
            (Some(&&(kind, _)), None) | (None, Some(&&(kind, _))) => kind,
            (Some(&&(x, _)), Some(&&(y, _))) => x.min(y),
        };
        let old = b.next_if(|entry| entry.0 == kind).map_or(0, |entry| entry.1);
        let new = a.next_if(|entry| entry.0 == kind).map_or(0, |entry| entry.1);
        if new != old {
            change.push((kind, new - old));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(ply: u16, logit: f32, diff: &[(u16, i16)]) -> Rest<'_> {
        let black_to_move = ply.is_multiple_of(2);
        let phase = Phase::Opening;
        Rest { game: 7, ply, black_to_move, phase, score: Some(1.0), logit: Some(logit), diff, board: &[] }
    }

    /// Worked by hand from the definition.
    #[test]
    fn before_and_after() {
        let game = [
            rest(4, 0.5, &[(1, 1), (3, -1)]),
            // Captures on plies 5 to 7.
            rest(8, 1.0, &[(1, 1), (2, 1)]),
            rest(9, 2.0, &[(1, 1), (2, 1)]),
            // A promotion: nothing was captured.
            rest(10, 3.0, &[(2, 1), (5, 1)]),
        ];
        let found = exchanges(&game);
        assert_eq!(found.len(), 2);
        let first = &found[0];
        assert_eq!((first.game, first.score), (7, Some(1.0)));
        // Black lost nothing, White a piece of kind 2 and got none of kind 3 back: 0 - (-1) and 1 - 0.
        assert_eq!(first.diff, [(2, 1), (3, 1)]);
        // Afterwards both have had the move, (1 - 1) / 2; before, Black had it.
        assert_eq!((first.after, first.change, first.tempo), (1.5, 1.0, -1));
        let second = &found[1];
        assert_eq!(second.diff, [(1, -1), (5, 1)]);
        // From White's move to Black's, a single position afterwards.
        assert_eq!((second.after, second.change, second.tempo), (3.0, 1.0, 2));
        assert_eq!(exchanges(&game[1..3]), []);
        assert_eq!(exchanges(&[]), []);
    }
}

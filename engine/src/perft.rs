//! Counting the leaves of the tree of legal moves.

use crate::moves::Move;
use crate::position::Position;

/// Number of move sequences of `depth` plies. Repetition is not counted; a game that has ended on the board has no
/// moves. The last ply is counted without being played, unless `play_leaves` says to play and undo it.
pub fn perft(position: &mut Position, depth: u32, play_leaves: bool) -> u64 {
    // One list a ply, so that the recursion does not allocate.
    let mut lists = vec![Vec::new(); depth as usize];
    count(position, play_leaves, &mut lists)
}

/// [`perft`] below each legal move, in the order of their texts.
pub fn divide(position: &mut Position, depth: u32, play_leaves: bool) -> Vec<(String, u64)> {
    if depth == 0 || position.outcome().is_some() {
        return Vec::new();
    }
    let mut moves = Vec::new();
    position.legal_moves(&mut moves);
    let mut counts: Vec<_> = moves
        .into_iter()
        .map(|mv| {
            let text = position.usi(mv);
            let undo = position.play_unchecked(mv);
            let count = perft(position, depth - 1, play_leaves);
            position.undo(&undo);
            (text, count)
        })
        .collect();
    counts.sort();
    counts
}

fn count(position: &mut Position, play_leaves: bool, lists: &mut [Vec<Move>]) -> u64 {
    let Some((moves, deeper)) = lists.split_first_mut() else { return 1 };
    if position.outcome().is_some() {
        return 0;
    }
    if deeper.is_empty() && !play_leaves {
        return position.count_moves() as u64;
    }
    position.legal_moves(moves);
    let mut total = 0;
    for &mv in moves.iter() {
        let undo = position.play_unchecked(mv);
        total += if deeper.is_empty() { 1 } else { count(position, play_leaves, deeper) };
        position.undo(&undo);
    }
    total
}

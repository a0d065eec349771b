//! Encoded positions as tensors: padded lists and their masks.

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::encoded::{Encoded, EncodedPosition};
use crate::encoding::{Features, STATE_FEATURES};

/// Added to the logit of a move that is not there.
const NO_MOVE: f32 = -1e9;

/// Lists of rows of a table, padded to the longest: B lists of L.
pub(super) struct Rows {
    /// Shape `[B, L]`: the rows, 0 where there is none.
    pub(super) rows: Tensor<2, Int>,
    /// Shape `[B, L]`: 1 where there is one, else 0.
    pub(super) mask: Tensor<2>,
}

impl Rows {
    fn new<'a>(lists: impl Iterator<Item = &'a [u32]> + Clone, device: &Device) -> Rows {
        let (size, longest) = lists.clone().fold((0, 1), |(size, longest), list| (size + 1, longest.max(list.len())));
        let (mut rows, mut mask) = (vec![0i32; size * longest], vec![0f32; size * longest]);
        for (i, list) in lists.enumerate() {
            for (j, &row) in list.iter().enumerate() {
                rows[i * longest + j] = row as i32;
                mask[i * longest + j] = 1.0;
            }
        }
        Rows { rows: ints(rows, [size, longest], device), mask: floats(mask, [size, longest], device) }
    }

    /// The sparse features of positions.
    pub(super) fn of_positions(encoded: &Encoded, device: &Device) -> Rows {
        Rows::new(encoded.iter().map(|position| position.rows).collect::<Vec<_>>().into_iter(), device)
    }
}

/// Moves of B positions, padded to M moves of F features.
pub(super) struct Moves {
    /// Most moves of a position, M.
    pub(super) most: usize,
    /// Features a move, F.
    pub(super) parts: usize,
    /// Shape `[B, M·F]`: features, 0 where there is none.
    pub(super) rows: Tensor<2, Int>,
    /// Shape `[B, M, F]`: 1 where there is one, else 0.
    pub(super) mask: Tensor<3>,
    /// Shape `[B, M]`: 0 where there is a move, else a very low number.
    pub(super) no_move: Tensor<2>,
}

impl Moves {
    /// `change` turns the features of a move into those that are wanted.
    pub(super) fn new(encoded: &Encoded, device: &Device, change: impl Fn(&[u32], &mut Vec<u32>)) -> Moves {
        let size = encoded.len();
        let most = encoded.iter().map(|position| position.moves.len()).max().unwrap_or(0).max(1);
        let (mut all, mut ends, mut parts) = (Vec::new(), Vec::new(), 1);
        for rows in encoded.iter().flat_map(|position| position.moves.iter()) {
            let before = all.len();
            change(rows, &mut all);
            parts = parts.max(all.len() - before);
            ends.push(all.len());
        }
        let mut rows = vec![0i32; size * most * parts];
        let mut mask = vec![0f32; size * most * parts];
        let mut no_move = vec![NO_MOVE; size * most];
        let (mut start, mut ends) = (0, ends.into_iter());
        for (i, position) in encoded.iter().enumerate() {
            for (j, end) in ends.by_ref().take(position.moves.len()).enumerate() {
                no_move[i * most + j] = 0.0;
                for (k, &row) in all[start..end].iter().enumerate() {
                    rows[(i * most + j) * parts + k] = row as i32;
                    mask[(i * most + j) * parts + k] = 1.0;
                }
                start = end;
            }
        }
        Moves {
            most,
            parts,
            rows: ints(rows, [size, most * parts], device),
            mask: Tensor::from_data(TensorData::new(mask, [size, most, parts]), device),
            no_move: floats(no_move, [size, most], device),
        }
    }
}

/// Side and kind of the piece on each square as the mover sees the board, shape `[B, S]`: `kind` for an own piece,
/// `K + kind` for an enemy one, `empty` on empty squares.
pub(super) fn board(encoded: &Encoded, features: &Features, empty: usize, device: &Device) -> Tensor<2, Int> {
    let squares = features.squares;
    let mut board = vec![empty as i32; encoded.len() * squares];
    for (position, board) in encoded.iter().zip(board.chunks_exact_mut(squares)) {
        for &row in position.rows.iter().filter(|&&row| (row as usize) < features.piece_rows()) {
            board[row as usize % squares] = (row as usize / squares) as i32;
        }
    }
    ints(board, [encoded.len(), squares], device)
}

/// Counts of pieces less those of the start, shape `[B, 2·K]`, and dense features, shape `[B, STATE_FEATURES]`.
pub(crate) fn dense_inputs<'a>(
    positions: impl Iterator<Item = EncodedPosition<'a>>,
    features: &Features,
    device: &Device,
) -> (Tensor<2>, Tensor<2>) {
    let kinds = 2 * features.kinds;
    let at_start: Vec<f32> = features.start_counts.iter().chain(&features.start_counts).map(|count| -count).collect();
    let (mut size, mut counts, mut state) = (0, Vec::new(), Vec::new());
    for position in positions {
        let start = counts.len();
        counts.extend_from_slice(&at_start);
        for &row in position.rows {
            if (row as usize) < features.piece_rows() {
                counts[start + row as usize / features.squares] += 1.0;
            }
        }
        state.extend_from_slice(position.state);
        size += 1;
    }
    (floats(counts, [size, kinds], device), floats(state, [size, STATE_FEATURES], device))
}

pub(super) fn floats(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn ints(values: Vec<i32>, shape: [usize; 2], device: &Device) -> Tensor<2, Int> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

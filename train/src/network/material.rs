//! The `material` architecture: linear in counts of pieces, so that its weights are piece values.

use burn::module::{Module, Param};
use burn::tensor::module::embedding;
use burn::tensor::{Device, Tensor};

use super::batch::{Moves, board, dense_inputs, floats};
use super::{Output, Params, START_PLIES_LEFT, Start, TensorSpec};
use crate::config::MaterialConfig;
use crate::encoded::Encoded;
use crate::encoding::Features;

/// A network that counts pieces.
///
/// The phase of a game is the share `t` of its pieces that are still there. With P phases, phase `p` weighs
/// `h_p = max(0, 1 - |t·(P - 1) - p|)`: the last one is the opening, the first an empty board, and between two the weights are
/// mixed. With `d` own minus enemy pieces of each kind:
///
/// ```text
/// score        = Σ_p h_p·(value[p]·d + tempo[p])
/// wdl logits   = [score / 2, Σ_p h_p·draw[p], -score / 2]
/// logit(move)  = Σ_f moves[f]            over the kind that moves, the kinds captured, promotion, drop, pass
/// logit(piece) = survival[side and kind]                         that it survives
/// plies left   = Σ_p h_p·plies_left[p]                           as ln(1 + plies)
/// ```
///
/// So `value[p][kind]` is what one piece more is worth in that phase, as the logit of winning against losing.
#[derive(Module, Debug)]
pub struct Material {
    /// Shape `[P, K]`.
    pub value: Param<Tensor<2>>,
    /// Shape `[P, 1]`.
    pub tempo: Param<Tensor<2>>,
    /// Shape `[P, 1]`.
    pub draw: Param<Tensor<2>>,
    /// Shape `[4·K + 1, 1]`: kinds that move, then the rows of the move features that name no square.
    pub moves: Param<Tensor<2>>,
    /// Shape `[2·K, 1]`.
    pub survival: Param<Tensor<2>>,
    /// Shape `[P, 1]`.
    pub plies_left: Param<Tensor<2>>,
}

impl Material {
    /// The tensors, in the order of the fields.
    pub(super) fn specs(config: &MaterialConfig, features: &Features) -> Vec<TensorSpec> {
        let (phases, kinds, zero) = (config.phases, features.kinds, Start::Constant(0.0));
        vec![
            TensorSpec::new("value.kind", &[phases, kinds], zero),
            TensorSpec::new("value.tempo", &[phases, 1], zero),
            TensorSpec::new("value.draw", &[phases, 1], zero),
            TensorSpec::new("policy.moves", &[4 * kinds + 1, 1], zero),
            TensorSpec::new("survival.kind", &[2 * kinds, 1], zero),
            TensorSpec::new("plies_left.phase", &[phases, 1], Start::Constant(START_PLIES_LEFT)),
        ]
    }

    pub(super) fn from_params(tensors: &mut Params<'_>) -> Material {
        Material {
            value: tensors.next(),
            tempo: tensors.next(),
            draw: tensors.next(),
            moves: tensors.next(),
            survival: tensors.next(),
            plies_left: tensors.next(),
        }
    }

    pub(super) fn device(&self) -> Device {
        self.value.val().device()
    }

    /// What the network says about a list of positions.
    pub(super) fn forward(&self, encoded: &Encoded, features: &Features) -> Output {
        let device = &self.device();
        let (kinds, size) = (features.kinds, encoded.len());
        let [phases, _] = self.value.val().dims();
        let (counts, _) = dense_inputs(encoded.iter(), features, device);
        let difference = counts.clone().slice([0..size, 0..kinds]) - counts.slice([0..size, kinds..2 * kinds]);
        let phase = floats(phases_of(encoded, features, phases), [size, phases], device);
        let score =
            (phase.clone().matmul(self.value.val()) * difference).sum_dim(1) + phase.clone().matmul(self.tempo.val());
        let half = score * 0.5;
        let wdl = Tensor::cat(vec![half.clone(), phase.clone().matmul(self.draw.val()), half.neg()], 1);

        let table = (2 * kinds * features.squares) as u32;
        let moves = Moves::new(encoded, device, |rows, out| {
            for &row in rows {
                if (row as usize) < kinds * features.squares {
                    out.push(row / features.squares as u32);
                } else if row >= table {
                    out.push(kinds as u32 + row - table);
                }
            }
        });
        let terms = embedding(self.moves.val(), moves.rows).reshape([size, moves.most, moves.parts]) * moves.mask;
        let survival = embedding(self.survival.val(), board(encoded, features, 0, device));
        Output {
            policy: terms.sum_dim(2).reshape([size, moves.most]) + moves.no_move,
            wdl,
            survival: survival.reshape([size, features.squares]),
            plies_left: phase.matmul(self.plies_left.val()),
        }
    }
}

/// The weight of each phase in each position, `[B, P]`.
fn phases_of(encoded: &Encoded, features: &Features, phases: usize) -> Vec<f32> {
    let start = 2.0 * features.start_counts.iter().sum::<f32>();
    let weights = |pieces: usize| {
        let at = (pieces as f32 / start).min(1.0) * (phases - 1) as f32;
        (0..phases).map(move |phase| (1.0 - (at - phase as f32).abs()).max(0.0))
    };
    let pieces = |rows: &[u32]| rows.iter().filter(|&&row| (row as usize) < features.piece_rows()).count();
    encoded.iter().flat_map(|position| weights(pieces(position.rows))).collect()
}

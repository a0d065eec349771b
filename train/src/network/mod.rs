//! The networks as burn modules: what they compute, on any device, with gradients.
//!
//! This is the definition and the slow twin. Play on a CPU goes through [`crate::kernel`], learning on a CPU through
//! [`crate::sparse`], both tested against this one.
//!
//! All architectures judge the same things: the policy over the legal moves, win, draw and loss, which pieces survive to the
//! end of the game, and how far it is. The last two only teach the part before them; play does not ask for them.

mod batch;
mod material;
mod nnue;
mod resnet;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::NetworkConfig;
use crate::encoded::Encoded;
use crate::encoding::Features;
use crate::rng::uniform;

pub(crate) use batch::dense_inputs;
pub use material::Material;
pub(crate) use nnue::HEADS;
pub use nnue::{Heads, HeadsOutput, Nnue};
pub use resnet::{Block, Resnet, ResnetHeads};

/// A network of any architecture.
#[derive(Module, Debug)]
pub enum Model {
    /// `architecture = "material"`.
    Material(Material),
    /// `architecture = "nnue"`.
    Nnue(Nnue),
    /// `architecture = "resnet"`.
    Resnet(Resnet),
}

/// What a network says about B positions, padded to M moves, on boards of S squares as the mover sees them.
pub struct Output {
    /// Shape `[B, M]`: a logit a move; very low where there is no move.
    pub policy: Tensor<2>,
    /// Shape `[B, 3]`: logits of win, draw and loss for the side to move.
    pub wdl: Tensor<2>,
    /// Shape `[B, S]`: logits that the piece on a square is still on the board at the end of the game.
    pub survival: Tensor<2>,
    /// Shape `[B, 1]`: ln(1 + plies to the end of the game).
    pub plies_left: Tensor<2>,
}

impl Output {
    /// Probabilities of win, draw and loss, shape `[B, 3]`.
    pub fn wdl_probabilities(&self) -> Tensor<2> {
        softmax(self.wdl.clone(), 1)
    }
}

/// A tensor of a network: its name in files, its shape, and how it starts.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorSpec {
    /// Name in `weights.safetensors`.
    pub name: String,
    /// Shape.
    pub shape: Vec<usize>,
    /// Values in a new network.
    pub start: Start,
}

/// The numbers of a tensor in a new network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    /// All alike.
    Constant(f32),
    /// Drawn evenly between minus and plus this.
    Uniform(f32),
}

impl TensorSpec {
    fn new(name: &str, shape: &[usize], start: Start) -> TensorSpec {
        TensorSpec { name: name.to_string(), shape: shape.to_vec(), start }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// ln(1 + 100): where the guess of the plies left starts, about what is left of a game on average.
const START_PLIES_LEFT: f32 = 4.615;

impl Model {
    /// The tensors of an architecture, in the order of [`Model::to_tensors`].
    pub fn specs(config: &NetworkConfig, features: &Features) -> Vec<TensorSpec> {
        match config {
            NetworkConfig::Material(config) => Material::specs(config, features),
            NetworkConfig::Nnue(config) => Nnue::specs(config, features),
            NetworkConfig::Resnet(config) => Resnet::specs(config, features),
        }
    }

    /// A new network; the same seed gives the same weights on every device.
    pub fn new(config: &NetworkConfig, features: &Features, seed: u64, device: &Device) -> Model {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let start = |spec: TensorSpec| {
            let values = match spec.start {
                Start::Constant(value) => vec![value; spec.len()],
                Start::Uniform(limit) => uniform(&mut rng, spec.len(), limit),
            };
            TensorData::new(values, spec.shape)
        };
        let tensors = Model::specs(config, features).into_iter().map(start).collect();
        Model::from_tensors(config, tensors, device)
    }

    /// The network with these tensors, which must be as [`Model::specs`] says.
    pub fn from_tensors(config: &NetworkConfig, tensors: Vec<TensorData>, device: &Device) -> Model {
        let mut tensors = Params::new(tensors, 0, device);
        match config {
            NetworkConfig::Material(_) => Model::Material(Material::from_params(&mut tensors)),
            NetworkConfig::Nnue(_) => Model::Nnue(Nnue::from_params(&mut tensors)),
            NetworkConfig::Resnet(config) => Model::Resnet(Resnet::from_params(config, &mut tensors)),
        }
    }

    /// The tensors, in the order of [`Model::specs`].
    pub fn to_tensors(&self) -> Vec<TensorData> {
        tensors_of(self)
    }

    /// Where the network is.
    pub fn device(&self) -> Device {
        match self {
            Model::Material(network) => network.device(),
            Model::Nnue(network) => network.heads.bias.val().device(),
            Model::Resnet(network) => network.device(),
        }
    }

    /// What the network says about a list of positions, which must not be empty.
    pub fn forward(&self, encoded: &Encoded, features: &Features) -> Output {
        match self {
            Model::Material(network) => network.forward(encoded, features),
            Model::Nnue(network) => network.forward(encoded, features),
            Model::Resnet(network) => network.forward(encoded, features),
        }
    }
}

/// The tensors of a module, in the order of its fields.
pub(crate) fn tensors_of(module: &impl Module) -> Vec<TensorData> {
    struct Collect(Vec<TensorData>);
    impl ModuleVisitor for Collect {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.push(param.val().inner().into_data());
        }
    }
    let mut collected = Collect(Vec::new());
    module.visit(&mut collected);
    collected.0
}

/// Makes parameters from tensors one after the other. Their ids are fixed by their order, so that a stored state of an
/// optimiser finds its parameters again.
pub(crate) struct Params<'a> {
    tensors: std::vec::IntoIter<TensorData>,
    next_id: u64,
    device: &'a Device,
}

impl<'a> Params<'a> {
    /// `first`: the number of the first tensor among those of its network.
    pub(crate) fn new(tensors: Vec<TensorData>, first: usize, device: &'a Device) -> Self {
        Params { tensors: tensors.into_iter(), next_id: first as u64 + 1, device }
    }

    pub(crate) fn next<const D: usize>(&mut self) -> Param<Tensor<D>> {
        let data = self.tensors.next().expect("as many tensors as specs");
        let mut param = Param::from_tensor(Tensor::from_data(data, self.device));
        param.id = ParamId::from(self.next_id);
        self.next_id += 1;
        param
    }
}

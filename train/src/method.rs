//! The two ways of making a step: by own loops on a CPU, or all by burn.

use std::collections::HashMap;

use burn::grad_clipping::GradientClippingConfig;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::module::{Module, ParamGroup};
use burn::optim::{AdamWConfig, ModuleOptimizer, OptimizerRecord};
use burn::tensor::{Bytes, Device, TensorData};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

use crate::adamw::{AdamW, Parameter, RowGradient};
use crate::batch::{Chunk, Losses};
use crate::config::{Gradients, TrainConfig};
use crate::encoding::Features;
use crate::error::LearnerError;
use crate::gradient::{self, LossWeights};
use crate::network::{HEADS, Heads, Nnue, TENSOR_NAMES, TENSORS};
use crate::sparse::{self, Parts};

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// A network in the middle of learning, with the state of its optimiser.
pub(crate) enum Method {
    /// `Gradients::Sparse`.
    Sparse(Box<Sparse>),
    /// `Gradients::Autodiff`.
    Autodiff(Box<Autodiff>),
}

/// Weights as plain numbers.
pub(crate) struct Sparse {
    parameters: [Parameter; TENSORS],
    shapes: [Vec<usize>; TENSORS],
    gradients: [RowGradient; TENSORS],
    optimizer: AdamW,
    /// Share of the learning rate for the table of pieces on squares, the first parameter.
    square_rate: f64,
    /// Steps of the optimiser.
    time: u64,
    /// Where the weights came from and what burn computes on.
    device: Device,
}

/// Weights in burn.
pub(crate) struct Autodiff {
    /// On a device with autodiff; away only during a step.
    model: Option<Nnue>,
    optimizer: ModuleOptimizer,
    square_rate: f64,
    device: Device,
}

impl Method {
    pub(crate) fn new(model: Nnue, state: Option<Vec<u8>>, config: &TrainConfig) -> Result<Method, LearnerError> {
        let max_norm = (config.gradient_clip > 0.0).then_some(config.gradient_clip as f32);
        let weight_decay = config.weight_decay as f32;
        match config.gradients {
            Gradients::Sparse => {
                let device = model.square.val().device().without_autodiff();
                let tensors = model.to_tensors();
                let shapes = tensors.each_ref().map(|data| data.shape().as_slice().to_vec());
                let mut index = 0;
                let parameters = tensors.map(|data| {
                    let data = data.try_into_vec::<f32>().expect("weights are f32");
                    // The heads' gradients are whole: each tensor counts as one row.
                    let width = if HEADS.contains(&index) { data.len() } else { shapes[index][1] };
                    index += 1;
                    Parameter::new(width, data)
                });
                let mut sparse = Sparse {
                    parameters,
                    shapes,
                    gradients: Default::default(),
                    optimizer: AdamW { beta_1: BETA_1, beta_2: BETA_2, epsilon: EPSILON, weight_decay, max_norm },
                    square_rate: config.square_rate,
                    time: 0,
                    device,
                };
                if let Some(state) = state {
                    sparse.load(&state)?;
                }
                Ok(Method::Sparse(Box::new(sparse)))
            }
            Gradients::Autodiff => {
                let model = model.train();
                let device = model.square.val().device();
                let optimizer = AdamWConfig::new()
                    .with_beta_1(BETA_1)
                    .with_beta_2(BETA_2)
                    .with_epsilon(EPSILON)
                    .with_weight_decay(weight_decay)
                    .with_grad_clipping(max_norm.map(GradientClippingConfig::Norm))
                    .init();
                let optimizer = match state {
                    Some(state) => {
                        let record = OptimizerRecord::from_bytes(Bytes::from_bytes_vec(state));
                        optimizer.load_record(record.map_err(|e| wrong_state(&e.to_string()))?)
                    }
                    None => optimizer,
                };
                Ok(Method::Autodiff(Box::new(Autodiff {
                    model: Some(model),
                    optimizer,
                    square_rate: config.square_rate,
                    device,
                })))
            }
        }
    }

    /// The network as it is now, on a device without autodiff.
    pub(crate) fn model(&self) -> Nnue {
        match self {
            Method::Sparse(sparse) => {
                let mut index = 0;
                let tensors = sparse.parameters.each_ref().map(|parameter| {
                    index += 1;
                    TensorData::new(parameter.weights.clone(), sparse.shapes[index - 1].clone())
                });
                Nnue::from_tensors(tensors, &sparse.device)
            }
            Method::Autodiff(autodiff) => autodiff.model.as_ref().expect("it is away only during a step").valid(),
        }
    }

    /// The state of the optimiser: safetensors for `Sparse`, a record of burn for `Autodiff`.
    pub(crate) fn state(&self) -> Result<Vec<u8>, LearnerError> {
        match self {
            Method::Sparse(sparse) => sparse.state(),
            Method::Autodiff(autodiff) => {
                let bytes = autodiff.optimizer.into_bytes().map_err(|e| wrong_state(&e.to_string()))?;
                Ok(bytes.to_vec())
            }
        }
    }

    /// One step on a batch; gives its losses before the step.
    pub(crate) fn step(
        &mut self,
        features: &Features,
        chunks: &[Chunk],
        weights: LossWeights,
        learning_rate: f64,
        threads: usize,
    ) -> Losses {
        match self {
            Method::Sparse(sparse) => sparse.step(features, chunks, weights, learning_rate, threads),
            Method::Autodiff(autodiff) => {
                let model = autodiff.model.take().expect("it is away only during a step");
                let (losses, gradients) = gradient::gradients(&model, features, chunks, weights, &autodiff.device);
                let square = ParamGroup::from_ids(vec![model.square.id]);
                let mut rates =
                    ModuleLrScheduler::new(learning_rate).with_group(square, learning_rate * autodiff.square_rate);
                autodiff.model = Some(autodiff.optimizer.step(rates.step(), model, gradients));
                losses
            }
        }
    }
}

const STEPS: &str = "steps";

impl Sparse {
    fn step(
        &mut self,
        features: &Features,
        chunks: &[Chunk],
        weights: LossWeights,
        learning_rate: f64,
        threads: usize,
    ) -> Losses {
        let heads = std::array::from_fn(|i| {
            let index = HEADS.start + i;
            TensorData::new(self.parameters[index].weights.clone(), self.shapes[index].clone())
        });
        let heads = Heads::from_tensors(heads, &self.device.clone().autodiff());
        let [square, .., moves] = &self.parameters;
        let parts = Parts { square: &square.weights, heads: &heads, moves: &moves.weights };
        let losses = sparse::gradients(parts, features, chunks, weights, threads, &mut self.gradients);
        self.time += 1;
        let rates = std::iter::once(self.square_rate).chain(std::iter::repeat(1.0));
        for ((parameter, gradient), rate) in self.parameters.iter_mut().zip(&self.gradients).zip(rates) {
            self.optimizer.step(parameter, gradient, self.time, learning_rate * rate, threads);
        }
        losses
    }

    /// The means of AdamW: tensors `moment_1.NAME` and `moment_2.NAME` as long as the weights, and the steps made.
    fn state(&self) -> Result<Vec<u8>, LearnerError> {
        let mut tensors = Vec::new();
        for (name, parameter) in TENSOR_NAMES.into_iter().zip(&self.parameters) {
            for (prefix, values) in [("moment_1", &parameter.moment_1), ("moment_2", &parameter.moment_2)] {
                tensors.push((format!("{prefix}.{name}"), values.len(), bytes_of(values)));
            }
        }
        let error = |e: safetensors::SafeTensorError| wrong_state(&e.to_string());
        let mut views = Vec::new();
        for (name, len, bytes) in &tensors {
            views.push((name, TensorView::new(Dtype::F32, vec![*len], bytes).map_err(error)?));
        }
        let metadata = HashMap::from([(STEPS.to_string(), self.time.to_string())]);
        serialize(views, Some(metadata)).map_err(error)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), LearnerError> {
        let error = |e: safetensors::SafeTensorError| wrong_state(&e.to_string());
        let file = SafeTensors::deserialize(state).map_err(error)?;
        let (_, header) = SafeTensors::read_metadata(state).map_err(error)?;
        let steps = header.metadata().as_ref().and_then(|pairs| pairs.get(STEPS)?.parse().ok());
        self.time = steps.ok_or_else(|| wrong_state("no number of steps"))?;
        for (name, parameter) in TENSOR_NAMES.into_iter().zip(&mut self.parameters) {
            for (prefix, values) in [("moment_1", &mut parameter.moment_1), ("moment_2", &mut parameter.moment_2)] {
                let tensor = file.tensor(&format!("{prefix}.{name}")).map_err(error)?;
                if tensor.dtype() != Dtype::F32 || tensor.shape() != [values.len()] {
                    let found = format!("{prefix}.{name} is {:?} {:?}", tensor.dtype(), tensor.shape());
                    return Err(wrong_state(&format!("{found}, expected F32 [{}]", values.len())));
                }
                for (value, bytes) in values.iter_mut().zip(tensor.data().as_chunks().0) {
                    *value = f32::from_le_bytes(*bytes);
                }
            }
        }
        Ok(())
    }
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn wrong_state(message: &str) -> LearnerError {
    LearnerError::Optimizer { message: message.to_string() }
}

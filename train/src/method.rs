//! The ways of making a step: by own loops on a CPU, or all by burn.

use burn::grad_clipping::GradientClippingConfig;
use burn::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::module::{Module, ParamGroup, ParamId};
use burn::optim::{AdamWConfig, ModuleOptimizer, OptimizerRecord};
use burn::tensor::{Bytes, Device, TensorData};

use crate::adamw::{AdamW, Parameter, RowGradient};
use crate::batch::{Chunk, Losses};
use crate::config::{Gradients, NetworkConfig, TrainConfig};
use crate::device::is_cpu;
use crate::encoding::Features;
use crate::error::LearnerError;
use crate::gradient::{self, LossWeights};
use crate::network::{HEADS, Heads, Model, TensorSpec, tensors_of};
use crate::residual;
use crate::sparse::{self, Parts};
use crate::state::{State, wrong};
use crate::threads::on_threads;
use crate::tower::Tape;

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.999;
const EPSILON: f32 = 1e-8;

/// The constant part of a step.
pub(crate) struct StepConfig<'a> {
    pub(crate) features: &'a Features,
    pub(crate) weights: LossWeights,
    pub(crate) learning_rate: f64,
    pub(crate) threads: usize,
}

/// A network in the middle of learning, with the state of its optimiser.
pub(crate) enum Method {
    /// Own loops over the tables of an `nnue` network.
    Own(Box<Own>),
    /// All by burn.
    Autodiff(Box<Autodiff>),
}

/// Weights as plain numbers.
pub(crate) struct Own {
    config: NetworkConfig,
    specs: Vec<TensorSpec>,
    parameters: Vec<Parameter>,
    gradients: Vec<RowGradient>,
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
    model: Option<Model>,
    optimizer: ModuleOptimizer,
    /// The table of pieces on squares, if there is one, and its share of the learning rate.
    square: Option<(ParamId, f64)>,
    /// Buffers of own loops for a `resnet`, if those are to be used.
    tape: Option<Tape>,
}

/// Names of tensors in the state.
const WEIGHTS: &str = "weights";
const MOMENTS: [&str; 2] = ["moment_1", "moment_2"];
const RECORD: &str = "burn";
const STEPS: &str = "steps";

impl Method {
    /// Goes on from `state`, which holds the weights that learn and the optimiser's means, or begins with `model`.
    pub(crate) fn new(
        model: Model,
        network: &NetworkConfig,
        specs: &[TensorSpec],
        state: Option<&mut State>,
        config: &TrainConfig,
    ) -> Result<Method, LearnerError> {
        match uses_own_loops(&model, config) && matches!(model, Model::Nnue(_)) {
            true => Ok(Method::Own(Box::new(Own::new(model, network, specs, state, config)?))),
            false => Ok(Method::Autodiff(Box::new(Autodiff::new(model, network, specs, state, config)?))),
        }
    }

    /// The network as it is now, on a device without autodiff.
    pub(crate) fn model(&self) -> Model {
        match self {
            Method::Own(own) => own.model(),
            Method::Autodiff(autodiff) => autodiff.model().valid(),
        }
    }

    /// Moves `average` towards the weights: it keeps a share `keep` of itself.
    pub(crate) fn average(&self, average: &mut [Vec<f32>], keep: f64, threads: usize) {
        const PIECE: usize = 1 << 16;
        let copies;
        let weights: Vec<&[f32]> = match self {
            Method::Own(own) => own.parameters.iter().map(|parameter| parameter.weights.as_slice()).collect(),
            Method::Autodiff(autodiff) => {
                copies = tensors_of(autodiff.model());
                copies.iter().map(|data| data.as_slice().expect("weights are f32")).collect()
            }
        };
        let mut pieces: Vec<_> = average
            .iter_mut()
            .zip(weights)
            .flat_map(|(average, weights)| average.chunks_mut(PIECE).zip(weights.chunks(PIECE)))
            .collect();
        let move_on = (1.0 - keep) as f32;
        on_threads(threads, &mut pieces, |(average, weights)| {
            average.iter_mut().zip(*weights).for_each(|(a, w)| *a += move_on * (w - *a));
        });
    }

    /// Adds the weights and the state of the optimiser.
    pub(crate) fn save(&self, specs: &[TensorSpec], state: &mut State) -> Result<(), LearnerError> {
        match self {
            Method::Own(own) => {
                for (spec, parameter) in specs.iter().zip(&own.parameters) {
                    state.put_floats(format!("{WEIGHTS}.{}", spec.name), &parameter.weights);
                    for (moment, values) in MOMENTS.into_iter().zip([&parameter.moment_1, &parameter.moment_2]) {
                        state.put_floats(format!("{moment}.{}", spec.name), values);
                    }
                }
                state.put_word(STEPS, own.time.to_string());
            }
            Method::Autodiff(autodiff) => {
                for (spec, data) in specs.iter().zip(tensors_of(autodiff.model())) {
                    let values = data.as_slice::<f32>().expect("weights are f32");
                    state.put_floats(format!("{WEIGHTS}.{}", spec.name), values);
                }
                let record = autodiff.optimizer.into_bytes().map_err(|e| wrong(e.to_string()))?;
                state.put_bytes(RECORD, record.to_vec());
            }
        }
        Ok(())
    }

    /// One step on a batch; gives its losses before the step.
    pub(crate) fn step(&mut self, chunks: &[Chunk], step: &StepConfig<'_>) -> Losses {
        match self {
            Method::Own(own) => own.step(chunks, step),
            Method::Autodiff(autodiff) => autodiff.step(chunks, step),
        }
    }
}

/// Whether own loops are wanted and can compute where the network is.
fn uses_own_loops(model: &Model, config: &TrainConfig) -> bool {
    config.gradients == Gradients::Own && is_cpu(&model.device())
}

/// The weights that learn, if a state holds them.
fn stored_weights(specs: &[TensorSpec], state: &mut State) -> Result<Vec<TensorData>, LearnerError> {
    let tensor = |spec: &TensorSpec| {
        let values = state.floats(&format!("{WEIGHTS}.{}", spec.name), spec.len())?;
        Ok(TensorData::new(values, spec.shape.clone()))
    };
    specs.iter().map(tensor).collect()
}

impl Own {
    fn new(
        model: Model,
        network: &NetworkConfig,
        specs: &[TensorSpec],
        mut state: Option<&mut State>,
        config: &TrainConfig,
    ) -> Result<Own, LearnerError> {
        let tensors = match state.as_deref_mut() {
            Some(state) => stored_weights(specs, state)?,
            None => model.to_tensors(),
        };
        let (mut parameters, mut time) = (Vec::new(), 0);
        for (index, (spec, data)) in specs.iter().zip(tensors).enumerate() {
            let data = data.try_into_vec::<f32>().expect("weights are f32");
            // The heads' gradients are whole: each tensor counts as one row.
            let width = if HEADS.contains(&index) { data.len() } else { spec.shape[1] };
            let mut parameter = Parameter::new(width, data);
            if let Some(state) = state.as_deref_mut() {
                let [one, two] = MOMENTS.map(|moment| state.floats(&format!("{moment}.{}", spec.name), spec.len()));
                (parameter.moment_1, parameter.moment_2) = (one?, two?);
            }
            parameters.push(parameter);
        }
        if let Some(state) = state {
            let steps = state.word(STEPS).and_then(|steps| steps.parse().ok());
            time = steps.ok_or_else(|| wrong("no number of steps".to_string()))?;
        }
        let max_norm = (config.gradient_clip > 0.0).then_some(config.gradient_clip as f32);
        let weight_decay = config.weight_decay as f32;
        Ok(Own {
            config: network.clone(),
            specs: specs.to_vec(),
            gradients: vec![RowGradient::default(); parameters.len()],
            parameters,
            optimizer: AdamW { beta_1: BETA_1, beta_2: BETA_2, epsilon: EPSILON, weight_decay, max_norm },
            square_rate: config.square_rate,
            time,
            device: model.device(),
        })
    }

    fn tensor(&self, index: usize) -> TensorData {
        TensorData::new(self.parameters[index].weights.clone(), self.specs[index].shape.clone())
    }

    fn model(&self) -> Model {
        let tensors = (0..self.specs.len()).map(|index| self.tensor(index)).collect();
        Model::from_tensors(&self.config, tensors, &self.device)
    }

    fn step(&mut self, chunks: &[Chunk], step: &StepConfig<'_>) -> Losses {
        let heads = HEADS.map(|index| self.tensor(index)).collect();
        let heads = Heads::from_tensors(heads, &self.device.clone().autodiff());
        let [square, .., moves] = self.parameters.as_slice() else { unreachable!("a network has two tables") };
        let parts = Parts { square: &square.weights, heads: &heads, moves: &moves.weights };
        let gradients = &mut self.gradients;
        let losses = sparse::gradients(parts, step.features, chunks, step.weights, step.threads, gradients);
        self.time += 1;
        let rates = std::iter::once(self.square_rate).chain(std::iter::repeat(1.0));
        for ((parameter, gradient), rate) in self.parameters.iter_mut().zip(&self.gradients).zip(rates) {
            self.optimizer.step(parameter, gradient, self.time, step.learning_rate * rate, step.threads);
        }
        losses
    }
}

impl Autodiff {
    fn new(
        model: Model,
        network: &NetworkConfig,
        specs: &[TensorSpec],
        state: Option<&mut State>,
        config: &TrainConfig,
    ) -> Result<Autodiff, LearnerError> {
        let max_norm = (config.gradient_clip > 0.0).then_some(config.gradient_clip as f32);
        let optimizer = AdamWConfig::new()
            .with_beta_1(BETA_1)
            .with_beta_2(BETA_2)
            .with_epsilon(EPSILON)
            .with_weight_decay(config.weight_decay as f32)
            .with_grad_clipping(max_norm.map(GradientClippingConfig::Norm))
            .init();
        let (model, optimizer) = match state {
            None => (model, optimizer),
            Some(state) => {
                let record = OptimizerRecord::from_bytes(Bytes::from_bytes_vec(state.bytes(RECORD)?));
                let optimizer = optimizer.load_record(record.map_err(|e| wrong(e.to_string()))?);
                (Model::from_tensors(network, stored_weights(specs, state)?, &model.device()), optimizer)
            }
        };
        let square = match &model {
            Model::Nnue(nnue) => Some((nnue.square.id, config.square_rate)),
            Model::Material(_) | Model::Resnet(_) => None,
        };
        let tape = (uses_own_loops(&model, config) && matches!(model, Model::Resnet(_))).then(Tape::default);
        Ok(Autodiff { model: Some(model.train()), optimizer, square, tape })
    }

    fn model(&self) -> &Model {
        self.model.as_ref().expect("it is away only during a step")
    }

    fn step(&mut self, chunks: &[Chunk], step: &StepConfig<'_>) -> Losses {
        let model = self.model.take().expect("it is away only during a step");
        let (losses, gradients) = match (&model, &mut self.tape) {
            (Model::Resnet(resnet), Some(tape)) => {
                residual::gradients(resnet, step.features, chunks, step.weights, step.threads, tape)
            }
            _ => gradient::gradients(&model, step.features, chunks, step.weights),
        };
        let mut rates = ModuleLrScheduler::new(step.learning_rate);
        if let Some((id, share)) = self.square {
            rates = rates.with_group(ParamGroup::from_ids(vec![id]), step.learning_rate * share);
        }
        self.model = Some(self.optimizer.step(rates.step(), model, gradients));
        losses
    }
}

//! From recorded games to networks: encoding of positions, networks in burn, data sets, learning, checkpoints, and a
//! fast evaluator for the search.
//!
//! | module         | holds                                                                        |
//! |----------------|------------------------------------------------------------------------------|
//! | [`encoding`]   | the table of features: the only place that knows what a network sees         |
//! | [`encoded`]    | positions after encoding                                                     |
//! | [`config`]     | the tables `[network]` and `[train]` of a configuration                      |
//! | [`network`]    | the networks as burn modules: the definition of what they compute            |
//! | [`kernel`]     | the same function for play on CPUs                                           |
//! | [`mod@evaluator`] | the kernel as a `selfplay::Evaluator`                                     |
//! | [`dataset`]    | a window over position shards, held-out games, shuffling                     |
//! | [`batch`]      | positions with targets, encoded                                              |
//! | [`gradient`]   | losses and gradients by burn                                                 |
//! | [`sparse`]     | the same gradients of an `nnue` for learning on CPUs                         |
//! | [`residual`]   | a `resnet` on CPUs                                                           |
//! | [`tower`]      | a residual tower of convolutions and its gradients on CPUs                   |
//! | [`adamw`]      | AdamW over tables of which a step changes few rows                           |
//! | [`learner`]    | sessions of learning and their metrics                                       |
//! | [`checkpoint`] | networks on disk                                                             |
//!
//! Deliberately absent: search, games, and a choice of what to learn from beyond the window.

pub mod adamw;
pub mod batch;
pub mod checkpoint;
pub mod config;
pub mod dataset;
mod device;
pub mod encoded;
pub mod encoding;
pub mod error;
pub mod evaluator;
mod gather;
pub mod gradient;
pub mod kernel;
pub mod learner;
mod method;
pub mod network;
pub mod residual;
mod rng;
pub mod sparse;
mod state;
#[cfg(test)]
mod testing;
mod threads;
pub mod tower;

pub use burn::tensor::Device;

pub use checkpoint::{Checkpoint, Description, Network, Tables, VariantId};
pub use config::{Gradients, MaterialConfig, NetworkConfig, NnueConfig, ResnetConfig, Schedule, TrainConfig};
pub use dataset::{Dataset, Endings};
pub use device::{device, device_names};
pub use encoding::{ENCODING_VERSION, Encoder};
pub use error::{CheckpointError, ConfigError, DatasetError, DeviceError, EncodingError, LearnerError};
pub use evaluator::{NetworkEvaluator, evaluator};
pub use learner::{Learner, Metrics, Progress};

//! What can go wrong, with the place and what was expected.

use std::path::PathBuf;

/// A stored position that does not fit the variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: expected {expected}, found {found}")]
pub struct EncodingError {
    /// Which part of the position.
    pub what: &'static str,
    /// What was expected.
    pub expected: String,
    /// What stands there.
    pub found: usize,
}

/// A device that this build does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "device `{name}`: expected one of {known}, a GPU with `:N` for its number; GPUs need a build with `--features cuda`, `vulkan` or `wgpu`"
)]
pub struct DeviceError {
    /// What was asked for.
    pub name: String,
    /// What there is.
    pub known: String,
}

/// A value of a configuration that cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{key}`: expected {expected}, found {found}")]
pub struct ConfigError {
    /// Table and key, e.g. `train.batch_size`.
    pub key: &'static str,
    /// What was expected.
    pub expected: &'static str,
    /// What was given.
    pub found: String,
}

/// A data set that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file or folder cannot be read.
    #[error("{path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A shard cannot be read.
    #[error(transparent)]
    Shard(#[from] selfplay::data::DataError),
    /// A row of a shard does not fit the variant.
    #[error("{path}, row {row}: {source}")]
    Row {
        /// The shard.
        path: PathBuf,
        /// Row in the shard, from 0.
        row: usize,
        /// Why.
        source: EncodingError,
    },
    /// A shard is of another variant or ruleset.
    #[error("{path}: fingerprint of the variant: expected {expected}, found {found}")]
    Variant {
        /// The shard.
        path: PathBuf,
        /// Fingerprint of the variant that is learnt.
        expected: String,
        /// Fingerprint in the shard.
        found: String,
    },
    /// The targets of a row are not usable.
    #[error("{path}, row {row}: {what}: expected {expected}")]
    Target {
        /// The shard.
        path: PathBuf,
        /// Row in the shard, from 0.
        row: usize,
        /// Column.
        what: &'static str,
        /// What was expected.
        expected: &'static str,
    },
    /// There is nothing to learn from.
    #[error("{path}: no position to train on in generations {oldest} to {newest}")]
    Empty {
        /// The folder of the positions.
        path: PathBuf,
        /// First generation of the window.
        oldest: u32,
        /// Last generation of the window.
        newest: u32,
    },
}

/// A checkpoint that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// There is no checkpoint there.
    #[error("{path}: no checkpoint there: expected a folder with `network.toml` and `weights.safetensors`")]
    Missing {
        /// The folder.
        path: PathBuf,
    },
    /// A checkpoint is already there; checkpoints are never overwritten.
    #[error("{path}: expected no checkpoint there, found one")]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be written or read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// `network.toml` is not what it should be.
    #[error("{path}: {message}")]
    Description {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// The network is of another variant, ruleset or encoding version.
    #[error("{path}: {key}: expected {expected}, found {found}")]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// What differs.
        key: &'static str,
        /// What is wanted.
        expected: String,
        /// What the checkpoint says.
        found: String,
    },
    /// The weights are damaged: cut off or not safetensors.
    #[error("{path}: not a complete safetensors file: {message}")]
    Weights {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A tensor is missing or has another shape or type.
    #[error("{path}: tensor `{name}`: expected {expected}, found {found}")]
    Tensor {
        /// The file.
        path: PathBuf,
        /// Its name.
        name: String,
        /// Wanted type and shape.
        expected: String,
        /// Type and shape found.
        found: String,
    },
}

/// Learning cannot start or its state cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum LearnerError {
    /// The configuration is not sound.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The state of learning cannot be read or written.
    #[error("state of learning (learner.safetensors; each of `train.gradients` has its own): {message}")]
    State {
        /// Why.
        message: String,
    },
}

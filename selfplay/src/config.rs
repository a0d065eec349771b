//! What the configuration sections of this crate share.

use std::fmt::Display;

use thiserror::Error;

/// A key of a configuration with a value out of its range.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{key}` is {found}, expected {expected}")]
pub struct ConfigError {
    /// The key.
    pub key: &'static str,
    /// The value found.
    pub found: String,
    /// The range, in words.
    pub expected: &'static str,
}

/// An error that names `key` unless `holds`.
pub(crate) fn require(
    key: &'static str,
    found: impl Display,
    holds: bool,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError { key, found: found.to_string(), expected }) }
}

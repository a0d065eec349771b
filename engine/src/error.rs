//! Errors of the rules core.

use std::fmt;

use thiserror::Error;

/// One thing wrong in a variant file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Line from 1, if the place is known.
    pub line: Option<usize>,
    /// Column from 1 in characters, if the place is known.
    pub column: Option<usize>,
    /// What is wrong and what was expected.
    pub message: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, self.column) {
            (Some(line), Some(column)) => write!(f, "line {line}, column {column}: {}", self.message),
            _ => f.write_str(&self.message),
        }
    }
}

/// Why a variant could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VariantError {
    /// No built-in variant has this name.
    #[error("no variant `{name}`; there are {known}")]
    UnknownVariant {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The variant has no such ruleset.
    #[error("variant `{variant}` has no ruleset `{ruleset}`; it has {known}")]
    UnknownRuleset {
        /// The variant.
        variant: String,
        /// What was asked for.
        ruleset: String,
        /// The names there are.
        known: String,
    },
    /// The file is not a valid variant; every issue found.
    #[error("{}", .0.iter().map(|issue| issue.to_string()).collect::<Vec<_>>().join("\n"))]
    Invalid(Vec<Issue>),
}

/// Why a text is not a position of the variant.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("SFEN, character {at}: {message}")]
pub struct SfenError {
    /// Character of the text, from 1.
    pub at: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

/// Why a text is not a legal move.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("move `{text}`, character {at}: {message}")]
pub struct MoveError {
    /// The text.
    pub text: String,
    /// Character of the text, from 1.
    pub at: usize,
    /// What is wrong and what was expected.
    pub message: String,
}

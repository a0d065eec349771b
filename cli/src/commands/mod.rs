//! One file for each subcommand.

pub(crate) mod check;
pub(crate) mod moves;
pub(crate) mod perft;
pub(crate) mod show;
pub(crate) mod variants;

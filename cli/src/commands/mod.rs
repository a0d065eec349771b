//! One file for each subcommand.

pub(crate) mod check;
pub(crate) mod data;
pub(crate) mod ladder;
pub(crate) mod match_;
pub(crate) mod moves;
pub(crate) mod perft;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod selfplay;
pub(crate) mod show;
pub(crate) mod train;
pub(crate) mod values;
pub(crate) mod variants;
pub(crate) mod watch;

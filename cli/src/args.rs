//! The command line: subcommands and the arguments they share.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use engine::{Position, Variant};

use crate::commands;

/// Self-play, learning and piece values for historical shogi.
#[derive(Parser)]
#[command(name = "shishi", version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the variants, their rulesets and sizes
    Variants(commands::variants::Variants),
    /// Draw a position, or how a piece moves
    Show(commands::show::Show),
    /// Validate a variant file: every error with line and column
    Check(commands::check::Check),
    /// Count the positions reached by all sequences of moves
    Perft(commands::perft::Perft),
    /// List the legal moves, after playing some if wanted
    Moves(commands::moves::Moves),
    /// Play games of a network with itself and keep them as parquet files
    Selfplay(commands::selfplay::Selfplay),
    /// Train a network on a run's games
    Train(commands::train::Train),
    /// Let two players play a match with reversed colours
    Match(commands::match_::Match),
    /// Rate a run's networks and other players together
    Ladder(commands::ladder::Ladder),
    /// Measure what each piece is worth, beside a reference table
    Values(commands::values::Values),
    /// The whole loop: play, train, match, measure, report
    Run(commands::run::RunArgs),
    /// Check or count recorded games
    Data(commands::data::Data),
    /// Write a run's report.html
    Report(commands::report::Report),
    /// Show a game of a running self-play as it is played
    Watch(commands::watch::Watch),
}

/// Which game under which rules.
#[derive(Args, Clone)]
pub(crate) struct VariantArgs {
    /// `sho`, `chu`, `daidai`, `heisei_chu`, the name in a --variant-file, or a path that ends in .toml
    pub(crate) variant: String,
    /// Ruleset; the variant's default one if not given
    #[arg(long)]
    pub(crate) ruleset: Option<String>,
    /// File that defines VARIANT
    #[arg(long, value_name = "FILE")]
    pub(crate) variant_file: Option<PathBuf>,
}

impl VariantArgs {
    pub(crate) fn load(&self) -> anyhow::Result<Arc<Variant>> {
        let ruleset = self.ruleset.as_deref();
        let path = match &self.variant_file {
            Some(path) => path.clone(),
            None if self.variant.ends_with(".toml") => PathBuf::from(&self.variant),
            None => return Ok(Variant::load(&self.variant, ruleset)?),
        };
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let variant = Variant::from_toml(&text, ruleset).with_context(|| path.display().to_string())?;
        if self.variant_file.is_some() && variant.name() != self.variant {
            bail!("{} defines the variant `{}`, not `{}`", path.display(), variant.name(), self.variant);
        }
        Ok(variant)
    }
}

/// Which position.
#[derive(Args, Clone)]
pub(crate) struct PositionArgs {
    #[command(flatten)]
    pub(crate) variant: VariantArgs,
    /// The position as SFEN, or the name of a start position of the variant; its usual start if not given
    #[arg(long)]
    pub(crate) sfen: Option<String>,
}

impl PositionArgs {
    pub(crate) fn load(&self) -> anyhow::Result<Position> {
        self.load_with(&self.variant.load()?)
    }

    pub(crate) fn load_with(&self, variant: &Arc<Variant>) -> anyhow::Result<Position> {
        let Some(text) = &self.sfen else { return Ok(Position::start(variant)) };
        let named = variant.positions().iter().find(|(name, _)| name == text).map(|(_, sfen)| sfen);
        // What has no rank after rank is meant as a name.
        if named.is_none() && !text.contains('/') {
            let names: Vec<_> = variant.positions().iter().map(|(name, _)| name.as_str()).collect();
            let known = if names.is_empty() { "none".to_string() } else { names.join(", ") };
            bail!("{} has no start position `{text}`; it has {known}", variant.name());
        }
        Ok(Position::from_sfen(variant, named.unwrap_or(text))?)
    }
}

/// What networks are computed on.
#[derive(Args, Clone)]
pub(crate) struct DeviceArg {
    /// What networks learn and play on: `cpu`, or in builds with GPUs `cuda`, `vulkan`, `wgpu`, with `:N` for the Nth GPU
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = train::device)]
    pub(crate) device: train::Device,
}

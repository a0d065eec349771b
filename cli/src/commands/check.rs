//! `shishi check`

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::Args;
use engine::{Variant, VariantError};

#[derive(Args)]
#[command(after_help = "Example: shishi check my_variant.toml")]
pub(crate) struct Check {
    /// Variant file
    file: PathBuf,
}

pub(crate) fn run(args: Check) -> anyhow::Result<()> {
    let path = args.file.display();
    let text = std::fs::read_to_string(&args.file).with_context(|| format!("cannot read {path}"))?;
    let variant = Variant::from_toml(&text, None).map_err(|error| match error {
        VariantError::Invalid(issues) => {
            let lines: Vec<_> = issues.iter().map(|issue| format!("{path}: {issue}")).collect();
            anyhow!("{} in {path}\n{}", count(issues.len(), "error"), lines.join("\n"))
        }
        other => anyhow!("{path}: {other}"),
    })?;
    println!(
        "{path}: {}, {}×{}, {} of pieces, rulesets {}",
        variant.title(),
        variant.files(),
        variant.ranks(),
        count(variant.kinds().len(), "kind"),
        variant.rulesets().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "),
    );
    Ok(())
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

//! `shishi variants`

use clap::Args;
use engine::Variant;
use serde_json::json;

use crate::output;

#[derive(Args)]
#[command(after_help = "Example: shishi variants --json")]
pub(crate) struct Variants {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Variants) -> anyhow::Result<()> {
    let variants: Vec<_> = Variant::builtin_names().map(|name| Variant::load(name, None)).collect::<Result<_, _>>()?;
    if args.json {
        let list: Vec<_> = variants
            .iter()
            .map(|variant| {
                json!({
                    "name": variant.name(),
                    "title": variant.title(),
                    "kanji": variant.kanji(),
                    "files": variant.files(),
                    "ranks": variant.ranks(),
                    "pieces": pieces(variant),
                    "kinds": variant.kinds().len(),
                    "start": variant.start_sfen(),
                    "default_ruleset": variant.ruleset(),
                    "rulesets": variant.rulesets().iter().map(|(name, title)| json!({"name": name, "title": title})).collect::<Vec<_>>(),
                    "positions": variant.positions().iter().map(|(name, sfen)| json!({"name": name, "sfen": sfen})).collect::<Vec<_>>(),
                })
            })
            .collect();
        output::json(&json!(list));
        return Ok(());
    }
    let rows: Vec<_> = variants
        .iter()
        .map(|variant| {
            let rulesets: Vec<_> = variant.rulesets().iter().map(|(name, _)| name.as_str()).collect();
            vec![
                variant.name().to_string(),
                format!("{} {}", variant.title(), variant.kanji()),
                format!("{}×{}", variant.files(), variant.ranks()),
                pieces(variant).to_string(),
                variant.kinds().len().to_string(),
                rulesets.join(", "),
            ]
        })
        .collect();
    println!(
        "{}",
        output::table(&["name", "game", "board", "pieces", "kinds", "rulesets (the first is the default)"], &rows)
    );
    for variant in &variants {
        println!("\n{} rulesets", variant.title());
        for (name, title) in variant.rulesets() {
            println!("  {}  {title}", output::pad(name, 18));
        }
    }
    Ok(())
}

/// Pieces a side has at the start.
fn pieces(variant: &Variant) -> usize {
    variant.kinds().iter().map(|kind| kind.count).sum()
}

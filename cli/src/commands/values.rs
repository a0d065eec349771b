//! `shishi values`

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use eval::measure::Measured;
use eval::reference::ReferenceTable;
use eval::values::Unit;
use selfplay::data::{PositionRow, ShardReader, find_shards};

use crate::args::VariantArgs;
use crate::{output, pipeline};

#[derive(Args)]
#[command(
    after_help = "Example: shishi values runs/quick-chu\n\nA value is printed only if the games determine it: standard error of its \
logarithm below 0.30 and at least 200 games in which the sides had different numbers of the piece."
)]
pub(crate) struct Values {
    /// Run directories, folders of shards or shards
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Reference table: the id of an embedded one or a CSV file with columns id,value
    #[arg(long, value_name = "ID")]
    table: Option<String>,
    /// How values are estimated
    #[arg(long, default_value = "outcome")]
    method: MethodArg,
    /// File that defines the variant of the games
    #[arg(long, value_name = "FILE")]
    variant_file: Option<PathBuf>,
    /// Seed of the resampling for intervals
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MethodArg {
    /// Logistic regression of the outcome of games on the difference of piece counts
    Outcome,
}

pub(crate) fn run(args: Values) -> anyhow::Result<()> {
    let MethodArg::Outcome = args.method;
    let shards = find_shards(&args.runs)?;
    let Some(first) = shards.first() else { bail!("no games in {}", args.runs[0].display()) };
    let meta = ShardReader::open::<PositionRow>(&first.positions)?.meta().clone();
    let variant =
        VariantArgs { variant: meta.variant, ruleset: Some(meta.ruleset), variant_file: args.variant_file }.load()?;
    let table = match &args.table {
        None => ReferenceTable::default_for(variant.name()),
        Some(id) => Some(reference(id)?),
    };
    let config = eval::values::ValuesConfig::default();
    let measured = pipeline::measure_values(&variant, &args.runs, table.as_ref(), &config, args.seed)?;
    if args.json {
        output::json(&serde_json::to_value(&measured)?);
    } else {
        println!("{}", text(&measured));
    }
    Ok(())
}

fn reference(id: &str) -> anyhow::Result<ReferenceTable> {
    if let Some(table) = ReferenceTable::builtin(id) {
        return Ok(table);
    }
    let path = PathBuf::from(id);
    if !path.exists() {
        let ids: Vec<_> = ReferenceTable::builtin_ids().collect();
        bail!("no reference table `{id}`: neither a file nor one of {}", ids.join(", "));
    }
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(ReferenceTable::from_csv(&text, &path)?)
}

/// The table of values, dearest piece first, then what could not be identified, then the agreement.
pub(crate) fn text(measured: &Measured) -> String {
    let values = &measured.values;
    let logits = values.unit == Unit::Logit;
    let number = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.1}"));
    let own = |value: Option<f64>| {
        value.map_or(String::new(), |value| if logits { format!("{value:.2}") } else { format!("{value:.1}") })
    };
    let mut order: Vec<usize> = (0..values.pieces.len()).filter(|&i| values.pieces[i].identified).collect();
    order.sort_by(|&a, &b| values.pieces[b].value.unwrap_or(0.0).total_cmp(&values.pieces[a].value.unwrap_or(0.0)));
    let rows: Vec<_> = order
        .iter()
        .map(|&i| {
            let (piece, name) = (&values.pieces[i], &measured.names[i]);
            let plus = if name.promoted { "+" } else { "" };
            vec![
                format!("{plus}{}", name.symbol),
                piece.id.clone(),
                own(piece.value),
                format!("{} – {}", own(piece.low), own(piece.high)),
                number(piece.reference),
                piece.games_unbalanced.to_string(),
            ]
        })
        .collect();
    let mut text = format!(
        "{} under ruleset {}: {} positions at rest of {} games\n",
        measured.variant, measured.ruleset, values.rows, values.games
    );
    if let Some(title) = &measured.reference_title {
        let scale = if logits {
            "too few pieces are identified to find its scale, so values are logits of winning"
        } else {
            "one factor for all pieces makes the scales equal"
        };
        text += &format!("reference: {title}; {scale}\n");
    }
    if let Some(warning) = &measured.warning {
        text += &format!("note: {warning}\n");
    }
    text += "\n";
    if rows.is_empty() {
        text += "no piece is identified: too few games, or pieces that always leave together\n";
    } else {
        text += &output::table(&["", "piece", "value", "95 % interval", "reference", "games with a difference"], &rows);
        text += "\n";
    }
    let missing: Vec<_> =
        values.pieces.iter().filter(|piece| !piece.identified).map(|piece| piece.id.as_str()).collect();
    if !missing.is_empty() {
        text += &format!("\nnot identified: {}\n", missing.join(", "));
    }
    let agreement = &values.agreement;
    let lines = [
        ("Somers' D", agreement.somers_d),
        ("tau-b", agreement.tau_b),
        ("Spearman", agreement.spearman),
        ("log-sd", agreement.log_sd),
        ("log-log slope", agreement.log_slope),
    ];
    let known: Vec<_> = lines.into_iter().filter_map(|(name, interval)| Some((name, interval?))).collect();
    if !known.is_empty() {
        text += &format!("\nagreement with the reference over {} pieces\n", agreement.pieces);
        for (name, interval) in known {
            text += &format!("  {name:14} {:.2}  ({:.2} to {:.2})\n", interval.value, interval.low, interval.high);
        }
    }
    text.trim_end().to_string()
}

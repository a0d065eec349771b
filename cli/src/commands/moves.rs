//! `shishi moves`

use anyhow::Context;
use clap::Args;
use engine::{Game, Outcome};
use serde_json::{Value, json};

use crate::args::PositionArgs;
use crate::output;

#[derive(Args)]
#[command(after_help = "Example: shishi moves chu --play 7j6h 6c7e")]
pub(crate) struct Moves {
    #[command(flatten)]
    position: PositionArgs,
    /// Moves to play first, in USI
    #[arg(long, num_args = 1.., value_name = "MOVE")]
    play: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Moves) -> anyhow::Result<()> {
    let mut game = Game::new(args.position.load()?);
    for (index, text) in args.play.iter().enumerate() {
        let context = || format!("--play, move {}", index + 1);
        let mv = game.position().parse_usi(text).with_context(context)?;
        game.play(mv).with_context(context)?;
    }
    let mut moves = Vec::new();
    game.legal_moves(&mut moves);
    let position = game.position();
    let mut texts: Vec<_> = moves.iter().map(|&mv| position.usi(mv)).collect();
    texts.sort();
    if args.json {
        output::json(&json!({
            "sfen": position.sfen(),
            "side": position.side_to_move().as_str(),
            "moves": texts,
            "outcome": outcome_json(game.outcome()),
        }));
        return Ok(());
    }
    println!("{}", position.sfen());
    match game.outcome() {
        Some(outcome) => println!("{}", outcome_text(&outcome)),
        None => println!("{} moves for {}:\n{}", texts.len(), position.side_to_move(), texts.join(" ")),
    }
    Ok(())
}

pub(crate) fn outcome_json(outcome: Option<Outcome>) -> Value {
    outcome.map_or(
        Value::Null,
        |outcome| json!({"winner": outcome.winner.map(|color| color.as_str()), "reason": outcome.reason.as_str()}),
    )
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome.winner {
        Some(winner) => format!("{winner} has won: {}", outcome.reason),
        None => format!("drawn: {}", outcome.reason),
    }
}

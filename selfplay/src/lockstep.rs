//! Many games at once: each thread steps a table of games together and judges all their waiting positions in one batch.

use crate::evaluator::{Evaluation, Evaluator, Query};

/// A game that alternates between its own work and waiting for a judgement.
pub(crate) trait Session: Send {
    /// Works until a position needs a judgement, and returns the number of the evaluator it wants; `None` when the game is over.
    fn advance(&mut self) -> Option<usize>;
    /// The position that waits.
    fn leaf(&self) -> Query<'_>;
    /// Takes the judgement.
    fn backup(&mut self, evaluation: &Evaluation);
}

/// Plays sessions on `threads` threads, up to `seats` at a time on each.
///
/// `next` is given a finished session, if a seat has one, and returns the session that takes the seat, or `None` if there
/// are no more: a slow game holds up no other. Once `stop` says so, what is unfinished is dropped.
pub(crate) fn run<S: Session>(
    threads: usize,
    seats: usize,
    evaluators: &[&dyn Evaluator],
    stop: &(dyn Fn() -> bool + Sync),
    next: &(dyn Fn(Option<S>) -> Option<S> + Sync),
) {
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| run_table(seats, evaluators, stop, next));
        }
        run_table(seats, evaluators, stop, next);
    });
}

fn run_table<S: Session>(
    seats: usize,
    evaluators: &[&dyn Evaluator],
    stop: &(dyn Fn() -> bool + Sync),
    next: &(dyn Fn(Option<S>) -> Option<S> + Sync),
) {
    let mut table: Vec<S> = Vec::new();
    // The evaluator each session waits for.
    let mut wanted: Vec<usize> = Vec::new();
    let mut answers: Vec<Evaluation> = Vec::new();
    answers.resize_with(seats, Evaluation::default);
    while table.len() < seats {
        let Some(session) = next(None) else { break };
        table.push(session);
    }
    while !table.is_empty() {
        wanted.clear();
        while let Some(session) = table.get_mut(wanted.len()) {
            // Asked for each game: one without a search never waits.
            if stop() {
                return;
            }
            match session.advance() {
                Some(evaluator) => wanted.push(evaluator),
                None => {
                    let seat = wanted.len();
                    let finished = table.swap_remove(seat);
                    if let Some(session) = next(Some(finished)) {
                        table.push(session);
                        let last = table.len() - 1;
                        table.swap(seat, last);
                    }
                }
            }
        }
        for (number, evaluator) in evaluators.iter().enumerate() {
            let waiting = || wanted.iter().enumerate().filter(|&(_, &wanted)| wanted == number).map(|(seat, _)| seat);
            let batch: Vec<Query<'_>> = waiting().map(|seat| table[seat].leaf()).collect();
            if batch.is_empty() {
                continue;
            }
            let answers = &mut answers[..batch.len()];
            evaluator.evaluate(&batch, answers);
            for (seat, answer) in waiting().zip(answers.iter()) {
                table[seat].backup(answer);
            }
        }
    }
}

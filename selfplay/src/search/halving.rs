//! Sequential halving: which visit count the next root move to be tried must have.

/// Fills `schedule` so that simulation i goes to the best considered move that has exactly `schedule[i]` visits.
///
/// Phases halve the considered moves from `considered` down to 2, and each phase gives every move it keeps the same number of
/// visits, max(1, ⌊n / (⌈log₂ m⌉ · moves kept)⌋); what is left of the budget goes to the last two (section 3.4 and
/// figure 1 of the paper; the rounding is that of its authors' published implementation).
pub(super) fn plan(schedule: &mut Vec<u32>, considered: usize, simulations: usize) {
    schedule.clear();
    if considered <= 1 {
        schedule.extend(0..simulations as u32);
        return;
    }
    let phases = considered.next_power_of_two().trailing_zeros() as usize;
    let (mut kept, mut visits) = (considered, 0);
    while schedule.len() < simulations {
        let rounds = (simulations / (phases * kept)).max(1);
        for _ in 0..rounds {
            let take = kept.min(simulations - schedule.len());
            schedule.extend(std::iter::repeat_n(visits, take));
            visits += 1;
        }
        kept = (kept / 2).max(2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Visit counts from the best move on, if the order of the moves never changes.
    fn visits(considered: usize, simulations: usize) -> Vec<u32> {
        let mut schedule = Vec::new();
        plan(&mut schedule, considered, simulations);
        assert_eq!(schedule.len(), simulations);
        let mut visits = vec![0; considered];
        for wanted in schedule {
            let at = visits.iter().position(|&v| v == wanted).expect("a considered move with this many visits");
            visits[at] += 1;
        }
        visits
    }

    #[test]
    fn budgets_by_hand() {
        // 16 moves share 16 simulations: nothing is left for a second phase.
        assert_eq!(visits(16, 16), [1; 16]);
        // 32: one round of 16, one of 8, two of the best 4 (4 · 2 = 8).
        assert_eq!(visits(16, 32), [4, 4, 4, 4, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1]);
        // 200: phases of 16·3, 8·6, 4·12, 2·25, then 6 left for 2 (⌊200/64⌋, ⌊200/32⌋, ⌊200/16⌋, ⌊200/8⌋ rounds).
        assert_eq!(visits(16, 200)[..2], [3 + 6 + 12 + 25 + 3; 2]);
        assert_eq!(visits(16, 200)[2..9], [3 + 6 + 12, 3 + 6 + 12, 3 + 6, 3 + 6, 3 + 6, 3 + 6, 3]);
        // 4 moves, 8 simulations: 4 · 1, then 2 · 2.
        assert_eq!(visits(4, 8), [3, 3, 1, 1]);
        // Three moves take two phases of ⌊12/6⌋ and ⌊12/4⌋ rounds.
        assert_eq!(visits(3, 12), [5, 5, 2]);
        assert_eq!(visits(1, 5), [5]);
        assert_eq!(visits(2, 5), [3, 2]);
        assert_eq!(visits(8, 0), [0; 8]);
    }
}

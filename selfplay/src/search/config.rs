//! Settings of a search.

use serde::{Deserialize, Serialize};

use crate::config::{ConfigError, require};

/// How a search chooses the moves it looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Gumbel search: best with few simulations, and the source of policy targets.
    #[default]
    Gumbel,
    /// PUCT with visit counts as policy: for play with hundreds of simulations and more. It draws nothing.
    Puct,
}

/// Settings of a search. Those of Gumbel search are of Danihelka, Guez, Schrittwieser, Silver, "Policy improvement by
/// planning with Gumbel" (ICLR 2022), with the paper's values as defaults; those of PUCT are of Silver et al., "A general
/// reinforcement learning algorithm that masters chess, shogi and Go through self-play" (2018).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// `gumbel` or `puct`.
    pub method: Method,
    /// Simulations a move, each of which ends in one new position (n in the paper). The judgement of the position itself
    /// is not counted. 0 plays from the policy alone.
    pub simulations: u32,
    /// The most root moves that sequential halving starts with (m); never more than there are simulations.
    pub considered: u32,
    /// Visits added to the largest visit count when values are weighed against logits (c_visit).
    pub c_visit: f32,
    /// Weight of values in [0, 1] against logits (c_scale).
    pub c_scale: f32,
    /// Whether the values of a node's moves are stretched to [0, 1], the worst to 0 and the best to 1, before `c_scale` weighs
    /// them. Then small differences teach as much as large ones: for games in which few moves matter at once. A `c_scale` of
    /// about 0.05 to 0.1 goes with it.
    pub rescale: bool,
    /// Scale of the Gumbel noise at the root. 1 makes the first choice a draw from the policy; 0 makes the search
    /// deterministic, for matches.
    pub noise: f32,
    /// PUCT: weight of priors against values (c_init); it grows by ln(1 + visits / c_base).
    pub c_puct: f32,
    /// PUCT: visits at which that growth begins to matter (c_base).
    pub c_base: f32,
    /// PUCT: an unvisited move is taken to be worth the value of its position less this times the square root of the
    /// prior probability of the visited ones.
    pub fpu_reduction: f32,
    /// PUCT: whether the tree below the moves that were played is kept for the next search, in which its visits count
    /// as simulations.
    pub reuse_tree: bool,
    /// What a draw is worth to either side, from -1 (a loss) to 1 (a win).
    pub draw_value: f32,
}

/// The function σ of one node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sigma {
    low: f32,
    factor: f32,
}

impl Sigma {
    /// What a value in [-1, 1] weighs against logits.
    #[inline]
    pub(super) fn of(self, value: f32) -> f32 {
        self.factor * (value - self.low)
    }
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig {
            method: Method::Gumbel,
            simulations: 32,
            considered: 16,
            c_visit: 50.0,
            c_scale: 1.0,
            rescale: false,
            noise: 1.0,
            c_puct: 1.25,
            c_base: 19652.0,
            fpu_reduction: 0.2,
            reuse_tree: true,
            draw_value: 0.0,
        }
    }
}

impl SearchConfig {
    /// Value in [-1, 1] of win, draw and loss probabilities.
    pub fn value(&self, [win, draw, loss]: [f32; 3]) -> f32 {
        win - loss + self.draw_value * draw
    }

    /// σ: what values weigh against logits at a node whose most visited move has `most_visits` (equation 8 of the paper).
    /// `range`: the least and the greatest value of its moves, for `rescale`.
    pub(super) fn sigma(&self, most_visits: u32, range: impl FnOnce() -> (f32, f32)) -> Sigma {
        // Values that differ less than this differ by rounding.
        const LEAST: f32 = 1e-4;
        let weight = (self.c_visit + most_visits as f32) * self.c_scale;
        let (low, high) = if self.rescale { range() } else { (-1.0, 1.0) };
        Sigma { low, factor: weight / (high - low).max(LEAST) }
    }

    /// What a prior probability weighs against a value in [-1, 1] at a node with so many visits of its moves: c(s) · √N of
    /// the paper's pseudo-code.
    pub(super) fn exploration(&self, visits: u32) -> f32 {
        let visits = visits as f32;
        (self.c_puct + ((visits + self.c_base + 1.0) / self.c_base).ln()) * visits.max(1.0).sqrt()
    }

    /// Checks the ranges of all keys.
    ///
    /// # Errors
    /// The first key whose value is out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        require("considered", self.considered, self.considered >= 1, "at least 1")?;
        require("c_visit", self.c_visit, (0.0..1e6).contains(&self.c_visit), "from 0 to 1e6")?;
        require("c_scale", self.c_scale, (0.0..1e6).contains(&self.c_scale), "from 0 to 1e6")?;
        require("noise", self.noise, (0.0..=100.0).contains(&self.noise), "from 0 to 100")?;
        require("c_puct", self.c_puct, (0.0..=100.0).contains(&self.c_puct), "from 0 to 100")?;
        require("c_base", self.c_base, self.c_base >= 1.0 && self.c_base.is_finite(), "at least 1")?;
        let fpu = self.fpu_reduction;
        require("fpu_reduction", fpu, (0.0..=2.0).contains(&fpu), "from 0 to 2")?;
        require("draw_value", self.draw_value, (-1.0..=1.0).contains(&self.draw_value), "from -1 to 1")
    }
}

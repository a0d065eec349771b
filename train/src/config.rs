//! The tables `[network]` and `[train]` of a run's configuration.

use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::gather::LANES;

/// Architecture and size of a network: the table `[network]`, its key `architecture` chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "architecture", rename_all = "snake_case", deny_unknown_fields)]
pub enum NetworkConfig {
    /// Linear in counts of pieces, whose weights are piece values: see [`crate::network::Material`].
    Material(MaterialConfig),
    /// Sparse accumulators, made for CPUs: see [`crate::network::Nnue`].
    Nnue(NnueConfig),
    /// Convolutions with global pooling, made for GPUs: see [`crate::network::Resnet`].
    Resnet(ResnetConfig),
}

/// Sizes of the `material` architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MaterialConfig {
    /// Phases of the game, by how many pieces are left, with values of their own; between two they are mixed.
    pub phases: usize,
}

impl Default for MaterialConfig {
    fn default() -> Self {
        MaterialConfig { phases: 3 }
    }
}

/// Sizes of the `resnet` architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResnetConfig {
    /// Numbers a square. A multiple of 8.
    pub channels: usize,
    /// Residual blocks of two convolutions.
    pub blocks: usize,
    /// Width of the hidden layer between the pooled squares and the value. A multiple of 8.
    pub hidden: usize,
    /// Width of the vectors that score moves. A multiple of 8.
    pub policy_width: usize,
}

impl Default for ResnetConfig {
    fn default() -> Self {
        ResnetConfig { channels: 32, blocks: 4, hidden: 32, policy_width: 32 }
    }
}

/// Sizes of the `nnue` architecture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NnueConfig {
    /// Width of the accumulator, the sum over the pieces. A multiple of 8, fastest as a multiple of 64.
    pub accumulator: usize,
    /// Width of the hidden layer between the accumulator and the value. A multiple of 8.
    pub hidden: usize,
    /// Width of the vectors that describe moves; a position is described by one number less and a constant 1.
    /// A multiple of 8.
    pub policy_width: usize,
    /// Width of the vectors that say which pieces survive: learnt from, not asked for in play.
    pub survival_width: usize,
}

impl Default for NnueConfig {
    fn default() -> Self {
        NnueConfig { accumulator: 256, hidden: 32, policy_width: 32, survival_width: 8 }
    }
}

impl Default for NetworkConfig {
    fn default() -> Self {
        NetworkConfig::Nnue(NnueConfig::default())
    }
}

impl NetworkConfig {
    /// Checks the sizes.
    ///
    /// # Errors
    /// Names the first key out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let width = |key, size: usize| {
            let ok = size.is_multiple_of(LANES) && (LANES..=4096).contains(&size);
            check(key, ok, "a multiple of 8 from 8 to 4096", size)
        };
        match self {
            NetworkConfig::Material(MaterialConfig { phases }) => {
                check("network.phases", (1..=16).contains(phases), "1 to 16", phases)
            }
            NetworkConfig::Nnue(config) => {
                width("network.accumulator", config.accumulator)?;
                width("network.hidden", config.hidden)?;
                width("network.policy_width", config.policy_width)?;
                width("network.survival_width", config.survival_width)
            }
            NetworkConfig::Resnet(config) => {
                width("network.channels", config.channels)?;
                check("network.blocks", config.blocks <= 100, "at most 100", config.blocks)?;
                width("network.hidden", config.hidden)?;
                width("network.policy_width", config.policy_width)
            }
        }
    }
}

/// How gradients are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gradients {
    /// The big parts of a network by own loops where there are some for its architecture and it learns on a CPU, the rest by
    /// burn.
    Own,
    /// Everything by burn's automatic differentiation. For any device.
    Autodiff,
}

/// How the learning rate goes on after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Stays.
    Constant,
    /// Falls along half a cosine to `final_learning_rate` at the last step of a session.
    Cosine,
}

/// How a network learns: the table `[train]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// Positions a step.
    pub batch_size: usize,
    /// How many samples are drawn from the window for each new position: how often a position is used in all, on average.
    /// All positions of a game share its outcome, so that with 1 the value already learns games by heart.
    pub samples_per_position: f64,
    /// Learning rate after the warm-up.
    pub learning_rate: f64,
    /// Learning rate of the table of pieces on squares, as a share of the others'. Below 1 a network leans more on what
    /// all squares of a kind have in common, which takes fewer games to learn.
    pub square_rate: f64,
    /// Learning rate at the end of a session, for `schedule = "cosine"`.
    pub final_learning_rate: f64,
    /// `constant` or `cosine`.
    pub schedule: Schedule,
    /// Steps of the network's life during which the learning rate grows from 0.
    pub warmup_steps: u64,
    /// AdamW's weight decay, a share of the weight per step and per learning rate.
    pub weight_decay: f64,
    /// Longest gradient of one tensor (Euclidean norm); longer ones are scaled down to it. 0: no limit.
    pub gradient_clip: f64,
    /// Weight of the policy's cross-entropy in the loss.
    pub policy_weight: f64,
    /// Weight of the value's cross-entropy in the loss.
    pub value_weight: f64,
    /// Weight of the loss of which pieces survive to the end of the game, a mean over the pieces.
    pub survival_weight: f64,
    /// Weight of the squared error of ln(1 + plies to the end of the game).
    pub plies_left_weight: f64,
    /// The network that plays is an average over the steps: each step moves it by 1 less this towards the network that
    /// learns (less in the first steps). 0: what learns plays.
    pub average_decay: f64,
    /// Share of the search's value in the value's target, 0 to 1; the rest is the outcome of the game. A game that was
    /// cut off has no outcome: there the search's value is the whole target.
    pub search_share: f64,
    /// Whether positions are shown reflected left to right half of the time. No effect on variants with a piece that has no
    /// mirror image.
    pub reflect: bool,
    /// How many of the newest positions are learnt from, whole shards at a time, while there are no more than that (c).
    pub window_positions: usize,
    /// The window grows with all positions played, N, to c · (1 + slope · ((N / c)^exponent − 1) / exponent): sublinear, so
    /// that old games lose weight. The rule is of Wu, "Accelerating self-play learning in Go" (2019), appendix C.
    pub window_exponent: f64,
    /// See `window_exponent`. 0: the window stays as it is.
    pub window_slope: f64,
    /// Share of the games that is held out for validation, 0 to 0.5.
    pub validation_share: f64,
    /// How many held-out positions are used at most.
    pub validation_positions: usize,
    /// `own` or `autodiff`.
    pub gradients: Gradients,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            batch_size: 512,
            samples_per_position: 0.3,
            learning_rate: 1e-3,
            square_rate: 0.1,
            final_learning_rate: 1e-4,
            schedule: Schedule::Constant,
            warmup_steps: 100,
            weight_decay: 1e-2,
            gradient_clip: 1.0,
            policy_weight: 1.0,
            value_weight: 1.0,
            survival_weight: 0.1,
            plies_left_weight: 0.01,
            average_decay: 0.998,
            search_share: 0.3,
            reflect: true,
            window_positions: 250_000,
            window_exponent: 0.75,
            window_slope: 0.4,
            validation_share: 0.05,
            validation_positions: 8192,
            gradients: Gradients::Own,
        }
    }
}

impl TrainConfig {
    /// Checks all values.
    ///
    /// # Errors
    /// Names the first key out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let not_negative = |x: f64| x >= 0.0 && x.is_finite();
        let batch = self.batch_size;
        check("train.batch_size", (1..=1 << 20).contains(&batch), "1 to 1048576", batch)?;
        let samples = self.samples_per_position;
        check("train.samples_per_position", positive(samples), "a positive number", samples)?;
        check("train.learning_rate", positive(self.learning_rate), "a positive number", self.learning_rate)?;
        let square = self.square_rate;
        check("train.square_rate", positive(square), "a positive number", square)?;
        let last = self.final_learning_rate;
        check("train.final_learning_rate", not_negative(last), "0 or a positive number", last)?;
        let (decay, clip) = (self.weight_decay, self.gradient_clip);
        check("train.weight_decay", not_negative(decay), "0 or a positive number", decay)?;
        check("train.gradient_clip", not_negative(clip), "0 or a positive number", clip)?;
        let (policy, value) = (self.policy_weight, self.value_weight);
        check("train.policy_weight", not_negative(policy), "0 or a positive number", policy)?;
        check("train.value_weight", not_negative(value), "0 or a positive number", value)?;
        let (survival, plies_left) = (self.survival_weight, self.plies_left_weight);
        check("train.survival_weight", not_negative(survival), "0 or a positive number", survival)?;
        check("train.plies_left_weight", not_negative(plies_left), "0 or a positive number", plies_left)?;
        let average = self.average_decay;
        check("train.average_decay", (0.0..1.0).contains(&average), "0 or more and below 1", average)?;
        let share = self.search_share;
        check("train.search_share", (0.0..=1.0).contains(&share), "0 to 1", share)?;
        let (exponent, slope) = (self.window_exponent, self.window_slope);
        check("train.window_exponent", positive(exponent) && exponent <= 1.0, "above 0 and at most 1", exponent)?;
        check("train.window_slope", (0.0..=1.0).contains(&slope), "0 to 1", slope)?;
        let positions = self.window_positions;
        check("train.window_positions", positions > 0, "a positive number", positions)?;
        let held_out = self.validation_share;
        check("train.validation_share", (0.0..=0.5).contains(&held_out), "0 to 0.5", held_out)
    }

    /// Steps of a session after so many new positions, at least 1.
    pub fn steps(&self, new: usize) -> u64 {
        (self.samples_per_position * new as f64 / self.batch_size as f64).ceil().max(1.0) as u64
    }

    /// Positions in the window after so many have been played.
    pub fn window(&self, played: usize) -> usize {
        let (c, ratio) = (self.window_positions as f64, played as f64 / self.window_positions as f64);
        if ratio <= 1.0 {
            return self.window_positions;
        }
        let growth = (ratio.powf(self.window_exponent) - 1.0) / self.window_exponent;
        (c * (1.0 + self.window_slope * growth)) as usize
    }

    /// The learning rate of a step.
    ///
    /// `step`: steps the network has made in its life; `done` of `steps`: steps made in this session.
    pub fn learning_rate_at(&self, step: u64, done: u64, steps: u64) -> f64 {
        let warmup = if step < self.warmup_steps { (step + 1) as f64 / self.warmup_steps as f64 } else { 1.0 };
        let rate = match self.schedule {
            Schedule::Constant => self.learning_rate,
            Schedule::Cosine => {
                let fall = 0.5 * (1.0 + (std::f64::consts::PI * done as f64 / steps.max(1) as f64).cos());
                self.final_learning_rate + (self.learning_rate - self.final_learning_rate) * fall
            }
        };
        warmup * rate
    }
}

fn check(key: &'static str, ok: bool, expected: &'static str, found: impl ToString) -> Result<(), ConfigError> {
    if ok { Ok(()) } else { Err(ConfigError { key, expected, found: found.to_string() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_tables_are_strict() {
        let read = |text: &str| toml::from_str::<NetworkConfig>(text);
        let nnue = NetworkConfig::Nnue(NnueConfig { accumulator: 128, ..NnueConfig::default() });
        assert_eq!(read("architecture = \"nnue\"\naccumulator = 128").expect("sound"), nnue);
        for bad in ["accumulator = 128", "architecture = \"nnue\"\nacumulator = 128", "architecture = \"cnn\""] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let written = toml::to_string(&nnue).expect("can be written");
        assert_eq!(read(&written).expect("sound"), nnue);
        let odd = NetworkConfig::Nnue(NnueConfig { hidden: 30, ..NnueConfig::default() });
        assert_eq!(odd.validate().expect_err("30 is no multiple of 8").key, "network.hidden");
    }

    #[test]
    fn train_tables_are_strict() {
        assert!(toml::from_str::<TrainConfig>("batch = 3").is_err());
        let config: TrainConfig = toml::from_str("search_share = 1.5").expect("well-formed");
        assert_eq!(config.validate().expect_err("above 1").key, "train.search_share");
        assert!(TrainConfig::default().validate().is_ok());
    }

    #[test]
    fn the_window_grows_slower_than_the_games() {
        let config = TrainConfig { window_positions: 250_000, ..TrainConfig::default() };
        // By the formula: 250000 · (1 + 0.4 · (4^0.75 − 1) / 0.75), 4^0.75 = 2.828427.
        assert_eq!([100_000, 250_000, 1_000_000].map(|played| config.window(played)), [250_000, 250_000, 493_790]);
        let fixed = TrainConfig { window_slope: 0.0, ..config };
        assert_eq!(fixed.window(10_000_000), 250_000);
    }

    #[test]
    fn learning_rate_warms_up_and_falls() {
        let mut config = TrainConfig { warmup_steps: 10, schedule: Schedule::Cosine, ..TrainConfig::default() };
        // By the formulas: a tenth in the first of ten steps; the mean of both rates half-way; the last at the end.
        let check = |config: &TrainConfig, (step, done, steps), expected: f64| {
            let found = config.learning_rate_at(step, done, steps);
            assert!((found - expected).abs() < 1e-12, "{step} {done}: {found}");
        };
        check(&config, (0, 0, 100), 1e-4);
        check(&config, (50, 50, 100), 5.5e-4);
        check(&config, (100, 100, 100), 1e-4);
        config.schedule = Schedule::Constant;
        check(&config, (9, 9, 100), 1e-3);
        check(&config, (99, 99, 100), 1e-3);
    }
}

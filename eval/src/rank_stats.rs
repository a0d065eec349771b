//! How well two tables of values agree: order, spread on the log scale, compression.
//!
//! `x` is the reference, `y` the estimate; both have one entry a piece. A statistic that the data do not determine
//! (fewer than two pieces, everything tied, a value that is not positive where logs are taken) is `None`.

/// Pairs of pieces by how the two tables order them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts {
    /// Both tables order the pair alike.
    pub concordant: u64,
    /// They order it the opposite way.
    pub discordant: u64,
    /// Tied in `x` only.
    pub tied_x: u64,
    /// Tied in `y` only.
    pub tied_y: u64,
    /// Tied in both.
    pub tied_both: u64,
}

impl PairCounts {
    /// Counts all pairs.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn of(x: &[f64], y: &[f64]) -> Self {
        assert_eq!(x.len(), y.len(), "the tables must have the same pieces");
        let mut counts = PairCounts::default();
        for i in 0..x.len() {
            for j in 0..i {
                let order_x = x[i].total_cmp(&x[j]);
                let order_y = y[i].total_cmp(&y[j]);
                let cell = match (order_x.is_eq(), order_y.is_eq()) {
                    (true, true) => &mut counts.tied_both,
                    (true, false) => &mut counts.tied_x,
                    (false, true) => &mut counts.tied_y,
                    _ if order_x == order_y => &mut counts.concordant,
                    _ => &mut counts.discordant,
                };
                *cell += 1;
            }
        }
        counts
    }

    fn difference(&self) -> f64 {
        self.concordant as f64 - self.discordant as f64
    }

    /// Pairs that `x` orders.
    fn ordered_by_x(&self) -> u64 {
        self.concordant + self.discordant + self.tied_y
    }

    /// Pairs that `y` orders.
    fn ordered_by_y(&self) -> u64 {
        self.concordant + self.discordant + self.tied_x
    }

    /// Kendall's tau-b: (C - D) / sqrt(pairs ordered by x * pairs ordered by y). Under 1 when only one table has ties.
    pub fn tau_b(&self) -> Option<f64> {
        let pairs = self.ordered_by_x() as f64 * self.ordered_by_y() as f64;
        (pairs > 0.0).then(|| self.difference() / pairs.sqrt())
    }

    /// Somers' D of y given x: (C - D) / pairs that the reference orders. Ties of the reference cost nothing.
    pub fn somers_d(&self) -> Option<f64> {
        let pairs = self.ordered_by_x();
        (pairs > 0).then(|| self.difference() / pairs as f64)
    }
}

/// Pearson's correlation.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let m = SecondMoments::of(x, y)?;
    let scale = (m.xx * m.yy).sqrt();
    (scale > 0.0).then(|| m.xy / scale)
}

/// Spearman's correlation: Pearson's of the ranks, ties at their mean rank.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    pearson(&mid_ranks(x), &mid_ranks(y))
}

fn mid_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    for run in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let below = values.iter().filter(|&&v| v < values[run[0]]).count();
        for &i in run {
            ranks[i] = below as f64 + (run.len() as f64 + 1.0) / 2.0;
        }
    }
    ranks
}

/// The estimate against the reference on the log scale with one free factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogFit {
    /// Estimate units per reference unit: exp(mean ln(y/x)).
    pub scale: f64,
    /// Standard deviation of ln(y/x) about its mean, n - 1 in the denominator.
    pub sd: f64,
    /// Largest deviation from the mean.
    pub max: f64,
}

/// Fits the scale. One factor and never "pawn = 1": dividing by one piece hands its error to all the others.
pub fn log_fit(x: &[f64], y: &[f64]) -> Option<LogFit> {
    let ratios: Vec<f64> = logs(y)?.iter().zip(logs(x)?).map(|(y, x)| y - x).collect();
    if ratios.len() < 2 {
        return None;
    }
    let n = ratios.len() as f64;
    let mean = ratios.iter().sum::<f64>() / n;
    let squares: f64 = ratios.iter().map(|r| (r - mean).powi(2)).sum();
    Some(LogFit {
        scale: mean.exp(),
        sd: (squares / (n - 1.0)).sqrt(),
        max: ratios.iter().map(|r| (r - mean).abs()).fold(0.0, f64::max),
    })
}

/// Slope of ln y on ln x with errors in both, of equal variance (Deming with variance ratio 1). Under 1: the estimate
/// compresses the reference, small pieces look too dear.
pub fn log_slope(x: &[f64], y: &[f64]) -> Option<f64> {
    let m = SecondMoments::of(&logs(x)?, &logs(y)?)?;
    let difference = m.yy - m.xx;
    // sqrt(d^2 + 4 xy^2) by hypot, and the form of the root that does not cancel.
    let root = difference.hypot(2.0 * m.xy);
    let slope = if difference > 0.0 { (difference + root) / (2.0 * m.xy) } else { 2.0 * m.xy / (root - difference) };
    slope.is_finite().then_some(slope)
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|&v| (v > 0.0 && v.is_finite()).then(|| v.ln())).collect()
}

struct SecondMoments {
    xx: f64,
    yy: f64,
    xy: f64,
}

impl SecondMoments {
    /// Sums of squares and products about the means; `None` under two pieces.
    ///
    /// # Panics
    /// If the slices differ in length.
    fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        assert_eq!(x.len(), y.len(), "the tables must have the same pieces");
        if x.len() < 2 {
            return None;
        }
        let n = x.len() as f64;
        let mean_x = x.iter().sum::<f64>() / n;
        let mean_y = y.iter().sum::<f64>() / n;
        let mut moments = SecondMoments { xx: 0.0, yy: 0.0, xy: 0.0 };
        for (x, y) in x.iter().zip(y) {
            moments.xx += (x - mean_x).powi(2);
            moments.yy += (y - mean_y).powi(2);
            moments.xy += (x - mean_x) * (y - mean_y);
        }
        Some(moments)
    }
}

//! The rows of a regression: sparse integer features, grouped by cluster (the game, or the opening pair).

use std::collections::HashMap;

/// Sparse rows of one regression, rows of a cluster together. About 4 bytes an entry and 24 a row. Rows that repeat the
/// one before (same cluster, entries and response) are kept once with their weights added, which changes no sum.
#[derive(Clone, Debug)]
pub struct Design {
    features: usize,
    /// Rows pushed.
    rows: usize,
    /// Entries of row i are `entries[row_start[i]..row_start[i + 1]]`: (feature, value), features ascending.
    row_start: Vec<usize>,
    entries: Vec<(u16, i16)>,
    responses: Vec<f64>,
    weights: Vec<f64>,
    /// Rows of cluster g are `cluster_start[g]..cluster_start[g + 1]`.
    cluster_start: Vec<usize>,
}

/// A row that a design cannot take.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum RowError {
    /// A feature index is out of range.
    #[error("expected a feature below {features}, found {feature}")]
    Feature {
        /// The index as given.
        feature: u16,
        /// Number of features.
        features: usize,
    },
    /// The merged count of a feature does not fit.
    #[error("feature {feature}: the sum {value} does not fit into 16 bits")]
    Value {
        /// The feature.
        feature: u16,
        /// Its sum over the row.
        value: i32,
    },
    /// Response or weight is not a usable number.
    #[error("expected a finite response and a finite weight of at least 0, found {response} and {weight}")]
    Number {
        /// Response as given.
        response: f64,
        /// Weight as given.
        weight: f64,
    },
}

/// One row as the fitting code sees it.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) entries: &'a [(u16, i16)],
    pub(crate) response: f64,
    pub(crate) weight: f64,
}

impl Row<'_> {
    pub(crate) fn dot(&self, coefficients: &[f64]) -> f64 {
        self.entries.iter().map(|&(feature, value)| coefficients[feature as usize] * f64::from(value)).sum()
    }
}

impl Design {
    /// Number of features (columns).
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of rows that were pushed.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows kept after merging repeats.
    pub(crate) fn kept_rows(&self) -> usize {
        self.responses.len()
    }

    /// Number of clusters.
    pub fn clusters(&self) -> usize {
        self.cluster_start.len() - 1
    }

    /// Scales weights so that every cluster weighs 1 in total: a long game says no more than a short one. A cluster
    /// of weight 0 stays at 0.
    pub fn weight_clusters_equally(&mut self) {
        for bounds in self.cluster_start.windows(2) {
            let weights = &mut self.weights[bounds[0]..bounds[1]];
            let total: f64 = weights.iter().sum();
            if total > 0.0 {
                weights.iter_mut().for_each(|w| *w /= total);
            }
        }
    }

    /// For each feature, the number of clusters with a row of positive weight in which it is not 0.
    pub fn clusters_with(&self) -> Vec<u64> {
        let mut counts = vec![0; self.features];
        let mut last_seen = vec![usize::MAX; self.features];
        for cluster in 0..self.clusters() {
            for row in self.cluster(cluster).filter(|row| row.weight > 0.0) {
                for &(feature, _) in row.entries {
                    let seen = &mut last_seen[feature as usize];
                    if *seen != cluster {
                        *seen = cluster;
                        counts[feature as usize] += 1;
                    }
                }
            }
        }
        counts
    }

    pub(crate) fn cluster(&self, cluster: usize) -> impl Iterator<Item = Row<'_>> {
        (self.cluster_start[cluster]..self.cluster_start[cluster + 1]).map(|row| self.row(row))
    }

    pub(crate) fn row(&self, row: usize) -> Row<'_> {
        Row {
            entries: &self.entries[self.row_start[row]..self.row_start[row + 1]],
            response: self.responses[row],
            weight: self.weights[row],
        }
    }

    /// Ranges of clusters of at least `rows` rows each (the last may be shorter): the units of parallel work. They
    /// depend on the data alone, so sums over them do not depend on the number of threads.
    pub(crate) fn blocks(&self, rows: usize) -> Vec<std::ops::Range<usize>> {
        let mut blocks = Vec::new();
        let mut first = 0;
        for cluster in 1..=self.clusters() {
            let size = self.cluster_start[cluster] - self.cluster_start[first];
            if size >= rows || cluster == self.clusters() {
                blocks.push(first..cluster);
                first = cluster;
            }
        }
        blocks
    }
}

/// Collects rows in any order.
#[derive(Clone, Debug)]
pub struct DesignBuilder {
    design: Design,
    /// Cluster of each row, numbered in order of first appearance.
    cluster_of_row: Vec<u32>,
    cluster_numbers: HashMap<u64, u32>,
    merged: Vec<(u16, i16)>,
}

impl DesignBuilder {
    /// A design without rows.
    ///
    /// # Panics
    /// If there are more than 65536 features.
    pub fn new(features: usize) -> Self {
        assert!(features <= 1 << 16, "a feature index has 16 bits");
        DesignBuilder {
            design: Design {
                features,
                rows: 0,
                row_start: vec![0],
                entries: Vec::new(),
                responses: Vec::new(),
                weights: Vec::new(),
                cluster_start: Vec::new(),
            },
            cluster_of_row: Vec::new(),
            cluster_numbers: HashMap::new(),
            merged: Vec::new(),
        }
    }

    /// Adds a row. Entries may come in any order; those of one feature are summed.
    ///
    /// # Errors
    /// An entry out of range, a response or weight that is not finite, a negative weight. Nothing is added then.
    pub fn push(&mut self, cluster: u64, entries: &[(u16, i16)], response: f64, weight: f64) -> Result<(), RowError> {
        if !(response.is_finite() && weight.is_finite() && weight >= 0.0) {
            return Err(RowError::Number { response, weight });
        }
        self.merge(entries)?;
        let next = self.cluster_numbers.len() as u32;
        let number = *self.cluster_numbers.entry(cluster).or_insert(next);
        let design = &mut self.design;
        design.rows += 1;
        if let Some(last) = design.kept_rows().checked_sub(1) {
            let row = design.row(last);
            if self.cluster_of_row[last] == number && row.entries == self.merged && row.response == response {
                design.weights[last] += weight;
                return Ok(());
            }
        }
        self.cluster_of_row.push(number);
        design.entries.extend_from_slice(&self.merged);
        design.row_start.push(design.entries.len());
        design.responses.push(response);
        design.weights.push(weight);
        Ok(())
    }

    fn merge(&mut self, entries: &[(u16, i16)]) -> Result<(), RowError> {
        let features = self.design.features;
        if let Some(&(feature, _)) = entries.iter().find(|e| e.0 as usize >= features) {
            return Err(RowError::Feature { feature, features });
        }
        self.merged.clear();
        self.merged.extend_from_slice(entries);
        self.merged.sort_unstable_by_key(|e| e.0);
        let mut kept = 0;
        let mut i = 0;
        while i < self.merged.len() {
            let feature = self.merged[i].0;
            let mut sum = 0;
            while i < self.merged.len() && self.merged[i].0 == feature {
                sum += i32::from(self.merged[i].1);
                i += 1;
            }
            let value = i16::try_from(sum).map_err(|_| RowError::Value { feature, value: sum })?;
            if value != 0 {
                self.merged[kept] = (feature, value);
                kept += 1;
            }
        }
        self.merged.truncate(kept);
        Ok(())
    }

    /// The design; rows are regrouped (in a stable order) only if a cluster's rows did not come together.
    pub fn finish(self) -> Design {
        let clusters = self.cluster_numbers.len();
        let mut cluster_start = vec![0; clusters + 1];
        for &cluster in &self.cluster_of_row {
            cluster_start[cluster as usize + 1] += 1;
        }
        for cluster in 0..clusters {
            cluster_start[cluster + 1] += cluster_start[cluster];
        }
        let mut design = self.design;
        if !self.cluster_of_row.is_sorted() {
            let mut order: Vec<usize> = (0..design.kept_rows()).collect();
            order.sort_by_key(|&row| self.cluster_of_row[row]);
            design = reordered(design, &order);
        }
        design.cluster_start = cluster_start;
        design
    }
}

fn reordered(design: Design, order: &[usize]) -> Design {
    let mut row_start = Vec::with_capacity(order.len() + 1);
    row_start.push(0);
    let mut entries = Vec::with_capacity(design.entries.len());
    for &row in order {
        entries.extend_from_slice(design.row(row).entries);
        row_start.push(entries.len());
    }
    Design {
        row_start,
        entries,
        responses: order.iter().map(|&row| design.responses[row]).collect(),
        weights: order.iter().map(|&row| design.weights[row]).collect(),
        ..design
    }
}

//! The rows of a regression: sparse integer features, grouped by cluster (the game, or the opening pair).

use std::collections::HashMap;

/// Sparse rows of one regression, rows of a cluster together. About 4 bytes an entry and 25 a row. Rows that repeat the
/// one before (same cluster, stratum, entries and response) are kept once with their weights added, which changes no sum.
#[derive(Clone, Debug)]
pub struct Design {
    features: usize,
    /// Rows pushed, by stratum.
    rows: Vec<usize>,
    /// Entries of row i are `entries[row_start[i]..row_start[i + 1]]`: (feature, value), features ascending.
    row_start: Vec<usize>,
    entries: Vec<(u16, i16)>,
    responses: Vec<f64>,
    weights: Vec<f64>,
    strata: Vec<u8>,
    /// What the linear predictor of the rows of each stratum is multiplied by; 1 where there is none.
    slopes: Vec<f64>,
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
    pub(crate) stratum: u8,
    /// What every entry is multiplied by.
    pub(crate) slope: f64,
}

impl Row<'_> {
    pub(crate) fn dot(&self, coefficients: &[f64]) -> f64 {
        self.slope * self.unsloped_dot(coefficients)
    }

    /// [`dot`](Row::dot) without the slope of the stratum.
    pub(crate) fn unsloped_dot(&self, coefficients: &[f64]) -> f64 {
        self.entries.iter().map(|&(feature, value)| coefficients[feature as usize] * f64::from(value)).sum()
    }
}

impl Design {
    fn empty(features: usize) -> Design {
        Design {
            features,
            rows: Vec::new(),
            row_start: vec![0],
            entries: Vec::new(),
            responses: Vec::new(),
            weights: Vec::new(),
            strata: Vec::new(),
            slopes: Vec::new(),
            cluster_start: Vec::new(),
        }
    }

    /// Number of features (columns).
    pub fn features(&self) -> usize {
        self.features
    }

    /// Number of rows that were pushed.
    pub fn rows(&self) -> usize {
        self.rows.iter().sum()
    }

    /// Number of rows kept after merging repeats.
    pub(crate) fn kept_rows(&self) -> usize {
        self.responses.len()
    }

    /// Number of clusters.
    pub fn clusters(&self) -> usize {
        self.cluster_start.len() - 1
    }

    /// Number of clusters that have rows.
    pub fn occupied_clusters(&self) -> usize {
        self.cluster_start.windows(2).filter(|bounds| bounds[0] < bounds[1]).count()
    }

    /// Sets what the linear predictor of each stratum's rows is multiplied by; strata beyond the slice have 1.
    pub fn set_slopes(&mut self, slopes: &[f64]) {
        self.slopes = slopes.to_vec();
    }

    /// What the linear predictor of a stratum's rows is multiplied by.
    pub fn slope(&self, stratum: u8) -> f64 {
        self.slopes.get(stratum as usize).copied().unwrap_or(1.0)
    }

    /// Sum of the weights of each stratum's rows, for the strata from 0 to the last that occurs.
    pub fn stratum_weights(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.strata.iter().max().map_or(0, |&last| last as usize + 1)];
        for (&stratum, weight) in self.strata.iter().zip(&self.weights) {
            sums[stratum as usize] += weight;
        }
        sums
    }

    /// The rows of one stratum alone, without slope. Clusters keep their numbers, so that a resample of them is the same
    /// for all strata; some may be left without rows.
    pub fn only(&self, stratum: u8) -> Design {
        let mut part = Design::empty(self.features);
        part.rows.push(self.rows.get(stratum as usize).copied().unwrap_or(0));
        part.cluster_start.push(0);
        for cluster in 0..self.clusters() {
            for row in self.cluster(cluster).filter(|row| row.stratum == stratum) {
                part.entries.extend_from_slice(row.entries);
                part.row_start.push(part.entries.len());
                part.responses.push(row.response);
                part.weights.push(row.weight);
                part.strata.push(stratum);
            }
            part.cluster_start.push(part.responses.len());
        }
        part
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
        let stratum = self.strata[row];
        Row {
            entries: &self.entries[self.row_start[row]..self.row_start[row + 1]],
            response: self.responses[row],
            weight: self.weights[row],
            stratum,
            slope: self.slope(stratum),
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
            design: Design::empty(features),
            cluster_of_row: Vec::new(),
            cluster_numbers: HashMap::new(),
            merged: Vec::new(),
        }
    }

    /// Adds a row of stratum 0. Entries may come in any order; those of one feature are summed.
    ///
    /// # Errors
    /// An entry out of range, a response or weight that is not finite, a negative weight. Nothing is added then.
    pub fn push(&mut self, cluster: u64, entries: &[(u16, i16)], response: f64, weight: f64) -> Result<(), RowError> {
        self.push_in(0, cluster, entries, response, weight)
    }

    /// Adds a row of a stratum, otherwise as [`push`](DesignBuilder::push).
    ///
    /// # Errors
    /// As `push`.
    pub fn push_in(
        &mut self,
        stratum: u8,
        cluster: u64,
        entries: &[(u16, i16)],
        response: f64,
        weight: f64,
    ) -> Result<(), RowError> {
        if !(response.is_finite() && weight.is_finite() && weight >= 0.0) {
            return Err(RowError::Number { response, weight });
        }
        self.merge(entries)?;
        let next = self.cluster_numbers.len() as u32;
        let number = *self.cluster_numbers.entry(cluster).or_insert(next);
        let design = &mut self.design;
        let strata = design.rows.len().max(stratum as usize + 1);
        design.rows.resize(strata, 0);
        design.rows[stratum as usize] += 1;
        if let Some(last) = design.kept_rows().checked_sub(1) {
            let row = design.row(last);
            let same = row.stratum == stratum && row.entries == self.merged && row.response == response;
            if self.cluster_of_row[last] == number && same {
                design.weights[last] += weight;
                return Ok(());
            }
        }
        self.cluster_of_row.push(number);
        design.entries.extend_from_slice(&self.merged);
        design.row_start.push(design.entries.len());
        design.responses.push(response);
        design.weights.push(weight);
        design.strata.push(stratum);
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
        strata: order.iter().map(|&row| design.strata[row]).collect(),
        ..design
    }
}

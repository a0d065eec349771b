//! Matches, ratings, piece values with intervals, reference tables, reports.

pub mod bayes_elo;
pub mod compare;
pub mod design;
mod estimate;
mod exchange;
pub mod external;
mod files;
pub mod interval;
pub mod judge;
pub mod ladder;
mod linalg;
pub mod match_record;
pub mod match_stats;
pub mod matches;
pub mod measure;
mod normal;
pub mod opinion;
pub mod phase;
pub mod pool;
pub mod promotion;
pub mod rank_stats;
pub mod reference;
pub mod regression;
pub mod report;
mod rest;
pub mod values;

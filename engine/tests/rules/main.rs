//! The rules of all games and rulesets: the crate against measured data, against its slow twin, and against itself.
//!
//! `twin/` is the slow twin and `twin_self` shows that it agrees with the data; `suite` is what both it and the crate
//! are asked, through `referee`.

mod conformance;
mod differential;
mod drops;
mod external;
mod histories;
mod mates;
mod properties;
mod referee;
mod subject;
mod suite;
mod twin;
mod twin_self;
mod wandering;

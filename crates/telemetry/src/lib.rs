//! What counters of other programs mean: identities of places, measures, objects of MIBs and metrics of exporters.
//!
//! Two rooms read the same counters: `import` from files that were collected, `probe` while a load runs. What an object or a
//! metric means, and which texts are identities, stands here once. Nothing is opened and nothing is remembered.

#![forbid(unsafe_code)]

pub mod exporter;
mod fc;
mod identity;
mod measure;
pub mod mib;

pub use fc::fc_speed;
pub use identity::{Machine, canonical};
pub use measure::{Flow, Leg, Measure};

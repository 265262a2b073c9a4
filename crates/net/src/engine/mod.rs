//! The network engine as a step sees it: receivers found or started, tests agreed with them, and their figures handed on.

mod around;

pub use around::{Embedded, Surroundings};

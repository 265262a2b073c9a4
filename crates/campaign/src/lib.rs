//! Drives a run from its first step to its last: order of stages, searches, step numbers, warm-ups that end when the
//! load is steady, two alternating runs, and progress.
//!
//! ```text
//! stages ──► Campaign ──► Stepper (live agents, simulator, estimator) ──► record
//!               ▲              │ intervals
//!               └─── Gauge ◄───┘
//! ```
//!
//! A [`Stepper`] runs one step and writes its record; a [`Campaign`] chooses the next step. This crate opens no
//! device, reads no clock and writes no file, so all kinds of runs with the same figures take the same steps.

#![forbid(unsafe_code)]

mod control;
mod driver;
mod gauge;
mod hop_loads;
mod progress;
mod rates;
mod times;
mod turns;
mod warming;

pub use control::Control;
pub use driver::{Campaign, StepEnd, Stepper};
pub use gauge::Gauge;
pub use hop_loads::{HopLoad, HopMeter, LoadOf};
pub use progress::Progress;
pub use rates::{DiskRates, JobRates, NetRates, RateMeter, RecentRates};
pub use times::{finished, planned, remeasured};
pub use turns::{COMPARISON_ENDED, PairedStep, SIDES, UnpairedSteps, pair, take_turns};
pub use warming::{Warmed, Warming};

//! Time and randomness.
//!
//! All other crates get their nanoseconds and random numbers here. The system's clocks are banned elsewhere, so that
//! the simulator can run the same code on simulated time, and a seed repeats a run's operations exactly.

mod ns;
mod rng;
mod secret;
mod system;
mod ziggurat;

pub use ns::Ns;
pub use rng::Rng;
pub use secret::unpredictable;
pub use system::{
    CpuTime, Discipline, discipline, now, process_cpu, sleep_until, suspended, thread_cpu,
    thread_time, wall_ns,
};

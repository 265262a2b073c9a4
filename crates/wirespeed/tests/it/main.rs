//! The whole program, as its users, their browsers and other programs meet it.

mod bench_statistics;
mod browser;
#[path = "../../benches/peers/estimate.rs"]
mod estimate;
mod labs;
mod peers;
mod program;
#[path = "../../../findings/tests/support/mod.rs"]
mod sketch;

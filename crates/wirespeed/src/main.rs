//! Wirespeed: what a virtualized storage fabric will carry, what breaks first, and whether it will carry *your*
//! application.
//!
//! This crate is the one binary: it parses arguments, wires the other crates together and nothing else.

#![forbid(unsafe_code)]

mod arrays;
mod catalogs;
mod cli;
mod commands;
mod control;
mod counted;
mod emulated;
mod exit;
mod files;
mod fleets;
mod guests;
mod hops;
mod labs;
mod live;
mod mistakes;
mod out;
mod present;
mod progress;
mod receivers;
mod replays;
mod sparkline;
mod targets;
mod versus;

use std::process::ExitCode;

/// Memory that is missing ends a command with its exit code and a sentence.
#[global_allocator]
static ALLOCATOR: engine::Allocator = engine::Allocator;

fn main() -> ExitCode {
    engine::ignore_file_size_signal();
    if let Some(name) = guest::init::name() {
        return guests::inside::serve(name);
    }
    match commands::dispatch(cli::parse()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            failure.exit().into()
        }
    }
}

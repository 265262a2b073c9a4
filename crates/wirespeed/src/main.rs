//! Wirespeed: what a virtualized storage fabric will carry, what breaks first, and whether it will carry *your*
//! application.
//!
//! This crate is the one binary: it parses arguments, wires the other crates together and nothing else.

#![forbid(unsafe_code)]

mod apart;
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
mod moments;
mod out;
mod present;
mod progress;
mod receivers;
mod replays;
mod sparkline;
mod targets;
mod versus;

use exit::Failure;
use std::process::ExitCode;

/// Memory that is missing ends a command with its exit code and a sentence.
#[global_allocator]
static ALLOCATOR: engine::Allocator = engine::Allocator;

fn main() -> ExitCode {
    engine::ignore_file_size_signal();
    engine::with_stack(command).unwrap_or_else(|error| {
        let failure = Failure::incomplete(format!(
            "a thread with room for this command cannot be started ({error}); raise `ulimit -s` or `ulimit -u`"
        ));
        failure.print();
        failure.exit().into()
    })
}

/// Apart from `main`, which may have little stack.
#[inline(never)]
fn command() -> ExitCode {
    if let Some(name) = guest::init::name() {
        return guests::inside::serve(name);
    }
    let cli = cli::parse();
    if let Some(code) = apart::carried_out(&cli) {
        return code;
    }
    match commands::dispatch(cli) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            failure.exit().into()
        }
    }
}

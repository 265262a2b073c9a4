//! The whole program, from the command line to the record: what its users and other programs rely on.

mod arrays;
mod calibrate;
mod carriers;
mod catalog;
mod commands;
mod compare;
mod data;
mod demo;
mod devices;
mod dry_run;
mod dry_run_net;
mod estimate;
mod exports;
mod frames;
mod killed;
mod luns;
mod memory;
mod mistakes;
mod net;
mod net_runs;
mod profiles;
mod score;
mod search;
mod simulate;
mod steady;
mod support;
mod target;
#[path = "../../../../findings/tests/support/valid.rs"]
mod valid;
mod verify;
mod versus;

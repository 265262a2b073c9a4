//! One file a command; each turns its arguments into calls of the other crates and prints what comes back.

mod agent;
mod calibrate;
mod capture;
mod catalog;
mod compare;
mod completions;
mod demo;
mod disk;
mod doctor;
mod estimate;
mod explain;
mod fit;
mod fleet;
mod import;
pub mod lab;
mod luns;
mod net;
pub mod plan;
mod profiles;
mod project;
mod review;
mod run;
mod score;
mod serve;
mod simulate;
mod table;
pub mod target;
mod traces;
mod vport;

use crate::cli::{Cli, Command};
use crate::exit::{Exit, Failure};

/// Carries out the command that the user gave.
pub fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    match cli.command {
        Command::Demo(args) => demo::demo(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Plan(args) => plan::plan(&args),
        Command::Run(args) => run::run(&args),
        Command::Simulate(args) => simulate::simulate(&args),
        Command::Estimate(args) => estimate::estimate(&args),
        Command::Score(args) => score::score(&args),
        Command::Serve(args) => serve::serve(args),
        Command::Explain(args) => explain::explain(&args),
        Command::Review(args) => review::review(&args),
        Command::Compare(args) => compare::compare(&args),
        Command::Calibrate(args) => calibrate::calibrate(&args),
        Command::Catalog(args) => catalog::catalog(&args),
        Command::Import(args) => import::import(&args),
        Command::Capture(args) => capture::capture(&args),
        Command::Fit(args) => fit::fit(&args),
        Command::Project(args) => project::project(&args),
        Command::Profiles(args) => profiles::profiles(&args),
        Command::Disk(args) => disk::disk(&args),
        Command::Net(args) => net::net(&args),
        Command::Target(args) => target::target(&args),
        Command::Lab(args) => lab::lab(&args),
        Command::Vport(args) => vport::vport(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Man(args) => completions::man(&args),
        Command::Agent(args) => agent::agent(&args),
        Command::Fleet(args) => fleet::fleet(&args.action),
        Command::GuestKeeper(args) => crate::guests::keep(&args),
    }
}

//! `wirespeed run FILE`: a scenario, for real.

use crate::cli::Run;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::live::{self, Job};

pub fn run(args: &Run) -> Result<Exit, Failure> {
    let source = files::scenario_source(&args.scenario)?;
    let scenario = scenario::load(&source)?;
    let out = files::record_path(args.recording.out.as_deref(), &files::stem(&source.name))?;
    live::run_and_review(&Job {
        source,
        scenario,
        out,
        agent: args.recording.agent,
        output: args.output.clone(),
    })
}

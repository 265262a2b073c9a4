//! `wirespeed run FILE`: a scenario, for real; with a second side, in turns.

use crate::cli::RunArgs;
use crate::commands::plan;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::fleets;
use crate::live::{self, LiveJob};
use crate::present;
use crate::replays;
use crate::versus;

pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    if args.against.against.is_some() || !args.against.set_b.is_empty() {
        if args.fleet.fleet.is_some() {
            return Err(Failure::usage("two sides in turns run on one machine: leave --fleet out"));
        }
        if args.plan {
            return Err(Failure::usage(
                "--plan shows one scenario: leave --against and --set-b out",
            ));
        }
        return versus::run(args);
    }
    if args.against.rounds.is_some() {
        return Err(Failure::usage(
            "--rounds goes with --against or --set-b; a plan's `repeat` runs its steps several times",
        ));
    }
    let source = files::scenario_source(&args.scenario)?;
    let mut scenario = scenario::load(&source)?;
    replays::settle(&mut scenario)?;
    if args.plan {
        return plan::show(&scenario, present::of_plan(args.output.format)?);
    }
    if let Some(url) = &args.fleet.fleet {
        return fleets::run::run(args, url, source, scenario);
    }
    fleets::run::unbound(&scenario)?;
    scenario.live()?;
    plan::warnings::warn(&scenario, &scenario.stages(), args.output.quiet);
    let out = files::record_path(args.recording.out.as_deref(), &files::stem(&source.name))?;
    live::run_and_review(&LiveJob {
        source,
        scenario,
        out,
        agent: args.recording.agent,
        metrics: args.recording.metrics,
        output: args.output.clone(),
        kept: None,
        facts: Vec::new(),
        control: live::control()?,
    })
}

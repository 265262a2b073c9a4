//! `wirespeed simulate FILE`: a scenario on its lab, which need not exist, into a record like that of a run.

use crate::cli::Simulate;
use crate::commands::plan::warnings;
use crate::exit::{Exit, Failure};
use crate::labs::CompiledLab;
use crate::out;
use crate::present::{self, Presentation};
use crate::progress::Display;
use crate::replays;
use crate::{files, live};
use clock::Ns;
use record::{Record, RunHead, Writer};
use scenario::{Scenario, Source, Stage};
use sim::simulate::{Named, Order, Outcome};
use std::path::Path;
use std::time::Duration;

pub fn simulate(args: &Simulate) -> Result<Exit, Failure> {
    let source = files::scenario_source(&args.scenario)?;
    let (source, scenario) = match args.runs {
        Some(runs) => repeated(source, runs)?,
        None => load(source)?,
    };
    let stages = scenario.stages();
    let lab = CompiledLab::planned(&scenario, &stages)?;
    warnings::warn(&scenario, &stages, args.output.quiet);
    let out = files::record_path(args.out.as_deref(), &files::stem(&source.name))?;
    let order = Order {
        stages: &stages,
        named: &Named::of(&scenario),
        seed: scenario.head.seed,
        threads: args.threads.map_or_else(processors, |n| n as usize),
        settle: args.settle,
        compile: &|step| lab.plant(step).map_err(|error| error.to_string()),
        stop: &*live::control()?,
    };
    let mut writer = Writer::create(&out, &head(&source, &scenario))?;
    writer.facts(&live::run_facts())?;
    let outcome = carry_out(&order, writer, &out, args.output.quiet)?;
    let record = Record::open(&out)?;
    let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
    present::print(&record, &analysis, Presentation::of(args.output.format))?;
    if !args.output.quiet {
        out::note(format_args!("record: {}", out.display()));
    }
    match outcome.failure {
        Some((step, why)) => Err(Failure::incomplete(format!("step {}: {why}", step + 1))),
        None => Ok(live::exit_of(&analysis)),
    }
}

fn load(source: Source) -> Result<(Source, Scenario), Failure> {
    let mut scenario = scenario::load(&source)?;
    replays::settle(&mut scenario)?;
    Ok((source, scenario))
}

/// The scenario with `repeat` set in each of its plans, which the record then knows.
fn repeated(mut source: Source, runs: u32) -> Result<(Source, Scenario), Failure> {
    let scenario = scenario::load(&source)?;
    for plan in &scenario.plans {
        let key = match plan.name.as_str() {
            "plan" => "plan.repeat".to_owned(),
            name => format!("plan.\"{name}\".repeat"),
        };
        source.overrides.push((key, runs.to_string()));
    }
    load(source)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The record's first lines. Its zero is that of simulated time.
pub(super) fn head(source: &Source, scenario: &Scenario) -> RunHead {
    let name = format!("wirespeed {} simulate", env!("CARGO_PKG_VERSION"));
    let producer = record::Producer::new(record::ProducerKind::Simulated, name);
    RunHead { producer, epoch: Ns::ZERO, ..live::head(source, scenario) }
}

/// Simulates into a new record at `out`, and shows how far it is.
pub(super) fn carry_out(
    order: &Order,
    writer: Writer,
    out: &Path,
    quiet: bool,
) -> Result<Outcome, Failure> {
    let total: Duration = order.stages.iter().map(Stage::duration_max).sum();
    let mut display = Display::new(quiet, total);
    let begun = clock::now();
    let outcome = sim::simulate::simulate(order, writer, &mut |progress| display.show(&progress));
    drop(display);
    let outcome = outcome
        .map_err(|error| Failure::incomplete(format!("{error} (record: {})", out.display())))?;
    if !quiet {
        let took = clock::now().since(begun).as_secs_f64();
        out::note(format_args!(
            "simulated: {:.1} s of load in {took:.1} s, {} I/Os a second",
            outcome.simulated.as_secs_f64(),
            units::count((outcome.ios as f64 / took.max(1e-9)).round()),
        ));
    }
    Ok(outcome)
}

//! `wirespeed estimate FILE`: what the scenario's lab will carry and what limits it, at once and without simulating.

pub mod document;

use crate::cli::{EstimateArgs, Format};
use crate::exit::{Exit, Failure};
use crate::labs::CompiledLab;
use crate::replays;
use crate::{files, live, out};
use clock::Ns;
use record::{Record, RunHead, Writer};
use review::estimate::{Document, Estimated};
use scenario::{Scenario, Source, Stage};
use sim::estimate::{Order, Told, sensitivities};
use std::path::{Path, PathBuf};

pub fn estimate(args: &EstimateArgs) -> Result<Exit, Failure> {
    let source = files::scenario_source(&args.scenario)?;
    let mut scenario = scenario::load(&source)?;
    replays::settle(&mut scenario)?;
    let stages = scenario.stages();
    let lab = CompiledLab::planned(&scenario, &stages)?;
    let order = Order {
        stages: &chosen(&args.step, &stages)?,
        compile: &|step| lab.plant(step).map_err(|error| error.to_string()),
        threads: std::thread::available_parallelism().map_or(1, usize::from),
    };
    let kept = match &args.out {
        Some(path) => {
            RecordPath::asked(files::record_path(Some(path), &files::stem(&source.name))?)
        }
        None => RecordPath::passing(),
    };
    let EstimateResult { steps, failure } =
        carry_out(&order, &head(&source, &scenario), &kept.path)?;
    let record = Record::open(&kept.path)?;
    let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
    let document = Document::of(&scenario.head.title, steps, &analysis, args.step.is_empty());
    out::result(&match args.output.format {
        Format::Text => document.text(),
        Format::Json => document.json(),
    })?;
    if let (Some(path), false) = (&args.out, args.output.quiet) {
        out::note(format_args!("record: {}", path.display()));
    }
    match failure {
        Some((step, why)) => Err(Failure::incomplete(format!("step {}: {why}", step + 1))),
        None if !args.step.is_empty() => Ok(Exit::Met),
        None => Ok(live::exit_of(&analysis)),
    }
}

/// The steps of these numbers, from 1, without searches; all stages where no number is given.
fn chosen(numbers: &[u32], stages: &[Stage]) -> Result<Vec<Stage>, Failure> {
    let most = u32::try_from(stages.len()).unwrap_or(u32::MAX);
    if let Some(number) = numbers.iter().find(|number| !(1..=most).contains(*number)) {
        return Err(Failure::usage(format!(
            "there is no step {number}: `wirespeed plan` numbers them from 1 to {most}"
        )));
    }
    let asked = |(number, stage): &(u32, &Stage)| {
        numbers.is_empty() || numbers.contains(number) && matches!(stage, Stage::Step(_))
    };
    Ok((1..).zip(stages).filter(asked).map(|(_, stage)| stage.clone()).collect())
}

/// Where the record goes: findings judge it, whether or not it is kept.
struct RecordPath {
    path: PathBuf,
    passing: bool,
}

impl RecordPath {
    fn asked(path: PathBuf) -> RecordPath {
        RecordPath { path, passing: false }
    }

    fn passing() -> RecordPath {
        let name = format!("wirespeed-estimate-{}-{}.wsr", std::process::id(), clock::now().0);
        RecordPath { path: std::env::temp_dir().join(name), passing: true }
    }
}

impl Drop for RecordPath {
    fn drop(&mut self) {
        if self.passing {
            // Where it cannot be removed, the system clears its temporary files.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

pub(super) fn head(source: &Source, scenario: &Scenario) -> RunHead {
    let name = format!("wirespeed {} estimate", env!("CARGO_PKG_VERSION"));
    let producer = record::Producer::new(record::ProducerKind::Estimated, name);
    RunHead { producer, epoch: Ns::ZERO, ..live::head(source, scenario) }
}

/// The result of all steps.
struct EstimateResult {
    steps: Vec<Estimated>,
    /// The step that could not be estimated, from 0, and why.
    failure: Option<(u32, String)>,
}

/// Estimates every step into a new record.
fn carry_out(order: &Order, head: &RunHead, path: &Path) -> Result<EstimateResult, Failure> {
    let mut writer = Writer::create(path, head)?;
    writer.facts(&live::run_facts())?;
    let mut steps = Vec::new();
    let mut collect = |solved: Told| {
        // By how much each hop matters costs a solution for each: for the first step, where assumptions are the same.
        let matters = if steps.is_empty() { sensitivities(solved.plant) } else { Vec::new() };
        steps.push(document::estimated(&solved, &matters));
    };
    let failure = sim::estimate::record(order, writer, &mut collect)?;
    Ok(EstimateResult { steps, failure })
}

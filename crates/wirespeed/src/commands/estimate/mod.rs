//! `wirespeed estimate FILE`: what the scenario's lab will carry and what limits it, at once and without simulating.

mod told;

use crate::cli::{Estimate, Format};
use crate::exit::{Exit, Failure};
use crate::labs::Lab;
use crate::{files, live, out};
use clock::Ns;
use record::{Record, RunHead, Writer};
use review::estimate::{Document, Estimated};
use scenario::{Scenario, Source};
use sim::estimate::{Order, Told, sensitivities};
use std::path::{Path, PathBuf};

pub fn estimate(args: &Estimate) -> Result<Exit, Failure> {
    let source = files::scenario_source(&args.scenario)?;
    let scenario = scenario::load(&source)?;
    let stages = scenario.stages();
    let lab = Lab::new(&scenario, &stages)?;
    let only = chosen(&args.step, stages.len())?;
    let order = Order {
        stages: &stages,
        only: &only,
        compile: &|step| lab.plant(step).map_err(|error| error.to_string()),
    };
    let kept = match &args.out {
        Some(path) => Kept::asked(files::record_path(Some(path), &files::stem(&source.name))?),
        None => Kept::passing(),
    };
    let Carried { steps, failure } = carry_out(&order, &head(&source, &scenario), &kept.path)?;
    let record = Record::open(&kept.path)?;
    let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
    let document = Document::of(&scenario.head.title, steps, &analysis, only.is_empty());
    out::result(&match args.output.format {
        Format::Text => document.text(),
        Format::Json => document.json(),
    })?;
    if let (Some(path), false) = (&args.out, args.output.quiet) {
        eprintln!("record: {}", path.display());
    }
    match failure {
        Some((step, why)) => Err(Failure::incomplete(format!("step {}: {why}", step + 1))),
        None if !only.is_empty() => Ok(Exit::Met),
        None => Ok(live::exit_of(&analysis)),
    }
}

/// Numbers of steps, from 0.
fn chosen(steps: &[u32], stages: usize) -> Result<Vec<u32>, Failure> {
    let most = u32::try_from(stages).unwrap_or(u32::MAX);
    match steps.iter().find(|step| **step == 0 || **step > most) {
        Some(step) => Err(Failure::usage(format!(
            "there is no step {step}: `wirespeed plan` numbers them from 1 to {most}"
        ))),
        None => Ok(steps.iter().map(|step| step - 1).collect()),
    }
}

/// Where the record goes: findings judge it, whether or not somebody wants to keep it.
struct Kept {
    path: PathBuf,
    passing: bool,
}

impl Kept {
    fn asked(path: PathBuf) -> Kept {
        Kept { path, passing: false }
    }

    fn passing() -> Kept {
        let name = format!("wirespeed-estimate-{}-{}.wsr", std::process::id(), clock::now().0);
        Kept { path: std::env::temp_dir().join(name), passing: true }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if self.passing {
            // Where it cannot be removed, the system clears its temporary files.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

pub(super) fn head(source: &Source, scenario: &Scenario) -> RunHead {
    let producer = format!("wirespeed {} estimate", env!("CARGO_PKG_VERSION"));
    RunHead { producer, epoch: Ns::ZERO, ..live::head(source, scenario) }
}

/// What came of all steps.
struct Carried {
    steps: Vec<Estimated>,
    /// The step that could not be estimated, from 0, and why.
    failure: Option<(u32, String)>,
}

/// Estimates every step into a new record.
fn carry_out(order: &Order, head: &RunHead, path: &Path) -> Result<Carried, Failure> {
    let mut writer = Writer::create(path, head)?;
    writer.facts(&live::run_facts())?;
    let mut steps = Vec::new();
    let mut tell = |told: Told| {
        // By how much each hop matters costs a solution for each: for the first step, where assumptions are the same.
        let matters = if steps.is_empty() { sensitivities(told.plant) } else { Vec::new() };
        steps.push(told::estimated(&told, &matters));
    };
    let failure = sim::estimate::record(order, writer, &mut tell)?;
    Ok(Carried { steps, failure })
}

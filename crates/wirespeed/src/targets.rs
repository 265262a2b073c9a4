//! The targets of a scenario before anything is opened: what they are, what its steps would do with them, and whether
//! the write guard would let them.

use crate::exit::{Exit, Failure};
use crate::guests;
use crate::live::{self, AGENT};
use disk::{Filling, TargetReport, Use};
use engine::{EngineError, Fill, StepSpec, TargetSpec, WorkerSpec};
use fleet::{AssignError, Assignment};
use scenario::{Scenario, Stage, Step};
use std::collections::BTreeMap;
use std::path::Path;
use workload::{Extent, IoDemand, Placement, Skew, SpecError, Stream, StreamKey, WorkloadKind};

/// What the steps of a scenario ask of one target.
pub struct TargetUse {
    /// What the target is, and whether it may be used.
    pub report: TargetReport,
    /// Whether any step reads it.
    pub reads: bool,
    /// Whether any step writes it.
    pub writes: bool,
}

/// Every target that the stages use, in order of first use.
pub fn asked(scenario: &Scenario, stages: &[Stage]) -> Result<Vec<TargetUse>, AssignError> {
    let steps: Vec<Step> = stages.iter().flat_map(Stage::examples).collect();
    // Guests are not there yet: their disks are what they are on this machine.
    let guests = guests::machines(scenario).into_iter().map(|vm| vm.name.clone());
    let agents: Vec<String> = [AGENT.to_owned()].into_iter().chain(guests).collect();
    let assignment = Assignment::new(scenario, &steps, scenario.head.seed, &agents)?;
    let mut order: Vec<TargetSpec> = Vec::new();
    let mut uses: BTreeMap<String, (bool, bool)> = BTreeMap::new();
    for step in &steps {
        let specs = assignment.step(step)?.specs;
        for (spec, worker) in
            specs.iter().flatten().flat_map(|s| s.workers.iter().map(move |w| (s, w)))
        {
            let demand = IoDemand::of(&worker.workload);
            for target in worker.targets.iter().filter_map(|&n| spec.targets.get(usize::from(n))) {
                let preconditioned = target.fill == Fill::SniaPts;
                let (reads, writes) = uses.entry(target.name.clone()).or_insert_with(|| {
                    order.push(target.clone());
                    (false, false)
                });
                *reads |= demand.reads;
                *writes |= demand.writes || preconditioned;
                // Only the first step of a plan says so.
                for known in order.iter_mut().filter(|t| preconditioned && t.name == target.name) {
                    known.fill = Fill::SniaPts;
                }
            }
        }
    }
    let look = |target: TargetSpec| {
        let (reads, writes) = uses.get(&target.name).copied().unwrap_or_default();
        let report = match fleet::scheme(&target.url) {
            fleet::ARRAY_SCHEME => embedded(scenario, &target, writes),
            _ => live::schemes().inspect(&target, writes),
        };
        TargetUse { report, reads, writes }
    };
    let mut asked: Vec<TargetUse> = order.into_iter().map(look).collect();
    for step in &steps {
        let specs = assignment.step(step)?.specs;
        for spec in specs.iter().flatten() {
            spec.workers.iter().for_each(|worker| fits(spec, worker, &mut asked));
        }
    }
    Ok(asked)
}

/// Refuses a target whose blocks or whose size a worker's operations do not fit, before anything is made.
fn fits(step: &StepSpec, worker: &WorkerSpec, asked: &mut [TargetUse]) {
    let used = worker.targets.iter().filter_map(|&n| step.targets.get(usize::from(n)));
    let places: Vec<usize> = used
        .filter_map(|target| asked.iter().position(|of| of.report.name == target.name))
        .collect();
    let extent = |place: &usize| {
        let TargetReport { size, block, .. } = asked[*place].report;
        Some(Extent { size: size?, block: block? })
    };
    let Some(targets) = places.iter().map(extent).collect::<Option<Vec<Extent>>>() else { return };
    let (sharer, sharers) = (worker.sharer, worker.sharers);
    let place = Placement { targets, sharer, sharers, start: clock::Ns::ZERO };
    // Where random addresses lie makes no difference, and may take long to compute.
    let mut spec = worker.workload.clone();
    if let WorkloadKind::Access(access) = &mut spec.kind {
        access.skew = Skew::Uniform;
    }
    let key = StreamKey { seed: step.seed, step: step.index, worker: worker.key, slot: 0 };
    let Err(problem) = Stream::new(&spec, &place, key) else { return };
    let at = match problem {
        SpecError::Misfit { target, .. } | SpecError::TooSmall { target, .. } => target,
        SpecError::Invalid { .. } | SpecError::NoTargets => 0,
    };
    let Some(target) = places.get(usize::from(at)).and_then(|place| asked.get_mut(*place)) else {
        return;
    };
    if target.report.fate.is_ok() {
        let name = &target.report.name;
        let problem = match problem {
            SpecError::Misfit { what, bytes, block, .. } => format!(
                "{name} has logical blocks of {block} bytes, and {what} of {bytes} bytes is not a multiple of them"
            ),
            SpecError::TooSmall { room, block, .. } => format!(
                "{name} offers a slot of {} {room} bytes, less than one block of {block} bytes",
                worker.name
            ),
            problem => problem.to_string(),
        };
        target.report.fate = Err(EngineError::Unsupported(problem));
        target.report.filling = Filling::Nothing;
    }
}

/// A volume of an embedded array: it is made for the run and is gone with it, so that nothing can be lost.
fn embedded(scenario: &Scenario, target: &TargetSpec, writes: bool) -> TargetReport {
    let place = target.url.split([':', '?']).nth(1).unwrap_or_default();
    let (array, volume) = place.split_once('/').unwrap_or((place, ""));
    let mut volumes = scenario.lab.volumes.iter();
    let volume = volumes.find(|known| known.array == array && known.name == volume);
    let size = volume.and_then(|volume| volume.size).map(|size| size.0);
    let block = volume.map(|volume| volume.block.unwrap_or(512));
    let library = scenario.lab.is_library(array);
    TargetReport {
        name: target.name.clone(),
        url: target.url.clone(),
        what: match library {
            true => format!("a tape in memory of the embedded library `{array}`, made for the run"),
            false => format!("memory of the embedded array `{array}`, made for the run"),
        },
        size,
        block,
        fate: Ok(if writes { Use::Write } else { Use::CreateAndRead }),
        filling: if writes && !library {
            Filling::of(target, size.unwrap_or(0), false)
        } else {
            Filling::Nothing
        },
        examined: None,
        facts: Vec::new(),
    }
}

/// The targets of a run; refuses one that the guard would refuse later, while nothing has been made yet.
pub fn granted(scenario: &Scenario) -> Result<Vec<TargetUse>, Failure> {
    let asked = asked(scenario, &scenario.stages()).map_err(Failure::usage)?;
    match asked.iter().find_map(|a| a.report.fate.as_ref().err()) {
        None => Ok(asked),
        Some(error) => Err(Failure::Other(exit_of(error), error.to_string())),
    }
}

/// The disks that the targets and the record share: writing the record is then a part of the load that is measured.
pub fn disks_shared_with(record: &Path, targets: &[TargetUse]) -> Vec<String> {
    let Some(disk) = disk::disk_under(record) else { return Vec::new() };
    let on_it = |a: &&TargetUse| {
        a.report.url != "null:"
            && disk::disk_under(Path::new(&a.report.url)).as_ref() == Some(&disk)
    };
    targets.iter().filter(on_it).map(|a| format!("{} ({disk})", a.report.name)).collect()
}

/// The exit code that a target's fate means.
pub fn exit_of(error: &EngineError) -> Exit {
    match error {
        EngineError::Refused(_) => Exit::Refused,
        EngineError::Unsupported(_) => Exit::Usage,
        EngineError::Target { .. } | EngineError::Worker { .. } => Exit::Incomplete,
    }
}

//! This program as the first process of a guest: it brings the guest up, serves the coordinator at the other end of its
//! port, and switches the guest off.

use super::{PORT, hops};
use crate::out;
use engine::{Engine, EngineError, IntervalTx, Pinning, Prepared, StepSpec, Stop, TargetSpec};
use fleet::{AgentIdentity, EngineRegistry};
use guest::init::{self, InitError};
use std::process::ExitCode;

/// Serves until the coordinator is gone or done. Never returns where the kernel obeys.
pub fn serve(name: String) -> ExitCode {
    if let Err(why) = work(name) {
        // The console is all that is left to speak by.
        out::note(format_args!("wirespeed: {why}"));
    }
    let why = init::power_off();
    out::note(format_args!("wirespeed: the guest cannot be switched off: {why}"));
    ExitCode::FAILURE
}

fn work(name: String) -> Result<(), Box<dyn std::error::Error>> {
    init::bring_up()?;
    let carrier = fleet::carrier::over_file(init::port(PORT)?)?;
    let mut disks = disk::DiskEngine::new(Pinning::Auto);
    if let Some(memory) = guest::kept::of_this_machine()? {
        disks = disks.remembering(disk::StateMemory::open(&memory)?);
    }
    let disks = GuestDisks(disks);
    let engines = EngineRegistry::new()
        .register(&[fleet::GUEST_SCHEME], Box::new(disks))
        .sampler(Box::new(hops::Inside::new(&name)));
    let facts = engine::host_facts(&name);
    Ok(fleet::serve(carrier, engines, AgentIdentity { name, facts })?)
}

/// The disk engine on the guest's disks, which are found by their serial numbers and never by name.
struct GuestDisks(disk::DiskEngine);

impl Engine for GuestDisks {
    fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let targets = step.targets.iter().map(local).collect::<Result<_, _>>()?;
        self.0.prepare(&StepSpec { targets, ..step.clone() }, notes, stop)
    }
}

/// The target as the guest's kernel has it.
fn local(target: &TargetSpec) -> Result<TargetSpec, EngineError> {
    let absent = |why: InitError| EngineError::Target {
        target: target.name.clone(),
        problem: why.to_string(),
    };
    let Some(disk) = hops::GuestDiskName::of(&target.url) else { return Ok(target.clone()) };
    let device = init::disk(disk.serial).map_err(absent)?;
    Ok(TargetSpec { url: device.display().to_string(), ..target.clone() })
}

//! This program as the first process of a guest: it brings the guest up, serves the coordinator at the other end of its
//! port, and switches the guest off.

use super::{PORT, hops};
use crate::out;
use engine::{Engine, EngineError, IntervalTx, Pinning, Prepared, StepSpec, Stop, TargetSpec};
use fleet::{AgentIdentity, EngineRegistry};
use guest::init;
use guest::initiator::{InitiatorError, KernelInitiator};
use std::collections::BTreeSet;
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
        disks = disks.remembering(disk::StateMemory::new(memory.into())?);
    }
    let disks = GuestDisks { disks, name: name.clone(), initiator: None, logins: BTreeSet::new() };
    let engines = EngineRegistry::new()
        .register(&[fleet::GUEST_SCHEME], Box::new(disks))
        .sampler(Box::new(hops::Inside::new(&name)));
    let facts = engine::host_facts(&name);
    Ok(fleet::serve(carrier, engines, AgentIdentity { name, facts })?)
}

/// The disk engine on the guest's disks, which are found by their serial numbers and never by name.
struct GuestDisks {
    disks: disk::DiskEngine,
    name: String,
    /// The kernel's initiator, once a disk is reached by it, and where it has logged in.
    initiator: Option<KernelInitiator>,
    logins: BTreeSet<String>,
}

impl Engine for GuestDisks {
    fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let targets = step.targets.iter().map(|target| self.local(target));
        let targets = targets.collect::<Result<_, _>>()?;
        self.disks.prepare(&StepSpec { targets, ..step.clone() }, notes, stop)
    }
}

impl GuestDisks {
    /// The target as the guest's kernel has it.
    fn local(&mut self, target: &TargetSpec) -> Result<TargetSpec, EngineError> {
        let absent =
            |why: String| EngineError::Target { target: target.name.clone(), problem: why };
        let Some(disk) = hops::GuestDiskName::of(&target.url) else { return Ok(target.clone()) };
        if let Some((portal, name)) = disk.login {
            self.log_in(portal, name).map_err(|why| absent(why.to_string()))?;
        }
        let device = init::disk(disk.serial).map_err(|why| absent(why.to_string()))?;
        Ok(TargetSpec { url: device.display().to_string(), ..target.clone() })
    }

    /// Has the kernel log in, once.
    fn log_in(&mut self, portal: &str, target: &str) -> Result<(), InitiatorError> {
        let way = format!("{portal}/{target}");
        if self.logins.contains(&way) {
            return Ok(());
        }
        let initiator = match &mut self.initiator {
            Some(initiator) => initiator,
            none => none.insert(KernelInitiator::start(&super::disks::initiator_of(&self.name))?),
        };
        initiator.log_in(portal, target)?;
        self.logins.insert(way);
        Ok(())
    }
}

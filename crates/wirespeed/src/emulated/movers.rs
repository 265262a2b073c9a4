//! VMs that move from one emulated host to another while they run.
//!
//! What moves is where the VM's process is counted, what quota holds it, and whence it speaks: its sessions with arrays end at the
//! host that it leaves, and are made anew, by the same initiator, from the host that it comes to. What it had under way is issued
//! again there, as after any loss of a session.

use super::stays::Whereabouts;
use lab::Fabric;
use scenario::Scenario;
use std::io;

/// A VM that moves.
#[derive(Clone, Debug)]
pub struct Mover {
    /// Its name.
    pub vm: String,
    /// Its place among the lab's VMs.
    pub number: usize,
    /// The host that it starts on.
    pub home: String,
    /// What carries it.
    pub process: u32,
}

/// The place among the lab's VMs of one that moves.
pub fn number(scenario: &Scenario, name: &str) -> Option<usize> {
    scenario.lab.vms.iter().position(|vm| vm.name == name && !vm.destinations.is_empty())
}

impl Mover {
    /// Moves it to a host; nothing happens where it is there already.
    /// # Errors
    /// Its process has ended, or the kernel lets nobody reach into it.
    pub fn to(&self, host: &str, fabric: &Fabric, whereabouts: &Whereabouts) -> io::Result<()> {
        let from = whereabouts.of(self.process).unwrap_or_else(|| self.home.clone());
        if from == host {
            return Ok(());
        }
        let group = match host == self.home {
            true => fabric.group(fabric.carrier(&self.vm, host)),
            false => fabric.group_on(&self.vm, host),
        };
        lab::regroup(self.process, group)?;
        // Sessions that are made from here on leave from the new host, and then those of the old one end.
        fabric.seat(self.number, host)?;
        whereabouts.put(self.process, host);
        lab::cut(self.process, &fabric.addresses(&from))
    }
}

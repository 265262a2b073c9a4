//! VMs that are guests: each has an agent of its own inside, which finds its disks by their serial numbers.
//!
//! What is behind a disk is opened on the host, by who starts the guest; the guest may write a disk only where the host was
//! granted that, and knows it by a number that is drawn for the run ([`TargetSpec::made_as`]).

use crate::arrays::plan;
use crate::assign::{AssignError, Assignment};
use crate::draft::{IoTarget, TargetTable};
use crate::link::GuestDisk;
use engine::{AttendedProcess, Fill, TargetSpec};
use scenario::{Scenario, Step, Vm};
use std::collections::BTreeMap;
use std::io;
use workload::IoDemand;

/// The scheme of a guest's disk: `serial:SERIAL/DISK/CONTROLLER`, where the latter two are its number among the disks of its VM
/// and that of its virtual adapter. One that the guest's kernel reaches by its own initiator ends with `@PORTAL/TARGET`.
pub const SCHEME: &str = "serial";

/// Letters of a serial number that every virtual adapter carries.
const SERIAL: usize = 20;

/// The guests of a run.
pub(crate) struct Guests<'a> {
    /// Their VMs by the numbers of their agents.
    vms: BTreeMap<usize, &'a Vm>,
    /// Serial numbers of targets that are no volumes, by their positions.
    serials: BTreeMap<usize, String>,
    /// Their processes.
    pub attended: Vec<AttendedProcess>,
}

impl<'a> Guests<'a> {
    /// VMs that are guests and have an agent of their name.
    pub fn new(scenario: &'a Scenario, agents: &[String]) -> Guests<'a> {
        let vm = |name: &String| scenario.lab.vms.iter().find(|vm| vm.name == *name);
        let guest = |(number, name)| Some((number, vm(name).filter(|vm| vm.machine.is_some())?));
        let vms = (0..).zip(agents).filter_map(guest).collect();
        Guests { vms, serials: BTreeMap::new(), attended: Vec::new() }
    }

    /// Whether an agent is a guest.
    pub fn is(&self, agent: usize) -> bool {
        self.vms.contains_key(&agent)
    }

    /// The agent of a VM, where that is a guest.
    pub fn agent_of(&self, vm: &str) -> Option<usize> {
        self.vms.iter().find(|(_, known)| known.name == vm).map(|(agent, _)| *agent)
    }

    /// Refuses what guests cannot do.
    pub fn check(
        &self,
        lab: &TargetTable<'_>,
        groups: &[(&str, Vec<usize>)],
        demands: &BTreeMap<usize, IoDemand>,
        steps: &[Step],
    ) -> Result<(), AssignError> {
        for vm in self.vms.values() {
            let refused = |problem: &str| AssignError::Guest {
                vm: vm.name.clone(),
                problem: problem.to_owned(),
            };
            if steps.iter().flat_map(Step::net_loads).any(|load| load.on.contains(&vm.name)) {
                return Err(refused("network loads run on VMs without `machine`"));
            }
            let used = groups.iter().find(|(group, _)| *group == vm.name);
            for (n, medium) in used.iter().flat_map(|(_, media)| media.iter().enumerate()) {
                let again = used.iter().any(|(_, media)| media[..n].contains(medium));
                if again {
                    return Err(refused("two of its disks are the same; give it each once"));
                }
                let shared = groups
                    .iter()
                    .find(|(group, media)| *group != vm.name && media.contains(medium));
                let writes = demands.get(medium).is_some_and(|demand| demand.writes);
                if let Some((other, _)) = shared.filter(|_| writes) {
                    let name = lab.name(*medium);
                    return Err(refused(&format!(
                        "it shares `{name}`, which is written, with `{other}`; give each a disk of its own"
                    )));
                }
            }
        }
        for (group, _) in groups.iter().filter(|(group, _)| self.agent_of(group).is_some()) {
            let refused = |problem: String| AssignError::Guest { vm: (*group).to_owned(), problem };
            for target in lab.of_vm(group) {
                match target {
                    IoTarget::Disk(disk) if disk.ports.len() > 1 => {
                        return Err(refused(format!(
                            "its disk `{}` has {} ways, and a guest's initiator takes one; name it (`ports = [\"{}\"]`)",
                            disk.name(),
                            disk.ports.len(),
                            disk.ports[0]
                        )));
                    }
                    IoTarget::Target(target) if target.verify_state.is_some() => {
                        return Err(refused(format!(
                            "`verify_state` of `{}` is a file of the host; leave it out",
                            target.name
                        )));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

impl Assignment<'_> {
    /// Draws serial numbers for the guests' disks that are no volumes.
    /// # Errors
    /// The kernel gives no random numbers.
    pub(crate) fn number_guest_disks(&mut self) -> io::Result<()> {
        for vm in self.guests.vms.values() {
            for place in self.lab.places_of(vm) {
                if matches!(self.lab.targets[place], IoTarget::Target(_)) {
                    let serial = plan::draw_serial()?[..SERIAL].to_owned();
                    self.guests.serials.entry(place).or_insert(serial);
                }
            }
        }
        Ok(())
    }

    /// The guests' processes, which are counted from here on.
    pub(crate) fn attend(&mut self, processes: Vec<(String, u32)>) {
        let attended =
            processes.into_iter().filter(|(name, _)| self.guests.agent_of(name).is_some());
        self.guests.attended =
            attended.map(|(name, process)| AttendedProcess { name, process }).collect();
    }

    /// The disks of a guest, by what they are on the host.
    pub(crate) fn guest_disks(&self, vm: &str) -> Vec<GuestDisk> {
        let Some(vm) = self.guests.vms.values().find(|known| known.name == vm) else {
            return Vec::new();
        };
        let disk = |(number, place): (usize, usize)| {
            let backing = self.target_spec(place, false);
            let embedded = matches!(self.lab.targets[place], IoTarget::Disk(_));
            let writes = embedded || self.demand(place).1.writes;
            let by_kernel = vm.disks.get(number).is_some_and(|disk| disk.by_kernel);
            let serial = self.serial(place, by_kernel)?;
            Some(GuestDisk { number, serial, backing, writes, by_kernel })
        };
        self.lab.places_of(vm).into_iter().enumerate().filter_map(disk).collect()
    }

    /// By which a guest finds a target: its kernel hears all of a volume's number, and QEMU's adapters not that much.
    fn serial(&self, place: usize, whole: bool) -> Option<String> {
        match &self.lab.targets[place] {
            IoTarget::Target(_) => self.guests.serials.get(&place).cloned(),
            IoTarget::Disk(disk) => {
                let serial = disk.reached(&self.reachable)?.serial;
                Some(serial.chars().take(if whole { usize::MAX } else { SERIAL }).collect())
            }
        }
    }

    /// A target as a guest opens it. What is behind a file or device was filled on the host.
    pub(crate) fn in_guest(&self, agent: usize, place: usize, step: &Step) -> TargetSpec {
        let spec = self.target_spec(place, step.precondition);
        let Some(vm) = self.guests.vms.get(&agent) else { return spec };
        let number = self.lab.places_of(vm).iter().position(|other| *other == place).unwrap_or(0);
        let disk = vm.disks.get(number);
        let by_kernel = disk.is_some_and(|disk| disk.by_kernel);
        let Some(serial) = self.serial(place, by_kernel) else { return spec };
        let controller = disk.and_then(|disk| disk.controller).unwrap_or(0);
        let way = login(&spec.url).filter(|_| by_kernel).map(|way| format!("@{way}"));
        let way = way.unwrap_or_default();
        let embedded = matches!(self.lab.targets[place], IoTarget::Disk(_));
        let granted = embedded || spec.demand.writes;
        TargetSpec {
            queue: spec.queue,
            data: spec.data,
            fill: if embedded { spec.fill } else { Fill::Never },
            demand: spec.demand,
            made_as: granted.then(|| serial.clone()),
            ..TargetSpec::new(spec.name, format!("{SCHEME}:{serial}/{number}/{controller}{way}"))
        }
    }
}

/// Where a LUN is logged in to, of a URL: `PORTAL/TARGET`.
fn login(url: &str) -> Option<String> {
    let (portal, rest) = url.strip_prefix("iscsi://")?.split_once('/')?;
    let (target, _) = rest.split_once('/')?;
    Some(format!("{portal}/{target}"))
}

#[cfg(test)]
mod tests {
    use super::login;

    #[test]
    fn a_kernel_logs_in_at_the_portal_and_target_of_a_lun() {
        let url = "iscsi://127.0.0.1:3260/iqn.2026-11.x:a/3?policy=fixed";
        assert_eq!(login(url).as_deref(), Some("127.0.0.1:3260/iqn.2026-11.x:a"));
        for other in ["disk.img", "null:", "iscsi://127.0.0.1/iqn"] {
            assert_eq!(login(other), None, "{other}");
        }
    }
}

//! What a live run can do with a scenario: everything but what only the simulator can do, which is reported in place.

use crate::diagnostics::{Diagnostics, Mistake, Sink};
use crate::model::{Backing, Plan, Scenario};
use crate::simulated::Incident;
use crate::spots::Spot;
use std::collections::BTreeMap;

/// What leads on.
pub(crate) const SIMULATE: &str = "`wirespeed simulate` runs it on a model";

impl Scenario {
    /// Whether a live run can carry out all of it.
    /// # Errors
    /// What only the simulator can do, at its place: copies, phases of jobs, loads on hosts, disks on arrays that are not at
    /// hand, what fails or moves in such a lab, and network loads between hosts that are not there.
    pub fn live(&self) -> Result<(), Diagnostics> {
        let mut sink = Sink::default();
        for (number, plan) in (0..).zip(&self.plans) {
            for (n, load) in (0..).zip(&plan.loads) {
                let at = self.spots.at(&Spot::Load(number, n));
                load.check_live(at, plan, self, &mut sink);
            }
            let absent = |incident: &&Incident| !self.lab.can_change(&incident.change);
            for (n, incident) in (0..).zip(&plan.incidents).filter(|(_, of)| absent(of)) {
                let at = self.spots.at(&Spot::Incident(number, n));
                sink.push(|| {
                    let message = format!("a live run cannot {}: that lab is not present", incident.change);
                    Mistake::new(at, message).help(format!(
                        "{SIMULATE}; at ports of embedded arrays there are `kill`, `slow` and `busy`; guests \
                         (`machine = \"qemu\"`) fail, are restored and move, hosts that have guests alone fail and are \
                         restored, and VMs move between emulated hosts"
                    ))
                });
            }
            self.check_unfinished(number, plan, &mut sink);
            let fixed = |incident: &&Incident| self.lab.is_fixed(&incident.change);
            for (n, incident) in (0..).zip(&plan.incidents).filter(|(_, of)| fixed(of)) {
                let at = self.spots.at(&Spot::Incident(number, n));
                sink.push(|| {
                    let message = format!("a live run cannot {}: the guest has `nvme`", incident.change);
                    Mistake::new(at, message)
                        .help("QEMU cannot move an NVMe controller: give the guest another adapter in `scsi`")
                });
            }
        }
        self.check_movers(&mut sink);
        self.check_disks(&mut sink);
        if sink.is_empty() { Ok(()) } else { Err(self.spots.finish(sink.once_a_place())) }
    }

    /// Whether a plan stops a guest, has one move, or switches one off with its host.
    pub fn changes_guests(&self) -> bool {
        let mut incidents = self.plans.iter().flat_map(|plan| &plan.incidents);
        incidents.any(|incident| self.lab.guest_of(&incident.change).is_some())
            || self.switches_guests_off()
    }

    /// Whether a plan switches guests off with their host.
    pub fn switches_guests_off(&self) -> bool {
        let mut incidents = self.plans.iter().flat_map(|plan| &plan.incidents);
        incidents.any(|incident| self.lab.guests_host(&incident.change).is_some())
    }

    /// A load that has so much to do cannot be begun anew by a guest that has lost its power.
    fn check_unfinished(&self, number: u32, plan: &Plan, sink: &mut Sink) {
        let ends = plan.loads.iter().any(|load| load.ends());
        let off = |of: &&Incident| self.lab.guests_host(&of.change).is_some();
        for (n, incident) in (0..).zip(&plan.incidents).filter(|(_, of)| ends && off(of)) {
            let at = self.spots.at(&Spot::Incident(number, n));
            sink.push(|| {
                let message = format!(
                    "a live run cannot {}: a load of this plan ends by itself, and how far a guest got is lost with its power",
                    incident.change
                );
                Mistake::new(at, message).help("give the plan loads that last for the measured time")
            });
        }
    }

    /// VMs of emulated hosts that move with streams, which would end.
    fn check_movers(&self, sink: &mut Sink) {
        for (number, plan) in (0..).zip(&self.plans) {
            for (n, incident) in (0..).zip(&plan.incidents) {
                let vm = self.lab.moves_emulated(&incident.change);
                let Some(vm) = vm.filter(|vm| !vm.nics.is_empty()) else { continue };
                let at = self.spots.at(&Spot::Incident(number, n));
                sink.push(|| {
                    let message = format!(
                        "a live run cannot {}: its network streams would end",
                        incident.change
                    );
                    Mistake::new(at, message).help(format!(
                        "{SIMULATE}; live, move a VM that has disks alone, unlike `{}`",
                        vm.name
                    ))
                });
            }
        }
    }

    /// Disks of the lab's VMs that some plan loads and that are not present.
    fn check_disks(&self, sink: &mut Sink) {
        let vms: BTreeMap<&str, _> = self.lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect();
        let members = self.plans.iter().flat_map(Plan::disk_loads).flat_map(|load| load.on);
        let mut seen = std::collections::BTreeSet::new();
        for vm in
            members.filter_map(|name| vms.get(name.as_str())).filter(|vm| seen.insert(&vm.name))
        {
            for (n, disk) in (0..).zip(&vm.disks) {
                let Backing::Lun { array, .. } = &disk.backing else { continue };
                if self.lab.embedded(array).is_some() {
                    continue;
                }
                let at = self.spots.at(&Spot::Disk(vm.name.clone(), n));
                sink.push(|| {
                    let message =
                        format!("`{}` has a disk on the array `{array}`, which is not present", vm.name);
                    Mistake::new(at, message).help(format!(
                        "{SIMULATE}; to measure, embed the array on this machine (`embedded = {{ ports = [{{ name = \
                         \"p1\" }}] }}`), or give the disk a `target`"
                    ))
                });
            }
        }
    }
}

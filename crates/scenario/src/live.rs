//! What a live run can do with a scenario: everything but what only the simulator can carry out, each of which is reported at
//! its place.

use crate::diagnostics::{Diagnostics, Mistake, Sink, Span};
use crate::model::{Axis, Backing, Load, Plan, Scenario};
use crate::network::ReceiverPlace;
use crate::spots::Spot;
use std::collections::BTreeMap;
use workload::Frames;

/// What leads on.
const SIMULATE: &str = "`wirespeed simulate` carries it out on a model";

impl Scenario {
    /// Whether a live run can carry out all of it.
    ///
    /// # Errors
    /// What only the simulator can do, at its place: copies, phases of jobs, loads on hosts, disks on arrays that are not at
    /// hand, what fails or moves in such a lab, and network loads between hosts that are not there.
    pub fn live(&self) -> Result<(), Diagnostics> {
        let mut sink = Sink::default();
        for (number, plan) in (0..).zip(&self.plans) {
            self.check_loads(number, plan, &mut sink);
            for (n, incident) in (0..).zip(&plan.incidents) {
                let at = self.spots.at(&Spot::Incident(number, n));
                sink.push(|| {
                    let message = format!("a live run cannot {}: that lab is not at hand", incident.change);
                    Mistake::new(at, message).help(format!(
                        "{SIMULATE}; at ports of embedded arrays there are `kill`, `slow` and `busy`"
                    ))
                });
            }
        }
        self.check_disks(&mut sink);
        self.check_nets(&mut sink);
        if sink.is_empty() { Ok(()) } else { Err(self.spots.finish(sink.once_a_place())) }
    }

    fn check_loads(&self, number: u32, plan: &Plan, sink: &mut Sink) {
        let refuse = |at: Span, what: String, sink: &mut Sink| {
            sink.push(|| Mistake::new(at, what).help(SIMULATE));
        };
        for (n, load) in (0..).zip(&plan.copies) {
            let what = format!("a live run cannot carry out the copy `{}`", load.workload);
            refuse(self.spots.at(&Spot::Load(number, 2, n)), what, sink);
        }
        for (n, load) in (0..).zip(&plan.loads) {
            let at = self.spots.at(&Spot::Load(number, 0, n));
            if in_job(load) {
                let what = format!(
                    "a live run cannot let `{}` wait for other loads, or end by itself: all loads of a step run all of the time",
                    load.workload
                );
                refuse(at, what, sink);
            }
            if let Some(host) = load.on.iter().find_map(|name| self.host_of(name)) {
                let what = format!("a live run cannot load the disks of the host `{host}`");
                refuse(at, what, sink);
            }
        }
    }

    /// The host that is meant, or whose disk is (`HOST.disk0`).
    fn host_of(&self, member: &str) -> Option<&str> {
        let owner = member.rsplit_once(".disk").map(|(host, _)| host);
        let hosts = self.lab.hosts.iter().map(|host| host.name.as_str());
        hosts.into_iter().find(|host| *host == member || Some(*host) == owner)
    }

    /// Disks of the lab's VMs that some plan loads and that are not at hand.
    fn check_disks(&self, sink: &mut Sink) {
        let vms: BTreeMap<&str, _> = self.lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect();
        let members = self.plans.iter().flat_map(|plan| &plan.loads).flat_map(|load| &load.on);
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
                        format!("`{}` has a disk on the array `{array}`, which is not at hand", vm.name);
                    Mistake::new(at, message).help(format!(
                        "{SIMULATE}; to measure, let the array stand on this machine (`embedded = {{ ports = [{{ name = \"p1\" }}] }}`), or give the disk a `target`"
                    ))
                });
            }
        }
    }
}

impl Scenario {
    /// Network loads that go to hosts of the lab alone, or whose steps would change an interface that nobody named.
    fn check_nets(&self, sink: &mut Sink) {
        for (number, plan) in (0..).zip(&self.plans) {
            let axis = |axis: &Axis| matches!(axis.key.as_str(), "mtu" | "offload");
            let adjusts = plan.frames != Frames::default() || plan.sweep.iter().any(axis);
            for (n, load) in (0..).zip(&plan.nets) {
                let at = self.spots.at(&Spot::Load(number, 1, n));
                let hops: Vec<_> = load.on.iter().flat_map(|on| self.lab.net_hops(on)).collect();
                let modelled =
                    hops.iter().find(|hop| hop.receiver.place == ReceiverPlace::Modelled);
                if let Some(hop) = modelled {
                    let name = &hop.receiver.name;
                    sink.push(|| {
                        let message = format!("a live run cannot reach `{name}`, which is a host of the lab and has no address");
                        Mistake::new(at, message).help(format!(
                            "{SIMULATE}; to measure, give the receiver an `address`, or let it stand on this machine (`embedded = true`)"
                        ))
                    });
                } else if adjusts && !hops.iter().any(|hop| hop.receiver.adjust.is_some()) {
                    sink.push(|| {
                        let message = format!("a live run of `{}` would set an MTU or offloads, and no receiver names an interface that may be changed", load.workload);
                        Mistake::new(at, message).help(format!(
                            "{SIMULATE}; to measure, add `adjust = \"eth1\"` to the [[receiver]]: naming this machine's interface is the permission"
                        ))
                    });
                }
            }
        }
    }
}

/// Whether a load is a phase of a job, and not only named.
fn in_job(load: &Load) -> bool {
    load.phase.as_ref().is_some_and(|phase| phase.amount.is_some() || !phase.after.is_empty())
}

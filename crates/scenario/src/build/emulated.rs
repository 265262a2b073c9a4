//! What an emulated lab must be: hosts, switches and arrays that are emulated are joined to each other and to nothing else,
//! since the rest of the scenario has no interface on this machine.

use crate::diagnostics::{Class, Mistake, Sink, Span};
use crate::model::{Array, Backing, Host, Lab, Vm};
use crate::network::{AddressFamily, ReceiverPlace};
use crate::spots::{Spot, Spots};
use std::collections::BTreeMap;

/// Reports what keeps the emulated part of a lab from being built.
pub(super) fn check(lab: &Lab, spots: &Spots, sink: &mut Sink) {
    let mut check = EmulatedCheck { lab, spots, sink };
    check.arrays();
    check.hosts();
    check.links();
    let mut users = BTreeMap::new();
    for vm in &lab.vms {
        check.vm(vm, &mut users);
        check.nics(vm);
    }
    check.receivers();
}

struct EmulatedCheck<'a, 's> {
    lab: &'a Lab,
    spots: &'a Spots,
    sink: &'s mut Sink,
}

impl<'a> EmulatedCheck<'a, '_> {
    fn complain(&mut self, at: Span, message: String, help: &str) {
        self.sink.push(|| Mistake::new(at, message).help(help.to_owned()));
    }

    fn arrays(&mut self) {
        let emulated = || self.lab.arrays.iter().filter(|array| array.emulate);
        let scale = emulated().find_map(|array| array.embedded.as_ref()).map(|first| first.scale);
        let bare: Vec<&Array> = emulated().filter(|array| array.embedded.is_none()).collect();
        let scaled = |array: &&Array| array.embedded.as_ref().map(|of| of.scale) != scale;
        let other = emulated().filter(|array| array.embedded.is_some()).find(scaled);
        for array in bare {
            let at = self.spots.name(&array.name);
            self.sink.push(|| {
                let message = format!("the emulated array `{}` has no `embedded`", array.name);
                Mistake::new(at, message)
                    .class(Class::Absence)
                    .help("add `embedded = { ports = [{ name = \"p1\" }] }`: it is served by this machine")
            });
        }
        if let Some(array) = other {
            let message = format!("`{}` is scaled unlike the other emulated arrays", array.name);
            let help = "links are scaled with the arrays: give all of them the same `scale`";
            self.complain(self.spots.name(&array.name), message, help);
        }
    }

    fn hosts(&mut self) {
        let lab = self.lab;
        for host in lab.hosts.iter().filter(|host| host.cpus.is_some() && !host.emulate) {
            let message = format!("`cpus` of `{}`: only an emulated host has a quota", host.name);
            self.complain(self.spots.name(&host.name), message, "add `emulate = true`");
        }
    }

    fn links(&mut self) {
        let lab = self.lab;
        for (n, link) in (0..).zip(&lab.links) {
            let ends = [&link.from.device, &link.to.device].map(|device| self.lab.emulates(device));
            if ends[0] == ends[1] {
                continue;
            }
            let (bare, first) = if ends[0] { (&link.to, false) } else { (&link.from, true) };
            let message = format!(
                "the link `{}` leads to `{}`, which is not emulated",
                link.name, bare.device
            );
            let help =
                "set `emulate = true` there too: an emulated part is joined to emulated ones";
            self.complain(self.spots.at(&Spot::End(n, first)), message, help);
        }
    }

    fn vm(&mut self, vm: &'a Vm, users: &mut BTreeMap<(&'a str, &'a str), &'a Vm>) {
        let host = vm.host.as_deref().and_then(|host| self.host(host)).filter(|host| host.emulate);
        let at = self.spots.name(&vm.name);
        if vm.cpus.is_some() && host.is_none() {
            let message =
                format!("`cpus` of `{}`: only a VM on an emulated host has a quota", vm.name);
            self.complain(at, message, "give it a `host` with `emulate = true`");
        }
        if let Some(host) = host.filter(|_| vm.machine.is_some()) {
            let message =
                format!("`{}` is a guest of QEMU on the emulated host `{}`", vm.name, host.name);
            self.complain(at, message, "leave out `machine`, or `emulate` of the host");
        }
        for (n, disk) in (0..).zip(&vm.disks) {
            let Backing::Lun { array, volume } = &disk.backing else { continue };
            let emulated =
                self.lab.arrays.iter().any(|known| known.name == *array && known.emulate);
            let at = self.spots.at(&Spot::Disk(vm.name.clone(), n));
            match (host, emulated) {
                (Some(host), false) => {
                    let message = format!(
                        "`{}` is on the emulated host `{}`, and `{array}` is not emulated",
                        vm.name, host.name
                    );
                    self.complain(at, message, "set `emulate = true` at the array");
                }
                (None, true) => {
                    let message =
                        format!("`{array}` is emulated, and `{}` is on no emulated host", vm.name);
                    self.complain(at, message, "give the VM a `host` with `emulate = true`");
                }
                (Some(_), true) => {
                    let Some(volume) = volume else { continue };
                    let first = *users.entry((array, volume)).or_insert(vm);
                    if first.carrier() != vm.carrier() {
                        let message = format!(
                            "`{}` shares `{array}/{volume}` with `{}`, which runs elsewhere",
                            vm.name, first.name
                        );
                        let help = "give each its own volume: a volume is filled and reserved by one emulated host";
                        self.complain(at, message, help);
                    }
                }
                (None, false) => {}
            }
        }
    }

    /// The receivers of a VM's nics are on emulated hosts where it is on one, and only there.
    fn nics(&mut self, vm: &'a Vm) {
        let here = self.lab.emulated_host(vm);
        let at = self.spots.name(&vm.name);
        for nic in &vm.nics {
            let Some(receiver) = self.lab.receiver(&nic.receiver) else { continue };
            match (here, self.lab.emulated_receiver(receiver)) {
                (Some(host), None) => {
                    let message = format!(
                        "`{}` is on the emulated host `{}`, and `{}` is on none",
                        vm.name, host.name, receiver.name
                    );
                    let help =
                        "give the receiver `embedded = true` and a `host` with `emulate = true`";
                    self.complain(at, message, help);
                }
                (None, Some(host)) => {
                    let message = format!(
                        "`{}` is on the emulated host `{}`, and `{}` is on none",
                        receiver.name, host.name, vm.name
                    );
                    self.complain(at, message, "give the VM a `host` with `emulate = true`");
                }
                _ => {}
            }
        }
    }

    /// A receiver on an emulated host is started there, and reached from emulated hosts.
    fn receivers(&mut self) {
        for receiver in &self.lab.receivers {
            let at = self.spots.name(&receiver.name);
            let from = receiver.site.as_ref().and_then(|site| site.from.as_deref());
            let from = from.and_then(|name| self.host(name));
            match self.lab.emulated_receiver(receiver) {
                Some(host) if receiver.place != ReceiverPlace::Embedded => {
                    let message = format!(
                        "the receiver `{}` on the emulated host `{}` is not `embedded`",
                        receiver.name, host.name
                    );
                    let help = "say `embedded = true`, without an `address`: it is started on that host for the run";
                    self.complain(at, message, help);
                }
                Some(_) => {
                    if let Some(bare) = from.filter(|host| !host.emulate) {
                        let message = format!(
                            "`{}` is sent to from `{}`, which is not emulated",
                            receiver.name, bare.name
                        );
                        self.complain(at, message, "set `emulate = true` at that host");
                    }
                    if receiver.source.is_some() || receiver.family == Some(AddressFamily::Ipv6) {
                        let message = format!("`{}` is on an emulated host", receiver.name);
                        let help = "leave out `source` and `family`: the lab has IPv4 addresses of its own";
                        self.complain(at, message, help);
                    }
                }
                None => {
                    if let Some(host) = from.filter(|host| host.emulate) {
                        let message = format!(
                            "`{}` is sent to from the emulated host `{}`, and is on none itself",
                            receiver.name, host.name
                        );
                        self.complain(
                            at,
                            message,
                            "give it `embedded = true` and a `host` with `emulate = true`",
                        );
                    }
                }
            }
        }
    }

    fn host(&self, name: &str) -> Option<&'a Host> {
        self.lab.hosts.iter().find(|host| host.name == name)
    }
}

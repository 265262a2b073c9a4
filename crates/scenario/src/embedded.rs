//! Arrays that are embedded: they stand on the machine that runs the scenario, for the time of the run. Their ports, the
//! ways of a disk to them, and the faults that a plan brings about at them.
//!
//! This holds what was asked for; it starts nothing. The policies are those of the hypervisors and operating systems
//! that the field knows (VMware's fixed and round robin, the path selectors of Linux's device mapper).

use crate::model::{Host, Lab, MachineKind, PartKind, Step, Vm};
use crate::network::{NetHop, Receiver};
use crate::simulated::Change;
use std::fmt;
use std::time::Duration;
use units::{ByteRate, Bytes, LinkRate, Percent};

/// `embedded` of an `[[array]]`: an iSCSI target on loopback that serves the array's volumes out of memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedded {
    /// Its ports, in order; at least one, and no two of one name.
    pub ports: Vec<EmbeddedPort>,
    /// What all speeds of its ports are multiplied by; more than 0%, and 100% unless given.
    pub scale: Percent,
    /// Threads that serve; as many as there are cores when not given.
    pub threads: Option<u32>,
    /// The part of a processor's time that each of these threads may use; all of it when not given.
    pub cpu: Option<Percent>,
}

/// A port of an embedded array. As a hop it is named `ARRAY.PORT`.
#[derive(Clone, Debug, PartialEq)]
pub struct EmbeddedPort {
    /// Its name within the array.
    pub name: String,
    /// Its speed before it is scaled; as fast as it goes when not given.
    pub rate: Option<LinkRate>,
    /// How long each I/O through it is held up.
    pub latency: Duration,
}

impl Embedded {
    /// The unscaled speed of one of its ports: the step's sweep, or else the port's own; `None` is unlimited.
    pub fn rate(&self, port: &EmbeddedPort, step: &Step) -> Option<LinkRate> {
        step.port.or(port.rate)
    }

    /// What a speed comes to at this array, in bytes a second: its payload, scaled.
    pub fn scaled(&self, rate: LinkRate) -> ByteRate {
        rate.scaled(self.scale)
    }

    /// A speed of its ports in words: `4gfc, 413 MB/s, scaled to 50%: 207 MB/s`; `50 MB/s` where nothing is scaled.
    pub fn words(&self, rate: LinkRate) -> String {
        let named = match rate {
            LinkRate::Standard(_) => format!("{rate}, {}", rate.payload()),
            LinkRate::Rate(_) => rate.to_string(),
        };
        match self.scale.0 < 100.0 {
            true => format!("{named}, scaled to {}: {}", self.scale, self.scaled(rate)),
            false => named,
        }
    }

    /// Its port of that name.
    pub fn port(&self, name: &str) -> Option<&EmbeddedPort> {
        self.ports.iter().find(|port| port.name == name)
    }
}

/// How the paths of a disk are used. Whatever it is, a path that dies is replaced by one that lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Policy {
    /// The first path that can be used; I/O goes back to it as soon as it can be used again.
    Fixed,
    /// Paths take turns.
    RoundRobin(SwitchAfter),
    /// The path with the fewest I/Os outstanding.
    LeastQueue,
    /// One path at a time, until it fails; I/O then stays with the one that it went to.
    ActivePassive,
}

/// How long an initiator has patience with the paths of a disk; what is not given is as the initiator has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patience {
    /// How long an I/O waits while no path can carry it.
    pub no_path_retry: Option<Duration>,
    /// The silence with commands under way after which a path is lost.
    pub path_timeout: Option<Duration>,
    /// How long a command may take before it is aborted.
    pub command_timeout: Option<Duration>,
}

impl Patience {
    /// The longest of its times.
    pub const LONGEST: Duration = Duration::from_secs(24 * 3600);
    /// The shortest time after which a path or a command is given up: every hiccup would be taken for a failure.
    pub const SHORTEST: Duration = Duration::from_millis(200);

    /// What was given, by the names that scenarios and URLs have for it.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        [
            ("no_path_retry", self.no_path_retry),
            ("path_timeout", self.path_timeout),
            ("command_timeout", self.command_timeout),
        ]
        .into_iter()
        .filter_map(|(name, time)| Some((name, time?)))
    }
}

/// How much goes over one path before it is the next one's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchAfter {
    /// So many I/Os; more than none.
    Ios(u32),
    /// So many bytes; more than none.
    Bytes(Bytes),
}

impl SwitchAfter {
    /// Unless the scenario says otherwise: every I/O takes the next path.
    pub const USUAL: SwitchAfter = SwitchAfter::Ios(1);
}

/// Something that goes wrong, or right again, at a port of an embedded array.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// When: since the beginning of the step's measured time, and before its end.
    pub at: Duration,
    /// The array.
    pub array: String,
    /// The port's name within the array.
    pub port: String,
    /// What happens.
    pub action: FaultAction,
}

/// What happens to a port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FaultAction {
    /// It is gone: connections break, and requests get no answer.
    Kill,
    /// It is there again.
    Revive,
    /// It has this speed from now on, which is scaled like all of the array.
    Slow(LinkRate),
    /// It answers every command with BUSY.
    Busy,
    /// It carries out commands again.
    Ready,
}

/// A drive of a tape library as a hop: `vtl.drive0`.
pub(crate) fn drive_hop(library: &str, drive: &str) -> String {
    format!("{library}.{drive}")
}

impl Lab {
    /// The embedded array of that name, if it is one.
    pub fn embedded(&self, array: &str) -> Option<&Embedded> {
        self.arrays.iter().find(|known| known.name == array)?.embedded.as_ref()
    }

    /// Whether an array is a tape library: each of its volumes is a drive.
    pub fn is_library(&self, array: &str) -> bool {
        let part = self.arrays.iter().find(|known| known.name == array);
        let part = part.and_then(|array| self.part(array.part.as_deref()?));
        part.is_some_and(|part| part.kind == PartKind::Tape)
    }

    /// The volume of an embedded array as the hop that counts it: `store/data`; a drive of a tape library is called as where it
    /// is simulated, `vtl.drive0`.
    pub fn volume_hop(&self, array: &str, volume: &str) -> String {
        if self.is_library(array) { drive_hop(array, volume) } else { format!("{array}/{volume}") }
    }

    /// Whether a live run builds a part of it on this machine.
    pub fn is_emulated(&self) -> bool {
        let arrays = self.arrays.iter().any(|array| array.emulate);
        arrays
            || self.hosts.iter().any(|host| host.emulate)
            || self.switches.iter().any(|of| of.emulate)
    }

    /// What the speeds of all links are multiplied by where the lab is emulated: as those of its arrays' ports.
    pub fn link_scale(&self) -> Percent {
        let scaled = self
            .arrays
            .iter()
            .filter(|array| array.emulate)
            .find_map(|array| array.embedded.as_ref());
        scaled.map_or(Percent(100.0), |embedded| embedded.scale)
    }

    /// Whether a live run can bring a change about: its part is emulated (a link, a switch, a host, an array, an adapter, or a
    /// port of one), or it is a guest.
    pub fn can_change(&self, change: &Change) -> bool {
        let guest = self.guest_of(change).is_some() || self.guests_host(change).is_some();
        if guest || self.moves_emulated(change).is_some() {
            return true;
        }
        let (Change::Fail(part)
        | Change::Restore(part)
        | Change::Kill(part)
        | Change::Hamper { part, .. }) = change
        else {
            return false;
        };
        let part = part.split_once(':').map_or(part.as_str(), |(device, _)| device);
        let link = self.links.iter().find(|link| link.name == *part);
        self.emulates(link.map_or(part, |link| &link.from.device))
    }

    /// The host of guests that a change switches off or on: all VMs that are on it from the first on are guests.
    pub(crate) fn guests_host(&self, change: &Change) -> Option<&Host> {
        let (Change::Fail(name) | Change::Kill(name) | Change::Restore(name)) = change else {
            return None;
        };
        self.hosts.iter().find(|host| host.name == *name && self.is_host_of_guests(host))
    }

    /// Whether guests, and no other VMs, are on a host.
    fn is_host_of_guests(&self, host: &Host) -> bool {
        let is_guest = |vm: &Vm| vm.machine == Some(MachineKind::Qemu);
        let mut on_it = self.vms.iter().filter(|vm| vm.host.as_ref() == Some(&host.name));
        !host.emulate && self.vms.iter().any(is_guest) && on_it.all(is_guest)
    }

    /// The guest that a change stops, has go on, or moves.
    pub(crate) fn guest_of(&self, change: &Change) -> Option<&Vm> {
        let (Change::Fail(name) | Change::Restore(name) | Change::Move { vm: name, .. }) = change
        else {
            return None;
        };
        let guest = |vm: &&Vm| vm.machine == Some(MachineKind::Qemu) && vm.name == *name;
        self.vms.iter().find(guest)
    }

    /// The VM that a change moves from one emulated host to another.
    pub(crate) fn moves_emulated(&self, change: &Change) -> Option<&Vm> {
        let Change::Move { vm, to } = change else { return None };
        let vm = self.vms.iter().find(|known| known.name == *vm)?;
        self.emulated_host(vm)?;
        self.hosts.iter().any(|host| host.emulate && host.name == *to).then_some(vm)
    }

    /// Whether a change moves a guest that cannot move.
    pub(crate) fn is_fixed(&self, change: &Change) -> bool {
        let moves = matches!(change, Change::Move { .. });
        let guest = self.guest_of(change).filter(|_| moves);
        guest.is_some_and(|vm| vm.scsi.iter().any(|adapter| adapter == "nvme"))
    }

    /// Whether a host, an adapter by its full name, a switch, an array or a port of one is emulated.
    pub(crate) fn emulates(&self, device: &str) -> bool {
        let owner = device.rsplit_once('.').map_or(device, |(owner, _)| owner);
        let named = |name: &str| name == device || name == owner;
        self.hosts.iter().any(|of| of.emulate && named(&of.name))
            || self.switches.iter().any(|of| of.emulate && of.name == device)
            || self.arrays.iter().any(|of| of.emulate && named(&of.name))
    }

    /// The process that sends a network load in an emulated lab, by its name: that of the VM, or of the host that the receiver
    /// names under `from`.
    pub fn emulated_sender(&self, pair: &NetHop<'_>) -> Option<&str> {
        let Some(name) = pair.vm else {
            let from = pair.receiver.site.as_ref()?.from.as_deref();
            let host = |of: &&Host| of.emulate && Some(of.name.as_str()) == from;
            return self.hosts.iter().find(host).map(|of| of.name.as_str());
        };
        let vm = self.vms.iter().find(|vm| vm.name == name)?;
        self.emulated_host(vm)?;
        vm.carrier()
    }

    /// The emulated host that a receiver stands on.
    pub fn emulated_receiver(&self, receiver: &Receiver) -> Option<&Host> {
        let site = receiver.site.as_ref()?;
        self.hosts.iter().find(|of| of.emulate && of.name == site.host)
    }

    /// The emulated host that a VM runs on.
    pub fn emulated_host(&self, vm: &Vm) -> Option<&Host> {
        self.hosts.iter().find(|host| host.emulate && Some(&host.name) == vm.host.as_ref())
    }
}

impl Vm {
    /// The name of the process that carries it on an emulated host: its own where it has a quota or moves, or else the host's.
    pub fn carrier(&self) -> Option<&str> {
        if self.is_alone() { Some(&self.name) } else { self.host.as_deref() }
    }

    /// Whether a process of its own carries it on an emulated host.
    pub fn is_alone(&self) -> bool {
        self.cpus.is_some() || !self.destinations.is_empty()
    }
}

impl Fault {
    /// In words for people, with the speed that a slow port has at last: `slow store.p2 to 50 MB/s, scaled to 50%: 25 MB/s`.
    pub fn words(&self, lab: &Lab) -> String {
        match (self.action, lab.embedded(&self.array)) {
            (FaultAction::Slow(rate), Some(embedded)) => {
                format!("{} {} to {}", self.action.word(), self.hop(), embedded.words(rate))
            }
            _ => self.to_string(),
        }
    }

    /// The port as a hop: `store.p1`.
    pub fn hop(&self) -> String {
        format!("{}.{}", self.array, self.port)
    }
}

impl fmt::Display for Fault {
    /// In the words of the scenario: `kill store.p1`, `slow store.p2 to 50 MB/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { array, port, action, .. } = self;
        write!(f, "{} {array}.{port}", action.word())?;
        match action {
            FaultAction::Slow(rate) => write!(f, " to {rate}"),
            _ => Ok(()),
        }
    }
}

impl FaultAction {
    /// The key that states it in a scenario.
    pub fn word(self) -> &'static str {
        match self {
            FaultAction::Kill => "kill",
            FaultAction::Revive => "revive",
            FaultAction::Slow(_) => "slow",
            FaultAction::Busy => "busy",
            FaultAction::Ready => "ready",
        }
    }
}

impl Policy {
    /// Its name in scenarios and URLs, without its options.
    pub fn word(self) -> &'static str {
        match self {
            Policy::Fixed => "fixed",
            Policy::RoundRobin(_) => "round-robin",
            Policy::LeastQueue => "least-queue",
            Policy::ActivePassive => "active-passive",
        }
    }
}

impl fmt::Display for Policy {
    /// `fixed`; `round-robin, switching after 1MiB` where that is not the usual.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Policy::RoundRobin(after) if *after != SwitchAfter::USUAL => {
                write!(f, ", switching after {after}")
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Display for SwitchAfter {
    /// As the key takes it: `8` or `1MiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SwitchAfter::Ios(n) => write!(f, "{n}"),
            SwitchAfter::Bytes(size) => write!(f, "{size}"),
        }
    }
}

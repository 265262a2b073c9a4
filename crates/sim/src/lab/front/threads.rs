//! The machine of a run, which carries both ends of iSCSI over loopback: an initiator thread a VM and a target thread a
//! processor serve their I/Os in passes and share the processors; a port of an embedded array is paced by a token
//! bucket beside them.
//!
//! ```text
//! command ─ target thread's pass ─ tokens of the port ─ initiator thread's pass
//!                                    └ a copy that returns them after its bytes' time at the port's rate
//! ```
//!
//! A host is such a machine where its hypervisor has a `pass_time`.

use super::path_medium::PathMedium;
use super::sizes::{mean_size, sizes};
use super::{FrontBuilder, work};
use crate::Ps;
use crate::lab::draft::Draft;
use crate::lab::sheet::Sheet;
use crate::model::{Gated, Halting, Hop, Parts, Pool, PoolId, Station, StationId};
use scenario::DiskLoad;
use scenario::topology::{Hop as Stop, HopId, HopKind};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use workload::{Arrivals, Dir, Process, Spec};

/// What a paced port of an embedded array moves at once after it was idle: so many seconds' worth of bytes.
const BURST: f64 = 1e-3;
/// What loopback hands to the receiver while the sender goes on: a segment of TCP, which is a packet of 64 KiB less the headers
/// of IPv4 and TCP and its time stamps.
const SEGMENT: u32 = (64 << 10) - 20 - 20 - 12;
/// The header of iSCSI that data comes with.
const HEADER: u32 = 48;
/// Bytes of a token.
const TOKEN: f64 = 512.0;

/// What one end does for an I/O in its pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassWork {
    /// The queue of the thread.
    pub queue: StationId,
    /// Seconds per I/O, and per byte read and written.
    pub each: f64,
    pub per_byte: [f64; 2],
}

impl PassWork {
    /// The visit.
    pub fn hop(self, dir: Dir) -> Hop {
        work(self.queue, self.each, self.per_byte[usize::from(dir == Dir::Write)])
    }
}

/// The tokens of a port, read and written.
pub type Buckets = [PoolId; 2];

/// The threads of a host.
#[derive(Clone, Debug)]
pub struct Threads {
    processors: StationId,
    cores: u32,
    /// Seconds: of waking and of switching; of a pass and per I/O, at the initiator and at the target; per byte, at the end
    /// that receives it and at the one that sends it.
    wake: f64,
    switch: f64,
    pass: [f64; 2],
    each: [f64; 2],
    per_byte: [f64; 2],
    poll: f64,
    initiators: BTreeMap<String, PassWork>,
    /// Sessions so far, by VM and port.
    targets: BTreeMap<(String, HopId), PassWork>,
}

impl Threads {
    /// Those of a host with these figures, on which so many VMs issue I/Os, with so many bytes in flight at most; `None` where
    /// I/Os cost it no passes.
    pub fn of(
        hypervisor: &Sheet,
        processors: StationId,
        cores: u32,
        (issuing, in_flight): (usize, f64),
    ) -> Option<Threads> {
        let pass = hypervisor.time("pass_time")?;
        let some_idle = issuing < cores as usize;
        let pass = pass + share_apart(issuing, cores) * crossing(hypervisor, some_idle);
        let share = hypervisor.share("target_share").unwrap_or(0.5);
        let sends = hypervisor.share("sender_share").unwrap_or(0.5);
        let ends = |both: f64| [both * (1.0 - share), both * share];
        let together = hypervisor.per_byte("cpu_per_byte").unwrap_or(0.0);
        let apart = hypervisor.per_byte("cpu_per_byte_apart").unwrap_or(together);
        let cached = together + share_apart(issuing, cores) * (apart - together);
        // A byte that has left the caches costs more at whichever end.
        let held = in_flight / issuing.min(cores as usize).max(1) as f64;
        let uncached =
            hypervisor.bytes("cache").map_or(0.0, |cache| share_uncached(held, cache as f64));
        let more = hypervisor.per_byte("cpu_per_byte_uncached").unwrap_or(0.0);
        let byte = cached + uncached * more;
        Some(Threads {
            processors,
            cores,
            wake: hypervisor.time("wake_time").unwrap_or(0.0),
            switch: hypervisor.time("switch_time").unwrap_or(0.0),
            pass: ends(pass),
            each: ends(hypervisor.time("cpu_per_io").unwrap_or(0.0)),
            per_byte: [byte * (1.0 - sends), byte * sends],
            // Initiators poll only while they leave a processor to the target.
            poll: hypervisor.time("poll_time").filter(|_| some_idle).unwrap_or(0.0),
            initiators: BTreeMap::new(),
            targets: BTreeMap::new(),
        })
    }

    /// The queues of the initiators, by VM.
    pub fn queues(&self) -> impl Iterator<Item = (String, StationId)> {
        self.initiators.iter().map(|(vm, work)| (vm.clone(), work.queue))
    }

    fn gate(&self, thread: u32, end: usize, poll: f64) -> Gated {
        // The data of reads comes from the target, that of writes from the initiator.
        let dir = if end == 0 { Dir::Write } else { Dir::Read };
        Gated {
            processors: self.processors,
            thread,
            pass: Ps::from_secs_f64(self.pass[end]),
            wake: Ps::from_secs_f64(self.wake),
            switch: Ps::from_secs_f64(self.switch),
            spin: Ps::from_secs_f64(poll),
            counted: end == 0,
            parts: Some(Parts { dir, bytes: SEGMENT, header: HEADER }),
        }
    }

    fn work(&self, queue: StationId, end: usize) -> PassWork {
        let [received, sent] = self.per_byte;
        let per_byte = if end == 0 { [received, sent] } else { [sent, received] };
        PassWork { queue, each: self.each[end], per_byte }
    }
}

/// What an idle processor of a host with these figures does.
pub fn halting(hypervisor: &Sheet) -> Option<Halting> {
    let of = |figure| hypervisor.time(figure).map(Ps::from_secs_f64);
    Some(Halting { after: of("halt_time")?, wake: of("halt_wake_time")? })
}

/// What both ends' passes take longer where they wake each other on a processor that has other work. One that is left over is
/// idle or polled on.
fn crossing(hypervisor: &Sheet, some_idle: bool) -> f64 {
    hypervisor.time("cross_time").filter(|_| !some_idle).unwrap_or(0.0)
}

/// How often the two ends of a session run on different processors, so that each reads what the other has in its caches: always
/// where processors are left, never where each VM has one of its own, whose threads stay together. Where they have to share, by
/// chance: a scheduler runs a thread where it was woken, which a target's thread is by several.
fn share_apart(issuing: usize, cores: u32) -> f64 {
    match issuing.cmp(&(cores as usize)) {
        Ordering::Less => 1.0,
        Ordering::Equal => 0.0,
        Ordering::Greater => 1.0 - 1.0 / f64::from(cores.max(1)),
    }
}

/// How many of the bytes that a processor has in flight do not fit into its caches.
fn share_uncached(in_flight: f64, cache: f64) -> f64 {
    if in_flight > cache { 1.0 - cache / in_flight } else { 0.0 }
}

impl<'a> FrontBuilder<'a> {
    /// The members that issue in this step.
    pub(super) fn issuing(&self) -> BTreeSet<&'a str> {
        let loads = self.atlas.step.disk_loads();
        loads.flat_map(|load| load.on.iter().map(|name| member(name))).collect()
    }

    /// How many of them are on a host.
    pub(super) fn issuing_on(&self, host: &str) -> usize {
        self.issuing().into_iter().filter(|vm| self.is_on(vm, host)).count()
    }

    fn is_on(&self, vm: &str, host: &str) -> bool {
        self.atlas.vm(vm).is_some_and(|vm| vm.host.as_deref() == Some(host))
    }

    /// Bytes that closed loops on a host have in flight, at most.
    pub(super) fn in_flight(&self, host: &str) -> f64 {
        let bytes = |spec: &Spec| {
            let of = [Dir::Read, Dir::Write].map(|dir| sizes(spec, dir));
            mean_size(&of.concat()).unwrap_or(0.0)
        };
        let of = |load: &DiskLoad| {
            let spec = &load.workload.spec;
            match spec.arrivals {
                Arrivals::Closed { depth, .. } => {
                    let on = load.on.iter().filter(|name| self.is_on(member(name), host));
                    f64::from(depth) * bytes(spec) * on.count() as f64
                }
                Arrivals::Open { .. } => 0.0,
            }
        };
        self.atlas.step.disk_loads().map(|load| of(&load)).sum()
    }

    /// The initiator thread of a VM on a machine with threads.
    pub(super) fn initiator(&mut self, host: &str, vm: &str) -> Option<PassWork> {
        let threads = self.threads.get(host)?;
        if let Some(known) = threads.initiators.get(vm) {
            return Some(*known);
        }
        let thread = threads.cores + threads.initiators.len() as u32;
        let gate = threads.gate(thread, 0, threads.poll);
        let queue = self.draft.network().station(Station::Gated(gate));
        let threads = self.threads.get_mut(host)?;
        let work = threads.work(queue, 0);
        threads.initiators.insert(vm.to_owned(), work);
        Some(work)
    }

    /// The target's passes on each path from such a machine to an embedded array: a session, between a VM and a port, is
    /// served by one thread, that with the fewest.
    pub(super) fn target_threads(&mut self) {
        let topology = self.atlas.topology;
        let issuing = self.issuing();
        for (number, way) in topology.ways.iter().enumerate() {
            if !issuing.contains(way.member.as_str()) {
                continue;
            }
            for (at, path) in way.paths.iter().enumerate() {
                let ports = path.hops.iter().copied();
                let port = ports.rev().find(|hop| topology.hop(*hop).kind == HopKind::TargetPort);
                let host = self.atlas.on(path, HopKind::HostCpu);
                let (Some(port), Some(host)) = (port, host) else { continue };
                let of = topology.hop(port);
                if self.atlas.scenario.lab.embedded(&of.device).is_none() {
                    continue;
                }
                let Some(pass) = self.target(&host.device, &way.member, port) else { continue };
                let buckets = self.buckets(port);
                let line = &mut self.lines[number][at];
                (line.target, line.buckets) = (Some(pass), buckets);
            }
        }
    }

    fn target(&mut self, host: &str, vm: &str, port: HopId) -> Option<PassWork> {
        let key = (vm.to_owned(), port);
        let threads = self.threads.get(host)?;
        if let Some(known) = threads.targets.get(&key) {
            return Some(*known);
        }
        let thread = threads.targets.len() as u32 % threads.cores.max(1);
        let gate = threads.gate(thread, 1, 0.0);
        let queue = self.draft.network().station(Station::Gated(gate));
        let threads = self.threads.get_mut(host)?;
        let work = threads.work(queue, 1);
        threads.targets.insert(key, work);
        Some(work)
    }

    /// The tokens of a paced port.
    fn buckets(&mut self, port: HopId) -> Option<Buckets> {
        let rates = self.draft.hop(port).limits;
        let rates = [rates.read_rate?, rates.write_rate?];
        if let Some(known) = self.buckets.get(&port) {
            return Some(*known);
        }
        let pools = rates.map(|rate| {
            let tokens = (rate * BURST / TOKEN).round().clamp(1.0, 1e6) as u32;
            self.draft.network().pool(Pool { tokens })
        });
        self.buckets.insert(port, pools);
        Some(pools)
    }

    /// Notes where the step goes beyond what the figures of a machine were fitted to.
    pub(super) fn extrapolation(&mut self, host: &Stop, hypervisor: &Sheet) {
        let loads: Vec<_> = self.atlas.step.disk_loads().collect();
        let specs = || loads.iter().map(|load| &load.workload.spec);
        let blocks = || {
            let of = |spec| [Dir::Read, Dir::Write].map(|dir| sizes(spec, dir));
            specs().flat_map(of).flatten().map(|(size, _)| size)
        };
        let rate = |spec: &Spec| match spec.arrivals {
            Arrivals::Open { process, .. } => Some(match process {
                Process::Fixed { rate } | Process::Poisson { rate } => rate,
                Process::Ramp { from, to, .. } => from.max(to),
                Process::Bursts { high, .. } => high,
            }),
            Arrivals::Closed { .. } => None,
        };
        let closed = || specs().filter(|spec| rate(spec).is_none());
        let depth = closed().map(|spec| f64::from(spec.outstanding_max())).fold(0.0, f64::max);
        let block = blocks().max().map_or(0.0, f64::from);
        let smallest = blocks().min().map_or(f64::INFINITY, f64::from);
        let rates = specs().filter_map(rate).fold(0.0, f64::max);
        let vms = self.issuing_on(&host.device) as f64;
        let count = |figure: &str| hypervisor.count(figure).map(f64::from);
        let size = |figure: &str| hypervisor.bytes(figure).map(|bytes| bytes as f64);
        let iops = |figure: &str| hypervisor.iops(figure);
        let over = [
            ("depth", depth, count("fitted_depth_max"), true),
            ("block size", block, size("fitted_block_max"), true),
            ("block size", smallest, size("fitted_block_min"), false),
            ("number of VMs", vms, count("fitted_vms_max"), true),
            ("rate", rates, iops("fitted_rate_max"), true),
        ];
        for (what, value, end, above) in over {
            let Some(end) = end else { continue };
            let beyond =
                if above { value > end * (1.0 + 1e-9) } else { value < end * (1.0 - 1e-9) };
            if beyond {
                let word = if above { "above" } else { "below" };
                self.draft.note(format!(
                    "extrapolated: a {what} of {value:.0} is {word} the {end:.0} that the figures of {} were fitted to",
                    host.name
                ));
            }
        }
    }
}

/// The VM of a load's target, which may be one of its disks.
fn member(name: &str) -> &str {
    match name.rsplit_once(".disk") {
        Some((vm, number)) if number.bytes().all(|b| b.is_ascii_digit()) => vm,
        _ => name,
    }
}

impl PathMedium {
    /// The transfers of `data` and `control` on the way out and on the way home, with the target's pass between them where
    /// one machine carries both ends. There pacing counts data alone, and writes before the target takes them in.
    pub fn transfers(
        &self,
        dir: Dir,
        sizes: &[(u32, f64)],
        [data, control]: [Option<Hop>; 2],
        draft: &Draft,
    ) -> (Vec<Hop>, Vec<Hop>) {
        let both = |data: Vec<Hop>, control: Vec<Hop>| match dir {
            Dir::Read => (control, data),
            _ => (data, control),
        };
        let Some(target) = &self.target else {
            return both(data.into_iter().collect(), control.into_iter().collect());
        };
        let data = data.map(|data| match self.buckets {
            Some(pools) if dir.moves_data() => {
                let pool = pools[usize::from(dir == Dir::Write)];
                paced(pool, draft.tokens(pool), sizes, data)
            }
            _ => vec![data],
        });
        let (mut out, home) = both(data.unwrap_or_default(), Vec::new());
        out.push(target.hop(dir));
        (out, home)
    }
}

/// The tokens that an I/O of these sizes takes of a port, and the copy that returns them: it carries the bytes at the
/// port's rate. `crossing` is the transfer over the port.
fn paced(pool: PoolId, most: u32, sizes: &[(u32, f64)], crossing: Hop) -> Vec<Hop> {
    let mean = mean_size(sizes).unwrap_or(0.0);
    let tokens = ((mean / TOKEN).round().max(1.0) as u32).min(most);
    vec![
        Hop::Take { pool, tokens },
        Hop::Fork { route: [crossing, Hop::Give { pool, tokens }].into() },
    ]
}

//! From the guest to the array's port: the hops of an I/O on its way out and back.
//!
//! ```text
//! guest's processor ─ virtual disk ─ virtual adapter ─ host's processors ─ datastore ┬ LUN queue ─ adapter ─ wires … port
//!                     (queue limits held until the I/O is back)                     └ the same over another path
//! ```
//!
//! Each hop of the topology is built once ([`guest`], [`fabric`]); an I/O of a way then visits the stations of its hops in
//! order. All wires of a path are crossed at once: the data in one direction; commands, acknowledgments and responses in
//! the other. Where a way has several paths, or may lose its only one, a selector is in front of them ([`paths`]). What is
//! behind the port is not known here: [`Approach::route`] takes its hops as an argument.
//!
//! Software costs vary around their mean, wire delays of both directions are paid on the way out, and a wire is shared
//! fairly by its transfers (`docs/model.md` gives the reasons).

pub(in crate::lab) mod defaults;
mod fabric;
pub(in crate::lab) mod frames;
mod guest;
mod index;
mod network;
mod path_medium;
mod paths;
mod sizes;
mod software;
mod threads;

use super::draft::{Draft, Wire};
use crate::Ps;
use crate::model::{Demand, Hop, Law, SelectorId, StationId};
use index::LabIndex;
use path_medium::PathMedium;
use scenario::topology::{HopId, Topology};
use scenario::{Scenario, Step};
use std::collections::BTreeMap;
use threads::{Buckets, PassWork, Threads};
use workload::Dir;

pub use network::{HostEnd, NetPath, with_nets};
pub use sizes::{is_sequential_read, mean_size, range, sizes};
pub use software::Software;

/// All hops between guests and ports of arrays.
#[derive(Clone, Debug)]
pub struct Front {
    /// By hop of the topology.
    stages: Vec<HopWork>,
    /// By way, then by path.
    lines: Vec<Vec<PathMedium>>,
    /// By way: the selector of its path.
    selectors: Vec<Option<SelectorId>>,
    /// By hop: the processors there, and how many.
    processors: BTreeMap<HopId, (StationId, u32)>,
    /// By hop: the speed of the port with headers included, and its payload rate, in bytes a second.
    speeds: Vec<Option<f64>>,
    payloads: Vec<Option<f64>>,
    /// By VM: the queue of its initiator's thread, where one machine carries both ends.
    initiators: BTreeMap<String, StationId>,
    /// The adapters segment and reassemble.
    offload: bool,
    /// By way: the software above the disk.
    software: Vec<Software>,
}

/// The hops of an I/O at one topology hop.
#[derive(Clone, Debug, Default)]
struct HopWork {
    /// On the way to the device.
    out: Vec<Hop>,
    /// On the way to the device, for writes only.
    out_of_writes: Vec<Hop>,
    /// On the way back, and the initiator's pass after that.
    home: Vec<Hop>,
    pass: Option<PassWork>,
    /// Wires of its directions.
    read: Vec<Wire>,
    write: Vec<Wire>,
    both: Vec<Wire>,
    /// A delay of so many seconds in each direction, once per round trip.
    trip: Option<(StationId, f64)>,
    /// The delay that an adapter adds to all its traffic, in seconds.
    delay: Option<(StationId, f64)>,
    /// The seconds from the command of a write to its transfer ready, for each that it waits for.
    ready: Option<(StationId, f64)>,
}

impl HopWork {
    /// The way back.
    fn home_of(&self, dir: Dir) -> impl Iterator<Item = Hop> {
        self.home.iter().cloned().chain(self.pass.map(|pass| pass.hop(dir)))
    }
}

/// The path of an I/O to the ports of an array and back, for one direction and sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Approach {
    /// Before the path is chosen.
    pub before: Vec<Hop>,
    /// The selector; `None` where there is one path, which never fails.
    pub selector: Option<SelectorId>,
    /// The paths, in the order of the way.
    pub arms: Vec<PathArm>,
    /// After the path.
    pub after: Vec<Hop>,
}

/// One path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathArm {
    /// Until the array has what it needs to begin.
    pub out: Vec<Hop>,
    /// After the array's last work.
    pub home: Vec<Hop>,
}

impl Approach {
    /// The whole route, with the array's hops for each path: as many as there are arms.
    pub fn route(self, arrays: Vec<Vec<Hop>>) -> Vec<Hop> {
        let whole = |(arm, array): (PathArm, Vec<Hop>)| joined([arm.out, array, arm.home]);
        let mut arms: Vec<Vec<Hop>> = self.arms.into_iter().zip(arrays).map(whole).collect();
        let middle = match self.selector {
            Some(selector) => vec![Hop::Branch { selector, arms }],
            None if arms.is_empty() => Vec::new(),
            None => arms.swap_remove(0),
        };
        joined([self.before, middle, self.after])
    }
}

/// These parts of a route in a row.
fn joined(parts: [Vec<Hop>; 3]) -> Vec<Hop> {
    let all: usize = parts.iter().map(Vec::len).sum();
    let mut parts = parts.into_iter();
    let mut hops = parts.next().unwrap_or_default();
    hops.reserve_exact(all - hops.len());
    parts.for_each(|mut part| hops.append(&mut part));
    hops
}

impl Front {
    /// Builds every hop of `topology` before the devices. `may_fail`: something may fail during the step, so even a
    /// single path needs a selector.
    pub fn new(
        scenario: &Scenario,
        topology: &Topology,
        step: &Step,
        may_fail: bool,
        draft: &mut Draft,
    ) -> Front {
        let atlas = LabIndex::new(scenario, topology, step);
        let lines = path_medium::lines(&atlas);
        let selectors = paths::selectors(&atlas, may_fail, draft);
        let stages = vec![HopWork::default(); topology.hops.len()];
        let processors = BTreeMap::new();
        let (threads, buckets) = (BTreeMap::new(), BTreeMap::new());
        let mut bench = FrontBuilder { atlas, draft, stages, lines, processors, threads, buckets };
        bench.guests();
        bench.fabric();
        let servers = |hop| bench.draft.hop(hop).limits.servers.unwrap_or(1);
        let processors = bench.processors.values();
        let processors = processors.map(|(hop, station)| (*hop, (*station, servers(*hop))));
        let processors = processors.collect();
        let hops = || (0..).map(HopId).take(topology.hops.len());
        let speeds =
            hops().map(|hop| bench.atlas.speed(hop).map(path_medium::PortSpeed::line)).collect();
        let payloads = hops().map(|hop| bench.draft.hop(hop).limits.write_rate).collect();
        let offload = step.frames.offload != Some(false);
        let software = bench.software();
        let FrontBuilder { stages, lines, threads, .. } = bench;
        let initiators = threads.values().flat_map(Threads::queues).collect();
        Front {
            stages,
            lines,
            selectors,
            processors,
            speeds,
            payloads,
            initiators,
            offload,
            software,
        }
    }

    /// The hops of an I/O of direction `dir` and these sizes over way number `way` of `topology`.
    pub fn approach(
        &self,
        topology: &Topology,
        way: usize,
        dir: Dir,
        sizes: &[(u32, f64)],
        draft: &mut Draft,
    ) -> Approach {
        let way_of = &topology.ways[way];
        let shared = paths::shared(topology, way_of);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for hop in paths::in_order(topology, &way_of.paths[0].hops[..shared]) {
            let stage = self.stage(hop);
            before.extend_from_slice(&stage.out);
            if dir == Dir::Write {
                before.extend_from_slice(&stage.out_of_writes);
            }
            after.splice(0..0, stage.home_of(dir));
        }
        let arms = way_of.paths.iter().zip(&self.lines[way]);
        let arms = arms.map(|(path, line)| {
            self.arm(topology, &path.hops[shared.min(path.hops.len())..], line, dir, sizes, draft)
        });
        Approach { before, selector: self.selectors[way], arms: arms.collect(), after }
    }

    /// The software above the disk of a way.
    pub fn software(&self, way: usize) -> Option<&Software> {
        self.software.get(way)
    }

    /// The queue of a VM's initiator thread.
    pub fn initiator(&self, vm: &str) -> Option<StationId> {
        self.initiators.get(vm).copied()
    }

    /// The selector of each way; `None` where there is one path that cannot fail.
    pub fn selectors(&self) -> &[Option<SelectorId>] {
        &self.selectors
    }

    /// The paths through what a scenario calls `what`: a port, a cable, an adapter, a switch, an array.
    pub fn through(&self, topology: &Topology, what: &str) -> Vec<(SelectorId, u32)> {
        let mut found = Vec::new();
        for (way, selector) in topology.ways.iter().zip(&self.selectors) {
            let Some(selector) = selector else { continue };
            let arms = (0..).zip(&way.paths);
            let hit = arms.filter(|(_, path)| paths::goes_through(topology, path, what));
            found.extend(hit.map(|(arm, _)| (*selector, arm)));
        }
        found
    }

    fn arm(
        &self,
        topology: &Topology,
        hops: &[HopId],
        line: &PathMedium,
        dir: Dir,
        sizes: &[(u32, f64)],
        draft: &mut Draft,
    ) -> PathArm {
        let burden = line.medium.burden(dir, sizes);
        let (mut out, mut home) = (Vec::with_capacity(hops.len()), Vec::new());
        let (mut read, mut write, mut both) = (Vec::new(), Vec::new(), Vec::new());
        for (at, hop) in hops.iter().enumerate() {
            let stage = self.stage(*hop);
            out.extend_from_slice(&stage.out);
            if dir == Dir::Write {
                out.extend_from_slice(&stage.out_of_writes);
            }
            home.splice(0..0, stage.home_of(dir));
            read.extend_from_slice(&stage.read);
            write.extend_from_slice(&stage.write);
            both.extend_from_slice(&stage.both);
            if let Some((station, seconds)) = stage.trip
                && index::enters(topology, hops, at)
            {
                out.push(visit(station, 2.0 * seconds * burden.round_trips, 0.0));
            }
            // A read waits for the other end once, and a write once more for each transfer ready.
            if let Some((station, seconds)) = stage.ready.filter(|_| burden.round_trips > 1.0) {
                out.push(visit(station, seconds * (burden.round_trips - 1.0), 0.0));
            }
        }
        if let Some(packets) = &line.packets {
            let time = packets.each * burden.frames;
            out.insert(0, work(packets.processors, time, packets.per_byte));
        }
        if let Some(session) = &line.session {
            let time = session.each + session.per_packet * burden.frames;
            out.push(work(session.thread, time, session.per_byte));
        }
        // Bytes are those of full frames at the widest MTU of the wires; this path may have smaller ones.
        let units = |bytes: f64| (bytes * line.scale).round() as u32;
        let (mut along, against) = match dir {
            Dir::Read => (read, write),
            _ => (write, read),
        };
        along.append(&mut both);
        let data = draft.cross(&along, line.scale, units(burden.along));
        let small = burden.against_per_byte * line.scale;
        let control = draft.cross(&against, small, units(burden.against));
        let (outward, homeward) = line.transfers(dir, sizes, [data, control], draft);
        out.extend(outward);
        home.splice(0..0, homeward);
        PathArm { out, home }
    }

    fn stage(&self, hop: HopId) -> &HopWork {
        &self.stages[hop.0 as usize]
    }
}

/// The state of the build.
struct FrontBuilder<'a> {
    atlas: LabIndex<'a>,
    draft: &'a mut Draft,
    stages: Vec<HopWork>,
    lines: Vec<Vec<PathMedium>>,
    /// The hop and the station of processors, by VM or host.
    processors: BTreeMap<&'a str, (HopId, StationId)>,
    /// By host: the threads that carry both ends of its sessions.
    threads: BTreeMap<&'a str, Threads>,
    /// By port of an embedded array: its tokens.
    buckets: BTreeMap<HopId, Buckets>,
}

impl FrontBuilder<'_> {
    fn stage(&mut self, hop: HopId) -> &mut HopWork {
        &mut self.stages[hop.0 as usize]
    }

    /// A queue limit of `tokens` at `hop`, held until the I/O is back.
    fn hold(&mut self, hop: HopId, tokens: u32) {
        let pool = self.draft.pool(hop, tokens);
        let stage = self.stage(hop);
        stage.out.push(Hop::Take { pool, tokens: 1 });
        stage.home.insert(0, Hop::Give { pool, tokens: 1 });
    }
}

/// A visit of so many seconds, plus seconds per byte.
pub(in crate::lab) fn visit(station: StationId, seconds: f64, per_byte: f64) -> Hop {
    let time = Law::Constant(Ps::from_secs_f64(seconds));
    Hop::Visit { station, demand: Demand { time, per_byte: per_byte * 1e12 } }
}

/// Software work: 0.5 to 1.5 times its mean. The variation keeps I/Os that began together from staying together for
/// ever, unlike in any real system.
pub(in crate::lab) fn work(station: StationId, seconds: f64, per_byte: f64) -> Hop {
    let (low, high) = (Ps::from_secs_f64(0.5 * seconds), Ps::from_secs_f64(1.5 * seconds));
    let time = Law::Uniform(low, high);
    Hop::Visit { station, demand: Demand { time, per_byte: per_byte * 1e12 } }
}

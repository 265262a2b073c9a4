//! From the guest to the array's port: what an I/O meets on its way out and home.
//!
//! ```text
//! guest's processor ─ virtual disk ─ virtual adapter ─ host's processors ─ datastore ┬ LUN queue ─ adapter ─ wires … port
//!                     (queue limits held until the I/O is back)                     └ the same over another path
//! ```
//!
//! Each hop of the topology is built once, whoever uses it ([`guest`], [`fabric`]); an I/O of a way then takes the pieces of
//! its hops in order. All wires of a path are crossed at once: the data in one direction; commands, acknowledgments and
//! responses in the other. Where a way has several paths, or may lose its only one, a selector stands before them
//! ([`paths`]). What stands behind the port is not known here: [`Approach::route`] is given its hops.
//!
//! Costs of software vary a little around their mean, delays of wires are paid on the way out for both directions, and a wire is shared
//! fairly by the transfers that are on it (`docs/model.md` says why).

mod atlas;
pub(in crate::lab) mod defaults;
mod fabric;
pub(in crate::lab) mod frames;
mod guest;
mod line;
mod network;
mod paths;
mod sizes;

use super::draft::{Draft, Wire};
use crate::Ps;
use crate::model::{Demand, Hop, Law, SelectorId, StationId};
use atlas::Atlas;
use line::Line;
use scenario::topology::{HopId, Topology};
use scenario::{Scenario, Step};
use std::collections::BTreeMap;
use workload::Dir;

pub use network::{Course, End, with_nets};
pub use sizes::sizes;

/// Every hop between guests and ports of arrays, built.
#[derive(Clone, Debug)]
pub struct Front {
    /// By hop of the topology.
    stages: Vec<Stage>,
    /// By way, then by path.
    lines: Vec<Vec<Line>>,
    /// By way: who chooses its path.
    selectors: Vec<Option<SelectorId>>,
    /// By hop: the processors there, and how many.
    processors: BTreeMap<HopId, (StationId, u32)>,
    /// By hop: the speed of the port with everything on the wire, and what it carries of payload, in bytes a second.
    speeds: Vec<Option<f64>>,
    payloads: Vec<Option<f64>>,
    /// Adapters cut and join segments.
    offload: bool,
}

/// What an I/O meets at one hop.
#[derive(Clone, Debug, Default)]
struct Stage {
    /// On its way to the device.
    out: Vec<Hop>,
    /// The same, of writes alone.
    out_of_writes: Vec<Hop>,
    /// On its way home.
    home: Vec<Hop>,
    /// Wires of its directions.
    read: Vec<Wire>,
    write: Vec<Wire>,
    both: Vec<Wire>,
    /// A delay of so many seconds in each direction, once for each wait for the other end.
    trip: Option<(StationId, f64)>,
    /// What an adapter adds to all that goes through it, in seconds.
    delay: Option<(StationId, f64)>,
}

/// An I/O's way to the ports of an array and back, for one direction and sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Approach {
    /// Before the path is chosen.
    pub before: Vec<Hop>,
    /// Who chooses; `None` where there is one path, which never fails.
    pub selector: Option<SelectorId>,
    /// The paths, in the order of the way.
    pub arms: Vec<Arm>,
    /// After the path.
    pub after: Vec<Hop>,
}

/// One path.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Until the array has what it needs to begin.
    pub out: Vec<Hop>,
    /// From the array's last work.
    pub home: Vec<Hop>,
}

impl Approach {
    /// The whole route, with what the array does on each path: as many as there are arms.
    pub fn route(self, arrays: Vec<Vec<Hop>>) -> Vec<Hop> {
        let whole = |(arm, array): (Arm, Vec<Hop>)| [arm.out, array, arm.home].concat();
        let mut arms: Vec<Vec<Hop>> = self.arms.into_iter().zip(arrays).map(whole).collect();
        let middle = match self.selector {
            Some(selector) => vec![Hop::Branch { selector, arms }],
            None if arms.is_empty() => Vec::new(),
            None => arms.swap_remove(0),
        };
        [self.before, middle, self.after].concat()
    }
}

impl Front {
    /// Builds every hop of `topology` that lies before the devices. `may_fail`: something may fail during the step, so that
    /// even a single path may die.
    pub fn new(
        scenario: &Scenario,
        topology: &Topology,
        step: &Step,
        may_fail: bool,
        draft: &mut Draft,
    ) -> Front {
        let atlas = Atlas::new(scenario, topology, step);
        let lines = line::lines(&atlas);
        let selectors = paths::selectors(&atlas, may_fail, draft);
        let stages = vec![Stage::default(); topology.hops.len()];
        let processors = BTreeMap::new();
        let mut bench = Bench { atlas, draft, stages, lines, processors };
        bench.guests();
        bench.fabric();
        let servers = |hop| bench.draft.hop(hop).limits.servers.unwrap_or(1);
        let processors = bench.processors.values();
        let processors = processors.map(|(hop, station)| (*hop, (*station, servers(*hop))));
        let processors = processors.collect();
        let hops = || (0..).map(HopId).take(topology.hops.len());
        let speeds = hops().map(|hop| bench.atlas.speed(hop).map(line::Speed::line)).collect();
        let payloads = hops().map(|hop| bench.draft.hop(hop).limits.write_rate).collect();
        let offload = step.frames.offload != Some(false);
        let Bench { stages, lines, .. } = bench;
        Front { stages, lines, selectors, processors, speeds, payloads, offload }
    }

    /// How an I/O of direction `dir` and these sizes goes over way number `way` of `topology`.
    pub fn approach(
        &self,
        topology: &Topology,
        way: usize,
        dir: Dir,
        sizes: &[(u32, f64)],
        draft: &Draft,
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
            after.splice(0..0, stage.home.iter().cloned());
        }
        let arms = way_of.paths.iter().zip(&self.lines[way]);
        let arms = arms.map(|(path, line)| {
            self.arm(topology, &path.hops[shared.min(path.hops.len())..], line, dir, sizes, draft)
        });
        Approach { before, selector: self.selectors[way], arms: arms.collect(), after }
    }

    /// Who chooses the path of each way, by way; `None` where there is one path that cannot fail.
    pub fn selectors(&self) -> &[Option<SelectorId>] {
        &self.selectors
    }

    /// The paths that go through what a scenario calls `what`: a port, a cable, an adapter, a switch, an array.
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
        line: &Line,
        dir: Dir,
        sizes: &[(u32, f64)],
        draft: &Draft,
    ) -> Arm {
        let burden = line.medium.burden(dir, sizes);
        let (mut out, mut home) = (Vec::new(), Vec::new());
        let (mut read, mut write, mut both) = (Vec::new(), Vec::new(), Vec::new());
        for (at, hop) in hops.iter().enumerate() {
            let stage = self.stage(*hop);
            out.extend_from_slice(&stage.out);
            if dir == Dir::Write {
                out.extend_from_slice(&stage.out_of_writes);
            }
            home.splice(0..0, stage.home.iter().cloned());
            read.extend_from_slice(&stage.read);
            write.extend_from_slice(&stage.write);
            both.extend_from_slice(&stage.both);
            if let Some((station, seconds)) = stage.trip
                && atlas::enters(topology, hops, at)
            {
                out.push(visit(station, 2.0 * seconds * burden.round_trips, 0.0));
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
        // Bytes are those of full frames at the widest MTU of the wires; those of this path may be smaller.
        let units = |bytes: f64| (bytes * line.scale).round() as u32;
        let (along, against) = match dir {
            Dir::Read => ([read, both].concat(), write),
            Dir::Write => ([write, both].concat(), read),
        };
        let data = draft.cross(&along, line.scale, units(burden.along));
        let small = burden.against_per_byte * line.scale;
        let control = draft.cross(&against, small, units(burden.against));
        let (outward, homeward) = match dir {
            Dir::Read => (control, data),
            Dir::Write => (data, control),
        };
        out.extend(outward);
        home.splice(0..0, homeward);
        Arm { out, home }
    }

    fn stage(&self, hop: HopId) -> &Stage {
        &self.stages[hop.0 as usize]
    }
}

/// What building takes.
struct Bench<'a> {
    atlas: Atlas<'a>,
    draft: &'a mut Draft,
    stages: Vec<Stage>,
    lines: Vec<Vec<Line>>,
    /// The hop and the station of processors, by VM or host.
    processors: BTreeMap<&'a str, (HopId, StationId)>,
}

impl Bench<'_> {
    fn stage(&mut self, hop: HopId) -> &mut Stage {
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

/// A visit of so many seconds, and seconds a byte.
pub(in crate::lab) fn visit(station: StationId, seconds: f64, per_byte: f64) -> Hop {
    let time = Law::Constant(Ps::from_secs_f64(seconds));
    Hop::Visit { station, demand: Demand { time, per_byte: per_byte * 1e12 } }
}

/// Work of software: from half to one and a half times its mean. That it varies at all is what keeps I/Os that began
/// together from staying together for ever, which nothing real does.
pub(in crate::lab) fn work(station: StationId, seconds: f64, per_byte: f64) -> Hop {
    let (low, high) = (Ps::from_secs_f64(0.5 * seconds), Ps::from_secs_f64(1.5 * seconds));
    let time = Law::Uniform(low, high);
    Hop::Visit { station, demand: Demand { time, per_byte: per_byte * 1e12 } }
}

//! An array behind its ports: controllers, array-wide limits, cache, and the links to its disks. All volumes of an
//! array share one.
//!
//! A read visits a controller, is answered by the cache or by the medium, and leaves over the array's internal links. A
//! write arrives over them, visits a controller, and is acknowledged by the cache, if it writes back and has room, or
//! by the medium. A write-back cache destages in the background; a write that finds it full waits, and so runs at the
//! disks' speed. The number of destages in flight is limited, so that reads do not queue behind all dirty data.

use super::defaults;
use super::draft::{Draft, Wire, WireDirection};
use super::sheet::Sheet;
use crate::Ps;
use crate::model::{Hop, Law, PoolId, Station};
use crate::plant::{HopLimits, PlantHop};
use scenario::topology::{HopId, HopKind, Topology};
use scenario::{Array, Medium, Scenario};
use std::collections::BTreeMap;
use workload::Dir;

/// Destages that wait or are in progress: more are destaged several as one. Each is an I/O of the simulator.
const DESTAGES: f64 = 65_536.0;
/// The smallest unit of a cache, in bytes, and the most units.
const SLOT: f64 = 512.0;
const SLOTS_MAX: f64 = 4e9;
/// Hops of a route that destages several I/Os, at most: each path to the array has its own.
const DESTAGE_HOPS_MAX: usize = 256;

/// What all volumes of an array share; empty where nothing limits.
#[derive(Clone, Debug, Default)]
pub struct ArrayStations {
    /// One server that every I/O passes.
    ops: Option<Hop>,
    /// A delay of every I/O.
    latency: Option<Hop>,
    /// The links in and out.
    inward: Option<Hop>,
    outward: Option<Hop>,
    back_read: Vec<Wire>,
    back_write: Vec<Wire>,
    cache: Option<Cache>,
    controllers: BTreeMap<HopId, Hop>,
}

/// The cache of an array.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Size in bytes.
    pub size: f64,
    /// Hit share of random reads, 0 to 1, where it is given.
    pub hit_share: Option<f64>,
    /// The time of a hit.
    pub answer: Hop,
    /// Room for dirty data, where it writes back.
    pub dirty: Option<Dirty>,
}

/// Room for dirty data.
#[derive(Clone, Copy, Debug)]
pub struct Dirty {
    pool: PoolId,
    tokens: u32,
    /// Bytes per token.
    unit: f64,
}

/// The hop of an array as a whole, which joins its controllers to its disks; added after all others if the topology
/// lacks it.
fn whole(draft: &mut Draft, topology: &Topology, array: &Array) -> HopId {
    let name = format!("{}.backend", array.name);
    topology.find(&name).unwrap_or_else(|| {
        let (device, part) = (array.name.clone(), array.part.clone());
        draft.add(PlantHop {
            name,
            kind: HopKind::Backend,
            device,
            part,
            places: Vec::new(),
            passed: Vec::new(),
            limits: HopLimits::default(),
        })
    })
}

impl ArrayStations {
    /// Builds the stations and links of `array`, whose volumes use `medium`.
    pub fn new(
        draft: &mut Draft,
        scenario: &Scenario,
        topology: &Topology,
        array: &Array,
        medium: &Medium,
    ) -> ArrayStations {
        let sheet = Sheet::of(scenario, array.part.as_deref());
        let at = whole(draft, topology, array);
        let hops =
            || (0..).map(HopId).zip(&topology.hops).filter(|(_, hop)| hop.device == array.name);
        let ops = sheet.iops("iops_max").map(|iops| {
            let station = draft.station(at, Station::SINGLE);
            draft.limits(at).ops_rate = Some(iops);
            Hop::visit(station, constant(1.0 / iops))
        });
        let latency = defaults::array_latency(medium).or(sheet.time("latency"));
        let latency = constant(latency.noted(draft, &array.name));
        let latency = Some(Hop::visit(draft.station(at, Station::Delay), latency));
        let (read, write) = ways(draft, at, &sheet);
        let limited = !(read.is_empty() && write.is_empty());
        let (outward, inward) = (draft.cross(&read, 1.0, 0), draft.cross(&write, 1.0, 0));
        let (back_read, back_write) = backend(draft, at, &sheet, limited);
        let cached = hops().find(|(_, hop)| hop.kind == HopKind::Cache).map_or(at, |(id, _)| id);
        let cache = Cache::new(draft, cached, &sheet, array);
        let controllers: Vec<HopId> =
            hops().filter(|(_, hop)| hop.kind == HopKind::Controller).map(|(id, _)| id).collect();
        let controllers = controllers
            .into_iter()
            .filter_map(|id| Some((id, controller(draft, id, &sheet, &array.name)?)))
            .collect();
        ArrayStations { ops, latency, inward, outward, back_read, back_write, cache, controllers }
    }

    /// Its cache, if it has one.
    pub fn cache(&self) -> Option<&Cache> {
        self.cache.as_ref()
    }

    /// What an I/O needs of the array before its cache or medium: its controller, the array-wide limits, and the links
    /// in.
    pub fn before(&self, controller: Option<HopId>, dir: Dir) -> impl Iterator<Item = &Hop> {
        let controller = controller.and_then(|hop| self.controllers.get(&hop));
        let inward = match dir {
            Dir::Write => self.inward.as_ref(),
            _ => None,
        };
        let hops = [self.ops.as_ref(), controller, self.latency.as_ref(), inward];
        hops.into_iter().flatten()
    }

    /// What it needs of the array after them.
    pub fn after(&self, dir: Dir) -> Option<&Hop> {
        self.outward.as_ref().filter(|_| dir == Dir::Read)
    }

    /// The links from the disks, for this many bytes per byte of the host's.
    pub fn off_disks(&self, draft: &mut Draft, times: f64) -> Option<Hop> {
        draft.cross(&self.back_read, times, 0)
    }

    /// The links to the disks, for this many bytes per byte of the host's.
    pub fn onto_disks(&self, draft: &mut Draft, times: f64) -> Option<Hop> {
        draft.cross(&self.back_write, times, 0)
    }
}

/// The array-wide limits in each direction.
fn ways(draft: &mut Draft, at: HopId, sheet: &Sheet) -> (Vec<Wire>, Vec<Wire>) {
    let both = sheet.rate("rate_max").map(|rate| draft.wire(at, WireDirection::Both, rate));
    let read = sheet.rate("read_rate").map(|rate| draft.wire(at, WireDirection::Read, rate));
    let write = sheet.rate("write_rate").map(|rate| draft.wire(at, WireDirection::Write, rate));
    (read.into_iter().chain(both).collect(), write.into_iter().chain(both).collect())
}

/// The ports to the disks: full duplex, and evenly used. They give the hop its rates unless limits of the array do, whose
/// traffic is another: what a cache answers does not come by these ports.
fn backend(draft: &mut Draft, at: HopId, sheet: &Sheet, limited: bool) -> (Vec<Wire>, Vec<Wire>) {
    let Some(rate) = sheet.rate("backend_port_rate") else { return (Vec::new(), Vec::new()) };
    let all = rate * f64::from(sheet.count("backend_ports").unwrap_or(1));
    let given = *draft.limits(at);
    let read = draft.wire(at, WireDirection::Read, all);
    let write = draft.wire(at, WireDirection::Write, all);
    if limited {
        *draft.limits(at) = given;
    }
    (vec![read], vec![write])
}

/// The processors of a controller; `None` without figures for them.
fn controller(draft: &mut Draft, at: HopId, sheet: &Sheet, array: &str) -> Option<Hop> {
    let Some(time) = sheet.time("controller_time_per_io").filter(|time| *time > 0.0) else {
        defaults::controller_time().noted(draft, array);
        return None;
    };
    let cores = sheet.count("controller_cores").unwrap_or(1);
    let station = draft.station(at, Station::many(cores));
    let limits = draft.limits(at);
    limits.servers = Some(cores);
    limits.ops_rate = Some(f64::from(cores) / time);
    Some(Hop::visit(station, constant(time)))
}

impl Cache {
    fn new(draft: &mut Draft, at: HopId, sheet: &Sheet, array: &Array) -> Option<Cache> {
        let size = array.cache.map(|size| size.0).or_else(|| sheet.bytes("cache"))? as f64;
        let name = &array.name;
        let time = defaults::cache_hit_time().or(sheet.time("cache_hit_time")).noted(draft, name);
        let answer = Hop::visit(draft.station(at, Station::Delay), constant(time));
        let given = array.hit_share.map(|share| share.fraction().clamp(0.0, 1.0));
        let back = defaults::write_back().or(sheet.flag("write_back")).noted(draft, name);
        let dirty = back.then(|| {
            let twice = defaults::cache_mirrored().or(sheet.flag("cache_mirrored"));
            let copies = if twice.noted(draft, name) { 2.0 } else { 1.0 };
            let share = defaults::dirty_share().noted(draft, name);
            let bytes = size / copies * share;
            let unit = SLOT.max(bytes / SLOTS_MAX);
            let tokens = (bytes / unit).clamp(1.0, SLOTS_MAX) as u32;
            let pool = draft.pool(at, tokens);
            Dirty { pool, tokens, unit }
        });
        Some(Cache { size, hit_share: given.or(sheet.share("hit_share")), answer, dirty })
    }
}

impl Dirty {
    /// Bytes of dirty data for which there is room.
    pub fn room(&self) -> f64 {
        f64::from(self.tokens) * self.unit
    }

    /// A flush: it waits until no dirty data is left, and what is written after it waits behind it.
    pub fn flush(&self) -> Vec<Hop> {
        let Dirty { pool, tokens, .. } = *self;
        vec![Hop::Take { pool, tokens }, Hop::Give { pool, tokens }]
    }

    /// A write of mean size `bytes` that continues as soon as there is room, and is destaged by `work` in the
    /// background, with so many tokens of a pool that limits what is in flight. `chances` are those that its block is
    /// dirty already, so that it needs no room, for equally spaced shares of the room that are in use.
    ///
    /// Where there is room for very many I/Os, one of several takes the tokens of all, and its copy does the work of all:
    /// the same work in fewer, larger pieces.
    pub fn store(
        &self,
        bytes: f64,
        (depth, writes): (PoolId, u32),
        work: &[Hop],
        chances: Vec<f64>,
    ) -> Vec<Hop> {
        let most = (DESTAGE_HOPS_MAX / count(work).max(1)).max(1) as f64;
        let several = (self.room() / bytes.max(1.0) / DESTAGES).ceil().clamp(1.0, most);
        let tokens = (bytes * several / self.unit).round().clamp(1.0, f64::from(self.tokens));
        let tokens = tokens as u32;
        let mut route = vec![Hop::Take { pool: depth, tokens: writes }];
        (0..several as u32).for_each(|_| route.extend_from_slice(work));
        route.push(Hop::Give { pool: depth, tokens: writes });
        route.push(Hop::Give { pool: self.pool, tokens });
        let mut hops = Vec::with_capacity(4);
        if several > 1.0 {
            hops.push(Hop::Skip { chance: 1.0 - 1.0 / several, hops: 2 });
        }
        hops.push(Hop::Take { pool: self.pool, tokens });
        hops.push(Hop::Fork { route: route.into() });
        let (pool, all) = (self.pool, hops.len() as u32);
        hops.insert(0, Hop::SkipHeld { pool, chances: chances.into(), hops: all });
        hops
    }
}

/// Hops of a route, copies included.
fn count(work: &[Hop]) -> usize {
    let within = |hop: &Hop| match hop {
        Hop::Together { routes } => routes.iter().map(|route| count(route)).sum(),
        _ => 0,
    };
    work.iter().map(|hop| 1 + within(hop)).sum()
}

/// A constant time in seconds.
pub fn constant(seconds: f64) -> Law {
    Law::Constant(Ps::from_secs_f64(seconds))
}

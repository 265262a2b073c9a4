//! Everything behind the ports of arrays in one step: each array and each volume is built when the first way to it is
//! compiled, and its disks take the whole step's load into account.

use super::array::ArrayStations;
use super::cached::{CachedVolume, CachedVolumes};
use super::defaults;
use super::draft::Draft;
use super::usage::{Usage, VolumeLoad, closed_rate, rate};
use super::volume::{BackendHops, VolumeSite, medium, unhurried};
use crate::model::Hop;
use clock::Ns;
use scenario::topology::{HopId, HopKind, Route, Topology, Way};
use scenario::{Array, CacheMode, DiskWorkload, Medium, Scenario, VmDisk, Volume};
use std::borrow::Cow;
use std::collections::BTreeMap;
use workload::{Dir, Extent, WorkingSet};

/// Default size of a logical block in bytes.
const BLOCK: u32 = 512;

/// The arrays of a lab, as a step uses them.
pub struct Storage<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    /// Arrays, including each target as an array of its own.
    arrays: BTreeMap<&'a str, Cow<'a, Array>>,
    volumes: BTreeMap<(&'a str, &'a str), &'a Volume>,
    /// The step's load on each volume, by `ARRAY/NAME`.
    usage: BTreeMap<&'a str, Usage>,
    /// The disks of each VM and host.
    disks: BTreeMap<&'a str, &'a [VmDisk]>,
    /// By array: the volumes that its cache serves, once the first of its volumes is built.
    cached: BTreeMap<&'a str, CachedVolumes>,
    shared: BTreeMap<&'a str, ArrayStations>,
    /// By volume, for each of its loads.
    built: BTreeMap<&'a str, Vec<(VolumeLoad, BackendHops)>>,
}

impl<'a> Storage<'a> {
    /// The arrays of a lab, without load yet.
    pub fn new(scenario: &'a Scenario, topology: &'a Topology) -> Storage<'a> {
        let lab = &scenario.lab;
        let targets = lab.targets.iter().map(|target| {
            let media = target.part.clone().map(Medium::Part);
            let alone = Array { name: target.name.clone(), media, ..Array::default() };
            (target.name.as_str(), Cow::Owned(alone))
        });
        let arrays = lab.arrays.iter().map(|array| (array.name.as_str(), Cow::Borrowed(array)));
        let vms = lab.vms.iter().map(|vm| (vm.name.as_str(), &vm.disks[..]));
        let hosts = lab.hosts.iter().map(|host| (host.name.as_str(), &host.disks[..]));
        Storage {
            scenario,
            topology,
            arrays: targets.chain(arrays).collect(),
            volumes: lab
                .volumes
                .iter()
                .map(|volume| ((volume.array.as_str(), volume.name.as_str()), volume))
                .collect(),
            usage: BTreeMap::new(),
            disks: hosts.chain(vms).collect(),
            cached: BTreeMap::new(),
            shared: BTreeMap::new(),
            built: BTreeMap::new(),
        }
    }

    /// A worker issues to this way, one of `targets`, in a step of this warm-up and measured time. All that is asked is
    /// said before the first hops are.
    pub fn ask(&mut self, way: &'a Way, workload: &DiskWorkload, targets: usize, span: (Ns, Ns)) {
        let rate = rate(&workload.spec, span, self.unhurried(way)) / targets.max(1) as f64;
        let load = self.load(way, workload);
        self.usage.entry(&way.volume).or_default().add(load, rate);
    }

    /// Adds the load of a copy that reads or writes `bytes` at a time in one stream, with `depth` in flight.
    pub fn ask_stream(&mut self, way: &'a Way, dir: Dir, bytes: u32, depth: u32) {
        let rate = closed_rate(depth, self.unhurried(way));
        let load = self.stream(way, dir, bytes);
        self.usage.entry(&way.volume).or_default().add(load, rate);
    }

    /// What a worker asks of the volume behind a way.
    pub fn load(&self, way: &Way, workload: &DiskWorkload) -> VolumeLoad {
        VolumeLoad::of(workload, self.extent(way, Some(workload)).size)
    }

    /// What a stream of a copy asks of it.
    pub fn stream(&self, way: &Way, dir: Dir, bytes: u32) -> VolumeLoad {
        VolumeLoad::stream(dir, bytes, self.extent(way, None).size)
    }

    /// About what an I/O to the volume behind a way takes where nothing else is going on, in seconds.
    fn unhurried(&self, way: &Way) -> f64 {
        let array = self.arrays.get(array_of(&way.volume));
        array.map_or(0.0, |array| unhurried(self.scenario, array, self.volume(&way.volume)))
    }

    /// What a worker sees of the volume behind a way.
    pub fn extent(&self, way: &Way, workload: Option<&DiskWorkload>) -> Extent {
        let volume = self.volume(&way.volume);
        let disk = self.disk(way).and_then(|disk| disk.size);
        let target = || self.scenario.lab.targets.iter().find(|target| target.name == way.volume);
        let of_target = || target().and_then(|target| target.size.or(target.create));
        let whole = volume.and_then(|volume| volume.size).or_else(of_target);
        let size = match (disk, whole) {
            (Some(disk), Some(whole)) => disk.0.min(whole.0),
            (Some(size), None) | (None, Some(size)) => size.0,
            (None, None) => {
                let working_set = workload.and_then(|workload| workload.spec.working_set);
                let needed = match working_set {
                    Some(WorkingSet::Bytes(bytes)) => bytes,
                    _ => 0,
                };
                needed.max(defaults::VOLUME_SIZE as u64)
            }
        };
        Extent { size, block: volume.and_then(|volume| volume.block).unwrap_or(BLOCK) }
    }

    fn disk(&self, way: &Way) -> Option<&'a VmDisk> {
        self.disks.get(way.member.as_str())?.get(way.disk as usize)
    }

    fn volume(&self, name: &str) -> Option<&'a Volume> {
        self.volumes.get(&name.split_once('/')?).copied()
    }

    /// The hops of an I/O of a load between the array's port and its return there, over each path of a way.
    pub fn behind(
        &mut self,
        draft: &mut Draft,
        way: &'a Way,
        load: &VolumeLoad,
        (dir, fua): (Dir, bool),
    ) -> Vec<Vec<Hop>> {
        let array = array_of(&way.volume);
        let first = way.paths.iter().position(|path| self.build(draft, way, array, path));
        let built = self.built.get(way.volume.as_str());
        let behind = built.and_then(|all| all.iter().find(|(known, _)| known == load));
        let (Some(shared), Some((_, behind))) = (self.shared.get(array), behind) else {
            return vec![Vec::new(); way.paths.len()];
        };
        let is_controller = |hop: &HopId| self.topology.hop(*hop).kind == HopKind::Controller;
        let over = |path: &Route| {
            let controller = path.hops.iter().copied().find(is_controller);
            let (before, after) = (shared.before(controller, dir), shared.after(dir));
            before.chain(behind.of(dir, fua)).chain(after).cloned().collect()
        };
        let paths = way.paths.iter().enumerate();
        let hops = paths.map(|(at, path)| match first.is_some_and(|first| at >= first) {
            true => over(path),
            // It does not lead to the medium.
            false => Vec::new(),
        });
        hops.collect()
    }

    /// Builds the array and the volume behind a way, once; says whether they are there.
    fn build(&mut self, draft: &mut Draft, way: &'a Way, name: &'a str, path: &Route) -> bool {
        if self.built.contains_key(way.volume.as_str()) {
            return true;
        }
        let Some(array) = self.arrays.get(name) else { return false };
        let volume = self.volume(&way.volume);
        if !self.shared.contains_key(name) {
            let shared = match array {
                Cow::Owned(_) => ArrayStations::default(),
                Cow::Borrowed(array) => {
                    let medium = medium(draft, self.scenario, array, volume);
                    ArrayStations::new(draft, self.scenario, self.topology, array, &medium)
                }
            };
            self.shared.insert(name, shared);
        }
        if !self.cached.contains_key(name) {
            let cached = self.cached(name);
            self.cached.insert(name, cached);
        }
        let (Some(shared), Some(cached)) = (self.shared.get(name), self.cached.get(name)) else {
            return false;
        };
        let is_store = |hop: &HopId| {
            matches!(self.topology.hop(*hop).kind, HopKind::Disks | HopKind::TapeDrive)
        };
        let Some(hop) = path.hops.iter().copied().rev().find(is_store) else { return false };
        let none = Usage::default();
        let of = self.topology.hop(hop);
        let site = VolumeSite {
            volume,
            array,
            hop,
            name: &of.name,
            disks: of.count,
            is_tape: of.kind == HopKind::TapeDrive,
            usage: self.usage.get(way.volume.as_str()).unwrap_or(&none),
            cached,
            size: self.size(draft, way, &of.name),
        };
        let behind = site.build(draft, self.scenario, shared);
        self.built.insert(&way.volume, behind);
        true
    }

    /// The volumes that an array's cache serves, with the step's loads on each.
    fn cached(&self, array: &str) -> CachedVolumes {
        let of_array = self.usage.iter().filter(|(name, _)| array_of(name) == array);
        let all = of_array.map(|(name, usage)| CachedVolume {
            mode: self.volume(name).and_then(|volume| volume.cache),
            touched: usage.touched,
            blocks: usage.blocks(false),
            written: usage.blocks(true),
        });
        CachedVolumes::new(all.filter(|of| of.mode != Some(CacheMode::None)).collect())
    }

    /// The size of a volume; a default is recorded.
    fn size(&self, draft: &mut Draft, way: &Way, subject: &str) -> f64 {
        let given = self.volume(&way.volume).and_then(|volume| volume.size);
        let given = given.or_else(|| self.disk(way).and_then(|disk| disk.size));
        let touched = self.usage.get(way.volume.as_str()).map_or(0.0, |usage| usage.touched as f64);
        let size = defaults::volume_size(touched).or(given.map(|size| size.0 as f64));
        size.noted(draft, subject)
    }
}

/// The array of a volume `ARRAY/NAME`; a target is an array of its own.
fn array_of(volume: &str) -> &str {
    volume.split_once('/').map_or(volume, |(array, _)| array)
}

//! What is behind a volume: memory, solid-state disks, rotating disks in RAID groups, a file, a tape drive; and the
//! effect of the array's cache on it in this step.
//!
//! Random reads hit the cache in proportion to how much of the touched data fits. Streams are read ahead: the disks
//! work in the background, a window in front of the reader, so one reader gets the throughput of all disks of the
//! volume. Between two pieces of a stream the arm may have been elsewhere; how often follows from the streams and the
//! random I/Os that share the disks. Solid-state disks serve as many I/Os at once as they have channels, up to their
//! rate.

use super::array::{ArrayStations, constant};
use super::cache::{BlockSet, coalesced, hits};
use super::defaults;
use super::disk::Disk;
use super::draft::{Draft, WireDirection};
use super::raid::{DiskWork, mixed, on_disks, parts_of, transfers};
use super::sheet::Sheet;
use super::usage::{DirectionMix, Usage};
use crate::model::{Demand, Hop, Pool, RaidGroup, RaidLevel, Station, StationId, StripeChoice};
use scenario::topology::HopId;
use scenario::{Array, CacheMode, Medium, Scenario, Volume};
use std::cell::RefCell;
use workload::{Dir, Skew};

/// Destages in flight per disk.
const DESTAGE_DEPTH: u32 = 4;
/// Picoseconds per second.
const PS: f64 = 1e12;
/// Greatest number of read-ahead pieces in flight per volume.
const AHEAD_MAX: f64 = 4096.0;

/// A volume that the cache of an array serves.
#[derive(Clone, Debug)]
pub struct CachedVolume<'a> {
    /// Its name as `ARRAY/NAME`.
    pub name: &'a str,
    /// How it uses the cache.
    pub mode: Option<CacheMode>,
    /// The step's load on it.
    pub usage: Usage,
}

/// All volumes that the cache of an array serves, by name, and what was computed of them: many are alike.
#[derive(Clone, Debug, Default)]
pub struct CachedVolumes<'a> {
    all: Vec<CachedVolume<'a>>,
    /// By the blocks of a volume, and the size of the cache.
    hits: RefCell<Vec<(BlockSet, f64, f64)>>,
    /// By the blocks that are written, and the room for dirty data.
    coalesced: RefCell<Vec<(BlockSet, f64, Vec<f64>)>>,
}

/// A volume of a step, before it is built.
#[derive(Clone, Copy, Debug)]
pub struct VolumeSite<'a> {
    /// The scenario's description; `None` for one that an array provides by itself.
    pub volume: Option<&'a Volume>,
    /// Its array.
    pub array: &'a Array,
    /// The hop of its disks or its drive.
    pub hop: HopId,
    /// That hop's name.
    pub name: &'a str,
    /// Number of disks.
    pub disks: u32,
    /// It is a tape drive.
    pub is_tape: bool,
    /// The step's load on it.
    pub usage: &'a Usage,
    /// Its name as `ARRAY/NAME`.
    pub own: &'a str,
    /// All volumes that the array's cache serves.
    pub cached: &'a CachedVolumes<'a>,
    /// Its size in bytes.
    pub size: f64,
}

/// The hops of an I/O behind an array's controllers.
#[derive(Clone, Debug, Default)]
pub struct BackendHops {
    /// The hops of a read.
    pub read: Vec<Hop>,
    /// The hops of a write, until it is acknowledged.
    pub write: Vec<Hop>,
    /// The hops of a write with FUA, which the medium has when it is acknowledged.
    pub through: Vec<Hop>,
    /// The hops of a trim, or of zeroes without their data: the array's map is changed.
    pub map: Vec<Hop>,
    /// The hops of a flush: no dirty data is left when it is acknowledged.
    pub flush: Vec<Hop>,
}

impl BackendHops {
    /// The hops of one kind of operations.
    pub fn of(&self, dir: Dir, fua: bool) -> &[Hop] {
        match dir {
            Dir::Read => &self.read,
            Dir::Write if fua => &self.through,
            Dir::Write => &self.write,
            Dir::Trim | Dir::Zero => &self.map,
            Dir::Flush => &self.flush,
        }
    }
}

/// The work of a medium for an I/O, without a cache.
struct MediumWork {
    random_read: Vec<Hop>,
    stream_read: Vec<Hop>,
    /// Random and sequential, in proportion.
    write: Vec<Hop>,
    disks: u32,
    /// Bytes of a stream that are read before the arm may turn to another.
    ahead: Option<f64>,
}

/// The medium of a volume: given by the volume, its array, or its array's part.
pub fn medium(
    draft: &mut Draft,
    scenario: &Scenario,
    array: &Array,
    volume: Option<&Volume>,
) -> Medium {
    let said = volume.and_then(|volume| volume.media.clone()).or_else(|| array.media.clone());
    let sheet = Sheet::of(scenario, array.part.as_deref());
    let of_part = || match sheet.word("media")? {
        "ram" => Some(Medium::Ram),
        "ssd" => Some(Medium::Ssd),
        "disk" => Some(Medium::Disk),
        "file" => Some(Medium::File),
        _ => None,
    };
    // A number of disks implies disks.
    let counted = || volume.and_then(|volume| volume.disks).map(|_| Medium::Disk);
    defaults::medium().or(said.or_else(counted).or_else(of_part)).noted(draft, &array.name)
}

impl<'a> CachedVolumes<'a> {
    /// `all` are ordered by name.
    pub fn new(all: Vec<CachedVolume<'a>>) -> CachedVolumes<'a> {
        CachedVolumes { all, ..CachedVolumes::default() }
    }

    fn find(&self, name: &str) -> Option<&CachedVolume<'a>> {
        let at = self.all.binary_search_by(|of| of.name.cmp(name)).ok()?;
        self.all.get(at)
    }

    /// The share of a volume's random reads that a cache of `size` bytes answers.
    fn hit_share(&self, name: &str, size: f64) -> f64 {
        let Some(blocks) = self.find(name).map(|of| of.usage.blocks(false)) else { return 0.0 };
        let mut known = self.hits.borrow_mut();
        if let Some((.., hit)) = known.iter().find(|(of, sized, _)| (of, *sized) == (&blocks, size))
        {
            return *hit;
        }
        let sets: Vec<BlockSet> = self.all.iter().map(|of| of.usage.blocks(false)).collect();
        let own = sets.iter().position(|set| *set == blocks).unwrap_or(0);
        let hit = hits(&sets, own, size);
        known.push((blocks, size, hit));
        hit
    }

    /// The chances that a write to a volume finds its block dirty, by the share of the room that dirty data fills.
    fn coalesced(&self, name: &str, room: f64) -> Vec<f64> {
        let is_written = |of: &&CachedVolume| {
            of.mode != Some(CacheMode::WriteThrough) && of.usage.writes.weight > 0.0
        };
        let own = self.find(name).filter(is_written);
        let Some(blocks) = own.map(|of| of.usage.blocks(true)) else { return vec![0.0, 0.0] };
        let mut known = self.coalesced.borrow_mut();
        if let Some((.., found)) = known.iter().find(|(of, at, _)| (of, *at) == (&blocks, room)) {
            return found.clone();
        }
        let all = self.all.iter().filter(is_written);
        let sets: Vec<BlockSet> = all.map(|of| of.usage.blocks(true)).collect();
        let own = sets.iter().position(|set| *set == blocks).unwrap_or(0);
        let found = coalesced(&sets, own, room);
        known.push((blocks, room, found.clone()));
        found
    }
}

impl VolumeSite<'_> {
    /// Adds the volume's medium to the draft and joins it to the array's cache.
    pub fn build(
        &self,
        draft: &mut Draft,
        scenario: &Scenario,
        shared: &ArrayStations,
    ) -> BackendHops {
        let store = match self.is_tape {
            true => self.tape(draft, scenario),
            false => self.store(draft, scenario, shared),
        };
        let mode = self.volume.and_then(|volume| volume.cache);
        let cache = shared.cache().filter(|_| mode != Some(CacheMode::None));
        let Some(cache) = cache else {
            let share = self.usage.reads.random();
            let map = self.map(draft);
            return BackendHops {
                read: mixed(share, store.random_read, store.stream_read),
                through: store.write.clone(),
                write: store.write,
                flush: map.clone(),
                map,
            };
        };
        let touched: f64 = self.cached.all.iter().map(|of| of.usage.touched as f64).sum();
        let fits = cache.size / touched.max(1.0);
        let given = self.volume.and_then(|volume| volume.hit_share);
        let given = given.map(|share| share.fraction().clamp(0.0, 1.0)).or(cache.hit_share);
        let reads = &self.usage.reads;
        let hit = given.unwrap_or_else(|| {
            let hit = self.cached.hit_share(self.own, cache.size);
            let reason =
                "computed: a warm cache that keeps what was used last, by Che's approximation";
            draft.assume(self.name, "hit_share", units::percent(hit * 100.0), reason);
            hit
        });
        if given.is_none() && fits >= 1.0 && reads.weight > 0.0 && !store.random_read.is_empty() {
            draft.caution("cached-reads", all_cached(&self.array.name, cache.size, touched));
        }
        // A stream over more than the cache holds finds nothing of its last pass.
        let stream_hit = given.unwrap_or(if fits >= 1.0 { 1.0 } else { 0.0 });
        let random = missing(hit, store.random_read);
        let stream = match store.ahead {
            Some(ahead) if stream_hit < 1.0 => {
                let ahead = self.read_ahead(draft, ahead, store.stream_read);
                missing(stream_hit, ahead)
            }
            _ => missing(stream_hit, store.stream_read),
        };
        let mut read = mixed(reads.random(), random, stream);
        read.push(cache.answer.clone());
        let (through, map) = (store.write.clone(), vec![cache.answer.clone()]);
        let mut flush = map.clone();
        let back = cache.dirty.filter(|_| mode != Some(CacheMode::WriteThrough));
        let write = match back {
            Some(dirty) => {
                let tokens = store.disks.saturating_mul(DESTAGE_DEPTH).max(1);
                let depth = draft.network().pool(Pool { tokens });
                let chances = self.cached.coalesced(self.own, dirty.room());
                let mut hops = dirty.store(self.usage.writes.bytes(), depth, &store.write, chances);
                hops.push(cache.answer.clone());
                flush.splice(0..0, dirty.flush());
                hops
            }
            None => store.write,
        };
        BackendHops { read, write, through, map, flush }
    }

    /// What a command without data takes where there is no cache.
    fn map(&self, draft: &mut Draft) -> Vec<Hop> {
        if !self.usage.without_data {
            return Vec::new();
        }
        let time = defaults::map_time().noted(draft, self.name);
        vec![Hop::visit(draft.station(self.hop, Station::Delay), constant(time))]
    }

    /// Sequential reads by the disks in the background, a window in front of the reader.
    fn read_ahead(&self, draft: &mut Draft, ahead: f64, mut work: Vec<Hop>) -> Vec<Hop> {
        let window = ahead * f64::from(self.usage.streams.max(1)) / self.usage.reads.bytes();
        let tokens = window.ceil().clamp(2.0, AHEAD_MAX) as u32;
        let pool = draft.network().pool(Pool { tokens });
        work.push(Hop::Give { pool, tokens: 1 });
        vec![Hop::Take { pool, tokens: 1 }, Hop::Fork { route: work.into() }]
    }

    fn store(&self, draft: &mut Draft, scenario: &Scenario, shared: &ArrayStations) -> MediumWork {
        match medium(draft, scenario, self.array, self.volume) {
            Medium::Ram => MediumWork::none(),
            Medium::File => {
                let time = defaults::file_time().noted(draft, self.name);
                let visit =
                    vec![Hop::visit(draft.station(self.hop, Station::Delay), constant(time))];
                MediumWork {
                    random_read: visit.clone(),
                    stream_read: visit.clone(),
                    write: visit,
                    ..MediumWork::none()
                }
            }
            Medium::Ssd => self.flash(draft, &Sheet::default(), shared),
            Medium::Disk => self.rotating(draft, &Sheet::default(), shared),
            Medium::Part(part) => {
                let sheet = Sheet::of(scenario, Some(&part));
                let is_flash = ["read_latency", "write_latency", "channels"];
                match is_flash.iter().any(|figure| sheet.has(figure)) {
                    true => self.flash(draft, &sheet, shared),
                    false => self.rotating(draft, &sheet, shared),
                }
            }
        }
    }

    /// Rotating disks.
    fn rotating(&self, draft: &mut Draft, sheet: &Sheet, shared: &ArrayStations) -> MediumWork {
        let disk = self.disk(draft, sheet);
        let cached = shared.cache().is_some();
        let ahead = defaults::read_ahead(cached).noted(draft, self.name);
        let plan = self.plan(draft);
        let held = self.size / (f64::from(plan.disks) * plan.usable());
        let per_byte = disk.per_byte(held / disk.size);
        let bytes = overall(&self.usage.reads, &self.usage.writes);
        let random_share = bytes.1;
        let gain = match random_share > 0.0 {
            true => disk.gain(bytes.0 / parts_of(&plan, bytes.0) * per_byte / random_share),
            false => vec![1.0],
        };
        let group = self.stations(draft, plan, Station::Sorted { servers: 1, gain });
        draft.limits(self.hop).servers = Some(group.disks);
        let position = disk.position();
        let work = |mix: &DirectionMix| {
            let moved = self.usage.interrupted() * (mix.bytes() / ahead).min(1.0);
            DiskWork {
                random: Demand { time: position.clone(), per_byte: per_byte * PS },
                sequential: Demand {
                    time: constant(moved * disk.positioning()),
                    per_byte: per_byte * PS,
                },
                random_share: mix.random(),
                bytes: mix.bytes(),
                gathered: cached,
                choice: self.choice(cached),
            }
        };
        let (reads, writes) = (work(&self.usage.reads), work(&self.usage.writes));
        MediumWork::new(draft, shared, &group, &reads, &writes, Some(ahead))
    }

    /// Solid-state disks.
    fn flash(&self, draft: &mut Draft, sheet: &Sheet, shared: &ArrayStations) -> MediumWork {
        let mut time =
            |figure| defaults::ssd_time(figure).or(sheet.time(figure)).noted(draft, self.name);
        let (read, write) = (time("read_latency"), time("write_latency"));
        let mut rate =
            |figure| defaults::ssd_rate(figure).or(sheet.rate(figure)).noted(draft, self.name);
        let (read_rate, write_rate) = (rate("read_rate"), rate("write_rate"));
        let channels = defaults::ssd_channels().or(sheet.count("channels")).noted(draft, self.name);
        let plan = self.plan(draft);
        let group = self.stations(draft, plan, Station::many(channels));
        let disks = f64::from(group.disks);
        let from = draft.wire(self.hop, WireDirection::Read, read_rate * disks);
        let to = draft.wire(self.hop, WireDirection::Write, write_rate * disks);
        draft.limits(self.hop).servers = group.disks.checked_mul(channels);
        let work = |seconds: f64, mix: &DirectionMix| DiskWork {
            random: Demand::of(constant(seconds)),
            sequential: Demand::of(constant(seconds)),
            random_share: mix.random(),
            bytes: mix.bytes(),
            gathered: shared.cache().is_some(),
            choice: self.choice(shared.cache().is_some()),
        };
        let (reads, writes) = (work(read, &self.usage.reads), work(write, &self.usage.writes));
        let mut store = MediumWork::new(draft, shared, &group, &reads, &writes, None);
        let (_, written) = transfers(&group, &writes);
        for hops in [&mut store.random_read, &mut store.stream_read] {
            hops.extend(draft.cross(&[from], 1.0, 0));
        }
        store.write.extend(draft.cross(&[to], written, 0));
        store
    }

    /// Where random I/Os are: by address. Those that miss a cache under a skew are not where the hot blocks are.
    fn choice(&self, cached: bool) -> StripeChoice {
        match cached && self.usage.skew() != Skew::Uniform {
            true => StripeChoice::Drawn,
            false => StripeChoice::Addressed,
        }
    }

    /// A tape drive: one I/O at a time, at the drive's rate.
    fn tape(&self, draft: &mut Draft, scenario: &Scenario) -> MediumWork {
        let sheet = Sheet::of(scenario, self.array.part.as_deref());
        let rate = defaults::tape_rate().or(sheet.rate("drive_rate")).noted(draft, self.name);
        let station = draft.station(self.hop, Station::SINGLE);
        let limits = draft.limits(self.hop);
        (limits.read_rate, limits.write_rate) = (Some(rate), Some(rate));
        (limits.both_rate, limits.servers) = (Some(rate), Some(1));
        let demand = Demand { time: crate::model::Law::ZERO, per_byte: PS / rate };
        let visit = vec![Hop::Visit { station, demand }];
        MediumWork {
            random_read: visit.clone(),
            stream_read: visit.clone(),
            write: visit,
            ..MediumWork::none()
        }
    }

    /// The RAID group of the disks.
    fn plan(&self, draft: &mut Draft) -> RaidGroup {
        let disks = self.disks.max(1);
        let luns = self.volume.and_then(|volume| volume.luns).unwrap_or(1).clamp(1, disks);
        let width = (disks / luns).max(1);
        let said = self.volume.and_then(|volume| volume.raid).map(RaidLevel::from);
        let raid = match said {
            Some(raid) => raid,
            None if disks == 1 => RaidLevel::Striped,
            None => defaults::raid().noted(draft, self.name),
        };
        let unit = match disks {
            1 => u64::MAX,
            _ => (defaults::stripe_unit().noted(draft, self.name) as u64).max(1),
        };
        RaidGroup { first: StationId(0), disks, width, raid: raid.within(width), unit }
    }

    /// A station for each disk of a group.
    fn stations(&self, draft: &mut Draft, plan: RaidGroup, station: Station) -> RaidGroup {
        let first = draft.station(self.hop, station.clone());
        (1..plan.disks).for_each(|_| {
            draft.station(self.hop, station.clone());
        });
        RaidGroup { first, ..plan }
    }

    /// The figures of a rotating disk.
    fn disk(&self, draft: &mut Draft, sheet: &Sheet) -> Disk {
        let default = defaults::DISK;
        let mut time = |figure, value| {
            defaults::disk_time(figure, value).or(sheet.time(figure)).noted(draft, self.name)
        };
        let (seek, half_turn) =
            (time("seek_mean", default.seek), time("rotation_half", default.half_turn));
        let mut rate = |figure, value| {
            defaults::disk_rate(figure, value).or(sheet.rate(figure)).noted(draft, self.name)
        };
        Disk {
            seek,
            half_turn,
            rate_outer: rate("rate_outer", default.rate_outer),
            rate_inner: rate("rate_inner", default.rate_inner),
            size: defaults::disk_size()
                .or(sheet.bytes("size").map(|size| size as f64))
                .noted(draft, self.name),
            queue: defaults::disk_queue().or(sheet.count("queue")).noted(draft, self.name),
            saved: defaults::disk_reorder().or(sheet.share("reorder")).noted(draft, self.name),
        }
    }
}

/// The load touches no more than the array's cache holds, so that once it is warm no read reaches a disk.
fn all_cached(array: &str, cache: f64, touched: f64) -> String {
    let size = |bytes: f64| units::binary_bytes(bytes as u64);
    format!(
        "the cache of {array} ({}) holds all that the load touches there ({}): once it is warm every read is answered from \
         it and none by the disks, so these figures are the cache's. Touch more than the cache holds to load the disks",
        size(cache),
        size(touched)
    )
}

impl MediumWork {
    /// A medium that takes no time.
    fn none() -> MediumWork {
        let (random_read, stream_read, write) = (Vec::new(), Vec::new(), Vec::new());
        MediumWork { random_read, stream_read, write, disks: 1, ahead: None }
    }

    fn new(
        draft: &mut Draft,
        shared: &ArrayStations,
        group: &RaidGroup,
        reads: &DiskWork,
        writes: &DiskWork,
        ahead: Option<f64>,
    ) -> MediumWork {
        let mut read = |random_share| {
            let mut hops = on_disks(group, Dir::Read, &DiskWork { random_share, ..reads.clone() });
            hops.extend(shared.off_disks(draft, 1.0));
            hops
        };
        let (random_read, stream_read) = (read(1.0), read(0.0));
        let (again, written) = transfers(group, writes);
        let mut write: Vec<Hop> = shared.onto_disks(draft, written).into_iter().collect();
        write.extend(shared.off_disks(draft, again));
        write.extend(on_disks(group, Dir::Write, writes));
        MediumWork { random_read, stream_read, write, disks: group.disks, ahead }
    }
}

/// The work of cache misses.
fn missing(hit: f64, work: Vec<Hop>) -> Vec<Hop> {
    if hit >= 1.0 || work.is_empty() {
        return Vec::new();
    }
    if hit <= 0.0 {
        return work;
    }
    let mut hops = vec![Hop::Skip { chance: hit, hops: work.len() as u32 }];
    hops.extend(work);
    hops
}

/// Mean bytes and the share of random I/Os, both directions together.
fn overall(reads: &DirectionMix, writes: &DirectionMix) -> (f64, f64) {
    let weight = reads.weight + writes.weight;
    if weight <= 0.0 {
        return (reads.bytes(), 1.0);
    }
    let over = |of: fn(&DirectionMix) -> f64| {
        (reads.weight * of(reads) + writes.weight * of(writes)) / weight
    };
    (over(DirectionMix::bytes), over(DirectionMix::random))
}

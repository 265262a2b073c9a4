//! What is behind a volume: memory, solid-state disks, rotating disks in RAID groups, a file, a tape drive; and the
//! effect of the array's cache on it in this step.
//!
//! Each load has its own hops behind the controllers: what share of its I/Os is random and how often these hit the cache is
//! its own. Stations, links and queue limits are the volume's, which all loads share. Streams are read ahead: the disks
//! work in the background, a window in front of the reader, so one reader gets the throughput of all disks of the
//! volume. Between two pieces of a stream the arm may have been elsewhere; how often follows from the streams and the
//! random I/Os that share the disks. Solid-state disks serve as many I/Os at once as they have channels, up to their
//! rate.

use super::array::{ArrayStations, Cache, Dirty, constant};
use super::cached::CachedVolumes;
use super::defaults;
use super::disk::Disk;
use super::draft::{Draft, Wire, WireDirection};
use super::raid::{DiskWork, mixed, on_disks, parts_of, read_before, transfers, written_disks};
use super::sheet::Sheet;
use super::usage::{DirectionMix, Usage, VolumeLoad};
use crate::model::{
    Demand, Hop, Law, Pool, PoolId, RaidGroup, RaidLevel, Station, StationId, StripeChoice,
};
use crate::plant::HopElement;
use scenario::topology::HopId;
use scenario::{Array, CacheMode, Medium, Scenario, Volume};
use units::Bytes;
use workload::{Dir, Skew};

/// Writes in flight per disk that destage.
const DESTAGE_DEPTH: u32 = 4;
/// Picoseconds per second.
const PS: f64 = 1e12;
/// Greatest number of read-ahead pieces in flight per volume.
const AHEAD_MAX: f64 = 4096.0;

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
    /// All volumes that the array's cache serves.
    pub cached: &'a CachedVolumes,
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

/// What is built of a volume's medium: the same for all of its loads.
enum Store {
    /// Every I/O takes these hops.
    Same(Vec<Hop>),
    Rotating(Rotating),
    Flash(Flash),
}

/// Rotating disks.
struct Rotating {
    group: RaidGroup,
    /// Times to reach a random position, and their mean in seconds.
    position: Law,
    positioning: f64,
    /// Seconds.
    per_byte: f64,
    /// Bytes of a stream that are read before the arm may turn to another.
    ahead: f64,
}

/// Solid-state disks.
struct Flash {
    /// Their channels.
    group: RaidGroup,
    /// Seconds of an I/O on a channel.
    read: f64,
    write: f64,
    lines: FlashLines,
}

/// What limits the rates of solid-state disks.
enum FlashLines {
    /// The two directions of one disk, which its I/Os share fairly.
    One(Wire, Wire),
    /// Of several, each has one server a direction: a disk's I/Os do not get the rates of the others. With picoseconds
    /// per byte.
    Each([(RaidGroup, f64); 2]),
}

/// What the loads of a volume share at the cache.
#[derive(Default)]
struct CachePools {
    /// Disk I/Os that are read ahead, and how many of them one read is.
    ahead: Option<(PoolId, u32)>,
    /// Writes of destages.
    destages: Option<PoolId>,
}

/// The work of a medium for an I/O of a load, without a cache.
struct MediumWork {
    random_read: Vec<Hop>,
    stream_read: Vec<Hop>,
    /// Random and sequential, in proportion, to the disks of their addresses.
    write: Vec<Hop>,
    /// The same of what a cache took: gathered, and to idle disks.
    destage: Vec<Hop>,
    /// Disk I/Os of a destage that are in flight at once.
    written: f64,
}

/// The medium of a volume: given by the volume, its array, or its array's part.
pub fn medium(
    draft: &mut Draft,
    scenario: &Scenario,
    array: &Array,
    volume: Option<&Volume>,
) -> Medium {
    let given = given_medium(scenario, array, volume);
    defaults::medium().or(given).noted(draft, &array.name)
}

/// The medium of a volume, where it is said.
fn given_medium(scenario: &Scenario, array: &Array, volume: Option<&Volume>) -> Option<Medium> {
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
    said.or_else(counted).or_else(of_part)
}

/// Whether a part is a solid-state disk.
fn is_flash(sheet: &Sheet) -> bool {
    ["read_latency", "write_latency", "channels"].iter().any(|figure| sheet.has(figure))
}

/// About what an I/O takes on the medium of a volume where nothing else is going on, in seconds: only for the weights of
/// closed loads beside open ones.
pub fn unhurried(scenario: &Scenario, array: &Array, volume: Option<&Volume>) -> f64 {
    let (flash, file) = (90e-6, 50e-6);
    let rotating = defaults::DISK.seek + defaults::DISK.half_turn;
    match given_medium(scenario, array, volume) {
        Some(Medium::Ssd) => flash,
        Some(Medium::Disk) => rotating,
        Some(Medium::Part(part)) => {
            let sheet = Sheet::of(scenario, Some(&part));
            let time = |figure, value: f64| sheet.time(figure).unwrap_or(value);
            match is_flash(&sheet) {
                true => time("read_latency", flash),
                false => {
                    time("seek_mean", defaults::DISK.seek)
                        + time("rotation_half", defaults::DISK.half_turn)
                }
            }
        }
        Some(Medium::Ram | Medium::File) | None => file,
    }
}

impl VolumeSite<'_> {
    /// Adds the volume's medium to the draft and joins it to the array's cache: the hops of each of its loads.
    pub fn build(
        &self,
        draft: &mut Draft,
        scenario: &Scenario,
        shared: &ArrayStations,
    ) -> Vec<(VolumeLoad, BackendHops)> {
        let store = match self.is_tape {
            true => self.tape(draft, scenario),
            false => self.store(draft, scenario, shared),
        };
        let cache = self.cache(shared);
        let loads = self.usage.loads.iter().map(|(load, _)| load.clone());
        let Some(cache) = cache else {
            let map = self.map(draft);
            let of = |load: VolumeLoad| {
                let work = self.work(draft, shared, &store, &load);
                let share = load.reads.random();
                let hops = BackendHops {
                    read: mixed(share, work.random_read, work.stream_read),
                    through: work.write.clone(),
                    write: work.write,
                    flush: map.clone(),
                    map: map.clone(),
                };
                (load, hops)
            };
            return loads.map(of).collect();
        };
        let pools = self.pools(draft, &store, cache);
        let of = |load: VolumeLoad| {
            let work = self.work(draft, shared, &store, &load);
            let hops = self.behind_cache(draft, cache, &pools, &load, work);
            (load, hops)
        };
        loads.map(of).collect()
    }

    /// The array's cache, where the volume uses it.
    fn cache<'a>(&self, shared: &'a ArrayStations) -> Option<&'a Cache> {
        let mode = self.volume.and_then(|volume| volume.cache);
        shared.cache().filter(|_| mode != Some(CacheMode::None))
    }

    /// How much more than what is touched the cache holds.
    fn fits(&self, cache: &Cache) -> f64 {
        cache.size / self.cached.touched().max(1.0)
    }

    /// What the volume's loads share at the cache.
    fn pools(&self, draft: &mut Draft, store: &Store, cache: &Cache) -> CachePools {
        let disks = match store {
            Store::Same(_) => 1,
            Store::Rotating(of) => of.group.disks,
            Store::Flash(of) => of.group.disks,
        };
        let mut pool = |tokens| Some(draft.network().pool(Pool { tokens }));
        let mut pools = CachePools::default();
        if self.usage.streams > 0
            && let Store::Rotating(of) = store
        {
            let window = of.ahead * f64::from(self.usage.streams) / self.usage.reads.bytes();
            let window = window.ceil().clamp(2.0, AHEAD_MAX) as u32;
            let parts = parts_of(&of.group, self.usage.reads.bytes()).round().max(1.0) as u32;
            pools.ahead = pool(window.saturating_mul(parts)).map(|pool| (pool, parts));
        }
        if self.dirty(cache).is_some() {
            pools.destages = pool(disks.saturating_mul(DESTAGE_DEPTH).max(1));
        }
        pools
    }

    /// The cache's room for the volume's dirty data, if it writes back.
    fn dirty(&self, cache: &Cache) -> Option<Dirty> {
        let mode = self.volume.and_then(|volume| volume.cache);
        cache.dirty.filter(|_| mode != Some(CacheMode::WriteThrough))
    }

    /// The share of a load's random reads that the cache answers, and whether it is given.
    fn hit_share(&self, draft: &mut Draft, cache: &Cache, load: &VolumeLoad) -> (f64, bool) {
        let given = self.volume.and_then(|volume| volume.hit_share);
        let given = given.map(|share| share.fraction().clamp(0.0, 1.0)).or(cache.hit_share);
        if let Some(given) = given {
            return (given, true);
        }
        let stream = load.reads.random() <= 0.0;
        let hit = self.cached.hit_share(self.usage, load, cache.size, stream);
        let reason = match self.usage.loads.len() {
            0 | 1 => "computed: a warm cache that keeps what was used last, by Che's approximation",
            _ => {
                "computed for one of the volume's loads: a warm cache that keeps what was used last, by Che's approximation"
            }
        };
        draft.assume(self.name, "hit_share", units::percent(hit * 100.0), reason);
        (hit, false)
    }

    /// The hops of a load behind an array's cache.
    fn behind_cache(
        &self,
        draft: &mut Draft,
        cache: &Cache,
        pools: &CachePools,
        load: &VolumeLoad,
        work: MediumWork,
    ) -> BackendHops {
        let (hit, given) = self.hit_share(draft, cache, load);
        let (reads, fits) = (&load.reads, self.fits(cache));
        if !given && fits >= 1.0 && reads.weight > 0.0 && !work.random_read.is_empty() {
            let touched = self.cached.touched();
            draft.caution("cached-reads", all_cached(&self.array.name, cache.size, touched));
        }
        // A stream over more than the cache holds finds nothing of its last pass.
        let stream_hit = match given {
            true => hit,
            false if fits >= 1.0 => 1.0,
            false => self.cached.hit_share(self.usage, load, cache.size, true),
        };
        let random = missing(hit, work.random_read);
        let stream = match pools.ahead {
            Some(ahead) if stream_hit < 1.0 => {
                missing(stream_hit, read_ahead(ahead, work.stream_read))
            }
            _ => missing(stream_hit, work.stream_read),
        };
        let mut read = mixed(reads.random(), random, stream);
        read.push(cache.answer.clone());
        let (through, map) = (work.write.clone(), vec![cache.answer.clone()]);
        let mut flush = map.clone();
        let write = match (self.dirty(cache), pools.destages) {
            (Some(dirty), Some(pool)) => {
                let most = draft.tokens(pool);
                let depth = (pool, (work.written.round() as u32).clamp(1, most));
                let chances = self.cached.coalesced(self.usage, load, dirty.room());
                if self.cached.are_written_unlike() {
                    draft.note(format!(
                        "{}: it shares the room for dirty data with volumes that are written in other ways; all dirty data is \
                         taken to be of one age, so where one volume's disks keep up and another's do not it is not \
                         determined how much of the room each has",
                        self.name
                    ));
                }
                let mut hops = dirty.store(load.writes.bytes(), depth, &work.destage, chances);
                hops.push(cache.answer.clone());
                flush.splice(0..0, dirty.flush());
                hops
            }
            _ => work.write,
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

    fn store(&self, draft: &mut Draft, scenario: &Scenario, shared: &ArrayStations) -> Store {
        match medium(draft, scenario, self.array, self.volume) {
            Medium::Ram => Store::Same(Vec::new()),
            Medium::File => {
                let time = defaults::file_time().noted(draft, self.name);
                let station = draft.station(self.hop, Station::Delay);
                Store::Same(vec![Hop::visit(station, constant(time))])
            }
            Medium::Ssd => self.flash(draft, &Sheet::default()),
            Medium::Disk => self.rotating(draft, &Sheet::default(), shared),
            Medium::Part(part) => {
                let sheet = Sheet::of(scenario, Some(&part));
                match is_flash(&sheet) {
                    true => self.flash(draft, &sheet),
                    false => self.rotating(draft, &sheet, shared),
                }
            }
        }
    }

    /// The work of the medium for a load.
    fn work(
        &self,
        draft: &mut Draft,
        shared: &ArrayStations,
        store: &Store,
        load: &VolumeLoad,
    ) -> MediumWork {
        match store {
            Store::Same(hops) => {
                let [random_read, stream_read, write, destage] = [0; 4].map(|_| hops.clone());
                MediumWork { random_read, stream_read, write, destage, written: 1.0 }
            }
            Store::Rotating(of) => self.on_rotating(draft, shared, of, load),
            Store::Flash(of) => self.on_flash(draft, shared, of, load),
        }
    }

    /// Rotating disks.
    fn rotating(&self, draft: &mut Draft, sheet: &Sheet, shared: &ArrayStations) -> Store {
        let disk = self.disk(draft, sheet);
        let cached = self.cache(shared).is_some();
        let ahead = defaults::read_ahead(cached).noted(draft, self.name);
        let plan = self.plan(draft, Some(disk.size));
        // Volumes begin outside, and what is touched at their start.
        let touched = match self.usage.touched {
            0 => self.size,
            touched => self.size.min(touched as f64),
        };
        let disks = f64::from(plan.disks) * plan.usable();
        self.too_large(draft, sheet, self.size / disks);
        let held = touched / disks;
        let per_byte = disk.per_byte(held / disk.size);
        let (bytes, random_share) = overall(&self.usage.reads, &self.usage.writes);
        let gain = match random_share > 0.0 {
            true => disk.gain(bytes / parts_of(&plan, bytes) * per_byte / random_share),
            false => vec![1.0],
        };
        let group = self.stations(draft, plan, Station::Sorted { servers: 1, gain });
        draft.limits(self.hop).servers = Some(group.disks);
        let (position, positioning) = (disk.position(), disk.positioning());
        Store::Rotating(Rotating { group, position, positioning, per_byte, ahead })
    }

    /// What a load asks of rotating disks.
    fn on_rotating(
        &self,
        draft: &mut Draft,
        shared: &ArrayStations,
        of: &Rotating,
        load: &VolumeLoad,
    ) -> MediumWork {
        let cached = self.cache(shared).is_some();
        let per_byte = of.per_byte * PS;
        let work = |mix: &DirectionMix| {
            let moved = self.usage.interrupted() * (mix.bytes() / of.ahead).min(1.0);
            DiskWork {
                random: Demand { time: of.position.clone(), per_byte },
                sequential: Demand { time: constant(moved * of.positioning), per_byte },
                random_share: mix.random(),
                bytes: mix.bytes(),
                gathered: false,
                rewrites: false,
                choice: StripeChoice::Addressed,
            }
        };
        let reads = DiskWork { choice: missed(cached, load), ..work(&load.reads) };
        let writes = work(&load.writes);
        let destages = DiskWork { gathered: cached, ..writes.clone() };
        MediumWork {
            random_read: reading(draft, shared, &of.group, &reads, 1.0),
            stream_read: reading(draft, shared, &of.group, &reads, 0.0),
            write: writing(draft, shared, &of.group, &writes),
            destage: writing(draft, shared, &of.group, &destages),
            written: written_disks(&of.group, &destages),
        }
    }

    /// Solid-state disks.
    fn flash(&self, draft: &mut Draft, sheet: &Sheet) -> Store {
        let mut time =
            |figure| defaults::ssd_time(figure).or(sheet.time(figure)).noted(draft, self.name);
        let (read, write) = (time("read_latency"), time("write_latency"));
        let mut rate =
            |figure| defaults::ssd_rate(figure).or(sheet.rate(figure)).noted(draft, self.name);
        let (read_rate, write_rate) = (rate("read_rate"), rate("write_rate"));
        let channels = defaults::ssd_channels().or(sheet.count("channels")).noted(draft, self.name);
        let plan = self.plan(draft, sheet.bytes("size").map(|size| size as f64));
        let group = self.stations(draft, plan, Station::many(channels));
        draft.limits(self.hop).servers = group.disks.checked_mul(channels);
        let lines = match group.disks {
            1 => FlashLines::One(
                draft.wire(self.hop, WireDirection::Read, read_rate),
                draft.wire(self.hop, WireDirection::Write, write_rate),
            ),
            _ => {
                let each = [read_rate, write_rate]
                    .map(|rate| (self.stations(draft, plan, Station::SINGLE), PS / rate));
                self.count_on(draft, each.map(|(group, _)| group));
                // What is read to be written is counted as written, so that a group with parity has no such limit.
                if !plan.reads_to_write() {
                    let limits = draft.limits(self.hop);
                    let all = |rate: f64| Some(rate * f64::from(group.disks));
                    (limits.read_rate, limits.write_rate) = (all(read_rate), all(write_rate));
                }
                FlashLines::Each(each)
            }
        };
        Store::Flash(Flash { group, read, write, lines })
    }

    /// An I/O passes a channel of a disk and then its line, where it is counted.
    fn count_on(&self, draft: &mut Draft, lines: [RaidGroup; 2]) {
        for group in lines {
            let stations = (0..group.disks).map(|disk| StationId(group.first.0 + disk));
            stations.for_each(|id| draft.pass(self.hop, HopElement::Station(id)));
        }
    }

    /// What a load asks of solid-state disks. A read before a write takes the time of a read: of I/Os that read before they
    /// write, each of the two halves takes the mean of both times.
    fn on_flash(
        &self,
        draft: &mut Draft,
        shared: &ArrayStations,
        of: &Flash,
        load: &VolumeLoad,
    ) -> MediumWork {
        let cached = self.cache(shared).is_some();
        let work = |mix: &DirectionMix, gathered| DiskWork {
            random: Demand::of(constant(of.read)),
            sequential: Demand::of(constant(of.read)),
            random_share: mix.random(),
            bytes: mix.bytes(),
            gathered,
            rewrites: false,
            choice: StripeChoice::Addressed,
        };
        let reads = DiskWork { choice: missed(cached, load), ..work(&load.reads, false) };
        let destages = work(&load.writes, cached);
        MediumWork {
            random_read: of.reading(draft, shared, &reads, 1.0),
            stream_read: of.reading(draft, shared, &reads, 0.0),
            write: of.writing(draft, shared, work(&load.writes, false)),
            written: written_disks(&of.group, &destages),
            destage: of.writing(draft, shared, destages),
        }
    }

    /// A tape drive: one I/O at a time, at the drive's rate.
    fn tape(&self, draft: &mut Draft, scenario: &Scenario) -> Store {
        let sheet = Sheet::of(scenario, self.array.part.as_deref());
        let rate = defaults::tape_rate().or(sheet.rate("drive_rate")).noted(draft, self.name);
        let station = draft.station(self.hop, Station::SINGLE);
        let limits = draft.limits(self.hop);
        (limits.read_rate, limits.write_rate) = (Some(rate), Some(rate));
        (limits.both_rate, limits.servers) = (Some(rate), Some(1));
        let demand = Demand { time: crate::model::Law::ZERO, per_byte: PS / rate };
        Store::Same(vec![Hop::Visit { station, demand }])
    }

    /// The RAID group of the disks, of which each has this capacity if it is known.
    fn plan(&self, draft: &mut Draft, capacity: Option<f64>) -> RaidGroup {
        let disks = self.disks.max(1);
        let luns = self.volume.and_then(|volume| volume.luns).unwrap_or(1).clamp(1, disks);
        let none = self.volume.and_then(|volume| volume.raid) == Some(scenario::Raid::None);
        if none && luns == 1 && disks > 1 {
            return self.in_a_row(draft, capacity);
        }
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

    /// Disks one after the other: those of them that the load touches, each as one unit of a stripe. A disk is full before
    /// the next is used; where its capacity is not known, each has its part of the volume.
    fn in_a_row(&self, draft: &mut Draft, capacity: Option<f64>) -> RaidGroup {
        let most = self.disks.max(1);
        let unit = capacity.unwrap_or(0.0).max(self.size / f64::from(most)).max(1.0).ceil();
        let touched = self.usage.touched as f64;
        let disks = ((touched / unit).ceil() as u32).clamp(1, most);
        if disks > 1 {
            draft.note(format!(
                "{}: the load is on {disks} of its disks, one after the other",
                self.name
            ));
        }
        let unit = if disks == 1 { u64::MAX } else { unit as u64 };
        RaidGroup { first: StationId(0), disks, width: disks, raid: RaidLevel::Striped, unit }
    }

    /// A station for each disk of a group.
    fn stations(&self, draft: &mut Draft, plan: RaidGroup, station: Station) -> RaidGroup {
        let first = draft.station(self.hop, station.clone());
        (1..plan.disks).for_each(|_| {
            draft.station(self.hop, station.clone());
        });
        RaidGroup { first, ..plan }
    }

    /// Notes where disks, whose size is known, would have to hold more than they can.
    fn too_large(&self, draft: &mut Draft, sheet: &Sheet, held: f64) {
        let volume = self.volume.filter(|of| of.size.is_some() && of.disks.is_some());
        let (Some(_), Some(size)) = (volume, sheet.bytes("size")) else { return };
        if held > size as f64 {
            let [held, size] = [held.ceil() as u64, size].map(|bytes| units::size(Bytes(bytes)));
            draft.note(format!(
                "{}: each of its disks would have to hold {held}, and holds {size}: give it more `disks`, or a smaller `size`",
                self.name
            ));
        }
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

impl Flash {
    /// The hops of a read.
    fn reading(
        &self,
        draft: &mut Draft,
        shared: &ArrayStations,
        reads: &DiskWork,
        random: f64,
    ) -> Vec<Hop> {
        let mut hops = reading(draft, shared, &self.group, reads, random);
        match &self.lines {
            FlashLines::One(from, _) => hops.extend(draft.cross(&[*from], 1.0, 0)),
            FlashLines::Each([(from, per_byte), _]) => {
                hops.extend(on_disks(from, Dir::Read, &on_lines(reads, *per_byte, random)));
            }
        }
        hops
    }

    /// The hops of a write.
    fn writing(&self, draft: &mut Draft, shared: &ArrayStations, mut writes: DiskWork) -> Vec<Hop> {
        let before = read_before(&self.group, &writes);
        let half = |before: f64| constant((self.write + before * self.read) / (1.0 + before));
        (writes.random, writes.sequential) =
            (Demand::of(half(before.0)), Demand::of(half(before.1)));
        let mut hops = writing(draft, shared, &self.group, &writes);
        match &self.lines {
            FlashLines::One(_, to) => hops.extend(draft.cross(&[*to], 1.0, 0)),
            FlashLines::Each([(from, read), (to, write)]) => {
                let share = writes.random_share;
                let again = share * before.0 + (1.0 - share) * before.1;
                let old = on_disks(from, Dir::Write, &on_lines(&writes, *read, 1.0));
                hops.extend(mixed(again, old, Vec::new()));
                hops.extend(on_disks(to, Dir::Write, &on_lines(&writes, *write, share)));
            }
        }
        hops
    }
}

/// The same work on lines that take so many picoseconds per byte.
fn on_lines(work: &DiskWork, per_byte: f64, random_share: f64) -> DiskWork {
    let demand = Demand { time: Law::ZERO, per_byte };
    let (random, sequential) = (demand.clone(), demand);
    DiskWork { random, sequential, random_share, rewrites: true, ..work.clone() }
}

/// Where random reads of a load are: by address. Those that miss a cache under a skew are not where the hot blocks are.
fn missed(cached: bool, load: &VolumeLoad) -> StripeChoice {
    match cached && load.skew != Skew::Uniform {
        true => StripeChoice::Drawn,
        false => StripeChoice::Addressed,
    }
}

/// Sequential reads by the disks in the background, a window in front of the reader.
fn read_ahead((pool, tokens): (PoolId, u32), mut work: Vec<Hop>) -> Vec<Hop> {
    work.push(Hop::Give { pool, tokens });
    vec![Hop::Take { pool, tokens }, Hop::Fork { route: work.into() }]
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

/// The hops of a read on a group's disks, and from them.
fn reading(
    draft: &mut Draft,
    shared: &ArrayStations,
    group: &RaidGroup,
    reads: &DiskWork,
    random_share: f64,
) -> Vec<Hop> {
    let mut hops = on_disks(group, Dir::Read, &DiskWork { random_share, ..reads.clone() });
    hops.extend(shared.off_disks(draft, 1.0));
    hops
}

/// The hops of a write to a group's disks, and on them.
fn writing(
    draft: &mut Draft,
    shared: &ArrayStations,
    group: &RaidGroup,
    writes: &DiskWork,
) -> Vec<Hop> {
    let (again, written) = transfers(group, writes);
    let mut hops: Vec<Hop> = shared.onto_disks(draft, written).into_iter().collect();
    hops.extend(shared.off_disks(draft, again));
    hops.extend(on_disks(group, Dir::Write, writes));
    hops
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

//! What a trace holds, counted as its I/Os pass: memory depends on what it touches, not on how long it is.

use crate::{Tally, TraceIo};
use clock::Ns;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use workload::Dir;

/// Sizes that are counted one by one; the others count as the power of two above.
const SIZES: usize = 4096;
/// Runs that are followed at once on a device, as caches and disks follow them.
const RUNS: usize = 64;
/// The unit in which the touched part is counted.
pub(crate) const CHUNK: u64 = 64 << 10;
/// Groups of 64 chunks that are counted.
const GROUPS: usize = 1 << 22;
/// I/Os in flight that are followed.
const FLIGHT: usize = 1 << 20;

/// How often a size occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeCount {
    /// Direction.
    pub dir: Dir,
    /// Bytes.
    pub len: u32,
    /// I/Os.
    pub count: u64,
}

/// A device of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceExtent {
    /// Its name in the trace.
    pub name: String,
    /// I/Os to it.
    pub ios: u64,
    /// The first byte that was accessed.
    pub begin: u64,
    /// The first byte after all that was accessed.
    pub end: u64,
    /// Bytes of it that were touched, in chunks of 64 KiB.
    pub touched: u64,
}

/// What a trace holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceFacts {
    /// I/Os.
    pub ios: u64,
    /// From the first issue to the last.
    pub span: Ns,
    /// Bytes read and written.
    pub bytes: [u64; 2],
    /// I/Os by what they do, in the order of [`TraceFacts::DIRS`].
    pub by_dir: [u64; 5],
    /// Writes with FUA.
    pub fua: u64,
    /// The largest I/O that moves data.
    pub largest: u32,
    /// The largest power of two that divides all offsets and lengths.
    pub granule: u64,
    /// I/Os that moved data and began where one of the last runs of their direction ended.
    pub sequential: u64,
    /// I/Os with a latency.
    pub timed: u64,
    /// Sum of all latencies.
    pub latency: Ns,
    /// The part of that sum which lies after the last issue.
    pub after: Ns,
    /// Most I/Os in flight at once, of those with a latency.
    pub outstanding: u64,
    /// Processes that issued.
    pub issuers: u64,
    /// How often each size occurs, the most frequent first.
    pub sizes: Vec<SizeCount>,
    /// The devices, by their index.
    pub devices: Vec<DeviceExtent>,
    /// What the reader met.
    pub tally: Tally,
    /// SHA-256 of all before the end, where it is of the compact form.
    pub digest: String,
}

/// Counts I/Os.
#[derive(Default)]
pub struct Summary {
    facts: TraceFacts,
    sizes: BTreeMap<(Dir, u32), u64>,
    mask: u64,
    runs: BTreeMap<(u16, Dir), VecDeque<u64>>,
    /// Chunks that were touched, 64 a word.
    touched: BTreeMap<(u16, u64), u64>,
    flight: BinaryHeap<Reverse<Ns>>,
    issuers: BTreeMap<u32, ()>,
}

impl Summary {
    /// Counts an I/O; they come in order of issue.
    pub fn add(&mut self, io: &TraceIo) {
        let facts = &mut self.facts;
        facts.ios += 1;
        facts.span = facts.span.max(io.at);
        facts.by_dir[place(io.dir)] += 1;
        facts.fua += u64::from(io.fua);
        let device = usize::from(io.device);
        if facts.devices.len() <= device {
            let untouched = DeviceExtent { begin: u64::MAX, ..DeviceExtent::default() };
            facts.devices.resize(device + 1, untouched);
        }
        facts.devices[device].ios += 1;
        if self.issuers.len() < 1 << 16 {
            self.issuers.insert(io.issuer, ());
        }
        if let Some(latency) = io.latency {
            facts.timed += 1;
            facts.latency = facts.latency.plus(latency);
            while self.flight.peek().is_some_and(|Reverse(end)| *end <= io.at) {
                self.flight.pop();
            }
            if self.flight.len() < FLIGHT {
                self.flight.push(Reverse(io.at.plus(latency)));
            }
            facts.outstanding = facts.outstanding.max(self.flight.len() as u64);
        }
        if io.dir == Dir::Flush {
            return;
        }
        self.mask |= io.offset | u64::from(io.len);
        let extent = &mut facts.devices[device];
        extent.begin = extent.begin.min(io.offset);
        extent.end = extent.end.max(io.end());
        if io.dir.moves_data() {
            facts.bytes[usize::from(io.dir == Dir::Write)] += u64::from(io.len);
            facts.largest = facts.largest.max(io.len);
            self.facts.sequential += u64::from(follows(&mut self.runs, io));
        }
        let len = match self.sizes.len() < SIZES || self.sizes.contains_key(&(io.dir, io.len)) {
            true => io.len,
            false => io.len.checked_next_power_of_two().unwrap_or(u32::MAX),
        };
        *self.sizes.entry((io.dir, len)).or_default() += 1;
        if io.len > 0 {
            self.touch(io);
        }
    }

    fn touch(&mut self, io: &TraceIo) {
        let (first, last) = (io.offset / CHUNK, (io.end() - 1) / CHUNK);
        for group in first / 64..=last / 64 {
            if self.touched.len() >= GROUPS {
                return;
            }
            let from = if group == first / 64 { first % 64 } else { 0 };
            let to = if group == last / 64 { last % 64 } else { 63 };
            let bits = (u64::MAX >> (63 - to)) & (u64::MAX << from);
            *self.touched.entry((io.device, group)).or_default() |= bits;
        }
    }

    /// What was counted, with the devices' names and what the reader met.
    pub fn finish(self, devices: &[String], tally: &Tally) -> TraceFacts {
        let mut facts = self.facts;
        for ((device, _), bits) in &self.touched {
            facts.devices[usize::from(*device)].touched += u64::from(bits.count_ones()) * CHUNK;
        }
        for (extent, name) in facts.devices.iter_mut().zip(devices) {
            name.clone_into(&mut extent.name);
        }
        for extent in &mut facts.devices {
            extent.begin = extent.begin.min(extent.end);
        }
        facts.granule = if self.mask == 0 { 0 } else { 1 << self.mask.trailing_zeros().min(30) };
        facts.issuers = self.issuers.len() as u64;
        let after = self.flight.iter().map(|Reverse(end)| end.since(facts.span).0);
        facts.after = Ns(after.fold(0, u64::saturating_add));
        let count = |((dir, len), count): (&(Dir, u32), &u64)| {
            let (dir, len, count) = (*dir, *len, *count);
            SizeCount { dir, len, count }
        };
        facts.sizes = self.sizes.iter().map(count).collect();
        facts.sizes.sort_by_key(|size| Reverse(size.count));
        facts.tally = tally.clone();
        if self.touched.len() >= GROUPS {
            facts
                .tally
                .note("more is touched than was counted: what is touched is at least so much");
        }
        facts
    }
}

/// Whether it goes on where one of the last runs ended, which it then moves on.
fn follows(runs: &mut BTreeMap<(u16, Dir), VecDeque<u64>>, io: &TraceIo) -> bool {
    let runs = runs.entry((io.device, io.dir)).or_default();
    let found = runs.iter().position(|end| *end == io.offset);
    match found {
        Some(run) => {
            runs.remove(run);
        }
        None if runs.len() == RUNS => {
            runs.pop_back();
        }
        None => {}
    }
    runs.push_front(io.end());
    found.is_some()
}

/// The place of a direction in [`TraceFacts::DIRS`].
pub(crate) fn place(dir: Dir) -> usize {
    TraceFacts::DIRS.iter().position(|other| *other == dir).unwrap_or(0)
}

impl TraceFacts {
    /// What I/Os do, in the order of [`TraceFacts::by_dir`].
    pub const DIRS: [Dir; 5] = [Dir::Read, Dir::Write, Dir::Trim, Dir::Zero, Dir::Flush];

    /// I/Os of a direction.
    pub fn of(&self, dir: Dir) -> u64 {
        self.by_dir[place(dir)]
    }

    /// Bytes touched on all devices.
    pub fn touched(&self) -> u64 {
        self.devices.iter().map(|device| device.touched).sum()
    }

    /// Mean I/Os in flight between the first issue and the last; `None` where no latencies are known.
    pub fn concurrency(&self) -> Option<f64> {
        let known = self.timed > 0 && self.span > Ns::ZERO;
        known.then(|| {
            self.latency.since(self.after).as_secs_f64() / self.span.as_secs_f64() * self.ios as f64
                / self.timed as f64
        })
    }

    pub(crate) fn text(&self) -> String {
        let list = |all: &[u64]| all.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let t = &self.tally;
        let mut text = format!(
            "ios {}\nspan {}\nbytes {}\nkinds {}\nfua {}\nlargest {}\ngranule {}\nsequential {}\ntimed {}\nlatency {}\nafter {}\n\
             outstanding {}\nissuers {}\ntally {}\ndigest {}\n",
            self.ios,
            self.span.0,
            list(&self.bytes),
            list(&self.by_dir),
            self.fua,
            self.largest,
            self.granule,
            self.sequential,
            self.timed,
            self.latency.0,
            self.after.0,
            self.outstanding,
            self.issuers,
            list(&[
                t.records,
                t.merged,
                t.split,
                t.partial,
                t.requeued,
                t.disordered,
                t.clamped,
                t.open,
                t.stray,
                t.failed,
                t.other,
                t.dropped
            ]),
            self.digest,
        );
        for SizeCount { dir, len, count } in &self.sizes {
            text += &format!("size {} {len} {count}\n", place(*dir));
        }
        for (number, DeviceExtent { name, ios, begin, end, touched }) in
            self.devices.iter().enumerate()
        {
            text += &format!("device {ios} {end} {touched} {}\n", crate::form::line(name));
            text += &format!("begin {number} {begin}\n");
        }
        for note in &self.tally.notes {
            text += &format!("note {}\n", crate::form::line(note));
        }
        text
    }

    /// The reverse of [`TraceFacts::text`]; a line that cannot be read is the error. Unknown keys are left to later versions.
    pub(crate) fn parse(text: &str) -> Result<TraceFacts, String> {
        let mut facts = TraceFacts::default();
        for line in text.lines() {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            facts.set(key, value).ok_or_else(|| crate::error::shown(line))?;
        }
        Ok(facts)
    }

    fn set(&mut self, key: &str, value: &str) -> Option<()> {
        let one = || value.parse::<u64>().ok();
        match key {
            "ios" => self.ios = one()?,
            "span" => self.span = Ns(one()?),
            "bytes" => self.bytes = numbers(value)?,
            "kinds" => self.by_dir = numbers(value)?,
            "fua" => self.fua = one()?,
            "largest" => self.largest = u32::try_from(one()?).ok()?,
            "granule" => self.granule = one()?,
            "sequential" => self.sequential = one()?,
            "timed" => self.timed = one()?,
            "latency" => self.latency = Ns(one()?),
            "after" => self.after = Ns(one()?),
            "outstanding" => self.outstanding = one()?,
            "issuers" => self.issuers = one()?,
            "tally" => {
                let t = &mut self.tally;
                [
                    t.records,
                    t.merged,
                    t.split,
                    t.partial,
                    t.requeued,
                    t.disordered,
                    t.clamped,
                    t.open,
                    t.stray,
                    t.failed,
                    t.other,
                    t.dropped,
                ] = numbers(value)?;
            }
            "digest" => value.clone_into(&mut self.digest),
            "size" => {
                let [dir, len, count] = numbers(value)?;
                let dir = *TraceFacts::DIRS.get(usize::try_from(dir).ok()?)?;
                let len = u32::try_from(len).ok()?;
                self.sizes.push(SizeCount { dir, len, count });
            }
            "device" => {
                let mut parts = value.splitn(4, ' ');
                let mut next = || parts.next()?.parse().ok();
                let (ios, end, touched) = (next()?, next()?, next()?);
                let name = parts.next().unwrap_or_default().to_owned();
                self.devices.push(DeviceExtent { name, ios, begin: 0, end, touched });
            }
            "begin" => {
                let [device, begin] = numbers(value)?;
                self.devices.get_mut(usize::try_from(device).ok()?)?.begin = begin;
            }
            "note" => self.tally.note(value),
            _ => {}
        }
        Some(())
    }
}

fn numbers<const N: usize>(text: &str) -> Option<[u64; N]> {
    let all: Option<Vec<u64>> = text.split(' ').map(|word| word.parse().ok()).collect();
    all?.try_into().ok()
}

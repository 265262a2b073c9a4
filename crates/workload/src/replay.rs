//! A recorded trace as a workload: what is replayed and how, where its I/Os fall on targets of another size, and when each is due.

use crate::{Dir, Op, Placement, SpecError};
use clock::Ns;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

/// The unit in which a larger trace is laid closer together.
pub const CHUNK: u64 = 1 << 20;

/// A trace that is replayed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceSpec {
    /// The file, in Wirespeed's own form.
    pub file: String,
    /// When I/Os are issued.
    pub mode: ReplayMode,
    /// Times are divided by it.
    pub speed: f64,
    /// Whether what changes the targets is replayed as well.
    pub writes: bool,
    /// What becomes of a trace that is larger than its targets.
    pub remap: Remap,
    /// I/Os that do not fit the targets' logical blocks are rounded outward.
    pub round: bool,
    /// Where in the trace the replay begins.
    pub from: Ns,
    /// How much of it is replayed; `None` = all that follows.
    pub length: Option<Ns>,
    /// SHA-256 of the trace, where it is known.
    pub digest: String,
    /// The I/Os, once they are loaded. They do not travel: each agent loads its file.
    #[serde(skip)]
    pub ops: Option<TraceOps>,
}

/// When the I/Os of a trace are issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayMode {
    /// At their recorded times, whatever the targets do.
    #[default]
    Open,
    /// After those that had completed before it was issued, with the recorded pause between.
    Closed,
    /// In their order, as fast as they complete.
    Fast,
}

/// What becomes of a trace that is larger than its targets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remap {
    /// The parts that it touches are laid closer together, in their order; the untouched ones go.
    #[default]
    Compact,
    /// As `Compact`; what still does not fit begins again at the target's start, so that the working set shrinks to it.
    Fold,
    /// It is refused.
    Refuse,
}

/// The I/Os of a trace, shared by those who replay them.
#[derive(Clone, Debug)]
pub struct TraceOps(pub Arc<[TraceOp]>);

impl PartialEq for TraceOps {
    fn eq(&self, other: &TraceOps) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

/// An I/O of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceOp {
    /// When it was issued, since the start of what is replayed.
    pub at: Ns,
    /// Byte offset on its device.
    pub offset: u64,
    /// From issue to completion; [`Ns::MAX`] where the trace does not say.
    pub latency: Ns,
    /// Bytes.
    pub len: u32,
    /// Who issued it.
    pub issuer: u32,
    /// Its device.
    pub device: u16,
    /// What it does.
    pub dir: Dir,
    /// It has FUA.
    pub fua: bool,
}

/// An I/O where it is issued.
#[derive(Clone, Copy)]
struct Played {
    due: u64,
    offset: u64,
    len: u32,
    target: u16,
    dir: Dir,
    fua: bool,
}

/// Issues the I/Os of a trace. Allocates nothing after `new`.
pub struct Replay {
    ops: Box<[Played]>,
    next: usize,
    order: Order,
    how: String,
    /// Closed: the moment for which a caller has been sent away already.
    promised: Ns,
    token: u32,
}

enum Order {
    Open,
    Fast,
    Closed(Box<Lanes>),
}

/// The I/Os of each issuer, in the order in which they wait for each other.
struct Lanes {
    lanes: Box<[Lane]>,
    /// The I/Os of all lanes, one lane after the other, in order of issue.
    order: Box<[u32]>,
    /// For each I/O its lane, its place among the completions of the lane, how many of these it waits for, and the pause after
    /// them.
    links: Box<[Link]>,
    /// When so many of a lane's completions had come; [`u64::MAX`] where one has not.
    reached: Box<[u64]>,
    /// Lanes whose next I/O waits for time alone.
    ready: BinaryHeap<Reverse<(u64, u32)>>,
}

struct Lane {
    from: u32,
    to: u32,
    next: u32,
    /// So many completions in recorded order have come.
    done: u32,
    latest: u64,
}

#[derive(Clone, Copy)]
struct Link {
    lane: u32,
    rank: u32,
    after: u32,
    pause: u64,
}

impl TraceSpec {
    /// A replay of a file at its recorded times, reads only.
    pub fn new(file: impl Into<String>) -> TraceSpec {
        TraceSpec {
            file: file.into(),
            mode: ReplayMode::Open,
            speed: 1.0,
            writes: false,
            remap: Remap::Compact,
            round: false,
            from: Ns::ZERO,
            length: None,
            digest: String::new(),
            ops: None,
        }
    }

    /// I/Os a second that are due from `start` on for `length`, where they are loaded.
    pub fn due_in(&self, start: Ns, length: Ns) -> Option<f64> {
        let TraceOps(ops) = self.ops.as_ref()?;
        let upto =
            |moment: Ns| ops.partition_point(|op| scaled(op.at.0, self.speed) < moment.0) as f64;
        let seconds = length.as_secs_f64();
        (seconds > 0.0).then(|| (upto(start.plus(length)) - upto(start)) / seconds)
    }

    /// Whether an I/O of this kind is replayed.
    pub fn replays(&self, dir: Dir) -> bool {
        dir == Dir::Read || self.writes
    }
}

fn wrong(problem: String) -> SpecError {
    SpecError::Invalid { field: "file", problem }
}

impl Replay {
    /// Prepares a replay onto targets.
    /// # Errors
    /// Where the trace does not fit them, or cannot be replayed so.
    pub fn new(spec: &TraceSpec, place: &Placement) -> Result<Replay, SpecError> {
        let Some(TraceOps(ops)) = &spec.ops else {
            return Err(wrong(format!("the trace {} has not been loaded", spec.file)));
        };
        if place.targets.is_empty() {
            return Err(SpecError::NoTargets);
        }
        if u32::try_from(ops.len()).is_err() {
            return Err(wrong(format!(
                "{} I/Os in one replay; take a part by `length`",
                ops.len()
            )));
        }
        let layout = Layout::new(spec, ops, place)?;
        let start = place.start.0;
        let due = |at: Ns| start.saturating_add(scaled(at.0, spec.speed));
        let played = |op: &TraceOp| -> Result<Played, SpecError> {
            let (target, offset, len) = layout.place(op, place)?;
            Ok(Played { due: due(op.at), offset, len, target, dir: op.dir, fua: op.fua })
        };
        let played = ops.iter().map(played).collect::<Result<_, _>>()?;
        let order = match spec.mode {
            ReplayMode::Open => Order::Open,
            ReplayMode::Fast => Order::Fast,
            ReplayMode::Closed => Order::Closed(Box::new(Lanes::new(ops, spec.speed, start)?)),
        };
        let how = layout.how;
        Ok(Replay { ops: played, next: 0, order, how, promised: Ns::MAX, token: 0 })
    }

    /// How the trace was laid onto the targets.
    pub fn how(&self) -> &str {
        &self.how
    }

    /// When the next I/O is due: [`Ns::MAX`] where it waits for completions, or there is none.
    #[inline]
    pub fn arrival(&self, now: Ns) -> Ns {
        match &self.order {
            Order::Open => self.ops.get(self.next).map_or(Ns::MAX, |op| Ns(op.due)),
            Order::Fast => {
                if self.next < self.ops.len() {
                    now
                } else {
                    Ns::MAX
                }
            }
            Order::Closed(lanes) => {
                lanes.ready.peek().map_or(Ns::MAX, |Reverse((due, _))| Ns(*due))
            }
        }
    }

    /// The next I/O, where one is due by `now`, with the number by which its completion is reported.
    #[inline]
    pub fn next(&mut self, now: Ns) -> Option<(u32, Op)> {
        let arrival = self.arrival(now);
        if arrival > now || arrival == Ns::MAX {
            return None;
        }
        let number = match &mut self.order {
            Order::Open | Order::Fast => {
                self.next += 1;
                self.next as u32 - 1
            }
            Order::Closed(lanes) => lanes.take()?,
        };
        let Played { offset, len, target, dir, fua, .. } = *self.ops.get(number as usize)?;
        Some((number, Op { dir, target, offset, len, fua, due: arrival }))
    }

    /// The I/O of this number completed at `now`.
    #[inline]
    pub fn completed(&mut self, number: u32, now: Ns) {
        if let Order::Closed(lanes) = &mut self.order {
            lanes.completed(number, now.0);
        }
    }

    /// Whether all I/Os have been issued.
    pub fn is_done(&self) -> bool {
        match &self.order {
            Order::Open | Order::Fast => self.next >= self.ops.len(),
            Order::Closed(lanes) => lanes.lanes.iter().all(|lane| lane.next == lane.to),
        }
    }

    /// As a stream: what to do at `now`. A caller that has been sent away until some moment is not sent there twice.
    pub(crate) fn ask(&mut self, now: Ns) -> crate::Next {
        if let Some((number, op)) = self.next(now) {
            (self.token, self.promised) = (number, Ns::MAX);
            return crate::Next::Op(op);
        }
        let at = self.arrival(now);
        if at == Ns::MAX {
            return if self.is_done() { crate::Next::Done } else { crate::Next::AwaitCompletion };
        }
        if matches!(self.order, Order::Closed(_)) && self.promised <= at && self.promised > now {
            return crate::Next::AwaitCompletion;
        }
        self.promised = at;
        crate::Next::At(at)
    }

    /// The number of the I/O that [`Replay::ask`] gave last.
    pub(crate) fn token(&self) -> u32 {
        self.token
    }
}

fn scaled(ns: u64, speed: f64) -> u64 {
    if speed == 1.0 { ns } else { (ns as f64 / speed) as u64 }
}

impl Lanes {
    fn new(ops: &[TraceOp], speed: f64, start: u64) -> Result<Lanes, SpecError> {
        let unknown = ops.iter().filter(|op| op.latency == Ns::MAX).count();
        if unknown * 2 > ops.len() {
            return Err(wrong(format!(
                "{unknown} of {} I/Os have no latency, so what an I/O waited for is not known; replay it by `mode = \
                 \"open\"` or `mode = \"fast\"`",
                ops.len()
            )));
        }
        let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
        for op in ops {
            let next = numbers.len() as u32;
            numbers.entry(op.issuer).or_insert(next);
        }
        let mut members: Vec<Vec<u32>> = vec![Vec::new(); numbers.len()];
        for (number, op) in (0..).zip(ops) {
            members[numbers[&op.issuer] as usize].push(number);
        }
        let mut links = vec![Link { lane: 0, rank: 0, after: 0, pause: 0 }; ops.len()];
        let (mut lanes, mut order) =
            (Vec::with_capacity(members.len()), Vec::with_capacity(ops.len()));
        // What takes no time would have completed before those that are issued with it.
        let end = |number: u32| {
            let op = &ops[number as usize];
            if op.latency == Ns::MAX {
                u64::MAX
            } else {
                op.at.0.saturating_add(op.latency.0.max(1))
            }
        };
        for (lane, members) in (0..).zip(&members) {
            let mut ends: Vec<u32> = members.clone();
            ends.sort_by_key(|number| (end(*number), *number));
            for (rank, number) in (0..).zip(&ends) {
                (links[*number as usize].lane, links[*number as usize].rank) = (lane, rank);
            }
            let mut after = 0;
            for number in members {
                let at = ops[*number as usize].at.0;
                while ends.get(after).is_some_and(|ended| end(*ended) <= at) {
                    after += 1;
                }
                let since = after.checked_sub(1).map_or(0, |last| end(ends[last]));
                let link = &mut links[*number as usize];
                (link.after, link.pause) = (after as u32, scaled(at - since, speed));
            }
            let from = order.len() as u32;
            order.extend_from_slice(members);
            let to = order.len() as u32;
            lanes.push(Lane { from, to, next: from, done: 0, latest: start });
        }
        let mut made = Lanes {
            ready: BinaryHeap::with_capacity(lanes.len()),
            lanes: lanes.into(),
            order: order.into(),
            links: links.into(),
            reached: vec![u64::MAX; ops.len()].into(),
        };
        for lane in 0..made.lanes.len() as u32 {
            made.arm(lane, start);
        }
        Ok(made)
    }

    /// A lane whose next I/O waits for no completion waits for time.
    fn arm(&mut self, number: u32, start: u64) {
        let lane = &mut self.lanes[number as usize];
        if lane.next == lane.to {
            return;
        }
        let link = self.links[self.order[lane.next as usize] as usize];
        if link.after > lane.done {
            return;
        }
        let since = match link.after {
            0 => start,
            after => self.reached[(lane.from + after - 1) as usize],
        };
        lane.latest = lane.latest.max(since.saturating_add(link.pause));
        self.ready.push(Reverse((lane.latest, number)));
    }

    fn take(&mut self) -> Option<u32> {
        let Reverse((_, number)) = self.ready.pop()?;
        let lane = &mut self.lanes[number as usize];
        let op = self.order[lane.next as usize];
        lane.next += 1;
        self.arm(number, 0);
        Some(op)
    }

    fn completed(&mut self, op: u32, now: u64) {
        let Some(Link { lane: number, rank, .. }) = self.links.get(op as usize).copied() else {
            return;
        };
        let lane = &mut self.lanes[number as usize];
        let before = lane.done;
        self.reached[(lane.from + rank) as usize] = now;
        while lane.from + lane.done < lane.to {
            let place = (lane.from + lane.done) as usize;
            if self.reached[place] == u64::MAX {
                break;
            }
            self.reached[place] = now;
            lane.done += 1;
        }
        // It was not waiting for time already if its next I/O needed one of those that have just come.
        if lane.next < lane.to {
            let needs = self.links[self.order[lane.next as usize] as usize].after;
            if needs > before && needs <= lane.done {
                self.arm(number, 0);
            }
        }
    }
}

/// Where the devices of a trace lie on the targets.
struct Layout {
    devices: BTreeMap<u16, Region>,
    fold: bool,
    round: bool,
    how: String,
}

/// A device of a trace on a target.
struct Region {
    target: u16,
    base: u64,
    /// Its touched chunks in their order, where it is laid closer together.
    chunks: Option<Vec<u64>>,
}

impl Layout {
    fn new(spec: &TraceSpec, ops: &[TraceOp], place: &Placement) -> Result<Layout, SpecError> {
        let mut ends: BTreeMap<u16, u64> = BTreeMap::new();
        for op in ops {
            let end = ends.entry(op.device).or_default();
            *end = (*end).max(op.offset.saturating_add(op.len.into()));
        }
        let targets = place.targets.len();
        let of = |number: usize| number % targets;
        let mut needed = vec![0u64; targets];
        for (number, end) in ends.values().enumerate() {
            let sum = &mut needed[of(number)];
            *sum = sum.saturating_add(end.div_ceil(CHUNK).saturating_mul(CHUNK));
        }
        // The last chunk may be cut off.
        let fits = |target: usize, needed: u64, alone: Option<u64>| {
            let size = place.targets[target].size;
            needed <= size || alone.is_some_and(|end| end <= size)
        };
        let alone = |target: usize| {
            let mut on = ends.values().enumerate().filter(|(number, _)| of(*number) == target);
            let first = on.next().map(|(_, end)| *end);
            if on.next().is_none() { first } else { None }
        };
        let plain = (0..targets).all(|target| fits(target, needed[target], alone(target)));
        let mut layout =
            Layout { devices: BTreeMap::new(), fold: false, round: spec.round, how: String::new() };
        if plain {
            let mut bases = vec![0; targets];
            for (number, (device, end)) in ends.iter().enumerate() {
                let target = of(number);
                let region = Region { target: target as u16, base: bases[target], chunks: None };
                bases[target] += end.div_ceil(CHUNK) * CHUNK;
                layout.devices.insert(*device, region);
            }
            layout.how = format!("{} at its recorded offsets", devices(ends.len()));
            return Ok(layout);
        }
        layout.compact(spec, ops, place, &ends)?;
        Ok(layout)
    }

    /// Lays what is touched closer together.
    fn compact(
        &mut self,
        spec: &TraceSpec,
        ops: &[TraceOp],
        place: &Placement,
        ends: &BTreeMap<u16, u64>,
    ) -> Result<(), SpecError> {
        let targets = place.targets.len();
        let largest = ends.values().max().copied().unwrap_or(0);
        let room: u64 = place.targets.iter().map(|target| target.size).sum();
        if spec.remap == Remap::Refuse {
            return Err(wrong(format!(
                "the trace reaches up to byte {largest} of a device, and the targets hold {room} bytes; `remap = \
                 \"compact\"` lays the touched parts closer together"
            )));
        }
        let mut touched: BTreeMap<u16, Vec<u64>> = BTreeMap::new();
        for op in ops.iter().filter(|op| op.len > 0) {
            let chunks = touched.entry(op.device).or_default();
            for chunk in op.offset / CHUNK..=(op.offset.saturating_add(op.len.into()) - 1) / CHUNK {
                if chunks.last() != Some(&chunk) {
                    chunks.push(chunk);
                }
            }
            if chunks.len() > 1 << 22 {
                chunks.sort_unstable();
                chunks.dedup();
            }
        }
        let mut bases = vec![0u64; targets];
        for (number, device) in ends.keys().enumerate() {
            let mut chunks = touched.remove(device).unwrap_or_default();
            chunks.sort_unstable();
            chunks.dedup();
            let target = number % targets;
            let length = chunks.len() as u64 * CHUNK;
            let region =
                Region { target: target as u16, base: bases[target], chunks: Some(chunks) };
            bases[target] += length;
            self.devices.insert(*device, region);
        }
        let short = (0..targets).find(|target| bases[*target] > place.targets[*target].size);
        self.fold = short.is_some();
        if let Some(target) = short.filter(|_| spec.remap != Remap::Fold) {
            return Err(wrong(format!(
                "the trace touches {} bytes and its target holds {}: give it a larger one, more targets, or `remap = \
                 \"fold\"`, which shrinks the working set",
                bases[target], place.targets[target].size
            )));
        }
        let touched: u64 = bases.iter().sum();
        self.how = format!(
            "{} with {} MiB touched up to {} MiB, laid closer together in parts of 1 MiB: order and distance within a \
             part are kept{}",
            devices(ends.len()),
            touched / CHUNK,
            largest.div_ceil(CHUNK),
            if self.fold { "; folded, so that the working set is the target's size" } else { "" }
        );
        Ok(())
    }

    /// Where an I/O is issued.
    fn place(&self, op: &TraceOp, place: &Placement) -> Result<(u16, u64, u32), SpecError> {
        let Some(region) = self.devices.get(&op.device) else { return Err(SpecError::NoTargets) };
        if op.dir == Dir::Flush {
            return Ok((region.target, 0, 0));
        }
        let extent = &place.targets[usize::from(region.target)];
        let mut offset = region.base
            + match &region.chunks {
                None => op.offset,
                Some(chunks) => {
                    let number = chunks.partition_point(|chunk| *chunk < op.offset / CHUNK) as u64;
                    number * CHUNK + op.offset % CHUNK
                }
            };
        let block = u64::from(extent.block.max(1));
        let mut len = u64::from(op.len);
        if self.round {
            let end = (offset + len).next_multiple_of(block);
            offset = offset / block * block;
            len = end - offset;
        } else if !offset.is_multiple_of(block) || !len.is_multiple_of(block) {
            return Err(wrong(format!(
                "the I/O of {len} bytes at {} does not fit the target's logical blocks of {block} bytes; `round = true` \
                 extends such I/Os outward",
                op.offset
            )));
        }
        let room = extent.size / block * block;
        if len > room {
            return Err(wrong(format!("an I/O of {len} bytes, and the target holds {room}")));
        }
        if self.fold {
            offset = offset % room / block * block;
        }
        Ok((region.target, offset.min(room - len), len as u32))
    }
}

fn devices(count: usize) -> String {
    if count == 1 { "1 device".to_owned() } else { format!("{count} devices") }
}

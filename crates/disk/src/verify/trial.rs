//! Trials of verification against a disk in memory: thousands of loads, each repeatable from its seed.
//!
//! The disk is honest or lies. An honest one may complete in any order, take I/Os one by one, fail reads, and fail writes
//! of which all, some or no blocks have arrived: nothing of that is a fault. A lying one acknowledges what it did not
//! do, or did otherwise: every trial injects every lie of its kind, and must find it at its address.
//!
//! Left out on purpose: lies about blocks of which nothing is known yet, since no verification can see them, and lies
//! that a later write covers up.

use super::block::{BlockHeader, BlockReading, HEADER};
use super::examiner::{Examiner, Findings};
use super::fault::{FaultKind, VerifyFault};
use super::state::TargetState;
use super::verifier::VerifierSpec;
use crate::feed::{Feed, IoBatch, feed};
use crate::{Arena, Completion, Io, Payload, PayloadOpener};
use clock::{Ns, Rng};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use workload::{
    Arrivals, Dir, Durability, Extent, Ladder, Placement, Process, Regions, Row, Skew, Spec,
    StreamKey, Transaction, WorkloadKind as Work,
};

/// What the disk does to the write it picks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum DiskFault {
    /// Nothing is written.
    Lost,
    /// Only some of its blocks are.
    TornBetweenBlocks,
    /// One of its blocks is half old, half new.
    TornWithinABlock,
    /// The target goes back to what it held two generations ago, or to one that had been overwritten and read.
    Stale,
    /// It is written somewhere else.
    Misplaced,
    /// It is written where it should be and once more somewhere else.
    Duplicated,
    /// It is exchanged with another write in flight.
    Swapped,
    /// One bit is flipped.
    Flipped,
    /// Zeros are written.
    Zeros,
    /// Foreign data is there.
    Garbage,
    /// It is acknowledged at once and written after the next read.
    Late,
}

const LIES: [DiskFault; 11] = [
    DiskFault::Lost,
    DiskFault::TornBetweenBlocks,
    DiskFault::TornWithinABlock,
    DiskFault::Stale,
    DiskFault::Misplaced,
    DiskFault::Duplicated,
    DiskFault::Swapped,
    DiskFault::Flipped,
    DiskFault::Zeros,
    DiskFault::Garbage,
    DiskFault::Late,
];

/// An I/O in flight, with the data of a write as it was submitted.
struct TrialIo {
    io: Io,
    data: Vec<u8>,
}

/// One worker's load on disks in memory.
struct Trial {
    rng: Rng,
    disks: Vec<Vec<u8>>,
    /// What the disks held before each write, so that the past can come back.
    past: Vec<(u16, u64, Vec<u8>)>,
    states: Vec<Arc<TargetState>>,
    arena: Arena,
    payload: Box<dyn Payload>,
    feed: Box<dyn Feed>,
    batch: IoBatch,
    flights: Vec<TrialIo>,
    now: Ns,
    /// Share of I/Os that fail.
    failing: f64,
    /// I/Os that verification said were wrong.
    accused: u64,
}

fn extent(blocks: u64, block: u32) -> Extent {
    Extent { size: blocks * u64::from(block), block }
}

fn states(extents: &[Extent]) -> Vec<Arc<TargetState>> {
    let state =
        |extent: &Extent| Arc::new(TargetState::new("t".to_owned(), *extent).expect("memory"));
    extents.iter().map(state).collect()
}

impl Trial {
    fn new(seed: u64, spec: &Spec, extents: &[Extent], states: Vec<Arc<TargetState>>) -> Trial {
        Trial::shared(seed, spec, extents, states, (0, 1))
    }

    fn shared(
        seed: u64,
        spec: &Spec,
        extents: &[Extent],
        states: Vec<Arc<TargetState>>,
        (sharer, sharers): (u32, u32),
    ) -> Trial {
        let slots = spec.outstanding_max();
        let block_max = workload::IoDemand::of(spec).block_max;
        let arena = Arena::new(slots, block_max).expect("memory");
        let place = Placement { targets: extents.to_vec(), sharer, sharers, start: Ns::ZERO };
        let key = StreamKey { seed, step: 0, worker: sharer, slot: 0 };
        let verification = VerifierSpec {
            states: states.clone(),
            all: states.clone(),
            worker: sharer,
            step: 0,
            block_max,
            lead: Default::default(),
            writers: Default::default(),
        };
        let mut rng = Rng::keyed(seed, &[1]);
        let disk = |extent: &Extent| {
            let mut disk = vec![0; extent.size as usize];
            rng.fill(&mut disk);
            disk
        };
        Trial {
            disks: extents.iter().map(disk).collect(),
            past: Vec::new(),
            states,
            payload: Box::new(verification).open(&arena, slots).expect("memory"),
            arena,
            feed: feed(spec, &place, key).expect("a sound spec"),
            batch: IoBatch::with_capacity(slots),
            flights: Vec::new(),
            now: Ns::ZERO,
            failing: 0.0,
            accused: 0,
            rng,
        }
    }

    fn buffer(&mut self, io: &Io) -> &mut [u8] {
        let base = self.arena.slot(io.slot).expect("a slot");
        // SAFETY: mapped, as long as the largest I/O, and this thread holds no other reference to it.
        unsafe { std::slice::from_raw_parts_mut(base, io.len as usize) }
    }

    /// Submits some of what is due.
    fn submit(&mut self) {
        self.now = self.now.plus(Ns(self.rng.below(100_000)));
        self.feed.fill(self.now, &mut self.batch);
        let ready = self.payload.admit(&mut self.batch, self.now);
        let take = self.rng.below(ready as u64 + 1) as usize;
        for i in 0..take {
            let io = self.batch.admitted()[i];
            let data = self.buffer(&io).to_vec();
            self.check_alone(&io);
            self.flights.push(TrialIo { io, data });
        }
        self.batch.taken(take);
    }

    /// No write is in flight beside what it overlaps.
    fn check_alone(&self, io: &Io) {
        let overlaps = |other: &&TrialIo| {
            let other = &other.io;
            other.target == io.target
                && other.offset < io.offset + u64::from(io.len)
                && io.offset < other.offset + u64::from(other.len)
        };
        for other in self.flights.iter().filter(overlaps) {
            assert_eq!(
                (io.dir, other.io.dir),
                (Dir::Read, Dir::Read),
                "{io:?} beside {:?}",
                other.io
            );
        }
    }

    /// Carries out one I/O in flight, honestly, and completes it.
    fn complete_one(&mut self) {
        if self.flights.is_empty() {
            return;
        }
        let at = self.rng.below(self.flights.len() as u64) as usize;
        let flight = self.flights.swap_remove(at);
        let fails = self.rng.chance(self.failing);
        let mut result = if fails { Err(5) } else { Ok(flight.io.len) };
        match flight.io.dir {
            Dir::Read => {
                let io = flight.io;
                let found = &self.disks[usize::from(io.target)][io.offset as usize..]
                    [..io.len as usize]
                    .to_vec();
                if !fails {
                    self.buffer(&io).copy_from_slice(found);
                }
            }
            Dir::Write if !fails => self.apply(&flight.io, flight.io.offset, &flight.data),
            // Some of its blocks may have arrived, each whole.
            Dir::Write => {
                let block = self.states[usize::from(flight.io.target)].block as usize;
                for (i, data) in flight.data.chunks(block).enumerate() {
                    if self.rng.chance(0.5) {
                        self.apply(&flight.io, flight.io.offset + (i * block) as u64, data);
                    }
                }
                if self.rng.chance(0.2) {
                    result = Ok(flight.io.len / 2);
                }
            }
            Dir::Trim | Dir::Zero => self.empty(&flight.io, fails),
            Dir::Flush => {}
        }
        self.complete(&[Completion { slot: flight.io.slot, result }]);
    }

    /// Zeroes a range, or trims it; one that fails may have been carried out in part.
    fn empty(&mut self, io: &Io, fails: bool) {
        let state = self.states[usize::from(io.target)].clone();
        let zeroes = io.dir == Dir::Zero || state.trims_to_zeroes(io.offset, io.len);
        let block = state.block;
        for at in (io.offset..io.offset + u64::from(io.len)).step_by(block as usize) {
            let mut data = vec![0; block as usize];
            match self.rng.below(3) {
                // What was trimmed may hold anything, and so may what failed.
                0 if fails || !zeroes => continue,
                1 if !zeroes => self.rng.fill(&mut data),
                _ => {}
            }
            self.apply(io, at, &data);
        }
    }

    fn apply(&mut self, io: &Io, offset: u64, data: &[u8]) {
        let place = &mut self.disks[usize::from(io.target)][offset as usize..][..data.len()];
        if self.past.len() < 4096 {
            self.past.push((io.target, offset, place.to_vec()));
        }
        place.copy_from_slice(data);
    }

    fn complete(&mut self, done: &[Completion]) {
        self.now = self.now.plus(Ns(1 + self.rng.below(100_000)));
        let mut done = done.to_vec();
        self.payload.completed(&mut done, self.now);
        self.accused += done.iter().filter(|c| c.result == Err(engine::WRONG_DATA)).count() as u64;
        self.feed.completed(&done, self.now);
    }

    fn run(&mut self, rounds: u32) {
        for _ in 0..rounds {
            self.submit();
            for _ in 0..self.rng.below(4) {
                self.complete_one();
            }
        }
    }

    /// Completes what is in flight, and withdraws what was not submitted.
    fn settle(&mut self) {
        while !self.flights.is_empty() {
            self.complete_one();
        }
        self.payload.ended(self.batch.admitted());
    }

    /// Reads everything in one read and returns the faults.
    fn sweep(&self) -> (Vec<VerifyFault>, u64, u64) {
        let (mut examiner, Findings { counts, mut faults }) =
            Examiner::new(&self.states, &self.states);
        for (target, disk) in (0..).zip(&self.disks) {
            examiner.examine(target, 0, disk, self.now);
        }
        let told = std::iter::from_fn(|| faults.pop().ok()).collect();
        let all: u64 = FaultKind::ALL.iter().map(|kind| counts.of(*kind)).sum();
        (told, all, counts.checked())
    }

    /// Submits until a write of something that is known is in flight, and takes it out.
    fn next_write(&mut self, fits: impl Fn(&Trial, &TrialIo) -> bool) -> Option<TrialIo> {
        self.next_of(Dir::Write, fits)
    }

    fn next_of(&mut self, dir: Dir, fits: impl Fn(&Trial, &TrialIo) -> bool) -> Option<TrialIo> {
        for _ in 0..3000 {
            self.submit();
            let is = |f: &TrialIo| f.io.dir == dir && fits(self, f);
            if let Some(at) = self.flights.iter().position(is) {
                return Some(self.flights.swap_remove(at));
            }
            self.complete_one();
        }
        None
    }

    /// Every block of a write had been written before, and its content is certain.
    fn is_known(&self, flight: &TrialIo) -> bool {
        let state = &self.states[usize::from(flight.io.target)];
        blocks(state, &flight.io).all(|b| {
            !state.ledger.get(b).is_open()
                && state.ledger.get(b).newest() > 2
                && state.ledger.get(b).oldest() + 1 == state.ledger.get(b).newest()
        })
    }
}

fn blocks(state: &TargetState, io: &Io) -> std::ops::Range<u64> {
    let first = io.offset / u64::from(state.block);
    first..first + u64::from(io.len / state.block)
}

/// Random access; `read` and `random` in percent.
fn access(sizes: &[u32], read: f64, random: f64, arrivals: Arrivals) -> Spec {
    let share = 100.0 / sizes.len() as f64;
    let row = |size: &u32| Row { share, align: sizes[0], ..Row::new(*size, read, random) };
    Spec::access(sizes.iter().map(row).collect(), arrivals, Regions::Own)
}

fn closed(depth: u32) -> Arrivals {
    Arrivals::closed(depth)
}

/// Loads of every kind; the number chooses.
fn spec(number: u64, rng: &mut Rng) -> Spec {
    let depth = [1, 2, 7, 32][rng.below(4) as usize];
    let read = [0.0, 30.0, 50.0, 90.0][rng.below(4) as usize];
    let open = Arrivals::Open { process: Process::Poisson { rate: 20_000.0 }, limit: depth };
    match number % 6 {
        0 => access(&[4096], read, 100.0, closed(depth)),
        1 => access(&[512, 4096, 1536, 8192], read, 60.0, closed(depth)),
        2 => access(&[4096], read, 0.0, closed(depth)),
        3 => access(&[2048], read, 100.0, open),
        4 => {
            let mut spec = access(&[512], read, 50.0, closed(depth));
            if let Work::Access(access) = &mut spec.kind {
                access.ladder = Some(Ladder { from: 512, to: 8192, factor: 2, every: 3 });
                access.skew = Skew::Zipf(0.99);
            }
            spec
        }
        _ => Spec {
            kind: Work::Transaction(Transaction {
                page: 4096,
                index: 10.0,
                index_pages: 2,
                table_pages: 2,
                index_skew: Skew::Zipf(0.9),
                table_skew: Skew::Pareto(0.2),
                read: 25.0,
            }),
            ..access(&[4096], 0.0, 0.0, closed(depth))
        },
    }
}

/// The same load with trims, zeroes and flushes among its operations.
fn emptying(mut spec: Spec) -> Spec {
    if let Work::Access(access) = &mut spec.kind {
        for row in access.rows.iter_mut().filter(|row| row.read <= 50.0) {
            (row.trim, row.zeroes) = (10.0, 15.0);
        }
    }
    if workload::IoDemand::of(&spec).data {
        spec.durability = Durability { flush_every: 7, fua: 20.0 };
    }
    spec
}

fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("WIRESPEED_TRIALS").ok().and_then(|n| n.parse().ok());
    0..count.unwrap_or(30)
}

#[test]
fn honest_loads_are_never_accused() {
    for seed in seeds() {
        let mut rng = Rng::keyed(seed, &[0]);
        let spec = spec(seed, &mut rng);
        let extents: Vec<Extent> =
            (0..1 + rng.below(2)).map(|_| extent(96 + rng.below(64), 512)).collect();
        let extents: Vec<Extent> =
            match rng.chance(0.3) && seed % 6 != 1 && seed % 6 != 4 && seed % 6 != 3 {
                true => extents.iter().map(|e| extent(e.size / 512, 4096)).collect(),
                false => extents,
            };
        let spec = if rng.chance(0.5) { emptying(spec) } else { spec };
        let mut trial = Trial::new(seed, &spec, &extents, states(&extents));
        let granule = [0, 1, 4096][rng.below(3) as usize];
        trial.states.iter().for_each(|state| state.trim_zeroes.store(granule, Ordering::Relaxed));
        trial.failing = [0.0, 0.1][rng.below(2) as usize];
        trial.run(400);
        trial.settle();
        let (told, faults, checked) = trial.sweep();
        assert_eq!((trial.accused, faults), (0, 0), "seed {seed}: {told:?}");
        assert!(checked > 0 || spec_reads_only(&spec), "seed {seed}");
    }
}

fn spec_reads_only(spec: &Spec) -> bool {
    !workload::IoDemand::of(spec).writes
}

/// Several steps, of one worker and of two in turn, on the same state.
#[test]
fn what_one_step_wrote_the_next_one_expects() {
    for seed in seeds() {
        let extents = [extent(256, 512)];
        let states = states(&extents);
        let mut disks: Option<Vec<Vec<u8>>> = None;
        for (step, sharers) in [(0, 1), (1, 2), (2, 3), (3, 1)] {
            for sharer in 0..sharers {
                let spec = access(&[1024, 512], 50.0, 70.0, closed(4));
                let place = (sharer, sharers);
                let mut trial =
                    Trial::shared(seed * 10 + step, &spec, &extents, states.clone(), place);
                trial.failing = 0.02;
                if let Some(disks) = disks.take() {
                    trial.disks = disks;
                }
                trial.run(150);
                trial.settle();
                let (told, faults, _) = trial.sweep();
                assert_eq!((trial.accused, faults), (0, 0), "seed {seed}, step {step}: {told:?}");
                disks = Some(trial.disks);
            }
        }
    }
}

/// What a lie must be called at an address.
type Expected = (u16, u64, &'static [FaultKind]);

/// The write that a lie concerns.
struct Victim {
    io: Io,
    data: Vec<u8>,
    state: Arc<TargetState>,
    /// Of its blocks.
    addresses: Vec<u64>,
    chosen: usize,
}

impl Victim {
    fn block(&self) -> usize {
        self.state.block as usize
    }

    fn all(&self, kinds: &'static [FaultKind]) -> Vec<Expected> {
        self.addresses.iter().map(|at| (self.io.target, *at, kinds)).collect()
    }

    fn one(&self, kinds: &'static [FaultKind]) -> Vec<Expected> {
        vec![(self.io.target, self.addresses[self.chosen], kinds)]
    }

    fn ack(&self) -> Completion {
        Completion { slot: self.io.slot, result: Ok(self.io.len) }
    }

    fn arrive(&self, trial: &mut Trial) {
        trial.apply(&self.io, self.io.offset, &self.data);
    }
}

/// Tells one lie. Returns what must be found; nothing where the load gave no occasion.
fn tell(trial: &mut Trial, lie: DiskFault) -> Option<Vec<Expected>> {
    let block_of = |trial: &Trial, io: &Io| trial.states[usize::from(io.target)].block;
    let fits = |trial: &Trial, f: &TrialIo| {
        let several = f.io.len > block_of(trial, &f.io);
        trial.is_known(f) && (lie != DiskFault::TornBetweenBlocks || several)
    };
    let TrialIo { io, data } = trial.next_write(fits)?;
    let state = trial.states[usize::from(io.target)].clone();
    let addresses: Vec<u64> = blocks(&state, &io).map(|b| b * u64::from(state.block)).collect();
    let chosen = trial.rng.below(addresses.len() as u64) as usize;
    let mut v = Victim { io, data, state, addresses, chosen };
    let expected = match lie {
        DiskFault::Lost => v.all(&[FaultKind::Lost]),
        DiskFault::TornBetweenBlocks => {
            let arrived = 1 + trial.rng.below(v.addresses.len() as u64 - 1) as usize;
            trial.apply(&io, io.offset, &v.data[..arrived * v.block()]);
            v.all(&[FaultKind::Torn]).split_off(arrived)
        }
        DiskFault::TornWithinABlock => tear(trial, &mut v),
        DiskFault::Stale => {
            v.arrive(trial);
            trial.complete(&[v.ack()]);
            trial.sweep();
            return restore_the_past(trial, &io);
        }
        DiskFault::Misplaced => {
            let mut expected = v.all(&[FaultKind::Lost]);
            expected.extend(write_elsewhere(trial, &v)?);
            expected
        }
        DiskFault::Duplicated => {
            v.arrive(trial);
            write_elsewhere(trial, &v)?
        }
        DiskFault::Swapped => swap(trial, &v)?,
        DiskFault::Flipped => {
            let bit = trial.rng.below(v.block() as u64 * 8) as usize;
            let byte = v.chosen * v.block() + bit / 8;
            v.data[byte] ^= 1 << (bit % 8);
            v.arrive(trial);
            v.one(&[FaultKind::Corrupt])
        }
        DiskFault::Zeros | DiskFault::Garbage => {
            match lie {
                DiskFault::Zeros => v.data.fill(0),
                _ => trial.rng.fill(&mut v.data),
            }
            v.arrive(trial);
            v.all(&[FaultKind::Foreign])
        }
        DiskFault::Late => {
            trial.complete(&[v.ack()]);
            check_found(trial, lie, &v.all(&[FaultKind::Lost]));
            v.arrive(trial);
            assert_eq!(trial.sweep().1, 0, "it has arrived by now");
            return Some(Vec::new());
        }
    };
    trial.complete(&[v.ack()]);
    Some(expected)
}

/// Writes one of the blocks half, from its start or from its end.
fn tear(trial: &mut Trial, v: &mut Victim) -> Vec<Expected> {
    let (block, at) = (v.block(), v.chosen * v.block());
    let cut = 8 * (1 + trial.rng.below(block as u64 / 8 - 2)) as usize;
    let disk = &trial.disks[usize::from(v.io.target)];
    let old = &disk[v.io.offset as usize + at..][..block];
    match trial.rng.chance(0.5) {
        true => v.data[at..][cut..block].copy_from_slice(&old[cut..]),
        false => v.data[at..][..cut].copy_from_slice(&old[..cut]),
    }
    v.arrive(trial);
    // Within the header the two halves cannot be distinguished from damage.
    v.one(if cut < HEADER { &[FaultKind::Torn, FaultKind::Corrupt] } else { &[FaultKind::Torn] })
}

/// Writes the data to another address, where nothing is in flight.
fn write_elsewhere(trial: &mut Trial, v: &Victim) -> Option<Vec<Expected>> {
    let (block, len) = (v.block() as u64, u64::from(v.io.len));
    let places = v.state.ledger.len() - len / block + 1;
    let apart = |a: u64, b: &Io| a + len <= b.offset || a >= b.offset + u64::from(b.len);
    let elsewhere = (0..200).map(|_| trial.rng.below(places) * block).find(|at| {
        let quiet = |f: &TrialIo| f.io.target != v.io.target || apart(*at, &f.io);
        apart(*at, &v.io) && trial.flights.iter().all(quiet)
    })?;
    trial.apply(&v.io, elsewhere, &v.data);
    let there = |at: &u64| (v.io.target, at - v.io.offset + elsewhere, &[FaultKind::Misplaced][..]);
    Some(v.addresses.iter().map(there).collect())
}

/// Exchanges the data with that of another write in flight, and acknowledges the other.
fn swap(trial: &mut Trial, v: &Victim) -> Option<Vec<Expected>> {
    let same = |f: &TrialIo| {
        let alike = (f.io.dir, f.io.len, f.io.target) == (Dir::Write, v.io.len, v.io.target);
        alike && trial.is_known(f)
    };
    let at = trial.flights.iter().position(same)?;
    let TrialIo { io, data } = trial.flights.swap_remove(at);
    trial.apply(&v.io, v.io.offset, &data);
    trial.apply(&io, io.offset, &v.data);
    trial.complete(&[Completion { slot: io.slot, result: Ok(io.len) }]);
    let there = |b: u64| (io.target, b * v.block() as u64, &[FaultKind::Misplaced][..]);
    let others = blocks(&v.state, &io).map(there);
    Some(v.all(&[FaultKind::Misplaced]).into_iter().chain(others).collect())
}

/// Puts the oldest known content of the I/O's blocks back.
fn restore_the_past(trial: &mut Trial, io: &Io) -> Option<Vec<Expected>> {
    let state = trial.states[usize::from(io.target)].clone();
    let block = u64::from(state.block);
    let at = io.offset;
    let older = trial.past.iter().find_map(|(target, offset, data)| {
        let within =
            *target == io.target && *offset <= at && at + block <= *offset + data.len() as u64;
        let old = within.then(|| &data[(at - offset) as usize..][..block as usize])?;
        match BlockReading::of(old) {
            BlockReading::Whole(BlockHeader { offset, .. }) if offset == at => Some(old.to_vec()),
            _ => None,
        }
    })?;
    trial.disks[usize::from(io.target)][at as usize..][..block as usize].copy_from_slice(&older);
    Some(vec![(io.target, at, &[FaultKind::Stale])])
}

/// Exactly what is expected is found, by a sweep.
#[track_caller]
fn check_found(trial: &Trial, lie: DiskFault, expected: &[Expected]) {
    let (told, faults, _) = trial.sweep();
    assert_eq!(faults, expected.len() as u64, "{lie:?}: expected {expected:?}, told {told:?}");
    let places: BTreeSet<(u16, u64)> = told.iter().map(|f| (f.target, f.offset)).collect();
    for (target, offset, kinds) in expected.iter().take(super::examiner::DETAILS_MAX) {
        if places.contains(&(*target, *offset)) {
            let fault = told.iter().find(|f| (f.target, f.offset) == (*target, *offset));
            let kind = fault.map(|f| f.kind);
            assert!(
                kind.is_some_and(|k| kinds.contains(&k)),
                "{lie:?} at {offset}: {fault:?}, not {kinds:?}"
            );
        } else {
            assert!(told.len() >= super::examiner::DETAILS_MAX, "{lie:?} at {offset}: {told:?}");
        }
    }
}

/// What must read as zeroes and does not is found, block by block: zeroes always, trims where they promise zeroes.
#[test]
fn zeroes_that_never_arrive_are_found() {
    for (dir, granule) in [(Dir::Zero, 0), (Dir::Trim, 1), (Dir::Trim, 0)] {
        for seed in seeds() {
            let block = if seed % 2 == 0 { 512 } else { 4096 };
            let spec = emptying(access(&[block, block * 3], 20.0, 80.0, closed(8)));
            let extents = [extent(64, block)];
            let mut trial = Trial::new(seed, &spec, &extents, states(&extents));
            trial.states[0].trim_zeroes.store(granule, Ordering::Relaxed);
            trial.run(600);
            let victim = trial.next_of(dir, |_, _| true).expect("one among so many");
            trial.complete(&[Completion { slot: victim.io.slot, result: Ok(victim.io.len) }]);
            trial.settle();
            let state = trial.states[0].clone();
            // What was written or emptied again meanwhile is as it should be.
            let wrong = blocks(&state, &victim.io).filter(|b| {
                let data = &trial.disks[0][(b * u64::from(block)) as usize..][..block as usize];
                state.ledger.get(*b).is_zeroed() && data.iter().any(|byte| *byte != 0)
            });
            let wrong = wrong.count() as u64;
            assert!(dir == Dir::Zero || granule > 0 || wrong == 0, "{dir:?} {granule}");
            let (told, faults, _) = trial.sweep();
            assert_eq!((faults, trial.accused), (wrong, 0), "{dir:?}, seed {seed}: {told:?}");
            assert!(told.iter().all(|fault| {
                blocks(&state, &victim.io).any(|b| b * u64::from(block) == fault.offset)
            }));
        }
    }
}

#[test]
fn every_lie_is_found_and_called_by_its_name() {
    for lie in LIES {
        let mut occasions = 0;
        for seed in seeds() {
            let block = if seed % 2 == 0 { 512 } else { 4096 };
            let sizes = [block, block * 3];
            let spec = match seed % 3 {
                // One size makes it likely that two of a kind are in flight.
                0 => access(&[block * 2], 20.0, 100.0, closed(8)),
                _ => access(&sizes, 20.0, 80.0, closed(8)),
            };
            let extents = [extent(64, block)];
            let mut trial = Trial::new(seed, &spec, &extents, states(&extents));
            trial.run(600);
            let Some(expected) = tell(&mut trial, lie) else { continue };
            occasions += 1;
            // What is in flight meanwhile is honest, and nothing new begins.
            trial.settle();
            check_found(&trial, lie, &expected);
            assert_eq!(trial.accused, 0, "{lie:?}, seed {seed}: accused before the lie");
        }
        assert!(occasions * 2 > seeds().count(), "{lie:?} occurred only {occasions} times");
    }
}

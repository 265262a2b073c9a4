//! What was acknowledged as durable is there after the power went: over a store that loses whatever was not synced, cut at
//! random points, under the executor that serves real files. A store that lies is found out by the same test.

use crate::prelude::*;
use crate::volumes::bench::{extent, quick};
use san::volume::{
    Data, FinishedCommand, Handle, Store, Volume, VolumeAttributes, VolumeExecutor, VolumeJob,
};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

const BLOCK: usize = 512;
const BLOCKS: u64 = 96;
const THREADS: u64 = 2;
/// Commands in flight for each thread.
const DEPTH: usize = 6;
/// Acknowledgements that each way must have seen.
const ENOUGH: u64 = 10_000;

/// What a store pretends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    /// Durable writes stay in its cache.
    Fua,
    /// A sync does nothing.
    Sync,
    /// A sync forgets what was written first of all that it should cover.
    OneBlock,
}

/// A disk with a cache that it writes back when it likes.
#[derive(Debug)]
struct Cut {
    disk: Mutex<Disk>,
    dead: AtomicBool,
    lie: Lie,
    /// Durable writes are asked for as such; otherwise they are writes with a sync behind.
    direct: bool,
}

#[derive(Debug)]
struct Disk {
    kept: Vec<u8>,
    /// What was written to a block since it was last kept, oldest first.
    cache: BTreeMap<u64, Vec<Vec<u8>>>,
    calls: u64,
    rng: clock::Rng,
}

impl Cut {
    /// Counts a call; the one at which the power goes, and all after it, fail.
    fn call(&self, disk: &mut Disk) -> io::Result<()> {
        disk.calls = disk.calls.saturating_sub(1);
        if disk.calls == 0 {
            self.dead.store(true, Ordering::Relaxed);
        }
        // Now and then the disk writes something back by itself, not always the newest.
        let any = disk.rng.below(BLOCKS);
        if disk.rng.chance(0.1)
            && let Some(oldest) =
                disk.cache.get_mut(&any).filter(|all| !all.is_empty()).map(|all| all.remove(0))
        {
            disk.kept[any as usize * BLOCK..][..BLOCK].copy_from_slice(&oldest);
        }
        if disk.calls == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
    }

    /// What is found when the power is back: of each block what was kept, or anything newer.
    fn after(&self) -> Vec<u8> {
        let Disk { mut kept, cache, mut rng, .. } =
            std::mem::replace(&mut *self.disk.lock().unwrap(), disk(0, 0));
        for (block, written) in cache {
            let choice = rng.below(written.len() as u64 + 1) as usize;
            if let Some(data) = choice.checked_sub(1).map(|at| &written[at]) {
                kept[block as usize * BLOCK..][..BLOCK].copy_from_slice(data);
            }
        }
        kept
    }
}

fn disk(seed: u64, calls: u64) -> Disk {
    let kept = (0..BLOCKS).flat_map(|block| content(block, 0)).collect();
    Disk { kept, cache: BTreeMap::new(), calls, rng: clock::Rng::keyed(seed, &[1]) }
}

impl Store for Cut {
    fn is_direct(&self) -> bool {
        self.direct
    }

    fn read(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut disk = self.disk.lock().unwrap();
        self.call(&mut disk)?;
        for (block, out) in (at / BLOCK as u64..).zip(out.chunks_mut(BLOCK)) {
            let kept = &disk.kept[block as usize * BLOCK..][..BLOCK];
            out.copy_from_slice(
                disk.cache.get(&block).and_then(|all| all.last()).map_or(kept, |d| d),
            );
        }
        Ok(out.len())
    }

    fn write(&self, at: u64, data: &[u8], durable: bool) -> io::Result<usize> {
        let mut disk = self.disk.lock().unwrap();
        let alive = self.call(&mut disk);
        // A write that is cut has come as far as it has.
        let taken =
            if alive.is_err() { disk.rng.below(data.len() as u64) as usize } else { data.len() };
        for (block, data) in (at / BLOCK as u64..).zip(data[..taken].chunks_exact(BLOCK)) {
            if durable && alive.is_ok() && self.lie != Lie::Fua {
                disk.cache.remove(&block);
                disk.kept[block as usize * BLOCK..][..BLOCK].copy_from_slice(data);
            } else {
                disk.cache.entry(block).or_default().push(data.to_vec());
            }
        }
        alive.map(|()| data.len())
    }

    fn sync(&self) -> io::Result<()> {
        let covered: Vec<(u64, Vec<u8>)> = {
            let mut disk = self.disk.lock().unwrap();
            self.call(&mut disk)?;
            let newest = |(block, all): (&u64, &Vec<Vec<u8>>)| Some((*block, all.last()?.clone()));
            disk.cache.iter().filter_map(newest).collect()
        };
        // What is written while a sync goes on need not be covered by it.
        std::thread::yield_now();
        let mut disk = self.disk.lock().unwrap();
        self.call(&mut disk)?;
        let spared = match self.lie {
            Lie::Sync => covered.len(),
            Lie::OneBlock => 1,
            _ => 0,
        };
        for (block, data) in covered.into_iter().skip(spared) {
            let Some(all) = disk.cache.get_mut(&block) else { continue };
            let Some(at) = all.iter().position(|written| *written == data) else { continue };
            all.drain(..=at);
            disk.kept[block as usize * BLOCK..][..BLOCK].copy_from_slice(&data);
        }
        Ok(())
    }

    fn zero(&self, _at: u64, _len: u64, _release: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn mapped(&self, _at: u64, _end: u64) -> io::Result<(bool, u64)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// A block that says which it is and what version, all over.
fn content(block: u64, version: u64) -> Vec<u8> {
    (0..BLOCK as u64 / 16)
        .flat_map(|_| [block.to_le_bytes(), version.to_le_bytes()].concat())
        .collect()
}

fn version(block: u64, data: &[u8]) -> Option<u64> {
    let version = u64::from_le_bytes(data[8..16].try_into().ok()?);
    (content(block, version) == data).then_some(version)
}

/// What one thread knows of a block of its own.
#[derive(Clone, Copy, Default)]
struct Known {
    issued: u64,
    written: u64,
    durable: u64,
    busy: bool,
}

enum Sent {
    Write { first: u64, blocks: u64, durable: bool },
    Sync(Vec<u64>),
}

/// One thread's blocks, from `first` on.
struct Thread {
    io: VolumeExecutor,
    volume: Handle,
    first: u64,
    known: Vec<Known>,
    sent: Vec<Option<Sent>>,
    rng: clock::Rng,
    acknowledged: u64,
}

impl Thread {
    fn known(&mut self, block: u64) -> &mut Known {
        &mut self.known[(block - self.first) as usize]
    }

    /// Issues until the power goes; returns what it knows.
    fn run(mut self, store: &Cut) -> (u64, u64, Vec<Known>) {
        let mut done = Vec::new();
        while !store.dead.load(Ordering::Relaxed) {
            for place in 0..DEPTH {
                if self.sent[place].is_none()
                    && let Some((sent, medium, data)) = self.next()
                {
                    self.sent[place] = Some(sent);
                    let job = VolumeJob {
                        token: place as u64,
                        volume: self.volume.clone(),
                        medium,
                        data,
                    };
                    done.extend(self.io.start(job));
                }
            }
            self.wait(&mut done);
        }
        while self.io.open() > 0 {
            self.wait(&mut done);
        }
        (self.first, self.acknowledged, self.known)
    }

    fn wait(&mut self, done: &mut Vec<FinishedCommand>) {
        self.io.submit();
        if done.is_empty() {
            let fd = self.io.fd();
            let mut fds = [rustix::event::PollFd::new(&fd, rustix::event::PollFlags::IN)];
            let _ = rustix::event::poll(&mut fds, None);
        }
        self.io.reap(done);
        for FinishedCommand { token, ending, .. } in done.drain(..) {
            let sent = self.sent[token as usize].take().expect("was sent");
            self.ended(sent, ending == Ending::GOOD);
        }
    }

    fn next(&mut self) -> Option<(Sent, Medium, Data)> {
        if self.rng.chance(0.15) {
            let written = self.known.iter().map(|known| known.written).collect();
            return Some((Sent::Sync(written), Medium::Sync(extent(0, 0)), Data::None));
        }
        let all = self.known.len() as u64;
        let blocks = 1 + self.rng.below(4);
        let first = self.first + self.rng.below(all - blocks + 1);
        let range = first..first + blocks;
        if range.clone().any(|block| self.known(block).busy) {
            return None;
        }
        let mut data = self.io.buffer(blocks as usize * BLOCK)?;
        for (block, data) in range.zip(data.chunks_mut(BLOCK)) {
            let known = self.known(block);
            known.busy = true;
            known.issued += 1;
            data.copy_from_slice(&content(block, known.issued));
        }
        let to = extent(first, blocks);
        let durable = self.rng.chance(0.5);
        let medium = match self.rng.chance(0.1) {
            true if durable => Medium::WriteVerify { to, compare: true },
            _ => Medium::Write { to, durable },
        };
        let through = !self.volume.attributes().write_back;
        Some((
            Sent::Write { first, blocks, durable: durable || through },
            medium,
            Data::Buffer(data),
        ))
    }

    fn ended(&mut self, sent: Sent, good: bool) {
        match sent {
            Sent::Write { first, blocks, durable } => {
                for block in first..first + blocks {
                    let known = self.known(block);
                    known.busy = false;
                    if good {
                        known.written = known.issued;
                        known.durable = if durable { known.issued } else { known.durable };
                    }
                }
                self.acknowledged += u64::from(good && durable);
            }
            Sent::Sync(written) if good => {
                for (known, written) in self.known.iter_mut().zip(written) {
                    known.durable = known.durable.max(written);
                }
                self.acknowledged += 1;
            }
            Sent::Sync(_) => {}
        }
    }
}

/// One life of a volume: how much was acknowledged, and which blocks went back behind it.
fn life(seed: u64, lie: Lie, direct: bool, write_back: bool) -> (u64, usize) {
    let calls = 20 + clock::Rng::keyed(seed, &[0]).below(1200);
    let store = Arc::new(Cut {
        disk: Mutex::new(disk(seed, calls)),
        dead: AtomicBool::new(false),
        lie,
        direct,
    });
    let attributes = VolumeAttributes {
        block: BLOCK as u32,
        blocks: BLOCKS,
        thin: false,
        read_only: false,
        write_back,
        serial: "CUT".to_owned(),
        granularity: 1,
    };
    let volume = Volume::over(Arc::clone(&store) as Arc<dyn Store>, attributes);
    let each = BLOCKS / THREADS;
    let threads: Vec<_> = (0..THREADS)
        .map(|number| {
            let (volume, store) = (Arc::clone(&volume), Arc::clone(&store));
            std::thread::spawn(move || {
                let thread = Thread {
                    io: VolumeExecutor::new(quick()).expect("an executor"),
                    volume: Handle::new(volume),
                    first: number * each,
                    known: vec![Known::default(); each as usize],
                    sent: (0..DEPTH).map(|_| None).collect(),
                    rng: clock::Rng::keyed(seed, &[2, number]),
                    acknowledged: 0,
                };
                thread.run(&store)
            })
        })
        .collect();
    let ends: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("a thread")).collect();
    let found = store.after();
    let (mut acknowledged, mut lost) = (0, 0);
    for (first, acks, known) in ends {
        acknowledged += acks;
        for (block, known) in (first..).zip(known) {
            let version = version(block, &found[block as usize * BLOCK..][..BLOCK]);
            let there = version.is_some_and(|v| (known.durable..=known.issued).contains(&v));
            lost += usize::from(!there);
        }
    }
    (acknowledged, lost)
}

/// Lives until enough was acknowledged; the seeds that lost something.
fn lives(lie: Lie, direct: bool, write_back: bool) -> Vec<u64> {
    let (mut acknowledged, mut losers) = (0, Vec::new());
    for seed in 1.. {
        let (more, lost) = life(seed, lie, direct, write_back);
        acknowledged += more;
        if lost > 0 {
            losers.push(seed);
        }
        let caught = lie != Lie::None && !losers.is_empty();
        if caught || acknowledged >= ENOUGH {
            break;
        }
    }
    losers
}

#[test]
fn of_ten_thousand_acknowledged_none_is_lost() {
    for (direct, write_back) in [(true, true), (true, false), (false, true)] {
        let losers = lives(Lie::None, direct, write_back);
        assert!(
            losers.is_empty(),
            "direct {direct}, write-back {write_back}: {losers:?} lost data"
        );
    }
}

#[test]
fn a_store_that_lies_is_found_out() {
    for (lie, direct) in
        [(Lie::Fua, true), (Lie::Sync, true), (Lie::OneBlock, true), (Lie::Sync, false)]
    {
        assert!(!lives(lie, direct, true).is_empty(), "{lie:?} was not noticed");
    }
}

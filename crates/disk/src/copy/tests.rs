//! Copies over queues in memory that complete in any order and fail as a test wants.

use super::*;
use crate::{Arena, Completion, Completions, Io, Opener, Queue};
use clock::Rng;
use engine::{Crew, CrewSettings, Output, Phases, Pinning, Prepared, WorkerSetup};
use record::{Event, Interval, SourceId};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use workload::Dir;

const BLOCK: u32 = 4096;

/// Says of the number of an I/O of a store, and of the time since its first one, whether it fails.
type Script = fn(u64, Ns) -> Option<i32>;

/// What lies behind a queue, and what was asked of it.
#[derive(Default)]
struct Store {
    data: Vec<u8>,
    writes: Vec<u64>,
    flushes: u32,
    ios: u64,
    began: Option<Ns>,
    /// This write is acknowledged, and another byte stands there afterwards.
    damage: Option<u64>,
}

struct MemoryOpener(Arc<Mutex<Store>>, Script);

struct MemoryQueue {
    store: Arc<Mutex<Store>>,
    script: Script,
    arena: Arena,
    open: Vec<Io>,
    rng: Rng,
}

impl Opener for MemoryOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        let MemoryOpener(store, script) = *self;
        let open = Vec::with_capacity(64);
        let rng = Rng::keyed(7, &[]);
        Ok(Box::new(MemoryQueue { store, script, arena: arena.clone(), open, rng }))
    }
}

impl MemoryQueue {
    fn carry(&mut self, io: Io) -> Result<u32, i32> {
        let now = clock::now();
        let mut store = self.store.lock().expect("no panic holds it");
        let since = now.since(*store.began.get_or_insert(now));
        store.ios += 1;
        if let Some(errno) = (self.script)(store.ios - 1, since) {
            return Err(errno);
        }
        let base = self.arena.slot(io.slot).expect("a slot");
        // SAFETY: the slot's buffer belongs to this I/O until it completes.
        let buffer = unsafe { std::slice::from_raw_parts_mut(base, io.len as usize) };
        let at = io.offset as usize;
        match io.dir {
            Dir::Read => buffer.copy_from_slice(&store.data[at..][..buffer.len()]),
            Dir::Write => {
                store.data[at..][..buffer.len()].copy_from_slice(buffer);
                store.writes.push(io.offset);
                if store.damage == Some(io.offset) {
                    store.data[at] ^= 1;
                }
            }
            _ => store.flushes += 1,
        }
        Ok(io.len)
    }
}

impl Queue for MemoryQueue {
    fn depth_max(&self) -> u32 {
        64
    }

    fn how(&self) -> &str {
        "memory"
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        self.open.extend_from_slice(ios);
        ios.len()
    }

    /// One of those under way, whichever comes.
    fn reap(&mut self, _min: u32, until: Ns, out: &mut Completions) {
        if self.open.is_empty() {
            return clock::sleep_until(until);
        }
        let io = self.open.swap_remove(self.rng.below(self.open.len() as u64) as usize);
        let result = self.carry(io);
        out.push(Completion { slot: io.slot, result });
    }
}

/// What came of a run of copies.
struct Ran {
    intervals: Vec<Interval>,
    events: Vec<Event>,
    failure: Option<EngineError>,
}

impl Ran {
    fn codes(&self) -> Vec<&str> {
        self.events
            .iter()
            .map(|event| event.code.as_str())
            .filter(|c| c.starts_with("copy"))
            .collect()
    }

    fn bytes(&self, pick: fn(&Interval) -> &Option<record::Completed>) -> u64 {
        self.intervals.iter().filter_map(|i| pick(i).as_ref()).map(|done| done.bytes).sum()
    }

    fn errors(&self) -> u64 {
        self.intervals.iter().flat_map(Interval::tallies).map(|done| done.errors).sum()
    }
}

fn never(_: u64, _: Ns) -> Option<i32> {
    None
}

fn spec(depth: u32, blocks: u64) -> CopySpec {
    CopySpec {
        block: BLOCK,
        depth,
        reads: depth.div_ceil(2),
        writes: depth.div_ceil(2),
        blocks: Some(blocks),
        after: Vec::new(),
        from_share: (0, 1),
        to_share: (0, 1),
        verify: false,
        retry: Ns::ZERO,
    }
}

fn random(bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    Rng::keyed(1, &[]).fill(&mut data);
    data
}

/// Runs copies from one store to another until all have ended; each waits for those before it of which it knows.
fn run(
    copies: Vec<(CopySpec, Vec<usize>)>,
    (from, reads): (&Arc<Mutex<Store>>, Script),
    (to, writes): (&Arc<Mutex<Store>>, Script),
) -> Ran {
    let size = |store: &Arc<Mutex<Store>>| store.lock().expect("free").data.len() as u64;
    let extents = [from, to].map(|store| Extent { size: size(store), block: 512 });
    let board = JobBoard::new(copies.len());
    let post = |(place, (spec, after)): (usize, (CopySpec, Vec<usize>))| {
        let name = format!("copy/{place}");
        let targets = ["source".to_owned(), "destination".to_owned()];
        let opener = |store: &Arc<Mutex<Store>>, script| -> Box<dyn Opener> {
            Box::new(MemoryOpener(store.clone(), script))
        };
        let sides = SideOpeners::Two(opener(from, reads), opener(to, writes));
        let (board, grace) = (board.clone(), Ns::secs(1));
        let task = CopyWorker {
            name: name.clone(),
            spec,
            targets: targets.clone(),
            extents,
            sides,
            sequential: [false; 2],
            board,
            place,
            after,
            grace,
        };
        let (source, scope) = (SourceId(place as u32), CopyWorker::scope());
        WorkerSetup { source, name, targets: targets.into(), scope, task: Box::new(task) }
    };
    let mut open = copies.len();
    let posts = copies.into_iter().enumerate().map(post).collect();
    let phases = Phases { measure: Ns::secs(50), ..Phases::default() };
    let orders = CrewSettings {
        step: 0,
        phases,
        grace: Ns::secs(5),
        hang_after: Ns::secs(5),
        pinning: Pinning::Never,
        facts: Vec::new(),
    };
    let (out, outputs) = mpsc::channel();
    let crew = Box::new(Crew::assemble(orders, posts, &out).expect("it opens"));
    let start = clock::now();
    let running = crew.start(start, start, out);
    let mut ran = Ran { intervals: Vec::new(), events: Vec::new(), failure: None };
    loop {
        match outputs.recv_timeout(Duration::from_secs(60)).expect("an end in bounded time") {
            Output::Interval(interval) => ran.intervals.push(*interval),
            Output::Event(event) => {
                open -= usize::from(event.code == "copy-ended");
                ran.events.push(event);
                if open == 0 {
                    running.stop();
                }
            }
            Output::Counter(_) | Output::Ended(..) => {}
            Output::Finished => return ran,
            Output::Failed(why) => {
                ran.failure = Some(why);
                return ran;
            }
        }
    }
}

fn store(data: Vec<u8>) -> Arc<Mutex<Store>> {
    Arc::new(Mutex::new(Store { data, ..Store::default() }))
}

/// Whatever the order of completions, writes are issued in order, every block arrives once, and a flush ends it.
#[test]
fn every_block_arrives_where_it_belongs() {
    const BLOCKS: u64 = 200;
    let data = random((BLOCKS * u64::from(BLOCK)) as usize);
    for (depth, reads, writes, verify) in [
        (1, 1, 1, false),
        (8, 4, 4, false),
        (16, 15, 1, false),
        (7, 1, 6, true),
        (64, 32, 32, true),
    ] {
        let (from, to) = (store(data.clone()), store(vec![0; data.len()]));
        let of = CopySpec { reads, writes, verify, ..spec(depth, BLOCKS) };
        let ran = run(vec![(of, Vec::new())], (&from, never), (&to, never));
        assert_eq!(ran.failure, None);
        let to = to.lock().expect("free");
        assert!(to.data == data, "depth {depth}");
        assert_eq!((to.writes.len() as u64, to.flushes), (BLOCKS, 1));
        let all = BLOCKS * u64::from(BLOCK);
        assert_eq!(ran.bytes(|i| &i.write), all);
        assert_eq!(ran.bytes(|i| &i.read), if verify { 2 * all } else { all });
        assert_eq!(ran.codes(), ["copy-began", "copy-ended"]);
    }
}

/// More than there is begins again at the start, in the region of each.
#[test]
fn copies_that_share_a_target_have_regions_of_their_own() {
    let data = random(64 * BLOCK as usize);
    let (from, to) = (store(data.clone()), store(vec![0; data.len()]));
    let copy = |n| CopySpec { from_share: (n, 4), to_share: (n, 4), ..spec(4, 20) };
    let ran = run((0..4).map(|n| (copy(n), vec![])).collect(), (&from, never), (&to, never));
    assert_eq!(ran.failure, None);
    assert!(to.lock().expect("free").data == data);
    assert_eq!(ran.codes().iter().filter(|code| **code == "copy-repeats").count(), 4);
    assert_eq!(ran.bytes(|i| &i.write), 80 * u64::from(BLOCK));
}

#[test]
fn a_copy_begins_when_those_before_it_have_ended() {
    let data = random(64 * BLOCK as usize);
    let (from, to) = (store(data.clone()), store(vec![0; data.len()]));
    let copy = |n| CopySpec { from_share: (n, 4), to_share: (n, 4), ..spec(4, 16) };
    let after = [vec![], vec![0], vec![1], vec![0, 2]];
    let copies = (0..4).map(copy).zip(after).collect();
    let ran = run(copies, (&from, never), (&to, never));
    assert!(to.lock().expect("free").data == data);
    let at = |source: u32, code: &str| {
        let mine = |e: &&Event| e.source == Some(SourceId(source)) && e.code == code;
        ran.events.iter().find(mine).expect("an event").at
    };
    for n in 1..4 {
        assert!(at(n, "copy-began") >= at(n - 1, "copy-ended"), "{n}: {:?}", ran.events);
    }
}

/// Both sides fail for 150 ms: nothing is left out, and no failure is in the figures.
#[test]
fn a_copy_resumes_after_a_fault() {
    let outage: Script = |n, since| (n > 20 && since < Ns::millis(150)).then_some(5);
    let data = random(100 * BLOCK as usize);
    for (reads, writes) in [(outage, never as Script), (never as Script, outage), (outage, outage)]
    {
        let (from, to) = (store(data.clone()), store(vec![0; data.len()]));
        let of = CopySpec { retry: Ns::secs(20), verify: true, ..spec(8, 100) };
        let ran = run(vec![(of, Vec::new())], (&from, reads), (&to, writes));
        assert_eq!((&ran.failure, ran.errors()), (&None, 0));
        assert!(to.lock().expect("free").data == data);
        assert!(ran.codes().contains(&"copy-interrupted"), "{:?}", ran.events);
        assert!(ran.codes().contains(&"copy-resumed"), "{:?}", ran.events);
        assert_eq!(ran.codes().last(), Some(&"copy-ended"));
    }
}

#[test]
fn a_copy_that_cannot_go_on_says_how_far_it_is() {
    let data = random(100 * BLOCK as usize);
    let full: Script = |n, _| (n >= 40).then_some(28);
    let gone: Script = |n, _| (n >= 40).then_some(5);
    for (script, retry, said) in [
        (full, Ns::secs(20), "ENOSPC"),
        (gone, Ns::ZERO, "EIO"),
        (gone, Ns::millis(150), "did not answer again in time"),
    ] {
        let (from, to) = (store(data.clone()), store(vec![0; data.len()]));
        let of = CopySpec { retry, ..spec(1, 100) };
        let ran = run(vec![(of, Vec::new())], (&from, never), (&to, script));
        let Some(EngineError::Worker { worker, problem }) = &ran.failure else {
            panic!("{:?}", ran.failure);
        };
        assert_eq!(worker, "copy/0");
        assert!(problem.contains(said) && problem.contains("destination"), "{problem}");
        // 40 blocks were acknowledged, and are there.
        assert_eq!(
            to.lock().expect("free").data[..40 * BLOCK as usize],
            data[..40 * BLOCK as usize]
        );
    }
}

#[test]
fn what_is_read_back_is_compared() {
    let data = random(50 * BLOCK as usize);
    let (from, to) = (store(data.clone()), store(vec![0; data.len()]));
    to.lock().expect("free").damage = Some(17 * u64::from(BLOCK));
    let of = CopySpec { verify: true, ..spec(8, 50) };
    let ran = run(vec![(of, Vec::new())], (&from, never), (&to, never));
    assert_eq!((&ran.failure, ran.errors()), (&None, 1));
    let first = |event: &&Event| event.code == "io-error";
    let text = &ran.events.iter().find(first).expect("an event").text;
    assert!(text.contains("what was read is not what was written"), "{text}");
}

//! The queues of files and devices: every I/O lands where it belongs, at any depth, in any order, on any of many targets;
//! what cannot be done fails alone; and the queue that is chosen is the one that costs least for a device.

use crate::common::*;
use crate::prelude::*;
use disk::{Arena, Completion, FileAccess, FileOpener, Io, OpenError, Opener, Queue};
use engine::{Pinning, QueueKind, Stop, TargetSpec};
use std::io::Write as _;
use std::os::fd::OwnedFd;

const KIB: u32 = 1024;
const MIB: u64 = 1 << 20;
const EINVAL: i32 = 22;
const EIO: i32 = 5;
const ALL: [QueueKind; 3] = [QueueKind::Uring, QueueKind::Aio, QueueKind::Pread];

/// A file of random bytes, and the bytes.
fn random_file(path: &Path, len: u64, seed: u64) -> Vec<u8> {
    let mut data = vec![0; len as usize];
    Rng::keyed(seed, &[]).fill(&mut data);
    File::create(path).and_then(|mut f| f.write_all(&data)).expect("room");
    data
}

fn opened(path: &Path) -> FileAccess {
    FileAccess::Read(OwnedFd::from(File::open(path).expect("readable")))
}

#[track_caller]
fn open(arena: &Arena, targets: Vec<FileAccess>, kind: QueueKind) -> Box<dyn Queue> {
    Box::new(FileOpener::new(targets, kind, false)).open(arena).expect("a queue")
}

fn read(slot: u32, target: u16, offset: u64, len: u32) -> Io {
    Io { fua: false, slot, dir: Dir::Read, target, offset, len }
}

/// Carries I/Os to their end, in the order of their slots.
#[track_caller]
fn carry(queue: &mut dyn Queue, ios: &[Io]) -> Vec<Completion> {
    let mut done = Vec::with_capacity(ios.len());
    let mut rest = ios;
    let limit = clock::now().plus(Ns::secs(20));
    while done.len() < ios.len() {
        let taken = queue.submit(rest);
        rest = &rest[taken..];
        queue.reap(1, limit, &mut done);
        assert!(clock::now() < limit, "{} of {} came back", done.len(), ios.len());
    }
    done.sort_by_key(|c| c.slot);
    done
}

fn buffer(arena: &Arena, slot: u32, len: u32) -> Vec<u8> {
    let base = arena.slot(slot).expect("a slot");
    // SAFETY: the slot is mapped and longer than `len`, and nothing is in flight.
    unsafe { std::slice::from_raw_parts(base, len as usize) }.to_vec()
}

#[test]
fn every_read_of_many_targets_lands_in_its_slot() {
    let folder = tempfile::tempdir().expect("a directory");
    let paths: Vec<_> = (0..5).map(|n| folder.path().join(format!("{n}"))).collect();
    let data: Vec<_> = paths.iter().zip(0..).map(|(p, n)| random_file(p, MIB, n)).collect();
    for (kind, depth) in [
        (QueueKind::Uring, 64),
        (QueueKind::Uring, 1),
        (QueueKind::Aio, 64),
        (QueueKind::Aio, 1),
        (QueueKind::Pread, 1),
    ] {
        let arena = Arena::new(depth, 64 * KIB).expect("memory");
        let targets = paths.iter().map(|p| opened(p)).collect();
        let mut queue = open(&arena, targets, kind);
        let mut rng = Rng::keyed(7, &[]);
        for _ in 0..50 {
            let mut io = |slot| {
                let len = 512 << rng.below(8);
                let offset = 512 * rng.below((MIB - len) / 512 + 1);
                read(slot, rng.below(5) as u16, offset, len as u32)
            };
            let ios: Vec<Io> = (0..depth).map(&mut io).collect();
            for (io, done) in ios.iter().zip(carry(&mut *queue, &ios)) {
                assert_eq!(done, Completion { slot: io.slot, result: Ok(io.len) });
                let there = &data[usize::from(io.target)][io.offset as usize..][..io.len as usize];
                assert!(buffer(&arena, io.slot, io.len) == there, "{io:?} on {}", queue.how());
            }
        }
    }
}

#[test]
fn what_cannot_be_done_fails_alone() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    random_file(&path, 64 << 10, 1);
    for kind in ALL {
        let arena = Arena::new(8, 8 * KIB).expect("memory");
        let mut queue = open(&arena, vec![opened(&path)], kind);
        let past = 64 << 10;
        let cases = [
            (read(0, 0, 0, 8 * KIB), Ok(8 * KIB)),
            (read(1, 0, past, 4 * KIB), Err(EIO)),
            // Half of it is there: the rest is asked for, and is not.
            (read(2, 0, past - 4096, 8 * KIB), Err(EIO)),
            (read(3, 0, u64::MAX - 100, 4 * KIB), Err(EINVAL)),
            (read(4, 0, 0, 16 * KIB), Err(EINVAL)),
            (read(5, 0, 4096, 512), Ok(512)),
        ];
        let ios: Vec<Io> = cases.iter().map(|(io, _)| *io).collect();
        for ((io, expected), done) in cases.iter().zip(carry(&mut *queue, &ios)) {
            assert_eq!(done.result, *expected, "{io:?} on {}", queue.how());
        }
        // And it goes on.
        assert_eq!(carry(&mut *queue, &[read(7, 0, 512, 512)])[0].result, Ok(512));
    }
}

#[test]
fn a_read_only_descriptor_refuses_a_write() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    let before = random_file(&path, 64 << 10, 1);
    for kind in ALL {
        let arena = Arena::new(1, 4 * KIB).expect("memory");
        let mut queue = open(&arena, vec![opened(&path)], kind);
        let write = Io { dir: Dir::Write, ..read(0, 0, 0, 4 * KIB) };
        assert!(carry(&mut *queue, &[write])[0].result.is_err());
    }
    assert_eq!(std::fs::read(&path).expect("there"), before);
}

#[test]
fn an_empty_reap_waits_until_its_moment_and_no_longer() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    random_file(&path, 4096, 1);
    for kind in [QueueKind::Uring, QueueKind::Aio] {
        let arena = Arena::new(4, 4 * KIB).expect("memory");
        let mut queue = open(&arena, vec![opened(&path)], kind);
        let mut done = Vec::with_capacity(4);
        let until = clock::now().plus(Ns::millis(20));
        queue.reap(1, until, &mut done);
        assert!(done.is_empty() && clock::now() >= until);
        // A moment that has passed: what is ready comes back, and nothing is waited for.
        queue.submit(&[read(0, 0, 0, 512)]);
        while done.is_empty() {
            queue.reap(0, Ns::ZERO, &mut done);
        }
        assert_eq!(done[0].result, Ok(512));
    }
}

/// A pipe that nobody writes to is a device that hangs.
#[test]
fn an_io_that_hangs_does_not_hold_the_worker_past_its_moment() {
    let (reader, _writer) = std::io::pipe().expect("a pipe");
    let arena = Arena::new(2, 4 * KIB).expect("memory");
    let mut queue = open(&arena, vec![FileAccess::Read(OwnedFd::from(reader))], QueueKind::Uring);
    let mut done = Vec::with_capacity(2);
    assert_eq!(queue.submit(&[read(0, 0, 0, 512)]), 1);
    for _ in 0..3 {
        let until = clock::now().plus(Ns::millis(20));
        queue.reap(1, until, &mut done);
        assert!(done.is_empty() && clock::now() >= until);
    }
    // Dropped with an I/O in flight, whose buffer the kernel may still write to.
    drop(queue);
}

#[test]
fn writes_reach_the_file() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    let step = |index, read, queue| {
        let target = TargetSpec { queue, ..file(&path, Some(MIB)) };
        let mut step = step(target, 2, random(4 * KIB, read, closed(16)), Ns::millis(300));
        step.index = index;
        step
    };
    let mut engine = disk::DiskEngine::new(Pinning::Never);
    run_on(&mut engine, &step(0, 100.0, QueueKind::Auto)).expect("a new file");
    for (kind, index) in ALL.into_iter().zip(1..) {
        let before = std::fs::read(&path).expect("there");
        let outcome = run_on(&mut engine, &step(index, 0.0, kind)).expect("its own file");
        assert_eq!((outcome.verdict.clone(), outcome.errors()), (Ok(()), 0));
        let after = std::fs::read(&path).expect("there");
        let changed = before.chunks(4096).zip(after.chunks(4096)).filter(|(a, b)| a != b).count();
        assert!(changed > 0 && outcome.ops() as usize >= changed, "{changed} blocks changed");
    }
}

/// A loop device over a file, detached in the end. `None`, with a line that says so, where there can be none.
struct Loop(String);

impl Loop {
    fn over(path: &Path) -> Option<Loop> {
        let output =
            std::process::Command::new("losetup").args(["-f", "--show"]).arg(path).output();
        match output {
            Ok(output) if output.status.success() => {
                Some(Loop(String::from_utf8_lossy(&output.stdout).trim().to_owned()))
            }
            other => {
                println!("skipped: no loop device ({other:?})");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn a_device_gets_the_queue_that_suits_it() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    let data = random_file(&path, MIB, 1);
    let Some(device) = Loop::over(&path) else { return };
    let found = |direct| {
        let flags = if direct { rustix::fs::OFlags::DIRECT } else { rustix::fs::OFlags::empty() };
        let fd = rustix::fs::open(&device.0, flags, rustix::fs::Mode::empty());
        FileAccess::Read(fd.expect("root opens it"))
    };
    let nowait = |access: &FileAccess| {
        use rustix::io::{Errno, ReadWriteFlags, preadv2};
        #[repr(align(4096))]
        struct Page([u8; 4096]);
        let mut page = Page([0; 4096]);
        let into = &mut [std::io::IoSliceMut::new(&mut page.0)];
        preadv2(access, into, 0, ReadWriteFlags::NOWAIT) != Err(Errno::OPNOTSUPP)
    };
    let arena = Arena::new(16, 4 * KIB).expect("memory");
    let word = if nowait(&found(true)) { "io_uring" } else { "Linux AIO" };
    for (direct, word) in [(true, word), (false, "io_uring")] {
        let mut queue = open(&arena, vec![found(direct)], QueueKind::Auto);
        assert!(queue.how().starts_with(word), "{} where {word} suits", queue.how());
        let ios: Vec<Io> =
            (0..16).map(|slot| read(slot, 0, u64::from(slot) * 4096, 4096)).collect();
        for (io, done) in ios.iter().zip(carry(&mut *queue, &ios)) {
            assert_eq!(done.result, Ok(4096));
            assert!(buffer(&arena, io.slot, 4096) == data[io.offset as usize..][..4096]);
        }
    }
}

#[test]
fn the_record_says_what_carried_the_io() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    for (kind, word) in ALL.into_iter().zip(["io_uring", "Linux AIO", "pread"]) {
        let target = TargetSpec { queue: kind, ..file(&path, Some(MIB)) };
        let step = step(target, 3, random(4 * KIB, 100.0, closed(4)), Ns::millis(100));
        let (out, _outputs) = std::sync::mpsc::channel();
        let mut engine = disk::DiskEngine::new(Pinning::Never);
        let prepared = engine.prepare(&step, &out, &Stop::default()).expect("a file");
        let facts = prepared.facts();
        let queues: Vec<_> = facts.iter().filter(|fact| fact.key == "queue").collect();
        assert_eq!(queues.len(), 1, "{queues:?}");
        assert!(queues[0].subject == "data" && queues[0].value.starts_with(word), "{queues:?}");
    }
}

#[test]
fn polling_a_device_without_polled_queues_is_refused_with_advice() {
    let folder = tempfile::tempdir().expect("a directory");
    let target = TargetSpec { polled: true, ..file(&folder.path().join("data"), Some(MIB)) };
    let step = step(target, 1, random(4 * KIB, 100.0, closed(4)), Ns::millis(100));
    let Err(error) = run(&step) else { panic!("polled queues are rare; one was found here") };
    let text = error.to_string();
    assert!(text.contains("polled") && text.contains("io_poll"), "{text}");
}

#[test]
fn a_ring_that_is_refused_is_an_error_only_where_it_was_asked_for() {
    // The process' own limit of descriptors stands in for a policy: no descriptor, no ring.
    let Ok(output) =
        std::process::Command::new(std::env::current_exe().expect("a test has a file"))
            .args(["--exact", "file_queues::without_descriptors", "--ignored", "--nocapture"])
            .output()
    else {
        panic!("the test can start itself")
    };
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("fell back: pread: io_uring could not be set up"), "{text}");
    assert!(text.contains("refused: io_uring could not be set up"), "{text}");
}

#[test]
#[ignore = "the child of the test above"]
fn without_descriptors() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    random_file(&path, 4096, 1);
    let arena = Arena::new(1, 4 * KIB).expect("memory");
    let [first, second] = [opened(&path), opened(&path)];
    let limit = rustix::process::Rlimit { current: Some(3), maximum: Some(3) };
    rustix::process::setrlimit(rustix::process::Resource::Nofile, limit).expect("a lower limit");
    let queue = open(&arena, vec![first], QueueKind::Auto);
    println!("fell back: {}", queue.how());
    match Box::new(FileOpener::new(vec![second], QueueKind::Uring, false)).open(&arena) {
        Err(OpenError { problem, .. }) => println!("refused: {problem}"),
        Ok(_) => panic!("a ring without a descriptor"),
    }
}

//! Operations that move no data, on files and on a loop device: what they leave is read back by other means, they are
//! counted apart, verified loads know what they leave, and what a target lacks is refused before the load.

use crate::common::*;
use crate::prelude::*;
use ::guard::NewFile;
use disk::{Arena, Completion, FileAccess, FileOpener, Io, Opener, Queue, Use};
use engine::QueueKind;
use rustix::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use workload::{Durability, IoDemand, Regions, Row, Spec};

const MIB: u64 = 1 << 20;
const ALL: [QueueKind; 3] = [QueueKind::Uring, QueueKind::Aio, QueueKind::Pread];

/// A file that may be written, of this content.
fn writable(path: &Path, data: &[u8]) -> FileAccess {
    let file = NewFile::new(path).expect("a new file");
    file.set_size(data.len() as u64).expect("room");
    file.publish(path).expect("a free name");
    File::options().write(true).open(path).and_then(|f| f.write_all_at(data, 0)).expect("room");
    rustix::fs::fsync(file.as_fd()).expect("it is written back");
    FileAccess::Write(file.into_grant(true).expect("a grant").0)
}

fn carry(queue: &mut dyn Queue, ios: &[Io]) {
    for io in ios {
        let mut done = Vec::with_capacity(1);
        assert_eq!(queue.submit(std::slice::from_ref(io)), 1);
        queue.reap(1, clock::now().plus(Ns::secs(20)), &mut done);
        assert_eq!(done, [Completion { slot: io.slot, result: Ok(io.len) }], "{io:?}");
    }
}

#[test]
fn what_they_leave_in_a_file_is_there_for_everyone() {
    let folder = tempfile::tempdir().expect("a directory");
    for (n, kind) in ALL.into_iter().enumerate() {
        let path = folder.path().join(format!("{n}"));
        let mut data = vec![0; MIB as usize];
        Rng::keyed(1, &[]).fill(&mut data);
        let target = writable(&path, &data);
        let arena = Arena::new(2, 64 * KIB).expect("memory");
        arena.fill(2, &mut Rng::keyed(2, &[]));
        let mut queue =
            Box::new(FileOpener::new(vec![target], kind, false)).open(&arena).expect("a queue");
        let before = std::fs::metadata(&path).expect("there").blocks();
        let io = |dir, offset, len, fua| Io { slot: 1, dir, target: 0, offset, len, fua };
        carry(
            &mut *queue,
            &[
                io(Dir::Trim, 64 << 10, 64 << 10, false),
                io(Dir::Zero, 256 << 10, 64 << 10, false),
                io(Dir::Write, 512 << 10, 64 << 10, true),
                io(Dir::Flush, 0, 0, false),
            ],
        );
        let base = arena.slot(1).expect("a slot");
        // SAFETY: the slot is mapped and 64 KiB long, and nothing is in flight.
        let written = unsafe { std::slice::from_raw_parts(base, 64 << 10) };
        data[64 << 10..128 << 10].fill(0);
        data[256 << 10..320 << 10].fill(0);
        data[512 << 10..576 << 10].copy_from_slice(written);
        assert!(std::fs::read(&path).expect("there") == data, "{}", queue.how());
        // The hole takes no space any more; zeroes do. The kernel counts in 512 bytes.
        let after = std::fs::metadata(&path).expect("there").blocks();
        assert_eq!(before - after, (64 << 10) / 512, "{}", queue.how());
    }
}

/// A load of 30% reads, and shares of trims and zeroes.
fn mixed(size: u32, trim: f64, zeroes: f64, depth: u32) -> Spec {
    let mut spec = random(size, 30.0, closed(depth));
    let row = Row { trim, zeroes, ..Row::new(size, 30.0, 100.0) };
    spec.kind = workload::WorkloadKind::Access(workload::Access::new(vec![row]));
    Spec { durability: Durability { flush_every: 10, fua: 10.0 }, regions: Regions::Own, ..spec }
}

fn step_of(target: TargetSpec, spec: Spec, verify: bool) -> StepSpec {
    step_for(Ns::millis(600), target, spec, verify)
}

fn step_for(measure: Ns, target: TargetSpec, spec: Spec, verify: bool) -> StepSpec {
    let demand = IoDemand::of(&spec);
    let mut step = step(TargetSpec { demand, ..target }, 2, spec, measure);
    step.workers.iter_mut().for_each(|worker| worker.verify = verify);
    step
}

/// Operations and bytes of a kind.
fn sum(outcome: &Outcome, dir: Dir) -> (u64, u64) {
    let tallies = outcome.intervals.iter().filter_map(|interval| interval.tally(dir));
    tallies.fold((0, 0), |(ops, bytes), tally| (ops + tally.ops, bytes + tally.bytes))
}

#[test]
fn each_kind_is_counted_apart_and_a_verified_load_knows_what_it_leaves() {
    let folder = tempfile::tempdir().expect("a directory");
    for (n, kind) in ALL.into_iter().enumerate() {
        let outcome = enough(folder.path(), n, kind);
        let counts =
            [Dir::Read, Dir::Write, Dir::Trim, Dir::Zero, Dir::Flush].map(|d| sum(&outcome, d));
        let all: u64 = counts[..4].iter().map(|(ops, _)| ops).sum();
        for ((ops, bytes), share) in counts.iter().zip([0.3, 0.3, 0.2, 0.2]) {
            assert_eq!(*bytes, ops * 4096);
            let (mean, deviation) =
                (all as f64 * share, (all as f64 * share * (1.0 - share)).sqrt());
            assert!((*ops as f64 - mean).abs() < 6.0 * deviation + 16.0, "{ops} of {mean}");
        }
        // Ten writes a flush, but for what each of eight slots has begun.
        let ((writes, _), (flushes, bytes)) = (counts[1], counts[4]);
        assert!(bytes == 0 && flushes.abs_diff(writes / 10) <= 16, "{flushes} for {writes}");
        let service = outcome.intervals.iter().filter_map(|i| i.tally(Dir::Flush));
        assert_eq!(service.map(|t| t.service.count()).sum::<u64>(), flushes);
    }
}

/// A verified load of each kind that went on until enough was done to judge it: a busy machine does little in a second.
#[track_caller]
fn enough(folder: &Path, n: usize, kind: QueueKind) -> Outcome {
    let mut seen = String::new();
    for attempt in 0..6 {
        let path = folder.join(format!("{n}-{attempt}"));
        let target = TargetSpec { queue: kind, ..file(&path, Some(8 * MIB)) };
        let measure = Ns::millis(600 << attempt);
        let step = step_for(measure, target, mixed(4 * KIB, 20.0, 20.0, 4), true);
        let outcome = run(&step).expect("a file");
        assert_eq!((&outcome.verdict, outcome.errors()), (&Ok(()), 0), "{:?}", outcome.codes());
        let of = outcome.counters.iter().filter(|c| c.kind.name() == "verify-checked");
        let checked: u64 = of.map(|c| c.value as u64).sum();
        if checked > 0 && outcome.ops() > 500 {
            return outcome;
        }
        seen = format!("{checked} blocks checked in {} operations", outcome.ops());
    }
    panic!("{seen}")
}

/// A change from outside in a block that was zeroed is found, also by a later run.
#[test]
fn what_must_read_as_zeroes_and_does_not_is_a_fault() {
    let folder = tempfile::tempdir().expect("a directory");
    let (data, state) = (folder.path().join("data"), folder.path().join("state"));
    File::create(&data).and_then(|file| file.set_len(MIB)).expect("room");
    // What it holds changes, and with it the token.
    let kept = || {
        let target = TargetSpec {
            verify_state: Some(state.to_str().expect("UTF-8").to_owned()),
            ..file(&data, None)
        };
        let token = inspect(&target, true).examined.and_then(Result::ok).expect("examined").token;
        TargetSpec { write_token: Some(token), overwrite: true, ..target }
    };
    // Everything is zeroed or trimmed, over and over.
    let spec = |dir: Dir| {
        let (trim, zeroes) = if dir == Dir::Trim { (100.0, 0.0) } else { (0.0, 100.0) };
        let row = Row { trim, zeroes, ..Row::new(4 * KIB, 0.0, 0.0) };
        Spec::access(vec![row], closed(1), Regions::Own)
    };
    for dir in [Dir::Zero, Dir::Trim] {
        let outcome = run(&step_of(kept(), spec(dir), true)).expect("a file");
        assert_eq!((&outcome.verdict, outcome.errors()), (&Ok(()), 0), "{:?}", outcome.codes());
        assert!(std::fs::read(&data).expect("there").iter().all(|byte| *byte == 0));
        let read = step_of(kept(), random(64 * KIB, 100.0, closed(1)), true);
        assert_eq!(run(&read).expect("the same").errors(), 0);
        let other = File::options().write(true).open(&data).expect("writable");
        other.write_all_at(b"x", 300_000).expect("room");
        let outcome = run(&read).expect("the same");
        let told: Vec<_> =
            outcome.events.iter().filter(|e| e.text.contains("expected zeroes")).collect();
        assert!(!told.is_empty(), "{:?}", outcome.events);
        other.write_all_at(b"\0", 300_000).expect("room");
    }
}

/// A loop device over a file, detached in the end.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

#[test]
fn a_device_discards_and_zeroes() {
    let folder = tempfile::tempdir().expect("a directory");
    for (kind, dir) in ALL.into_iter().flat_map(|kind| [(kind, Dir::Trim), (kind, Dir::Zero)]) {
        // A file of its own: the kernel lets go of a loop device once nobody has it open any more.
        let path = folder.path().join(format!("backing-{kind:?}-{dir:?}"));
        let mut data = vec![0; 4 << 20];
        Rng::keyed(3, &[]).fill(&mut data);
        std::fs::write(&path, &data).expect("room");
        let found = Command::new("losetup").args(["-f", "--show"]).arg(&path).output();
        let device = match found {
            Ok(output) if output.status.success() => {
                Loop(String::from_utf8_lossy(&output.stdout).trim().to_owned())
            }
            other => return println!("skipped: no loop device ({other:?})"),
        };
        let before = std::fs::metadata(&path).expect("there").blocks();
        let row = match dir {
            Dir::Trim => Row { trim: 100.0, ..Row::new(64 * KIB, 0.0, 0.0) },
            _ => Row { zeroes: 100.0, ..Row::new(64 * KIB, 0.0, 0.0) },
        };
        // One at a time: of several, one may lag behind on a busy machine and leave what is its part.
        let spec = Spec::access(vec![row], closed(1), Regions::Own);
        let all = (0..6).any(|attempt| {
            let target =
                TargetSpec { queue: kind, fill: Fill::Never, ..file(Path::new(&device.0), None) };
            let seen = inspect(&target, true).examined.and_then(Result::ok).expect("examined");
            let target = TargetSpec { write_token: Some(seen.token), overwrite: true, ..target };
            let step = step_for(Ns::millis(600 << attempt), target, spec.clone(), false);
            let outcome = run(&step).expect("a device");
            assert_eq!((&outcome.verdict, outcome.errors()), (&Ok(()), 0), "{:?}", outcome.events);
            assert_eq!(sum(&outcome, Dir::Write).0, 0);
            // A busy machine does not get to the end of it in so short a time.
            sum(&outcome, dir).0 >= 64
        });
        assert!(all, "the device is not done within 19 s");
        drop(device);
        let after = std::fs::metadata(&path).expect("there").blocks();
        if dir == Dir::Trim {
            // A loop device discards by punching holes into its file.
            assert!(after * 4 < before, "{before} {after}");
        }
        assert!(std::fs::read(&path).expect("there").iter().all(|byte| *byte == 0), "{dir:?}");
    }
}

#[test]
fn what_a_target_lacks_is_refused_before_the_load() {
    let check = |target: TargetSpec, why: &str| {
        let Err(e) = inspect(&target, true).fate else { panic!("{} has them", target.url) };
        assert!(e.to_string().contains(why), "{e}");
        let step = step(target.clone(), 1, mixed(4 * KIB, 0.0, 10.0, 1), Ns::millis(100));
        let Err(e) = run(&step) else { panic!("{} ran", target.url) };
        assert!(e.to_string().contains(why), "{e}");
        assert!(!Path::new(&target.url).exists(), "nothing is made");
    };
    let demand = IoDemand::of(&mixed(4 * KIB, 0.0, 10.0, 1));
    let folder = tempfile::tempdir().expect("a directory");
    let place = folder.path().join("polled");
    // Memory file systems have holes and no zeroes.
    let shm = Path::new("/dev/shm/wirespeed-zeroes");
    let in_memory = TargetSpec { demand, buffered: true, ..file(shm, Some(MIB)) };
    match disk::operation(Path::new("/dev/shm"), Dir::Zero) {
        Err(disk::Unsupported::Operation(..)) => check(in_memory, "refuses zeroes"),
        other => println!("skipped: /dev/shm is no memory file system ({other:?})"),
    }
    let trims = TargetSpec {
        demand: IoDemand::of(&mixed(4 * KIB, 10.0, 0.0, 1)),
        ..file(&place, Some(MIB))
    };
    assert_eq!(inspect(&trims, true).fate, Ok(Use::CreateAndWrite));
}

//! The data plane is bare: a started worker allocates nothing and makes no system call but its I/O and its clock.

use crate::common::*;
use crate::prelude::*;
use allocation_counter::{AllocationInfo, measure};
use disk::{
    Arena, Completion, DiskEngine, DiskWorker, FileAccess, FileOpener, Fresh, Io, NullOpener,
    OpenError, Opener, Queue, VerifierSpec,
};
use engine::{
    EngineError, Opened, OpenedLoad, Phases, Pinning, QueueKind, Stop, TargetSpec, WorkerMeter,
    WorkerTask,
};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::OpenOptionsExt;
use workload::{Arrivals, Dir, Extent, Reduction, WorkingSet};

/// A task whose load is watched from its start to its end.
struct Watched {
    task: Box<dyn WorkerTask>,
    calls: Arc<Mutex<AllocationInfo>>,
}

struct WatchedLoad {
    load: Box<dyn OpenedLoad>,
    calls: Arc<Mutex<AllocationInfo>>,
}

impl WorkerTask for Watched {
    fn open(self: Box<Self>) -> Result<Opened, EngineError> {
        let Watched { task, calls } = *self;
        let opened = task.open()?;
        Ok(Opened { load: Box::new(WatchedLoad { load: opened.load, calls }), ..opened })
    }
}

impl OpenedLoad for WatchedLoad {
    fn run(&mut self, meter: &mut WorkerMeter, stop: &Stop) -> Result<(), EngineError> {
        let mut result = Ok(());
        let calls = measure(|| result = self.load.run(meter, stop));
        *self.calls.lock().expect("no worker panics") += calls;
        result
    }
}

#[track_caller]
fn check_no_allocation(opener: impl Fn() -> Box<dyn Opener>, read: f64, arrivals: Arrivals) {
    // What it writes is made on the way, in all the kinds that there are.
    let fresh = || Fresh::new(vec![Reduction { compress: 2.0, dedupe: 2.0 }], 1);
    check(|| DiskWorker {
        payload: Some(Box::new(fresh())),
        ..worker(opener(), random(8 * KIB, read, arrivals), Ns::millis(200))
    });
}

/// Runs two such workers.
#[track_caller]
fn check(task: impl Fn() -> DiskWorker) -> Outcome {
    let arrivals = task().spec.arrivals;
    let calls = Arc::<Mutex<AllocationInfo>>::default();
    let watched = |_| {
        let task = task();
        Box::new(Watched { task: Box::new(task), calls: calls.clone() }) as Box<dyn WorkerTask>
    };
    let phases = Phases {
        warmup: Ns::millis(100),
        measure: Ns::millis(1000),
        cooldown: Ns::millis(50),
        slice: Ns::ZERO,
    };
    let open_loop = matches!(arrivals, Arrivals::Open { .. });
    let outcome = run_tasks((0..2).map(watched).collect(), open_loop, phases);
    assert_eq!(outcome.verdict, Ok(()));
    assert!(outcome.ops() > 100);
    let calls = *calls.lock().expect("no worker panicked");
    assert_eq!(calls, AllocationInfo::default(), "calls of the allocator after the start");
    outcome
}

/// A queue over memory of its own. It forgets one write of so many.
struct Memory {
    data: Vec<u8>,
    arena: Arena,
    done: Vec<Completion>,
    writes: u64,
    forgets: u64,
}

/// Opens one.
struct Forgetting(u64);

impl Memory {
    fn carry(&mut self, io: &Io) {
        let base = self.arena.slot(io.slot).expect("a slot");
        // SAFETY: the slot is mapped and as long as the largest I/O, and this thread alone uses it.
        let buffer = unsafe { std::slice::from_raw_parts_mut(base, io.len as usize) };
        let place = &mut self.data[io.offset as usize..][..io.len as usize];
        self.writes += u64::from(io.dir == Dir::Write);
        match io.dir {
            Dir::Read => buffer.copy_from_slice(place),
            Dir::Write if self.writes.is_multiple_of(self.forgets) => {}
            Dir::Write => place.copy_from_slice(buffer),
            Dir::Trim | Dir::Zero => place.fill(0),
            Dir::Flush => {}
        }
    }
}

impl Opener for Forgetting {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        let (data, done) = (vec![0; 1 << 20], Vec::with_capacity(64));
        Ok(Box::new(Memory { data, arena: arena.clone(), done, writes: 0, forgets: self.0 }))
    }
}

impl Queue for Memory {
    fn depth_max(&self) -> u32 {
        64
    }

    fn how(&self) -> &str {
        "memory"
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        for io in ios {
            self.carry(io);
            self.done.push(Completion { slot: io.slot, result: Ok(io.len) });
        }
        ios.len()
    }

    fn reap(&mut self, _: u32, until: Ns, out: &mut Vec<Completion>) {
        if self.done.is_empty() {
            clock::sleep_until(until);
        }
        out.append(&mut self.done);
    }
}

/// Two workers with verification, on memory that forgets one write of so many.
#[track_caller]
fn check_verified(arrivals: Arrivals, forgets: u64) -> Outcome {
    check(|| {
        let mut spec = random(8 * KIB, 60.0, arrivals);
        spec.working_set = Some(WorkingSet::Bytes(1 << 20));
        let extent = Extent { size: 1 << 30, block: 512 };
        let payload = VerifierSpec::in_memory(&[("memory", extent)], 8 * KIB).expect("memory");
        DiskWorker {
            payload: Some(Box::new(payload)),
            ..worker(Box::new(Forgetting(forgets)), spec, Ns::millis(200))
        }
    })
}

#[test]
fn verification_allocates_nothing() {
    for arrivals in [closed(32), closed(1), fixed(5_000.0, 16)] {
        let outcome = check_verified(arrivals, u64::MAX);
        assert_eq!((outcome.errors(), outcome.codes().contains(&"verify-lost")), (0, false));
        let checked = outcome.counters.iter().find(|c| c.kind.name() == "verify-checked");
        assert!(checked.is_some_and(|c| c.value > 100.0), "{checked:?}");
    }
}

#[test]
fn finding_faults_allocates_nothing() {
    let outcome = check_verified(fixed(2_000.0, 16), 50);
    assert!(outcome.codes().contains(&"verify-lost"), "{:?}", outcome.codes());
    assert!(outcome.errors() > 0, "reads of wrong data are no successes");
}

#[test]
fn a_worker_on_null_allocates_nothing() {
    let thinking = Arrivals::Closed { depth: 8, think: Ns::millis(2) };
    for arrivals in [closed(32), closed(1), thinking, fixed(5_000.0, 16)] {
        check_no_allocation(|| Box::new(NullOpener), 67.0, arrivals);
    }
}

#[test]
fn a_worker_on_a_file_allocates_nothing() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("data");
    // Sparse is enough: only the calls count here.
    std::fs::File::create(&path).and_then(|f| f.set_len(1 << 30)).expect("room");
    let opener = |kind| {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let mut options = std::fs::OpenOptions::new();
        let file = options
            .read(true)
            .custom_flags(direct)
            .open(&path)
            .or_else(|_| std::fs::File::open(&path));
        let targets = vec![FileAccess::Read(file.expect("ours").into())];
        Box::new(FileOpener::new(targets, kind, false)) as Box<dyn Opener>
    };
    for (kind, depth) in [
        (QueueKind::Pread, 1),
        (QueueKind::Uring, 1),
        (QueueKind::Uring, 16),
        (QueueKind::Aio, 1),
        (QueueKind::Aio, 16),
    ] {
        check_no_allocation(|| opener(kind), 100.0, closed(depth));
        check_no_allocation(|| opener(kind), 100.0, fixed(1_000.0, depth));
    }
}

/// Where the child finds its target, what carries its I/O, and its open-loop rate (0: a closed loop).
const CHILD_TARGET: &str = "WIRESPEED_CHILD_TARGET";
const CHILD_QUEUE: &str = "WIRESPEED_CHILD_QUEUE";
const CHILD_RATE: &str = "WIRESPEED_CHILD_RATE";

/// After the name of the queue: the load is verified, and its state is kept.
const VERIFIED: &str = " verified";

#[test]
#[ignore = "the child of the tests that trace system calls"]
fn child() {
    let Some(path) = std::env::var_os(CHILD_TARGET).map(PathBuf::from) else { return };
    let rate: f64 = std::env::var(CHILD_RATE).ok().and_then(|r| r.parse().ok()).unwrap_or(0.0);
    let arrivals = if rate > 0.0 { fixed(rate, 1) } else { closed(1) };
    let queue = std::env::var(CHILD_QUEUE).expect("told by the test");
    let state = queue.ends_with(VERIFIED).then(|| format!("{}.state", path.display()));
    let queue = match queue.trim_end_matches(VERIFIED) {
        "pread" => QueueKind::Pread,
        "aio" => QueueKind::Aio,
        _ => QueueKind::Uring,
    };
    let verify = state.is_some();
    let target = file(Path::new(&path), Some(1 << 20));
    let target = TargetSpec { queue, verify_state: state, ..target };
    let mut step = step(target, 1, random(4 * KIB, 50.0, arrivals), Ns::millis(1200));
    step.workers[0].verify = verify;
    let outcome = run_on(&mut DiskEngine::new(Pinning::Auto), &step).expect("a new file");
    assert_eq!((outcome.verdict.clone(), outcome.errors()), (Ok(()), 0));
    assert!(outcome.ops() > 10);
}

/// Runs the child under strace, and compares the calls of its worker between its first and its last I/O.
#[track_caller]
fn check_system_calls(queue: &str, rate: &str, expected: &[&str]) {
    if Command::new("strace").arg("-V").output().is_err() {
        assert!(
            std::env::var_os("CI").is_none(),
            "install strace: the system calls of a worker must be seen"
        );
        return println!("SKIPPED: install strace to see the system calls of a worker");
    }
    let folder = tempfile::tempdir().expect("a directory");
    let trace = folder.path().join("trace");
    let status = Command::new("strace")
        .env(CHILD_QUEUE, queue)
        .args(["-f", "-qq", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().expect("a test has a file"))
        .args(["--exact", "bare::child", "--ignored", "--nocapture"])
        .env(CHILD_TARGET, folder.path().join("data"))
        .env(CHILD_RATE, rate)
        .output()
        .expect("strace runs");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
    let calls = worker_calls(&std::fs::read_to_string(&trace).expect("a trace"));
    assert!(calls.len() > 20, "{calls:?}");
    let mut seen: BTreeSet<&str> = calls.iter().map(String::as_str).collect();
    // A system call only where the vDSO does not serve the clock.
    seen.remove("clock_gettime");
    // Fewer where the device completes everything at once.
    let allowed = expected.iter().copied().collect();
    assert!(seen.is_subset(&allowed), "{seen:?} are more than {allowed:?}");
}

/// The names of the calls of the thread that does most I/O, from its first I/O to its last.
fn worker_calls(trace: &str) -> Vec<String> {
    let mut threads: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in trace.lines() {
        let Some((thread, call)) = line.split_once(' ') else { continue };
        // `name(…`, or `<... name resumed>`, which was counted when it began.
        if let Some((name, _)) = call.trim_start().split_once('(')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        {
            // The set-up asks once, with nothing to submit and nothing to wait for, what the kernel knows.
            let asking = name == "io_uring_enter" && call.contains(", 0, 0, IORING");
            let name = if asking { "asking" } else { name };
            threads.entry(thread).or_default().push(name.to_owned());
        }
    }
    let is_io = |name: &String| {
        ["pread64", "pwrite64", "io_uring_enter", "io_submit"].contains(&name.as_str())
    };
    // The guard's samples are reads of other threads, which write nothing.
    let writes =
        |calls: &Vec<String>| calls.iter().filter(|name| is_io(name) && *name != "pread64").count();
    let calls = threads.into_values().max_by_key(writes).expect("threads");
    let first = calls.iter().position(is_io).expect("a first I/O");
    let last = calls.iter().rposition(is_io).expect("a last I/O");
    calls[first..=last].to_vec()
}

#[test]
fn a_closed_loop_makes_no_call_but_its_io_and_its_clock() {
    check_system_calls("pread", "0", &["getrusage", "pread64", "pwrite64"]);
    check_system_calls("io_uring", "0", &["getrusage", "io_uring_enter"]);
    check_system_calls("aio", "0", &["getrusage", "io_getevents", "io_submit"]);
}

#[test]
fn verification_makes_no_call() {
    check_system_calls("pread verified", "0", &["getrusage", "pread64", "pwrite64"]);
    check_system_calls("io_uring verified", "0", &["getrusage", "io_uring_enter"]);
}

#[test]
fn an_open_loop_also_sleeps() {
    check_system_calls("pread", "200", &["clock_nanosleep", "getrusage", "pread64", "pwrite64"]);
    check_system_calls("io_uring", "200", &["clock_nanosleep", "getrusage", "io_uring_enter"]);
    check_system_calls(
        "aio",
        "200",
        &["clock_nanosleep", "getrusage", "io_getevents", "io_submit"],
    );
}

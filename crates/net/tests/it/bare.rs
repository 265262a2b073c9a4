//! The data plane is bare: while a test is measured, its workers' threads ask the allocator for nothing.

use crate::prelude::*;
use crate::support::{at, begin, engine, start, step_of, ways, with};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CStr;
use std::process::Command;

/// Counts what workers ask of the allocator while it is watched. The engine starts its threads itself: no closure of a test
/// runs on them that a kept crate could measure, so they are known by their names.
struct Counting;

static WATCHED: AtomicBool = AtomicBool::new(false);
static OF_WORKERS: AtomicU64 = AtomicU64::new(0);
static OF_OTHERS: AtomicU64 = AtomicU64::new(0);

fn tick() {
    if !WATCHED.load(Ordering::Relaxed) {
        return;
    }
    let mut name = [0u8; 16];
    // SAFETY: the kernel writes at most 16 bytes, with their terminator.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let name = CStr::from_bytes_until_nul(&name).map_or(&b""[..], CStr::to_bytes);
    let worker = name.starts_with(b"net-send")
        || name.starts_with(b"net-recv")
        || name.starts_with(b"net-probe");
    let count = if worker { &OF_WORKERS } else { &OF_OTHERS };
    count.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call is handed to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        tick();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        tick();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        tick();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Watches both ends from the first interval to the end of the measured time.
#[track_caller]
fn check(receiver: &Receiver, carriage: Carriage, change: fn(&mut Network)) {
    let spec = with(TestSpec::new(carriage), change);
    // The cool-down is long enough for both ends to be in the midst of it when the watch ends.
    let [warmup, measure, cooldown] = [100, 300, 400].map(Ns::millis);
    let spec = TestSpec { warmup, measure, cooldown, ..spec };
    let step = step_of(at(receiver), &spec);
    OF_WORKERS.store(0, Ordering::Relaxed);
    OF_OTHERS.store(0, Ordering::Relaxed);
    // A machine that has much to do may have no time for one of the threads in so short a test.
    let moved = (0..20).any(|_| {
        let under = begin(&mut engine(), &step);
        let over = under.edges[2];
        let told = under.end_with(|output| {
            if let Output::Interval(interval) = output {
                WATCHED.store(interval.to < over, Ordering::Relaxed);
            }
        });
        told.finished();
        told.streams().iter().all(|(sent, _)| told.carried(*sent, true).bytes > 0)
    });
    assert!(moved, "{spec:?}");
    assert_eq!(OF_WORKERS.load(Ordering::Relaxed), 0, "{spec:?}");
    assert!(OF_OTHERS.load(Ordering::Relaxed) > 0, "the control plane is seen to allocate");
}

/// In a process of its own: the workers of other tests have the same names.
#[test]
fn workers_allocate_nothing() {
    let mut alone = Command::new(std::env::current_exe().expect("a test has a file"));
    let output = alone.args(["--exact", "bare::child", "--ignored", "--nocapture"]).output();
    let output = output.expect("it starts once more");
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
}

#[test]
#[ignore = "the child of the test above"]
fn child() {
    let receiver = start("127.0.0.1:0", None);
    let check = |carriage, change| check(&receiver, carriage, change);
    check(Carriage::Tcp, |n| ways(n, 1, 1));
    check(Carriage::Tcp, |n| n.probe = true);
    check(Carriage::Tcp, |n| {
        ways(n, 3, 3);
        n.threads = 1;
    });
    check(Carriage::Tcp, |n| {
        n.sockets.zero_copy = true;
        n.discard = true;
    });
    check(Carriage::Tcp, |n| {
        ways(n, 2, 0);
        n.sockets.sendfile = true;
        n.threads = 1;
    });
    let datagrams = |n: &mut Network| {
        ways(n, 2, 2);
        n.batch = 4;
        n.rate = Some(1_000_000);
    };
    check(Carriage::Udp { segmented: false }, datagrams);
    check(Carriage::Udp { segmented: true }, datagrams);
    check(Carriage::Udp { segmented: false }, |n| {
        ways(n, 2, 2);
        n.batch = 4;
        n.rate = Some(1_000_000);
        n.threads = 1;
    });
    check(Carriage::Exchange { response: 100 }, |n| ways(n, 2, 0));
    check(Carriage::DatagramExchange { response: 100 }, |n| ways(n, 2, 0));
    check(Carriage::Connects { response: 100 }, |n| ways(n, 2, 0));
}

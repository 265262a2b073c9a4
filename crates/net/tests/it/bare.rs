//! The data plane is bare: while a test is measured, its workers' threads ask the allocator for nothing.

use clock::Ns;
use net::{
    Carriage, Heading, Listener, Network, Receiver, ReceiverConfig, SendConfig, Sockets, Spec, Stop,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Counts what workers ask of the allocator while it is watched.
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
fn check(receiver: &Receiver, spec: Spec) {
    let port = receiver.addresses()[0].port();
    let config = SendConfig { host: "127.0.0.1".to_owned(), port, ..SendConfig::default() };
    let spec = Spec {
        warmup: Ns::millis(100),
        measure: Ns::millis(300),
        cooldown: Ns::millis(400),
        interval: Ns::millis(100),
        ..spec
    };
    OF_WORKERS.store(0, Ordering::Relaxed);
    OF_OTHERS.store(0, Ordering::Relaxed);
    let mut progress = |interval: &net::Interval| {
        // The cool-down is long enough for both ends to be in the midst of it when the watch ends.
        WATCHED.store(interval.phase != net::Phase::Cooldown, Ordering::Relaxed);
    };
    let mut moved = false;
    // A machine that has much to do may have no time for one of the threads in so short a test.
    for _ in 0..20 {
        let report = net::send(&config, &spec, &Stop::default(), &mut progress).expect("it runs");
        moved = report.directions().iter().all(|d| d.sent.bytes > 0);
        if moved {
            break;
        }
    }
    assert!(moved, "{spec:?}");
    assert_eq!(OF_WORKERS.load(Ordering::Relaxed), 0, "{spec:?}");
    assert!(OF_OTHERS.load(Ordering::Relaxed) > 0, "the control plane is seen to allocate");
}

/// The same test with another load.
fn with(mut spec: Spec, change: impl FnOnce(&mut Network)) -> Spec {
    change(&mut spec.network);
    spec
}

/// So many streams to the receiver, and from it: equal numbers, or none one way.
fn ways(network: &mut Network, up: u16, down: u16) {
    assert!(up == down || up == 0 || down == 0, "{up} and {down}");
    network.streams = up.max(down);
    network.heading = match (up, down) {
        (0, 1..) => Heading::Receive,
        (_, 0) => Heading::Send,
        _ => Heading::Both,
    };
}

/// One test, since the allocator is everybody's.
#[test]
fn workers_allocate_nothing() {
    let listen = vec!["127.0.0.1:0".parse().expect("an address")];
    let listener = Listener::new(|_| {});
    let config = ReceiverConfig { listen, token: None, cpus: Vec::new(), adjust: None, listener };
    let receiver = Receiver::start(config).expect("loopback is there");
    let zero_copy = Sockets { zero_copy: true, ..Sockets::default() };
    check(&receiver, with(Spec::new(Carriage::Tcp), |n| ways(n, 1, 1)));
    check(&receiver, with(Spec::new(Carriage::Tcp), |n| n.probe = true));
    check(
        &receiver,
        with(Spec::new(Carriage::Tcp), |n| {
            ways(n, 3, 3);
            n.threads = 1;
        }),
    );
    check(
        &receiver,
        with(Spec::new(Carriage::Tcp), |n| {
            n.sockets = zero_copy;
            n.discard = true;
        }),
    );
    let sendfile = Sockets { sendfile: true, ..Sockets::default() };
    check(
        &receiver,
        with(Spec::new(Carriage::Tcp), |n| {
            ways(n, 2, 0);
            n.sockets = sendfile;
            n.threads = 1;
        }),
    );
    for (segmented, threads) in [(false, 0), (false, 1), (true, 0)] {
        let load = Carriage::Udp { segmented };
        let rate = Some(1_000_000);
        check(
            &receiver,
            with(Spec::new(load), |n| {
                ways(n, 2, 2);
                n.threads = threads;
                n.batch = 4;
                n.rate = rate;
            }),
        );
    }
    check(&receiver, with(Spec::new(Carriage::Exchange { response: 100 }), |n| ways(n, 2, 0)));
    let by_datagram = Carriage::DatagramExchange { response: 100 };
    check(&receiver, with(Spec::new(by_datagram), |n| ways(n, 2, 0)));
    check(&receiver, with(Spec::new(Carriage::Connects { response: 100 }), |n| ways(n, 2, 0)));
}

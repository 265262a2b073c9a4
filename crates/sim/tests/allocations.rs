//! After the start the loop allocates nothing, and memory does not grow with simulated time.

use sim::Ps;
use sim::engine::Simulation;
use sim::model::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator unchanged; counting touches a plain thread-local cell.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[track_caller]
fn check(stations: &[Station]) {
    let mut network = Network::new();
    let pool = network.pool(Pool { tokens: 6 });
    let mut route = vec![Hop::Take { pool, tokens: 1 }];
    for station in stations {
        let links = matches!(station, Station::Links { .. });
        let station = network.station(station.clone());
        route.push(Hop::Skip { chance: 0.1, hops: 1 });
        route.push(if links {
            Hop::Cross { station, links: vec![0, 1], scale: 1.1, extra: 10 }
        } else {
            Hop::visit(station, Law::Exponential(Ps::micros(2)))
        });
    }
    route.push(Hop::Give { pool, tokens: 1 });
    let class = Class::write(4096, route);
    network.load(Load::closed(8, Law::Exponential(Ps::micros(5)), class.clone()));
    network.load(Load::open(Law::Exponential(Ps::micros(3)), 20, class));
    let mut simulation = Simulation::new(&network, 1).unwrap();
    let before = ALLOCATIONS.get();
    simulation.run_until(Ps::millis(50)).unwrap();
    assert_eq!(ALLOCATIONS.get() - before, 0, "{stations:?}");
    assert!(simulation.dispatched() > 10_000);
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}

#[test]
fn no_station_allocates() {
    check(&[Station::SINGLE, Station::many(4), Station::Delay]);
    check(&[Station::finite(2, 3, Full::Lose), Station::SINGLE]);
    check(&[Station::SINGLE, Station::finite(1, 2, Full::Block)]);
    check(&[Station::Sharing { servers: 2 }, Station::SINGLE]);
    check(&[Station::Links { rates: vec![2_000_000_000, 3_000_000_000] }, Station::Delay]);
}

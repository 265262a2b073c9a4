//! After it is built, a stream allocates nothing, whatever its workload.

use crate::common::*;
use allocation_counter::{AllocationInfo, measure};
use clock::Ns;
use workload::*;

#[track_caller]
fn check(spec: &Spec) {
    let mut slots = slots(spec, &place(&[64 * MIB, 8 * MIB]));
    let calls = measure(|| {
        for at in 0..10_000 {
            for slot in &mut slots {
                std::hint::black_box(slot.next(Ns(at * 1000)));
                slot.completed(Ns(at * 1000));
            }
        }
    });
    assert_eq!(calls, AllocationInfo::default());
}

#[test]
fn presets_allocate_nothing() {
    PRESETS.iter().for_each(|preset| check(&preset.spec()));
}

#[test]
fn skews_allocate_nothing() {
    let hot = Skew::HotSpot { accesses: 80.0, blocks: 20.0 };
    for skew in [Skew::Zipf(0.99), Skew::Zipf(1.0), Skew::Pareto(0.2), hot] {
        check(&closed(Access { skew, ..access(vec![row(4096, 67.0, 100.0)]) }, 4));
    }
}

#[test]
fn ladders_and_mixed_rows_allocate_nothing() {
    let ladder = Some(Ladder { from: 512, to: 65_536, factor: 2, every: 3 });
    check(&closed(Access { ladder, ..access(vec![row(4096, 67.0, 50.0)]) }, 4));
    let rows = [512, 4096, 12_288, 65_536].map(|size| Row { share: 25.0, ..row(size, 50.0, 50.0) });
    check(&closed(access(rows.to_vec()), 4));
}

#[test]
fn open_loops_allocate_nothing() {
    for process in [
        Process::Fixed { rate: 1e6 },
        Process::Poisson { rate: 1e6 },
        Process::Ramp { from: 0.0, to: 1e6, over: Ns::millis(5) },
        Process::Bursts { high: 2e6, low: 0.0, burst: Ns::millis(1), pause: Ns::millis(1) },
    ] {
        check(&open(access(vec![row(4096, 67.0, 50.0)]), process));
    }
}

//! The size budget: an hour of 64 sources at one second stays under 200 MiB, whatever they do. `docs/record.md` has the
//! table of what is measured here.

use crate::common::{interval, place, step};
use clock::{Ns, Rng};
use record::*;

const SOURCES: u32 = 64;
const SECONDS: u64 = 40;
/// Intervals of an hour of 64 sources.
const HOUR: f64 = 3600.0 * 64.0;
/// 200 MiB, over as many.
const BUDGET: f64 = 200.0 * 1024.0 * 1024.0 / HOUR;
/// Seconds that are made up, to be written again and again.
const MADE: usize = 10;

/// Reads and writes of one interval.
type Second = (Option<Completed>, Option<Completed>);

/// Bytes of the file for each interval.
fn bytes_per_interval(make: impl Fn(&mut Rng) -> Second) -> f64 {
    let (_dir, path) = place();
    let mut writer = crate::common::begun(&path);
    for id in 3..SOURCES {
        writer.source(&crate::common::source(id, SourceKind::Worker)).expect("a source");
    }
    let step = step(1, SECONDS, 0);
    writer.step(&step).expect("a step");
    let empty = std::fs::metadata(&path).expect("the file").len();
    let mut rng = Rng::keyed(11, &[]);
    let mut seconds: Vec<Second> = (0..MADE).map(|_| make(&mut rng)).collect();
    for second in 0..SECONDS {
        for source in 0..SOURCES {
            seconds.rotate_left(1);
            let (read, write) = seconds[0].clone();
            let testimony = Some(crate::common::testimony(1_000_000 + rng.below(1_000_000)));
            let interval = interval(&step, source, second);
            writer.interval(&Interval { read, write, testimony, ..interval }).expect("an interval");
        }
        writer.commit().expect("a commit");
    }
    // Without the step's totals, which an hour's step has once.
    drop(writer);
    assert_eq!(crate::common::companions(&path), Vec::<String>::new());
    let full = std::fs::metadata(&path).expect("the file").len();
    (full - empty) as f64 / f64::from(SOURCES) / SECONDS as f64
}

/// A busy second: log-normal latencies about `median_us`, the spread of a device that is doing something, and one in a
/// hundred from a tail that begins at ten times that.
fn busy(rng: &mut Rng, ops: u32, median_us: f64, open_loop: bool) -> Option<Completed> {
    let mut tally = Completed::empty(open_loop);
    for _ in 0..ops {
        let normal: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let service_us = match rng.below(100) {
            0 => median_us * (10.0 + rng.exp(10.0)),
            _ => median_us * (0.5 * normal).exp(),
        };
        let service = Ns((service_us * 1e3) as u64);
        tally.success(8192, service, service.plus(Ns(rng.exp(20_000.0) as u64)));
    }
    Some(tally)
}

/// Measures one row of the documentation's table, and holds it to what is printed there.
#[track_caller]
fn check(name: &str, make: impl Fn(&mut Rng) -> Second) {
    let bytes = bytes_per_interval(make);
    let row = format!("| {name} | {bytes:.0} | {:.0} MiB |", bytes * HOUR / 1024.0 / 1024.0);
    println!("{row}");
    assert!(bytes < BUDGET, "{row}");
    let text = include_str!("../../../../docs/record.md");
    let documented = text.lines().find_map(|line| line.strip_prefix(&format!("| {name} | ")));
    let documented = documented.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
    let documented = documented.unwrap_or_else(|| panic!("not documented: {row}"));
    assert!((bytes / documented - 1.0).abs() < 0.1, "{documented} is documented: {row}");
}

#[test]
fn idle() {
    let empty = || Some(Completed::empty(false));
    check("no operation at all", |_| (empty(), empty()));
}

#[test]
fn closed_loops() {
    check("1,000 reads", |rng| (busy(rng, 1000, 500.0, false), None));
    check("10,000 reads", |rng| (busy(rng, 10_000, 500.0, false), None));
    check("700 reads, 300 writes", |rng| {
        (busy(rng, 700, 500.0, false), busy(rng, 300, 1500.0, false))
    });
    check("7,000 reads, 3,000 writes", |rng| {
        (busy(rng, 7000, 500.0, false), busy(rng, 3000, 1500.0, false))
    });
}

#[test]
fn open_loops_keep_two_histograms() {
    check("1,000 reads, open loop", |rng| (busy(rng, 1000, 500.0, true), None));
    check("700 reads, 300 writes, open loop", |rng| {
        (busy(rng, 700, 500.0, true), busy(rng, 300, 1500.0, true))
    });
    check("7,000 reads, 3,000 writes, open loop", |rng| {
        (busy(rng, 7000, 500.0, true), busy(rng, 3000, 1500.0, true))
    });
}

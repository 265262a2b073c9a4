//! Traces that are replayed by the engine: what is issued, where, and what is refused.

use crate::common::*;
use crate::prelude::*;
use trace::{Origin, Tally, TraceIo, TraceWriter};
use workload::{Arrivals, ReplayMode, Spec, TraceSpec};

const MIB: u64 = 1 << 20;

/// A trace of reads of one block of 4 KiB each, a millisecond apart, and of a write after every fourth.
fn ios(count: u64) -> Vec<TraceIo> {
    let io = |n: u64| TraceIo {
        at: Ns::millis(n),
        dir: if n % 5 == 4 { Dir::Write } else { Dir::Read },
        fua: false,
        device: 0,
        offset: n * 7 % 256 * 4096,
        len: 4096,
        latency: Some(Ns(200_000)),
        issuer: 0,
    };
    (0..count).map(io).collect()
}

/// A workload that replays a trace, as whoever plans a run settles it.
fn spec(folder: &TempDir, ios: &[TraceIo], trace: impl Fn(TraceSpec) -> TraceSpec) -> Spec {
    let path = folder.path().join("x.trace");
    let mut writer = TraceWriter::new(File::create(&path).unwrap(), &Origin::default()).unwrap();
    ios.iter().for_each(|io| writer.push(*io).unwrap());
    let facts = writer.finish(&["d".to_owned()], &Tally::default()).unwrap();
    let trace = trace(TraceSpec::new(path.to_str().unwrap()));
    let arrivals = match trace.mode {
        ReplayMode::Open => fixed(1.0, 32),
        ReplayMode::Closed => Arrivals::closed(0),
        ReplayMode::Fast => closed(4),
    };
    let mut spec = Spec { trace: Some(Box::new(trace)), ..random(4 * KIB, 100.0, arrivals) };
    trace::settle(&mut spec, &facts).unwrap();
    spec
}

fn counts(outcome: &Outcome) -> (u64, u64) {
    let of = |write: bool| {
        let tallies = outcome
            .intervals
            .iter()
            .filter_map(|i| if write { i.write.as_ref() } else { i.read.as_ref() });
        tallies.map(|tally| tally.ops).sum()
    };
    (of(false), of(true))
}

#[test]
fn every_mode_issues_every_io_once() {
    let folder = tempfile::tempdir().unwrap();
    for mode in [ReplayMode::Open, ReplayMode::Closed, ReplayMode::Fast] {
        for (writes, expected) in [(false, (320, 0)), (true, (320, 80))] {
            let spec = spec(&folder, &ios(400), |of| TraceSpec { mode, writes, ..of });
            // On a machine that stands still for a while, a longer time.
            for millis in [700, 7_000] {
                let outcome = run(&step(null(), 1, spec.clone(), Ns::millis(millis))).unwrap();
                assert_eq!(outcome.verdict, Ok(()));
                if counts(&outcome) == expected {
                    break;
                }
                assert!(millis < 7_000, "{mode:?}: {:?}", counts(&outcome));
            }
        }
    }
}

#[test]
fn response_counts_from_the_recorded_arrival() {
    let folder = tempfile::tempdir().unwrap();
    let spec = spec(&folder, &ios(300), |of| of);
    let outcome = run(&step(null(), 1, spec, Ns::millis(500))).unwrap();
    for tally in
        outcome.intervals.iter().filter_map(|i| i.read.as_ref()).filter(|tally| tally.ops > 0)
    {
        let response = tally.response.as_ref().expect("an open loop has response times");
        assert_eq!(response.count(), tally.ops);
    }
    // A twentieth of the time: twenty times as many a second, and still all of them.
    let quick = self::spec(&folder, &ios(300), |of| TraceSpec { speed: 20.0, ..of });
    let outcome = run(&step(null(), 1, quick, Ns::millis(100))).unwrap();
    assert_eq!(counts(&outcome), (240, 0));
}

#[test]
fn reads_of_a_file_are_those_of_the_trace() {
    let folder = tempfile::tempdir().unwrap();
    let target = file(&folder.path().join("data"), Some(2 * MIB));
    let spec = spec(&folder, &ios(100), |of| TraceSpec { mode: ReplayMode::Fast, ..of });
    let outcome = run(&step(target, 1, spec, Ns::millis(300))).unwrap();
    assert_eq!((counts(&outcome), outcome.errors()), ((80, 0), 0));
}

#[test]
fn writes_need_the_permission_of_every_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious");
    std::fs::write(&path, vec![7; 2 * MIB as usize]).unwrap();
    let spec = spec(&folder, &ios(100), |of| TraceSpec { writes: true, ..of });
    let refused = run(&step(file(&path, None), 1, spec, Ns::millis(200))).unwrap_err();
    assert!(matches!(refused, EngineError::Refused { .. }), "{refused:?}");
    assert!(std::fs::read(&path).unwrap().iter().all(|b| *b == 7));
}

#[test]
fn what_cannot_be_replayed_is_refused_before_the_step() {
    let folder = tempfile::tempdir().unwrap();
    let check = |spec: Spec, expected: &str| {
        let target = file(&folder.path().join("small"), Some(MIB));
        let refused = run(&step(target, 1, spec, Ns::millis(200))).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    };
    let far: Vec<TraceIo> =
        ios(100).into_iter().map(|io| TraceIo { offset: io.offset * 512, ..io }).collect();
    check(spec(&folder, &far, |of| of), "`remap = \"fold\"`");
    let odd: Vec<TraceIo> =
        ios(10).into_iter().map(|io| TraceIo { offset: io.offset + 100, ..io }).collect();
    check(spec(&folder, &odd, |of| of), "`round = true`");
    let mut gone = spec(&folder, &ios(10), |of| of);
    gone.trace.as_mut().unwrap().file = "/nonexistent/x.trace".to_owned();
    check(gone, "No such file");
    let mut other = spec(&folder, &ios(10), |of| of);
    other.trace.as_mut().unwrap().digest = "00".to_owned();
    check(other, "not the trace that the run was planned with");
}

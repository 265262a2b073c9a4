//! Replays: when I/Os are issued, and where.

use clock::Ns;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use workload::{
    Dir, Extent, Placement, Remap, Replay, ReplayMode, SpecError, TraceOp, TraceOps, TraceSpec,
};

const MIB: u64 = 1 << 20;

fn place(sizes: &[u64], block: u32) -> Placement {
    let targets = sizes.iter().map(|size| Extent { size: *size, block }).collect();
    Placement { targets, sharer: 0, sharers: 1, start: Ns::ZERO }
}

fn op(at: u64, offset: u64, len: u32) -> TraceOp {
    let (latency, issuer, device, dir, fua) = (Ns(1000), 0, 0, Dir::Read, false);
    TraceOp { at: Ns(at), offset, latency, len, issuer, device, dir, fua }
}

fn spec(ops: &[TraceOp], mode: ReplayMode) -> TraceSpec {
    TraceSpec { mode, ops: Some(TraceOps(Arc::from(ops))), ..TraceSpec::new("x.trace") }
}

/// Replays on a device that serves the n-th I/O in `serve(n)`, with any number in flight: when each was issued.
fn carried_out(spec: &TraceSpec, serve: impl Fn(u32) -> u64) -> Vec<u64> {
    let count = spec.ops.as_ref().unwrap().0.len();
    let mut replay = Replay::new(spec, &place(&[1 << 40], 512)).unwrap();
    let (mut issued, mut ends) = (vec![u64::MAX; count], BTreeMap::new());
    let mut now = 0;
    loop {
        while let Some((number, op)) = replay.next(Ns(now)) {
            assert!(op.due.0 <= now);
            issued[number as usize] = op.due.0;
            ends.entry(now + serve(number)).or_insert_with(Vec::new).push(number);
        }
        let arrival = replay.arrival(Ns(now)).0;
        let end = ends.first_key_value().map_or(u64::MAX, |(end, _)| *end);
        if arrival == u64::MAX && end == u64::MAX {
            assert!(replay.is_done());
            return issued;
        }
        now = arrival.min(end);
        if end == now {
            for number in ends.remove(&end).unwrap() {
                replay.completed(number, Ns(now));
            }
        }
    }
}

#[test]
fn recorded_times_are_kept_stretched_and_compressed() {
    let ops: Vec<TraceOp> = [0, 100, 100, 5000].iter().map(|at| op(*at, at * 512, 512)).collect();
    for (speed, expected) in
        [(1.0, [0, 100, 100, 5000]), (2.0, [0, 50, 50, 2500]), (0.5, [0, 200, 200, 10_000])]
    {
        let spec = TraceSpec { speed, ..spec(&ops, ReplayMode::Open) };
        // Whatever the device does.
        assert_eq!(carried_out(&spec, |_| 1_000_000), expected);
    }
}

#[test]
fn as_fast_as_it_goes_nothing_waits() {
    let ops: Vec<TraceOp> = (0..9).map(|n| op(n * 1_000_000, n * 512, 512)).collect();
    assert_eq!(carried_out(&spec(&ops, ReplayMode::Fast), |_| 77), [0; 9]);
}

#[test]
fn a_closed_replay_waits_for_what_it_waited_for() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/reference/closed.py");
    for (seed, issuers, speed) in
        [(1, 1, "1"), (2, 1, "2"), (3, 4, "1"), (4, 40, "0.5"), (5, 400, "3")]
    {
        let mut command = Command::new("python3");
        let Ok(ran) = command
            .arg(&program)
            .args([seed.to_string(), issuers.to_string(), speed.to_owned()])
            .output()
        else {
            return eprintln!("skipped: python3 is not there");
        };
        assert!(ran.status.success());
        let text = String::from_utf8(ran.stdout).unwrap();
        let rows: Vec<Vec<u64>> =
            text.lines().map(|l| l.split(' ').map(|w| w.parse().unwrap()).collect()).collect();
        assert_eq!(rows.len(), 400);
        let of = |row: &Vec<u64>| TraceOp {
            latency: Ns(row[1]),
            issuer: row[2] as u32 * 1000,
            ..op(row[0], 4096, 4096)
        };
        let ops: Vec<TraceOp> = rows.iter().map(of).collect();
        let spec = TraceSpec { speed: speed.parse().unwrap(), ..spec(&ops, ReplayMode::Closed) };
        let issued = carried_out(&spec, |number| rows[number as usize][3]);
        let expected: Vec<u64> = rows.iter().map(|row| row[4]).collect();
        assert_eq!(issued, expected, "seed {seed}");
    }
}

#[test]
fn a_closed_replay_on_the_recorded_device_is_the_record() {
    let ops: Vec<TraceOp> = (0..500u64)
        .map(|n| TraceOp {
            latency: Ns(n * n % 977 * 1000 + 1),
            ..op(n * 40_000 + n % 13, n * 4096, 4096)
        })
        .collect();
    let issued =
        carried_out(&spec(&ops, ReplayMode::Closed), |number| ops[number as usize].latency.0);
    assert_eq!(issued, ops.iter().map(|op| op.at.0).collect::<Vec<_>>());
}

/// Targets and offsets at which I/Os are issued.
fn places(spec: &TraceSpec, at: &Placement) -> Result<Vec<(u16, u64, u32)>, SpecError> {
    let mut replay = Replay::new(spec, at)?;
    Ok(std::iter::from_fn(|| replay.next(Ns(1 << 60)))
        .map(|(_, op)| (op.target, op.offset, op.len))
        .collect())
}

#[test]
fn a_trace_that_fits_keeps_its_offsets() {
    let ops = [op(0, 0, 512), op(1, 10 * MIB - 512, 512)];
    let spec = spec(&ops, ReplayMode::Open);
    assert_eq!(
        places(&spec, &place(&[10 * MIB], 512)).unwrap(),
        [(0, 0, 512), (0, 10 * MIB - 512, 512)]
    );
}

#[test]
fn a_larger_trace_is_laid_closer_together_with_its_locality() {
    // Three runs, far apart, and one of the first's blocks again.
    let at = |n: u64| 1000 * MIB * n + 3 * MIB;
    let ops = [
        op(0, at(2), 65536),
        op(1, at(2) + 65536, 65536),
        op(2, at(0) + MIB - 4096, 8192),
        op(3, at(5) + 512, 512),
        op(4, at(2), 512),
    ];
    let spec = spec(&ops, ReplayMode::Open);
    let found = places(&spec, &place(&[4 * MIB], 512)).unwrap();
    // Touched parts in order of address: two of the first run, one of the second, one of the third.
    let expected = [
        (2 * MIB, 65536),
        (2 * MIB + 65536, 65536),
        (MIB - 4096, 8192),
        (3 * MIB + 512, 512),
        (2 * MIB, 512),
    ];
    assert_eq!(found, expected.map(|(offset, len)| (0, offset, len)));
    let refused =
        |spec: &TraceSpec, size| places(spec, &place(&[size], 512)).unwrap_err().to_string();
    let error = refused(&spec, 3 * MIB);
    assert!(error.contains("touches 4194304 bytes and its target holds 3145728"), "{error}");
    let exact = TraceSpec { remap: Remap::Refuse, ..spec.clone() };
    assert!(refused(&exact, 4 * MIB).contains("remap = \"compact\""));
    let fold = TraceSpec { remap: Remap::Fold, ..spec };
    let found = places(&fold, &place(&[2 * MIB], 512)).unwrap();
    assert_eq!(
        found.iter().map(|place| place.1).collect::<Vec<_>>(),
        [0, 65536, MIB - 4096, MIB + 512, 0]
    );
}

#[test]
fn devices_are_dealt_to_targets_and_share_them() {
    let ops: Vec<TraceOp> = (0..3)
        .map(|device| TraceOp { device, ..op(device.into(), 4096 * u64::from(device), 4096) })
        .collect();
    let spec = spec(&ops, ReplayMode::Open);
    let found = places(&spec, &place(&[8 * MIB, 8 * MIB], 512)).unwrap();
    assert_eq!(found, [(0, 0, 4096), (1, 4096, 4096), (0, MIB + 8192, 4096)]);
    let found = places(&spec, &place(&[8 * MIB], 512)).unwrap();
    assert_eq!(found, [(0, 0, 4096), (0, MIB + 4096, 4096), (0, 2 * MIB + 8192, 4096)]);
}

#[test]
fn another_sector_size_is_refused_or_rounded_outward() {
    let ops = [op(0, 512, 512), op(1, 4096 * 3, 8192), op(2, 3584, 1024)];
    let refused =
        places(&spec(&ops, ReplayMode::Open), &place(&[MIB], 4096)).unwrap_err().to_string();
    assert!(refused.contains("logical blocks of 4096 bytes; `round = true`"), "{refused}");
    let round = TraceSpec { round: true, ..spec(&ops, ReplayMode::Open) };
    let found = places(&round, &place(&[MIB], 4096)).unwrap();
    assert_eq!(found, [(0, 0, 4096), (0, 12288, 8192), (0, 0, 8192)]);
}

#[test]
fn without_latencies_what_was_waited_for_is_not_known() {
    let ops = [TraceOp { latency: Ns::MAX, ..op(0, 0, 512) }];
    let error = Replay::new(&spec(&ops, ReplayMode::Closed), &place(&[MIB], 512))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("1 of 1 I/Os have no latency"), "{error}");
    let unloaded = TraceSpec::new("x.trace");
    assert!(
        Replay::new(&unloaded, &place(&[MIB], 512))
            .err()
            .unwrap()
            .to_string()
            .contains("has not been loaded")
    );
}

//! Arrival processes: rates, gaps, ramps, and their independence of addresses.

use crate::common::*;
use clock::Ns;
use workload::*;

fn stream(process: Process, place: &Placement) -> Stream {
    let spec = open(access(vec![row(4096, 100.0, 100.0)]), process);
    Stream::new(&spec, place, key(0)).expect("sound")
}

fn due(process: Process, until: Ns) -> Vec<Ns> {
    arrivals(&mut stream(process, &place(&[MIB])), until)
}

/// The number of arrivals up to each of the times, within one of the expected.
#[track_caller]
fn check(process: Process, expected: &[(Ns, f64)]) {
    let until = expected.last().map_or(Ns::ZERO, |(until, _)| *until);
    let due = due(process, until);
    assert!(due.is_sorted());
    for (at, count) in expected {
        let seen = due.partition_point(|due| due < at) as f64;
        assert!((seen - count).abs() <= 1.0, "{seen} before {at:?}, not {count}");
    }
}

const SECOND: Ns = Ns::secs(1);

#[test]
fn a_fixed_rate_has_equal_gaps_and_does_not_drift() {
    check(Process::Fixed { rate: 1000.0 }, &[(SECOND, 1000.0), (Ns::secs(100), 100_000.0)]);
    check(Process::Fixed { rate: 333.3 }, &[(Ns::secs(1000), 333_300.0)]);
    check(Process::Fixed { rate: 0.5 }, &[(Ns::secs(10), 5.0)]);
    let due = due(Process::Fixed { rate: 300.0 }, SECOND);
    assert!(due.windows(2).all(|pair| (3_333_333..=3_333_334).contains(&pair[1].since(pair[0]).0)));
}

#[test]
fn workers_of_one_rate_take_turns() {
    let mut all: Vec<Ns> = (0..4)
        .flat_map(|sharer| {
            let place = Placement { sharer, sharers: 4, ..place(&[MIB]) };
            arrivals(&mut stream(Process::Fixed { rate: 250.0 }, &place), SECOND)
        })
        .collect();
    all.sort_unstable();
    assert_eq!(all, (0..1000).map(Ns::millis).collect::<Vec<Ns>>());
}

#[test]
fn a_ramp_follows_the_integral_of_its_rate() {
    let ramp = |from, to| Process::Ramp { from, to, over: Ns::secs(10) };
    check(ramp(0.0, 100.0), &[(Ns::secs(5), 125.0), (Ns::secs(10), 500.0), (Ns::secs(20), 1500.0)]);
    check(
        ramp(100.0, 200.0),
        &[(Ns::secs(5), 625.0), (Ns::secs(10), 1500.0), (Ns::secs(11), 1700.0)],
    );
    check(
        ramp(200.0, 100.0),
        &[(Ns::secs(5), 875.0), (Ns::secs(10), 1500.0), (Ns::secs(11), 1600.0)],
    );
    check(ramp(50.0, 50.0), &[(Ns::secs(5), 250.0), (Ns::secs(20), 1000.0)]);
    check(Process::Ramp { from: 9.0, to: 100.0, over: Ns::ZERO }, &[(SECOND, 100.0)]);
}

#[test]
fn a_ramp_to_nothing_ends() {
    let process = Process::Ramp { from: 100.0, to: 0.0, over: Ns::secs(10) };
    let mut stream = stream(process, &place(&[MIB]));
    let due = arrivals(&mut stream, Ns::MAX);
    assert!((500..=501).contains(&due.len()), "{}", due.len());
    assert!(due.last() <= Some(&Ns::secs(10)));
    assert_eq!(stream.next(Ns::MAX), Next::Done);
}

#[test]
fn poisson_gaps_are_exponential() {
    let due = due(Process::Poisson { rate: 10_000.0 }, Ns::secs(10));
    let n = due.len() as f64;
    assert!((n - 100_000.0).abs() < 5.0 * 100_000f64.sqrt(), "{n}");
    let mut gaps: Vec<f64> = due.windows(2).map(|w| w[1].since(w[0]).as_secs_f64()).collect();
    gaps.sort_by(f64::total_cmp);
    // Kolmogorov and Smirnov: the largest distance to the distribution, at the level of 0.1%.
    let distance = gaps.iter().enumerate().map(|(rank, gap)| {
        let expected = 1.0 - (-gap * 10_000.0).exp();
        (rank as f64 / gaps.len() as f64 - expected).abs()
    });
    let distance = distance.fold(0.0, f64::max);
    assert!(distance < 1.95 / (gaps.len() as f64).sqrt(), "{distance}");
}

#[test]
fn poisson_workers_are_independent() {
    let first = |worker| {
        let spec = open(access(vec![row(4096, 100.0, 100.0)]), Process::Poisson { rate: 1000.0 });
        let mut stream =
            Stream::new(&spec, &place(&[MIB]), StreamKey { worker, ..key(0) }).expect("sound");
        arrivals(&mut stream, SECOND)
    };
    assert_eq!(first(0), first(0));
    assert_ne!(first(0), first(1));
}

#[test]
fn the_rate_moves_no_address() {
    let drawn = |process| {
        let spec = open(access(vec![row(4096, 67.0, 50.0)]), process);
        let mut stream = Stream::new(&spec, &place(&[1 << 40]), key(0)).expect("sound");
        (0..1000)
            .map(|_| match stream.next(Ns::MAX) {
                Next::Op(op) => (op.dir, op.offset),
                other => panic!("{other:?}"),
            })
            .collect::<Vec<_>>()
    };
    let slow = drawn(Process::Fixed { rate: 10.0 });
    assert_eq!(slow, drawn(Process::Poisson { rate: 1e6 }));
    assert_eq!(slow, drawn(Process::Ramp { from: 0.0, to: 5.0, over: SECOND }));
}

#[test]
fn an_open_loop_asks_for_no_completion_and_no_pause() {
    let rows = vec![Row { delay: SECOND, burst: 1, ..row(4096, 100.0, 100.0) }];
    let spec = open(access(rows), Process::Fixed { rate: 1000.0 });
    let mut stream = Stream::new(&spec, &place(&[MIB]), key(0)).expect("sound");
    assert_eq!(arrivals(&mut stream, SECOND).len(), 1000);
    stream.completed(Ns::secs(9));
    assert!(matches!(stream.next(SECOND), Next::Op(Op { due: SECOND, .. })));
}

/// Arrivals of two states: their mean, how their number varies over long and over short times, and the gaps within a state.
#[test]
fn bursts_have_the_mean_and_the_dispersion_of_their_two_states() {
    let (high, low, burst, pause) = (5000.0, 500.0, Ns::millis(20), Ns::millis(80));
    let process = Process::Bursts { high, low, burst, pause };
    assert_eq!(process.mean_rate(Ns::ZERO, SECOND), 1400.0);
    // 1 + 2 (h - l)^2 r s / ((r + s)^3 mean) with r = 50 and s = 12.5 changes a second.
    let expected = 1.0 + 2.0 * 4500.0_f64.powi(2) * 50.0 * 12.5 / (62.5_f64.powi(3) * 1400.0);
    assert!((process.dispersion() - expected).abs() < 1e-9, "{} {expected}", process.dispersion());
    let seconds = 2000;
    let due = due(process, Ns::secs(seconds));
    let mean = due.len() as f64 / seconds as f64;
    // The deviation of the mean over 2,000 s by that dispersion is 7.
    assert!((mean - 1400.0).abs() < 35.0, "{mean}");
    let dispersion = |window: u64| {
        let mut counts = vec![0.0_f64; (Ns::secs(seconds).0 / window) as usize];
        for at in &due {
            if let Some(count) = counts.get_mut((at.0 / window) as usize) {
                *count += 1.0;
            }
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / counts.len() as f64 / mean
    };
    // Over a second, which is 62.5 times the time constant, its limit less 1.6%; over 0.1 ms, Poisson's and 0.5%.
    let (long, short) = (dispersion(1_000_000_000), dispersion(100_000));
    assert!((long / (1.0 + (expected - 1.0) * (1.0 - 1.0 / 62.5)) - 1.0).abs() < 0.15, "{long}");
    assert!((0.95..1.3).contains(&short), "{short}");
    // Nothing arrives between bursts of which nothing is asked there.
    let quiet = Process::Bursts { high: 1000.0, low: 0.0, burst: Ns::secs(1), pause: Ns::secs(9) };
    let gaps = self::due(quiet, Ns::secs(1000));
    assert!(gaps.windows(2).any(|pair| pair[1].since(pair[0]) > SECOND));
}

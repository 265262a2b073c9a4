//! Synthetic workloads with known parameters are found again, within the errors that the fit states.

use clock::Ns;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use trace::{Fit, Fitter, TraceFormat, TraceIo, TraceOptions, open};
use workload::Dir;

/// The fit of a shape, and what is true of it; `None` without Python.
fn fitted(shape: &str, seed: u64) -> Option<(Fit, BTreeMap<String, f64>)> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("t.csv");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/reference/synthetic.py");
    let mut command = Command::new("python3");
    let Ok(ran) = command.arg(&program).args([shape, &seed.to_string()]).arg(&file).output() else {
        eprintln!("skipped: python3 is not there");
        return None;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let bytes = std::fs::read(&file).unwrap();
    let options = TraceOptions::default();
    let mut reader = open(vec![&bytes[..]], &bytes, TraceFormat::Alibaba, &options).unwrap();
    let ios: Vec<_> = std::iter::from_fn(|| reader.next().unwrap()).collect();
    let text = String::from_utf8(ran.stdout).unwrap();
    let truth = text.lines().filter_map(|line| {
        let (key, value) = line.split_once(' ')?;
        Some((key.to_owned(), value.parse().ok()?))
    });
    Some((Fitter::of(&ios).finish(), truth.collect()))
}

/// Checks a shape over seeds: a figure may lie at twice its 95% interval, so that no chance of a seed fails.
#[track_caller]
fn check(shape: &str) {
    for seed in 1..=3 {
        let Some((fit, truth)) = fitted(shape, seed) else { return };
        let near = |what: &str, value: f64, error: f64| {
            let expected = truth[what];
            assert!(
                (value - expected).abs() <= 2.0 * error + 1e-9 * expected,
                "{shape} {seed}: {what} is {expected}, found {value} ± {error}"
            );
        };
        near("read", fit.read.value, fit.read.error);
        near("size", fit.size.value, fit.size.error);
        near("rate", fit.rate.value, fit.rate.error);
        for random in fit.random.iter().filter(|random| random.error.is_finite()) {
            // The first I/O of a run follows nothing.
            let start = if truth["random"] < 100.0 { 0.02 } else { 0.0 };
            near("random", random.value, random.error + start);
        }
        match (truth.get("theta"), fit.zipf) {
            (Some(theta), Some(zipf)) => {
                // An exponent has no negative side: near uniform the interval is one-sided.
                let least = if *theta == 0.0 { 0.12 } else { 0.0 };
                near("theta", zipf.theta, zipf.theta_error + least);
                near("blocks", zipf.blocks, zipf.blocks_error + 0.02 * zipf.blocks);
            }
            (None, zipf) => assert_eq!(zipf, None, "{shape}"),
            (Some(_), None) => panic!("{shape}: no skew found"),
        }
        let coarse = fit.scales.iter().find(|scale| scale.window.0 == 1_000_000_000);
        match truth.get("limit") {
            None => assert_eq!(fit.bursts, None, "{shape} {seed}: {:?}", fit.scales),
            Some(_) => {
                let bursts = fit.bursts.expect("it is bursty");
                let ratio = bursts.high / truth["high"];
                assert!((0.75..1.33).contains(&ratio), "{shape} {seed}: {bursts:?}");
                let between = (bursts.low - truth["low"]).abs() / truth["rate"];
                assert!(between < 0.25, "{shape} {seed}: {bursts:?}");
                // Rare and strong bursts are not taken for some that last as long as the pauses.
                let ten = fit.scales.iter().find(|scale| scale.window.0 == 10_000_000).unwrap();
                let ratio = ten.p99_fitted as f64 / ten.p99 as f64;
                assert!((0.8..1.25).contains(&ratio), "{shape} {seed}: {ten:?}");
                // The curve, where it was seen, is met within a third.
                for scale in &fit.scales {
                    let ratio = scale.fitted / scale.dispersion;
                    assert!((0.66..1.5).contains(&ratio), "{shape} {seed}: {scale:?}");
                }
                assert!(coarse.is_none_or(|scale| scale.dispersion > 5.0));
            }
        }
    }
}

#[test]
fn poisson_shapes() {
    for shape in ["oltp", "uniform", "skewed", "mild", "backup", "mixed"] {
        check(shape);
    }
}

#[test]
fn bursty_shapes() {
    check("boot");
    check("bursts");
    check("rare");
}

#[test]
fn even_arrivals_are_the_scenarios() {
    let fit = every_millisecond(4096, 4096);
    assert!(fit.even && fit.bursts.is_none());
    assert!(fit.scenario("t").contains("\narrivals = \"fixed\"\n"));
    assert!(fit.residual().iter().any(|line| line.contains("evenly spaced")));
}

#[test]
fn a_fit_says_what_it_leaves_out() {
    let Some((fit, _)) = fitted("boot", 1) else { return };
    let said = fit.residual().join("\n");
    assert!(said.contains("arrivals are bursty"), "{said}");
    assert!(said.contains("no latencies"), "{said}");
    let ten = fit.scales.iter().find(|scale| scale.window.0 == 10_000_000).unwrap();
    assert!(ten.p99 > ten.p99_poisson * 2, "{ten:?}");
    assert!(fit.scenario("boot").contains("\nbursts = { high = "), "the scenario has its bursts");
    let close = ten.p99_fitted as f64 / ten.p99 as f64;
    assert!((0.8..1.2).contains(&close), "{ten:?}");
}

/// I/Os of one size each 1 ms, at multiples of a unit.
fn every_millisecond(len: u32, unit: u64) -> Fit {
    spaced(len, unit, 0)
}

/// The same, with each second one so many nanoseconds late.
fn spaced(len: u32, unit: u64, late: u64) -> Fit {
    let io = |n: u64| TraceIo {
        at: Ns(n * 1_000_000 + n % 2 * late),
        dir: Dir::Read,
        fua: false,
        device: 0,
        offset: n * 7919 % 100_003 * unit,
        len,
        latency: None,
        issuer: 0,
    };
    Fitter::of(&(0..5000).map(io).collect::<Vec<_>>()).finish()
}

#[test]
fn offsets_keep_their_alignment_up_to_the_size() {
    for (len, unit, align) in
        [(32_768, 32_768, 32_768), (32_768, 4096, 4096), (4096, 1 << 20, 4096), (8192, 1000, 512)]
    {
        let text = every_millisecond(len, unit).scenario("aligned");
        assert!(text.contains(&format!("align = \"{align}B\"")), "{len} {unit}: {text}");
    }
}

#[test]
fn arrivals_that_are_more_regular_than_poissons_are_said() {
    let fit = spaced(4096, 4096, 700_000);
    let said = fit.residual().join("\n");
    assert!(fit.scenario("t").contains("\narrivals = \"poisson\"\n"));
    assert!(said.contains("more regular than Poisson's"), "{said}");
    let Some((fit, _)) = fitted("oltp", 1) else { return };
    assert!(!fit.residual().join("\n").contains("more regular"));
}

/// Writes of a log beside random reads: one working set is not what the trace has.
#[test]
fn a_log_beside_random_reads_is_said() {
    let io = |n: u64| {
        let dir = if n.is_multiple_of(3) { Dir::Write } else { Dir::Read };
        let offset = match dir {
            Dir::Write => n / 3 * 4096,
            _ => (1 << 30) + n * 7919 % 100_003 * 4096,
        };
        let (at, len) = (Ns(n * 1_000_000), 4096);
        TraceIo { at, dir, fua: false, device: 0, offset, len, latency: None, issuer: 0 }
    };
    let said = Fitter::of(&(0..6000).map(io).collect::<Vec<_>>()).finish().residual().join("\n");
    assert!(said.contains("of the writes are random"), "{said}");
    let Some((fit, _)) = fitted("skewed", 1) else { return };
    assert!(fit.residual().join("\n").contains("which blocks are popular"), "{:?}", fit.zipf);
}

/// Of 20,000 accesses drawn from 2^24 blocks a dozen meet another: their number cannot be known.
#[test]
fn a_working_set_of_which_too_little_was_seen_is_not_determined() {
    let mut state = 1_u64;
    let ios: Vec<TraceIo> = (0..20_000)
        .map(|n| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (at, offset) = (Ns(n * 1_000_000), (state >> 40) * 4096);
            TraceIo {
                at,
                dir: Dir::Read,
                fua: false,
                device: 0,
                offset,
                len: 4096,
                latency: None,
                issuer: 0,
            }
        })
        .collect();
    let end = ios.iter().map(|io| io.end()).max().unwrap();
    let begin = ios.iter().map(|io| io.offset).min().unwrap();
    let text = Fitter::of(&ios).finish().scenario("few");
    assert!(text.contains("working set: not determined"), "{text}");
    assert!(text.contains(&format!("working_set = \"{}B\"", end - begin)), "{text}");
}

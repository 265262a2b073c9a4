//! `kill -9` at random moments: the record opens, reviews as incomplete, and has lost at most one interval.
//!
//! The program prints a line for every recorded second, so what must be in the file is known without timing.

use crate::prelude::*;
use crate::program::support::{Bench, ended, open, slow_null};
use clock::{Ns, Rng};

const KILLS: u64 = 80;
const AT_ONCE: u64 = 20;

#[test]
fn a_killed_run_is_an_incomplete_record_that_lost_at_most_one_interval() {
    let mut with_seconds = 0;
    for round in 0..KILLS / AT_ONCE {
        let attempts: Vec<_> = (0..AT_ONCE)
            .map(|n| std::thread::spawn(move || attempt(round * AT_ONCE + n)))
            .collect();
        for attempt in attempts {
            with_seconds += u64::from(attempt.join().expect("the attempt holds") > 0);
        }
    }
    assert!(with_seconds > KILLS / 4, "only {with_seconds} of {KILLS} runs got to a full second");
}

/// Kills one run after a random while; returns the seconds it had reported.
fn attempt(seed: u64) -> usize {
    let bench = Bench::new(&slow_null("60s"));
    let mut child = bench
        .command(&["run", "s.toml", "--out", "r.wsr"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let wait = Rng::keyed(seed, &[]).below(4_000_000_000);
    clock::sleep_until(clock::now().plus(Ns(wait)));
    child.kill().expect("a running child can be killed");
    let stderr = ended(child.wait_with_output().expect("the child is reaped")).stderr;
    let reported = stderr.lines().filter(|line| line.contains(" s  ")).count();

    let path = bench.path("r.wsr");
    if !path.exists() {
        assert_eq!(reported, 0, "seconds were reported, but there is no record");
        return 0;
    }
    let record = match record::Record::open(&path) {
        Ok(record) => record,
        // Killed while the file was being made: nothing had been reported yet, and the message says what it is.
        Err(e) => {
            assert_eq!(reported, 0, "{e}\n{stderr}");
            return 0;
        }
    };
    assert_eq!(record.status(), Status::Running);
    check_intervals(&record, reported, &stderr);
    drop(record);

    let review = bench.run(&["review", "r.wsr"]);
    assert_eq!(review.code, 3, "{}\n{}", review.stdout, review.stderr);
    assert!(review.stdout.to_lowercase().contains("incomplete"), "{}", review.stdout);
    assert_eq!(open(&path).status(), Status::Running, "a review changes nothing");
    reported
}

fn check_intervals(record: &record::Record, reported: usize, stderr: &str) {
    let Some(step) = record.steps().first() else {
        assert_eq!(reported, 0, "seconds were reported, but there is no step");
        return;
    };
    let intervals = record.intervals(step.index).expect("intervals are readable");
    let mut at = step.times.start;
    for interval in &intervals {
        assert_eq!(interval.from, at, "a gap in the record");
        at = interval.to;
    }
    assert!(
        intervals.len() + 1 >= reported,
        "{reported} seconds were reported, {} intervals are in the record\n{stderr}",
        intervals.len()
    );
}

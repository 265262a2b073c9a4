//! First done, last done.

use crate::support::{Sketch, Work};
use clock::Ns;

const SCENARIO: &str = r#"
scenario.title = "Three targets"
target = [{ name = "t{1..3}", url = "null:", size = "1GiB" }]
workload.load.block = "8KiB"
[plan]
workload = "load"
on = "t*"
warmup = "2s"
measure = "6s"
"#;

/// Measured seconds in which each of the three workers is busy, and the first and last to end, in seconds of load.
#[track_caller]
fn check(seconds: [u64; 3], first: (&str, u64), last: (&str, u64), apart: bool) {
    let analysis = Sketch::of(SCENARIO).analyse(|_, target| {
        let number: usize = target[1..].parse().expect("a target has a number");
        Work { seconds: seconds[number - 1], ..Work::default() }
    });
    let done = analysis.steps[0].done.as_ref().expect("something was done");
    let of = |f: &findings::Finish| (f.worker.clone(), f.after_ns);
    let expected = |(worker, s): (&str, u64)| (format!("{worker}/load/0"), Ns::secs(s).0);
    assert_eq!((of(&done.first), of(&done.last)), (expected(first), expected(last)));
    assert_eq!(done.apart(), apart);
}

#[test]
fn the_first_and_the_last_are_named_with_their_time_since_the_load_began() {
    check([6, 6, 6], ("t1", 8), ("t1", 8), false);
    check([6, 5, 6], ("t2", 7), ("t1", 8), false);
    check([6, 6, 3], ("t3", 5), ("t1", 8), true);
    check([1, 2, 6], ("t1", 3), ("t3", 8), true);
    check([6, 0, 6], ("t2", 0), ("t1", 8), true);
}

#[test]
fn where_nothing_was_done_nobody_was_done_first() {
    let analysis = Sketch::of(SCENARIO).analyse(|_, _| Work { ops: 0, ..Work::default() });
    assert_eq!(analysis.steps[0].done, None);
}

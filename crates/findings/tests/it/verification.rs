//! What verification found: counted over steps and workers, told before the goals, and never a success where it was wrong.

use crate::support::{Sketch, Work};
use findings::{Analysis, Coverage, Verdict, Verification};
use record::{Level, Status};

const SCENARIO: &str = r#"
scenario.title = "One target"
target = [{ name = "data", file = "data.bin", create = "1GiB" }]
workload.load = { block = "8KiB", read = 50, verify = true }
plan = { workload = "load", on = "data", measure = "10s", repeat = 2 }
[[goal]]
iops = { at_least = "1 IOPS" }
"#;

fn sketch(counters: &'static [(&'static str, f64)]) -> Sketch<'static> {
    Sketch::of(SCENARIO).hop("counts", counters)
}

fn analyse(sketch: Sketch) -> Analysis {
    sketch.analyse(|_, _| Work::default())
}

/// Blocks checked, blocks wrong, and the kinds of faults with their counts.
type Seen<'a> = (u64, u64, Vec<(&'a str, u64)>);

/// Blocks checked and wrong, and each kind of fault.
fn seen(analysis: &Analysis) -> Option<Seen<'_>> {
    let v: &Verification = analysis.verification.as_ref()?;
    Some((v.checked, v.wrong, v.faults.iter().map(|f| (f.kind, f.blocks)).collect()))
}

#[test]
fn counts_are_summed_over_the_steps() {
    // Each amount is one of a second, in two steps of ten.
    let counters: &[(&str, f64)] = &[
        ("verify-checked", 50.0),
        ("verify-unknown", 5.0),
        ("verify-written", 30.0),
        ("verify-blocks", 200.0),
        ("verify-blocks-known", 100.0),
        ("verify-blocks-seen", 10.0),
        ("read-bytes", 4096.0),
    ];
    let analysis = analyse(sketch(counters));
    assert_eq!(seen(&analysis), Some((1000, 0, vec![])));
    let v = analysis.verification.unwrap();
    assert_eq!((v.unknown, v.written), (100, 600));
    assert_eq!(
        v.coverage,
        Some(Coverage { blocks: 2000, known: 1000, seen: 100 }),
        "the last step's"
    );
    assert_eq!(analysis.verdict, Verdict::Met { met: 1 });
}

#[test]
fn wrong_data_is_no_success_whatever_the_goals() {
    let counters: &[(&str, f64)] = &[
        ("verify-checked", 50.0),
        ("verify-torn", 1.0),
        ("verify-lost", 0.1),
        ("verify-odd", 9.0),
    ];
    let analysis = analyse(sketch(counters));
    assert_eq!(seen(&analysis), Some((1000, 22, vec![("lost", 2), ("torn", 20)])));
    let wrong = Verdict::Wrong { blocks: 22, met: 1, failed: 0, undecided: 0 };
    assert_eq!((analysis.verdict, analysis.verdict.exit_code()), (wrong, 1));
}

#[test]
fn reported_faults_count_without_their_counters() {
    let told = || {
        Sketch::of(SCENARIO)
            .event(Level::Error, "verify-lost", "block 7")
            .event(Level::Error, "verify-lost", "block 9")
            .event(Level::Info, "verify-pass", "read all")
    };
    let analysis = analyse(told());
    assert_eq!(seen(&analysis), Some((0, 2, vec![("lost", 2)])));
    assert_eq!(analysis.verdict.exit_code(), 1);
    let cut = analyse(told().status(Status::Running));
    assert_eq!((seen(&cut), cut.verdict.exit_code()), (Some((0, 2, vec![("lost", 2)])), 3));
}

#[test]
fn nothing_verified_is_nothing_said() {
    assert_eq!(analyse(Sketch::of(SCENARIO)).verification, None);
    assert_eq!(analyse(sketch(&[("read-bytes", 1.0)])).verification, None);
    let strange: &[(&str, f64)] = &[("verify-checked", f64::MAX), ("verify-lost", -5.0)];
    assert_eq!(seen(&analyse(sketch(strange))), Some((u64::MAX, 0, vec![])));
}

//! What targets held when they were first read: the warning, its severity, and when there is none.

use crate::support::{Sketch, Work};
use findings::Analysis;
use findings::warnings::Severity;
use record::Sampling;

const SCENARIO: &str = r#"
scenario.title = "One target"
target = [{ name = "data", file = "data.bin" }]
workload.load = { block = "8KiB", rate = "1000 IOPS" }
[plan]
workload = "load"
on = "data"
measure = "5s"
"#;

fn analysis(facts: &[(&str, &str)]) -> Analysis {
    let sketch = facts.iter().fold(Sketch::of(SCENARIO), |sketch, (subject, value)| {
        sketch.fact(subject, "sample", value)
    });
    sketch.analyse(|_, _| Work::default())
}

/// The one warning, for 1,000 blocks of which so many were unwritten, zero and repeated.
#[track_caller]
fn check(counts: [u32; 3], code: &str, severity: Severity, text: &str) {
    let [unwritten, zero, repeated] = counts;
    let sampling = Sampling { blocks: 1000, block: 4096, over: 1 << 40, unwritten, zero, repeated };
    let analysis = analysis(&[("data", &sampling.to_string())]);
    let [warning] = &analysis.warnings[..] else { panic!("{:?}", analysis.warnings) };
    assert_eq!((warning.code.as_str(), warning.severity), (code, severity));
    assert_eq!(warning.text, text);
    assert!(!warning.next.is_empty());
}

#[test]
fn unwritten_data_is_named_with_its_interval() {
    use Severity::{Note, Warning};
    check(
        [800, 32, 0],
        "unwritten-data",
        Warning,
        "832 of 1,000 sampled blocks of data hold nothing (83.2%; with 95% confidence 80.8% to 85.4%): 800 were never \
         written, 32 read as zeros",
    );
    check(
        [0, 1000, 0],
        "unwritten-data",
        Warning,
        "1,000 of 1,000 sampled blocks of data hold nothing (100%; with 95% confidence 99.6% to 100%): they read as zeros",
    );
    check(
        [3, 0, 0],
        "unwritten-data",
        Note,
        "3 of 1,000 sampled blocks of data hold nothing (0.30%; with 95% confidence 0.10% to 0.90%): they were never written",
    );
    check(
        [0, 0, 250],
        "repeated-data",
        Warning,
        "250 of 1,000 sampled blocks of data equal others or repeat one pattern (25%; with 95% confidence 22.4% to 27.8%)",
    );
}

#[test]
fn both_kinds_are_two_warnings_and_every_target_has_its_own() {
    let text = "10 unwritten, 10 zero, 10 repeated of 1000 blocks of 4096 B over 1099511627776 B";
    let analysis = analysis(&[("data", text), ("other", text)]);
    let codes: Vec<&str> = analysis.warnings.iter().map(|w| w.code.as_str()).collect();
    assert_eq!(codes, ["unwritten-data", "repeated-data", "unwritten-data", "repeated-data"]);
    assert_eq!(analysis.contents.len(), 2);
}

#[test]
fn sound_data_and_facts_that_are_no_samplings_warn_of_nothing() {
    let sound = "0 unwritten, 0 zero, 0 repeated of 1000 blocks of 4096 B over 1099511627776 B";
    let analysis = analysis(&[
        ("data", sound),
        ("wrong", "1000 blocks"),
        ("empty", &sound.replace("1000", "0")),
        ("more", &sound.replace("0 zero", "2000 zero")),
    ]);
    assert_eq!(analysis.warnings, []);
    assert_eq!(analysis.contents.len(), 1);
    assert!(analysis.contents[0].is_sound());
}

#[test]
fn a_small_target_is_seen_whole_and_nothing_is_uncertain() {
    let text = "40 unwritten, 0 zero, 0 repeated of 100 blocks of 4096 B over 409700 B";
    let analysis = analysis(&[("data", text)]);
    assert!(
        analysis.warnings[0].text.contains("hold nothing (40%): they"),
        "{:?}",
        analysis.warnings
    );
}

//! Jain's index and the spread, against values worked out by hand.

use crate::support::{Sketch, Work};
use findings::{Balance, balance};

#[track_caller]
fn check(rates: &[f64], jain: f64, spread: f64, deviation: f64) {
    let named: Vec<(String, f64)> =
        rates.iter().enumerate().map(|(i, r)| (format!("vm{i}"), *r)).collect();
    let found = balance(vec![], &named).expect("two or more that moved something");
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(near(found.jain, jain), "Jain {} for {rates:?}", found.jain);
    assert!(near(found.spread, spread), "spread {} for {rates:?}", found.spread);
    assert!(near(found.deviation, deviation), "deviation {} for {rates:?}", found.deviation);
}

#[test]
fn indices_by_hand() {
    check(&[10.0, 10.0], 1.0, 0.0, 0.0);
    check(&[7.0; 64], 1.0, 0.0, 0.0);
    // One has everything: 1/n.
    check(&[1.0, 0.0], 0.5, 2.0, 1.0);
    check(&[8.0, 0.0, 0.0, 0.0], 0.25, 4.0, 3.0);
    // (1+2+3)² / (3·14); the mean is 2.
    check(&[1.0, 2.0, 3.0], 36.0 / 42.0, 1.0, 0.5);
    // The mean is 4: the far one is at twice the mean.
    check(&[2.0, 2.0, 8.0], 144.0 / 216.0, 1.5, 1.0);
}

#[test]
fn shares_sum_to_one() {
    let found = balance(vec![], &[("a".into(), 1.0), ("b".into(), 3.0)]).unwrap();
    assert_eq!(found.shares.iter().map(|s| s.share).collect::<Vec<_>>(), [0.25, 0.75]);
}

#[test]
fn too_few_or_nothing_moved_is_not_applicable() {
    assert_eq!(balance(vec![], &[]), None);
    assert_eq!(balance(vec![], &[("a".into(), 5.0)]), None);
    assert_eq!(balance(vec![], &[("a".into(), 0.0), ("b".into(), 0.0)]), None);
}

const READERS_AND_WRITERS: &str = r#"
scenario.title = "Readers and writers"
target = [{ name = "t{1..4}", url = "null:", size = "1GiB" }]
workload.read.block = "8KiB"
workload.write = { block = "8KiB", read = 0 }
[plan]
measure = "2s"
load = [{ workload = "read", on = ["t1", "t2"] }, { workload = "write", on = ["t3", "t4"] }]
"#;

#[test]
fn only_those_who_do_the_same_are_compared() {
    let analysis = Sketch::of(READERS_AND_WRITERS).analyse(|_, group| match group {
        "t1" | "t2" => Work { ops: 300, ..Work::default() },
        _ => Work { ops: 100, read: 0, ..Work::default() },
    });
    let found: &[Balance] = &analysis.steps[0].balance;
    let told: Vec<_> =
        found.iter().map(|b| (b.workloads.join("+"), b.shares.len(), b.spread)).collect();
    assert_eq!(told, [("read".to_owned(), 2, 0.0), ("write".to_owned(), 2, 0.0)]);
}

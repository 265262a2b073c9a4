//! Pairs of runs in turn, and their result against a bar: the figure's ratio, its interval, and whether the whole
//! interval is on the right side.

use crate::PAIRS;
use crate::estimate::Estimate;
use crate::tools::{Outcome, Problem, Tool};

/// Two command lines with the same work, and the bars of the comparison.
pub struct Comparison {
    /// The subject of the comparison.
    pub title: String,
    /// A.
    pub wirespeed: Tool,
    /// B.
    pub fio: Tool,
    /// The requirements; none where the comparison is for the reader.
    pub bars: Vec<Bar>,
}

/// A requirement on the ratio of a figure, Wirespeed's to fio's.
pub struct Bar {
    pub figure: Figure,
    pub must: Must,
}

#[derive(Clone, Copy)]
pub enum Figure {
    Iops,
    P50,
    P99,
    CpuPerIo,
}

#[derive(Clone, Copy)]
pub enum Must {
    BeAtLeast(f64),
    BeAtMost(f64),
    /// Within this share of 1.
    Agree(f64),
}

impl Figure {
    fn of(self, outcome: &Outcome) -> f64 {
        match self {
            Figure::Iops => outcome.iops,
            Figure::P50 => outcome.p50_ns,
            Figure::P99 => outcome.p99_ns,
            Figure::CpuPerIo => outcome.cpu_s / outcome.reads,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Figure::Iops => "IOPS",
            Figure::P50 => "median latency",
            Figure::P99 => "99th percentile of latency",
            Figure::CpuPerIo => "CPU time an I/O",
        }
    }
}

impl Must {
    /// In words, and whether an interval is wholly inside, wholly outside, or neither.
    fn judge(self, ratio: &Estimate) -> (String, &'static str) {
        let (text, low, high) = match self {
            Must::BeAtLeast(bar) => (format!("at least {bar}"), bar, f64::INFINITY),
            Must::BeAtMost(bar) => (format!("at most {bar}"), 0.0, bar),
            Must::Agree(share) => (format!("within {}%", share * 100.0), 1.0 - share, 1.0 + share),
        };
        let verdict = if ratio.low >= low && ratio.high <= high {
            "met"
        } else if ratio.high < low || ratio.low > high {
            "MISSED"
        } else {
            "undecided"
        };
        (text, verdict)
    }
}

/// Runs the pairs and prints the result.
pub fn compare(comparison: &Comparison) -> Result<(), Problem> {
    let Comparison { title, wirespeed, fio, bars } = comparison;
    println!("\n{title}\n  A: {wirespeed}\n  B: {fio}");
    println!("  pair      A IOPS      B IOPS  A/B    A p99    B p99  A CPU/IO  B CPU/IO");
    let mut pairs = Vec::with_capacity(PAIRS);
    for number in 1..=PAIRS {
        let (a, b) = (wirespeed.run()?, fio.run()?);
        println!(
            "  {number:4} {:>11} {:>11} {:5.2} {:>8} {:>8} {:>9} {:>9}",
            units::count(a.iops),
            units::count(b.iops),
            a.iops / b.iops,
            time(a.p99_ns),
            time(b.p99_ns),
            time(Figure::CpuPerIo.of(&a) * 1e9),
            time(Figure::CpuPerIo.of(&b) * 1e9),
        );
        pairs.push((a, b));
    }
    medians(&pairs);
    let always = Bar { figure: Figure::Iops, must: Must::BeAtLeast(0.0) };
    for bar in if bars.is_empty() { std::slice::from_ref(&always) } else { bars } {
        let ratio = estimate(&pairs, |(a, b)| bar.figure.of(a) / bar.figure.of(b));
        let (must, verdict) = bar.must.judge(&ratio);
        let verdict = if bars.is_empty() { String::new() } else { format!("; {must}: {verdict}") };
        println!(
            "  A/B {}: median {:.3}, {:.1}% interval {:.3} to {:.3}{verdict}",
            bar.figure.name(),
            ratio.median,
            100.0 * ratio.confidence,
            ratio.low,
            ratio.high,
        );
    }
    Ok(())
}

fn medians(pairs: &[(Outcome, Outcome)]) {
    let ours = |figure: Figure| estimate(pairs, |(a, _)| figure.of(a)).median;
    let theirs = |figure: Figure| estimate(pairs, |(_, b)| figure.of(b)).median;
    println!(
        "  medians: IOPS {} and {}; p50 {} and {}; p99 {} and {}; CPU time an I/O {} and {}",
        units::count(ours(Figure::Iops)),
        units::count(theirs(Figure::Iops)),
        time(ours(Figure::P50)),
        time(theirs(Figure::P50)),
        time(ours(Figure::P99)),
        time(theirs(Figure::P99)),
        time(ours(Figure::CpuPerIo) * 1e9),
        time(theirs(Figure::CpuPerIo) * 1e9),
    );
    if pairs.iter().all(|(a, _)| a.response_p99_ns.is_some()) {
        let response = estimate(pairs, |(a, _)| a.response_p99_ns.unwrap_or_default());
        println!(
            "  from the moment a read was due, which fio does not report: A p99 {}",
            time(response.median)
        );
    }
}

fn estimate(pairs: &[(Outcome, Outcome)], figure: impl Fn(&(Outcome, Outcome)) -> f64) -> Estimate {
    Estimate::of(&pairs.iter().map(figure).collect::<Vec<_>>()).expect("ten pairs are enough")
}

fn time(ns: f64) -> String {
    units::duration(std::time::Duration::from_nanos(ns as u64))
}

//! Percentile curves: which share of operations was at least as fast as that. Points are denser towards rare latencies,
//! as in HdrHistogram's plots, and end where the count supports no rarer one.

use super::heat::LatencyKind;
use record::{Completed, Histogram, StepHead, StepTotal};
use serde::Serialize;

/// Points of each decade of 1 / (1 − p).
const POINTS_PER_DECADE: u32 = 8;
/// Five decades: 99.999%.
const DECADES: u32 = 5;

/// What a curve is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CurveSubject {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Both, merged.
    Both,
}

/// A percentile curve of one step's measured time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PercentileCurve {
    /// Of which operations.
    pub of: CurveSubject,
    /// Of which latency.
    pub kind: LatencyKind,
    /// Operations in it.
    pub count: u64,
    /// Points in ascending order.
    pub points: Vec<CurvePoint>,
}

/// A point of a percentile curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// The percentile, 0 to 99.999.
    pub percent: f64,
    /// 1 / (1 − p): of so many operations, one lies beyond.
    pub one_in: f64,
    /// The latency.
    pub latency_ns: u64,
}

/// The curves of a step: reads, writes and both; of open loops service time besides, to show the waiting.
pub(super) fn curves(head: &StepHead, totals: &[StepTotal]) -> Vec<PercentileCurve> {
    let (mut read, mut write) = (Completed::empty(false), Completed::empty(false));
    let (mut open, mut closed) = (false, false);
    for total in totals.iter().filter(|t| head.workers.iter().any(|w| w.source == t.source)) {
        for (mine, theirs) in [(&mut read, &total.read), (&mut write, &total.write)] {
            for theirs in theirs.iter().filter(|t| t.ops > 0 || t.response().count() > 0) {
                open |= theirs.response.is_some();
                closed |= theirs.response.is_none();
                mine.merge(theirs);
            }
        }
    }
    let kind = match (open, closed) {
        (true, true) => LatencyKind::Mixed,
        (true, false) => LatencyKind::Response,
        _ => LatencyKind::Service,
    };
    let mut both = read.clone();
    both.merge(&write);
    let one_way = read.response().count() == 0 || write.response().count() == 0;
    let mut curves = Vec::new();
    for (of, tally) in
        [(CurveSubject::Both, &both), (CurveSubject::Read, &read), (CurveSubject::Write, &write)]
    {
        if one_way && of == CurveSubject::Both {
            continue;
        }
        curves.extend(curve(of, kind, tally.response()));
        if open {
            curves.extend(curve(of, LatencyKind::Service, &tally.service));
        }
    }
    curves
}

fn curve(of: CurveSubject, kind: LatencyKind, histogram: &Histogram) -> Option<PercentileCurve> {
    let count = histogram.count();
    let points = (0..=DECADES * POINTS_PER_DECADE)
        .map(|n| 10_f64.powf(f64::from(n) / f64::from(POINTS_PER_DECADE)))
        .take_while(|one_in| *one_in <= count as f64 * (1.0 + 1e-9))
        .filter_map(|one_in| {
            let percent = 100.0 - 100.0 / one_in;
            let latency_ns = histogram.percentile(percent)?.0;
            Some(CurvePoint { percent, one_in, latency_ns })
        });
    (count > 0).then(|| PercentileCurve { of, kind, count, points: points.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;

    fn histogram(count: u64) -> Histogram {
        let mut histogram = Histogram::new();
        (1..=count).for_each(|n| histogram.record(Ns(n * 1000)));
        histogram
    }

    #[track_caller]
    fn check(count: u64, points: usize, last: f64) {
        let histogram = histogram(count);
        let curve = curve(CurveSubject::Read, LatencyKind::Service, &histogram).expect("a curve");
        assert_eq!(curve.points.len(), points);
        let end = curve.points.last().expect("a point").percent;
        assert!((end - last).abs() < 1e-6, "{end} is not {last}");
        for p in &curve.points {
            assert_eq!(Some(Ns(p.latency_ns)), histogram.percentile(p.percent));
        }
        assert!(curve.points.is_sorted_by_key(|p| p.latency_ns));
    }

    #[test]
    fn a_curve_goes_as_far_as_its_count_supports() {
        check(1, 1, 0.0);
        check(10, 9, 90.0);
        check(1000, 25, 99.9);
        check(1_000_000, 41, 99.999);
    }

    #[test]
    fn nothing_has_no_curve() {
        assert_eq!(curve(CurveSubject::Read, LatencyKind::Service, &histogram(0)), None);
    }
}

//! Windows: the times of a monitored system that become steps of a record. The window is the claim: a figure holds for it and
//! for nothing else.

use super::gaps::longest;
use super::model::{Feed, Span};

/// Percent of the window `whole` that are known at least.
pub(super) const KNOWN: u8 = 50;
/// The shortest record of which parts are shown.
const ROWS_LEAST: usize = 12;
/// The part of the whole that the busiest and the quietest time are.
const PART: usize = 6;
/// The part of the whole that its peak is: what is full only at times is full then.
const PEAK: usize = 30;
/// A peak is busier than the busiest time by this, at least.
const PEAKED: f64 = 1.05;
/// Nothing is busier than the whole by less than this.
const UNEVEN: f64 = 1.15;
/// From this multiple of the usual latency on a time is an incident.
const INCIDENT: f64 = 3.0;
/// Incidents that are shown.
pub(super) const INCIDENTS: usize = 3;
/// Letters from which on the name of a test is not made longer.
const NAME: usize = 60;
/// Tests of files of results that become windows.
const TESTS_MAX: usize = 200;
/// Operations a second below which a latency says nothing.
pub(super) const FEW: f64 = 10.0;

/// A window that the user names.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedWindow {
    /// Its name.
    pub name: String,
    /// Its time.
    pub span: Span,
}

/// A window that becomes a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// `whole`, `busiest`, `peak`, `quietest`, `incident 1`, or as the user names it.
    pub name: String,
    /// Its time.
    pub span: Span,
}

/// The load of all places together in one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Load {
    /// What it is ordered by: bytes, or operations where no bytes are known.
    pub amount: f64,
    /// Operations a second.
    pub ops: f64,
    /// Mean latency in nanoseconds.
    pub latency: Option<f64>,
}

/// The tests of files of results as windows, where they are several, and how many there are. Files of machines that ran a test
/// together tell of one.
pub(super) fn of_tests(feeds: &[Feed]) -> (Vec<NamedWindow>, usize) {
    // With the number of the file that told of it last.
    let mut all: Vec<(String, Span, usize)> = Vec::new();
    let mut more = 0;
    for (file, feed) in feeds.iter().enumerate() {
        for (name, span) in &feed.tests {
            let room = all.len() < TESTS_MAX;
            let together = |(other, of, told): &&mut (String, Span, usize)| {
                let shared = of.to.min(span.to) - of.from.max(span.from);
                let least = (of.to - of.from).min(span.to - span.from);
                let longer = (of.to - of.from).max(span.to - span.from);
                let same = other == name && shared * 2 > least;
                // Tests of other names, where they are of one time to a tenth.
                *told != file && (same || shared > longer / 10 * 9)
            };
            match all.iter_mut().find(together) {
                Some((other, of, told)) => {
                    (of.from, of.to) = (of.from.min(span.from), of.to.max(span.to));
                    *told = file;
                    if other != name && other.len() < NAME {
                        *other = format!("{other} and {name}");
                    }
                }
                None if room => all.push((name.clone(), *span, file)),
                None => more += 1,
            }
        }
    }
    let window = |(name, span, _): &(String, Span, usize)| {
        let before = |(other, of, _): &&(String, Span, usize)| other == name && of.from < span.from;
        let again = all.iter().filter(before).count();
        let name = if again > 0 { format!("{name} ({})", again + 1) } else { name.clone() };
        NamedWindow { name, span: *span }
    };
    let windows = if all.len() > 1 { all.iter().map(window).collect() } else { Vec::new() };
    (windows, all.len() + more)
}

/// The windows of a time line: those that the user names, or those that stand out; and how many incidents there are, of which
/// the worst are windows.
pub(super) fn windows(
    rows: &[Span],
    loads: &[Load],
    named: &[NamedWindow],
) -> (Vec<Window>, usize) {
    let (first, end) = longest(rows, KNOWN);
    let of = |name: &str, from: usize, to: usize| Window {
        name: name.to_owned(),
        span: Span { from: rows[from].from, to: rows[to - 1].to },
    };
    let mut out = vec![of("whole", first, end)];
    if !named.is_empty() {
        out.extend(named.iter().map(|w| Window { name: w.name.clone(), span: w.span }));
        return (out, 0);
    }
    let count = end - first;
    if count < ROWS_LEAST {
        return (out, 0);
    }
    let length = (count / PART).max(1);
    let mean = |from: usize, length: usize| {
        loads[from..from + length].iter().map(|l| l.amount).sum::<f64>() / length as f64
    };
    let starts = || (first..=end - length).map(|from| (from, mean(from, length)));
    let all = loads[first..end].iter().map(|l| l.amount).sum::<f64>() / count as f64;
    let most = starts().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    let least = starts()
        .filter(|(_, mean)| *mean > 0.0)
        .min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    if let Some((from, _)) = most.filter(|(_, mean)| *mean > UNEVEN * all) {
        out.push(of("busiest", from, from + length));
    }
    let short = (count / PEAK).max(1);
    let peak = (first..=end - short)
        .map(|from| (from, mean(from, short)))
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    let busiest = most.map_or(all, |(_, mean)| mean.max(all));
    if let Some((from, _)) = peak.filter(|(_, mean)| *mean > PEAKED * busiest) {
        out.push(of("peak", from, from + short));
    }
    if let Some((from, _)) = least.filter(|(_, mean)| *mean * UNEVEN < all) {
        out.push(of("quietest", from, from + length));
    }
    let incidents = incidents(&loads[first..end]);
    for (at, (from, to)) in (1..).zip(incidents.iter().take(INCIDENTS)) {
        out.push(of(&format!("incident {at}"), first + from, first + to));
    }
    (out, incidents.len())
}

/// Times of an unusual latency, the worst first.
fn incidents(loads: &[Load]) -> Vec<(usize, usize)> {
    let known = |load: &Load| load.latency.filter(|_| load.ops >= FEW);
    let mut usual: Vec<f64> = loads.iter().filter_map(known).collect();
    usual.sort_by(f64::total_cmp);
    let Some(median) = usual.get(usual.len() / 2).copied().filter(|m| *m > 0.0) else {
        return Vec::new();
    };
    let high = |load: &Load| known(load).is_some_and(|latency| latency > INCIDENT * median);
    let mut runs: Vec<(usize, usize, f64)> = Vec::new();
    for (at, load) in loads.iter().enumerate().filter(|(_, load)| high(load)) {
        let weight = load.latency.unwrap_or(0.0) * load.ops;
        match runs.last_mut().filter(|run| run.1 == at) {
            Some(run) => (run.1, run.2) = (at + 1, run.2 + weight),
            None => runs.push((at, at + 1, weight)),
        }
    }
    // What is high most of the time is the usual state of another load.
    if runs.iter().map(|run| run.1 - run.0).sum::<usize>() * 4 > loads.len() {
        return Vec::new();
    }
    runs.sort_by(|a, b| b.2.total_cmp(&a.2));
    runs.into_iter().map(|(from, to, _)| (from, to)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(gap: Option<usize>) -> Vec<Span> {
        let shift = |at: usize| if gap.is_some_and(|g| at >= g) { 1000 } else { 0 };
        (0..24)
            .map(|at| Span {
                from: at as i64 * 10 + shift(at),
                to: at as i64 * 10 + 10 + shift(at),
            })
            .collect()
    }

    fn names(gap: Option<usize>, loads: impl Fn(usize) -> Load) -> Vec<(String, i64, i64)> {
        let loads: Vec<Load> = (0..24).map(loads).collect();
        let (all, _) = windows(&rows(gap), &loads, &[]);
        all.into_iter().map(|w| (w.name, w.span.from, w.span.to)).collect()
    }

    #[test]
    fn what_stands_out_becomes_a_window() {
        let load = |amount: f64, ms: f64| Load { amount, ops: 100.0, latency: Some(ms * 1e6) };
        let found = names(None, |at| match at {
            8..=11 => load(9.0, 1.0),
            20 => load(1.0, 9.0),
            23 => load(0.1, 1.0),
            _ => load(1.0, 1.0),
        });
        assert_eq!(
            found,
            [
                ("whole".to_owned(), 0, 240),
                ("busiest".to_owned(), 80, 120),
                ("quietest".to_owned(), 200, 240),
                ("incident 1".to_owned(), 200, 210),
            ]
        );
        assert_eq!(names(None, |_| load(1.0, 1.0)).len(), 1, "a steady load has one window");
    }

    #[test]
    fn no_window_goes_over_a_long_gap() {
        let load = |_| Load { amount: 1.0, ops: 100.0, latency: None };
        assert_eq!(names(Some(5), load), [("whole".to_owned(), 1050, 1240)]);
    }
}

//! CSV: a row a step, a row an interval of a worker or of an end of a stream, or a row a stream of a network load.
//!
//! A first line names the columns, with units last. Fields are quoted as RFC 4180 says where they must be; lines end in a
//! line feed. Numbers have a point whatever the locale. A field is empty where there is no such thing: the median of
//! nothing, the response time of a closed loop. Columns may be added at the end; none changes its meaning.

use crate::{ExportError, no_step};
use findings::network::{Direction, NetPair, Stream, Way};
use findings::{Analysis, IoFigures, Latency, Loops, OtherFigures, StepFigures};
use record::{Completed, Interval, Phase, Record, Source, SourceId};
use std::collections::BTreeMap;
use std::io::{self, Write};
use thiserror::Error;

/// Why rows could not be written.
#[derive(Debug, Error)]
pub enum CsvError {
    /// The record could not be exported.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// The output took no more.
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Columns of a direction (or both) of a step, after its prefix.
const FLOW: [&str; 10] = [
    "ops",
    "errors",
    "iops",
    "mb_per_s",
    "service_mean_us",
    "service_p50_us",
    "service_p95_us",
    "service_p99_us",
    "service_p999_us",
    "service_max_us",
];
/// The same for response time, which only open loops have.
const RESPONSE: [&str; 6] = [
    "response_mean_us",
    "response_p50_us",
    "response_p95_us",
    "response_p99_us",
    "response_p999_us",
    "response_max_us",
];

/// Prefixes of the same columns for operations that move no data, which follow where any step has some.
const OTHERS: [&str; 3] = ["trim_", "zeroes_", "flush_"];

/// Names of columns, and rows of cells.
type Rows = (Vec<String>, Vec<Vec<String>>);

fn text((header, rows): Rows) -> String {
    std::iter::once(&header).chain(&rows).map(|row| record(row)).collect()
}

/// A row for each step of an analysis, or for one of them (by number, from 0).
/// # Errors
/// Where the analysis does not hold that one.
pub fn steps(analysis: &Analysis, only: Option<u32>) -> Result<String, ExportError> {
    step_rows(analysis, only).map(text)
}

pub(crate) fn step_rows(analysis: &Analysis, only: Option<u32>) -> Result<Rows, ExportError> {
    let keys = settings(analysis, only)?;
    let mut header: Vec<String> = ["step", "plan", "repetition"].map(str::to_owned).into();
    header.extend(keys.iter().map(|key| format!("setting_{key}")));
    let fixed = ["loop", "depth", "offered_iops", "planned_s", "measured_s", "complete"];
    header.extend(fixed.map(str::to_owned));
    for prefix in ["", "read_", "write_"] {
        header.extend(FLOW.iter().chain(&RESPONSE).map(|column| format!("{prefix}{column}")));
    }
    header.extend(["transactions_per_s", "in_flight_mean", "drift"].map(str::to_owned));
    let without_data = analysis.steps.iter().any(|step| !step.total.others.is_empty());
    for prefix in OTHERS.iter().filter(|_| without_data) {
        header.extend(FLOW.iter().chain(&RESPONSE).map(|column| format!("{prefix}{column}")));
    }
    let mut rows = Vec::new();
    for step in analysis.steps.iter().filter(|s| only.is_none_or(|index| s.index == index)) {
        let mut row = step_row(step, &keys);
        if without_data {
            other_cells(&mut row, &step.total.others);
        }
        rows.push(row);
    }
    Ok((header, rows))
}

/// What any step was set to, in the order of the steps; refuses a step that the analysis does not hold.
fn settings(analysis: &Analysis, only: Option<u32>) -> Result<Vec<&str>, ExportError> {
    let held: Vec<u32> = analysis.steps.iter().map(|s| s.index).collect();
    if let Some(index) = only.filter(|index| !held.contains(index)) {
        return Err(no_step(index, &held));
    }
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in analysis.steps.iter().flat_map(|s| &s.settings) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    Ok(keys)
}

fn step_row(step: &StepFigures, keys: &[&str]) -> Vec<String> {
    let mut row = vec![step.index.to_string(), step.plan.clone(), step.repetition.to_string()];
    let setting = |key: &&str| step.settings.iter().find(|(k, _)| k == key);
    row.extend(keys.iter().map(|key| setting(key).map_or(String::new(), |(_, v)| v.clone())));
    let loops = match step.loops {
        Loops::Closed => "closed",
        Loops::Open => "open",
        Loops::Mixed => "mixed",
        Loops::Observed => "observed",
    };
    let open = matches!(step.loops, Loops::Open | Loops::Mixed);
    let closed = matches!(step.loops, Loops::Closed | Loops::Mixed);
    row.push(some(!step.network_only(), || loops.to_owned()));
    row.push(some(closed && !step.network_only(), || step.depth.to_string()));
    row.push(some(open, || number(step.offered_iops)));
    row.extend([step.planned_ns, step.measured_ns].map(|ns| number(ns as f64 / 1e9)));
    row.push(step.complete().to_string());
    for flow in [&step.total.both, &step.total.read, &step.total.write] {
        flow_cells(&mut row, flow);
    }
    let figures = [step.total.transactions_per_s, step.total.in_flight, step.drift];
    row.extend(figures.map(|figure| figure.map_or(String::new(), number)));
    row
}

fn other_cells(row: &mut Vec<String>, others: &OtherFigures) {
    for flow in [&others.trim, &others.zeroes, &others.flush] {
        match flow {
            Some(flow) => flow_cells(row, flow),
            None => row.extend(vec![String::new(); FLOW.len() + RESPONSE.len()]),
        }
    }
}

fn flow_cells(row: &mut Vec<String>, flow: &IoFigures) {
    row.extend([flow.ops, flow.errors].map(|n| n.to_string()));
    row.extend([flow.iops, flow.bytes_per_s / 1e6].map(number));
    latency_cells(row, flow.mean_ns, flow.service.as_ref());
    let mean = flow.response.map(|response| response.mean_ns);
    latency_cells(row, mean, flow.response.as_ref());
}

/// An estimate knows a mean, and no distribution.
fn latency_cells(row: &mut Vec<String>, mean_ns: Option<f64>, latency: Option<&Latency>) {
    row.push(mean_ns.map_or(String::new(), |ns| number(ns / 1e3)));
    let Some(l) = latency else {
        row.extend(vec![String::new(); RESPONSE.len() - 1]);
        return;
    };
    row.extend([l.p50_ns, l.p95_ns, l.p99_ns, l.p999_ns, l.max_ns].map(micro));
}

/// Columns of a stream.
const STREAM: [&str; 27] = [
    "step",
    "plan",
    "repetition",
    "pair",
    "workload",
    "way",
    "stream",
    "complete",
    "measured_s",
    "sent_bytes",
    "received_bytes",
    "sent_mb_per_s",
    "received_mb_per_s",
    "sent_ops",
    "received_ops",
    "failed_ops",
    "calls",
    "packets",
    "retransmitted",
    "datagrams_sent",
    "datagrams_received",
    "datagrams_lost",
    "reordered",
    "duplicates",
    "jitter_us",
    "rtt_us",
    "mss_bytes",
];

/// A row for each stream of the network loads of an analysis, or of one step (by number, from 0).
/// # Errors
/// Where the analysis does not hold that one.
pub fn streams(analysis: &Analysis, only: Option<u32>) -> Result<String, ExportError> {
    stream_rows(analysis, only).map(text)
}

pub(crate) fn stream_rows(analysis: &Analysis, only: Option<u32>) -> Result<Rows, ExportError> {
    let keys = settings(analysis, only)?;
    let mut header: Vec<String> = STREAM.map(str::to_owned).into();
    header.extend(keys.iter().map(|key| format!("setting_{key}")));
    let mut rows = Vec::new();
    for step in analysis.steps.iter().filter(|s| only.is_none_or(|index| s.index == index)) {
        for pair in &step.network {
            for direction in &pair.directions {
                for stream in &direction.streams {
                    rows.push(stream_row(step, (pair, direction, stream), &keys));
                }
            }
        }
    }
    Ok((header, rows))
}

fn stream_row(
    step: &StepFigures,
    (pair, direction, stream): (&NetPair, &Direction, &Stream),
    keys: &[&str],
) -> Vec<String> {
    let maybe = |figure: Option<f64>| figure.map_or(String::new(), number);
    let way = match direction.way {
        Way::Up => "to-receiver",
        Way::Down => "from-receiver",
    };
    let mut row = vec![step.index.to_string(), step.plan.clone(), step.repetition.to_string()];
    row.extend([pair.name.clone(), direction.workload.clone(), way.to_owned()]);
    row.extend([stream.name.clone(), (stream.completeness >= 0.999).to_string()]);
    row.push(number(step.measured_ns as f64 / 1e9));
    row.extend([stream.sent.bytes, stream.received.bytes].map(|n| n.to_string()));
    row.extend([stream.sent, stream.received].map(|amount| number(amount.bytes_per_s / 1e6)));
    row.extend([stream.sent.ops, stream.received.ops, stream.sent.errors].map(|n| n.to_string()));
    row.extend([stream.calls, stream.packets, stream.retransmitted].map(maybe));
    let datagrams = stream.datagrams.unwrap_or_default();
    row.extend([datagrams.sent, datagrams.received, datagrams.lost].map(maybe));
    row.extend([datagrams.reordered, datagrams.duplicates].map(maybe));
    row.push(maybe(datagrams.jitter_ns.map(|ns| ns / 1e3)));
    let tcp = stream.tcp.unwrap_or_default();
    row.extend([tcp.rtt_ns.map(|ns| ns / 1e3), tcp.mss].map(maybe));
    let setting = |key: &&str| step.settings.iter().find(|(k, _)| k == key);
    row.extend(keys.iter().map(|key| setting(key).map_or(String::new(), |(_, v)| v.clone())));
    row
}

/// Writes a row for each interval of each worker and each end of a stream, ordered by step, time and worker: of the whole record, or of one step
/// (by number, from 0). It takes the memory of one row.
/// # Errors
/// Where the record cannot be read, does not hold the step, or `out` fails.
pub fn intervals(
    record_file: &Record,
    only: Option<u32>,
    out: &mut dyn Write,
) -> Result<(), CsvError> {
    out.write_all(record(&interval_header()).as_bytes())?;
    each_interval(record_file, only, &mut |row| Ok(out.write_all(record(row).as_bytes())?))
}

pub(crate) fn interval_header() -> Vec<String> {
    let fixed = ["step", "worker", "group", "agent", "phase", "from_s", "to_s"];
    let mut header: Vec<String> = fixed.map(str::to_owned).into();
    for prefix in ["read_", "write_"] {
        header.extend(FLOW.iter().chain(&RESPONSE).map(|column| format!("{prefix}{column}")));
    }
    let testimony = ["in_flight_mean", "open_ops", "late_ops", "own_share", "cpu_share"];
    header.extend(testimony.map(str::to_owned));
    header
}

/// Hands over the cells of each row of intervals.
pub(crate) fn each_interval(
    record_file: &Record,
    only: Option<u32>,
    take: &mut dyn FnMut(&[String]) -> Result<(), CsvError>,
) -> Result<(), CsvError> {
    let sources: BTreeMap<SourceId, &Source> =
        record_file.sources().iter().map(|s| (s.id, s)).collect();
    for head in crate::view::RecordView::of(record_file).heads(only)? {
        let mut failure = None;
        record_file
            .for_each_interval(head.index, &mut |interval| {
                let row = interval_row(&interval, sources.get(&interval.source).copied());
                if failure.is_none() {
                    failure = take(&row).err();
                }
            })
            .map_err(ExportError::from)?;
        if let Some(error) = failure {
            return Err(error);
        }
    }
    Ok(())
}

fn interval_row(interval: &Interval, source: Option<&Source>) -> Vec<String> {
    let name = |of: fn(&Source) -> &String| source.map_or(String::new(), |s| of(s).clone());
    let phase = match interval.phase {
        Phase::Warmup => "warmup",
        Phase::Measure => "measure",
        Phase::Cooldown => "cooldown",
    };
    let mut row = vec![interval.step.to_string()];
    row.extend([name(|s| &s.name), name(|s| &s.group), name(|s| &s.agent), phase.to_owned()]);
    row.extend([interval.from, interval.to].map(|at| number(at.as_secs_f64())));
    let length = interval.to.since(interval.from).as_secs_f64();
    for tally in [&interval.read, &interval.write] {
        tally_cells(&mut row, tally.as_ref(), length);
    }
    match &interval.testimony {
        None => row.extend(vec![String::new(); 5]),
        Some(t) => {
            let share = |of: clock::Ns| number(ratio(of.as_secs_f64(), length));
            row.push(share(t.in_flight));
            row.extend([t.open.into(), t.late].map(|n: u64| n.to_string()));
            row.extend([share(t.own), share(t.cpu_user.plus(t.cpu_system))]);
        }
    }
    row
}

fn tally_cells(row: &mut Vec<String>, tally: Option<&Completed>, length: f64) {
    let Some(t) = tally else {
        row.extend(vec![String::new(); FLOW.len() + RESPONSE.len()]);
        return;
    };
    row.extend([t.ops, t.errors].map(|n| n.to_string()));
    row.extend([t.ops as f64, t.bytes as f64 / 1e6].map(|amount| number(ratio(amount, length))));
    let known = t.ops > 0 && (t.service.count() > 0 || t.service_sum.0 > 0);
    let exact = known.then(|| t.service_sum.0 as f64 / t.ops as f64);
    histogram_cells(row, Some(&t.service), exact);
    histogram_cells(row, t.response.as_ref(), None);
}

fn histogram_cells(
    row: &mut Vec<String>,
    histogram: Option<&record::Histogram>,
    exact_mean: Option<f64>,
) {
    let Some(h) = histogram.filter(|h| h.count() > 0) else {
        row.push(exact_mean.map_or(String::new(), |mean| number(mean / 1e3)));
        row.extend(vec![String::new(); RESPONSE.len() - 1]);
        return;
    };
    let ns = |at: Option<clock::Ns>| at.map_or(0, |ns| ns.0);
    row.push(number(exact_mean.unwrap_or(ns(h.mean()) as f64) / 1e3));
    row.extend([50.0, 95.0, 99.0, 99.9].map(|p| micro(ns(h.percentile(p)))));
    row.push(micro(ns(h.max())));
}

/// An amount over a length; 0 where there is none.
fn ratio(amount: f64, length: f64) -> f64 {
    if length > 0.0 { amount / length } else { 0.0 }
}

/// Nanoseconds as microseconds.
fn micro(ns: u64) -> String {
    number(ns as f64 / 1e3)
}

/// At most six digits behind the point, and no more than it needs; empty where it is none.
fn number(figure: f64) -> String {
    if !figure.is_finite() {
        return String::new();
    }
    let text = format!("{figure:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn some(there: bool, text: impl Fn() -> String) -> String {
    if there { text() } else { String::new() }
}

/// A line.
fn record(fields: &[String]) -> String {
    fields.iter().map(|f| quoted(f)).collect::<Vec<_>>().join(",") + "\n"
}

/// A field as RFC 4180 has it.
fn quoted(field: &str) -> String {
    let field = inert(field, "'");
    if field.contains([',', '"', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

/// A field that no spreadsheet runs as a formula, which it would by its first character: `mark` comes before that. Control
/// characters become blanks; line ends stay.
pub(crate) fn inert(field: &str, mark: &str) -> String {
    let clean = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    let text: String = field.chars().map(clean).collect();
    let first = text.trim_start().chars().next();
    let runs = first.is_some_and(|c| "=+-@|%＝＋－＠".contains(c));
    // A figure is one, whatever its sign.
    if runs && text.parse::<f64>().is_err() { format!("{mark}{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        for (field, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("a b;c", "a b;c"),
            ("a,b", "\"a,b\""),
            ("say \"no\"", "\"say \"\"no\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("a\rb", "a b"),
            // What a spreadsheet would run.
            ("=1+1", "'=1+1"),
            ("+cmd|'/c calc'!A0", "'+cmd|'/c calc'!A0"),
            ("-2+3", "'-2+3"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "' =1"),
            ("\u{1b}]0;x\u{7}", " ]0;x "),
            ("=HYPERLINK(\"http://x\",1)", "\"'=HYPERLINK(\"\"http://x\"\",1)\""),
            ("＝1", "'＝1"),
            ("-1.5e3", "-1.5e3"),
            ("+4", "+4"),
        ] {
            assert_eq!(quoted(field), expected);
        }
    }

    #[test]
    fn numbers_are_short_and_never_words() {
        for (figure, expected) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1500.0, "1500"),
            (0.1 + 0.2, "0.3"),
            (-0.25, "-0.25"),
            (1e-9, "0"),
            (-1e-9, "0"),
            (123_456_789.5, "123456789.5"),
            (f64::NAN, ""),
            (f64::INFINITY, ""),
        ] {
            assert_eq!(number(figure), expected, "{figure}");
        }
    }
}

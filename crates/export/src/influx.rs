//! The seconds of a run in InfluxDB's line protocol, for those who push: one line an interval of a worker, with the moment of
//! its end in nanoseconds since the Unix epoch.

use crate::ExportError;
use crate::csv::CsvError;
use record::{Completed, Interval, Phase, Record, Source, SourceKind, StepHead};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write;

/// Writes the lines of all steps, or of one.
/// # Errors
/// The record cannot be read, holds no such step, or `out` cannot be written.
pub fn influx(record: &Record, only: Option<u32>, out: &mut dyn Write) -> Result<(), CsvError> {
    let held: Vec<u32> = record.steps().iter().map(|step| step.index).collect();
    if let Some(asked) = only.filter(|asked| !held.contains(asked)) {
        return Err(CsvError::Export(crate::no_step(asked, &held)));
    }
    let workers: BTreeMap<_, &Source> = record
        .sources()
        .iter()
        .filter(|source| source.kind == SourceKind::Worker)
        .map(|source| (source.id, source))
        .collect();
    let head = record.head();
    let common = format!("wirespeed,run={}", tag(&head.title));
    for step in record.steps().iter().filter(|step| only.is_none_or(|only| step.index == only)) {
        let tags = format!("{common}{}", step_tags(step));
        let mut failed = None;
        record
            .for_each_interval(step.index, &mut |interval| {
                let Some(worker) = workers.get(&interval.source) else { return };
                let end = head.wall_ns.saturating_add(interval.to.0);
                let line = format!(
                    "{tags}{} {} {end}\n",
                    of_worker(worker, interval.phase),
                    fields(&interval)
                );
                if failed.is_none() {
                    failed = out.write_all(line.as_bytes()).err();
                }
            })
            .map_err(ExportError::from)
            .map_err(CsvError::Export)?;
        if let Some(error) = failed {
            return Err(CsvError::Output(error));
        }
    }
    Ok(())
}

fn step_tags(step: &StepHead) -> String {
    let mut tags = format!(",plan={},step={}", tag(&step.plan), step.index + 1);
    for (key, value) in &step.settings {
        // Writing to a text cannot fail.
        let _infallible = write!(tags, ",{}={}", tag(key), tag(value));
    }
    tags
}

fn of_worker(worker: &Source, phase: Phase) -> String {
    let phase = match phase {
        Phase::Warmup => "warmup",
        Phase::Measure => "measure",
        Phase::Cooldown => "cooldown",
    };
    format!(",worker={},group={},phase={phase}", tag(&worker.name), tag(&worker.group))
}

fn fields(interval: &Interval) -> String {
    let mut fields = format!("seconds={}", interval.to.since(interval.from).as_secs_f64());
    for (name, tally) in [("read", &interval.read), ("write", &interval.write)] {
        let Some(Completed { ops, bytes, errors, .. }) = tally else { continue };
        let _infallible =
            write!(fields, ",{name}_ops={ops}i,{name}_bytes={bytes}i,{name}_errors={errors}i");
        let response = tally.as_ref().map(Completed::response);
        for (point, p) in [("p50", 50.0), ("p99", 99.0), ("p999", 99.9)] {
            if let Some(ns) = response.and_then(|response| response.percentile(p)) {
                let _infallible = write!(fields, ",{name}_{point}_ns={}i", ns.0);
            }
        }
    }
    fields
}

/// A word as a tag has it: an empty one is none, which the protocol does not know.
fn tag(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ',' | '=' | ' ' => out.extend(['\\', c]),
            // A backslash at the end would escape what follows; line ends would end the line.
            '\\' => out.push('/'),
            c if c.is_control() => out.push('_'),
            c => out.push(c),
        }
    }
    if out.is_empty() { "-".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::tag;

    #[test]
    fn no_word_leaves_its_tag() {
        for (text, expected) in [
            ("a b,c=d", "a\\ b\\,c\\=d"),
            ("x\\", "x/"),
            ("two\nlines", "two_lines"),
            ("", "-"),
            ("é", "é"),
        ] {
            assert_eq!(tag(text), expected);
        }
    }
}

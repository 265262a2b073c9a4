//! One function per table that turns the record's types into rows. `select` is its counterpart.

use crate::columns::{ColumnFigures, int, opt_text, other_rows, text};
use crate::histogram::Encoder;
use crate::schema::{FIGURES, OTHER_FIGURES, StoredWord};
use crate::total::StepTotal;
use crate::{
    Confidence, Counter, CounterKind, Event, Fact, Interval, Loop, Proof, RunHead, Source,
    SourceId, SourceKind, Status, StepHead, StepTimes, StreamLoad, WorkerLoad,
};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

/// The run, still running, with its overrides.
pub(crate) fn head(db: &Connection, head: &RunHead) -> rusqlite::Result<()> {
    let columns = "id, title, producer, producer_kind, scenario_name, scenario_text, epoch_ns, wall_ns, seed, status";
    let row = vec![
        int(1),
        text(&head.title),
        text(&head.producer.name),
        text(head.producer.kind.word()),
        text(&head.scenario.name),
        text(&head.scenario.text),
        int(head.epoch.0),
        int(head.wall_ns),
        // All 64 bits of a seed matter, so it is stored as text.
        text(&head.seed.to_string()),
        text(Status::Running.word()),
    ];
    insert(db, "run", columns, row)?;
    for (key, value) in &head.scenario.overrides {
        insert(db, "scenario_override", "key, value", vec![text(key), text(value)])?;
    }
    Ok(())
}

pub(crate) fn fact(db: &Connection, fact: &Fact) -> rusqlite::Result<()> {
    let row = vec![text(&fact.subject), text(&fact.key), text(&fact.value)];
    insert(db, "fact", "subject, key, value", row)
}

pub(crate) fn source(db: &Connection, source: &Source) -> rusqlite::Result<()> {
    let (kind, hop) = match source.kind {
        SourceKind::Worker => ("worker", None),
        SourceKind::Hop(kind) => ("hop", Some(kind.word())),
        SourceKind::Stream => ("stream", None),
    };
    let row = vec![
        int(source.id.0.into()),
        text(kind),
        opt_text(hop),
        text(&source.name),
        text(&source.group),
        text(&source.agent),
    ];
    insert(db, "source", "source, kind, hop_kind, name, group_name, agent", row)
}

/// A step that is not done yet, with its settings, workers and streams.
pub(crate) fn step(db: &Connection, step: &StepHead) -> rusqlite::Result<()> {
    let columns = "step, plan, repetition, start_ns, measure_ns, cooldown_ns, end_ns, done";
    let times = &step.times;
    let row = vec![
        int(step.index.into()),
        text(&step.plan),
        int(step.repetition.into()),
        int(times.start.0),
        int(times.measure.0),
        int(times.cooldown.0),
        int(times.end.0),
        int(0),
    ];
    insert(db, "step", columns, row)?;
    for (seq, (key, value)) in (0..).zip(&step.settings) {
        let row = vec![int(step.index.into()), int(seq), text(key), text(value)];
        insert(db, "step_setting", "step, seq, key, value", row)?;
    }
    for (seq, worker) in (0..).zip(&step.workers) {
        worker_load(db, step.index, seq, worker)?;
    }
    for (seq, stream) in (0..).zip(&step.streams) {
        stream_load(db, step.index, seq, stream)?;
    }
    Ok(())
}

/// The times of a step that has been inserted.
pub(crate) fn step_times(db: &Connection, index: u32, times: &StepTimes) -> rusqlite::Result<()> {
    let sql =
        "UPDATE step SET start_ns = ?, measure_ns = ?, cooldown_ns = ?, end_ns = ? WHERE step = ?";
    let row = [times.start.0, times.measure.0, times.cooldown.0, times.end.0, index.into()];
    db.execute(sql, params_from_iter(row.map(int))).map(|_| ())
}

fn worker_load(db: &Connection, step: u32, seq: u64, worker: &WorkerLoad) -> rusqlite::Result<()> {
    let columns =
        "step, seq, source, workload, arrivals, depth, think, rate_per_s, ops_per_transaction";
    let (arrivals, depth, think, rate) = match worker.arrivals {
        Loop::Closed { depth, think } => {
            ("closed", int(depth.into()), int(think.into()), Value::Null)
        }
        Loop::Open { rate } => ("open", Value::Null, Value::Null, Value::Real(rate)),
        Loop::Observed => ("observed", Value::Null, Value::Null, Value::Null),
    };
    let row = vec![
        int(step.into()),
        int(seq),
        int(worker.source.0.into()),
        text(&worker.workload),
        text(arrivals),
        depth,
        think,
        rate,
        int(worker.ops_per_transaction.into()),
    ];
    insert(db, "worker_load", columns, row)
}

fn stream_load(db: &Connection, step: u32, seq: u64, stream: &StreamLoad) -> rusqlite::Result<()> {
    let columns = "step, seq, source, workload, hop, flow, side, number";
    let row = vec![
        int(step.into()),
        int(seq),
        int(stream.source.0.into()),
        text(&stream.workload),
        int(stream.hop.0.into()),
        text(stream.flow.word()),
        text(stream.end.word()),
        int(stream.number.into()),
    ];
    insert(db, "stream_load", columns, row)
}

/// The row of an interval, its histograms with two digits.
pub(crate) fn interval_row(interval: &Interval, encoder: &mut Encoder) -> Vec<Value> {
    let mut row = vec![
        int(interval.step.into()),
        int(interval.source.0.into()),
        text(interval.phase.word()),
        int(interval.from.0),
        int(interval.to.0),
    ];
    let (read, write) = (interval.read.as_ref(), interval.write.as_ref());
    let figures = ColumnFigures { read, write, testimony: interval.testimony.as_ref() };
    figures.push(&mut row, encoder, true);
    row
}

pub(crate) fn interval(db: &Connection, row: Vec<Value>) -> rusqlite::Result<()> {
    insert(db, "interval", &format!("step, source, phase, from_ns, to_ns, {FIGURES}"), row)
}

/// The rows of an interval's operations without data.
pub(crate) fn interval_others(interval: &Interval, encoder: &mut Encoder) -> Vec<Vec<Value>> {
    let head = [int(interval.step.into()), int(interval.source.0.into()), int(interval.from.0)];
    let rows = other_rows(&interval.others, encoder, true);
    rows.into_iter().map(|row| head.iter().cloned().chain(row).collect()).collect()
}

pub(crate) fn interval_other(db: &Connection, row: Vec<Value>) -> rusqlite::Result<()> {
    insert(db, "interval_other", &format!("step, source, from_ns, {OTHER_FIGURES}"), row)
}

/// The rows of a total's operations without data.
pub(crate) fn total_others(step: u32, total: &StepTotal, encoder: &mut Encoder) -> Vec<Vec<Value>> {
    let head = [int(step.into()), int(total.source.0.into())];
    let rows = other_rows(&total.others, encoder, false);
    rows.into_iter().map(|row| head.iter().cloned().chain(row).collect()).collect()
}

pub(crate) fn total_other(db: &Connection, row: Vec<Value>) -> rusqlite::Result<()> {
    insert(db, "total_other", &format!("step, source, {OTHER_FIGURES}"), row)
}

/// The row of a step's total, its histograms with all their digits.
pub(crate) fn total_row(step: u32, total: &StepTotal, encoder: &mut Encoder) -> Vec<Value> {
    let mut row = vec![int(step.into()), int(total.source.0.into()), int(total.measured.0)];
    let (read, write) = (total.read.as_ref(), total.write.as_ref());
    let figures = ColumnFigures { read, write, testimony: total.testimony.as_ref() };
    figures.push(&mut row, encoder, false);
    row
}

pub(crate) fn total(db: &Connection, row: Vec<Value>) -> rusqlite::Result<()> {
    insert(db, "total", &format!("step, source, measured_ns, {FIGURES}"), row)
}

pub(crate) fn counter(db: &Connection, counter: &Counter) -> rusqlite::Result<()> {
    let row = vec![
        int(counter.source.0.into()),
        opt_int(counter.step),
        int(counter.from.0),
        int(counter.to.0),
        text(counter.kind.name()),
        opt_text(counter.part.as_deref()),
        Value::Real(counter.value),
        text(counter.kind.unit()),
    ];
    insert(db, "counter", "source, step, from_ns, to_ns, name, part, value, unit", row)
}

/// The description of a counter, unless it is already there.
pub(crate) fn counter_kind(db: &Connection, kind: &CounterKind) -> rusqlite::Result<()> {
    let info = kind.id().map(|id| id.info());
    let row = vec![
        text(kind.name()),
        text(kind.unit()),
        opt_text(kind.meaning().map(StoredWord::word)),
        opt_text(info.map(|info| info.scope.word())),
        opt_text(info.map(|info| info.about)),
    ];
    insert(db, "counter_kind", "name, unit, meaning, scope, about", row)
}

pub(crate) fn confidence(db: &Connection, confidence: &Confidence) -> rusqlite::Result<()> {
    let row = vec![
        int(confidence.step.into()),
        opt_text(confidence.source.as_deref()),
        text(&confidence.figure),
        Value::Real(confidence.low),
        Value::Real(confidence.high),
        text(&confidence.unit),
        Value::Real(confidence.level),
        int(confidence.batches.into()),
    ];
    insert(db, "confidence", "step, source, figure, low, high, unit, level, batches", row)
}

/// The rounds of a step: what is slowed comes first, what is not after it.
pub(crate) fn proof(db: &Connection, step: u32, proof: &Proof) -> rusqlite::Result<()> {
    let row = vec![int(step.into()), int(proof.round.0), int(proof.settle.0)];
    insert(db, "proof", "step, round_ns, settle_ns", row)?;
    let slowed = proof.perturbations.iter().map(|slowed| {
        let lever = text(slowed.lever.word());
        [text(&slowed.subject), lever, Value::Real(slowed.factor), Value::Null]
    });
    let untouched = proof
        .untouched
        .iter()
        .map(|left| [text(&left.subject), Value::Null, Value::Null, text(&left.why)]);
    for (seq, row) in (0..).zip(slowed.chain(untouched)) {
        let row = [int(step.into()), int(seq)].into_iter().chain(row).collect();
        insert(db, "perturbation", "step, seq, subject, lever, factor, why", row)?;
    }
    for (seq, slowed) in (0..).zip(&proof.rounds) {
        let row = vec![int(step.into()), int(seq), opt_int(*slowed)];
        insert(db, "proof_round", "step, seq, perturbation", row)?;
    }
    Ok(())
}

pub(crate) fn event(db: &Connection, event: &Event) -> rusqlite::Result<()> {
    let row = vec![
        int(event.at.0),
        opt_int(event.step),
        opt_int(event.source.map(|SourceId(id)| id)),
        text(event.level.word()),
        text(&event.code),
        text(&event.text),
    ];
    insert(db, "event", "at_ns, step, source, level, code, text", row)
}

fn opt_int(number: Option<u32>) -> Value {
    number.map_or(Value::Null, |n| int(n.into()))
}

/// Inserts a row, whose values are in the order of `columns`.
fn insert(db: &Connection, table: &str, columns: &str, row: Vec<Value>) -> rusqlite::Result<()> {
    let marks = vec!["?"; row.len()].join(", ");
    let sql = format!("INSERT INTO {table} ({columns}) VALUES ({marks})");
    db.prepare_cached(&sql)?.execute(params_from_iter(row)).map(|_| ())
}

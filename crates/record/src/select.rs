//! One function a table: what is read from which rows. `insert` is its counterpart.

use crate::columns::{Cells, RowError};
use crate::legacy;
use crate::schema::{
    CONFIDENCE_OF_SINCE, CONFIDENCE_SINCE, FIGURES, OTHER_FIGURES, OTHERS_SINCE, PROOFS_SINCE,
    STREAMS_SINCE, StoredWord, TABLES, TYPED_SINCE,
};
use crate::{
    Confidence, Counter, CounterId, CounterKind, Event, Fact, Histogram, HopKind, Interval, Lever,
    Loop, Meaning, OtherTallies, Perturbation, Producer, ProducerKind, Proof, RunHead,
    ScenarioText, Source, SourceId, SourceKind, Status, StepHead, StepTimes, StepTotal, StreamLoad,
    Untouched, WorkerLoad,
};
use clock::Ns;
use rusqlite::{Connection, Params};
use std::collections::BTreeMap;

/// All rows of a query, each read by `read`.
fn rows<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&mut Cells) -> Result<T, RowError>,
) -> Result<Vec<T>, RowError> {
    let mut all = Vec::new();
    each_row(db, sql, params, |cells| {
        all.push(read(cells)?);
        Ok(())
    })?;
    Ok(all)
}

fn each_row(
    db: &Connection,
    sql: &str,
    params: impl Params,
    mut f: impl FnMut(&mut Cells) -> Result<(), RowError>,
) -> Result<(), RowError> {
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        f(&mut Cells::new(row))?;
    }
    Ok(())
}

/// Our names must be plain tables: a view in their place could compute forever.
pub(crate) fn check_tables(db: &Connection, version: u32) -> Result<(), RowError> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'";
    let present = rows(db, sql, [], |cells| cells.text())?;
    let mut needed = TABLES.iter().filter(|(_, since)| *since <= version);
    match needed.find(|(table, _)| !present.iter().any(|name| name == table)) {
        Some((table, _)) => Err(RowError::Bad(format!("the table {table} is missing"))),
        None => Ok(()),
    }
}

/// How the run began, and how it ended.
pub(crate) fn head(
    db: &Connection,
    version: u32,
    facts: &[Fact],
) -> Result<(RunHead, Status), RowError> {
    let sql = "SELECT key, value FROM scenario_override ORDER BY seq";
    let overrides = rows(db, sql, [], pair)?;
    let typed = version >= TYPED_SINCE;
    let kind = if typed { "producer_kind" } else { "NULL" };
    let sql = format!(
        "SELECT title, producer, {kind} AS producer_kind, scenario_name, scenario_text, epoch_ns, wall_ns, seed, \
         status FROM run WHERE id = 1"
    );
    let found = rows(db, &sql, [], |cells| {
        let (title, name) = (cells.text()?, cells.text()?);
        let kind = cells.opt_text()?;
        let producer = match kind {
            Some(word) => {
                let kind = StoredWord::of(&word);
                let unknown =
                    || RowError::Bad(format!("producer_kind holds the unknown word {word:?}"));
                Producer { kind: kind.ok_or_else(unknown)?, name }
            }
            None => legacy::producer(name, facts),
        };
        let (name, text) = (cells.text()?, cells.text()?);
        let (epoch, wall_ns) = (cells.ns()?, cells.u64()?);
        let seed = cells.str()?;
        let seed =
            seed.parse().map_err(|_| RowError::Bad(format!("the seed {seed:?} is no number")))?;
        let scenario = ScenarioText { name, text, overrides: overrides.clone() };
        Ok((RunHead { title, producer, scenario, epoch, wall_ns, seed }, cells.word()?))
    })?;
    found.into_iter().next().ok_or_else(|| RowError::Bad("the table run is empty".into()))
}

pub(crate) fn facts(db: &Connection) -> Result<Vec<Fact>, RowError> {
    rows(db, "SELECT subject, key, value FROM fact ORDER BY seq", [], fact)
}

pub(crate) fn sources(db: &Connection, version: u32) -> Result<Vec<Source>, RowError> {
    let hop = if version < TYPED_SINCE { "NULL" } else { "hop_kind" };
    let sql = format!(
        "SELECT source, kind, {hop} AS hop_kind, name, group_name, agent FROM source ORDER BY source"
    );
    rows(db, &sql, [], source)
}

/// The steps by number, with their settings, workers and, in a version that has some, streams.
pub(crate) fn steps(db: &Connection, version: u32) -> Result<Vec<StepHead>, RowError> {
    let mut settings: BTreeMap<u32, Vec<(String, String)>> = BTreeMap::new();
    each_row(db, "SELECT step, key, value FROM step_setting ORDER BY step, seq", [], |cells| {
        settings.entry(cells.u32()?).or_default().push(pair(cells)?);
        Ok(())
    })?;
    let mut workers: BTreeMap<u32, Vec<WorkerLoad>> = BTreeMap::new();
    let sql = "SELECT step, source, workload, arrivals, depth, think, rate_per_s, ops_per_transaction \
               FROM worker_load ORDER BY step, seq";
    each_row(db, sql, [], |cells| {
        workers.entry(cells.u32()?).or_default().push(worker_load(cells)?);
        Ok(())
    })?;
    let mut streams = if version < STREAMS_SINCE { BTreeMap::new() } else { streams(db)? };
    let sql = "SELECT step, plan, repetition, start_ns, measure_ns, cooldown_ns, end_ns \
               FROM step ORDER BY step";
    let mut steps = Vec::new();
    each_row(db, sql, [], |cells| {
        let index = cells.u32()?;
        steps.push(StepHead {
            index,
            plan: cells.text()?,
            repetition: cells.u32()?,
            times: StepTimes {
                start: cells.ns()?,
                measure: cells.ns()?,
                cooldown: cells.ns()?,
                end: cells.ns()?,
            },
            settings: settings.remove(&index).unwrap_or_default(),
            workers: workers.remove(&index).unwrap_or_default(),
            streams: streams.remove(&index).unwrap_or_default(),
        });
        Ok(())
    })?;
    Ok(steps)
}

/// The streams of each step.
fn streams(db: &Connection) -> Result<BTreeMap<u32, Vec<StreamLoad>>, RowError> {
    let mut streams: BTreeMap<u32, Vec<StreamLoad>> = BTreeMap::new();
    let sql = "SELECT step, source, workload, hop, flow, side, number FROM stream_load ORDER BY step, seq";
    each_row(db, sql, [], |cells| {
        streams.entry(cells.u32()?).or_default().push(stream_load(cells)?);
        Ok(())
    })?;
    Ok(streams)
}

/// The intervals of a step by start and source.
pub(crate) fn each_interval(
    db: &Connection,
    version: u32,
    step: u32,
    f: &mut dyn FnMut(Interval),
) -> Result<(), RowError> {
    let others = version >= OTHERS_SINCE && has_others(db, step)?;
    let sql = format!(
        "SELECT source, phase, from_ns, to_ns, {FIGURES} FROM interval \
         WHERE step = ? ORDER BY from_ns, source"
    );
    each_row(db, &sql, [step], |cells| {
        let mut interval = interval(step, cells)?;
        if others {
            interval_others(db, &mut interval)?;
        }
        f(interval);
        Ok(())
    })
}

/// Reads the operations without data of an interval.
fn interval_others(db: &Connection, interval: &mut Interval) -> Result<(), RowError> {
    let sql = format!(
        "SELECT {OTHER_FIGURES} FROM interval_other WHERE step = ? AND from_ns = ? AND source = ?"
    );
    let from = i64::try_from(interval.from.0).unwrap_or(i64::MAX);
    let key = (interval.step, from, interval.source.0);
    other_tallies(db, &sql, key, Histogram::coarse, &mut interval.others)
}

/// The intervals in the order in which they were written, at most `limit` of those after `row`; and the row of the last.
pub(crate) fn intervals_after(
    db: &Connection,
    version: u32,
    row: u64,
    limit: u32,
) -> Result<(Vec<Interval>, u64), RowError> {
    let (mut all, mut last) = (Vec::new(), row);
    let others = version >= OTHERS_SINCE
        && db.query_row("SELECT EXISTS (SELECT 1 FROM interval_other)", [], |row| row.get(0))?;
    let sql = format!(
        "SELECT rowid, step, source, phase, from_ns, to_ns, {FIGURES} FROM interval \
         WHERE rowid > ? ORDER BY rowid LIMIT ?"
    );
    let row = i64::try_from(row).unwrap_or(i64::MAX);
    each_row(db, &sql, (row, limit), |cells| {
        last = cells.u64()?;
        let step = cells.u32()?;
        let mut interval = interval(step, cells)?;
        if others {
            interval_others(db, &mut interval)?;
        }
        all.push(interval);
        Ok(())
    })?;
    Ok((all, last))
}

/// What tells whether sources or steps were added or changed.
pub(crate) fn shape(db: &Connection) -> Result<[u64; 3], RowError> {
    let sql = "SELECT (SELECT count(*) FROM source), count(*), \
               coalesce(sum((start_ns + measure_ns + cooldown_ns + end_ns) % 1000000007), 0) FROM step";
    let found = rows(db, sql, [], |cells| Ok([cells.u64()?, cells.u64()?, cells.u64()?]))?;
    Ok(found.first().copied().unwrap_or_default())
}

/// The number of the last row of a table that counts its rows.
pub(crate) fn last_seq(db: &Connection, table: &str) -> Result<u64, RowError> {
    let found =
        rows(db, &format!("SELECT coalesce(max(seq), 0) FROM {table}"), [], |cells| cells.u64())?;
    Ok(found.first().copied().unwrap_or_default())
}

/// Whether a step has operations without data.
fn has_others(db: &Connection, step: u32) -> Result<bool, RowError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM interval_other WHERE step = ?)";
    Ok(db.query_row(sql, [step], |row| row.get(0))?)
}

/// Reads the operations without data of one source into their places.
fn other_tallies(
    db: &Connection,
    sql: &str,
    key: impl Params,
    empty: fn() -> Histogram,
    into: &mut OtherTallies,
) -> Result<(), RowError> {
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(key)?;
    while let Some(row) = rows.next()? {
        let (place, tally) = Cells::new(row).other(empty)?;
        into[place] = Some(tally);
    }
    Ok(())
}

/// The totals that were written of a step, by source.
pub(crate) fn totals(db: &Connection, version: u32, step: u32) -> Result<Vec<StepTotal>, RowError> {
    let sql = format!(
        "SELECT t.source, t.measured_ns, s.done, {FIGURES} \
         FROM total t JOIN step s ON s.step = t.step WHERE t.step = ? ORDER BY t.source"
    );
    let mut all = rows(db, &sql, [step], total)?;
    if version >= OTHERS_SINCE {
        let sql = format!("SELECT {OTHER_FIGURES} FROM total_other WHERE step = ? AND source = ?");
        for total in &mut all {
            let key = (step, total.source.0);
            other_tallies(db, &sql, key, Histogram::new, &mut total.others)?;
        }
    }
    Ok(all)
}

/// The counters of a step, or of none.
pub(crate) fn counters(db: &Connection, step: Option<u32>) -> Result<Vec<Counter>, RowError> {
    counters_where(db, "step IS ?", [step])
}

/// The counters that were written after a row.
pub(crate) fn counters_after(db: &Connection, seq: u64) -> Result<Vec<Counter>, RowError> {
    counters_where(db, "seq > ?", [i64::try_from(seq).unwrap_or(i64::MAX)])
}

fn counters_where(
    db: &Connection,
    chosen: &str,
    params: impl Params,
) -> Result<Vec<Counter>, RowError> {
    let mut kinds: BTreeMap<String, Vec<CounterKind>> = BTreeMap::new();
    each_row(db, "SELECT name, unit, meaning FROM counter_kind", [], |cells| {
        let (name, unit, meaning) = (cells.text()?, cells.text()?, cells.opt_text()?);
        let meaning = meaning.and_then(|word| Meaning::of(&word));
        let kind = CounterKind::stored(&name, &unit, meaning);
        kinds.entry(name).or_default().push(kind);
        Ok(())
    })?;
    let sql = format!(
        "SELECT source, step, from_ns, to_ns, value, name, unit, part FROM counter \
         WHERE {chosen} ORDER BY seq"
    );
    rows(db, &sql, params, |cells| {
        let counter = counter(cells)?;
        let (name, unit) = (cells.text()?, cells.text()?);
        let described =
            kinds.get(&name).and_then(|all| all.iter().find(|kind| kind.unit() == unit));
        let kind = match described {
            Some(kind) => kind.clone(),
            None => CounterKind::stored(&name, &unit, None),
        };
        Ok(Counter { kind, part: cells.opt_text()?, ..counter })
    })
}

/// When a step was counted by counters of a name: in which times a process of the run did not run, or clocks left it open
/// whether all agents were under load.
pub(crate) fn counted_times(
    db: &Connection,
    step: u32,
    id: CounterId,
) -> Result<Vec<(Ns, Ns)>, RowError> {
    let sql = "SELECT source, step, from_ns, to_ns, value FROM counter \
               WHERE step IS ? AND name = ? ORDER BY seq";
    let time = |cells: &mut Cells| counter(cells).map(|one| (one.from, one.to));
    rows(db, sql, (step, id.name()), time)
}

/// The same of a version that only spells what they are.
pub(crate) fn old_counters(
    db: &Connection,
    step: Option<u32>,
    (sources, producer): (&[Source], ProducerKind),
) -> Result<Vec<Counter>, RowError> {
    let kinds: BTreeMap<SourceId, SourceKind> =
        sources.iter().map(|source| (source.id, source.kind)).collect();
    let sql = "SELECT source, step, from_ns, to_ns, value, name, unit FROM counter \
               WHERE step IS ? ORDER BY seq";
    rows(db, sql, [step], |cells| {
        let counter = counter(cells)?;
        let source = kinds.get(&counter.source).copied();
        let (kind, part) = legacy::counter(&cells.text()?, &cells.text()?, source, producer);
        Ok(Counter { kind, part, ..counter })
    })
}

/// The intervals of confidence of all steps, by step, source and figure, in a version that has some.
pub(crate) fn confidences(db: &Connection, version: u32) -> Result<Vec<Confidence>, RowError> {
    if version < CONFIDENCE_SINCE {
        return Ok(Vec::new());
    }
    let source = if version < CONFIDENCE_OF_SINCE { "NULL" } else { "source" };
    let sql = format!(
        "SELECT step, {source} AS source, figure, low, high, unit, level, batches FROM confidence \
         ORDER BY step, 2, figure"
    );
    rows(db, &sql, [], confidence)
}

/// The rounds of steps, by step.
pub(crate) fn proofs(db: &Connection, version: u32) -> Result<BTreeMap<u32, Proof>, RowError> {
    let mut all: BTreeMap<u32, Proof> = BTreeMap::new();
    if version < PROOFS_SINCE {
        return Ok(all);
    }
    each_row(db, "SELECT step, round_ns, settle_ns FROM proof", [], |cells| {
        let step = cells.u32()?;
        let (round, settle) = (cells.ns()?, cells.ns()?);
        if settle >= round {
            return Err(RowError::Bad(format!("the rounds of step {step} have no length")));
        }
        all.insert(step, Proof { round, settle, ..Proof::default() });
        Ok(())
    })?;
    let stray = |step: u32| RowError::Bad(format!("step {step} has rounds without a proof"));
    let sql = "SELECT step, subject, lever, factor, why FROM perturbation ORDER BY step, seq";
    each_row(db, sql, [], |cells| {
        let (step, subject, lever) = (cells.u32()?, cells.text()?, cells.opt_text()?);
        let (factor, why) = (cells.real()?, cells.opt_text()?);
        let proof = all.get_mut(&step).ok_or_else(|| stray(step))?;
        match lever.as_deref().map(Lever::of) {
            Some(Some(lever)) if factor > 0.0 && factor < 1.0 => {
                proof.perturbations.push(Perturbation { subject, lever, factor });
            }
            Some(_) => return Err(RowError::Bad(format!("{subject} is slowed in an unknown way"))),
            None => proof.untouched.push(Untouched { subject, why: why.unwrap_or_default() }),
        }
        Ok(())
    })?;
    let sql = "SELECT step, perturbation FROM proof_round ORDER BY step, seq";
    each_row(db, sql, [], |cells| {
        let (step, slowed) = (cells.u32()?, cells.opt_u32()?);
        let proof = all.get_mut(&step).ok_or_else(|| stray(step))?;
        if slowed.is_some_and(|slowed| slowed as usize >= proof.perturbations.len()) {
            return Err(RowError::Bad(format!("a round of step {step} slows what is not listed")));
        }
        proof.rounds.push(slowed);
        Ok(())
    })?;
    Ok(all)
}

/// The events in the order of time.
pub(crate) fn events(db: &Connection) -> Result<Vec<Event>, RowError> {
    let sql = "SELECT at_ns, step, source, level, code, text FROM event ORDER BY at_ns, seq";
    rows(db, sql, [], event)
}

/// The events that were written after a row.
pub(crate) fn events_after(db: &Connection, seq: u64) -> Result<Vec<Event>, RowError> {
    let sql = "SELECT at_ns, step, source, level, code, text FROM event WHERE seq > ? ORDER BY seq";
    rows(db, sql, [i64::try_from(seq).unwrap_or(i64::MAX)], event)
}

/// How the run ended, so far.
pub(crate) fn status(db: &Connection) -> Result<Status, RowError> {
    let found = rows(db, "SELECT status FROM run WHERE id = 1", [], |cells| cells.word())?;
    found.into_iter().next().ok_or_else(|| RowError::Bad("the table run is empty".into()))
}

fn interval(step: u32, cells: &mut Cells) -> Result<Interval, RowError> {
    let source = SourceId(cells.u32()?);
    let phase = cells.word()?;
    let (from, to) = (cells.ns()?, cells.ns()?);
    let (read, write, testimony) = cells.figures(Histogram::coarse)?;
    let others = OtherTallies::default();
    Ok(Interval { source, step, phase, from, to, read, write, others, testimony })
}

fn total(cells: &mut Cells) -> Result<StepTotal, RowError> {
    let source = SourceId(cells.u32()?);
    let measured = cells.ns()?;
    let complete = cells.flag()?;
    let (read, write, testimony) = cells.figures(Histogram::new)?;
    let others = OtherTallies::default();
    Ok(StepTotal { source, read, write, others, testimony, measured, complete })
}

fn pair(cells: &mut Cells) -> Result<(String, String), RowError> {
    Ok((cells.text()?, cells.text()?))
}

fn fact(cells: &mut Cells) -> Result<Fact, RowError> {
    Ok(Fact { subject: cells.text()?, key: cells.text()?, value: cells.text()? })
}

fn source(cells: &mut Cells) -> Result<Source, RowError> {
    let (id, word, hop) = (SourceId(cells.u32()?), cells.text()?, cells.opt_text()?);
    let kind = match word.as_str() {
        "worker" => SourceKind::Worker,
        "hop" => SourceKind::Hop(hop.map_or(HopKind::Other, |hop| HopKind::of(&hop))),
        "stream" => SourceKind::Stream,
        _ => return Err(RowError::Bad(format!("kind holds the unknown word {word:?}"))),
    };
    Ok(Source { id, kind, name: cells.text()?, group: cells.text()?, agent: cells.text()? })
}

fn worker_load(cells: &mut Cells) -> Result<WorkerLoad, RowError> {
    let source = SourceId(cells.u32()?);
    let workload = cells.text()?;
    let arrivals = cells.str()?;
    let (depth, think, rate) = (cells.opt_u32()?, cells.opt_u64()?, cells.real()?);
    let arrivals = match (arrivals, depth) {
        ("closed", Some(depth)) => Loop::Closed { depth, think: think == Some(1) },
        ("open", _) => Loop::Open { rate },
        ("observed", None) => Loop::Observed,
        _ => return Err(RowError::Bad(format!("arrivals {arrivals:?} are of no known loop"))),
    };
    Ok(WorkerLoad { source, workload, arrivals, ops_per_transaction: cells.u32()? })
}

fn stream_load(cells: &mut Cells) -> Result<StreamLoad, RowError> {
    let (source, workload) = (SourceId(cells.u32()?), cells.text()?);
    let (hop, flow, end) = (SourceId(cells.u32()?), cells.word()?, cells.word()?);
    let number = cells.u32()?;
    let too_large = |_| RowError::Bad(format!("a stream cannot have the number {number}"));
    let number = u16::try_from(number).map_err(too_large)?;
    Ok(StreamLoad { source, workload, hop, flow, end, number })
}

fn event(cells: &mut Cells) -> Result<Event, RowError> {
    Ok(Event {
        at: cells.ns()?,
        step: cells.opt_u32()?,
        source: cells.opt_u32()?.map(SourceId),
        level: cells.word()?,
        code: cells.text()?,
        text: cells.text()?,
    })
}

fn confidence(cells: &mut Cells) -> Result<Confidence, RowError> {
    Ok(Confidence {
        step: cells.u32()?,
        source: cells.opt_text()?,
        figure: cells.text()?,
        low: cells.real()?,
        high: cells.real()?,
        unit: cells.text()?,
        level: cells.real()?,
        batches: cells.u32()?,
    })
}

/// A counter without its kind, which follows.
fn counter(cells: &mut Cells) -> Result<Counter, RowError> {
    Ok(Counter {
        source: SourceId(cells.u32()?),
        step: cells.opt_u32()?,
        from: cells.ns()?,
        to: cells.ns()?,
        value: cells.real()?,
        kind: CounterKind::stored("", "", None),
        part: None,
    })
}

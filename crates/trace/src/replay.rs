//! A trace as a workload: its I/Os in memory, and what it is on average.

use crate::own::OwnReader;
use crate::{Place, TraceError, TraceFacts, TraceReader};
use clock::Ns;
use std::io::{Read, Seek, SeekFrom};
use workload::{
    Access, Arrivals, Dir, Durability, Process, ReplayMode, Row, Spec, TraceOp, TraceOps,
    TraceSpec, WorkloadKind,
};

/// I/Os that one replay holds in memory.
pub const OPS_MAX: usize = 100_000_000;
/// Rows of an access specification.
const ROWS: usize = 100;
/// The logical block that rounding outward may need.
const ROUND: u32 = 4096;

/// Loads the part of a trace that is replayed.
/// # Errors
/// Where it cannot be read, is not the trace that was looked at before, or nothing of it is replayed.
pub fn load_ops(input: impl Read, spec: &TraceSpec) -> Result<TraceOps, TraceError> {
    let mut reader = OwnReader::new(input)?;
    let until = spec.length.map_or(Ns::MAX, |length| spec.from.plus(length));
    let mut ops = Vec::new();
    let mut left_out = 0u64;
    while let Some(io) = reader.next()? {
        if io.at < spec.from || io.at >= until {
            continue;
        }
        if !spec.replays(io.dir) {
            left_out += 1;
            continue;
        }
        if ops.len() >= OPS_MAX {
            let problem = format!("more than {OPS_MAX} I/Os in one replay");
            return Err(
                TraceError::new(Place::Whole, problem).help("take a part by `from` and `length`")
            );
        }
        ops.push(TraceOp {
            at: io.at.since(spec.from),
            offset: io.offset,
            latency: io.latency.unwrap_or(Ns::MAX),
            len: io.len,
            issuer: io.issuer,
            device: io.device,
            dir: io.dir,
            fua: io.fua,
        });
    }
    let digest = reader.facts().map_or("", |facts| &facts.digest);
    if !spec.digest.is_empty() && digest != spec.digest {
        return Err(TraceError::new(Place::Whole, "not the trace that the run was planned with")
            .help("each agent needs the same file"));
    }
    if ops.is_empty() {
        let error = TraceError::new(Place::Whole, "nothing of the trace is replayed");
        return Err(match left_out {
            0 => error.help("`from` and `length` choose a part of it"),
            n => error.help(format!("{n} I/Os change the target: `writes = true` replays them")),
        });
    }
    Ok(TraceOps(ops.into()))
}

/// What a trace holds: from its end, or by reading all of it where it has none.
/// # Errors
/// Where it cannot be read as a trace of Wirespeed.
pub fn facts_by(input: &mut (impl Read + Seek)) -> Result<TraceFacts, TraceError> {
    let cannot = |e: std::io::Error| TraceError::new(Place::Whole, format!("cannot be read: {e}"));
    if let Some(facts) = crate::facts_of(input).map_err(cannot)? {
        return Ok(facts);
    }
    input.seek(SeekFrom::Start(0)).map_err(cannot)?;
    let mut reader = OwnReader::new(input)?;
    let mut summary = crate::Summary::default();
    while let Some(io) = reader.next()? {
        summary.add(&io);
    }
    Ok(summary.finish(reader.devices(), &reader.tally()))
}

/// Gives a workload that replays a trace what the trace is on average: for buffers, grants, routes and estimates.
/// # Errors
/// Where nothing of it can be replayed.
pub fn settle(spec: &mut Spec, facts: &TraceFacts) -> Result<(), TraceError> {
    let Some(trace) = &mut spec.trace else { return Ok(()) };
    trace.digest.clone_from(&facts.digest);
    let moved: u64 = TraceFacts::DIRS
        .iter()
        .filter(|dir| **dir != Dir::Flush && trace.replays(**dir))
        .map(|dir| facts.of(*dir))
        .sum();
    if moved == 0 {
        let writes = facts.of(Dir::Write);
        let help = match trace.writes {
            true => "it holds no reads and no writes".to_owned(),
            false => format!("it has no reads; `writes = true` replays its {writes} writes"),
        };
        return Err(TraceError::new(Place::Whole, "nothing of the trace is replayed").help(help));
    }
    spec.kind = WorkloadKind::Access(Access::new(rows(trace, facts, moved)));
    let share =
        if trace.writes { 1.0 } else { facts.of(Dir::Read) as f64 / facts.ios.max(1) as f64 };
    let seconds = facts.span.as_secs_f64();
    let rate = if seconds > 0.0 { facts.ios as f64 * share / seconds * trace.speed } else { 1.0 };
    spec.arrivals = match (trace.mode, spec.arrivals) {
        (ReplayMode::Open, arrivals) => {
            let limit = match arrivals {
                Arrivals::Open { limit, .. } => limit,
                Arrivals::Closed { depth, .. } => depth,
            };
            Arrivals::Open { process: Process::Poisson { rate: rate.clamp(1e-3, 1e9) }, limit }
        }
        (ReplayMode::Closed, Arrivals::Closed { depth: 0, .. }) => {
            Arrivals::closed(u32::try_from(facts.outstanding).unwrap_or(4096).clamp(1, 4096))
        }
        (_, arrivals) => arrivals,
    };
    let writes = facts.of(Dir::Write);
    let flushes = facts.of(Dir::Flush);
    spec.durability = match trace.writes && writes > 0 {
        false => Durability::default(),
        true => Durability {
            flush_every: writes
                .checked_div(flushes)
                .map_or(0, |every| every.clamp(1, 1_000_000_000) as u32),
            fua: 100.0 * facts.fua.min(writes) as f64 / writes as f64,
        },
    };
    Ok(())
}

/// The sizes of what is replayed, each a row; what is left of many goes with the last of its kind.
fn rows(trace: &TraceSpec, facts: &TraceFacts, moved: u64) -> Vec<Row> {
    let random = match facts.of(Dir::Read) + facts.of(Dir::Write) {
        0 => 100.0,
        of => 100.0 * (1.0 - facts.sequential as f64 / of as f64),
    };
    let round = |len: u32| match trace.round {
        true => len.saturating_add(ROUND).next_multiple_of(ROUND),
        false => len,
    };
    let row = |dir: Dir, len: u32, count: u64| Row {
        share: 100.0 * count as f64 / moved as f64,
        trim: if dir == Dir::Trim { 100.0 } else { 0.0 },
        zeroes: if dir == Dir::Zero { 100.0 } else { 0.0 },
        ..Row::new(round(len.max(512)), if dir == Dir::Read { 100.0 } else { 0.0 }, random)
    };
    let counted =
        facts.sizes.iter().filter(|size| size.dir != Dir::Flush && trace.replays(size.dir));
    let mut rows: Vec<Row> = Vec::new();
    for (number, size) in counted.enumerate() {
        let same = rows.iter_mut().rev().find(|row| {
            (row.read > 0.0) == (size.dir == Dir::Read)
                && (row.trim > 0.0) == (size.dir == Dir::Trim)
                && (row.zeroes > 0.0) == (size.dir == Dir::Zero)
        });
        match same {
            // What is left of many sizes goes with the last of its kind, which is as large as the largest of them.
            Some(same) if number >= ROWS - 5 => {
                same.share += 100.0 * size.count as f64 / moved as f64;
                same.size = same.size.max(round(size.len));
            }
            _ => rows.push(row(size.dir, size.len, size.count)),
        }
    }
    rows
}

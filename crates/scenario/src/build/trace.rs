//! Traces that are replayed: disk workloads whose operations are recorded.

use super::{complain, count_u32};
use crate::datum::Decoded;
use crate::diagnostics::{At, Sink};
use crate::load::{DiskWorkload, LIMIT_DEFAULT};
use clock::Ns;
use workload::{Arrivals, Process, Regions, Remap, ReplayMode, Row, Spec, TraceSpec};

/// Operations outstanding as fast as it goes, unless given.
const DEPTH_DEFAULT: u32 = 32;

/// A trace. What it holds is not known here: the workload's average is settled where it is opened.
pub(crate) fn trace(name: &At<String>, record: &Decoded, sink: &mut Sink) -> DiskWorkload {
    let word = |key| record.word(key).map(|at| at.value);
    let mode = match word("mode") {
        Some("closed") => ReplayMode::Closed,
        Some("fast") => ReplayMode::Fast,
        _ => ReplayMode::Open,
    };
    let file = record.text("file").map(|at| at.value).unwrap_or_default();
    if record.has("file") && file.is_empty() {
        complain(record, "file", "the name of the trace is empty", sink);
    }
    let time = |key| record.time(key).map(|at| Ns::from(at.value));
    let flag = |key| record.flag(key).is_some_and(|at| at.value);
    let trace = TraceSpec {
        mode,
        speed: record.number("speed").map_or(1.0, |at| at.value),
        writes: flag("writes"),
        remap: match word("remap") {
            Some("fold") => Remap::Fold,
            Some("refuse") => Remap::Refuse,
            _ => Remap::Compact,
        },
        round: flag("round"),
        from: time("from").unwrap_or(Ns::ZERO),
        length: time("length"),
        ..TraceSpec::new(file)
    };
    if trace.length == Some(Ns::ZERO) {
        complain(record, "length", "0 s of a trace leave nothing to do", sink);
    }
    let depth = count_u32(record, "depth");
    let arrivals = match mode {
        ReplayMode::Open => Arrivals::Open {
            process: Process::Poisson { rate: 1.0 },
            limit: depth.unwrap_or(LIMIT_DEFAULT),
        },
        // Zero stands for the trace's own, until it is known.
        ReplayMode::Closed => Arrivals::closed(depth.unwrap_or(0)),
        ReplayMode::Fast => Arrivals::closed(depth.unwrap_or(DEPTH_DEFAULT)),
    };
    let rows = vec![Row::new(4096, if trace.writes { 50.0 } else { 100.0 }, 100.0)];
    let spec =
        Spec { trace: Some(Box::new(trace)), ..Spec::access(rows, arrivals, Regions::Shared) };
    let name = name.value.clone();
    DiskWorkload { name, spec, workers: 1, verify: false, each_disk: false }
}

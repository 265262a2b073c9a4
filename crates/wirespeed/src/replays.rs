//! Traces that a scenario replays: they are loaded before anything is planned, so that what does not fit is refused at once.

use crate::exit::Failure;
use scenario::Scenario;
use std::fs::File;

/// Settles every workload that replays a trace.
pub fn settle(scenario: &mut Scenario) -> Result<(), Failure> {
    let mut known: Vec<workload::Spec> = Vec::new();
    for workload in scenario.traces_mut() {
        if let Some(same) = known.iter().find(|spec| same(spec, &workload.spec)) {
            let (trace, arrivals) = (same.trace.clone(), same.arrivals);
            let (kind, durability) = (same.kind.clone(), same.durability);
            workload.spec =
                workload::Spec { trace, arrivals, kind, durability, ..workload.spec.clone() };
            continue;
        }
        let Some(file) = workload.spec.trace.as_ref().map(|trace| trace.file.clone()) else {
            continue;
        };
        let failed = |problem: &dyn std::fmt::Display| {
            Failure::usage(format!("workload `{}`: the trace {file}: {problem}", workload.name))
        };
        let mut input = File::open(&file).map_err(|e| failed(&e))?;
        let facts = trace::facts_by(&mut input).map_err(|e| failed(&e))?;
        trace::settle(&mut workload.spec, &facts).map_err(|e| failed(&e))?;
        if let Some(trace) = workload.spec.trace.as_mut() {
            let input = File::open(&file).map_err(|e| failed(&e))?;
            trace.ops = Some(trace::load_ops(input, trace).map_err(|e| failed(&e))?);
        }
        known.push(workload.spec.clone());
    }
    Ok(())
}

/// Whether two workloads replay the same part of the same trace in the same way.
fn same(settled: &workload::Spec, spec: &workload::Spec) -> bool {
    let plain = |spec: &workload::Spec| {
        let mut trace = spec.trace.clone()?;
        (trace.ops, trace.digest) = (None, String::new());
        Some(trace)
    };
    let most = spec.outstanding_max();
    plain(settled) == plain(spec) && (most == 0 || most == settled.outstanding_max())
}

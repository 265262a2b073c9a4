//! The cost of the generator itself: nanoseconds an operation of one worker on `null:`, 8 KiB blocks, random and
//! sequential, reads and a mix, at depth 32 and at depth 1, with every latency recorded. The processor time counts: others may share the machine. Run it with
//! `--release`.

use clock::Ns;
use disk::DiskEngine;
use engine::{Engine, EngineError, Output, Pinning, StepSpec, Stop, TargetSpec, WorkerSpec};
use record::Phase;
use std::sync::mpsc;
use workload::{Arrivals, Regions, Row, Spec};

fn main() -> Result<(), EngineError> {
    for (depth, read, random) in [
        (1, 100.0, 100.0),
        (32, 100.0, 100.0),
        (32, 70.0, 100.0),
        (32, 100.0, 0.0),
        (32, 70.0, 0.0),
    ] {
        let Cost { ops, cpu } = measure(depth, Row::new(8192, read, random))?;
        let each = cpu.0 as f64 / ops.max(1) as f64;
        println!(
            "depth {depth:>2}, {read:>3}% reads, {random:>3}% random: {each:.1} ns of processor time an operation, {ops} \
             operations in a second"
        );
    }
    Ok(())
}

/// What was done in the measured time, and the worker's processor time for it.
#[derive(Default)]
struct Cost {
    ops: u64,
    cpu: Ns,
}

fn measure(depth: u32, row: Row) -> Result<Cost, EngineError> {
    let (out, outputs) = mpsc::channel();
    let prepared =
        DiskEngine::new(Pinning::Auto).prepare(&step(depth, row), &out, &Stop::default())?;
    let now = clock::now();
    let _running = prepared.start(now, now.plus(Ns::millis(50)), out);
    let mut cost = Cost::default();
    for output in outputs {
        match output {
            Output::Interval(i) if i.phase == Phase::Measure => {
                cost.ops += [i.read, i.write].iter().flatten().map(|t| t.ops).sum::<u64>();
                let used = i.testimony.map_or(Ns::ZERO, |t| t.cpu_user.plus(t.cpu_system));
                cost.cpu = cost.cpu.plus(used);
            }
            Output::Interval(_) | Output::Counter(_) | Output::Event(_) | Output::Ended(..) => {}
            Output::Finished => break,
            Output::Failed(e) => return Err(e),
        }
    }
    Ok(cost)
}

fn step(depth: u32, row: Row) -> StepSpec {
    let target = TargetSpec { size: Some(1 << 40), ..TargetSpec::new("null", "null:") };
    let spec = Spec::access(vec![row], Arrivals::closed(depth), Regions::Shared);
    let worker = WorkerSpec::new(0, "null".to_owned(), vec![0], spec);
    StepSpec {
        index: 0,
        seed: 1,
        warmup: Ns::millis(200),
        measure: Ns::secs(1),
        cooldown: Ns::ZERO,
        slice: Ns::ZERO,
        targets: vec![target],
        workers: vec![worker],
        loads: Vec::new(),
        attended: Vec::new(),
        counted: None,
        lab: None,
    }
}

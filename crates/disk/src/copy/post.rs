//! What copies ask of their targets, and how the workers of a step wait for each other.

use super::{CopyWorker, FROM, JobBoard, Turn};
use engine::{EngineError, StepSpec, WorkerSpec};
use record::SourceId;
use workload::{Footprint, IoDemand};

/// What a worker asks of one of its targets, by the position among them.
pub fn demand(worker: &WorkerSpec, position: usize) -> IoDemand {
    let Some(copy) = &worker.copy else { return IoDemand::of(&worker.workload) };
    let reads = position == usize::from(FROM);
    IoDemand {
        reads,
        writes: !reads,
        data: !reads,
        without_data: [false, false, !reads],
        fua: false,
        block_max: copy.block,
        reach: Footprint::WHOLE,
    }
}

/// Bytes of the buffers of a worker.
pub fn buffers(worker: &WorkerSpec) -> u64 {
    match &worker.copy {
        Some(copy) => u64::from(copy.depth).saturating_mul(copy.block.into()),
        None => {
            let slots = u64::from(worker.workload.outstanding_max());
            slots.saturating_mul(IoDemand::of(&worker.workload).block_max.into())
        }
    }
}

/// The workers of a step, and the board on which they wait for each other.
pub struct Turns {
    sources: Vec<SourceId>,
    board: JobBoard,
}

impl Turns {
    /// Those of a step.
    pub fn of(step: &StepSpec) -> Turns {
        let sources: Vec<SourceId> = step.workers.iter().map(|worker| worker.source).collect();
        Turns { board: JobBoard::new(sources.len()), sources }
    }

    /// The turn of a worker.
    /// # Errors
    /// It waits for one that is not among them.
    pub fn turn(&self, worker: &WorkerSpec) -> Result<Turn, EngineError> {
        let wrong = |problem: String| EngineError::Worker { worker: worker.name.clone(), problem };
        let place = |source: &SourceId| self.sources.iter().position(|known| known == source);
        let after = worker.copy.as_ref().map_or(&worker.after, |copy| &copy.after);
        let after = after.iter().map(|source| {
            place(source).ok_or_else(|| {
                wrong(format!("it waits for source {}, which no worker beside it has", source.0))
            })
        });
        let after = after.collect::<Result<_, _>>()?;
        let place =
            place(&worker.source).ok_or_else(|| wrong("the step does not have it".to_owned()))?;
        Ok(Turn { board: self.board.clone(), place, after })
    }
}

impl CopyWorker {
    /// What its meter counts.
    pub fn scope() -> engine::MeterScope {
        engine::MeterScope {
            reads: true,
            writes: true,
            others: [false, false, true],
            open_loop: false,
        }
    }
}

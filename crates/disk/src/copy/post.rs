//! The copies of a step: what they ask of their targets, and how they wait for each other.

use super::{CopyWorker, FROM, JobBoard, TO};
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

/// The copies of a step, and the board on which they wait for each other.
pub struct Copies {
    sources: Vec<SourceId>,
    board: JobBoard,
}

impl Copies {
    /// Those of a step.
    pub fn of(step: &StepSpec) -> Copies {
        let copies = step.workers.iter().filter(|worker| worker.copy.is_some());
        let sources: Vec<SourceId> = copies.map(|worker| worker.source).collect();
        Copies { board: JobBoard::new(sources.len()), sources }
    }

    /// The board, the place of a copy on it, and the places of those that it waits for.
    /// # Errors
    /// It waits for one that is not among them, or has not two targets.
    pub fn place(&self, worker: &WorkerSpec) -> Result<(JobBoard, usize, Vec<usize>), EngineError> {
        let wrong = |problem: String| EngineError::Worker { worker: worker.name.clone(), problem };
        if worker.targets.len() != usize::from(TO) + 1 {
            return Err(wrong("a copy has one source and one destination".to_owned()));
        }
        let place = |source: &SourceId| self.sources.iter().position(|known| known == source);
        let after = worker.copy.iter().flat_map(|copy| &copy.after).map(|source| {
            place(source).ok_or_else(|| {
                wrong(format!("it waits for source {}, which copies nothing here", source.0))
            })
        });
        let after = after.collect::<Result<_, _>>()?;
        let mine = place(&worker.source).ok_or_else(|| wrong("it is no copy".to_owned()))?;
        Ok((self.board.clone(), mine, after))
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

//! Which workers of a step have ended: those that wait for them look here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The workers of a step, each with whether it has ended. A clone is the same board.
#[derive(Clone, Debug)]
pub struct JobBoard(Arc<[AtomicBool]>);

impl JobBoard {
    /// A board for so many workers, none of which has ended.
    pub fn new(workers: usize) -> JobBoard {
        JobBoard((0..workers).map(|_| AtomicBool::new(false)).collect())
    }

    /// All that a worker had to do is done; what a copy wrote is flushed.
    pub fn end(&self, worker: usize) {
        if let Some(ended) = self.0.get(worker) {
            ended.store(true, Ordering::Release);
        }
    }

    /// Whether all of these have ended; one that is not on the board never does.
    pub fn ended(&self, workers: &[usize]) -> bool {
        let ended = |worker: &usize| self.0.get(*worker).is_some_and(|e| e.load(Ordering::Acquire));
        workers.iter().all(ended)
    }
}

/// The turn of a worker among those of its step.
#[derive(Clone, Debug)]
pub struct Turn {
    /// All of them.
    pub board: JobBoard,
    /// Its place on the board.
    pub place: usize,
    /// The places of those that it waits for.
    pub after: Vec<usize>,
}

impl Turn {
    /// That of a worker alone, which waits for none.
    pub fn alone() -> Turn {
        Turn { board: JobBoard::new(1), place: 0, after: Vec::new() }
    }

    /// Whether those that it waits for have ended.
    pub fn has_come(&self) -> bool {
        self.board.ended(&self.after)
    }

    /// All that it had to do is done.
    pub fn is_over(&self) {
        self.board.end(self.place);
    }
}

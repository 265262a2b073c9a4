//! Which copies of a step have ended: those that wait for them look here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The copies of a step, each with whether it has ended. A clone is the same board.
#[derive(Clone, Debug)]
pub struct JobBoard(Arc<[AtomicBool]>);

impl JobBoard {
    /// A board for so many copies, none of which has ended.
    pub fn new(copies: usize) -> JobBoard {
        JobBoard((0..copies).map(|_| AtomicBool::new(false)).collect())
    }

    /// All that a copy had to write is written and flushed.
    pub fn end(&self, copy: usize) {
        if let Some(ended) = self.0.get(copy) {
            ended.store(true, Ordering::Release);
        }
    }

    /// Whether all of these have ended; one that is not on the board never does.
    pub fn ended(&self, copies: &[usize]) -> bool {
        let ended = |copy: &usize| self.0.get(*copy).is_some_and(|e| e.load(Ordering::Acquire));
        copies.iter().all(ended)
    }
}

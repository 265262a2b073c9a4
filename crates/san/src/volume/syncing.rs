//! Syncs of one volume are serialized, and one serves all that wait for it.
//!
//! The kernel reports a write-back error once, to the first sync that comes (errseq, Linux 4.13). Of two concurrent syncs, one
//! could get the error and the other end first with success. Serialized, every answer covers all earlier errors.

use super::inbox::Wake;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Syncing(Mutex<SyncState>);

#[derive(Debug, Default)]
struct SyncState {
    /// Numbers of the last sync that was begun, and of the last that is over.
    begun: u64,
    over: u64,
    running: bool,
    waiting: Vec<Wake>,
}

/// What one who wants a sync is to do.
pub(crate) enum SyncTurn<'a> {
    /// One that was begun since is over.
    Over,
    /// Do it, and drop this when it is over.
    Lead(Lead<'a>),
    /// Wait to be called on.
    Wait,
}

/// A sync in progress. If it is dropped without an end, another begins.
pub(crate) struct Lead<'a> {
    syncing: &'a Syncing,
    number: u64,
    over: bool,
}

impl Syncing {
    /// The number of the first sync that covers what was written so far: one that is yet to begin.
    pub fn ticket(&self) -> u64 {
        self.state().begun + 1
    }

    /// Looks whose turn it is; `wake` is called on where it is to wait.
    pub fn turn(&self, ticket: u64, wake: impl FnOnce() -> Wake) -> SyncTurn<'_> {
        let mut state = self.state();
        if state.over >= ticket {
            return SyncTurn::Over;
        }
        if state.running {
            state.waiting.push(wake());
            return SyncTurn::Wait;
        }
        state.running = true;
        state.begun += 1;
        SyncTurn::Lead(Lead { syncing: self, number: state.begun, over: false })
    }

    fn state(&self) -> MutexGuard<'_, SyncState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lead<'_> {
    /// It is over, well or not.
    pub fn end(mut self) {
        self.over = true;
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.syncing.state();
        state.running = false;
        if self.over {
            state.over = self.number;
        }
        state.waiting.drain(..).for_each(|wake| wake.wake());
    }
}

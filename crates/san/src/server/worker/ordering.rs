//! Ordered tasks (SAM-5, 8.6.3): they wait for all earlier tasks of their nexus on their unit, and later ones wait for
//! them. Only execution waits; data is received meanwhile, because earlier tasks may need the same connection.

use super::context::Context;
use super::session::{TaskStage, WorkerSession};
use iscsi::pdu::{TaskAttribute, precedes};
use iscsi::target::TaskId;

impl WorkerSession {
    /// Whether a task has to wait for others. Costs one comparison while there are no ordered tasks.
    pub fn must_wait(&self, task: TaskId) -> bool {
        if self.ordered == 0 {
            return false;
        }
        let Some(request) = self.protocol.task(task) else { return false };
        if request.attribute == TaskAttribute::HeadOfQueue {
            return false;
        }
        let place = &self.tasks[task.slot()];
        self.tasks.iter().any(|other| {
            let waits = other.ordered || (place.ordered && !matches!(other.phase, TaskStage::Idle));
            waits
                && !other.over
                && other.unit == place.unit
                && other.id.is_some_and(|id| {
                    id != task
                        && self
                            .protocol
                            .task(id)
                            .is_some_and(|other| precedes(other.cmd_sn, request.cmd_sn))
                })
        })
    }

    /// Starts the tasks whose turn it is now.
    pub fn release_held(&mut self, ctx: &mut Context) {
        // A task that ends at once comes here again; the loop below goes on with what that changed.
        if self.held.is_empty() || self.releasing {
            return;
        }
        self.releasing = true;
        let mut at = 0;
        while let Some(task) = self.held.get(at).copied() {
            let stays =
                self.place(task).is_some_and(|place| matches!(place.phase, TaskStage::Held(_)));
            if stays && self.must_wait(task) {
                at += 1;
                continue;
            }
            self.held.remove(at);
            let Some(place) = self.place(task) else { continue };
            if let TaskStage::Held(medium) = std::mem::take(&mut place.phase) {
                self.run(ctx, task, medium);
                at = 0;
            }
        }
        self.releasing = false;
    }
}

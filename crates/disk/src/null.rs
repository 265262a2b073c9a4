//! `null:`, a queue that completes everything at once, at any depth: the cost of the generator itself. Its I/Os pass
//! through the same generator, timers and histograms as all others.

use crate::{Arena, Completion, Completions, Io, OpenError, Opener, Queue};
use clock::Ns;

/// Opens `null:` queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullOpener;

struct NullQueue {
    /// Holds one completion a slot; never grows.
    done: Completions,
}

impl Opener for NullOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        Ok(Box::new(NullQueue { done: Vec::with_capacity(arena.slots() as usize) }))
    }
}

impl Queue for NullQueue {
    fn depth_max(&self) -> u32 {
        u32::MAX
    }

    fn how(&self) -> &str {
        "null, completes at once"
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        let room = self.done.capacity() - self.done.len();
        let taken = ios.len().min(room);
        self.done
            .extend(ios[..taken].iter().map(|io| Completion { slot: io.slot, result: Ok(io.len) }));
        taken
    }

    fn reap(&mut self, _min: u32, until: Ns, out: &mut Completions) {
        if self.done.is_empty() {
            clock::sleep_until(until);
        }
        let room = out.capacity() - out.len();
        out.extend(self.done.drain(..room.min(self.done.len())));
    }
}

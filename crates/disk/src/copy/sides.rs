//! The two sides of a copy over the same buffers: one queue for both where both targets can share one, and otherwise a queue
//! for each.

use super::{FROM, TO};
use crate::{Arena, Completions, Io, OpenError, Opener, Queue};
use clock::Ns;
use engine::Reports;

/// How long one of two queues is waited for before the other is looked at again.
const TURN: Ns = Ns(100_000);

/// What opens the sides.
pub enum SideOpeners {
    /// One queue, whose targets are the source and the destination.
    One(Box<dyn Opener>),
    /// A queue for each, of one target.
    Two(Box<dyn Opener>, Box<dyn Opener>),
}

/// The opened sides.
pub enum Sides {
    /// One queue.
    One(Box<dyn Queue>),
    /// The queues of the source and of the destination, and what is under way in each.
    Two([(Box<dyn Queue>, u32); 2]),
}

impl SideOpeners {
    /// Opens the queues over the same buffers.
    pub fn open(self, arena: &Arena) -> Result<Sides, OpenError> {
        Ok(match self {
            SideOpeners::One(opener) => Sides::One(opener.open(arena)?),
            SideOpeners::Two(from, to) => {
                Sides::Two([(from.open(arena)?, 0), (to.open(arena)?, 0)])
            }
        })
    }
}

impl Sides {
    /// I/Os that can be under way at both sides, and at each.
    pub fn depths(&self) -> (u32, [u32; 2]) {
        match self {
            Sides::One(queue) => (queue.depth_max(), [queue.depth_max(); 2]),
            Sides::Two([(from, _), (to, _)]) => {
                let each = [from.depth_max(), to.depth_max()];
                (each[0].saturating_add(each[1]), each)
            }
        }
    }

    /// What carries the I/O.
    pub fn how(&self) -> String {
        match self {
            Sides::One(queue) => queue.how().to_owned(),
            Sides::Two([(from, _), (to, _)]) => format!("{} to {}", from.how(), to.how()),
        }
    }

    /// What the queues report.
    pub fn reports(&mut self) -> [Option<Box<dyn Reports>>; 2] {
        match self {
            Sides::One(queue) => [queue.reports(), None],
            Sides::Two([(from, _), (to, _)]) => [from.reports(), to.reports()],
        }
    }

    /// Hands I/Os of one side to its queue; how many it took.
    pub fn submit(&mut self, side: u16, ios: &mut [Io]) -> usize {
        match self {
            Sides::One(queue) => {
                ios.iter_mut().for_each(|io| io.target = side);
                queue.submit(ios).min(ios.len())
            }
            Sides::Two(queues) => {
                ios.iter_mut().for_each(|io| io.target = 0);
                let (queue, open) = &mut queues[usize::from(side)];
                let taken = queue.submit(ios).min(ios.len());
                *open += taken as u32;
                taken
            }
        }
    }

    /// Waits for a completion, at most until `until`.
    pub fn reap(&mut self, until: Ns, done: &mut Completions) {
        match self {
            Sides::One(queue) => queue.reap(1, until, done),
            Sides::Two(queues) => {
                let open: [bool; 2] = [queues[0].1 > 0, queues[1].1 > 0];
                let first = done.len();
                if open[0] && open[1] {
                    take(&mut queues[usize::from(FROM)], 0, Ns::ZERO, done);
                    let turn = if done.len() > first {
                        Ns::ZERO
                    } else {
                        until.min(clock::now().plus(TURN))
                    };
                    let min = u32::from(done.len() == first);
                    take(&mut queues[usize::from(TO)], min, turn, done);
                } else {
                    take(&mut queues[usize::from(!open[0])], 1, until, done);
                }
            }
        }
    }
}

/// Takes what has ended in one queue.
fn take((queue, open): &mut (Box<dyn Queue>, u32), min: u32, until: Ns, done: &mut Completions) {
    let before = done.len();
    queue.reap(min, until, done);
    *open = open.saturating_sub((done.len() - before) as u32);
}

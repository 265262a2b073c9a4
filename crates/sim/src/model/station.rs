//! Stations, where I/Os are served, and pools of tokens, which limit I/Os while they hold them.

use super::StationId;
use crate::Ps;
use workload::Dir;

/// Number of priorities of a queue; 0 is served first.
pub const PRIORITIES: u8 = 8;

/// A station where I/Os are served.
#[derive(Clone, Debug, PartialEq)]
pub enum Station {
    /// First come, first served within a priority, by one of `servers`, without preemption.
    Queue {
        /// Number of servers, at least 1.
        servers: u32,
        /// I/Os present at most, waiting or in service; `None` = unlimited.
        capacity: Option<u32>,
        /// What happens to an I/O that finds it full.
        full: Full,
    },
    /// Infinitely many servers: no queueing.
    Delay,
    /// Processor sharing: all I/Os present are in service, each at the rate min(1, `servers` / present).
    Sharing {
        /// Capacity in units of the most that one I/O can use, at least 1.
        servers: u32,
    },
    /// Links that transfers cross, several at once, at max-min fair rates: no transfer could go faster without slowing
    /// one that is not faster than it. A full-duplex wire is two links; a limit on the sum of both directions is a
    /// third that all cross.
    Links {
        /// Rates in bytes a second, at least 1 each.
        rates: Vec<u64>,
    },
    /// A queue that works faster with more I/Os to choose from: a disk that reorders. Service is still in the order of
    /// arrival; only the gain is modelled, not the order.
    Sorted {
        /// Number of servers, at least 1.
        servers: u32,
        /// When a service begins, its time is divided by the entry for the number present: the first for one, the
        /// second for two …, the last for all beyond. From 0.001 to 1,000 each.
        gain: Vec<f64>,
    },
    /// I/Os wait until `count` are there or `within` has passed since the first arrived, then all continue: interrupt
    /// coalescing. Visits have no service time of their own.
    Batch {
        /// I/Os that continue together, at least 1.
        count: u32,
        /// Longest wait of the first I/O.
        within: Ps,
    },
    /// The processors of a machine, which the threads of [`Station::Gated`] stations share. No I/O comes here.
    Processors {
        /// How many, at least 1.
        count: u32,
        /// What an idle one does; `None`: it never halts, so that waking on it always takes the same.
        halt: Option<Halting>,
    },
    /// A queue of a thread, with gated batch service: a pass of the thread takes all I/Os that are present when it begins,
    /// lasts as long as their demands together and the costs of [`Gated`], and they leave at its end, or in parts.
    Gated(Gated),
}

/// A processor that has been idle for a while halts: a virtual one until its hypervisor runs it again, a real one in a deep idle
/// state. Of several the one that was last at work is woken first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halting {
    /// How long it is idle before that.
    pub after: Ps,
    /// What waking takes more then.
    pub wake: Ps,
}

/// A thread's queue, and what a pass over it costs besides the demands of its I/Os.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gated {
    /// The [`Station::Processors`] it runs on. Threads that find none free run in the order in which they became ready,
    /// each for one pass at a time.
    pub processors: StationId,
    /// The thread. Queues of one thread are served one after the other, in the order in which they became ready.
    pub thread: u32,
    /// Cost of a pass, whatever it serves: system calls.
    pub pass: Ps,
    /// Cost of waking the thread, where it sleeps and a processor is idle: leaving the idle state.
    pub wake: Ps,
    /// Cost of switching to the thread, where it takes the processor of another one.
    pub switch: Ps,
    /// The thread polls for up to this long for its next I/O before it sleeps, while it expects a shorter wait and no
    /// other thread needs the processor; zero: never. Only for a thread with one queue.
    pub spin: Ps,
    /// Its I/Os are counted as those of the processors as well: one queue of each route.
    pub counted: bool,
    /// Data that a pass sends before it ends; `None`: its I/Os leave together.
    pub parts: Option<Parts>,
}

/// A pass sends its data in parts of one size: the I/Os whose last bytes a part brings leave with it, and the pass goes on
/// with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The I/Os whose data it is; others leave with those before which they are served.
    pub dir: Dir,
    /// Bytes of a part, at least 1.
    pub bytes: u32,
    /// Bytes that the protocol adds to the data of each I/O.
    pub header: u32,
}

/// What happens to an I/O that finds a station full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// It is lost: its route ends there, and its tokens are returned.
    Lose,
    /// It is blocked. Where it comes directly from a server of a queue, it keeps that server (blocking after service,
    /// as in a production line).
    Block,
}

impl Station {
    /// One server, first come, first served, unlimited queue.
    pub const SINGLE: Station = Station::many(1);

    /// `servers` servers, first come, first served, unlimited queue.
    pub const fn many(servers: u32) -> Station {
        Station::Queue { servers, capacity: None, full: Full::Lose }
    }

    /// The same station with room for `capacity`.
    pub const fn finite(servers: u32, capacity: u32, full: Full) -> Station {
        Station::Queue { servers, capacity: Some(capacity), full }
    }
}

/// Tokens that I/Os take and return: a queue limit held over several visits, or credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Number of tokens, at least 1.
    pub tokens: u32,
}

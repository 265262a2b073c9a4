//! Places where I/O is served, and limits that it holds while it goes on.

use crate::Ps;

/// How many priorities a queue tells apart; 0 is served first.
pub const PRIORITIES: u8 = 8;

/// A place where I/Os are served.
#[derive(Clone, Debug, PartialEq)]
pub enum Station {
    /// Waiting in line for one of `servers`; within a priority in the order of arrival. Nobody who is served is
    /// interrupted.
    Queue {
        /// Served at once, at least 1.
        servers: u32,
        /// Present at once, waiting or served; `None` = any number.
        capacity: Option<u32>,
        /// What becomes of who finds it full.
        full: Full,
    },
    /// As many servers as there are I/Os: nobody waits.
    Delay,
    /// Processor sharing: all present are served at once, each at the rate min(1, `servers` / present).
    Sharing {
        /// Capacity in units of what one I/O can use, at least 1.
        servers: u32,
    },
    /// Links that transfers cross, several at once, at rates that are fair by max-min: no transfer could go faster without
    /// slowing one that is not faster than it. A full-duplex wire is two links; what limits both directions together is a
    /// third that all cross.
    Links {
        /// Bytes a second of each, at least 1.
        rates: Vec<u64>,
    },
    /// A queue that works the faster the more it can choose from: a disk that reorders. Served in the order of arrival
    /// all the same; what is modelled is the gain, not who is preferred.
    Sorted {
        /// Served at once, at least 1.
        servers: u32,
        /// As a service begins, its time is divided by the figure for those present: the first for one, the second for
        /// two …, the last for all beyond. From 0.001 to 1,000 each.
        gain: Vec<f64>,
    },
    /// Whoever comes waits until `count` are there, or `within` has passed since the first of them came; then all go on:
    /// interrupts that are coalesced. Its visits ask for no time of their own.
    Batch {
        /// How many go on together, at least 1.
        count: u32,
        /// How long the first waits at most.
        within: Ps,
    },
}

/// What becomes of an I/O that finds a station full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// It is lost: its route ends there, and its tokens go back.
    Lose,
    /// It waits at the door. Where it comes straight from the server of a queue, it keeps that server blocked
    /// (blocking after service, as in a line of machines).
    Block,
}

impl Station {
    /// One server, first come first served, room for all.
    pub const SINGLE: Station = Station::many(1);

    /// `servers` servers, first come first served, room for all.
    pub const fn many(servers: u32) -> Station {
        Station::Queue { servers, capacity: None, full: Full::Lose }
    }

    /// The same station with room for `capacity`.
    pub const fn finite(servers: u32, capacity: u32, full: Full) -> Station {
        Station::Queue { servers, capacity: Some(capacity), full }
    }
}

/// Tokens that I/Os take and give back: a queue limit that is held over several visits, or credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// How many there are, at least 1.
    pub tokens: u32,
}

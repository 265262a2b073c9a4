//! Who issues I/O, which kinds, and when.

use super::{Hop, Law, LoadId};
use crate::Ps;
use workload::{Dir, Placement, Spec};

/// A source of I/Os and the classes that it issues.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// When I/Os are issued, and of which class.
    pub source: Source,
    /// What the source issues: as many classes as its shares, or two for each target of operations: reads of target 0,
    /// writes of target 0, reads of target 1 …
    pub classes: Vec<Class>,
    /// From when on it issues. Times of [`Operations`] count from then.
    pub begins: Begin,
    /// I/Os that it issues in all; it is done when they have ended. `None` = it never is.
    pub total: Option<u64>,
}

/// When a load begins to issue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// At time 0.
    #[default]
    Now,
    /// Then.
    At(Ps),
    /// When all of these are done: each has a total.
    After(Vec<LoadId>),
}

/// I/Os that go the same way.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Read or write: under which bytes are counted.
    pub dir: Dir,
    /// Bytes of one I/O; an operation of a workload brings its own.
    pub bytes: u32,
    /// 0 (first) to [`super::PRIORITIES`] - 1.
    pub priority: u8,
    /// Where it goes.
    pub route: Vec<Hop>,
}

/// When I/Os are issued.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Customers who issue an I/O, wait for its end, think, and come again. All begin by thinking.
    Closed {
        /// How many.
        customers: u32,
        /// Between an end and the next I/O.
        think: Law,
        /// Weights of the classes, drawn for each I/O.
        shares: Vec<f64>,
    },
    /// Arrivals by a clock.
    Open {
        /// Between two arrivals: [`Law::Exponential`] makes them Poisson.
        gap: Law,
        /// Outstanding at once; an arrival beyond waits outside, and its response time counts from when it was due.
        limit: u32,
        /// Weights of the classes, drawn for each I/O.
        shares: Vec<f64>,
    },
    /// The operations of a worker, as a live engine would draw them.
    Operations(Box<Operations>),
}

/// A worker of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Operations {
    /// What it does.
    pub spec: Spec,
    /// On what; the step's start is in simulated time.
    pub place: Placement,
    /// The step's number, part of the name of the randomness.
    pub step: u32,
    /// The worker's number, part of the name of the randomness.
    pub worker: u32,
}

impl Class {
    /// A read of `bytes` on a route, at the first priority.
    pub fn read(bytes: u32, route: Vec<Hop>) -> Class {
        Class { dir: Dir::Read, bytes, priority: 0, route }
    }

    /// A write of `bytes` on a route, at the first priority.
    pub fn write(bytes: u32, route: Vec<Hop>) -> Class {
        Class { dir: Dir::Write, bytes, priority: 0, route }
    }
}

impl Load {
    /// A load that begins at once and has no end.
    pub fn of(source: Source, classes: Vec<Class>) -> Load {
        Load { source, classes, begins: Begin::Now, total: None }
    }

    /// A closed load of one class.
    pub fn closed(customers: u32, think: Law, class: Class) -> Load {
        Load::of(Source::Closed { customers, think, shares: vec![1.0] }, vec![class])
    }

    /// An open load of one class, with room for `limit` I/Os at once.
    pub fn open(gap: Law, limit: u32, class: Class) -> Load {
        Load::of(Source::Open { gap, limit, shares: vec![1.0] }, vec![class])
    }

    /// The same load that begins at another time.
    pub fn beginning(self, begins: Begin) -> Load {
        Load { begins, ..self }
    }

    /// The same load with an end after `total` I/Os.
    pub fn ending_after(self, total: u64) -> Load {
        Load { total: Some(total), ..self }
    }

    /// I/Os outstanding at once, at most.
    pub fn limit(&self) -> u32 {
        match &self.source {
            Source::Closed { customers, .. } => *customers,
            Source::Open { limit, .. } => *limit,
            Source::Operations(operations) => operations.spec.outstanding_max(),
        }
    }
}

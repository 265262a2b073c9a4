//! Loads: sources of I/Os and the classes that they issue.

use super::{Hop, Law, LoadId};
use crate::Ps;
use workload::{Dir, IoDemand, Placement, Spec};

/// A source of I/Os and the classes that it issues.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// When I/Os are issued, and of which class.
    pub source: Source,
    /// What the source issues: one class per share, or for each target of operations reads and writes, in this order, and
    /// after them the others of [`Operations::KINDS`] where the workload has such.
    pub classes: Vec<Class>,
    /// When it starts to issue. Times of [`Operations`] count from then.
    pub begins: Begin,
    /// I/Os that it issues in all; it is done when they have ended. `None` means without end.
    pub total: Option<u64>,
}

/// When a load starts to issue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Begin {
    /// At time 0.
    #[default]
    Now,
    /// At this time.
    At(Ps),
    /// When all of these are done; each must have a total.
    After(Vec<LoadId>),
}

/// I/Os with the same route.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Direction under which bytes are counted.
    pub dir: Dir,
    /// Bytes of one I/O; operations of a workload have sizes of their own.
    pub bytes: u32,
    /// Priority, from 0 (highest) to [`super::PRIORITIES`] - 1.
    pub priority: u8,
    /// The hops, in order.
    pub route: Vec<Hop>,
}

/// When I/Os are issued.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A closed load: customers issue an I/O, wait for its end, think, and repeat. All start by thinking.
    Closed {
        /// Number of customers.
        customers: u32,
        /// Think time.
        think: Law,
        /// Weights of the classes, drawn for each I/O.
        shares: Vec<f64>,
    },
    /// An open load.
    Open {
        /// Time between arrivals: [`Law::Exponential`] gives Poisson arrivals.
        gap: Law,
        /// Outstanding I/Os at most; a further arrival waits at the source, and its response time counts from when it
        /// was due.
        limit: u32,
        /// Weights of the classes, drawn for each I/O.
        shares: Vec<f64>,
    },
    /// The operations of a worker, drawn as by a live engine.
    Operations(Box<Operations>),
}

/// A worker of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Operations {
    /// What it does.
    pub spec: Spec,
    /// Its targets; the step's start is in simulated time.
    pub place: Placement,
    /// The step's number, part of the random stream's key.
    pub step: u32,
    /// The worker's number, part of the random stream's key.
    pub worker: u32,
}

impl Load {
    /// Per class whether any of its I/Os may be issued.
    pub fn issued(&self) -> Vec<bool> {
        match &self.source {
            Source::Closed { shares, .. } | Source::Open { shares, .. } => {
                shares.iter().map(|share| *share > 0.0).collect()
            }
            Source::Operations(of) => {
                let (demand, kinds) = (IoDemand::of(&of.spec), Operations::kinds(&of.spec));
                // A trace is only on average what its workload says.
                let may = |dir| of.spec.trace.is_some() || demand.has(dir);
                let kind = |number: usize| kinds[number % kinds.len()].0;
                (0..self.classes.len()).map(|number| may(kind(number))).collect()
            }
        }
    }
}

impl Operations {
    /// The kinds of operations that have classes of their own, and which of them have FUA.
    pub const KINDS: [(Dir, bool); 6] = [
        (Dir::Read, false),
        (Dir::Write, false),
        (Dir::Write, true),
        (Dir::Trim, false),
        (Dir::Zero, false),
        (Dir::Flush, false),
    ];

    /// Those that a workload needs: reads and writes, or all.
    pub fn kinds(spec: &Spec) -> &'static [(Dir, bool)] {
        let demand = IoDemand::of(spec);
        let plain = !demand.fua && demand.without_data == [false; 3];
        &Self::KINDS[..if plain { 2 } else { Self::KINDS.len() }]
    }

    /// The place of an operation's kind among them.
    #[inline]
    pub fn place(dir: Dir, fua: bool) -> u32 {
        match dir {
            Dir::Read => 0,
            Dir::Write => 1 + u32::from(fua),
            Dir::Trim => 3,
            Dir::Zero => 4,
            Dir::Flush => 5,
        }
    }
}

impl Class {
    /// A read of `bytes` on a route, at the highest priority.
    pub fn read(bytes: u32, route: Vec<Hop>) -> Class {
        Class { dir: Dir::Read, bytes, priority: 0, route }
    }

    /// A write of `bytes` on a route, at the highest priority.
    pub fn write(bytes: u32, route: Vec<Hop>) -> Class {
        Class { dir: Dir::Write, bytes, priority: 0, route }
    }
}

impl Load {
    /// A load that starts at time 0 and has no end.
    pub fn of(source: Source, classes: Vec<Class>) -> Load {
        Load { source, classes, begins: Begin::Now, total: None }
    }

    /// A closed load of one class.
    pub fn closed(customers: u32, think: Law, class: Class) -> Load {
        Load::of(Source::Closed { customers, think, shares: vec![1.0] }, vec![class])
    }

    /// An open load of one class, with at most `limit` I/Os outstanding.
    pub fn open(gap: Law, limit: u32, class: Class) -> Load {
        Load::of(Source::Open { gap, limit, shares: vec![1.0] }, vec![class])
    }

    /// The same load with another start.
    pub fn beginning(self, begins: Begin) -> Load {
        Load { begins, ..self }
    }

    /// The same load with an end after `total` I/Os.
    pub fn ending_after(self, total: u64) -> Load {
        Load { total: Some(total), ..self }
    }

    /// Outstanding I/Os at most.
    pub fn limit(&self) -> u32 {
        match &self.source {
            Source::Closed { customers, .. } => *customers,
            Source::Open { limit, .. } => *limit,
            Source::Operations(operations) => operations.spec.outstanding_max(),
        }
    }
}

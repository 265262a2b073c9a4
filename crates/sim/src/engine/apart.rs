//! Links that are simulated apart from the rest: ahead of it where all that comes to them is known in advance, behind it
//! where what they cause is felt much later.
//!
//! A fused sequence says on arrival when it ends, and lasts as long as its delays at least. Where only such sequences lead
//! to links, all arrivals of that span are known: the links run through it **ahead**, and the rest gets the departures as
//! events. Where links are only come to from delays, and only lead to such sequences, nothing behind them happens within
//! that span: the rest runs through it, and the links follow **behind** (the conservative windows of parallel simulation,
//! K. Chandy and J. Misra 1979, here on one processor). Events of one kind then follow each other, what they need is at
//! hand, and the queue of events is short. Every I/O leaves every station at the moment at which it would have done so
//! otherwise; only the order in which stations are looked at is another.

use super::event::SimEvent;
use super::fuse::{FusedRun, RunLeg};
use super::layout::RouteStep;
use super::station::{Discipline, StationState};
use crate::Ps;
use std::collections::{BTreeMap, BTreeSet};

/// For stations and sequences that lead to no links apart.
pub const NOT_APART: u16 = u16::MAX;
/// A span is worth it with so many events for each of the links apart, and no longer with fewer than these in so many
/// windows on average.
const EVENTS: u64 = 32;
const EVENTS_LEAST: u64 = 4;
const WINDOWS: u64 = 64;
/// Links whose span is shorter than this part of the longest are not simulated apart.
const SHARE: u64 = 4;

/// A station of links.
#[derive(Clone, Debug)]
pub struct LinksApart {
    pub station: u32,
    pub behind: bool,
    /// What comes next: ends of sequences, or of delays.
    pub due: Vec<SimEvent>,
    /// Delays that lead to it.
    delays: BTreeSet<u32>,
    /// Sequences that lead to it.
    runs: BTreeSet<u32>,
}

impl LinksApart {
    fn new(station: u32, behind: bool) -> LinksApart {
        let (delays, runs) = (BTreeSet::new(), BTreeSet::new());
        LinksApart { station, behind, due: Vec::new(), delays, runs }
    }
}

/// All that can be simulated apart.
#[derive(Clone, Debug, Default)]
pub struct Apart {
    pub links: Vec<LinksApart>,
    /// I/Os that have left links behind the rest for their sequences.
    pub left: Vec<SimEvent>,
    /// They are.
    pub open: bool,
    /// For so long nothing in one of them concerns another.
    pub span: Ps,
    /// Windows, and events in them, since it was asked last whether they are enough.
    windows: u64,
    events: u64,
}

impl Apart {
    /// Whether it is worth it where an event happens every `gap`.
    pub fn is_worth_it(&self, gap: Ps) -> bool {
        let least = EVENTS * self.links.len() as u64;
        !self.open && least > 0 && self.span.0 / gap.0.max(1) >= least
    }

    /// Opens or shuts: marks the links apart, and the delays and sequences that lead to them.
    pub fn set_open(&mut self, open: bool, stations: &mut [StationState], runs: &mut [FusedRun]) {
        (self.open, self.windows, self.events) = (open, 0, 0);
        for (number, links) in (0..).zip(&self.links) {
            let mark = if open { number } else { NOT_APART };
            for delay in &links.delays {
                if let Discipline::Delay(delay) = &mut stations[*delay as usize].kind {
                    delay.apart = mark;
                }
            }
            links.runs.iter().for_each(|run| runs[*run as usize].apart = mark);
            if let Discipline::Fluid(fluid) = &mut stations[links.station as usize].kind {
                fluid.apart = open;
            }
        }
    }

    /// Counts a window with so many events; whether the last ones had too few.
    pub fn has_slowed(&mut self, events: u64) -> bool {
        (self.windows, self.events) = (self.windows + 1, self.events + events);
        if self.windows < WINDOWS {
            return false;
        }
        let few = self.events < self.windows * EVENTS_LEAST * self.links.len() as u64;
        (self.windows, self.events) = (0, 0);
        few
    }

    /// Events of links apart.
    pub fn events(&self) -> impl Iterator<Item = &SimEvent> {
        self.links.iter().flat_map(|links| &links.due)
    }
}

/// The steps that I/Os can come to.
pub struct ReachedSteps<'a> {
    steps: &'a [RouteStep],
    runs: &'a [FusedRun],
    stations: &'a [StationState],
    /// Those before each; a step where I/Os begin has itself before it.
    before: BTreeMap<u32, BTreeSet<u32>>,
}

impl<'a> ReachedSteps<'a> {
    /// From the steps `firsts` on.
    pub fn new(
        (steps, runs, stations): (&'a [RouteStep], &'a [FusedRun], &'a [StationState]),
        starts: &[u32],
        firsts: impl Iterator<Item = u32>,
        arms: impl Fn(u32) -> u32,
    ) -> ReachedSteps<'a> {
        let mut before: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let mut open: Vec<(u32, u32)> = firsts.map(|first| (first, first)).collect();
        while let Some((from, at)) = open.pop() {
            let known = before.contains_key(&at);
            before.entry(at).or_default().insert(from);
            if known {
                continue;
            }
            let mut go = |to: u32| open.push((at, to));
            let mut go_all = |first: u32, count: u32| {
                starts[first as usize..][..count as usize].iter().for_each(|to| go(*to));
            };
            match steps[at as usize] {
                RouteStep::Branch { selector, starts } => go_all(starts, arms(selector)),
                RouteStep::Together { starts, count, next } => {
                    go_all(starts, count);
                    go(next);
                }
                RouteStep::Fork { start, next } => [start, next].into_iter().for_each(go),
                RouteStep::Skip { to, .. } | RouteStep::SkipHeld { to, .. } => {
                    [at + 1, to].into_iter().for_each(go);
                }
                RouteStep::Raid { .. } => [at + 1, at + 3, at + 4].into_iter().for_each(go),
                RouteStep::Leave { to, .. } => go(to),
                RouteStep::Run { next, .. } => go(next),
                RouteStep::Joined | RouteStep::Gone | RouteStep::End => {}
                _ => go(at + 1),
            }
        }
        ReachedSteps { steps, runs, stations, before }
    }

    /// All that can be simulated apart.
    pub fn apart(&self) -> Apart {
        let mut crossings: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for at in self.before.keys() {
            if let RouteStep::Cross { station, .. } = self.steps[*at as usize] {
                crossings.entry(station).or_default().push(*at);
            }
        }
        let longest = |(station, crossings): (u32, Vec<u32>)| {
            let both = [self.behind(station, &crossings), self.ahead(station, &crossings)];
            both.into_iter().flatten().max_by_key(|of| of.span)
        };
        let mut found: Vec<FoundApart> = crossings.into_iter().filter_map(longest).collect();
        // All have the shortest span: one that is much shorter than others is not worth it.
        let span = found.iter().map(|of| of.span).max().unwrap_or(Ps::ZERO);
        found.retain(|of| of.span.0 >= span.0 / SHARE);
        // Sequences that follow links behind the rest have queues that nothing else leads to.
        loop {
            let followed: BTreeSet<u32> =
                found.iter().flat_map(|of| &of.followed).copied().collect();
            let others = self.runs().filter(|run| !followed.contains(run));
            let others: BTreeSet<RunEnds> = others.map(|run| self.ends(run)).collect();
            let known = found.len();
            found.retain(|of| !of.followed.iter().any(|run| others.contains(&self.ends(*run))));
            if found.len() == known {
                break;
            }
        }
        let span = found.iter().map(|of| of.span).min().unwrap_or(Ps::ZERO);
        let links = found.into_iter().map(|of| of.links).collect();
        Apart { links, span, ..Apart::default() }
    }

    /// All sequences.
    fn runs(&self) -> impl Iterator<Item = u32> + '_ {
        self.before.keys().filter_map(|at| match self.steps[*at as usize] {
            RouteStep::Run { run, .. } => Some(run),
            _ => None,
        })
    }

    /// The one step before a step.
    fn only(&self, at: u32) -> Option<u32> {
        let before = self.before.get(&at)?;
        before.first().copied().filter(|first| before.len() == 1 && *first != at)
    }

    /// The sequence at a step, and how long it lasts at least.
    fn run(&self, at: u32) -> Option<(u32, Ps)> {
        let RouteStep::Run { run, .. } = self.steps[at as usize] else { return None };
        let total = self.runs[run as usize].total;
        (total > Ps::ZERO).then_some((run, total))
    }

    /// Links that only sequences lead to.
    fn ahead(&self, station: u32, crossings: &[u32]) -> Option<FoundApart> {
        let before = crossings.iter().map(|at| self.run(self.only(*at)?));
        let before: Vec<(u32, Ps)> = before.collect::<Option<_>>()?;
        let span = before.iter().map(|(_, total)| *total).min()?;
        // Tokens would be taken before those are given back that are free by then.
        let takes = |run: u32| self.runs[run as usize].legs.iter().any(RunLeg::takes);
        (!before.iter().any(|(run, _)| takes(*run))).then_some(())?;
        let mut links = LinksApart::new(station, false);
        links.runs = before.into_iter().map(|(run, _)| run).collect();
        Some(FoundApart { links, span, followed: BTreeSet::new() })
    }

    /// Links that only sequences and delays lead to, which lead nowhere else, and that only lead to sequences.
    fn behind(&self, station: u32, crossings: &[u32]) -> Option<FoundApart> {
        let mut links = LinksApart::new(station, true);
        let (mut span, mut followed) = (Ps::MAX, BTreeSet::new());
        for at in crossings {
            match self.steps[self.only(*at)? as usize] {
                RouteStep::Visit { station: delay, .. } => {
                    matches!(self.stations[delay as usize].kind, Discipline::Delay(_))
                        .then_some(())?;
                    links.delays.insert(delay);
                }
                RouteStep::Run { run, .. } => drop(links.runs.insert(run)),
                _ => return None,
            }
            let (run, total) = self.run(at + 1).filter(|_| self.only(at + 1) == Some(*at))?;
            (span, _) = (span.min(total), followed.insert(run));
        }
        let led = |at: &u32| match self.steps[*at as usize] {
            RouteStep::Visit { station: delay, .. } => {
                !links.delays.contains(&delay) || self.crosses(at + 1, station)
            }
            RouteStep::Spread { first, count, .. } => {
                links.delays.range(first..first + count).next().is_none()
            }
            RouteStep::Run { run, .. } => {
                !self.runs[run as usize].delays().any(|(of, _)| links.delays.contains(&of))
            }
            _ => true,
        };
        self.before.keys().all(led).then_some(())?;
        Some(FoundApart { links, span, followed })
    }

    fn crosses(&self, at: u32, over: u32) -> bool {
        matches!(self.steps[at as usize], RouteStep::Cross { station, .. } if station == over)
    }

    /// What tells sequences apart whose I/Os leave at one moment.
    fn ends(&self, run: u32) -> RunEnds {
        let run = &self.runs[run as usize];
        match run.queue {
            Some((queue, _)) => RunEnds::Queue(queue),
            None => RunEnds::Last(run.last()),
        }
    }
}

/// Links that can be simulated apart for so long, and the sequences that follow them.
struct FoundApart {
    links: LinksApart,
    span: Ps,
    followed: BTreeSet<u32>,
}

/// A sequence's queue, or where it has none its last station.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum RunEnds {
    Queue(u32),
    Last(u32),
}

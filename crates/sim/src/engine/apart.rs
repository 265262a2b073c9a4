//! Links that are simulated apart from the rest: ahead of it where all that comes to them is known in advance, behind it
//! where what they cause is felt much later.
//!
//! A fused sequence says on arrival when it ends, and lasts as long as its delays at least. Where only such sequences lead
//! to links, all arrivals of that span are known: the links run through it **ahead**, and the rest gets the departures as
//! events. Where links lead to nothing but such sequences, nothing behind them happens within that span: the rest runs
//! through it, and the links follow **behind** (the conservative windows of parallel simulation, K. Chandy and J. Misra
//! 1979, here on one processor). Events of one kind then follow each other, what they need is at hand, and the queue of
//! events is short. Every I/O leaves every station at the moment at which it would have done so otherwise; only the order
//! in which stations are looked at is another.

use super::event::SimEvent;
use super::fuse::{FusedRun, RunLeg};
use super::layout::RouteStep;
use super::station::{Discipline, StationState};
use crate::Ps;

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
    delays: Vec<u32>,
    /// Sequences that lead to it.
    runs: Vec<u32>,
}

impl LinksApart {
    fn new(station: u32, behind: bool) -> LinksApart {
        let (due, delays, runs) = (Vec::new(), Vec::new(), Vec::new());
        LinksApart { station, behind, due, delays, runs }
    }
}

/// All that can be simulated apart.
#[derive(Clone, Debug, Default)]
pub struct Apart {
    pub links: Vec<LinksApart>,
    /// I/Os that have left links behind the rest for their sequences.
    pub left: Vec<SimEvent>,
    /// The same in order.
    pub ordered: Vec<SimEvent>,
    /// The links are simulated apart now.
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

/// For a step that no I/O comes to.
const NOWHERE: u32 = u32::MAX;
/// For a step that I/Os come to from several others, or where they begin.
const MANY: u32 = u32::MAX - 1;

/// The steps that I/Os can come to.
pub struct ReachedSteps<'a> {
    steps: &'a [RouteStep],
    runs: &'a [FusedRun],
    stations: &'a [StationState],
    /// The one before each; or [`NOWHERE`], or [`MANY`].
    before: Vec<u32>,
}

impl<'a> ReachedSteps<'a> {
    /// From the steps `firsts` on.
    pub fn new(
        (steps, runs, stations): (&'a [RouteStep], &'a [FusedRun], &'a [StationState]),
        starts: &[u32],
        firsts: impl Iterator<Item = u32>,
        arms: impl Fn(u32) -> u32,
    ) -> ReachedSteps<'a> {
        let mut before = vec![NOWHERE; steps.len()];
        let mut open: Vec<(u32, u32)> = firsts.map(|first| (MANY, first)).collect();
        while let Some((from, at)) = open.pop() {
            let of = &mut before[at as usize];
            let known = *of != NOWHERE;
            *of = if known && *of != from { MANY } else { from };
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
        let mut crossings: Vec<(u32, u32)> = Vec::new();
        for at in self.reached() {
            if let RouteStep::Cross { station, .. } = self.steps[at as usize] {
                crossings.push((station, at));
            }
        }
        crossings.sort_unstable();
        let mut found: Vec<FoundApart> = Vec::new();
        for crossings in crossings.chunk_by(|a, b| a.0 == b.0) {
            let both = [self.behind(crossings), self.ahead(crossings)];
            found.extend(both.into_iter().flatten().max_by_key(|of| of.span));
        }
        // All have the shortest span: one that is much shorter than others is not worth it.
        let span = found.iter().map(|of| of.span).max().unwrap_or(Ps::ZERO);
        found.retain(|of| of.span.0 >= span.0 / SHARE);
        // Sequences that follow links behind the rest have queues that nothing else leads to.
        loop {
            let mut followed: Vec<u32> = Vec::new();
            found.iter().for_each(|of| followed.extend(&of.followed));
            followed.sort_unstable();
            let mut others: Vec<u32> = Vec::new();
            for at in self.reached() {
                if let RouteStep::Run { run, .. } = self.steps[at as usize]
                    && followed.binary_search(&run).is_err()
                {
                    others.push(self.end_of(run));
                }
            }
            others.sort_unstable();
            let is_led_to = |run: &u32| others.binary_search(&self.end_of(*run)).is_ok();
            let known = found.len();
            found.retain(|of| !of.followed.iter().any(is_led_to));
            if found.len() == known {
                break;
            }
        }
        let span = found.iter().map(|of| of.span).min().unwrap_or(Ps::ZERO);
        let links = found.into_iter().map(|of| of.links).collect();
        Apart { links, span, ..Apart::default() }
    }

    /// All steps that I/Os come to.
    fn reached(&self) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(&self.before).filter(|(_, before)| **before != NOWHERE).map(|(at, _)| at)
    }

    /// The one step before a step.
    fn only(&self, at: u32) -> Option<u32> {
        self.before.get(at as usize).copied().filter(|before| *before < MANY)
    }

    /// The sequence at a step, and how long it lasts at least.
    fn run(&self, at: u32) -> Option<(u32, Ps)> {
        let RouteStep::Run { run, .. } = self.steps[at as usize] else { return None };
        let total = self.runs[run as usize].total;
        (total > Ps::ZERO).then_some((run, total))
    }

    /// Links that only sequences lead to.
    fn ahead(&self, crossings: &[(u32, u32)]) -> Option<FoundApart> {
        let mut links = LinksApart::new(crossings.first()?.0, false);
        let mut span = Ps::MAX;
        for (_, at) in crossings {
            let (run, total) = self.run(self.only(*at)?)?;
            // Tokens would be taken before those are given back that are free by then.
            if self.runs[run as usize].legs.iter().any(RunLeg::takes) {
                return None;
            }
            links.runs.push(run);
            span = span.min(total);
        }
        Some(FoundApart { links, span, followed: Vec::new() })
    }

    /// Links that only sequences and delays lead to, which lead nowhere else, and that only lead to sequences.
    fn behind(&self, crossings: &[(u32, u32)]) -> Option<FoundApart> {
        let station = crossings.first()?.0;
        let mut links = LinksApart::new(station, true);
        let (mut span, mut followed) = (Ps::MAX, Vec::new());
        for (_, at) in crossings {
            match self.steps[self.only(*at)? as usize] {
                RouteStep::Visit { station: delay, .. }
                    if matches!(self.stations[delay as usize].kind, Discipline::Delay(_)) =>
                {
                    links.delays.push(delay);
                }
                RouteStep::Run { run, .. } => links.runs.push(run),
                _ => return None,
            }
            let (run, total) = self.run(at + 1).filter(|_| self.only(at + 1) == Some(*at))?;
            span = span.min(total);
            followed.push(run);
        }
        links.delays.sort_unstable();
        let is_its = |delay: u32| links.delays.binary_search(&delay).is_ok();
        let led = |at: u32| match self.steps[at as usize] {
            RouteStep::Visit { station: delay, .. } => {
                !is_its(delay) || self.crosses(at + 1, station)
            }
            RouteStep::Spread { first, count, .. } => !(first..first + count).any(is_its),
            RouteStep::Run { run, .. } => {
                !self.runs[run as usize].delays().any(|(delay, _)| is_its(delay))
            }
            _ => true,
        };
        self.reached().all(led).then_some(FoundApart { links, span, followed })
    }

    fn crosses(&self, at: u32, over: u32) -> bool {
        matches!(self.steps[at as usize], RouteStep::Cross { station, .. } if station == over)
    }

    /// What tells sequences apart whose I/Os leave at one moment: the queue, or where there is none the last station.
    fn end_of(&self, run: u32) -> u32 {
        let run = &self.runs[run as usize];
        run.queue.map_or_else(|| run.last(), |(queue, _)| queue)
    }
}

/// Links that can be simulated apart for so long, and the sequences that follow them.
struct FoundApart {
    links: LinksApart,
    span: Ps,
    followed: Vec<u32>,
}

//! The windows in which links apart run through the same span as the rest, before it or after it ([`super::apart`]).

use super::apart::{Apart, ReachedSteps};
use super::event::SimEvent;
use super::layout::RouteStep;
use super::run::BETWEEN_REPORTS;
use super::station::Discipline;
use super::{Halt, Observer, Simulation};
use crate::Ps;
use crate::model::Network;

/// Events that are moved by more places than this on average are not nearly sorted.
const STEPS: usize = 8;

impl<O: Observer> Simulation<O> {
    /// What can be simulated apart.
    pub(super) fn find_apart(&self, network: &Network) -> Apart {
        let all = network.loads.iter().flat_map(|load| load.issued());
        let firsts = self.classes.iter().zip(all).filter(|(_, issued)| *issued);
        let firsts = firsts.map(|(class, _)| class.first_step);
        let arms = |selector: u32| self.choosers[selector as usize].arms.len() as u32;
        let all = (&*self.steps, &*self.runs, &*self.stations);
        ReachedSteps::new(all, &self.starts, firsts, arms).apart()
    }

    /// From now on links apart are simulated so: they get their pending events.
    pub(super) fn open_apart(&mut self) {
        self.apart.set_open(true, &mut self.stations, &mut self.runs);
        let Simulation { pending, apart, stations, entities, steps, runs, .. } = self;
        pending.remove(|event| {
            let to = match stations.get(event.place() as usize).map(|place| &place.kind) {
                Some(Discipline::Delay(_) | Discipline::Foreseen(_)) => {
                    match steps[entities[event.who].hop as usize] {
                        RouteStep::Run { run, .. } => runs[run as usize].apart,
                        _ => stations[event.place() as usize].apart(),
                    }
                }
                _ => return false,
            };
            let links = apart.links.get_mut(usize::from(to));
            links.map(|links| links.due.push(*event)).is_some()
        });
        for number in 0..self.apart.links.len() {
            self.alarms.clear(self.apart.links[number].station);
        }
    }

    /// From now on all is simulated together.
    fn shut_apart(&mut self) {
        self.apart.set_open(false, &mut self.stations, &mut self.runs);
        for number in 0..self.apart.links.len() {
            let links = &mut self.apart.links[number];
            let station = links.station;
            links.due.drain(..).for_each(|event| self.pending.push(event));
            self.set_alarm(station);
        }
    }

    /// How many stations of links are simulated apart from the rest now.
    pub fn links_apart(&self) -> usize {
        if self.apart.open { self.apart.links.len() } else { 0 }
    }

    /// When the next event happens, of the links apart too; [`Ps::MAX`] where there is none.
    pub(super) fn first_due(&self) -> Ps {
        let first = self.pending.first().min(self.alarms.first());
        let apart = self.apart.links.iter().filter(|_| self.apart.open).map(|links| {
            let due = links.due.iter().map(|event| event.time).min().unwrap_or(Ps::MAX);
            due.min(self.departure(links.station))
        });
        apart.fold(first, Ps::min)
    }

    /// When the next I/O leaves a station of links.
    #[inline]
    fn departure(&self, station: u32) -> Ps {
        match &self.stations[station as usize].kind {
            Discipline::Fluid(fluid) => fluid.next().unwrap_or(Ps::MAX),
            _ => Ps::MAX,
        }
    }

    /// Dispatches all events before `end`, window by window; false where there have been too few in them, and some are left.
    pub(super) fn run_windows(&mut self, end: Ps) -> Result<bool, Halt> {
        let mut reported = self.dispatched;
        loop {
            let (first, before) = (self.first_due(), self.dispatched);
            if first >= end {
                return Ok(true);
            }
            let until = first.plus(self.apart.span).min(end);
            for number in 0..self.apart.links.len() {
                if !self.apart.links[number].behind {
                    self.run_links(number, until)?;
                }
            }
            while !self.run_some(until)? {}
            for number in 0..self.apart.links.len() {
                if self.apart.links[number].behind {
                    self.run_links(number, until)?;
                }
            }
            self.begin_runs(first, until);
            if self.dispatched - reported >= BETWEEN_REPORTS.into() {
                reported = self.dispatched;
                self.report()?;
            }
            if self.apart.has_slowed(self.dispatched - before) {
                self.shut_apart();
                return Ok(false);
            }
        }
    }

    /// Runs links apart up to `until`: I/Os come from sequences or delays in the order of events, and leave.
    fn run_links(&mut self, number: usize, until: Ps) -> Result<(), Halt> {
        let links = &mut self.apart.links[number];
        let (station, behind) = (links.station, links.behind);
        let mut due = std::mem::take(&mut links.due);
        sort(&mut due);
        let (mut come, mut leaves) = (0, self.departure(station));
        loop {
            let next = due.get(come).copied();
            match next.filter(|event| (event.time, event.place()) < (leaves, station)) {
                Some(event) if event.time >= until => break,
                Some(event) => {
                    come += 1;
                    self.now = event.time;
                    // Where it has left again before the next one comes, its leaving is no event.
                    let next = due.get(come).map_or(until, |next| next.time.min(until));
                    leaves = self.come_to_links(event, if behind { next } else { Ps::ZERO });
                }
                None if leaves >= until => break,
                None => {
                    self.now = leaves;
                    leaves = self.leave_links(station, behind)?;
                }
            }
            self.dispatched += 1;
        }
        due.drain(..come);
        // What has become due meanwhile is behind these.
        let links = &mut self.apart.links[number];
        due.append(&mut links.due);
        links.due = due;
        Ok(())
    }

    /// The I/O of an event has ended its sequence or its delay, and crosses links: at once where it is alone on them and leaves
    /// them before `next`. When the next I/O leaves them.
    #[inline]
    fn come_to_links(&mut self, event: SimEvent, next: Ps) -> Ps {
        let (now, who) = (self.now, event.who);
        let hop = self.entities[who].hop;
        let hop = match self.steps[hop as usize] {
            RouteStep::Run { run, next, .. } => {
                self.run_ends(run, next, who);
                next
            }
            _ => {
                self.leave(event.place(), who);
                hop + 1
            }
        };
        let RouteStep::Cross { station, path, size } = self.steps[hop as usize] else {
            return Ps::ZERO;
        };
        let size = self.figures.sizes[size as usize];
        let place = &mut self.stations[station as usize];
        let entity = &mut self.entities[who];
        let Discipline::Fluid(fluid) = &mut place.kind else { return Ps::ZERO };
        (entity.hop, entity.entered, entity.at) = (hop, now, station);
        place.tally.arrive(now);
        if size.brings_payload() {
            fluid.tally(path).arrive(now);
        }
        let bytes = size.of(entity.bytes);
        let Some(left) = fluid.cross_alone(now, path, bytes, next) else {
            fluid.cross(now, path, who, bytes);
            place.tally.set_busy(now, fluid.at_work());
            return fluid.next().unwrap_or(Ps::MAX);
        };
        let (dir, bytes, stayed) = (entity.dir, entity.bytes, left.since(now));
        place.tally.depart(left, stayed, dir, bytes);
        if size.brings_payload() {
            fluid.tally(path).depart(left, stayed, dir, bytes);
        }
        place.tally.begin(now);
        place.tally.end(left);
        if O::TIMES {
            place.latency.record(stayed);
        }
        self.dispatched += 1;
        self.apart.left.push(SimEvent::new(left, station, self.sequence, who));
        self.sequence += 1;
        Ps::MAX
    }

    /// An I/O leaves links, into a sequence or to the rest of the network. When the next one leaves them.
    #[inline]
    fn leave_links(&mut self, station: u32, behind: bool) -> Result<Ps, Halt> {
        let now = self.now;
        let place = &mut self.stations[station as usize];
        let Discipline::Fluid(fluid) = &mut place.kind else { return Ok(Ps::MAX) };
        let Some(who) = fluid.leave(now) else { return Err(Halt::Livelock(now)) };
        let entity = &self.entities[who];
        let stayed = now.since(entity.entered);
        place.tally.depart(now, stayed, entity.dir, entity.bytes);
        place.tally.set_busy(now, fluid.at_work());
        if let RouteStep::Cross { path, size, .. } = self.steps[entity.hop as usize]
            && self.figures.sizes[size as usize].brings_payload()
        {
            fluid.tally(path).depart(now, stayed, entity.dir, entity.bytes);
        }
        if O::TIMES {
            place.latency.record(stayed);
        }
        let leaves = fluid.next().unwrap_or(Ps::MAX);
        let event = SimEvent::new(now, station, self.sequence, who).at_hop(entity.hop);
        self.sequence += 1;
        self.observer.served(station, entity.class, who, now);
        if behind {
            self.apart.left.push(event);
        } else {
            // It counts when the rest takes the I/O.
            self.dispatched -= 1;
            self.pending.push(event);
        }
        Ok(leaves)
    }

    /// I/Os that have left links behind the rest begin their sequences, in the order in which they left.
    fn begin_runs(&mut self, from: Ps, until: Ps) {
        let mut ordered = std::mem::take(&mut self.apart.ordered);
        order(&mut self.apart.left, &mut ordered, from, until);
        for event in ordered.drain(..) {
            self.now = event.time;
            let entity = &mut self.entities[event.who];
            entity.hop += 1;
            if let RouteStep::Run { run, last, .. } = self.steps[entity.hop as usize] {
                self.run_begins(run, last, event.who);
            }
        }
        self.apart.ordered = ordered;
    }
}

/// Parts of a window by which events of several links are put in order.
const PARTS: usize = 256;

/// Moves events of this span to `ordered`, in order: first by parts of the span, and then within them.
fn order(events: &mut Vec<SimEvent>, ordered: &mut Vec<SimEvent>, from: Ps, until: Ps) {
    let Some(any) = events.first() else { return };
    ordered.resize(events.len(), *any);
    let shift = (until.since(from).0 / PARTS as u64).checked_ilog2().map_or(0, |log| log + 1);
    let part = |event: &SimEvent| ((event.time.since(from).0 >> shift) as usize).min(PARTS - 1);
    let mut ends = [0_u32; PARTS];
    events.iter().for_each(|event| ends[part(event)] += 1);
    let mut sum = 0;
    for end in &mut ends {
        sum += std::mem::replace(end, sum);
    }
    for event in events.drain(..) {
        let place = &mut ends[part(&event)];
        ordered[*place as usize] = event;
        *place += 1;
    }
    sort(ordered);
}

/// Sorts events that are nearly sorted: as long as services are equal, I/Os leave a queue in the order in which they came.
fn sort(events: &mut [SimEvent]) {
    let mut steps = 0;
    for at in 1..events.len() {
        let event = events[at];
        let mut to = at;
        while to > 0 && event.is_before(&events[to - 1]) {
            events[to] = events[to - 1];
            to -= 1;
        }
        events[to] = event;
        steps += at - to;
        if steps > STEPS * events.len() {
            return events.sort_unstable_by_key(SimEvent::key);
        }
    }
}

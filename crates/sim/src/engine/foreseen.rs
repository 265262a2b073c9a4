//! Queues whose departures are known on arrival, and I/Os on fused sequences.
//!
//! Where I/Os are served in the order of arrival, one that comes begins when the first server is free of those before it
//! (D. Lindley 1952; for several servers J. Kiefer and J. Wolfowitz 1955), so that one event is enough for the queue and what
//! follows. A fused sequence counts the I/Os that reached its end, as the stations' tallies would; a snapshot adds these,
//! and the partial progress of the I/Os within. Histograms and observers receive all its hops at its end.

use super::entity::Entity;
use super::event::SimEvent;
use super::fuse::{FusedRun, RunLeg};
use super::layout::RouteStep;
use super::station::Discipline;
use super::{Observer, Simulation};
use crate::Ps;
use crate::statistics::Tally;
use workload::Dir;

/// When each server has served all that came so far: a heap, the first one first.
#[derive(Clone, Debug)]
pub struct ForeseenState(Box<[Ps]>);

impl ForeseenState {
    /// Idle servers.
    pub fn new(servers: u32) -> ForeseenState {
        ForeseenState(vec![Ps::ZERO; servers.max(1) as usize].into())
    }

    /// When an I/O that comes `now` has been served for `demand`.
    #[inline]
    fn serve(&mut self, now: Ps, demand: Ps) -> Ps {
        let end = now.max(self.0[0]).plus(demand);
        let servers = &mut *self.0;
        let mut at = 0;
        loop {
            let mut child = 2 * at + 1;
            if child + 1 < servers.len() {
                child += usize::from(servers[child + 1] < servers[child]);
            }
            match servers.get(child) {
                Some(free) if *free < end => servers[at] = *free,
                _ => break,
            }
            at = child;
        }
        servers[at] = end;
        end
    }
}

impl<O: Observer> Simulation<O> {
    /// `who` comes to a fused sequence.
    #[inline]
    pub(super) fn run_begins(&mut self, number: u32, last: u32, who: u32) {
        let run = &self.runs[number as usize];
        let entity = &mut self.entities[who];
        entity.entered = self.now;
        let Some((station, demand)) = run.queue else {
            let (apart, end) = (run.apart, self.now.plus(run.total));
            return self.schedule_apart(apart, SimEvent::new(end, last, self.sequence, who));
        };
        let place = &mut self.stations[station as usize];
        let demand = &self.figures.demands[demand as usize];
        entity.demand = demand.draw(&mut place.rng, entity.bytes);
        let Discipline::Foreseen(servers) = &mut place.kind else { return };
        let end = servers.serve(self.now, entity.demand).plus(run.total);
        let event = SimEvent::ranked(end, last, run.rank, self.sequence, who);
        self.schedule_apart(run.apart, event);
    }

    /// `who` has reached the end of a fused sequence: all its hops are counted, and it is before the next one.
    pub(super) fn run_ends(&mut self, run: u32, next: u32, who: u32) {
        let run = &mut self.runs[run as usize];
        let entity = &self.entities[who];
        let Entity { class, dir, bytes, entered, demand, .. } = *entity;
        let writes = usize::from(dir != Dir::Read);
        run.ios[writes] += 1;
        run.bytes[writes] += u64::from(bytes);
        let mut moment = Ps(self.now.0 - run.total.0);
        if let Some((station, _)) = run.queue {
            let stayed = moment.since(entered);
            run.stayed[writes] += u128::from(stayed.0);
            run.served += u128::from(demand.0);
            if O::TIMES {
                self.stations[station as usize].latency.record(stayed);
            }
            self.observer.served(station, class, who, moment);
        }
        for leg in &run.legs {
            match *leg {
                RunLeg::Delay(station, time) => {
                    moment = moment.plus(time);
                    if O::TIMES {
                        self.stations[station as usize].latency.record(time);
                    }
                    self.observer.served(station, class, who, moment);
                }
                RunLeg::Take(pool, tokens) => {
                    self.pools[pool as usize].hand(tokens, moment, entity, O::TIMES);
                }
            }
        }
        self.entities[who].hop = next;
    }

    /// Calls `each` with every I/O on a fused sequence, and when it leaves the sequence's queue.
    fn each_on_run(&self, each: &mut dyn FnMut(&FusedRun, &Entity, Ps)) {
        if self.runs.is_empty() {
            return;
        }
        for event in self.pending.iter().chain(self.apart.events().copied()) {
            if event.place() as usize >= self.stations.len() {
                continue;
            }
            let entity = &self.entities[event.who];
            if let RouteStep::Run { run, .. } = self.steps[entity.hop as usize] {
                let run = &self.runs[run as usize];
                each(run, entity, Ps(event.time.0 - run.total.0));
            }
        }
    }

    /// Adds to the tallies of stations and pools what I/Os did there on fused sequences, including those still on one.
    pub(super) fn add_runs(&self, stations: &mut [Tally], pools: &mut [Tally]) {
        for run in &self.runs {
            if let Some((station, _)) = run.queue {
                stations[station as usize].passed(run.ios, run.bytes, run.stayed, run.served);
            }
            for (station, time) in run.delays() {
                let stayed = run.ios.map(|ios| u128::from(ios) * u128::from(time.0));
                let all = stayed[0] + stayed[1];
                stations[station as usize].passed(run.ios, run.bytes, stayed, all);
            }
        }
        let now = self.now;
        self.each_on_run(&mut |run, entity, left| {
            let mut moment = left;
            if let Some((station, _)) = run.queue {
                let tally = &mut stations[station as usize];
                let begun = Ps(left.0 - entity.demand.0);
                if left > now {
                    let busy = (begun <= now).then(|| now.since(begun));
                    return tally.stay(now.since(entity.entered), busy);
                }
                tally.pass(left.since(entity.entered), entity.demand, entity.dir, entity.bytes);
            }
            for leg in &run.legs {
                match *leg {
                    RunLeg::Delay(station, time) => {
                        let tally = &mut stations[station as usize];
                        let end = moment.plus(time);
                        if end > now {
                            let span = now.since(moment);
                            return tally.stay(span, Some(span));
                        }
                        tally.pass(time, time, entity.dir, entity.bytes);
                        moment = end;
                    }
                    RunLeg::Take(pool, tokens) => {
                        let tally = &mut pools[pool as usize];
                        tally.hold(tokens, now.since(moment), entity.dir, entity.bytes);
                    }
                }
            }
        });
    }

    /// Tokens of each pool that are held now.
    pub fn held(&self) -> Vec<u32> {
        let mut held: Vec<u32> = self.pools.iter().map(|pool| pool.held).collect();
        self.hold_passed(&mut held);
        let now = self.now;
        self.each_on_run(&mut |run, _, left| {
            let mut moment = left;
            for leg in &run.legs {
                match *leg {
                    RunLeg::Delay(_, time) => moment = moment.plus(time),
                    RunLeg::Take(pool, tokens) if moment <= now => held[pool as usize] += tokens,
                    RunLeg::Take(..) => {}
                }
            }
        });
        held
    }
}

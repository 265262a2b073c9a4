//! Threads that share processors, taken together as one server whose speed depends on the number present: a
//! flow-equivalent server (Chandy, Herzog and Woo 1975), whose rates come from the recursion of passes.

use super::lumped::SiteKind;
use super::mix::LoadMix;
use super::sites::Sites;
use super::symmetry::Colouring;
use super::walk::{Averages, LegKind, walk};
use crate::analytic::{Gate, GateFeed, GateLoad, GateProcessors, GateVisit, gated, opened};
use crate::model::{Network, Parts, Station};
use std::collections::BTreeMap;

/// Numbers present that have a speed of their own, at most; more are as fast as these.
const PRESENT_MOST: u32 = 2048;
/// Open loads that come faster than this share of the highest throughput of closed ones are taken for such.
const OPEN_MOST: f64 = 0.98;
/// I/Os of open loads beside closed ones at most, and the weight of a number of them that is ignored, as a share of all.
const BESIDE_MOST: u32 = 64;
const NOTHING: f64 = 1e-6;
/// Populations that are solved: each so much larger than the one before.
const GRID: f64 = 1.35;

/// The processors of a network with the threads on them.
#[derive(Clone, Debug, Default)]
pub struct Machines {
    /// By site of a thread's queue or of its processors: the site of the processors.
    pub of_site: BTreeMap<u32, u32>,
    /// By site of the processors.
    pub all: BTreeMap<u32, Machine>,
}

/// Processors with the threads on them, as one server.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// Its speed with one present, two, and so on; as multiples of that with one.
    pub kind: SiteKind,
    /// The share of the processors at work with all present.
    pub busy: f64,
    /// By load: seconds of an I/O that is alone.
    pub times: BTreeMap<usize, f64>,
}

/// Finds all machines and solves them.
pub fn machines(
    network: &Network,
    sites: &Sites,
    mixes: &[LoadMix],
    alike: &Colouring,
) -> Machines {
    let mut found = Machines::default();
    for (number, station) in (0..).zip(network.stations()) {
        if let Station::Processors { count, halt } = station {
            let on = sites.station(crate::model::StationId(number));
            let mut loads = MachineLoads::of(network, sites, mixes, number);
            for gate in loads.numbers.keys() {
                found.of_site.insert(*gate, on);
            }
            let halt = halt.map(|of| (of.after.as_secs_f64(), of.wake.as_secs_f64()));
            let processors = GateProcessors { count: *count, halt };
            let beside = loads.beside_closed(processors);
            if let Some(machine) = loads.solve(processors, &alike.loads, beside) {
                found.of_site.insert(on, on);
                found.all.insert(on, machine);
            }
        }
    }
    found
}

/// The queues of one machine and the loads that come to them.
struct MachineLoads {
    gates: Vec<Gate>,
    /// By queue: what its passes send in parts.
    parts: Vec<Option<Parts>>,
    /// By site: the number of the queue.
    numbers: BTreeMap<u32, usize>,
    loads: Vec<(usize, GateLoad)>,
    /// How the I/Os of each load come, where all loads are open.
    feeds: Option<Vec<GateFeed>>,
    /// I/Os a second of each load that is open.
    rates: Vec<Option<f64>>,
}

impl MachineLoads {
    fn of(network: &Network, sites: &Sites, mixes: &[LoadMix], on: u32) -> MachineLoads {
        let (mut gates, mut parts, mut numbers) = (Vec::new(), Vec::new(), BTreeMap::new());
        for (number, station) in (0..).zip(network.stations()) {
            if let Station::Gated(of) = station
                && of.processors.0 == on
            {
                numbers.insert(sites.station(crate::model::StationId(number)), gates.len());
                parts.push(of.parts);
                gates.push(Gate {
                    thread: of.thread as usize,
                    pass: of.pass.as_secs_f64(),
                    wake: of.wake.as_secs_f64(),
                    switch: of.switch.as_secs_f64(),
                    spin: of.spin.as_secs_f64(),
                });
            }
        }
        let mut of = MachineLoads {
            gates,
            parts,
            numbers,
            loads: Vec::new(),
            feeds: Some(Vec::new()),
            rates: Vec::new(),
        };
        for (number, mix) in mixes.iter().enumerate() {
            let (stages, issue) = of.stages(network, sites, mix, number);
            if !stages.is_empty() {
                let customers = mix.customers.clamp(1.0, f64::from(PRESENT_MOST)) as u32;
                of.loads.push((number, GateLoad { customers, stages }));
                of.rates.push(mix.rate);
                match (&mut of.feeds, mix.rate) {
                    (Some(feeds), Some(rate)) => {
                        feeds.push(GateFeed { rate, scv: mix.scv, issue });
                    }
                    _ => of.feeds = None,
                }
            }
        }
        of
    }

    /// The stages of a load: visits that exclude each other, by arm or by class, are ways through one stage. And the queue whose
    /// pass issues its I/Os.
    fn stages(
        &self,
        network: &Network,
        sites: &Sites,
        mix: &LoadMix,
        number: usize,
    ) -> (Vec<Vec<GateVisit>>, Option<usize>) {
        let mut issue = None;
        let mut stages: Vec<Vec<GateVisit>> = Vec::new();
        let classes = network.loads()[number].classes.iter();
        for ((class, part), sizes) in classes.zip(&mix.parts).zip(&mix.sizes) {
            if part.share <= 0.0 {
                continue;
            }
            // No machine of this kind has a cache that destages.
            let io = Averages { part: *part, sizes, held: 0.0 };
            let legs = walk(network, sites, class.dir, io, &class.route).legs;
            let (mut stage, mut full) = (0, 0.0);
            for leg in legs {
                let LegKind::Stations(row) = &leg.kind else { continue };
                let Some(gate) = self.numbers.get(&row.start).copied() else { continue };
                // Work in the background delays no I/O by itself.
                if leg.background {
                    issue = issue.or(Some(gate));
                    continue;
                }
                if full + leg.chance > 1.0 + 1e-9 {
                    (stage, full) = (stage + 1, 0.0);
                }
                full += leg.chance;
                if stages.len() <= stage {
                    stages.push(Vec::new());
                }
                let share = part.share * leg.chance;
                let of = self.parts[gate].filter(|parts| parts.dir == class.dir);
                let size = |of: Parts| part.bytes.max(1.0) + f64::from(of.header);
                let part = of.map_or(0.0, |of| f64::from(of.bytes) / size(of));
                stages[stage].push(GateVisit { gate, share, demand: leg.time, part });
            }
        }
        for ways in &mut stages {
            let all: f64 = ways.iter().map(|way| way.share).sum();
            ways.iter_mut().for_each(|way| way.share /= all.max(f64::MIN_POSITIVE));
        }
        (stages, issue)
    }

    /// I/Os a second of open loads that the threads and their processors serve in passes however long.
    fn demands_bound(&self, processors: GateProcessors) -> f64 {
        let feeds = self.feeds.iter().flatten();
        let all: f64 = feeds.clone().map(|feed| feed.rate).sum();
        let mut threads: BTreeMap<usize, f64> = BTreeMap::new();
        for ((_, load), feed) in self.loads.iter().zip(feeds) {
            for visit in load.stages.iter().flatten() {
                let demand = feed.rate / all * visit.share * visit.demand;
                *threads.entry(self.gates[visit.gate].thread).or_default() += demand;
            }
        }
        let whole = threads.values().sum::<f64>() / f64::from(processors.count);
        1.0 / threads.values().copied().fold(whole, f64::max).max(f64::MIN_POSITIVE)
    }

    /// The mean latency of each load, where all are open and come more slowly than closed ones of any depth: faster ones
    /// gather in clumps until they are like these.
    fn opened(&self, processors: GateProcessors, most: f64) -> Option<Vec<f64>> {
        let feeds = self.feeds.as_ref()?;
        let all: f64 = feeds.iter().map(|feed| feed.rate).sum();
        if all >= OPEN_MOST * most {
            return None;
        }
        let loads = self.loads.iter().zip(feeds).map(|((_, load), feed)| (load.clone(), *feed));
        opened(processors, &self.gates, &loads.collect::<Vec<_>>())
    }

    /// Open loads: each I/O takes the latency that the threads give it, up to as many I/Os as they serve at most.
    fn open_machine(
        &self,
        latencies: &[f64],
        processors: GateProcessors,
        most: f64,
    ) -> Option<Machine> {
        let (feeds, bound) = (self.feeds.as_ref()?, self.demands_bound(processors));
        let all: f64 = feeds.iter().map(|feed| feed.rate).sum();
        let stays: f64 = feeds.iter().zip(latencies).map(|(feed, time)| feed.rate * time).sum();
        let (servers, mean) = ((bound * stays / all).max(1.0), stays / all);
        let customers: u32 = self.loads.iter().map(|(_, load)| load.customers).sum();
        let speeds = (1..=customers.min(PRESENT_MOST)).map(|n| f64::from(n).min(servers)).collect();
        let times = self.loads.iter().zip(latencies).map(|((number, _), time)| (*number, *time));
        // Threads that serve more at once wake less often: what they can carry says how full they are, not how long they run.
        let busy = bound / most;
        (mean > 0.0).then(|| Machine { kind: SiteKind::Flow(speeds), busy, times: times.collect() })
    }

    /// Open loads beside closed ones: as many of their I/Os as are present on average stand for them from now on. By load the
    /// mean latency of one; `None` where there are no such loads, or where more falls due than is served.
    ///
    /// Their number is a birth-and-death process: births at the rate at which they fall due, deaths as so many are served beside
    /// all of the closed ones. These are served as beside the mean number.
    fn beside_closed(&mut self, processors: GateProcessors) -> Option<Vec<f64>> {
        let due: f64 = self.rates.iter().flatten().sum();
        if due <= 0.0 || self.rates.iter().all(Option::is_some) {
            return None;
        }
        let (mut weight, mut all, mut first) = (1.0, 1.0, 0.0);
        let mut rates = vec![gated(processors, &self.gates, &self.with_open(due, 0)).rates];
        for present in 1..=BESIDE_MOST {
            let of = gated(processors, &self.gates, &self.with_open(due, present)).rates;
            let is_open = of.iter().zip(&self.rates).filter(|(_, due)| due.is_some());
            let served: f64 = is_open.map(|(rate, _)| rate).sum();
            rates.push(of);
            weight *= due / served.max(f64::MIN_POSITIVE);
            all += weight;
            first += weight * f64::from(present);
            if weight < NOTHING * all && due < served {
                return Some(self.stand_for(due, first / all, &rates));
            }
        }
        None
    }

    /// So many I/Os of open loads stand for them; `rates` are those of all loads, by the number of these. By load the mean latency.
    fn stand_for(&mut self, due: f64, mean: f64, rates: &[Vec<f64>]) -> Vec<f64> {
        let below = (mean as usize).min(rates.len() - 2);
        let beside = |load: usize| {
            let (low, high) = (rates[below][load], rates[below + 1][load]);
            low + (mean - below as f64) * (high - low)
        };
        let latency = |(number, (_, load)): (usize, &(usize, GateLoad))| match self.rates[number] {
            Some(_) => mean / due,
            None => f64::from(load.customers) / beside(number).max(f64::MIN_POSITIVE),
        };
        let latencies = self.loads.iter().enumerate().map(latency).collect();
        let loads = self.with_open(due, mean.round() as u32);
        for ((_, load), with) in self.loads.iter_mut().zip(loads) {
            load.customers = with.customers;
        }
        latencies
    }

    /// The loads with so many I/Os of open ones, which belong to these in proportion to what falls `due`.
    fn with_open(&self, due: f64, present: u32) -> Vec<GateLoad> {
        let (mut shared, mut before) = (0.0, 0.0);
        let all = self.loads.iter().zip(&self.rates);
        let with = all.map(|((_, load), rate)| {
            let Some(rate) = rate else { return load.clone() };
            shared += rate / due * f64::from(present);
            let customers = shared.round() - before;
            before = shared.round();
            GateLoad { customers: customers as u32, ..load.clone() }
        });
        with.collect()
    }

    /// The rates with `present` I/Os, which belong to the loads in proportion to what they may have outstanding.
    fn at(&self, processors: GateProcessors, present: u32) -> (f64, Vec<f64>, f64) {
        let all: u64 = self.loads.iter().map(|(_, load)| u64::from(load.customers)).sum();
        let mut shared: u64 = 0;
        let mut before: u64 = 0;
        let loads: Vec<GateLoad> = self
            .loads
            .iter()
            .map(|(_, load)| {
                shared += u64::from(load.customers) * u64::from(present);
                let upto = (shared + all / 2) / all.max(1);
                let customers = (upto - before) as u32;
                before = upto;
                GateLoad { customers, ..load.clone() }
            })
            .collect();
        let solved = gated(processors, &self.gates, &loads);
        (solved.rates.iter().sum(), solved.rates, solved.busy)
    }

    /// `beside` are latencies of open loads beside closed ones.
    fn solve(
        &self,
        processors: GateProcessors,
        colours: &[u64],
        beside: Option<Vec<f64>>,
    ) -> Option<Machine> {
        let all: u32 = self.loads.iter().map(|(_, load)| load.customers).sum();
        if all == 0 {
            return None;
        }
        let mut grid: Vec<u32> = Vec::new();
        let mut at = 1.0;
        while (at as u32) < all {
            if grid.last() != Some(&(at as u32)) {
                grid.push(at as u32);
            }
            at = (at * GRID).max(at + 1.0);
        }
        // Between populations the time of a cycle is interpolated.
        let mut cycles: Vec<(f64, f64)> = Vec::new();
        for present in grid {
            let (rate, ..) = self.at(processors, present);
            cycles.push((f64::from(present), f64::from(present) / rate));
        }
        let (rate, rates, busy) = self.at(processors, all);
        let whole = f64::from(all) / rate;
        cycles.push((f64::from(all), whole));
        let most = cycles.iter().map(|(present, cycle)| present / cycle).fold(rate, f64::max);
        if let Some(latencies) = self.opened(processors, most)
            && let Some(machine) = self.open_machine(&latencies, processors, most)
        {
            return Some(machine);
        }
        let alone = cycles.first().map_or(whole, |(_, cycle)| *cycle);
        let speed = |present: u32| {
            let present = f64::from(present);
            let next = cycles.partition_point(|(at, _)| *at < present).min(cycles.len() - 1);
            let (high, above) = cycles[next];
            let (low, below) = cycles[next.saturating_sub(1)];
            let share = if high > low { (present - low) / (high - low) } else { 1.0 };
            present / (below + share * (above - below)) * alone
        };
        let speeds = (1..=all.min(PRESENT_MOST)).map(speed).collect();
        // Loads that are alike are one, although some may share a thread with more others.
        let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
        for ((number, load), rate) in self.loads.iter().zip(&rates) {
            let sum = sums.entry(colours[*number]).or_default();
            *sum = (sum.0 + f64::from(load.customers), sum.1 + rate);
        }
        let times = self.loads.iter().enumerate().map(|(place, (number, _))| {
            if let Some(beside) = &beside {
                return (*number, alone * beside[place] / whole);
            }
            let (customers, rate) = sums.get(&colours[*number]).copied().unwrap_or((1.0, 1.0));
            (*number, alone * customers / rate / whole)
        });
        Some(Machine { kind: SiteKind::Flow(speeds), busy, times: times.collect() })
    }
}

//! Threads that share processors, taken together as one server whose speed depends on the number present: a
//! flow-equivalent server (Chandy, Herzog and Woo 1975), whose rates come from the recursion of passes.

use super::lumped::SiteKind;
use super::mix::LoadMix;
use super::sites::Sites;
use super::symmetry::Colouring;
use super::walk::{Averages, LegKind, walk};
use crate::analytic::{Gate, GateLoad, GateVisit, gated};
use crate::model::{Network, Parts, Station};
use std::collections::BTreeMap;

/// Numbers present that have a speed of their own, at most; more are as fast as these.
const PRESENT_MOST: u32 = 2048;
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
        if let Station::Processors { count } = station {
            let on = sites.station(crate::model::StationId(number));
            let loads = MachineLoads::of(network, sites, mixes, number);
            for gate in loads.numbers.keys() {
                found.of_site.insert(*gate, on);
            }
            if let Some(machine) = loads.solve(*count, &alike.loads) {
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
                    spin: of.spin.as_secs_f64(),
                });
            }
        }
        let mut of = MachineLoads { gates, parts, numbers, loads: Vec::new() };
        for (number, mix) in mixes.iter().enumerate() {
            let stages = of.stages(network, sites, mix, number);
            if !stages.is_empty() {
                let customers = mix.customers.clamp(1.0, f64::from(PRESENT_MOST)) as u32;
                of.loads.push((number, GateLoad { customers, stages }));
            }
        }
        of
    }

    /// The stages of a load: visits that exclude each other, by arm or by class, are ways through one stage.
    fn stages(
        &self,
        network: &Network,
        sites: &Sites,
        mix: &LoadMix,
        number: usize,
    ) -> Vec<Vec<GateVisit>> {
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
                let part =
                    of.map_or(0, |of| (f64::from(of.bytes) / part.bytes.max(1.0)).ceil() as u32);
                stages[stage].push(GateVisit { gate, share, demand: leg.time, part });
            }
        }
        for ways in &mut stages {
            let all: f64 = ways.iter().map(|way| way.share).sum();
            ways.iter_mut().for_each(|way| way.share /= all.max(f64::MIN_POSITIVE));
        }
        stages
    }

    /// The rates with `present` I/Os, which belong to the loads in proportion to what they may have outstanding.
    fn at(&self, processors: u32, present: u32) -> (f64, Vec<f64>, f64) {
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

    fn solve(&self, processors: u32, colours: &[u64]) -> Option<Machine> {
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
        let times = self.loads.iter().map(|(number, _)| {
            let (customers, rate) = sums.get(&colours[*number]).copied().unwrap_or((1.0, 1.0));
            (*number, alone * customers / rate / whole)
        });
        Some(Machine { kind: SiteKind::Flow(speeds), busy, times: times.collect() })
    }
}

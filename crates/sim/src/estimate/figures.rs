//! What a solved network means for the hops and the issuers of its plant.

use super::limits::{Solved, spots_of};
use super::lumped::{ItemKind, Kind, Load, Lumped};
use super::sites::Sites;
use super::state::Sums;
use super::{Flow, HopEstimate, IssuerEstimate};
use crate::analytic::many_servers;
use crate::plant::{Place, Plant, PlantHop};
use scenario::topology::HopKind;
use workload::Dir;

/// What happens at one place of each spot, by direction.
struct Here {
    flows: [Flow; 2],
    /// Busy, of that direction alone.
    busy: [f64; 2],
    /// Present on average, and those of them that wait.
    present: f64,
    waiting: f64,
    /// Of a pool: tokens taken.
    tokens: f64,
}

/// Figures of every hop, in the order of the plant.
pub fn hops(plant: &Plant, lumped: &Lumped, solved: &Solved) -> Vec<HopEstimate> {
    let sites = Sites::new(&plant.network);
    let here = at_spots(lumped, solved);
    plant.hops.iter().map(|hop| of_hop(hop, &sites, lumped, solved, &here)).collect()
}

fn of_hop(
    hop: &PlantHop,
    sites: &Sites,
    lumped: &Lumped,
    solved: &Solved,
    here: &[Here],
) -> HopEstimate {
    let mut out = HopEstimate::default();
    for place in &hop.places {
        let alone = PlantHop { places: vec![*place], ..PlantHop::clone(hop) };
        let Some(spot) = spots_of(&alone, sites, lumped).first().copied() else { continue };
        let at = &here[spot];
        if matches!(place, Place::Pool(_)) {
            out.slots_used = Some(out.slots_used.unwrap_or(0.0).max(at.tokens));
            out.slots_waiting += at.waiting;
        } else {
            out.utilization = out.utilization.max(solved.utilization[spot]);
            out.queue += at.present;
            out.waiting += at.waiting;
        }
        for (mine, theirs) in out.flows.iter_mut().zip(&at.flows) {
            // The same I/O comes to several places of a hop and is counted once; to one of many disks, and they add up.
            let with = if hop.kind == HopKind::Disks { |a, b| a + b } else { f64::max };
            mine.ops = with(mine.ops, theirs.ops);
            mine.bytes = with(mine.bytes, theirs.bytes);
            mine.time += theirs.time;
        }
    }
    out
}

/// What happens at one place of each spot.
fn at_spots(lumped: &Lumped, solved: &Solved) -> Vec<Here> {
    let none = || Here {
        flows: [Flow::default(); 2],
        busy: [0.0; 2],
        present: 0.0,
        waiting: 0.0,
        tokens: 0.0,
    };
    let mut here: Vec<Here> = lumped.spots.iter().map(|_| none()).collect();
    for (number, load) in lumped.loads.iter().enumerate() {
        let holds = solved.state.holds(number, load);
        let rate = solved.state.rates[number] * load.count;
        for (at, item) in load.items.iter().enumerate() {
            let dearest = item.touches.iter().map(|touch| touch.spot);
            let dearest = dearest.max_by(|a, b| {
                solved.utilization[*a].total_cmp(&solved.utilization[*b]).then(b.cmp(a))
            });
            for touch in &item.touches {
                let spot = &lumped.spots[touch.spot];
                let each = rate * item.visits / spot.count;
                let mut stay = solved.state.stays[number][at];
                let mut alone = item.time;
                if let Kind::Link(of_link) = spot.kind {
                    alone = item.wire / of_link;
                    // A transfer is at all its links at once, and waits at the dearest of them.
                    if dearest != Some(touch.spot) {
                        stay = alone;
                    }
                }
                let bytes = each * load.classes[item.class].bytes;
                let side = usize::from(item.dir == Dir::Write);
                let here = &mut here[touch.spot];
                here.flows[side].add(each, bytes, each * stay);
                if let ItemKind::Tokens(section) = item.kind {
                    here.tokens += each * holds[section] * load.sections[section].tokens;
                    here.waiting += each * stay;
                    continue;
                }
                here.busy[side] += each * alone;
                here.present += each * stay;
                here.waiting += each * (stay - alone).max(0.0);
            }
        }
    }
    here
}

impl Flow {
    fn add(&mut self, ops: f64, bytes: f64, time: f64) {
        self.ops += ops;
        self.bytes += bytes;
        self.time += time;
    }
}

/// Figures of every issuer, in the order of the plant.
pub fn issuers(plant: &Plant, lumped: &Lumped, solved: &Solved) -> Vec<IssuerEstimate> {
    let of = |load: &crate::model::LoadId| {
        let number = lumped.load_of[load.0 as usize];
        issuer(&lumped.loads[number], number, solved)
    };
    plant.issuers.iter().map(|issuer| of(&issuer.load)).collect()
}

/// Figures of every stream of a network load, in the order of the plant.
pub fn streams(plant: &Plant, lumped: &Lumped, solved: &Solved) -> Vec<IssuerEstimate> {
    let of = |load: &crate::model::LoadId| {
        let number = lumped.load_of[load.0 as usize];
        issuer(&lumped.loads[number], number, solved)
    };
    plant.streams().map(|stream| of(&stream.load)).collect()
}

fn issuer(load: &Load, number: usize, solved: &Solved) -> IssuerEstimate {
    let rate = solved.state.rates[number];
    let mut out = IssuerEstimate { asked: load.mix.rate, ..IssuerEstimate::default() };
    let mut service = 0.0;
    for (at, class) in load.classes.iter().enumerate() {
        let time = solved.state.response(number, load, at);
        let ops = rate * class.share;
        let side = usize::from(class.dir == Dir::Write);
        out.flows[side].add(ops, ops * class.bytes, ops * time);
        service += class.share * time;
    }
    // Customers that are not thinking are under way: by Little's law the time follows from the rate.
    if load.mix.rate.is_none() && rate > 0.0 {
        let little = (load.mix.customers / rate - load.mix.think).max(0.0);
        let scale = if service > 0.0 { little / service } else { 1.0 };
        out.flows.iter_mut().for_each(|flow| flow.time *= scale);
        service = little;
    }
    out.service = service;
    out.response = match load.mix.rate {
        Some(wanted) => {
            // Whoever finds the limit of outstanding I/Os reached waits outside; a load that is not carried waits ever longer.
            let slots = load.mix.customers.min(1e6) as u32;
            many_servers(wanted, service, slots)
                .filter(|_| load.is_free(rate))
                .map(|of| service + (of.response - service).max(0.0))
        }
        None => Some(service),
    };
    out
}

/// What all issuers do together, read and written.
pub fn of_all(issuers: &[IssuerEstimate]) -> [Flow; 2] {
    let mut all = [Flow::default(); 2];
    for (sum, flow) in issuers.iter().flat_map(|issuer| (0..2).zip(issuer.flows)) {
        all[sum].add(flow.ops, flow.bytes, flow.time);
    }
    all
}

/// Bounds of all loads together.
pub fn bounds(lumped: &Lumped) -> crate::analytic::Bounds {
    let each = super::bounds::asymptotic(lumped);
    let sum = |of: fn(&crate::analytic::Bounds) -> f64| {
        each.iter().zip(&lumped.loads).map(|(bounds, load)| of(bounds) * load.count).sum()
    };
    crate::analytic::Bounds { low: sum(|b| b.low), high: sum(|b| b.high) }
}

/// What of a network the estimate leaves out.
pub fn left_out(plant: &Plant, sums: &Sums) -> Vec<String> {
    use crate::model::{Begin, Hop, Policy, Station};
    let mut notes = Vec::new();
    let network = &plant.network;
    let mut note = |is: bool, text: &str| {
        if is {
            notes.push(text.to_owned());
        }
    };
    let loads = network.loads();
    note(
        !network.changes().is_empty(),
        "failures, repairs and moves: everything is as at the start",
    );
    note(
        loads.iter().any(|load| load.begins != Begin::Now || load.total.is_some()),
        "the order of phases: all loads are at work at once",
    );
    note(
        loads.iter().flat_map(|load| &load.classes).any(|class| class.priority > 0),
        "priorities: whoever comes first is served first",
    );
    let rooms = |at: &Station| matches!(at, Station::Queue { capacity: Some(_), .. });
    note(network.stations().iter().any(rooms), "finite rooms: nobody is turned away");
    let by_queue = network.selectors().iter().any(|s| s.policy == Policy::LeastQueue);
    let branches = loads
        .iter()
        .flat_map(|load| &load.classes)
        .any(|class| class.route.iter().any(|hop| matches!(hop, Hop::Branch { .. })));
    note(by_queue && branches, "what a path's queue holds: each path gets as many I/Os");
    note(sums.rates.iter().any(|rate| !rate.is_finite()), "figures that are not finite");
    notes
}

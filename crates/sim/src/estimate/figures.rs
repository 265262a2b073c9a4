//! Translates a solved network into figures of its plant's hops and issuers.

use super::limits::{Solved, spot_of};
use super::lumped::{ItemKind, Lumped, LumpedLoad, SiteKind};
use super::sites::Sites;
use super::state::SiteSums;
use super::turns;
use super::{DirectionRates, HopEstimate, IssuerEstimate};
use crate::plant::{HopElement, Plant, PlantHop};
use scenario::topology::HopKind;
use workload::{Arrivals, Dir, Process};

/// Figures of one site of each spot, by direction.
struct Here {
    flows: [DirectionRates; 2],
    /// Busy servers due to that direction alone.
    busy: [f64; 2],
    /// Mean numbers present and waiting.
    present: f64,
    waiting: f64,
    /// For a pool: tokens in use.
    tokens: f64,
}

/// Figures of all hops, in the order of the plant.
pub fn hops(plant: &Plant, lumped: &Lumped, solved: &Solved) -> Vec<HopEstimate> {
    let sites = Sites::new(&plant.network);
    let here = at_spots(lumped, solved);
    plant.hops.iter().map(|hop| of_hop(hop, plant, &sites, lumped, solved, &here)).collect()
}

fn of_hop(
    hop: &PlantHop,
    plant: &Plant,
    sites: &Sites,
    lumped: &Lumped,
    solved: &Solved,
    here: &[Here],
) -> HopEstimate {
    let spot_of = |place: HopElement| spot_of(place, sites, lumped);
    let mut out = HopEstimate::default();
    for place in &hop.places {
        let Some(spot) = spot_of(*place) else { continue };
        let at = &here[spot];
        if matches!(place, HopElement::Pool(_)) {
            let tokens = lumped.spots[spot].servers();
            out.slots_used = Some(out.slots_used.unwrap_or(0.0).max(at.tokens.min(tokens)));
            out.slots_waiting += at.waiting;
        } else {
            out.utilization = out.utilization.max(solved.utilization[spot]);
            out.queue += at.present;
            out.waiting += at.waiting;
        }
        for (mine, theirs) in out.flows.iter_mut().zip(&at.flows) {
            // The same I/O visits several elements of a hop and is counted once; it visits one of many disks, which add
            // up, and comes over their wires once more.
            let disk = hop.kind == HopKind::Disks && matches!(place, HopElement::Station(_));
            let with = if disk { |a, b| a + b } else { f64::max };
            mine.ops = with(mine.ops, theirs.ops);
            mine.bytes = with(mine.bytes, theirs.bytes);
            mine.time += theirs.time;
        }
    }
    // Data is counted on the wire that gives the hop its rate: what a cache answers does not come off the disks.
    for (way, mine) in out.flows.iter_mut().enumerate().filter(|_| hop.kind != HopKind::Disks) {
        let wire = hop.wire(&plant.network, way).and_then(|(at, _)| spot_of(hop.places[at]));
        wire.into_iter().for_each(|spot| mine.bytes = here[spot].flows[way].bytes);
    }
    if !hop.passed.is_empty() {
        let passed = hop.passed.iter().filter_map(|place| Some(&here[spot_of(*place)?].flows));
        out.flows.iter_mut().for_each(|mine| (mine.ops, mine.bytes) = (0.0, 0.0));
        for flows in passed {
            let both = out.flows.iter_mut().zip(flows);
            both.for_each(|(mine, theirs)| mine.add(theirs.ops, theirs.bytes, 0.0));
        }
    }
    out
}

/// Figures of one site of each spot.
fn at_spots(lumped: &Lumped, solved: &Solved) -> Vec<Here> {
    let none = || Here {
        flows: [DirectionRates::default(); 2],
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
            for touch in item.touches.iter() {
                let spot = &lumped.spots[touch.spot];
                let each = rate * item.visits / spot.count;
                let mut stay = solved.state.stays[number][at];
                let mut alone = item.time;
                if let SiteKind::Link(of_link) = spot.kind {
                    alone = item.wire / of_link;
                    // A transfer is at all its links at once, and waits at the dearest.
                    if dearest != Some(touch.spot) {
                        stay = alone;
                    }
                }
                let mut bytes = each * load.classes[item.class].bytes;
                if let SiteKind::Link(_) = spot.kind {
                    bytes = bytes.min(each * item.wire);
                }
                let side = usize::from(item.dir != Dir::Read);
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

impl DirectionRates {
    fn add(&mut self, ops: f64, bytes: f64, time: f64) {
        self.ops += ops;
        self.bytes += bytes;
        self.time += time;
    }
}

/// Figures of all issuers, in the order of the plant.
pub fn issuers(plant: &Plant, lumped: &Lumped, solved: &Solved) -> Vec<IssuerEstimate> {
    let of = |load: &crate::model::LoadId| {
        let number = lumped.load_of[load.0 as usize];
        issuer(&lumped.loads[number], number, solved)
    };
    plant.issuers.iter().map(|issuer| of(&issuer.load)).collect()
}

/// Figures of all streams of network loads, in the order of the plant.
pub fn streams(plant: &Plant, lumped: &Lumped, solved: &Solved) -> Vec<IssuerEstimate> {
    let of = |load: &crate::model::LoadId| {
        let number = lumped.load_of[load.0 as usize];
        issuer(&lumped.loads[number], number, solved)
    };
    plant.streams().map(|stream| of(&stream.load)).collect()
}

fn issuer(load: &LumpedLoad, number: usize, solved: &Solved) -> IssuerEstimate {
    let rate = solved.state.rates[number];
    let mut out = IssuerEstimate { asked: load.mix.rate, ..IssuerEstimate::default() };
    let mut service = 0.0;
    for (at, class) in load.classes.iter().enumerate() {
        let time = solved.state.response(number, load, at);
        let ops = rate * class.share;
        match class.dir.without_data() {
            None => {
                let side = usize::from(class.dir != Dir::Read);
                out.flows[side].add(ops, ops * class.bytes, ops * time);
            }
            Some(kind) => out.others[kind].add(ops, ops * class.range, ops * time),
        }
        service += class.share * time;
    }
    // Customers that are not thinking are under way: by Little's law the time follows from the rate.
    let little = match (load.mix.rate, solved.held[number]) {
        _ if rate <= 0.0 => None,
        (None, _) => Some((load.mix.customers / rate - load.mix.think).max(0.0)),
        (Some(_), true) => Some(solved.responses[number].unwrap_or(load.mix.customers / rate)),
        (Some(_), false) => None,
    };
    if let Some(little) = little {
        let scale = if service > 0.0 { little / service } else { 1.0 };
        let all = out.flows.iter_mut().chain(&mut out.others);
        all.for_each(|flow| flow.time *= scale);
        service = little;
    }
    // The figures of an issuer are those of what moves data.
    let data = out.flows.iter().fold((0.0, 0.0), |(ops, time), f| (ops + f.ops, time + f.time));
    let apart = out.others.iter().any(|flow| flow.ops > 0.0) && data.0 > 0.0;
    out.service = if apart { data.1 / data.0 } else { service };
    out.response = match load.mix.rate {
        Some(_) => solved.responses[number],
        None => Some(out.service),
    };
    out
}

/// The traffic of all issuers together, read and written.
pub fn of_all(issuers: &[IssuerEstimate]) -> [DirectionRates; 2] {
    let mut all = [DirectionRates::default(); 2];
    for (sum, flow) in issuers.iter().flat_map(|issuer| (0..2).zip(issuer.flows)) {
        all[sum].add(flow.ops, flow.bytes, flow.time);
    }
    all
}

/// Throughput bounds of all loads together.
pub fn bounds(lumped: &Lumped) -> crate::analytic::ThroughputBounds {
    let each = super::bounds::asymptotic(lumped);
    let sum = |of: fn(&crate::analytic::ThroughputBounds) -> f64| {
        each.iter().zip(&lumped.loads).map(|(bounds, load)| of(bounds) * load.count).sum()
    };
    crate::analytic::ThroughputBounds { low: sum(|b| b.low), high: sum(|b| b.high) }
}

/// What the estimate ignores of a network.
pub fn left_out(plant: &Plant, lumped: &Lumped, solved: &Solved, sums: &SiteSums) -> Vec<String> {
    use crate::model::{Begin, Hop, Policy, Source, Station};
    let mut notes = Vec::new();
    let network = &plant.network;
    let mut note = |is: bool, text: &str| {
        if is {
            notes.push(text.to_owned());
        }
    };
    let loads = network.loads();
    note(
        solved.is_fluid,
        "queues at hops that are not full (the fluid answer: the solution with queues was not found), so latency is that \
         of throughput by Little's law",
    );
    note(
        !network.changes().is_empty(),
        "failures, repairs and moves: everything is as at the start",
    );
    note(
        loads.iter().any(|load| load.begins != Begin::Now || load.total.is_some()),
        "the order of phases: all loads run at once",
    );
    note(
        loads.iter().flat_map(|load| &load.classes).any(|class| class.priority > 0),
        "priorities: service is first come, first served",
    );
    let rooms = |at: &Station| matches!(at, Station::Queue { capacity: Some(_), .. });
    note(network.stations().iter().any(rooms), "finite queues: no I/O is rejected");
    let by_queue = network.selectors().iter().any(|s| s.policy == Policy::LeastQueue);
    let branches = loads
        .iter()
        .flat_map(|load| &load.classes)
        .any(|class| class.route.iter().any(|hop| matches!(hop, Hop::Branch { .. })));
    note(
        by_queue && branches,
        "least-queue path selection: each path gets the same number of I/Os",
    );
    note(
        turns::are_unsure(lumped, network, &solved.utilization),
        "how the turns of round-robin paths fall: beside those of other loads, for open loads and at other than links a path \
         has its share of the I/Os all the time, and not many of them in a row",
    );
    let ramps = |load: &crate::model::Load| match &load.source {
        Source::Operations(of) => {
            matches!(of.spec.arrivals, Arrivals::Open { process: Process::Ramp { .. }, .. })
        }
        _ => false,
    };
    note(
        loads.iter().any(ramps),
        "how a rate rises or falls: each that it passes counts as if it lasted, and what limits does so at the highest",
    );
    let submits = |class: &crate::model::Class| class.route.contains(&Hop::Submit);
    let is_submitted = loads.iter().flat_map(|load| &load.classes).any(submits);
    note(
        is_submitted,
        "the pass that issues an I/O of an open loop: response time is longer by it",
    );
    note(
        is_submitted && lumped.loads.iter().any(|load| load.mix.rate.is_none()),
        "threads that open loops keep awake: closed loops beside them carry up to 1.6 times as much",
    );
    note(sums.rates.iter().any(|rate| !rate.is_finite()), "figures that are not finite");
    notes
}

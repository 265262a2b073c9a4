//! The estimator's solution of a step, as the plain data of a document.

use review::estimate::{Assumed, Estimated, Hop, LimitKind, Limited, Matters, Worker};
use sim::estimate::{
    DirectionRates, HopEstimate, IssuerEstimate, LimitedBy, Limiting, Sensitivity, Told,
};
use sim::plant::{Issuer, Plant, PlantHop};

pub fn estimated(solved: &Told, matters: &[Sensitivity]) -> Estimated {
    let (plant, of) = (solved.plant, solved.estimate);
    let [read, write] = of.flows();
    let assumed = plant.assumptions.iter().map(|one| Assumed {
        subject: one.subject.clone(),
        figure: one.figure.clone(),
        value: one.value.clone(),
        reason: one.reason.clone(),
    });
    let matters = matters
        .iter()
        .map(|one| Matters { hops: names(plant, &one.hops), elasticity: one.elasticity });
    Estimated {
        plan: solved.step.plan.clone(),
        name: solved.step.name(),
        iops: of.iops,
        read_rate: read.bytes,
        write_rate: write.bytes,
        network_rate: None,
        latency: of.latency(),
        least_iops: of.bounds.low,
        most_iops: of.bounds.high,
        balanced_iops: of.balanced.map(|bounds| [bounds.low, bounds.high]),
        limited: Vec::new(),
        limits: limits(plant, &of.limits),
        hops: plant.hops.iter().zip(&of.hops).map(hop).collect(),
        workers: plant.issuers.iter().zip(&of.issuers).map(worker).collect(),
        assumptions: assumed.collect(),
        sensitivities: matters.collect(),
        left_out: of.left_out.clone(),
        notes: plant.notes.iter().map(|note| note.text.clone()).collect(),
    }
}

fn hop((hop, of): (&PlantHop, &HopEstimate)) -> Hop {
    let [read, write]: [DirectionRates; 2] = of.flows;
    let ops = read.ops + write.ops;
    Hop {
        name: hop.name.clone(),
        utilization: of.utilization,
        read_iops: read.ops,
        write_iops: write.ops,
        read_rate: read.bytes,
        write_rate: write.bytes,
        queue: of.queue,
        residence: (ops > 0.0).then(|| (read.time + write.time) / ops),
        slots_used: of.slots_used,
        slots: hop.limits.slots,
    }
}

fn worker((issuer, of): (&Issuer, &IssuerEstimate)) -> Worker {
    let [read, write]: [DirectionRates; 2] = of.flows;
    Worker {
        name: issuer.source.clone(),
        group: issuer.group.clone(),
        iops: read.ops + write.ops,
        read_rate: read.bytes,
        write_rate: write.bytes,
        service: of.service,
        response: of.response,
    }
}

/// The chain of limits, each with what was doubled for it.
fn limits(plant: &Plant, chain: &[Limiting]) -> Vec<Limited> {
    let mut doubled = Vec::new();
    let mut limited = |limiting: &Limiting| {
        let fullest: Vec<usize> = limiting.fullest.into_iter().collect();
        let (limit, hops) = match &limiting.limit {
            LimitedBy::Hops(hops) => (LimitKind::Hop, names(plant, hops)),
            LimitedBy::Depth => (LimitKind::Depth, names(plant, &fullest)),
            LimitedBy::Rate => (LimitKind::Rate, names(plant, &fullest)),
        };
        let next = if limit == LimitKind::Hop { hops.clone() } else { Vec::new() };
        Limited {
            limit,
            doubled: std::mem::replace(&mut doubled, next),
            hops,
            utilization: limiting.utilization,
            headroom: Some(limiting.headroom).filter(|headroom| headroom.is_finite()),
            turn_ios: limiting.turn,
            iops: limiting.iops,
            rate: limiting.rate,
        }
    };
    chain.iter().map(&mut limited).collect()
}

fn names(plant: &Plant, hops: &[usize]) -> Vec<String> {
    hops.iter().filter_map(|hop| plant.hops.get(*hop)).map(|hop| hop.name.clone()).collect()
}

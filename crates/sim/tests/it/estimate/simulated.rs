//! The estimator against the event engine, on networks without an exact solution.

use crate::estimate::labs::*;
use sim::estimate::{Estimate, estimate};
use sim::model::*;
use sim::plant::Plant;
use sim::study::{Length, study};

/// Simulated I/Os a second, and mean seconds from issue to end.
fn simulated(plant: &Plant) -> (f64, f64) {
    let length = Length::Fixed { warmup: us(200_000), measured: us(2_000_000) };
    let plan = sim::study::StudyPlan { seed: 11, length, runs: 2, threads: 1 };
    let study = study(&plant.network, &plan).unwrap();
    let (mut done, mut present, mut seconds) = (0.0, 0.0, 0.0);
    for cell in study.runs.iter().flat_map(|run| &run.cells) {
        seconds += cell.at.as_secs_f64();
        for class in &cell.classes {
            done += class.tally.departures as f64;
            present += class.tally.present as f64;
        }
    }
    (done / seconds, present * 1e-12 / done)
}

#[track_caller]
fn check(what: &str, plant: &Plant, within: f64) -> Estimate {
    let ours = estimate(plant);
    let (iops, latency) = simulated(plant);
    let mean: f64 = ours.issuers.iter().flat_map(|i| i.flows).map(|flow| flow.time).sum();
    let mean = mean / ours.iops;
    println!(
        "{what:<34} {:>9.0} of {iops:>9.0} I/Os a second ({:+.1}%), {:>8.1} of {:>8.1} µs; {:?}",
        ours.iops,
        (ours.iops / iops - 1.0) * 100.0,
        mean * 1e6,
        latency * 1e6,
        ours.work,
    );
    let bounds = ours.bounds;
    assert!(
        bounds.low * 0.98 <= iops && iops <= bounds.high * 1.02,
        "{what}: {iops} is not within {bounds:?}"
    );
    // A price is set until a station is full but for a few millionths.
    assert!(
        bounds.low <= ours.iops * 1.000_03 && ours.iops <= bounds.high * 1.000_03,
        "{what}: {} is not within {bounds:?}",
        ours.iops
    );
    for (hop, of) in plant.hops.iter().zip(&ours.hops) {
        assert!(of.utilization <= 1.0, "{what}: {} at {}", hop.name, of.utilization);
    }
    assert!((ours.iops / iops - 1.0).abs() <= within, "{what}: {} and not {iops}", ours.iops);
    ours
}

#[test]
fn lines_of_stations() {
    let many = Station::many;
    let one = Station::SINGLE;
    let two = [(one.clone(), exponential(100)), (many(4), exponential(300))];
    for depth in [1, 2, 4, 8, 16] {
        check(&format!("exponential, depth {depth}"), &line(&two, depth, constant(50)), 0.06);
    }
    let steady =
        [(one.clone(), constant(100)), (many(4), constant(300)), (Station::Delay, constant(400))];
    for depth in [1, 4, 8, 16] {
        check(&format!("constant, depth {depth}"), &line(&steady, depth, constant(50)), 0.03);
    }
    let mixed = [
        (one, constant(100)),
        (many(4), exponential(300)),
        (Station::Sharing { servers: 2 }, constant(120)),
    ];
    for depth in [1, 4, 8, 16] {
        check(&format!("mixed, depth {depth}"), &line(&mixed, depth, exponential(50)), 0.12);
    }
}

/// Loads of different depth that share a station: more outstanding I/Os get a larger share.
#[test]
fn unequal_neighbours() {
    let mut lab = Lab::default();
    let shared = lab.station("shared", Station::SINGLE);
    let route = |law: Law| vec![Hop::visit(shared, law)];
    lab.issuer("deep", Load::closed(12, constant(100), Class::read(8192, route(exponential(50)))));
    lab.issuer("flat", Load::closed(4, constant(100), Class::write(8192, route(exponential(50)))));
    let ours = check("unequal neighbours", &lab.plant, 0.02);
    let [deep, flat] = [0, 1].map(|n| ours.issuers[n].flows.iter().map(|f| f.ops).sum::<f64>());
    assert!((deep / flat / 3.0 - 1.0).abs() < 0.05, "{deep} {flat}");
}

/// A queue limit before a delay: at most its tokens over the delay.
#[test]
fn queue_limits() {
    for (tokens, depth) in [(4, 2), (4, 8), (4, 64), (32, 40)] {
        let mut lab = Lab::default();
        let pool = lab.pool("queue", tokens);
        let disk = lab.station("disk", Station::many(8));
        let wire = lab.station("wire", Station::Delay);
        let route = vec![
            Hop::Take { pool, tokens: 1 },
            Hop::visit(wire, constant(200)),
            Hop::visit(disk, exponential(400)),
            Hop::Give { pool, tokens: 1 },
        ];
        lab.issuer("worker", Load::closed(depth, constant(10), Class::read(4096, route)));
        check(&format!("{tokens} tokens, depth {depth}"), &lab.plant, 0.08);
    }
}

/// Virtual disk, LUN and throttle, nested, with two workers.
#[test]
fn nested_queue_limits() {
    for throttle in [6, 12, 64] {
        let mut lab = Lab::default();
        let outer = lab.pool("throttle", throttle);
        let cpu = lab.station("cpu", Station::many(2));
        for number in 0..2 {
            let own = lab.pool(&format!("vm{number}"), 16);
            let lun = lab.pool(&format!("lun{number}"), 8);
            let disk = lab.station(&format!("disk{number}"), Station::many(4));
            let take = |pool| Hop::Take { pool, tokens: 1 };
            let give = |pool| Hop::Give { pool, tokens: 1 };
            let route = vec![
                take(own),
                Hop::visit(cpu, constant(20)),
                take(lun),
                take(outer),
                Hop::visit(disk, exponential(500)),
                give(outer),
                give(lun),
                give(own),
            ];
            let load = Load::closed(24, constant(5), Class::read(4096, route));
            lab.issuer(&format!("vm{number}"), load);
        }
        let ours = check(&format!("throttle {throttle}"), &lab.plant, 0.14);
        assert_eq!(ours.work.loads, 1, "the two are alike");
    }
}

/// Three nested limits, all full, around a full station: an I/O that waits for one holds the others.
#[test]
fn full_queue_limits_around_a_full_station() {
    for depth in [8, 32, 200] {
        let mut lab = Lab::default();
        let disk = lab.station("disk", Station::SINGLE);
        let adapter = lab.pool("adapter", 48);
        let take = |pool| Hop::Take { pool, tokens: 1 };
        let give = |pool| Hop::Give { pool, tokens: 1 };
        for number in 0..4 {
            let own = lab.pool(&format!("disk{number}"), 24);
            let lun = lab.pool(&format!("lun{number}"), 6);
            let mut route = vec![take(own), take(adapter), take(lun)];
            route.push(Hop::visit(disk, exponential(25)));
            route.extend([give(lun), give(adapter), give(own)]);
            let load = Load::closed(depth, constant(100), Class::read(4096, route));
            lab.issuer(&format!("vm{number}"), load);
        }
        check(&format!("three limits at depth {depth}"), &lab.plant, 0.02);
    }
}

/// A write-back cache: a write completes once it has a slot, and a background copy destages it to a disk, with a limit
/// of destages in flight. The copy holds the slot, and nothing else that the write held.
#[test]
fn copies_in_the_background_hold_what_they_give_back() {
    for (slots, disk) in [(64, 30), (64, 300), (2_000, 300)] {
        let mut lab = Lab::default();
        let (port, media) =
            (lab.station("port", Station::SINGLE), lab.station("media", Station::SINGLE));
        let (own, cache) = (lab.pool("disk", 8), lab.pool("cache", slots));
        let flush = lab.pool("flush", 4);
        let take = |pool| Hop::Take { pool, tokens: 1 };
        let give = |pool| Hop::Give { pool, tokens: 1 };
        let destage =
            vec![take(flush), Hop::visit(media, constant(disk)), give(flush), give(cache)];
        let route = vec![
            take(own),
            take(cache),
            Hop::visit(port, exponential(50)),
            Hop::Fork { route: destage.into() },
            give(own),
        ];
        let load = Load::closed(16, constant(20), Class::read(4096, route));
        lab.issuer("writer", load);
        check(&format!("{slots} slots, a disk of {disk} us"), &lab.plant, 0.05);
    }
}

/// Streams over links: each has its own port, and all share one port.
#[test]
fn streams_over_links() {
    for (streams, depth) in [(1, 1), (2, 4), (4, 2), (6, 8)] {
        let mut lab = Lab::default();
        let mut rates = vec![800_000_000];
        rates.extend(vec![400_000_000u64; streams]);
        let names: Vec<String> = (0..=streams).map(|n| format!("port{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let wires = lab.links(&names, &rates);
        let media = lab.station("media", Station::Delay);
        for number in 0..streams {
            let links = vec![0, number as u16 + 1];
            let route = vec![
                Hop::visit(media, exponential(60)),
                Hop::Cross { station: wires, links: links.into(), scale: 1.03, extra: 48 },
            ];
            let load = Load::closed(depth, constant(5), Class::read(65_536, route));
            lab.issuer(&format!("stream{number}"), load);
        }
        let ours = check(&format!("{streams} streams, depth {depth}"), &lab.plant, 0.08);
        assert_eq!(ours.work.loads, 1, "all streams are alike");
    }
}

#[test]
fn arrivals_by_a_clock() {
    for (gap, law) in [(exponential(125), exponential(100)), (exponential(125), constant(100))] {
        let mut lab = Lab::default();
        let server = lab.station("server", Station::SINGLE);
        let route = vec![Hop::visit(server, law.clone())];
        lab.issuer("clock", Load::open(gap, 4096, Class::read(4096, route)));
        let ours = check("arrivals", &lab.plant, 0.02);
        let exact = sim::analytic::single_server(8000.0, 1e-4, law.scv()).unwrap();
        let off = ours.issuers[0].service / exact.response - 1.0;
        assert!(off.abs() < 0.01, "{} and not {}", ours.issuers[0].service, exact.response);
    }
}

/// An open background load beside a closed one.
#[test]
fn closed_and_open_together() {
    let mut lab = Lab::default();
    let server = lab.station("server", Station::many(2));
    let other = lab.station("other", Station::SINGLE);
    let clock = vec![Hop::visit(server, exponential(100))];
    lab.issuer("clock", Load::open(exponential(100), 4096, Class::read(4096, clock)));
    let closed = vec![Hop::visit(server, exponential(100)), Hop::visit(other, exponential(80))];
    lab.issuer("closed", Load::closed(6, constant(100), Class::write(4096, closed)));
    check("closed and open", &lab.plant, 0.06);
}

//! What follows from routes alone, by hand: skips that overlap, limits that no I/O comes to, reads and writes that are
//! served alike, and a queue that sorts with nothing to sort.

use crate::estimate::labs::*;
use sim::Ps;
use sim::estimate::{Estimate, estimate};
use sim::model::*;

#[track_caller]
fn near(what: &str, value: f64, truth: f64, within: f64) {
    assert!((value / truth - 1.0).abs() <= within, "{what}: {value} and not {truth}");
}

fn skip(chance: f64, hops: u32) -> Hop {
    Hop::Skip { chance, hops }
}

/// One I/O at a time on this route of delays; its mean microseconds.
fn alone(route: impl Fn([StationId; 3]) -> Vec<Hop>) -> f64 {
    let mut lab = Lab::default();
    let delays = ["a", "b", "c"].map(|name| lab.station(name, Station::Delay));
    lab.issuer("w", Load::closed(1, Law::ZERO, Class::read(4096, route(delays))));
    1e6 / estimate(&lab.plant).iops
}

#[test]
fn skips_end_where_they_say() {
    let visit = |station, time| Hop::visit(station, constant(time));
    // One way or the other, as to random and sequential places of a disk: the first skip ends within the second.
    let either = alone(|[a, b, c]| {
        vec![skip(0.7, 2), visit(a, 100), skip(1.0, 1), visit(b, 300), visit(c, 10)]
    });
    near("either way", either, 0.3 * 100.0 + 0.7 * 300.0 + 10.0, 1e-9);
    // 0.4 skip a and b, 0.6 × 0.5 skip b and c.
    let across = alone(|[a, b, c]| {
        vec![skip(0.4, 3), visit(a, 100), skip(0.5, 2), visit(b, 40), visit(c, 7)]
    });
    near("across", across, 0.6 * 100.0 + 0.3 * 40.0 + 0.7 * 7.0, 1e-9);
    let within = alone(|[a, b, c]| {
        vec![skip(0.5, 3), visit(a, 100), skip(0.5, 1), visit(b, 40), visit(c, 7)]
    });
    near("one within the other", within, 0.5 * 100.0 + 0.25 * 40.0 + 7.0, 1e-9);
    let to_the_end = alone(|[a, b, _]| vec![visit(a, 100), skip(0.25, 9), visit(b, 40)]);
    near("beyond the end", to_the_end, 100.0 + 0.75 * 40.0, 1e-9);
}

/// An open load on this route; its mean microseconds.
fn open(lab: &mut Lab, gap: Ps, route: Vec<Hop>) -> f64 {
    let load = Load::open(Law::Exponential(gap), 1 << 20, Class::read(4096, route));
    lab.issuer("w", load);
    response(&estimate(&lab.plant))
}

fn response(of: &Estimate) -> f64 {
    of.issuers[0].response.expect("all is carried") * 1e6
}

#[test]
fn a_limit_that_no_io_comes_to_keeps_nobody_waiting() {
    let mut lab = Lab::default();
    let (a, b) = (lab.station("a", Station::Delay), lab.station("b", Station::Delay));
    let pool = lab.pool("p", 4);
    let limited = [Hop::Take { pool, tokens: 1 }, Hop::visit(a, constant(100))];
    let mut route = vec![skip(1.0, 3)];
    route.extend(limited);
    route.extend([Hop::Give { pool, tokens: 1 }, Hop::visit(b, constant(70))]);
    near("what is left", open(&mut lab, us(500), route), 70.0, 1e-6);
}

/// With nothing to sort it is a single server: the formula of Pollaczek and Khinchine.
#[test]
fn a_queue_that_sorts_waits_as_one_server_does() {
    for load in [0.005, 0.1, 0.5, 0.9] {
        let mut lab = Lab::default();
        let disk = lab.station("disk", Station::Sorted { servers: 1, gain: vec![1.0, 1.0] });
        let law = Law::Uniform(us(2_000), us(14_000));
        let gap = Ps((8_000.0 / load * 1e6) as u64);
        let found = open(&mut lab, gap, vec![Hop::visit(disk, law.clone())]);
        let truth = 8_000.0 * (1.0 + load * (1.0 + law.scv()) / 2.0 / (1.0 - load));
        near(&format!("load {load}"), found, truth, 0.05);
    }
}

/// Reads and writes of one service are one class.
#[test]
fn what_is_served_alike_is_estimated_alike() {
    let of = |share: Option<f64>, servers: u32| {
        let mut lab = Lab::default();
        let cpu = lab.station("cpu", Station::Queue { servers, capacity: None, full: Full::Lose });
        let rest = lab.station("rest", Station::Delay);
        let route =
            vec![Hop::visit(cpu, Law::Uniform(us(25), us(75))), Hop::visit(rest, constant(200))];
        let read = Class::read(4096, route.clone());
        let (classes, shares) = match share {
            None => (vec![read], vec![1.0]),
            Some(share) => (vec![read, Class::write(4096, route)], vec![share, 1.0 - share]),
        };
        lab.issuer(
            "w",
            Load::of(Source::Closed { customers: 5, think: Law::ZERO, shares }, classes),
        );
        estimate(&lab.plant).iops
    };
    for servers in [1, 2] {
        let one = of(None, servers);
        for share in [0.5, 0.9] {
            near(&format!("{share} reads, {servers} servers"), of(Some(share), servers), one, 0.01);
        }
    }
}

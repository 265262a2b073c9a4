//! Networks: those of product form against exact mean value analysis, and a closed line with blocking.

use super::*;
use sim::analytic::{Center, Population, Service, Solution, convolution, mva};

/// A centre, the station that is one, and the law of service at it for a mean in microseconds.
type Part = (Service, Station, fn(f64) -> Law);

fn constant(micros: f64) -> Law {
    Law::Constant(Ps((micros * 1e6) as u64))
}

/// The given mean, twice as variable as exponential.
fn variable(micros: f64) -> Law {
    let mean = |share: f64| Ps((micros * share * 1e6) as u64);
    Law::Hyper { first: 0.75, means: [mean(0.5), mean(2.5)] }
}

/// Simulates closed classes (customers, think time, demands in microseconds) and compares with the exact solution.
#[track_caller]
fn product_form(parts: &[Part], classes: &[(u32, f64, &[f64])]) {
    let mut network = Network::new();
    let stations: Vec<StationId> =
        parts.iter().map(|(_, station, _)| network.station(station.clone())).collect();
    for (customers, think, demands) in classes {
        let visits = stations.iter().zip(parts).zip(*demands);
        let visits = visits.filter(|(_, demand)| **demand > 0.0);
        let route = visits.map(|((station, part), demand)| Hop::visit(*station, part.2(*demand)));
        let class = Class::read(0, route.collect());
        network.load(Load::closed(*customers, exponential(*think), class));
    }
    let centers: Vec<Center> = parts
        .iter()
        .enumerate()
        .map(|(number, (service, ..))| Center {
            service: service.clone(),
            demands: classes.iter().map(|(_, _, demands)| demands[number] * 1e-6).collect(),
        })
        .collect();
    let populations: Vec<Population> = classes
        .iter()
        .map(|(customers, think, _)| Population { customers: *customers, think: think * 1e-6 })
        .collect();
    let truth: Solution =
        mva(&centers, &populations).or_else(|_| convolution(&centers, &populations)).unwrap();
    let study = simulated(&network);
    for class in 0..classes.len() {
        check(&study, &format!("throughput {class}"), throughput(class), truth.throughput[class]);
        check(&study, &format!("response {class}"), response(class), truth.response(class));
    }
    for (number, at) in truth.present.iter().enumerate() {
        check(&study, &format!("present at {number}"), present(number), at.iter().sum());
        check(&study, &format!("work of {number}"), busy(number), truth.work(&centers, number));
    }
}

const SINGLE: Part = (Service::Single, Station::SINGLE, exponential);
const SHARED: Part = (Service::Single, Station::Sharing { servers: 1 }, variable);
const DELAY: Part = (Service::Delay, Station::Delay, constant);
const THREE: Part = (Service::Servers(3), Station::many(3), exponential);
const SHARED_TWO: Part = (Service::Servers(2), Station::Sharing { servers: 2 }, variable);

#[test]
fn one_class_over_single_servers() {
    product_form(&[SINGLE, SINGLE, SINGLE], &[(6, 5.0, &[1.0, 2.0, 0.7])]);
}

#[test]
fn one_class_over_all_kinds() {
    product_form(&[SINGLE, THREE, SHARED, DELAY], &[(9, 4.0, &[1.0, 5.0, 1.5, 6.0])]);
}

#[test]
fn two_classes_share() {
    let classes: [(u32, f64, &[f64]); 2] =
        [(3, 2.0, &[1.0, 2.0, 4.0, 2.0]), (4, 9.0, &[1.0, 0.5, 0.0, 3.0])];
    product_form(&[SINGLE, SHARED, DELAY, SHARED_TWO], &classes);
}

/// Two machines in a cycle, the second with a small queue: the first is blocked by its finished part. The number at the
/// second, with the blocked one, is a birth-and-death process (Onvural 1990).
#[test]
fn blocking_after_service() {
    let (customers, room, first, second) = (8u32, 3u32, 1.5f64, 2.0f64);
    let mut network = Network::new();
    let a = network.station(Station::SINGLE);
    let b = network.station(Station::finite(1, room, Full::Block));
    let route = vec![Hop::visit(a, exponential(first)), Hop::visit(b, exponential(second))];
    network.load(Load::closed(customers, Law::ZERO, Class::read(0, route)));
    let states = customers.min(room + 1) as i32;
    let weights: Vec<f64> = (0..=states).map(|n| (second / first).powi(n)).collect();
    let sum: f64 = weights.iter().sum();
    let study = simulated(&network);
    check(&study, "throughput", throughput(0), (1.0 - weights[0] / sum) / (second * 1e-6));
    let blocked = |span: &Snapshot| (span.stations[0].blocked as f64, span.at.0 as f64);
    check(&study, "blocked", blocked, weights[states as usize] / sum);
}

#[test]
fn a_cache_sends_the_misses_on() {
    let mut network = Network::new();
    let cache = network.station(Station::SINGLE);
    let disk = network.station(Station::many(4));
    let route = vec![
        Hop::visit(cache, exponential(1.0)),
        Hop::Skip { chance: 0.8, hops: 1 },
        Hop::visit(disk, exponential(20.0)),
    ];
    network.load(Load::closed(10, exponential(3.0), Class::read(0, route)));
    let centers = [
        Center { service: Service::Single, demands: vec![1e-6] },
        Center { service: Service::Servers(4), demands: vec![0.2 * 20e-6] },
    ];
    let truth = convolution(&centers, &[Population { customers: 10, think: 3e-6 }]).unwrap();
    let study = simulated(&network);
    check(&study, "throughput", throughput(0), truth.throughput[0]);
    check(&study, "at the disk", present(1), truth.present[1][0]);
}

//! Throughput follows the speed of each hop: where a hop is a little faster, it is a little more, and not less.

use super::limits;
use super::lumped::{self, Lumped};
use super::symmetry::Alike;
use crate::model::{Class, Hop, Law, Load, Network, Station};
use crate::time::Ps;
use scenario::{Source, Stage};

/// The speeds of a hop that are tried, as multiples of its own, and by what factor one is above the one before.
const FROM: f64 = 0.75;
const TO: f64 = 1.35;
const BY: f64 = 1.025;
/// What an iteration that has settled may still be off.
const SETTLED: f64 = 2e-4;

/// Sweeps the speed of these spots. A network of one closed load carries no less with each, and no more than so many times
/// as much; of several loads one may take from another, of which only jumps are mistakes.
#[track_caller]
fn check(what: &str, network: &Lumped, spots: &[usize]) {
    let slack = if network.loads.len() == 1 { SETTLED } else { BY - 1.0 };
    let mut before: Option<f64> = None;
    let mut speed = FROM;
    while speed < TO {
        let solved = limits::solve(&limits::faster(network, spots, speed), None);
        let now = limits::total(network, &solved.state);
        if let Some(before) = before {
            let gain = now / before;
            assert!(
                gain > 1.0 - slack,
                "{what}, {speed:.3} times as fast: {now:.1} after {before:.1}"
            );
            assert!(
                gain < BY + slack,
                "{what}, {speed:.3} times as fast: {now:.1} after {before:.1}"
            );
        }
        before = Some(now);
        speed *= BY;
    }
}

/// Sweeps each hop of each step of a lab of this repository that is used noticeably; how many.
fn sweep(name: &str, text: &str) -> usize {
    const NOTICEABLE: f64 = 0.15;
    let source = Source { name: name.to_owned(), text: text.to_owned(), ..Source::default() };
    let scenario = scenario::load(&source).unwrap_or_else(|wrong| panic!("{wrong}"));
    let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{wrong}"));
    let mut swept = 0;
    for step in scenario.stages().iter().flat_map(Stage::examples) {
        let plant = crate::lab::compile(&scenario, &topology, &step).expect("a plant");
        let network = lumped::lump(&Alike::of(&plant.network), 0.0);
        let solved = limits::solve(&network, None);
        for group in limits::groups(&plant, &network) {
            let used = group.spots.iter().map(|spot| solved.utilization[*spot]).fold(0.0, f64::max);
            // So many tokens are a whole number.
            let served =
                |spot: &usize| !matches!(network.spots[*spot].kind, lumped::SiteKind::Pool(_));
            if used > NOTICEABLE && group.spots.iter().all(served) {
                let hop = &plant.hops[group.hops[0]].name;
                check(&format!("{name} {}, {hop}", step.name()), &network, &group.spots);
                swept += 1;
            }
        }
    }
    swept
}

/// In lab 3 a backend passes the speed of its array's port; where they are equal, all waits there move from one to the other.
#[test]
fn a_faster_hop_of_a_lab_carries_no_less_and_nothing_jumps() {
    let labs = [
        ("lab2", include_str!("../../../../scenarios/lab2-esx-8gb.toml")),
        ("lab3", include_str!("../../../../scenarios/lab3-backup.toml")),
        ("one VM", include_str!("../../../../scenarios/lab4-one-vm.toml")),
        ("lab5", include_str!("../../../../scenarios/lab5-iscsi.toml")),
    ];
    let swept: usize = labs.map(|(name, text)| sweep(name, text)).iter().sum();
    assert!(swept > 100, "{swept}");
}

/// Two or three stations of a load of which each passes the others' speed, with all kinds of times and numbers outstanding.
#[test]
fn each_of_some_stations_that_becomes_the_fastest_carries_no_less() {
    let us = |us: u64| Ps(us * 1_000_000);
    let laws = |mean: u64| {
        [
            Law::Constant(us(mean)),
            Law::Exponential(us(mean)),
            Law::Uniform(us(mean / 2), us(mean / 2 * 3)),
        ]
    };
    let mut seed = 0;
    for (customers, think) in [(1, 0), (4, 100), (12, 100), (40, 2000)] {
        for first in laws(100) {
            for second in laws(110) {
                let mut network = Network::new();
                let kinds = [Station::SINGLE, Station::Sharing { servers: 1 }, Station::many(2)];
                let mut route = Vec::new();
                for (number, law) in [first.clone(), second].into_iter().enumerate() {
                    let station = network.station(kinds[(seed + number) % 2].clone());
                    route.push(Hop::visit(station, law));
                }
                let third = network.station(kinds[seed % 3].clone());
                route.push(Hop::visit(third, laws(105)[seed % 3].clone()));
                network.load(Load::closed(
                    customers,
                    Law::Constant(us(think)),
                    Class::read(4096, route),
                ));
                let lumped = lumped::lump(&Alike::of(&network), 0.0);
                for spot in 0..lumped.spots.len() {
                    let what = format!("network {seed}, {customers} I/Os, {spot}");
                    check(&what, &lumped, &[spot]);
                }
                seed += 1;
            }
        }
    }
}

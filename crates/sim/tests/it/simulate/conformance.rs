//! Simulated and estimated runs take the steps that live runs take where they see the same.

#[path = "../../../../campaign/tests/support/conformance.rs"]
mod shared;

use super::support::writer;
use campaign::Control;
use record::{Loop, Record, Status};
use scenario::Step;
use sim::Ps;
use sim::model::{Class, Hop, Law, Load, Network, Station};
use sim::plant::{Issuer, Plant};
use sim::simulate::Named;
use std::path::Path;

/// One worker whose I/Os all take as long as the lab of the test lets them, and wait for nothing.
fn plant(step: &Step) -> Result<Plant, String> {
    let depth = shared::depth(step);
    let mut network = Network::new();
    let lab = network.station(Station::Delay);
    let time = Law::Constant(Ps::millis(shared::latency_ms(depth)));
    let class = Class::read(8192, vec![Hop::visit(lab, time)]);
    let load = network.load(Load::closed(depth, Law::ZERO, class));
    let issuer = Issuer {
        load,
        source: "t0".to_owned(),
        group: "t0".to_owned(),
        workload: "w".to_owned(),
        arrivals: Loop::Closed { depth, think: false },
        ops_per_transaction: 1,
        planned: None,
    };
    Ok(Plant { network, issuers: vec![issuer], ..Plant::default() })
}

#[track_caller]
fn check(path: &Path) {
    let record = Record::open(path).expect("a record");
    assert_eq!(record.status(), Status::Complete);
    shared::check(record.steps(), record.events());
}

#[test]
fn a_simulation_takes_the_steps_that_every_implementation_takes() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("simulated.wsr");
    let order = sim::simulate::Order {
        stages: &shared::scenario().stages(),
        named: &Named::default(),
        seed: 7,
        threads: 3,
        settle: false,
        compile: &plant,
        stop: &Control::new(),
    };
    sim::simulate::simulate(&order, writer(&path, ""), &mut |_| {}).expect("a record");
    check(&path);
}

#[test]
fn an_estimate_takes_the_steps_that_every_implementation_takes() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("estimated.wsr");
    let order =
        sim::estimate::Order { stages: &shared::scenario().stages(), compile: &plant, threads: 1 };
    let failure = sim::estimate::record(&order, writer(&path, ""), &mut |_| {});
    assert_eq!(failure.expect("a record"), None);
    check(&path);
}

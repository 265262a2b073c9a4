//! Simulated figures against closed forms: the interval of each must contain the known value and be narrow enough to be
//! a test. Seeds are fixed, so results are deterministic.

mod networks;
mod stations;

use sim::Ps;
use sim::engine::Snapshot;
use sim::model::*;
use sim::statistics::ConfidenceInterval;
use sim::study::{Length, Study, StudyPlan, study};

/// Exponential with this mean in microseconds.
fn exponential(micros: f64) -> Law {
    Law::Exponential(Ps((micros * 1e6) as u64))
}

/// A network with one open load through one station: Poisson arrivals with this mean gap in microseconds.
fn open(station: Station, gap: f64, service: Law) -> Network {
    let mut network = Network::new();
    let station = network.station(station);
    let class = Class::read(4096, vec![Hop::visit(station, service)]);
    network.load(Load::open(exponential(gap), 1 << 16, class));
    network
}

/// Half a second: several hundred thousand I/Os at microsecond gaps.
fn simulated(network: &Network) -> Study {
    simulated_for(network, Ps::millis(500))
}

fn simulated_for(network: &Network, measured: Ps) -> Study {
    let length = Length::Fixed { warmup: Ps::millis(20), measured };
    study(network, &StudyPlan { seed: 1, length, runs: 1, threads: 1 }).unwrap()
}

/// Mean residence time at the station, in seconds.
fn stay(station: usize) -> impl Fn(&Snapshot) -> (f64, f64) {
    move |span| {
        let tally = &span.stations[station];
        (tally.stayed as f64 / 1e12, tally.departures as f64)
    }
}

/// Mean number at the station.
fn present(station: usize) -> impl Fn(&Snapshot) -> (f64, f64) {
    move |span| (span.stations[station].present as f64, span.at.0 as f64)
}

/// Mean busy servers.
fn busy(station: usize) -> impl Fn(&Snapshot) -> (f64, f64) {
    move |span| (span.stations[station].busy as f64, span.at.0 as f64)
}

/// Completed I/Os of the class a second.
fn throughput(class: usize) -> impl Fn(&Snapshot) -> (f64, f64) {
    move |span| (span.classes[class].tally.departures as f64, span.at.as_secs_f64())
}

/// Mean response time of the class, in seconds.
fn response(class: usize) -> impl Fn(&Snapshot) -> (f64, f64) {
    move |span| {
        let class = &span.classes[class];
        (class.responded as f64 / 1e12, class.tally.departures as f64)
    }
}

/// The figure's 99.9% interval contains the true value, and is narrow.
#[track_caller]
fn check(study: &Study, what: &str, figure: impl Fn(&Snapshot) -> (f64, f64), truth: f64) {
    let estimate: ConfidenceInterval = study.estimate(0.999, figure).expect("something happened");
    assert!(estimate.holds(truth), "{what}: {truth} is not in {estimate:?}");
    assert!(estimate.relative() < 0.15, "{what}: {estimate:?} says too little");
}

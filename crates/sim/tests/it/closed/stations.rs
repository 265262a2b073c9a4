//! Single stations.

use super::*;
use sim::analytic::{SteadyState, finite, many_servers, priorities, repairman, single_server};

/// Compares all known figures of the first station.
#[track_caller]
fn steady(study: &Study, servers: f64, truth: Option<SteadyState>) {
    let truth = truth.expect("less arrives than can be served");
    check(study, "time at the station", stay(0), truth.response);
    check(study, "present", present(0), truth.present);
    check(study, "throughput", throughput(0), truth.throughput);
    check(study, "utilization", busy(0), truth.utilization * servers);
}

#[test]
fn mm1() {
    for load in [0.5, 0.8] {
        let study = simulated(&open(Station::SINGLE, 2.0 / load, exponential(2.0)));
        steady(&study, 1.0, single_server(load / 2e-6, 2e-6, 1.0));
        // Response times are exponential: a percentile is known too, up to the bin width.
        let p99 = study.response(0).unwrap().quantile(0.99).unwrap();
        let truth = 2e-6 / (1.0 - load) * 100f64.ln();
        assert!((p99.as_secs_f64() / truth - 1.0).abs() < 0.05, "{p99:?} and {truth}");
    }
}

#[test]
fn mmc() {
    for (servers, load) in [(2, 0.7), (8, 0.9), (32, 0.8)] {
        let gap = 8.0 / (f64::from(servers) * load);
        let study = simulated(&open(Station::many(servers), gap, exponential(8.0)));
        steady(&study, f64::from(servers), many_servers(1e6 / gap, 8e-6, servers));
    }
}

#[test]
fn md1() {
    let study = simulated(&open(Station::SINGLE, 2.5, Law::Constant(Ps::micros(2))));
    steady(&study, 1.0, single_server(1e6 / 2.5, 2e-6, 0.0));
}

#[test]
fn mg1() {
    let table = Table::new(&[1, 1, 1, 1, 6].map(Ps::micros)).unwrap();
    let laws = [
        Law::Erlang { phases: 4, mean: Ps::micros(2) },
        Law::Uniform(Ps::micros(1), Ps::micros(3)),
        Law::Hyper { first: 0.9, means: [Ps::micros(1), Ps::micros(11)] },
        Law::Table(table),
    ];
    for law in laws {
        assert!((law.mean() - 2e6).abs() < 1.0, "{law:?}");
        // Times that vary most need the longest.
        let study = simulated_for(&open(Station::SINGLE, 3.0, law.clone()), Ps::secs(1));
        steady(&study, 1.0, single_server(1e6 / 3.0, 2e-6, law.scv()));
    }
}

#[test]
fn processor_sharing_is_insensitive_to_the_distribution() {
    for law in [
        Law::Constant(Ps::micros(2)),
        exponential(2.0),
        Law::Hyper { first: 0.9, means: [Ps::micros(1), Ps::micros(11)] },
    ] {
        let study = simulated(&open(Station::Sharing { servers: 1 }, 3.0, law));
        check(&study, "time", stay(0), 2e-6 / (1.0 - 2.0 / 3.0));
        check(&study, "utilization", busy(0), 2.0 / 3.0);
    }
}

#[test]
fn one_link_is_a_shared_server() {
    let mut network = Network::new();
    let link = network.station(Station::Links { rates: vec![1_000_000_000] });
    let cross = Hop::Cross { station: link, links: [0].into(), scale: 1.0, extra: 48 };
    network.load(Load::open(exponential(3.0), 1 << 16, Class::read(1952, vec![cross])));
    let study = simulated(&network);
    check(&study, "time", stay(0), 2e-6 / (1.0 - 2.0 / 3.0));
    let bytes = |span: &Snapshot| (span.classes[0].tally.bytes[0] as f64, span.at.as_secs_f64());
    check(&study, "bytes a second", bytes, 1952.0 * 1e6 / 3.0);
}

#[test]
fn mm1k_loses_what_erlang_says() {
    for (servers, room, gap) in [(1, 5, 2.5), (1, 1, 2.0), (3, 3, 1.0), (2, 10, 0.8)] {
        let station = Station::finite(servers, room, Full::Lose);
        let study = simulated(&open(station, gap, exponential(2.0)));
        let truth = finite(1e6 / gap, 2e-6, servers, room).unwrap();
        steady(&study, f64::from(servers), Some(truth));
        let lost = |span: &Snapshot| {
            let tally = &span.classes[0].tally;
            (tally.lost as f64, tally.arrivals as f64)
        };
        check(&study, "lost", lost, truth.lost);
    }
}

#[test]
fn machines_are_repaired() {
    for (machines, servers) in [(4, 1), (10, 3)] {
        let mut network = Network::new();
        let station = network.station(Station::many(servers));
        let class = Class::read(0, vec![Hop::visit(station, exponential(2.0))]);
        network.load(Load::closed(machines, exponential(9.0), class));
        let truth = repairman(machines, 9e-6, 2e-6, servers);
        steady(&simulated(&network), f64::from(servers), truth);
    }
}

#[test]
fn tokens_held_over_a_delay_are_servers() {
    let mut network = Network::new();
    let delay = network.station(Station::Delay);
    let pool = network.pool(Pool { tokens: 4 });
    let route = vec![
        Hop::Take { pool, tokens: 1 },
        Hop::visit(delay, exponential(8.0)),
        Hop::Give { pool, tokens: 1 },
    ];
    network.load(Load::open(exponential(2.5), 1 << 16, Class::read(0, route)));
    let study = simulated(&network);
    let truth = many_servers(1e6 / 2.5, 8e-6, 4).unwrap();
    check(&study, "response", response(0), truth.response);
    let held = |span: &Snapshot| (span.pools[0].busy as f64, span.at.0 as f64);
    check(&study, "tokens held", held, truth.utilization * 4.0);
    let waiting = |span: &Snapshot| (span.pools[0].present as f64, span.at.0 as f64);
    check(&study, "waiting for tokens", waiting, truth.present - truth.utilization * 4.0);
}

#[test]
fn a_limit_of_the_source_acts_as_servers_before_the_network() {
    let mut network = Network::new();
    let delay = network.station(Station::Delay);
    let class = Class::read(0, vec![Hop::visit(delay, exponential(8.0))]);
    network.load(Load::open(exponential(2.5), 4, class));
    let study = simulated(&network);
    let truth = many_servers(1e6 / 2.5, 8e-6, 4).unwrap();
    check(&study, "from when it was due", response(0), truth.response);
    check(&study, "from issue", stay(0), 8e-6);
}

#[test]
fn the_highest_priority_waits_less() {
    let mut network = Network::new();
    let station = network.station(Station::SINGLE);
    let class =
        |priority, law| Class { priority, ..Class::read(0, vec![Hop::visit(station, law)]) };
    let classes = [class(0, exponential(2.0)), class(3, Law::Constant(Ps::micros(3)))];
    for (class, gap) in classes.into_iter().zip([8.0, 6.0]) {
        network.load(Load::open(exponential(gap), 1 << 16, class));
    }
    let study = simulated(&network);
    let truth = priorities(&[(1e6 / 8.0, 2e-6, 1.0), (1e6 / 6.0, 3e-6, 0.0)]).unwrap();
    check(&study, "first", response(0), truth[0]);
    check(&study, "second", response(1), truth[1]);
}

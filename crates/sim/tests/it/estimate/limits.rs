//! The bottlenecks that the estimator names; and that like elements are solved once.

use crate::estimate::arrays::plant_of;
use crate::estimate::labs::*;
use sim::estimate::{Estimate, LimitedBy, estimate, sensitivities};
use sim::model::*;
use sim::plant::Plant;

fn names(plant: &Plant, estimate: &Estimate, place: usize) -> Vec<String> {
    match &estimate.limits[place].limit {
        LimitedBy::Hops(hops) => hops.iter().map(|hop| plant.hops[*hop].name.clone()).collect(),
        other => vec![format!("{other:?}")],
    }
}

#[track_caller]
fn check(plant: &Plant, chain: &[&[&str]]) -> Estimate {
    let estimate = estimate(plant);
    for (place, wanted) in chain.iter().enumerate() {
        assert_eq!(names(plant, &estimate, place), *wanted, "{place}: {:?}", estimate.limits);
    }
    estimate
}

#[test]
fn the_chain_goes_from_the_slowest_to_the_next() {
    let stations = [
        (Station::SINGLE, constant(100)),
        (Station::SINGLE, constant(60)),
        (Station::many(2), constant(160)),
    ];
    let plant = line(&stations, 64, constant(10));
    let found = check(&plant, &[&["s0"], &["s2"], &["s1"]]);
    assert!((found.limits[0].utilization - 1.0).abs() < 0.01, "{:?}", found.limits);
    assert!((found.limits[1].iops / 12_500.0 - 1.0).abs() < 0.02, "{:?}", found.limits);
}

#[test]
fn the_load_is_the_limit() {
    let stations = [(Station::SINGLE, constant(100)), (Station::Delay, constant(900))];
    let plant = line(&stations, 2, constant(0));
    let found = check(&plant, &[&["Depth"], &["Depth"], &["Depth"]]);
    assert_eq!(found.limits[0].fullest, Some(0));
    assert!((found.limits[0].headroom - 4.0).abs() < 0.1, "{:?}", found.limits);
    // Eight outstanding exceed ten stations in series, doubled three times.
    check(&line(&stations, 6, constant(0)), &[&["Depth"], &["s0"]]);
}

#[test]
fn an_open_load_below_capacity_is_carried() {
    let mut lab = Lab::default();
    let server = lab.station("server", Station::SINGLE);
    let load =
        |gap| Load::open(gap, 256, Class::read(4096, vec![Hop::visit(server, exponential(100))]));
    lab.issuer("clock", load(exponential(200)));
    let found = check(&lab.plant, &[&["Rate"]]);
    assert!((found.limits[0].headroom - 1.0).abs() < 0.01);
    lab.issuer("more", load(exponential(150)));
    let found = check(&lab.plant, &[&["server"]]);
    assert!(found.issuers.iter().all(|issuer| issuer.response.is_none()), "{:?}", found.issuers);
}

#[test]
fn a_queue_limit_before_a_delay_is_the_limit() {
    let mut lab = Lab::default();
    let pool = lab.pool("queue", 4);
    let wire = lab.station("wire", Station::Delay);
    let route = vec![
        Hop::Take { pool, tokens: 1 },
        Hop::visit(wire, constant(200)),
        Hop::Give { pool, tokens: 1 },
    ];
    lab.issuer("worker", Load::closed(64, constant(10), Class::read(4096, route)));
    let found = check(&lab.plant, &[&["queue"], &["queue"], &["queue"]]);
    assert!((found.iops / 20_000.0 - 1.0).abs() < 0.01, "{}", found.iops);
    assert!((found.limits[1].iops / 40_000.0 - 1.0).abs() < 0.01, "{:?}", found.limits);
    assert!(found.hops[0].slots_used.is_some_and(|used| used > 3.9), "{:?}", found.hops);
}

/// Two equal links in series: doubling one of them gains nothing.
#[test]
fn two_full_hops_are_both_named() {
    let mut lab = Lab::default();
    let wires = lab.links(&["near", "far", "wide"], &[400_000_000, 400_000_000, 800_000_000]);
    let cross = Hop::Cross { station: wires, links: [0, 1, 2].into(), scale: 1.0, extra: 0 };
    lab.issuer("stream", Load::closed(16, constant(1), Class::read(65_536, vec![cross])));
    check(&lab.plant, &[&["near", "far"], &["near", "far", "wide"]]);
}

/// The I/O waits for the slower of mirrored copies, and not for background copies.
#[test]
fn copies_take_capacity_but_not_always_time() {
    let mut lab = Lab::default();
    let front = lab.station("front", Station::Delay);
    let cache = lab.pool("cache", 1000);
    let disk = lab.station("disk", Station::SINGLE);
    let mirror = lab.station("mirror", Station::Delay);
    let route = vec![
        Hop::Take { pool: cache, tokens: 1 },
        Hop::Together {
            routes: vec![
                vec![Hop::visit(front, constant(100))],
                vec![Hop::visit(mirror, constant(150))],
            ],
        },
        Hop::Fork {
            route: [Hop::visit(disk, constant(50)), Hop::Give { pool: cache, tokens: 1 }].into(),
        },
    ];
    lab.issuer("worker", Load::closed(2, constant(50), Class::write(4096, route.clone())));
    let found = check(&lab.plant, &[&["Depth"]]);
    assert!((found.iops / 10_000.0 - 1.0).abs() < 0.02, "{}", found.iops);
    assert!((found.hops[2].utilization - 0.5).abs() < 0.02, "{:?}", found.hops);
    lab.issuer("more", Load::closed(8, constant(50), Class::write(4096, route)));
    let found = check(&lab.plant, &[&["disk"]]);
    assert!((found.iops / 20_000.0 - 1.0).abs() < 0.03, "{}", found.iops);
}

/// Six VMs with ten disks each, a LUN of sixteen disks behind each: the shape of a large lab.
pub fn large() -> Plant {
    let mut lab = Lab::default();
    let host = lab.station("host", Station::many(40));
    for vm in 0..6 {
        let cpu = lab.station(&format!("vm{vm}.cpu"), Station::many(4));
        let mut classes = Vec::new();
        for disk in 0..10 {
            let queue = lab.pool(&format!("vm{vm}.disk{disk}"), 64);
            let lun = lab.pool(&format!("lun{vm}.{disk}"), 32);
            let wires = lab.links(&[&format!("port{vm}.{disk}")], &[820_000_000]);
            let first = lab.network().station(Station::SINGLE);
            for _ in 1..16 {
                lab.network().station(Station::SINGLE);
            }
            let demand = Demand { time: exponential(5_400), per_byte: 0.0 };
            classes.push(Class::read(
                8192,
                vec![
                    Hop::Take { pool: queue, tokens: 1 },
                    Hop::visit(cpu, constant(8)),
                    Hop::visit(host, constant(20)),
                    Hop::Take { pool: lun, tokens: 1 },
                    Hop::Skip { chance: 0.5, hops: 1 },
                    Hop::Spread { first, count: 16, demand },
                    Hop::Cross { station: wires, links: [0].into(), scale: 1.02, extra: 100 },
                    Hop::Give { pool: lun, tokens: 1 },
                    Hop::Give { pool: queue, tokens: 1 },
                ],
            ));
        }
        let source = Source::Closed { customers: 160, think: Law::ZERO, shares: vec![1.0; 10] };
        lab.issuer(&format!("vm{vm}"), Load::of(source, classes));
    }
    lab.plant
}

#[test]
fn like_elements_are_solved_once() {
    let plant = large();
    let found = estimate(&plant);
    println!("{:?}", found.work);
    assert_eq!((found.work.loads, found.work.places), (1, 6), "{:?}", found.work);
    assert!(found.work.rounds * found.work.visits < 1_000_000, "{:?}", found.work);
    let spread = |of: fn(&sim::estimate::HopEstimate) -> f64, from: &str| {
        let hops = plant.hops.iter().zip(&found.hops).filter(|(hop, _)| hop.name.starts_with(from));
        let figures: Vec<f64> = hops.map(|(_, hop)| of(hop)).collect();
        figures.iter().fold(0.0f64, |m, f| m.max(*f))
            - figures.iter().fold(1e9f64, |m, f| m.min(*f))
    };
    assert_eq!(spread(|hop| hop.utilization, "port"), 0.0);
    // Half of the I/Os go to 960 disks of 185 I/Os a second each.
    assert!(found.iops < 2.0 * 960.0 / 5.4e-3, "{}", found.iops);
}

#[test]
fn the_slowest_matters_most() {
    let stations = [(Station::SINGLE, constant(100)), (Station::SINGLE, constant(10))];
    let matters = sensitivities(&line(&stations, 32, constant(10)));
    assert!((matters[0].elasticity - 1.0).abs() < 0.05, "{matters:?}");
    assert!(matters[1].elasticity.abs() < 0.02, "{matters:?}");
}

/// One of every element that a network can hold, at the limits of valid values.
#[test]
fn odd_networks_have_an_answer() {
    let plants = [
        Plant::default(),
        line(&[], 1, constant(0)),
        line(&[(Station::SINGLE, Law::ZERO)], 1_000_000, constant(0)),
        line(&[(Station::Batch { count: 4, within: us(20) }, Law::ZERO)], 2, constant(0)),
        line(
            &[(Station::Sorted { servers: 1, gain: vec![1.0, 1.5, 2.0] }, constant(5))],
            9,
            constant(0),
        ),
        line(&[(Station::many(100_000), exponential(3))], 4, constant(1)),
    ];
    for plant in plants {
        let found = estimate(&plant);
        assert!(found.iops.is_finite() && found.iops >= 0.0, "{found:?}");
        assert_eq!(found.limits.len(), 3);
    }
}

/// A load over `paths` that it takes in turn, each with a queue limit, an adapter that `shared` paths have in common, and a
/// port; with the first of them so much slower.
fn over_paths((paths, shared): (usize, usize), source: fn(Class) -> Load, slower: f64) -> Plant {
    let mut lab = Lab::default();
    let adapters: Vec<StationId> = (0..paths / shared)
        .map(|number| lab.station(&format!("hba{number}"), Station::SINGLE))
        .collect();
    let ports: Vec<StationId> =
        (0..paths).map(|number| lab.station(&format!("port{number}"), Station::SINGLE)).collect();
    let cpu = lab.station("cpu", Station::many(4));
    for vm in 0..6 {
        let selector = lab.network().selector(Selector::new(Policy::RoundRobin { ios: 1 }));
        let limits: Vec<PoolId> = adapters
            .iter()
            .enumerate()
            .map(|(at, _)| lab.pool(&format!("lun{vm}.{at}"), 8))
            .collect();
        // Each begins with another path.
        let arms = (0..paths).map(|path| (path + vm) % paths).map(|path| {
            let time = if path == 0 { 40.0 * (1.0 + slower) } else { 40.0 };
            let time = Law::Exponential(sim::Ps((time * 1e6) as u64));
            vec![
                Hop::Take { pool: limits[path / shared], tokens: 1 },
                Hop::visit(adapters[path / shared], constant(3)),
                Hop::visit(ports[path], time),
                Hop::Give { pool: limits[path / shared], tokens: 1 },
            ]
        });
        let arms = arms.collect();
        let route = vec![Hop::visit(cpu, constant(5)), Hop::Branch { selector, arms }];
        lab.issuer(&format!("vm{vm}"), source(Class::read(4096, route)));
    }
    lab.plant
}

/// Paths that are taken in turn are alike whichever comes first, and are solved as one; the answer is that of paths of which
/// one differs by nothing that matters.
#[test]
fn paths_in_turn_are_solved_as_one() {
    let closed = |class| Load::closed(24, constant(20), class);
    let open = |class| Load::open(exponential(50), 256, class);
    for source in [closed as fn(Class) -> Load, open] {
        for paths in [(4, 1), (8, 4)] {
            let alike = estimate(&over_paths(paths, source, 0.0));
            assert_eq!((alike.work.loads, alike.work.visits), (1, 4), "{:?}", alike.work);
            let apart = estimate(&over_paths(paths, source, 1e-5));
            assert_eq!(apart.work.visits, 1 + 3 * paths.0, "{:?}", apart.work);
            let times = [&alike, &apart].map(|of| of.latency().unwrap_or_default());
            assert!((alike.iops / apart.iops - 1.0).abs() < 2e-3, "{} {}", alike.iops, apart.iops);
            assert!((times[0] / times[1] - 1.0).abs() < 2e-2, "{times:?}");
        }
    }
}

/// Customers who choose one of some like queues at random: a balanced network, whose throughput is known.
#[test]
fn paths_in_turn_share_the_load_as_in_a_balanced_network() {
    for (customers, queues) in [(4, 4), (12, 4), (24, 8)] {
        let mut lab = Lab::default();
        let selector = lab.network().selector(Selector::new(Policy::RoundRobin { ios: 1 }));
        let arms = (0..queues).map(|number| {
            vec![Hop::visit(lab.station(&format!("q{number}"), Station::SINGLE), exponential(100))]
        });
        let arms = arms.collect();
        let route = vec![Hop::Branch { selector, arms }];
        lab.issuer("worker", Load::closed(customers, constant(0), Class::read(4096, route)));
        let found = estimate(&lab.plant);
        assert_eq!(found.work.visits, 1, "{:?}", found.work);
        let (customers, queues) = (f64::from(customers), f64::from(queues));
        let exact = customers / (customers + queues - 1.0) * queues / 100e-6;
        assert!((found.iops / exact - 1.0).abs() < 0.03, "{} {exact}", found.iops);
    }
}

/// The adapters at both ends of a stream are alike, and solved as one: doubled, they carry twice as much at most.
#[test]
fn adapters_that_are_alike_are_doubled_once() {
    let figure = |name: &str, value: &str| {
        format!("{{ name = \"{name}\", value = \"{value}\", source = \"t\", kind = \"assumed\" }}")
    };
    let nic = [
        ("port_rate", "10gbe"),
        ("cpu_per_message", "1 ns"),
        ("cpu_per_packet_offload", "1 ns"),
        ("cpu_per_byte", "0.01 ps/B"),
        ("latency", "1 ns"),
    ]
    .map(|(name, value)| figure(name, value))
    .join(", ");
    let lab = format!(
        "[scenario]\ntitle = \"t\"\n[[part]]\nname = \"n\"\nkind = \"nic\"\nfigures = [{nic}]\n[[part]]\nname = \"s\"\n\
         kind = \"switch\"\nfigures = [{}]\n[[switch]]\nname = \"s\"\npart = \"s\"\n[[host]]\nname = \"h{{1..2}}\"\n\
         adapters = [{{ name = \"nic\", part = \"n\" }}]\n[[link]]\nfrom = \"h1.nic\"\nto = \"s\"\nlength_m = 10\n[[link]]\n\
         from = \"h2.nic\"\nto = \"s\"\nlength_m = 1\n[[receiver]]\nname = \"far\"\nhost = \"h2\"\nfrom = \"h1\"\n[workload.w]\n\
         kind = \"net\"\nload = \"tcp\"\nstreams = 1\nmessage = \"64KiB\"\n[plan]\nworkload = \"w\"\non = \"far\"\nmeasure = \"2s\"\n",
        figure("port_rate", "10gbe"),
    );
    let found = estimate(&plant_of(lab));
    for chain in found.limits.windows(2) {
        assert!(chain[1].iops < 2.01 * chain[0].iops, "{:?}", found.limits);
    }
}

//! The estimator against closed forms and against the figures that `truth.py` beside it prints: simulators and integrals
//! in plain Python that share no code with the estimator, the event engine or the analytic solvers.

use crate::estimate::labs::*;
use sim::Ps;
use sim::estimate::{Estimate, LimitedBy, estimate, experiments};
use sim::model::*;

/// Outstanding I/Os that never limit.
const ENDLESS: u32 = 1 << 20;

#[track_caller]
pub fn near(what: &str, value: f64, truth: f64, within: f64) {
    println!("{what:<48} {value:>12.1} of {truth:>12.1} ({:+.1}%)", (value / truth - 1.0) * 100.0);
    assert!((value / truth - 1.0).abs() <= within, "{what}: {value} and not {truth}");
}

/// A gap between arrivals that loads `servers` of 100 us each.
fn arrivals(load: f64, servers: f64) -> Law {
    Law::Exponential(Ps((100.0 / load / servers * 1e6).round() as u64))
}

fn laws() -> [(&'static str, Law); 4] {
    let wide = Law::Hyper { first: 0.9, means: [us(50), us(550)] };
    let narrow = Law::Uniform(us(50), us(150));
    [
        ("constant", constant(100)),
        ("uniform", narrow),
        ("exponential", exponential(100)),
        ("wide", wide),
    ]
}

/// One open load on this route.
fn open(lab: &mut Lab, name: &str, gap: Law, limit: u32, route: Vec<Hop>) {
    lab.issuer(name, Load::open(gap, limit, Class::read(4096, route)));
}

/// Mean microseconds from issue to end of an issuer's I/Os; by Little's law the number under way follows.
fn service(of: &Estimate, issuer: usize) -> f64 {
    of.issuers[issuer].service * 1e6
}

pub fn response(of: &Estimate, issuer: usize) -> f64 {
    of.issuers[issuer].response.expect("all is carried") * 1e6
}

/// The formula of Pollaczek and Khinchine, for classes of (arrivals a microsecond, mean, squared variation): the wait.
fn waits(classes: &[(f64, f64, f64)]) -> f64 {
    let load: f64 = classes.iter().map(|(rate, mean, _)| rate * mean).sum();
    let rest: f64 =
        classes.iter().map(|(rate, mean, scv)| rate * mean * mean * (1.0 + scv) / 2.0).sum();
    rest / (1.0 - load)
}

#[test]
fn one_server_up_to_its_capacity() {
    for (name, law) in laws() {
        for load in [0.3, 0.7, 0.9, 0.97, 0.98, 0.995] {
            let mut lab = Lab::default();
            let server = lab.station("server", Station::SINGLE);
            open(
                &mut lab,
                "w",
                arrivals(load, 1.0),
                ENDLESS,
                vec![Hop::visit(server, law.clone())],
            );
            let of = estimate(&lab.plant);
            let truth = 100.0 + waits(&[(load / 100.0, 100.0, law.scv())]);
            near(&format!("M/G/1 {name} at {load}"), response(&of, 0), truth, 0.01);
            near("  service", service(&of, 0), truth, 0.01);
            assert_eq!(of.limits[0].limit, LimitedBy::Rate);
        }
    }
}

/// Which disk an I/O needs is drawn, so that each is a queue of its own.
#[test]
fn eight_disks() {
    for (name, law) in laws() {
        for load in [0.5, 0.9, 0.98, 0.995] {
            let mut lab = Lab::default();
            let first = lab.station("disk0", Station::SINGLE);
            (1..8).for_each(|n| _ = lab.station(&format!("disk{n}"), Station::SINGLE));
            let demand = Demand::of(law.clone());
            let route = vec![Hop::Spread { first, count: 8, demand }];
            open(&mut lab, "w", arrivals(load, 8.0), ENDLESS, route);
            let truth = 100.0 + waits(&[(load / 100.0, 100.0, law.scv())]);
            near(
                &format!("8 disks, {name} at {load}"),
                service(&estimate(&lab.plant), 0),
                truth,
                0.02,
            );
        }
    }
}

#[test]
fn several_servers() {
    // As printed by `truth.py`.
    let constant_times =
        [(2, [149.4, 314.0, 1403.0]), (4, [119.0, 199.7, 743.4]), (8, [106.3, 144.8, 416.0])];
    let uniform_times =
        [(2, [153.5, 334.0, 1504.8]), (4, [120.6, 209.0, 793.8]), (8, [106.8, 149.1, 440.9])];
    let of_law = [(constant(100), constant_times), (Law::Uniform(us(50), us(150)), uniform_times)];
    for (law, by_servers) in of_law {
        for (servers, truths) in by_servers {
            for (load, truth) in [0.7, 0.9, 0.98].into_iter().zip(truths) {
                let mut lab = Lab::default();
                let server = lab.station("server", Station::many(servers));
                let route = vec![Hop::visit(server, law.clone())];
                open(&mut lab, "w", arrivals(load, f64::from(servers)), ENDLESS, route);
                let what = format!("M/G/{servers} {law:?} at {load}");
                near(&what, service(&estimate(&lab.plant), 0), truth, 0.08);
            }
        }
    }
}

/// Erlang's formula by its recursion.
fn erlang(servers: u32, load: f64) -> f64 {
    let offered = load * f64::from(servers);
    let blocked = (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
    let waits = blocked / (1.0 - load * (1.0 - blocked));
    100.0 + waits * 100.0 / (f64::from(servers) * (1.0 - load))
}

#[test]
fn several_exponential_servers() {
    for servers in [2, 3, 16, 100] {
        for load in [0.5, 0.9, 0.98, 0.995] {
            let mut lab = Lab::default();
            let server = lab.station("server", Station::many(servers));
            let route = vec![Hop::visit(server, exponential(100))];
            open(&mut lab, "w", arrivals(load, f64::from(servers)), ENDLESS, route);
            let of = estimate(&lab.plant);
            near(&format!("M/M/{servers} at {load}"), service(&of, 0), erlang(servers, load), 0.01);
        }
    }
}

/// Stations in a row: of exponential times each is as if alone (Jackson); behind a constant one arrivals are smoother.
#[test]
fn stations_in_a_row() {
    for load in [0.8, 0.95, 0.995] {
        let mut lab = Lab::default();
        let mut route = Vec::new();
        for (name, kind, mean) in [
            ("a", Station::SINGLE, 100),
            ("b", Station::many(4), 400),
            ("c", Station::Delay, 700),
            ("d", Station::SINGLE, 60),
        ] {
            let id = lab.station(name, kind);
            route.push(Hop::visit(id, exponential(mean)));
        }
        open(&mut lab, "w", arrivals(load, 1.0), ENDLESS, route);
        let small = 60.0 / (1.0 - 0.6 * load);
        let truth = 100.0 / (1.0 - load) + 4.0 * (erlang(4, load) - 100.0) + 400.0 + 700.0 + small;
        near(&format!("in a row at {load}"), service(&estimate(&lab.plant), 0), truth, 0.01);
    }
    for (load, truth) in [(0.8, 700.7), (0.95, 2582.7)] {
        let mut lab = Lab::default();
        let (a, b) = (lab.station("a", Station::SINGLE), lab.station("b", Station::SINGLE));
        let route = vec![Hop::visit(a, constant(100)), Hop::visit(b, exponential(100))];
        open(&mut lab, "w", arrivals(load, 1.0), ENDLESS, route);
        near(&format!("M/D/1, ./M/1 at {load}"), service(&estimate(&lab.plant), 0), truth, 0.01);
    }
}

/// Three open loads of different sizes at one server, and two of them on one link.
#[test]
fn several_open_loads() {
    for load in [0.6, 0.95, 0.99] {
        let mut lab = Lab::default();
        let server = lab.station("server", Station::SINGLE);
        let sizes = [(20, exponential(20)), (100, constant(100)), (300, exponential(300))];
        let mut classes = Vec::new();
        for (mean, law) in &sizes {
            let rate = load / 3.0 / *mean as f64;
            classes.push((rate, *mean as f64, law.scv()));
            let gap = Law::Exponential(Ps((1e6 / rate).round() as u64));
            open(
                &mut lab,
                &format!("w{mean}"),
                gap,
                ENDLESS,
                vec![Hop::visit(server, law.clone())],
            );
        }
        let of = estimate(&lab.plant);
        for (number, (_, mean, _)) in classes.iter().enumerate() {
            let truth = mean + waits(&classes);
            near(&format!("{mean} us of three at {load}"), service(&of, number), truth, 0.02);
        }
        let mut lab = Lab::default();
        let wire = lab.links(&["wire"], &[100_000_000]);
        for bytes in [10_000, 50_000] {
            let gap = Law::Exponential(Ps((f64::from(bytes) * 1e4 * 2.0 / load).round() as u64));
            let cross = Hop::Cross { station: wire, links: [0].into(), scale: 1.0, extra: 0 };
            lab.issuer("w", Load::open(gap, ENDLESS, Class::read(bytes, vec![cross])));
        }
        let of = estimate(&lab.plant);
        // Processor sharing: each I/O takes 1 / (1 - load) times its own time, whatever the sizes.
        near("shared wire, small", service(&of, 0), 100.0 / (1.0 - load), 0.01);
        near("shared wire, large", service(&of, 1), 500.0 / (1.0 - load), 0.01);
    }
}

/// Mean value analysis of single servers, exact, by its recursion over the population: throughput a microsecond.
fn exact(demands: &[f64], think: f64, customers: u32) -> f64 {
    let mut present = vec![0.0; demands.len()];
    let mut throughput = 0.0;
    for n in 1..=customers {
        let times: Vec<f64> = demands.iter().zip(&present).map(|(d, q)| d * (1.0 + q)).collect();
        throughput = f64::from(n) / (think + times.iter().sum::<f64>());
        present = times.iter().map(|time| throughput * time).collect();
    }
    throughput
}

/// A closed load beside an open one, of exponential times: the open one takes its share of each server, and what is left
/// serves the closed one (exact for product form).
#[test]
fn closed_and_open_loads() {
    for load in [0.2, 0.5, 0.8, 0.95] {
        for customers in [1, 4, 32] {
            let mut lab = Lab::default();
            let shared = lab.station("shared", Station::SINGLE);
            let own = lab.station("own", Station::SINGLE);
            let route = vec![Hop::visit(shared, exponential(100))];
            open(&mut lab, "open", arrivals(load, 1.0), ENDLESS, route);
            let route =
                vec![Hop::visit(shared, exponential(100)), Hop::visit(own, exponential(80))];
            let class = Class::write(4096, route);
            lab.issuer("closed", Load::closed(customers, exponential(200), class));
            let of = estimate(&lab.plant);
            let demands = [100.0 / (1.0 - load), 80.0];
            let throughput = exact(&demands, 200.0, customers);
            let what = format!("{customers} closed beside {load} open");
            let carried: f64 = of.issuers[1].flows.iter().map(|flow| flow.ops).sum();
            near(&what, carried, throughput * 1e6, 0.07);
            // Little: what is at the shared server, of the closed load, delays every arrival of the open one.
            let others = exact_present(&demands, 200.0, customers);
            near("  open", service(&of, 0), 100.0 * (1.0 + others) / (1.0 - load), 0.10);
        }
    }
}

/// Mean customers at the first station.
fn exact_present(demands: &[f64], think: f64, customers: u32) -> f64 {
    let mut present = vec![0.0; demands.len()];
    for n in 1..=customers {
        let times: Vec<f64> = demands.iter().zip(&present).map(|(d, q)| d * (1.0 + q)).collect();
        let throughput = f64::from(n) / (think + times.iter().sum::<f64>());
        present = times.iter().map(|time| throughput * time).collect();
    }
    present[0]
}

#[test]
fn closed_loads_and_their_number() {
    for customers in [1, 2, 8, 64, 512] {
        for think in [0, 2_000] {
            let stations = [100, 80, 30].map(|mean| (Station::SINGLE, exponential(mean)));
            let plant = line(&stations, customers, exponential(think));
            let of = estimate(&plant);
            let truth = exact(&[100.0, 80.0, 30.0], think as f64, customers);
            near(&format!("{customers} closed, think {think}"), of.iops / 1e6, truth, 0.05);
            let under_way = of.iops * (of.issuers[0].service + think as f64 * 1e-6);
            near("  N = X (R + Z)", under_way, f64::from(customers), 1e-6);
        }
    }
}

/// A limit, and within it a delay and an exponential server.
fn a_limit_before_a_delay_and_a_server(tokens: u32) -> (Lab, Vec<Hop>) {
    let mut lab = Lab::default();
    let pool = lab.pool("queue", tokens);
    let (wire, disk) = (lab.station("wire", Station::Delay), lab.station("disk", Station::SINGLE));
    let route = vec![
        Hop::Take { pool, tokens: 1 },
        Hop::visit(wire, constant(100)),
        Hop::visit(disk, exponential(100)),
        Hop::Give { pool, tokens: 1 },
    ];
    (lab, route)
}

/// Queue limits move the queue of an open load, and slow it only where they keep a station idle.
#[test]
fn open_loads_before_queue_limits() {
    // Load, tokens, outstanding, and the mean response and service as printed by `truth.py`.
    let truths = [
        (0.8, 4, 64, 615.9, 615.9),
        (0.9, 8, 1000, 1076.7, 1076.7),
        (0.95, 16, 32, 1986.2, 1646.4),
        (0.97, 64, 100, 3140.5, 3038.2),
    ];
    for (load, tokens, limit, due, issued) in truths {
        let (mut lab, route) = a_limit_before_a_delay_and_a_server(tokens);
        open(&mut lab, "w", arrivals(load, 1.0), limit, route);
        let of = estimate(&lab.plant);
        near(&format!("{tokens} tokens, {limit} outstanding, {load}"), response(&of, 0), due, 0.1);
        near("  service", service(&of, 0), issued, 0.1);
        assert!(
            of.hops[0].slots_used.is_some_and(|used| used <= f64::from(tokens)),
            "{:?}",
            of.hops
        );
    }
}

/// A queue limit before a delay is a server for each I/O that it lets in, whether or not a wide limit is around it.
#[test]
fn a_queue_limit_before_a_delay_is_many_servers() {
    // M/D/c as printed by `truth.py`; M/M/c and M/G/1 in closed form.
    let constant_times =
        [(2, [149.4, 314.0, 1403.0]), (4, [119.0, 199.7, 743.4]), (8, [106.3, 144.8, 416.0])];
    let mut cases = Vec::new();
    for (tokens, truths) in constant_times {
        for (load, truth) in [0.7, 0.9, 0.98].into_iter().zip(truths) {
            cases.push((constant(100), tokens, load, truth));
        }
    }
    for load in [0.5, 0.9, 0.98, 0.995] {
        for tokens in [2, 4, 32] {
            cases.push((exponential(100), tokens, load, erlang(tokens, load)));
        }
        for (_, law) in laws() {
            let truth = 100.0 + waits(&[(load / 100.0, 100.0, law.scv())]);
            cases.push((law, 1, load, truth));
        }
    }
    for (law, tokens, load, truth) in cases {
        for around in [None, Some(64), Some(4096)] {
            let mut lab = Lab::default();
            let outer = around.map(|around| lab.pool("outer", around));
            let pool = lab.pool("queue", tokens);
            let wire = lab.station("wire", Station::Delay);
            let mut route = vec![
                Hop::Take { pool, tokens: 1 },
                Hop::visit(wire, law.clone()),
                Hop::Give { pool, tokens: 1 },
            ];
            if let Some(pool) = outer {
                route.insert(0, Hop::Take { pool, tokens: 1 });
                route.push(Hop::Give { pool, tokens: 1 });
            }
            open(&mut lab, "w", arrivals(load, f64::from(tokens)), ENDLESS, route);
            let of = estimate(&lab.plant);
            let what = format!("{tokens} tokens within {around:?}, {law:?} at {load}");
            near(&what, response(&of, 0), truth, 0.1);
            near("  service", service(&of, 0), truth, 0.1);
        }
    }
}

/// A limit of few before a delay and a server: some of those within are served, some wait.
#[test]
fn few_tokens_before_a_delay_and_a_server() {
    // As printed by `truth.py`.
    for (tokens, load, truth) in
        [(1, 0.4, 695.2), (1, 0.48, 2989.9), (2, 0.6, 472.6), (2, 0.7, 838.5)]
    {
        let (mut lab, route) = a_limit_before_a_delay_and_a_server(tokens);
        open(&mut lab, "w", arrivals(load, 1.0), ENDLESS, route);
        near(&format!("{tokens} tokens, {load}"), response(&estimate(&lab.plant), 0), truth, 0.1);
    }
}

/// Few that hold tokens do not meet themselves at the disks: with exponential times on one of `disks` each, the limit is as many
/// customers of a network of product form, however many wait before it.
#[test]
fn a_limit_of_few_before_many_disks() {
    for disks in [4, 8, 24] {
        for tokens in [1, 2, 3, 4, 8] {
            let mut lab = Lab::default();
            let pool = lab.pool("lun", tokens);
            let station = || Station::Sorted { servers: 1, gain: vec![1.0] };
            let first = lab.station("disk0", station());
            (1..disks).for_each(|n| _ = lab.station(&format!("disk{n}"), station()));
            let demand = Demand::of(exponential(100));
            let route = vec![
                Hop::Take { pool, tokens: 1 },
                Hop::Spread { first, count: disks, demand },
                Hop::Give { pool, tokens: 1 },
            ];
            lab.issuer("w", Load::closed(64, Law::ZERO, Class::read(4096, route)));
            let (few, many) = (f64::from(tokens), f64::from(disks));
            let truth = 1e4 * few * many / (few + many - 1.0);
            near(&format!("{tokens} at once on {disks}"), estimate(&lab.plant).iops, truth, 0.03);
        }
    }
}

/// A load that sends so many I/Os over one of some links before the next. Each has a station of its own, or one is shared.
fn in_turn(lab: &mut Lab, customers: u32, turn: u32, paths: u16, together: bool) {
    let policy = Policy::RoundRobin { ios: turn };
    let selector = lab.network().selector(Selector::new(policy));
    let rate = 100_000_000;
    let cross = |station, link: u16| {
        vec![Hop::Cross { station, links: [link].into(), scale: 1.0, extra: 0 }]
    };
    let names: Vec<String> = (0..paths).map(|path| format!("path{path}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let arms = match together {
        true => {
            let station = lab.links(&names, &vec![rate; names.len()]);
            (0..paths).map(|path| cross(station, path)).collect()
        }
        false => names.iter().map(|name| cross(lab.links(&[name], &[rate]), 0)).collect(),
    };
    let route = vec![Hop::Branch { selector, arms }];
    lab.issuer("w", Load::closed(customers, Law::ZERO, Class::read(100_000, route)));
}

/// Of paths that each get many I/Os in a row, those of other turns idle.
#[test]
fn paths_that_are_used_in_turn() {
    // How many paths work on average, as printed by `truth.py`: a transfer takes a path for 1 ms.
    let truths = [
        (64, 1000, 2, 1.026),
        (64, 100, 2, 1.391),
        (64, 200, 4, 1.222),
        (4, 1000, 2, 1.002),
        (16, 40, 4, 1.184),
        (64, 8, 4, 3.985),
    ];
    for (customers, turn, paths, truth) in truths {
        for together in [false, true] {
            let what = format!("{customers} in turns of {turn} over {paths}");
            let mut lab = Lab::default();
            in_turn(&mut lab, customers, turn, paths, together);
            let of = estimate(&lab.plant);
            near(&what, of.iops, truth * 1e3, 0.05);
            assert_eq!(of.left_out, [""; 0]);
            let LimitedBy::Hops(hops) = &of.limits[0].limit else { panic!("{:?}", of.limits) };
            assert_eq!(hops.len(), usize::from(paths));
            assert!(of.hops[0].utilization <= truth / f64::from(paths) * 1.03, "{:?}", of.hops);
            // It says that turns limit, where paths have room.
            let has_room = truth / f64::from(paths) < 0.9;
            assert_eq!(of.limits[0].turn, has_room.then_some(f64::from(turn)), "{:?}", of.limits);
            let turns = experiments(&lab.plant).turns;
            assert_eq!(turns.len(), if has_room { usize::from(paths) } else { 0 }, "{turns:?}");
            for said in turns {
                assert_eq!(said.ios, f64::from(turn));
                near("  paths at work", said.paths, truth, 0.05);
            }
            // Loads that have nothing in common do not slow each other.
            in_turn(&mut lab, customers, turn, paths, together);
            near("  twice", estimate(&lab.plant).iops, 2.0 * truth * 1e3, 0.05);
        }
    }
}

/// Turns are named where they limit, and not where paths are full, something else is, or a load is too small.
#[test]
fn turns_that_do_not_limit_are_not_named() {
    let named = |turn: u32, customers: u32, server: Option<u64>| {
        let mut lab = Lab::default();
        let policy = Policy::RoundRobin { ios: turn };
        let selector = lab.network().selector(Selector::new(policy));
        let station = lab.links(&["near", "far"], &[100_000_000; 2]);
        let cross = |link| vec![Hop::Cross { station, links: [link].into(), scale: 1.0, extra: 0 }];
        let mut route = vec![Hop::Branch { selector, arms: vec![cross(0), cross(1)] }];
        if let Some(micros) = server {
            let station = lab.station("server", Station::SINGLE);
            route.push(Hop::visit(station, constant(micros)));
        }
        lab.issuer("w", Load::closed(customers, Law::ZERO, Class::read(100_000, route)));
        (estimate(&lab.plant).limits[0].turn, experiments(&lab.plant).turns.len())
    };
    assert_eq!(named(1000, 16, None), (Some(1000.0), 2));
    assert_eq!(named(1, 16, None), (None, 0), "both paths work");
    assert_eq!(named(1000, 16, Some(2000)), (None, 0), "the server limits");
    let mut fixed = Lab::default();
    let selector = fixed.network().selector(Selector::new(Policy::Fixed));
    let station = fixed.links(&["near", "far"], &[100_000_000; 2]);
    let cross = |link| vec![Hop::Cross { station, links: [link].into(), scale: 1.0, extra: 0 }];
    let route = vec![Hop::Branch { selector, arms: vec![cross(0), cross(1)] }];
    fixed.issuer("w", Load::closed(16, Law::ZERO, Class::read(100_000, route)));
    assert_eq!(estimate(&fixed.plant).limits[0].turn, None);
    assert!(experiments(&fixed.plant).turns.is_empty());
}

/// How turns of several loads fall on the same paths is not estimated, and said.
#[test]
fn turns_that_are_not_followed_are_named() {
    let mut lab = Lab::default();
    let (near, far) = (lab.links(&["near"], &[100_000_000]), lab.links(&["far"], &[100_000_000]));
    for name in ["a", "b"] {
        let policy = Policy::RoundRobin { ios: 1000 };
        let selector = lab.network().selector(Selector::new(policy));
        let cross = |station| Hop::Cross { station, links: [0].into(), scale: 1.0, extra: 0 };
        let route = vec![Hop::Branch { selector, arms: vec![vec![cross(near)], vec![cross(far)]] }];
        lab.issuer(name, Load::closed(16, Law::ZERO, Class::read(100_000, route)));
    }
    let of = estimate(&lab.plant);
    assert!(of.left_out.iter().any(|note| note.contains("turns of round-robin")), "{of:?}");
}

/// A workload whose operations are due like this, before one server.
fn operated(process: workload::Process, law: &Law) -> Lab {
    let spec = workload::Spec {
        arrivals: workload::Arrivals::Open { process, limit: 1 << 20 },
        ..workload::preset("file-server").expect("a preset").spec()
    };
    let target = workload::Extent { size: 1 << 30, block: 512 };
    let (sharer, sharers, start) = (0, 1, clock::Ns::ZERO);
    let place = workload::Placement { targets: vec![target], sharer, sharers, start };
    let mut lab = Lab::default();
    let server = lab.station("server", Station::SINGLE);
    let route = || vec![Hop::visit(server, law.clone())];
    let source = Source::Operations(Box::new(Operations { spec, place, step: 0, worker: 0 }));
    lab.issuer("w", Load::of(source, vec![Class::read(0, route()), Class::write(0, route())]));
    lab
}

/// Even arrivals at one exponential server (GI/M/1).
#[test]
fn even_arrivals() {
    for load in [0.3, 0.5, 0.8, 0.95, 0.99] {
        let mut lab = Lab::default();
        let server = lab.station("server", Station::SINGLE);
        let gap = Law::Constant(Ps((1e8_f64 / load).round() as u64));
        open(&mut lab, "w", gap, ENDLESS, vec![Hop::visit(server, exponential(100))]);
        near(&format!("D/M/1 at {load}"), response(&estimate(&lab.plant), 0), even(load), 0.02);
    }
}

/// Reads and writes of one load come as evenly as all of them.
#[test]
fn even_arrivals_of_reads_and_writes() {
    for load in [0.3, 0.8] {
        let mut lab = Lab::default();
        let server = lab.station("server", Station::SINGLE);
        let route = || vec![Hop::visit(server, exponential(100))];
        let classes = vec![Class::read(4096, route()), Class::write(4096, route())];
        let (gap, shares) = (Law::Constant(Ps((1e8_f64 / load).round() as u64)), vec![0.7, 0.3]);
        lab.issuer("w", Load::of(Source::Open { gap, limit: ENDLESS, shares }, classes));
        near(
            &format!("reads and writes at {load}"),
            response(&estimate(&lab.plant), 0),
            even(load),
            0.02,
        );
    }
}

/// The mean response of GI/M/1 with even arrivals.
fn even(busy: f64) -> f64 {
    let root = (0..1000).fold(0.5, |root: f64, _| (-(1.0 - root) / busy).exp());
    100.0 / (1.0 - root)
}

/// A ramp during all of which a step is measured.
fn ramp(from: f64, to: f64, law: &Law) -> Estimate {
    let over = clock::Ns(10_000_000_000);
    let process = workload::Process::Ramp { from, to, over };
    let mut lab = operated(process, law);
    lab.plant.issuers[0].arrivals =
        record::Loop::Open { rate: process.mean_rate(clock::Ns::ZERO, over) };
    estimate(&lab.plant)
}

/// The mean response of even arrivals at one exponential server of 100 (GI/M/1), each of the rates from 1,000 to 9,000 a second
/// for as long.
fn ramped() -> f64 {
    let all = (0..8000).map(|n| 0.1 + f64::from(n) * 1e-4);
    let (sum, whole) =
        all.fold((0.0, 0.0), |(sum, whole), busy| (sum + busy * even(busy), whole + busy));
    sum / whole
}

/// A ramp is estimated at what it asks for on average, each of its rates as if it lasted; what limits does so at the highest.
#[test]
fn a_ramp_is_estimated_over_its_rates() {
    for (from, to) in [(1000.0, 9000.0), (9000.0, 1000.0)] {
        let of = ramp(from, to, &exponential(100));
        near("a ramp", of.iops, 5000.0, 1e-6);
        near("  asked", of.issuers[0].asked.expect("it is open"), 5000.0, 1e-6);
        near("  in use", of.hops[0].utilization, 0.5, 1e-6);
        near("  response", response(&of, 0), ramped(), 0.1);
        near("  under way", of.hops[0].queue, 5000.0 * of.issuers[0].service, 1e-6);
        assert_eq!(of.limits[0].limit, LimitedBy::Rate);
        near("  headroom at its highest", of.limits[0].headroom, 1.0 / 0.9 - 1.0, 1e-6);
        assert!(of.left_out.iter().any(|note| note.contains("rises or falls")), "{of:?}");
    }
    // Half of the time all are carried, 6,000 a second on average, and half of it 10,000.
    let of = ramp(2000.0, 18_000.0, &constant(100));
    near("a ramp beyond capacity", of.iops, 8000.0, 0.01);
    near("  asked", of.issuers[0].asked.expect("it is open"), 10_000.0, 1e-6);
    assert_eq!(of.issuers[0].response, None);
    assert!(matches!(of.limits[0].limit, LimitedBy::Hops(_)), "{:?}", of.limits);
}

/// Arrivals at one of two rates, at one server: each phase has a queue of its own where it is long, and all have one where
/// phases are short or bring too much.
#[test]
fn arrivals_in_bursts() {
    // Rates, length of a phase, and the mean response with constant and with exponential times, as printed by `truth.py`.
    let truths = [
        ([8000.0, 2000.0], 50_000, [259.4, 411.8]),
        ([8000.0, 2000.0], 5_000, [239.4, 346.6]),
        ([8000.0, 2000.0], 500, [189.9, 249.8]),
        ([6000.0, 0.0], 10_000, [173.3, 241.8]),
        ([15000.0, 1000.0], 5_000, [5990.3, 6065.2]),
    ];
    for ([high, low], length, by_law) in truths {
        for (law, truth) in [constant(100), exponential(100)].into_iter().zip(by_law) {
            let length = clock::Ns(length * 1000);
            let process = workload::Process::Bursts { high, low, burst: length, pause: length };
            let lab = operated(process, &law);
            let what = format!("{high} and {low} a second, {} ms, {law:?}", length.0 / 1_000_000);
            near(&what, response(&estimate(&lab.plant), 0), truth, 0.05);
        }
    }
}

/// More falls due than is carried: as many I/Os as may be outstanding are, and each takes their number over the rate.
#[test]
fn overload_is_littles_law() {
    for (load, limit) in [(1.05, 256), (2.0, 64), (30.0, 1000)] {
        let mut lab = Lab::default();
        let server = lab.station("server", Station::SINGLE);
        open(&mut lab, "w", arrivals(load, 1.0), limit, vec![Hop::visit(server, constant(100))]);
        let of = estimate(&lab.plant);
        near(&format!("overload {load}"), of.iops, 10_000.0, 0.01);
        near("  service", service(&of, 0), 100.0 * f64::from(limit), 0.01);
        assert_eq!(of.issuers[0].response, None);
    }
    // A write cache of 300 slots in front of a disk: the disk sets the pace, and all that may be outstanding is.
    let mut lab = Lab::default();
    let (port, disk) = (lab.station("port", Station::SINGLE), lab.station("disk", Station::SINGLE));
    let (cache, flush) = (lab.pool("cache", 300), lab.pool("flush", 4));
    let (take, give) = (|pool| Hop::Take { pool, tokens: 1 }, |pool| Hop::Give { pool, tokens: 1 });
    let destage = vec![take(flush), Hop::visit(disk, constant(800)), give(flush), give(cache)];
    let route =
        vec![take(cache), Hop::visit(port, exponential(50)), Hop::Fork { route: destage.into() }];
    lab.issuer("w", Load::open(exponential(200), 4096, Class::write(4096, route)));
    let of = estimate(&lab.plant);
    near("full cache", of.iops, 1250.0, 0.02);
    near("  service", of.issuers[0].service, 4096.0 / 1250.0, 0.03);
}

/// A seek by the root of the distance between two random places, 4 ms on average, and half a turn of 2 ms.
fn positioning() -> Law {
    let mut times = Vec::new();
    for a in 0..60 {
        for b in 0..60 {
            for turn in 0..8 {
                let distance =
                    f64::from(i32::abs(a - b)) / 60.0 + f64::from(i32::from(a == b)) / 180.0;
                let time = 7500.0 * distance.sqrt() + (f64::from(turn) + 0.5) * 500.0;
                times.push(Ps((time * 1e6) as u64));
            }
        }
    }
    Law::Table(Table::new(&times).unwrap())
}

/// A stripe over several disks ends with the last of them.
#[test]
fn stripes() {
    let stripe = |count: u32, law: &Law| {
        let mut lab = Lab::default();
        let routes = (0..count).map(|n| {
            let disk = lab.station(&format!("disk{n}"), Station::SINGLE);
            vec![Hop::visit(disk, law.clone())]
        });
        let routes = routes.collect();
        (vec![Hop::Together { routes }], lab)
    };
    for (count, truth) in [(2, 7.154), (4, 8.078), (8, 8.815), (16, 9.397)] {
        let (route, mut lab) = stripe(count, &positioning());
        lab.issuer("w", Load::closed(1, Law::ZERO, Class::read(4096, route)));
        near(
            &format!("largest of {count} positionings"),
            service(&estimate(&lab.plant), 0) / 1e3,
            truth,
            0.03,
        );
    }
    for count in [2, 5, 9] {
        let (route, mut lab) = stripe(count, &exponential(100));
        lab.issuer("w", Load::closed(1, Law::ZERO, Class::read(4096, route)));
        let truth: f64 = (1..=count).map(|n| 100.0 / f64::from(n)).sum();
        near(
            &format!("largest of {count} exponential"),
            service(&estimate(&lab.plant), 0),
            truth,
            0.01,
        );
        let (route, mut lab) = stripe(count, &Law::Uniform(us(0), us(200)));
        lab.issuer("w", Load::closed(1, Law::ZERO, Class::read(4096, route)));
        let truth = 200.0 * f64::from(count) / f64::from(count + 1);
        near(
            &format!("largest of {count} uniform"),
            service(&estimate(&lab.plant), 0),
            truth,
            0.05,
        );
        let (route, mut lab) = stripe(count, &constant(100));
        lab.issuer("w", Load::closed(1, Law::ZERO, Class::read(4096, route)));
        near("largest of constant", service(&estimate(&lab.plant), 0), 100.0, 1e-6);
    }
    for (count, load, truth) in
        [(2, 0.5, 287.0), (4, 0.8, 915.6), (8, 0.9, 2222.5), (8, 0.5, 484.6)]
    {
        let (route, mut lab) = stripe(count, &exponential(100));
        open(&mut lab, "w", arrivals(load, 1.0), ENDLESS, route);
        near(&format!("fork to {count} at {load}"), service(&estimate(&lab.plant), 0), truth, 0.1);
    }
}

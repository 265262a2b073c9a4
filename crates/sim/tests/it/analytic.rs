//! The analytic solvers against each other and against what is known by hand.

use sim::analytic::*;

fn single(demand: f64) -> Center {
    Center { service: Service::Single, demands: vec![demand] }
}

fn center(service: Service, demands: &[f64]) -> Center {
    Center { service, demands: demands.to_vec() }
}

const fn population(customers: u32, think: f64) -> Population {
    Population { customers, think }
}

#[track_caller]
fn near(what: &str, value: f64, truth: f64, within: f64) {
    let apart = (value - truth).abs();
    assert!(apart <= within * truth.abs().max(1e-12), "{what}: {value} and not {truth}");
}

#[track_caller]
fn same(a: &Solution, b: &Solution, within: f64) {
    for (class, (ours, theirs)) in a.throughput.iter().zip(&b.throughput).enumerate() {
        near(&format!("throughput {class}"), *ours, *theirs, within);
    }
    for (number, (ours, theirs)) in a.present.iter().zip(&b.present).enumerate() {
        for (ours, theirs) in ours.iter().zip(theirs) {
            assert!(
                (ours - theirs).abs() <= within * theirs.max(1.0),
                "{number}: {ours}, {theirs}"
            );
        }
    }
}

/// The well-known example of Lazowska et al.: demands 0.605, 2.1 and 1.35 s, think time 15 s.
#[test]
fn the_textbook() {
    let centers = [single(0.605), single(2.1), single(1.35)];
    let truth = [(1, 0.0525, 4.055), (2, 0.1031, 4.40), (3, 0.1514, 4.81)];
    for (customers, throughput, response) in truth {
        let solution = mva(&centers, &[population(customers, 15.0)]).unwrap();
        near("throughput", solution.throughput[0], throughput, 0.005);
        near("response", solution.response(0), response, 0.005);
    }
}

#[test]
fn mean_values_and_constants_agree() {
    let networks: [(&[Center], &[Population]); 3] = [
        (&[single(1.0), single(2.0), center(Service::Delay, &[3.0])], &[population(30, 4.0)]),
        (
            &[
                center(Service::Single, &[1.0, 0.5]),
                center(Service::Delay, &[1.0, 2.0]),
                center(Service::Servers(1), &[0.2, 2.0]),
            ],
            &[population(7, 0.0), population(5, 3.0)],
        ),
        (
            &[center(Service::Single, &[1.0, 0.0, 2.0]), center(Service::Single, &[0.0, 1.0, 1.0])],
            &[population(3, 1.0), population(0, 1.0), population(4, 0.0)],
        ),
    ];
    for (centers, classes) in networks {
        same(&convolution(centers, classes).unwrap(), &mva(centers, classes).unwrap(), 1e-9);
    }
}

#[test]
fn many_servers_are_those_of_the_repairman() {
    for (machines, servers) in [(5, 2), (40, 7), (400, 64)] {
        let centers = [center(Service::Servers(servers), &[2.0])];
        let solution = convolution(&centers, &[population(machines, 9.0)]).unwrap();
        let truth = repairman(machines, 9.0, 2.0, servers).unwrap();
        near("throughput", solution.throughput[0], truth.throughput, 1e-9);
        near("present", solution.present[0][0], truth.present, 1e-9);
    }
}

/// A subsystem behind a limit, solved alone for each population, is one centre with a load-dependent speed.
#[test]
fn a_flow_equivalent_server_stands_for_its_part() {
    let part = [single(1.0), single(0.6), center(Service::Servers(2), &[1.5])];
    let alone =
        |customers| convolution(&part, &[population(customers, 0.0)]).unwrap().throughput[0];
    let first = alone(1);
    let rates = (1..=12).map(|customers| alone(customers) / first).collect();
    let folded = [single(0.8), center(Service::Rates(rates), &[1.0 / first])];
    let whole = [part.as_slice(), &[single(0.8)]].concat();
    let (a, b) = (population(12, 2.0), population(12, 2.0));
    let (folded, whole) = (convolution(&folded, &[a]).unwrap(), convolution(&whole, &[b]).unwrap());
    near("throughput", folded.throughput[0], whole.throughput[0], 1e-9);
    let inside: f64 = whole.present[..3].iter().map(|center| center[0]).sum();
    near("present", folded.present[1][0], inside, 1e-9);
}

#[test]
fn exact_solutions_lie_within_their_bounds() {
    let centers = [single(1.0), single(0.4), single(0.9), center(Service::Delay, &[2.0])];
    for customers in [1, 2, 3, 5, 10, 30, 100] {
        for think in [0.0, 5.0, 50.0] {
            let people = population(customers, think);
            let exact = mva(&centers, &[people]).unwrap().throughput[0];
            let wide = asymptotic(&centers, people).unwrap();
            let close = balanced(&centers, people).unwrap().unwrap();
            let slack = 1.0 + 1e-12;
            for bounds in [wide, close] {
                assert!(
                    bounds.low <= exact * slack && exact <= bounds.high * slack,
                    "{bounds:?} {exact}"
                );
            }
            assert!(wide.low <= close.low * slack && close.high <= wide.high * slack);
        }
    }
    assert_eq!(balanced(&[center(Service::Servers(2), &[1.0])], population(3, 0.0)), Ok(None));
}

#[test]
fn the_approximation_is_near() {
    let centers = [
        center(Service::Single, &[1.0, 0.5]),
        center(Service::Servers(4), &[3.0, 1.0]),
        center(Service::Delay, &[4.0, 1.0]),
    ];
    for people in
        [[population(4, 1.0), population(6, 3.0)], [population(20, 5.0), population(9, 0.0)]]
    {
        let exact = convolution(&centers, &people).unwrap();
        let near_it = approximate(&centers, &people).unwrap();
        for class in 0..2 {
            near("throughput", near_it.throughput[class], exact.throughput[class], 0.05);
        }
    }
    let huge =
        approximate(&centers, &[population(1_000_000, 1.0), population(1_000_000, 1.0)]).unwrap();
    near("saturated", huge.work(&centers, 0), 1.0, 1e-3);
}

#[test]
fn closed_forms_agree_where_they_meet() {
    let a = many_servers(0.7, 1.0, 1).unwrap();
    let b = single_server(0.7, 1.0, 1.0).unwrap();
    near("M/M/1", a.response, b.response, 1e-12);
    let endless = finite(0.7, 1.0, 1, 400).unwrap();
    near("M/M/1/400", endless.response, b.response, 1e-9);
    // One server without a queue: Erlang's loss formula by hand.
    near("M/M/1/1", finite(2.0, 1.0, 1, 1).unwrap().lost, 2.0 / 3.0, 1e-12);
    near("one class", priorities(&[(0.7, 1.0, 1.0)]).unwrap()[0], b.response, 1e-12);
    assert_eq!(single_server(1.0, 1.0, 1.0), None);
    assert_eq!(many_servers(2.0, 1.0, 2), None);
    assert_eq!(priorities(&[(0.5, 1.0, 1.0), (0.5, 1.0, 1.0)]), None);
}

#[track_caller]
fn shares(capacities: &[f64], flows: &[(&[usize], f64)], truth: &[f64]) {
    let flows: Vec<LinkFlow> = flows
        .iter()
        .map(|(links, ceiling)| LinkFlow {
            links: links.iter().map(|link| (*link, 1.0)).collect(),
            ceiling: *ceiling,
        })
        .collect();
    for (rate, truth) in max_min(capacities, &flows).iter().zip(truth) {
        near("rate", *rate, *truth, 1e-9);
    }
}

#[test]
fn fair_rates() {
    let free = f64::INFINITY;
    shares(&[9.0], &[(&[0], free), (&[0], free), (&[0], free)], &[3.0, 3.0, 3.0]);
    // The parking-lot topology: the long flow gets what the tightest link leaves.
    shares(&[10.0, 4.0], &[(&[0, 1], free), (&[0], free), (&[1], free)], &[2.0, 8.0, 2.0]);
    shares(&[10.0], &[(&[0], 1.0), (&[0], free)], &[1.0, 9.0]);
    shares(&[10.0], &[(&[0], 0.0), (&[7], free), (&[0], free)], &[0.0, 0.0, 10.0]);
    shares(&[0.0, 5.0], &[(&[0, 1], free), (&[1], free)], &[0.0, 5.0]);
    assert_eq!(max_min(&[], &[LinkFlow { links: vec![], ceiling: free }]), [free]);
    // A flow that uses a link twice gets half as much from it.
    let twice = LinkFlow { links: vec![(0, 2.0)], ceiling: free };
    let once = LinkFlow { links: vec![(0, 1.0)], ceiling: free };
    assert_eq!(max_min(&[9.0], &[twice, once]), [3.0, 3.0]);
}

#[test]
fn invalid_numbers_are_refused() {
    let refused = |centers: &[Center], classes: &[Population]| {
        assert!(mva(centers, classes).is_err());
        assert!(convolution(centers, classes).is_err());
        assert!(approximate(centers, classes).is_err());
    };
    refused(&[], &[]);
    refused(&[single(-1.0)], &[population(1, 0.0)]);
    refused(&[single(f64::NAN)], &[population(1, 0.0)]);
    refused(&[single(1.0)], &[population(1, f64::INFINITY)]);
    refused(&[single(0.0)], &[population(1, 0.0)]);
    refused(&[center(Service::Servers(0), &[1.0])], &[population(1, 0.0)]);
    refused(&[center(Service::Rates(vec![]), &[1.0])], &[population(1, 0.0)]);
    refused(&[center(Service::Single, &[1.0, 2.0])], &[population(1, 0.0)]);
    let many = [population(1000, 1.0), population(1000, 1.0), population(1000, 1.0)];
    let centers = [center(Service::Single, &[1.0, 1.0, 1.0])];
    assert!(matches!(mva(&centers, &many), Err(AnalyticError::TooLarge { .. })));
    let several = [center(Service::Servers(2), &[1.0])];
    assert_eq!(mva(&several, &[population(1, 0.0)]), Err(AnalyticError::LoadDependent(0)));
}

/// Random networks: the approximation against the exact solution.
#[test]
fn the_approximation_is_off_by_little() {
    let mut rng = clock::Rng::keyed(7, &[1]);
    let (mut sum, mut most, mut runs) = (0.0, 0.0f64, 0.0);
    for _ in 0..400 {
        let classes = 1 + rng.below(2) as usize;
        let stations = 2 + rng.below(4);
        let centers: Vec<Center> = (0..stations)
            .map(|number| {
                let service = match rng.below(4) {
                    0 if number > 0 => Service::Delay,
                    1 => Service::Single,
                    _ => Service::Servers(1 + rng.below(8) as u32),
                };
                let scale = service_scale(&service);
                let demands = (0..classes).map(|_| (0.1 + rng.unit()) * scale).collect();
                Center { service, demands }
            })
            .collect();
        let people: Vec<Population> =
            (0..classes).map(|_| population(1 + rng.below(20) as u32, rng.unit() * 3.0)).collect();
        let exact = convolution(&centers, &people).unwrap();
        let near_it = approximate(&centers, &people).unwrap();
        for (ours, theirs) in near_it.throughput.iter().zip(&exact.throughput) {
            let off = (ours / theirs - 1.0).abs();
            (sum, most, runs) = (sum + off, most.max(off), runs + 1.0);
        }
    }
    println!("off by {:.2}% on average, by {:.2}% at most", sum / runs * 100.0, most * 100.0);
    assert!(sum / runs < 0.018 && most < 0.08, "{} {most}", sum / runs);
}

fn service_scale(service: &Service) -> f64 {
    match service {
        Service::Servers(servers) => f64::from(*servers),
        _ => 1.0,
    }
}

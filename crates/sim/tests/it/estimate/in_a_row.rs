//! Open loads through stations in a row: against the exact rule for constant times, and against the figures that
//! `in_a_row.py` beside it prints.

use crate::estimate::labs::*;
use crate::estimate::truth::{near, response};
use sim::estimate::{Estimate, estimate};
use sim::model::*;

const ENDLESS: u32 = 1 << 20;

fn law(name: &str, mean: u64) -> Law {
    match name {
        "constant" => constant(mean),
        "uniform" => Law::Uniform(us(mean / 2), us(mean * 3 / 2)),
        _ => exponential(mean),
    }
}

/// Arrivals 100 us apart on average, through these stations.
fn row(stations: &[(&str, u64)]) -> Estimate {
    let mut lab = Lab::default();
    let mut visit = |(number, (name, mean)): (usize, &(&str, u64))| {
        let station = lab.station(&format!("s{number}"), Station::SINGLE);
        Hop::visit(station, law(name, *mean))
    };
    let route = stations.iter().enumerate().map(&mut visit).collect();
    lab.issuer("w", Load::open(exponential(100), ENDLESS, Class::read(4096, route)));
    estimate(&lab.plant)
}

/// The wait at one server of constant times that is in use for so much of the time (Pollaczek and Khinchine).
fn wait(mean: f64) -> f64 {
    let busy = mean / 100.0;
    mean * busy / (2.0 * (1.0 - busy))
}

/// Whatever the order, all wait as long as before the slowest alone (Friedman 1965).
#[test]
fn in_a_row_of_constant_times_only_the_slowest_makes_wait() {
    for means in [
        &[80, 80][..],
        &[90, 90],
        &[99, 99],
        &[90, 50],
        &[50, 90],
        &[80, 90],
        &[90, 80, 90],
        &[60; 10],
        &[50, 50, 50, 50, 50, 50, 50, 50, 90],
    ] {
        let stations: Vec<(&str, u64)> = means.iter().map(|mean| ("constant", *mean)).collect();
        let (sum, most) = (means.iter().sum::<u64>(), means.iter().max().copied().unwrap_or(0));
        let truth = sum as f64 + wait(most as f64);
        near(&format!("constant {means:?}"), response(&row(&stations), 0), truth, 0.01);
    }
}

#[test]
fn in_a_row_of_other_times() {
    let truths = [
        (("uniform", 90), ("uniform", 90), 772.2),
        (("uniform", 80), ("constant", 90), 593.2),
        (("constant", 90), ("uniform", 90), 703.2),
        (("constant", 90), ("exponential", 80), 762.2),
        (("constant", 80), ("exponential", 90), 1034.0),
    ];
    for (first, second, truth) in truths {
        near(&format!("{first:?}, {second:?}"), response(&row(&[first, second]), 0), truth, 0.04);
    }
}

/// A delay that is not the same for all brings I/Os out of step again.
#[test]
fn what_takes_unequally_long_brings_ios_out_of_step() {
    for (delay, truth) in [(50, 722.5), (200, 945.4), (1000, 1851.9), (20_000, 20_983.5)] {
        let mut lab = Lab::default();
        let a = lab.station("a", Station::SINGLE);
        let wire = lab.station("wire", Station::Delay);
        let b = lab.station("b", Station::SINGLE);
        let route = vec![
            Hop::visit(a, constant(90)),
            Hop::visit(wire, exponential(delay)),
            Hop::visit(b, constant(90)),
        ];
        lab.issuer("w", Load::open(exponential(100), ENDLESS, Class::read(4096, route)));
        let of = estimate(&lab.plant);
        near(&format!("a delay of {delay} between"), response(&of, 0), truth, 0.04);
    }
}

/// Loads, and reads and writes, that leave one station for the same one come as evenly as one load; each for itself, it is a
/// random half of what leaves.
#[test]
fn what_comes_from_one_station_is_one_stream() {
    let apart = |mean: u64, together: bool| {
        let mut lab = Lab::default();
        let a = lab.station("a", Station::SINGLE);
        let first = lab.station("b0", Station::SINGLE);
        let second = if together { first } else { lab.station("b1", Station::SINGLE) };
        for (name, to) in [("one", first), ("other", second)] {
            let route = vec![Hop::visit(a, constant(90)), Hop::visit(to, constant(mean))];
            lab.issuer(name, Load::open(exponential(200), ENDLESS, Class::read(4096, route)));
        }
        response(&estimate(&lab.plant), 0)
    };
    near("two loads together", apart(90, true), 180.0 + wait(90.0), 0.01);
    near("two loads, each its own of 120", apart(120, false), 636.8, 0.05);
    near("two loads, each its own of 180", apart(180, false), 1257.7, 0.05);
    let mut lab = Lab::default();
    let (a, b) = (lab.station("a", Station::SINGLE), lab.station("b", Station::SINGLE));
    let route = || vec![Hop::visit(a, constant(90)), Hop::visit(b, constant(90))];
    let classes = vec![Class::read(4096, route()), Class::write(4096, route())];
    let (gap, shares) = (exponential(100), vec![0.5, 0.5]);
    lab.issuer("w", Load::of(Source::Open { gap, limit: ENDLESS, shares }, classes));
    near("reads and writes", response(&estimate(&lab.plant), 0), 180.0 + wait(90.0), 0.01);
}

/// Both halves of a mirrored write begin at once, whatever they are listed after.
#[test]
fn stations_beside_each_other_are_not_in_a_row() {
    let mut lab = Lab::default();
    let disks = [0, 1].map(|n| lab.station(&format!("disk{n}"), Station::SINGLE));
    let routes = disks.map(|disk| vec![Hop::visit(disk, constant(90))]);
    let route = vec![Hop::Together { routes: routes.into() }];
    lab.issuer("w", Load::open(exponential(100), ENDLESS, Class::write(4096, route)));
    near("both at once", response(&estimate(&lab.plant), 0), 90.0 + wait(90.0), 0.25);
}

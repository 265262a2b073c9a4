//! Closed loads over links that lie one behind the other, against the figures that `links_in_a_row.py` beside it prints.

use crate::estimate::labs::*;
use crate::estimate::truth::near;
use sim::estimate::estimate;
use sim::model::*;
use sim::plant::Plant;

const WITHIN: f64 = 0.055;

/// Bytes of a transfer, which takes 100 us alone over a link of speed 1.
const BYTES: u32 = 65_536;

/// A link over which a transfer takes so many microseconds alone.
fn speed(size: u64) -> u64 {
    u64::from(BYTES) * 1_000_000 / size
}

/// Links of a lab, over which transfers take so long alone.
fn links(lab: &mut Lab, names: &str, sizes: &[u64]) -> StationId {
    let names: Vec<String> = (0..sizes.len()).map(|number| format!("{names}{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rates: Vec<u64> = sizes.iter().map(|size| speed(*size)).collect();
    lab.links(&names, &rates)
}

fn over(station: StationId, links: Vec<u16>) -> Hop {
    Hop::Cross { station, links: links.into(), scale: 1.0, extra: 0 }
}

/// VMs with as many I/Os outstanding each, after a delay all over the same links, one after the other; a disk comes after the
/// first link.
fn row(vms: u32, depth: u32, sizes: &[u64], (delay, disk): (u64, u64)) -> Plant {
    let disk = (disk > 0).then(|| exponential(disk));
    row_with((vms, depth), sizes, delay, disk)
}

/// The same with a disk of these times.
fn row_with((vms, depth): (u32, u32), sizes: &[u64], delay: u64, disk: Option<Law>) -> Plant {
    let mut lab = Lab::default();
    let media = lab.station("media", Station::Delay);
    let wires = links(&mut lab, "l", sizes);
    let mut route = vec![Hop::visit(media, exponential(delay))];
    route.extend((0..sizes.len() as u16).map(|link| over(wires, vec![link])));
    if let Some(disk) = disk {
        let station = lab.station("disk", Station::SINGLE);
        route.insert(2, Hop::visit(station, disk));
    }
    for vm in 0..vms {
        let load = Load::closed(depth, Law::ZERO, Class::read(BYTES, route.clone()));
        lab.issuer(&format!("vm{vm}"), load);
    }
    lab.plant
}

/// The same over two adapters, with half of the VMs each, and what all share, all at once.
fn at_once(vms: u32, depth: u32, sizes: &[u64], delay: u64) -> Plant {
    let mut lab = Lab::default();
    let media = lab.station("media", Station::Delay);
    let all: Vec<u64> = [sizes[0]].iter().chain(sizes).copied().collect();
    let wires = links(&mut lab, "l", &all);
    for vm in 0..vms {
        let crossed = [(vm % 2) as u16].into_iter().chain(2..all.len() as u16);
        let route = vec![Hop::visit(media, exponential(delay)), over(wires, crossed.collect())];
        lab.issuer(&format!("vm{vm}"), Load::closed(depth, Law::ZERO, Class::read(BYTES, route)));
    }
    lab.plant
}

/// Reads, 70% of all, over two links of their own direction, and writes over two of the other, in the opposite order.
fn mixed(vms: u32, depth: u32, sizes: &[u64], delay: u64) -> Plant {
    let mut lab = Lab::default();
    let media = lab.station("media", Station::Delay);
    let (back, forth) = (links(&mut lab, "r", sizes), links(&mut lab, "w", sizes));
    let begin = || Hop::visit(media, exponential(delay));
    let reads = vec![begin(), over(back, vec![1]), over(back, vec![0])];
    let writes = vec![begin(), over(forth, vec![0]), over(forth, vec![1])];
    for vm in 0..vms {
        let classes = vec![Class::read(BYTES, reads.clone()), Class::write(BYTES, writes.clone())];
        let (customers, think) = (depth, Law::ZERO);
        let load = Load::of(Source::Closed { customers, think, shares: vec![0.7, 0.3] }, classes);
        lab.issuer(&format!("vm{vm}"), load);
    }
    lab.plant
}

#[track_caller]
fn carries(what: &str, plant: &Plant, truth: f64) {
    near(what, estimate(plant).iops, truth, WITHIN);
}

/// VMs, I/Os outstanding at each, the links, mean microseconds of the delay and of the disk, and I/Os a second.
type Case = (u32, u32, &'static [u64], (u64, u64), f64);

/// An I/O shares a link with those that it finds there: they come to the next one together, and leave it idle together.
#[test]
fn few_over_links_one_after_the_other() {
    let truths: &[Case] = &[
        (2, 1, &[100, 100], (50, 0), 6069.0),
        (2, 2, &[100, 100], (50, 0), 7755.0),
        (2, 4, &[100, 100], (50, 0), 8817.0),
        (4, 1, &[100, 100], (50, 0), 7755.0),
        (8, 1, &[100, 100], (50, 0), 8817.0),
        (8, 8, &[100, 100], (50, 0), 9871.0),
        (2, 2, &[100, 100], (400, 0), 5547.0),
        (8, 1, &[100, 100], (400, 0), 8056.0),
        (2, 1, &[100, 60], (50, 0), 7281.0),
        (2, 4, &[60, 100], (50, 0), 9901.0),
        (2, 2, &[100, 90], (20, 0), 8321.0),
        (2, 2, &[50, 100], (50, 0), 9453.0),
        (2, 2, &[50, 50], (50, 0), 15_034.0),
        (2, 4, &[100, 50], (50, 0), 9965.0),
        (4, 1, &[100, 100, 100], (50, 0), 6431.0),
        (2, 4, &[100, 100, 100], (50, 0), 7900.0),
        (2, 2, &[100, 100], (50, 80), 6830.0),
        (4, 2, &[100, 100], (50, 100), 7895.0),
        (1, 4, &[100], (400, 0), 6898.0),
        (1, 8, &[100], (700, 0), 8222.0),
        (8, 1, &[100], (50, 0), 10_000.0),
    ];
    for (vms, depth, sizes, times, truth) in truths {
        let what = format!("{vms} VMs, {depth} each, {sizes:?}, {times:?}");
        carries(&what, &row(*vms, *depth, sizes, *times), *truth);
    }
}

#[test]
fn few_over_links_at_once() {
    let truths: &[(u32, u32, &[u64], u64, f64)] = &[
        (2, 1, &[100, 50], 50, 13_335.0),
        (2, 2, &[100, 50], 50, 18_472.0),
        (4, 2, &[100, 50], 50, 19_968.0),
        (2, 8, &[100, 50], 50, 19_999.0),
        (8, 1, &[100, 50], 400, 13_786.0),
        (2, 2, &[100, 70], 50, 13_937.0),
        (4, 1, &[100, 60, 60], 100, 14_451.0),
        (2, 2, &[100, 100], 50, 9985.0),
    ];
    for (vms, depth, sizes, delay, truth) in truths {
        let what = format!("{vms} VMs, {depth} each, {sizes:?} at once, {delay}");
        carries(&what, &at_once(*vms, *depth, sizes, *delay), *truth);
    }
}

#[test]
fn few_reads_and_writes_over_links() {
    let truths: &[(u32, u32, &[u64], u64, f64)] = &[
        (2, 1, &[100, 100], 50, 6754.0),
        (2, 4, &[100, 100], 50, 12_200.0),
        (4, 2, &[100, 60], 50, 13_920.0),
        (8, 8, &[100, 100], 50, 14_095.0),
    ];
    for (vms, depth, sizes, delay, truth) in truths {
        let what = format!("{vms} VMs, {depth} each, reads and writes over {sizes:?}");
        carries(&what, &mixed(*vms, *depth, sizes, *delay), *truth);
    }
}

/// A link that becomes faster carries no less, however few are outstanding.
#[test]
fn doubling_a_link_loses_nothing() {
    for vms in [2, 4, 8] {
        for depth in [1, 2, 4, 8] {
            for sizes in [[100, 100], [100, 60], [60, 100], [100, 90], [100, 40]] {
                let of = |sizes: &[u64]| {
                    let row = estimate(&row(vms, depth, sizes, (50, 0))).iops;
                    [row, estimate(&at_once(vms, depth, sizes, 50)).iops]
                };
                let before = of(&sizes);
                for faster in [[sizes[0] / 2, sizes[1]], [sizes[0], sizes[1] / 2]] {
                    for (after, before) in of(&faster).into_iter().zip(before) {
                        let what = format!("{vms} VMs, {depth} each, {sizes:?} to {faster:?}");
                        assert!(after >= before * 0.999, "{what}: {before} to {after}");
                    }
                }
            }
        }
    }
}

/// Both links are as full, and doubled together.
#[test]
fn what_doubling_full_links_brings() {
    let of = estimate(&row(2, 2, &[100, 100], (50, 0)));
    near("both twice as fast", of.limits[1].iops / of.iops, 15_034.0 / 7755.0, WITHIN);
}

/// A disk that takes as long for each lets I/Os go one by one to the second link. What that brings is left out where the disk
/// is no slower than the link.
#[test]
fn one_by_one_over_links() {
    let truths = [
        (2, 20, 7814.0, 0.05),
        (2, 50, 8065.0, 0.1),
        (2, 100, 8623.0, 0.18),
        (4, 100, 9997.0, 0.18),
        (2, 150, 6631.0, 0.1),
    ];
    for (depth, disk, truth, within) in truths {
        let plant = row_with((2, depth), &[100, 100], 50, Some(constant(disk)));
        let what = format!("2 VMs, {depth} each, a disk of {disk} between");
        near(&what, estimate(&plant).iops, truth, within);
    }
}

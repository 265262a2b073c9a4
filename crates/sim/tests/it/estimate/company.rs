//! I/Os that wait for company, as completions for an interrupt do, against the figures that `company.py` beside it prints.

use crate::estimate::labs::*;
use crate::estimate::truth::near;
use sim::estimate::estimate;
use sim::model::*;

/// Fewer than would be a company go on when the time has passed, and come back together.
#[test]
fn a_few_wait_for_the_time() {
    let truths = [
        ("constant", 1, 4, 100, 5000.0),
        ("constant", 2, 8, 1000, 1818.2),
        ("constant", 4, 8, 1000, 3636.4),
        ("constant", 7, 8, 400, 14000.0),
        ("constant", 4, 16, 200, 13333.3),
        ("uniform", 1, 4, 100, 4999.1),
        ("uniform", 2, 8, 1000, 1846.1),
        ("uniform", 4, 8, 1000, 3738.2),
        ("uniform", 7, 8, 400, 15134.4),
        ("uniform", 4, 16, 200, 14812.7),
        ("exponential", 1, 4, 100, 4996.1),
        ("exponential", 2, 8, 1000, 1904.5),
        ("exponential", 4, 8, 1000, 3902.4),
        ("exponential", 7, 8, 400, 16625.6),
        ("exponential", 4, 16, 200, 15966.6),
    ];
    for (law, customers, count, within, truth) in truths {
        let mut lab = Lab::default();
        let station = Station::Batch { count, within: us(within) };
        let company = lab.network().station(station);
        let way = lab.station("way", Station::Delay);
        let time = match law {
            "constant" => constant(100),
            "uniform" => Law::Uniform(us(50), us(150)),
            _ => exponential(100),
        };
        let route = vec![Hop::visit(way, time), Hop::visit(company, Law::ZERO)];
        lab.issuer("w", Load::closed(customers, Law::ZERO, Class::read(4096, route)));
        let of = estimate(&lab.plant);
        // Where their times are often as long as the wait, some miss the others.
        let off = if law == "exponential" && within == 200 { 0.12 } else { 0.02 };
        near(&format!("{customers} of {count} within {within}, {law}"), of.iops, truth, off);
        near("  under way", of.iops * of.issuers[0].service, f64::from(customers), 1e-6);
    }
}

//! An open load before a queue limit and a link behind it, against the figures that `shared_link.py` beside it prints.

use crate::estimate::labs::*;
use crate::estimate::truth::{near, response};
use sim::Ps;
use sim::estimate::estimate;
use sim::model::*;

const ENDLESS: u32 = 1 << 20;

/// Transfers that take 100 us alone, behind a limit of so many and a constant delay, or behind a limit of those outstanding.
fn link(law: &str, tokens: u32, delay: u64, load: f64, outstanding: bool) -> f64 {
    let mut lab = Lab::default();
    let wire = lab.station("wire", Station::Delay);
    let time = match law {
        "constant" => constant(100),
        "uniform" => Law::Uniform(us(50), us(150)),
        _ => exponential(100),
    };
    let link = lab.station("link", Station::Sharing { servers: 1 });
    let mut route = vec![Hop::visit(wire, constant(delay)), Hop::visit(link, time)];
    let mut most = ENDLESS;
    if outstanding {
        most = tokens;
    } else {
        let pool = lab.pool("throttle", tokens);
        route.insert(0, Hop::Take { pool, tokens: 1 });
        route.push(Hop::Give { pool, tokens: 1 });
    }
    let gap = Law::Exponential(Ps((1e8 / load).round() as u64));
    lab.issuer("w", Load::open(gap, most, Class::read(4096, route)));
    response(&estimate(&lab.plant), 0)
}

/// Once no more are let in, those before wait as before a server of the same times (limited processor sharing).
#[test]
fn a_limit_before_a_shared_link() {
    let truths = [
        ("constant", 1, 0, 0.8, 298.2),
        ("constant", 2, 0, 0.8, 337.2),
        ("constant", 2, 0, 0.9, 587.7),
        ("constant", 4, 0, 0.9, 663.7),
        ("constant", 16, 0, 0.9, 897.2),
        ("constant", 4, 0, 0.97, 1791.3),
        ("uniform", 4, 0, 0.9, 690.3),
        ("exponential", 4, 0, 0.9, 1008.3),
        ("constant", 4, 50, 0.8, 433.7),
        ("constant", 4, 50, 0.9, 702.2),
        ("constant", 8, 50, 0.9, 814.0),
        ("constant", 8, 400, 0.8, 847.1),
        ("constant", 2, 50, 0.7, 368.5),
        ("constant", 4, 200, 0.7, 554.7),
    ];
    for (law, tokens, delay, load, truth) in truths {
        for outstanding in [false, true] {
            // A few that are let in at once come to the link together again and again, and leave it idle together.
            let within =
                if f64::from(tokens) * 100.0 < 2.0 * (100 + delay) as f64 { 0.07 } else { 0.04 };
            let what = format!("{law}, {tokens} tokens, a delay of {delay}, {load}");
            near(&what, link(law, tokens, delay, load, outstanding), truth, within);
        }
    }
}

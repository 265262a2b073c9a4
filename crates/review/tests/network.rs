//! Network loads in the review: what a terminal, a page and Markdown say of them.

#[path = "../../findings/tests/support/mod.rs"]
mod support;

use findings::{analyse, evidence};
use review::Style;
use support::net::{At, NetLoad, NetSketch};

/// Lab 5's three use cases at two sizes, the last one repeated.
fn sketch() -> NetSketch<'static> {
    let at = |mb: f64, mtu: f64, busy: f64| {
        let load = NetLoad {
            up: 3,
            down: 3,
            rates: vec![mb * 1e6 / 3.0, mb * 0.995e6 / 3.0],
            ..NetLoad::tcp()
        };
        let load = load.once(At::Sent, &[("path-mtu", mtu), ("mss", mtu - 52.0)]);
        let ns = busy * 1e9;
        [NetLoad { probe: Some((clock::Ns(180_000), 50)), sent: 1.002, ..load }
            .each(At::Sender, &[("host-system", ns), ("host-softirq", ns * 0.4)])
            .each(At::Receiver, &[("host-system", ns * 1.3), ("host-softirq", ns * 0.7)])]
    };
    let case = |size: &'static str, mtu: &'static str, offload: &'static str| {
        [("message", size), ("mtu", mtu), ("offload", offload)]
    };
    NetSketch::of("")
        .step(&case("4KiB", "1500", "on"), 0, &at(500.0, 1500.0, 1.0))
        .step(&case("64KiB", "1500", "on"), 0, &at(1150.0, 1500.0, 1.0))
        .step(&case("4KiB", "9000", "on"), 0, &at(950.0, 9000.0, 0.8))
        .step(&case("64KiB", "9000", "on"), 0, &at(1226.0, 9000.0, 0.6))
        .step(&case("64KiB", "9000", "on"), 1, &at(1231.0, 9000.0, 0.6))
        .step(&case("64KiB", "9000", "on"), 2, &at(1221.0, 9000.0, 0.6))
        .step(&case("4KiB", "9000", "off"), 0, &at(610.0, 9000.0, 1.6))
        .step(&case("64KiB", "9000", "off"), 0, &at(990.0, 9000.0, 1.5))
}

#[test]
fn pictures() {
    let (_dir, record) = sketch().record();
    let analysis = analyse(&record).expect("analysed");
    let evidence = evidence(&record, &analysis).expect("evidence");
    let html = review::html(&analysis, &evidence, &record.head().scenario);
    std::fs::write("/tmp/findings-net.html", html).unwrap();
    println!("{}", review::terminal(&analysis, Style { color: false, width: 100 }));
    println!("{}", review::markdown(&analysis));
}

//! Network loads in the review: what a terminal, a page and Markdown say of them.

use crate::support::net::{At, NetLoad, NetSketch};
use findings::{analyse, evidence};
use review::Style;

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

#[track_caller]
fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
}

#[test]
fn a_terminal_shows_the_table_and_the_arithmetic() {
    let (_dir, record) = sketch().record();
    let analysis = analyse(&record).expect("the record is analysed");
    for width in [60, 100] {
        let text = review::terminal(&analysis, Style { color: false, width });
        let longest = text.lines().map(unicode_width::UnicodeWidthStr::width).max();
        assert!(longest <= Some(width), "{longest:?} columns");
        assert!(!text.contains("\nSteps\n"), "no table of storage without storage: {text}");
    }
    let text = review::terminal(&analysis, Style { color: false, width: 100 });
    holds(
        &text,
        &[
            "Peak throughput: 1,227 MB/s to far at message 64KiB, mtu 9000, offload on (run 2) in 3 streams",
            "Wire: MTU 9000 − 20 (IPv4) − 20 (TCP) − 12 (timestamps) = 8948 B of 9038 B on the wire",
            "✔ Limited by the link: the wire was 99.1% full (from 95.0%).",
            "Latency under load to far",
            "Frames: MTU 9000 carries +90% to far at message 4KiB, offload on over MTU 1500",
            "Offload: without it −36% to far at message 4KiB, mtu 9000",
            "Repeated: 1,222 ± 12.4 MB/s to far",
            "64KiB  9000  off        1  from far        3       987       80",
        ],
    );
}

#[test]
fn a_page_shows_every_part() {
    let (_dir, record) = sketch().record();
    let analysis = analyse(&record).expect("the record is analysed");
    let evidence = evidence(&record, &analysis).expect("the evidence is gathered");
    assert!(evidence.latency.is_none(), "times of a network are no storage's");
    assert!(evidence.timeline.total.covered_s.is_empty());
    assert_eq!((evidence.timeline.network.ways.len(), evidence.timeline.hops.series.len()), (2, 0));
    assert_eq!(evidence.timeline.network.machines.len(), 2);
    let page = review::html(&analysis, &evidence, &record.head().scenario);
    holds(
        &page,
        &[
            "id=\"network\"",
            "id=\"network-0\"",
            "id=\"network-7\"",
            "href=\"#network-4\"",
            "chart-streams",
            "chart-message-sizes",
            "chart-time-line",
            "Network (MB/s)",
            "Both ends (processors)",
            "What larger frames bring",
            "What going without offloads costs",
            "Repetitions: means with their 95% intervals (Student)",
            "Network loads alone, and no storage",
        ],
    );
    for missing in ["id=\"step-0\"", "id=\"conduct-0\"", "closed loop"] {
        assert!(!page.contains(missing), "{missing}");
    }
}

#[test]
fn a_page_says_once_why_a_limit_is_not_known() {
    let load = || [NetLoad { up: 2, ..NetLoad::tcp() }.without("interface-speed")];
    let sizes = [[("message", "4KiB")], [("message", "8KiB")]];
    let sketch = NetSketch::of("").step(&sizes[0], 0, &load()).step(&sizes[1], 0, &load());
    let (_dir, record) = sketch.record();
    let analysis = analyse(&record).expect("the record is analysed");
    let evidence = evidence(&record, &analysis).expect("the evidence is gathered");
    let page = review::html(&analysis, &evidence, &record.head().scenario);
    let reason = "<b>? link:</b> not determined: the share of the wire";
    assert_eq!(page.matches(reason).count(), 1);
    holds(&page, &["; nor in 1 more row."]);
}

#[test]
fn markdown_has_the_directions() {
    let (_dir, record) = sketch().record();
    let analysis = analyse(&record).expect("the record is analysed");
    let text = review::markdown(&analysis);
    holds(
        &text,
        &[
            "### Network",
            "| message 64KiB, mtu 9000, offload on | to far | 3 | 1,224 | 1,222 | 99 | 18,646 | 0.123 | 0.368 | the link |",
            "… and 4 more directions in the review.",
        ],
    );
    assert!(!text.contains("### Steps"), "{text}");
}

/// Words of a record are foreign: they can neither leave their cell nor become markup.
#[test]
fn foreign_words_are_harmless() {
    let load = NetLoad { workload: "<b>|`", ..NetLoad::tcp() };
    let sketch = NetSketch::of("").fact("far", "sender-host", "<script>x</script>");
    let sketch = sketch.fact("far", "congestion", "\u{1b}[31m").step(&[("a|b", "<i>")], 0, &[load]);
    let (_dir, record) = sketch.record();
    let analysis = analyse(&record).expect("the record is analysed");
    let evidence = evidence(&record, &analysis).expect("the evidence is gathered");
    let page = review::html(&analysis, &evidence, &record.head().scenario);
    assert!(!page.contains("<script>x") && !page.contains("<i>\n") && !page.contains("<b>|"));
    let text = review::terminal(&analysis, Style { color: false, width: 100 });
    assert!(!text.contains('\u{1b}'));
    assert!(!review::markdown(&analysis).contains("<script>"));
}

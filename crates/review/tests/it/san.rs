//! The review of an embedded array: ports and their scale, the gain of a faster port, and agreement of counters.

use crate::support::{Sketch, Work};
use findings::Analysis;
use insta::assert_snapshot;
use record::Level;
use review::{Style, terminal};
use scenario::Step;

const SAN: &str = include_str!("../../../../scenarios/demo.toml");

fn set<'a>(step: &'a Step, key: &str) -> Option<&'a str> {
    step.settings.iter().find(|(k, _)| k == key).map(|(_, value)| value.as_str())
}

/// Eight workers that share a port: none does more than 3,000 operations a second, and the port is full at half of its speed.
fn shared(step: &Step, group: &str) -> Work {
    let block = set(step, "block").map_or(131_072.0, |b| units::Bytes::parse(b).unwrap().0 as f64);
    let port = if set(step, "port") == Some("4gfc") { 206.6e6 } else { 413.2e6 };
    let sharers = if step.plan == "ladder" { 8.0 } else { 4.0 };
    let ops = 3000.0_f64.min(port / sharers / block);
    let writes = step.plan == "full-duplex" && ["vm5", "vm6", "vm7", "vm8"].contains(&group);
    let (read, service_ns) = (if writes { 0 } else { 100 }, 4.0 / ops * 1e9);
    Work { ops: ops as u64, block: block as u64, service_ns, read, ..Work::default() }
}

fn scaled(percent: &str) -> String {
    SAN.replace("rate = \"8gfc\" }] }", &format!("rate = \"8gfc\" }}], scale = \"{percent}\" }}"))
}

/// The demo on a machine that carries half of it, where port and volumes count so many times what the workers move.
fn analysed(scenario: &str, port: f64) -> Analysis {
    let sketch = Sketch::of(scenario).passed("store.p1", port);
    let volumes = ["1", "2", "3", "4", "5", "6", "7", "8"].map(|n| format!("store/disk{n}"));
    let sketch = volumes.iter().fold(sketch, |sketch, volume| sketch.passed(volume, port / 8.0));
    sketch
        .fact("store", "scale-reason", "This machine carries 1,400 MB/s and no more.")
        .event(Level::Info, "fault", "store.p1 was slowed to 50 MB/s.")
        .analyse(shared)
}

/// The review without its tables of latency, which is not what this is about.
fn first_lines(analysis: &Analysis) -> String {
    let text = terminal(analysis, Style { color: false, width: 100 });
    text.split("\n\n").take(2).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn a_san_in_small() {
    assert_snapshot!(first_lines(&analysed(&scaled("50%"), 1.0)), @r#"
Eight VMs read through one port: what does 8Gb carry that 4Gb does not?
✔ All 7 goals are met.
· Scaled: the ports of store run at 50% of their speed in each direction; 4gfc is 207 MB/s instead
  of 413 MB/s, 8gfc is 413 MB/s instead of 827 MB/s. This machine carries 1,400 MB/s and no more.

Findings
  • 8Gb carries 413 MB/s, 4Gb 207 MB/s: 2.00 × at block 32KiB; the speeds are 2.00 × apart.
  • Peak throughput: 826 MB/s, 6,304 IOPS at full-duplex, p99 5.77 ms (closed loop).
  • Ports: full in 6 of 11 steps; most is carried by store.p1 at full-duplex: 413 MB/s read (100%)
    and 413 MB/s written (100%) of 413 MB/s (8gfc, 827 MB/s × 50%) each way.
  ✔ Counters of workers and ports agree in all 11 steps: equal to the byte, as at full-duplex
    (1,239,416,832 bytes written by the workers, 1,239,416,832 by ports and volumes), where
    4,194,304 bytes could be in flight at the edges.
  • Knee over block in ladder at port 4gfc: 8KiB, 95% of the peak; from there to 128KiB, 16 × the
    load brings 1.05 × the MB/s at 15 × the latency.
  • Knee over block in ladder at port 8gfc: 32KiB, 100% of the peak; from there to 128KiB, 4.00 ×
    the load brings 1.00 × the MB/s at 4.01 × the latency.
  • Balance over 4 VMs or targets: spread 0%, Jain's index 1.0000 in the least even step
    (full-duplex).
  • Generator: not the limit; overhead at most 2.0%.
"#);
}

#[test]
fn counters_that_disagree() {
    let analysis = analysed(&scaled("50%"), 1.02);
    let text = terminal(&analysis, Style { color: false, width: 100 });
    let line: Vec<&str> = text.lines().filter(|l| l.contains("disagree")).collect();
    assert_snapshot!(line.join("\n"), @r#"
  ! Counters of workers and ports of store disagree in 11 steps: they are 2.00% apart, as at ladder,
"#);
}

#[test]
fn an_unscaled_array_has_no_scale_note() {
    let text = first_lines(&analysed(SAN, 1.0));
    assert!(!text.contains("Scaled"), "{text}");
    assert!(text.contains("Ports: none is full"), "{text}");
}

#[test]
fn the_page_shows_ports_and_their_counters() {
    let scenario = scaled("50%");
    let sketch = Sketch::of(&scenario).passed("store.p1", 1.0);
    let volumes = ["1", "2", "3", "4", "5", "6", "7", "8"].map(|n| format!("store/disk{n}"));
    let sketch = volumes.iter().fold(sketch, |sketch, volume| sketch.passed(volume, 0.125));
    let sketch =
        sketch.fact("store", "scale-reason", "This machine carries 1,400 MB/s and no more.");
    let (_dir, record) = sketch.record(shared);
    let analysis = findings::analyse(&record).expect("analysed");
    let evidence = findings::evidence(&record, &analysis).expect("its evidence");
    let page = review::html(&analysis, &evidence, &record.head().scenario);
    for expected in [
        "id=\"ports-0\"",
        "counters of workers and ports agree",
        "Ports (MB/s)",
        "speed of store.p1",
        "8gfc × 50%: 413 MB/s",
        "of speed",
    ] {
        assert!(page.contains(expected), "no {expected:?}");
    }
}

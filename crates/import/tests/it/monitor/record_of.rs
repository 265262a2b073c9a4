//! Tables as a record: figures by hand, windows, gaps, joined names, and what is refused.

use super::{fed, options};
use findings::Limiter;
use import::monitor::{NamedWindow, Order, Span, Topology, WriteError, topology, write};
use record::{CounterId, Loop, Record};
use std::path::Path;

fn order<'a>(feeds: &'a [import::monitor::Feed], windows: &'a [NamedWindow]) -> Order<'a> {
    Order {
        feeds,
        windows,
        facts: Vec::new(),
        topology: topology_of_nothing(),
        producer: "a test".to_owned(),
        title: "t".to_owned(),
    }
}

fn topology_of_nothing() -> &'static Topology {
    static NOTHING: Topology = Topology { hops: Vec::new(), same: Vec::new(), devices: Vec::new() };
    &NOTHING
}

/// iostat of a host: 20 s a report, with so many reads a second in each.
fn iostat(host: &str, reads: &[u32], gap: Option<usize>) -> String {
    let mut out = format!("Linux 6.1 ({host}) \t2024-05-07 \t_x86_64_\t(2 CPU)\n\n");
    for (at, reads) in std::iter::once(&9).chain(reads).enumerate() {
        let seconds = 20 * at + if gap.is_some_and(|gap| at > gap) { 600 } else { 0 };
        let stamp = format!(
            "2024-05-07 {:02}:{:02}:{:02}",
            9 + seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        );
        out += &format!(
            "{stamp}\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda {reads}.00 0.00 {}.00 0.00 2.00 0.00 {:.2} 50.00\n\n",
            reads * 4,
            f64::from(*reads) * 0.002
        );
    }
    out
}

fn written(
    path: &Path,
    texts: &[String],
    windows: &[NamedWindow],
) -> Result<import::monitor::Explained, WriteError> {
    let feeds: Vec<_> = texts.iter().map(|text| fed(text.as_bytes())).collect();
    write(path, &order(&feeds, windows))
}

#[test]
fn figures_of_a_window_are_those_of_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let reads: Vec<u32> = (0..24).map(|at| if (8..12).contains(&at) { 900 } else { 100 }).collect();
    let explained = written(&path, &[iostat("db1", &reads, None)], &[]).unwrap();
    let names: Vec<&str> = explained.windows.iter().map(|w| w.name.as_str()).collect();
    assert_eq!(names, ["whole", "busiest", "quietest"]);
    let record = Record::open(&path).unwrap();
    assert!(
        record.steps().iter().all(|step| step.workers.iter().all(|w| w.arrivals == Loop::Observed))
    );
    let busiest = record.totals(1).unwrap();
    let read = busiest[0].read.as_ref().unwrap();
    assert_eq!((read.ops, read.bytes), (900 * 80, 900 * 80 * 4096));
    assert!((read.service_sum.as_secs_f64() - 900.0 * 80.0 * 0.002).abs() < 1e-3);
    assert_eq!(read.service.count(), 0, "a mean has no percentile");
    let whole: u64 = record.totals(0).unwrap()[0].read.as_ref().unwrap().ops;
    assert_eq!(whole, u64::from(reads.iter().sum::<u32>()) * 20);
}

#[test]
fn a_gap_is_no_load_and_few_operations_have_no_latency() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let text = iostat("db1", &[5; 10], Some(3));
    let explained = written(&path, &[text], &[]).unwrap();
    let whole = &explained.windows[0].span;
    assert_eq!((whole.to - whole.from) / 1_000_000_000, 140, "the longest part without a gap");
    let record = Record::open(&path).unwrap();
    assert!(record.events().iter().any(|event| event.code == "gap"));
    let totals = record.totals(0).unwrap();
    let read = totals[0].read.as_ref().unwrap();
    assert_eq!(
        (read.ops, read.service_sum.0),
        (5 * 140, 0),
        "5 a second are too few for a latency"
    );
    assert!(
        !record.counters(Some(0)).unwrap().iter().any(|c| c.kind.id() == Some(CounterId::ReadTime))
    );
}

#[test]
fn hosts_are_told_apart_and_never_joined_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let texts = [iostat("db1", &[100; 4], None), iostat("db2", &[200; 4], None)];
    let explained = written(&path, &texts, &[]).unwrap();
    assert_eq!((explained.loads, explained.hops), (2, 2));
    let record = Record::open(&path).unwrap();
    let names: Vec<&str> = record.sources().iter().map(|s| s.name.as_str()).collect();
    assert!(names.contains(&"db1/sda") && names.contains(&"db2/sda"), "{names:?}");
    // The same file twice is counted once.
    let twice = dir.path().join("b.wsr");
    written(&twice, &[texts[0].clone(), texts[0].clone()], &[]).unwrap();
    let ops = Record::open(&twice).unwrap().totals(0).unwrap()[0].read.as_ref().unwrap().ops;
    assert_eq!(ops, 100 * 80);
}

#[test]
fn windows_are_named_and_an_empty_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let second = 1_000_000_000;
    let feed = fed(iostat("db1", &[100; 8], None).as_bytes());
    let first = feed.rows[0].from;
    let window = |name: &str, from: i64, to: i64| NamedWindow {
        name: name.to_owned(),
        span: Span { from: first + from * second, to: first + to * second },
    };
    let feeds = [feed];
    // Half of two rows: 30 s of 100 a second.
    let path = dir.path().join("a.wsr");
    let explained = write(&path, &order(&feeds, &[window("half", 10, 40)])).unwrap();
    assert_eq!(explained.windows[1].name, "half");
    let ops = Record::open(&path).unwrap().totals(1).unwrap()[0].read.as_ref().unwrap().ops;
    assert_eq!(ops, 3000);
    let none = write(&dir.path().join("b.wsr"), &order(&feeds, &[window("none", 9000, 9100)]));
    assert!(matches!(none, Err(WriteError::EmptyWindow(name)) if name == "none"));
    let undated = fed("Device r/s w/s rkB/s wkB/s aqu-sz %util\nsda 1 0 4 0 0 1\n\nDevice r/s w/s rkB/s wkB/s aqu-sz %util\nsda 100 0 400 0 0 1\n".as_bytes());
    let feeds = [feeds.into_iter().next().unwrap(), undated];
    assert!(matches!(
        write(&dir.path().join("c.wsr"), &order(&feeds, &[])),
        Err(WriteError::Undated(_))
    ));
}

#[test]
fn a_device_that_carries_the_same_at_two_queues_is_saturated() {
    // 1,000 a second at 4 and at 16 in flight: nothing else was known of its limit.
    let mut text = "Linux 6.1 (db1) \t2024-05-07 \t_x86_64_\t(2 CPU)\n\n".to_owned();
    for at in 0..31 {
        let queue = if at < 16 { 4.0 } else { 16.0 };
        text += &format!(
            "2024-05-07 09:{:02}:{:02}\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda 1000.00 0.00 4000.00 0.00 {queue:.2} 0.00 {queue:.2} 100.00\n\n",
            at * 20 / 60,
            at * 20 % 60
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    written(&path, &[text.clone()], &[]).unwrap();
    let said = findings::analyse(&Record::open(&path).unwrap()).unwrap();
    let found = said.steps[0].attribution.as_ref().unwrap();
    assert!(
        matches!(&found.limit, findings::Limiter::Hop { hop, .. } if hop == "sda"),
        "{found:?}"
    );
    assert!(found.probability < 0.9);
    // With throughput that grows nothing is known.
    let path = dir.path().join("b.wsr");
    written(
        &path,
        &[iostat("db1", &(0..31).map(|at| 1000 + at * 100).collect::<Vec<_>>(), None)],
        &[],
    )
    .unwrap();
    let said = findings::analyse(&Record::open(&path).unwrap()).unwrap();
    let found = said.steps[0].attribution.as_ref().unwrap();
    assert!(!matches!(found.limit, findings::Limiter::Hop { .. }), "{found:?}");
}

#[test]
fn a_topology_adds_what_no_file_says() {
    let rate = |_: &str| Ok(1e6);
    let known = topology("[[hop]]\nname = \"sda\"\nrate = \"1 MB/s\"\n", &rate).unwrap();
    let feeds = [fed(iostat("db1", &[100; 4], None).as_bytes())];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let _ = options();
    write(&path, &Order { topology: &known, ..order(&feeds, &[]) }).unwrap();
    let counters = Record::open(&path).unwrap().counters(Some(0)).unwrap();
    let speed = counters.iter().find(|c| c.kind.id() == Some(CounterId::PortRate)).unwrap();
    assert_eq!(speed.value, 1e6);
}

/// A machine whose processors are full while its disk is not: their limit is known, whose work it is is not.
#[test]
fn full_processors_are_said_and_not_blamed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let mut text = "Linux 6.1 (db1) \t2024-05-07 \t_x86_64_\t(8 CPU)\n\n".to_owned();
    for at in 0..8 {
        text += &format!(
            "2024-05-07 09:00:{:02}\navg-cpu: %user %nice %system %iowait %steal %idle\n70.00 0.00 29.50 0.00 0.00 0.50\n\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\nsda 50000.00 0.00 200000.00 0.00 0.08 0.00 4.00 65.00\n\n",
            at * 5
        );
    }
    written(&path, &[text], &[]).unwrap();
    let analysis = findings::analyse(&Record::open(&path).unwrap()).unwrap();
    let said = analysis.monitoring.iter().find(|one| one.code == "processors-full").unwrap();
    assert!(said.text.starts_with("host.cpu was full, 100% busy at means of 5 s"), "{}", said.text);
    assert!(said.next.contains("pidstat"), "{}", said.next);
}

#[test]
fn tests_are_not_compared_with_each_other_as_times_of_one_load_are() {
    let dir = tempfile::tempdir().unwrap();
    let incidents = |name: &str, text: &str| {
        let path = dir.path().join(name);
        written(&path, &[text.to_owned()], &[]).unwrap();
        let record = Record::open(&path).unwrap();
        let monitoring = findings::analyse(&record).unwrap().monitoring;
        (
            record.steps()[1].settings[0].0.clone(),
            monitoring.iter().filter(|m| m.code == "incident").count(),
        )
    };
    // Of one disk whose latency rises from 2 ms to 40 ms for two of its reports.
    let slow = iostat("db1", &[100; 24], None).replacen("2.00 0.00 0.20", "40.0 0.00 4.00", 3);
    assert_eq!(incidents("a.wsr", &slow), ("window".to_owned(), 1));
    // A test of 1 ms, and one of 40 ms after it.
    let test = |name: &str, second: u32, ms: u32| {
        let line = |at: u32| {
            format!("10:00:{:02}.000 {name} {at} 500 100 0.39 4096 100 {ms}\n", second + at)
        };
        (0..4).map(line).collect::<String>()
    };
    let flat = format!(
        "<pre>\n* 'n/a' : Data not available\ntod Run Interval reqrate rate MB/sec bytes/io read% resp\n{}{}",
        test("rd1", 0, 1),
        test("rd2", 4, 40)
    );
    assert_eq!(incidents("b.wsr", &flat), ("test".to_owned(), 0));
}

/// Two looks of a switch that counts bytes alone, and the speed of its ports.
fn switch(bytes: u64) -> String {
    let look = |at: u64, of: u64| {
        let port = |port: u64| {
            format!(
                "1.3.6.1.2.1.2.2.1.2.{port}|4|port{port}\n1.3.6.1.2.1.31.1.1.1.15.{port}|66|8000\n1.3.6.1.2.1.31.1.1.1.6.{port}|70|{}\n1.3.6.1.2.1.31.1.1.1.10.{port}|70|{}\n",
                of * port,
                of / 10
            )
        };
        format!(
            "1.3.6.1.2.1.1.3.0|67|{}\n1.3.6.1.2.1.1.5.0|4|sw1\n{}{}",
            at * 100,
            port(1),
            port(2)
        )
    };
    look(1000, 1 << 40) + &look(1060, (1 << 40) + bytes * 60)
}

#[test]
fn of_a_switch_that_counts_bytes_alone_a_port_limits_where_it_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let of = |name: &str, bytes: u64| {
        let path = dir.path().join(name);
        written(&path, &[switch(bytes)], &[]).unwrap();
        findings::analyse(&Record::open(&path).unwrap()).unwrap()
    };
    // 800 MB/s of a line of 8 Gb/s, and half of it: nothing shows what waits.
    let analysis = of("a.wsr", 400_000_000);
    let found = analysis.steps[0].attribution.as_ref().expect("an answer");
    let full = |name: &str| {
        let hop = found.hops.iter().find(|hop| hop.hop == name).unwrap();
        hop.utilization.unwrap()
    };
    assert!((full("port2") - 0.8).abs() < 1e-3 && (full("port1") - 0.4).abs() < 1e-3);
    let Limiter::Unknown { missing } = &found.limit else { panic!("{:?}", found.limit) };
    assert_eq!(missing[..], ["operations and latency of the hosts"]);
    let headroom = analysis.monitoring.iter().find(|m| m.code == "headroom").expect("headroom");
    assert!(headroom.text.contains("80%"), "{}", headroom.text);
    assert!(headroom.text.ends_with("may grow by 25% until it is full"), "{}", headroom.text);
    assert!(analysis.monitoring.iter().any(|m| m.code == "collect"));
    // As much as the line carries.
    let analysis = of("b.wsr", 495_000_000);
    let found = analysis.steps[0].attribution.as_ref().expect("an answer");
    let Limiter::Hop { hop, .. } = &found.limit else { panic!("{:?}", found.limit) };
    assert!(hop == "port2" && found.probability < 0.9, "{hop}: {}", found.probability);
}

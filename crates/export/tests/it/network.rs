//! Network loads in NTttcp's form and as rows of CSV.

use crate::support::net::{NetLoad, NetSketch};
use crate::support::{Sketch, Work};
use export::{ExportError, NtttcpEnd, ntttcp};
use findings::analyse;

#[track_caller]
fn exported(load: NetLoad, end: NtttcpEnd) -> String {
    let sketch = NetSketch::of("").fact("far", "sender-host", "<alpha>").step(&[], 0, &[load]);
    let (_dir, record) = sketch.record();
    let analysis = analyse(&record).expect("the record is analysed");
    ntttcp(&record, &analysis, None, end).expect("a network load")
}

#[track_caller]
fn holds(xml: &str, lines: &[&str]) {
    for line in lines {
        assert!(xml.lines().any(|found| found.trim() == *line), "no `{line}` in:\n{xml}");
    }
}

#[test]
fn each_end_has_its_root_and_its_figures() {
    let load = || NetLoad { up: 2, rates: vec![104_857_600.0], sent: 1.25, ..NetLoad::tcp() };
    let sender = exported(load(), NtttcpEnd::Sender);
    holds(
        &sender,
        &[
            "<ntttcps computername=\"&lt;alpha&gt;\" version=\"wirespeed\">",
            "<thread index=\"1\">",
            "<throughput metric=\"MB/s\">125.000</throughput>",
            "<throughput metric=\"mbps\">2097.152</throughput>",
            "<total_bytes metric=\"MB\">2500.000000</total_bytes>",
            "<realtime metric=\"s\">10.000000</realtime>",
            "<packets_sent>2740000</packets_sent>",
            "<packets_retransmitted>0</packets_retransmitted>",
            "<errors>0</errors>",
            "<cpu metric=\"%\">15.000</cpu>",
            "<udp>False</udp>",
            "<use_ipv6>False</use_ipv6>",
            "<warmup_time>1000</warmup_time>",
            "<max_active_threads>2</max_active_threads>",
            "</ntttcps>",
        ],
    );
    let receiver = exported(load(), NtttcpEnd::Receiver);
    holds(
        &receiver,
        &[
            "<ntttcpr computername=\"beta\" version=\"wirespeed\">",
            "<total_bytes metric=\"MB\">2000.000000</total_bytes>",
            "<cpu metric=\"%\">45.000</cpu>",
        ],
    );
    assert!(!receiver.contains("packets_"), "the receiver counts no packets: {receiver}");
    assert!(!receiver.contains("cycles"), "{receiver}");
    assert!(!sender.contains("bufferLen"), "without a scenario no message is known: {sender}");
}

#[test]
fn datagrams_say_so() {
    holds(&exported(NetLoad::udp(), NtttcpEnd::Sender), &["<udp>True</udp>"]);
}

#[test]
fn without_a_network_load_there_is_nothing_to_export() {
    let scenario = "[scenario]\ntitle = \"x\"\n[[target]]\nname = \"t\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
                    [workload.load]\nblock = \"8KiB\"\n[plan]\nworkload = \"load\"\non = \"t\"\nmeasure = \"5s\"\n";
    let (_dir, record) = Sketch::of(scenario).record(|_, _| Work::default());
    let analysis = analyse(&record).expect("the record is analysed");
    for only in [None, Some(0)] {
        let refused = ntttcp(&record, &analysis, only, NtttcpEnd::Sender);
        assert!(matches!(refused, Err(ExportError::NoNetwork)), "{refused:?}");
    }
    assert!(matches!(
        ntttcp(&record, &analysis, Some(7), NtttcpEnd::Sender),
        Err(ExportError::NoStep { .. })
    ));
}

#[test]
fn a_row_a_stream() {
    let load = NetLoad { up: 1, down: 2, rates: vec![80e6, 20e6], ..NetLoad::udp() };
    let sketch = NetSketch::of("").step(&[("message", "4KiB")], 0, &[load]);
    let (_dir, record) = sketch.record();
    let analysis = analyse(&record).expect("the record is analysed");
    let text = export::csv::streams(&analysis, None).expect("rows");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 4);
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    let cell = |row: usize, name: &str| {
        let place = rows[0].iter().position(|n| *n == name).unwrap_or_else(|| panic!("no {name}"));
        rows[row][place]
    };
    assert_eq!((cell(1, "stream"), cell(1, "way")), ("far/up1", "to-receiver"));
    assert_eq!((cell(3, "stream"), cell(3, "received_mb_per_s")), ("far/down2", "20"));
    assert_eq!((cell(2, "setting_message"), cell(2, "complete")), ("4KiB", "true"));
    assert_eq!((cell(1, "datagrams_lost"), cell(1, "mss_bytes")), ("28000", ""));
    assert!(export::csv::streams(&analysis, Some(3)).is_err());
}

//! Records of the format's older versions open, and their reviews say what the program said that wrote them.

use flate2::read::GzDecoder;
use record::{HopKind, ProducerKind, Record, Status};
use review::{Style, html, json, terminal};
use std::fs::File;
use std::path::PathBuf;

/// A record of the corpus, unpacked; it is gone with its directory.
fn old(name: &str) -> (tempfile::TempDir, Record) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join(format!("{name}.wsr"));
    let packed = File::open(corpus(&format!("{name}.wsr.gz"))).expect("a record of the corpus");
    let mut file = File::create(&path).expect("a file");
    std::io::copy(&mut GzDecoder::new(packed), &mut file).expect("it unpacks");
    let record = Record::open(&path).expect("it opens");
    (dir, record)
}

fn corpus(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../record/tests/corpus").join(file)
}

#[track_caller]
fn check(name: &str, producer: ProducerKind, hops: &[(&str, HopKind)]) -> Record {
    let (_dir, record) = old(name);
    assert_eq!(record.head().producer.kind, producer);
    for (hop, kind) in hops {
        let source = record.sources().iter().find(|source| source.name == *hop);
        assert_eq!(source.unwrap_or_else(|| panic!("no {hop}")).hop(), Some(*kind), "{hop}");
    }
    for step in record.steps() {
        let counters = record.counters(Some(step.index)).expect("counters");
        let unknown = counters.iter().find(|counter| counter.kind.id().is_none());
        assert_eq!(unknown, None, "every counter is one of the registry");
    }
    let analysis = findings::analyse(&record).expect("it is analysed");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        let text = terminal(&analysis, Style { color: false, width: 100 });
        std::fs::write(corpus(&format!("{name}.txt")), text).expect("a writable file");
    }
    let said = std::fs::read_to_string(corpus(&format!("{name}.txt"))).expect("what was said");
    let found = terminal(&analysis, Style { color: false, width: 100 });
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    let found: Vec<&str> = found.lines().map(str::trim_end).collect();
    // What follows the record's review is the program's own word on the file.
    assert_eq!(found, said[..found.len().min(said.len())], "{name}");
    assert!(json(&analysis).is_object());
    let evidence = findings::evidence(&record, &analysis).expect("evidence");
    assert!(html(&analysis, &evidence, &record.head().scenario).contains("</html>"));
    record
}

#[test]
fn a_run_on_a_file() {
    check("file", ProducerKind::Live, &[("vda", HopKind::BlockDevice)]);
}

#[test]
fn a_run_on_nothing() {
    check("null", ProducerKind::Live, &[]);
}

#[test]
fn a_simulated_lab() {
    let hops = [
        ("vm1.scsi0", HopKind::VirtualAdapter),
        ("esx.cpu", HopKind::HostCpu),
        ("esx.hba.ssd1/lun0", HopKind::LunQueue),
        ("esx.hba", HopKind::Adapter),
        ("esx.hba:0-fabric", HopKind::Link),
        ("fabric:0", HopKind::SwitchPort),
    ];
    check("simulated", ProducerKind::Simulated, &hops);
}

#[test]
fn an_estimated_lab() {
    check("estimated", ProducerKind::Estimated, &[("esx.cpu", HopKind::HostCpu)]);
}

#[test]
fn a_port_that_died_and_returned() {
    let hops = [
        ("store", HopKind::ArrayCpu),
        ("store.p1", HopKind::TargetPort),
        ("store/disk1", HopKind::Volume),
    ];
    check("failover", ProducerKind::Live, &hops);
}

#[test]
fn streams_over_loopback() {
    let hops = [("far", HopKind::NetworkPair), ("far/receiver", HopKind::NetworkHost)];
    check("net", ProducerKind::Live, &hops);
}

#[test]
fn a_run_that_was_killed() {
    let record = check("killed", ProducerKind::Live, &[("vda", HopKind::BlockDevice)]);
    assert_eq!(record.status(), Status::Running);
}

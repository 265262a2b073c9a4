//! Trims, zeroes, flushes and FUA on LUNs: of our target, whose files are read by other means, and of tgt.

use crate::initiator::peer::*;
use crate::prelude::*;
use clock::Ns;
use std::os::unix::fs::MetadataExt;
use workload::{Arrivals, Durability, Regions, Row, Spec, WorkloadKind};

/// Reads, writes, and what moves no data; every eighth write is followed by a flush, every third or so has FUA.
fn all_kinds(trim: f64, zeroes: f64) -> Spec {
    let mut spec = mixed(4096, 30.0, 8);
    if let WorkloadKind::Access(access) = &mut spec.kind {
        (access.rows[0].trim, access.rows[0].zeroes) = (trim, zeroes);
    }
    Spec { durability: Durability { flush_every: 8, fua: 30.0 }, ..spec }
}

/// All of a LUN from its start, over and over.
fn every_block(trim: f64, zeroes: f64) -> Spec {
    let row = Row { trim, zeroes, ..Row::new(64 << 10, 0.0, 0.0) };
    Spec::access(vec![row], Arrivals::closed(4), Regions::Own)
}

#[track_caller]
fn check(url: &str, trim: f64) {
    let overwrite = |lun| TargetSpec { overwrite: true, ..lun };
    let spec = all_kinds(trim, 20.0);
    let step = step(vec![overwrite(granted(url))], 2, &spec, Ns::millis(400));
    sound(run(&step), url);
}

#[test]
fn a_verified_load_of_all_kinds_finds_nothing_on_our_target() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = format!("file:{},size=16MiB,thin", folder.path().join("volume").display());
    let volumes = ["ram:16MiB,thin", "ram:16MiB", &file, "ram:16MiB,thin,block=4096"];
    let target = ours(&volumes);
    for (lun, volume) in (0..).zip(volumes) {
        check(&url(&target, lun), if volume.contains("thin") { 20.0 } else { 0.0 });
    }
    check(
        &format!("{}?data_digest=crc32c&immediate_data=no&initial_r2t=yes", url(&target, 0)),
        20.0,
    );
    target.stop().expect("it stops");
}

#[test]
fn what_is_trimmed_takes_no_space_and_what_is_zeroed_reads_as_zeroes() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("volume");
    let target = ours(&[&format!("file:{},size=4MiB,thin", path.display())]);
    let url = url(&target, 0);
    let go = |spec: &Spec| {
        let lun = TargetSpec { overwrite: true, ..granted(&url) };
        let mut step = step(vec![lun], 1, spec, Ns::secs(1));
        step.workers[0].verify = false;
        run(&step).unwrap_or_else(|e| panic!("{e}"))
    };
    let blocks = || std::fs::metadata(&path).expect("there").blocks() * 512;
    go(&mixed(64 << 10, 0.0, 4));
    assert!(blocks() >= 3 * MIB, "{}", blocks());
    let zeroed = go(&every_block(0.0, 100.0));
    assert_eq!((zeroed.ops, zeroed.errors), (0, 0), "no reads and writes");
    assert!(zeroed.without_data[1] >= 64, "{zeroed:?}");
    assert!(std::fs::read(&path).expect("there").iter().all(|byte| *byte == 0));
    go(&mixed(64 << 10, 0.0, 4));
    let before = target.volumes()[0].counters();
    let trimmed = go(&every_block(100.0, 0.0));
    let after = target.volumes()[0].counters();
    assert!(trimmed.without_data[0] >= 64, "{trimmed:?}");
    assert!(blocks() < MIB, "{}", blocks());
    // The target has counted as many commands that are no reads and writes, but for those in flight at the end and what
    // the control plane asked.
    let counted = after.others - before.others;
    let trims = trimmed.without_data[0];
    assert!((trims..trims + 50).contains(&counted), "{counted} where {trims} were sent");
    assert_eq!(after.writes, before.writes);
    target.stop().expect("it stops");
}

#[test]
fn what_a_lun_lacks_is_refused_before_the_load() {
    let target = ours(&["ram:16MiB"]);
    let step = step(vec![granted(&url(&target, 0))], 1, &all_kinds(10.0, 0.0), Ns::millis(80));
    let refused = run(&step).expect_err("it is not thin").to_string();
    assert!(refused.contains("has no trims; leave `trim` out"), "{refused}");
    let fate = schemes().inspect(&step.targets[0], true).fate;
    assert!(fate.is_err_and(|e| e.to_string().contains("has no trims")));
    let mut spec = every_block(0.0, 100.0);
    if let WorkloadKind::Access(access) = &mut spec.kind {
        access.rows[0].size = 32 << 20;
    }
    let big =
        crate::initiator::peer::step(vec![granted(&url(&target, 0))], 1, &spec, Ns::millis(80));
    let refused = run(&big).expect_err("it is longer than a WRITE SAME").to_string();
    assert!(refused.contains("at most 16777216 bytes"), "{refused}");
    target.stop().expect("it stops");
}

#[test]
fn a_verified_load_of_all_kinds_finds_nothing_on_tgt() {
    let Some(tgt) = Tgt::start() else { return };
    let thin = ["--mode", "logicalunit", "--op", "update", "--tid", "1", "--lun", "1"];
    tgt.admin(&[&thin[..], &["--params", "thin_provisioning=1"]].concat());
    check(&tgt.url(1), 20.0);
}

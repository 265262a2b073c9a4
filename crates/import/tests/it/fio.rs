//! fio's job files: what each option becomes, by fio's documentation.

use crate::{Format, Severity, holds, imported, noted, refused, scenario};
use scenario::DiskWorkload;
use workload::{Arrivals, Process, Row, WorkloadKind};

/// A job of these options.
fn job(options: &str) -> String {
    format!("[j]\nfilename=/data/x\nsize=1g\ndirect=1\nruntime=10\ntime_based\n{options}\n")
}

fn first(text: &str) -> DiskWorkload {
    let scenario = scenario(text);
    let step = scenario.steps().into_iter().next().expect("a step");
    let load = step.disk_loads().next().expect("a load");
    load.workload.clone()
}

fn rows(options: &str) -> Vec<Row> {
    match first(&job(options)).spec.kind {
        WorkloadKind::Access(access) => access.rows,
        WorkloadKind::Transaction(_) => panic!("no job is a transaction"),
    }
}

/// Sizes with their shares, reads and random shares, rounded.
#[track_caller]
fn check_rows(options: &str, expected: &[(u32, f64, f64, f64)]) {
    let round = |x: f64| (x * 100.0).round() / 100.0;
    let rows: Vec<_> = rows(options)
        .iter()
        .map(|r| (r.size, round(r.share), round(r.read), round(r.random)))
        .collect();
    assert_eq!(rows, expected, "{options}");
}

#[test]
fn kinds_and_mixes() {
    check_rows("", &[(4096, 100.0, 100.0, 0.0)]);
    check_rows("rw=write\nbs=1m", &[(1 << 20, 100.0, 0.0, 0.0)]);
    check_rows("rw=randrw", &[(4096, 100.0, 50.0, 100.0)]);
    check_rows("rw=randrw\nrwmixread=70", &[(4096, 100.0, 70.0, 100.0)]);
    check_rows("rw=randrw\nrwmixread=70\nrwmixwrite=60", &[(4096, 100.0, 40.0, 100.0)]);
    check_rows("rw=randread\npercentage_random=30", &[(4096, 100.0, 100.0, 30.0)]);
    check_rows("rw=randread:4", &[(4096, 100.0, 100.0, 25.0)]);
}

#[test]
fn sizes() {
    check_rows("rw=randrw\nbs=4k,8k", &[(4096, 50.0, 100.0, 100.0), (8192, 50.0, 0.0, 100.0)]);
    check_rows("rw=randrw\nbs=4k-8k", &[(4096, 50.0, 100.0, 100.0), (8192, 50.0, 0.0, 100.0)]);
    check_rows("rw=randrw\nbs=,8k", &[(4096, 50.0, 100.0, 100.0), (8192, 50.0, 0.0, 100.0)]);
    check_rows("rw=randread\nbs=4kib\nkb_base=1000", &[(4096, 100.0, 100.0, 100.0)]);
    check_rows("rw=randread\nbs=4kb\nkb_base=1000", &[(4000, 100.0, 100.0, 100.0)]);
    check_rows("rw=randread\nbs=(4*1k)", &[(4096, 100.0, 100.0, 100.0)]);
    check_rows("rw=randread\nbs=0x1000", &[(4096, 100.0, 100.0, 100.0)]);
    check_rows(
        "rw=randread\nbssplit=4k/60:8k/:16k/",
        &[(4096, 60.0, 100.0, 100.0), (8192, 20.0, 100.0, 100.0), (16384, 20.0, 100.0, 100.0)],
    );
    check_rows(
        "rw=randrw\nbs_is_seq_rand=1\nbs=4k,64k\npercentage_random=25",
        &[(4096, 75.0, 50.0, 0.0), (65536, 25.0, 50.0, 100.0)],
    );
    assert_eq!(rows("rw=randread\nbssplit=4k/50:16k/50")[1].align, 4096);
    assert_eq!(rows("rw=randread\nbs=4k\nblockalign=64k")[0].align, 65536);
}

#[track_caller]
fn check_rate(options: &str, expected: f64, read: f64) {
    let workload = first(&job(options));
    let Arrivals::Open { process: Process::Fixed { rate } | Process::Poisson { rate }, .. } =
        workload.spec.arrivals
    else {
        panic!("{options}: a closed loop")
    };
    assert!((rate - expected).abs() < 0.01, "{options}: {rate}");
    let WorkloadKind::Access(access) = &workload.spec.kind else { panic!("rows") };
    let reads: f64 = access.rows.iter().map(|row| row.share * row.read / 100.0).sum();
    assert!((reads - read).abs() < 0.01, "{options}: {reads}% reads");
}

#[test]
fn rates() {
    check_rate("rw=randread\nrate_iops=500", 500.0, 100.0);
    check_rate("rw=write\nbs=64k\nrate=10m", 160.0, 0.0);
    // Each direction has the rate for itself.
    check_rate("rw=randrw\nrwmixread=90\nrate_iops=500", 1000.0, 50.0);
    check_rate("rw=randrw\nrate_iops=300,100", 400.0, 75.0);
    check_rate("rw=randread\nbsrange=4k-8k\nrate_iops=600", 400.0, 100.0);
    check_rate("rw=randread\nrate_iops=500\nrate_process=poisson", 500.0, 100.0);
    let both = job("rw=randrw\nrate_iops=300,");
    assert_eq!(scenario(&both).steps()[0].disk_loads().count(), 2);
}

#[test]
fn depth_is_that_of_the_engine() {
    holds(&job("iodepth=16"), &["depth = 1"]);
    holds(&job("ioengine=libaio\niodepth=16"), &["depth = 16"]);
    holds(&job("ioengine=libaio\niodepth=4\nrate_iops=100"), &["rate = 100", "limit = 4"]);
    holds(&job("thinktime=2ms\nthinktime_blocks=8"), &["burst = 8", "delay = \"2ms\""]);
}

#[test]
fn skews() {
    for (given, expected) in [
        ("zipf:1.2", "skew = { zipf = 1.2 }"),
        ("pareto:0.3", "skew = { pareto = 0.3 }"),
        ("zoned:90/10:10/90", "skew = { hot = 10, accesses = 90 }"),
        ("zoned:60/10:30/20:8/30:2/40", "skew = { hot = 30, accesses = 90 }"),
        ("zoned_abs:90/100m:10/924m", "skew = { hot = \"9.765625%\", accesses = 90 }"),
    ] {
        holds(&job(&format!("rw=randread\nrandom_distribution={given}")), &[expected]);
    }
}

#[test]
fn global_options_hold_for_the_jobs_behind_them() {
    let text = "[global]\nbs=8k\nruntime=5\nsize=1m\n[a]\n[global]\nbs=16k\n[b]\nrw=write\n[c]\nstonewall\nbs=32k\n";
    let scenario = scenario(text);
    let steps = scenario.steps();
    let sizes: Vec<Vec<u32>> =
        steps.iter().map(|s| s.disk_loads().map(|l| l.workload.spec.largest()).collect()).collect();
    assert_eq!(sizes, [vec![8192, 16384], vec![32768]]);
}

#[test]
fn files_and_clones() {
    holds(
        "[j]\nsize=1g\nnumjobs=4\nruntime=9\ndirectory=/d\n",
        &[
            "name = \"j-{0..3}\"",
            "file = \"/d/j.{0..3}.0\"",
            "create = \"1GiB\"",
            "on = \"j-{0..3}\"",
        ],
    );
    holds("[j]\nsize=1g\nnumjobs=4\nfilename=x\nrw=randread\n", &["file = \"x\"", "workers = 4"]);
    holds(
        "[j]\nsize=1g\nfilename=a\\:b:/dev/sdq\n",
        &["file = \"a:b\"", "device = \"/dev/sdq\"", "working_set = \"512MiB\""],
    );
    holds("[j]\nsize=20%\nfilename=/dev/sdq\n", &["working_set = \"20%\""]);
    holds(
        "[j]\nsize=1g\noffset_increment=1g\nnumjobs=4\nfilename=x\n",
        &["create = \"4GiB\"", "regions = \"own\""],
    );
    holds("[j]\nsize=${SIZE}\nnumjobs=$ncpus\nfilename=x\n", &["create = \"1GiB\"", "workers = 4"]);
    assert_eq!(scenario("[j]\nnrfiles=3\nsize=3m\n").lab.targets.len(), 3);
}

#[test]
fn flushes_and_trims_are_kept() {
    holds(&job("rw=write\nfdatasync=32\nsync=dsync"), &["flush_every = 32", "fua         = 100"]);
    holds(&job("rw=randtrim\nbs=64k"), &["block       = \"64KiB\"", "trim        = 100"]);
    assert!(noted(&job("rw=write\nfsync=1\nsync=dsync"), Severity::Approximated).is_empty());
    let deep = job("rw=write\nfsync=8\niodepth=4\nioengine=libaio");
    assert_eq!(noted(&deep, Severity::Approximated), ["8 fsync=8"]);
    assert!(!imported(None, &job("rw=read\nfsync=8")).scenario.contains("flush_every"));
}

#[test]
fn what_is_lost_is_said() {
    let text = job("end_fsync=1\nstartdelay=5\nnice=3\niodepth_batch=4");
    assert_eq!(
        noted(&text, Severity::Lost),
        ["7 end_fsync=1", "8 startdelay=5", "9 nice=3", "10 iodepth_batch=4"]
    );
    let text = job("rw=randread");
    assert_eq!(noted(&text, Severity::Approximated), ["7 rw=randread"]);
    assert!(noted(&job("rw=randread\nnorandommap"), Severity::Approximated).is_empty());
    assert!(imported(None, &text).scenario.contains("# approximated: rw=randread (line 7)"));
}

#[test]
fn mistakes_point_at_their_place() {
    for (options, expected) in [
        ("iodeph=4", "file:7:1: unknown option `iodeph`"),
        ("iodeph=4", "did you mean `iodepth`?"),
        ("  bs=4x", "file:7:3: `bs=4x`: expected sizes"),
        ("rw=trimwrite", "trimmed and then written"),
        ("zonemode=zbd", "`zonemode`: zoned access has no counterpart"),
        ("include other.fio", "put the included text in its place"),
        ("size=${NONE}", "`${NONE}` is not set in the environment"),
        ("ioengine=net", "it moves data over a network"),
        ("read_iolog=x", "replays a recorded trace"),
        ("rate=1m\nrate_iops=3", "exclude each other"),
        ("bssplit=4k/70:8k/70", "more than 100%"),
    ] {
        let said = refused(None, &job(options));
        assert!(said.contains(expected), "{options}: {said}");
    }
    assert!(refused(Some(Format::Fio), "bs=4k\n").contains("before any section"));
    assert!(refused(Some(Format::Fio), "; nothing\n").contains("no job"));
}

//! From an array's controllers to its disks, simulated: small labs whose figures are known by hand.

mod caches;
mod durable;
mod flash;
mod loads;
mod raid;
mod random;
mod rig;

use rig::Rig;

const PART: &str = r#"
[[part]]
name = "box"
kind = "array"
figures = [
  { name = "latency", value = "1 ns", source = "test", kind = "assumed" },
FIGURES
]
[[array]]
name = "a"
part = "box"
"#;

/// An array of this part with volumes.
fn array(figures: &[(&str, &str)], volumes: &str) -> String {
    let figure = |(name, value): &(&str, &str)| {
        format!(
            "  {{ name = \"{name}\", value = \"{value}\", source = \"test\", kind = \"assumed\" }},\n"
        )
    };
    let figures: String = figures.iter().map(figure).collect();
    PART.replace("FIGURES\n", &figures) + volumes
}

/// A volume of 15K disks.
fn volume(keys: &str) -> String {
    format!("[[volume]]\nname = \"v\"\narray = \"a\"\nsize = \"100GB\"\n{keys}\n")
}

fn work(keys: &str) -> String {
    format!("[workload.w]\n{keys}\n")
}

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() <= within, "{found}, not {expected}");
}

const READS: &str = "block = \"8KiB\"\nread = 100\nrandom = 100\n";
const WRITES: &str = "block = \"8KiB\"\nread = 0\nrandom = 100\n";

/// I/Os a second of a volume with these keys, on this many disks.
#[track_caller]
fn iops(keys: &str, disks: u32, load: &str, depth: u32) -> f64 {
    let lab = array(&[], &volume(keys));
    let work = work(&format!("{load}depth = {depth}"));
    Rig { lab: &lab, work: &work, disks, ..Rig::default() }.run().iops()
}

/// 3.3 ms of seek, 2.0 ms of rotation, 50 us of transfer: 5.35 ms, or 187 a second; and more where the disk can
/// reorder. Of n outstanding it chooses among n − 1: a completed I/O is replaced just after the next has begun.
#[test]
fn a_disk_of_15k() {
    let disk = "media = \"disk-15k\"";
    near(iops(disk, 1, READS, 1), 186.9, 0.02);
    near(iops(disk, 1, WRITES, 1), 186.9, 0.02);
    // At 8: positioning in 7^-0.215 of the time; at 33 in 0.475 of it.
    near(iops(disk, 1, READS, 8), 1.0 / (5.3e-3 / 1.519 + 5e-5), 0.02);
    near(iops(disk, 1, READS, 33), 1.0 / (5.3e-3 * 0.475 + 5e-5), 0.02);
}

/// With one I/O outstanding a small write takes as long as its phases, each of which waits for its slowest disk.
#[test]
fn groups_pay_their_penalties() {
    let disks = |raid, width| format!("media = \"disk-15k\"\nraid = \"{raid}\"\ndisks = {width}");
    // With all disks busy, n disks do n × 187 × gain over the penalty; deep queues of few disks come close.
    let gained = 1.0 / (5.3e-3 * 0.475 + 5e-5);
    near(iops(&disks("raid-0", 4), 4, WRITES, 256), 4.0 * gained, 0.03);
    near(iops(&disks("raid-1", 2), 2, WRITES, 128), gained, 0.03);
    near(iops(&disks("raid-1", 2), 2, READS, 128), 2.0 * gained, 0.03);
    near(iops(&disks("raid-5", 5), 5, WRITES, 512), 5.0 * gained / 4.0, 0.05);
    near(iops(&disks("raid-6", 6), 6, WRITES, 512), 6.0 * gained / 6.0, 0.05);
}

/// Without RAID a disk is full before the next is used: of four disks of 450 GB a volume of 100 GB is on the first. A load
/// over 900 GB is on two of them.
#[test]
fn disks_without_raid_follow_one_another() {
    let row = "media = \"disk-15k\"\nraid = \"none\"\ndisks = 4";
    near(iops(row, 4, READS, 33), 1.0 / (5.3e-3 * 0.475 + 5e-5), 0.02);
    let figures = |keys: &str, work: &str| {
        let lab = array(&[], keys);
        let rig = Rig { lab: &lab, work, disks: 4, ..Rig::default() };
        (rig.run().iops(), sim::estimate::estimate(&rig.plant()).iops)
    };
    // At the rate of the outer tracks of one disk.
    let stream = work("block = \"256KiB\"\nread = 100\nrandom = 0\ndepth = 16");
    let (simulated, estimated) = figures(&volume(row), &stream);
    near(simulated, 196.3e6 / 262_144.0, 0.01);
    near(estimated, 196.3e6 / 262_144.0, 0.02);
    // Two disks that are always busy, in transfers as far inside as they go: 8 KiB in 50 us.
    let many = work(&format!("{READS}depth = 512"));
    let (simulated, estimated) = figures(&volume(row).replace("100GB", "900GB"), &many);
    let one = 1.0 / (5.3e-3 * 0.475 + 5e-5);
    near(simulated, 2.0 * one, 0.03);
    near(estimated, 2.0 * one, 0.03);
}

/// LABS: "spindles alone give about 180,000": 960 disks that are always busy with one I/O, without reordering.
#[test]
fn nine_hundred_and_sixty_spindles() {
    let part = r#"
[[part]]
name = "plain"
like = "disk-15k"
figures = [{ name = "queue", value = "1", source = "test", kind = "assumed" }]
"#;
    let lab = array(&[], &volume("media = \"plain\"\nraid = \"raid-1\"\ndisks = 960\nluns = 480"));
    let work = work(&format!("{READS}depth = 4096\nworkers = 4"));
    let rig = Rig { lab: &(lab + part), work: &work, disks: 960, span: (1, 2), ..Rig::default() };
    let seen = rig.run();
    // The more I/Os outstanding, the less often a disk is idle: with 16,384 on 960 disks about one time in thirty.
    near(seen.iops(), 960.0 * 186.9, 0.05);
    near(seen.visits("a/v.disks"), seen.iops(), 0.01);
}

/// One stream reads at the rate of the disk's tracks; several on the same disk pay for seeks, one per read-ahead piece.
#[test]
fn streams_share_an_arm() {
    let disk = "media = \"disk-15k\"";
    let stream = "block = \"256KiB\"\nread = 100\nrandom = 0\n";
    let lab = array(&[], &volume(disk));
    let rate = |work: &str| Rig { lab: &lab, work, ..Rig::default() }.run().rate(262_144);
    // 100 GB of 450 GB on the outer tracks: 2 (204 − 188.7) / (204² − 188.7²) = 1 / 196.3 MB/s.
    near(rate(&work(&format!("{stream}depth = 4"))), 196.3, 0.01);
    // Two workers: for half of the pieces the arm is elsewhere, 5.3 ms beside 1.335 ms.
    let two = rate(&work(&format!("{stream}depth = 4\nworkers = 2")));
    near(two, 262_144.0 / (1.335e-3 + 2.65e-3) / 1e6, 0.02);
}

/// A cache answers the share that fits.
#[test]
fn reads_are_hit_by_how_much_of_them_fits() {
    let figures = [("cache", "25 GB"), ("cache_hit_time", "200 us"), ("write_back", "no")];
    let lab = array(&figures, &volume("media = \"disk-15k\""));
    let one = work(&format!("{READS}depth = 1"));
    let seen = Rig { lab: &lab, work: &one, span: (2, 200), ..Rig::default() }.run();
    // A quarter of 100 GB: 0.2 ms always, 5.35 ms three times of four.
    near(seen.latency(), 0.2 + 0.75 * 5.35, 0.02);
    near(seen.visits("a/v.disks") / seen.iops(), 0.75, 0.02);
    let set = work(&format!("{READS}depth = 1\nworking_set = \"20GB\""));
    near(Rig { lab: &lab, work: &set, ..Rig::default() }.run().latency(), 0.2, 0.01);
    let said = array(&figures, &volume("media = \"disk-15k\"\nhit_share = \"90%\""));
    near(Rig { lab: &said, work: &one, ..Rig::default() }.run().latency(), 0.2 + 0.1 * 5.35, 0.04);
    let past = array(&figures, &volume("media = \"disk-15k\"\ncache = \"none\""));
    near(Rig { lab: &past, work: &one, ..Rig::default() }.run().latency(), 5.35, 0.02);
}

/// Where no read reaches a disk, by the count of the disks themselves, the reader is told; and nowhere else.
#[test]
fn what_a_cache_answers_alone_is_said() {
    let figures = [("cache", "25 GB"), ("write_back", "no")];
    let told = |media: &str, load: &str| {
        let lab = array(&figures, &volume(media));
        let load = work(load);
        let rig = Rig { lab: &lab, work: &load, ..Rig::default() };
        let said = rig.plant().notes.iter().any(|note| note.code == "cached-reads");
        (said, rig.run().visits("a/v.disks") > 0.0)
    };
    let disk = "media = \"disk-15k\"";
    let set = |size: &str| format!("{READS}depth = 1\nworking_set = \"{size}\"");
    assert_eq!(told(disk, &set("20GB")), (true, false));
    assert_eq!(told(disk, &set("24GB")), (true, false));
    assert_eq!(told(disk, &set("30GB")), (false, true));
    let given = format!("{disk}\nhit_share = \"90%\"");
    assert_eq!(told(&given, &set("20GB")), (false, true), "the scenario knows its share");
    let past = format!("{disk}\ncache = \"none\"");
    assert_eq!(told(&past, &set("20GB")), (false, true));
    let writes = format!("{WRITES}depth = 1\nworking_set = \"20GB\"");
    assert_eq!(told(disk, &writes), (false, true), "nothing is read");
}

/// A write-back cache absorbs a burst at its own speed, and then runs at the disks'.
#[test]
fn a_cache_absorbs_a_burst_and_then_waits_for_the_disks() {
    // 80% of half of 20 MB: 8 MB, or 976 writes of 8 KB.
    let figures = [("cache", "20 MB"), ("cache_hit_time", "100 us")];
    let lab = array(&figures, &volume("media = \"disk-15k\""));
    let work = work(&format!("{WRITES}depth = 1"));
    let rig = |span| Rig { lab: &lab, work: &work, span, ..Rig::default() };
    // 10,000 a second find room for a tenth of a second, less the destages meanwhile.
    let burst = Rig { plan: "workload = \"w\"\non = \"vm*\"", ..rig((0, 1)) }.run();
    let disks = 1.0 / (5.3e-3 / 1.266 + 5e-5);
    assert!(burst.iops() > 976.0 && burst.iops() < 976.0 + 1.3 * disks, "{}", burst.iops());
    let later = rig((10, 20)).run();
    // Four destages to the disk at once, of which it chooses among three: 3^-0.215 of the time.
    near(later.iops(), disks, 0.02);
}

/// A write-through write is acknowledged by the disks.
#[test]
fn a_cache_that_writes_through_waits_for_the_disks() {
    let figures = [("cache", "20 GB"), ("write_back", "no")];
    let lab = array(&figures, &volume("media = \"disk-15k\""));
    let work = work(&format!("{WRITES}depth = 1"));
    near(Rig { lab: &lab, work: &work, ..Rig::default() }.run().iops(), 186.9, 0.02);
    let figures = [("cache", "20 GB"), ("write_back", "yes")];
    let lab = array(&figures, &volume("media = \"disk-15k\"\ncache = \"write-through\""));
    near(Rig { lab: &lab, work: &work, ..Rig::default() }.run().iops(), 186.9, 0.02);
}

/// The array as a whole: I/Os, bytes each way, bytes of both, processors of controllers, ports to the disks.
#[test]
fn what_an_array_carries_at_most() {
    let rate = |figures: &[(&str, &str)], load: &str, media: &str| {
        let lab = array(figures, &volume(&format!("media = \"{media}\"")));
        let work = work(load);
        let span = (1, 1);
        Rig { lab: &lab, work: &work, span, ..Rig::default() }.run()
    };
    let reads = "block = \"64KiB\"\nread = 100\ndepth = 64";
    let both = "block = \"64KiB\"\nread = 50\ndepth = 64";
    let iops = rate(&[("iops_max", "20k IOPS")], reads, "ram");
    near(iops.iops(), 20_000.0, 0.01);
    let read = [("rate_max", "900 MB/s"), ("read_rate", "600 MB/s")];
    near(rate(&read, reads, "ram").rate(65_536), 600.0, 0.01);
    near(rate(&read, both, "ram").rate(65_536), 900.0, 0.02);
    let cores = [("controller_time_per_io", "100 us"), ("controller_cores", "4")];
    near(rate(&cores, reads, "ram").iops(), 40_000.0, 0.01);
    let ports = [("backend_ports", "2"), ("backend_port_rate", "100 MB/s")];
    near(rate(&ports, reads, "ssd").rate(65_536), 200.0, 0.01);
}

/// Channels limit small reads, and the drive's rate large ones.
#[test]
fn a_solid_state_disk() {
    let part = r#"
[[part]]
name = "flash"
kind = "disk"
figures = [
  { name = "read_latency", value = "100 us", source = "test", kind = "assumed" },
  { name = "write_latency", value = "20 us", source = "test", kind = "assumed" },
  { name = "read_rate", value = "1 GB/s", source = "test", kind = "assumed" },
  { name = "write_rate", value = "500 MB/s", source = "test", kind = "assumed" },
  { name = "channels", value = "4", source = "test", kind = "assumed" },
]
"#;
    let lab = array(&[], &volume("media = \"flash\"")) + part;
    let run = |load: &str| {
        let work = work(load);
        Rig { lab: &lab, work: &work, span: (1, 1), ..Rig::default() }.run()
    };
    near(
        run("block = \"4KiB\"\nread = 100\nrandom = 100\ndepth = 1").latency(),
        0.1 + 4.096e-3,
        0.01,
    );
    near(run("block = \"4KiB\"\nread = 100\nrandom = 100\ndepth = 64").iops(), 40_000.0, 0.01);
    near(run("block = \"128KiB\"\nread = 100\ndepth = 64").rate(131_072), 1000.0, 0.01);
    near(run("block = \"128KiB\"\nread = 0\ndepth = 64").rate(131_072), 500.0, 0.01);
}

const TAPE: &str = r#"
[[part]]
name = "library"
kind = "tape"
figures = [
  { name = "drives", value = "1", source = "test", kind = "assumed" },
  { name = "drive_rate", value = "120 MB/s", source = "test", kind = "assumed" },
]
[[array]]
name = "a"
part = "library"
[[volume]]
name = "drive0"
array = "a"
size = "800GB"
"#;

#[test]
fn a_drive_of_tapes_runs_at_its_rate() {
    let work = work("block = \"256KiB\"\nread = 0\nrandom = 0\ndepth = 2");
    let rig = Rig { lab: TAPE, volumes: &["drive0"], work: &work, ..Rig::default() };
    near(rig.run().rate(262_144), 120.0, 0.01);
}

const COPY: &str = r#"
[workload.w]
kind = "copy"
from = ["a/v"]
to = ["a/u"]
block = "256KiB"
depth = 4
"#;

/// All data is read and written; the slower direction is the limit.
#[test]
fn a_copy_runs_at_its_slower_direction() {
    let rate = |read: &str, write: &str| {
        let figures = [("read_rate", read), ("write_rate", write)];
        let volumes =
            volume("media = \"ram\"") + &volume("media = \"ram\"").replace("\"v\"", "\"u\"");
        let lab = array(&figures, &volumes);
        Rig { lab: &lab, work: COPY, also: &["u"], span: (1, 4), ..Rig::default() }
            .run()
            .rate(262_144)
    };
    near(rate("400 MB/s", "300 MB/s"), 300.0, 0.02);
    near(rate("250 MB/s", "300 MB/s"), 250.0, 0.02);
}

/// A job: a load starts when all loads that it waits for have ended.
#[test]
fn phases_follow_each_other() {
    let volumes = volume("media = \"ram\"") + &volume("media = \"ram\"").replace("\"v\"", "\"u\"");
    let lab = array(&[("read_rate", "100 MB/s"), ("write_rate", "100 MB/s")], &volumes);
    let work = format!(
        "{COPY}\n[workload.then]\nkind = \"copy\"\nfrom = [\"a/u\"]\nto = [\"a/v\"]\nblock = \"256KiB\"\ndepth = 4\n"
    );
    let plan = r#"
load = [
  { workload = "w", on = "vm1", name = "first", amount = "300 MB" },
  { workload = "then", on = "vm1", after = ["first"] },
]
"#;
    let rig = |span| Rig { lab: &lab, work: &work, plan, also: &["u"], span, ..Rig::default() };
    // 300 MB at 100 MB/s: three seconds, without overlap.
    let early = rig((0, 2)).run();
    near(early.iops_of(0) * 262_144.0 / 1e6, 100.0, 0.02);
    assert_eq!(early.iops_of(1), 0.0);
    let late = rig((4, 4)).run();
    assert_eq!(late.iops_of(0), 0.0);
    near(late.iops_of(1) * 262_144.0 / 1e6, 100.0, 0.02);
}

/// Missing figures are assumed, and each assumption has a reason.
#[test]
fn missing_figures_are_recorded_as_assumptions() {
    let lab = "[[array]]\nname = \"a\"\n[[volume]]\nname = \"v\"\narray = \"a\"\n";
    let work = work("block = \"8KiB\"\ndepth = 1");
    let plant = Rig { lab, work: &work, ..Rig::default() }.plant();
    let figures: Vec<&str> = plant.assumptions.iter().map(|a| a.figure.as_str()).collect();
    for figure in ["media", "latency", "controller_time_per_io", "size"] {
        assert!(figures.contains(&figure), "{figure} of {figures:?}");
    }
    assert!(plant.assumptions.iter().all(|a| !a.reason.is_empty() && !a.value.is_empty()));
}

/// A VM that fails issues no I/O until it recovers; an array that fails takes down every path to it. Times count from
/// the start of the measured time.
#[test]
fn failures_come_and_go() {
    let lab = array(&[], &volume("media = \"disk-15k\""));
    let work = work(&format!("{READS}depth = 1"));
    let iops = |faults: &str| {
        let plan = format!("workload = \"w\"\non = \"vm*\"\nfaults = [{faults}]");
        Rig { lab: &lab, work: &work, plan: &plan, span: (2, 8), ..Rig::default() }.run().iops()
    };
    near(
        iops("{ at = \"2s\", fail = \"vm1\" }, { at = \"6s\", restore = \"vm1\" }"),
        186.9 / 2.0,
        0.08,
    );
    near(iops("{ at = \"2s\", fail = \"a\" }"), 186.9 / 4.0, 0.1);
}

#[test]
fn a_member_without_a_way_is_refused_by_name() {
    let lab = array(&[], &volume("media = \"ram\""));
    let work = work("block = \"8KiB\"\ndepth = 1");
    let scenario = Rig { lab: &lab, work: &work, ..Rig::default() }.scenario();
    let topology = scenario::topology::Topology::default();
    let refused = sim::lab::compile(&scenario, &topology, &rig::step(&scenario));
    let problem = refused.expect_err("nothing can be issued");
    assert!(matches!(problem.about(), scenario::About::Name("vm1")), "{problem}");
}

//! Groups of solid-state disks: closed forms of what one I/O takes, and of what all disks carry.

use super::rig::Rig;
use super::{array, near, volume, work};

/// Reads take 90 us and writes 30 us; 500 MB/s each way.
const READ: f64 = 90e-6;
const WRITE: f64 = 30e-6;
const LINE: f64 = 1.0 / 500e6;

/// I/Os a second of a group, simulated and estimated.
fn both(raid: &str, disks: u32, load: &str) -> [f64; 2] {
    let keys = format!("media = \"ssd\"\nraid = \"{raid}\"\ndisks = {disks}");
    let lab = array(&[], &volume(&keys));
    let work = work(&format!("random = 100\n{load}"));
    let rig = Rig { lab: &lab, work: &work, disks, span: (1, 1), ..Rig::default() };
    [rig.run().iops(), sim::estimate::estimate(&rig.plant()).iops]
}

#[track_caller]
fn check(raid: &str, disks: u32, load: &str, expected: f64, within: f64) {
    both(raid, disks, load).into_iter().for_each(|found| near(found, expected, within));
}

/// With one outstanding: old data and parity are read, in the time of a read and over the line of their disk, and then
/// written.
#[test]
fn a_read_before_a_write_takes_the_time_of_a_read() {
    for kib in [4, 64] {
        let bytes = f64::from(kib * 1024);
        let load = format!("block = \"{kib}KiB\"\nread = 0\ndepth = 1");
        let part = READ + WRITE + 2.0 * bytes * LINE;
        check("raid-5", 5, &load, 1.0 / part, 0.01);
        check("raid-6", 6, &load, 1.0 / part, 0.01);
    }
    // A whole stripe of four units reads nothing.
    let whole = 1.0 / (WRITE + 65_536.0 * LINE);
    check("raid-5", 5, "block = \"256KiB\"\nread = 0\ndepth = 1", whole, 0.01);
}

/// One I/O gets the rate of the disks that it is on.
#[test]
fn an_io_has_the_rate_of_its_own_disks() {
    let line = |kib: u32| f64::from(kib * 1024) * LINE;
    check("raid-0", 8, "block = \"64KiB\"\nread = 100\ndepth = 1", 1.0 / (READ + line(64)), 0.01);
    check("raid-10", 4, "block = \"64KiB\"\nread = 0\ndepth = 1", 1.0 / (WRITE + line(64)), 0.01);
    check("raid-0", 8, "block = \"512KiB\"\nread = 100\ndepth = 1", 1.0 / (READ + line(64)), 0.01);
}

/// With many outstanding all lines are busy, or all channels: of a small write with parity each of two disks reads and
/// writes, an eighth of 120 us on its channels.
#[test]
fn a_group_carries_what_its_disks_carry_together() {
    let lines = 8.0 / (65_536.0 * LINE);
    check("raid-0", 8, "block = \"64KiB\"\nread = 100\ndepth = 1024", lines, 0.02);
    let channels = 5.0 / 2.0 / ((READ + WRITE) / 8.0);
    check("raid-5", 5, "block = \"4KiB\"\nread = 0\ndepth = 1024", channels, 0.03);
}

/// Each I/O of a disk is counted once, and a group whose lines are full is full.
#[test]
fn what_passes_channels_and_lines_is_counted_once() {
    let seen = |raid: &str, disks: u32, load: &str| {
        let keys = format!("media = \"ssd\"\nraid = \"{raid}\"\ndisks = {disks}");
        let lab = array(&[], &volume(&keys));
        let work = work(&format!("random = 100\n{load}"));
        let seen = Rig { lab: &lab, work: &work, disks, span: (1, 1), ..Rig::default() }.run();
        let estimate = sim::estimate::estimate(&seen.plant);
        let at = seen.plant.hops.iter().position(|hop| hop.name == "a/v.disks").expect("disks");
        let of = estimate.hops[at].flows;
        let estimated = (of[0].ops + of[1].ops) / estimate.iops;
        (seen.visits("a/v.disks") / seen.iops(), estimated, estimate.hops[at].utilization)
    };
    let (simulated, estimated, full) =
        seen("raid-0", 8, "block = \"64KiB\"\nread = 100\ndepth = 1024");
    near(simulated, 1.0, 0.01);
    near(estimated, 1.0, 0.01);
    near(full, 1.0, 0.03);
    // Two disks are read, and then written.
    let (simulated, estimated, _) = seen("raid-5", 5, "block = \"4KiB\"\nread = 0\ndepth = 16");
    near(simulated, 4.0, 0.01);
    near(estimated, 4.0, 0.01);
}

/// An open load of small writes, estimated: mean response in microseconds.
fn response(raid: &str, disks: u32, rate: f64) -> f64 {
    let keys = format!("media = \"ssd\"\nraid = \"{raid}\"\ndisks = {disks}");
    let lab = array(&[], &volume(&keys));
    let load = "random = 100\nblock = \"512B\"\nread = 0\narrivals = \"poisson\"\nlimit = 4096";
    let work = work(&format!("{load}\nrate = \"{rate:.0} IOPS\""));
    let rig = Rig { lab: &lab, work: &work, disks, span: (1, 1), ..Rig::default() };
    let of = sim::estimate::estimate(&rig.plant());
    let responses = of.issuers.iter().map(|issuer| issuer.response.expect("all is carried"));
    responses.sum::<f64>() / of.issuers.len() as f64 * 1e6
}

/// An I/O that comes to a disk again at once finds what came while it was there: as printed by `flash_truth.py`.
#[test]
fn writes_that_read_before_meet_the_queue_that_they_left() {
    let truths = [
        ("raid-5", 5, 2.0, [(0.6, 129.1), (0.8, 163.6), (0.9, 242.1), (0.95, 396.0)]),
        ("raid-6", 6, 3.0, [(0.6, 131.1), (0.8, 171.5), (0.9, 262.8), (0.95, 443.2)]),
    ];
    for (raid, disks, parts, by_load) in truths {
        for (load, truth) in by_load {
            let rate = load * f64::from(disks) * 8.0 / (2.0 * parts * 60e-6);
            let found = response(raid, disks, rate);
            println!("{raid} at {load}: {found:.1} of {truth}");
            near(found, truth, 0.1);
        }
    }
}

/// Both copies of a write keep the same pace, so that it takes no longer than one: an eighth of the work on each of eight
/// channels (M/D/8, by `truth.py` of the estimates), and a microsecond on the line. However many disks there are, each pair has
/// as much to do.
#[test]
fn mirrored_writes_wait_once() {
    for (load, truth) in [(0.7, 106.3), (0.9, 144.8), (0.98, 416.0)] {
        for disks in [4, 16, 24] {
            let rate = load * f64::from(disks / 2) * 8.0 / WRITE;
            near(response("raid-10", disks, rate), truth * 0.3 + 1.024, 0.07);
        }
    }
}

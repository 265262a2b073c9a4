//! Write caches against `dirty_truth.py`, which simulates dirty blocks one by one and shares no code with ours;
//! `dirty_truth.txt` is what it printed. The hit shares of reads are compared in `lab::cache`.

use super::raid::DISK;
use super::rig::Rig;
use super::{array, volume, work};
use crate::simulate::support::{PLAIN, run_until};
use record::Level;

/// An array of 8 plain disks behind a cache with room for these MB of dirty data.
fn cached(room: u32) -> String {
    let size = format!("{} MB", f64::from(room) / 0.8);
    let figures =
        [("cache", size.as_str()), ("cache_mirrored", "no"), ("cache_hit_time", "100 us")];
    array(&figures, &volume("media = \"plain\"\nraid = \"raid-0\"\ndisks = 8")) + DISK
}

/// Writes of 64 KiB over a working set in MB: at a depth, or so many MB a second.
fn writes(set: u32, depth: u32, asked: u32) -> String {
    let arrivals = match asked {
        0 => format!("depth = {depth}"),
        asked => format!("rate = \"{:.2} IOPS\"", f64::from(asked) * 1e6 / 65_536.0),
    };
    work(&format!(
        "block = \"64KiB\"\nread = 0\nrandom = 100\nworking_set = \"{set}MB\"\n{arrivals}"
    ))
}

/// Throughput within 3%, and the dirty share within 3 points.
#[test]
fn caches_fill_and_empty_as_an_independent_simulator_finds() {
    let mut wrong = Vec::new();
    for line in include_str!("dirty_truth.txt").lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<f64>().expect("a number");
        let whole = |at: usize| number(at) as u32;
        let (lab, work) = (cached(whole(1)), writes(whole(0), whole(2), whole(3)));
        let span = (u64::from(whole(4)), u64::from(whole(5)));
        let seen = Rig { lab: &lab, work: &work, disks: 8, span, ..Rig::default() }.run();
        let (iops, dirty) = (seen.iops() / number(6) - 1.0, seen.held("a.cache") * 100.0);
        let text = format!("{line}: {:+.1}%, {dirty:.1}% dirty", iops * 100.0);
        println!("{text}");
        if iops.abs() > 0.03 || (dirty - number(7)).abs() > 3.0 {
            wrong.push(text);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A full cache: eight disks at 6.34 ms a destage are 1,262 a second, and 0.8% of the writes find a dirty block.
#[test]
fn a_full_cache_is_estimated_as_it_is_simulated() {
    let (lab, work) = (cached(800), writes(100_000, 32, 0));
    let rig = Rig { lab: &lab, work: &work, disks: 8, ..Rig::default() };
    let found = sim::estimate::estimate(&rig.plant()).iops;
    assert!((found / 1272.0 - 1.0).abs() < 0.05, "{found}");
    let (lab, work) = (cached(800), writes(400, 32, 0));
    let rig = Rig { lab: &lab, work: &work, disks: 8, ..Rig::default() };
    let found = sim::estimate::estimate(&rig.plant()).iops;
    assert!((found / 320_000.0 - 1.0).abs() < 0.05, "{found}");
}

/// Of 40 I/Os a second before a cache with room a tenth are reads, which take 6.4 ms on disks that are 3% busy; the writes are
/// destaged behind the host's back, and take an answer of the cache.
#[test]
fn an_open_load_does_not_wait_for_its_destages() {
    let lab = cached(800);
    for (read, time) in [(0.0, 0.1), (2.0, 0.23), (10.0, 0.74), (50.0, 3.3)] {
        let work = work(&format!(
            "block = \"64KiB\"\nread = {read}\nrandom = 100\nworking_set = \"100GB\"\nrate = \"40 IOPS\"\narrivals = \"poisson\""
        ));
        let rig = Rig { lab: &lab, work: &work, disks: 8, span: (5, 600), ..Rig::default() };
        let found = sim::estimate::estimate(&rig.plant()).latency().expect("a time") * 1e3;
        let counts = rig.run().counts;
        let sum =
            |of: fn(&sim::engine::ClassTally) -> f64| counts.classes.iter().map(of).sum::<f64>();
        let seen =
            sum(|class| class.tally.stayed as f64) / sum(|class| class.tally.departures as f64);
        let seen = seen / 1e9;
        assert!((found / seen - 1.0).abs() < 0.05, "{read}% reads: {found} ms, simulated {seen}");
        assert!((found / time - 1.0).abs() < 0.05, "{read}% reads: {found} ms, not {time}");
    }
}

/// A stream comes back to a block after a pass, when it has been destaged: of more than fits it finds nothing, and runs at
/// the eight disks' 199 MB/s each. Of less than fits it finds all, and waits for nothing but the cache.
#[test]
fn a_stream_over_more_than_fits_overwrites_nothing() {
    let stream = |set: u32| {
        let keys = "block = \"64KiB\"\nread = 0\nrandom = 0\ndepth = 32";
        work(&format!("{keys}\nworking_set = \"{set}MB\""))
    };
    let both = |work: &str, span| {
        let lab = cached(800);
        let rig = Rig { lab: &lab, work, disks: 8, span, ..Rig::default() };
        [rig.run().iops(), sim::estimate::estimate(&rig.plant()).iops]
    };
    // The mean time of a byte on the outer 2.8% of a disk, of 200 to 100 MB/s.
    let fall = (200e6_f64.powi(2) - 100e6_f64.powi(2)) * (100.0 / 8.0 / 450.0);
    let per_byte = 2.0 * (200e6 - (200e6_f64.powi(2) - fall).sqrt()) / fall;
    let disks = 8.0 / per_byte / 65_536.0;
    for set in [900, 1600, 20_000] {
        for found in both(&stream(set), (20, 20)) {
            assert!((found / disks - 1.0).abs() < 0.01, "{set} MB: {found}, not {disks}");
        }
    }
    let [found, _] = both(&stream(400), (1, 2));
    assert!((found / 320_000.0 - 1.0).abs() < 0.01, "{found}");
}

/// A full cache has four writes a disk in flight, also where each I/O is on several disks: of 256 KiB on all four, of 64 KiB
/// on both of a pair, of 8 KiB with parity on two, which are read before.
#[test]
fn destages_are_as_deep_as_their_writes_on_a_disk() {
    let present = |raid: &str, block: &str| {
        let keys = format!("media = \"plain\"\nraid = \"{raid}\"\ndisks = 4");
        let figures = [("cache", "100 MB"), ("cache_mirrored", "no")];
        let lab = array(&figures, &volume(&keys)) + DISK;
        let work = work(&format!("block = \"{block}\"\nread = 0\nrandom = 100\ndepth = 64"));
        let seen = Rig { lab: &lab, work: &work, disks: 4, span: (60, 60), ..Rig::default() }.run();
        let disks = seen.plant.hops.iter().find(|hop| hop.name == "a/v.disks").expect("disks");
        let of = |place: &sim::plant::HopElement| match place {
            sim::plant::HopElement::Station(id) => seen.counts.stations[id.0 as usize].present,
            _ => 0,
        };
        let sum: u128 = disks.places.iter().map(of).sum();
        sum as f64 / 1e12 / 60.0 / 4.0
    };
    near_four(present("raid-0", "64KiB"), 3.9);
    // While the slowest part of an I/O goes on, the others' places are not taken.
    near_four(present("raid-0", "256KiB"), 2.5);
    near_four(present("raid-10", "64KiB"), 2.9);
    near_four(present("raid-5", "4KiB"), 2.9);
}

/// At most four, and no less than this.
#[track_caller]
fn near_four(found: f64, least: f64) {
    assert!(found >= least && found <= 4.0 + 1e-9, "{found} a disk");
}

/// 200 MB/s into a cache that is drained at 83: it fills at 117 MB/s, and after 4 s there is room for 2.8 s more. Once it
/// is full there is nothing to say, nor at 60 MB/s.
#[test]
fn a_cache_that_fills_is_warned_of() {
    let told = |span: (u64, u64), asked: u32| -> Vec<String> {
        let (lab, work) = (cached(800), writes(100_000, 0, asked));
        let rig = Rig { lab: &lab, work: &work, disks: 8, span, ..Rig::default() };
        let compile = |step: &scenario::Step| rig.compiled_for(step);
        let kept = run_until(&rig.text(), &PLAIN, &compile, |_| false);
        let events = kept.record.events().iter().filter(|event| event.code == "stock-grows");
        let warned = events.inspect(|event| assert_eq!(event.level, Level::Warning));
        warned.map(|event| event.text.clone()).collect()
    };
    let fills = told((0, 4), 200);
    assert_eq!(fills.len(), 1, "{fills:?}");
    assert!(fills[0].starts_with("a.cache: dirty data grew from "), "{fills:?}");
    assert!(fills[0].contains(" in the 4 s measured, and is full 3 s later"), "{fills:?}");
    let overflows = told((1, 10), 200);
    assert!(overflows[0].contains("was full before the measured time ended"), "{overflows:?}");
    assert_eq!(told((2, 8), 60), Vec::<String>::new());
    assert_eq!(told((15, 8), 200), Vec::<String>::new());
}

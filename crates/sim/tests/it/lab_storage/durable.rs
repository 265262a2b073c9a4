//! Flushes, FUA, trims and zeroes against closed forms: one customer, a disk that takes 10 ms a write, a cache that answers
//! in 100 us.

use super::rig::{Rig, Seen};
use super::{array, volume, work};

/// Seconds of a write on the disk, and of an answer of the cache.
const DISK: f64 = 10e-3;
const ANSWER: f64 = 100e-6;

const SLOW: &str = r#"
[[part]]
name = "slow"
kind = "disk"
figures = [
  { name = "read_latency", value = "1 ms", source = "test", kind = "assumed" },
  { name = "write_latency", value = "10 ms", source = "test", kind = "assumed" },
  { name = "channels", value = "1", source = "test", kind = "assumed" },
  { name = "read_rate", value = "100 GB/s", source = "test", kind = "assumed" },
  { name = "write_rate", value = "100 GB/s", source = "test", kind = "assumed" },
]
"#;

/// What one customer does, in I/Os a second of each class: reads, writes, FUA writes, trims, zeroes, flushes.
/// Service times of disks vary: an hour holds enough of them for a hundredth.
fn run(cache: bool, keys: &str) -> (Vec<f64>, f64) {
    run_for(cache, keys, (4, 3600))
}

fn run_for(cache: bool, keys: &str, span: (u64, u64)) -> (Vec<f64>, f64) {
    let mut figures =
        vec![("cache", "1 GB"), ("cache_mirrored", "no"), ("cache_hit_time", "100 us")];
    figures.truncate(if cache { 3 } else { 0 });
    let volume = volume("media = \"slow\"\ndisks = 1");
    let lab = array(&figures, &volume) + SLOW;
    let work = work(&format!("block = \"4KiB\"\nrandom = 100\nworking_set = \"100GB\"\n{keys}"));
    let rig = Rig { lab: &lab, work: &work, span, ..Rig::default() };
    let Seen { counts, seconds, plant } = rig.run();
    let rates = counts.classes.iter().map(|class| class.tally.departures as f64 / seconds);
    (rates.collect(), sim::estimate::estimate(&plant).iops)
}

#[track_caller]
fn near(found: f64, wanted: f64) {
    assert!((found / wanted - 1.0).abs() < 0.01, "{found} instead of {wanted}");
}

/// Destages follow each other on the one disk from the first write on, and the flush ends an answer after the last of them.
#[test]
fn a_flush_waits_until_the_cache_is_empty() {
    for every in [1_u32, 4, 32] {
        let (rates, estimated) = run(true, &format!("read = 0\nflush_every = {every}"));
        let cycle = f64::from(every) * DISK + ANSWER;
        near(rates[1], f64::from(every) / cycle);
        near(rates[5], 1.0 / cycle);
        // The estimate has no flush that waits longer the more was written before it; it knows the disk's own rate.
        let share = estimated * cycle / f64::from(every);
        assert!((0.5..1.1).contains(&share), "{every}: {estimated}");
    }
    // Without flushes the cache answers, until it is full.
    near(run_for(true, "read = 0", (1, 10)).0[1], 1.0 / ANSWER);
}

#[test]
fn a_write_with_fua_waits_for_the_disk() {
    for cache in [true, false] {
        let (rates, estimated) = run(cache, "read = 0\nfua = \"100%\"");
        assert_eq!(rates[1], 0.0);
        near(rates[2], 1.0 / DISK);
        near(estimated, 1.0 / DISK);
    }
    // Half of the writes: a pair takes the disk twice, and the other write an answer.
    let (rates, _) = run(true, "read = 0\nfua = \"50%\"");
    let share = rates[2] / (rates[1] + rates[2]);
    assert!((share - 0.5).abs() < 0.03, "{share}");
}

/// I/Os a second are reads and writes alone, and no more of them are under way than are outstanding: half of four customers'
/// operations are trims, and the one disk is never idle for long.
#[test]
fn an_estimate_counts_what_moves_data() {
    let volume = volume("media = \"slow\"\ndisks = 1");
    let lab = array(&[], &volume) + SLOW;
    let keys = "block = \"4KiB\"\nrandom = 100\nread = 0\ntrim = \"50%\"\ndepth = 4";
    let work = work(keys);
    let rig = Rig { lab: &lab, work: &work, span: (4, 600), ..Rig::default() };
    let estimate = sim::estimate::estimate(&rig.plant());
    let seen = rig.run();
    let writes = seen.counts.classes[1].tally.departures as f64 / seen.seconds;
    assert!((estimate.iops / writes - 1.0).abs() < 0.05, "{} of {writes}", estimate.iops);
    let held = estimate.iops * estimate.latency().expect("a time");
    assert!((3.5..=4.0).contains(&held), "{held}");
}

/// They touch no disk: with a cache they take its answer, without one as long by assumption.
#[test]
fn trims_and_zeroes_cost_a_command_and_move_nothing() {
    for (cache, keys, class) in [
        (true, "read = 0\ntrim = \"100%\"", 3),
        (false, "read = 0\ntrim = \"100%\"", 3),
        (true, "read = 0\nzeroes = \"100%\"", 4),
    ] {
        let (rates, _) = run_for(cache, keys, (1, 10));
        near(rates[class], 1.0 / ANSWER);
        assert_eq!(rates.iter().sum::<f64>(), rates[class]);
    }
}

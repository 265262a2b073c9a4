//! Defaults for figures that neither parts nor scenario give, with reasons. Each use becomes an assumption of the
//! plant, so that readers see what a result rests on. Where no sensible default exists, the hop does not limit, which
//! is an assumption too.

use super::disk::Disk;
use super::draft::Draft;
use crate::model::RaidLevel;
use scenario::Medium;
use std::time::Duration;

/// A default value with its reason, or the given value.
#[derive(Clone, Copy, Debug)]
pub struct Given<T> {
    figure: &'static str,
    value: T,
    reason: &'static str,
    shown: fn(&T) -> String,
    assumed: bool,
}

impl<T> Given<T> {
    const fn assumed(
        figure: &'static str,
        value: T,
        reason: &'static str,
        shown: fn(&T) -> String,
    ) -> Given<T> {
        Given { figure, value, reason, shown, assumed: true }
    }

    /// Prefers the given value.
    pub fn or(self, given: Option<T>) -> Given<T> {
        match given {
            Some(value) => Given { value, assumed: false, ..self },
            None => self,
        }
    }

    /// The figure, its value with unit, and the reason.
    pub fn assumption(self) -> (&'static str, String, &'static str) {
        (self.figure, (self.shown)(&self.value), self.reason)
    }

    /// The value; recorded as an assumption about `subject` where it is one.
    pub fn noted(self, draft: &mut Draft, subject: &str) -> T {
        if self.assumed {
            draft.assume(subject, self.figure, (self.shown)(&self.value), self.reason);
        }
        self.value
    }
}

fn time(seconds: &f64) -> String {
    units::duration(Duration::from_secs_f64(*seconds))
}

fn rate(bytes_per_s: &f64) -> String {
    units::rate(*bytes_per_s)
}

fn share(share: &f64) -> String {
    units::percent(share * 100.0)
}

/// Capacities of disks and LUNs are decimal.
fn bytes(bytes: &f64) -> String {
    let decimal = bytes / 1e9;
    match decimal >= 1.0 && decimal.fract() == 0.0 {
        true => format!("{decimal} GB"),
        false => units::Bytes(*bytes as u64).to_string(),
    }
}

fn flag(flag: &bool) -> String {
    if *flag { "yes" } else { "no" }.to_owned()
}

fn plain<T: ToString>(value: &T) -> String {
    value.to_string()
}

/// Time of an I/O in an array besides controllers, cache and medium.
pub fn array_latency(medium: &Medium) -> Given<f64> {
    match medium {
        Medium::Ram => Given::assumed(
            "latency",
            15e-6,
            "not given; typical latency of memory arrays behind Fibre Channel",
            time,
        ),
        _ => Given::assumed(
            "latency",
            50e-6,
            "not given; firmware and internal links of an array, small beside any disk",
            time,
        ),
    }
}

/// Controller time per I/O.
pub fn controller_time() -> Given<f64> {
    Given::assumed(
        "controller_time_per_io",
        0.0,
        "not given; controllers are assumed not to limit, so the result is an upper bound in this respect",
        time,
    )
}

/// Time of a cache hit.
pub fn cache_hit_time() -> Given<f64> {
    Given::assumed(
        "cache_hit_time",
        100e-6,
        "not given; a look-up and a copy in the memory of an array, small beside a disk",
        time,
    )
}

/// Time of a command without data where there is no cache.
pub fn map_time() -> Given<f64> {
    Given::assumed(
        "map_time",
        100e-6,
        "no part has a figure for trims, zeroes and flushes; the time of a look-up, and nothing is moved",
        time,
    )
}

/// Whether a cache writes back.
pub fn write_back() -> Given<bool> {
    Given::assumed(
        "write_back",
        true,
        "not given; arrays with a cache protect it and write back",
        flag,
    )
}

/// Whether a cache mirrors each write.
pub fn cache_mirrored() -> Given<bool> {
    Given::assumed(
        "cache_mirrored",
        true,
        "not given; an array that acknowledges writes from its cache keeps them in two controllers",
        flag,
    )
}

/// Share of a cache that may be dirty.
pub fn dirty_share() -> Given<f64> {
    Given::assumed(
        "dirty_share",
        0.8,
        "not given; the usual high-water mark, above which writes are throttled",
        share,
    )
}

/// The read-ahead of sequential reads, in bytes.
pub fn read_ahead(cached: bool) -> Given<f64> {
    match cached {
        true => Given::assumed(
            "read_ahead",
            1_048_576.0,
            "not given; what an array reads of one stream before the arm moves to another",
            bytes,
        ),
        false => Given::assumed(
            "read_ahead",
            262_144.0,
            "not given; a segment of a disk's own buffer",
            bytes,
        ),
    }
}

/// The medium of volumes.
pub fn medium() -> Given<Medium> {
    Given::assumed(
        "media",
        Medium::Ram,
        "not given; the medium is assumed not to limit, so the result is an upper bound in this respect",
        plain,
    )
}

/// The RAID level of several disks.
pub fn raid() -> Given<RaidLevel> {
    Given::assumed("raid", RaidLevel::Striped, "not given; no redundancy is assumed", plain)
}

/// The stripe unit in bytes.
pub fn stripe_unit() -> Given<f64> {
    Given::assumed("stripe_unit", 65_536.0, "not given; a common size of arrays", bytes)
}

/// Size of a volume in bytes, where a workload does not need more.
pub const VOLUME_SIZE: f64 = 100e9;

/// Size of a volume in bytes, given the bytes that are touched.
pub fn volume_size(touched: f64) -> Given<f64> {
    let size = touched.max(VOLUME_SIZE);
    Given::assumed(
        "size",
        size,
        "not given; what a workload touches, or a common size of LUNs",
        bytes,
    )
}

/// A generic rotating disk.
pub const DISK: Disk = Disk {
    seek: 3.3e-3,
    half_turn: 2.0e-3,
    rate_outer: 204e6,
    rate_inner: 122e6,
    size: 450e9,
    queue: 32,
    saved: 0.525,
};

/// A time of a rotating disk that its part does not give.
pub fn disk_time(figure: &'static str, value: f64) -> Given<f64> {
    Given::assumed(figure, value, "not given; that of the 15,000 rpm class", time)
}

/// A rate of a rotating disk that its part does not give.
pub fn disk_rate(figure: &'static str, value: f64) -> Given<f64> {
    Given::assumed(figure, value, "not given; that of the 15,000 rpm class", rate)
}

/// The capacity of a rotating disk.
pub fn disk_size() -> Given<f64> {
    Given::assumed("size", DISK.size, "not given; that of the 15,000 rpm class", bytes)
}

/// Commands in a disk's queue.
pub fn disk_queue() -> Given<u32> {
    Given::assumed("queue", DISK.queue, "not given; a common depth of tagged command queues", plain)
}

/// Gain of reordering with a full queue.
pub fn disk_reorder() -> Given<f64> {
    Given::assumed(
        "reorder",
        DISK.saved,
        "not given; a queue of 32 served by shortest access time positions about twice as fast",
        share,
    )
}

/// Time of a solid-state disk per I/O on one channel.
pub fn ssd_time(figure: &'static str) -> Given<f64> {
    match figure {
        "write_latency" => Given::assumed(
            "write_latency",
            30e-6,
            "not given; a write into the buffer of a data-centre drive",
            time,
        ),
        _ => Given::assumed("read_latency", 90e-6, "not given; a read of a page of flash", time),
    }
}

/// Rate of a solid-state disk in one direction.
pub fn ssd_rate(figure: &'static str) -> Given<f64> {
    Given::assumed(figure, 500e6, "not given; a drive behind SATA at 6 Gb/s", rate)
}

/// I/Os that a solid-state disk serves at once.
pub fn ssd_channels() -> Given<u32> {
    Given::assumed("channels", 8, "not given; the usual number of channels of a controller", plain)
}

/// Rate of a tape drive.
pub fn tape_rate() -> Given<f64> {
    Given::assumed("drive_rate", 120e6, "not given; LTO-4, uncompressed", rate)
}

/// Time of a file on a storage server per I/O, besides its medium.
pub fn file_time() -> Given<f64> {
    Given::assumed("latency", 50e-6, "not given; a file system in memory on a server", time)
}

/// How long a VM is stunned when it moves.
pub fn stun() -> Given<f64> {
    Given::assumed(
        "stun",
        0.5,
        "not given; a VM runs during its move and stops only at the end",
        time,
    )
}

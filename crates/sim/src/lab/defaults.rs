//! What is taken for figures that no part and no scenario gives, and why. Each use of one becomes an assumption of the plant,
//! so that a reader sees what an answer rests on. Where nothing sensible can be assumed, the hop does not limit, and that is
//! an assumption too.

use super::disk::Disk;
use super::draft::Draft;
use super::raid::Raid;
use scenario::Medium;
use std::time::Duration;

/// A figure that is given, or else a value with its reason.
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

    /// What is given comes first.
    pub fn or(self, given: Option<T>) -> Given<T> {
        match given {
            Some(value) => Given { value, assumed: false, ..self },
            None => self,
        }
    }

    /// The figure, its value with its unit, and the reason.
    pub fn told(self) -> (&'static str, String, &'static str) {
        (self.figure, (self.shown)(&self.value), self.reason)
    }

    /// The value, noted as an assumption about `subject` where it is one.
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

/// What an I/O takes in an array besides controllers, cache and medium.
pub fn array_latency(medium: &Medium) -> Given<f64> {
    match medium {
        Medium::Ram => Given::assumed(
            "latency",
            15e-6,
            "not given; arrays of memory behind Fibre Channel are sold with about 15 us",
            time,
        ),
        _ => Given::assumed(
            "latency",
            50e-6,
            "not given; firmware and internal ways of an array, small beside any disk",
            time,
        ),
    }
}

/// Processor time of a controller an I/O.
pub fn controller_time() -> Given<f64> {
    Given::assumed(
        "controller_time_per_io",
        0.0,
        "not given; controllers are taken not to limit, so the answer is an upper bound in this respect",
        time,
    )
}

/// What an answer of a cache takes.
pub fn cache_hit_time() -> Given<f64> {
    Given::assumed(
        "cache_hit_time",
        100e-6,
        "not given; a look-up and a copy in the memory of an array, small beside a disk",
        time,
    )
}

/// Whether a cache acknowledges writes.
pub fn write_back() -> Given<bool> {
    Given::assumed(
        "write_back",
        true,
        "not given; arrays with a cache guard it and write back",
        flag,
    )
}

/// Whether a cache holds each write twice.
pub fn cache_mirrored() -> Given<bool> {
    Given::assumed(
        "cache_mirrored",
        true,
        "not given; an array that acknowledges writes from its cache keeps them in two controllers",
        flag,
    )
}

/// How much of a cache may wait to be destaged.
pub fn dirty_share() -> Given<f64> {
    Given::assumed(
        "dirty_share",
        0.8,
        "not given; the usual high-water mark, from which on writers are held back",
        share,
    )
}

/// Whether what reads in sequence was read ahead, and how much at a time.
pub fn read_ahead(cached: bool) -> Given<f64> {
    match cached {
        true => Given::assumed(
            "read_ahead",
            1_048_576.0,
            "not given; how much an array reads of one stream before the arm turns to another",
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

/// What volumes lie on.
pub fn medium() -> Given<Medium> {
    Given::assumed(
        "media",
        Medium::Ram,
        "not given; the medium is taken not to limit, so the answer is an upper bound in this respect",
        plain,
    )
}

/// How several disks guard data.
pub fn raid() -> Given<Raid> {
    Given::assumed("raid", Raid::Striped, "not given; the disks are taken to guard nothing", plain)
}

/// Bytes on one disk of a group before the next one's turn.
pub fn stripe_unit() -> Given<f64> {
    Given::assumed(
        "stripe_unit",
        65_536.0,
        "not given; the usual size of arrays of that time",
        bytes,
    )
}

/// Bytes of a volume, where a workload does not need more.
pub const VOLUME_SIZE: f64 = 100e9;

/// Bytes of a volume of which so many are touched.
pub fn volume_size(touched: f64) -> Given<f64> {
    let size = touched.max(VOLUME_SIZE);
    Given::assumed(
        "size",
        size,
        "not given; what a workload touches, or a usual size of LUNs",
        bytes,
    )
}

/// A rotating disk of no particular model.
pub const DISK: Disk = Disk {
    seek: 3.3e-3,
    half_turn: 2.0e-3,
    rate_outer: 204e6,
    rate_inner: 122e6,
    size: 450e9,
    queue: 32,
    saved: 0.525,
};

/// A figure of a rotating disk that its part does not give.
pub fn disk_time(figure: &'static str, value: f64) -> Given<f64> {
    Given::assumed(figure, value, "not given; that of the 15,000 rpm class", time)
}

/// The same for a rate.
pub fn disk_rate(figure: &'static str, value: f64) -> Given<f64> {
    Given::assumed(figure, value, "not given; that of the 15,000 rpm class", rate)
}

/// The same for its capacity.
pub fn disk_size() -> Given<f64> {
    Given::assumed("size", DISK.size, "not given; that of the 15,000 rpm class", bytes)
}

/// Commands that a disk sees at once.
pub fn disk_queue() -> Given<u32> {
    Given::assumed("queue", DISK.queue, "not given; tagged commands that disks reorder well", plain)
}

/// What reordering gains with the queue full.
pub fn disk_reorder() -> Given<f64> {
    Given::assumed(
        "reorder",
        DISK.saved,
        "not given; a queue of 32 in the order of shortest access time positions about twice as fast",
        share,
    )
}

/// Time of a solid-state disk an I/O, of which each channel does one at a time.
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

/// What a solid-state disk carries in a direction.
pub fn ssd_rate(figure: &'static str) -> Given<f64> {
    Given::assumed(figure, 500e6, "not given; a drive behind SATA at 6 Gb/s", rate)
}

/// I/Os that a solid-state disk does at once.
pub fn ssd_channels() -> Given<u32> {
    Given::assumed("channels", 8, "not given; the usual number of channels of a controller", plain)
}

/// What a drive of tapes carries.
pub fn tape_rate() -> Given<f64> {
    Given::assumed("drive_rate", 120e6, "not given; LTO-4, uncompressed", rate)
}

/// What a file on a storage server takes an I/O beside its medium.
pub fn file_time() -> Given<f64> {
    Given::assumed("latency", 50e-6, "not given; a file system in memory on a server", time)
}

/// For how long a VM stands still when it moves.
pub fn stun() -> Given<f64> {
    Given::assumed(
        "stun",
        0.5,
        "not given; a VM is moved while it runs and stops only at the end",
        time,
    )
}

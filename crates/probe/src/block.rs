//! Block devices: those under a path, and their counters.
//!
//! From `/sys/dev/block/MAJOR:MINOR`, as Linux documents it in `Documentation/block/stat.rst` and
//! `Documentation/ABI/stable/sysfs-block`. A device that does not count (`queue/iostats` is 0, the default of zram) is reported as
//! such, so that constant counters are not taken for an idle device.

use clock::Ns;
use rustix::fs::{major, minor};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The kernel counts sectors of 512 bytes here, whatever the device's own are.
const SECTOR: u64 = 512;

/// A disk, or a partition of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    name: String,
    node: PathBuf,
    /// The disk that it is or is a part of.
    disk: PathBuf,
}

/// What a device has counted since it came to be; differences of two looks are what happened between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Reads that completed.
    pub reads: u64,
    /// Reads that were merged into others on their way.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Time that reads took, summed over them.
    pub read_time: Ns,
    /// Writes that completed.
    pub writes: u64,
    /// Writes that were merged into others on their way.
    pub writes_merged: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Time that writes took, summed over them.
    pub write_time: Ns,
    /// Requests in flight at this moment.
    pub in_flight: u64,
    /// Time during which anything was in flight.
    pub busy: Ns,
    /// Time that requests were in flight, summed over them.
    pub queued: Ns,
}

/// One look at a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// When, on the monotonic clock.
    pub at: Ns,
    /// Its counts; `None` where it has never counted anything, counting is off, or it is gone.
    pub stat: Option<Stat>,
}

/// The devices that a file lies on, or that a block device is: a partition before its disk. Empty where none is known, as
/// for files in memory, on a network, or in a file system that spans several devices.
pub fn under(path: &Path) -> Vec<BlockDevice> {
    let Ok(meta) = fs::metadata(path) else { return Vec::new() };
    let number = if meta.file_type().is_block_device() { meta.rdev() } else { meta.dev() };
    let node = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    fs::canonicalize(node).map(at_node).unwrap_or_default()
}

/// The device at a node of sysfs, and its disk where it is a partition.
fn at_node(node: PathBuf) -> Vec<BlockDevice> {
    let disk = match node.join("partition").exists() {
        true => node.parent().unwrap_or(&node).to_owned(),
        false => node.clone(),
    };
    let mut nodes = vec![node];
    if disk != nodes[0] {
        nodes.push(disk.clone());
    }
    let device = |node: PathBuf| {
        let name = node.file_name()?.to_string_lossy().into_owned();
        Some(BlockDevice { name, node, disk: disk.clone() })
    };
    nodes.into_iter().filter_map(device).collect()
}

impl BlockDevice {
    /// Its name in the kernel: `vda1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Why its counters may say nothing: counting is off in the kernel, or nothing has been counted yet, as on a device
    /// that is new and on one that never counts.
    pub fn uncounted(&self) -> Option<&'static str> {
        if self.switched_off() {
            return Some("its queue/iostats is 0");
        }
        match self.read() {
            Ok(stat) if stat.is_blank() => Some("it has never counted anything"),
            Ok(_) => None,
            Err(_) => Some("its counters cannot be read"),
        }
    }

    /// What it is known by: its number in the kernel (`dev.252:0`), its WWID, serial number or UUID.
    pub fn identities(&self) -> Vec<String> {
        let number = crate::sysfs::text(&self.node.join("dev"));
        let mut known: Vec<String> = number.map(|n| format!("dev.{n}")).into_iter().collect();
        if self.node == self.disk {
            known.extend(crate::scsi::identities(Path::new("/sys"), &self.name));
        }
        known
    }

    /// Looks at its counters.
    pub fn look(&self) -> Look {
        let counts = |stat: &Stat| !stat.is_blank();
        let stat = if self.switched_off() { None } else { self.read().ok().filter(counts) };
        Look { at: clock::now(), stat }
    }

    fn switched_off(&self) -> bool {
        let iostats = fs::read_to_string(self.disk.join("queue/iostats"));
        iostats.is_ok_and(|text| text.trim() == "0")
    }

    fn read(&self) -> io::Result<Stat> {
        let text = fs::read_to_string(self.node.join("stat"))?;
        parse(&text).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
    }
}

impl Stat {
    /// Nothing has ever been counted.
    fn is_blank(&self) -> bool {
        *self == Stat { in_flight: self.in_flight, ..Stat::default() }
    }
}

/// Reads the line of a `stat` file; newer kernels have more numbers (discards, flushes) after these eleven.
pub fn parse(text: &str) -> Option<Stat> {
    let mut numbers = text.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
    let mut next = || numbers.next().flatten();
    let bytes = |sectors: u64| sectors.saturating_mul(SECTOR);
    let millis = |ms: u64| Ns(ms.saturating_mul(Ns::millis(1).0));
    Some(Stat {
        reads: next()?,
        reads_merged: next()?,
        read_bytes: bytes(next()?),
        read_time: millis(next()?),
        writes: next()?,
        writes_merged: next()?,
        write_bytes: bytes(next()?),
        write_time: millis(next()?),
        in_flight: next()?,
        busy: millis(next()?),
        queued: millis(next()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree like that of sysfs: a disk with a partition.
    fn tree(iostats: &str, stat: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().expect("a directory");
        let disk = dir.path().join("sdx");
        let part = disk.join("sdx1");
        fs::create_dir_all(disk.join("queue")).expect("a queue");
        fs::create_dir(&part).expect("a partition");
        fs::write(part.join("partition"), "1\n").expect("its number");
        fs::write(disk.join("queue/iostats"), iostats).expect("a switch");
        fs::write(disk.join("stat"), stat).expect("the disk's counters");
        fs::write(part.join("stat"), stat).expect("the partition's counters");
        (dir, part)
    }

    const COUNTED: &str = "  10 0 16 3  5 0 40 7  2 9 11 0 0 0 0 0 0\n";

    #[test]
    fn a_partition_comes_before_its_disk() {
        let (_dir, part) = tree("1\n", COUNTED);
        let names = |node: &Path| -> Vec<String> {
            at_node(node.to_owned()).iter().map(|d| d.name().to_owned()).collect()
        };
        assert_eq!(names(&part), ["sdx1", "sdx"]);
        assert_eq!(names(part.parent().expect("a disk")), ["sdx"]);
    }

    #[test]
    fn a_device_that_does_not_count_says_why() {
        for (iostats, stat, why) in [
            ("1\n", COUNTED, None),
            ("0\n", COUNTED, Some("its queue/iostats is 0")),
            ("1\n", "0 0 0 0 0 0 0 0 0 0 0\n", Some("it has never counted anything")),
            ("1\n", "0 0 0 0 0 0 0 0 4 0 0\n", Some("it has never counted anything")),
            ("1\n", "what?\n", Some("its counters cannot be read")),
        ] {
            let (_dir, part) = tree(iostats, stat);
            for device in at_node(part) {
                assert_eq!(device.uncounted(), why, "{iostats:?} {stat:?}");
                assert_eq!(device.look().stat.is_some(), why.is_none());
            }
        }
    }

    #[test]
    fn a_device_that_is_gone_has_no_counters() {
        let (dir, part) = tree("1\n", COUNTED);
        let devices = at_node(part);
        drop(dir);
        assert!(devices.iter().all(|d| d.look().stat.is_none()));
    }
}

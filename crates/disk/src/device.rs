//! Facts of the device under a target and of the file system it lies on, read from `/sys` and `/proc/self/mountinfo`.
//! What cannot be read is left out.

use crate::create::folder_of;
use rustix::fs::{major, minor, statvfs};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A fact's key and value.
pub(crate) type DeviceFact = (&'static str, String);

/// Name, model, scheduler, queue and block sizes of a block device; of its disk where it is a partition.
pub(crate) fn device_facts(device: u64) -> Vec<DeviceFact> {
    let Some(node) = node(device) else { return Vec::new() };
    let disk = if node.join("partition").exists() { parent(&node) } else { node.clone() };
    let name = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned());
    let queue = |file: &str| read(&disk.join("queue").join(file));
    let model = ["device/model", "dm/name", "loop/backing_file", "md/level"];
    let facts = [
        ("device", name(&node)),
        ("disk", name(&disk)),
        ("model", model.iter().find_map(|file| read(&disk.join(file)))),
        ("firmware", read(&disk.join("device/firmware_rev"))),
        ("scheduler", queue("scheduler").map(|text| chosen(&text))),
        ("nr-requests", queue("nr_requests")),
        ("rotational", queue("rotational")),
        ("write-cache", queue("write_cache")),
        ("logical-block", queue("logical_block_size").map(bytes)),
        ("physical-block", queue("physical_block_size").map(bytes)),
    ];
    facts.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

/// The disk under a path: the one that a file (or, where there is none yet, its directory) lies on, or that a block
/// device is or is a part of. `None` where no disk is known, as in memory or on a network.
pub fn disk_under(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).or_else(|_| fs::metadata(folder_of(path))).ok()?;
    let device = if meta.file_type().is_block_device() { meta.rdev() } else { meta.dev() };
    device_facts(device).into_iter().find(|(key, _)| *key == "disk").map(|(_, name)| name)
}

/// The logical block size of the device that a file lies on, in bytes.
pub(crate) fn logical_block(device: u64) -> Option<u32> {
    let node = node(device)?;
    let disk = if node.join("partition").exists() { parent(&node) } else { node };
    read(&disk.join("queue/logical_block_size"))?.parse().ok()
}

/// Whether the device that a file lies on completes I/O by polling too.
pub(crate) fn polled_queues(device: u64) -> bool {
    let disk = node(device).map(|n| if n.join("partition").exists() { parent(&n) } else { n });
    disk.and_then(|disk| read(&disk.join("queue/io_poll"))).is_some_and(|flag| flag == "1")
}

/// Whether a block device discards ranges.
pub(crate) fn discards(device: u64) -> bool {
    let disk = node(device).map(|n| if n.join("partition").exists() { parent(&n) } else { n });
    let most = disk.and_then(|disk| read(&disk.join("queue/discard_max_bytes")));
    // What sysfs does not show is tried.
    most.is_none_or(|bytes| bytes != "0")
}

/// The size of a block device in bytes, without opening it. The kernel always counts sectors of 512 bytes here.
pub(crate) fn size(device: u64) -> Option<u64> {
    let sectors: u64 = read(&node(device)?.join("size"))?.parse().ok()?;
    sectors.checked_mul(512)
}

/// File system, its source and options, and its free space.
pub(crate) fn mount_facts(path: &Path) -> Vec<DeviceFact> {
    let mut facts = Vec::new();
    if let Some(mount) = fs::canonicalize(path).ok().and_then(|path| mount_of(&path)) {
        facts.push(("file-system", mount.kind));
        facts.push(("mount-source", mount.source));
        facts.push(("mount-options", mount.options));
    }
    if let Ok(vfs) = statvfs(path) {
        let free = vfs.f_bavail.saturating_mul(vfs.f_frsize);
        facts.push(("free", format!("{} MiB", free >> 20)));
    }
    facts
}

fn node(device: u64) -> Option<PathBuf> {
    fs::canonicalize(format!("/sys/dev/block/{}:{}", major(device), minor(device))).ok()
}

fn parent(node: &Path) -> PathBuf {
    node.parent().unwrap_or(node).to_path_buf()
}

fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn bytes(number: String) -> String {
    number + " B"
}

/// The bracketed one of `none [mq-deadline] kyber`.
fn chosen(text: &str) -> String {
    let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(text, |(name, _)| name).to_owned()
}

struct MountPoint {
    kind: String,
    source: String,
    options: String,
}

/// The mount that a path lies on: the last of those with the longest mount point that is a prefix.
fn mount_of(path: &Path) -> Option<MountPoint> {
    let table = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let over = |line: &&str| mount_point(line).is_some_and(|point| path.starts_with(point));
    let line = table
        .lines()
        .filter(over)
        .max_by_key(|line| mount_point(line).map(|p| p.as_os_str().len()))?;
    let (left, right) = line.split_once(" - ")?;
    let mut right = right.split(' ');
    Some(MountPoint {
        kind: right.next()?.to_owned(),
        source: right.next()?.to_owned(),
        options: left.split(' ').nth(5)?.to_owned(),
    })
}

fn mount_point(line: &str) -> Option<PathBuf> {
    // mountinfo writes a blank as \040; other escapes do not occur in mount points that people use.
    line.split(' ').nth(4).map(|point| PathBuf::from(point.replace("\\040", " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_scheduler_is_the_bracketed_one() {
        for (text, name) in
            [("none [mq-deadline] kyber", "mq-deadline"), ("[none]", "none"), ("none", "none")]
        {
            assert_eq!(chosen(text), name);
        }
    }
}

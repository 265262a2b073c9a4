//! Users of a device or a file, from `/proc` and `/sys`: mounts in every visible namespace, swap, device mapper, MD, loop
//! devices, Btrfs, and programs that have it open for writing. It only reads; of devices it opens loop devices alone, to
//! ask what is behind them. Tests give other roots.
//!
//! The kernel's own answer, an exclusive open, is requested elsewhere; this module names the user and looks further: at
//! the disk under a partition, the partitions of a disk, and the backing of a loop device.

use crate::loops::Backing;
use crate::openers::{self, Wanted};
use rustix::fs::{major, makedev, minor};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// How far loop devices over loop devices are followed.
const NESTED_MAX: usize = 8;

/// Where the kernel's accounts are read.
#[derive(Debug)]
pub(crate) struct System {
    proc: PathBuf,
    sys: PathBuf,
    /// Read once: a look at one target asks for it many times.
    mounts: OnceCell<Vec<Mount>>,
    loops: OnceCell<Vec<(String, u64, Backing)>>,
}

/// A mounted file system.
#[derive(Debug)]
struct Mount {
    device: u64,
    point: String,
    source: String,
}

impl Default for System {
    fn default() -> System {
        System::at("/proc".into(), "/sys".into())
    }
}

impl System {
    fn at(proc: PathBuf, sys: PathBuf) -> System {
        System { proc, sys, mounts: OnceCell::new(), loops: OnceCell::new() }
    }

    /// Uses of a block device, of its partitions, and of the disk that it is a partition of: one sentence each, without a
    /// subject of its own (`it is mounted at /data`).
    pub fn uses_of_device(&self, device: u64) -> Vec<String> {
        let mut uses = Vec::new();
        self.add_uses_of_device(device, "it", 0, &mut uses);
        self.add_writers(Wanted::Device(device), &mut uses);
        uses
    }

    /// Uses of a regular file: as swap, by a loop device, or by a program that has it open for writing.
    pub fn uses_of_file(&self, device: u64, inode: u64) -> Vec<String> {
        let mut uses = Vec::new();
        self.add_uses_of_file(device, inode, "it", None, &mut uses);
        self.add_writers(Wanted::File { device, inode }, &mut uses);
        uses
    }

    /// Whether this process has a file open for writing.
    pub fn own_writer(&self, device: u64, inode: u64) -> bool {
        openers::own_writer(&self.proc, Wanted::File { device, inode })
    }

    fn add_writers(&self, wanted: Wanted, uses: &mut Vec<String>) {
        let writers = openers::writers(&self.proc, wanted);
        uses.extend(writers.iter().map(|who| format!("it is open for writing by {who}")));
    }

    fn add_uses_of_device(&self, device: u64, it: &str, nested: usize, uses: &mut Vec<String>) {
        self.add_uses_of_device_but(device, it, nested, None, uses);
    }

    /// The same without the loop device `but`, which is what is asked about.
    fn add_uses_of_device_but(
        &self,
        device: u64,
        it: &str,
        nested: usize,
        but: Option<u64>,
        uses: &mut Vec<String>,
    ) {
        let Some(node) = self.node(device) else { return };
        self.add_own_uses(&node, device, it, but, uses);
        if node.join("partition").exists() {
            if let Some((disk, node)) = node.parent().and_then(|d| Some((number_of(d)?, d))) {
                let it = format!("its disk {}", name_of(node));
                self.add_own_uses(node, disk, &it, but, uses);
            }
        } else {
            for part in children(&node).into_iter().filter(|c| c.join("partition").exists()) {
                if let Some(device) = number_of(&part) {
                    let it = format!("its partition {}", name_of(&part));
                    self.add_own_uses(&part, device, &it, but, uses);
                }
            }
        }
        if nested < NESTED_MAX
            && let Some(path) = read(&node.join("loop/backing_file"))
        {
            let behind = Backing::of(&name_of(&node), device, &path);
            let it = format!("{path} behind it");
            if let Some(number) = behind.device() {
                self.add_uses_of_device_but(number, &it, nested + 1, Some(device), uses);
            } else if let Some((on, inode)) = behind.file() {
                self.add_uses_of_file(on, inode, &it, Some(device), uses);
            }
        }
    }

    /// Uses of one device and of nothing around it.
    fn add_own_uses(
        &self,
        node: &Path,
        device: u64,
        it: &str,
        but: Option<u64>,
        uses: &mut Vec<String>,
    ) {
        let mounts = self.mounts.get_or_init(|| self.read_mounts());
        for mount in mounts.iter().filter(|mount| mount.is_of(device)) {
            uses.push(format!("{it} is mounted at {}", mount.point));
        }
        for swap in self.swaps() {
            if fs::metadata(&swap)
                .is_ok_and(|m| m.file_type().is_block_device() && m.rdev() == device)
            {
                uses.push(format!("{it} is in use as swap"));
            }
        }
        for holder in children(&node.join("holders")) {
            uses.push(format!("{it} is held by {}", self.holder(&name_of(&holder))));
        }
        for uuid in children(&self.sys.join("fs/btrfs")) {
            let members = children(&uuid.join("devices"));
            if members.iter().any(|member| number_of(member) == Some(device)) {
                uses.push(format!(
                    "{it} is part of the mounted Btrfs file system {}",
                    name_of(&uuid)
                ));
            }
        }
        for (name, number, behind) in self.loops() {
            if Some(*number) != but && behind.device() == Some(device) {
                uses.push(format!("{it} is held by the loop device {name}"));
            }
        }
    }

    fn add_uses_of_file(
        &self,
        device: u64,
        inode: u64,
        it: &str,
        but: Option<u64>,
        uses: &mut Vec<String>,
    ) {
        let same =
            |path: &str| fs::metadata(path).is_ok_and(|m| (m.dev(), m.ino()) == (device, inode));
        if self.swaps().iter().any(|swap| same(swap)) {
            uses.push(format!("{it} is in use as swap"));
        }
        for (name, number, behind) in self.loops() {
            if Some(*number) != but && behind.file() == Some((device, inode)) {
                uses.push(format!("{it} is held by the loop device {name}"));
            }
        }
    }

    /// A holder in words: what device mapper calls it, where it is one of its.
    fn holder(&self, name: &str) -> String {
        let node = self.sys.join("class/block").join(name);
        let dm = read(&node.join("dm/name"));
        let kind = read(&node.join("dm/uuid")).unwrap_or_default();
        match dm {
            Some(dm) if kind.starts_with("LVM-") => format!("the LVM volume {dm} ({name})"),
            Some(dm) if kind.starts_with("CRYPT-") => format!("the encrypted device {dm} ({name})"),
            Some(dm) if kind.starts_with("mpath-") => format!("the multipath device {dm} ({name})"),
            Some(dm) => format!("the device mapper device {dm} ({name})"),
            None if name.starts_with("md") => format!("the MD array {name}"),
            None if name.starts_with("bcache") => format!("the bcache device {name}"),
            None => format!("the device {name}"),
        }
    }

    /// All mounts of all namespaces that can be seen.
    fn read_mounts(&self) -> Vec<Mount> {
        let mut tables = vec![self.proc.join("self/mountinfo")];
        let mut seen = BTreeSet::new();
        for process in children(&self.proc) {
            if name_of(&process).chars().all(|c| c.is_ascii_digit())
                && let Ok(namespace) = fs::read_link(process.join("ns/mnt"))
                && seen.insert(namespace)
            {
                tables.push(process.join("mountinfo"));
            }
        }
        let mut mounts: Vec<Mount> = Vec::new();
        for table in tables.iter().filter_map(|table| fs::read_to_string(table).ok()) {
            for mount in table.lines().filter_map(Mount::parse) {
                if !mounts.iter().any(|m| (m.device, &m.point) == (mount.device, &mount.point)) {
                    mounts.push(mount);
                }
            }
        }
        mounts
    }

    /// Files and devices in use as swap.
    fn swaps(&self) -> Vec<String> {
        let table = fs::read_to_string(self.proc.join("swaps")).unwrap_or_default();
        let path = |line: &str| Some(unescape(line.split_whitespace().next()?));
        table.lines().skip(1).filter_map(path).collect()
    }

    /// Loop devices in use: name, number and what is behind them.
    fn loops(&self) -> &[(String, u64, Backing)] {
        self.loops.get_or_init(|| {
            let all = children(&self.sys.join("block")).into_iter();
            let used = |node: PathBuf| {
                let path = fs::read_to_string(node.join("loop/backing_file")).ok()?;
                let (name, number) = (name_of(&node), number_of(&node)?);
                let behind = Backing::of(&name, number, path.trim_end_matches('\n'));
                Some((name, number, behind))
            };
            all.filter(|node| name_of(node).starts_with("loop")).filter_map(used).collect()
        })
    }

    /// The folder of a device in `/sys`.
    pub fn node(&self, device: u64) -> Option<PathBuf> {
        let number = format!("dev/block/{}:{}", major(device), minor(device));
        fs::canonicalize(self.sys.join(number)).ok()
    }
}

impl Mount {
    fn parse(line: &str) -> Option<Mount> {
        let (left, right) = line.split_once(" - ")?;
        let mut left = left.split(' ').skip(2);
        let device = parse_number(left.next()?)?;
        let point = unescape(left.nth(1)?);
        let source = unescape(right.split(' ').nth(1)?);
        Some(Mount { device, point, source })
    }

    /// By the number that the kernel keeps, or, where a file system has one of its own, by what was mounted.
    fn is_of(&self, device: u64) -> bool {
        self.device == device
            || fs::metadata(&self.source)
                .is_ok_and(|m| m.file_type().is_block_device() && m.rdev() == device)
    }
}

/// A device's number from its folder in `/sys`.
fn number_of(node: &Path) -> Option<u64> {
    parse_number(&read(&node.join("dev"))?)
}

fn parse_number(text: &str) -> Option<u64> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(makedev(major.parse().ok()?, minor.parse().ok()?))
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

fn children(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    all.sort();
    all
}

fn read(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The kernel writes blanks, tabs, line ends and backslashes in paths as `\ooo`.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\')
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine of files: devices by name and number, and what else `/proc` and `/sys` hold.
    struct TestMachine(tempfile::TempDir);

    impl TestMachine {
        fn new(devices: &[(&str, &str)]) -> TestMachine {
            let machine = TestMachine(tempfile::tempdir().expect("a directory"));
            for (node, number) in devices {
                machine.file(&format!("sys/devices/{node}/dev"), number);
                let node = machine.0.path().join("sys/devices").join(node);
                for link in [
                    "sys/dev/block".to_owned() + "/" + number,
                    format!("sys/class/block/{}", name_of(&node)),
                    format!("sys/block/{}", name_of(&node)),
                ] {
                    let link = machine.0.path().join(link);
                    fs::create_dir_all(link.parent().expect("a parent")).expect("room");
                    symlink(&node, link).expect("a link");
                }
            }
            machine
        }

        fn file(&self, path: &str, text: &str) -> &TestMachine {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("room");
            fs::write(path, text).expect("room");
            self
        }

        /// The uses of a device by its number.
        #[track_caller]
        fn check(&self, number: &str, uses: &[&str]) {
            let root = self.0.path();
            let system = System::at(root.join("proc"), root.join("sys"));
            assert_eq!(system.uses_of_device(parse_number(number).expect("a number")), uses);
        }
    }

    #[test]
    fn nothing_uses_an_idle_disk() {
        let machine = TestMachine::new(&[("sda", "8:0")]);
        machine.file("proc/self/mountinfo", "22 1 9:1 / / rw - ext4 /dev/md1 rw\n");
        machine.file("proc/swaps", "Filename Type Size Used Priority\n");
        machine.check("8:0", &[]);
        machine.check("8:16", &[]);
    }

    #[test]
    fn mounts_of_a_disk_its_partitions_and_other_namespaces_are_seen() {
        let machine = TestMachine::new(&[("sda", "8:0"), ("sda/sda1", "8:1"), ("sda/sda2", "8:2")]);
        machine
            .file("sys/devices/sda/sda1/partition", "1")
            .file("sys/devices/sda/sda2/partition", "2");
        machine.file(
            "proc/self/mountinfo",
            "22 1 8:1 / /a\\040b rw,relatime shared:1 - ext4 /dev/sda1 rw\n",
        );
        machine.file("proc/77/mountinfo", "9 1 8:2 /sub /c rw - xfs /dev/sda2 rw\n");
        fs::create_dir_all(machine.0.path().join("proc/77/ns")).expect("room");
        symlink("mnt:[1]", machine.0.path().join("proc/77/ns/mnt")).expect("a link");
        machine.check(
            "8:0",
            &["its partition sda1 is mounted at /a b", "its partition sda2 is mounted at /c"],
        );
        machine.check("8:1", &["it is mounted at /a b"]);
        machine.check("8:2", &["it is mounted at /c"]);
        machine.file("proc/self/mountinfo", "22 1 8:0 / /whole rw - ext4 /dev/sda rw\n");
        machine.check("8:1", &["its disk sda is mounted at /whole"]);
    }

    #[test]
    fn holders_are_named_by_what_they_are() {
        let machine = TestMachine::new(&[
            ("sdb", "8:16"),
            ("dm-0", "253:0"),
            ("md1", "9:1"),
            ("dm-1", "253:1"),
            ("dm-2", "253:2"),
            ("dm-3", "253:3"),
        ]);
        for (holder, name, uuid) in [
            ("dm-0", "vg-data", "LVM-abc"),
            ("dm-1", "secret", "CRYPT-LUKS2-abc"),
            ("dm-2", "mpatha", "mpath-3600"),
            ("dm-3", "odd", ""),
        ] {
            machine.file(&format!("sys/devices/{holder}/dm/name"), name);
            machine.file(&format!("sys/devices/{holder}/dm/uuid"), uuid);
            machine.file(&format!("sys/devices/sdb/holders/{holder}"), "");
        }
        machine.file("sys/devices/sdb/holders/md1", "").file("sys/devices/sdb/holders/bcache0", "");
        machine.check(
            "8:16",
            &[
                "it is held by the bcache device bcache0",
                "it is held by the LVM volume vg-data (dm-0)",
                "it is held by the encrypted device secret (dm-1)",
                "it is held by the multipath device mpatha (dm-2)",
                "it is held by the device mapper device odd (dm-3)",
                "it is held by the MD array md1",
            ],
        );
    }

    #[test]
    fn a_member_of_a_mounted_btrfs_is_in_use_though_another_member_was_mounted() {
        let machine = TestMachine::new(&[("sdc", "8:32"), ("sdd", "8:48")]);
        machine.file("proc/self/mountinfo", "30 1 0:40 / /pool rw - btrfs /dev/sdc rw\n");
        machine.file("sys/fs/btrfs/1234-abcd/devices/sdd/dev", "8:48");
        machine.check("8:48", &["it is part of the mounted Btrfs file system 1234-abcd"]);
    }

    #[test]
    fn paths_are_read_as_the_kernel_writes_them() {
        for (written, path) in [
            ("/a\\040b", "/a b"),
            ("/a\\134b", "/a\\b"),
            ("/plain", "/plain"),
            ("/odd\\9", "/odd\\9"),
            ("\\011", "\t"),
        ] {
            assert_eq!(unescape(written), path);
        }
    }
}

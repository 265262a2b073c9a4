//! What the tools themselves put on a medium is found. Where a tool is missing its case prints `skipped:`.

use super::{Signature, signatures};
use crate::media::OpenedMedium;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: u64 = 1 << 20;

/// Runs a shell command in a directory where `image` is the medium. A missing program is distinguished from a failure.
#[track_caller]
fn made(dir: &Path, command: &str) -> bool {
    let tool = command.split_whitespace().next().expect("a command");
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("command -v {tool} >/dev/null || exit 127; {command}")]);
    shell.current_dir(dir).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").stdin(Stdio::null());
    let output = shell.output().expect("a shell runs");
    if output.status.code() == Some(127) {
        println!("skipped: there is no {tool} here");
        return false;
    }
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

fn seen(dir: &Path) -> io::Result<Vec<Signature>> {
    let file = File::open(dir.join("image"))?;
    let size = file.metadata()?.len();
    signatures(&OpenedMedium::new(&file, size))
}

/// A medium of this size, after a command, carries exactly these.
#[track_caller]
fn check(size: u64, command: &str, wanted: &[&str]) {
    let dir = tempfile::tempdir().expect("a directory");
    let image = File::create(dir.path().join("image")).expect("an image");
    image.set_len(size).expect("a sparse image");
    std::fs::create_dir(dir.path().join("content")).expect("a directory");
    std::fs::write(dir.path().join("content/file"), [7; 5000]).expect("a file");
    if made(dir.path(), command) {
        let found = seen(dir.path()).expect("the image can be read");
        let names: Vec<&str> = found.iter().map(|one| one.name).collect();
        assert_eq!(names, wanted, "{command}");
    }
}

#[test]
fn file_systems() {
    for (size, command, wanted) in [
        (64 * MIB, "mkfs.ext2 -q image", "an ext2 file system"),
        (64 * MIB, "mkfs.ext3 -q image", "an ext3 file system"),
        (64 * MIB, "mkfs.ext4 -q image", "an ext4 file system"),
        (64 * MIB, "mke2fs -q -O journal_dev image", "a journal of an ext file system"),
        (400 * MIB, "mkfs.xfs -q image", "an XFS file system"),
        (400 * MIB, "mkfs.btrfs -q image", "a Btrfs file system"),
        (8 * MIB, "mkfs.fat -F12 image", "a FAT12 file system"),
        (64 * MIB, "mkfs.fat -F16 image", "a FAT16 file system"),
        (64 * MIB, "mkfs.fat -F32 image", "a FAT32 file system"),
        (64 * MIB, "mkfs.exfat image", "an exFAT file system"),
        (64 * MIB, "mkfs.ntfs -F -q image", "an NTFS file system"),
        (64 * MIB, "mkfs.f2fs -q image", "an F2FS file system"),
        (64 * MIB, "mkfs.jfs -q image", "a JFS file system"),
        (256 * MIB, "mkfs.nilfs2 -q image", "a NILFS2 file system"),
        (4 * MIB, "mkfs.minix -1 image", "a Minix file system"),
        (4 * MIB, "mkfs.minix -3 image", "a Minix file system"),
        (32 * MIB, "mkudffs image", "a UDF file system"),
        (64 * MIB, "mkfs.ocfs2 -q --fs-features=local image", "an OCFS2 file system"),
        (400 * MIB, "mkfs.gfs2 -q -O -p lock_nolock image", "a GFS2 file system"),
        (0, "mksquashfs content image -quiet -noappend", "a squashfs file system"),
        (0, "mkfs.erofs image content", "an EROFS file system"),
        (0, "mkfs.cramfs content image", "a cramfs file system"),
        (0, "genisoimage -quiet -o image content", "an ISO 9660 file system"),
        (4 * MIB, "mkswap image", "Linux swap"),
        (MIB, "mkswap -p 65536 image", "Linux swap"),
    ] {
        check(size, command, &[wanted]);
    }
}

#[test]
fn partition_tables() {
    let (gpt, cover) = ("a GPT partition table", "a protective MBR");
    for (command, wanted) in [
        ("sfdisk -q --label gpt image <<< ,", &[gpt, cover][..]),
        ("sfdisk -q --label dos image <<< ,", &["an MBR partition table"]),
        ("sfdisk -q --label sun image <<< ,", &["a Sun disk label"]),
        ("sfdisk -q --label sgi image <<< ,", &["an SGI disk label"]),
    ] {
        check(64 * MIB, command, wanted);
    }
}

#[test]
fn what_holds_a_file_system() {
    let pass = "--batch-mode --pbkdf-force-iterations 1000 image content/file";
    for (command, wanted) in [
        (format!("cryptsetup luksFormat --type luks1 {pass}"), "a LUKS1 container"),
        (format!("cryptsetup luksFormat --type luks2 --pbkdf pbkdf2 {pass}"), "a LUKS2 container"),
        ("veritysetup format content/file image".to_owned(), "hashes of dm-verity"),
    ] {
        check(64 * MIB, &command, &[wanted]);
    }
}

/// What a tool left behind when its first megabyte was wiped: the copies are found.
#[test]
fn copies_at_other_places() {
    for (command, wanted) in [
        ("sfdisk -q --label gpt image <<< ,", "a GPT partition table"),
        ("mkfs.btrfs -q image", "a Btrfs file system"),
        ("mkfs.ext4 -q -b 4096 image", "an ext4 file system"),
        ("mkfs.ntfs -F -q image", "an NTFS file system"),
    ] {
        let wipe = "dd if=/dev/zero of=image bs=1M count=1 conv=notrunc status=none";
        check(400 * MIB, &format!("{command}; {wipe}"), &[wanted]);
    }
}

#[test]
fn a_log_of_its_own() {
    let command = "mkfs.xfs -q -d file,name=data,size=400m -l logdev=image,size=64m";
    check(128 * MIB, command, &["an XFS log"]);
}

//! The image of a guest, read by another program.

use guest::initramfs::{Initramfs, Packing};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

#[test]
fn cpio_reads_what_is_written() {
    let mut archive = Initramfs::new(Vec::new());
    archive.directory("a").expect("a directory");
    archive.file("a/one", 0o644, b"12345").expect("a file");
    archive.file("a/none", 0o755, b"").expect("an empty file");
    archive.device("a/console", 5, 1).expect("a device");
    let bytes = archive.finish().expect("an archive");
    assert_eq!(bytes.len() % 4, 0);
    let cpio = Command::new("cpio")
        .args(["-itv", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut cpio) = cpio else {
        println!("skipped: cpio is not there");
        assert!(std::env::var_os("CI").is_none(), "cpio is not there");
        return;
    };
    cpio.stdin.take().expect("its input").write_all(&bytes).expect("it reads");
    let out = cpio.wait_with_output().expect("its list");
    let list = String::from_utf8_lossy(&out.stdout);
    let lines: Vec<&str> = list.lines().collect();
    assert!(out.status.success() && lines.len() == 4, "{list}");
    for (line, start, end) in [
        (0, "drwxr-xr-x", " a"),
        (1, "-rw-r--r--", " a/one"),
        (2, "-rwxr-xr-x", " a/none"),
        (3, "crw-------", " a/console"),
    ] {
        assert!(lines[line].starts_with(start) && lines[line].ends_with(end), "{list}");
    }
    assert!(lines[1].contains(" 5 ") && lines[3].contains(" 5,   1"), "{list}");
}

#[test]
fn gzip_reads_what_is_packed_tightest() {
    let archive: Vec<u8> = (0..200_000_u32).flat_map(|n| (n / 7).to_le_bytes()).collect();
    let mut file = tempfile::tempfile().expect("a file");
    Packing::Gzip.write(&archive, &mut file).expect("it is written");
    std::io::Seek::rewind(&mut file).expect("its start");
    let gzip = Command::new("gzip").arg("-dc").stdin(file).stdout(Stdio::piped()).spawn();
    let mut gzip = gzip.expect("gzip starts");
    let mut read = Vec::new();
    gzip.stdout.take().expect("its output").read_to_end(&mut read).expect("it is read");
    assert!(gzip.wait().expect("it ends").success());
    assert!(read == archive, "{} bytes of {}", read.len(), archive.len());
}

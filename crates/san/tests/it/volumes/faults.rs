//! What goes wrong at the backing store is told in the right words, and once lost durability is never claimed again.

use crate::prelude::*;
use crate::volumes::bench::{Bench, bytes, extent, quick};
use std::sync::atomic::{AtomicU32, Ordering};

/// Memory that does as it is told.
#[derive(Debug, Default)]
struct Scripted {
    bytes: Mutex<Vec<u8>>,
    /// The error of the next call: of reads, writes, syncs.
    next: Mutex<[Option<i32>; 3]>,
    /// The most bytes of a call.
    chop: usize,
    /// Syncs that are under way, and how many there were.
    syncing: [AtomicU32; 2],
}

impl Scripted {
    fn fail(&self, what: usize) -> io::Result<()> {
        match self.next.lock().unwrap()[what].take() {
            Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            None => Ok(()),
        }
    }
}

impl Store for Scripted {
    fn read(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        self.fail(0)?;
        let bytes = self.bytes.lock().unwrap();
        let rest = &bytes[at as usize..];
        let n = out.len().min(self.chop).min(rest.len());
        out[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    fn write(&self, at: u64, data: &[u8], _durable: bool) -> io::Result<usize> {
        self.fail(1)?;
        let n = data.len().min(self.chop);
        self.bytes.lock().unwrap()[at as usize..][..n].copy_from_slice(&data[..n]);
        Ok(n)
    }

    fn sync(&self) -> io::Result<()> {
        let others = self.syncing[0].fetch_add(1, Ordering::SeqCst);
        assert_eq!(others, 0, "an error could be told to one of two");
        self.syncing[1].fetch_add(1, Ordering::SeqCst);
        std::thread::yield_now();
        self.syncing[0].fetch_sub(1, Ordering::SeqCst);
        self.fail(2)
    }

    fn zero(&self, _at: u64, _len: u64, _release: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn mapped(&self, _at: u64, _end: u64) -> io::Result<(bool, u64)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

fn scripted(write_back: bool) -> (Arc<Scripted>, Bench) {
    let bytes = Mutex::new(vec![0; 1 << 20]);
    let store = Arc::new(Scripted { bytes, chop: 700, ..Scripted::default() });
    let attributes = VolumeAttributes {
        block: 512,
        blocks: 2048,
        thin: false,
        read_only: false,
        write_back,
        serial: "S".to_owned(),
        granularity: 1,
    };
    let volume = Volume::over(Arc::clone(&store) as Arc<dyn Store>, attributes);
    (store, Bench::new(volume, quick()))
}

fn sense(key: SenseKey, code: u16) -> Sense {
    Sense::new(key, code)
}

/// A command that meets an error ends in this sense.
#[track_caller]
fn check(medium: Medium, what: usize, errno: i32, expected: Sense) {
    let (store, mut bench) = scripted(true);
    store.next.lock().unwrap()[what] = Some(errno);
    let data = vec![1; medium.bytes_in(512) as usize];
    let done = bench.run(medium.clone(), Data::Bytes(data.into()));
    assert_eq!(done.ending, Ending::check(expected), "{medium:?} meets {errno}");
    let failed = bench.volume.counters().failed;
    assert_eq!((failed, bench.volume.counters().in_flight), (1, 0));
}

#[test]
fn errors_have_their_sense() {
    let at = extent(9, 2);
    let write = || Medium::Write { to: at, durable: false };
    let medium = |code| sense(SenseKey::MediumError, code).with_information(9);
    check(Medium::Read(at), 0, libc::EIO, medium(0x1100));
    check(Medium::Verify(at), 0, libc::EIO, medium(0x1100));
    check(Medium::Or { at, durable: false }, 0, libc::EIO, medium(0x1100));
    check(write(), 1, libc::EIO, medium(0x0c00));
    let full = sense(SenseKey::DataProtect, 0x2707).with_information(9);
    check(write(), 1, libc::ENOSPC, full);
    check(write(), 1, libc::EDQUOT, full);
    check(Medium::Same { to: at, zero: true, unmap: false, durable: false }, 1, libc::ENOSPC, full);
    check(write(), 1, libc::EROFS, sense(SenseKey::DataProtect, 0x2700).with_information(9));
    let gone = sense(SenseKey::HardwareError, 0x4400).with_information(9);
    check(Medium::Read(at), 0, libc::ENODEV, gone);
    check(write(), 1, libc::ENXIO, gone);
    check(Medium::Sync(extent(0, 0)), 2, libc::EIO, sense(SenseKey::MediumError, 0x0c00));
}

#[test]
fn short_transfers_and_interruptions_go_on() {
    let (store, mut bench) = scripted(true);
    let data: Vec<u8> = (0..65_536u32).map(|n| (n / 7) as u8).collect();
    for errno in [libc::EINTR, libc::EAGAIN] {
        *store.next.lock().unwrap() = [Some(errno); 3];
        bench.good(Medium::Write { to: extent(3, 128), durable: true }, &data);
        assert!(bench.read(3, 128) == data);
        bench.good(Medium::Sync(extent(0, 0)), &[]);
    }
}

#[test]
fn a_store_that_ends_early_is_a_medium_error() {
    let (store, mut bench) = scripted(true);
    store.bytes.lock().unwrap().truncate(5 * 512 + 100);
    let done = bench.run(Medium::Read(extent(4, 3)), Data::None);
    let expected = sense(SenseKey::MediumError, 0x1100).with_information(5);
    assert_eq!(done.ending, Ending::check(expected));
    assert!(bytes(&done.data).is_empty());
}

#[test]
fn a_failed_sync_is_never_forgotten() {
    let lost = Ending::check(sense(SenseKey::MediumError, 0x0c00));
    let (store, mut bench) = scripted(true);
    bench.write(0, &[1; 512]);
    store.next.lock().unwrap()[2] = Some(libc::EIO);
    // The store answers well from now on, as the kernel does that has dropped what it could not write.
    for _ in 0..3 {
        assert_eq!(bench.run(Medium::Sync(extent(0, 0)), Data::None).ending, lost);
        let durable = Medium::Write { to: extent(1, 1), durable: true };
        let data = Data::Buffer(bench.buffer(&[2; 512]));
        assert_eq!(bench.run(durable, data).ending, lost);
    }
    assert_eq!(bench.volume.sync_failure().and_then(|e| e.raw_os_error()), Some(libc::EIO));
    // Who claims nothing is served on.
    bench.write(0, &[3; 512]);
    assert_eq!(bench.read(0, 1), [3; 512]);
}

#[test]
fn who_syncs_at_the_same_time_hears_of_the_same_error() {
    for fails in [false, true] {
        let (store, mut bench) = scripted(true);
        store.next.lock().unwrap()[2] = fails.then_some(libc::EIO);
        let mut done = Vec::new();
        for token in 0..100 {
            let volume = bench.volume.clone();
            let job =
                VolumeJob { token, volume, medium: Medium::Sync(extent(0, 0)), data: Data::None };
            done.extend(bench.io.start(job));
        }
        bench.until(100, &mut done);
        assert!(done.iter().all(|done| (done.ending == Ending::GOOD) != fails));
        // The first, and one for all that came while it was at work.
        assert_eq!(store.syncing[1].load(Ordering::SeqCst), if fails { 1 } else { 2 });
    }
}

#[test]
fn a_failed_durable_write_is_a_failed_sync() {
    let (store, mut bench) = scripted(false);
    store.next.lock().unwrap()[2] = Some(libc::EIO);
    let medium = Medium::Write { to: extent(0, 1), durable: false };
    let data = Data::Buffer(bench.buffer(&[2; 512]));
    assert_ne!(bench.run(medium, data).ending, Ending::GOOD);
    assert_ne!(bench.run(Medium::Sync(extent(0, 0)), Data::None).ending, Ending::GOOD);
}

#[test]
fn a_full_file_system_is_reported() {
    // A file system of 2 MiB in memory, and a thin volume of 16 on it.
    let folder = tempfile::tempdir().expect("a directory");
    let target = folder.path().display().to_string();
    let mount = |args: &[&str]| std::process::Command::new(args[0]).args(&args[1..]).status();
    match mount(&["mount", "-t", "tmpfs", "-o", "size=2m", "none", &target]) {
        Ok(status) if status.success() => {}
        _ => return println!("skipped: no file system can be mounted here"),
    }
    let mut bench = Bench::of(&format!("file:{target}/data,size=16MiB,thin"));
    let mut endings = Vec::new();
    for lba in (0..32_768).step_by(2048) {
        let data = Data::Buffer(bench.buffer(&vec![1; 1 << 20]));
        let medium = Medium::Write { to: extent(lba, 2048), durable: false };
        endings.push(bench.run(medium, data).ending.sense.map(|sense| (sense.key, sense.code)));
    }
    bench.good(Medium::Unmap(vec![extent(0, 32_768)]), &[]);
    bench.write(0, &[5; 4096]);
    bench.good(Medium::Sync(extent(0, 0)), &[]);
    drop(bench);
    assert!(mount(&["umount", &target]).is_ok_and(|status| status.success()));
    assert_eq!(endings[0], None);
    assert_eq!(endings[15], Some((SenseKey::DataProtect, 0x2707)));
}

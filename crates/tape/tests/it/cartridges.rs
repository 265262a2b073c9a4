//! Cartridges as files: what a drive wrote is what a reader of the documented format finds; capacity, early warning, protection,
//! damage and cuts.

use crate::rig::{Rig, content, open, python, settings};
use iscsi::scsi::SenseKey;
use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use tape::LibrarySettings;
use tape::media::{Cartridge, FileStorage};

fn file(rig: &Rig) -> PathBuf {
    rig.directory.path().join("WSP001L6.tape")
}

/// What the independent reader finds.
fn checked(rig: &Rig) -> Option<Vec<String>> {
    let text = python("cartridge.py", &[file(rig).to_str().expect("a path")])?;
    Some(text.lines().map(|line| line.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect())
}

/// The kinds and sizes alone.
fn shapes(rig: &Rig) -> Option<Vec<String>> {
    let all = checked(rig)?;
    Some(all.iter().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect())
}

/// Does something to the file of a cartridge while it is out of its drive.
fn tampered(rig: Rig, with: impl FnOnce(&PathBuf)) -> Rig {
    rig.moves(0x100, 0x400).expect("a free slot");
    with(&file(&rig));
    rig.load();
    rig
}

#[test]
fn another_reader_finds_what_was_written() {
    let rig = Rig::loaded();
    rig.write(&content(1, 3000)).expect("room");
    rig.write(&[7; 5000]).expect("room");
    rig.filemarks(1).expect("room");
    rig.write(&content(2, 1)).expect("room");
    rig.filemarks(2).expect("room");
    let Some(found) = checked(&rig) else { return };
    // The digest of five thousand sevens, by `head -c 5000 /dev/zero | tr '\0' '\7' | sha256sum`.
    let sevens = "f302a3f85503eeb1a105c81a5fbea0aa461417fb3893919572949cadbfee86a7";
    assert_eq!(found.len(), 7);
    assert!(found[0].starts_with("block 3000 "));
    assert_eq!(found[1], format!("block 5000 {sevens}"));
    assert_eq!(found[2], "filemark");
    assert!(found[3].starts_with("block 1 "));
    assert_eq!(found[4..], ["filemark", "filemark", "end 6 3"]);
    // The sevens were packed: the file is smaller than what was written.
    assert!(fs::metadata(file(&rig)).expect("a file").len() < 4096 + 6 * 48 + 3500);
}

#[test]
fn overwriting_ends_the_recorded_data() {
    let rig = Rig::loaded();
    for number in 0..5 {
        rig.write(&content(number, 1000)).expect("room");
    }
    rig.filemarks(1).expect("room");
    rig.check(1, &[0x2b, 0, 0, 0, 0, 0, 2, 0, 0, 0], &[], 0).expect("the third block");
    rig.write(&content(9, 77)).expect("room");
    rig.filemarks(0).expect("a sync");
    assert_eq!(rig.read(100).unwrap_err().key, SenseKey::BlankCheck);
    if let Some(found) = shapes(&rig) {
        assert_eq!(found, ["block 1000", "block 1000", "block 77", "end 3"]);
    }
}

#[test]
fn early_warning_comes_before_the_end_of_the_medium() {
    let rig = Rig::loaded();
    // 4 MiB, of which the last 2% (81.9 KiB) are behind early warning; noise does not pack.
    let mut noise = vec![0; 30_000];
    clock::Rng::keyed(1, &[]).fill(&mut noise);
    let (mut written, mut warned) = (0_u64, 0);
    let full = loop {
        match rig.write(&noise) {
            Ok(()) => assert_eq!(warned, 0, "every write behind it is warned"),
            Err(sense) if sense.key == SenseKey::NoSense => {
                assert_eq!((sense.code, sense.stream, sense.information), (2, 0x40, Some(0)));
                warned += 1;
            }
            Err(sense) => break sense,
        }
        written += 1;
    };
    assert_eq!((full.key, full.code, full.stream), (SenseKey::VolumeOverflow, 2, 0x40));
    assert_eq!(full.information, Some(30_000), "nothing of it is written");
    assert_eq!(written, (4 << 20) / 30_048, "what the capacity takes");
    let behind = (0..=written).filter(|n| n * 30_048 > (4 << 20) - (4 << 20) / 50).count() as u64;
    assert_eq!(warned, behind);
    // The last file can be closed.
    assert_eq!(rig.filemarks(2).unwrap_err().key, SenseKey::NoSense);
    assert_eq!(rig.position(), (written + 2, 2));
    let state = rig.check(1, &[0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[], 20).expect("a position");
    assert_eq!(state[0] & 0x40, 0x40, "EOP");
}

#[test]
fn compression_makes_room() {
    let count = |select: u8| {
        let rig = Rig::loaded();
        let mut list = vec![0, 0, 0x10, 0, 0x0f, 0x0e, select | 0x40, 0x80, 0, 0, 0, 1, 0, 0, 0, 1];
        list.resize(20, 0);
        rig.check(1, &[0x15, 0x10, 0, 0, 20, 0], &list, 0).expect("a page");
        let mut written = 0;
        while rig.write(&[0; 1 << 20]).is_ok() && written < 100 {
            written += 1;
        }
        let page = rig.check(1, &[0x4d, 0, 0x5b, 0, 0, 0, 0, 0, 64, 0], &[], 64).expect("a page");
        (written, u16::from_be_bytes([page[14], page[15]]))
    };
    let (plain, ratio) = count(0);
    assert_eq!((plain, ratio), (3, 100), "nothing is gained");
    let (packed, ratio) = count(0x80);
    assert_eq!(packed, 100, "zeros pack well");
    assert!(ratio > 10_000, "more than a hundredfold: {ratio}");
}

#[test]
fn a_tab_protects_what_is_written() {
    let rig = Rig::loaded();
    rig.write(b"kept").expect("room");
    rig.filemarks(1).expect("room");
    let rig = tampered(rig, |file| {
        let mut permissions = fs::metadata(file).expect("a file").permissions();
        permissions.set_readonly(true);
        fs::set_permissions(file, permissions).expect("our file");
    });
    let refused = rig.write(b"more").unwrap_err();
    assert_eq!((refused.key, refused.code), (SenseKey::DataProtect, 0x2700));
    for cdb in [[0x10, 0, 0, 0, 1, 0], [0x19, 0, 0, 0, 0, 0], [0x04, 0, 0, 0, 0, 0]] {
        assert_eq!(rig.check(1, &cdb, &[], 0).unwrap_err().code, 0x2700);
    }
    assert_eq!(rig.filemarks(0), Ok(()), "a sync writes nothing");
    let mode = rig.check(1, &[0x1a, 0, 0x0f, 0, 64, 0], &[], 64).expect("a page");
    assert_eq!(mode[2] & 0x80, 0x80, "WP");
    assert_eq!(rig.read(4), Ok(b"kept".to_vec()));
}

#[test]
fn a_cut_cartridge_says_what_is_missing() {
    let rig = Rig::loaded();
    for number in 0..6 {
        rig.write(&content(number, 5000)).expect("room");
    }
    rig.filemarks(1).expect("acknowledged");
    let length = fs::metadata(file(&rig)).expect("a file").len();
    let rig = tampered(rig, |file| {
        let cut = OpenOptions::new().write(true).open(file).expect("our file");
        cut.set_len(length - 3000).expect("our file");
    });
    let mut whole = 0;
    let lost = loop {
        match rig.read(5000) {
            Ok(block) => assert_eq!(block, content(whole, 5000)),
            Err(sense) => break sense,
        }
        whole += 1;
    };
    assert!((3..6).contains(&whole), "{whole}");
    assert_eq!((lost.key, lost.code), (SenseKey::MediumError, 0x1403), "END-OF-DATA NOT FOUND");
    let alert = rig.check(1, &[0x4d, 0, 0x6e, 0, 0, 0, 0, 1, 0x80, 0], &[], 400).expect("a page");
    assert_eq!(alert[4 + 3 * 5 + 4], 1, "TapeAlert flag 4: media");
    // What is there can be written on.
    rig.write(b"again").expect("room");
    rig.filemarks(1).expect("room");
    assert_eq!(rig.read(1).unwrap_err().key, SenseKey::BlankCheck);
    if let Some(found) = checked(&rig) {
        assert_eq!(found.last().map(String::as_str), Some(&*format!("end {} 1", whole + 2)));
    }
}

#[test]
fn every_cut_leaves_the_longest_whole_prefix() {
    let rig = Rig::loaded();
    let mut ends = vec![4096];
    for number in 0..4 {
        rig.write(&content(number, 40 + 10 * number as usize)).expect("room");
        ends.push(fs::metadata(file(&rig)).expect("a file").len());
    }
    drop(rig.library);
    let bytes = fs::read(rig.directory.path().join("WSP001L6.tape")).expect("a file");
    let short = rig.directory.path().join("short");
    for cut in 4096..=bytes.len() {
        fs::write(&short, &bytes[..cut]).expect("a file");
        let data = Box::new(FileStorage::open(&short, true).expect("a file"));
        let mut cartridge = Cartridge::open(data, None).expect("a cartridge");
        let whole = ends.iter().filter(|end| **end <= cut as u64).count() as u64 - 1;
        assert_eq!(cartridge.end().object, whole, "cut at {cut}");
        let mut place = cartridge.first();
        for number in 0..whole {
            let size = 40 + 10 * number as usize;
            let mut room = vec![0; size];
            cartridge.read(&mut place, &mut room).expect("a block");
            assert_eq!(room, content(number, size));
        }
    }
    // Within the first sectors there is no cartridge, or an empty one.
    for cut in (0..4096).step_by(61) {
        fs::write(&short, &bytes[..cut]).expect("a file");
        let data = Box::new(FileStorage::open(&short, true).expect("a file"));
        let opened = Cartridge::open(data, None);
        assert!(opened.is_err() == (cut < 512), "cut at {cut}");
    }
}

#[test]
fn a_flipped_byte_is_an_error_and_not_data() {
    let rig = Rig::loaded();
    for number in 0..3 {
        rig.write(&content(number, 2000)).expect("room");
    }
    rig.filemarks(1).expect("acknowledged");
    let rig = tampered(rig, |file| {
        let mut bytes = fs::read(file).expect("a file");
        bytes[4096 + 48 + 700] ^= 0x10;
        fs::write(file, bytes).expect("our file");
    });
    let damaged = rig.read(2000).unwrap_err();
    assert_eq!((damaged.key, damaged.code), (SenseKey::MediumError, 0x1100));
    rig.check(1, &[0x11, 0, 0, 0, 1, 0], &[], 0).expect("behind it");
    assert_eq!(rig.read(2000), Ok(content(1, 2000)), "the next one is whole");
}

#[test]
fn an_index_saves_the_search_and_is_never_believed() {
    let rig = Rig::with(|settings| settings.capacity = Some(1 << 30));
    rig.load();
    for number in 0..1000 {
        rig.write(&content(number, 100)).expect("room");
        if number % 100 == 99 {
            rig.filemarks(1).expect("room");
        }
    }
    rig.moves(0x100, 0x400).expect("a slot");
    let index = file(&rig).with_extension("index");
    let searched = |with: bool| {
        let data = Box::new(FileStorage::open(&file(&rig), true).expect("a file"));
        let index = with.then(|| {
            Box::new(FileStorage::open(&index, true).expect("a file"))
                as Box<dyn tape::media::Storage>
        });
        let cartridge = Cartridge::open(data, index).expect("a cartridge");
        assert_eq!((cartridge.end().object, cartridge.end().filemarks), (1010, 10));
        cartridge.searched()
    };
    assert_eq!(searched(false), 1010 * 48, "every header");
    assert!(searched(true) <= 64 * 48, "those behind the last entry");
    let good = fs::read(&index).expect("a file");
    for damage in [0, 20, 40, 200, good.len() - 3] {
        let mut bytes = good.clone();
        bytes[damage] ^= 1;
        fs::write(&index, bytes).expect("our file");
        searched(true);
    }
    fs::write(&index, &good[..good.len() / 2]).expect("our file");
    searched(true);
}

#[test]
fn the_memory_of_a_cartridge_stays_with_it() {
    let rig = Rig::loaded();
    let mut list = vec![0, 0, 0, 11, 0x08, 0x01, 1, 0, 6];
    list.extend(b"Bacula");
    let write = [0x8d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15, 0, 0];
    rig.check(1, &write, &list, 0).expect("room");
    let rig = tampered(rig, |_| {});
    let read = [0x8c, 0, 0, 0, 0, 0, 0, 0, 8, 1, 0, 0, 1, 0, 0, 0];
    let found = rig.check(1, &read, &[], 256).expect("attributes");
    assert_eq!(&found[4..15], b"\x08\x01\x01\x00\x06Bacula");
    let all = rig.check(1, &[0x8c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0], &[], 2304);
    let all = all.expect("attributes");
    let loads = all.windows(5).position(|w| w == [0, 3, 0x80, 0, 8]).expect("a load count");
    assert_eq!(all[loads + 12], 2);
    // What is not writable, or not of its form, changes nothing.
    for (at, byte) in [(4, 0x04), (6, 0), (9, 0x07)] {
        let mut wrong = list.clone();
        wrong[at] = byte;
        let refused = rig.check(1, &write, &wrong, 0).unwrap_err();
        assert_eq!((refused.key, refused.code), (SenseKey::IllegalRequest, 0x2600), "{at}");
    }
}

#[test]
fn generations_read_two_back_and_write_one() {
    let rig = Rig::loaded();
    rig.write(b"of the sixth").expect("room");
    let Rig { directory, library, .. } = rig;
    drop(library);
    let with = |name: &str| {
        let mut settings = settings(directory.path());
        settings.generation = tape::Generation::named(name).expect("a generation");
        let library = open(&settings);
        let room = &mut [0; 12];
        let mut cdb = [0; 16];
        cdb[..6].copy_from_slice(&[0x08, 0, 0, 0, 12, 0]);
        let mut command = iscsi::scsi::PassedCommand {
            cdb,
            nexus: crate::rig::nexus(1),
            data_in: 12,
            data_out: 0,
        };
        let read = library.execute(1, clock::Ns::ZERO, &command, &[], room).ending.sense;
        command.cdb[0] = 0x0a;
        let write = library.execute(1, clock::Ns::ZERO, &command, &[0; 12], &mut []).ending.sense;
        [read.map(|sense| sense.code), write.map(|sense| sense.code)]
    };
    assert_eq!(with("LTO-5"), [Some(0x3001), Some(0x3001)], "from the future");
    assert_eq!(with("lto8"), [Some(0x3001), Some(0x3001)], "one back alone since LTO-8");
    assert_eq!(with("LTO-7"), [None, None]);
}

/// A file system of 1 MiB in memory under the cartridge, and a file in its way.
#[test]
fn a_full_file_system_is_said_and_costs_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().expect("a directory");
    let target = folder.path().display().to_string();
    let run = |args: &[&str]| std::process::Command::new(args[0]).args(&args[1..]).status();
    match run(&["mount", "-t", "tmpfs", "-o", "size=1m", "none", &target]) {
        Ok(status) if status.success() => {}
        _ => return println!("skipped: no file system can be mounted here"),
    }
    let ballast = folder.path().join("WSP900.index");
    fs::write(&ballast, vec![1; 300_000]).expect("room");
    let settings = LibrarySettings { compress: false, ..settings(folder.path()) };
    let rig = Rig::over(open(&settings));
    rig.load();
    let mut written = 0;
    let refused = loop {
        match rig.write(&content(written, 40_000)) {
            Ok(()) => written += 1,
            Err(sense) => break sense,
        }
    };
    let alerts = rig.check(1, &[0x4d, 0, 0x6e, 0, 0, 0, 0, 1, 0x80, 0], &[], 400).expect("a page");
    let marked = rig.filemarks(1);
    rig.rewind();
    let back: Vec<bool> =
        (0..written).map(|n| rig.read(40_000) == Ok(content(n, 40_000))).collect();
    let end = rig.read(40_000);
    // With room again it goes on behind what is there.
    fs::remove_file(&ballast).expect("our file");
    let more = rig.write(b"more");
    drop(rig);
    assert!(run(&["umount", &target]).is_ok_and(|status| status.success()));
    assert_eq!((refused.key, refused.code), (SenseKey::MediumError, 0x0c00), "WRITE ERROR");
    let set: Vec<usize> = (1..=64).filter(|flag| alerts[4 + (flag - 1) * 5 + 4] == 1).collect();
    assert_eq!(set, [3, 6], "TapeAlert: hard error, write failure");
    assert!((10..19).contains(&written), "{written} blocks");
    assert!(back.iter().all(|same| *same), "{back:?}");
    let end = end.unwrap_err();
    match marked {
        Ok(()) => assert_eq!(end.code, 0x0001, "a filemark that fits"),
        Err(_) => assert_eq!(end.code, 0x0005, "the end of data"),
    }
    assert_eq!(more, Ok(()));
}

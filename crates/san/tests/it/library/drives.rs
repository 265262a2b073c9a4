//! Drives and the changer over real sockets: blocks, filemarks, moves, several initiators, resets, and disks beside them.

use super::rig::{TapeRig, code, content, serving, settings, started};
use crate::prelude::*;

use san::initiator::{TapeClient, TapeData, TapeRead};
use san::volume::{LibrarySettings, MemoryDrive, Pace};

#[test]
fn what_is_written_is_read_and_found() {
    let rig = TapeRig::new();
    let (mut robot, mut drive) = (rig.client(0, "a"), rig.client(1, "a"));
    assert_eq!(code(drive.rewind()), 0x3a00, "no medium yet");
    robot.move_medium(0x400, 0x100).expect("a cartridge");
    assert_eq!(drive.attentions().expect("a unit"), [0x2800], "the medium may have changed");
    for number in 0..20_u64 {
        let size = 1 + (number as usize * 9973) % 120_000;
        assert!(drive.write(&content(number, size)).expect("room"));
        if number % 5 == 4 {
            assert!(drive.filemarks(1, true).expect("room"));
        }
    }
    assert_eq!(drive.position().expect("a medium"), (24, 4));
    drive.rewind().expect("a medium");
    let (mut room, mut blocks, mut marks) = (vec![0; 200_000], 0_u64, 0);
    loop {
        match drive.read(&mut room).expect("a record") {
            TapeRead::Block(len) => {
                let size = 1 + (blocks as usize * 9973) % 120_000;
                assert_eq!(room[..len], content(blocks, size), "block {blocks}");
                blocks += 1;
            }
            TapeRead::Filemark => marks += 1,
            TapeRead::End => break,
        }
    }
    assert_eq!((blocks, marks), (20, 4));
    drive.space(1, -2).expect("filemarks");
    assert_eq!(drive.position().expect("a medium"), (17, 2));
    assert_eq!(code(drive.space(0, 4)), 0x0001, "a filemark is in the way");
    drive.locate(7).expect("an object");
    let len = 1 + 6 * 9973;
    assert_eq!(drive.read(&mut room).expect("a block"), TapeRead::Block(len));
    assert_eq!(code(drive.locate(99)), 0x0005);
    rig.target.stop().expect("a clean stop");
}

#[test]
fn a_block_that_does_not_fit_the_room_says_by_how_much() {
    let rig = TapeRig::new();
    rig.client(0, "a").move_medium(0x400, 0x100).expect("a cartridge");
    let mut drive = rig.client(1, "a");
    drive.write(&content(1, 5000)).expect("room");
    for (length, information, moved) in [(9000, 4000, 5000), (3000, -2000_i32 as u32, 3000)] {
        drive.rewind().expect("a medium");
        let [_, a, b, c] = (length as u32).to_be_bytes();
        let mut room = vec![0; length];
        let reply = drive.command(&[8, 0, a, b, c, 0], TapeData::In(&mut room)).expect("a reply");
        let sense = reply.sense.expect("ILI");
        assert_eq!((sense.key, sense.code, sense.stream), (0, 0, 0x20));
        assert_eq!(sense.information, Some(u64::from(information)));
        assert_eq!(reply.moved, moved);
        assert_eq!(room[..moved], content(1, 5000)[..moved], "data comes with the sense data");
    }
}

#[test]
fn several_initiators_share_by_reservations() {
    let rig = TapeRig::new();
    rig.client(0, "a").move_medium(0x400, 0x100).expect("a cartridge");
    let (mut one, mut two) = (rig.client(1, "one"), rig.client(1, "two"));
    one.write(&content(1, 100)).expect("room");
    one.command(&[0x16, 0, 0, 0, 0, 0], TapeData::None).expect("RESERVE");
    let refused = two.write(&content(2, 100)).unwrap_err().to_string();
    assert!(refused.contains("reservation"), "{refused}");
    one.command(&[0x17, 0, 0, 0, 0, 0], TapeData::None).expect("RELEASE");
    two.write(&content(2, 100)).expect("room");
    // Persistent: write exclusive lets others position and read, and not write.
    let mut register = [0; 24];
    register[15] = 0x77;
    let reply = one.command(&[0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0], TapeData::Out(&register));
    assert_eq!(reply.expect("REGISTER").sense, None);
    let mut reserve = [0; 24];
    reserve[7] = 0x77;
    let reply = one.command(&[0x5f, 1, 1, 0, 0, 0, 0, 0, 24, 0], TapeData::Out(&reserve));
    assert_eq!(reply.expect("RESERVE").sense, None);
    two.rewind().expect("reads are allowed");
    assert_eq!(two.read(&mut [0; 100]).expect("a block"), TapeRead::Block(100));
    assert!(two.write(b"x").unwrap_err().to_string().contains("reservation"));
    one.write(b"x").expect("the holder writes");
}

#[test]
fn settings_and_locks_are_heard_of_and_end() {
    let rig = TapeRig::new();
    let mut robot = rig.client(0, "a");
    robot.move_medium(0x400, 0x100).expect("a cartridge");
    let (mut one, mut two) = (rig.client(1, "one"), rig.client(1, "two"));
    let list = [0, 0, 0x10, 8, 0, 0, 0, 0, 0, 0, 2, 0];
    one.command(&[0x15, 0x10, 0, 0, 12, 0], TapeData::Out(&list)).expect("fixed blocks");
    assert_eq!(two.attentions().expect("a unit"), [0x2a01], "mode parameters changed");
    assert!(one.attentions().expect("a unit").is_empty());
    let block = [5; 1024];
    let reply = one.command(&[0x0a, 1, 0, 0, 2, 0], TapeData::Out(&block)).expect("a reply");
    assert_eq!(reply.sense, None, "two blocks of 512");
    assert_eq!(two.position().expect("a medium"), (2, 0), "one position for all");
    one.command(&[0x1e, 0, 0, 0, 1, 0], TapeData::None).expect("PREVENT");
    assert_eq!(code(robot.move_medium(0x100, 0x400)), 0x5302);
    drop(one);
    // The target hears of the end of the session in its own time.
    let gone = (0..200).any(|_| {
        clock::sleep_until(clock::now().plus(Ns::millis(10)));
        robot.move_medium(0x100, 0x400).is_ok()
    });
    assert!(gone, "what a session prevents ends with it");
}

#[test]
fn a_full_cartridge_warns_and_goes_on_with_the_next() {
    let rig = TapeRig::new();
    let (mut robot, mut drive) = (rig.client(0, "a"), rig.client(1, "a"));
    let mut noise = vec![0; 100_000];
    clock::Rng::keyed(7, &[]).fill(&mut noise);
    let mut volumes = Vec::new();
    for slot in [0x400, 0x401] {
        robot.move_medium(slot, 0x100).expect("a cartridge");
        drive.attentions().expect("a unit");
        let mut blocks = 1;
        while drive.write(&noise).expect("room") {
            blocks += 1;
        }
        // Behind early warning the volume is closed, as tar and Bacula do.
        drive.filemarks(1, true).expect("room");
        let refused = (0..10).find_map(|_| drive.write(&noise).err()).expect("an end");
        assert!(refused.to_string().contains("volume overflow"), "{refused}");
        drive.rewind().expect("a medium");
        volumes.push(blocks);
        robot.move_medium(0x100, slot).expect("its slot");
    }
    assert_eq!(volumes[0], volumes[1]);
    assert!((80..84).contains(&volumes[0]), "8 MiB in blocks of 100 kB: {volumes:?}");
}

#[test]
fn unloading_while_another_writes_loses_nothing() {
    let rig = TapeRig::new();
    let mut robot = rig.client(0, "a");
    robot.move_medium(0x400, 0x100).expect("a cartridge");
    let mut writer = rig.client(1, "writer");
    let writes = thread::spawn(move || {
        let mut acknowledged = 0_u64;
        loop {
            if let Err(error) = writer.write(&content(acknowledged, 20_000)) {
                return (acknowledged, error.to_string());
            }
            acknowledged += 1;
        }
    });
    clock::sleep_until(clock::now().plus(Ns::millis(60)));
    robot.move_medium(0x100, 0x403).expect("nobody prevents it");
    let (acknowledged, why) = writes.join().expect("a writer");
    // Either the unit attention comes first, or that no medium is there; or the cartridge was full before.
    assert!(["attention", "not ready", "overflow"].iter().any(|one| why.contains(one)), "{why}");
    robot.move_medium(0x403, 0x101).expect("the other drive");
    let mut reader = rig.client(2, "reader");
    let mut room = vec![0; 20_000];
    for number in 0..acknowledged {
        assert_eq!(reader.read(&mut room).expect("a block"), TapeRead::Block(20_000));
        assert_eq!(room, content(number, 20_000));
    }
    assert_eq!(reader.read(&mut room).expect("the end"), TapeRead::End, "nothing is invented");
}

#[test]
fn disks_and_tapes_are_served_side_by_side() {
    let rig = TapeRig::with(vec![
        Volume::open(&"ram:16MiB".parse().expect("a volume"), "disk-0").expect("memory"),
    ]);
    assert_eq!(rig.target.urls().len(), 4);
    let kinds: Vec<u8> = (0..3).map(|unit| kind(&rig, unit)).collect();
    assert_eq!(kinds, [8, 1, 1]);
    let url = rig.target.urls()[0].clone();
    let mut disk = san::initiator::TapeClient::open(&url).expect("a session");
    disk.attentions().expect("a unit");
    let mut data = [0; 36];
    disk.command(&[0x12, 0, 0, 0, 36, 0], TapeData::In(&mut data)).expect("INQUIRY");
    assert_eq!(data[0], 0);
    // Reads of a disk with one block of zeroes; READ(6) is not mistaken for a tape's.
    let mut block = [1; 512];
    let reply = disk.command(&[0x08, 0, 0, 0, 1, 0], TapeData::In(&mut block)).expect("a read");
    assert_eq!((reply.sense, block), (None, [0; 512]));
}

fn kind(rig: &TapeRig, unit: usize) -> u8 {
    let mut data = [0; 36];
    let mut client = rig.raw(unit, "a");
    client.command(&[0x12, 0, 0, 0, 36, 0], TapeData::In(&mut data)).expect("INQUIRY");
    data[0]
}

#[test]
fn a_reset_restores_defaults_and_is_heard_of() {
    let rig = TapeRig::new();
    let mut one = rig.raw(1, "one");
    assert_eq!(one.attentions().expect("a unit"), [0x2900], "power on");
    let mut pages = [0; 255];
    let page = one.command(&[0x12, 1, 0x83, 0, 255, 0], TapeData::In(&mut pages)).expect("a page");
    let text = String::from_utf8_lossy(&pages[..page.moved]).into_owned();
    assert!(text.contains("WSLIB-D000") && text.contains(",t,0x0001"), "{text:?}");
    let unknown = one.command(&[0xa2, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0], TapeData::In(&mut [0; 8]));
    let sense = unknown.expect("a reply").sense.expect("sense data");
    assert_eq!((sense.key, sense.code), (5, 0x2000), "SECURITY PROTOCOL IN");
}

#[test]
fn a_restart_keeps_the_library_as_it_was() {
    let rig = TapeRig::new();
    rig.client(0, "a").move_medium(0x401, 0x101).expect("a cartridge");
    let mut drive = rig.client(2, "a");
    drive.write(b"kept").expect("room");
    drop(drive);
    let TapeRig { target, directory, .. } = rig;
    target.stop().expect("a clean stop");
    let target = started(directory.path(), Vec::new());
    let rig = TapeRig { target, directory, disks: 0 };
    let mut room = [0; 4];
    assert_eq!(rig.client(2, "a").read(&mut room).expect("a block"), TapeRead::Block(4));
    assert_eq!(&room, b"kept");
}

/// A library in memory whose commands wait for nothing, from several sessions and so several threads of the target.
#[test]
fn a_library_in_memory_is_served_like_one_of_files() {
    let drives =
        ["WSA", "WSB"].map(|serial| MemoryDrive { serial: serial.to_owned(), capacity: 4 << 20 });
    for pace in [None, Some(Pace::Even(400_000_000))] {
        let nowhere = tempfile::TempDir::new().expect("a directory").path().join("nowhere");
        let settings = LibrarySettings { pace, ..settings(&nowhere) };
        let volumes = Volume::open_library_in_memory(&settings, "WSM", &drives);
        let target = serving(volumes.expect("a library"));
        let client = |unit: usize, name: &str| {
            let url = &target.urls()[unit];
            let opened = TapeClient::open_as(url, &format!("iqn.2026-01.example:{name}"));
            let mut client = opened.expect("a session");
            client.attentions().expect("a unit");
            client
        };
        let (mut robot, mut one, mut two) = (client(0, "a"), client(1, "a"), client(2, "b"));
        for (number, drive) in [&mut one, &mut two].into_iter().enumerate() {
            drive.write(&content(number as u64, 70_000)).expect("a cartridge is in it");
            drive.filemarks(1, true).expect("room");
        }
        let mut lock = client(1, "c");
        lock.command(&[0x1e, 0, 0, 0, 1, 0], TapeData::None).expect("PREVENT");
        assert_eq!(code(robot.move_medium(0x100, 0x400)), 0x5302);
        lock.command(&[0x1e, 0, 0, 0, 0, 0], TapeData::None).expect("ALLOW");
        robot.move_medium(0x100, 0x400).expect("its slot");
        assert_eq!(code(one.rewind()), 0x2800, "the drive's initiators hear of it");
        robot.move_medium(0x400, 0x100).expect("back");
        assert_eq!(one.attentions().expect("a unit"), [0x2800]);
        two.rewind().expect("another cartridge");
        let mut room = vec![0; 80_000];
        for (number, drive) in [&mut one, &mut two].into_iter().enumerate() {
            assert_eq!(drive.read(&mut room).expect("a block"), TapeRead::Block(70_000));
            assert_eq!(room[..70_000], content(number as u64, 70_000));
            assert_eq!(drive.read(&mut room).expect("a mark"), TapeRead::Filemark);
        }
        assert!(!nowhere.exists());
    }
}

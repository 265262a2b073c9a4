//! The robot: elements, moves, what they tell drives, and what is kept over a restart.

use crate::rig::{Rig, content, open, settings};
use iscsi::scsi::UnitAttention;
use tape::{Notice, NoticeTo};

const STATUS: [u8; 12] = [0xb8, 0x10, 0, 0, 0xff, 0xff, 1, 0, 0x40, 0, 0, 0];

/// (address, flags, barcode, source) of every element, read out of READ ELEMENT STATUS.
fn status(rig: &Rig) -> Vec<(u16, u8, String, Option<u16>)> {
    let bytes = rig.check(0, &STATUS, &[], 0x4000).expect("a report");
    let two = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    let four = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four"));
    assert_eq!(four(4) as usize, bytes.len() - 8);
    let (mut at, mut all) = (8, Vec::new());
    while at < bytes.len() {
        let (each, len) = (usize::from(two(at + 2)), four(at + 4) as usize);
        assert_eq!(len % each, 0);
        for element in (at + 8..at + 8 + len).step_by(each) {
            let tag = String::from_utf8_lossy(&bytes[element + 12..element + 44]).into_owned();
            let source = (bytes[element + 9] & 0x80 != 0).then(|| two(element + 10));
            let tag = tag.trim_matches(['\0', ' ']).to_owned();
            all.push((two(element), bytes[element + 2], tag, source));
        }
        at += 8 + len;
    }
    assert_eq!(all.len(), usize::from(two(2)));
    all
}

fn barcode(rig: &Rig, address: u16) -> String {
    let all = status(rig);
    all.into_iter().find(|one| one.0 == address).expect("an element").2
}

#[test]
fn every_element_is_reported_with_its_barcode() {
    let rig = Rig::new();
    let all = status(&rig);
    let addresses: Vec<u16> = all.iter().map(|one| one.0).collect();
    assert_eq!(addresses, [1, 0x400, 0x401, 0x402, 0x403, 0x404, 0x10, 0x11, 0x100, 0x101]);
    assert_eq!(all[1].1 & 0x09, 0x09, "full and accessible");
    assert_eq!(all[1].2, "WSP001L6");
    assert_eq!(all[4].1 & 0x01, 0, "empty");
    // One type, from an address on, no more than one.
    let some = rig.check(0, &[0xb8, 0x12, 4, 1, 0, 1, 0, 0, 1, 0, 0, 0], &[], 256).expect("some");
    assert_eq!(&some[..4], [4, 1, 0, 1]);
    let name = rig.check(0, &[0xb8, 0x14, 0, 0, 0, 9, 1, 0, 4, 0, 0, 0], &[], 1024).expect("some");
    let text = String::from_utf8_lossy(&name).into_owned();
    assert!(text.contains("WIRESPEDLTO-6 virtual   WS00-D000"), "DVCID: {text:?}");
}

#[test]
fn a_cartridge_is_moved_and_drives_hear_of_it() {
    let rig = Rig::new();
    let (answer, _) = rig.run(0, &[0xa5, 0, 0, 1, 4, 0, 1, 0, 0, 0, 0, 0], &[], 0);
    let heard = Notice { attention: UnitAttention::MediumChanged, to: NoticeTo::Drive(0) };
    assert_eq!(answer.notices, [heard]);
    assert_eq!(barcode(&rig, 0x100), "WSP001L6");
    assert_eq!(status(&rig).iter().find(|one| one.0 == 0x100).unwrap().3, Some(0x400));
    assert_eq!(rig.check(1, &[0; 6], &[], 0), Ok(vec![]), "it is loaded");
    assert_eq!(rig.moves(0x400, 0x101).unwrap_err().code, 0x3b0e, "the source is empty");
    assert_eq!(rig.moves(0x401, 0x100).unwrap_err().code, 0x3b0d, "the drive is full");
    assert_eq!(rig.moves(0x401, 0x300).unwrap_err().code, 0x2101);
    assert_eq!(rig.moves(0x401, 0x001).unwrap_err().code, 0x2101, "the robot keeps nothing");
    rig.moves(0x100, 0x404).expect("an empty slot");
    assert_eq!(rig.check(1, &[0; 6], &[], 0).unwrap_err().code, 0x3a00);
    assert_eq!(barcode(&rig, 0x404), "WSP001L6");
}

#[test]
fn what_an_initiator_holds_is_not_taken_away() {
    let rig = Rig::loaded();
    rig.check(1, &[0x1e, 0, 0, 0, 1, 0], &[], 0).expect("to be allowed to");
    assert_eq!(rig.moves(0x100, 0x404).unwrap_err().code, 0x5302);
    assert_eq!(rig.check(1, &[0x1b, 0, 0, 0, 0, 0], &[], 0).unwrap_err().code, 0x5302);
    assert_eq!(barcode(&rig, 0x100), "WSP001L6");
    // What a nexus prevented ends with it.
    rig.library.leave(1, &crate::rig::nexus(1));
    rig.moves(0x100, 0x404).expect("nobody prevents it");
}

#[test]
fn an_exchange_brings_one_and_takes_one() {
    let rig = Rig::loaded();
    // Slot 0x401 to the drive, what is in the drive to 0x401.
    rig.check(0, &[0xa6, 0, 0, 1, 4, 1, 1, 0, 4, 1, 0, 0], &[], 0).expect("an exchange");
    assert_eq!(barcode(&rig, 0x100), "WSP002L6");
    assert_eq!(barcode(&rig, 0x401), "WSP001L6");
    let refused = rig.check(0, &[0xa6, 0, 0, 1, 4, 1, 1, 0, 4, 2, 0, 0], &[], 0);
    assert_eq!(refused.unwrap_err().code, 0x3b0d, "the second destination is full");
    assert_eq!(barcode(&rig, 0x100), "WSP002L6", "nothing has moved");
    // A refused exchange leaves what is held where it is.
    rig.moves(0x402, 0x101).expect("the other drive");
    rig.check(2, &[0x1e, 0, 0, 0, 1, 0], &[], 0).expect("to be allowed to");
    let held = rig.check(0, &[0xa6, 0, 0, 1, 1, 1, 1, 0, 4, 3, 0, 0], &[], 0);
    assert_eq!(held.unwrap_err().code, 0x5302);
    assert_eq!(rig.check(1, &[0; 6], &[], 0), Ok(vec![]), "the first drive is loaded again");
}

#[test]
fn what_is_where_outlives_a_restart() {
    let Rig { directory, library, .. } = Rig::loaded();
    drop(library);
    let library = open(&settings(directory.path()));
    let rig = Rig { directory, library, now: clock::Ns::secs(1) };
    assert_eq!(barcode(&rig, 0x100), "WSP001L6");
    assert_eq!(rig.check(1, &[0; 6], &[], 0), Ok(vec![]), "the drive has loaded it");
}

#[test]
fn cartridges_come_and_go_by_the_mailslots() {
    let rig = Rig::new();
    let file = |name: &str| rig.directory.path().join(name);
    std::fs::copy(file("WSP003L6.tape"), file("NEW001L6.tape")).expect("a copy");
    rig.moves(0x401, 0x11).expect("an export element");
    std::fs::remove_file(file("WSP002L6.tape")).expect("an operator");
    let (answer, _) = rig.run(0, &[0x07, 0, 0, 0, 0, 0], &[], 0);
    assert_eq!(answer.notices.len(), 1, "others hear of it");
    let all = status(&rig);
    let find = |address: u16| all.iter().find(|one| one.0 == address).expect("an element");
    assert_eq!((find(0x10).2.as_str(), find(0x10).1 & 0x03), ("NEW001L6", 0x03), "imported");
    assert_eq!(find(0x11).2, "", "exported, and gone");
}

#[test]
fn a_library_is_served_once_and_nowhere_else() {
    let rig = Rig::new();
    let again = tape::Library::open(&settings(rig.directory.path()), "WS00", |_| [7; 16]);
    assert!(again.unwrap_err().to_string().contains("another process"));
    let other = tempfile::TempDir::new().expect("a directory");
    std::fs::write(other.path().join("letters.txt"), "x").expect("a file");
    let foreign = tape::Library::open(&settings(other.path()), "WS00", |_| [7; 16]);
    assert!(foreign.unwrap_err().to_string().contains("other files"));
}

#[test]
fn a_damaged_inventory_is_said_and_not_guessed() {
    let Rig { directory, library, .. } = Rig::loaded();
    drop(library);
    let state = directory.path().join("library.state");
    let text = std::fs::read_to_string(&state).expect("a file").replace("WSP002", "WSP009");
    std::fs::write(&state, text).expect("a file");
    let opened = tape::Library::open(&settings(directory.path()), "WS00", |_| [7; 16]);
    assert!(opened.unwrap_err().to_string().contains("library.state is damaged"));
}

/// A library in memory: its drives have the serial numbers and the cartridges that they were given, and no directory is made.
#[test]
fn a_library_in_memory_has_a_cartridge_for_each_drive() {
    let nowhere = tempfile::TempDir::new().expect("a directory").path().join("nowhere");
    let drives = [("WSA", 1 << 20), ("WSB", 2 << 20)]
        .map(|(serial, capacity)| tape::MemoryDrive { serial: serial.to_owned(), capacity });
    let settings = tape::LibrarySettings { compress: false, ..settings(&nowhere) };
    let library = tape::Library::in_memory(&settings, "WS", &drives, |_| [7; 16]);
    let rig = Rig::over(library.expect("a library"));
    assert_eq!(rig.library.serials(), ["WS-C000", "WSA", "WSB"]);
    for (drive, blocks) in [(0, 14), (1, 30)] {
        let unit = usize::from(drive) + 1;
        let data = content(u64::from(drive), 64 << 10);
        let write = [0x0a, 0, 1, 0, 0, 0];
        // Early warning comes 64 KiB before the end: in the 15th block, and in the 31st.
        let mut written = 0;
        let early = |sense: iscsi::scsi::Sense| sense.stream & 0x40 != 0;
        while rig.check(unit, &write, &data, 0).is_ok() {
            written += 1;
        }
        let warned = rig.check(unit, &write, &data, 0).unwrap_err();
        assert!(early(warned), "{warned:?}");
        assert_eq!(written, blocks, "the early warning of drive {drive}");
        rig.check(unit, &[0x01, 0, 0, 0, 0, 0], &[], 0).expect("rewound");
        assert_eq!(rig.check(unit, &[0x08, 0, 1, 0, 0, 0], &[], 64 << 10), Ok(data));
        // Unloaded and loaded again it holds the same.
        rig.moves(0x100 + drive, 0x400 + drive).expect("a move");
        rig.moves(0x400 + drive, 0x100 + drive).expect("a move");
        assert!(rig.check(unit, &[0x08, 0, 1, 0, 0, 0], &[], 64 << 10).is_ok());
    }
    assert!(!nowhere.exists());
}

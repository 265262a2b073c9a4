//! The conformance tables walked, and what single commands answer.

use crate::rig::{Rig, content};
use iscsi::scsi::{CommandSpec, Ending, SenseKey};
use tape::{Conformance, Library, SMC_3, SSC_3, Verdict};

/// A CDB of a command with nothing set.
fn bare(one: &Conformance) -> [u8; 16] {
    let mut cdb = [0; 16];
    (cdb[0], cdb[1]) = (one.opcode, one.action.unwrap_or(0));
    match one.opcode {
        0xa5 | 0xa6 => cdb[4..8].copy_from_slice(&[4, 0, 4, 4]),
        0x1d => cdb[1] = 0x04,
        0x2b => cdb[4..6].copy_from_slice(&[0x04, 0]),
        _ => {}
    }
    cdb
}

/// Whether a command is known, as the iSCSI target sees it.
fn known(unit: usize, cdb: &[u8; 16]) -> Result<&'static CommandSpec, u16> {
    let found = CommandSpec::find(Library::commands(unit), cdb);
    found.map_err(|ending: Ending| ending.sense.expect("sense data").code)
}

fn walk(unit: usize, commands: &[Conformance]) {
    let rig = Rig::loaded();
    for one in commands {
        let cdb = bare(one);
        let found = known(unit, &cdb);
        match one.verdict {
            Verdict::Done => {
                let spec = found.unwrap_or_else(|code| panic!("{}: {code:04x}", one.name));
                assert_eq!(spec.fits(&cdb), Ok(()), "{}", one.name);
                if spec.access == iscsi::scsi::PassAccess::Common {
                    continue;
                }
                let (answer, _) = rig.run(unit, &cdb, &[], 64);
                let code = answer.ending.sense.map(|sense| (sense.key, sense.code));
                let unknown = Some((SenseKey::IllegalRequest, 0x2000));
                assert_ne!(code, unknown, "{} is said to be done", one.name);
            }
            Verdict::NoOpcode(_) => assert_eq!(found, Err(0x2000), "{}", one.name),
            Verdict::NoAction(_) => assert_eq!(found, Err(0x2400), "{}", one.name),
        }
    }
    // And the other way round: what is done is in the table.
    for spec in Library::commands(unit) {
        let listed = commands.iter().any(|one| {
            one.opcode == spec.opcode
                && (one.action == spec.action || matches!(spec.opcode, 0x5e | 0x5f))
        });
        assert!(listed, "{} is missing from the table", spec.name);
    }
}

#[test]
fn a_drive_conforms_to_its_table() {
    walk(1, SSC_3);
}

#[test]
fn the_changer_conforms_to_its_table() {
    walk(0, SMC_3);
}

#[test]
fn reported_commands_are_those_of_the_table() {
    let rig = Rig::new();
    for unit in [0, 1] {
        let report = [0xa3, 0x0c, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0];
        let all = rig.check(unit, &report, &[], 0x4000).expect("a report");
        assert_eq!((all.len() - 4) / 8, Library::commands(unit).len());
        let one = [0xa3, 0x0c, 1, 0x12, 0, 0, 0, 0, 0x40, 0, 0, 0];
        let one = rig.check(unit, &one, &[], 64).expect("a report");
        assert_eq!(one, [0, 3, 0, 6, 0x12, 1, 0xff, 0xff, 0xff, 0]);
        let none = [0xa3, 0x0c, 1, 0xa2, 0, 0, 0, 0, 0x40, 0, 0, 0];
        assert_eq!(rig.check(unit, &none, &[], 64).expect("a report"), [0, 1, 0, 0]);
    }
}

#[test]
fn units_say_what_they_are() {
    let rig = Rig::new();
    for (unit, kind, product) in [(0, 8, "virtual library "), (1, 1, "LTO-6 virtual   ")] {
        let standard = rig.check(unit, &[0x12, 0, 0, 0, 96, 0], &[], 96).expect("data");
        assert_eq!((standard[0], standard[1], standard[2]), (kind, 0x80, 6));
        assert_eq!(&standard[8..32], format!("WIRESPED{product}").as_bytes());
        let pages = rig.check(unit, &[0x12, 1, 0, 0, 96, 0], &[], 96).expect("data");
        for page in &pages[4..] {
            let bytes = rig.check(unit, &[0x12, 1, *page, 0, 255, 0], &[], 255).expect("a page");
            assert_eq!((bytes[0], bytes[1]), (kind, *page));
            let length = u16::from_be_bytes([bytes[2], bytes[3]]);
            assert_eq!(usize::from(length), bytes.len() - 4, "page {page:02x}");
        }
        assert!(rig.check(unit, &[0x12, 1, 0xc7, 0, 96, 0], &[], 96).is_err());
    }
}

#[test]
fn blocks_of_fixed_length_are_written_and_read() {
    let rig = Rig::loaded();
    let list = [0, 0, 0x10, 8, 0, 0, 0, 0, 0, 0, 4, 0];
    rig.check(1, &[0x15, 0x10, 0, 0, 12, 0], &list, 0).expect("1 KiB");
    let data = content(5, 4096);
    rig.check(1, &[0x0a, 1, 0, 0, 4, 0], &data, 0).expect("four blocks");
    assert_eq!(rig.position(), (4, 0));
    let short = rig.check(1, &[0x0a, 1, 0, 0, 4, 0], &data[..4000], 0).unwrap_err();
    assert_eq!(short.code, 0x0e03, "less came than the command says");
    assert_eq!(rig.position(), (4, 0), "nothing of it is written");
    rig.rewind();
    assert_eq!(rig.check(1, &[0x08, 1, 0, 0, 4, 0], &[], 4096), Ok(data.clone()));
    rig.rewind();
    let (answer, bytes) = rig.run(1, &[0x08, 1, 0, 0, 6, 0], &[], 6144);
    let sense = answer.ending.sense.expect("the end of data");
    assert_eq!((sense.key, sense.information), (SenseKey::BlankCheck, Some(2)));
    assert_eq!(bytes, data, "what was read comes all the same");
    let fixed = rig.check(1, &[0x08, 3, 0, 0, 1, 0], &[], 1024).unwrap_err();
    assert_eq!(fixed.code, 0x2400, "SILI with FIXED");
}

#[test]
fn a_write_that_is_not_buffered_is_durable() {
    let rig = Rig::loaded();
    let list = [0, 0, 0, 0];
    rig.check(1, &[0x15, 0x10, 0, 0, 4, 0], &list, 0).expect("buffered mode 0");
    let mode = rig.check(1, &[0x1a, 8, 0x0f, 0, 64, 0], &[], 64).expect("a page");
    assert_eq!((mode[2], mode[3]), (0, 0));
    rig.write(&content(1, 100)).expect("room");
    // The state in the file says so: sequence 2 stands in its first place.
    let bytes = std::fs::read(rig.directory.path().join("WSP001L6.tape")).expect("a file");
    assert_eq!((bytes[512], bytes[520]), (2, 1), "one object is acknowledged");
}

#[test]
fn the_drive_without_a_medium_says_so() {
    let rig = Rig::new();
    for cdb in [[0x00; 6], [0x01, 0, 0, 0, 0, 0], [0x08, 0, 0, 0, 9, 0], [0x1b, 0, 0, 0, 1, 0]] {
        let sense = rig.check(1, &cdb, &[], 9).unwrap_err();
        assert_eq!((sense.key, sense.code), (SenseKey::NotReady, 0x3a00), "{cdb:02x?}");
    }
    let sense = rig.check(1, &[3, 0, 0, 0, 18, 0], &[], 18).expect("sense data");
    assert_eq!((sense[2], sense[12]), (2, 0x3a));
}

#[test]
fn unloading_and_loading_begins_anew() {
    let rig = Rig::loaded();
    rig.write(b"one").expect("room");
    rig.check(1, &[0x1b, 0, 0, 0, 0, 0], &[], 0).expect("unloaded");
    assert_eq!(rig.write(b"two").unwrap_err().code, 0x3a00);
    rig.check(1, &[0x1b, 0, 0, 0, 1, 0], &[], 0).expect("loaded");
    assert_eq!(rig.position(), (0, 0));
    assert_eq!(rig.read(3), Ok(b"one".to_vec()));
    let both = rig.check(1, &[0x1b, 0, 0, 0, 5, 0], &[], 0).unwrap_err();
    assert_eq!(both.code, 0x2400, "EOT with LOAD");
}

#[test]
fn pages_that_cannot_be_changed_are_refused() {
    let rig = Rig::loaded();
    let select = |list: &[u8]| {
        let (answer, _) = rig.run(1, &[0x15, 0x10, 0, 0, list.len() as u8, 0], list, 0);
        (answer.ending.sense.map(|sense| (sense.code, sense.field)), answer.notices.len())
    };
    assert_eq!(select(&[0, 0, 0x10, 0]), (None, 0), "nothing changes");
    assert_eq!(select(&[0, 0, 0x20, 0]).0, Some((0x2600, Some((false, 2, None)))));
    let large = [0, 0, 0x10, 8, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff];
    assert_eq!(select(&large).0, Some((0x2600, Some((false, 9, None)))));
    assert_eq!(select(&[0, 0, 0x10, 8, 0x44, 0, 0, 0, 0, 0, 0, 0]).0.unwrap().0, 0x2600);
    assert_eq!(select(&[0, 0, 0x10]).0.unwrap().0, 0x1a00);
    assert_eq!(select(&[0, 0, 0x10, 0, 0x10]).0.unwrap().0, 0x1a00);
    let mut page = rig.check(1, &[0x1a, 8, 0x10, 0, 64, 0], &[], 64).expect("a page");
    (page[0], page[1]) = (0, 0);
    assert_eq!(select(&page), (None, 0), "as it is");
    page[4 + 14] = 0;
    assert_eq!(select(&page), (None, 1), "no compression: others hear of it");
    page[4 + 3] = 9;
    assert_eq!(select(&page).0, Some((0x2600, Some((false, 7, None)))), "the active partition");
    assert_eq!(rig.check(1, &[0x1a, 0, 0xcf, 0, 64, 0], &[], 64).unwrap_err().code, 0x3900);
}

#[test]
fn densities_are_those_of_the_generation() {
    let rig = Rig::loaded();
    let all = rig.check(1, &[0x44, 0, 0, 0, 0, 0, 0, 1, 0, 0], &[], 256).expect("a report");
    assert_eq!(all.len(), 4 + 3 * 52, "LTO-4, LTO-5 and LTO-6");
    let codes: Vec<(u8, u8)> = all[4..].chunks(52).map(|one| (one[0], one[2])).collect();
    assert_eq!(codes, [(0x46, 0), (0x58, 0x80), (0x5a, 0xa0)]);
    let medium = rig.check(1, &[0x44, 1, 0, 0, 0, 0, 0, 1, 0, 0], &[], 256).expect("a report");
    assert_eq!((medium.len(), medium[4]), (56, 0x5a));
    assert_eq!(u32::from_be_bytes(medium[16..20].try_into().unwrap()), 2_500_000, "MB");
}

#[test]
fn a_paced_drive_says_when_it_would_have_ended() {
    let rig = Rig::with(|settings| {
        settings.pace = Some(tape::Pace::Native(10_000_000));
        settings.compress = false;
    });
    rig.load();
    for number in 0..3 {
        rig.write(&content(number, 1_000_000)).expect("room");
    }
    let (answer, _) = rig.run(1, &[0x10, 0, 0, 0, 1, 0], &[], 0);
    let took = answer.at.since(rig.now).as_secs_f64();
    assert!((took - 0.3).abs() < 0.001, "3 MB at 10 MB/s: {took} s");
}

#[test]
fn a_position_may_be_asked_for_and_sought_as_linux_does() {
    let rig = Rig::loaded();
    // The `st` driver asks for mode page 0, which holds nothing but what comes before pages: LTO-6 has the density 5Ah.
    let mode = rig.check(1, &[0x1a, 0, 0, 0, 12, 0], &[], 12).expect("the block descriptor");
    assert_eq!(mode, [11, 0x68, 0x10, 8, 0x5a, 0, 0, 0, 0, 0, 0, 0]);
    for number in 0..3 {
        rig.write(&content(number, 100)).expect("room");
    }
    // It takes addresses of the device's own kind (BT): LTO drives have only logical ones.
    let tell = || rig.check(1, &[0x34, 1, 0, 0, 0, 0, 0, 0, 0, 0], &[], 20).expect("a position");
    assert_eq!(tell()[4..12], [0, 0, 0, 3, 0, 0, 0, 3]);
    rig.check(1, &[0x2b, 0x04, 0, 0, 0, 0, 1, 0, 0, 0], &[], 0).expect("block 1");
    assert_eq!(tell()[4..12], [0, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(rig.read(100), Ok(content(1, 100)));
}

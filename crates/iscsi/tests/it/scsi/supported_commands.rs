//! REPORT SUPPORTED OPERATION CODES compared with the actual behaviour of the device server.

use iscsi::scsi::{Action, CdbBytes, Ending};

use crate::scsi::rig::{LARGE, READ_ONLY, Rig, THICK, THIN, code, field, refused, reply};

struct Row {
    opcode: u8,
    action: Option<u8>,
    length: u8,
}

fn all(rig: &Rig, lun: u64) -> Vec<Row> {
    let bytes = reply(rig.on(lun, &rig.a, "a3 0c 00 00 0000 0000ffff 00 00", &[]));
    assert_eq!(bytes.len() - 4, u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize);
    let rows = bytes[4..].chunks_exact(8);
    rows.map(|row| {
        assert!(row[5] & 1 == 1 || row[3] == 0, "a service action without its flag");
        Row { opcode: row[0], action: (row[5] & 1 == 1).then_some(row[3]), length: row[7] }
    })
    .collect()
}

fn one(rig: &Rig, lun: u64, row: &Row) -> Vec<u8> {
    let (option, action) = row.action.map_or((1, 0), |action| (2, action));
    reply(rig.on(
        lun,
        &rig.a,
        &format!("a3 0c {option:02x} {:02x} 00{action:02x} 0000ffff 00 00", row.opcode),
        &[],
    ))
}

#[test]
fn every_command_is_reported_with_its_usage() {
    let rig = Rig::new();
    for lun in [THIN, THICK, READ_ONLY, LARGE] {
        let rows = all(&rig, lun);
        assert!(rows.len() > 60);
        for row in &rows {
            let usage = one(&rig, lun, row);
            assert_eq!((usage[1] & 7, usage[3]), (3, row.length));
            assert_eq!(usage.len(), 4 + usize::from(row.length));
            assert_eq!(usage[4], row.opcode);
            assert_eq!(row.action.unwrap_or(0) & usage[5], row.action.unwrap_or(0));
            assert_eq!(*usage.last().unwrap(), 0, "no bit of CONTROL");
        }
    }
}

/// Whether a CDB passes the check of its bits: it is executed or refused for another reason.
fn fits(rig: &Rig, lun: u64, cdb: &CdbBytes, byte: usize) -> bool {
    let action = rig.device.begin(lun, &rig.a, cdb, 512);
    !(code(&action) == Some(0x2400) && field(&action) == Some((true, byte as u16)))
}

#[test]
fn usage_maps_are_exact() {
    let rig = Rig::new();
    for lun in [THIN, THICK] {
        for row in all(&rig, lun) {
            let usage = one(&rig, lun, &row);
            for byte in 1..usize::from(row.length) {
                for bit in 0..8 {
                    let mut cdb = [0; 16];
                    (cdb[0], cdb[1]) = (row.opcode, row.action.unwrap_or(0));
                    if (row.action.is_some() && byte == 1 && bit < 5)
                        || usage[4 + byte] & 1 << bit != 0
                    {
                        continue;
                    }
                    cdb[byte] |= 1 << bit;
                    assert!(
                        !fits(&rig, lun, &cdb, byte),
                        "{:x} {byte}.{bit} is not reported, but accepted",
                        row.opcode
                    );
                }
            }
        }
    }
}

#[test]
fn unreported_commands_are_refused() {
    let rig = Rig::new();
    for lun in [THIN, THICK] {
        let rows = all(&rig, lun);
        for opcode in 0..=0xff_u8 {
            for action in 0..0x20_u8 {
                let known = rows
                    .iter()
                    .any(|row| row.opcode == opcode && row.action.is_none_or(|its| its == action));
                let others = rows.iter().any(|row| row.opcode == opcode);
                let mut cdb = [0; 16];
                (cdb[0], cdb[1]) = (opcode, action);
                if !known {
                    let refused = rig.device.begin(lun, &rig.a, &cdb, 0);
                    assert_eq!(
                        code(&refused),
                        Some(if others { 0x2400 } else { 0x2000 }),
                        "{opcode:x} {action:x}"
                    );
                }
            }
        }
    }
}

#[test]
fn options_fit_the_operation_code() {
    let rig = Rig::new();
    for (cdb, byte) in [("a3 0c 01 a3 000a", 2), ("a3 0c 02 28 0000", 2), ("a3 0c 04 28 0000", 2)] {
        let action = rig.run(&format!("{cdb} 0000ffff 00 00"));
        assert_eq!(field(&action), Some((true, byte)));
        refused(action, 0x2400);
    }
    let support = |cdb: &str| reply(rig.run(&format!("a3 0c {cdb} 0000ffff 00 00")))[1] & 7;
    assert_eq!(support("01 28 0000"), 3);
    assert_eq!(support("01 ff 0000"), 1);
    assert_eq!(support("02 5f 0008"), 1);
    assert_eq!(support("02 5f 0107"), 1);
    assert_eq!(support("03 5f 0007"), 3);
    assert_eq!(support("03 28 0000"), 3);
    assert_eq!(support("03 28 0001"), 1);
    assert_eq!(support("01 9c 0000"), 1, "WRITE ATOMIC promises too much");
}

#[test]
fn timeouts_on_demand() {
    let rig = Rig::new();
    let bytes = reply(rig.run("a3 0c 80 00 0000 0000ffff 00 00"));
    for row in bytes[4..].chunks_exact(20) {
        assert_eq!((row[5] & 2, &row[8..10]), (2, &[0, 0x0a][..]));
    }
    let bytes = reply(rig.run("a3 0c 81 28 0000 0000ffff 00 00"));
    assert_eq!((bytes[1], bytes.len()), (0x83, 4 + 10 + 12));
}

#[test]
fn unmap_bits_are_those_of_thin_units() {
    let rig = Rig::new();
    let unmap = |lun, opcode| {
        reply(rig.on(lun, &rig.a, &format!("a3 0c 01 {opcode} 0000 0000ffff"), &[]))[5] & 0x08
    };
    assert_eq!(
        [unmap(THIN, "41"), unmap(THIN, "93"), unmap(THICK, "41"), unmap(THICK, "93")],
        [8, 8, 0, 0]
    );
}

#[test]
fn task_management_functions() {
    let rig = Rig::new();
    assert_eq!(reply(rig.run("a3 0d 00 00 00 00 00000010 00 00")), [0xda, 0, 0, 0]);
    assert_eq!(reply(rig.run("a3 0d 80 00 00 00 00000010 00 00"))[3], 12);
    assert_eq!(rig.run("00"), Action::End(Ending::GOOD));
}

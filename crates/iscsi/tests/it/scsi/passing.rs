//! Units that are no disks: what is checked before their own device server sees a command, and the sense data of streams.

use iscsi::initiator::SenseData;
use iscsi::scsi::{
    Action, CommandSpec, Device, Geometry, Medium, Nexus, PassAccess, Sense, SenseKey,
    UnitDescription,
};

const fn spec(opcode: u8, access: PassAccess, sends: bool) -> CommandSpec {
    let mut usage = [0; 16];
    (usage[0], usage[1], usage[4]) = (opcode, 0x01, 0xff);
    CommandSpec { opcode, action: None, length: 6, usage, access, sends, name: "" }
}

static COMMANDS: &[CommandSpec] = &[
    spec(0x00, PassAccess::Free, false),
    spec(0x03, PassAccess::Sense, false),
    spec(0x08, PassAccess::Read, false),
    spec(0x0a, PassAccess::Change, true),
    spec(0x12, PassAccess::Identify, false),
    spec(0x16, PassAccess::Common, false),
    spec(0x17, PassAccess::Common, false),
    spec(0xa0, PassAccess::Common, false),
];

fn device() -> Device {
    let mut device = Device::new("iqn.2026-01.example:t", &[1], Vec::new());
    let unit = UnitDescription {
        geometry: Geometry { block: 1, blocks: 1 },
        thin: false,
        read_only: false,
        write_back: true,
        keeps_reservations: false,
        serial: "T1".to_owned(),
        product: String::new(),
        revision: String::new(),
    };
    device.add(unit, Some(COMMANDS));
    device
}

fn nexus(number: u8) -> Nexus {
    Nexus::new("iqn.2026-01.example:i", [0, 0, 0, 0, 0, number], 1)
}

fn cdb(bytes: &[u8]) -> [u8; 16] {
    std::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0))
}

/// The code of the sense data, or the status, or what is passed: (room, data).
fn run(device: &Device, by: u8, bytes: &[u8], expected: u32) -> String {
    match device.begin(0, &nexus(by), &cdb(bytes), expected) {
        Action::Medium(Medium::Pass(one)) => format!("pass {} {}", one.data_in, one.data_out),
        Action::End(end) => match end.sense {
            Some(sense) => format!("{:04x}", sense.code),
            None => format!("{:?}", end.status),
        },
        Action::Reply(bytes) => format!("reply {}", bytes.len()),
        other => format!("{other:?}"),
    }
}

#[test]
fn commands_are_passed_with_their_direction() {
    let device = device();
    device.join(&nexus(1));
    assert_eq!(run(&device, 1, &[0x12, 0, 0, 0, 36], 36), "pass 36 0", "before the attention");
    assert_eq!(run(&device, 1, &[0x08, 0, 0, 0, 9], 9), "2900", "power on");
    assert_eq!(run(&device, 1, &[0x08, 0, 0, 0, 9], 9), "pass 9 0");
    assert_eq!(run(&device, 1, &[0x0a, 0, 0, 0, 9], 9), "pass 0 9");
    assert_eq!(run(&device, 1, &[0x0a, 2, 0, 0, 9], 9), "2400", "a bit that means nothing");
    assert_eq!(run(&device, 1, &[0x28], 512), "2000", "a disk's command");
    assert_eq!(run(&device, 1, &[0x08, 0, 0, 0, 9], (8 << 20) + 1), "2400", "too much");
    assert_eq!(run(&device, 1, &[0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 16], 16), "reply 16");
}

#[test]
fn an_attention_is_the_answer_of_request_sense_and_then_the_state() {
    let device = device();
    device.join(&nexus(1));
    assert_eq!(run(&device, 1, &[0x03, 0, 0, 0, 18], 18), "reply 18");
    assert_eq!(run(&device, 1, &[0x03, 0, 0, 0, 18], 18), "pass 18 0");
}

#[test]
fn reservations_of_others_hold() {
    let device = device();
    for by in [1, 2] {
        device.join(&nexus(by));
        run(&device, by, &[0x00], 0);
    }
    assert_eq!(run(&device, 1, &[0x16], 0), "Good");
    assert_eq!(run(&device, 2, &[0x08, 0, 0, 0, 9], 9), "ReservationConflict");
    assert_eq!(run(&device, 2, &[0x12, 0, 0, 0, 36], 36), "pass 36 0");
    assert_eq!(run(&device, 1, &[0x17], 0), "Good");
    assert_eq!(run(&device, 2, &[0x0a, 0, 0, 0, 9], 9), "pass 0 9");
}

#[test]
fn sense_data_of_streams_is_read_as_it_was_made() {
    let residue = -3_i64 as u64;
    let sense = Sense::new(SenseKey::NoSense, 0x0000).with_stream(0x20).with_information(residue);
    let fixed = SenseData::parse(&sense.encode(false)).expect("sense data");
    assert_eq!((fixed.stream, fixed.information), (0x20, Some(0xffff_fffd)));
    let descriptor = SenseData::parse(&sense.encode(true)).expect("sense data");
    assert_eq!((descriptor.stream, descriptor.information), (0x20, Some(residue)));
    assert!(sense.encode(true).len() <= Sense::LONGEST);
}

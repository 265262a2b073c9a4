//! Arbitrary commands and parameters from two nexuses, in any order, against a device: the invariants of the device server
//! hold (`invariants.rs` in its tests lists them).
//!
//! An input is a sequence of calls: the unit and the nexus, the expected length, the CDB, and the parameters with their
//! length before them.

#![no_main]

use iscsi::scsi::{Device, Geometry, Nexus, UnitDescription};
use libfuzzer_sys::fuzz_target;

#[path = "../../crates/iscsi/tests/it/scsi/invariants.rs"]
mod invariants;

const LUNS: [u64; 6] = [0, 1 << 48, 2 << 48, 3 << 48, 0xc101 << 48, 9 << 48];

fn device() -> Device {
    let unit = |serial: &str, block, thin, read_only| UnitDescription {
        geometry: Geometry { block, blocks: 1 << 17 },
        thin,
        read_only,
        write_back: thin,
        keeps_reservations: thin,
        serial: serial.to_owned(),
        product: serial.to_owned(),
        revision: serial.to_owned(),
    };
    let units = vec![
        unit("thin", 512, true, false),
        unit("thick", 512, false, false),
        unit("read-only", 512, true, true),
        unit("large", 4096, true, false),
    ];
    Device::new("iqn.2026-01.example:fuzz", &[1, 2], units)
}

fuzz_target!(|input: &[u8]| {
    let device = device();
    let nexuses =
        [1, 2].map(|port| Nexus::new("iqn.2026-01.example:i", [0, 0, 0, 0, 0, port as u8], port));
    nexuses.iter().for_each(|nexus| device.join(nexus));
    let mut rest = input;
    while let Some((head, tail)) = rest.split_at_checked(22) {
        let nexus = &nexuses[usize::from(head[0] >> 7)];
        let lun = LUNS[usize::from(head[0] & 0x7f) % LUNS.len()];
        let expected = u32::from_be_bytes([0, head[1], head[2], head[3]]);
        let cdb = std::array::from_fn(|at| head[4 + at]);
        let length = usize::from(u16::from_be_bytes([head[20], head[21]])).min(tail.len());
        let (bytes, tail) = tail.split_at(length);
        match head[0] & 0x7f {
            // Now and then something else happens than a command.
            0x40 => nexuses.iter().for_each(|nexus| device.join(nexus)),
            0x41 => device.leave(nexus),
            0x42 => device.reset(),
            0x43 => device.units()[0].restore(bytes).unwrap_or_default(),
            _ => invariants::hold(&device, lun, nexus, &cdb, expected, bytes),
        }
        rest = tail;
    }
});

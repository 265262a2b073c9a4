//! Arbitrary commands to a tape drive with a cartridge: the invariants of `crates/tape/tests/it/invariants.rs` hold.
//!
//! An input is a sequence of calls: a byte for the nexus, two for the length, the CDB, and the data.

#![no_main]

use iscsi::scsi::{CommandSpec, Nexus, PassedCommand};
use libfuzzer_sys::fuzz_target;
use tape::{Generation, Library, LibrarySettings};

#[path = "../../crates/tape/tests/it/invariants.rs"]
mod invariants;

const UNIT: usize = 1;

fn library(directory: &std::path::Path) -> Library {
    let settings = LibrarySettings {
        directory: directory.to_owned(),
        generation: Generation::named("LTO-6").expect("a generation"),
        drives: 2,
        slots: 5,
        mailslots: 2,
        cartridges: 3,
        capacity: Some(1 << 20),
        pace: None,
        compress: true,
        target: "iqn.2026-01.example:fuzz".to_owned(),
    };
    Library::open(&settings, "FUZZ", |_| [6; 16]).expect("a library")
}

fuzz_target!(|input: &[u8]| {
    let directory = tempfile::tempdir().expect("a directory");
    let library = library(directory.path());
    let nexus = |number: u8| Nexus::new("iqn.2026-01.example:i", [0, 0, 0, 0, 0, number & 1], 1);
    let mut load = [0; 16];
    load[..8].copy_from_slice(&[0xa5, 0, 0, 1, 4, 0, 1, 0]);
    let load = PassedCommand { cdb: load, nexus: nexus(0), data_in: 0, data_out: 0 };
    invariants::hold(&library, 0, &load, &[]);
    let mut rest = input;
    while let Some((head, tail)) = rest.split_at_checked(19) {
        let length = u32::from(u16::from_be_bytes([head[1], head[2]]));
        let cdb = std::array::from_fn(|at| head[3 + at]);
        let sends = CommandSpec::find(Library::commands(UNIT), &cdb).is_ok_and(|spec| spec.sends);
        let taken = if sends { tail.len().min(length as usize) } else { 0 };
        let (data, tail) = tail.split_at(taken);
        let data_in = if sends { 0 } else { length };
        let command =
            PassedCommand { cdb, nexus: nexus(head[0]), data_in, data_out: taken as u32 };
        invariants::hold(&library, UNIT, &command, data);
        rest = tail;
    }
});

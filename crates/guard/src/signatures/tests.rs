//! Every row on media made up for it.

use super::examples::{ExampleMedium, spots, structure};
use super::partitions::BOOT_SECTOR;
use super::{Magic, Signature, rows, signatures};
use proptest::prelude::*;

#[track_caller]
fn names(medium: &ExampleMedium) -> Vec<&'static str> {
    signatures(medium).expect("every byte can be read").iter().map(|one| one.name).collect()
}

#[test]
fn every_row_is_found_and_named_at_each_of_its_places() {
    for (row, size, offset) in spots() {
        for magic in row.magics {
            let made = ExampleMedium::zero(size).with(offset, structure(row, magic));
            let found = signatures(&made).expect("every byte can be read");
            let wanted = Signature { name: row.name, offset };
            assert_eq!(found, [wanted], "{magic:x?} on {size} bytes");
        }
    }
}

#[test]
fn a_medium_may_end_with_the_mark() {
    for row in rows() {
        let Some(super::Offset::At(at)) = row.places.first().copied() else { continue };
        let bytes = structure(row, row.magics[0]);
        let size = at + bytes.len() as u64;
        assert_eq!(names(&ExampleMedium::zero(size).with(at, bytes.clone())), [row.name]);
        let cut = names(&ExampleMedium::zero(size - 1).with(at, bytes));
        // Half of a copy's mark at the end is no copy of anything.
        assert!(!cut.contains(&row.name) || !ends_in_its_mark(row), "{}", row.name);
    }
}

fn ends_in_its_mark(row: &Magic) -> bool {
    structure(row, row.magics[0]).len() == row.at + row.magics[0].len()
}

#[test]
fn one_bit_flipped_in_the_mark_is_not_the_mark() {
    for row in rows() {
        let (_, size, offset) =
            spots().into_iter().find(|(of, ..)| std::ptr::eq(*of, row)).expect("it has a place");
        for magic in row.magics {
            for bit in 0..8 * magic.len() {
                let mut flipped = magic.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                if rows().any(|of| of.name == row.name && of.magics.contains(&&flipped[..])) {
                    continue;
                }
                let mut bytes = structure(row, magic);
                bytes[row.at..row.at + magic.len()].copy_from_slice(&flipped);
                let found = names(&ExampleMedium::zero(size).with(offset, bytes));
                assert!(!found.contains(&row.name), "{}: {magic:x?} bit {bit}", row.name);
            }
        }
    }
}

#[test]
fn zeros_and_noise_carry_nothing() {
    for size in [0, 1, 9, 10, 511, 512, 513, 1023, 4095, 4096, 4097, 70_001, 300_000, 3_145_729] {
        assert_eq!(names(&ExampleMedium::zero(size)), Vec::<&str>::new(), "{size} zeros");
        for seed in 0..20 {
            let noise = ExampleMedium { noise: Some(seed), ..ExampleMedium::zero(size) };
            assert_eq!(names(&noise), Vec::<&str>::new(), "{size} bytes of noise {seed}");
        }
    }
}

#[test]
fn a_place_that_cannot_be_read_is_an_error_that_names_it() {
    for bad in [0, 4095, 1 << 16, (3 << 20) - 1] {
        let made = ExampleMedium { bad: Some(bad), ..ExampleMedium::zero(3 << 20) };
        let told = signatures(&made).expect_err("a place cannot be read").to_string();
        assert!(told.starts_with(&format!("byte {}: ", bad / 4096 * 4096)), "{told}");
    }
    // Where nothing known ever lies nothing is read.
    let made = ExampleMedium { bad: Some(1_500_000), ..ExampleMedium::zero(3 << 20) };
    assert_eq!(signatures(&made).expect("that byte is not looked at"), []);
}

/// A sector that ends in the mark of a boot sector, with these four entries of a partition table.
fn mbr(entries: [[u8; 16]; 4]) -> ExampleMedium {
    let mut sector = vec![0; 512];
    for (i, entry) in entries.iter().enumerate() {
        sector[446 + 16 * i..][..16].copy_from_slice(entry);
    }
    sector[510..].copy_from_slice(b"\x55\xaa");
    ExampleMedium::zero(1 << 20).with(0, sector)
}

const UNUSED: [u8; 16] = [0; 16];

const fn entry(status: u8, kind: u8, start: u8, sectors: u8) -> [u8; 16] {
    [status, 0, 0, 0, kind, 0, 0, 0, start, 0, 0, 0, sectors, 0, 0, 0]
}

#[test]
fn a_sector_with_a_boot_mark_is_called_what_it_is() {
    let (table, protective) = ("an MBR partition table", "a protective MBR");
    let used = entry(0x80, 0x83, 1, 9);
    let covers = entry(0, 0xee, 1, 255);
    for (entries, name) in [
        ([used, UNUSED, UNUSED, UNUSED], table),
        ([UNUSED, UNUSED, UNUSED, entry(0, 7, 1, 1)], table),
        ([covers, used, UNUSED, UNUSED], table),
        ([covers, UNUSED, UNUSED, UNUSED], protective),
        ([UNUSED; 4], BOOT_SECTOR),
        ([entry(0x81, 0x83, 1, 9), used, UNUSED, UNUSED], BOOT_SECTOR),
        ([entry(0, 0x83, 0, 9), UNUSED, UNUSED, UNUSED], BOOT_SECTOR),
        ([entry(0, 0x83, 1, 0), UNUSED, UNUSED, UNUSED], BOOT_SECTOR),
        ([entry(0, 0, 1, 0), used, UNUSED, UNUSED], BOOT_SECTOR),
    ] {
        assert_eq!(names(&mbr(entries)), [name], "{entries:x?}");
    }
}

#[test]
fn several_things_are_all_named() {
    let row = |name| rows().find(|row| row.name == name).expect("it is known");
    let (gpt, cover, old) = ("a GPT partition table", "a protective MBR", "an XFS file system");
    let put =
        |made: ExampleMedium, name, at| made.with(at, structure(row(name), row(name).magics[0]));
    let end = (1 << 20) - 512;
    let made = put(put(put(ExampleMedium::zero(1 << 20), cover, 0), gpt, 512), gpt, end);
    assert_eq!(names(&made), [gpt, cover]);
    let swap = put(put(ExampleMedium::zero(1 << 20), old, 0), "Linux swap", 4086);
    assert_eq!(names(&swap), [old, "Linux swap"]);
    assert_eq!(signatures(&swap).expect("it reads")[1].to_string(), "Linux swap at byte 4086");
}

proptest! {
    #[test]
    fn noise_around_a_structure_does_not_hide_it(
        seed in any::<u64>(), which in 0..usize::MAX, mark in 0..usize::MAX,
    ) {
        let spots = spots();
        let (row, size, offset) = spots[which % spots.len()];
        let bytes = structure(row, row.magics[mark % row.magics.len()]);
        let made = ExampleMedium { noise: Some(seed), ..ExampleMedium::zero(size) }.with(offset, bytes);
        let found = signatures(&made).expect("every byte can be read");
        prop_assert!(found.contains(&Signature { name: row.name, offset }), "{found:?}");
    }

    #[test]
    fn no_bytes_are_too_odd_to_look_at(
        start in prop::collection::vec(any::<u8>(), 0..600), size in 0_u64..70_000, at in 0_u64..70_000,
    ) {
        prop_assert!(signatures(&ExampleMedium::zero(size).with(at, start)).is_ok());
    }
}

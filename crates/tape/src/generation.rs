//! LTO generations by name. Capacity, rate and density code are from the format's published generations; the slowest
//! streaming rate and the buffer are those of full-height drives, assumed where data sheets differ.

/// An LTO generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Its name, such as `LTO-6`.
    pub name: &'static str,
    /// Its number.
    pub number: u8,
    /// Native capacity of a cartridge in bytes.
    pub capacity: u64,
    /// Native rate in bytes a second.
    pub rate: u64,
    /// The slowest rate at which the tape moves: below it the drive stops and repositions.
    pub slowest: u64,
    /// Bytes of the drive's buffer.
    pub buffer: u64,
    /// The density code of its medium (SSC-3, 7.1).
    pub density: u8,
    /// Bits a millimetre, tracks, medium width in tenths of a millimetre, length in metres.
    pub recording: (u32, u16, u16, u16),
}

const fn generation(
    name: &'static str,
    number: u8,
    gigabytes: u64,
    megabytes_a_second: (u64, u64),
    buffer_mib: u64,
    density: u8,
    recording: (u32, u16, u16),
) -> Generation {
    Generation {
        name,
        number,
        capacity: gigabytes * 1_000_000_000,
        rate: megabytes_a_second.0 * 1_000_000,
        slowest: megabytes_a_second.1 * 1_000_000,
        buffer: buffer_mib << 20,
        density,
        recording: (recording.0, recording.1, 127, recording.2),
    }
}

/// All of them, oldest first.
pub const GENERATIONS: [Generation; 9] = [
    generation("LTO-1", 1, 100, (20, 10), 32, 0x40, (4880, 384, 609)),
    generation("LTO-2", 2, 200, (40, 20), 64, 0x42, (7398, 512, 609)),
    generation("LTO-3", 3, 400, (80, 40), 128, 0x44, (9638, 704, 680)),
    generation("LTO-4", 4, 800, (120, 40), 256, 0x46, (13_250, 896, 820)),
    generation("LTO-5", 5, 1500, (140, 47), 256, 0x58, (15_142, 1280, 846)),
    generation("LTO-6", 6, 2500, (160, 54), 512, 0x5a, (15_143, 2176, 846)),
    generation("LTO-7", 7, 6000, (300, 100), 1024, 0x5c, (19_107, 3584, 960)),
    generation("LTO-8", 8, 12_000, (360, 112), 1024, 0x5e, (20_668, 6656, 960)),
    generation("LTO-9", 9, 18_000, (400, 177), 1024, 0x60, (21_445, 8960, 1035)),
];

impl Generation {
    /// A generation by its name (`LTO-6`, `lto6`) or its number.
    pub fn named(name: &str) -> Option<&'static Generation> {
        let plain = name.to_ascii_lowercase().replace('-', "");
        let number = plain.strip_prefix("lto").unwrap_or(&plain).parse().ok()?;
        Generation::numbered(number)
    }

    /// A generation by its number.
    pub fn numbered(number: u8) -> Option<&'static Generation> {
        GENERATIONS.iter().find(|one| one.number == number)
    }

    /// Whether its drives read a cartridge of another generation: two back up to LTO-7, one back since.
    pub fn reads(&self, medium: u8) -> bool {
        let back = if self.number <= 7 { 2 } else { 1 };
        (self.number.saturating_sub(back)..=self.number).contains(&medium)
    }

    /// Whether its drives write a cartridge of another generation: their own and the one before.
    pub fn writes(&self, medium: u8) -> bool {
        (self.number.saturating_sub(1)..=self.number).contains(&medium)
    }
}

//! What the tests look at: for each row the smallest structure that it finds, and media that are mostly made up.

use super::{Magic, Offset};
use crate::ReadableMedium;
use clock::Rng;
use std::io;

/// A medium of any size that is zero or noise except where something was put.
pub struct ExampleMedium {
    pub size: u64,
    /// Noise of this seed, or zeros.
    pub noise: Option<u64>,
    pub pieces: Vec<(u64, Vec<u8>)>,
    /// A byte that cannot be read.
    pub bad: Option<u64>,
}

impl ExampleMedium {
    pub fn zero(size: u64) -> ExampleMedium {
        ExampleMedium { size, noise: None, pieces: Vec::new(), bad: None }
    }

    pub fn with(mut self, offset: u64, piece: Vec<u8>) -> ExampleMedium {
        self.pieces.push((offset, piece));
        self
    }

    /// What there is where nothing was put.
    fn background(&self, offset: u64, out: &mut [u8]) {
        out.fill(0);
        let Some(seed) = self.noise else { return };
        let mut at = offset;
        let end = offset + out.len() as u64;
        while at < end {
            let mut block = [0; 512];
            Rng::keyed(seed, &[at / 512]).fill(&mut block);
            let within = (at % 512) as usize;
            let n = (512 - within).min((end - at) as usize);
            out[(at - offset) as usize..][..n].copy_from_slice(&block[within..within + n]);
            at += n as u64;
        }
    }
}

impl ReadableMedium for ExampleMedium {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset + out.len() as u64;
        assert!(end <= self.size, "read past the end: {end} of {}", self.size);
        if self.bad.is_some_and(|bad| (offset..end).contains(&bad)) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        self.background(offset, out);
        for (start, piece) in &self.pieces {
            let from = (*start).max(offset);
            let to = (start + piece.len() as u64).min(end);
            if from < to {
                let (source, target) = ((from - start) as usize, (from - offset) as usize);
                let n = (to - from) as usize;
                out[target..target + n].copy_from_slice(&piece[source..source + n]);
            }
        }
        Ok(())
    }
}

/// A structure that a row finds, bearing one of its marks.
pub fn structure(row: &Magic, magic: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (at, field) in std::iter::once((row.at, magic.to_vec())).chain(fields(row, magic)) {
        bytes.resize(bytes.len().max(at + field.len()), 0);
        bytes[at..at + field.len()].copy_from_slice(&field);
    }
    bytes
}

/// What a row's check wants to see beside the mark.
fn fields(row: &Magic, magic: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let le32 = |at, value: u32| (at, value.to_le_bytes().to_vec());
    let le16 = |at, value: u16| (at, value.to_le_bytes().to_vec());
    let be32 = |at, value: u32| (at, value.to_be_bytes().to_vec());
    let be16 = |at, value: u16| (at, value.to_be_bytes().to_vec());
    let entry = |kind| vec![le32(450, kind), le32(454, 1), le32(458, 99)];
    let ext =
        |journal, needed| vec![le32(4, 64), le32(92, journal), le32(96, needed), le32(100, 1)];
    let fat = |sectors: u32, short: u16, long: u32| {
        let mut fields =
            vec![(0, vec![0xeb, 0x58, 0x90]), le16(11, 512), (13, vec![4]), le16(14, 1)];
        fields.extend([(16, vec![2]), le16(17, if long == 0 { 512 } else { 0 }), (21, vec![0xf8])]);
        fields.extend([le16(22, short), le32(32, sectors), le32(36, long)]);
        fields
    };
    match row.name {
        "a protective MBR" => entry(0xee),
        "an MBR partition table" => entry(0x83),
        "an Apple partition map" => vec![be32(4, 3)],
        "a BSD disklabel" => vec![(132, magic.to_vec())],
        "a Sun disk label" => vec![be16(2, 7), be16(510, 0xdabe ^ 7)],
        "an ext4 file system" => ext(4, 0x42),
        "an ext3 file system" => ext(4, 2),
        "an ext2 file system" => ext(0, 2),
        "a journal of an ext file system" => ext(0, 8),
        "an XFS log" => vec![be32(4, 1), be32(8, 2)],
        "a NILFS2 file system" => vec![le32(0, 2), le16(8, 280)],
        "a Minix file system" if row.at == 16 => vec![le16(4, 1), le16(6, 1)],
        "a Minix file system" => vec![le16(6, 1), le16(8, 1)],
        "a FAT12 file system" => fat(8000, 12, 0),
        "a FAT16 file system" => fat(80_000, 80, 0),
        "a FAT32 file system" => fat(800_000, 0, 800),
        "an HFS file system" => vec![be16(14, 3), be32(20, 4096)],
        "a GFS2 file system" => vec![be32(24, 1801)],
        "a GFS file system" => vec![be32(24, 1309)],
        "an LVM physical volume" => vec![(24, b"LVM2 001".to_vec())],
        "a member of an MD array" if row.magics.len() == 1 => vec![le32(4, 1)],
        "a member of an MD array" => vec![le32(4, 0)],
        _ => Vec::new(),
    }
}

/// Every place of every row where a structure may begin, the last step as well as the first, with a medium that is large
/// enough and the offset on it.
pub fn spots() -> Vec<(&'static Magic, u64, u64)> {
    let mut spots = Vec::new();
    for row in super::rows() {
        for place in row.places {
            let further = row.steps.0 * row.steps.1;
            let size = match place {
                Offset::At(at) => at + further + 8192 + 700,
                Offset::Before { unit, back } => back.next_multiple_of(*unit) + (3 << 20) + 700,
            };
            let first = place.on(size).expect("the medium is large enough");
            spots.push((row, size, first));
            if further > 0 {
                spots.push((row, size, first + further));
            }
        }
    }
    spots
}

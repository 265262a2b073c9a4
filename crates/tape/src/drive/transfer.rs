//! READ, WRITE, VERIFY, WRITE FILEMARKS, ERASE and FORMAT MEDIUM (SSC-3, 5).

use super::Drive;
use super::load::sense_of;
use crate::answer::{Failed, Outcome, be16, be24, illegal, invalid_field};
use crate::media::format::{HEADER, LARGEST_BLOCK};
use crate::media::{MediaError, Read};
use iscsi::scsi::{Sense, SenseKey};

const FILEMARK: u8 = 0x80;
const EOM: u8 = 0x40;
const ILI: u8 = 0x20;

/// FILEMARK DETECTED.
pub(super) const AT_FILEMARK: Sense =
    Sense::new(SenseKey::NoSense, 0x0001).with_stream(FILEMARK).with_information(0);
/// END-OF-DATA DETECTED.
pub(super) const AT_END: Sense = Sense::new(SenseKey::BlankCheck, 0x0005);
/// END-OF-PARTITION/MEDIUM DETECTED, though everything was written.
const NEAR_END: Sense = Sense::new(SenseKey::NoSense, 0x0002).with_stream(EOM);

/// The residue of a command: two's complement.
pub(super) fn with_residue(sense: Sense, residue: i64) -> Sense {
    // Sense data of streams always says how much is missing, and may be negative.
    sense.with_information(residue as u64)
}

/// Blocks and their length: one of variable length, or some of a fixed one.
struct Transfer {
    fixed: bool,
    blocks: u32,
    length: u32,
}

impl Drive {
    fn transfer(&self, cdb: &[u8; 16]) -> Result<Transfer, Sense> {
        let (fixed, count) = (cdb[1] & 0x01 != 0, be24(cdb, 2));
        let length = self.modes.block_length;
        match fixed {
            true if length == 0 => Err(illegal(0x2400).at_cdb(1, Some(0))),
            true if u64::from(count) * u64::from(length) > u64::from(LARGEST_BLOCK) => {
                Err(invalid_field(2))
            }
            true => Ok(Transfer { fixed, blocks: count, length }),
            false if count > LARGEST_BLOCK => Err(invalid_field(2)),
            false => Ok(Transfer { fixed, blocks: 1, length: count }),
        }
    }

    pub(super) fn read(&mut self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        let sili = cdb[1] & 0x02 != 0;
        let wanted = self.transfer(cdb)?;
        if wanted.fixed && sili {
            return Err(illegal(0x2400).at_cdb(1, Some(1)).into());
        }
        self.fetch(&wanted, sili, Some(room))
    }

    /// VERIFY: reads, and moves nothing. The bytes of the initiator are not compared.
    pub(super) fn verify(&mut self, cdb: &[u8; 16]) -> Outcome {
        let wanted = self.transfer(cdb)?;
        self.fetch(&wanted, false, None)
    }

    fn fetch(&mut self, wanted: &Transfer, sili: bool, room: Option<&mut [u8]>) -> Outcome {
        let any_length = self.modes.block_length == 0;
        self.medium()?;
        if wanted.length == 0 || wanted.blocks == 0 {
            return Ok(0);
        }
        self.flush()?;
        let length = wanted.length as usize;
        let (mut spare, moves) = (Vec::new(), room.is_some());
        let room = match room {
            Some(room) => room,
            None => {
                spare.resize(length, 0);
                &mut spare
            }
        };
        let mut moved = 0;
        for done in 0..wanted.blocks {
            let from = if moves { moved } else { 0 };
            let upto = (from + length).min(room.len());
            let medium = self.medium()?;
            let before = medium.place.used();
            let found = medium.cartridge.read(&mut medium.place, &mut room[from..upto]);
            let taken = medium.place.used() - before;
            self.count_read(taken);
            let left = match wanted.fixed {
                true => i64::from(wanted.blocks - done),
                false => i64::from(wanted.length),
            };
            let stopped = |sense: Sense, moved: usize| {
                let moved = if moves { moved } else { 0 };
                Err(Failed { sense: with_residue(sense, left), moved })
            };
            match found {
                Ok(Read::Block(size)) if size == wanted.length => {}
                Ok(Read::Block(size)) => {
                    let sense = Sense::new(SenseKey::NoSense, 0).with_stream(ILI);
                    if wanted.fixed {
                        return stopped(sense, moved);
                    }
                    let len = if moves { (upto - from).min(size as usize) } else { 0 };
                    self.counters.sent += len as u64;
                    if sili && (size < wanted.length || any_length) {
                        return Ok(len);
                    }
                    let residue = i64::from(wanted.length) - i64::from(size);
                    return Err(Failed { sense: with_residue(sense, residue), moved: len });
                }
                Ok(Read::Filemark) => return stopped(AT_FILEMARK, moved),
                Ok(Read::End) => return stopped(AT_END, moved),
                Err(error) => return stopped(sense_of(&error, false), moved),
            }
            moved = upto;
            self.counters.sent += if moves { (upto - from) as u64 } else { 0 };
        }
        Ok(if moves { moved } else { 0 })
    }

    pub(super) fn write(&mut self, cdb: &[u8; 16], data: &[u8]) -> Outcome {
        let wanted = self.transfer(cdb)?;
        let (pack, buffered) = (self.modes.compress, self.modes.buffered);
        self.writable()?;
        let length = wanted.length as usize;
        if length == 0 || wanted.blocks == 0 {
            return Ok(0);
        }
        if data.len() < length * wanted.blocks as usize {
            // INVALID FIELD IN COMMAND INFORMATION UNIT: nothing of it is written.
            return Err(illegal(0x0e03).into());
        }
        for (done, block) in (0..wanted.blocks).zip(data.chunks_exact(length)) {
            let medium = self.writable()?;
            let limit = medium.capacity();
            let written = medium.cartridge.write(&mut medium.place, block, pack, limit);
            medium.dirty = true;
            let left = if wanted.fixed { wanted.blocks - done } else { wanted.length };
            match written {
                Ok(stored) => self.count_written(block.len() as u64, u64::from(stored)),
                Err(error) => {
                    // What came before it is as good as buffered data can be.
                    let sense = sense_of(&error, true);
                    return Err(with_residue(sense, i64::from(left)).into());
                }
            }
        }
        if !buffered {
            self.flush()?;
            self.settle();
        }
        match self.medium()?.near_the_end() {
            true => Err(with_residue(NEAR_END, 0).into()),
            false => Ok(0),
        }
    }

    pub(super) fn write_filemarks(&mut self, cdb: &[u8; 16]) -> Outcome {
        let (immediate, count) = (cdb[1] & 0x01 != 0, be24(cdb, 2));
        if count == 0 {
            self.medium()?;
        } else {
            self.writable()?;
        }
        for done in 0..count {
            let medium = self.writable()?;
            let limit = medium.spare_capacity();
            let written = medium.cartridge.write_filemark(&mut medium.place, limit);
            medium.dirty = true;
            if let Err(error) = written {
                return Err(with_residue(sense_of(&error, true), i64::from(count - done)).into());
            }
            self.count_written(0, HEADER as u64);
        }
        if !immediate {
            self.flush().map_err(|sense| with_residue(sense, i64::from(count)))?;
            self.settle();
        }
        match count > 0 && self.medium()?.near_the_end() {
            true => Err(with_residue(NEAR_END, 0).into()),
            false => Ok(0),
        }
    }

    /// ERASE: from the position on nothing is recorded any more.
    pub(super) fn erase(&mut self) -> Outcome {
        self.clear_from_here()
    }

    /// FORMAT MEDIUM: one partition, empty.
    pub(super) fn format(&mut self, cdb: &[u8; 16]) -> Outcome {
        if cdb[2] & 0x0f != 0 {
            return Err(invalid_field(2).into());
        }
        if be16(cdb, 3) != 0 {
            return Err(invalid_field(3).into());
        }
        if self.writable()?.place.object != 0 {
            // POSITION PAST BEGINNING OF MEDIUM.
            return Err(illegal(0x3b0c).into());
        }
        self.clear_from_here()
    }

    fn clear_from_here(&mut self) -> Outcome {
        let medium = self.writable()?;
        let cut = if medium.place.object < medium.cartridge.end().object
            || medium.cartridge.missing().is_some()
        {
            let place = medium.place;
            medium.cartridge.cut(place)
        } else {
            medium.cartridge.flush()
        };
        cut.map_err(|error: MediaError| sense_of(&error, true))?;
        Ok(0)
    }

    fn count_read(&mut self, stored: u64) {
        self.counters.read += stored;
        if let Ok(medium) = self.medium() {
            medium.attributes.read += stored;
        }
        if let Some(transport) = &mut self.transport {
            self.at = transport.read(self.now, stored);
        }
    }

    fn count_written(&mut self, received: u64, stored: u64) {
        self.counters.received += received;
        self.counters.written += stored;
        if let Ok(medium) = self.medium() {
            medium.attributes.written += stored;
        }
        if let Some(transport) = &mut self.transport {
            self.at = self.at.max(transport.write(self.now, stored));
        }
    }
}

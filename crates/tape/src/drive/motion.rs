//! REWIND, SPACE, LOCATE and READ POSITION (SSC-3, 5 and 6). Every motion first writes out what is buffered.

use super::Drive;
use super::load::{Medium, sense_of};
use super::transfer::{AT_END, AT_FILEMARK, with_residue};
use crate::answer::{Failed, Outcome, be16, be24, be64, illegal, invalid_field, reply};
use crate::media::MediaError;
use iscsi::scsi::{Sense, SenseKey};

/// BEGINNING-OF-PARTITION/MEDIUM DETECTED.
const AT_BEGINNING: Sense = Sense::new(SenseKey::NoSense, 0x0004).with_stream(0x40);

fn unreadable(error: MediaError) -> Failed {
    sense_of(&error, false).into()
}

impl Drive {
    /// The medium, with everything buffered written out.
    fn moving(&mut self) -> Result<&mut Medium, Failed> {
        self.medium()?;
        self.flush()?;
        self.settle();
        Ok(self.medium()?)
    }

    pub(super) fn rewind(&mut self) -> Outcome {
        let medium = self.moving()?;
        medium.place = medium.cartridge.first();
        Ok(0)
    }

    /// SPACE (6) and (16).
    pub(super) fn space(&mut self, cdb: &[u8; 16]) -> Outcome {
        let count = if cdb[0] == 0x91 {
            if be16(cdb, 12) != 0 {
                return Err(invalid_field(12).into());
            }
            be64(cdb, 4) as i64
        } else {
            i64::from((be24(cdb, 2) << 8) as i32 >> 8)
        };
        let code = cdb[1] & 0x0f;
        if code > 3 {
            return Err(illegal(0x2400).at_cdb(1, Some(3)).into());
        }
        let medium = self.moving()?;
        match (code, count) {
            (3, _) => {
                medium.place = medium.cartridge.end();
                medium.cartridge.missing().map_or(Ok(0), |lost| Err(unreadable(lost)))
            }
            (_, 0) => Ok(0),
            (0, 1..) => blocks_forward(medium, count as u64),
            (0, _) => blocks_backward(medium, count.unsigned_abs()),
            (1, 1..) => filemarks_forward(medium, count as u64),
            (1, _) => filemarks_backward(medium, count.unsigned_abs()),
            (_, 1..) => run_forward(medium, count as u64),
            (_, _) => run_backward(medium, count.unsigned_abs()),
        }
    }

    /// LOCATE to a logical object identifier.
    pub(super) fn locate(&mut self, object: u64, change: bool, partition: u8) -> Outcome {
        if change && partition != 0 {
            return Err(invalid_field(8).into());
        }
        let medium = self.moving()?;
        let end = medium.cartridge.end();
        medium.place = medium.cartridge.locate(object).map_err(unreadable)?;
        if object > end.object {
            return at_end(medium, None);
        }
        Ok(0)
    }

    pub(super) fn locate_16(&mut self, cdb: &[u8; 16]) -> Outcome {
        let identifier = be64(cdb, 4);
        if cdb[1] & 0x02 != 0 && cdb[3] != 0 {
            return Err(invalid_field(3).into());
        }
        match cdb[1] >> 3 & 0x03 {
            0 => self.locate(identifier, false, 0),
            1 => {
                let medium = self.moving()?;
                let Some(before) = identifier.checked_sub(1) else {
                    medium.place = medium.cartridge.first();
                    return Ok(0);
                };
                match medium.cartridge.filemark(before).map_err(unreadable)? {
                    Some(place) => {
                        medium.place =
                            medium.cartridge.locate(place.object + 1).map_err(unreadable)?;
                        Ok(0)
                    }
                    None => at_end(medium, None),
                }
            }
            3 => {
                let medium = self.moving()?;
                medium.place = medium.cartridge.end();
                Ok(0)
            }
            _ => Err(illegal(0x2400).at_cdb(1, Some(4)).into()),
        }
    }

    pub(super) fn position(&mut self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        let medium = self.medium()?;
        let place = medium.place;
        let begin = if place.object == 0 { 0x80 } else { 0 };
        let flags = begin | if medium.near_the_end() { 0x40 } else { 0 };
        let mut bytes;
        match cdb[1] & 0x1f {
            0x06 => {
                bytes = vec![0; 32];
                bytes[0] = flags;
                bytes[8..16].copy_from_slice(&place.object.to_be_bytes());
                bytes[16..24].copy_from_slice(&place.filemarks.to_be_bytes());
            }
            0x08 => {
                bytes = vec![0; 32];
                (bytes[0], bytes[3]) = (flags, 0x1c);
                bytes[8..16].copy_from_slice(&place.object.to_be_bytes());
                bytes[16..24].copy_from_slice(&place.object.to_be_bytes());
                return reply(&bytes, usize::from(be16(cdb, 7)), room);
            }
            _ => {
                bytes = vec![0; 20];
                match u32::try_from(place.object) {
                    Ok(object) => {
                        bytes[0] = flags;
                        bytes[4..8].copy_from_slice(&object.to_be_bytes());
                        bytes[8..12].copy_from_slice(&object.to_be_bytes());
                    }
                    // The position does not fit: position error.
                    Err(_) => bytes[0] = flags | 0x02,
                }
            }
        }
        let len = bytes.len();
        reply(&bytes, len, room)
    }
}

/// The end of data ends a motion; where data is missing, that does.
fn at_end(medium: &mut Medium, residue: Option<u64>) -> Outcome {
    medium.place = medium.cartridge.end();
    let sense = medium.cartridge.missing().map_or(AT_END, |lost| sense_of(&lost, false));
    Err(residue.map_or(sense, |residue| with_residue(sense, residue as i64)).into())
}

fn at_beginning(medium: &mut Medium, residue: u64) -> Outcome {
    medium.place = medium.cartridge.first();
    Err(with_residue(AT_BEGINNING, residue as i64).into())
}

fn blocks_forward(medium: &mut Medium, count: u64) -> Outcome {
    let from = medium.place;
    let end = medium.cartridge.end();
    let target = from.object.saturating_add(count);
    let mark = medium.cartridge.filemark(from.filemarks).map_err(unreadable)?;
    if let Some(mark) = mark.filter(|mark| mark.object < target) {
        medium.place = medium.cartridge.locate(mark.object + 1).map_err(unreadable)?;
        let residue = count - (mark.object - from.object);
        return Err(with_residue(AT_FILEMARK, residue as i64).into());
    }
    if target > end.object {
        return at_end(medium, Some(count - (end.object - from.object)));
    }
    medium.place = medium.cartridge.locate(target).map_err(unreadable)?;
    Ok(0)
}

fn blocks_backward(medium: &mut Medium, count: u64) -> Outcome {
    let from = medium.place;
    let mark = match from.filemarks.checked_sub(1) {
        Some(number) => medium.cartridge.filemark(number).map_err(unreadable)?,
        None => None,
    };
    let target = from.object.checked_sub(count);
    if let Some(mark) = mark.filter(|mark| target.is_none_or(|target| mark.object >= target)) {
        medium.place = mark;
        let residue = count - (from.object - mark.object - 1);
        return Err(with_residue(AT_FILEMARK, residue as i64).into());
    }
    match target {
        Some(target) => {
            medium.place = medium.cartridge.locate(target).map_err(unreadable)?;
            Ok(0)
        }
        None => at_beginning(medium, count - from.object),
    }
}

fn filemarks_forward(medium: &mut Medium, count: u64) -> Outcome {
    let from = medium.place;
    let last = from.filemarks.checked_add(count - 1);
    let mark = match last {
        Some(last) => medium.cartridge.filemark(last).map_err(unreadable)?,
        None => None,
    };
    match mark {
        Some(mark) => {
            medium.place = medium.cartridge.locate(mark.object + 1).map_err(unreadable)?;
            Ok(0)
        }
        None => {
            let passed = medium.cartridge.end().filemarks - from.filemarks;
            at_end(medium, Some(count - passed))
        }
    }
}

fn filemarks_backward(medium: &mut Medium, count: u64) -> Outcome {
    let from = medium.place;
    let mark = match from.filemarks.checked_sub(count) {
        Some(number) => medium.cartridge.filemark(number).map_err(unreadable)?,
        None => None,
    };
    match mark {
        Some(mark) => {
            medium.place = mark;
            Ok(0)
        }
        None => at_beginning(medium, count - from.filemarks),
    }
}

/// Behind the first run of so many filemarks one after the other.
fn run_forward(medium: &mut Medium, count: u64) -> Outcome {
    let mut number = medium.place.filemarks;
    let (mut run, mut next) = (0, None);
    while let Some(mark) = medium.cartridge.filemark(number).map_err(unreadable)? {
        run = if next == Some(mark.object) { run + 1 } else { 1 };
        next = Some(mark.object + 1);
        number += 1;
        if run == count {
            medium.place = medium.cartridge.locate(mark.object + 1).map_err(unreadable)?;
            return Ok(0);
        }
    }
    at_end(medium, Some(count))
}

/// Before the last run of so many filemarks one after the other.
fn run_backward(medium: &mut Medium, count: u64) -> Outcome {
    let mut number = medium.place.filemarks;
    let (mut run, mut next) = (0, None);
    while let Some(before) = number.checked_sub(1) {
        let Some(mark) = medium.cartridge.filemark(before).map_err(unreadable)? else { break };
        run = if next == Some(mark.object + 1) { run + 1 } else { 1 };
        next = Some(mark.object);
        number = before;
        if run == count {
            medium.place = mark;
            return Ok(0);
        }
    }
    at_beginning(medium, count)
}

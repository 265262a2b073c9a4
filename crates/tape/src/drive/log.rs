//! LOG SENSE and TapeAlert of a drive (SSC-3, 8.2), and REPORT DENSITY SUPPORT.

use super::{Drive, NO_MEDIUM};
use crate::answer::{Notice, NoticeTo, Outcome, be16, illegal, reply};
use crate::identify::padded;
use crate::{GENERATIONS, Generation};
use iscsi::scsi::{Sense, SenseKey, UnitAttention};

/// The TapeAlert flags that are ever set: hard error, media, read failure, write failure, write protect; flag 1 is the
/// highest bit, as VPD page B2h has it.
pub(super) const SUPPORTED_ALERTS: u64 =
    1 << (64 - 3) | 1 << (64 - 4) | 1 << (64 - 5) | 1 << (64 - 6) | 1 << (64 - 9);

const PAGES: [u8; 8] = [0x00, 0x02, 0x03, 0x0c, 0x14, 0x1b, 0x2e, 0x31];

/// What a drive has moved.
#[derive(Clone, Debug, Default)]
pub(super) struct Counters {
    /// Bytes from initiators.
    pub received: u64,
    /// Bytes of records on media.
    pub written: u64,
    /// The same, read.
    pub read: u64,
    /// Bytes to initiators.
    pub sent: u64,
    pub loads: u64,
    pub write_errors: u64,
    pub read_errors: u64,
}

/// A parameter: code, bytes of its value, value.
type Parameter = (u16, usize, u64);

impl Drive {
    /// Sets a TapeAlert flag.
    pub(super) fn alert(&mut self, flag: u32) {
        self.alerts |= 1 << (flag - 1);
    }

    /// Counts a failure, and sets the flags that belong to it.
    pub(super) fn note_failure(&mut self, sense: &Sense) {
        match (sense.key, sense.code) {
            (SenseKey::MediumError, 0x0c00) => {
                self.counters.write_errors += 1;
                self.alert(3);
                self.alert(6);
            }
            (SenseKey::MediumError, _) => {
                self.counters.read_errors += 1;
                self.alert(4);
                self.alert(5);
            }
            (SenseKey::DataProtect, _) => self.alert(9),
            _ => {}
        }
    }

    /// A unit attention for the other nexuses.
    pub(super) fn tell_others(&mut self, attention: UnitAttention) {
        self.notices.push(Notice { attention, to: NoticeTo::Others });
    }

    pub(super) fn log_sense(&mut self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        let (control, code) = (cdb[2] >> 6, cdb[2] & 0x3f);
        if cdb[1] & 0x01 != 0 {
            return Err(illegal(0x2400).at_cdb(1, Some(0)).into());
        }
        if control > 1 {
            return Err(illegal(0x2400).at_cdb(2, Some(7)).into());
        }
        if !PAGES.contains(&code) {
            return Err(illegal(0x2400).at_cdb(2, Some(5)).into());
        }
        let mut bytes = vec![code, 0, 0, 0];
        if code == 0 {
            bytes.extend(PAGES);
        } else {
            let first = be16(cdb, 5);
            let parameters = self.parameters(code);
            if parameters.last().is_none_or(|last| last.0 < first) {
                return Err(illegal(0x2400).at_cdb(5, None).into());
            }
            for (code, len, value) in parameters.into_iter().filter(|one| one.0 >= first) {
                bytes.extend(code.to_be_bytes());
                bytes.extend([0x03, len as u8]); // binary list parameter
                bytes.extend(&value.to_be_bytes()[8 - len..]);
            }
        }
        let length = (bytes.len() - 4) as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        if code == 0x2e {
            self.alerts = 0;
        }
        reply(&bytes, usize::from(be16(cdb, 7)), room)
    }

    fn parameters(&mut self, code: u8) -> Vec<Parameter> {
        let backhitches = self.backhitches();
        let (used, early, capacity) = self.medium().map_or((None, 0, 0), |medium| {
            (
                Some((medium.place.used(), medium.cartridge.end().used())),
                medium.early_warning(),
                medium.capacity(),
            )
        });
        let counters = &self.counters;
        let megabytes = |bytes: u64| bytes / 1_000_000;
        let hundredfold = |content: u64, stored: u64| match stored {
            0 => 100,
            _ => (content as u128 * 100 / u128::from(stored)).min(65_535) as u64,
        };
        match code {
            0x02 => vec![(0x0003, 4, counters.write_errors), (0x0005, 8, counters.received)],
            0x03 => vec![(0x0003, 4, counters.read_errors), (0x0005, 8, counters.sent)],
            0x0c => {
                let (here, end) = used.unwrap_or_default();
                vec![
                    (0x0000, 8, counters.received),
                    (0x0001, 8, counters.written),
                    (0x0002, 8, counters.read),
                    (0x0003, 8, counters.sent),
                    (0x0004, 8, megabytes(end)),
                    (0x0005, 8, megabytes(early)),
                    (0x0006, 8, megabytes(capacity - early)),
                    (0x0007, 8, megabytes(here)),
                    (0x0008, 8, megabytes(self.settings.generation.buffer)),
                ]
            }
            0x14 => vec![(0x0000, 8, counters.loads), (0x8000, 8, backhitches)],
            0x1b => vec![
                (0x0000, 2, hundredfold(counters.sent, counters.read)),
                (0x0001, 2, hundredfold(counters.received, counters.written)),
            ],
            0x2e => (1..=64).map(|flag| (flag, 1, self.alerts >> (flag - 1) & 1)).collect(),
            _ => {
                let left = used.map_or(0, |(_, end)| capacity.saturating_sub(end));
                let mib = |bytes: u64| bytes >> 20;
                vec![(0x0001, 4, mib(left)), (0x0003, 4, mib(capacity))]
            }
        }
    }

    /// REPORT DENSITY SUPPORT: of the drive, or of the medium in it.
    pub(super) fn densities(&mut self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        let own = self.settings.generation;
        let shown: Vec<&Generation> = if cdb[1] & 0x01 != 0 {
            let number = self.medium().map_err(|_| NO_MEDIUM)?.generation;
            GENERATIONS.iter().filter(|one| one.number == number).collect()
        } else {
            GENERATIONS.iter().filter(|one| own.reads(one.number)).collect()
        };
        let mut bytes = vec![0; 4];
        for one in shown {
            let default = if one.number == own.number { 0x20 } else { 0 };
            let writes = if own.writes(one.number) { 0x80 } else { 0 };
            let (bits, tracks, width, _) = one.recording;
            bytes.extend([one.density, one.density, default | writes, 0, 0]);
            bytes.extend(&bits.to_be_bytes()[1..]);
            bytes.extend(width.to_be_bytes());
            bytes.extend(tracks.to_be_bytes());
            bytes.extend(((one.capacity / 1_000_000) as u32).to_be_bytes());
            bytes.extend(padded::<8>("LTO-CVE"));
            bytes.extend(padded::<8>(&format!("U-{}", one.number)));
            bytes.extend(padded::<20>(&format!("Ultrium {}", one.number)));
        }
        let length = (bytes.len() - 2) as u16;
        bytes[..2].copy_from_slice(&length.to_be_bytes());
        reply(&bytes, usize::from(be16(cdb, 7)), room)
    }

    /// READ MEDIA SERIAL NUMBER: what names the cartridge for ever.
    pub(super) fn media_serial(&mut self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        let medium = self.medium()?;
        let uuid = medium.cartridge.identity().uuid;
        let text: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut bytes = (text.len() as u32).to_be_bytes().to_vec();
        bytes.extend(text.bytes());
        reply(&bytes, crate::answer::be32(cdb, 6) as usize, room)
    }
}

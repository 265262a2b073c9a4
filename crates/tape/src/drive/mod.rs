//! A tape drive: the device server of a sequential-access device (SSC-3). It holds at most one cartridge; commands come in by
//! [`Drive::execute`] one after the other.

mod attributes;
mod load;
mod log;
mod mode;
mod motion;
mod transfer;

use crate::answer::{Answer, Notice, Outcome, be16, be32, invalid_field, reply};
use crate::command::{
    COMMONS, F, action, joined, row, self_test, sends, supported, task_management,
};
use crate::identify::Naming;
use crate::{Generation, Pace, Transport};
use clock::Ns;
use iscsi::scsi::{CommandSpec, Nexus, PassAccess, PassedCommand, Sense, SenseKey};
use load::Tray;
use log::Counters;
use mode::Modes;
use std::collections::BTreeSet;

/// MEDIUM NOT PRESENT.
pub(crate) const NO_MEDIUM: Sense = Sense::new(SenseKey::NotReady, 0x3a00);
/// MEDIUM REMOVAL PREVENTED.
pub(crate) const PREVENTED: Sense = Sense::new(SenseKey::IllegalRequest, 0x5302);

const OWN: [CommandSpec; 23] = [
    row("REWIND", 0x01, &[0x01, 0, 0, 0, 0], PassAccess::Read),
    sends(row("FORMAT MEDIUM", 0x04, &[0x03, 0x0f, F, F, 0], PassAccess::Change)),
    row("READ BLOCK LIMITS", 0x05, &[0, 0, 0, 0, 0], PassAccess::Free),
    row("READ(6)", 0x08, &[0x03, F, F, F, 0], PassAccess::Read),
    sends(row("WRITE(6)", 0x0a, &[0x01, F, F, F, 0], PassAccess::Change)),
    row("WRITE FILEMARKS(6)", 0x10, &[0x01, F, F, F, 0], PassAccess::Change),
    row("SPACE(6)", 0x11, &[0x0f, F, F, F, 0], PassAccess::Read),
    row("VERIFY(6)", 0x13, &[0x05, F, F, F, 0], PassAccess::Read),
    row("ERASE(6)", 0x19, &[0x03, 0, 0, 0, 0], PassAccess::Change),
    row("LOAD UNLOAD", 0x1b, &[0x01, 0, 0, 0x07, 0], PassAccess::Change),
    row("LOCATE(10)", 0x2b, &[0x07, 0, F, F, F, F, 0, F, 0], PassAccess::Read),
    action("READ POSITION, short form", 0x34, 0x00, &[0, 0, 0, 0, 0, 0, 0, 0, 0], PassAccess::Free),
    action(
        "READ POSITION, short form with vendor-specific address",
        0x34,
        0x01,
        &[0, 0, 0, 0, 0, 0, 0, 0, 0],
        PassAccess::Free,
    ),
    action("READ POSITION, long form", 0x34, 0x06, &[0, 0, 0, 0, 0, 0, 0, 0, 0], PassAccess::Free),
    action(
        "READ POSITION, extended form",
        0x34,
        0x08,
        &[0, 0, 0, 0, 0, 0, F, F, 0],
        PassAccess::Free,
    ),
    row("REPORT DENSITY SUPPORT", 0x44, &[0x01, 0, 0, 0, 0, 0, F, F, 0], PassAccess::Free),
    action(
        "READ ATTRIBUTE, attribute values",
        0x8c,
        0x00,
        &[0, 0, 0, 0, F, 0, F, F, F, F, F, F, F, 0x01, 0],
        PassAccess::Free,
    ),
    action(
        "READ ATTRIBUTE, attribute list",
        0x8c,
        0x01,
        &[0, 0, 0, 0, F, 0, F, F, F, F, F, F, F, 0x01, 0],
        PassAccess::Free,
    ),
    action(
        "READ ATTRIBUTE, partition list",
        0x8c,
        0x03,
        &[0, 0, 0, 0, F, 0, F, F, F, F, F, F, F, 0x01, 0],
        PassAccess::Free,
    ),
    sends(row(
        "WRITE ATTRIBUTE",
        0x8d,
        &[0x01, 0, 0, 0, F, 0, F, 0, 0, F, F, F, F, 0, 0],
        PassAccess::Change,
    )),
    row("SPACE(16)", 0x91, &[0x0f, 0, 0, F, F, F, F, F, F, F, F, F, F, 0, 0], PassAccess::Read),
    row("LOCATE(16)", 0x92, &[0x1b, 0, F, F, F, F, F, F, F, F, F, 0, 0, 0, 0], PassAccess::Read),
    action(
        "READ MEDIA SERIAL NUMBER",
        0xab,
        0x01,
        &[0, 0, 0, 0, 0, F, F, F, F, 0, 0],
        PassAccess::Free,
    ),
];

/// The commands of a drive.
pub const DRIVE_COMMANDS: &[CommandSpec] = &joined::<{ OWN.len() }, { COMMONS + OWN.len() }>(&OWN);

/// What a drive is.
#[derive(Clone, Debug)]
pub struct DriveSettings {
    /// Its generation.
    pub generation: &'static Generation,
    /// Its serial number.
    pub serial: String,
    /// The iSCSI name of its target.
    pub target: String,
    /// Its NAA designator.
    pub designator: [u8; 16],
    /// How its tape moves; `None`: as fast as the storage.
    pub pace: Option<Pace>,
    /// It compresses unless it is told otherwise.
    pub compress: bool,
}

/// A tape drive.
pub struct Drive {
    settings: DriveSettings,
    naming: Naming,
    tray: Option<Tray>,
    /// The nexuses that prevent the removal of the medium.
    prevents: BTreeSet<Nexus>,
    modes: Modes,
    counters: Counters,
    /// TapeAlert flags, the first in bit 0.
    alerts: u64,
    transport: Option<Transport>,
    /// When the command under way ends.
    at: Ns,
    now: Ns,
    notices: Vec<Notice>,
}

impl Drive {
    /// An empty one.
    pub fn new(settings: DriveSettings) -> Drive {
        let naming = Naming {
            kind: 0x01,
            product: format!("{} virtual", settings.generation.name),
            serial: settings.serial.clone(),
            versions: [0x0460, 0x0400, 0x0960],
            designator: settings.designator,
            target: settings.target.clone(),
        };
        Drive {
            modes: Modes::new(settings.compress),
            transport: settings.pace.map(|pace| Transport::paced(settings.generation, pace)),
            naming,
            settings,
            tray: None,
            prevents: BTreeSet::new(),
            counters: Counters::default(),
            alerts: 0,
            at: Ns::ZERO,
            now: Ns::ZERO,
            notices: Vec::new(),
        }
    }

    /// Its serial number.
    pub fn serial(&self) -> &str {
        &self.settings.serial
    }

    /// How the changer names it.
    pub(crate) fn vendor_designator(&self) -> Vec<u8> {
        self.naming.vendor_designator()
    }

    /// How often its tape stopped because data was missing.
    pub fn backhitches(&self) -> u64 {
        self.transport.as_ref().map_or(0, Transport::backhitches)
    }

    /// Executes a command. `data`: what came from the initiator; `room`: where its answer goes.
    pub fn execute(
        &mut self,
        now: Ns,
        command: &PassedCommand,
        data: &[u8],
        room: &mut [u8],
    ) -> Answer {
        (self.now, self.at) = (now, Ns::ZERO);
        let outcome = self.run(command, data, room);
        if let Err(failed) = &outcome {
            self.note_failure(&failed.sense);
        }
        Answer::of(outcome, self.at, std::mem::take(&mut self.notices))
    }

    /// A nexus is lost: what it prevented is allowed.
    pub fn leave(&mut self, nexus: &Nexus) {
        self.prevents.remove(nexus);
    }

    /// LOGICAL UNIT RESET, or one of the target: the settings of its pages are the defaults again.
    pub fn reset(&mut self) {
        self.prevents.clear();
        self.modes = Modes::new(self.settings.compress);
    }

    fn run(&mut self, command: &PassedCommand, data: &[u8], room: &mut [u8]) -> Outcome {
        let cdb = &command.cdb;
        match cdb[0] {
            0x00 => self.medium().map(|_| 0).map_err(Into::into),
            0x01 => self.rewind(),
            0x03 => self.request_sense(cdb, room),
            0x04 => self.format(cdb),
            0x05 => reply(&[0, 0x80, 0, 0, 0, 1], 6, room),
            0x08 => self.read(cdb, room),
            0x0a => self.write(cdb, data),
            0x10 => self.write_filemarks(cdb),
            0x11 | 0x91 => self.space(cdb),
            0x12 => self.naming.inquiry(cdb, command.nexus.port, &self.own_pages(), room),
            0x13 => self.verify(cdb),
            0x15 => self.mode_select(cdb, data, usize::from(cdb[4]), 4),
            0x19 => self.erase(),
            0x1a => self.mode_sense(cdb, usize::from(cdb[4]), 4, room),
            0x1b => self.load_unload(cdb),
            0x1d => self_test(cdb),
            0x1e => self.prevent(cdb, &command.nexus),
            0x2b => self.locate(u64::from(be32(cdb, 3)), cdb[1] & 0x02 != 0, cdb[8]),
            0x34 => self.position(cdb, room),
            0x44 => self.densities(cdb, room),
            0x4d => self.log_sense(cdb, room),
            0x55 => self.mode_select(cdb, data, usize::from(be16(cdb, 7)), 8),
            0x5a => self.mode_sense(cdb, usize::from(be16(cdb, 7)), 8, room),
            0x8c => self.read_attribute(cdb, room),
            0x8d => self.write_attribute(cdb, data),
            0x92 => self.locate_16(cdb),
            0xa3 if cdb[1] & 0x1f == 0x0c => supported(DRIVE_COMMANDS, cdb, room),
            0xa3 => task_management(cdb, room),
            0xab => self.media_serial(cdb, room),
            _ => Err(Sense::new(SenseKey::IllegalRequest, 0x2000).at_cdb(0, None).into()),
        }
    }

    fn request_sense(&self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        // The state of the drive, where no unit attention was pending.
        let sense = match &self.tray {
            Some(tray) => tray.state_sense().unwrap_or(Sense::new(SenseKey::NoSense, 0)),
            None => NO_MEDIUM,
        };
        reply(&sense.encode(cdb[1] & 1 != 0), usize::from(cdb[4]), room)
    }

    /// The vital product data pages of a sequential-access device (SSC-3, 8.4).
    fn own_pages(&self) -> Vec<(u8, Vec<u8>)> {
        let serial = self.settings.serial.clone().into_bytes();
        vec![
            (0xb0, vec![0, 0]), // no WORM
            (0xb1, serial),
            (0xb2, log::SUPPORTED_ALERTS.to_be_bytes().to_vec()),
        ]
    }

    fn prevent(&mut self, cdb: &[u8; 16], nexus: &Nexus) -> Outcome {
        match cdb[4] & 0x03 {
            0 => {
                self.prevents.remove(nexus);
            }
            1 => {
                self.prevents.insert(nexus.clone());
            }
            _ => return Err(invalid_field(4).into()),
        }
        Ok(0)
    }

    /// Waits, as a paced tape would, for the buffer to be written out.
    fn settle(&mut self) {
        if let Some(transport) = &mut self.transport {
            self.at = self.at.max(transport.flush(self.now));
        }
    }
}

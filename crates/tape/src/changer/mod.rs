//! The robot of a library: the device server of a medium changer (SMC-3). It knows what is in which element, moves cartridges,
//! and keeps its inventory over a restart.

mod inventory;
mod modes;
mod moves;
mod status;

use crate::answer::{Answer, Notice, NoticeTo, Outcome, be16, illegal, invalid_field, reply};
use crate::command::{COMMONS, F, joined, row, self_test, supported, task_management};
use crate::drive::Drive;
use crate::identify::Naming;
use clock::Ns;
pub(crate) use inventory::{Element, ElementKind, Inventory};
use iscsi::scsi::{CommandSpec, Nexus, PassAccess, PassedCommand, Sense, SenseKey, UnitAttention};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The address of the robot.
pub const ROBOT: u16 = 0x0001;
/// The address of the first import and export element.
pub const MAILSLOTS_FROM: u16 = 0x0010;
/// The address of the first drive.
pub const DRIVES_FROM: u16 = 0x0100;
/// The address of the first slot.
pub const SLOTS_FROM: u16 = 0x0400;

/// INVALID ELEMENT ADDRESS.
pub(crate) const NO_ELEMENT: Sense = illegal(0x2101);

const OWN: [CommandSpec; 6] = [
    row("INITIALIZE ELEMENT STATUS", 0x07, &[0, 0, 0, 0, 0], PassAccess::Change),
    row("POSITION TO ELEMENT", 0x2b, &[0, F, F, F, F, 0, 0, 0, 0], PassAccess::Change),
    row(
        "INITIALIZE ELEMENT STATUS WITH RANGE",
        0x37,
        &[0x03, F, F, 0, 0, F, F, 0, 0],
        PassAccess::Change,
    ),
    row("MOVE MEDIUM", 0xa5, &[0, F, F, F, F, F, F, 0, 0, 0, 0], PassAccess::Change),
    row("EXCHANGE MEDIUM", 0xa6, &[0, F, F, F, F, F, F, F, F, 0, 0], PassAccess::Change),
    row("READ ELEMENT STATUS", 0xb8, &[0x1f, F, F, F, F, 0x03, F, F, F, 0, 0], PassAccess::Free),
];

/// The commands of the changer.
pub const CHANGER_COMMANDS: &[CommandSpec] =
    &joined::<{ OWN.len() }, { COMMONS + OWN.len() }>(&OWN);

/// The robot with what it knows.
pub struct Changer {
    naming: Naming,
    inventory: Inventory,
    drives: Vec<Arc<Mutex<Drive>>>,
    /// How drives are named to initiators.
    names: Vec<Vec<u8>>,
    prevents: BTreeSet<Nexus>,
    /// TapeAlert flags, the first in bit 0.
    alerts: u64,
    notices: Vec<Notice>,
}

impl Changer {
    /// The robot of these drives; cartridges that the inventory has in drives are loaded there.
    pub(crate) fn new(
        naming: Naming,
        inventory: Inventory,
        drives: Vec<Arc<Mutex<Drive>>>,
    ) -> Changer {
        for (number, drive) in drives.iter().enumerate() {
            let element = inventory.at(DRIVES_FROM + number as u16);
            if let Some(barcode) = element.and_then(|element| element.barcode.as_ref()) {
                lock(drive).insert(inventory.case(barcode));
            }
        }
        Changer {
            names: drives.iter().map(|drive| lock(drive).vendor_designator()).collect(),
            naming,
            inventory,
            drives,
            prevents: BTreeSet::new(),
            alerts: 0,
            notices: Vec::new(),
        }
    }

    /// What is where: addresses with barcodes.
    pub fn inventory(&self) -> Vec<(u16, Option<String>)> {
        self.inventory.elements.iter().map(|one| (one.address, one.barcode.clone())).collect()
    }

    /// Executes a command.
    pub fn execute(&mut self, command: &PassedCommand, data: &[u8], room: &mut [u8]) -> Answer {
        let outcome = self.run(command, data, room);
        Answer::of(outcome, Ns::ZERO, std::mem::take(&mut self.notices))
    }

    /// A nexus is lost: what it prevented is allowed.
    pub fn leave(&mut self, nexus: &Nexus) {
        self.prevents.remove(nexus);
    }

    /// LOGICAL UNIT RESET, or one of the target.
    pub fn reset(&mut self) {
        self.prevents.clear();
    }

    fn run(&mut self, command: &PassedCommand, data: &[u8], room: &mut [u8]) -> Outcome {
        let cdb = &command.cdb;
        match cdb[0] {
            0x00 => Ok(0),
            0x03 => {
                let sense = Sense::new(SenseKey::NoSense, 0).encode(cdb[1] & 1 != 0);
                reply(&sense, usize::from(cdb[4]), room)
            }
            0x07 => self.take_stock(),
            0x12 => self.naming.inquiry(cdb, command.nexus.port, &[], room),
            0x15 => self.mode_select(cdb, data, usize::from(cdb[4]), 4),
            0x1a => self.mode_sense(cdb, usize::from(cdb[4]), 4, room),
            0x1d => self_test(cdb),
            0x1e => self.prevent(cdb, &command.nexus),
            0x2b => self.position(cdb),
            0x37 => self.take_stock_of(cdb),
            0x4d => self.log_sense(cdb, room),
            0x55 => self.mode_select(cdb, data, usize::from(be16(cdb, 7)), 8),
            0x5a => self.mode_sense(cdb, usize::from(be16(cdb, 7)), 8, room),
            0xa3 if cdb[1] & 0x1f == 0x0c => supported(CHANGER_COMMANDS, cdb, room),
            0xa3 => task_management(cdb, room),
            0xa5 => self.move_medium(cdb),
            0xa6 => self.exchange_medium(cdb),
            0xb8 => self.element_status(cdb, room),
            _ => Err(illegal(0x2000).at_cdb(0, None).into()),
        }
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

    /// INITIALIZE ELEMENT STATUS: looks which cartridges there are. What came in stands in the import and export elements,
    /// as if an operator had put it there; while their access is prevented, nothing comes in.
    fn take_stock(&mut self) -> Outcome {
        let changed = self.inventory.rescan(self.prevents.is_empty()).map_err(|_| self.unkept())?;
        if changed {
            self.notices.push(Notice {
                attention: UnitAttention::ImportExportAccessed,
                to: NoticeTo::Others,
            });
        }
        Ok(0)
    }

    fn take_stock_of(&mut self, cdb: &[u8; 16]) -> Outcome {
        let (start, count) = (be16(cdb, 2), be16(cdb, 6));
        if cdb[1] & 0x01 != 0 && (count == 0 || self.inventory.at(start).is_none()) {
            return Err(NO_ELEMENT.into());
        }
        self.take_stock()
    }

    /// INTERNAL TARGET FAILURE: the inventory could not be stored.
    fn unkept(&mut self) -> Sense {
        self.alerts |= 1; // library hardware A
        Sense::new(SenseKey::HardwareError, 0x4400)
    }

    fn log_sense(&mut self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        if cdb[1] & 0x01 != 0 {
            return Err(illegal(0x2400).at_cdb(1, Some(0)).into());
        }
        if cdb[2] >> 6 > 1 {
            return Err(illegal(0x2400).at_cdb(2, Some(7)).into());
        }
        let mut bytes = match cdb[2] & 0x3f {
            0x00 => vec![0x00, 0, 0, 0, 0x00, 0x2e],
            0x2e => {
                let mut bytes = vec![0x2e, 0, 0, 0];
                for flag in be16(cdb, 5).max(1)..=64 {
                    bytes.extend(flag.to_be_bytes());
                    bytes.extend([0x03, 1, (self.alerts >> (flag - 1) & 1) as u8]);
                }
                if bytes.len() == 4 {
                    return Err(invalid_field(5).into());
                }
                self.alerts = 0;
                bytes
            }
            _ => return Err(illegal(0x2400).at_cdb(2, Some(5)).into()),
        };
        let length = (bytes.len() - 4) as u16;
        bytes[2..4].copy_from_slice(&length.to_be_bytes());
        reply(&bytes, usize::from(be16(cdb, 7)), room)
    }
}

/// A drive, whatever became of who had it before.
pub(crate) fn lock(drive: &Mutex<Drive>) -> MutexGuard<'_, Drive> {
    drive.lock().unwrap_or_else(PoisonError::into_inner)
}

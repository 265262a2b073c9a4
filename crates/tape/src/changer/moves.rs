//! MOVE MEDIUM, EXCHANGE MEDIUM and POSITION TO ELEMENT (SMC-3, 6).

use super::{Changer, DRIVES_FROM, ElementKind, NO_ELEMENT, ROBOT, lock};
use crate::answer::{Notice, NoticeTo, Outcome, be16, illegal};
use iscsi::scsi::{Sense, UnitAttention};

/// MEDIUM DESTINATION ELEMENT FULL.
const FULL: Sense = illegal(0x3b0d);
/// MEDIUM SOURCE ELEMENT EMPTY.
const EMPTY: Sense = illegal(0x3b0e);

impl Changer {
    pub(super) fn move_medium(&mut self, cdb: &[u8; 16]) -> Outcome {
        robot(be16(cdb, 2))?;
        let (source, destination) = (self.place(be16(cdb, 4))?, self.place(be16(cdb, 6))?);
        self.taken(source).ok_or(EMPTY)?;
        if self.taken(destination).is_some() {
            return Err(FULL.into());
        }
        self.take_out(source)?;
        self.carry(&[(source, destination)])
    }

    /// What is in the first destination goes to the second, what is in the source to the first.
    pub(super) fn exchange_medium(&mut self, cdb: &[u8; 16]) -> Outcome {
        robot(be16(cdb, 2))?;
        let source = self.place(be16(cdb, 4))?;
        let (first, second) = (self.place(be16(cdb, 6))?, self.place(be16(cdb, 8))?);
        if self.taken(source).is_none() || self.taken(first).is_none() || source == first {
            return Err(EMPTY.into());
        }
        if second == first || (second != source && self.taken(second).is_some()) {
            return Err(FULL.into());
        }
        self.take_out(first)?;
        if let Err(failed) = self.take_out(source) {
            // The one that is out goes back.
            self.put_in(first);
            return Err(failed.into());
        }
        self.carry(&[(first, second), (source, first)])
    }

    pub(super) fn position(&mut self, cdb: &[u8; 16]) -> Outcome {
        robot(be16(cdb, 2))?;
        self.inventory.at(be16(cdb, 4)).ok_or(NO_ELEMENT)?;
        Ok(0)
    }

    /// An element that holds cartridges, by its index.
    fn place(&self, address: u16) -> Result<usize, Sense> {
        let index = self.inventory.index(address).ok_or(NO_ELEMENT)?;
        let holds = self.inventory.elements[index].kind != ElementKind::Robot;
        holds.then_some(index).ok_or(NO_ELEMENT)
    }

    fn taken(&self, index: usize) -> Option<&String> {
        self.inventory.elements[index].barcode.as_ref()
    }

    fn drive_of(&self, index: usize) -> Option<usize> {
        let element = &self.inventory.elements[index];
        (element.kind == ElementKind::Drive).then(|| usize::from(element.address - DRIVES_FROM))
    }

    /// Takes a cartridge out of a drive, if it is in one.
    fn take_out(&mut self, index: usize) -> Result<(), Sense> {
        let Some(number) = self.drive_of(index) else { return Ok(()) };
        let mut drive = lock(&self.drives[number]);
        if drive.is_full() {
            drive.remove()?;
        }
        drop(drive);
        self.changed(number);
        Ok(())
    }

    fn put_in(&mut self, index: usize) {
        let (Some(number), Some(barcode)) = (self.drive_of(index), self.taken(index)) else {
            return;
        };
        let case = self.inventory.case(barcode);
        lock(&self.drives[number]).insert(case);
        self.changed(number);
    }

    /// The medium in a drive has changed.
    fn changed(&mut self, number: usize) {
        let attention = UnitAttention::MediumChanged;
        let notice = Notice { attention, to: NoticeTo::Drive(number) };
        if !self.notices.contains(&notice) {
            self.notices.push(notice);
        }
    }

    /// Cartridges that are out of their elements go to others: the inventory is stored before drives load.
    fn carry(&mut self, ways: &[(usize, usize)]) -> Outcome {
        let before = self.inventory.elements.clone();
        let out: Vec<_> =
            ways.iter().map(|(from, _)| self.inventory.elements[*from].empty()).collect();
        for ((from, to), (barcode, source)) in ways.iter().zip(out) {
            let from = &before[*from];
            let source = if from.kind == ElementKind::Slot { Some(from.address) } else { source };
            let element = &mut self.inventory.elements[*to];
            (element.barcode, element.imported) = (barcode, false);
            element.source = source;
        }
        if self.inventory.store().is_err() {
            self.inventory.elements = before;
            ways.iter().for_each(|(from, _)| self.put_in(*from));
            return Err(self.unkept().into());
        }
        ways.iter().for_each(|(_, to)| self.put_in(*to));
        Ok(0)
    }
}

/// There is one robot; zero means it too.
fn robot(address: u16) -> Result<(), Sense> {
    if matches!(address, 0 | ROBOT) { Ok(()) } else { Err(NO_ELEMENT) }
}

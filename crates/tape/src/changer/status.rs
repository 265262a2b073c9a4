//! READ ELEMENT STATUS (SMC-3, 6.11).

use super::{Changer, DRIVES_FROM, Element, ElementKind};
use crate::answer::{Outcome, be16, be24, invalid_field, reply};
use crate::identify::padded;

impl Changer {
    pub(super) fn element_status(&mut self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        let (tags, wanted) = (cdb[1] & 0x10 != 0, cdb[1] & 0x0f);
        let (start, count) = (be16(cdb, 2), usize::from(be16(cdb, 4)));
        let identify = cdb[6] & 0x01 != 0;
        if wanted > 4 {
            return Err(invalid_field(1).into());
        }
        let elements = &self.inventory.elements;
        let shown: Vec<&Element> = elements
            .iter()
            .filter(|one| one.address >= start && (wanted == 0 || one.kind as u8 == wanted))
            .take(count)
            .collect();
        let mut pages = Vec::new();
        for kind in ElementKind::ALL {
            let of_kind: Vec<&&Element> = shown.iter().filter(|one| one.kind == kind).collect();
            let described: Vec<Vec<u8>> =
                of_kind.iter().map(|one| self.descriptor(one, tags, identify)).collect();
            let Some(first) = described.first() else { continue };
            let bytes: usize = described.iter().map(Vec::len).sum();
            pages.extend([kind as u8, if tags { 0x80 } else { 0 }]);
            pages.extend((first.len() as u16).to_be_bytes());
            pages.extend((bytes as u32).to_be_bytes());
            pages.extend(described.concat());
        }
        let first = shown.iter().map(|one| one.address).min().unwrap_or(0);
        let mut bytes = first.to_be_bytes().to_vec();
        bytes.extend((shown.len() as u16).to_be_bytes());
        bytes.extend((pages.len() as u32).to_be_bytes());
        bytes.extend(pages);
        reply(&bytes, be24(cdb, 7) as usize, room)
    }

    fn descriptor(&self, element: &Element, tags: bool, identify: bool) -> Vec<u8> {
        let drive = (element.kind == ElementKind::Drive)
            .then(|| &self.drives[usize::from(element.address - DRIVES_FROM)]);
        let mut flags = u8::from(element.barcode.is_some());
        flags |= match (element.kind, drive) {
            (ElementKind::Robot, _) => 0,
            (ElementKind::Slot, _) => 0x08,
            (ElementKind::Mailslot, _) => 0x38 | if element.imported { 0x02 } else { 0 },
            // A drive at work is not waited for.
            (_, Some(drive)) => {
                let free = drive.try_lock().is_ok_and(|drive| drive.may_be_emptied());
                if free { 0x08 } else { 0 }
            }
            (_, None) => 0,
        };
        let mut bytes = element.address.to_be_bytes().to_vec();
        bytes.extend([flags, 0, 0, 0, 0, 0, 0]);
        let source = element.source.filter(|_| element.barcode.is_some());
        bytes.push(if source.is_some() { 0x80 } else { 0 });
        bytes.extend(source.unwrap_or(0).to_be_bytes());
        if tags {
            match &element.barcode {
                Some(barcode) => bytes.extend(padded::<32>(barcode)),
                None => bytes.extend([0; 32]),
            }
            bytes.extend([0; 4]);
        }
        let number = usize::from(element.address.wrapping_sub(DRIVES_FROM));
        match self.names.get(number).filter(|_| identify && drive.is_some()) {
            Some(name) => {
                bytes.extend([0x02, 0x01, 0, name.len() as u8]); // ASCII, T10 vendor
                bytes.extend(name);
            }
            None => bytes.extend([0; 4]),
        }
        bytes
    }
}

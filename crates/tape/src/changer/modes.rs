//! MODE SENSE and MODE SELECT of the changer (SMC-3, 7.3): what elements there are, and what can be moved where.

use super::{Changer, ElementKind};
use crate::answer::{Outcome, SHORT_LIST, be16, illegal, invalid_parameter, reply};

const PAGES: [u8; 4] = [0x1c, 0x1d, 0x1e, 0x1f];

/// Drives, import and export elements, and slots hold cartridges; the robot only carries them.
const HOLD: u8 = 0x0e;

impl Changer {
    fn page(&self, code: u8) -> Vec<u8> {
        let mut page = match code {
            0x1c => vec![0; 12],
            0x1e => vec![0; 4],
            _ => vec![0; 20],
        };
        (page[0], page[1]) = (code, page.len() as u8 - 2);
        match code {
            0x1c => page[2] = 0x08,
            0x1d => {
                let kinds = [
                    ElementKind::Robot,
                    ElementKind::Slot,
                    ElementKind::Mailslot,
                    ElementKind::Drive,
                ];
                for (at, kind) in (2..).step_by(4).zip(kinds) {
                    let (first, count) = self.inventory.range(kind);
                    page[at..at + 2].copy_from_slice(&first.to_be_bytes());
                    page[at + 2..at + 4].copy_from_slice(&count.to_be_bytes());
                }
            }
            0x1f => {
                page[2] = HOLD;
                for row in [5, 6, 7, 13, 14, 15] {
                    page[row] = HOLD;
                }
            }
            _ => {}
        }
        page
    }

    pub(super) fn mode_sense(
        &self,
        cdb: &[u8; 16],
        allocation: usize,
        header: usize,
        room: &mut [u8],
    ) -> Outcome {
        let (control, code, sub) = (cdb[2] >> 6, cdb[2] & 0x3f, cdb[3]);
        if control == 3 {
            return Err(illegal(0x3900).into());
        }
        let known = code == 0x3f || PAGES.contains(&code);
        if !known || !(sub == 0 || (sub == 0xff && code == 0x3f)) {
            return Err(illegal(0x2400).at_cdb(if known { 3 } else { 2 }, None).into());
        }
        let mut bytes = vec![0; header];
        for code in PAGES.iter().filter(|one| code == 0x3f || code == **one) {
            let page = self.page(*code);
            match control {
                // Nothing is changeable.
                1 => {
                    bytes.extend(&page[..2]);
                    bytes.resize(bytes.len() + page.len() - 2, 0);
                }
                _ => bytes.extend(page),
            }
        }
        let len = bytes.len();
        if header == 4 {
            bytes[0] = (len - 1) as u8;
        } else {
            bytes[..2].copy_from_slice(&((len - 2) as u16).to_be_bytes());
        }
        reply(&bytes, allocation, room)
    }

    /// Nothing can be changed: a list is accepted that says what is.
    pub(super) fn mode_select(
        &self,
        cdb: &[u8; 16],
        data: &[u8],
        length: usize,
        header: usize,
    ) -> Outcome {
        if cdb[1] & 0x01 != 0 {
            return Err(illegal(0x3900).into());
        }
        if length == 0 {
            return Ok(0);
        }
        let list = data.get(..length).filter(|list| list.len() >= header).ok_or(SHORT_LIST)?;
        let described = if header == 4 { u16::from(list[3]) } else { be16(list, 6) };
        if described != 0 {
            return Err(invalid_parameter(header as u16 - 1).into());
        }
        let mut at = header;
        while at < length {
            let code = list[at] & 0x7f;
            if !PAGES.contains(&code) {
                return Err(invalid_parameter(at as u16).into());
            }
            let page = self.page(code);
            let given = list.get(at..at + page.len()).ok_or(SHORT_LIST)?;
            if let Some(other) = (1..page.len()).find(|i| given[*i] != page[*i]) {
                return Err(invalid_parameter((at + other) as u16).into());
            }
            at += page.len();
        }
        Ok(0)
    }
}

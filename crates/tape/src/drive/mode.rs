//! MODE SENSE and MODE SELECT of a drive (SSC-3, 8.3): the block descriptor with the block length, and the pages.

use super::Drive;
use crate::answer::{Outcome, SHORT_LIST, be16, be24, illegal, invalid_parameter, reply};
use crate::media::format::LARGEST_BLOCK;
use iscsi::scsi::UnitAttention;

/// The settings of a drive that MODE SELECT changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Modes {
    /// Bytes of a fixed block; 0: every block has a length of its own.
    pub block_length: u32,
    /// Writes end before they are on the medium.
    pub buffered: bool,
    /// DCE: blocks are compressed.
    pub compress: bool,
    /// SWP: nothing is written.
    protected: bool,
}

const COMPRESSION: u8 = 0x0f;
const CONFIGURATION: u8 = 0x10;

/// The codes of the pages, in order.
const PAGES: [u8; 8] = [0x01, 0x02, 0x0a, COMPRESSION, CONFIGURATION, 0x11, 0x1c, 0x1d];

impl Modes {
    /// As after power on.
    pub fn new(compress: bool) -> Modes {
        Modes { block_length: 0, buffered: true, compress, protected: false }
    }

    /// SWP.
    pub fn write_protected(&self) -> bool {
        self.protected
    }

    /// The bytes of a page; `changeable`: with ones where MODE SELECT changes something.
    fn page(&self, code: u8, changeable: bool) -> Vec<u8> {
        let mut page = match code {
            0x01 => sized(code, 12),
            0x02 => sized(code, 16),
            0x0a => sized(code, 12),
            COMPRESSION | CONFIGURATION => sized(code, 16),
            0x11 => sized(code, 8),
            0x1c => sized(code, 12),
            _ => sized(code, 32),
        };
        if changeable {
            match code {
                COMPRESSION => page[2] = 0x80,
                CONFIGURATION => (page[10], page[14]) = (0x04, 0xff),
                _ => {}
            }
            return page;
        }
        match code {
            0x0a => (page[3], page[8], page[9]) = (0x10, 0xff, 0xff),
            COMPRESSION => {
                page[2] = 0x40 | if self.compress { 0x80 } else { 0 };
                page[3] = 0x80; // DDE
                (page[7], page[11]) = (0x01, 0x01);
            }
            CONFIGURATION => {
                page[8] = 0x40; // LOIS: LOCATE and READ POSITION
                page[10] = 0x10 | if self.protected { 0x04 } else { 0 }; // EEG
                page[14] = u8::from(self.compress);
            }
            0x11 => page[4] = 0x03, // MEDIUM FORMAT RECOGNITION: format and partition
            0x1c => page[2] = 0x08, // DEXCPT: TapeAlert is polled
            _ => {}
        }
        page
    }

    /// Takes over a page of a parameter list.
    fn select(&mut self, page: &[u8], at: usize) -> Result<(), iscsi::scsi::Sense> {
        let code = page[0] & 0x3f;
        if !PAGES.contains(&code) || page[0] & 0x40 != 0 {
            return Err(invalid_parameter(at as u16));
        }
        let (now, mask) = (self.page(code, false), self.page(code, true));
        if page.len() != now.len() {
            return Err(invalid_parameter(at as u16 + 1));
        }
        for (i, new) in page.iter().enumerate().skip(2) {
            if (new ^ now[i]) & !mask[i] != 0 {
                return Err(invalid_parameter((at + i) as u16));
            }
        }
        match code {
            COMPRESSION => self.compress = page[2] & 0x80 != 0,
            CONFIGURATION => {
                if page[14] > 1 {
                    return Err(invalid_parameter((at + 14) as u16));
                }
                (self.protected, self.compress) = (page[10] & 0x04 != 0, page[14] == 1);
            }
            _ => {}
        }
        Ok(())
    }
}

fn sized(code: u8, len: usize) -> Vec<u8> {
    let mut page = vec![0; len];
    (page[0], page[1]) = (code, (len - 2) as u8);
    page
}

impl Drive {
    /// MODE SENSE (6) and (10); `header`: the bytes of the header, 4 or 8.
    pub(super) fn mode_sense(
        &mut self,
        cdb: &[u8; 16],
        allocation: usize,
        header: usize,
        room: &mut [u8],
    ) -> Outcome {
        let (control, code) = (cdb[2] >> 6, cdb[2] & 0x3f);
        if control == 3 {
            // SAVING PARAMETERS NOT SUPPORTED.
            return Err(illegal(0x3900).into());
        }
        let sub = cdb[3];
        // Page 0 is vendor-specific: as with LTO drives it is the block descriptor alone, which Linux asks for by it.
        let known = matches!(code, 0 | 0x3f) || PAGES.contains(&code);
        if !known || !(sub == 0 || (sub == 0xff && code == 0x3f)) {
            return Err(illegal(0x2400).at_cdb(if known { 3 } else { 2 }, None).into());
        }
        let defaults = Modes::new(self.settings.compress);
        let modes = if control == 2 { defaults } else { self.modes.clone() };
        let codes = PAGES.iter().filter(|one| code == 0x3f || code == **one);
        let pages: Vec<u8> = codes.flat_map(|code| modes.page(*code, control == 1)).collect();
        let descriptor = self.descriptor(control == 1, modes.block_length);
        let described = cdb[1] & 0x08 == 0;
        let buffered = u8::from(modes.buffered) << 4;
        let flags = buffered | if self.writable_flag() { 0 } else { 0x80 };
        let mut bytes = vec![0; header];
        if described {
            bytes.extend(descriptor);
        }
        bytes.extend(pages);
        let len = bytes.len();
        if header == 4 {
            bytes[0] = u8::try_from(len - 1).unwrap_or(u8::MAX);
            (bytes[1], bytes[2], bytes[3]) =
                (self.medium_type(), flags, if described { 8 } else { 0 });
        } else {
            bytes[..2].copy_from_slice(&((len - 2) as u16).to_be_bytes());
            (bytes[2], bytes[3], bytes[7]) =
                (self.medium_type(), flags, if described { 8 } else { 0 });
        }
        reply(&bytes, allocation, room)
    }

    fn descriptor(&mut self, changeable: bool, block_length: u32) -> [u8; 8] {
        let [_, a, b, c] = if changeable { [0xff; 4] } else { block_length.to_be_bytes() };
        let density = if changeable { 0 } else { self.density() };
        [density, 0, 0, 0, 0, a, b, c]
    }

    /// The density of the medium; without one, the drive's own.
    pub(super) fn density(&mut self) -> u8 {
        let own = self.settings.generation.density;
        self.medium().map_or(own, |medium| medium.density)
    }

    /// The medium type of LTO cartridges: the generation and 8h.
    fn medium_type(&mut self) -> u8 {
        self.medium().map_or(0, |medium| medium.generation << 4 | 0x08)
    }

    fn writable_flag(&mut self) -> bool {
        self.medium().is_err() || self.writable().is_ok()
    }

    /// MODE SELECT (6) and (10).
    pub(super) fn mode_select(
        &mut self,
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
        let list = data.get(..length).ok_or(SHORT_LIST)?;
        if length < header {
            return Err(SHORT_LIST.into());
        }
        let (flags, described) = match header {
            4 => (list[2], usize::from(list[3])),
            _ => (list[3], usize::from(be16(list, 6))),
        };
        let mut modes = self.modes.clone();
        modes.buffered = match flags >> 4 & 0x07 {
            0 => false,
            1 => true,
            _ => return Err(invalid_parameter(if header == 4 { 2 } else { 3 }).into()),
        };
        if !matches!(described, 0 | 8) {
            return Err(invalid_parameter(header as u16 - 1).into());
        }
        if described == 8 {
            let descriptor = list.get(header..header + 8).ok_or(SHORT_LIST)?;
            if !(matches!(descriptor[0], 0 | 0x7f) || descriptor[0] == self.density()) {
                return Err(invalid_parameter(header as u16).into());
            }
            let block = be24(descriptor, 5);
            if block > LARGEST_BLOCK {
                return Err(invalid_parameter(header as u16 + 5).into());
            }
            modes.block_length = block;
        }
        let mut at = header + described;
        while at < length {
            let len = 2 + usize::from(*list.get(at + 1).ok_or(SHORT_LIST)?);
            let page = list.get(at..at + len).ok_or(SHORT_LIST)?;
            modes.select(page, at)?;
            at += len;
        }
        if modes != self.modes {
            self.modes = modes;
            self.tell_others(UnitAttention::ModeParametersChanged);
        }
        Ok(0)
    }
}

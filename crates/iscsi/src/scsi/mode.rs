//! MODE SENSE and MODE SELECT: pages, changeable bits, and effects (SPC-4, 6.9 to 6.12 and 7.5; SBC-3, 6.5).
//!
//! A page has default bytes, changeable bits, and current values. Nothing is saved: a reset restores the defaults.

use super::cdb::{be16, be32, be64, field16};
use super::command_table::{SHORT_LIST, invalid_field, invalid_parameter};
use super::readiness::reply;
use super::unit::{CommandCall, CommandResult};
use super::{Action, Ending, Geometry, Sense, SenseKey, UnitAttention, UnitDescription};

/// SAVING PARAMETERS NOT SUPPORTED.
const NOT_SAVED: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x3900));

/// Most bytes of a page, with its header.
const LARGEST_PAGE: usize = 20;
const CACHING: usize = 1;
const CONTROL: usize = 2;

/// A page: its bytes and its changeable bits.
struct ModePage {
    bytes: &'static [u8],
    changeable: &'static [(usize, u8)],
}

/// The pages in order of their codes.
const PAGES: [ModePage; 4] = [
    // Read-write error recovery: AWRE, ARRE.
    ModePage { bytes: &[0x01, 0x0a, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0], changeable: &[] },
    // Caching: WCE.
    ModePage {
        bytes: &[0x08, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        changeable: &[(2, 0x04)],
    },
    // Control: commands may be reordered, the busy timeout is unlimited; D_SENSE, SWP, TAS.
    ModePage {
        bytes: &[0x0a, 0x0a, 0, 0x10, 0, 0, 0, 0, 0xff, 0xff, 0, 0],
        changeable: &[(2, 0x04), (4, 0x08), (5, 0x40)],
    },
    // Informational exceptions: none are reported.
    ModePage { bytes: &[0x1c, 0x0a, 0x08, 0, 0, 0, 0, 0, 0, 0, 0, 0], changeable: &[] },
];

/// The current values of all pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Modes([[u8; LARGEST_PAGE]; PAGES.len()]);

impl Modes {
    /// The defaults of a unit.
    pub fn new(description: &UnitDescription) -> Modes {
        let mut modes = Modes([[0; LARGEST_PAGE]; PAGES.len()]);
        for (current, page) in modes.0.iter_mut().zip(&PAGES) {
            current[..page.bytes.len()].copy_from_slice(page.bytes);
        }
        if description.write_back {
            modes.0[CACHING][2] |= 0x04;
        }
        modes
    }

    /// WCE: writes are acknowledged from a volatile cache.
    pub fn write_cache(&self) -> bool {
        self.0[CACHING][2] & 0x04 != 0
    }

    /// D_SENSE: sense data uses descriptor format.
    pub fn descriptor_sense(&self) -> bool {
        self.0[CONTROL][2] & 0x04 != 0
    }

    /// SWP: the unit is write-protected.
    pub fn write_protected(&self) -> bool {
        self.0[CONTROL][4] & 0x08 != 0
    }

    /// TAS: commands aborted by others end in TASK ABORTED instead of without a response.
    pub fn task_aborted(&self) -> bool {
        self.0[CONTROL][5] & 0x40 != 0
    }

    /// Applies one page of a MODE SELECT; unchangeable bits must keep their values. `at`: its offset in the list.
    fn select(&mut self, bytes: &[u8], at: usize) -> Result<(), Ending> {
        let wrong =
            |offset: usize| invalid_parameter(u16::try_from(at + offset).unwrap_or(u16::MAX));
        let index =
            PAGES.iter().position(|page| page.bytes[0] == bytes[0] & 0x7f).ok_or(wrong(0))?;
        let page = &PAGES[index];
        if usize::from(bytes[1]) != page.bytes.len() - 2 {
            return Err(wrong(1));
        }
        let current = &mut self.0[index];
        for offset in 2..page.bytes.len() {
            let changed = bytes[offset] ^ current[offset];
            if changed & !mask(page, offset) != 0 {
                return Err(wrong(offset));
            }
            current[offset] = bytes[offset];
        }
        Ok(())
    }
}

/// The changeable bits of a byte.
fn mask(page: &ModePage, offset: usize) -> u8 {
    page.changeable.iter().filter(|(at, _)| *at == offset).fold(0, |bits, (_, bit)| bits | bit)
}

pub(super) fn sense_6(call: &mut CommandCall<'_>) -> CommandResult {
    let pages = pages(call)?;
    let blocks = if call.cdb[1] & 0x08 == 0 { short_block(call.geometry()) } else { Vec::new() };
    let mut bytes = vec![0, 0, device_specific(call), blocks.len() as u8];
    bytes.extend(blocks);
    bytes.extend(pages);
    bytes[0] = (bytes.len() - 1) as u8;
    reply(bytes, u32::from(call.cdb[4]))
}

pub(super) fn sense_10(call: &mut CommandCall<'_>) -> CommandResult {
    let pages = pages(call)?;
    let long = call.cdb[1] & 0x10 != 0;
    let geometry = call.geometry();
    let blocks = match call.cdb[1] & 0x08 == 0 {
        true if long => long_block(geometry),
        true => short_block(geometry),
        false => Vec::new(),
    };
    let mut bytes = vec![0, 0, 0, device_specific(call), 0, 0, 0, blocks.len() as u8];
    bytes[4] = u8::from(blocks.len() == 16);
    bytes.extend(blocks);
    bytes.extend(pages);
    let length = (bytes.len() - 2) as u16;
    bytes[..2].copy_from_slice(&length.to_be_bytes());
    reply(bytes, u32::from(field16::<7>(call.cdb)))
}

/// WP, and DPOFUA: DPO and FUA are supported.
fn device_specific(call: &CommandCall<'_>) -> u8 {
    let protected = call.description().read_only || call.state().modes.write_protected();
    if protected { 0x90 } else { 0x10 }
}

fn short_block(geometry: Geometry) -> Vec<u8> {
    let blocks = u32::try_from(geometry.blocks).unwrap_or(u32::MAX);
    let mut bytes = blocks.to_be_bytes().to_vec();
    bytes.extend((geometry.block & 0x00ff_ffff).to_be_bytes());
    bytes
}

fn long_block(geometry: Geometry) -> Vec<u8> {
    let mut bytes = geometry.blocks.to_be_bytes().to_vec();
    bytes.extend([0; 4]);
    bytes.extend(geometry.block.to_be_bytes());
    bytes
}

/// The requested pages: current, changeable or default values.
fn pages(call: &CommandCall<'_>) -> Result<Vec<u8>, Ending> {
    let (control, code, subpage) = (call.cdb[2] >> 6, call.cdb[2] & 0x3f, call.cdb[3]);
    if control == 3 {
        return Err(NOT_SAVED);
    }
    let wanted = |page: &ModePage| code == 0x3f || code == page.bytes[0];
    if !PAGES.iter().any(wanted) {
        return Err(invalid_field(2, Some(5)));
    }
    if !matches!(subpage, 0x00 | 0xff) {
        return Err(invalid_field(3, None));
    }
    let defaults = Modes::new(call.description());
    let mut bytes = Vec::new();
    for (index, page) in PAGES.iter().enumerate().filter(|(_, page)| wanted(page)) {
        let values = if control == 2 { &defaults } else { &call.state().modes };
        let length = page.bytes.len();
        match control {
            1 => bytes
                .extend((0..length).map(|at| if at < 2 { page.bytes[at] } else { mask(page, at) })),
            _ => bytes.extend(&values.0[index][..length]),
        }
    }
    Ok(bytes)
}

pub(super) fn select_6(call: &mut CommandCall<'_>) -> CommandResult {
    let length = u32::from(call.cdb[4]);
    select(call, length, |list| Some((4, false, usize::from(*list.get(3)?))))
}

pub(super) fn select_10(call: &mut CommandCall<'_>) -> CommandResult {
    let length = u32::from(field16::<7>(call.cdb));
    select(call, length, |list| Some((8, list.get(4)? & 1 != 0, usize::from(be16(list, 6)?))))
}

/// The header's length, LONGLBA, and the length of the block descriptors.
type HeaderParser = fn(&[u8]) -> Option<(usize, bool, usize)>;

fn select(call: &mut CommandCall<'_>, length: u32, header: HeaderParser) -> CommandResult {
    if call.cdb[1] & 0x01 != 0 {
        return Err(invalid_field(1, Some(0)));
    }
    if length == 0 {
        return Ok(Action::End(Ending::GOOD));
    }
    if call.cdb[1] & 0x10 == 0 {
        return Err(invalid_field(1, Some(4)));
    }
    let Some(list) = call.parameters else { return Ok(Action::Parameters(length)) };
    let list = list.get(..length as usize).ok_or(SHORT_LIST)?;
    let (start, long, blocks) = header(list).ok_or(SHORT_LIST)?;
    let descriptor = list.get(start..start + blocks).ok_or(SHORT_LIST)?;
    check_block(descriptor, long, call.geometry(), start)?;
    let modes = selected(call.state().modes.clone(), list, start + blocks)?;
    if modes != call.state().modes {
        let nexus = call.nexus;
        let state = call.change();
        state.modes = modes;
        state.raise(UnitAttention::ModeParametersChanged, Some(nexus));
    }
    Ok(Action::End(Ending::GOOD))
}

/// Applies all pages of a list, or none.
fn selected(mut modes: Modes, list: &[u8], mut at: usize) -> Result<Modes, Ending> {
    while at < list.len() {
        let length = 2 + usize::from(*list.get(at + 1).ok_or(SHORT_LIST)?);
        // No page has subpages, so the subpage format names a missing page.
        if list[at] & 0x40 != 0 {
            return Err(invalid_parameter(u16::try_from(at).unwrap_or(u16::MAX)));
        }
        let page = list.get(at..at + length).ok_or(SHORT_LIST)?;
        modes.select(page, at)?;
        at += length;
    }
    Ok(modes)
}

/// A block descriptor may be repeated, but the unit keeps its size: zero and all ones mean its present blocks.
fn check_block(descriptor: &[u8], long: bool, geometry: Geometry, at: usize) -> Result<(), Ending> {
    let wrong = Err(invalid_parameter(at as u16));
    let (blocks, most, block) = match (descriptor.len(), long) {
        (0, _) => return Ok(()),
        (8, false) => {
            (be32(descriptor, 0).map(u64::from), u64::from(u32::MAX), be32(descriptor, 4))
        }
        (16, true) => (be64(descriptor, 0), u64::MAX, be32(descriptor, 12)),
        _ => return wrong,
    };
    let same =
        blocks.is_some_and(|blocks| blocks == 0 || blocks == most || blocks == geometry.blocks);
    if same && block == Some(geometry.block) { Ok(()) } else { wrong }
}

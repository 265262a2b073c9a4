//! EXTENDED COPY (LID1) between units of this device, and its results (SPC-4, 5.17, 6.4 and 6.18 to 6.24).
//!
//! Every segment is checked before the first block moves. The result of a copy is kept for its nexus under its list
//! identifier until the nexus ends.

use super::access::Checks;
use super::block::within;
use super::cdb::{be16, be32, be64, field32};
use super::command_table::{SHORT_LIST, invalid_field, invalid_parameter};
use super::readiness::reply;
use super::unit::{CommandCall, CommandResult, LogicalUnit};
use super::{Action, BlockRange, CopySegment, Device, Ending, Nexus, Sense, SenseKey};

/// Most copy sources and destinations of a list.
const MOST_TARGETS: usize = 16;
/// Most segments of a list.
const MOST_SEGMENTS: usize = 64;
/// Most bytes of both lists together.
const LONGEST_LISTS: u32 = 2048;
/// Most bytes that one segment copies.
const LONGEST_SEGMENT: u64 = 16 << 20;
/// Most copy results that are kept for a nexus.
const MOST_RESULTS: usize = 16;

const HEADER: usize = 16;
const TARGET: usize = 32;
/// Identification descriptor of a copy source or destination.
const IDENTIFIED: u8 = 0xe4;
/// Block device to block device.
const BLOCKS: u8 = 0x02;
/// Block device to block device with offset, counted in bytes.
const BYTES: u8 = 0x0a;

const ILLEGAL: fn(u16) -> Ending = |code| Ending::check(Sense::new(SenseKey::IllegalRequest, code));

const fn aborted(code: u16) -> Ending {
    Ending::check(Sense::new(SenseKey::CopyAborted, code))
}

/// COPY TARGET DEVICE NOT REACHABLE: the source or destination does not exist, or this nexus may not use it.
const UNREACHABLE: Ending = aborted(0x0804);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CopyResult {
    nexus: Nexus,
    list: u8,
    segments: u16,
    ended: Option<Ending>,
}

/// The copy results of all nexuses.
#[derive(Clone, Debug, Default)]
pub(super) struct CopyResults(Vec<CopyResult>);

impl CopyResults {
    fn begin(&mut self, nexus: &Nexus, list: u8, segments: u16) {
        self.0.retain(|one| one.nexus != *nexus || one.list != list);
        let mine = self.0.iter().filter(|one| one.nexus == *nexus).count();
        if mine >= MOST_RESULTS
            && let Some(oldest) = self.0.iter().position(|one| one.nexus == *nexus)
        {
            self.0.remove(oldest);
        }
        self.0.push(CopyResult { nexus: nexus.clone(), list, segments, ended: None });
    }

    fn find(&self, nexus: &Nexus, list: u8) -> Option<&CopyResult> {
        self.0.iter().find(|one| one.nexus == *nexus && one.list == list)
    }

    /// Records how a copy ended.
    pub fn end(&mut self, nexus: &Nexus, list: u8, ending: &Ending) {
        if let Some(copied) = self.0.iter_mut().find(|one| one.nexus == *nexus && one.list == list)
        {
            copied.ended = Some(*ending);
        }
    }

    /// Discards the results of a nexus.
    pub fn discard(&mut self, nexus: &Nexus) {
        self.0.retain(|one| one.nexus != *nexus);
    }
}

/// EXTENDED COPY (LID1).
pub(super) fn extended_copy(call: &mut CommandCall<'_>) -> CommandResult {
    let length = field32::<10>(call.cdb);
    if length == 0 {
        return Ok(Action::End(Ending::GOOD));
    }
    if !(HEADER as u32..=HEADER as u32 + LONGEST_LISTS).contains(&length) {
        return Err(SHORT_LIST);
    }
    let Some(bytes) = call.parameters else { return Ok(Action::Parameters(length)) };
    let bytes = bytes.get(..length as usize).ok_or(SHORT_LIST)?;
    let (targets, segments) = split(bytes)?;
    let targets = targets.chunks_exact(TARGET).enumerate();
    let targets = targets
        .map(|(index, target)| target_of(call, target, index))
        .collect::<Result<Vec<_>, _>>()?;
    let segments = segments_of(call, segments, &targets)?;
    let list = bytes[0];
    // List identifier usage 11b: there is none, and no result is kept.
    if bytes[1] >> 3 & 3 == 3 {
        if list != 0 {
            return Err(invalid_parameter(0));
        }
    } else {
        let (nexus, count) = (call.nexus, segments.len() as u16);
        call.change().copies.begin(nexus, list, count);
    }
    Ok(Action::Copy { list, segments })
}

/// Both lists of descriptors, complete.
fn split(bytes: &[u8]) -> Result<(&[u8], &[u8]), Ending> {
    let targets = usize::from(be16(bytes, 2).ok_or(SHORT_LIST)?);
    let segments = be32(bytes, 8).ok_or(SHORT_LIST)? as usize;
    let inline = be32(bytes, 12).ok_or(SHORT_LIST)?;
    if inline != 0 {
        return Err(ILLEGAL(0x260b));
    }
    let end = HEADER.saturating_add(targets).saturating_add(segments);
    if targets % TARGET != 0 || end > bytes.len() {
        return Err(SHORT_LIST);
    }
    if targets / TARGET > MOST_TARGETS {
        return Err(ILLEGAL(0x2606));
    }
    Ok((&bytes[HEADER..HEADER + targets], &bytes[HEADER + targets..end]))
}

/// The unit that a descriptor identifies; `None` if this device does not have it.
fn target_of<'a>(
    call: &CommandCall<'a>,
    bytes: &[u8],
    index: usize,
) -> Result<Option<&'a LogicalUnit>, Ending> {
    if bytes[0] != IDENTIFIED {
        return Err(ILLEGAL(0x2607));
    }
    if bytes[1] & 0x1f != 0 {
        return Err(invalid_parameter((HEADER + index * TARGET + 1) as u16));
    }
    let length = usize::from(bytes[7]);
    let designator =
        bytes.get(8..8 + length).ok_or(invalid_parameter((HEADER + index * TARGET + 7) as u16))?;
    let unit = call.device.units().iter().find(|unit| unit.designator() == designator);
    let block = be32(bytes, 28).unwrap_or(0) & 0x00ff_ffff;
    if unit.is_some_and(|unit| unit.description().geometry.block != block) {
        return Err(invalid_parameter((HEADER + index * TARGET + 29) as u16));
    }
    Ok(unit)
}

fn segments_of(
    call: &CommandCall<'_>,
    mut bytes: &[u8],
    targets: &[Option<&LogicalUnit>],
) -> Result<Vec<CopySegment>, Ending> {
    let mut segments = Vec::new();
    while !bytes.is_empty() {
        if segments.len() == MOST_SEGMENTS {
            return Err(ILLEGAL(0x2608));
        }
        if !matches!(bytes[0], BLOCKS | BYTES) {
            return Err(ILLEGAL(0x2609));
        }
        let length = 4 + usize::from(be16(bytes, 2).ok_or(SHORT_LIST)?);
        if length != if bytes[0] == BLOCKS { 28 } else { 32 } {
            return Err(SHORT_LIST);
        }
        let (segment, rest) = bytes.split_at_checked(length).ok_or(SHORT_LIST)?;
        segments.extend(segment_of(call, segment, targets)?);
        bytes = rest;
    }
    Ok(segments)
}

/// One segment; `None` if it copies nothing.
fn segment_of(
    call: &CommandCall<'_>,
    bytes: &[u8],
    targets: &[Option<&LogicalUnit>],
) -> Result<Option<CopySegment>, Ending> {
    let unit = |at: usize| match be16(bytes, at) {
        Some(0xffff) => Some(call.unit),
        Some(index) => targets.get(usize::from(index)).copied().flatten(),
        None => None,
    };
    let from = unit(4).ok_or(UNREACHABLE)?;
    let to = unit(6).ok_or(UNREACHABLE)?;
    let (source, destination) = (from.geometry(), to.geometry());
    let length = if bytes[0] == BLOCKS {
        let counted = if bytes[1] & 0x02 == 0 { source.block } else { destination.block };
        u64::from(be16(bytes, 10).ok_or(SHORT_LIST)?) * u64::from(counted)
    } else if be32(bytes, 28) == Some(0) {
        u64::from(be32(bytes, 8).ok_or(SHORT_LIST)?)
    } else {
        return Err(ILLEGAL(0x2600));
    };
    let (read, written) = (u64::from(source.block), u64::from(destination.block));
    if length > LONGEST_SEGMENT || length % read != 0 || length % written != 0 {
        return Err(ILLEGAL(0x2600));
    }
    let (lba, destination_lba) =
        (be64(bytes, 12).ok_or(SHORT_LIST)?, be64(bytes, 20).ok_or(SHORT_LIST)?);
    let extent: BlockRange = within(lba, length / read, &source).map_err(|_| aborted(0))?;
    within(destination_lba, length / written, &destination).map_err(|_| aborted(0))?;
    for (unit, access) in [(from, &Checks::READ), (to, &Checks::WRITE)] {
        if std::ptr::eq(unit, call.unit) {
            call.require(access).map_err(|refused| why(&refused))?;
        }
    }
    let segment = CopySegment {
        from: *from.designator(),
        source: extent,
        to: *to.designator(),
        lba: destination_lba,
    };
    Ok((length > 0).then_some(segment))
}

/// Whether the other units of a copy admit a nexus. Their locks are taken one by one, without the addressed unit's.
pub(super) fn admit_others(
    device: &Device,
    asked: &LogicalUnit,
    nexus: &Nexus,
    segments: &[CopySegment],
) -> Result<(), Ending> {
    for segment in segments {
        for (designator, access) in [(&segment.from, &Checks::READ), (&segment.to, &Checks::WRITE)]
        {
            let others = device.units().iter().filter(|unit| !std::ptr::eq(*unit, asked));
            for unit in others.filter(|unit| unit.designator() == designator) {
                unit.admits(access, nexus).map_err(|refused| why(&refused))?;
            }
        }
    }
    Ok(())
}

/// The error of a copy whose source or destination refuses it. Write protection is reported directly.
fn why(refused: &Ending) -> Ending {
    match refused.sense {
        Some(sense) if sense.key == SenseKey::DataProtect => *refused,
        // COPY TARGET DEVICE NOT REACHABLE
        _ => aborted(0x0d02),
    }
}

/// RECEIVE COPY STATUS (LID1): whether the copy has ended.
pub(super) fn copy_status(call: &mut CommandCall<'_>) -> CommandResult {
    let copied = call.state().copies.find(call.nexus, call.cdb[2]).ok_or(invalid_field(2, None))?;
    let mut bytes = vec![0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    let done = copied.ended.is_some_and(|ending| ending == Ending::GOOD);
    bytes[4] = match copied.ended {
        None => 0x00,
        Some(_) if done => 0x01,
        Some(_) => 0x02,
    };
    if done {
        bytes[5..7].copy_from_slice(&copied.segments.to_be_bytes());
    }
    reply(bytes, field32::<10>(call.cdb))
}

/// RECEIVE COPY FAILURE DETAILS (LID1): the sense data of a failed copy.
pub(super) fn failure_details(call: &mut CommandCall<'_>) -> CommandResult {
    let copied = call.state().copies.find(call.nexus, call.cdb[2]).ok_or(invalid_field(2, None))?;
    let Some(ending) = copied.ended.filter(|ending| *ending != Ending::GOOD) else {
        return reply(vec![0; 4], field32::<10>(call.cdb));
    };
    let sense = ending.sense.map(|sense| sense.encode(false)).unwrap_or_default();
    let mut bytes = vec![0; 60];
    bytes[56] = ending.status as u8;
    bytes[58..60].copy_from_slice(&(sense.len() as u16).to_be_bytes());
    bytes.extend(sense);
    let available = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&available.to_be_bytes());
    reply(bytes, field32::<10>(call.cdb))
}

/// RECEIVE COPY OPERATING PARAMETERS.
pub(super) fn operating_parameters(call: &mut CommandCall<'_>) -> CommandResult {
    let kinds = [BLOCKS, BYTES, IDENTIFIED];
    let mut bytes = vec![0; 44];
    bytes[4] = 0x01; // SNLID: a list identifier is not needed
    bytes[8..10].copy_from_slice(&(MOST_TARGETS as u16).to_be_bytes());
    bytes[10..12].copy_from_slice(&(MOST_SEGMENTS as u16).to_be_bytes());
    bytes[12..16].copy_from_slice(&LONGEST_LISTS.to_be_bytes());
    bytes[16..20].copy_from_slice(&(LONGEST_SEGMENT as u32).to_be_bytes());
    bytes[34..36].copy_from_slice(&(MOST_RESULTS as u16).to_be_bytes());
    bytes[36] = MOST_RESULTS as u8;
    bytes[37] = call.geometry().block.ilog2() as u8;
    bytes[43] = kinds.len() as u8;
    bytes.extend(kinds);
    let available = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&available.to_be_bytes());
    reply(bytes, field32::<10>(call.cdb))
}

/// VPD page 0x8F, third-party copy: supported commands and descriptors.
pub(super) fn third_party() -> Vec<u8> {
    let mut page = Vec::new();
    let mut add = |kind: u16, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        page.extend(kind.to_be_bytes());
        page.extend((padded as u16).to_be_bytes());
        page.extend(body);
        page.resize(page.len() + padded - body.len(), 0);
    };
    // Supported commands: EXTENDED COPY with its service action, RECEIVE COPY RESULTS with its three.
    add(0x0001, &[8, 0x83, 1, 0x00, 0x84, 3, 0x00, 0x03, 0x04]);
    let mut parameters = vec![0; 28];
    parameters[4..6].copy_from_slice(&(MOST_TARGETS as u16).to_be_bytes());
    parameters[6..8].copy_from_slice(&(MOST_SEGMENTS as u16).to_be_bytes());
    parameters[8..12].copy_from_slice(&LONGEST_LISTS.to_be_bytes());
    add(0x0004, &parameters);
    add(0x0008, &[3, BLOCKS, BYTES, IDENTIFIED]);
    add(0x000c, &[0, 2, 0xff, 0xff]);
    let mut general = vec![0; 32];
    general[0..4].copy_from_slice(&(MOST_RESULTS as u32).to_be_bytes());
    general[4..8].copy_from_slice(&(MOST_RESULTS as u32).to_be_bytes());
    general[8..12].copy_from_slice(&(LONGEST_SEGMENT as u32).to_be_bytes());
    general[12] = 9;
    add(0x8001, &general);
    page
}

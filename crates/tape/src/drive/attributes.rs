//! READ ATTRIBUTE and WRITE ATTRIBUTE (SPC-4, 6.18 and 6.44): the memory of the cartridge.

use super::Drive;
use super::load::Medium;
use crate::answer::{
    Outcome, SHORT_LIST, be16, be32, illegal, invalid_field, invalid_parameter, reply,
};
use crate::identify::{VENDOR, padded};
use crate::media::{Attribute, Attributes};
use iscsi::scsi::{Sense, SenseKey};

/// Attributes of the device and the medium cannot be written.
const READ_ONLY: u8 = 0x80;
const BINARY: u8 = 0;
const ASCII: u8 = 1;

/// An attribute to be shown: identifier, flags with format, value.
type Shown = (u16, u8, Vec<u8>);

impl Drive {
    pub(super) fn read_attribute(&mut self, cdb: &[u8; 16], room: &mut [u8]) -> Outcome {
        let alerts = self.alerts;
        let medium = self.medium()?;
        if cdb[5] != 0 {
            return Err(invalid_field(5).into());
        }
        if cdb[7] != 0 {
            return Err(invalid_field(7).into());
        }
        let (first, allocation) = (be16(cdb, 8), be32(cdb, 10) as usize);
        let all = attributes(medium, alerts);
        let mut body = Vec::new();
        match cdb[1] & 0x1f {
            0x00 => {
                for (identifier, flags, value) in all.iter().filter(|one| one.0 >= first) {
                    body.extend(identifier.to_be_bytes());
                    body.push(*flags);
                    body.extend((value.len() as u16).to_be_bytes());
                    body.extend(value);
                }
            }
            0x01 => {
                let shown = all.iter().filter(|one| one.0 >= first);
                body.extend(shown.flat_map(|one| one.0.to_be_bytes()));
            }
            _ => {
                // One partition, the first.
                return reply(&[0, 2, 0, 1], allocation, room);
            }
        }
        let mut bytes = (body.len() as u32).to_be_bytes().to_vec();
        bytes.extend(body);
        reply(&bytes, allocation, room)
    }

    pub(super) fn write_attribute(&mut self, cdb: &[u8; 16], data: &[u8]) -> Outcome {
        let medium = self.writable()?;
        if cdb[5] != 0 {
            return Err(invalid_field(5).into());
        }
        if cdb[7] != 0 {
            return Err(invalid_field(7).into());
        }
        let length = be32(cdb, 10) as usize;
        if length == 0 {
            return Ok(0);
        }
        let list = data.get(..length).ok_or(SHORT_LIST)?;
        if length < 4 || be32(list, 0) as usize != length - 4 {
            return Err(SHORT_LIST.into());
        }
        let changed = applied(&medium.attributes, list)?;
        let before = std::mem::replace(&mut medium.attributes, changed);
        if !medium.remember() {
            medium.attributes = before;
            // AUXILIARY MEMORY WRITE ERROR
            return Err(Sense::new(SenseKey::MediumError, 0x1101).into());
        }
        Ok(0)
    }
}

/// The attributes of a list applied to a copy: all of them, or none.
fn applied(attributes: &Attributes, list: &[u8]) -> Result<Attributes, Sense> {
    let mut changed = attributes.clone();
    let mut at = 4;
    while at < list.len() {
        let head = list.get(at..at + 5).ok_or(SHORT_LIST)?;
        let (identifier, format) = (be16(head, 0), head[2]);
        let length = usize::from(be16(head, 3));
        let value = list.get(at + 5..at + 5 + length).ok_or(SHORT_LIST)?;
        let (known, longest) =
            Attributes::hosts_may_write(identifier).ok_or(invalid_parameter(at as u16))?;
        if format != known {
            return Err(invalid_parameter(at as u16 + 2));
        }
        if length > longest {
            return Err(invalid_parameter(at as u16 + 3));
        }
        if known == ASCII && !value.iter().all(|byte| (0x20..0x7f).contains(byte)) {
            return Err(invalid_parameter(at as u16 + 5));
        }
        if length == 0 {
            changed.hosts.remove(&identifier);
        } else {
            changed.hosts.insert(identifier, Attribute { format, value: value.to_vec() });
        }
        at += 5 + length;
    }
    // INSUFFICIENT RESOURCES
    if changed.fits() { Ok(changed) } else { Err(illegal(0x5503)) }
}

/// All attributes of a medium, in order of their identifiers.
fn attributes(medium: &Medium, alerts: u64) -> Vec<Shown> {
    let identity = medium.cartridge.identity();
    let kept = &medium.attributes;
    let mib = |bytes: u64| (bytes >> 20).to_be_bytes().to_vec();
    let capacity = identity.capacity;
    let left = capacity.saturating_sub(medium.cartridge.end().used());
    let serial: String = identity.uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut flags = alerts;
    flags = flags.reverse_bits();
    let room = crate::media::Attributes::room();
    let mut all: Vec<Shown> = vec![
        (0x0000, BINARY, mib(left)),
        (0x0001, BINARY, mib(capacity)),
        (0x0002, BINARY, flags.to_be_bytes().to_vec()),
        (0x0003, BINARY, kept.loads.to_be_bytes().to_vec()),
        (0x0004, BINARY, ((room - kept.taken().min(room)) as u64).to_be_bytes().to_vec()),
        (0x0005, ASCII, padded::<8>("LTO-CVE").to_vec()),
        (0x0006, BINARY, vec![medium.density]),
        (0x0007, BINARY, vec![0, 1]),
        (0x0220, BINARY, mib(kept.written)),
        (0x0221, BINARY, mib(kept.read)),
        (0x0400, ASCII, padded::<8>(VENDOR).to_vec()),
        (0x0401, ASCII, padded::<32>(&serial).to_vec()),
        (0x0404, ASCII, padded::<8>("LTO-CVE").to_vec()),
        (0x0405, BINARY, vec![medium.density]),
        (0x0407, BINARY, (room as u64).to_be_bytes().to_vec()),
        (0x0408, BINARY, vec![0]),
    ];
    for (identifier, serial) in (0x020a..).zip(&kept.drives) {
        let mut device = padded::<8>(VENDOR).to_vec();
        device.extend(padded::<32>(serial));
        all.push((identifier, ASCII, device));
    }
    for one in &mut all {
        one.1 |= READ_ONLY;
    }
    let hosts = kept.hosts.iter();
    all.extend(hosts.map(|(identifier, one)| (*identifier, one.format, one.value.clone())));
    if !kept.hosts.contains_key(&0x0806) {
        all.push((0x0806, ASCII, padded::<32>(&identity.barcode).to_vec()));
    }
    all.sort_by_key(|one| one.0);
    all
}

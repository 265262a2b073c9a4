//! What a LUN reports about itself (SPC-4, SBC-3): INQUIRY and its pages, capacity, write protection. Pure: bytes in, facts out.

use super::client::{Client, CommandError};
use super::operations::LunOperations;
use iscsi::initiator::Cdb;
use iscsi::pdu::Lun;

/// Bytes that are asked for of a page.
const PAGE: u16 = 1024;

/// Page of the unit serial number, and of the designators.
const SERIAL: u8 = 0x80;
const DESIGNATORS: u8 = 0x83;

/// What a LUN is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LunFacts {
    /// T10 vendor identification.
    pub vendor: String,
    /// Product identification.
    pub product: String,
    /// Product revision.
    pub revision: String,
    /// The unit serial number, if it reports one.
    pub serial: Option<String>,
    /// The best of its designators: `naa.…`, `eui.…`, `t10.…`, or a name.
    pub designator: Option<String>,
    /// Bytes of a logical block.
    pub block: u32,
    /// Logical blocks.
    pub blocks: u64,
    /// Space is taken when it is written.
    pub thin: bool,
    /// Nothing may be written.
    pub read_only: bool,
    /// How it trims and writes zeroes.
    pub operations: LunOperations,
}

impl LunFacts {
    /// Bytes.
    pub fn size(&self) -> u64 {
        self.blocks.saturating_mul(self.block.into())
    }

    /// Its serial number and its designator, which a unit reports in every access state.
    pub(super) fn names(
        client: &mut Client,
        lun: Lun,
    ) -> Result<(Option<String>, Option<String>), CommandError> {
        let serial = page(client, lun, SERIAL)?.as_deref().and_then(serial);
        let designator = page(client, lun, DESIGNATORS)?.as_deref().and_then(designator);
        Ok((serial, designator))
    }

    /// Bytes of a block, blocks, and whether it is thin: reported through an active port.
    pub(super) fn capacity(
        client: &mut Client,
        lun: Lun,
    ) -> Result<(u32, u64, bool), CommandError> {
        let mut facts = LunFacts::default();
        match client.ask(lun, Cdb::read_capacity_16(32), 32) {
            Ok(answer) => capacity_16(&answer, &mut facts)?,
            Err(e) if e.is_unknown() => {
                let answer = client.ask(lun, Cdb::READ_CAPACITY_10, 8)?;
                capacity_10(&answer, &mut facts)?;
            }
            Err(e) => return Err(e),
        }
        if !facts.block.is_power_of_two() || facts.block < 512 || facts.blocks == 0 {
            return Err(CommandError::Nonsense("READ CAPACITY"));
        }
        Ok((facts.block, facts.blocks, facts.thin))
    }

    pub(super) fn ask(client: &mut Client, lun: Lun) -> Result<LunFacts, CommandError> {
        let standard = client.ask(lun, Cdb::inquiry(96), 96)?;
        let mut facts = standard_facts(&standard)?;
        // Unit attentions from before this session do not matter; reservations are the guard's.
        match client.execute(lun, Cdb::TEST_UNIT_READY, super::client::CommandData::None) {
            Ok(_) | Err(CommandError::Reserved) => {}
            Err(e) => return Err(e),
        }
        (facts.serial, facts.designator) = Self::names(client, lun)?;
        (facts.block, facts.blocks, facts.thin) = Self::capacity(client, lun)?;
        facts.operations = LunOperations::ask(client, lun, facts.thin)?;
        let header = match client.ask(lun, Cdb::mode_sense_6(0x3f, 255), 255) {
            Ok(answer) => answer.get(2).copied().unwrap_or(0),
            // Where a reservation forbids to ask it is another's, or this process's own, which has asked before.
            Err(CommandError::Reserved) => 0,
            Err(e) if e.is_unknown() => 0,
            Err(e) => return Err(e),
        };
        // WP, and DPOFUA.
        facts.read_only = header & 0x80 != 0;
        facts.operations.fua = header & 0x10 != 0;
        Ok(facts)
    }
}

/// A page of vital product data; nothing where the unit does not know it.
pub(super) fn page(
    client: &mut Client,
    lun: Lun,
    page: u8,
) -> Result<Option<Vec<u8>>, CommandError> {
    match client.ask(lun, Cdb::vital(page, PAGE), PAGE.into()) {
        Ok(answer) => Ok(Some(answer)),
        Err(e) if e.is_unknown() => Ok(None),
        Err(e) => Err(e),
    }
}

fn standard_facts(answer: &[u8]) -> Result<LunFacts, CommandError> {
    let [first, ..] = answer else { return Err(CommandError::Nonsense("INQUIRY")) };
    if first >> 5 != 0 {
        return Err(CommandError::Failed("there is no such LUN".to_owned()));
    }
    if first & 0x1f != 0 {
        let kind = first & 0x1f;
        return Err(CommandError::Failed(format!(
            "it is no disk, but a device of type {kind:#04x}"
        )));
    }
    Ok(LunFacts {
        vendor: text(answer.get(8..16)),
        product: text(answer.get(16..32)),
        revision: text(answer.get(32..36)),
        ..LunFacts::default()
    })
}

/// ASCII without what surrounds it; whatever a terminal would obey is left out.
fn text(bytes: Option<&[u8]>) -> String {
    let plain = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ';
    let text: String = bytes.unwrap_or(&[]).iter().filter(plain).map(|b| char::from(*b)).collect();
    text.trim().to_owned()
}

/// The body of a page of vital product data.
pub(super) fn body(answer: &[u8], page: u8) -> Option<&[u8]> {
    let [_, number, high, low, rest @ ..] = answer else { return None };
    let len = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
    (*number == page).then_some(&rest[..len])
}

fn serial(answer: &[u8]) -> Option<String> {
    Some(text(body(answer, SERIAL))).filter(|serial| !serial.is_empty())
}

/// The most globally unique designator of the unit.
fn designator(answer: &[u8]) -> Option<String> {
    let mut rest = body(answer, DESIGNATORS)?;
    let mut best: Option<(u8, String)> = None;
    while let [_, kind, _, len, after @ ..] = rest {
        let (this, next) = after.split_at_checked(usize::from(*len))?;
        // Of the unit, not of a port or a target.
        if kind & 0x30 == 0
            && let Some(found) = named(kind & 0x0f, this)
            && best.as_ref().is_none_or(|(rank, _)| found.0 < *rank)
        {
            best = Some(found);
        }
        rest = next;
    }
    best.map(|(_, name)| name)
}

/// A designator as people write it, with its rank.
fn named(kind: u8, bytes: &[u8]) -> Option<(u8, String)> {
    let hex = || bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let some = |bytes: &[u8]| bytes.iter().any(|byte| *byte != 0);
    match kind {
        _ if !some(bytes) => None,
        3 => Some((0, format!("naa.{}", hex()))),
        2 => Some((1, format!("eui.{}", hex()))),
        8 => Some((2, text(Some(bytes)))),
        1 => Some((3, format!("t10.{}", text(Some(bytes))))),
        _ => None,
    }
}

fn capacity_16(answer: &[u8], facts: &mut LunFacts) -> Result<(), CommandError> {
    let nonsense = || CommandError::Nonsense("READ CAPACITY (16)");
    let last = answer.first_chunk().map(|bytes| u64::from_be_bytes(*bytes)).ok_or_else(nonsense)?;
    let block = answer.get(8..).and_then(<[u8]>::first_chunk).ok_or_else(nonsense)?;
    facts.blocks = last.checked_add(1).ok_or_else(nonsense)?;
    facts.block = u32::from_be_bytes(*block);
    facts.thin = answer.get(14).is_some_and(|byte| byte & 0x80 != 0);
    Ok(())
}

fn capacity_10(answer: &[u8], facts: &mut LunFacts) -> Result<(), CommandError> {
    let nonsense = || CommandError::Nonsense("READ CAPACITY (10)");
    let last = answer.first_chunk().map(|bytes| u32::from_be_bytes(*bytes)).ok_or_else(nonsense)?;
    let block = answer.get(4..).and_then(<[u8]>::first_chunk).ok_or_else(nonsense)?;
    facts.blocks = u64::from(last) + 1;
    facts.block = u32::from_be_bytes(*block);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_disk_is_known_by_what_it_says() {
        let mut answer = vec![0, 0, 5, 2, 31, 0, 0, 0];
        answer.extend(b"ACME    ROADRUNNER\x1b[2J   1.0 ");
        let facts = standard_facts(&answer).expect("a disk");
        assert_eq!((facts.vendor.as_str(), facts.product.as_str()), ("ACME", "ROADRUNNER[2J"));
        for (first, told) in [(0x7f, "no such LUN"), (0x05, "type 0x05")] {
            answer[0] = first;
            let e = standard_facts(&answer).expect_err("no disk").to_string();
            assert!(e.contains(told), "{e}");
        }
        assert!(standard_facts(&[]).is_err());
    }

    #[test]
    fn the_designator_that_is_known_world_wide_wins() {
        let port = [0x61, 0x94, 0, 4, 0, 0, 0, 1];
        let t10 = [2, 1, 0, 4, b'A', b'B', b' ', b'C'];
        let naa = [1, 3, 0, 8, 0x60, 1, 2, 3, 4, 5, 6, 7];
        let page = |parts: &[&[u8]]| {
            let body = parts.concat();
            [&[0, 0x83, 0, body.len() as u8][..], &body].concat()
        };
        let check = |parts: &[&[u8]], wanted: Option<&str>| {
            assert_eq!(designator(&page(parts)).as_deref(), wanted);
        };
        check(&[&port, &t10, &naa], Some("naa.6001020304050607"));
        check(&[&port, &t10], Some("t10.AB C"));
        check(&[&port], None);
        check(&[&[1, 3, 0, 2, 0, 0]], None);
        check(&[&[1, 3, 0, 200, 0, 0]], None);
        assert_eq!(designator(&[]), None);
    }

    #[test]
    fn capacities_are_read_and_never_overflow() {
        let mut facts = LunFacts::default();
        assert!(capacity_10(&[0, 0, 1, 0, 0, 0, 2, 0], &mut facts).is_ok());
        assert_eq!((facts.blocks, facts.block, facts.size()), (257, 512, 257 * 512));
        let mut long = [0xff; 32];
        assert!(capacity_16(&long, &mut facts).is_err());
        long[7] = 0xfe;
        assert!(capacity_16(&long, &mut facts).is_ok());
        assert_eq!(facts.size(), u64::MAX);
        assert!(capacity_16(&long[..11], &mut facts).is_err());
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(answer in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut facts = LunFacts::default();
            let _ = (standard_facts(&answer).is_ok(), serial(&answer), designator(&answer));
            let _ = (capacity_10(&answer, &mut facts), capacity_16(&answer, &mut facts));
        }
    }
}

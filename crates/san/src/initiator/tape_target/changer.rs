//! The changer of a drive: what is where (READ ELEMENT STATUS), and moves.

use super::drive::TapeTrouble;
use crate::initiator::tape::{TapeClient, TapeData};

/// Room for the status of all elements of a large library.
const ROOM: usize = 1 << 20;

/// Elements of type storage, and data transfer.
const SLOT: u8 = 2;

/// An element of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its address.
    pub address: u16,
    /// It is a storage element.
    pub is_slot: bool,
    /// The cartridge in it.
    pub barcode: Option<String>,
    /// Where its cartridge came from.
    pub source: Option<u16>,
}

/// A session with a changer.
pub struct Changer(TapeClient);

impl Changer {
    /// Logs in.
    pub fn open(url: &str, initiator: &str) -> Result<Changer, TapeTrouble> {
        let opened = TapeClient::open_as(url, initiator).map_err(|e| e.to_string());
        let heard = opened.and_then(|mut client| {
            client.attentions().map_err(|e| e.to_string())?;
            Ok(Changer(client))
        });
        heard.map_err(|why| trouble(format!("the changer cannot be reached: {why}")))
    }

    /// What is where.
    pub fn elements(&mut self) -> Result<Vec<Element>, TapeTrouble> {
        let mut room = vec![0; ROOM];
        let [_, a, b, c] = (ROOM as u32).to_be_bytes();
        let cdb = [0xb8, 0x10, 0, 0, 0xff, 0xff, 0, a, b, c, 0, 0];
        let reply = self.0.command(&cdb, TapeData::In(&mut room)).map_err(|e| failed(&e))?;
        if let Some(sense) = reply.sense {
            return Err(trouble(format!("the changer does not say what is where: {sense}")));
        }
        Ok(elements(&room[..reply.moved]))
    }

    /// Puts the cartridge of a drive back: where it came from, or into a free slot.
    pub fn put_back(&mut self, elements: &[Element], drive: u16) -> Result<(), TapeTrouble> {
        let free = |one: &&Element| one.is_slot && one.barcode.is_none();
        let source = elements.iter().find(|one| one.address == drive).and_then(|one| one.source);
        let home =
            source.and_then(|home| elements.iter().filter(free).find(|one| one.address == home));
        let to = home.or_else(|| elements.iter().find(free));
        let to = to.ok_or_else(|| trouble("no slot of the library is free".to_owned()))?;
        self.move_medium(drive, to.address)
    }

    /// Moves a cartridge.
    pub fn move_medium(&mut self, from: u16, to: u16) -> Result<(), TapeTrouble> {
        self.0.move_medium(from, to).map_err(|e| failed(&e))
    }
}

fn trouble(text: String) -> TapeTrouble {
    TapeTrouble { text, errno: libc::EIO }
}

fn failed(error: &crate::initiator::CommandError) -> TapeTrouble {
    trouble(format!("the changer does not move a cartridge: {error}"))
}

/// Reads element status data; what is cut off is left out.
fn elements(data: &[u8]) -> Vec<Element> {
    let be16 = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]))
    };
    let mut all = Vec::new();
    let mut rest = data.get(8..).unwrap_or_default();
    while rest.len() >= 8 {
        let (kind, tagged, each) = (rest[0], rest[1] & 0x80 != 0, usize::from(be16(rest, 2)));
        let bytes = usize::from(be16(rest, 6)) | usize::from(rest[5]) << 16;
        let page = &rest[8..rest.len().min(8 + bytes)];
        for one in page.chunks_exact(each.max(12)) {
            let tag = one.get(12..44).filter(|_| tagged && one[2] & 1 != 0);
            let text = tag
                .map(|tag| String::from_utf8_lossy(tag).trim_end_matches([' ', '\0']).to_owned());
            let full = one[2] & 1 != 0;
            all.push(Element {
                address: be16(one, 0),
                is_slot: kind == SLOT,
                barcode: full.then(|| text.unwrap_or_default()),
                source: (one[9] & 0x80 != 0).then(|| be16(one, 10)),
            });
        }
        rest = rest.get(8 + bytes..).unwrap_or_default();
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By SMC-3, tables 21 to 25: a header, a page of one slot with a tag, and a page of one drive without one.
    #[test]
    fn element_status_is_read_page_by_page() {
        let mut data = vec![0x01, 0x00, 0, 2, 0, 0, 0, 0];
        data.extend([2, 0x80, 0, 52, 0, 0, 0, 52]);
        let mut slot = vec![0x04, 0x00, 0x09, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        slot.extend(b"WSP001L6                        \0\0\0\0\0\0\0\0");
        data.extend(slot);
        data.extend([4, 0, 0, 16, 0, 0, 0, 16]);
        data.extend([0x01, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x01, 0, 0, 0, 0]);
        let slot = Element {
            address: 0x400,
            is_slot: true,
            barcode: Some("WSP001L6".to_owned()),
            source: None,
        };
        let drive = Element {
            address: 0x100,
            is_slot: false,
            barcode: Some(String::new()),
            source: Some(0x401),
        };
        assert_eq!(elements(&data), [slot, drive]);
        for cut in 0..data.len() {
            let _ = elements(&data[..cut]);
        }
    }
}

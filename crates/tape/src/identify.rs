//! INQUIRY of drives and of the changer: standard data and vital product data pages (SPC-4, 6.6 and 7.8).

use crate::answer::{Outcome, be16, invalid_field, reply};
use iscsi::scsi::CdbBytes;

/// T10 vendor identification.
pub(crate) const VENDOR: &str = "WIRESPED";

/// What a unit says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    /// The device type: 0x01 sequential access, 0x08 medium changer.
    pub kind: u8,
    pub product: String,
    pub serial: String,
    /// SPC-4, SSC-3 or SMC-3, iSCSI, without claiming a version.
    pub versions: [u16; 3],
    /// The NAA designator.
    pub designator: [u8; 16],
    /// The iSCSI name of the target.
    pub target: String,
}

impl Naming {
    /// INQUIRY; `own`: the vital product data pages of the type.
    pub fn inquiry(
        &self,
        cdb: &CdbBytes,
        port: u16,
        own: &[(u8, Vec<u8>)],
        room: &mut [u8],
    ) -> Outcome {
        let allocation = usize::from(be16(cdb, 3));
        if cdb[1] & 1 == 0 {
            if cdb[2] != 0 {
                return Err(invalid_field(2).into());
            }
            return reply(&self.standard(), allocation, room);
        }
        let body = match cdb[2] {
            0x00 => {
                let mut codes = vec![0x00, 0x80, 0x83, 0x86];
                codes.extend(own.iter().map(|page| page.0));
                codes
            }
            0x80 => self.serial.clone().into_bytes(),
            0x83 => self.designators(port),
            0x86 => {
                let mut body = vec![0; 60];
                body[1] = 0x07; // HEADSUP, ORDSUP, SIMPSUP
                body
            }
            code => match own.iter().find(|page| page.0 == code) {
                Some(page) => page.1.clone(),
                None => return Err(invalid_field(2).into()),
            },
        };
        let [high, low] = (body.len() as u16).to_be_bytes();
        let mut page = vec![self.kind, cdb[2], high, low];
        page.extend(body);
        reply(&page, allocation, room)
    }

    fn standard(&self) -> Vec<u8> {
        let mut bytes = vec![0; 74];
        bytes[0] = self.kind;
        bytes[1] = 0x80; // RMB
        bytes[2] = 0x06; // SPC-4
        bytes[3] = 0x12; // HISUP, response data format 2
        bytes[4] = 69;
        bytes[7] = 0x02; // CMDQUE
        bytes[8..16].copy_from_slice(&padded::<8>(VENDOR));
        bytes[16..32].copy_from_slice(&padded::<16>(&self.product));
        bytes[32..36].copy_from_slice(&padded::<4>("1"));
        for (at, version) in self.versions.iter().enumerate() {
            bytes[58 + 2 * at..60 + 2 * at].copy_from_slice(&version.to_be_bytes());
        }
        bytes
    }

    /// Page 0x83: the unit by NAA and by T10 vendor, the port, and the device.
    fn designators(&self, port: u16) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut add = |codes: u8, kind: u8, designator: &[u8]| {
            bytes.extend([codes, kind, 0, designator.len() as u8]);
            bytes.extend(designator);
        };
        add(0x01, 0x03, &self.designator);
        add(0x02, 0x01, &self.vendor_designator());
        let [high, low] = port.to_be_bytes();
        add(0x51, 0x80 | 0x14, &[0, 0, high, low]);
        add(0x53, 0x80 | 0x18, &name_string(&format!("{},t,0x{port:04x}", self.target)));
        add(0x53, 0x80 | 0x28, &name_string(&self.target));
        bytes
    }

    /// Vendor, product and serial number, as READ ELEMENT STATUS names a drive.
    pub fn vendor_designator(&self) -> Vec<u8> {
        let mut bytes = padded::<8>(VENDOR).to_vec();
        bytes.extend(padded::<16>(&self.product));
        bytes.extend(self.serial.bytes());
        bytes
    }
}

/// Printable ASCII, padded with blanks.
pub(crate) fn padded<const N: usize>(text: &str) -> [u8; N] {
    let mut field = [b' '; N];
    let printable = text.bytes().filter(|letter| (0x20..0x7f).contains(letter));
    for (byte, letter) in field.iter_mut().zip(printable) {
        *byte = letter;
    }
    field
}

/// A SCSI name string.
fn name_string(name: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = name.bytes().take(251).collect();
    bytes.resize((bytes.len() / 4 + 1) * 4, 0);
    bytes
}

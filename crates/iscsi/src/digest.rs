//! CRC32C digests of headers and data (RFC 7143, section 13.1). On the wire a digest's bytes stand lowest first, as the
//! polynomial's bits do (RFC 3720, appendix B.4 shows the same).

use crate::pdu::{BHS_LEN, Bhs};

/// The digest of some bytes as it is sent.
pub fn of(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).to_le_bytes()
}

/// A digest that is taken over bytes in several pieces, padding included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Running(u32);

impl Running {
    /// Goes on with these bytes.
    #[must_use]
    pub fn and(self, bytes: &[u8]) -> Running {
        Running(crc32c::crc32c_append(self.0, bytes))
    }

    /// The digest of all of them as it is sent.
    pub fn bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }
}

/// A basic header with its digest behind it: what is sent of a PDU without additional header segments.
pub fn seal(bhs: &Bhs) -> [u8; BHS_LEN + 4] {
    let mut sealed = [0; BHS_LEN + 4];
    sealed[..BHS_LEN].copy_from_slice(bhs);
    sealed[BHS_LEN..].copy_from_slice(&of(bhs));
    sealed
}

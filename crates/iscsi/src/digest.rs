//! CRC32C digests of headers and data (RFC 7143, section 13.1). A digest is sent least significant byte first, like
//! the polynomial's bits (RFC 3720, appendix B.4 shows examples).

use crate::pdu::{BHS_LEN, Bhs};

/// The digest of some bytes in wire order.
pub fn of(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).to_le_bytes()
}

/// A digest over several pieces of data, padding included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunningDigest(u32);

impl RunningDigest {
    /// Adds these bytes.
    #[must_use]
    pub fn and(self, bytes: &[u8]) -> RunningDigest {
        RunningDigest(crc32c::crc32c_append(self.0, bytes))
    }

    /// The digest of all of them in wire order.
    pub fn bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }
}

/// A basic header followed by its digest: a complete PDU header without additional header segments.
pub fn seal(bhs: &Bhs) -> [u8; BHS_LEN + 4] {
    let mut sealed = [0; BHS_LEN + 4];
    sealed[..BHS_LEN].copy_from_slice(bhs);
    sealed[BHS_LEN..].copy_from_slice(&of(bhs));
    sealed
}

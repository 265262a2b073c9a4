//! Framing of login PDUs. There are no digests yet.

use super::LoginError;
use crate::pdu::{BHS_LEN, Bhs, Lengths, MAX_AHS, pad};

/// Most bytes of text in one login PDU: the default of MaxRecvDataSegmentLength.
pub const MAX_LOGIN_DATA: u32 = 8192;
/// Most bytes of one login PDU: a buffer of this size always holds a complete one.
pub const MAX_LOGIN_PDU: usize = BHS_LEN + MAX_AHS + MAX_LOGIN_DATA as usize;

/// A complete PDU.
pub(super) struct LoginPdu<'a> {
    pub bhs: Bhs,
    pub ahs: &'a [u8],
    pub data: &'a [u8],
    /// Length in bytes, padding included.
    pub len: usize,
}

/// The header, once it is complete.
pub(super) fn header(bytes: &[u8]) -> Option<Bhs> {
    bytes.first_chunk::<BHS_LEN>().copied()
}

/// The PDU at the beginning of `bytes`, once it is complete.
/// # Errors
/// Its header announces more bytes than a login PDU may have.
pub(super) fn frame(bytes: &[u8]) -> Result<Option<LoginPdu<'_>>, LoginError> {
    let Some(bhs) = header(bytes) else { return Ok(None) };
    let lengths = Lengths::of(&bhs);
    if lengths.data > MAX_LOGIN_DATA {
        return Err(LoginError::TooLong(lengths.data));
    }
    let rest = &bytes[BHS_LEN..];
    let Some((ahs, rest)) = rest.split_at_checked(lengths.ahs) else { return Ok(None) };
    let Some((data, rest)) = rest.split_at_checked(lengths.data as usize) else { return Ok(None) };
    let padding = usize::from(pad(lengths.data));
    let len = lengths.total(false, false);
    Ok((rest.len() >= padding).then_some(LoginPdu { bhs, ahs, data, len }))
}

/// A PDU with its text and padding.
pub(super) fn write(bhs: Bhs, text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BHS_LEN + text.len() + 3);
    bytes.extend(bhs);
    bytes.extend(text);
    bytes.extend(&[0; 3][..usize::from(pad(text.len() as u32))]);
    bytes
}

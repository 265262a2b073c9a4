//! Fields of command descriptor blocks and parameter lists. Reads are bounds-checked: `None` beyond the end.

/// A command descriptor block, padded with zeros (RFC 7143, 11.3.5). Longer ones (an additional header segment)
/// belong to unsupported commands; the first sixteen bytes suffice to refuse them.
pub type CdbBytes = [u8; 16];

/// Two bytes, most significant first.
pub(super) fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Four bytes, most significant first.
pub(super) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Eight bytes, most significant first.
pub(super) fn be64(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Two bytes of a CDB; `AT` is a compile-time constant.
pub(super) fn field16<const AT: usize>(cdb: &CdbBytes) -> u16 {
    const { assert!(AT + 2 <= 16) }
    u16::from_be_bytes([cdb[AT], cdb[AT + 1]])
}

/// Four bytes of a CDB.
pub(super) fn field32<const AT: usize>(cdb: &CdbBytes) -> u32 {
    const { assert!(AT + 4 <= 16) }
    u32::from_be_bytes([cdb[AT], cdb[AT + 1], cdb[AT + 2], cdb[AT + 3]])
}

/// Eight bytes of a CDB.
pub(super) fn field64<const AT: usize>(cdb: &CdbBytes) -> u64 {
    (u64::from(field32::<AT>(cdb)) << 32)
        | u64::from(u32::from_be_bytes(std::array::from_fn(|i| cdb[AT + 4 + i])))
}

//! The compact form's bytes: marks, variable-length integers, and where a trace came from. `docs/traces.md` describes it.

use std::collections::BTreeMap;

/// How a file begins; the last byte is the version.
pub(crate) const MAGIC: &[u8] = b"WSTRACE\x01";
/// How a file ends, after the place of its end block.
pub(crate) const END: &[u8] = b"WSTRCEND";
/// Marks of blocks.
pub(crate) const RECORDS: u8 = 1;
pub(crate) const LAST: u8 = 2;
/// Bytes of a block's head: mark, bytes, records, time, checksum.
pub(crate) const HEAD: usize = 1 + 4 + 4 + 8 + 4;
/// Records of a block at most.
pub(crate) const BLOCK_RECORDS: u32 = 16_384;
/// Bytes of a block, or of a text, at most.
pub(crate) const BLOCK_BYTES: usize = 1 << 21;

/// Flags of a record above its kind.
pub(crate) const FUA: u8 = 1 << 3;
pub(crate) const LATENCY: u8 = 1 << 4;
pub(crate) const DEVICE: u8 = 1 << 5;
pub(crate) const FOLLOWS: u8 = 1 << 6;
pub(crate) const ISSUER: u8 = 1 << 7;

/// Where a trace came from, as lines of `key value`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// What it was read from: a format's name, or how it was captured.
    pub source: String,
    /// What counts as an I/O: the layer that was looked at.
    pub layer: String,
    /// Whatever else is known.
    pub more: BTreeMap<String, String>,
}

impl Origin {
    pub(crate) fn text(&self) -> String {
        let one = |key: &str, value: &str| format!("{key} {}\n", line(value));
        let mut text = one("source", &self.source) + &one("layer", &self.layer);
        for (key, value) in &self.more {
            text += &one(key, value);
        }
        text
    }

    pub(crate) fn parse(text: &str) -> Origin {
        let mut origin = Origin::default();
        for (key, value) in text.lines().filter_map(|line| line.split_once(' ')) {
            match key {
                "source" => value.clone_into(&mut origin.source),
                "layer" => value.clone_into(&mut origin.layer),
                _ => {
                    origin.more.insert(key.to_owned(), value.to_owned());
                }
            }
        }
        origin
    }
}

/// A text as one line without what steers a terminal.
pub(crate) fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(4096).collect()
}

/// Appends an integer: seven bits a byte, the lowest first.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes an integer from the front; `None` where there is none.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A signed distance as an unsigned integer: small ones stay small.
pub(crate) fn fold(from: u64, to: u64) -> u64 {
    let distance = to.wrapping_sub(from) as i64;
    ((distance << 1) ^ (distance >> 63)) as u64
}

/// The reverse of [`fold`].
pub(crate) fn unfold(from: u64, folded: u64) -> u64 {
    let distance = (folded >> 1) as i64 ^ -((folded & 1) as i64);
    from.wrapping_add(distance as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_come_back() {
        for value in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut bytes = Vec::new();
            put(&mut bytes, value);
            assert_eq!(take(&mut &bytes[..]), Some(value));
            for from in [0, 5, u64::MAX] {
                assert_eq!(unfold(from, fold(from, value)), value);
            }
        }
        assert_eq!(take(&mut &[0x80, 0x80][..]), None, "cut off");
        assert_eq!(take(&mut &[0xff; 11][..]), None, "too long");
    }
}

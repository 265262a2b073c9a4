//! Parses sense data (SPC-4, 4.5): fixed and descriptor format, with any truncation.

use std::fmt;

/// Why a command failed, as reported by the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenseData {
    /// The sense key, 0 to 15.
    pub key: u8,
    /// Additional sense code (high byte) and its qualifier (low byte).
    pub code: u16,
    /// The INFORMATION field, if it is valid.
    pub information: Option<u64>,
    /// A deferred error: it concerns an earlier command.
    pub deferred: bool,
    /// FILEMARK (0x80), EOM (0x40) and ILI (0x20) of a sequential-access device.
    pub stream: u8,
}

impl SenseData {
    /// NOT READY.
    pub const NOT_READY: u8 = 0x2;
    /// UNIT ATTENTION: an event since the last command; this command was not executed.
    pub const UNIT_ATTENTION: u8 = 0x6;
    /// DATA PROTECT.
    pub const DATA_PROTECT: u8 = 0x7;

    /// Parses sense data; `None` if the format is not defined in SPC-4.
    pub fn parse(bytes: &[u8]) -> Option<SenseData> {
        let at = |n: usize| bytes.get(n).copied().unwrap_or(0);
        let format = at(0) & 0x7f;
        match format {
            0x70 | 0x71 => Some(SenseData {
                key: at(2) & 0x0f,
                code: u16::from_be_bytes([at(12), at(13)]),
                information: (at(0) & 0x80 != 0 && bytes.len() >= 7)
                    .then(|| u32::from_be_bytes([at(3), at(4), at(5), at(6)]).into()),
                deferred: format == 0x71,
                stream: at(2) & 0xe0,
            }),
            0x72 | 0x73 => Some(SenseData {
                key: at(1) & 0x0f,
                code: u16::from_be_bytes([at(2), at(3)]),
                information: information(bytes.get(8..).unwrap_or(&[])),
                deferred: format == 0x73,
                stream: descriptor(bytes.get(8..).unwrap_or(&[]), 0x04)
                    .and_then(|body| body.get(1))
                    .map_or(0, |bits| bits & 0xe0),
            }),
            _ => None,
        }
    }
}

/// The INFORMATION field of descriptor-format sense data.
fn information(rest: &[u8]) -> Option<u64> {
    let body = descriptor(rest, 0x00)?;
    let value = body.get(2..).and_then(<[u8]>::first_chunk)?;
    (body[0] & 0x80 != 0).then(|| u64::from_be_bytes(*value))
}

/// Finds a descriptor by its type; the bytes behind its head.
fn descriptor(mut rest: &[u8], wanted: u8) -> Option<&[u8]> {
    while let [kind, len, ..] = rest {
        let (this, after) = rest.split_at_checked(usize::from(*len) + 2)?;
        if *kind == wanted {
            return this.get(2..);
        }
        rest = after;
    }
    None
}

impl fmt::Display for SenseData {
    /// "illegal request (5h/2000h)".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = match self.key {
            0x0 => "no sense",
            0x1 => "recovered error",
            0x2 => "not ready",
            0x3 => "medium error",
            0x4 => "hardware error",
            0x5 => "illegal request",
            0x6 => "unit attention",
            0x7 => "data protect",
            0x8 => "blank check",
            0x9 => "vendor specific",
            0xa => "copy aborted",
            0xb => "aborted command",
            0xd => "volume overflow",
            0xe => "miscompare",
            0xf => "completed",
            _ => "reserved",
        };
        write!(f, "{key} ({:x}h/{:02x}h/{:02x}h)", self.key, self.code >> 8, self.code & 0xff)?;
        self.information.map_or(Ok(()), |information| write!(f, ", information {information}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(bytes: &[u8], text: Option<&str>) {
        assert_eq!(SenseData::parse(bytes).map(|sense| sense.to_string()).as_deref(), text);
    }

    #[test]
    fn both_formats_are_read() {
        let fixed = [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];
        check(&fixed, Some("illegal request (5h/20h/00h)"));
        let mut informed = fixed;
        (informed[0], informed[6]) = (0xf0, 9);
        check(&informed, Some("illegal request (5h/20h/00h), information 9"));
        check(&fixed[..3], Some("illegal request (5h/00h/00h)"));
        check(&[0x72, 6, 0x29, 0, 0, 0, 0, 0], Some("unit attention (6h/29h/00h)"));
        let described = [
            0x72, 0xe, 0x1d, 0, 0, 0, 0, 20, 2, 6, 0, 0, 0, 0, 0, 0, 0, 10, 0x80, 0, 0, 0, 0, 0, 0,
            0, 1, 0,
        ];
        check(&described, Some("miscompare (eh/1dh/00h), information 256"));
        check(&described[..27], Some("miscompare (eh/1dh/00h)"));
        check(&[], None);
        check(&[0x7f, 1], None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = SenseData::parse(&bytes).map(|sense| sense.to_string());
        }
    }
}

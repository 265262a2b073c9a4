//! Sense data (SPC-4, 4.5): why a command failed, and its two wire formats.

/// The sense key (SPC-4, 4.5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SenseKey {
    /// NO SENSE.
    NoSense = 0x0,
    /// RECOVERED ERROR: the command succeeded with a remark.
    RecoveredError = 0x1,
    /// NOT READY.
    NotReady = 0x2,
    /// MEDIUM ERROR: a read or write of the medium failed.
    MediumError = 0x3,
    /// HARDWARE ERROR: the device failed.
    HardwareError = 0x4,
    /// ILLEGAL REQUEST: the command or its parameters are invalid.
    IllegalRequest = 0x5,
    /// UNIT ATTENTION: an event since the last command of this nexus.
    UnitAttention = 0x6,
    /// DATA PROTECT: the blocks are write-protected.
    DataProtect = 0x7,
    /// BLANK CHECK: the end of the recorded data.
    BlankCheck = 0x8,
    /// COPY ABORTED: EXTENDED COPY ended early.
    CopyAborted = 0xa,
    /// ABORTED COMMAND.
    AbortedCommand = 0xb,
    /// VOLUME OVERFLOW: the medium is full.
    VolumeOverflow = 0xd,
    /// MISCOMPARE: compared data differs.
    Miscompare = 0xe,
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    /// The sense key.
    pub key: SenseKey,
    /// Additional sense code (high byte) and its qualifier (low byte).
    pub code: u16,
    /// The INFORMATION field: an offset or a block, depending on the code.
    pub information: Option<u64>,
    /// The invalid byte of the CDB (`true`) or of the parameters (`false`), perhaps with a bit: the field pointer.
    pub field: Option<(bool, u16, Option<u8>)>,
    /// FILEMARK (0x80), EOM (0x40) and ILI (0x20) of a sequential-access device.
    pub stream: u8,
}

impl Sense {
    /// A reason without further fields.
    pub const fn new(key: SenseKey, code: u16) -> Sense {
        Sense { key, code, information: None, field: None, stream: 0 }
    }

    /// Adds the INFORMATION field.
    #[must_use]
    pub const fn with_information(self, information: u64) -> Sense {
        Sense { information: Some(information), ..self }
    }

    /// Adds FILEMARK (0x80), EOM (0x40) or ILI (0x20).
    #[must_use]
    pub const fn with_stream(self, bits: u8) -> Sense {
        Sense { stream: self.stream | bits, ..self }
    }

    /// Adds a pointer to the invalid byte of the CDB, and to its highest invalid bit.
    #[must_use]
    pub const fn at_cdb(self, byte: u16, bit: Option<u8>) -> Sense {
        Sense { field: Some((true, byte, bit)), ..self }
    }

    /// Adds a pointer to the invalid byte of the parameters.
    #[must_use]
    pub const fn at_parameter(self, byte: u16) -> Sense {
        Sense { field: Some((false, byte, None)), ..self }
    }

    /// The bytes of the sense data as sent in a response: descriptor format if the control mode page requests it
    /// (D_SENSE), otherwise fixed format. Never more than [`Sense::LONGEST`] bytes.
    ///
    /// The fixed format has room for 32 bits of INFORMATION; a larger value is omitted (SPC-4, 4.5.3).
    pub fn encode(&self, descriptor: bool) -> Vec<u8> {
        if descriptor { self.descriptor() } else { self.fixed() }
    }

    /// The longest sense data, in bytes.
    pub const LONGEST: usize = 32;

    fn fixed(&self) -> Vec<u8> {
        let mut bytes = vec![0; 18];
        bytes[0] = 0x70;
        bytes[2] = self.key as u8 | self.stream;
        // A residue of a sequential-access device may be negative: two's complement in either width.
        let narrow = |wide: u64| match self.stream {
            0 => u32::try_from(wide).ok(),
            _ => i32::try_from(wide as i64).map(|residue| residue as u32).ok(),
        };
        if let Some(information) = self.information.and_then(narrow) {
            bytes[0] |= 0x80;
            bytes[3..7].copy_from_slice(&information.to_be_bytes());
        }
        bytes[7] = 10;
        bytes[12..14].copy_from_slice(&self.code.to_be_bytes());
        if let Some(specific) = self.specific() {
            bytes[15..18].copy_from_slice(&specific);
        }
        bytes
    }

    fn descriptor(&self) -> Vec<u8> {
        let [code, qualifier] = self.code.to_be_bytes();
        let mut bytes = vec![0x72, self.key as u8, code, qualifier, 0, 0, 0, 0];
        if let Some(information) = self.information {
            bytes.extend([0x00, 0x0a, 0x80, 0]);
            bytes.extend(information.to_be_bytes());
        }
        if let Some([flags, high, low]) = self.specific() {
            bytes.extend([0x02, 0x06, 0, 0, flags, high, low, 0]);
        }
        if self.stream != 0 {
            bytes.extend([0x04, 0x02, 0, self.stream]);
        }
        bytes[7] = (bytes.len() - 8) as u8;
        bytes
    }

    /// Sense-key-specific data: the field pointer (SPC-4, 4.5.2.4.2).
    fn specific(&self) -> Option<[u8; 3]> {
        let (cdb, byte, bit) = self.field?;
        let mut flags = 0x80 | if cdb { 0x40 } else { 0 };
        if let Some(bit) = bit {
            flags |= 0x08 | (bit & 7);
        }
        let [high, low] = byte.to_be_bytes();
        Some([flags, high, low])
    }
}

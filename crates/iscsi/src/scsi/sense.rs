//! Sense data (SPC-4, 4.5): why a command did not do what it says, and its two formats on the wire.

/// The coarse reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SenseKey {
    /// Nothing wrong.
    NoSense = 0x0,
    /// Not ready, and why.
    NotReady = 0x2,
    /// The medium could not be read or written.
    MediumError = 0x3,
    /// The device itself failed.
    HardwareError = 0x4,
    /// The command or its parameters ask for what cannot be.
    IllegalRequest = 0x5,
    /// Something happened since the last command of this nexus.
    UnitAttention = 0x6,
    /// The blocks may not be written.
    DataProtect = 0x7,
    /// EXTENDED COPY ended early.
    CopyAborted = 0xa,
    /// The command was aborted.
    AbortedCommand = 0xb,
    /// What was compared differs.
    Miscompare = 0xe,
}

/// Why a command did not do what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    /// The coarse reason.
    pub key: SenseKey,
    /// Additional sense code (high byte) and its qualifier (low byte).
    pub code: u16,
    /// The INFORMATION field: an offset or a block, as the code says.
    pub information: Option<u64>,
    /// The byte of the CDB (`true`) or of the parameters (`false`) that is wrong: the field pointer of
    /// sense-key-specific data, with the bit where one is meant.
    pub field: Option<(bool, u16, Option<u8>)>,
}

impl Sense {
    /// A reason with nothing more to say.
    pub const fn new(key: SenseKey, code: u16) -> Sense {
        Sense { key, code, information: None, field: None }
    }

    /// The same with the INFORMATION field.
    #[must_use]
    pub const fn with_information(self, information: u64) -> Sense {
        Sense { information: Some(information), ..self }
    }

    /// The same with a pointer to the byte of the CDB that is wrong, and to its highest wrong bit.
    #[must_use]
    pub const fn at_cdb(self, byte: u16, bit: Option<u8>) -> Sense {
        Sense { field: Some((true, byte, bit)), ..self }
    }

    /// The same with a pointer to the byte of the parameters that is wrong.
    #[must_use]
    pub const fn at_parameter(self, byte: u16) -> Sense {
        Sense { field: Some((false, byte, None)), ..self }
    }

    /// The bytes of the sense data, as a response carries them: in descriptor format if the control mode page asks for
    /// it (D_SENSE), in fixed format otherwise. Never more than [`Sense::LONGEST`] bytes.
    ///
    /// The fixed format has room for 32 bits of INFORMATION; a larger figure is left out of it (SPC-4, 4.5.3).
    pub fn encode(&self, descriptor: bool) -> Vec<u8> {
        if descriptor { self.descriptor() } else { self.fixed() }
    }

    /// The longest sense data, in bytes.
    pub const LONGEST: usize = 28;

    fn fixed(&self) -> Vec<u8> {
        let mut bytes = vec![0; 18];
        bytes[0] = 0x70;
        bytes[2] = self.key as u8;
        if let Some(information) = self.information.and_then(|wide| u32::try_from(wide).ok()) {
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

//! Sense data (SPC-4, 4.5): why a command did not do what it says.

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
}

//! What a logical unit is: its size, what it promises, and the names that it has on every path.

/// The largest data transfer of one command, in bytes (MAXIMUM TRANSFER LENGTH of the Block Limits page).
pub const LARGEST_TRANSFER: u32 = 8 << 20;
/// The longest WRITE SAME, in bytes.
pub(super) const LONGEST_SAME: u32 = 16 << 20;
/// The most blocks that one UNMAP gives back.
pub(super) const MOST_UNMAPPED: u32 = 1 << 20;
/// The most descriptors of one UNMAP.
pub(super) const MOST_UNMAP_DESCRIPTORS: u32 = 256;
/// The most blocks that one COMPARE AND WRITE compares.
pub(super) const MOST_COMPARED: u8 = 255;
/// T10 vendor identification.
pub(super) const VENDOR: &str = "WIRESPED";

/// The size of a logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes a logical block: 512 or 4096.
    pub block: u32,
    /// Logical blocks; at least one.
    pub blocks: u64,
}

impl Geometry {
    /// How many blocks a number of bytes makes.
    pub(super) fn blocks_in(self, bytes: u32) -> u32 {
        bytes / self.block.max(1)
    }
}

/// What a logical unit is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Its size.
    pub geometry: Geometry,
    /// Space is taken when written and given back by UNMAP; what was given back reads as zeros.
    pub thin: bool,
    /// Nothing may be written.
    pub read_only: bool,
    /// Writes are acknowledged before they are on the backing store (the default of WCE).
    pub write_back: bool,
    /// Whoever owns the device stores [`super::Unit::kept`] when told to, and restores it (PTPL_C).
    pub keeps_reservations: bool,
    /// Names the logical unit on every path and over restarts. At most 64 printable ASCII characters are shown.
    pub serial: String,
    /// PRODUCT IDENTIFICATION: at most 16 characters are shown.
    pub product: String,
    /// PRODUCT REVISION LEVEL: at most four characters are shown.
    pub revision: String,
}

impl Description {
    /// The NAA designator (SPC-4, 7.8.6.6.5): NAA 6h with a company identifier whose local bit is set, since nobody
    /// assigned one, and a hash of the serial number. Equal serial numbers are equal designators.
    pub fn designator(&self) -> [u8; 16] {
        let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d; // FNV-1a with 128 bits
        for byte in self.serial.bytes() {
            hash =
                (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        let company = 0x02_57_53_u128;
        ((0x6 << 124) | (company << 100) | (hash & ((1 << 100) - 1))).to_be_bytes()
    }
}

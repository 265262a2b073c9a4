//! The fixed properties of a logical unit: size, features and names.

/// Largest data transfer of one command in bytes (MAXIMUM TRANSFER LENGTH of the Block Limits page).
pub const LARGEST_TRANSFER: u32 = 8 << 20;
/// Longest WRITE SAME in bytes.
pub(super) const LONGEST_SAME: u32 = 16 << 20;
/// Most blocks that one UNMAP deallocates.
pub(super) const MOST_UNMAPPED: u32 = 1 << 20;
pub(super) const MOST_UNMAP_DESCRIPTORS: u32 = 256;
/// Most blocks that one COMPARE AND WRITE compares.
pub(super) const MOST_COMPARED: u8 = 255;
/// T10 vendor identification.
pub(super) const VENDOR: &str = "WIRESPED";

/// The size of a logical unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes in a logical block: 512 or 4096.
    pub block: u32,
    /// Number of logical blocks; at least one.
    pub blocks: u64,
}

impl Geometry {
    /// The number of whole blocks in a number of bytes.
    pub(super) fn blocks_in(self, bytes: u32) -> u32 {
        bytes / self.block.max(1)
    }
}

/// The fixed properties of a logical unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitDescription {
    /// Block size and number of blocks.
    pub geometry: Geometry,
    /// Thin provisioning: blocks are allocated when written and deallocated by UNMAP; those read as zeros.
    pub thin: bool,
    /// Write-protected.
    pub read_only: bool,
    /// Writes are acknowledged before they are on the backing store (the default of WCE).
    pub write_back: bool,
    /// The owner of the device stores [`super::LogicalUnit::stored_reservations`] on request, and restores it (PTPL_C).
    pub keeps_reservations: bool,
    /// Unit serial number: names the unit on every path and across restarts. Shown up to 64 printable ASCII characters.
    pub serial: String,
    /// PRODUCT IDENTIFICATION: up to 16 characters are shown.
    pub product: String,
    /// PRODUCT REVISION LEVEL: up to four characters are shown.
    pub revision: String,
}

impl UnitDescription {
    /// The NAA designator (SPC-4, 7.8.6.6.5): NAA 6h with a locally administered company identifier and a hash of the
    /// serial number. Equal serial numbers yield equal designators.
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

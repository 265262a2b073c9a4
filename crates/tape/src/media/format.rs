//! The bytes of a cartridge file. All figures are little-endian; every structure ends in the CRC-32C of what stands before
//! it. `docs/tape.md` describes the same for other programs; a change here is a new version there.

/// Version 1.
pub const MAGIC: [u8; 16] = *b"WIRESPEED TAPE\0\x01";
/// Where the first record begins.
pub const START: u64 = 4096;
/// Bytes of the identity.
pub const IDENTITY: usize = 512;
/// Where the two states stand, which are written in turn.
pub const STATES: [u64; 2] = [512, 1024];
/// Bytes of a state.
pub const STATE: usize = 64;
/// Bytes of a record's header.
pub const HEADER: usize = 48;
/// What a record begins with.
pub const RECORD: [u8; 4] = *b"WSTR";
/// The largest block.
pub const LARGEST_BLOCK: u32 = 8 << 20;
/// A data block.
pub const BLOCK: u8 = 1;
/// A filemark.
pub const FILEMARK: u8 = 2;
/// The content stands as it is.
pub const PLAIN: u8 = 0;
/// The content is one LZ4 block.
pub const LZ4: u8 = 1;

/// What a cartridge is; never changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Names it for ever.
    pub uuid: [u8; 16],
    /// The label, at most 32 characters of ASCII.
    pub barcode: String,
    /// The number of its LTO generation.
    pub generation: u8,
    /// Bytes of records that it takes.
    pub capacity: u64,
}

/// What had been made durable at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The higher of the two valid ones holds.
    pub sequence: u64,
    /// Blocks and filemarks.
    pub objects: u64,
    /// Filemarks.
    pub filemarks: u64,
    /// The byte behind the last record.
    pub end: u64,
    /// Counts how often recorded data was overwritten.
    pub epoch: u32,
}

/// The header of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// [`BLOCK`] or [`FILEMARK`].
    pub kind: u8,
    /// [`PLAIN`] or [`LZ4`].
    pub codec: u8,
    /// Objects before it: its logical object identifier.
    pub object: u64,
    /// Filemarks before it: its logical file identifier.
    pub filemarks: u64,
    /// Bytes of its content.
    pub size: u32,
    /// Bytes that follow the header.
    pub stored: u32,
    /// CRC-32C of these.
    pub payload: u32,
    /// The CRC of the header before it; of the identity, for the first.
    pub previous: u32,
    /// The epoch in which it was written.
    pub epoch: u32,
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

/// Puts the CRC at the end; returns it.
fn seal(bytes: &mut [u8]) -> u32 {
    let end = bytes.len() - 4;
    let crc = crc32c::crc32c(&bytes[..end]);
    bytes[end..].copy_from_slice(&crc.to_le_bytes());
    crc
}

/// The CRC at the end, if it is right.
fn sealed(bytes: &[u8]) -> Option<u32> {
    let end = bytes.len() - 4;
    let crc = u32_at(bytes, end);
    (crc32c::crc32c(&bytes[..end]) == crc).then_some(crc)
}

impl Identity {
    /// Its bytes and their CRC.
    pub fn encode(&self) -> ([u8; IDENTITY], u32) {
        let mut bytes = [0; IDENTITY];
        bytes[..16].copy_from_slice(&MAGIC);
        bytes[16..32].copy_from_slice(&self.uuid);
        let barcode = &self.barcode.as_bytes()[..self.barcode.len().min(32)];
        bytes[32..32 + barcode.len()].copy_from_slice(barcode);
        bytes[64] = self.generation;
        bytes[72..80].copy_from_slice(&self.capacity.to_le_bytes());
        let crc = seal(&mut bytes);
        (bytes, crc)
    }

    /// Reads it, and its CRC; `None` for what is no cartridge of this version.
    pub fn decode(bytes: &[u8; IDENTITY]) -> Option<(Identity, u32)> {
        let crc = sealed(bytes).filter(|_| bytes[..16] == MAGIC)?;
        let label = &bytes[32..64];
        let end = label.iter().position(|byte| *byte == 0).unwrap_or(32);
        let barcode = std::str::from_utf8(&label[..end]).ok()?;
        let fine = |c: char| c.is_ascii_graphic();
        if barcode.is_empty() || !barcode.chars().all(fine) {
            return None;
        }
        let identity = Identity {
            uuid: std::array::from_fn(|i| bytes[16 + i]),
            barcode: barcode.to_owned(),
            generation: bytes[64],
            capacity: u64_at(bytes, 72),
        };
        Some((identity, crc))
    }
}

impl State {
    /// Its bytes.
    pub fn encode(&self) -> [u8; STATE] {
        let mut bytes = [0; STATE];
        bytes[0..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.objects.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.filemarks.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.end.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.epoch.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// Reads it; `None` if it is damaged.
    pub fn decode(bytes: &[u8; STATE]) -> Option<State> {
        sealed(bytes)?;
        let state = State {
            sequence: u64_at(bytes, 0),
            objects: u64_at(bytes, 8),
            filemarks: u64_at(bytes, 16),
            end: u64_at(bytes, 24),
            epoch: u32_at(bytes, 32),
        };
        (state.end >= START && state.filemarks <= state.objects).then_some(state)
    }
}

impl Header {
    /// Its bytes and their CRC.
    pub fn encode(&self) -> ([u8; HEADER], u32) {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(&RECORD);
        bytes[4] = self.kind;
        bytes[5] = self.codec;
        bytes[8..16].copy_from_slice(&self.object.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.filemarks.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.size.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.stored.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.payload.to_le_bytes());
        bytes[36..40].copy_from_slice(&self.previous.to_le_bytes());
        bytes[40..44].copy_from_slice(&self.epoch.to_le_bytes());
        let crc = seal(&mut bytes);
        (bytes, crc)
    }

    /// Reads it, and its CRC; `None` if it is damaged or impossible.
    pub fn decode(bytes: &[u8; HEADER]) -> Option<(Header, u32)> {
        let crc = sealed(bytes).filter(|_| bytes[..4] == RECORD)?;
        let header = Header {
            kind: bytes[4],
            codec: bytes[5],
            object: u64_at(bytes, 8),
            filemarks: u64_at(bytes, 16),
            size: u32_at(bytes, 24),
            stored: u32_at(bytes, 28),
            payload: u32_at(bytes, 32),
            previous: u32_at(bytes, 36),
            epoch: u32_at(bytes, 40),
        };
        let fine = match (header.kind, header.codec) {
            (BLOCK, PLAIN) => header.size == header.stored && header.size > 0,
            (BLOCK, LZ4) => header.stored < header.size,
            (FILEMARK, PLAIN) => header.size == 0 && header.stored == 0,
            _ => false,
        };
        (fine && header.size <= LARGEST_BLOCK && header.filemarks <= header.object)
            .then_some((header, crc))
    }
}

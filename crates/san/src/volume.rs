//! What is served: memory, files and devices behind one face.

/// What a volume says of itself to whoever describes it (the device server).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Bytes a logical block: 512 or 4096.
    pub block: u32,
    /// Logical blocks.
    pub blocks: u64,
    /// Space is taken when written and given back by UNMAP.
    pub thin: bool,
    /// Nothing may be written.
    pub read_only: bool,
    /// Acknowledged before it is on the backing store, unless FUA or SYNCHRONIZE CACHE ask for it.
    pub write_back: bool,
    /// The unit serial number: names the volume on every path, and over restarts.
    pub serial: String,
}

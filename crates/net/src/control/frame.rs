//! Framing: a length of four bytes, little-endian, and so many bytes of JSON. Excessive lengths and invalid messages are errors
//! at once; memory is allocated only for bytes that have arrived.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a message before the peer has shown who it is.
const SMALL: usize = 1 << 10;
/// Bytes of any message.
pub(crate) const LARGE: usize = 4 << 20;
/// Bytes of a length.
const LENGTH: usize = 4;

/// What has arrived and was not heard yet.
#[derive(Debug)]
pub(crate) struct FrameBuffer {
    bytes: Vec<u8>,
    bound: usize,
}

impl FrameBuffer {
    /// An empty buffer of an unauthenticated peer.
    pub(crate) fn new() -> FrameBuffer {
        FrameBuffer { bytes: Vec::new(), bound: SMALL }
    }

    /// The peer is authenticated: its messages may be longer.
    pub(crate) fn trust(&mut self) {
        self.bound = LARGE;
    }

    /// Takes in what has arrived.
    pub(crate) fn arrived(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, if it has arrived; why it is none, where it is none.
    pub(crate) fn next<M: DeserializeOwned>(&mut self) -> Result<Option<M>, String> {
        let Some(length) = self.bytes.first_chunk::<LENGTH>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > self.bound {
            return Err(format!("a message of {length} bytes, with {} allowed", self.bound));
        }
        let Some(body) = self.bytes.get(LENGTH..LENGTH + length) else { return Ok(None) };
        let message = serde_json::from_slice(body).map_err(|e| e.to_string())?;
        self.bytes.drain(..LENGTH + length);
        Ok(Some(message))
    }
}

/// A message with its length before it.
pub(crate) fn frame(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = vec![0; LENGTH];
    serde_json::to_writer(&mut bytes, message)?;
    let length = (bytes.len() - LENGTH) as u32;
    bytes[..LENGTH].copy_from_slice(&length.to_le_bytes());
    Ok(bytes)
}

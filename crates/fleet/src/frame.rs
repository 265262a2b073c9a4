//! Messages as bytes: a length of four bytes (big-endian), then that many bytes of MessagePack with named fields.
//!
//! The other end is not trusted: whatever arrives, decoding ends in a message or in a [`FrameError`], never in a panic,
//! and never takes memory for bytes that were announced and did not come. The form is the usual one of length-delimited
//! codecs; named fields cost some bytes and let versions differ.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};
use thiserror::Error;

/// The longest message in bytes, without its length.
pub const FRAME_MAX: usize = 64 << 20;

/// Why a message could not be written or read.
#[derive(Debug, Error)]
pub enum FrameError {
    /// Reading or writing failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The bytes ended within a message.
    #[error("the connection ended within a message, after {had} of {len} bytes")]
    Truncated {
        /// Bytes that the message should have had, its length included.
        len: usize,
        /// Bytes that came.
        had: usize,
    },
    /// A length beyond [`FRAME_MAX`].
    #[error("a message of {len} bytes exceeds the limit of {FRAME_MAX} bytes")]
    TooLong {
        /// The length.
        len: usize,
    },
    /// The bytes are not a message of ours.
    #[error("not a message of this protocol: {0}")]
    Garbage(String),
    /// A message that has no form as bytes.
    #[error("a message could not be encoded: {0}")]
    Encode(String),
}

/// Writes one message; `scratch` is reused from message to message.
/// # Errors
/// A message that cannot be encoded or is too long, or a failed write.
pub fn write<M: Serialize>(
    out: &mut impl Write,
    message: &M,
    scratch: &mut Vec<u8>,
) -> Result<(), FrameError> {
    scratch.clear();
    scratch.extend_from_slice(&[0; 4]);
    rmp_serde::encode::write_named(scratch, message)
        .map_err(|e| FrameError::Encode(e.to_string()))?;
    let len = scratch.len() - 4;
    let header = u32::try_from(len).ok().filter(|_| len <= FRAME_MAX);
    let header = header.ok_or(FrameError::TooLong { len })?;
    scratch[..4].copy_from_slice(&header.to_be_bytes());
    out.write_all(scratch)?;
    Ok(out.flush()?)
}

/// Reads one message; `None` where the bytes end before it, as they do when the other end has closed.
/// # Errors
/// A message that is cut off, too long or cannot be decoded, or a failed read.
pub fn read<M: DeserializeOwned>(input: &mut impl Read) -> Result<Option<M>, FrameError> {
    let mut header = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut header)?;
    if header.is_empty() {
        return Ok(None);
    }
    let Ok(header) = <[u8; 4]>::try_from(header.as_slice()) else {
        return Err(FrameError::Truncated { len: 4, had: header.len() });
    };
    let len = u32::from_be_bytes(header) as usize;
    if len > FRAME_MAX {
        return Err(FrameError::TooLong { len });
    }
    // Grows with what arrives, not with what was announced.
    let mut body = Vec::new();
    input.by_ref().take(len as u64).read_to_end(&mut body)?;
    if body.len() < len {
        return Err(FrameError::Truncated { len: 4 + len, had: 4 + body.len() });
    }
    decode(&body).map(Some)
}

/// A message as bytes, without its length: for carriers that keep messages apart themselves.
/// # Errors
/// A message that cannot be encoded or is too long.
pub fn encode<M: Serialize>(message: &M) -> Result<Vec<u8>, FrameError> {
    let bytes =
        rmp_serde::encode::to_vec_named(message).map_err(|e| FrameError::Encode(e.to_string()))?;
    match bytes.len() {
        0..=FRAME_MAX => Ok(bytes),
        len => Err(FrameError::TooLong { len }),
    }
}

/// The message that these bytes are.
/// # Errors
/// Where they are not one message of ours.
pub fn decode<M: DeserializeOwned>(body: &[u8]) -> Result<M, FrameError> {
    let mut bytes = rmp_serde::Deserializer::new(body);
    let message = M::deserialize(&mut bytes).map_err(|e| FrameError::Garbage(e.to_string()))?;
    match bytes.get_ref().len() {
        0 => Ok(message),
        more => Err(FrameError::Garbage(format!("{more} bytes follow the message in its frame"))),
    }
}

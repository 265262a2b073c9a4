//! CHAP in iSCSI (RFC 7143, section 12.1.3; RFC 1994): algorithms, secrets, challenges, and the encoding of binary
//! values. The login decides the order of the exchange.
//!
//! Secrets are never printed, and are compared in constant time. Challenges are arguments: no random numbers here.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use sha3::Sha3_256;
use subtle::ConstantTimeEq;

/// Most bytes of a binary value (RFC 7143, section 6.1).
pub const MAX_BINARY: usize = 1024;
/// Most bytes of a secret.
pub const MAX_SECRET: usize = 256;
/// A secret with fewer bytes than this (96 bits) can be guessed from captured traffic (RFC 7143, section 9.2.1).
pub const SHORT_SECRET: usize = 12;

/// Why an exchange failed, or its configuration is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChapError {
    /// A binary value that is neither `0x…` nor `0b…`, or that has invalid digits.
    #[error("a binary value is neither 0x and hexadecimal digits nor 0b and base64")]
    Encoding,
    /// A binary value that is too long, or empty.
    #[error("a binary value has {0} bytes, not 1 to {MAX_BINARY}")]
    Length(usize),
    /// A CHAP identifier that is not a number from 0 to 255.
    #[error("CHAP_I is not a number from 0 to 255")]
    Identifier,
    /// The ends have no algorithm in common.
    #[error(
        "no common algorithm: this end supports 5 (MD5), 6 (SHA-1), 7 (SHA-256) and 8 (SHA3-256)"
    )]
    Algorithm,
    /// The response does not match the secret, or the name is unknown.
    #[error("the name or the secret is wrong")]
    Proof,
    /// The other end returned the challenge that it had received.
    #[error("the other end reflected the challenge, so it may not know the secret")]
    Reflected,
    /// The secrets of both directions are equal.
    #[error("both directions use the same secret: each needs its own")]
    SameSecret,
    /// A secret that is empty or too long.
    #[error("a secret has {0} bytes, not 1 to {MAX_SECRET}")]
    Secret(usize),
}

/// A hash algorithm of CHAP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// 5, which every end must support.
    Md5,
    /// 6.
    Sha1,
    /// 7.
    Sha256,
    /// 8.
    Sha3,
}

impl Algorithm {
    /// All algorithms, strongest first.
    pub const ALL: [Algorithm; 4] =
        [Algorithm::Sha3, Algorithm::Sha256, Algorithm::Sha1, Algorithm::Md5];

    /// The algorithms that an initiator offers, in this order; the target chooses the first that it supports. The
    /// strongest is first. MD5, which every target supports, precedes the numbers whose meaning varies: for targets
    /// derived from IET, such as `tgt`, 7 is SHA-1, and a login that chooses it fails.
    pub const OFFERED: [Algorithm; 4] =
        [Algorithm::Sha3, Algorithm::Md5, Algorithm::Sha256, Algorithm::Sha1];

    /// Its number in `CHAP_A`.
    pub const fn number(self) -> u8 {
        match self {
            Algorithm::Md5 => 5,
            Algorithm::Sha1 => 6,
            Algorithm::Sha256 => 7,
            Algorithm::Sha3 => 8,
        }
    }

    /// Looks up an algorithm by its number in text form.
    pub fn parse(number: &str) -> Option<Algorithm> {
        let number = crate::text::number(number)?;
        Algorithm::ALL.into_iter().find(|algorithm| u32::from(algorithm.number()) == number)
    }

    /// The hash of the identifier, the secret and the challenge.
    fn hash(self, id: u8, secret: &Secret, challenge: &[u8]) -> Vec<u8> {
        fn over<D: Digest>(id: u8, secret: &Secret, challenge: &[u8]) -> Vec<u8> {
            let hash = D::new().chain_update([id]).chain_update(&secret.0);
            hash.chain_update(challenge).finalize().to_vec()
        }
        match self {
            Algorithm::Md5 => over::<Md5>(id, secret, challenge),
            Algorithm::Sha1 => over::<Sha1>(id, secret, challenge),
            Algorithm::Sha256 => over::<Sha256>(id, secret, challenge),
            Algorithm::Sha3 => over::<Sha3_256>(id, secret, challenge),
        }
    }
}

/// A shared secret.
#[derive(Clone)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Makes a secret of these bytes.
    /// # Errors
    /// The secret is empty or longer than [`MAX_SECRET`].
    pub fn new(bytes: &[u8]) -> Result<Secret, ChapError> {
        match bytes.len() {
            1..=MAX_SECRET => Ok(Secret(bytes.into())),
            len => Err(ChapError::Secret(len)),
        }
    }

    /// Whether it is shorter than [`SHORT_SECRET`].
    pub fn is_short(&self) -> bool {
        self.0.len() < SHORT_SECRET
    }

    /// Whether both are equal; the time depends on their lengths only.
    pub fn matches(&self, other: &Secret) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A user name with its secret.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// `CHAP_N`.
    pub name: String,
    /// The secret.
    pub secret: Secret,
}

/// A challenge to the other end. It must never be used twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// `CHAP_I`.
    pub id: u8,
    /// `CHAP_C`: 256 bits, as long as the longest hash.
    pub bytes: [u8; 32],
}

impl Challenge {
    /// Whether `response` is the hash of this challenge with the secret.
    pub fn is_met(&self, algorithm: Algorithm, secret: &Secret, response: &[u8]) -> bool {
        algorithm.hash(self.id, secret, &self.bytes).ct_eq(response).into()
    }
}

/// The response to the other end's challenge.
pub fn respond(algorithm: Algorithm, id: u8, secret: &Secret, challenge: &[u8]) -> Vec<u8> {
    algorithm.hash(id, secret, challenge)
}

/// Parses an identifier: a number from 0 to 255.
/// # Errors
/// The value is not such a number.
pub fn identifier(value: &str) -> Result<u8, ChapError> {
    let number = crate::text::number(value).ok_or(ChapError::Identifier)?;
    u8::try_from(number).map_err(|_| ChapError::Identifier)
}

/// Some peers omit the padding of base64.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Decodes a binary value: `0x` and hexadecimal digits (padded with a leading zero if odd), or `0b` and base64.
/// # Errors
/// The value is neither, is empty, or has more than [`MAX_BINARY`] bytes.
pub fn decode(value: &str) -> Result<Vec<u8>, ChapError> {
    // More characters than this are too many in either encoding; refuse them before allocating.
    if value.len() > 2 + 2 * MAX_BINARY {
        return Err(ChapError::Length(value.len() / 2));
    }
    let bytes = match value.split_at_checked(2) {
        Some(("0x" | "0X", digits)) => decode_hex(digits).ok_or(ChapError::Encoding)?,
        Some(("0b" | "0B", digits)) => BASE64.decode(digits).map_err(|_| ChapError::Encoding)?,
        _ => return Err(ChapError::Encoding),
    };
    match bytes.len() {
        1..=MAX_BINARY => Ok(bytes),
        len => Err(ChapError::Length(len)),
    }
}

fn decode_hex(digits: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (odd, pairs) = digits.as_bytes().split_at(digits.len() % 2);
    let first = odd.iter().map(|&low| digit(low));
    let rest = pairs.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
    first.chain(rest).collect()
}

/// Encodes a binary value in hexadecimal, which every peer reads.
pub fn encode(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16));
    "0x".chars().chain(digits).collect()
}

/// Encodes a binary value in base64, which is shorter.
pub fn encode_base64(bytes: &[u8]) -> String {
    format!("0b{}", BASE64.encode(bytes))
}

//! Who may use a receiver. A token never travels: the sender shows with HMAC-SHA-256 (RFC 2104) over both ends' chance that
//! it knows it. That keeps strangers out; it does not hide or sign what follows.

use super::Nonce;
use crate::NetError;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;

/// The versions of the messages that this program speaks, lowest and highest.
pub const VERSIONS: (u16, u16) = (2, 2);

/// Bytes of a token, at least: what chance of eight bytes in hexadecimal digits has.
const SHORTEST: usize = 16;
const LONGEST: usize = 256;

/// A secret that both ends know. It is never printed.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Secret {
    /// Takes a token of 16 to 256 bytes.
    /// # Errors
    /// [`NetError::Spec`] where it is shorter or longer.
    pub fn new(bytes: &[u8]) -> Result<Secret, NetError> {
        if (SHORTEST..=LONGEST).contains(&bytes.len()) {
            return Ok(Secret(bytes.to_vec()));
        }
        Err(NetError::Spec(format!(
            "a token has {SHORTEST} to {LONGEST} bytes, not {}; `openssl rand -hex 16` makes one",
            bytes.len()
        )))
    }
}

fn mac(token: &Secret, receiver: &Nonce, sender: &Nonce) -> Option<Hmac<Sha256>> {
    let mut mac = Hmac::<Sha256>::new_from_slice(&token.0).ok()?;
    mac.update(b"wirespeed net 1 sender");
    mac.update(receiver);
    mac.update(sender);
    Some(mac)
}

/// That `token` is known, for these nonces alone.
pub(crate) fn prove(token: &Secret, receiver: &Nonce, sender: &Nonce) -> [u8; 32] {
    mac(token, receiver, sender).map_or([0; 32], |mac| mac.finalize().into_bytes().into())
}

/// Whether `proof` shows that; takes the same time whatever is wrong with it.
pub(crate) fn is_proven(
    proof: &[u8; 32],
    token: &Secret,
    receiver: &Nonce,
    sender: &Nonce,
) -> bool {
    mac(token, receiver, sender).is_some_and(|mac| mac.verify_slice(proof).is_ok())
}

/// Sixteen random bytes.
pub(crate) fn fresh() -> Result<Nonce, NetError> {
    let mut nonce = Nonce::default();
    clock::unpredictable(&mut nonce).map_err(NetError::socket("chance from the kernel"))?;
    Ok(nonce)
}

/// The highest version that both speak.
pub(crate) fn agree(theirs: (u16, u16)) -> Option<u16> {
    let version = theirs.1.min(VERSIONS.1);
    (version >= theirs.0.max(VERSIONS.0)).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_proves_and_only_once() {
        let token = Secret::new(b"sixteen bytes or").unwrap();
        let other = Secret::new(b"sixteen bytes of").unwrap();
        let (a, b, c) = ([1; 16], [2; 16], [3; 16]);
        let proof = prove(&token, &a, &b);
        assert!(is_proven(&proof, &token, &a, &b));
        for (token, a, b) in [(&other, a, b), (&token, c, b), (&token, a, c), (&token, b, a)] {
            assert!(!is_proven(&proof, token, &a, &b));
        }
        assert!(!is_proven(&[0; 32], &token, &a, &b));
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn tokens_that_can_be_guessed_are_refused() {
        for len in [0, 1, 15, 257] {
            assert!(Secret::new(&vec![b'x'; len]).is_err(), "{len}");
        }
        assert!(Secret::new(&[b'x'; 16]).is_ok() && Secret::new(&[b'x'; 256]).is_ok());
    }

    #[test]
    fn versions_agree_on_the_highest_common_one() {
        let (low, high) = VERSIONS;
        assert_eq!(agree((low, high)), Some(high));
        assert_eq!(agree((0, u16::MAX)), Some(high));
        assert_eq!(agree((high + 1, u16::MAX)), None);
        assert_eq!(agree((0, low - 1)), None);
        assert_eq!(agree((u16::MAX, 0)), None);
    }
}

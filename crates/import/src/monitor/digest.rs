//! The digest of a file while it is read: provenance of what was explained.

use sha2::{Digest, Sha256};
use std::io::{BufRead, Read, Result};

/// Passes bytes on and digests them.
pub struct Digested<R> {
    from: R,
    hash: Sha256,
}

impl<R: BufRead> Digested<R> {
    /// Digests what is read of `from`.
    pub fn new(from: R) -> Digested<R> {
        Digested { from, hash: Sha256::new() }
    }

    /// The SHA-256 of all bytes, those that the reader left included, in hexadecimal.
    /// # Errors
    /// Where the rest cannot be read.
    pub fn digest(mut self) -> Result<String> {
        loop {
            let taken = self.fill_buf()?.len();
            if taken == 0 {
                break;
            }
            self.consume(taken);
        }
        Ok(self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl<R: BufRead> Read for Digested<R> {
    fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        let bytes = self.from.fill_buf()?;
        let taken = bytes.len().min(out.len());
        out[..taken].copy_from_slice(&bytes[..taken]);
        self.consume(taken);
        Ok(taken)
    }
}

impl<R: BufRead> BufRead for Digested<R> {
    fn fill_buf(&mut self) -> Result<&[u8]> {
        self.from.fill_buf()
    }

    fn consume(&mut self, taken: usize) {
        // What is consumed is at the front of what was filled.
        if let Ok(bytes) = self.from.fill_buf() {
            self.hash.update(&bytes[..taken.min(bytes.len())]);
        }
        self.from.consume(taken);
    }
}

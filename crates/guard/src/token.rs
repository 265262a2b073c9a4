//! The write token of one target: derived from the target's identity, so that it goes stale when another target takes its
//! place, or when its size changes.
//!
//! It protects from mistakes, not from malice: any user who can read the target's facts can compute it.

use sha2::{Digest, Sha256};

/// Crockford's base 32: no letter that looks like a digit.
const SYMBOLS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Symbols that are drawn from the digest; one more checks them.
const DRAWN: usize = 9;

/// A target's identity, as far as it is known: names and values in a fixed order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetIdentity(Vec<(&'static str, String)>);

/// What is wrong with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// No token at all, or one with a slip of the pen.
    Mistyped,
    /// The token of something else: of another target, or of this one before it changed.
    Stale,
}

impl TargetIdentity {
    /// Adds a fact.
    pub fn push(&mut self, name: &'static str, value: impl ToString) {
        self.0.push((name, value.to_string()));
    }

    fn digest(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        for (name, value) in &self.0 {
            // Lengths, so that no two lists of facts are the same text.
            for part in [name.as_bytes(), value.as_bytes()] {
                digest.update((part.len() as u64).to_le_bytes());
                digest.update(part);
            }
        }
        digest.finalize().into()
    }

    /// So much of the digest that no two targets share it.
    pub fn number(&self) -> (u64, u64) {
        let digest = self.digest();
        let word = |at: usize| (0..8).fold(0, |word, n| word << 8 | u64::from(digest[at + n]));
        (word(0), word(8))
    }

    /// The token, as in `ws-4k9dm-2xq7t`.
    pub fn token(&self) -> String {
        let digest = self.digest();
        let drawn: Vec<u8> = digest.iter().take(DRAWN).map(|byte| byte % 32).collect();
        let symbols: Vec<u8> =
            drawn.iter().chain([&check(&drawn)]).map(|n| SYMBOLS[usize::from(*n)]).collect();
        let text = String::from_utf8_lossy(&symbols);
        format!("ws-{}-{}", &text[..5], &text[5..])
    }

    /// Whether a token is this target's.
    pub fn matches(&self, token: &str) -> Result<(), Mismatch> {
        let given = numbers(token).ok_or(Mismatch::Mistyped)?;
        let own = numbers(&self.token());
        if own.as_ref() == Some(&given) { Ok(()) } else { Err(Mismatch::Stale) }
    }
}

/// The symbols of a token as numbers; `None` where they are none. Case, hyphens and look-alikes of digits do not
/// matter.
fn numbers(token: &str) -> Option<Vec<u8>> {
    let token = token.trim().to_ascii_lowercase();
    let body = token.strip_prefix("ws-")?;
    let number = |c: char| {
        let c = match c {
            'o' => '0',
            'i' | 'l' => '1',
            other => other,
        };
        SYMBOLS.iter().position(|symbol| char::from(*symbol) == c).map(|n| n as u8)
    };
    let all: Vec<u8> = body.chars().filter(|c| *c != '-').map(number).collect::<Option<_>>()?;
    let (last, drawn) = all.split_last()?;
    (drawn.len() == DRAWN && *last == check(drawn)).then_some(all)
}

/// A sum in which every place weighs differently, so that a wrong symbol and two exchanged ones both show.
fn check(drawn: &[u8]) -> u8 {
    let sum: u32 = drawn.iter().zip(0u32..).map(|(n, place)| u32::from(*n) * (2 * place + 1)).sum();
    (sum % 31) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(size: u64) -> TargetIdentity {
        let mut identity = TargetIdentity::default();
        identity.push("wwid", "eui.0025388b91d0a1b2");
        identity.push("size", size);
        identity
    }

    #[test]
    fn a_token_is_short_stable_and_typed_as_people_type() {
        let token = identity(1 << 30).token();
        assert_eq!(token, identity(1 << 30).token());
        assert_eq!((token.len(), &token[..3]), (14, "ws-"));
        for typed in [
            token.clone(),
            token.to_uppercase(),
            format!(" {token} "),
            token[..3].to_owned() + &token[3..].replace('-', ""),
        ] {
            assert_eq!(identity(1 << 30).matches(&typed), Ok(()), "{typed}");
        }
    }

    #[test]
    fn another_target_has_another_token() {
        let token = identity(1 << 30).token();
        assert_eq!(identity(1 << 31).matches(&token), Err(Mismatch::Stale));
        let mut renamed = TargetIdentity::default();
        renamed.push("serial", "eui.0025388b91d0a1b2");
        renamed.push("size", 1u64 << 30);
        assert_eq!(renamed.matches(&token), Err(Mismatch::Stale));
        let mut shifted = TargetIdentity::default();
        shifted.push("wwid", "eui.0025388b91d0a1b21073741824size");
        assert_ne!(shifted.token(), token);
    }

    #[test]
    fn every_slip_of_one_symbol_shows() {
        let identity = identity(4096);
        let token = identity.token();
        assert_eq!(identity.matches("yes"), Err(Mismatch::Mistyped));
        assert_eq!(identity.matches(""), Err(Mismatch::Mistyped));
        assert_eq!(identity.matches("ws-"), Err(Mismatch::Mistyped));
        assert_eq!(identity.matches(&format!("{token}0")), Err(Mismatch::Mistyped));
        for place in 3..token.len() {
            for symbol in SYMBOLS {
                let mut typed = token.clone().into_bytes();
                if typed[place] == b'-' || typed[place] == *symbol {
                    continue;
                }
                typed[place] = *symbol;
                let typed = String::from_utf8(typed).expect("ASCII");
                // A sum modulo 31 cannot distinguish the first symbol from the last: such a slip is stale instead.
                assert!(identity.matches(&typed).is_err(), "{typed}");
            }
        }
    }
}

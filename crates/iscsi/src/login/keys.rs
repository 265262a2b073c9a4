//! Login keys that are not operational: declarations of names, and authentication.

use super::LoginError;
use crate::text;

/// The authentication keys; each at most once in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SecurityKeys<'a> {
    pub auth_method: Option<&'a str>,
    pub chap_a: Option<&'a str>,
    pub chap_i: Option<&'a str>,
    pub chap_c: Option<&'a str>,
    pub chap_n: Option<&'a str>,
    pub chap_r: Option<&'a str>,
}

impl<'a> SecurityKeys<'a> {
    /// Stores a pair, if its key is one of these.
    /// # Errors
    /// The key is repeated, or its value is too long.
    pub fn take(&mut self, key: &str, value: &'a str) -> Result<bool, LoginError> {
        let (place, name, binary) = match key {
            "AuthMethod" => (&mut self.auth_method, "AuthMethod", false),
            "CHAP_A" => (&mut self.chap_a, "CHAP_A", false),
            "CHAP_I" => (&mut self.chap_i, "CHAP_I", false),
            "CHAP_C" => (&mut self.chap_c, "CHAP_C", true),
            "CHAP_N" => (&mut self.chap_n, "CHAP_N", false),
            "CHAP_R" => (&mut self.chap_r, "CHAP_R", true),
            _ => return Ok(false),
        };
        if !binary {
            text::plain(key, value)?;
        }
        match place.replace(value) {
            None => Ok(true),
            Some(_) => Err(LoginError::Repeated(name)),
        }
    }

    /// Refuses keys other than the allowed ones.
    /// # Errors
    /// The first key that is not allowed.
    pub fn only(&self, allowed: &[&str]) -> Result<(), LoginError> {
        let keys = [
            ("AuthMethod", self.auth_method),
            ("CHAP_A", self.chap_a),
            ("CHAP_I", self.chap_i),
            ("CHAP_C", self.chap_c),
            ("CHAP_N", self.chap_n),
            ("CHAP_R", self.chap_r),
        ];
        match keys.iter().find(|(name, value)| value.is_some() && !allowed.contains(name)) {
            None => Ok(()),
            Some((name, _)) => Err(LoginError::Misplaced((*name).to_owned())),
        }
    }
}

/// A mandatory value.
pub(super) fn needed<'a>(value: Option<&'a str>, key: &'static str) -> Result<&'a str, LoginError> {
    value.ok_or(LoginError::Missing(key))
}

/// A declaration that may be repeated with the same value: some initiators send their name in each stage.
pub(super) fn declare(
    place: &mut Option<String>,
    key: &'static str,
    value: &str,
) -> Result<(), LoginError> {
    text::plain(key, value)?;
    match place.as_deref() {
        Some(before) if before != value => Err(LoginError::Repeated(key)),
        Some(_) => Ok(()),
        None => {
            *place = Some(value.to_owned());
            Ok(())
        }
    }
}

//! Names of initiators and targets (RFC 7143, section 4.2.7).

/// Most bytes of a name.
pub const MAX_NAME: usize = 223;

/// Why a name is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty or too long.
    #[error("a name has 1 to {MAX_NAME} bytes, not {0}")]
    Length(usize),
    /// Unknown prefix.
    #[error("{0:?} does not begin with iqn., eui. or naa.")]
    Kind(String),
    /// Invalid character.
    #[error("{0:?} has a character other than letters, digits, '-', '.' and ':'")]
    Character(String),
}

/// A name of an initiator or a target in the RFC's lower-case form: equal names have equal texts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IscsiName(String);

impl IscsiName {
    /// The normalized name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for IscsiName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for IscsiName {
    type Err = NameError;

    fn from_str(name: &str) -> Result<IscsiName, NameError> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(NameError::Length(name.len()));
        }
        let name = name.to_lowercase();
        if !["iqn.", "eui.", "naa."].iter().any(|kind| name.starts_with(kind)) {
            return Err(NameError::Kind(name));
        }
        // Letters of other alphabets are allowed; '_' is not, but is in use.
        let allowed = |letter: char| letter.is_alphanumeric() || "-.:_".contains(letter);
        match name.len() <= MAX_NAME && name.chars().all(allowed) {
            true => Ok(IscsiName(name)),
            false => Err(NameError::Character(name)),
        }
    }
}

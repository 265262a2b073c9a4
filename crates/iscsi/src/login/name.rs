//! Names of initiators and targets (RFC 7143, section 4.2.7).

/// The most bytes of a name.
pub const MAX_NAME: usize = 223;

/// What is wrong with a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It is empty or too long.
    #[error("a name has 1 to {MAX_NAME} bytes, and this one has {0}")]
    Length(usize),
    /// It does not begin as one.
    #[error("{0:?} does not begin with iqn., eui. or naa.")]
    Kind(String),
    /// It has a character that names have not.
    #[error("{0:?} has a character other than letters, digits, '-', '.' and ':'")]
    Character(String),
}

/// A name of an initiator or a target, in the small letters to which the RFC brings all of them: two names are the same if,
/// and only if, their texts are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IscsiName(String);

impl IscsiName {
    /// The name.
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
        // Letters of other alphabets are allowed; '_' is not, and is used all the same.
        let allowed = |letter: char| letter.is_alphanumeric() || "-.:_".contains(letter);
        match name.len() <= MAX_NAME && name.chars().all(allowed) {
            true => Ok(IscsiName(name)),
            false => Err(NameError::Character(name)),
        }
    }
}

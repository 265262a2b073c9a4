//! `key=value` text of logins and Text PDUs (RFC 7143, section 6.1), with bounds on all lengths.
//!
//! Each pair ends in a zero byte. Text that does not fit into one PDU continues in the next (the C bit): [`Assembly`]
//! reassembles it. The meaning of keys is not known here.

/// Most bytes of a key's name.
pub const MAX_KEY: usize = 63;
/// Most bytes of a value: a binary one of 1,024 bytes in hexadecimal. For known keys callers apply [`MAX_PLAIN_VALUE`].
pub const MAX_VALUE: usize = 2 + 2 * 1024;
/// Most bytes of a value that is not binary.
pub const MAX_PLAIN_VALUE: usize = 255;
/// Most pairs of one text in a login, so that the answers to all of them fit into one PDU.
pub const MAX_LOGIN_PAIRS: usize = 64;

/// Why a text is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// The last pair does not end in a zero byte: the text is truncated.
    #[error("the text is truncated within a pair: each ends in a zero byte")]
    CutOff,
    /// A pair without `=`.
    #[error("a pair is not of the form key=value")]
    NoEquals,
    /// A key that is empty, too long, or has invalid characters.
    #[error("a key is not 1 to {MAX_KEY} letters, digits and .-+@_")]
    Key,
    /// A value that is too long.
    #[error("the value of {key} has {len} bytes, more than {max}")]
    Value {
        /// The key.
        key: String,
        /// Its length in bytes.
        len: usize,
        /// The most allowed.
        max: usize,
    },
    /// A value that is not UTF-8.
    #[error("the value of {0} is not UTF-8")]
    Encoding(String),
    /// More pairs than the reader allows.
    #[error("more than {0} pairs in one text")]
    TooMany(usize),
    /// More bytes over all PDUs than the reader allows.
    #[error("a text of more than {0} bytes")]
    TooLong(usize),
}

/// A key with its value.
pub type KeyValue<'a> = (&'a str, &'a str);

/// The pairs of a complete text, in order. Empty pairs, which some peers use as padding, are skipped.
/// # Errors
/// The first error in the text.
pub fn parse(text: &[u8], max_pairs: usize) -> Result<Vec<KeyValue<'_>>, TextError> {
    let mut pairs = Vec::new();
    let Some(text) = text.strip_suffix(&[0]) else {
        return if text.is_empty() { Ok(pairs) } else { Err(TextError::CutOff) };
    };
    for pair in text.split(|&byte| byte == 0).filter(|pair| !pair.is_empty()) {
        if pairs.len() == max_pairs {
            return Err(TextError::TooMany(max_pairs));
        }
        pairs.push(parse_pair(pair)?);
    }
    Ok(pairs)
}

fn parse_pair(pair: &[u8]) -> Result<KeyValue<'_>, TextError> {
    let equals = pair.iter().position(|&byte| byte == b'=').ok_or(TextError::NoEquals)?;
    let (key, value) = (&pair[..equals], &pair[equals + 1..]);
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b".-+@_#".contains(byte);
    if key.is_empty() || key.len() > MAX_KEY || !key.iter().all(allowed) {
        return Err(TextError::Key);
    }
    let key = std::str::from_utf8(key).map_err(|_| TextError::Key)?;
    limit(key, value, MAX_VALUE)?;
    let value = std::str::from_utf8(value).map_err(|_| TextError::Encoding(key.to_owned()))?;
    Ok((key, value))
}

fn limit(key: &str, value: &[u8], max: usize) -> Result<(), TextError> {
    match value.len() {
        len if len <= max => Ok(()),
        len => Err(TextError::Value { key: key.to_owned(), len, max }),
    }
}

/// Checks the length of a value that is not binary.
/// # Errors
/// It is longer than [`MAX_PLAIN_VALUE`].
pub fn plain(key: &str, value: &str) -> Result<(), TextError> {
    limit(key, value.as_bytes(), MAX_PLAIN_VALUE)
}

/// Appends a pair. Neither part may contain a zero byte, which would end the value.
pub fn push(text: &mut Vec<u8>, key: &str, value: &str) {
    debug_assert!(!key.contains('\0') && !value.contains('\0'), "a zero byte in {key}");
    text.extend(key.as_bytes());
    text.push(b'=');
    text.extend(value.as_bytes());
    text.push(0);
}

/// The values of a list, in order of preference.
pub fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',')
}

/// `Yes` or `No`.
pub fn boolean(value: &str) -> Option<bool> {
    match value {
        "Yes" => Some(true),
        "No" => Some(false),
        _ => None,
    }
}

/// A number in decimal or, after `0x`, in hexadecimal.
pub fn number(value: &str) -> Option<u32> {
    let (digits, radix) = match value.strip_prefix("0x").or_else(|| value.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (value, 10),
    };
    // `from_str_radix` would accept a sign.
    let digits = Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_alphanumeric()))?;
    u32::from_str_radix(digits, radix).ok()
}

/// Text that arrives in several PDUs.
#[derive(Clone, Debug)]
pub struct Assembly {
    bytes: Vec<u8>,
    limit: usize,
}

impl Assembly {
    /// Accepts at most this many bytes over all PDUs.
    pub fn new(limit: usize) -> Assembly {
        Assembly { bytes: Vec::new(), limit }
    }

    /// Appends the text of one PDU.
    /// # Errors
    /// It would exceed the limit; then nothing of it is kept.
    pub fn add(&mut self, segment: &[u8]) -> Result<(), TextError> {
        if segment.len() > self.limit - self.bytes.len() {
            return Err(TextError::TooLong(self.limit));
        }
        self.bytes.extend(segment);
        Ok(())
    }

    /// Returns the whole text and starts the next one.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }
}

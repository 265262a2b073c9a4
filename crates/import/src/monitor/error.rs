//! What is wrong with a monitoring file, and where.

use std::fmt;

/// A mistake at a place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Its line, from 1.
    pub line: u64,
    /// Its column in characters, from 1.
    pub column: u64,
    /// What is wrong, and what helps.
    pub text: String,
}

impl ReadError {
    /// A mistake.
    pub fn new(line: u64, column: u64, text: impl Into<String>) -> ReadError {
        ReadError { line, column, text: text.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.text)
    }
}

impl std::error::Error for ReadError {}

impl From<std::io::Error> for ReadError {
    fn from(error: std::io::Error) -> ReadError {
        ReadError::new(1, 1, format!("cannot be read: {error}"))
    }
}

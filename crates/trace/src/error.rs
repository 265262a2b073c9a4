//! Why a trace cannot be read: where, what is wrong, and what would help.

use std::fmt;

/// Where in the input a reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of text, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Byte(u64),
    /// The input as a whole.
    Whole,
}

/// Why a trace cannot be read.
#[derive(Debug)]
pub struct TraceError {
    /// Where.
    pub place: Place,
    /// What is wrong.
    pub problem: String,
    /// What would help, where something is known to.
    pub help: Option<String>,
}

impl TraceError {
    /// A mistake at a place.
    pub fn new(place: Place, problem: impl Into<String>) -> TraceError {
        TraceError { place, problem: problem.into(), help: None }
    }

    /// With what would help.
    #[must_use]
    pub fn help(self, help: impl Into<String>) -> TraceError {
        TraceError { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Line(line) => write!(f, "line {line}: ")?,
            Place::Byte(byte) => write!(f, "byte {byte}: ")?,
            Place::Whole => {}
        }
        f.write_str(&self.problem)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, "; {help}"))
    }
}

impl std::error::Error for TraceError {}

/// A text as it may be shown: short, and without what steers a terminal.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let mut out: String = text.chars().filter(|c| !c.is_control()).take(MOST).collect();
    if text.chars().count() > MOST {
        out.push('…');
    }
    out
}

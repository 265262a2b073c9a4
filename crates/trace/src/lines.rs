//! Lines of text of any length of file, one at a time, in bounded memory.

use crate::{Place, TraceError};
use std::io::{BufRead, BufReader, Read};

/// The longest line that is read.
const LINE_MAX: u64 = 64 << 10;

/// The lines of an input, numbered from 1.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    text: String,
    number: u64,
}

impl<R: Read> Lines<R> {
    pub fn new(input: R) -> Lines<R> {
        let input = BufReader::with_capacity(1 << 16, input);
        Lines { input, line: Vec::new(), text: String::new(), number: 0 }
    }

    /// Where the last line stands.
    pub fn place(&self) -> Place {
        Place::Line(self.number)
    }

    /// The next line without its end; `None` after the last.
    pub fn next(&mut self) -> Result<Option<&str>, TraceError> {
        self.line.clear();
        let place = Place::Line(self.number + 1);
        let read = (&mut self.input).take(LINE_MAX + 1).read_until(b'\n', &mut self.line);
        let read = read.map_err(|e| TraceError::new(place, format!("cannot be read: {e}")))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.line.len() as u64 > LINE_MAX {
            return Err(TraceError::new(place, "longer than 64 KiB: not a line of a trace"));
        }
        while matches!(self.line.last(), Some(b'\n' | b'\r')) {
            self.line.pop();
        }
        let start = if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        // Names of processes and files may be any bytes.
        self.text = String::from_utf8_lossy(&self.line[start..]).into_owned();
        Ok(Some(&self.text))
    }
}

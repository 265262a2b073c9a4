//! What the program prints: results on standard output and nothing else there, notes on standard error. Names and messages
//! of peers, targets and files may hold anything, so all of it passes one filter here before a terminal sees it.

use crate::exit::Failure;
use review::printable;
use std::fmt::Display;
use std::io::{BufWriter, ErrorKind, IsTerminal, Write};

/// Writes a result.
pub fn result(text: &str) -> Result<(), Failure> {
    page(&printable(text))
}

/// Writes a page for a browser as it is: its templates have cleaned every word of others. A reader that has seen enough
/// (`| head`) is no failure; a full disk behind a redirection is.
pub fn page(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::incomplete(format!("the result could not be written: {e}")))
        }
        _ => Ok(()),
    }
}

/// Where results go that are too large to be held: rows whose cells their exporter has filtered.
pub fn rows() -> impl Write {
    BufWriter::new(std::io::stdout().lock())
}

/// Writes a line of a note.
pub fn note(line: impl Display) {
    part(format_args!("{line}\n"));
}

/// Writes a part of a line of a note. Where standard error is closed, nothing reads them.
pub fn part(text: impl Display) {
    let _ = std::io::stderr().lock().write_all(printable(&text.to_string()).as_bytes());
}

/// Begins the line of notes on a terminal again.
pub fn begin_line() {
    let _ = std::io::stderr().lock().write_all(b"\r");
}

/// Whether notes are read on a terminal.
pub fn notes_are_seen() -> bool {
    std::io::stderr().is_terminal()
}

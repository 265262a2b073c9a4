//! Results on standard output, and nothing else there.

use crate::exit::Failure;
use std::io::{ErrorKind, Write};

/// Writes a result. A reader that has seen enough (`| head`) is no failure; a full disk behind a redirection is.
pub fn result(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::incomplete(format!("the result could not be written: {e}")))
        }
        _ => Ok(()),
    }
}

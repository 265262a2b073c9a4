//! Signals that a process does not want to hear of (signal(7)).

use libc::c_int;
use std::io;

/// What ends a process from a terminal, a shell or a service manager.
const ENDING: [c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// This process no longer ends by the signals that ask it to; SIGKILL still ends it.
pub(crate) fn ignore_ending() -> io::Result<()> {
    for signal in ENDING {
        // SAFETY: no handler is installed, the signal is ignored from here on.
        if unsafe { libc::signal(signal, libc::SIG_IGN) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

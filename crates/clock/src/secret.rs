//! Chance that nobody can predict: for challenges by which somebody proves who they are. No seed repeats it, so nothing that a
//! run measures may depend on it.

#![allow(
    clippy::disallowed_methods,
    reason = "the one place where the kernel is asked for randomness"
)]

use std::io;

/// Fills `out`, at most 256 bytes, with what the kernel's generator yields.
///
/// # Errors
/// The kernel has none to give (a policy forbids the call).
pub fn unpredictable(out: &mut [u8]) -> io::Result<()> {
    let mut rest = out;
    while !rest.is_empty() {
        // SAFETY: `rest` is valid for writes of its length during the call.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(got) {
            Ok(got) => rest = &mut rest[got..],
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

//! Unpredictable random bytes, for authentication challenges. No seed repeats them: measurements must not use them.

#![allow(
    clippy::disallowed_methods,
    reason = "the one place where the kernel is asked for randomness"
)]

use std::io;

/// Fills `out`, at most 256 bytes, from the kernel's random generator.
/// # Errors
/// The kernel refuses the call (by a policy).
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

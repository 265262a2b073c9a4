//! Files that hold a secret: only their owner may read them, as ssh asks of its keys.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Bits of a mode that give anything to the group or to others.
const OTHERS: u32 = 0o077;

/// The first `most` bytes of a file with a secret.
///
/// # Errors
/// It cannot be read, or others than its owner can: the text says which command mends it. Pipes (`<(…)`) have no others.
pub fn private_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let file = File::open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() && meta.permissions().mode() & OTHERS != 0 {
        let mode = meta.permissions().mode() & 0o777;
        let what = format!(
            "its mode {mode:03o} lets others than its owner use it: chmod 600 {}",
            path.display()
        );
        return Err(Error::new(ErrorKind::PermissionDenied, what));
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};

    #[test]
    fn only_the_owner_may_have_a_secret() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("secret");
        write(&path, "a secret").expect("room");
        for (mode, good) in [
            (0o600, true),
            (0o400, true),
            (0o640, false),
            (0o604, false),
            (0o644, false),
            (0o620, false),
            (0o601, false),
        ] {
            set_permissions(&path, Permissions::from_mode(mode)).expect("it is ours");
            let told = private_file(&path, 3).map_err(|e| e.to_string());
            match good {
                true => assert_eq!(told, Ok(b"a s".to_vec()), "{mode:o}"),
                false => assert!(told.is_err_and(|e| e.contains("chmod 600")), "{mode:o}"),
            }
        }
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).expect("room");
        assert!(private_file(&link, 3).is_err(), "what a link leads to counts");
        assert!(private_file(&folder.path().join("none"), 3).is_err());
    }
}

//! Where the sockets of running targets are: in a directory that is its user's alone.
//!
//! The directory is found by the same rule by those that serve and those that ask: `$XDG_RUNTIME_DIR`, else `/run` for
//! root, else a private directory of the user among temporary files. What another user made there is refused. A socket
//! on which nothing listens was left by a process that died, and is removed.

use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The longest path of a socket that the system takes, its final zero left out (unix(7)).
const PATH_MAX: usize = 107;
/// The longest name of a socket in its directory: of a target's, with the mark of one that is not ready.
const NAME_MAX: usize = "/wirespeed/target-4294967295-99.sock.new".len();

/// The directory for sockets of this user.
pub fn directory() -> PathBuf {
    let user = geteuid().as_raw();
    let own = |path: &PathBuf| {
        let owner = fs::metadata(path).map(|found| found.is_dir() && found.uid() == user);
        path.is_absolute()
            && path.as_os_str().len() + NAME_MAX <= PATH_MAX
            && owner.unwrap_or(false)
    };
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(own);
    match runtime {
        Some(runtime) => runtime.join("wirespeed"),
        None if user == 0 => PathBuf::from("/run/wirespeed"),
        None => std::env::temp_dir().join(format!("wirespeed-{user}")),
    }
}

/// A socket that others of this user can reach, in place of none.
pub struct Bound {
    pub listener: UnixListener,
    pub path: PathBuf,
}

/// Listens for those that ask this process, in `directory`.
///
/// # Errors
/// The directory is not this user's alone, or cannot be made.
pub fn bind(directory: &Path) -> io::Result<Bound> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        made => made?,
    }
    private(directory)?;
    let pid = std::process::id();
    // A process of another container may have the same number.
    let names = std::iter::once(format!("target-{pid}.sock"))
        .chain((2..100).map(|n| format!("target-{pid}-{n}.sock")));
    for name in names {
        let path = directory.join(&name);
        if path.symlink_metadata().is_ok() && !matches!(reach(&path), Reached::Dead) {
            continue;
        }
        // Under its own name only once it listens: before that it would look like one that was left.
        let new = directory.join(format!("{name}.new"));
        let _ = fs::remove_file(&new);
        let listener = UnixListener::bind(&new)?;
        fs::set_permissions(&new, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        fs::rename(&new, &path)?;
        return Ok(Bound { listener, path });
    }
    Err(io::Error::new(ErrorKind::AddrInUse, "too many sockets of that process number are there"))
}

/// What became of an attempt to reach a socket.
pub enum Reached {
    Alive(UnixStream),
    /// Nothing listens there: it is removed.
    Dead,
    /// It belongs to another user.
    Foreign(u32),
    Failed(io::Error),
}

/// Reaches a socket of this user.
pub fn reach(path: &Path) -> Reached {
    let owner = match path.symlink_metadata() {
        Ok(found) => found.uid(),
        Err(e) => return Reached::Failed(e),
    };
    if owner != geteuid().as_raw() {
        return Reached::Foreign(owner);
    }
    match UnixStream::connect(path) {
        Ok(stream) => Reached::Alive(stream),
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
            // Another that looks at the same time may have removed it.
            let _ = fs::remove_file(path);
            Reached::Dead
        }
        Err(e) => Reached::Failed(e),
    }
}

/// The sockets in `directory`, by name; none where there is no directory.
///
/// # Errors
/// The directory is another user's, or cannot be read.
pub fn sockets(directory: &Path) -> io::Result<Vec<PathBuf>> {
    if directory.symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound) {
        return Ok(Vec::new());
    }
    private(directory)?;
    let mut found: Vec<PathBuf> =
        fs::read_dir(directory)?.flatten().map(|entry| entry.path()).collect();
    found.retain(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        name.starts_with("target-") && name.ends_with(".sock")
    });
    found.sort();
    Ok(found)
}

/// Whether a directory is this user's, and no other can write or look into it.
fn private(directory: &Path) -> io::Result<()> {
    let found: Metadata = directory.symlink_metadata()?;
    let why = if !found.is_dir() {
        "it is no directory".to_owned()
    } else if found.uid() != geteuid().as_raw() {
        format!("it belongs to the user with number {}", found.uid())
    } else if found.mode() & 0o077 != 0 {
        format!("others may enter it (chmod 700 {})", directory.display())
    } else {
        return Ok(());
    };
    Err(io::Error::new(
        ErrorKind::PermissionDenied,
        format!("{} is refused: {why}", directory.display()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_its_users_alone_and_one_that_was_left_is_removed() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let directory = scratch.path().join("wirespeed");
        assert!(sockets(&directory).expect("no directory is none").is_empty());
        let bound = bind(&directory).expect("it is ours");
        let mode = |path: &Path| path.metadata().expect("it is there").mode() & 0o777;
        assert_eq!((mode(&directory), mode(&bound.path)), (0o700, 0o600));
        assert!(matches!(reach(&bound.path), Reached::Alive(_)));
        let second = bind(&directory).expect("another of the same process");
        assert_ne!(second.path, bound.path);
        assert_eq!(sockets(&directory).expect("it can be read").len(), 2);
        drop(bound.listener);
        assert!(matches!(reach(&bound.path), Reached::Dead));
        assert!(!bound.path.exists(), "what was left is removed");
        assert_eq!(bind(&directory).expect("its name is free").path, bound.path);
    }

    #[test]
    fn a_directory_that_others_can_enter_is_refused() {
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let directory = scratch.path().join("wirespeed");
        fs::create_dir(&directory).expect("a directory");
        for mode in [0o755, 0o770, 0o701] {
            fs::set_permissions(&directory, Permissions::from_mode(mode)).expect("it is ours");
            for refused in [bind(&directory).map(drop), sockets(&directory).map(drop)] {
                let error = refused.expect_err("others may enter it").to_string();
                assert!(error.contains("chmod 700"), "{error}");
            }
        }
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(scratch.path(), &link).expect("a link");
        assert!(bind(&link).is_err_and(|e| e.to_string().contains("no directory")));
    }

    #[test]
    fn what_another_user_made_is_refused() {
        if !geteuid().is_root() {
            return println!("skipped: another user's socket needs root");
        }
        let scratch = tempfile::tempdir().expect("a scratch directory");
        let directory = scratch.path().join("wirespeed");
        let bound = bind(&directory).expect("it is ours");
        std::os::unix::fs::chown(&bound.path, Some(12_345), None).expect("root may");
        assert!(matches!(reach(&bound.path), Reached::Foreign(12_345)));
        std::os::unix::fs::chown(&directory, Some(12_345), None).expect("root may");
        let error = sockets(&directory).expect_err("it is another's").to_string();
        assert!(error.contains("the user with number 12345"), "{error}");
    }
}

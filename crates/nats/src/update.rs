//! A program that a coordinator offers in the place of an agent's own: in pieces, checked by its digest, tried out, and only
//! then put where the agent's program is. An agent that was not told to accept any refuses.

use crate::wire::{self, Reply};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The largest program in bytes.
const SIZE_MAX: u64 = 1 << 30;

/// What an agent that accepts other programs needs.
pub struct Updates {
    /// The file of the program that runs.
    pub program: PathBuf,
    /// Tries a program out: its release, or why it does not run on this machine.
    pub try_out: TryOut,
}

/// Runs a program to learn its release.
pub type TryOut = Box<dyn Fn(&Path) -> Result<String, String> + Send + Sync>;

/// The digest of a program, as offers spell it.
pub fn digest(program: &[u8]) -> String {
    spelled(&Sha256::digest(program))
}

fn spelled(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A program in pieces, as they are sent.
pub fn pieces(program: &Bytes) -> impl Iterator<Item = Bytes> {
    let count = program.len().div_ceil(wire::PART_MAX);
    let program = program.clone();
    (0..count).flat_map(move |number| {
        let from = number * wire::PART_MAX;
        let to = program.len().min(from + wire::PART_MAX);
        wire::parts(number as u64, &program.slice(from..to))
    })
}

/// A program that is on its way.
pub(crate) struct Incoming {
    digest: String,
    size: u64,
    path: PathBuf,
    file: File,
    hash: Sha256,
    got: u64,
    /// The piece that is awaited.
    next: u64,
}

impl Incoming {
    /// Makes room for a program beside the one that runs.
    pub fn begin(updates: &Updates, digest: String, size: u64) -> Result<Incoming, String> {
        if size == 0 || size > SIZE_MAX {
            return Err(format!("a program of {size} bytes is none"));
        }
        let name = format!(".wirespeed-update-{}", std::process::id());
        let path = updates.program.with_file_name(name);
        // What an earlier offer left behind.
        let _ = fs::remove_file(&path);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(|error| {
            format!(
                "its program is {}, beside which it cannot write: {error}",
                updates.program.display()
            )
        })?;
        Ok(Incoming { digest, size, path, file, hash: Sha256::new(), got: 0, next: 0 })
    }

    /// The digest that it was offered with.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Takes a piece; one that came before is known.
    pub fn take(&mut self, bytes: &Bytes) -> Reply {
        let Some(part) = wire::part(bytes) else { return Reply::Again };
        if part.number < self.next {
            return Reply::Received;
        }
        if part.number > self.next || self.got + part.bytes.len() as u64 > self.size {
            return Reply::Refused("a piece that does not belong to what was offered".to_owned());
        }
        if let Err(error) = self.file.write_all(&part.bytes) {
            return Reply::Refused(format!("{}: {error}", self.path.display()));
        }
        self.hash.update(&part.bytes);
        self.got += part.bytes.len() as u64;
        self.next += 1;
        Reply::Received
    }

    /// Puts the program in the place of the one that runs, if it is what was offered and runs here; its release.
    pub fn install(self, updates: &Updates) -> Result<String, String> {
        if self.got != self.size {
            return Err(format!("{} of its {} bytes came", self.got, self.size));
        }
        let found = spelled(&self.hash.clone().finalize());
        if found != self.digest {
            return Err(format!("its digest is {found}, and {} was offered", self.digest));
        }
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        let mode = fs::metadata(&updates.program).map_or(0o755, |of| of.permissions().mode());
        self.file
            .set_permissions(fs::Permissions::from_mode(mode & 0o777 | 0o500))
            .map_err(failed)?;
        self.file.sync_all().map_err(failed)?;
        // A program that is open for writing cannot be run.
        let read = File::open(&self.path).map_err(failed)?;
        let path = self.path.clone();
        let mut this = self;
        this.file = read;
        let release = (updates.try_out)(&path)?;
        fs::rename(&path, &updates.program)
            .map_err(|error| format!("{}: {error}", updates.program.display()))?;
        Ok(release)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // Where it was put in its place, nothing is left.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a program that is offered under this digest and arrives as `change` leaves it.
    #[track_caller]
    fn check(
        change: impl Fn(&mut Vec<Bytes>),
        digest: Option<&str>,
        runs: bool,
    ) -> Result<String, String> {
        let dir = tempfile::tempdir().expect("a directory");
        let program = dir.path().join("program");
        fs::write(&program, "old").expect("a file");
        let try_out = move |_: &Path| match runs {
            true => Ok("2.0.0".to_owned()),
            false => Err("it does not run here".to_owned()),
        };
        let updates = Updates { program: program.clone(), try_out: Box::new(try_out) };
        let new = Bytes::from(vec![7; 2 * wire::PART_MAX + 5]);
        let offered = digest.map_or_else(|| super::digest(&new), str::to_owned);
        let mut incoming = Incoming::begin(&updates, offered, new.len() as u64).expect("room");
        let mut all: Vec<Bytes> = pieces(&new).collect();
        assert_eq!(all.len(), 3);
        change(&mut all);
        let refused = all.iter().find_map(|piece| match incoming.take(piece) {
            Reply::Received | Reply::Again => None,
            other => Some(format!("{other:?}")),
        });
        let ended = match refused {
            Some(why) => {
                drop(incoming);
                Err(why)
            }
            None => incoming.install(&updates),
        };
        let there = fs::read(&program).expect("a program");
        assert_eq!(there, if ended.is_ok() { &new[..] } else { b"old" });
        assert_eq!(
            fs::read_dir(dir.path()).expect("a directory").count(),
            1,
            "something is left behind"
        );
        ended
    }

    #[test]
    fn only_what_was_offered_and_runs_takes_the_place() {
        assert_eq!(check(|_| {}, None, true), Ok("2.0.0".to_owned()));
        // A piece that came twice is known.
        assert_eq!(check(|all| all.insert(1, all[0].clone()), None, true), Ok("2.0.0".to_owned()));
        let fails = |ended: Result<String, String>, why: &str| {
            let problem = ended.expect_err(why);
            assert!(problem.contains(why), "{problem}");
        };
        fails(check(|_| {}, Some("00"), true), "and 00 was offered");
        fails(check(|_| {}, None, false), "it does not run here");
        fails(check(|all| drop(all.pop()), None, true), "of its 1048581 bytes came");
        fails(check(|all| all.swap(0, 1), None, true), "does not belong");
        fails(
            check(
                |all| all.push(wire::parts(3, &Bytes::from_static(b"more"))[0].clone()),
                None,
                true,
            ),
            "does not belong",
        );
        let damaged = |all: &mut Vec<Bytes>| {
            let mut piece = all[2].to_vec();
            piece[22] ^= 1;
            all[2] = Bytes::from(piece);
        };
        fails(check(damaged, None, true), "of its 1048581 bytes came");
    }
}

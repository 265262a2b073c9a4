//! Which labs stand: one file each, locked by its guardian for as long as that lives.
//!
//! The lock is the truth: a process number may be given to another process, a lock of a dead one is gone. A file that nobody
//! has locked belongs to a lab whose guardian was killed; [`sweep`] removes what it left.

use crate::cgroup;
use crate::error::LabError;
use clock::Ns;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How long a guardian may take to end.
const GRACE: Ns = Ns::secs(15);
/// How often to look.
const POLL: Ns = Ns::millis(5);
/// What a file of ours ends with.
const ENDING: &str = "lab";
/// What a link to a network ends with.
const NETWORK: &str = "net";

/// A lab that stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Drawn for it.
    pub tag: String,
    /// The scenario's file.
    pub scenario: String,
    /// What was made: equal for equal plans.
    pub digest: String,
    /// The process that holds it.
    pub guardian: u32,
    /// Nodes with the processes that hold their namespaces.
    pub nodes: Vec<(String, u32)>,
    /// It stands until it is taken down; otherwise for the time of a run.
    pub stays: bool,
}

/// The state file of a lab that this process guards.
#[derive(Debug)]
pub struct Standing {
    file: File,
    path: PathBuf,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> LabError {
    let path = path.to_owned();
    move |problem| LabError::File { path, problem }
}

impl Standing {
    /// Makes and locks the file of a lab.
    /// # Errors
    /// The directory or the file cannot be made.
    pub fn create(directory: &Path, tag: &str) -> Result<Standing, LabError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
        made.map_err(failed(directory))?;
        let path = directory.join(format!("{tag}.{ENDING}"));
        loop {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let file = options.open(&path).map_err(failed(&path))?;
            let locked = flock(&file, FlockOperation::LockExclusive);
            locked.map_err(|e| failed(&path)(e.into()))?;
            // A sweep may have taken it away between the two.
            let here = file.metadata().map_err(failed(&path))?.ino();
            if fs::metadata(&path).is_ok_and(|there| there.ino() == here) {
                return Ok(Standing { file, path });
            }
        }
    }

    /// Says what stands.
    /// # Errors
    /// The file cannot be written.
    pub fn tell(&mut self, state: &State) -> Result<(), LabError> {
        let text = serde_json::to_string(state).unwrap_or_default();
        let write = |file: &mut File| {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(text.as_bytes())?;
            file.set_len(text.len() as u64)
        };
        write(&mut self.file).map_err(failed(&self.path))
    }

    /// Removes the file, before its lock goes.
    pub fn remove(self) {
        remove(&self.path);
    }
}

/// Where a process of a lab finds the network that it is to speak from.
pub(crate) fn network_link(directory: &Path, tag: &str, number: usize) -> PathBuf {
    directory.join(format!("{tag}.{number}.{NETWORK}"))
}

/// Removes the file of a lab, and before it the links to networks that its owner made.
fn remove(path: &Path) {
    let tag = path.file_stem().and_then(|tag| tag.to_str()).unwrap_or_default();
    let links = path.parent().map(links).unwrap_or_default();
    for (link, _) in links.iter().filter(|(_, of)| of == tag) {
        let _ = fs::remove_file(link);
    }
    let _ = fs::remove_file(path);
}

/// The links to networks, with the tags of their labs.
fn links(directory: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let ours = |path: PathBuf| {
        let name = path.file_name()?.to_str()?;
        let (tag, number) = name.strip_suffix(NETWORK)?.strip_suffix('.')?.split_once('.')?;
        let (tag, _) = (tag.to_owned(), number.parse::<usize>().ok()?);
        Some((path, tag))
    };
    entries.filter_map(|entry| ours(entry.path())).collect()
}

/// The files of labs, with their tags.
fn files(directory: &Path) -> Vec<(PathBuf, String)> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let ours = |path: PathBuf| {
        let ours = path.extension().is_some_and(|ending| ending == ENDING);
        let tag = path.file_stem()?.to_str()?.to_owned();
        ours.then_some((path, tag))
    };
    let mut all: Vec<_> = entries.filter_map(|entry| ours(entry.path())).collect();
    all.sort();
    all
}

/// Takes the lock of a file, where it is free.
fn take(path: &Path) -> Option<File> {
    let file = OpenOptions::new().read(true).write(true).open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// The labs that stand. One whose guardian has not yet said what it is is left out, and so is a file that its guardian does not
/// hold: another program may have locked it, and its numbers be those of strangers.
pub fn list(directory: &Path) -> Vec<State> {
    let alive = |(path, tag): (PathBuf, String)| {
        if take(&path).is_some() {
            return None;
        }
        let mut text = String::new();
        File::open(&path).ok()?.read_to_string(&mut text).ok()?;
        let state: State = serde_json::from_str(&text).ok()?;
        // The tag becomes a path: it is the file's own, whatever stands in it.
        guards(state.guardian, &path).then_some(State { tag, ..state })
    };
    files(directory).into_iter().filter_map(alive).collect()
}

/// Whether a process has a file open, as a guardian has that of its lab.
fn guards(process: u32, path: &Path) -> bool {
    let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let Ok(wanted) = fs::metadata(path).map(id) else { return false };
    let open = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.filter_map(|fd| fs::metadata(fd.path()).ok()).any(|meta| id(meta) == wanted)
}

/// The lab that stands for a scenario's file until it is taken down.
pub fn find(directory: &Path, scenario: &str) -> Option<State> {
    list(directory).into_iter().find(|state| state.stays && state.scenario == scenario)
}

/// Removes what labs left whose guardians were killed; their tags.
pub fn sweep(directory: &Path) -> Vec<String> {
    let mut swept = Vec::new();
    for (path, tag) in files(directory) {
        let Some(locked) = take(&path) else { continue };
        cgroup::remove(&tag);
        remove(&path);
        drop(locked);
        swept.push(tag);
    }
    // An owner may have made a link after its lab was swept.
    for (link, tag) in links(directory) {
        if !directory.join(format!("{tag}.{ENDING}")).exists() {
            let _ = fs::remove_file(link);
        }
    }
    swept
}

/// Takes a lab down: its guardian ends, and with it all that it holds.
/// # Errors
/// The guardian does not end.
pub fn stop(directory: &Path, state: &State) -> Result<(), LabError> {
    let path = directory.join(format!("{}.{ENDING}", state.tag));
    let guardian = i32::try_from(state.guardian).ok().and_then(Pid::from_raw);
    // Its lock shows that it lives, and its open file that the number is its own.
    let is_guardian = || take(&path).is_none() && guards(state.guardian, &path);
    if let Some(guardian) = guardian.filter(|_| path.exists() && is_guardian()) {
        let _ = kill_process(guardian, Signal::TERM);
    }
    let deadline = clock::now().plus(GRACE);
    let locked = loop {
        if !path.exists() {
            break None;
        }
        if let Some(locked) = take(&path) {
            break Some(locked);
        }
        if clock::now() >= deadline {
            return Err(LabError::Guardian(format!("process {} does not end", state.guardian)));
        }
        clock::sleep_until(clock::now().plus(POLL));
    };
    cgroup::remove(&state.tag);
    remove(&path);
    drop(locked);
    wait_for(&state.nodes, deadline);
    Ok(())
}

/// Waits until the processes of nodes have seen the end of their guardian.
fn wait_for(nodes: &[(String, u32)], deadline: Ns) {
    let lives = |(_, process): &(String, u32)| Path::new(&format!("/proc/{process}")).exists();
    while nodes.iter().any(lives) && clock::now() < deadline {
        clock::sleep_until(clock::now().plus(POLL));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_lock_is_swept_and_a_locked_one_is_listed() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut standing = Standing::create(dir.path(), "aa").expect("a state file");
        let (tag, scenario, guardian) = ("aa".into(), "x.toml".into(), std::process::id());
        let state = State { tag, scenario, guardian, stays: true, ..State::default() };
        // The tag is that of the file, whatever the file says.
        let told = State { tag: "../aa".into(), ..state.clone() };
        standing.tell(&told).expect("it is written");
        drop(Standing::create(dir.path(), "bb").expect("another"));
        fs::write(dir.path().join("note.txt"), "not ours").expect("a file of others");
        assert_eq!(sweep(dir.path()), ["bb"]);
        assert_eq!(list(dir.path()), std::slice::from_ref(&state));
        assert_eq!(find(dir.path(), "x.toml"), Some(state.clone()));
        assert_eq!(find(dir.path(), "y.toml"), None);
        // A process that does not hold the file is no guardian, even if the file is locked.
        standing.tell(&State { guardian: 1, ..state.clone() }).expect("it is written");
        assert_eq!(list(dir.path()), Vec::<State>::new());
        let links = ["aa", "cc"].map(|tag| network_link(dir.path(), tag, 0));
        links.iter().for_each(|link| std::os::unix::fs::symlink("/proc", link).expect("a link"));
        let stand = || links.iter().filter(|link| link.is_symlink()).count();
        // That of a lab that stands stays, that of none goes; and with its lab goes the other.
        assert_eq!((sweep(dir.path()), stand()), (vec![], 1));
        standing.remove();
        assert_eq!((list(dir.path()), sweep(dir.path()), stand()), (vec![], vec![], 0));
        assert!(dir.path().join("note.txt").exists());
    }
}

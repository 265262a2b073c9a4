//! The library: every record in a folder and in the folders within it, watched, with a summary of each.
//!
//! A record is known by an identifier that is made of its place and says nothing of it: what a browser asks for is looked up
//! and never joined to a path. Links are not followed, so nothing outside the folder is in the library. Summaries are made on
//! a thread of their own, the newest first, and are kept in one file in the folder, by which a library of a thousand records
//! is there at once when the page is started again.

mod notes;
mod search;
mod summary;

pub(crate) use notes::{Notes, replace};
pub(crate) use search::Query;
pub(crate) use summary::Summary;

use crate::live::locked;
use crate::live::writer::is_record;
use clock::Ns;
use record::Record;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// Where summaries are kept, in the folder.
const KEPT: &str = ".wirespeed-library.json";
/// Its largest size.
const KEPT_MAX: u64 = 256 << 20;
/// Folders within folders.
const DEEP: usize = 6;
/// Records at most.
const RECORDS: usize = 100_000;
/// How often the folder is looked at.
const WATCH: Ns = Ns::secs(2);
/// How often summaries are written while many are made.
const KEEP: Ns = Ns::secs(15);
/// The form of what is kept: another one is made anew.
const FORM: u32 = 1;

/// A file in the library.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub id: String,
    pub path: PathBuf,
    /// Its place within the folder, cleaned for people.
    pub name: String,
    pub modified_unix_s: i64,
    pub bytes: u64,
    stamp: [u64; 3],
    /// Nothing where it was not read yet.
    pub summary: Option<Arc<Summary>>,
    pub notes: Arc<Notes>,
}

impl Entry {
    /// When its run was, or when it was written where that is not known yet.
    pub fn unix_s(&self) -> i64 {
        let summary = self.summary.as_ref().filter(|summary| summary.failure.is_none());
        summary.map_or(self.modified_unix_s, |summary| summary.wall_unix_s)
    }

    /// The title, or the name of the file.
    pub fn title(&self) -> &str {
        let title = self.summary.as_ref().map(|summary| summary.title.as_str());
        title.filter(|title| !title.is_empty()).unwrap_or(&self.name)
    }
}

/// What is kept of a record between two starts.
#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    stamp: [u64; 3],
    summary: Summary,
}

#[derive(Serialize, Deserialize)]
struct KeptFile {
    form: u32,
    program: String,
    records: BTreeMap<String, Kept>,
}

/// The library of one folder.
pub(crate) struct Library {
    pub folder: PathBuf,
    entries: Mutex<Arc<BTreeMap<String, Entry>>>,
    changes: watch::Sender<u64>,
}

impl Library {
    /// Opens the library of a folder and watches it from now on.
    pub fn open(folder: &Path) -> std::io::Result<Arc<Library>> {
        let folder = std::fs::canonicalize(folder)?;
        let library =
            Arc::new(Library { folder, entries: Mutex::default(), changes: watch::Sender::new(0) });
        let mut kept = library.kept();
        library.scan(&mut kept);
        let mine = Arc::clone(&library);
        std::thread::Builder::new().name("library".to_owned()).spawn(move || mine.watch(kept))?;
        Ok(library)
    }

    /// All records, by identifier, as they are now.
    pub fn entries(&self) -> Arc<BTreeMap<String, Entry>> {
        Arc::clone(&locked(&self.entries))
    }

    /// A record by its identifier.
    pub fn entry(&self, id: &str) -> Option<Entry> {
        self.entries().get(id).cloned()
    }

    /// Hears of changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Writes the notes of a record, and shows them.
    pub fn note(&self, id: &str, notes: Notes) -> std::io::Result<()> {
        let Some(entry) = self.entry(id) else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        notes.write(&entry.path)?;
        self.change(|entries| {
            if let Some(entry) = entries.get_mut(id) {
                entry.notes = Arc::new(notes);
            }
        });
        Ok(())
    }

    fn change(&self, f: impl FnOnce(&mut BTreeMap<String, Entry>)) {
        f(Arc::make_mut(&mut locked(&self.entries)));
        self.changes.send_modify(|version| *version += 1);
    }

    fn watch(&self, mut kept: BTreeMap<String, Kept>) {
        let (mut dirty, mut written) = (false, clock::now());
        loop {
            let made = self.summarise(&mut kept);
            dirty |= made;
            let now = clock::now();
            if dirty && (!made || now.since(written.min(now)) >= KEEP) {
                self.keep(&kept);
                (dirty, written) = (false, now);
            }
            if !made {
                clock::sleep_until(clock::now().plus(WATCH));
                self.scan(&mut kept);
            }
        }
    }

    /// Looks at the folder, and takes up what came, changed and went.
    fn scan(&self, kept: &mut BTreeMap<String, Kept>) {
        let mut found = BTreeMap::new();
        files(&self.folder, DEEP, &mut |path, meta| {
            if found.len() < RECORDS {
                let entry = self.found(path, meta, kept);
                found.insert(entry.id.clone(), entry);
            }
        });
        let before = self.entries();
        if *before != found {
            let forgotten = before.keys().filter(|id| !found.contains_key(*id));
            forgotten.for_each(|id| drop(kept.remove(id)));
            self.change(|entries| *entries = found);
        }
    }

    fn found(
        &self,
        path: PathBuf,
        meta: &std::fs::Metadata,
        kept: &BTreeMap<String, Kept>,
    ) -> Entry {
        let place = path.strip_prefix(&self.folder).unwrap_or(&path);
        let id = identifier(place);
        // A run in progress writes to its log first.
        let log = std::fs::metadata(with(&path, "-wal")).map_or(0, |log| log.len());
        let mtime = meta.mtime().unsigned_abs() * 1_000_000_000 + meta.mtime_nsec().unsigned_abs();
        let stamp = [mtime, meta.len(), log];
        let before = self.entries();
        let known = before.get(&id).filter(|entry| entry.stamp == stamp);
        let summary = known.and_then(|entry| entry.summary.clone()).or_else(|| {
            kept.get(&id)
                .filter(|kept| kept.stamp == stamp)
                .map(|kept| Arc::new(kept.summary.clone()))
        });
        // A run that goes on keeps what is known of it until it has ended.
        let summary = summary.or_else(|| before.get(&id).filter(|_| log > 0)?.summary.clone());
        Entry {
            name: review::clean(&place.to_string_lossy()),
            modified_unix_s: meta.mtime(),
            bytes: meta.len() + log,
            notes: Arc::new(Notes::read(&path)),
            id,
            path,
            stamp,
            summary,
        }
    }

    /// Makes the summary of the newest record without one; whether there was one.
    fn summarise(&self, kept: &mut BTreeMap<String, Kept>) -> bool {
        let entries = self.entries();
        let missing = entries.values().filter(|entry| entry.summary.is_none());
        let Some(entry) = missing.max_by_key(|entry| entry.modified_unix_s) else { return false };
        let summary = match Record::open(&entry.path) {
            Ok(record) => Summary::of(&record),
            Err(error) => Summary::failed(error.to_string()),
        };
        let summary = Arc::new(summary);
        // What is still written changes with every second: it is kept once it has ended.
        if entry.stamp[2] == 0 {
            let summary = Summary::clone(&summary);
            kept.insert(entry.id.clone(), Kept { stamp: entry.stamp, summary });
        }
        self.change(|entries| {
            if let Some(entry) = entries.get_mut(&entry.id) {
                entry.summary = Some(summary);
            }
        });
        true
    }

    fn kept(&self) -> BTreeMap<String, Kept> {
        let path = self.folder.join(KEPT);
        let fits = std::fs::symlink_metadata(&path)
            .is_ok_and(|meta| meta.is_file() && meta.len() <= KEPT_MAX);
        let text = fits.then(|| std::fs::read(&path).ok()).flatten();
        let file: Option<KeptFile> = text.and_then(|text| serde_json::from_slice(&text).ok());
        let ours = |file: &KeptFile| file.form == FORM && file.program == env!("CARGO_PKG_VERSION");
        file.filter(ours).map(|file| file.records).unwrap_or_default()
    }

    /// Writes the summaries; a folder that cannot be written does without.
    fn keep(&self, kept: &BTreeMap<String, Kept>) {
        let program = env!("CARGO_PKG_VERSION").to_owned();
        let file = KeptFile { form: FORM, program, records: kept.clone() };
        if let Ok(text) = serde_json::to_vec(&file) {
            let _ = replace(&self.folder.join(KEPT), &text);
        }
    }
}

/// Hands every file that has the head of a record to `f`.
fn files(folder: &Path, deep: usize, f: &mut dyn FnMut(PathBuf, &std::fs::Metadata)) {
    let Ok(all) = std::fs::read_dir(folder) else { return };
    for entry in all.flatten() {
        // Of the link itself, where it is one.
        let Ok(meta) = entry.metadata() else { continue };
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.as_encoded_bytes().starts_with(b".");
        if meta.is_dir() && deep > 0 && !hidden {
            files(&path, deep - 1, f);
        } else if meta.is_file() && path.extension().is_some_and(|e| e == "wsr") && is_record(&path)
        {
            f(path, &meta);
        }
    }
}

/// The identifier of a place: sixteen hexadecimal digits.
pub(crate) fn identifier(place: &Path) -> String {
    let digest = Sha256::digest(place.as_os_str().as_encoded_bytes());
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path with something behind its name.
pub(crate) fn with(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

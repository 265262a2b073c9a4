//! Tags and notes of a record, in a small JSON file beside it: `run.wsr.notes.json`. They travel with the record, are read by
//! people, and never touch what was measured.

use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

/// Bytes of a file of notes at most.
const BYTES: u64 = 64 << 10;
/// Tags at most, and signs of each.
const TAGS: usize = 32;
const SIGNS: usize = 64;

/// What people say of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Notes {
    pub version: u32,
    pub tags: Vec<String>,
    pub notes: String,
}

impl Notes {
    /// Tags as they were typed, apart by commas or blanks, each once; and a note.
    pub fn typed(tags: &str, notes: &str) -> Result<Notes, String> {
        let mut all: Vec<String> = Vec::new();
        for tag in tags.split([',', ' ', '\n', '\t']).map(str::trim).filter(|tag| !tag.is_empty()) {
            if tag.chars().count() > SIGNS {
                return Err(format!("a tag has at most {SIGNS} characters"));
            }
            if !all.iter().any(|known| known == tag) {
                all.push(tag.to_owned());
            }
        }
        if all.len() > TAGS {
            return Err(format!("a record has at most {TAGS} tags"));
        }
        if notes.len() as u64 > BYTES / 2 {
            return Err(format!("notes have at most {} KiB", BYTES >> 11));
        }
        Ok(Notes { version: 1, tags: all, notes: notes.trim_end().replace("\r\n", "\n") })
    }

    /// Those of a record; none where there is no file, or one that is not ours.
    pub fn read(record: &Path) -> Notes {
        let path = beside(record);
        let plain = std::fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
        let text = plain.then(|| {
            let mut text = String::new();
            let file = std::fs::File::open(&path)?;
            file.take(BYTES).read_to_string(&mut text)?;
            io::Result::Ok(text)
        });
        let text = text.and_then(Result::ok);
        text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    /// Writes them beside a record, as a whole or not at all; without any, the file goes.
    pub fn write(&self, record: &Path) -> io::Result<()> {
        let path = beside(record);
        if self.tags.is_empty() && self.notes.is_empty() {
            return match std::fs::remove_file(&path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
                _ => Ok(()),
            };
        }
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        replace(&path, text.as_bytes())
    }
}

/// Where the notes of a record are.
pub(crate) fn beside(record: &Path) -> PathBuf {
    let mut name = record.as_os_str().to_owned();
    name.push(".notes.json");
    PathBuf::from(name)
}

/// Replaces a file as a whole: others see the old one or the new one, and a link is not followed.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let mut file = std::fs::File::create_new(&part).or_else(|_| {
        // One that was left by a process that was killed.
        std::fs::remove_file(&part)?;
        std::fs::File::create_new(&part)
    })?;
    let done = file.write_all(bytes).and_then(|()| std::fs::rename(&part, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_lie_beside_their_record() {
        let dir = tempfile::tempdir().expect("a scratch directory");
        let record = dir.path().join("run.wsr");
        assert_eq!(Notes::read(&record), Notes::default());
        let notes =
            Notes::typed("slow, san slow\nweek-47", "a line\r\nanother\n").expect("they fit");
        assert_eq!(notes.tags, ["slow", "san", "week-47"]);
        notes.write(&record).expect("it is ours");
        assert_eq!(Notes::read(&record), notes);
        assert_eq!(notes.notes, "a line\nanother");
        Notes::typed("", "").expect("none").write(&record).expect("it goes");
        assert!(!beside(&record).exists());
        assert!(Notes::typed(&"x".repeat(65), "").is_err());
        assert!(Notes::typed("", &"x".repeat(40_000)).is_err());
    }

    #[test]
    fn what_is_no_plain_file_of_notes_is_not_read() {
        let dir = tempfile::tempdir().expect("a scratch directory");
        let record = dir.path().join("run.wsr");
        let secret = dir.path().join("secret");
        std::fs::write(&secret, r#"{"tags":["secret"]}"#).expect("a file");
        std::os::unix::fs::symlink(&secret, beside(&record)).expect("a link");
        assert_eq!(Notes::read(&record), Notes::default());
        Notes::typed("mine", "").expect("it fits").write(&record).expect("the link is replaced");
        assert_eq!(
            std::fs::read_to_string(&secret).expect("it is whole"),
            r#"{"tags":["secret"]}"#
        );
        std::fs::write(beside(&record), "no JSON").expect("a file");
        assert_eq!(Notes::read(&record), Notes::default());
    }
}

//! Catalogs of the user: files of parts named by `--catalog`, and those of the configuration's folder.

use crate::exit::Failure;
use crate::files::read_limited;
use scenario::CatalogFile;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Files of the configuration's folder that are read at most.
const FILES_MAX: usize = 256;

/// The catalogs of the configuration's folder, by name, and then those that were named.
/// # Errors
/// A file cannot be read, is too large, or is no text.
pub fn catalogs(named: &[PathBuf]) -> Result<Vec<CatalogFile>, Failure> {
    let standing = match folder(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME")) {
        Some(folder) => standing(&folder)?,
        None => Vec::new(),
    };
    standing.iter().chain(named).map(|path| read(path)).collect()
}

/// Where catalogs stand that are always read: `$XDG_CONFIG_HOME/wirespeed/catalog`, in `~/.config` unless set. A relative
/// path counts as not set, as the XDG Base Directory Specification says.
fn folder(config: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |path: Option<OsString>| path.map(PathBuf::from).filter(|p| p.is_absolute());
    let config = absolute(config).or_else(|| Some(absolute(home)?.join(".config")))?;
    Some(config.join("wirespeed").join("catalog"))
}

/// The files `*.toml` of a folder, sorted by name; none where there is no such folder.
fn standing(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refused = |e| Failure::usage(format!("cannot read the folder {}: {e}", folder.display()));
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(refused(e)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(refused)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") && path.is_file() {
            files.push(path);
        }
        if files.len() > FILES_MAX {
            let folder = folder.display();
            return Err(Failure::usage(format!("{folder} holds more than {FILES_MAX} catalogs")));
        }
    }
    files.sort();
    Ok(files)
}

fn read(path: &Path) -> Result<CatalogFile, Failure> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path)
        .map_err(|e| Failure::usage(format!("cannot read the catalog {name}: {e}")))?;
    Ok(CatalogFile { text: read_limited(file, "catalog", &name)?, name })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_that_of_the_configuration() {
        #[track_caller]
        fn check(config: Option<&str>, home: Option<&str>, expected: Option<&str>) {
            let found = folder(config.map(OsString::from), home.map(OsString::from));
            assert_eq!(found, expected.map(PathBuf::from));
        }
        check(Some("/c"), Some("/h"), Some("/c/wirespeed/catalog"));
        check(None, Some("/h"), Some("/h/.config/wirespeed/catalog"));
        check(Some(""), Some("/h"), Some("/h/.config/wirespeed/catalog"));
        check(Some("c"), Some("/h"), Some("/h/.config/wirespeed/catalog"));
        check(None, None, None);
        check(Some("c"), Some("h"), None);
    }

    #[test]
    fn a_folder_gives_its_files_by_name_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for name in ["b.toml", "a.toml", "c.txt", "a.toml~", ".toml"] {
            std::fs::write(path(name), "").unwrap();
        }
        std::fs::create_dir(path("d.toml")).unwrap();
        assert_eq!(standing(dir.path()).unwrap(), [path("a.toml"), path("b.toml")]);
        assert_eq!(standing(&path("nowhere")).unwrap(), [] as [PathBuf; 0]);
        assert!(standing(&path("c.txt")).is_err(), "it is no folder");
        for n in 0..FILES_MAX {
            std::fs::write(path(&format!("{n}.toml")), "").unwrap();
        }
        assert!(standing(dir.path()).is_err(), "too many");
    }
}

//! The scenarios that can be started: files in the folder of the library, and those that the program carries.

use crate::library::identifier;
use crate::program::Program;
use std::io::Read as _;
use std::path::Path;

/// Scenarios at most, folders within folders, and bytes of a file.
const MOST: usize = 500;
const DEEP: usize = 3;
const BYTES: u64 = 1 << 20;

/// A scenario.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub id: String,
    /// Its place within the folder, cleaned for people; or what the program calls it.
    pub name: String,
    pub text: String,
    /// Whether the program carries it.
    pub carried: bool,
}

/// All of them, those of the folder first, by name.
pub(crate) fn scenarios(folder: &Path, program: &dyn Program) -> Vec<Listed> {
    let mut all = Vec::new();
    walk(folder, folder, DEEP, &mut all);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let carried = program.scenarios().iter().map(|(name, text)| Listed {
        id: identifier(Path::new(&format!("carried:{name}"))),
        name: (*name).to_owned(),
        text: (*text).to_owned(),
        carried: true,
    });
    all.extend(carried);
    all
}

fn walk(folder: &Path, root: &Path, deep: usize, all: &mut Vec<Listed>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        let path = entry.path();
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if meta.is_dir() && deep > 0 && !hidden {
            walk(&path, root, deep - 1, all);
        }
        let fits = meta.is_file() && meta.len() <= BYTES && all.len() < MOST;
        if !fits || path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let mut text = String::new();
        let read =
            std::fs::File::open(&path).map(|file| file.take(BYTES).read_to_string(&mut text));
        if matches!(read, Ok(Ok(_))) && text.contains("[scenario]") {
            let place = path.strip_prefix(root).unwrap_or(&path);
            let name = review::clean(&place.to_string_lossy());
            all.push(Listed { id: identifier(place), name, text, carried: false });
        }
    }
}

//! fio's own examples, as Debian's package of them installs them: each becomes a scenario, or is refused by what it asks for.

use crate::around;
use import::{Format, ImportError, import};
use std::path::{Path, PathBuf};

/// Where the package puts them; images without documentation leave them out.
fn folder() -> PathBuf {
    std::env::var_os("WIRESPEED_FIO_EXAMPLES")
        .map_or_else(|| Path::new("/usr/share/doc/fio/examples").to_owned(), PathBuf::from)
}

#[test]
fn each_example_is_imported_or_refused_by_name() {
    let Ok(entries) = std::fs::read_dir(folder()) else {
        eprintln!("skipped: no examples of fio in {} (Debian: fio-examples)", folder().display());
        return;
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "fio"));
    files.sort();
    let mut imported = 0;
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let bytes = std::fs::read(path).expect("an example");
        match import(&name, &bytes, Some(Format::Fio), &around()) {
            Ok(_) => imported += 1,
            // A mistake shows its line, and says what there is in it.
            Err(ImportError::Mistakes(why)) => {
                let said = why.to_string();
                assert!(said.contains(&*name) && said.contains('`'), "{name}: {said}");
            }
            Err(other) => panic!("{name}: {other}"),
        }
    }
    assert!(imported * 3 > files.len(), "{imported} of {} are imported", files.len());
}

//! Files that the user names or that are named for him: scenarios to read, records to write.

use crate::catalogs;
use crate::cli::ScenarioArgs;
use crate::exit::{Exit, Failure};
use scenario::Source;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Bytes that must be free where a record is written for the time of a run.
const RECORD_ROOM: u64 = 256 << 20;
/// The largest scenario or catalog that is read; a mistaken path should not fill the memory.
const SCENARIO_BYTES_MAX: u64 = 16 << 20;

/// Reads a scenario's text (`-` = stdin) and keeps its overrides and the user's catalogs beside it.
pub fn scenario_source(args: &ScenarioArgs) -> Result<Source, Failure> {
    let (name, text) = if args.file == Path::new("-") {
        let text = read_limited(std::io::stdin().lock(), "scenario", "<stdin>")?;
        ("<stdin>".to_owned(), text)
    } else {
        let name = args.file.display().to_string();
        let file = std::fs::File::open(&args.file)
            .map_err(|e| Failure::usage(format!("cannot read the scenario {name}: {e}")))?;
        let text = read_limited(file, "scenario", &name)?;
        (name, text)
    };
    let catalogs = catalogs::catalogs(&args.catalog)?;
    Ok(Source { name, text, overrides: args.set.clone(), catalogs })
}

/// Reads a text that is to be a scenario or a catalog, in bounded memory.
pub fn read_limited(from: impl Read, what: &str, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(SCENARIO_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::usage(format!("cannot read the {what} {name}: {e}")))?;
    if bytes.len() as u64 > SCENARIO_BYTES_MAX {
        return Err(Failure::usage(format!("{name} is larger than 16 MiB: not a {what}")));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = e.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let utf16 = matches!(e.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let help =
            if utf16 { "it begins as UTF-16 does: save it as UTF-8" } else { "save it as UTF-8" };
        Failure::usage(format!(
            "{name} is not UTF-8 text (line {line}, byte {at}): not a {what}; {help}"
        ))
    })
}

/// Where a record goes: where the user said, or the first free `STEM-N.wsr` in the working directory.
pub fn record_path(out: Option<&Path>, stem: &str) -> Result<PathBuf, Failure> {
    match out {
        Some(path) if path.exists() => Err(Failure::Other(
            Exit::Usage,
            format!(
                "{} exists; a record is never overwritten: choose another --out",
                path.display()
            ),
        )),
        Some(path) => Ok(path.to_owned()),
        None => (1..100_000)
            .map(|n| PathBuf::from(format!("{stem}-{n}.wsr")))
            .find(|path| !path.exists())
            .ok_or_else(|| {
                Failure::usage(format!("100,000 records named {stem}-N.wsr: use --out"))
            }),
    }
}

/// A place for a record while a run measures, off the disks of its targets: memory, or another disk. `None` where the record
/// may be written at `out` at once, or nowhere else.
pub fn off_the_disks(out: &Path, targets: &[String]) -> Option<PathBuf> {
    let disks: Vec<String> = targets
        .iter()
        .filter(|target| scenario::Scheme::of(target).is_none())
        .filter_map(|target| disk::disk_under(Path::new(target)))
        .collect();
    let measured = |path: &Path| disk::disk_under(path).is_some_and(|disk| disks.contains(&disk));
    if !measured(out) {
        return None;
    }
    let name = format!("wirespeed-{}-{}.wsr", std::process::id(), clock::wall_ns());
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let folders = runtime.into_iter().chain([PathBuf::from("/dev/shm"), std::env::temp_dir()]);
    let place = |folder: PathBuf| {
        let roomy = disk::room_in(&folder).is_some_and(|room| room >= RECORD_ROOM);
        (roomy && !measured(&folder)).then(|| folder.join(&name))
    };
    // Opened and closed again: a folder of others is no place.
    folders.filter_map(place).find(|path| {
        let made = std::fs::File::create_new(path).is_ok();
        made && std::fs::remove_file(path).is_ok()
    })
}

/// Moves a record to where it is kept, over file systems.
pub fn moved<'p>(from: &Path, to: &'p Path) -> Result<&'p Path, Failure> {
    let copy = || {
        let mut target = std::fs::File::create_new(to)?;
        std::io::copy(&mut std::fs::File::open(from)?, &mut target)?;
        std::fs::remove_file(from)
    };
    copy().map(|()| to).map_err(|e| {
        let (from, to) = (from.display(), to.display());
        Failure::incomplete(format!("the record cannot be moved to {to}: {e}; it is {from}"))
    })
}

/// Refuses a place for results where they would destroy anything but older results: a file is replaced only if it holds
/// what Wirespeed wrote there.
pub fn results_path(out: &Path) -> Result<(), Failure> {
    // What is not there, or cannot be looked at, is left to the writing, which says why it fails.
    let Ok(meta) = std::fs::metadata(out) else { return Ok(()) };
    let refused = |what: &str| {
        let out = out.display();
        Err(Failure::usage(format!(
            "{out} is {what}, which is never overwritten: choose another place, or remove it"
        )))
    };
    if meta.file_type().is_block_device() {
        return refused("a block device");
    }
    if meta.is_file() && !guard::are_results(out).unwrap_or(false) {
        return refused("a file that Wirespeed did not write, or that was changed since");
    }
    Ok(())
}

/// Marks results that were written, so that the next ones may replace them.
pub fn results_written(out: &Path) {
    // Without extended attributes they stay until the user removes them.
    if std::fs::metadata(out).is_ok_and(|meta| meta.is_file()) {
        let _ = guard::mark_results(out);
    }
}

/// What was written of results before that failed is no result, and nothing else was there: it goes.
pub fn results_failed(out: &Path) {
    if std::fs::symlink_metadata(out).is_ok_and(|meta| meta.is_file()) {
        let _ = std::fs::remove_file(out);
    }
}

/// The stem of a scenario's records: its file name without the ending.
pub fn stem(source_name: &str) -> String {
    let stem = Path::new(source_name).file_stem().and_then(|s| s.to_str()).unwrap_or("run");
    if stem.starts_with('<') { "run".to_owned() } else { stem.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stems() {
        for (name, expected) in
            [("lab2.toml", "lab2"), ("/a/b.c/x.y.toml", "x.y"), ("<stdin>", "run"), ("", "run")]
        {
            assert_eq!(stem(name), expected, "{name}");
        }
    }

    #[test]
    fn an_existing_record_is_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("a.wsr");
        std::fs::write(&taken, "x").unwrap();
        assert!(record_path(Some(&taken), "a").is_err());
        assert!(record_path(Some(&dir.path().join("b.wsr")), "a").is_ok());
    }

    #[test]
    fn results_replace_results_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        for (name, content, free) in [
            ("old.csv", &b"step,plan\n0,plan\n"[..], false),
            ("empty.txt", b"", true),
            ("run.wsr", b"SQLite format 3\0 and pages", false),
        ] {
            std::fs::write(path(name), content).unwrap();
            assert_eq!(results_path(&path(name)).is_ok(), free, "{name}");
        }
        std::os::unix::fs::symlink(path("run.wsr"), path("link.csv")).unwrap();
        std::fs::hard_link(path("run.wsr"), path("hard.csv")).unwrap();
        assert!(
            results_path(&path("link.csv")).is_err() && results_path(&path("hard.csv")).is_err()
        );
        assert!(
            results_path(&path("new.csv")).is_ok() && results_path(Path::new("/dev/null")).is_ok()
        );
        std::fs::write(path("ours.csv"), "ours").unwrap();
        if guard::mark_results(&path("ours.csv")).is_err() {
            return eprintln!("skipped: no extended attributes here");
        }
        assert!(results_path(&path("ours.csv")).is_ok());
        // A copy with its attributes is as good; a change of one byte is the user's.
        std::fs::write(path("ours.csv"), "Ours").unwrap();
        assert!(results_path(&path("ours.csv")).is_err());
    }

    /// Only checks: a test that writes would endanger the user's disk.
    #[test]
    fn results_are_not_for_devices() {
        let devices = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let mut nodes = devices.map(|device| Path::new("/dev").join(device.file_name()));
        let Some(node) = nodes.find(|node| node.exists()) else {
            eprintln!("skipped: there is no block device here");
            return;
        };
        assert!(results_path(&node).is_err(), "{}", node.display());
    }

    #[test]
    fn what_cannot_be_a_scenario_is_refused() {
        assert!(read_limited(&[0xff, 0xfe][..], "scenario", "x").is_err());
        assert_eq!(read_limited(&b"[scenario]"[..], "scenario", "x").unwrap(), "[scenario]");
    }
}

//! Files that the user names or that are named for him: scenarios to read, records to write.

use crate::cli::ScenarioArgs;
use crate::exit::{Exit, Failure};
use scenario::Source;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest scenario that is read; a mistaken path should not fill the memory.
const SCENARIO_BYTES_MAX: u64 = 16 << 20;

/// Reads a scenario's text (`-` = stdin) and keeps its overrides beside it.
pub fn scenario_source(args: &ScenarioArgs) -> Result<Source, Failure> {
    let (name, text) = if args.file == Path::new("-") {
        ("<stdin>".to_owned(), read_limited(std::io::stdin().lock(), "<stdin>")?)
    } else {
        let name = args.file.display().to_string();
        let file = std::fs::File::open(&args.file)
            .map_err(|e| Failure::usage(format!("cannot read the scenario {name}: {e}")))?;
        let text = read_limited(file, &name)?;
        (name, text)
    };
    Ok(Source { name, text, overrides: args.set.clone() })
}

fn read_limited(from: impl Read, name: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    from.take(SCENARIO_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::usage(format!("cannot read the scenario {name}: {e}")))?;
    if bytes.len() as u64 > SCENARIO_BYTES_MAX {
        return Err(Failure::usage(format!("{name} is larger than 16 MiB: not a scenario")));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        Failure::usage(format!("{name} is not UTF-8 text (byte {at}): not a scenario"))
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
    fn what_cannot_be_a_scenario_is_refused() {
        assert!(read_limited(&[0xff, 0xfe][..], "x").is_err());
        assert_eq!(read_limited(&b"[scenario]"[..], "x").unwrap(), "[scenario]");
    }
}

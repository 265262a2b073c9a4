//! The syntax of `--library`: `DIR`, with options after commas.

use san::volume::{Generation, LibrarySettings, Pace};
use std::path::{Path, PathBuf};
use units::Bytes;

/// Options with what they take.
const OPTIONS: &str = "drives=N, slots=N, mailslots=N, generation=LTO-N, cartridges=N, capacity=SIZE, rate=native|RATE|off, \
                       compression=on|off";

/// A tape library as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibrarySpec {
    /// Where its cartridges are.
    pub directory: PathBuf,
    pub drives: u16,
    slots: u16,
    mailslots: u16,
    generation: &'static Generation,
    cartridges: u16,
    capacity: Option<u64>,
    rate: Option<u64>,
    compress: bool,
}

/// Reads the value of `--library`.
pub fn library(text: &str) -> Result<LibrarySpec, String> {
    let mut parts = text.split(',').map(str::trim);
    let directory = parts.next().filter(|part| !part.is_empty() && !part.contains('='));
    let directory = directory.ok_or("a directory is missing: as in `/srv/tapes,drives=2`")?;
    let sixth = Generation::named("LTO-6").ok_or("LTO-6 is known")?;
    let mut spec = LibrarySpec {
        directory: directory.into(),
        drives: 2,
        slots: 20,
        mailslots: 2,
        generation: sixth,
        cartridges: 10,
        capacity: None,
        rate: None,
        compress: true,
    };
    let mut native = false;
    let mut seen = Vec::new();
    for option in parts {
        let Some((key, value)) = option.split_once('=') else {
            return Err(format!("`{option}` is no option of a library; there are {OPTIONS}"));
        };
        if seen.contains(&key) {
            return Err(format!("`{key}` is given twice"));
        }
        seen.push(key);
        let count = |least: u16, most: u16| match value.parse() {
            Ok(count) if (least..=most).contains(&count) => Ok(count),
            _ => Err(format!("`{key}` is a number from {least} to {most}")),
        };
        let bytes = || Bytes::parse(value).map(|size| size.0).map_err(|e| e.to_string());
        match key {
            "drives" => spec.drives = count(1, 256)?,
            "slots" => spec.slots = count(1, 8192)?,
            "mailslots" => spec.mailslots = count(0, 64)?,
            "cartridges" => spec.cartridges = count(0, 999)?,
            "generation" => {
                spec.generation = Generation::named(value)
                    .ok_or("generations are LTO-1 to LTO-9: `generation=LTO-6`")?;
            }
            "capacity" => spec.capacity = Some(bytes()?.max(1 << 20)),
            "rate" => match value {
                "native" => native = true,
                "off" => {}
                _ => spec.rate = Some(rate(value)?),
            },
            "compression" => match value {
                "on" => {}
                "off" => spec.compress = false,
                _ => return Err("`compression` is `on` or `off`".to_owned()),
            },
            _ => return Err(format!("`{key}` is no option of a library; there are {OPTIONS}")),
        }
    }
    if native {
        spec.rate = Some(spec.generation.rate);
    }
    if spec.cartridges > spec.slots {
        return Err(format!("{} cartridges need as many slots", spec.cartridges));
    }
    Ok(spec)
}

/// Bytes a second, as in `120MB/s`.
fn rate(value: &str) -> Result<u64, String> {
    let bytes = value.strip_suffix("/s").and_then(|size| Bytes::parse(size).ok());
    let bytes = bytes.filter(|bytes| bytes.0 > 0).map(|bytes| bytes.0);
    bytes.ok_or_else(|| "`rate` is `native`, `off` or a figure such as `120MB/s`".to_owned())
}

impl LibrarySpec {
    /// The settings for a target of this name.
    pub fn settings(&self, target: &str) -> LibrarySettings {
        LibrarySettings {
            directory: self.directory.clone(),
            generation: self.generation,
            drives: self.drives,
            slots: self.slots,
            mailslots: self.mailslots,
            cartridges: self.cartridges,
            capacity: self.capacity,
            pace: self.rate.map(Pace::Native),
            compress: self.compress,
            target: target.to_owned(),
        }
    }

    /// Its units, the changer first.
    pub fn names(&self) -> Vec<String> {
        let place = self.directory.display();
        let mut names = vec![format!("changer of {place}")];
        let generation = self.generation.name;
        names.extend((0..self.drives).map(|n| format!("{generation} drive {n} of {place}")));
        names
    }

    /// What would be done, for a dry run.
    pub fn fate(&self) -> String {
        let new = format!("made, with {} cartridges", self.cartridges);
        match std::fs::read_dir(&self.directory) {
            Err(_) => new,
            Ok(entries) => {
                let names = entries.flatten().map(|entry| entry.file_name());
                let names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
                if names.iter().any(|name| name == "library.state") {
                    let cartridges = names.iter().filter(|name| name.ends_with(".tape")).count();
                    format!("served, with {cartridges} cartridges")
                } else if names.is_empty() {
                    new
                } else {
                    "NOT POSSIBLE if it holds other files than cartridges".to_owned()
                }
            }
        }
    }
}

/// The path that names it over restarts.
pub fn place(directory: &Path) -> String {
    std::path::absolute(directory)
        .map_or_else(|_| directory.display().to_string(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_and_mistakes_are_said() {
        let spec = library("/srv/t,drives=4,slots=9,cartridges=3,generation=lto4,rate=native");
        let settings = spec.unwrap().settings("iqn.x:y");
        assert_eq!((settings.drives, settings.slots, settings.cartridges), (4, 9, 3));
        assert_eq!(
            (settings.generation.name, settings.pace),
            ("LTO-4", Some(Pace::Native(120_000_000)))
        );
        let paced = library("t,rate=80MB/s,capacity=1GiB,compression=off").unwrap();
        assert_eq!(
            (paced.rate, paced.capacity, paced.compress),
            (Some(80_000_000), Some(1 << 30), false)
        );
        assert_eq!(paced.names().len(), 3);
        let check = |text: &str, expected: &str| {
            let error = library(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("", "a directory is missing");
        check("drives=2", "a directory is missing");
        check("t,drives=0", "from 1 to 256");
        check("t,drive=2", "no option");
        check("t,slots=3,slots=4", "given twice");
        check("t,generation=LTO-12", "LTO-1 to LTO-9");
        check("t,rate=fast", "120MB/s");
        check("t,slots=3,cartridges=4", "as many slots");
        check("t,compression=maybe", "`on` or `off`");
    }
}

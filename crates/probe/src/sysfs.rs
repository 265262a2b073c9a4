//! Reading a tree of sysfs: small files with one value. The root is an argument, so that trees made by hand are read as well.

use std::fs;
use std::path::Path;

/// Entries of a folder read at most.
const ENTRIES_MAX: usize = 65_536;

/// The text of a file without its end of line; `None` where it is absent, empty, or not text.
pub(crate) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A number, decimal or after `0x`. All ones of the kernel's 64 bits say that it is not counted.
pub(crate) fn number(path: &Path) -> Option<u64> {
    parse(&text(path)?)
}

/// The same of a text.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let number = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => text.parse().ok()?,
    };
    (number != u64::MAX).then_some(number)
}

/// The names in a folder, in their order; those with numbers by their numbers.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(ENTRIES_MAX).flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by(|a, b| a.len().cmp(&b.len()).then(a.cmp(b)));
    names
}

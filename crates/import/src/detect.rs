//! Whose file a text is, by what only that program writes.

use crate::Format;

/// The formats that a text may be of: none, one, or several.
pub(crate) fn formats(text: &str) -> Vec<Format> {
    let lines = || text.lines().map(str::trim);
    let has = |test: fn(&str) -> bool| lines().any(test);
    let iometer = lines().any(|line| {
        let lower = line.to_ascii_lowercase();
        ["'test setup", "'access specification", "'manager list", "'results display"]
            .iter()
            .any(|heading| lower.starts_with(heading))
    });
    let xml = text.trim_start().starts_with('<');
    let found = |format: &Format| match format {
        Format::Iometer => iometer,
        Format::Fio => !iometer && !xml && has(is_section),
        Format::Vdbench => !iometer && !xml && has(is_definition),
        Format::Diskspd => !iometer && (xml && text.contains("<Profile") || has(is_diskspd)),
    };
    Format::ALL.into_iter().filter(found).collect()
}

/// `[job]`
fn is_section(line: &str) -> bool {
    line.starts_with('[') && line.contains(']')
}

/// `sd=sd1,lun=…`, `wd=…`, `rd=…`
fn is_definition(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    ["sd=", "wd=", "rd=", "fsd=", "fwd="].iter().any(|word| lower.starts_with(word))
}

/// A command line of diskspd, or the options of one alone.
fn is_diskspd(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return false };
    let program = first.trim_matches('"').to_ascii_lowercase();
    let program = program.rsplit(['/', '\\']).next().unwrap_or_default();
    if matches!(program, "diskspd" | "diskspd.exe") {
        return true;
    }
    let option = |word: &str| {
        let mut chars = word.chars();
        matches!(chars.next(), Some('-' | '/'))
            && chars.next().is_some_and(|c| "bcdhorstwWSLZ".contains(c))
    };
    option(first)
        && !first.starts_with("--")
        && words.any(|word| option(word) && !word.starts_with("--"))
}

//! Bad scenarios and exactly what is said about them. The cases are data: `tests/bad/*.txt` hold a heading, a scenario
//! (after an implied first line that gives the title), optional `--set` lines, lines of catalogs (`--catalog NAME| TEXT`), and
//! the plain rendering. With a line `--simulate` it is asked for its topology, with `--live` whether a live run can carry it
//! out. A mark that stands where its heading says, under that line of the text, is written as its length and its label:
//! `lab.toml:2:1+8: the message [the label]`; any other is written out.
//!
//! `UPDATE_EXPECTED=1 cargo test -p scenario bad` rewrites the renderings; the difference is then for review.

use scenario::{CatalogFile, Source, load};
use std::path::{Path, PathBuf};

/// Cases that the table must hold at least, so that it cannot be emptied unnoticed.
const CASES_MIN: usize = 100;

struct Case {
    heading: String,
    input: String,
    expected: String,
}

impl Case {
    fn parse(text: &str) -> Case {
        let (heading, rest) = text.split_once('\n').expect("a heading");
        let (input, expected) = rest.split_once(">>>\n").expect("`>>>` before what is expected");
        Case { heading: heading.into(), input: input.into(), expected: expected.trim().into() }
    }

    fn actual(&self) -> String {
        let set = |line: &str| {
            let (key, value) = line.strip_prefix("--set ")?.split_once('=')?;
            Some((key.to_owned(), value.to_owned()))
        };
        let overrides = self.input.lines().filter_map(set).collect();
        let asked = |word: &str| self.input.lines().any(|line| line == word);
        let catalogs = catalogs(&self.input);
        let body: Vec<&str> = self.input.lines().filter(|l| !l.starts_with("--")).collect();
        let title = if self.input.contains("[scenario]") { "" } else { "scenario.title = \"t\"" };
        let text = format!("{title}\n{}\n", body.join("\n"));
        let mut texts = vec![("lab.toml".to_owned(), text.clone())];
        texts.extend(catalogs.iter().map(|c| (c.name.clone(), c.text.clone())));
        let result = match load(&Source { name: "lab.toml".into(), text, overrides, catalogs }) {
            Ok(lab) if asked("--simulate") => lab.topology().map(|_| ()),
            Ok(lab) if asked("--live") => lab.live(),
            loaded => loaded.map(|_| ()),
        };
        result.map_or_else(|d| compact(&d.to_string(), &texts), |()| "nothing".into())
    }

    fn print(&self, actual: &str) -> String {
        format!("## {}\n{}>>>\n{actual}\n", self.heading, self.input)
    }
}

/// The catalogs of lines `--catalog NAME| TEXT`.
fn catalogs(input: &str) -> Vec<CatalogFile> {
    let mut catalogs: Vec<CatalogFile> = Vec::new();
    for line in input.lines() {
        let line = line.strip_prefix("--catalog ").and_then(|line| line.split_once('|'));
        let Some((name, text)) = line else { continue };
        if catalogs.last().is_none_or(|last| last.name != name) {
            catalogs.push(CatalogFile { name: name.into(), text: String::new() });
        }
        if let Some(last) = catalogs.last_mut() {
            last.text.push_str(&format!("{}\n", text.strip_prefix(' ').unwrap_or(text)));
        }
    }
    catalogs
}

/// A rendering without blank lines and, where the mark is right, without the marked line.
fn compact(rendering: &str, texts: &[(String, String)]) -> String {
    let lines: Vec<&str> = rendering.lines().filter(|line| !line.trim().is_empty()).collect();
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(line) = lines.get(at) {
        let marked = lines.get(at + 1..at + 3).and_then(|mark| marked(line, mark, texts));
        at += if marked.is_some() { 3 } else { 1 };
        out.push(marked.unwrap_or_else(|| (*line).to_owned()));
    }
    out.join("\n")
}

fn marked(heading: &str, mark: &[&str], texts: &[(String, String)]) -> Option<String> {
    let mut parts = heading.splitn(4, ':');
    let (name, line, column) = (parts.next()?, parts.next()?, parts.next()?);
    let message = parts.next()?;
    let (_, text) = texts.iter().find(|(of, _)| of == name)?;
    let (gutter, shown) = mark[0].split_once(" | ")?;
    let (_, under) = mark[1].split_once(" | ")?;
    let carets = under.trim_start();
    let long = carets.chars().take_while(|c| *c == '^').count();
    let right = gutter.trim() == line
        && text.lines().nth(line.parse::<usize>().ok()? - 1) == Some(shown)
        && under.len() - carets.len() + 1 == column.parse::<usize>().ok()?
        && long > 0;
    let label = carets[long..].trim();
    let label = if label.is_empty() { String::new() } else { format!(" [{label}]") };
    right.then(|| format!("{name}:{line}:{column}+{long}:{message}{label}"))
}

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad");
    let entries = std::fs::read_dir(folder).expect("the folder of cases");
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files
}

fn cases(file: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(file).expect("a readable file of cases");
    format!("\n{text}").split("\n## ").skip(1).map(Case::parse).collect()
}

#[test]
fn every_mistake_is_reported_as_expected() {
    let update = std::env::var_os("UPDATE_EXPECTED").is_some();
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files() {
        let mut rewritten = Vec::new();
        for case in cases(&file) {
            let actual = case.actual();
            if actual != case.expected {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                wrong.push(format!(
                    "{name}: {}\n--- expected\n{}\n--- found\n{actual}",
                    case.heading, case.expected
                ));
            }
            rewritten.push(case.print(&actual));
            count += 1;
        }
        if update {
            std::fs::write(&file, rewritten.join("\n")).expect("a writable file of cases");
        }
    }
    assert!(count >= CASES_MIN, "only {count} cases");
    assert!(update || wrong.is_empty(), "{}", wrong.join("\n\n"));
}

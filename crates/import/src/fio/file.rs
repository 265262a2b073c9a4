//! The lines of a job file: sections, options, and what is replaced in them.

use super::options::{self, Meaning};
use crate::mistake::Mistakes;
use crate::{Surroundings, note::Notes};
use std::collections::BTreeMap;
use std::ops::Range;

/// The value of an option and its place.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    /// `None`: the option stands alone, which switches it on.
    pub value: Option<String>,
    pub span: Range<usize>,
    pub line: usize,
    /// The option as the file writes it.
    pub written: String,
}

/// The options that hold for a job: its own and those of `[global]` before it.
pub(super) type Settings = BTreeMap<&'static str, Setting>;

/// A section that is a job.
#[derive(Clone, Debug)]
pub(super) struct Section {
    pub name: String,
    pub line: usize,
    pub settings: Settings,
}

/// Jobs of a file at most.
const JOBS_MAX: usize = 1000;

/// The jobs of a file, in its order.
pub(super) fn sections(
    text: &str,
    around: &Surroundings<'_>,
    notes: &mut Notes,
    mistakes: &mut Mistakes<'_>,
) -> Vec<Section> {
    let mut reader = Reader { around, notes, mistakes, global: Settings::new(), jobs: Vec::new() };
    let mut at = 0;
    let mut place = Where::Nowhere;
    for (number, line) in (1..).zip(text.split('\n')) {
        let start = at;
        at += line.len() + 1;
        let content = match line.find([';', '#']) {
            Some(comment) => &line[..comment],
            None => line,
        };
        let from = start + (content.len() - content.trim_start().len());
        let content = content.trim();
        if content.is_empty() {
            continue;
        }
        let span = from..from + content.len();
        if let Some(rest) = content.strip_prefix('[') {
            place = reader.section(rest, span, number);
        } else {
            reader.option(&place, content, span, number);
        }
        if reader.jobs.len() > JOBS_MAX {
            reader.mistakes.add(from..from, format!("more than {JOBS_MAX} jobs"));
            break;
        }
    }
    reader.jobs
}

/// Where a line stands.
enum Where {
    Nowhere,
    Global,
    Job,
}

struct Reader<'a, 'n, 't> {
    around: &'a Surroundings<'a>,
    notes: &'n mut Notes,
    mistakes: &'n mut Mistakes<'t>,
    global: Settings,
    jobs: Vec<Section>,
}

impl Reader<'_, '_, '_> {
    fn section(&mut self, rest: &str, span: Range<usize>, line: usize) -> Where {
        let Some((name, after)) = rest.rsplit_once(']') else {
            self.mistakes.add(span, "a section without its closing `]`");
            return Where::Job;
        };
        if !after.trim().is_empty() {
            self.mistakes
                .add(span.clone(), "an option behind a section's `]`: give it a line of its own");
        }
        if name.trim().is_empty() {
            self.mistakes.add(span.clone(), "a job without a name");
        }
        // As fio: whatever begins so is global.
        if name.starts_with("global") {
            return Where::Global;
        }
        let settings = self.global.clone();
        self.jobs.push(Section { name: name.to_owned(), line, settings });
        Where::Job
    }

    fn option(&mut self, place: &Where, content: &str, span: Range<usize>, line: usize) {
        let (written, value) = match content.split_once('=') {
            Some((name, value)) => (name.trim(), Some(value.trim())),
            None => (content, None),
        };
        if written.split_whitespace().next() == Some("include") {
            let help = "put the included text in its place, and import that";
            self.mistakes.add_help(span, "`include`: the file is read alone, without others", help);
            return;
        }
        let key = span.start..span.start + written.len();
        let name = options::canonical(written);
        let Some((name, meaning)) = options::meaning(name) else {
            self.mistakes.unknown(key, "option", written, options::names());
            return;
        };
        let value = match value {
            Some(value) => {
                let value_at = span.end - value.len()..span.end;
                match self.replaced(value, &value_at) {
                    Some(value) => Some(value),
                    None => return,
                }
            }
            None => None,
        };
        match meaning {
            Meaning::Refused(why) if !is_off(value.as_deref()) => {
                self.mistakes.add(span, format!("`{written}`: {why}"));
                return;
            }
            Meaning::None | Meaning::Refused(_) => self.notes.exact(line, content),
            Meaning::Load | Meaning::Lost(_) => {}
        }
        let setting = Setting { value, span, line, written: content.to_owned() };
        match (place, self.jobs.last_mut()) {
            (Where::Global, _) => drop(self.global.insert(name, setting)),
            (Where::Job, Some(job)) => drop(job.settings.insert(name, setting)),
            _ => self.mistakes.add_help(
                setting.span,
                format!("`{written}` stands before any section"),
                "begin with `[global]` or `[JOB]`",
            ),
        }
    }

    /// The value with variables of the environment and fio's own words in their places.
    fn replaced(&mut self, value: &str, at: &Range<usize>) -> Option<String> {
        let mut out = String::new();
        let mut rest = value;
        while let Some(from) = rest.find("${") {
            out.push_str(&rest[..from]);
            let Some(to) = rest[from..].find('}') else {
                self.mistakes.add(at.clone(), "`${` without its `}`");
                return None;
            };
            let name = &rest[from + 2..from + to];
            match (self.around.variable)(name) {
                Some(text) => out.push_str(&text),
                None => {
                    self.mistakes.add_help(
                        at.clone(),
                        format!("`${{{name}}}` is not set in the environment"),
                        format!("set it as for fio: {name}=… wirespeed import …"),
                    );
                    return None;
                }
            }
            rest = &rest[from + to + 1..];
        }
        out.push_str(rest);
        for (word, number) in [("$pagesize", 4096), ("$ncpus", self.around.processors)] {
            out = computed(&out, word, number);
        }
        if out.contains("$mb_memory") {
            self.mistakes
                .add(at.clone(), "`$mb_memory` is another number on each machine: write it out");
            return None;
        }
        Some(out)
    }
}

/// `8*$ncpus` as fio computes it: in brackets, which is arithmetic for every number.
fn computed(text: &str, word: &str, number: u64) -> String {
    if !text.contains(word) {
        return text.to_owned();
    }
    let replaced = text.replace(word, &number.to_string());
    let plain = replaced.chars().all(|c| c.is_ascii_digit());
    if plain { replaced } else { format!("({replaced})") }
}

/// An option that was switched off.
fn is_off(value: Option<&str>) -> bool {
    matches!(value, Some("0" | "none"))
}

//! What became of each setting of a file: carried over exactly, approximated, or lost.

use std::collections::BTreeSet;
use std::fmt;

/// What became of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The scenario means the same, or the setting does not change the load.
    Exact,
    /// The scenario comes near it.
    Approximated,
    /// The scenario has no counterpart.
    Lost,
}

impl Severity {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Exact => "exact",
            Severity::Approximated => "approximated",
            Severity::Lost => "lost",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What became of one setting of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// Where it stands, from 1.
    pub line: usize,
    /// The setting, as the file writes it.
    pub setting: String,
    /// What became of it.
    pub severity: Severity,
    /// Why, and what the scenario does instead; empty where it means the same.
    pub text: String,
}

/// Notes kept at most.
const NOTES_MAX: usize = 20_000;

/// The notes of a file.
#[derive(Debug, Default)]
pub(crate) struct Notes(Vec<Note>);

impl Notes {
    pub fn exact(&mut self, line: usize, setting: &str) {
        self.add(line, setting, Severity::Exact, "");
    }

    /// Notes it, and returns the comment that belongs beside the key in the scenario.
    pub fn approximated(&mut self, line: usize, setting: &str, text: &str) -> String {
        self.add(line, setting, Severity::Approximated, text);
        format!("approximated: {setting} (line {line}): {text}")
    }

    /// Notes it, and returns the comment that belongs beside the key in the scenario.
    pub fn lost(&mut self, line: usize, setting: &str, text: &str) -> String {
        self.add(line, setting, Severity::Lost, text);
        format!("lost: {setting} (line {line}): {text}")
    }

    /// Exact, with a word about it.
    pub fn remark(&mut self, line: usize, setting: &str, text: &str) {
        self.add(line, setting, Severity::Exact, text);
    }

    fn add(&mut self, line: usize, setting: &str, severity: Severity, text: &str) {
        if self.0.len() < NOTES_MAX {
            let (setting, text) = (setting.to_owned(), text.to_owned());
            self.0.push(Note { line, setting, severity, text });
        }
    }

    /// One note a setting and text, by line; a setting with a worse note has no exact one.
    pub fn finish(mut self) -> Vec<Note> {
        self.0.sort();
        self.0.dedup();
        let worse = |note: &Note| note.severity > Severity::Exact;
        let place = |note: &Note| (note.line, note.setting.clone());
        let not_exact: BTreeSet<(usize, String)> =
            self.0.iter().filter(|note| worse(note)).map(place).collect();
        self.0.retain(|note| worse(note) || !not_exact.contains(&place(note)));
        self.0
    }
}

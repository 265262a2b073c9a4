//! Plain rendering of [`Diagnostics`]: no colour, the line that is meant, an underline, help.
//!
//! Long lines are cut to a window around the place, and control characters are replaced, so that the output of a
//! damaged or hostile file stays readable.

use crate::diagnostics::{Diagnostic, Diagnostics, Origin, TextRange};
use std::fmt;

/// Characters of a source line that are shown.
const WINDOW: usize = 96;

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            self.one(f, diagnostic)?;
        }
        if self.omitted() > 0 {
            writeln!(f, "\nand {} more mistakes", self.omitted())?;
        }
        Ok(())
    }
}

impl Diagnostics {
    fn one(&self, f: &mut fmt::Formatter<'_>, d: &Diagnostic) -> fmt::Result {
        writeln!(f, "{}: {}", self.position(&d.place), d.message)?;
        self.excerpt(f, &d.place, d.label.as_deref())?;
        if let Some((place, label)) = &d.related {
            writeln!(f, "{}: {label}", self.position(place))?;
            self.excerpt(f, place, None)?;
        }
        if let Some(help) = &d.help {
            writeln!(f, "  help: {help}")?;
        }
        Ok(())
    }

    /// `file.toml:12:5`, or `--set:5` for an override, which has one line only.
    fn position(&self, place: &TextRange) -> String {
        let name = self.name(place.origin);
        match place.origin {
            Origin::File | Origin::Catalog(_) => {
                format!("{name}:{}:{}", place.line, place.column)
            }
            Origin::Set(_) => format!("{name}:{}", place.column),
        }
    }

    fn excerpt(
        &self,
        f: &mut fmt::Formatter<'_>,
        place: &TextRange,
        label: Option<&str>,
    ) -> fmt::Result {
        let text = self.text(place.origin);
        let Some(line) = text.split('\n').nth(place.line - 1) else { return Ok(()) };
        let line = line.strip_suffix('\r').unwrap_or(line);
        let start = place.column - 1;
        let from = start.saturating_sub(WINDOW / 2);
        let shown: String = line.chars().skip(from).take(WINDOW).map(visible).collect();
        let length = text[place.span.clone()].split('\n').next().unwrap_or("").chars().count();
        let room = shown.chars().count().saturating_sub(start - from);
        let marks = "^".repeat(length.min(room).max(1));
        let cut = if from > 0 { "…" } else { "" };
        let rest = if line.chars().count() > from + WINDOW { "…" } else { "" };
        let number = match place.origin {
            Origin::File | Origin::Catalog(_) => place.line.to_string(),
            Origin::Set(_) => "--set".to_owned(),
        };
        let margin = " ".repeat(number.len());
        writeln!(f, "{}", format!("  {number} | {cut}{shown}{rest}").trim_end())?;
        let indent = " ".repeat(start - from + cut.chars().count());
        let label = label.map(|l| format!(" {l}")).unwrap_or_default();
        writeln!(f, "  {margin} | {indent}{marks}{label}")
    }
}

/// One column for every character: tabs become blanks, other control characters a replacement.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

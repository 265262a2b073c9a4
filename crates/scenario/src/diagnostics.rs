//! Mistakes in a scenario: where, what, what was expected, and what was probably meant.
//!
//! A [`Sink`] collects mistakes while the file is read; nothing stops at the first one. [`Diagnostics`] is the sorted
//! result, with the texts it points into, so that it can be rendered plainly here ([`Display`](std::fmt::Display)) or
//! richly by a caller. The shape (message at the top, label at the place, help below) is that of compilers.

use crate::Source;
use std::ops::Range;

/// Mistakes kept at most; the rest is only counted, so that a large damaged file is reported in bounded time.
const MISTAKES_MAX: usize = 500;

/// The text that a place lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The scenario file.
    File,
    /// The n-th `--set` (from 0), as `KEY=VALUE`.
    Set(usize),
    /// The n-th catalog of the user (from 0).
    Catalog(usize),
}

/// A stretch of one of the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRange {
    /// Which text.
    pub origin: Origin,
    /// Bytes of that text; both ends lie on character boundaries.
    pub span: Range<usize>,
    /// Line of the start, from 1.
    pub line: usize,
    /// Column of the start in characters, from 1.
    pub column: usize,
}

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Where.
    pub place: TextRange,
    /// What is wrong and, for a wrong value, what was expected.
    pub message: String,
    /// A few words for the place itself.
    pub label: Option<String>,
    /// What to write instead.
    pub help: Option<String>,
    /// Another place that has to do with it, with its own label: the first of two equal names, say.
    pub related: Option<(TextRange, String)>,
}

/// Every mistake of a scenario, sorted by place. Never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    omitted: usize,
    texts: Vec<(String, String)>,
    /// How many of the texts are overrides; catalogs follow them.
    sets: usize,
}

impl Diagnostics {
    /// The mistakes, sorted by place: the file first, then each `--set`, then each catalog.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// How many mistakes [`Diagnostics::iter`] yields.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none; `load` never returns that.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Mistakes beyond the 500 that are kept.
    pub fn omitted(&self) -> usize {
        self.omitted
    }

    /// What to call a text: the file's name, or `--set`.
    pub fn name(&self, origin: Origin) -> &str {
        self.text_entry(origin).map_or("", |(name, _)| name)
    }

    /// The text that places of this origin point into.
    pub fn text(&self, origin: Origin) -> &str {
        self.text_entry(origin).map_or("", |(_, text)| text)
    }

    fn text_entry(&self, origin: Origin) -> Option<&(String, String)> {
        self.texts.get(number(origin, self.sets))
    }
}

/// A mistake in a file of another program, for [`Diagnostics::of`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignMistake {
    /// Bytes of the text.
    pub span: Range<usize>,
    /// What is wrong and what was expected.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostics {
    /// The mistakes of a text that is no scenario, shown as those of scenarios are; `None` if there are none.
    pub fn of(name: &str, text: &str, mistakes: Vec<ForeignMistake>) -> Option<Diagnostics> {
        let mut sink = Sink::default();
        for ForeignMistake { span, message, help } in mistakes {
            sink.push(|| Mistake::new(Span::new(Origin::File, span), message).maybe_help(help));
        }
        let source = Source { name: name.to_owned(), text: text.to_owned(), ..Source::default() };
        (!sink.is_empty()).then(|| sink.finish(&source))
    }
}

/// The number of the text that an origin means, where so many are overrides.
fn number(origin: Origin, sets: usize) -> usize {
    match origin {
        Origin::File => 0,
        Origin::Set(n) => 1 + n,
        Origin::Catalog(n) => 1 + sets + n,
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl std::error::Error for Diagnostics {}

/// Where a value was read: a place without its line and column, cheap to carry along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub origin: Origin,
    pub start: usize,
    pub end: usize,
}

impl Span {
    pub fn new(origin: Origin, range: Range<usize>) -> Span {
        Span { origin, start: range.start, end: range.end }
    }
}

/// A value with the place it was read from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct At<T> {
    pub at: Span,
    pub value: T,
}

impl<T> At<T> {
    pub fn new(at: Span, value: T) -> At<T> {
        At { at, value }
    }
}

/// Whether a mistake stands on its own or could follow from text that could not be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The text is not TOML.
    Syntax,
    /// The value itself is wrong, whatever else is missing.
    Value,
    /// Something is not there. Not reported beside syntax errors: it may be in the unreadable part.
    Absence,
}

/// A mistake before its place is turned into lines and columns.
#[derive(Debug)]
pub(crate) struct Mistake {
    class: Class,
    at: Span,
    message: String,
    label: Option<String>,
    help: Option<String>,
    related: Option<(Span, String)>,
}

impl Mistake {
    pub fn new(at: Span, message: impl Into<String>) -> Mistake {
        let message = message.into();
        Mistake { class: Class::Value, at, message, label: None, help: None, related: None }
    }

    pub fn class(mut self, class: Class) -> Mistake {
        self.class = class;
        self
    }

    pub fn label(mut self, label: impl Into<String>) -> Mistake {
        self.label = Some(label.into());
        self
    }

    pub fn help(mut self, help: impl Into<String>) -> Mistake {
        self.help = Some(help.into());
        self
    }

    pub fn maybe_help(mut self, help: Option<String>) -> Mistake {
        self.help = help;
        self
    }

    pub fn related(mut self, at: Span, label: impl Into<String>) -> Mistake {
        self.related = Some((at, label.into()));
        self
    }
}

/// Collects mistakes.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    list: Vec<Mistake>,
    omitted: usize,
}

impl Sink {
    /// Adds a mistake. It is built only while there is room, so that costly help is not made for nothing.
    pub fn push(&mut self, mistake: impl FnOnce() -> Mistake) {
        if self.list.len() < MISTAKES_MAX {
            self.list.push(mistake());
        } else {
            self.omitted += 1;
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Keeps the first mistake of each place: what a range defines is wrong in each of its things in the same way.
    pub fn once_a_place(mut self) -> Sink {
        let mut seen = std::collections::BTreeSet::new();
        self.list.retain(|mistake| seen.insert(mistake.at));
        self
    }

    pub fn has_syntax_errors(&self) -> bool {
        self.list.iter().any(|m| m.class == Class::Syntax)
    }

    /// Sorts the mistakes, drops those that only follow from unreadable text, and finds lines and columns.
    pub fn finish(self, source: &Source) -> Diagnostics {
        let texts: Vec<(String, String)> =
            std::iter::once((source.name.clone(), source.text.clone()))
                .chain(
                    source.overrides.iter().map(|(k, v)| ("--set".to_owned(), format!("{k}={v}"))),
                )
                .chain(source.catalogs.iter().map(|file| (file.name.clone(), file.text.clone())))
                .collect();
        let sets = source.overrides.len();
        let indexes: Vec<LineIndex> = texts.iter().map(|(_, text)| LineIndex::new(text)).collect();
        let place = |at: Span| {
            let number = number(at.origin, sets);
            indexes[number].place(at, &texts[number].1)
        };
        let broken: Vec<(Origin, usize)> = self
            .list
            .iter()
            .filter(|m| m.class == Class::Syntax)
            .map(|m| (m.at.origin, place(m.at).line))
            .collect();
        let stands = |m: &Mistake| match m.class {
            Class::Syntax => true,
            Class::Value => !broken.contains(&(m.at.origin, place(m.at).line)),
            Class::Absence => broken.is_empty(),
        };
        let mut list: Vec<Diagnostic> = self
            .list
            .iter()
            .filter(|m| stands(m))
            .map(|m| Diagnostic {
                place: place(m.at),
                message: printable(&m.message),
                label: m.label.as_deref().map(printable),
                help: m.help.as_deref().map(printable),
                related: m.related.as_ref().map(|(at, label)| (place(*at), printable(label))),
            })
            .collect();
        list.sort_by_key(|d| (d.place.origin, d.place.span.start, d.place.span.end));
        list.dedup();
        Diagnostics { list, omitted: self.omitted, texts, sets }
    }
}

/// Starts of lines, to find a line by binary search.
pub(crate) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub fn new(text: &str) -> LineIndex {
        let after_breaks =
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1);
        LineIndex(std::iter::once(0).chain(after_breaks).collect())
    }

    /// The line that a byte lies in, from 1.
    pub fn line(&self, byte: usize) -> usize {
        self.0.partition_point(|&from| from <= byte)
    }

    fn place(&self, at: Span, text: &str) -> TextRange {
        let start = floor_boundary(text, at.start);
        let end = floor_boundary(text, at.end.max(at.start)).max(start);
        let line = self.line(start);
        let from = self.0[line - 1];
        let column = text[from..start].chars().count() + 1;
        TextRange { origin: at.origin, span: start..end, line, column }
    }
}

/// The nearest character boundary at or before `index`, within the text.
fn floor_boundary(text: &str, index: usize) -> usize {
    let mut index = index.min(text.len());
    while !text.is_char_boundary(index) {
        index -= 1;
    }
    index
}

/// Text that may hold anything from the file, made safe for a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

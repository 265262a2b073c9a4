//! TOML text to a tree whose every key and value knows its place.
//!
//! The parser recovers from syntax errors, so that one missing quote does not hide the other mistakes of a file. The
//! tree keeps the order of the file (the order of a sweep's axes has a meaning) and can hold values that came from
//! `--set` beside those of the file.

use crate::diagnostics::{At, Class, LineIndex, Mistake, Origin, Sink, Span};
use toml::de::{DeTable, DeValue};

/// Bytes of a scenario file at most: beyond that it is something else.
pub(crate) const TEXT_MAX: usize = 4 << 20;

/// A value and its place.
pub(crate) type Node = At<TomlValue>;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TomlValue {
    Text(String),
    /// The digits, and the value when it fits.
    Integer(String, Option<i64>),
    Float(f64),
    Flag(bool),
    Date,
    List(Vec<Node>),
    Table(TomlTable),
}

/// A table: keys in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TomlTable {
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: At<String>,
    pub node: Node,
}

impl TomlTable {
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries.iter().find(|e| e.key.value == key).map(|e| &e.node)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|e| e.key.value == key).map(|e| &mut e.node)
    }
}

impl TomlValue {
    /// The items of a list; none where it is none.
    pub fn items(&self) -> &[Node] {
        match self {
            TomlValue::List(items) => items,
            _ => &[],
        }
    }

    /// The text under the key `name` of a table.
    pub fn name(&self) -> Option<&str> {
        let TomlValue::Table(table) = self else { return None };
        match table.get("name") {
            Some(At { value: TomlValue::Text(name), .. }) => Some(name),
            _ => None,
        }
    }

    /// What was found, in words, for "expected …, found …".
    pub fn describe(&self) -> String {
        match self {
            TomlValue::Text(text) => format!("the text `{}`", clip(text)),
            TomlValue::Integer(digits, _) => format!("the integer {}", clip(digits)),
            TomlValue::Float(number) => format!("the number {number}"),
            TomlValue::Flag(flag) => format!("`{flag}`"),
            TomlValue::Date => "a date".to_owned(),
            TomlValue::List(_) => "a list".to_owned(),
            TomlValue::Table(_) => "a table".to_owned(),
        }
    }
}

/// Text of the user short enough to be quoted in a message.
pub(crate) fn clip(text: &str) -> String {
    const LENGTH_MAX: usize = 48;
    if text.chars().count() <= LENGTH_MAX {
        return text.to_owned();
    }
    text.chars().take(LENGTH_MAX - 1).chain(std::iter::once('…')).collect()
}

/// Parses a scenario file. Syntax errors go to `sink`; what could be read is returned.
pub(crate) fn parse(text: &str, sink: &mut Sink) -> TomlTable {
    parse_file(text, Origin::File, sink)
}

/// The same of a file that is perhaps a catalog.
pub(crate) fn parse_file(text: &str, origin: Origin, sink: &mut Sink) -> TomlTable {
    let start = Span::new(origin, 0..0);
    if text.len() > TEXT_MAX {
        let message = match origin {
            Origin::Catalog(_) => "the file is larger than 4 MiB: this is not a catalog",
            Origin::File | Origin::Set(_) => {
                "the file is larger than 4 MiB: this is not a scenario"
            }
        };
        sink.push(|| Mistake::new(start, message).class(Class::Syntax));
        return TomlTable::default();
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    let lines = LineIndex::new(text);
    let mut lines_reported = std::collections::BTreeSet::new();
    for error in &errors {
        let range = error.span().unwrap_or(0..0);
        // One mistake of the user makes the recovering parser stumble several times on the same line.
        if lines_reported.insert(lines.line(range.start)) {
            sink.push(|| syntax_error(Span::new(origin, range), error.message(), text));
        }
    }
    table(root.into_inner(), origin, 0)
}

/// The parser's message; in words of our own for the mistakes that people make most.
fn syntax_error(at: Span, message: &str, text: &str) -> Mistake {
    let word = text.get(at.start..at.end).unwrap_or("").trim();
    let mistake = if message == "duplicate key" {
        let help = match word {
            "plan" => "several plans are written `[[plan]]`, each with its own `name`",
            _ => "keep one of them",
        };
        Mistake::new(at, format!("`{}` is given twice in the same table", clip(word))).help(help)
    } else if !message.starts_with("string values must be quoted") {
        Mistake::new(at, format!("not TOML: {message}"))
    } else if word.is_empty() {
        Mistake::new(at, "not TOML: the value is missing")
    } else {
        let word = clip(word);
        Mistake::new(at, format!("not TOML: the text `{word}` is not in quotes"))
            .help(format!("write `\"{word}\"`"))
    };
    mistake.class(Class::Syntax)
}

/// Parses the value of a `--set` whose text begins `offset` bytes into the override's text. A value that is not TOML
/// is a text, as typed, unless it begins like a TOML list, table or quoted text.
pub(crate) fn parse_value(
    text: &str,
    origin: Origin,
    offset: usize,
    sink: &mut Sink,
) -> Option<Node> {
    let whole = Span::new(origin, offset..offset + text.len());
    match DeValue::parse(text) {
        Ok(parsed) => {
            let span = parsed.span();
            let at = Span::new(origin, span.start + offset..span.end + offset);
            Some(At::new(at, value(parsed.into_inner(), origin, offset)))
        }
        Err(error) if text.starts_with(['"', '\'', '[', '{']) => {
            let message = format!("not TOML: {}", error.message());
            sink.push(|| Mistake::new(whole, message).class(Class::Syntax));
            None
        }
        Err(_) => Some(At::new(whole, TomlValue::Text(text.to_owned()))),
    }
}

fn table(parsed: DeTable<'_>, origin: Origin, offset: usize) -> TomlTable {
    let mut entries: Vec<Entry> = Vec::with_capacity(parsed.len());
    for (key, node) in parsed {
        let (key_span, node_span) = (key.span(), node.span());
        // The parser puts an empty value at the start of the text where it could not read one.
        if node_span == (0..0) && key_span.start > 0 {
            continue;
        }
        let place = |r: std::ops::Range<usize>| Span::new(origin, r.start + offset..r.end + offset);
        entries.push(Entry {
            key: At::new(place(key_span), key.into_inner().into_owned()),
            node: At::new(place(node_span), value(node.into_inner(), origin, offset)),
        });
    }
    entries.sort_by_key(|e| e.key.at.start);
    TomlTable { entries }
}

fn value(parsed: DeValue<'_>, origin: Origin, offset: usize) -> TomlValue {
    match parsed {
        DeValue::String(text) => TomlValue::Text(text.into_owned()),
        DeValue::Integer(n) => {
            let fits = i64::from_str_radix(n.as_str(), n.radix()).ok();
            TomlValue::Integer(n.to_string(), fits)
        }
        DeValue::Float(n) => TomlValue::Float(n.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(flag) => TomlValue::Flag(flag),
        DeValue::Datetime(_) => TomlValue::Date,
        DeValue::Array(items) => TomlValue::List(
            items
                .into_iter()
                .map(|item| {
                    let span = item.span();
                    let at = Span::new(origin, span.start + offset..span.end + offset);
                    At::new(at, value(item.into_inner(), origin, offset))
                })
                .collect(),
        ),
        DeValue::Table(inner) => TomlValue::Table(table(inner, origin, offset)),
    }
}

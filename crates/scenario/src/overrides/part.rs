//! `--set part.NAME.FIGURE=VALUE`: a figure of a part of the file or of a catalog, which the part need not have given.
//!
//! A part of a catalog becomes a part of the file that is like it, so that nothing else need know of overrides. The
//! figure's provenance says that it was set.

use super::{KeyPath, element, insert};
use crate::catalog::{catalog, kept};
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::fields::PART;
use crate::model::Part;
use crate::nearest::suggestion;
use crate::tree::{Entry, Node, TomlTable, TomlValue, clip};
use std::collections::BTreeSet;

/// The source of a figure that was set.
const SOURCE: &str = "set by --set";

/// Sets what follows `part` in a path; the value comes with what was typed for it.
pub(super) fn set(
    root: &mut TomlTable,
    users: &[Part],
    (section, path): (&At<String>, KeyPath<'_>),
    (node, typed): (Node, &str),
    sink: &mut Sink,
) {
    let names = names(root, users);
    let Some((name, tail)) = named(&names, path) else {
        return match path {
            // `part.KEY` of a file that has one part.
            [_] => element(root, section, path, &PART, node, sink),
            _ => unknown(&names, path, sink),
        };
    };
    let [key, beyond @ ..] = tail else {
        let help = format!("write the figure too, as in `part.{}.FIGURE=VALUE`", name.value);
        let message = format!("`part.{}` is not a value", clip(&name.value));
        return sink.push(|| Mistake::new(name.at, message).help(help));
    };
    let Some(part) = part_of_file(root, &name) else { return };
    if PART.field(&key.value).is_some() {
        insert(part, tail, node, sink);
    } else if let [first, ..] = beyond {
        let message = format!("the figure `{}` has no keys of its own", clip(&key.value));
        sink.push(|| Mistake::new(first.at, message));
    } else if let Some(value) = value(key, node, typed, sink) {
        figure(part, key, value);
    }
}

/// The names of all parts: of the file, of the catalogs that were kept with it, of the users', and of the embedded.
fn names(root: &TomlTable, users: &[Part]) -> BTreeSet<String> {
    let written = root.get("part").map_or(&[][..], |node| node.value.items()).iter();
    let written = written.filter_map(|part| part.value.name().map(str::to_owned));
    let written = written.chain(kept(root));
    written.chain(users.iter().chain(catalog()).map(|part| part.name.clone())).collect()
}

/// The part that a path begins with, by the longest of its beginnings that is a part's name: names may hold dots.
fn named<'p>(names: &BTreeSet<String>, path: KeyPath<'p>) -> Option<(At<String>, KeyPath<'p>)> {
    (1..=path.len()).rev().find_map(|n| {
        let name = joined(&path[..n])?;
        names.contains(&name.value).then_some((name, &path[n..]))
    })
}

fn unknown(names: &BTreeSet<String>, path: KeyPath<'_>, sink: &mut Sink) {
    let Some(name) = joined(&path[..path.len() - 1]) else { return };
    sink.push(|| {
        Mistake::new(name.at, format!("no part is named `{}`", clip(&name.value)))
            .class(Class::Absence)
            .maybe_help(suggestion(&name.value, names.iter().map(String::as_str)))
    });
}

fn joined(segments: KeyPath<'_>) -> Option<At<String>> {
    let [first, .., last] = segments else { return segments.first().cloned() };
    let words: Vec<&str> = segments.iter().map(|segment| segment.value.as_str()).collect();
    let at = Span { end: last.at.end, ..first.at };
    Some(At::new(at, words.join(".")))
}

/// The file's part of a name. Where the name is a catalog's, the file gets a part that is like it. `None` where what the
/// file has under `part` is no list, which is reported when it is decoded.
fn part_of_file<'r>(root: &'r mut TomlTable, name: &At<String>) -> Option<&'r mut TomlTable> {
    let index = root.entries.iter().position(|entry| entry.key.value == "part");
    let index = index.unwrap_or_else(|| {
        let key = At::new(name.at, "part".to_owned());
        root.entries.push(Entry { key, node: At::new(name.at, TomlValue::List(Vec::new())) });
        root.entries.len() - 1
    });
    let TomlValue::List(items) = &mut root.entries[index].node.value else { return None };
    let own = items.iter().position(|item| item.value.name() == Some(name.value.as_str()));
    let own = own.unwrap_or_else(|| {
        let entries = ["name", "like"].map(|key| text_entry(name.at, key, &name.value));
        items.push(At::new(name.at, TomlValue::Table(TomlTable { entries: entries.to_vec() })));
        items.len() - 1
    });
    match &mut items[own].value {
        TomlValue::Table(table) => Some(table),
        _ => None,
    }
}

fn text_entry(at: Span, key: &str, text: &str) -> Entry {
    Entry { key: At::new(at, key.to_owned()), node: At::new(at, TomlValue::Text(text.to_owned())) }
}

/// The value as text, as figures are written; a number needs no quotes here.
fn value(key: &At<String>, node: Node, typed: &str, sink: &mut Sink) -> Option<At<String>> {
    match node.value {
        TomlValue::Text(text) => Some(At::new(node.at, text)),
        TomlValue::List(_) | TomlValue::Table(_) => {
            let found = node.value.describe();
            let message = format!("{}: expected a value and its unit, found {found}", key.value);
            sink.push(|| Mistake::new(node.at, message));
            None
        }
        _ => Some(At::new(node.at, typed.trim().to_owned())),
    }
}

/// Gives a part a figure in the place of the one that it has by that name.
fn figure(part: &mut TomlTable, key: &At<String>, value: At<String>) {
    let entries = vec![
        text_entry(key.at, "name", &key.value),
        text_entry(value.at, "value", &value.value),
        text_entry(key.at, "source", SOURCE),
        text_entry(key.at, "kind", "assumed"),
    ];
    let figure = At::new(key.at, TomlValue::Table(TomlTable { entries }));
    match part.get_mut("figures").map(|node| &mut node.value) {
        None => {
            let list = At::new(key.at, TomlValue::List(vec![figure]));
            part.entries.push(Entry { key: At::new(key.at, "figures".to_owned()), node: list });
        }
        Some(TomlValue::List(figures)) => {
            match figures.iter_mut().find(|item| item.value.name() == Some(key.value.as_str())) {
                Some(known) => *known = figure,
                None => figures.push(figure),
            }
        }
        // What is no list is reported when it is decoded.
        Some(_) => {}
    }
}

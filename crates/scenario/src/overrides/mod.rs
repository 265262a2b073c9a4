//! `--set KEY=VALUE`: values put on top of the file before it is checked.
//!
//! A key is a path: `plan.measure`, `workload.stream.block`; an element of a list of tables is found by its name:
//! `target.data.file`, `plan.warm.repeat`; a figure of a part by its own: `part.qle2560.iops_max`. Values keep their place in the `--set` text, so that a mistake in one is
//! reported there.

mod part;

use crate::diagnostics::{At, Class, Mistake, Origin, Sink, Span};
use crate::fields::{ROOT, TableDef, Type};
use crate::model::Part;
use crate::nearest::suggestion;
use crate::tree::{self, Entry, Node, TomlTable, TomlValue, clip};

/// Puts every override on top of the tree, in order; `users` are the parts of users' catalogs.
pub(crate) fn apply(
    overrides: &[(String, String)],
    users: &[Part],
    root: &mut TomlTable,
    sink: &mut Sink,
) {
    for (n, (key, value)) in overrides.iter().enumerate() {
        let origin = Origin::Set(n);
        let Some(path) = segments(key, origin, sink) else { continue };
        if let Some(node) = tree::parse_value(value, origin, key.len() + 1, sink) {
            match &path[..] {
                [first, path @ ..] if first.value == "part" && !path.is_empty() => {
                    part::set(root, users, (first, path), (node, value), sink);
                }
                _ => section(root, &path, node, sink),
            }
        }
    }
}

type KeyPath<'a> = &'a [At<String>];

/// Splits a dotted path; a segment in double quotes may hold dots.
pub(crate) fn segments(key: &str, origin: Origin, sink: &mut Sink) -> Option<Vec<At<String>>> {
    let mut segments = Vec::new();
    let mut start = 0;
    let mut quoted = false;
    let bytes = key.as_bytes();
    for end in 0..=bytes.len() {
        match bytes.get(end) {
            Some(b'"') => quoted = !quoted,
            Some(b'.') if !quoted => {}
            None => {}
            Some(_) => continue,
        }
        if bytes.get(end) == Some(&b'"') {
            continue;
        }
        let text = key[start..end].trim().trim_matches('"');
        segments.push(At::new(Span::new(origin, start..end), text.to_owned()));
        start = end + 1;
    }
    let empty = segments.iter().find(|s| s.value.is_empty());
    if let Some(empty) = empty {
        sink.push(|| {
            Mistake::new(empty.at, "the key has an empty part")
                .help("write a path and a value, as in `plan.measure=2s`")
        });
        return None;
    }
    Some(segments)
}

/// The first segment: a section of the file.
fn section(root: &mut TomlTable, path: KeyPath<'_>, node: Node, sink: &mut Sink) {
    let [first, rest @ ..] = path else { return };
    let Some(field) = ROOT.field(&first.value) else {
        sink.push(|| {
            let message = format!("the scenario has no part `{}`", clip(&first.value));
            let help = suggestion(&first.value, ROOT.fields.iter().map(|f| f.key));
            Mistake::new(first.at, message).maybe_help(help)
        });
        return;
    };
    if rest.is_empty() {
        sink.push(|| {
            Mistake::new(first.at, format!("`{}` is not a value", first.value))
                .help(format!("write the key too, as in `{}.KEY=VALUE`", first.value))
        });
        return;
    }
    match &field.ty {
        Type::Tables(def) => element(root, first, rest, def, node, sink),
        Type::TableOrTables(def) => match root.get_mut(&first.value).map(|n| &mut n.value) {
            Some(TomlValue::List(_)) => element(root, first, rest, def, node, sink),
            Some(TomlValue::Table(table)) => {
                let rest = if named(table, &rest[0].value, def) { &rest[1..] } else { rest };
                insert(table, rest, node, sink);
            }
            _ => insert(root, path, node, sink),
        },
        _ => insert(root, path, node, sink),
    }
}

/// Whether a segment is the table's name and not one of its keys.
fn named(table: &TomlTable, segment: &str, def: &TableDef) -> bool {
    def.field(segment).is_none()
        && matches!(table.get("name"), Some(At { value: TomlValue::Text(name), .. }) if name == segment)
}

/// The second segment: an element of a list of tables, by its name.
fn element(
    root: &mut TomlTable,
    section: &At<String>,
    path: KeyPath<'_>,
    def: &TableDef,
    node: Node,
    sink: &mut Sink,
) {
    let [name, rest @ ..] = path else { return };
    let items = match root.get_mut(&section.value).map(|n| &mut n.value) {
        Some(TomlValue::List(items)) => items.as_mut_slice(),
        _ => &mut [],
    };
    let names: Vec<String> =
        items.iter().filter_map(|item| item.value.name()).map(str::to_owned).collect();
    let alone = items.len() == 1 && def.field(&name.value).is_some();
    let found = names.contains(&name.value);
    let chosen = items.iter_mut().find(|item| match found {
        true => item.value.name() == Some(name.value.as_str()),
        false => alone,
    });
    let rest = if found { rest } else { path };
    match chosen.map(|item| &mut item.value) {
        Some(TomlValue::Table(table)) if !rest.is_empty() => insert(table, rest, node, sink),
        Some(_) => sink.push(|| {
            Mistake::new(name.at, format!("`{}.{}` is not a value", section.value, name.value))
                .help("write the key too")
        }),
        None => sink.push(|| {
            let message = format!("no {} is named `{}`", section.value, clip(&name.value));
            let help = match names.is_empty() {
                true => Some(format!("the scenario has no {} with a name", def.title)),
                false => suggestion(&name.value, names.iter().map(String::as_str)),
            };
            Mistake::new(name.at, message).class(Class::Absence).maybe_help(help)
        }),
    }
}

/// Sets the value at the end of a path, making tables on the way where there are none.
fn insert(table: &mut TomlTable, path: KeyPath<'_>, node: Node, sink: &mut Sink) {
    let [key, rest @ ..] = path else { return };
    let index = table.entries.iter().position(|e| e.key.value == key.value);
    if rest.is_empty() {
        let entry = Entry { key: key.clone(), node };
        match index {
            Some(i) => table.entries[i] = entry,
            None => table.entries.push(entry),
        }
        return;
    }
    let i = index.unwrap_or_else(|| {
        let empty = At::new(key.at, TomlValue::Table(TomlTable::default()));
        table.entries.push(Entry { key: key.clone(), node: empty });
        table.entries.len() - 1
    });
    match &mut table.entries[i].node.value {
        TomlValue::Table(inner) => insert(inner, rest, node, sink),
        TomlValue::List(items) if !items.is_empty() => list_element(items, key, rest, node, sink),
        _ => sink.push(|| {
            let message = format!("`{}` has no keys of its own", clip(&key.value));
            Mistake::new(rest[0].at, message)
        }),
    }
}

/// An element of an inner list of tables: by its name (`host.esx.adapters.hba.part`), or where it has none by its number
/// from 0 (`vm.web.disks.0.queue`).
fn list_element(
    items: &mut [Node],
    key: &At<String>,
    path: KeyPath<'_>,
    node: Node,
    sink: &mut Sink,
) {
    let [name, rest @ ..] = path else { return };
    let names: Vec<String> =
        items.iter().filter_map(|item| item.value.name()).map(str::to_owned).collect();
    let by_name = items.iter().position(|item| item.value.name() == Some(name.value.as_str()));
    let by_number = || {
        let number = name.value.parse::<usize>().ok()?;
        items.get(number).filter(|item| item.value.name().is_none()).map(|_| number)
    };
    let chosen = by_name.or_else(by_number);
    match chosen.map(|n| &mut items[n].value) {
        Some(TomlValue::Table(table)) if !rest.is_empty() => insert(table, rest, node, sink),
        _ => sink.push(|| {
            let message = format!("no element of `{}` is named `{}`", key.value, clip(&name.value));
            let help = suggestion(&name.value, names.iter().map(String::as_str));
            Mistake::new(name.at, message).class(Class::Absence).maybe_help(help)
        }),
    }
}

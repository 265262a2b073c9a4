//! `--set KEY=VALUE`: values put on top of the file before it is checked.
//!
//! A key is a path: `plan.measure`, `workload.stream.block`; an element of a list of tables is found by its name:
//! `target.data.file`, `plan.warm.repeat`; a figure of a part by its own: `part.qle2560.iops_max`. Values keep their place in the `--set` text, so that a mistake in one is
//! reported there.

mod part;

use crate::diagnostics::{At, Class, Mistake, Origin, Sink, Span};
use crate::fields::{ROOT, TableDef, Type};
use crate::model::Part;
use crate::names;
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

/// The rule of `--set`, which messages about names end with.
const RULE: &str = "the path is SECTION.NAME.KEY; NAME is a name, a range such as `data{1..8}` or a pattern such as `data*`, \
                    in quotes where it holds dots";

/// Splits a dotted path; dots in quotes, of either kind, and those of a range belong to a segment.
pub(crate) fn segments(key: &str, origin: Origin, sink: &mut Sink) -> Option<Vec<At<String>>> {
    let mut segments = Vec::new();
    let mut start = 0;
    // The quote or the brace that is open.
    let mut open: Option<u8> = None;
    let bytes = key.as_bytes();
    for end in 0..=bytes.len() {
        match (bytes.get(end), open) {
            (Some(quote @ (b'"' | b'\'')), None) => open = Some(*quote),
            (Some(b'{'), None) => open = Some(b'}'),
            (Some(close), Some(by)) if *close == by => open = None,
            _ => {}
        }
        if !matches!((bytes.get(end), open), (Some(b'.'), None) | (None, _)) {
            continue;
        }
        let text = unquoted(key[start..end].trim());
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

/// A segment without its quotes.
fn unquoted(text: &str) -> &str {
    let within = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(text)
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
        Type::Map(_) => match entries(root, first, &rest[0]) {
            Ok(names) => names.into_iter().for_each(|name| {
                let mut path = path.to_vec();
                path[1].value = name;
                insert(root, &path, node.clone(), sink);
            }),
            Err(mistake) => sink.push(|| *mistake),
        },
        _ => insert(root, path, node, sink),
    }
}

/// The names in a section of named tables that a segment means: a name, a range or a pattern.
fn entries(
    root: &TomlTable,
    section: &At<String>,
    wanted: &At<String>,
) -> Result<Vec<String>, Box<Mistake>> {
    let known: Vec<&str> = match root.get(&section.value).map(|items| &items.value) {
        Some(TomlValue::Table(items)) => {
            items.entries.iter().map(|i| i.key.value.as_str()).collect()
        }
        _ => Vec::new(),
    };
    let word = wanted.value.as_str();
    if known.contains(&word) {
        return Ok(vec![word.to_owned()]);
    }
    let ranged = names::expand(word).unwrap_or_else(|_| vec![word.to_owned()]);
    let means = |name: &&&str| ranged.iter().any(|wanted| names::matches(wanted, name));
    let found: Vec<String> = known.iter().filter(means).map(|name| (*name).to_owned()).collect();
    if !found.is_empty() && (word.contains('*') || found.len() == ranged.len()) {
        return Ok(found);
    }
    let message = match found.len() {
        0 => format!("no {} is named `{}`", section.value, clip(word)),
        some => format!(
            "`{}` names {} of {}, and {some} are there",
            clip(word),
            ranged.len(),
            section.value
        ),
    };
    Err(Box::new(unnamed(message, wanted, known)))
}

/// Nothing has the name; `known` are those that there are.
fn unnamed<'a>(
    message: String,
    name: &At<String>,
    known: impl IntoIterator<Item = &'a str>,
) -> Mistake {
    let help = match suggestion(&name.value, known) {
        Some(near) if near.ends_with('?') => format!("{near} In general, {RULE}"),
        Some(near) => format!("{near}. In general, {RULE}"),
        None => RULE.to_owned(),
    };
    Mistake::new(name.at, message).class(Class::Absence).help(help)
}

/// Whether a segment is the table's name and not one of its keys.
fn named(table: &TomlTable, segment: &str, def: &TableDef) -> bool {
    def.field(segment).is_none()
        && matches!(table.get("name"), Some(At { value: TomlValue::Text(name), .. }) if name == segment)
}

/// The second segment: the elements of a list of tables that it names.
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
    let alone = items.len() == 1 && def.field(&name.value).is_some();
    let (chosen, rest) = match chosen(items, section.value.as_str(), &section.value, name) {
        Ok(chosen) => (chosen, rest),
        Err(_) if alone => (vec![0], path),
        Err(mistake) if items.iter().any(|item| item.value.name().is_some()) => {
            return sink.push(|| *mistake);
        }
        Err(mistake) => {
            let none = format!("the scenario has no {} with a name", def.title);
            return sink.push(|| mistake.help(none));
        }
    };
    if rest.is_empty() {
        return sink.push(|| {
            Mistake::new(name.at, format!("`{}.{}` is not a value", section.value, name.value))
                .help("write the key too")
        });
    }
    for n in chosen {
        if let TomlValue::Table(table) = &mut items[n].value {
            insert(table, rest, node.clone(), sink);
        }
    }
}

/// The tables of a list that a segment names: by a name, by a range or by a pattern. One table may define several items,
/// which are changed together: the segment must name all of them.
fn chosen(
    items: &[Node],
    what: &str,
    list: &str,
    wanted: &At<String>,
) -> Result<Vec<usize>, Box<Mistake>> {
    let word = wanted.value.as_str();
    let exact = |item: &Node| item.value.name() == Some(word);
    if let Some(n) = items.iter().position(exact) {
        return Ok(vec![n]);
    }
    let ranged = names::expand(word).unwrap_or_else(|_| vec![word.to_owned()]);
    let means = |name: &str| ranged.iter().any(|wanted| names::matches(wanted, name));
    let (mut found, mut defined, mut known) = (Vec::new(), 0, Vec::new());
    for (n, item) in items.iter().enumerate() {
        let Some(text) = item.value.name() else { continue };
        let all = names::expand(text).unwrap_or_else(|_| vec![text.to_owned()]);
        let named = all.iter().filter(|name| means(name)).count();
        if named > 0 && named < all.len() {
            let message = format!(
                "one table defines all of `{}`, and `{}` names {named} of its {} items",
                clip(text),
                clip(word),
                all.len()
            );
            let help = format!(
                "write `{list}.{}` for all of them, or give the others a table of their own",
                clip(text)
            );
            return Err(Box::new(
                Mistake::new(wanted.at, message).class(Class::Absence).help(help),
            ));
        }
        if named > 0 {
            found.push(n);
            defined += named;
        }
        known.push(text);
    }
    let missing = !word.contains('*') && defined < ranged.len();
    if !found.is_empty() && !missing {
        return Ok(found);
    }
    let message = match found.is_empty() {
        true => format!("no {what} is named `{}`", clip(word)),
        false => {
            format!("`{}` names {} of {list}, and {defined} are there", clip(word), ranged.len())
        }
    };
    Err(Box::new(unnamed(message, wanted, known)))
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
    let by_number = || {
        let number = name.value.parse::<usize>().ok()?;
        items.get(number).filter(|item| item.value.name().is_none()).map(|_| vec![number])
    };
    let found = match by_number().map_or_else(
        || chosen(items, &format!("element of `{}`", clip(&key.value)), &key.value, name),
        Ok,
    ) {
        Ok(found) => found,
        Err(mistake) => return sink.push(|| *mistake),
    };
    if rest.is_empty() {
        return sink.push(|| {
            Mistake::new(name.at, format!("`{}.{}` is not a value", key.value, name.value))
                .help("write the key too")
        });
    }
    for n in found {
        if let TomlValue::Table(table) = &mut items[n].value {
            insert(table, rest, node.clone(), sink);
        }
    }
}

//! Tree to data: every table against its description, every mistake reported, none stops the rest.
//!
//! This knows shapes and units, and the rules between the keys of one table. What a name refers to is not known here.

use crate::datum::{Datum, DatumKey, Decoded};
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::fields::{KeyField, Need, ROOT, TableDef, TableKind, Type};
use crate::figures;
use crate::nearest::{join, nearest, suggestion};
use crate::scalar;
use crate::tree::{Entry, Node, TomlTable, TomlValue, clip};

/// Tables of one kind, at most: ranges define several items with one table.
const TABLES_MAX: usize = 1000;
/// Keys of one table, at most; only tables with keys of the form `WORKLOAD.key` can have so many.
const KEYS_MAX: usize = 64;

/// Decodes a table that stands at `at`. `title` names it in messages.
pub(crate) fn record(
    table: &TomlTable,
    at: Span,
    def: &'static TableDef,
    title: &str,
    sink: &mut Sink,
) -> Decoded {
    let mut decoder = Decoder { def, title, fields: Vec::new(), meant: Vec::new(), sink };
    for entry in &table.entries {
        decoder.entry(entry, None);
    }
    let Decoder { mut fields, meant, .. } = decoder;
    if let Some(surplus) = fields.get(KEYS_MAX) {
        let at = surplus.key.at;
        sink.push(|| Mistake::new(at, format!("{title} has more than {KEYS_MAX} keys")));
        fields.truncate(KEYS_MAX);
    }
    let record = Decoded { at, def, fields, meant };
    missing(&record, title, sink);
    choices(&record, title, sink);
    conflicts(&record, sink);
    record
}

struct Decoder<'a> {
    def: &'static TableDef,
    title: &'a str,
    fields: Vec<DatumKey>,
    meant: Vec<&'static str>,
    sink: &'a mut Sink,
}

impl Decoder<'_> {
    fn entry(&mut self, entry: &Entry, prefix: Option<&str>) {
        let key = &entry.key.value;
        let (workload, name) = match (prefix, key.rsplit_once('.')) {
            (Some(prefix), _) => (Some(prefix), key.as_str()),
            (None, Some((workload, name))) if self.def.prefixed => (Some(workload), name),
            _ => (None, key.as_str()),
        };
        let fits = |field: &&KeyField| workload.is_none() || field.of_workload();
        if let Some(field) = self.def.field(name).filter(fits) {
            let value = value(&entry.node, &field.ty, name, self.sink);
            let full = workload.map_or_else(|| name.to_owned(), |w| format!("{w}.{name}"));
            self.fields.push(DatumKey { key: At::new(entry.key.at, full), value });
        } else if let (true, None, TomlValue::Table(inner)) =
            (self.def.prefixed, prefix, &entry.node.value)
        {
            for inner_entry in &inner.entries {
                self.entry(inner_entry, Some(key));
            }
        } else {
            let (def, title) = (self.def, self.title);
            self.meant.extend(nearest(name, def.fields.iter().map(|f| f.key)));
            self.sink.push(|| unknown_key(&entry.key, name, def, title));
        }
    }
}

fn unknown_key(key: &At<String>, name: &str, def: &'static TableDef, title: &str) -> Mistake {
    let keys = def.fields.iter().map(|f| f.key);
    let help = match nearest(name, keys.clone()) {
        _ if of_other_kind(name, def).is_some() => of_other_kind(name, def),
        Some(near) if near == name => {
            Some(format!("`{name}` does not belong to a workload: write it without one"))
        }
        Some(near) => Some(format!("did you mean `{near}`?")),
        None => elsewhere(name, def)
            .map(|help| help + &known_here(def))
            .or_else(|| figures::of_other_kinds(name))
            .or_else(|| suggestion(name, keys)),
    };
    let message = format!("unknown key `{}` in {title}", clip(&key.value));
    // A key of another table that stands at the top may only have lost its header to a syntax error.
    let stray = def.id == ROOT.id && elsewhere(name, def).is_some();
    let class = if stray { Class::Absence } else { Class::Value };
    Mistake::new(key.at, message).class(class).label("not known here").maybe_help(help)
}

/// A key that tables of another kind under the same name know.
fn of_other_kind(name: &str, here: &TableDef) -> Option<String> {
    let families = ROOT.fields.iter().filter_map(|field| match &field.ty {
        Type::Map(kinds) => Some(*kinds),
        _ => None,
    });
    let mut family = families.filter(|kinds| kinds.iter().any(|kind| kind.def.id == here.id));
    let others = family.next()?.iter().filter(|kind| kind.def.id != here.id);
    let other = others.into_iter().find(|kind| kind.def.field(name).is_some())?;
    Some(format!("`{name}` belongs to {}, those of `kind = \"{}\"`", other.plural, other.word))
}

/// A table's title without its kind: where a key belongs does not depend on it.
fn table_of(def: &TableDef) -> &'static str {
    def.title.split(" of kind").next().unwrap_or(def.title)
}

/// A key that another part of the scenario knows.
fn elsewhere(name: &str, here: &TableDef) -> Option<String> {
    let tables = ROOT.fields.iter().flat_map(|f| match &f.ty {
        Type::Table(def) | Type::Tables(def) | Type::TableOrTables(def) => vec![*def],
        Type::Map(kinds) => kinds.iter().map(|kind| kind.def).collect(),
        _ => Vec::new(),
    });
    let found = tables.filter(|def| def.id != here.id && def.field(name).is_some());
    let mut titles: Vec<String> = found.map(|def| table_of(def).to_owned()).collect();
    titles.dedup();
    match titles.as_slice() {
        [] => None,
        [one, two] => Some(format!("`{name}` belongs in {one} or {two}")),
        [first, ..] => Some(format!("`{name}` belongs in {first}")),
    }
}

/// The keys of a small table: the wrong key may stand for one of these.
fn known_here(def: &TableDef) -> String {
    const LISTED_MAX: usize = 6;
    let keys: Vec<String> = def.fields.iter().map(|field| format!("`{}`", field.key)).collect();
    match keys.len() {
        1..=LISTED_MAX => format!("; here are {}", join(&keys, "and")),
        _ => String::new(),
    }
}

fn missing(record: &Decoded, title: &str, sink: &mut Sink) {
    for field in record.def.fields {
        if matches!(field.need, Need::Required) && !record.means(field.key) {
            sink.push(|| needed(record, title, field));
        }
    }
}

/// A key that a table lacks.
pub(crate) fn needed(record: &Decoded, title: &str, field: &KeyField) -> Mistake {
    let help = match scalar::example(&field.ty) {
        _ if matches!(field.ty, Type::Word(_)) => {
            format!("add `{}`: {}", field.key, scalar::expected(&field.ty))
        }
        Some(example) => format!("add `{} = {example}`: {}", field.key, field.doc),
        None if matches!(field.ty, Type::Table(def) if def.title.starts_with('[')) => {
            format!("add [{}]: {}", field.key, field.doc)
        }
        None => format!("add `{}`: {}", field.key, field.doc),
    };
    Mistake::new(record.at, format!("{title} needs `{}`", field.key))
        .class(Class::Absence)
        .help(help)
}

fn choices(record: &Decoded, title: &str, sink: &mut Sink) {
    for choice in record.def.choices {
        let given: Vec<&DatumKey> = choice.keys.iter().filter_map(|k| record.slot(k)).collect();
        let words = || -> Vec<String> { choice.keys.iter().map(|k| format!("`{k}`")).collect() };
        match given[..] {
            [] if choice.required => sink.push(|| {
                let message = format!("{title} needs one of {}", join(&words(), "or"));
                Mistake::new(record.at, message).class(Class::Absence)
            }),
            [] | [_] => {}
            _ => {
                let mut slots = given.clone();
                slots.sort_by_key(|s| s.key.at);
                let (first, second) = (slots[0], slots[1]);
                sink.push(|| exclusive(&first.key, &second.key, &join(&words(), "or")));
            }
        }
    }
}

fn exclusive(first: &At<String>, second: &At<String>, words: &str) -> Mistake {
    Mistake::new(second.at, format!("`{}` and `{}` exclude each other", first.value, second.value))
        .label("the second")
        .related(first.at, format!("`{}` is given here", first.value))
        .help(format!("keep one of {words}"))
}

fn conflicts(record: &Decoded, sink: &mut Sink) {
    for conflict in record.def.conflicts {
        let Some(key) = record.slot(conflict.key) else { continue };
        for other in conflict.others.iter().filter_map(|o| record.slot(o)) {
            sink.push(|| {
                let message = format!(
                    "`{}` makes no sense beside `{}`: {}",
                    other.key.value, conflict.key, conflict.why
                );
                Mistake::new(other.key.at, message)
                    .related(key.key.at, format!("`{}` is given here", conflict.key))
            });
        }
    }
}

/// Decodes one value. `None` when it is wrong, which has been reported.
pub(crate) fn value(node: &Node, ty: &Type, key: &str, sink: &mut Sink) -> Option<At<Datum>> {
    let datum = match ty {
        Type::Table(def) => Datum::Record(one_table(node, def, key, sink)?),
        Type::Tables(def) => Datum::List(many_tables(node, def, key, sink)?),
        Type::TableOrTables(def) => match &node.value {
            TomlValue::Table(table) => Datum::Record(record(table, node.at, def, def.title, sink)),
            _ => Datum::List(many_tables(node, def, key, sink)?),
        },
        Type::Map(kinds) => Datum::Map(map(node, kinds, key, sink)?),
        Type::WordOrTable(words, def) => match &node.value {
            TomlValue::Table(table) => Datum::Record(record(table, node.at, def, def.title, sink)),
            _ => scalar::decode(node, &Type::Word(words), key, sink)?,
        },
        Type::FlagOrTable(def) => match &node.value {
            TomlValue::Table(table) => Datum::Record(record(table, node.at, def, def.title, sink)),
            _ => scalar::decode(node, &Type::Flag, key, sink)?,
        },
        Type::OneOrMany(one) => match &node.value {
            TomlValue::List(items) => Datum::List(list(node.at, items, one, key, sink)?),
            _ => return value(node, one, key, sink),
        },
        Type::Refs(what) => match &node.value {
            TomlValue::List(items) => {
                Datum::List(list(node.at, items, &Type::Ref(what), key, sink)?)
            }
            _ => return value(node, &Type::Ref(what), key, sink),
        },
        Type::Axis(one) => Datum::List(match &node.value {
            TomlValue::List(items) => list(node.at, items, one, key, sink)?,
            _ => scalar::ladder(node, one, key, sink)?,
        }),
        _ => scalar::decode(node, ty, key, sink)?,
    };
    Some(At::new(node.at, datum))
}

fn one_table(node: &Node, def: &'static TableDef, key: &str, sink: &mut Sink) -> Option<Decoded> {
    let title = def.title;
    match &node.value {
        TomlValue::Table(table) => Some(record(table, node.at, def, title, sink)),
        other => {
            let help = match (other, title.starts_with('[')) {
                (TomlValue::List(_), true) => {
                    format!("there is one {title}; it has single brackets")
                }
                (_, true) => format!("write {title} on a line of its own, its keys below"),
                _ => format!("write `{key} = {{ {} … }}`", first_key(def)),
            };
            mismatch(node, key, &format!("a table: {}", def.doc), sink, Some(help));
            None
        }
    }
}

fn many_tables(
    node: &Node,
    def: &'static TableDef,
    key: &str,
    sink: &mut Sink,
) -> Option<Vec<At<Datum>>> {
    let title = def.title;
    let help = match title.starts_with("[[") {
        true => format!("write {title} with double brackets"),
        false => format!("write `{key} = [{{ {} … }}]`", first_key(def)),
    };
    let TomlValue::List(items) = &node.value else {
        let help = named(def, key, &node.value).unwrap_or(help);
        mismatch(node, key, "a list of tables", sink, Some(help));
        return None;
    };
    let mut out = Vec::with_capacity(items.len());
    for item in bounded(items, |item| item.at, key, sink) {
        match &item.value {
            TomlValue::Table(table) => {
                let record = record(table, item.at, def, title, sink);
                out.push(At::new(item.at, Datum::Record(record)));
            }
            other => {
                let help = named(def, key, other).unwrap_or_else(|| help.clone());
                mismatch(item, key, "a table", sink, Some(help));
            }
        }
    }
    // What holds no table though it was to is wrong, not empty.
    (!out.is_empty() || items.is_empty()).then_some(out)
}

/// A small table that has only a name, which stands alone: `disks = ["a/v"]`.
fn named(def: &TableDef, key: &str, value: &TomlValue) -> Option<String> {
    let TomlValue::Text(text) = value else { return None };
    let required = || def.fields.iter().find(|field| matches!(field.need, Need::Required));
    let lun = def.field("lun").filter(|_| text.contains('/'));
    let field = lun.or_else(required).or(def.fields.first())?;
    let is_name = matches!(field.ty, Type::Name | Type::Ref(_));
    let is_small = is_name && !def.title.starts_with('[');
    is_small.then(|| format!("write `{key} = [{{ {} = \"{}\" }}]`", field.key, clip(text)))
}

/// How a small table begins.
fn first_key(def: &TableDef) -> String {
    let required = def.fields.iter().find(|field| matches!(field.need, Need::Required));
    required.or(def.fields.first()).map_or_else(String::new, |field| format!("{} =", field.key))
}

/// Tables by name, each of the kind that its key `kind` says.
fn map(
    node: &Node,
    kinds: &'static [TableKind],
    key: &str,
    sink: &mut Sink,
) -> Option<Vec<(At<String>, Decoded)>> {
    let usual = kinds.first()?.def;
    let TomlValue::Table(table) = &node.value else {
        let help = format!("write {} on a line of its own, its keys below", usual.title);
        mismatch(node, key, "tables by name", sink, Some(help));
        return None;
    };
    let mut out = Vec::with_capacity(table.entries.len());
    for Entry { key: name, node } in bounded(&table.entries, |entry| entry.key.at, key, sink) {
        match &node.value {
            TomlValue::Table(inner) => {
                let def = kind_of(inner, kinds).unwrap_or(usual);
                let title = def.title.replace("NAME", &clip(&name.value));
                out.push((name.clone(), record(inner, name.at, def, &title, sink)));
            }
            _ => {
                let known = kinds.iter().any(|kind| kind.def.field(&name.value).is_some());
                let help = known
                    .then(|| format!("a {key} has a name: write {} above this key", usual.title));
                mismatch(node, &name.value, &format!("the table of a {key}"), sink, help);
            }
        }
    }
    Some(out)
}

/// The description that a table is to be held against. Where its `kind` is no word that there is, which is reported then,
/// it is the one that knows most of its keys.
fn kind_of(table: &TomlTable, kinds: &'static [TableKind]) -> Option<&'static TableDef> {
    let given = match &table.get("kind")?.value {
        TomlValue::Text(text) => text.as_str(),
        _ => "",
    };
    if let Some(kind) = kinds.iter().find(|kind| kind.word == given) {
        return Some(kind.def);
    }
    let known = |def: &TableDef| {
        table.entries.iter().filter(|entry| def.field(&entry.key.value).is_some()).count()
    };
    // The first of those that know as many.
    kinds.iter().rev().map(|kind| kind.def).max_by_key(|def| known(def))
}

/// The first tables of a list; that there are too many is reported at the first beyond.
fn bounded<'t, T>(all: &'t [T], at: impl Fn(&T) -> Span, key: &str, sink: &mut Sink) -> &'t [T] {
    let Some(surplus) = all.get(TABLES_MAX) else { return all };
    sink.push(|| {
        Mistake::new(at(surplus), format!("{key}: there are more than {TABLES_MAX} tables"))
            .help("a range such as `vm{1..8}` defines several items with one table")
    });
    &all[..TABLES_MAX]
}

fn list(at: Span, items: &[Node], ty: &Type, key: &str, sink: &mut Sink) -> Option<Vec<At<Datum>>> {
    if items.is_empty() {
        sink.push(|| Mistake::new(at, format!("{key}: the list is empty")).label("nothing in it"));
        return None;
    }
    // Every item is looked at, so that every mistake is reported; one wrong item makes the whole list wrong.
    let decoded: Vec<_> = items.iter().map(|item| value(item, ty, key, sink)).collect();
    decoded.into_iter().collect()
}

/// Reports a value of the wrong shape.
pub(crate) fn mismatch(
    node: &Node,
    key: &str,
    expected: &str,
    sink: &mut Sink,
    help: Option<String>,
) {
    sink.push(|| {
        let found = node.value.describe();
        let expected = expected.split(':').next().unwrap_or(expected);
        Mistake::new(node.at, format!("{key}: expected {expected}, found {found}"))
            .label(format!("expected {expected}"))
            .maybe_help(help)
    });
}

//! The reference of the language in Markdown, made from the descriptions in `fields`, for `docs/scenario.md`.

use crate::catalog::part_kind;
use crate::fields::{KeyField, KeyWord, Need, PART_KINDS, ROOT, TableDef, Type};
use crate::figures::figures_of;
use crate::scalar::expected;
use std::fmt::Write;

/// One section a table: what it is for, its keys, and the rules between them.
pub fn reference() -> String {
    let mut tables: Vec<&'static TableDef> = Vec::new();
    collect(&ROOT, &mut tables);
    let mut out = String::new();
    for def in tables {
        section(def, &mut out);
    }
    figures(&mut out);
    out
}

/// What figures the parts of each kind may have.
fn figures(out: &mut String) {
    out.push_str("### Figures of parts\n\n");
    out.push_str("What a figure says where a part lacks it is assumed by the simulator, and listed as assumed.\n\n");
    for kind in PART_KINDS {
        let _infallible = write!(
            out,
            "Of `{}`, {}:\n\n| figure | value | meaning |\n|---|---|---|\n",
            kind.word, kind.doc
        );
        for def in figures_of(part_kind(kind.word)) {
            let _infallible = writeln!(out, "| `{}` | {} | {} |", def.name, def.dimension, def.doc);
        }
        out.push('\n');
    }
}

/// Tables in the order in which a reader meets them.
fn collect(def: &'static TableDef, out: &mut Vec<&'static TableDef>) {
    if out.iter().any(|known| known.id == def.id) {
        return;
    }
    out.push(def);
    for field in def.fields {
        match &field.ty {
            Type::Table(inner)
            | Type::Tables(inner)
            | Type::TableOrTables(inner)
            | Type::FlagOrTable(inner)
            | Type::WordOrTable(_, inner) => collect(inner, out),
            Type::Map(kinds) => kinds.iter().for_each(|kind| collect(kind.def, out)),
            _ => {}
        }
    }
}

fn section(def: &TableDef, out: &mut String) {
    let _infallible = write!(
        out,
        "### {}\n\n{}\n\n| key | value | default | meaning |\n|---|---|---|---|\n",
        heading(def),
        def.doc
    );
    for field in def.fields {
        let default = match field.need {
            Need::Required => "required".to_owned(),
            Need::Optional => String::new(),
            Need::Default(value) => format!("`{value}`"),
        };
        let (value, meaning) = (value(&field.ty), meaning(field));
        let _infallible = writeln!(out, "| `{}` | {value} | {default} | {meaning} |", field.key);
    }
    out.push('\n');
    rules(def, out);
}

fn heading(def: &TableDef) -> String {
    match def.title.starts_with('[') {
        true => format!("`{}`", def.title),
        false => capital(def.title),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

/// A link to a table's section.
fn link(def: &TableDef) -> String {
    let kept = def.title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    let anchor: String = kept.flat_map(char::to_lowercase).collect();
    let text =
        if def.title.starts_with('[') { format!("`{}`", def.title) } else { def.title.into() };
    format!("[{text}](#{})", anchor.replace(' ', "-"))
}

fn value(ty: &Type) -> String {
    match ty {
        Type::Table(def) => link(def),
        Type::Map(kinds) => {
            let links: Vec<String> = kinds.iter().map(|kind| link(kind.def)).collect();
            crate::nearest::join(&links, "or")
        }
        Type::Tables(def) if def.title.starts_with('[') => link(def),
        Type::Tables(def) => format!("a list, each {}", link(def)),
        Type::TableOrTables(def) => format!("{} or `[{}]`", link(def), def.title),
        Type::WordOrTable(_, def) => format!("{}, or a table: {}", words(ty), link(def)),
        Type::FlagOrTable(def) => format!("`true` or `false`, or a table: {}", link(def)),
        Type::Word(_) => words(ty),
        _ => expected(ty),
    }
}

fn words(ty: &Type) -> String {
    expected(ty).replace(" or a table", "")
}

/// The meaning of a key and of the words that it takes.
fn meaning(field: &KeyField) -> String {
    let words: &[KeyWord] = match &field.ty {
        Type::Word(words) | Type::WordOrTable(words, _) => words,
        _ => &[],
    };
    let explained: Vec<String> = words
        .iter()
        .filter(|w| w.doc != w.word)
        .map(|w| format!("`{}`: {}", w.word, w.doc))
        .collect();
    match explained.is_empty() {
        true => field.doc.to_owned(),
        false => format!("{} {}.", field.doc, explained.join("; ")),
    }
}

fn rules(def: &TableDef, out: &mut String) {
    let list = |keys: &[&str], last: &str| {
        let keys: Vec<String> = keys.iter().map(|k| format!("`{k}`")).collect();
        crate::nearest::join(&keys, last)
    };
    let mut any = false;
    for choice in def.choices {
        let how = if choice.required { "Exactly one of" } else { "At most one of" };
        let _infallible = writeln!(out, "- {how} {}.", list(choice.keys, "or"));
        any = true;
    }
    for conflict in def.conflicts {
        let (others, why) = (list(conflict.others, "and"), conflict.why);
        let _infallible = writeln!(out, "- `{}` excludes {others}: {why}.", conflict.key);
        any = true;
    }
    if any {
        out.push('\n');
    }
}

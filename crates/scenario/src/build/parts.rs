//! The models of hardware that a scenario defines, and what they take from others by `like`.

use super::place;
use crate::catalog;
use crate::datum::Record;
use crate::decode::needed;
use crate::diagnostics::{Class, Mistake, Sink};
use crate::model::Part;
use crate::nearest::suggestion;
use crate::tree::clip;
use std::collections::BTreeMap;

/// The models that this file defines, each with the figures of the part that it is like.
pub(super) fn parts(root: &Record, sink: &mut Sink) -> Vec<Part> {
    let records = root.records("part");
    let mut parts: Vec<Part> = Vec::new();
    let mut places = BTreeMap::new();
    for record in &records {
        let part = catalog::part(record);
        let at = place(record, "name");
        if let Some(first) = places.insert(part.name.clone(), at).filter(|_| record.has("name")) {
            sink.push(|| {
                Mistake::new(at, format!("the part `{}` is given twice", clip(&part.name)))
                    .label("the second")
                    .related(first, "first given here")
            });
        }
        parts.push(part);
    }
    likened(&records, &mut parts, sink);
    for (record, part) in records.iter().zip(&parts) {
        catalog::check(record, part.kind, sink);
    }
    parts
}

/// Gives every part the kind and the figures of the one that it is like, which may be like another. A part's own name means
/// the catalog's part of that name, so that a part can be changed by itself.
fn likened(records: &[&Record], parts: &mut [Part], sink: &mut Sink) {
    let by_name: BTreeMap<String, usize> =
        parts.iter().enumerate().rev().map(|(n, part)| (part.name.clone(), n)).collect();
    let mut state = vec![State::New; parts.len()];
    for start in 0..parts.len() {
        // The chain of parts that must be known before this one, the last of which depends on nothing that is unknown.
        let mut chain = vec![start];
        while let Some(&last) = chain.last() {
            if state[last] == State::Done {
                chain.pop();
                continue;
            }
            state[last] = State::Open;
            let own = parts[last].like.as_ref().filter(|like| **like != parts[last].name);
            match own.and_then(|like| by_name.get(like)).map(|next| (*next, state[*next])) {
                Some((next, State::New)) => chain.push(next),
                Some((_, State::Open)) => {
                    circle(records[last], &parts[last].name, sink);
                    parts[last].like = None;
                }
                Some((_, State::Done)) | None => {
                    take(records[last], last, parts, &by_name, sink);
                    state[last] = State::Done;
                    chain.pop();
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    /// On the chain: whoever comes to it again goes in a circle.
    Open,
    Done,
}

fn circle(record: &Record, name: &str, sink: &mut Sink) {
    sink.push(|| {
        let message = format!("like: `{}` is in the end like itself", clip(name));
        Mistake::new(place(record, "like"), message)
            .help("one of the parts must have figures of its own and be like nothing")
    });
}

/// Takes kind and figures over from the part that a part is like.
fn take(
    record: &Record,
    n: usize,
    parts: &mut [Part],
    by_name: &BTreeMap<String, usize>,
    sink: &mut Sink,
) {
    let Some(like) = parts[n].like.clone() else {
        // Where `like` was wrong, the kind may have been left to it.
        if !record.has("like")
            && !record.means("kind")
            && let Some(field) = record.def.field("kind")
        {
            sink.push(|| needed(record, record.def.title, field));
        }
        return;
    };
    let own = by_name.get(&like).filter(|other| **other != n).map(|other| parts[*other].clone());
    let of_catalog = || catalog::catalog().iter().find(|part| part.name == like).cloned();
    let Some(other) = own.or_else(of_catalog) else {
        sink.push(|| {
            let names = by_name.keys().map(String::as_str).filter(|name| *name != parts[n].name);
            let names = names.chain(catalog::catalog().iter().map(|part| part.name.as_str()));
            let names: Vec<&str> = names.collect();
            Mistake::new(place(record, "like"), format!("no part is named `{}`", clip(&like)))
                .class(Class::Absence)
                .maybe_help(suggestion(&like, names))
        });
        return;
    };
    if record.has("kind") && parts[n].kind != other.kind {
        let (own, others) = (parts[n].kind.words(), other.kind.words());
        sink.push(|| {
            let message =
                format!("kind: it is like `{}`, which is {others}, not {own}", clip(&like));
            Mistake::new(place(record, "kind"), message).help("leave `kind` out")
        });
    }
    parts[n].kind = other.kind;
    parts[n].model = parts[n].model.take().or(other.model);
    let own = &parts[n].figures;
    let rest: Vec<_> = other
        .figures
        .into_iter()
        .filter(|figure| own.iter().all(|mine| mine.name != figure.name))
        .collect();
    parts[n].figures.extend(rest);
}

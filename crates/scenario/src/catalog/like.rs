//! Parts that are like others: each takes over the kind, the model and the figures that it does not give itself.

use crate::build::place;
use crate::datum::Decoded;
use crate::decode::needed;
use crate::diagnostics::{Class, Mistake, Sink};
use crate::model::Part;
use crate::nearest::suggestion;
use crate::tree::clip;
use std::collections::BTreeMap;

/// Gives every part the kind and the figures of the one that it is like, which may be like another. A part that is none
/// of these is looked for among the others, in their order; so is a part of its own name, so that it can be changed.
pub(super) fn likened(
    records: &[&Decoded],
    parts: &mut [Part],
    others: &[&[Part]],
    sink: &mut Sink,
) {
    let by_name: BTreeMap<String, usize> =
        parts.iter().enumerate().rev().map(|(n, part)| (part.name.clone(), n)).collect();
    let known = Known { by_name, others };
    let mut state = vec![LikeState::New; parts.len()];
    for start in 0..parts.len() {
        // The chain of parts that must be known before this one, the last of which depends on nothing that is unknown.
        let mut chain = vec![start];
        while let Some(&last) = chain.last() {
            if state[last] == LikeState::Done {
                chain.pop();
                continue;
            }
            state[last] = LikeState::Open;
            let own = parts[last].like.as_ref().filter(|like| **like != parts[last].name);
            match own.and_then(|like| known.by_name.get(like)).map(|next| (*next, state[*next])) {
                Some((next, LikeState::New)) => chain.push(next),
                Some((_, LikeState::Open)) => {
                    circle(records[last], &parts[last].name, sink);
                    parts[last].like = None;
                }
                Some((_, LikeState::Done)) | None => {
                    take(records[last], last, parts, &known, sink);
                    state[last] = LikeState::Done;
                    chain.pop();
                }
            }
        }
    }
}

/// Parts that others may be like.
struct Known<'a> {
    /// The first of these parts of each name, by its number.
    by_name: BTreeMap<String, usize>,
    others: &'a [&'a [Part]],
}

impl Known<'_> {
    /// The part that the n-th part means by a name.
    fn find(&self, parts: &[Part], n: usize, name: &str) -> Option<Part> {
        let own = self.by_name.get(name).filter(|other| **other != n).map(|other| &parts[*other]);
        own.or_else(|| self.others.iter().copied().flatten().find(|part| part.name == name))
            .cloned()
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.others.iter().copied().flatten().map(|part| part.name.as_str());
        self.by_name.keys().map(String::as_str).chain(others)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum LikeState {
    New,
    /// On the chain: a part that reaches it again goes in a circle.
    Open,
    Done,
}

fn circle(record: &Decoded, name: &str, sink: &mut Sink) {
    sink.push(|| {
        let message = format!("like: `{}` inherits from itself", clip(name));
        Mistake::new(place(record, "like"), message)
            .help("one of the parts must have its own figures and no `like`")
    });
}

/// Takes kind and figures over from the part that a part is like.
fn take(record: &Decoded, n: usize, parts: &mut [Part], known: &Known<'_>, sink: &mut Sink) {
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
    let Some(other) = known.find(parts, n, &like) else {
        sink.push(|| {
            let names: Vec<&str> = known.names().filter(|name| *name != parts[n].name).collect();
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
            Mistake::new(place(record, "kind"), message).help("remove `kind`")
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

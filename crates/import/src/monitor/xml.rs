//! XML as a tree of the same values as JSON: attributes and elements are keys, elements that come again are lists, text is
//! the key `text`.

use super::error::ReadError;
use super::json::Json;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Nesting at most.
const DEEP: usize = 64;

struct Open {
    name: String,
    pairs: Vec<(Box<str>, Json)>,
    text: String,
}

/// The document, and where it is cut off.
pub(super) fn tree(text: &str) -> Result<(Json, Option<(u64, u64)>), ReadError> {
    let mut reader = Reader::from_str(text);
    let mut open = vec![Open { name: String::new(), pairs: Vec::new(), text: String::new() }];
    let cut = loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX).min(text.len());
        match reader.read_event() {
            Err(_) => {
                break Some(place(text, at));
            }
            Ok(Event::Eof) => {
                break (open.len() > 1).then(|| place(text, text.len()));
            }
            Ok(Event::Start(start)) => {
                if open.len() > DEEP {
                    let (line, column) = place(text, at);
                    return Err(ReadError::new(line, column, "elements are nested too deep"));
                }
                open.push(opened(&start));
            }
            Ok(Event::Empty(start)) => {
                let element = opened(&start);
                close(&mut open, element);
            }
            Ok(Event::End(_)) => {
                if let Some(element) = open.pop_if(|element| !element.name.is_empty()) {
                    close(&mut open, element);
                }
            }
            Ok(Event::Text(words)) => {
                if let Some(last) = open.last_mut() {
                    last.text.push_str(words.trim());
                }
            }
            Ok(_) => {}
        }
    };
    while open.len() > 1 {
        if let Some(element) = open.pop() {
            close(&mut open, element);
        }
    }
    let root = open.pop().map(|root| root.pairs).unwrap_or_default();
    if root.is_empty() {
        let (line, column) = cut.unwrap_or((1, 1));
        return Err(ReadError::new(line, column, "no XML element is complete"));
    }
    Ok((Json::Map(root), cut))
}

fn place(text: &str, at: usize) -> (u64, u64) {
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|b| **b == b'\n').count() as u64 + 1;
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |p| p + 1);
    (line, String::from_utf8_lossy(&before[start..]).chars().count() as u64 + 1)
}

fn opened(start: &BytesStart<'_>) -> Open {
    let name = start.name().as_ref().to_owned();
    let mut attributes = start.attributes();
    let pairs = attributes.with_checks(false).flatten().map(|attribute| {
        let key = attribute.key.as_ref().to_owned();
        let value = attribute.value.into_owned();
        (key.into_boxed_str(), Json::Text(value.into_boxed_str()))
    });
    let pairs = pairs.collect();
    Open { name, pairs, text: String::new() }
}

fn close(open: &mut [Open], element: Open) {
    let Open { name, mut pairs, text } = element;
    let value = match (pairs.is_empty(), text.is_empty()) {
        (true, _) => Json::Text(text.into_boxed_str()),
        (false, true) => Json::Map(pairs),
        (false, false) => {
            pairs.push(("text".into(), Json::Text(text.into_boxed_str())));
            Json::Map(pairs)
        }
    };
    let Some(parent) = open.last_mut() else { return };
    match parent.pairs.iter_mut().rev().find(|(key, _)| **key == *name) {
        Some((_, Json::List(items))) => items.push(value),
        Some((_, first)) => {
            let one = std::mem::replace(first, Json::Null);
            *first = Json::List(vec![one, value]);
        }
        None => parent.pairs.push((name.into_boxed_str(), value)),
    }
}

/// Calls for every element of a name, at whatever depth, also where several are a list.
pub(super) fn each<'a>(json: &'a Json, name: &str, call: &mut dyn FnMut(&'a Json)) {
    for (key, value) in json.pairs() {
        match (&**key == name, value.items()) {
            (true, []) => call(value),
            (true, items) => items.iter().for_each(&mut *call),
            (false, []) => each(value, name, call),
            (false, items) => items.iter().for_each(|item| each(item, name, call)),
        }
    }
}

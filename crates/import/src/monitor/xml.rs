//! XML as a tree of the same values as JSON: attributes and elements are keys, elements that come again are lists, text is
//! the key `text`.

use super::error::ReadError;
use super::json::Json;
use super::lines::Lines;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

/// Nesting at most.
const DEEP: usize = 64;
/// Bytes of what is handed over at once, at most.
const MOST: u64 = 64 << 20;
/// Beginnings of lines that are remembered, for the place of a mistake.
const LINES: usize = 1 << 16;

/// An element that is not closed yet.
pub(super) struct Open {
    /// Its name; empty for the document.
    pub name: String,
    /// Its attributes, and the elements in it that are closed.
    pub pairs: Vec<(Box<str>, Json)>,
    text: String,
}

/// Takes a closed element with those around it; gives it back if it is to stay in them.
type Closed<'a> = &'a mut dyn FnMut(&[Open], &str, Json) -> Result<Option<Json>, ReadError>;

/// The document, and where it is cut off.
pub(super) fn tree(text: &str) -> Result<(Json, Option<(u64, u64)>), ReadError> {
    stream(text.as_bytes(), u64::MAX, &mut |_, _, value| Ok(Some(value)))
}

/// Elements one after the other, in memory for those that `closed` gives back; the document of these, and where it is cut off.
pub(super) fn elements(
    from: impl BufRead,
    closed: Closed<'_>,
) -> Result<(Json, Option<(u64, u64)>), ReadError> {
    stream(from, MOST, closed)
}

fn stream(
    from: impl BufRead,
    most: u64,
    closed: Closed<'_>,
) -> Result<(Json, Option<(u64, u64)>), ReadError> {
    let mut reader = Reader::from_reader(BufReader::new(Numbered::new(Lines::new(from)?)));
    let mut open = vec![Open { name: String::new(), pairs: Vec::new(), text: String::new() }];
    let (mut buffer, mut since) = (Vec::new(), 0);
    let cut = loop {
        let at = reader.buffer_position();
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Err(quick_xml::Error::Io(error)) => {
                return Err(io::Error::new(error.kind(), error.to_string()).into());
            }
            Err(_) => break Some(reader.get_ref().get_ref().place(at)),
            Ok(Event::Eof) => break (open.len() > 1).then(|| reader.get_ref().get_ref().end()),
            Ok(Event::Start(start)) => {
                if open.len() > DEEP {
                    let (line, column) = reader.get_ref().get_ref().place(at);
                    return Err(ReadError::new(line, column, "elements are nested too deep"));
                }
                open.push(opened(&start));
            }
            Ok(Event::Empty(start)) => {
                let element = opened(&start);
                since = if close(&mut open, element, closed)? { since } else { at };
            }
            Ok(Event::End(_)) => {
                if let Some(element) = open.pop_if(|element| !element.name.is_empty()) {
                    since = if close(&mut open, element, closed)? { since } else { at };
                }
            }
            Ok(Event::Text(words)) => {
                if let Some(last) = open.last_mut() {
                    last.text.push_str(words.trim());
                }
            }
            Ok(_) => {}
        }
        if at - since > most {
            let (line, column) = reader.get_ref().get_ref().place(at);
            return Err(ReadError::new(
                line,
                column,
                "an interval of more than 64 MiB is not read",
            ));
        }
    };
    // What is open where the text ends is not handed over: it is not whole.
    while open.len() > 1 {
        if let Some(element) = open.pop() {
            close(&mut open, element, &mut |_, _, value| Ok(Some(value)))?;
        }
    }
    let root = open.pop().map(|root| root.pairs).unwrap_or_default();
    if root.is_empty() {
        let (line, column) = cut.unwrap_or((1, 1));
        return Err(ReadError::new(line, column, "no XML element is complete"));
    }
    Ok((Json::Map(root), cut))
}

/// The lines of a file as bytes, with the places at which the last of them begin.
struct Numbered<R> {
    lines: Lines<R>,
    line: Vec<u8>,
    at: usize,
    /// Bytes that stand before each line, with its number.
    begins: VecDeque<(u64, u64)>,
    /// Bytes that were handed on, and the place behind the last of them.
    bytes: u64,
    end: (u64, u64),
}

impl<R: BufRead> Numbered<R> {
    fn new(lines: Lines<R>) -> Numbered<R> {
        let begins = VecDeque::new();
        Numbered { lines, line: Vec::new(), at: 0, begins, bytes: 0, end: (1, 1) }
    }

    /// The place behind the last byte.
    fn end(&self) -> (u64, u64) {
        self.end
    }

    /// Line and column, both about right where bytes are no characters.
    fn place(&self, at: u64) -> (u64, u64) {
        let line = self.begins.iter().rev().find(|(before, _)| *before <= at);
        let line = line.or(self.begins.front()).copied();
        line.map_or((1, 1), |(before, number)| (number, at.saturating_sub(before) + 1))
    }
}

impl<R: BufRead> Read for Numbered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            let next = self.lines.text().map_err(|error| io::Error::other(error.text))?;
            let Some((number, text)) = next else { return Ok(0) };
            self.end = (number, text.chars().count() as u64 + 1);
            self.line = text.into_owned().into_bytes();
            self.line.push(b'\n');
            self.at = 0;
            self.begins.push_back((self.bytes, number));
            self.bytes += self.line.len() as u64;
            if self.begins.len() > LINES {
                self.begins.pop_front();
            }
        }
        let count = into.len().min(self.line.len() - self.at);
        into[..count].copy_from_slice(&self.line[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
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

/// Closes an element; whether it stays in the one around it.
fn close(open: &mut [Open], element: Open, closed: Closed<'_>) -> Result<bool, ReadError> {
    let Open { name, mut pairs, text } = element;
    let value = match (pairs.is_empty(), text.is_empty()) {
        (true, _) => Json::Text(text.into_boxed_str()),
        (false, true) => Json::Map(pairs),
        (false, false) => {
            pairs.push(("text".into(), Json::Text(text.into_boxed_str())));
            Json::Map(pairs)
        }
    };
    let Some(value) = closed(open, &name, value)? else { return Ok(false) };
    let Some(parent) = open.last_mut() else { return Ok(false) };
    match parent.pairs.iter_mut().rev().find(|(key, _)| **key == *name) {
        Some((_, Json::List(items))) => items.push(value),
        Some((_, first)) => {
            let one = std::mem::replace(first, Json::Null);
            *first = Json::List(vec![one, value]);
        }
        None => parent.pairs.push((name.into_boxed_str(), value)),
    }
    Ok(true)
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

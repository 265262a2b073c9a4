//! Mistakes in a file of another program, collected while it is read.

use scenario::{Diagnostics, ForeignMistake, nearest};
use std::ops::Range;

/// Mistakes kept at most.
const MISTAKES_MAX: usize = 200;

/// The text that is read and the mistakes found in it.
pub(crate) struct Mistakes<'a> {
    text: &'a str,
    starts: Vec<usize>,
    list: Vec<ForeignMistake>,
}

impl<'a> Mistakes<'a> {
    pub fn new(text: &'a str) -> Mistakes<'a> {
        let after = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        Mistakes { text, starts: std::iter::once(0).chain(after).collect(), list: Vec::new() }
    }

    /// The line of a byte, from 1.
    pub fn line(&self, byte: usize) -> usize {
        self.starts.partition_point(|start| *start <= byte)
    }

    pub fn add(&mut self, span: Range<usize>, message: impl Into<String>) {
        self.push(span, message.into(), None);
    }

    pub fn add_help(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(span, message.into(), Some(help.into()));
    }

    /// An unknown word, with the nearest known one.
    pub fn unknown<'k>(
        &mut self,
        span: Range<usize>,
        what: &str,
        word: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        let help = nearest(word, known).map(|near| format!("did you mean `{near}`?"));
        self.push(span, format!("unknown {what} `{word}`"), help);
    }

    fn push(&mut self, span: Range<usize>, message: String, help: Option<String>) {
        if self.list.len() < MISTAKES_MAX {
            self.list.push(ForeignMistake { span, message, help });
        }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All mistakes, if there are any.
    pub fn finish(self, name: &str) -> Result<(), Diagnostics> {
        Diagnostics::of(name, self.text, self.list).map_or(Ok(()), Err)
    }
}

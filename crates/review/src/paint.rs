//! The page that a review is written on: lines in a fixed width, with colour or without.

use crate::sentence::{Sentence, Tone};
use crate::text::{fit, wrap};

/// How a review is rendered. The caller decides, because it knows the terminal and `NO_COLOR`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Whether to colour with ANSI escapes.
    pub color: bool,
    /// Columns to stay within; below 60 the review is laid out for 60.
    pub width: usize,
}

/// The narrowest page.
const WIDTH_MIN: usize = 60;
/// Tables and sentences do not grow beyond this: longer lines read badly.
const WIDTH_MAX: usize = 100;

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Plain,
    Bold,
    Dim,
    Good,
    Bad,
    Caution,
    Accent,
}

impl Ink {
    /// The colour of a tone.
    pub fn of(tone: Tone) -> Ink {
        match tone {
            Tone::Plain => Ink::Accent,
            Tone::Good => Ink::Good,
            Tone::Caution => Ink::Caution,
            Tone::Bad => Ink::Bad,
            Tone::Note => Ink::Dim,
        }
    }
}

/// A review while it is written.
pub(crate) struct ReviewPage {
    out: String,
    color: bool,
    width: usize,
}

impl ReviewPage {
    pub fn new(style: Style) -> ReviewPage {
        let width = style.width.clamp(WIDTH_MIN, WIDTH_MAX);
        ReviewPage { out: String::new(), color: style.color, width }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// A text in an ink. The text must be clean: escapes are added here and nowhere else.
    pub fn ink(&self, ink: Ink, text: &str) -> String {
        let code = match ink {
            Ink::Plain => return text.to_owned(),
            _ if !self.color || text.is_empty() => return text.to_owned(),
            Ink::Bold => "1",
            Ink::Dim => "2",
            Ink::Good => "1;32",
            Ink::Bad => "1;31",
            Ink::Caution => "33",
            Ink::Accent => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    /// A finished line.
    pub fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// An empty line, unless there is one already.
    pub fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// A section's heading.
    pub fn heading(&mut self, text: &str) {
        self.gap();
        let text = self.ink(Ink::Bold, &fit(text, self.width));
        self.line(&text);
    }

    /// A paragraph that hangs from a mark: `mark` before the first line, blanks of the same width before the rest.
    pub fn hanging(&mut self, mark: &str, mark_ink: Ink, text: &str, ink: Ink) {
        let indent = crate::text::width(mark);
        for (i, row) in wrap(text, self.width.saturating_sub(indent)).iter().enumerate() {
            let lead = if i == 0 { self.ink(mark_ink, mark) } else { " ".repeat(indent) };
            let row = self.ink(ink, row);
            self.line(&format!("{lead}{row}"));
        }
    }

    /// A sentence after `indent` and the mark of its tone.
    pub fn sentence(&mut self, indent: &str, sentence: &Sentence, ink: Ink) {
        let mark = format!("{indent}{} ", sentence.tone.mark());
        self.hanging(&mark, Ink::of(sentence.tone), &sentence.text, ink);
    }

    pub fn finish(self) -> String {
        self.out
    }
}

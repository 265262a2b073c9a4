//! Sentences of terminal, Markdown and page, each with the section of its evidence; text from a record is cleaned. Where one
//! answers for many, a small table stands below it.

use crate::text::Align;

/// The tone of a sentence, which decides its mark and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Neither good nor bad.
    Plain,
    /// As it should be.
    Good,
    /// To be careful about, or not decided.
    Caution,
    /// Lost, broken or contradictory.
    Bad,
    /// How to read the figures.
    Note,
}

impl Tone {
    /// A mark that shows the tone without colour.
    pub fn mark(self) -> &'static str {
        match self {
            Tone::Plain => "•",
            Tone::Good => "✔",
            Tone::Caution => "!",
            Tone::Bad => "✘",
            Tone::Note => "·",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// Good, bad, caution, note or plain.
    pub tone: Tone,
    /// The text, with a capital and a full stop.
    pub text: String,
    /// What to do next; empty where there is nothing.
    pub next: String,
    /// The section with its evidence; `None` where there is no more than the sentence.
    pub place: Option<Section>,
    /// What it sums up, a row each.
    pub table: Option<AnswerTable>,
}

/// A small table below a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AnswerTable {
    /// Headings, and where their cells stand. Columns whose cells are all empty are not there.
    pub columns: Vec<(&'static str, Align)>,
    /// Rows of as many cells, cleaned.
    pub rows: Vec<Vec<String>>,
}

impl AnswerTable {
    /// A table without the columns in which nothing stands.
    pub fn new<const N: usize>(
        columns: [(&'static str, Align); N],
        rows: Vec<[String; N]>,
    ) -> AnswerTable {
        let used: Vec<usize> =
            (0..N).filter(|i| rows.iter().any(|row| !row[*i].is_empty())).collect();
        AnswerTable {
            columns: used.iter().map(|i| columns[*i]).collect(),
            rows: rows
                .into_iter()
                .map(|row| used.iter().map(|i| row[*i].clone()).collect())
                .collect(),
        }
    }
}

/// A section of a review that holds evidence. Steps are given by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The figures of a step.
    Step(u32),
    /// The curve of a sweep, by its number in the analysis.
    Sweep(usize),
    /// The balance in a step.
    Balance(u32),
    /// The agents of a step.
    Agents(u32),
    /// Whether a cache or the devices served a step.
    Served(u32),
    /// Traffic of the ports in a step, beside that of the workers.
    Ports(u32),
    /// The network loads of a step.
    Network(u32),
    /// The conditions of a step: warm-up, steadiness, generator.
    Conditions(u32),
    /// The goals.
    Goals,
    /// What verification found.
    Verification,
    /// What samples of the targets held.
    Contents,
    /// Provenance.
    Provenance,
}

impl Sentence {
    /// A sentence with its evidence.
    pub fn new(tone: Tone, text: impl Into<String>, place: impl Into<Option<Section>>) -> Sentence {
        Sentence { tone, text: text.into(), next: String::new(), place: place.into(), table: None }
    }

    /// The same with what to do next.
    pub fn next(mut self, next: String) -> Sentence {
        self.next = next;
        self
    }

    /// The same with a table below it.
    pub fn table(mut self, table: AnswerTable) -> Sentence {
        self.table = Some(table);
        self
    }
}

//! What a review says, apart from where it says it: sentences that the terminal, Markdown and the page share, each with
//! the place of its evidence. Words of a record in them are clean.

/// How a sentence is meant.
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
    /// A sign that says the same without colour.
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

/// One sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// How it is meant.
    pub tone: Tone,
    /// Itself, with a capital and a full stop.
    pub text: String,
    /// What to do next; empty where there is nothing.
    pub next: String,
    /// Where its evidence stands in a review; `None` where the sentence is all there is.
    pub place: Option<Section>,
}

/// Where evidence stands in a review. Steps are named by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// The figures of a step.
    Step(u32),
    /// The curve of a sweep, by its number in the analysis.
    Sweep(usize),
    /// The balance in a step.
    Balance(u32),
    /// Who served a step, a cache or the devices.
    Served(u32),
    /// What went through the ports of the arrays in a step, beside what the workers moved.
    Ports(u32),
    /// The network loads of a step.
    Network(u32),
    /// How a step came about: its warm-up, its steadiness, its generator.
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
        Sentence { tone, text: text.into(), next: String::new(), place: place.into() }
    }

    /// The same with what to do next.
    pub fn next(mut self, next: String) -> Sentence {
        self.next = next;
        self
    }
}

//! The first lines: the question, the verdict, and whether the figures can be trusted.

use crate::devices;
use crate::fabric;
use crate::paint::{Ink, ReviewPage};
use crate::sentence::{Section, Sentence, Tone};
use crate::text::{clean, fit};
use findings::generator::Limit;
use findings::{
    Analysis, Content, Loops, POOR_SHARE, RunSummary, StepFigures, Verdict, Verification, Warning,
};
use units::{count, percent};

pub(crate) fn write(page: &mut ReviewPage, analysis: &Analysis) {
    let title = fit(&clean(&analysis.run.title), page.width());
    let title = page.ink(Ink::Bold, &title);
    page.line(&title);
    let verdict = verdict(analysis);
    let ink = match verdict.tone {
        Tone::Plain => Ink::Bold,
        tone => Ink::of(tone),
    };
    let mark = match analysis.verdict {
        Verdict::Undecided { .. } => "?",
        _ => verdict.tone.mark(),
    };
    page.hanging(&format!("{mark} "), ink, &verdict.text, ink);
    for sentence in trust(analysis) {
        page.sentence("", &sentence, Ink::of(sentence.tone));
    }
}

/// What qualifies all figures: simulation, scale, generator, other programs, cache, verification, contents.
pub(crate) fn trust(analysis: &Analysis) -> Vec<Sentence> {
    let mut all = Vec::new();
    all.extend(simulated(&analysis.run));
    all.extend(fabric::scaled(&analysis.scaled));
    all.extend(limited(&analysis.steps));
    all.extend(devices::caution(&analysis.steps));
    all.extend(beside(&analysis.warnings, analysis.steps.len()));
    all.extend(verification(analysis.verification.as_ref()));
    all.extend(contents(&analysis.contents));
    all
}

/// What was done, where there are no goals.
pub(crate) fn done(run: &RunSummary) -> &'static str {
    match run {
        run if run.estimated => "Estimated",
        run if run.simulated => "Simulated",
        _ => "Measured",
    }
}

/// That the figures were not measured, what produced them, and on how many assumptions.
fn simulated(run: &RunSummary) -> Option<Sentence> {
    if !run.simulated {
        return None;
    }
    let assumed = match run.assumed {
        0 => "every figure of its lab is given".to_owned(),
        1 => "1 figure of its lab is assumed".to_owned(),
        n => format!("{} figures of its lab are assumed", count(f64::from(n))),
    };
    let by = clean(&run.producer);
    let text = match run.estimated {
        true => format!("Estimated, neither measured nor simulated: by {by}; {assumed}."),
        false => {
            format!("Simulated, not measured: by {by} with seed {}; {assumed}.", run.seed)
        }
    };
    Some(Sentence::new(Tone::Plain, text, Section::Provenance))
}

/// Steps that the generator limited.
fn limited(steps: &[StepFigures]) -> Option<Sentence> {
    let limited = || steps.iter().filter(|s| s.generator.limit == Limit::Limited);
    let first = limited().next()?;
    let which = match steps.len() {
        1 => "the step".to_owned(),
        all => format!("{} of {all} steps", limited().count()),
    };
    let text =
        format!("The generator limited {which}: these figures show its limit, not the target's.");
    Some(Sentence::new(Tone::Caution, text, Section::Conditions(first.index)))
}

/// Whether what was read is what was written.
fn verification(verification: Option<&Verification>) -> Option<Sentence> {
    let v = verification?;
    let checked = format!("Verification: {} checked", blocks(v.checked));
    let kinds: Vec<String> =
        v.faults.iter().map(|f| format!("{} {}", count(f.blocks as f64), f.kind)).collect();
    let (tone, text) = match (v.wrong, v.checked) {
        (0, 0) => {
            let text = "Verification: no block was checked, because the expected content of the blocks read was unknown.";
            (Tone::Caution, text.to_owned())
        }
        (0, _) => (Tone::Good, format!("{checked}, none wrong.")),
        (wrong, _) => {
            (Tone::Bad, format!("{checked}, {} wrong: {}.", count(wrong as f64), kinds.join(", ")))
        }
    };
    Some(Sentence::new(tone, text, Section::Verification))
}

/// `1 block`, `3,000 blocks`.
pub(crate) fn blocks(n: u64) -> String {
    format!("{} block{}", count(n as f64), if n == 1 { "" } else { "s" })
}

/// Targets that held no data or repeated data, so that reading them does not measure the storage.
fn contents(contents: &[Content]) -> Vec<Sentence> {
    let mut all = Vec::new();
    let shown = |share: f64| percent((share * 1000.0).round() / 10.0);
    for content in contents {
        let says = [
            (&content.empty, "holds nothing: reading unwritten data measures nothing"),
            (&content.repeated, "repeats itself: storage that finds duplicates reads one copy"),
        ];
        for (part, what) in says.iter().filter(|(part, _)| part.share >= POOR_SHARE) {
            let target = clean(&content.target);
            let (share, low, high) = (shown(part.share), shown(part.low), shown(part.high));
            let between = if low == high { String::new() } else { format!(" ({low} to {high})") };
            let text = format!("{share} of {target}{between} {what}; see the warnings.");
            all.push(Sentence::new(Tone::Caution, text, Section::Contents));
        }
    }
    all
}

/// What else than the load and the media makes the figures, as its own warning says: other programs, memory, a cache. What is so, and in how many of all steps. The warning has the rest.
fn beside(warnings: &[Warning], all: usize) -> impl Iterator<Item = Sentence> + '_ {
    let codes = [
        "other-programs",
        "cached-reads",
        "memory-target",
        "fits-cache",
        "faster-than-media",
        "two-kinds-of-reads",
    ];
    let beside = warnings.iter().filter(move |warning| codes.contains(&warning.code.as_str()));
    beside.map(move |warning| {
        let text = clean(&warning.text);
        let text = first_sentence(&text);
        let within = match warning.steps.len() {
            // What says itself in how many steps it was so does not say it twice.
            _ if text.contains(" steps") => String::new(),
            steps if steps == 0 || steps >= all => String::new(),
            steps => format!(" ({steps} of {all} steps)"),
        };
        Sentence::new(Tone::Caution, crate::warnings::capital(&format!("{text}{within}")), None)
    })
}

/// A text up to the end of its first sentence, without the full stop.
fn first_sentence(text: &str) -> &str {
    let ends = text.match_indices(". ").map(|(at, _)| at);
    let before_capital = |at: &usize| text[at + 2..].starts_with(char::is_uppercase);
    let end = ends.filter(before_capital).min().unwrap_or(text.len());
    text[..end].trim_end_matches('.')
}

/// How it came out, in a sentence.
pub(crate) fn verdict(analysis: &Analysis) -> Sentence {
    let goals = |met: usize, failed: usize, undecided: usize| {
        let parts = [(failed, "failed"), (undecided, "undecided"), (met, "met")];
        let named: Vec<String> =
            parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        let all = met + failed + undecided;
        if all == 0 {
            "no goals were judged".to_owned()
        } else {
            format!("{} of {}", named.join(", "), plural(all, "goal"))
        }
    };
    let (tone, text) = match analysis.verdict {
        Verdict::Met { met: 1 } => (Tone::Good, "The goal is met.".to_owned()),
        Verdict::Met { met } => (Tone::Good, format!("All {met} goals are met.")),
        Verdict::Failed { met, failed, undecided } => {
            (Tone::Bad, format!("Not met: {}.", goals(met, failed, undecided)))
        }
        Verdict::Wrong { met, failed, undecided, .. } => {
            let of_goals = match met + failed + undecided {
                0 => String::new(),
                _ => format!(" Of the goals: {}.", goals(met, failed, undecided)),
            };
            (Tone::Bad, format!("Data was wrong.{of_goals}"))
        }
        Verdict::Undecided { met, undecided } => {
            (Tone::Caution, format!("Undecided: {}.", goals(met, 0, undecided)))
        }
        Verdict::NoGoals => {
            let observed = |step: &StepFigures| step.loops == Loops::Observed;
            let all = !analysis.steps.is_empty() && analysis.steps.iter().all(observed);
            let done = done(&analysis.run);
            let text = match all {
                true => "Observed by other programs; no goals were set.".to_owned(),
                false => format!("{done}; the scenario sets no goals."),
            };
            (Tone::Plain, text)
        }
        Verdict::Incomplete { met, failed, undecided } => {
            let how = analysis.run.incomplete().unwrap_or("is incomplete");
            (Tone::Bad, format!("Incomplete: the run {how}; {}.", goals(met, failed, undecided)))
        }
    };
    Sentence::new(tone, text, Section::Goals)
}

/// `1 goal`, `3 goals`.
pub(crate) fn plural(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_before_a_capital() {
        for (text, expected) in [
            (
                "the cache of a.b (1.5 GB) holds it. Touch more (and 17 more)",
                "the cache of a.b (1.5 GB) holds it",
            ),
            ("about 1. 5 of them, e.g. these.", "about 1. 5 of them, e.g. these"),
            ("no end", "no end"),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), expected);
        }
    }
}

//! The first lines: what was asked, how it came out, and whether the figures can be trusted at all.

use crate::devices;
use crate::paint::{Ink, Page};
use crate::text::{clean, fit};
use findings::generator::Limit;
use findings::{Analysis, Content, POOR_SHARE, Verdict, Verification};
use units::{count, percent};

pub(crate) fn write(page: &mut Page, analysis: &Analysis) {
    let title = fit(&clean(&analysis.run.title), page.width());
    let title = page.ink(Ink::Bold, &title);
    page.line(&title);
    let (mark, ink, text) = verdict(analysis);
    page.hanging(mark, ink, &text, ink);
    let limited = analysis.steps.iter().filter(|s| s.generator.limit == Limit::Limited).count();
    if limited > 0 {
        let which = match analysis.steps.len() {
            1 => "the step".to_owned(),
            all => format!("{limited} of {all} steps"),
        };
        let text =
            format!("The generator limited {which}: these figures are its own, not the target's.");
        page.hanging("! ", Ink::Caution, &text, Ink::Caution);
    }
    if let Some(text) = devices::caution(&analysis.steps) {
        page.hanging("! ", Ink::Caution, &text, Ink::Caution);
    }
    verification(page, analysis.verification.as_ref());
    contents(page, &analysis.contents);
}

/// Whether what was read is what was written.
fn verification(page: &mut Page, verification: Option<&Verification>) {
    let Some(v) = verification else { return };
    let checked = format!("Verification: {} checked", blocks(v.checked));
    let kinds: Vec<String> =
        v.faults.iter().map(|f| format!("{} {}", count(f.blocks as f64), f.kind)).collect();
    match (v.wrong, v.checked) {
        (0, 0) => {
            let text = "Verification: no block was checked, because nothing was known of those that were read.";
            page.hanging("! ", Ink::Caution, text, Ink::Caution);
        }
        (0, _) => page.hanging("✔ ", Ink::Good, &format!("{checked}, none wrong."), Ink::Good),
        (wrong, _) => {
            let text = format!("{checked}, {} wrong: {}.", count(wrong as f64), kinds.join(", "));
            page.hanging("✘ ", Ink::Bad, &text, Ink::Bad);
        }
    }
}

/// `1 block`, `3,000 blocks`.
pub(crate) fn blocks(n: u64) -> String {
    format!("{} block{}", count(n as f64), if n == 1 { "" } else { "s" })
}

/// Targets that held nothing, or the same over and over: what was read of them is no storage's figure.
fn contents(page: &mut Page, contents: &[Content]) {
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
            page.hanging("! ", Ink::Caution, &text, Ink::Caution);
        }
    }
}

fn verdict(analysis: &Analysis) -> (&'static str, Ink, String) {
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
    match analysis.verdict {
        Verdict::Met { met: 1 } => ("✔ ", Ink::Good, "The goal is met.".to_owned()),
        Verdict::Met { met } => ("✔ ", Ink::Good, format!("All {met} goals are met.")),
        Verdict::Failed { met, failed, undecided } => {
            ("✘ ", Ink::Bad, format!("Not met: {}.", goals(met, failed, undecided)))
        }
        Verdict::Wrong { met, failed, undecided, .. } => {
            let of_goals = match met + failed + undecided {
                0 => String::new(),
                _ => format!(" Of the goals: {}.", goals(met, failed, undecided)),
            };
            ("✘ ", Ink::Bad, format!("Data was wrong.{of_goals}"))
        }
        Verdict::Undecided { met, undecided } => {
            ("? ", Ink::Caution, format!("Undecided: {}.", goals(met, 0, undecided)))
        }
        Verdict::NoGoals => ("• ", Ink::Bold, "Measured; the scenario sets no goals.".to_owned()),
        Verdict::Incomplete { met, failed, undecided } => {
            let how = analysis.run.incomplete().unwrap_or("is incomplete");
            (
                "✘ ",
                Ink::Bad,
                format!("Incomplete: the run {how}; {}.", goals(met, failed, undecided)),
            )
        }
    }
}

/// `1 goal`, `3 goals`.
pub(crate) fn plural(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

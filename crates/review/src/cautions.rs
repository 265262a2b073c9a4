//! Warnings, the gravest first, each with what to do next.

use crate::paint::{Ink, Page};
use crate::text::clean;
use findings::Warning;
use findings::warnings::Severity;

pub(crate) fn write(page: &mut Page, warnings: &[Warning]) {
    if warnings.is_empty() {
        return;
    }
    page.heading("Warnings");
    for warning in warnings {
        let (mark, ink) = match warning.severity {
            Severity::Error => ("  ✘ ", Ink::Bad),
            Severity::Warning => ("  ! ", Ink::Caution),
            Severity::Note => ("  · ", Ink::Dim),
        };
        page.hanging(mark, ink, &clean(&capital(&warning.text)), Ink::Plain);
        if !warning.next.is_empty() {
            page.hanging("    → ", Ink::Accent, &clean(&capital(&warning.next)), Ink::Dim);
        }
    }
}

/// A sentence as it is printed: a full stop last, and a capital first unless it begins with a name.
fn capital(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let plain = !first.is_empty() && first.chars().all(|c| c.is_ascii_lowercase());
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    if plain {
        format!("{}{}{stop}", text[..1].to_ascii_uppercase(), &text[1..])
    } else {
        format!("{text}{stop}")
    }
}

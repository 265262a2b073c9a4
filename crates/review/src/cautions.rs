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

/// A sentence as it is printed: a capital first, a full stop last.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{stop}", chars.as_str())
}

//! The mistakes of a scenario as a user sees them: every one with its file, line, span, what was expected and what was
//! probably meant. On a terminal `miette` draws them; elsewhere they are plain lines.

use crate::out;
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource};
use scenario::{Diagnostic, Diagnostics, Origin};

/// Prints all mistakes to stderr.
pub fn print(diagnostics: &Diagnostics) {
    if out::notes_are_seen() {
        let colour = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        out::drawn(&drawn(diagnostics, colour));
    } else {
        out::note(diagnostics);
    }
}

fn drawn(diagnostics: &Diagnostics, colour: bool) -> String {
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(100);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let report = miette::Report::new(drawable(diagnostic))
            .with_source_code(source_of(diagnostics, diagnostic.place.origin));
        if handler.render_report(&mut out, report.as_ref()).is_err() {
            return diagnostics.to_string();
        }
    }
    match diagnostics.len() + diagnostics.omitted() {
        1 => {}
        all => out.push_str(&format!("{all} mistakes\n")),
    }
    out
}

fn drawable(diagnostic: &Diagnostic) -> MietteDiagnostic {
    let here = LabeledSpan::new_primary_with_span(
        Some(diagnostic.label.clone().unwrap_or_else(|| "here".to_owned())),
        diagnostic.place.span.clone(),
    );
    let mut labels = vec![here];
    if let Some((place, label)) = &diagnostic.related
        && place.origin == diagnostic.place.origin
    {
        labels.push(LabeledSpan::new_with_span(Some(label.clone()), place.span.clone()));
    }
    let drawable = MietteDiagnostic::new(diagnostic.message.clone()).with_labels(labels);
    match &diagnostic.help {
        Some(help) => drawable.with_help(help.clone()),
        None => drawable,
    }
}

fn source_of(diagnostics: &Diagnostics, origin: Origin) -> NamedSource<String> {
    // Nothing of the file may look like our colours; places in it stay where they are.
    let text = diagnostics.text(origin).replace('\u{1b}', "?");
    NamedSource::new(review::plain(diagnostics.name(origin)), text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_drawn_with_its_place_and_its_help() {
        let source = scenario::Source {
            name: "bad.toml".to_owned(),
            text: "[scenario]\ntitel = \"x\"\n[plan]\nmeasure = 5\n".to_owned(),
            overrides: vec![("plan.mesure".to_owned(), "2s".to_owned())],
            ..scenario::Source::default()
        };
        let diagnostics = scenario::load(&source).unwrap_err();
        let drawn = drawn(&diagnostics, false);
        for expected in ["bad.toml:2:1", "titel", "did you mean `title`", "--set", "mistakes"] {
            assert!(drawn.contains(expected), "no {expected:?} in\n{drawn}");
        }
    }
}

//! Writes a calibrated part as a catalog file, for `--catalog` or to be copied into a scenario.

use crate::outcome::{Calibration, Fitted};
use scenario::{Figure, FigureKind, Part};
use std::fmt::Write;

/// The text of `parts`, with the fitted figures in place of their old ones.
pub(crate) fn text(calibration: &Calibration, parts: &[(Part, String)]) -> String {
    let mut text = String::from("# Fitted by `wirespeed calibrate`; docs/calibrate.md says how.\n");
    for run in &calibration.runs {
        let _ = writeln!(text, "# {}: {}", comment(&run.name), comment(&run.title));
    }
    for (part, name) in parts {
        let _ =
            write!(text, "\n[[part]]\nname = {}\nkind = \"{}\"\n", quoted(name), part.kind.word());
        if let Some(model) = &part.model {
            let _ = writeln!(text, "model = {}", quoted(model));
        }
        text.push_str("figures = [\n");
        let fitted = |figure: &str| {
            calibration.figures.iter().find(|of| of.part == part.name && of.figure == figure)
        };
        let source = source(calibration);
        let kept_figure = |name: &str| fitted(name).is_none() && !name.starts_with("fitted_");
        for figure in part.figures.iter().filter(|figure| kept_figure(&figure.name)) {
            text.push_str(&kept(figure));
        }
        for of in calibration.figures.iter().filter(|of| of.part == part.name) {
            text.push_str(&found(of, &source));
        }
        if part.figure("pass_time").is_some() {
            for (figure, value) in calibration.range.figures() {
                let _ = writeln!(
                    text,
                    "  {{ name = \"{figure}\", value = {}, kind = \"calibrated\", interval = {}, source = {} }},",
                    quoted(&value),
                    quoted(&format!("{value} to {value}")),
                    quoted(&source)
                );
            }
        }
        text.push_str("]\n");
    }
    text
}

/// The source of a fitted figure.
fn source(calibration: &Calibration) -> String {
    let runs: Vec<String> = calibration
        .runs
        .iter()
        .map(|run| {
            let machine = run.machine.as_ref().map_or(String::new(), |m| format!(" on {m}"));
            let how = if run.simulated { "simulated" } else { "measured" };
            format!(
                "{} ({how} {}{machine}; {} steps)",
                run.name,
                crate::day(run.wall_ns),
                run.steps
            )
        })
        .collect();
    let fit = &calibration.fit;
    format!(
        "fitted to {}; residuals of {:.1}% in throughput and {:.1}% in latency",
        runs.join(" and "),
        100.0 * fit.iops_error,
        100.0 * fit.latency_error
    )
}

fn found(of: &Fitted, source: &str) -> String {
    format!(
        "  {{ name = \"{}\", value = {}, kind = \"calibrated\", interval = {}, source = {} }},\n",
        of.figure,
        quoted(&of.value),
        quoted(&of.interval),
        quoted(source)
    )
}

fn kept(figure: &Figure) -> String {
    let kind = match figure.kind {
        FigureKind::DataSheet => "data-sheet",
        FigureKind::Published => "published",
        FigureKind::Standard => "standard",
        FigureKind::Assumed => "assumed",
        FigureKind::Calibrated => "calibrated",
    };
    let mut text = format!(
        "  {{ name = \"{}\", value = {}, kind = \"{kind}\"",
        figure.name,
        quoted(&figure.value)
    );
    for (key, value) in [("claim", &figure.claim), ("interval", &figure.interval)] {
        if let Some(value) = value {
            let _ = write!(text, ", {key} = {}", quoted(value));
        }
    }
    let _ = writeln!(text, ", source = {} }},", quoted(&figure.source));
    text
}

/// A TOML basic string: names of records and scenarios may contain anything.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// A text as one line of a comment.
fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_a_string_of_toml() {
        for (text, expected) in
            [("a", "\"a\""), ("a\"b\\", "\"a\\\"b\\\\\""), ("a\nb\u{7f}", "\"a\\u000Ab\\u007F\"")]
        {
            assert_eq!(quoted(text), expected);
        }
        assert_eq!(comment("a\nb"), "a b");
    }
}

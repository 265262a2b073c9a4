//! The last sections of the page: verification, contents of the targets, provenance, and the text of the scenario.

use super::grid::{Column, table};
use crate::number::{began, percent};
use crate::text::{clean, clean_lines};
use findings::{Analysis, Content, Proportion, Verification};
use maud::{Markup, html};
use record::{Fact, ScenarioText, Status};
use units::{binary_bytes, count};

pub(super) fn verification(verification: Option<&Verification>) -> Markup {
    let Some(v) = verification else { return html! {} };
    let mut rows = vec![
        ("checked: compared with the expected content".to_owned(), v.checked),
        ("written".to_owned(), v.written),
        ("read, content unknown".to_owned(), v.unknown),
        ("wrong".to_owned(), v.wrong),
    ];
    rows.extend(v.faults.iter().map(|f| (format!("wrong: {}", f.kind), f.blocks)));
    if let Some(coverage) = v.coverage {
        rows.push(("of the targets".to_owned(), coverage.blocks));
        rows.push(("of the targets, content known".to_owned(), coverage.known));
        rows.push((
            "of the targets, content known and read since the last write".to_owned(),
            coverage.seen,
        ));
    }
    let columns = [
        Column::words("blocks", |r: &(String, u64)| html! { (r.0) }),
        Column::numbers("number", "", |r: &(String, u64)| count(r.1 as f64)),
    ];
    html! {
        section id="verification" aria-labelledby="verification-heading" {
            h2 id="verification-heading" { "Verification" }
            (table("Blocks that were verified", &columns, &rows, |_| (None, "")))
        }
    }
}

pub(super) fn contents(contents: &[Content]) -> Markup {
    if contents.is_empty() {
        return html! {};
    }
    let share = |p: &Proportion| {
        format!("{} ({} to {})", percent(p.share), percent(p.low), percent(p.high))
    };
    let columns = [
        Column::words("target", |c: &Content| html! { (clean(&c.target)) }),
        Column::numbers("sampled", "blocks", |c: &Content| count(f64::from(c.blocks))),
        Column::numbers("over", "", |c: &Content| binary_bytes(c.over_bytes)),
        Column::numbers("unwritten", "blocks", |c: &Content| count(f64::from(c.unwritten))),
        Column::numbers("zeros", "blocks", |c: &Content| count(f64::from(c.zero))),
        Column::numbers("empty", "%, 95% interval", move |c: &Content| share(&c.empty)),
        Column::numbers("repeated", "%, 95% interval", move |c: &Content| share(&c.repeated)),
    ];
    html! {
        section id="contents" aria-labelledby="contents-heading" {
            h2 id="contents-heading" { "What the targets held" }
            (table("Samples of the targets before the load", &columns, contents, |_| (None, "")))
        }
    }
}

/// Data about the record, then every fact in it.
pub(super) fn provenance(analysis: &Analysis) -> Markup {
    let run = &analysis.run;
    let fact = |key: &str, value: String| Fact {
        subject: "record".to_owned(),
        key: key.to_owned(),
        value,
    };
    let planned = run.steps_planned.map_or("an unknown number".to_owned(), |n| n.to_string());
    let end = match run.end {
        Status::Complete => "complete",
        Status::Stopped => "stopped",
        Status::Failed => "failed",
        Status::Running => "none: killed, or still running",
    };
    let mut facts = vec![
        fact("made by", run.producer.clone()),
        fact("began", began(run.wall_ns)),
        fact("end", end.to_owned()),
        fact("steps", format!("{} of {planned}", run.steps_recorded)),
    ];
    if !run.scenario.is_empty() {
        facts.push(fact("scenario", run.scenario.clone()));
        facts.push(fact("seed", run.seed.to_string()));
    }
    if run.agents_lost > 0 {
        facts.push(fact("agents lost", run.agents_lost.to_string()));
    }
    if let Some(error) = &run.scenario_error {
        facts.push(fact("scenario error", error.clone()));
    }
    facts.extend(run.facts.iter().cloned());
    let mut subjects: Vec<&str> = Vec::new();
    for fact in &facts {
        if !subjects.contains(&fact.subject.as_str()) {
            subjects.push(&fact.subject);
        }
    }
    html! {
        section id="provenance" aria-labelledby="provenance-heading" {
            h2 id="provenance-heading" { "Provenance" }
            div.facts {
                @for subject in subjects {
                    div {
                        h3 { (clean(subject)) }
                        dl {
                            @for fact in facts.iter().filter(|f| f.subject == subject) {
                                div { dt { (clean(&fact.key)) } dd { (clean(&fact.value)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The scenario's text and the overrides.
pub(super) fn scenario(text: &ScenarioText) -> Markup {
    let lines = text.text.lines().count();
    html! {
        section id="scenario-text" aria-labelledby="scenario-text-heading" {
            h2 id="scenario-text-heading" { "The scenario as it was run" }
            @if !text.overrides.is_empty() {
                p { "Overrides:" }
                ul.overrides {
                    @for (key, value) in &text.overrides {
                        li { code { "--set " (clean(key)) "=" (clean(value)) } }
                    }
                }
            }
            details {
                summary { (clean(&text.name)) ", " (lines) " lines" }
                pre tabindex="0" { (clean_lines(&text.text)) }
            }
        }
    }
}

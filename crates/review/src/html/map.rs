//! The section of the map: the picture with its controls, what limits the step that is shown, and every hop in a table.

use crate::map::{COLUMNS, Map, Scene, class_words, first_rows, map, svg, word};
use crate::text::clean;
use findings::Analysis;
use maud::{Markup, html};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(super) fn of(analysis: &Analysis) -> Option<Map<'_>> {
    map(analysis)
}

/// The section; nothing where there is no map.
pub(super) fn section(analysis: &Analysis, map: Option<&Map<'_>>) -> Markup {
    let Some(map) = map else { return html! {} };
    html! {
        section id="map" aria-labelledby="map-heading" {
            h2 id="map-heading" { "Map of the lab" }
            (controls(analysis, map))
            div.picture tabindex="0" role="region" aria-label="Map of the lab, from hosts to arrays" {
                (svg(map, &words(map)))
            }
            (legend(map))
            details id="map-hops" {
                summary { "Every hop in figures, at the step that is shown" }
                (table(map))
            }
        }
    }
}

/// Which step is shown, and the ways to another. Without the script it is the one of which the first finding speaks.
fn controls(analysis: &Analysis, map: &Map<'_>) -> Markup {
    let first = &map.values[map.opens_on];
    let last = map.steps.len() - 1;
    html! {
        div.map-steps {
            div.map-controls hidden[true] {
                @if last > 0 {
                    button type="button" data-map="back" aria-label="Previous step" { "◀" }
                    input type="range" id="map-step" min="0" max=(last) value=(map.opens_on) step="1" aria-label="Step";
                    button type="button" data-map="on" aria-label="Next step" { "▶" }
                    button type="button" data-map="play" { "Play" }
                    span.over {
                        label for="map-axis" { "over" } " "
                        select id="map-axis" {
                            option value="" { "all steps" }
                            @for axis in axes(map) { option value=(axis) { (clean(&axis)) } }
                        }
                    }
                }
            }
            p.map-step aria-live="polite" {
                b id="map-label" { (first.label) }
                @if !first.total.is_empty() { " " span id="map-total" { (first.total) } }
                @else { " " span id="map-total" {} }
            }
            p.map-limit id="map-limit" { (first.limit) }
            @if map.steps.len() < analysis.steps.len() {
                p.none { (map.steps.len()) " of " (analysis.steps.len()) " steps can be shown here; the tables have all." }
            }
        }
    }
}

/// The axes that more than one of the steps has a value of.
fn axes(map: &Map<'_>) -> Vec<String> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (axis, value) in map.steps.iter().flat_map(|step| &step.settings) {
        let known = values.entry(axis).or_default();
        if known.is_empty() {
            order.push(axis);
        }
        if !known.contains(&value.as_str()) {
            known.push(value);
        }
    }
    order.retain(|axis| values[axis].len() > 1);
    order.into_iter().map(str::to_owned).collect()
}

fn words(map: &Map<'_>) -> String {
    let boxes: Vec<&str> = map.scene.boxes.iter().map(|b| b.title.as_str()).collect();
    let first = &map.values[map.opens_on];
    let limit = if first.limit.is_empty() { String::new() } else { format!(" {}", first.limit) };
    format!("{} at {}.{limit} The table below has every hop.", boxes.join("; "), first.label)
}

fn legend(map: &Map<'_>) -> Markup {
    html! {
        p.map-legend {
            "Full: "
            @for class in [1, 2, 3, 4, 5, 0] {
                span.key { i class={ "swatch k" (class) } {} (class_words(class)) } " "
            }
            span.key { i.swatch.limit {} "limits the step" } " "
            span.key { i.swatch.next {} "next in line" } " "
            span.key { "◂ read, towards the guests" } " "
            span.key { "▸ written, towards the devices" }
        }
        @if !map.wired {
            p.none { "How these are joined is not described; the map shows what counted." }
        }
        @if map.left_out > 0 {
            p.none { (map.left_out) " more hops are not on the map." }
        }
    }
}

/// Every row of the picture, and the members of its stacks.
fn table(map: &Map<'_>) -> Markup {
    let (scene, first) = (&map.scene, &map.values[map.opens_on]);
    let table = scene.table();
    html! {
        div.scroll tabindex="0" role="region" aria-label="Hops" {
            table.hops id="map-table" {
                caption { "Hops at the step that is shown" }
                thead {
                    tr.groups {
                        td colspan="3" {}
                        @for group in COLUMNS[1..].chunk_by(|a, b| a.2 == b.2) {
                            th scope="colgroup" colspan=(group.len()) { (group[0].2) }
                        }
                    }
                    tr {
                        th scope="col" { "hop" }
                        th scope="col" { "what" }
                        @for (name, unit, _) in COLUMNS {
                            th.number scope="col" { (name) @if !unit.is_empty() { " " span.unit { (unit) } } }
                        }
                    }
                }
                tbody {
                    @for (n, (at, value)) in table.iter().zip(&first.rows).enumerate() {
                        @let row = &scene.rows[at.row];
                        @let limits = at.member.is_none() && first.first.contains(&at.row);
                        @let class = if limits { Some("knee") } else { at.member.map(|_| "member") };
                        tr id={ "hop-" (n) } class=[class]
                            data-stack=[at.member.map(|_| at.row)] {
                            th scope="row" {
                                @match at.member {
                                    Some(hop) => (clean(map.names[hop])),
                                    None if row.hops.len() > 1 => {
                                        button.open type="button" hidden[true] aria-expanded="false" data-open=(at.row) { "▸" }
                                        (row.name)
                                    },
                                    None => (row.name),
                                }
                            }
                            td { (word(row.role)) }
                            @for cell in &value.cells { td.number { (shown(cell)) } }
                        }
                    }
                }
            }
        }
    }
}

fn shown(cell: &str) -> &str {
    if cell.is_empty() { "–" } else { cell }
}

/// What the page's script shows: every step in the words of the table, and what it plays over.
pub(super) fn data(map: &Map<'_>) -> Value {
    let steps = map.steps.iter().zip(&map.values).map(|(step, values)| {
        let rows: Vec<Value> = values
            .rows
            .iter()
            .map(|value| {
                let classes: String = value.classes.iter().map(u8::to_string).collect();
                json!([classes, value.widths, value.text, value.cells])
            })
            .collect();
        json!({
            "label": values.label, "total": values.total, "limit": values.limit,
            "plan": step.plan, "settings": step.settings, "repetition": step.repetition,
            "first": values.first, "second": values.second, "rows": rows,
        })
    });
    json!({ "rows": rows(&map.scene), "open": map.opens_on, "steps": steps.collect::<Vec<_>>() })
}

/// The table's row of each row of the scene.
fn rows(scene: &Scene) -> Vec<usize> {
    first_rows(scene)
}

//! The picture of the first step. The page's script changes its words, widths and classes; classes give the colours.

use super::Map;
use super::layout::{Line, Rect};
use super::scene::{MapRow, Scene, word};
use super::values::{COLUMNS, HopValue, StepValues};
use crate::text::fit;
use findings::map::Role;
use maud::{Markup, PreEscaped, html};
use std::fmt::Write;

/// Columns of text that fit into a link.
const LINK_LABEL: usize = 20;
/// Width of a sign of text in the picture, on the safe side.
const SIGN: f64 = 7.3;
/// Width below which a picture is not drawn smaller.
const LEGIBLE: f64 = 900.0;
/// Half the distance between the two directions of a line.
const APART: f64 = 2.5;

/// The picture of the first step of a map.
pub(crate) fn svg(map: &Map<'_>, label: &str) -> Markup {
    let Map { scene, layout, .. } = map;
    let first = &map.values[map.opens_on];
    let firsts = first_rows(scene);
    let value = |row: usize| &first.rows[firsts[row]];
    // A label leaves room for the longest figure of all steps.
    let room = |row: usize| {
        let signs = |step: &StepValues| step.rows[firsts[row]].text.chars().count();
        map.values.iter().map(signs).max().unwrap_or(0)
    };
    // As large as it is at most, and never too small to be read: a wide one scrolls in its box.
    let style = format!("max-width:{}px;min-width:{}px", layout.width, layout.width.min(LEGIBLE));
    let lines = layout.lines.iter().map(|line| (line, line.link.map(value)));
    html! {
        svg #lab-map .lab viewBox={ "0 0 " (layout.width) " " (layout.height) }
            width=(layout.width) height=(layout.height) style=(style) role="img" aria-label=(label) {
            (hatching())
            @for (place, it) in scene.boxes.iter().enumerate() {
                (boxed(it, &layout.boxes[place]))
            }
            @for (line, value) in lines { (joined(line, value)) }
            @for (place, row) in scene.rows.iter().enumerate() {
                @let mark = mark(first, place);
                @let drawn = Drawn { row, n: firsts[place], at: layout.rows[place], value: value(place), mark };
                @match row.in_box {
                    Some(_) => (hop(&drawn, room(place))),
                    None => (link(&drawn)),
                }
            }
        }
    }
}

/// The table's row of each row of the scene.
pub(crate) fn first_rows(scene: &Scene) -> Vec<usize> {
    let table = scene.table();
    let mut firsts = vec![0; scene.rows.len()];
    let all = table.iter().enumerate().filter(|(_, at)| at.member.is_none());
    all.for_each(|(n, at)| firsts[at.row] = n);
    firsts
}

/// Whether a row limits, or would be next.
fn mark(step: &StepValues, row: usize) -> &'static str {
    match () {
        () if step.first.contains(&row) => " limit",
        () if step.second.contains(&row) => " next",
        () => "",
    }
}

/// A pattern for what is not counted: it must not look like nothing to do.
fn hatching() -> Markup {
    PreEscaped(
        concat!(
            r#"<defs><pattern id="lab-hatch" width="6" height="6" patternUnits="userSpaceOnUse" "#,
            r#"patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>"#
        )
        .to_owned(),
    )
}

fn boxed(it: &super::scene::Box, at: &Rect) -> Markup {
    let signs = ((at.w - 20.0) / SIGN) as usize;
    let count = if it.count > 1 { format!(" ×{}", it.count) } else { String::new() };
    let title = fit(&it.title, signs.saturating_sub(count.len()));
    html! {
        g.box {
            title { (it.title) (count) @if let Some(part) = &it.part { ", " (part) } }
            @if it.count > 1 { (rect("behind", &Rect { x: at.x + 4.0, y: at.y - 4.0, ..*at })) }
            (rect("device", at))
            (text("name", at.x + 10.0, at.y + 18.0, &format!("{title}{count}")))
            @if let Some(part) = &it.part {
                (text("part", at.x + 10.0, at.y + 32.0, &fit(part, signs)))
            }
        }
    }
}

/// A row as it is drawn.
struct Drawn<'a> {
    row: &'a MapRow,
    /// Its place in the table.
    n: usize,
    at: Rect,
    value: &'a HopValue,
    mark: &'static str,
}

/// A hop within a box: its name, its figure of so many signs, and a bar.
fn hop(drawn: &Drawn<'_>, figure: usize) -> Markup {
    let Drawn { row, n, at, value, mark } = drawn;
    let inner = at.w - 16.0;
    let bar = Rect { x: at.x + 8.0, y: at.y + 19.0, w: inner, h: 4.0 };
    let signs = ((at.w - 18.0) / SIGN) as usize;
    let label = fit(&row.label, signs.saturating_sub(figure + 1).max(3));
    html! {
        g class={ "hop u" (value.classes[0]) (mark) } data-row=(n) {
            title { (words(row, value)) }
            (rect("cell", &Rect { x: at.x + 2.0, y: at.y + 1.0, w: at.w - 4.0, h: at.h - 2.0 }))
            (diamond(at.x + 2.0, at.middle()))
            (text("label", at.x + 9.0, at.y + 15.0, &label))
            (text("figure", at.right() - 9.0, at.y + 15.0, &value.text))
            (rect("track", &bar))
            (rect("fill", &Rect { w: width(inner, value.widths[0]), ..bar }))
        }
    }
}

/// A link: its name with its rate, and what goes each way.
fn link(drawn: &Drawn<'_>) -> Markup {
    let Drawn { row, n, at, value, mark } = drawn;
    let half = (at.w - 22.0) / 2.0;
    let bars = [(at.x + 8.0, 1), (at.x + 14.0 + half, 2)];
    let (x, right) = (at.x + 9.0, at.right() - 9.0);
    html! {
        g class={ "link u" (value.classes[0]) (mark) } data-row=(n) {
            title { (words(row, value)) }
            (rect("cell", at))
            (diamond(at.x, at.middle()))
            (text("label", x, at.y + 15.0, &fit(&row.label, LINK_LABEL)))
            @for (way, (y, sign)) in [(at.y + 31.0, "◂"), (at.y + 46.0, "▸")].into_iter().enumerate() {
                (text("way", x, y, sign))
                (text(if way == 0 { "way rate read" } else { "way rate write" }, x + 14.0, y, &rate(value, way)))
                (text(if way == 0 { "way share read" } else { "way share write" }, right, y, &share(value, way)))
            }
            @for (x, direction) in bars {
                @let bar = Rect { x, y: at.y + 52.0, w: half, h: 4.0 };
                g class={ "d" (value.classes[direction]) " way" (direction) } {
                    (rect("track", &bar))
                    (rect("fill", &Rect { w: width(half, value.widths[direction]), ..bar }))
                }
            }
        }
    }
}

/// What goes one way over a link.
fn rate(value: &HopValue, way: usize) -> String {
    match value.cells[1 + 2 * way].as_str() {
        "" => "not counted".to_owned(),
        rate => format!("{rate} MB/s"),
    }
}

fn share(value: &HopValue, way: usize) -> String {
    match value.cells[2 + 2 * way].as_str() {
        "" => String::new(),
        share => format!("{share}%"),
    }
}

/// A line between two things: one stroke, or one for each direction of a link.
fn joined(line: &Line, value: Option<&HopValue>) -> Markup {
    match (line.link, value) {
        (Some(link), Some(value)) => html! {
            @for (direction, dy) in [(1, -APART), (2, APART)] {
                path class={ "wire d" (value.classes[direction]) } data-link=(link)
                    data-way=(direction) d=(path(&line.points, dy)) {}
            }
        },
        _ => html! { path.wire.plain d=(path(&line.points, 0.0)) {} },
    }
}

/// A curve that is level at each of its points.
fn path(points: &[(f64, f64)], dy: f64) -> String {
    let mut out = String::new();
    for (n, (x, y)) in points.iter().enumerate() {
        let y = y + dy;
        let _infallible = match n.checked_sub(1).map(|before| points[before]) {
            None => write!(out, "M{x} {y}"),
            // There and back on one side.
            Some((from, before)) if from == *x && points.len() == 2 => {
                write!(out, "C{0} {1} {0} {y} {x} {y}", x + 30.0, before + dy)
            }
            Some((_, before)) if before + dy == y => write!(out, "H{x}"),
            Some((from, before)) => {
                let middle = (from + x) / 2.0;
                write!(out, "C{middle} {} {middle} {y} {x} {y}", before + dy)
            }
        };
    }
    out
}

/// The mark of what limits, shown by class.
fn diamond(x: f64, y: f64) -> Markup {
    html! { path.mark d={ "M" (x - 7.0) " " (y) "l7 -7l7 7l-7 7z" } {} }
}

fn width(of: f64, percent: u8) -> f64 {
    (of * f64::from(percent)).round() / 100.0
}

fn rect(class: &str, at: &Rect) -> Markup {
    html! { rect class=(class) x=(at.x) y=(at.y) width=(at.w) height=(at.h) {} }
}

fn text(class: &str, x: f64, y: f64, text: &str) -> Markup {
    html! { text class=(class) x=(x) y=(y) { (text) } }
}

/// A hop in words: what it is, and every figure that is known, with what it is of.
pub(crate) fn words(row: &MapRow, value: &HopValue) -> String {
    let known = COLUMNS.iter().zip(&value.cells).filter(|(_, cell)| !cell.is_empty());
    let figures: Vec<String> = known.map(|(column, cell)| figure(column, cell)).collect();
    let kind = if row.role == Role::Guest { "issues" } else { word(row.role) };
    match figures.is_empty() {
        true => format!("{} ({kind}): not counted", row.name),
        false => format!("{} ({kind}): {}", row.name, figures.join(", ")),
    }
}

/// `read 720 MB/s`, `latency of the time 12%`.
fn figure((name, unit, group): &(&str, &str, &str), cell: &str) -> String {
    let unit = match *unit {
        "%" => "%",
        "MB/s" => " MB/s",
        _ => "",
    };
    let group = if group.is_empty() || group == name { String::new() } else { format!("{group} ") };
    match (*group).starts_with("write") && *name == "written" {
        true => format!("written {cell}{unit}"),
        false => format!("{group}{name} {cell}{unit}"),
    }
}

//! XML profiles: `Profile/TimeSpans/TimeSpan/Targets/Target`, as diskspd writes and reads them.

use super::{Aim, Content, Limit, Span, distribution};
use crate::mistake::Mistakes;
use crate::note::Notes;
use quick_xml::Reader;
use quick_xml::events::Event;
use std::ops::Range;

/// Elements within each other, and elements of a file, at most.
const DEPTH_MAX: usize = 16;
const ELEMENTS_MAX: usize = 20_000;

/// An element with its text.
#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    span: Range<usize>,
    children: Vec<Element>,
}

impl Element {
    fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }
}

/// The time spans of a profile.
pub(super) fn spans(text: &str, notes: &mut Notes, mistakes: &mut Mistakes<'_>) -> Vec<Span> {
    let Some(root) = tree(text, mistakes) else { return Vec::new() };
    let mut reader = Profile { notes, mistakes };
    let mut spans = Vec::new();
    if root.name != "Profile" {
        reader.mistakes.unknown(root.span.clone(), "element", &root.name, ["Profile"]);
        return spans;
    }
    let none = [
        "Progress",
        "ResultFormat",
        "Verbose",
        "VerboseStats",
        "ETW",
        "PrecreateFiles",
        "TimeSpans",
    ];
    reader.known(&root, &none);
    let all = root.child("TimeSpans").map(|spans| &spans.children[..]).unwrap_or_default();
    for element in all.iter().take(500) {
        match element.name.as_str() {
            "TimeSpan" => spans.push(reader.span(element)),
            other => reader.mistakes.unknown(element.span.clone(), "element", other, ["TimeSpan"]),
        }
    }
    spans.retain(|span| !span.aims.is_empty());
    spans
}

/// The elements of a text; entities and document types are not followed.
fn tree(text: &str, mistakes: &mut Mistakes<'_>) -> Option<Element> {
    let mut reader = Reader::from_str(text);
    let mut open: Vec<Element> = vec![Element::default()];
    let mut count = 0;
    loop {
        let from = reader.buffer_position() as usize;
        let event = reader.read_event();
        let to = (reader.buffer_position() as usize).clamp(from, text.len());
        let span = from.min(text.len())..to;
        match event {
            Err(error) => {
                mistakes.add(span, format!("not well-formed XML: {error}"));
                return None;
            }
            Ok(Event::Eof) => break,
            Ok(Event::Start(start) | Event::Empty(start))
                if open.len() > DEPTH_MAX || count > ELEMENTS_MAX =>
            {
                drop(start);
                mistakes.add(span, "too many elements for a profile");
                return None;
            }
            Ok(Event::Start(start)) => {
                count += 1;
                open.push(element(&start, span));
            }
            Ok(Event::Empty(start)) => {
                count += 1;
                let empty = element(&start, span);
                open.last_mut()?.children.push(empty);
            }
            Ok(Event::Text(words)) => {
                open.last_mut()?.text.push_str(words.trim());
            }
            Ok(Event::CData(words)) => {
                open.last_mut()?.text.push_str(words.trim());
            }
            Ok(Event::End(_)) => {
                let closed = open.pop()?;
                match open.last_mut() {
                    Some(parent) => parent.children.push(closed),
                    None => {
                        mistakes.add(span, "an element is closed that is not open");
                        return None;
                    }
                }
            }
            Ok(_) => {}
        }
    }
    if open.len() > 1 {
        let end = text.len().saturating_sub(1)..text.len();
        let name = open.last().map(|element| element.name.clone()).unwrap_or_default();
        mistakes.add(end, format!("the file is cut off: `<{name}>` is not closed"));
        return None;
    }
    let root = open.pop()?.children.into_iter().next();
    if root.is_none() {
        mistakes.add(0..1, "no element");
    }
    root
}

fn element(start: &quick_xml::events::BytesStart<'_>, span: Range<usize>) -> Element {
    let attributes = start.attributes().flatten().take(16);
    let attributes = attributes.map(|a| (a.key.as_ref().to_owned(), a.value.to_string())).collect();
    Element { name: start.name().as_ref().to_owned(), attributes, span, ..Element::default() }
}

struct Profile<'n, 'm, 't> {
    notes: &'n mut Notes,
    mistakes: &'m mut Mistakes<'t>,
}

impl Profile<'_, '_, '_> {
    /// Reports elements that no profile has.
    fn known(&mut self, parent: &Element, names: &[&str]) {
        for child in &parent.children {
            match names.contains(&child.name.as_str()) {
                true => {
                    let line = self.mistakes.line(child.span.start);
                    self.notes.exact(line, &child.name);
                }
                false => {
                    let names = names.iter().copied();
                    self.mistakes.unknown(child.span.clone(), "element", &child.name, names);
                }
            }
        }
    }

    fn number(&mut self, parent: &Element, name: &str) -> Option<u64> {
        let child = parent.child(name)?;
        if child.text.is_empty() {
            return None;
        }
        let number = child.text.parse::<u64>().ok();
        if number.is_none() {
            let message = format!("`{name}`: expected a whole number, found `{}`", child.text);
            self.mistakes.add(child.span.clone(), message);
        }
        number
    }

    fn share(&mut self, parent: &Element, name: &str) -> Option<f64> {
        let child = parent.child(name)?;
        let share = child.text.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
        if share.is_none() {
            self.mistakes
                .add(child.span.clone(), format!("`{name}`: expected a share from 0 to 100"));
        }
        share
    }

    fn is(&mut self, parent: &Element, name: &str) -> bool {
        parent.child(name).is_some_and(|child| child.text == "true" || child.text == "1")
    }

    fn span(&mut self, element: &Element) -> Span {
        let names = [
            "CompletionRoutines",
            "MeasureLatency",
            "CalculateIopsStdDev",
            "DisableAffinity",
            "Duration",
            "Warmup",
            "Cooldown",
            "IoBucketDuration",
            "RandSeed",
            "RandomWriteData",
            "ThreadCount",
            "RequestCount",
            "Affinity",
            "GroupAffinity",
            "Targets",
        ];
        self.known(element, &names);
        let mut span = Span {
            line: self.mistakes.line(element.span.start),
            seed: self.number(element, "RandSeed").filter(|seed| *seed > 0),
            total_threads: self.number(element, "ThreadCount").unwrap_or(0),
            per_thread: self.number(element, "RequestCount").unwrap_or(0),
            ..Span::default()
        };
        // A template of VMFleet leaves times empty: they are given when it is used.
        if element.child("Duration").is_some_and(|child| child.text.is_empty()) {
            let text = "a template says no times: diskspd's own stand here";
            self.notes.approximated(span.line, "Duration", text);
        }
        span.duration_s =
            self.number(element, "Duration").filter(|s| *s > 0).unwrap_or(span.duration_s);
        span.warmup_s = self.number(element, "Warmup").unwrap_or(span.warmup_s);
        span.cooldown_s = self.number(element, "Cooldown").unwrap_or(span.cooldown_s);
        let random_data = self.is(element, "RandomWriteData");
        let targets =
            element.child("Targets").map(|targets| &targets.children[..]).unwrap_or_default();
        if targets.len() > super::line::TARGETS_MAX {
            self.mistakes.add(element.span.clone(), "more targets than a TimeSpan may have here");
            return span;
        }
        for target in targets {
            match target.name.as_str() {
                "Target" => {
                    let mut aim = self.aim(target);
                    if random_data {
                        aim.content = Content::Random;
                    }
                    span.aims.push(aim);
                }
                other => self.mistakes.unknown(target.span.clone(), "element", other, ["Target"]),
            }
        }
        if span.aims.is_empty() {
            self.mistakes.add(element.span.clone(), "a TimeSpan without a Target");
        }
        span
    }

    fn aim(&mut self, element: &Element) -> Aim {
        let names = [
            "Path",
            "BlockSize",
            "StrideSize",
            "InterlockedSequential",
            "BaseFileOffset",
            "SequentialScan",
            "RandomAccess",
            "TemporaryFile",
            "UseLargePages",
            "RequestCount",
            "Random",
            "DisableAllCache",
            "DisableLocalCache",
            "DisableOSCache",
            "WriteThrough",
            "MemoryMappedIo",
            "FlushType",
            "WriteBufferContent",
            "BurstSize",
            "ThinkTime",
            "Throughput",
            "ThreadsPerFile",
            "FileSize",
            "MaxFileSize",
            "WriteRatio",
            "RandomRatio",
            "ParallelAsyncIO",
            "ThreadStride",
            "IOPriority",
            "Weight",
            "ThreadTargets",
            "Distribution",
        ];
        self.known(element, &names);
        let default = Aim::default();
        let line = self.mistakes.line(element.span.start);
        let mut aim = Aim {
            path: element.child("Path").map_or("*1".to_owned(), |path| path.text.clone()),
            line,
            block: self.number(element, "BlockSize").filter(|b| *b > 0).unwrap_or(default.block),
            threads: self.number(element, "ThreadsPerFile").filter(|t| *t > 0).unwrap_or(1),
            outstanding: self.number(element, "RequestCount").filter(|o| *o > 0).unwrap_or(2),
            write: self.share(element, "WriteRatio").unwrap_or(0.0),
            interlocked: self.is(element, "InterlockedSequential"),
            thread_stride: self.number(element, "ThreadStride").unwrap_or(0),
            base: self.number(element, "BaseFileOffset").unwrap_or(0),
            create: self.number(element, "FileSize").filter(|size| *size > 0),
            burst: self.number(element, "BurstSize").unwrap_or(0),
            pause_ms: self.number(element, "ThinkTime").unwrap_or(0),
            ..default
        };
        self.order(element, &mut aim);
        self.content(element, &mut aim);
        self.throttle(element, &mut aim);
        self.ranges(element, &mut aim);
        if self.is(element, "ParallelAsyncIO") {
            let text = "outstanding I/Os of a thread take blocks in turn, and not all the same one";
            self.notes.lost(line, "ParallelAsyncIO", text);
        }
        for name in ["ThreadTargets", "Weight"] {
            if element.child(name).is_some() {
                self.notes.lost(line, name, "targets are chosen with equal probability");
            }
        }
        aim
    }

    /// Pauses, bounds, caches, and the order of addresses.
    fn order(&mut self, element: &Element, aim: &mut Aim) {
        let line = aim.line;
        if aim.burst == 0 || aim.pause_ms == 0 {
            (aim.burst, aim.pause_ms) = (0, 0);
        }
        let most = self.number(element, "MaxFileSize").filter(|size| *size > 0);
        aim.length = most.map(|most| most.saturating_sub(aim.base).max(1));
        let all = self.is(element, "DisableAllCache");
        aim.caching.unbuffered = all || self.is(element, "DisableOSCache");
        aim.caching.write_through = all || self.is(element, "WriteThrough");
        aim.caching.mapped = self.is(element, "MemoryMappedIo");
        aim.caching.remote = self.is(element, "DisableLocalCache");
        let random = self.number(element, "Random");
        let stride = self.number(element, "StrideSize");
        aim.random = self.share(element, "RandomRatio").unwrap_or(if random.is_some() {
            100.0
        } else {
            0.0
        });
        aim.align = random.or(stride).filter(|size| *size > 0);
        if element.child("Distribution").is_some()
            && random.is_none()
            && element.child("RandomRatio").is_none()
        {
            aim.random = 100.0;
            let text = "random, as VMFleet makes such a template when it is used";
            let said = self.notes.approximated(line, "no Random", text);
            aim.remarks.push(("random", said));
        }
    }

    fn content(&mut self, element: &Element, aim: &mut Aim) {
        let Some(content) = element.child("WriteBufferContent") else { return };
        let pattern = content.child("Pattern").map_or("", |pattern| &pattern.text[..]);
        aim.content = match pattern.to_ascii_lowercase().as_str() {
            "random" => Content::Random,
            "zero" => Content::Zero,
            _ => Content::Pattern,
        };
    }

    fn throttle(&mut self, element: &Element, aim: &mut Aim) {
        let Some(child) = element.child("Throughput") else { return };
        let ios = child
            .attributes
            .iter()
            .any(|(key, value)| key == "unit" && value.eq_ignore_ascii_case("iops"));
        match child.text.parse::<f64>().ok().filter(|n| *n >= 0.0 && n.is_finite()) {
            Some(number) if number > 0.0 => {
                aim.limit = Some(if ios { Limit::Ios(number) } else { Limit::Bytes(number) });
            }
            Some(_) => {}
            None if child.text.is_empty() => {}
            None => self.mistakes.add(child.span.clone(), "`Throughput`: expected a number"),
        }
    }

    fn ranges(&mut self, element: &Element, aim: &mut Aim) {
        let Some(child) = element.child("Distribution").and_then(|d| d.children.first()) else {
            return;
        };
        let whole = match child.name.as_str() {
            "Percent" => Some(100.0),
            _ => aim.length.or(aim.create).map(|bytes| bytes as f64),
        };
        let range = |range: &Element| {
            let io = range.attributes.iter().find(|(key, _)| key == "IO")?.1.parse::<f64>().ok()?;
            Some((io, range.text.parse::<f64>().ok()? / whole? * 100.0))
        };
        let all: Option<Vec<(f64, f64)>> = child.children.iter().map(range).collect();
        let line = self.mistakes.line(child.span.start);
        match all.and_then(|all| distribution(&all)) {
            Some((skew, near)) => {
                aim.skew = skew;
                if near {
                    let text = "the ranges are drawn together into a hot spot and the rest";
                    let said = self.notes.approximated(line, "Distribution", text);
                    aim.remarks.push(("skew", said));
                }
            }
            None => self
                .mistakes
                .add(child.span.clone(), "`Distribution`: accesses and sizes must fit into 100%"),
        }
    }
}

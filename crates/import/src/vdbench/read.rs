//! The lines of a parameter file, joined, split into parameters, with their defaults.

use super::{Definition, File, Parameter};
use crate::mistake::Mistakes;
use crate::note::Notes;
use std::ops::Range;

/// Definitions of a file at most, counted ones included.
const DEFINITIONS_MAX: usize = 2000;

const STORAGE: &[&str] = &[
    "sd",
    "lun",
    "size",
    "threads",
    "range",
    "openflags",
    "hitarea",
    "host",
    "hd",
    "count",
    "align",
    "offset",
    "journal",
    "resetbus",
    "resetlun",
    "replay",
    "dedupratio",
    "dedupunit",
    "dedupsets",
    "compratio",
    "streams",
    "sectorsize",
    "instance",
    "mask",
    "tapedrive",
    "concatenate",
];
const WORKLOAD: &[&str] = &[
    "wd",
    "sd",
    "fsd",
    "xfersize",
    "rdpct",
    "readpct",
    "seekpct",
    "skew",
    "rhpct",
    "whpct",
    "threads",
    "range",
    "iorate",
    "priority",
    "stride",
    "hotband",
    "openflags",
    "host",
    "hd",
    "streams",
    "align",
    "hitarea",
    "dist",
    "maxdata",
];
const RUN: &[&str] = &[
    "rd",
    "wd",
    "sd",
    "iorate",
    "curve",
    "elapsed",
    "interval",
    "warmup",
    "pause",
    "distribution",
    "threads",
    "maxdata",
    "openflags",
    "stopcurve",
    "startcmd",
    "endcmd",
    "start_cmd",
    "end_cmd",
    "format",
    "skew",
    "forxfersize",
    "forrdpct",
    "forseekpct",
    "forthreads",
    "foriorate",
    "forhitarea",
    "forrhpct",
    "forwhpct",
    "forcompratio",
    "xfersize",
    "rdpct",
    "readpct",
    "seekpct",
    "range",
    "rhpct",
    "whpct",
    "hitarea",
];
const GENERAL: &[&str] = &[
    "messagescan",
    "data_errors",
    "compratio",
    "dedupratio",
    "dedupunit",
    "dedupsets",
    "validate",
    "monitor",
    "startcmd",
    "endcmd",
    "start_cmd",
    "end_cmd",
    "histogram",
    "report",
    "debug",
    "formatsds",
    "patterns",
    "pattern",
    "port",
    "loop",
    "create_anchors",
    "concatenatesds",
    "timezone",
    "abort_failed_skew",
    "swat",
    "journal",
    "report_run_totals",
    "showlba",
    "ios_per_jvm",
    "threads",
    "fileformat",
    "auxreport",
];
const HOST: &[&str] =
    &["hd", "system", "user", "shell", "jvms", "vdbench", "mount", "clients", "master", "host"];

/// A character of a logical line with its place in the file.
type Placed = (char, usize);

/// The definitions of a file.
pub(super) fn file(text: &str, notes: &mut Notes, mistakes: &mut Mistakes<'_>) -> File {
    let mut reader =
        Reader { notes, mistakes, file: File::default(), defaults: Default::default() };
    for line in logical(text) {
        reader.line(&line);
        let all = reader.file.storages.len() + reader.file.workloads.len() + reader.file.runs.len();
        if all > DEFINITIONS_MAX {
            let at = line.first().map_or(0, |first| first.1);
            reader.mistakes.add(at..at, format!("more than {DEFINITIONS_MAX} definitions"));
            break;
        }
    }
    reader.file
}

/// Lines without remarks; one that ends with a comma goes on in the next.
fn logical(text: &str) -> Vec<Vec<Placed>> {
    let mut lines: Vec<Vec<Placed>> = Vec::new();
    let (mut at, mut goes_on) = (0, false);
    for line in text.split('\n') {
        let start = at;
        at += line.len() + 1;
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['*', '#', '/']) {
            continue;
        }
        let mut chars = Vec::new();
        let (mut depth, mut quoted) = (0u32, false);
        for (i, c) in line.char_indices().skip_while(|(_, c)| c.is_whitespace()) {
            match c {
                '"' => quoted = !quoted,
                '(' if !quoted => depth += 1,
                ')' if !quoted => depth = depth.saturating_sub(1),
                // What follows a blank is a remark, but behind a comma or within brackets.
                c if c.is_whitespace() && !quoted => {
                    let last = chars.last().map(|(c, _): &Placed| *c);
                    if depth == 0 && !matches!(last, Some(',' | '=')) {
                        let rest = line[i..].trim_start();
                        if !rest.starts_with([',', '=']) {
                            break;
                        }
                    }
                    continue;
                }
                _ => {}
            }
            chars.push((c, start + i));
        }
        let more = chars.last().is_some_and(|(c, _)| *c == ',');
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => last.extend(chars),
            None => lines.push(chars),
        }
        goes_on = more;
    }
    lines
}

/// Default parameters of each kind of definition, as far as they have been read.
#[derive(Default)]
struct Defaults {
    sd: Vec<Parameter>,
    wd: Vec<Parameter>,
    rd: Vec<Parameter>,
}

struct Reader<'n, 'm, 't> {
    notes: &'n mut Notes,
    mistakes: &'m mut Mistakes<'t>,
    file: File,
    defaults: Defaults,
}

impl Reader<'_, '_, '_> {
    fn line(&mut self, line: &[Placed]) {
        let parameters = self.parameters(line);
        let Some(first) = parameters.first() else { return };
        let span = first.span.clone();
        let (known, what) = match first.key.as_str() {
            "sd" => (STORAGE, "parameter of a storage definition"),
            "wd" => (WORKLOAD, "parameter of a workload definition"),
            "rd" => (RUN, "parameter of a run definition"),
            "hd" | "host" => (HOST, "parameter of a host"),
            "fsd" | "fwd" | "rg" => {
                let message = format!(
                    "`{}=`: files and replays have no counterpart in a scenario",
                    first.key
                );
                self.mistakes.add(span, message);
                return;
            }
            "include" => {
                let help = "put the included text in its place, and import that";
                self.mistakes.add_help(
                    span,
                    "`include`: the file is read alone, without others",
                    help,
                );
                return;
            }
            _ => (GENERAL, "parameter"),
        };
        for parameter in &parameters {
            if !known.contains(&parameter.key.as_str()) {
                let at = parameter.span.clone();
                self.mistakes.unknown(at, what, &parameter.key, known.iter().copied());
            }
            if parameter.values.iter().any(|value| value.contains('$')) {
                let message = "a variable of the command line: write its value";
                self.mistakes.add(parameter.span.clone(), message);
            }
            self.notes.exact(parameter.line, &parameter.written());
        }
        let kind = first.key.clone();
        if known == GENERAL {
            self.file.general.extend(parameters);
            return;
        }
        if known == HOST {
            if first.first() != "default" {
                let text = "all loads run from where the scenario runs";
                self.notes.lost(first.line, &first.written(), text);
            }
            return;
        }
        self.definition(&kind, parameters);
    }

    fn definition(&mut self, kind: &str, mut parameters: Vec<Parameter>) {
        let head = parameters.remove(0);
        let defaults = match kind {
            "sd" => &mut self.defaults.sd,
            "wd" => &mut self.defaults.wd,
            _ => &mut self.defaults.rd,
        };
        if head.first() == "default" {
            defaults.extend(parameters);
            return;
        }
        let mut all = defaults.clone();
        all.extend(parameters);
        let definition = Definition {
            name: head.first().to_owned(),
            line: head.line,
            span: head.span.clone(),
            parameters: all,
        };
        let list = match kind {
            "sd" => &mut self.file.storages,
            "wd" => &mut self.file.workloads,
            _ => &mut self.file.runs,
        };
        if list.iter().any(|other| other.name == definition.name) {
            self.mistakes.add(head.span, format!("a second `{kind}={}`", definition.name));
            return;
        }
        list.push(definition);
    }

    fn parameters(&mut self, line: &[Placed]) -> Vec<Parameter> {
        let mut parameters = Vec::new();
        for part in parts(line, ',') {
            let Some(equals) = part.iter().position(|(c, _)| *c == '=') else {
                if let Some(span) = span_of(part) {
                    let word: String = part.iter().map(|(c, _)| *c).collect();
                    self.mistakes.add(span, format!("`{word}`: expected `key=value`"));
                }
                continue;
            };
            let text = |part: &[Placed]| part.iter().map(|(c, _)| *c).collect::<String>();
            let key = text(&part[..equals]).trim().to_ascii_lowercase();
            let value = &part[equals + 1..];
            let inner = match (value.first(), value.last()) {
                (Some(('(', _)), Some((')', _))) if value.len() > 1 => &value[1..value.len() - 1],
                (Some(('(', _)), _) => {
                    let span = span_of(part).unwrap_or(0..0);
                    self.mistakes.add(span, format!("`{key}`: a bracket without its `)`"));
                    continue;
                }
                _ => value,
            };
            let values: Vec<String> =
                parts(inner, ',').map(|part| text(part).trim_matches('"').to_owned()).collect();
            let span = span_of(part).unwrap_or(0..0);
            if values.len() > 1000 {
                self.mistakes.add(span, format!("`{key}`: more than 1000 values"));
                continue;
            }
            if values.iter().all(String::is_empty) {
                self.mistakes.add(span, format!("`{key}` needs a value"));
                continue;
            }
            let line = self.mistakes.line(span.start);
            parameters.push(Parameter { key, values, span, line });
        }
        parameters
    }
}

fn span_of(part: &[Placed]) -> Option<Range<usize>> {
    let (first, last) = (part.first()?, part.last()?);
    Some(first.1..last.1 + last.0.len_utf8())
}

/// The parts between separators outside of brackets and quotes; empty ones are left out.
fn parts(line: &[Placed], separator: char) -> impl Iterator<Item = &[Placed]> {
    let (mut depth, mut quoted) = (0u32, false);
    line.split(move |(c, _)| {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == separator && depth == 0 && !quoted
    })
    .filter(|part| !part.is_empty())
}

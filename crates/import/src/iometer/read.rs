//! The sections of a configuration, of every version since 1998: lines that begin with an apostrophe are keys, the lines
//! below them values.

use super::{Assigned, Config, Cycle, Manager, Medium, Row, Specification, TargetOf, Test, Worker};
use crate::mistake::Mistakes;
use crate::note::Notes;
use std::ops::Range;

/// Access specifications are written by name since then, and by bare rows before.
const NAMED_SINCE: u64 = 19_980_521;

/// A line that is not empty.
#[derive(Clone, Debug)]
struct Text<'t> {
    text: &'t str,
    span: Range<usize>,
    line: usize,
}

impl Text<'_> {
    fn is_key(&self) -> bool {
        self.text.starts_with('\'')
    }

    fn is(&self, key: &str) -> bool {
        self.text.eq_ignore_ascii_case(key)
    }

    fn begins(&self, key: &str) -> bool {
        self.text.get(..key.len()).is_some_and(|start| start.eq_ignore_ascii_case(key))
    }

    /// The parts between commas.
    fn cells(&self) -> Vec<String> {
        self.text.split(',').map(|cell| cell.trim().to_owned()).collect()
    }
}

/// The configuration, as far as it can be read.
pub(super) fn config(text: &str, notes: &mut Notes, mistakes: &mut Mistakes<'_>) -> Config {
    let mut at = 0;
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.split('\n')) {
        let trimmed = line.trim();
        let start = at + (line.len() - line.trim_start().len());
        at += line.len() + 1;
        if !trimmed.is_empty() {
            lines.push(Text { text: trimmed, span: start..start + trimmed.len(), line: number });
        }
    }
    let mut reader =
        Reader { lines, at: 0, notes, mistakes, config: Config::default(), version: u64::MAX };
    reader.file();
    reader.config
}

struct Reader<'t, 'n, 'm> {
    lines: Vec<Text<'t>>,
    at: usize,
    notes: &'n mut Notes,
    mistakes: &'n mut Mistakes<'m>,
    config: Config,
    /// By date, or far above every date for versions with dots; the newest where no line says it.
    version: u64,
}

const SETUP: [&str; 12] = [
    "'Test Description",
    "'Run Time",
    "'Ramp Up Time",
    "'Default Workers to Spawn",
    "'Default Disk Workers to Spawn",
    "'Default Network Workers to Spawn",
    "'Record Results",
    "'Worker Cycling",
    "'Disk Cycling",
    "'Queue Depth Cycling",
    "'Test Type",
    "'END test setup",
];

const WORKER: [&str; 8] = [
    "'Default target settings for worker",
    "'Assigned access specs",
    "'Target assignments",
    "'End worker",
    "'Worker",
    "'Worker type",
    "'End manager",
    "'Manager network address",
];

impl<'t> Reader<'t, '_, '_> {
    fn next(&mut self) -> Option<Text<'t>> {
        let line = self.lines.get(self.at).cloned();
        self.at += 1;
        line
    }

    fn peek(&self) -> Option<&Text<'t>> {
        self.lines.get(self.at)
    }

    /// The value below a key; further lines with apostrophes head its columns.
    fn value(&mut self) -> Option<Text<'t>> {
        while let Some(line) = self.peek() {
            if line.begins("'End") || line.begins("'Version") {
                return None;
            }
            let key = line.is_key();
            let line = self.next();
            if !key {
                return line;
            }
        }
        None
    }

    fn wrong(&mut self, line: &Text<'_>, expected: &str) {
        self.mistakes.add(line.span.clone(), format!("expected {expected}"));
    }

    fn cut(&mut self, what: &str) {
        let end = self.lines.last().map_or(0..0, |line| line.span.clone());
        self.mistakes.add(end, format!("the file is cut off: {what}"));
    }

    fn file(&mut self) {
        while let Some(line) = self.next() {
            if line.begins("'TEST SETUP") {
                self.setup();
            } else if line.begins("'RESULTS DISPLAY") {
                self.display();
            } else if line.begins("'ACCESS SPECIFICATIONS") {
                match self.version >= NAMED_SINCE {
                    true => self.specifications(),
                    false => self.old_specifications(),
                }
            } else if line.begins("'MANAGER LIST") {
                self.managers();
            } else if line.begins("Version") {
                self.version(&line);
            } else if line.begins("'Results") {
                // A results file: rows until the next test.
                while self.peek().is_some_and(|next| !next.begins("'Time Stamp")) {
                    self.at += 1;
                }
            } else if ["'Version", "'Time Stamp", "'Test Type"].iter().any(|key| line.begins(key)) {
                // Of results files: values of no consequence.
                if self.peek().is_some_and(|next| !next.is_key()) {
                    self.at += 1;
                }
            } else {
                let known = [
                    "'TEST SETUP",
                    "'RESULTS DISPLAY",
                    "'ACCESS SPECIFICATIONS",
                    "'MANAGER LIST",
                    "Version",
                ];
                self.mistakes.unknown(line.span.clone(), "section", line.text, known);
                return;
            }
        }
    }

    fn version(&mut self, line: &Text<'_>) {
        let text = line.text["version".len()..].trim();
        let numbers: Vec<u64> = text.split('.').filter_map(|n| n.trim().parse().ok()).collect();
        match numbers[..] {
            [major, middle, minor] if major > 1900 => {
                self.version =
                    major.saturating_mul(10_000).saturating_add(middle * 100 + minor.min(99));
            }
            [3, 26, 97] => self.version = 19_980_105,
            [_, _, _] => self.version = u64::MAX,
            _ => {
                self.wrong(line, "a version such as `Version 1.1.0` or `Version 2006.07.27`");
                return;
            }
        }
        self.notes.exact(line.line, line.text);
    }

    fn numbers(&mut self, line: &Text<'_>, count: usize, expected: &str) -> Option<Vec<u64>> {
        let words = line.text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
        let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).take(count).collect();
        if numbers.len() < count {
            self.wrong(line, expected);
            return None;
        }
        Some(numbers)
    }

    fn setup(&mut self) {
        while let Some(key) = self.next() {
            if key.begins("'END") {
                return;
            }
            if !SETUP.iter().any(|known| key.begins(known)) {
                // Versions before 1999 end the section silently there.
                if self.version >= 19_990_217 {
                    self.mistakes.unknown(key.span.clone(), "key", key.text, SETUP);
                }
                return;
            }
            if key.begins("'Test Description") {
                // The description may be empty, and may be anything.
                if self.peek().is_some_and(|line| !line.is_key()) {
                    let line = self.next();
                    self.config.description = line.map_or(String::new(), |l| l.text.to_owned());
                }
                continue;
            }
            let Some(value) = self.value() else {
                let expected = format!("a value below `{}`", key.text);
                self.wrong(&key, &expected);
                continue;
            };
            self.setting(&key, &value);
        }
        self.cut("no `'END test setup`");
    }

    fn setting(&mut self, key: &Text<'_>, value: &Text<'_>) {
        let setting = format!("{} {}", key.text, value.text);
        self.notes.exact(value.line, &setting);
        if key.begins("'Run Time") {
            let numbers = self.numbers(value, 3, "hours, minutes and seconds");
            if let Some(numbers) = numbers {
                let minutes = numbers[0].saturating_mul(60).saturating_add(numbers[1]);
                self.config.run_s = minutes.saturating_mul(60).saturating_add(numbers[2]);
            }
        } else if key.begins("'Ramp Up Time") {
            let numbers = self.numbers(value, 1, "seconds");
            self.config.ramp_s = numbers.map_or(0, |n| n[0]);
        } else if key.begins("'Worker Cycling") {
            self.config.workers = self.cycle(value, false);
        } else if key.begins("'Disk Cycling") {
            self.config.targets = self.cycle(value, false);
        } else if key.begins("'Queue Depth Cycling") {
            self.config.depth = self.cycle(value, true);
        } else if key.begins("'Test Type") {
            self.config.test_line = value.line;
            self.config.test = match value.text.to_ascii_uppercase().as_str() {
                "NORMAL" | "0" => Test::Normal,
                "CYCLE_TARGETS" | "1" => Test::Targets,
                "CYCLE_WORKERS" | "2" => Test::Workers,
                "INCREMENT_TARGETS_PARALLEL" | "3" => Test::IncrementParallel,
                "INCREMENT_TARGETS_SERIAL" | "4" => Test::IncrementSerial,
                "CYCLE_WORKERS_AND_TARGETS" | "5" => Test::WorkersAndTargets,
                "CYCLE_OUTSTANDING_IOS" | "6" => Test::Depth,
                "CYCLE_OUTSTANDING_IOS_AND_TARGETS" | "7" => Test::DepthAndTargets,
                other => {
                    let known = [
                        "NORMAL",
                        "CYCLE_TARGETS",
                        "CYCLE_WORKERS",
                        "INCREMENT_TARGETS_PARALLEL",
                        "INCREMENT_TARGETS_SERIAL",
                        "CYCLE_WORKERS_AND_TARGETS",
                        "CYCLE_OUTSTANDING_IOS",
                        "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
                    ];
                    self.mistakes.unknown(value.span.clone(), "test type", other, known);
                    Test::Normal
                }
            };
        }
    }

    fn cycle(&mut self, value: &Text<'_>, with_end: bool) -> Cycle {
        let count = if with_end { 3 } else { 2 };
        let expected =
            if with_end { "start, end, step and step type" } else { "start, step and step type" };
        let Some(numbers) = self.numbers(value, count, expected) else { return Cycle::default() };
        let kind =
            value.text.split([',', ' ', '\t']).rfind(|word| !word.is_empty()).unwrap_or_default();
        // Old versions write the kind as a number, of which 1 is exponential.
        let exponential =
            kind.eq_ignore_ascii_case("EXPONENTIAL") || kind == "1" && numbers.len() < count + 1;
        if !exponential && !kind.eq_ignore_ascii_case("LINEAR") && kind.parse::<u64>().is_err() {
            self.wrong(value, expected);
        }
        let end = if with_end { numbers[1] } else { u64::MAX };
        Cycle { start: numbers[0], end, step: numbers[count - 1], exponential }
    }

    /// What is shown while a test runs has no effect on it.
    fn display(&mut self) {
        let from = self.peek().map_or(1, |line| line.line);
        while let Some(line) = self.next() {
            if line.begins("'END results display") {
                self.notes.remark(
                    from,
                    "'RESULTS DISPLAY",
                    "what is shown does not change the load",
                );
                return;
            }
        }
        self.cut("no `'END results display`");
    }

    fn specifications(&mut self) {
        while let Some(key) = self.next() {
            if key.begins("'END access specifications") {
                return;
            }
            if !key.begins("'Access specification name") {
                let known =
                    ["'Access specification name,default assignment", "'END access specifications"];
                self.mistakes.unknown(key.span.clone(), "key", key.text, known);
                return;
            }
            let Some(head) = self.next().filter(|head| !head.is_key()) else {
                self.wrong(&key, "a name and a default assignment below");
                return;
            };
            let (name, assigned) = head.text.rsplit_once(',').unwrap_or((head.text, "NONE"));
            let assigned = match assigned.trim().to_ascii_uppercase().as_str() {
                "NONE" | "0" => Assigned::None,
                "ALL" | "1" => Assigned::All,
                "DISK" | "2" => Assigned::Disk,
                "NET" | "3" => Assigned::Net,
                _ => {
                    self.wrong(&head, "a name, and NONE, ALL, DISK or NET");
                    Assigned::None
                }
            };
            if let Some(line) = self.peek().filter(|line| !line.is_key()).cloned() {
                self.wrong(&line, "the names of the columns, `'size,% of size,% reads,…`");
            } else {
                self.at += 1;
            }
            let rows = self.rows(&head);
            self.notes.exact(head.line, head.text);
            let spec =
                Specification { name: name.trim().to_owned(), line: head.line, assigned, rows };
            self.config.specs.retain(|other| !other.name.eq_ignore_ascii_case(&spec.name));
            self.config.specs.push(spec.into());
        }
        self.cut("no `'END access specifications`");
    }

    fn rows(&mut self, head: &Text<'_>) -> Vec<Row> {
        let mut rows = Vec::new();
        while let Some(line) = self.peek().filter(|line| !line.is_key()).cloned() {
            self.at += 1;
            match row(&line) {
                Some(row) => rows.push(row),
                None => self
                    .wrong(&line, "size, % of size, % reads, % random, delay, burst, align, reply"),
            }
        }
        self.summed(head, &rows);
        rows.retain(|row| row.share > 0.0);
        rows
    }

    fn summed(&mut self, head: &Text<'_>, rows: &[Row]) {
        let sum: f64 = rows.iter().map(|row| row.share).sum();
        if (sum - 100.0).abs() > 0.5 {
            let message = format!("the rows of this specification make up {sum}%, and not 100%");
            self.mistakes.add(head.span.clone(), message);
        }
        if rows.len() > 100 {
            self.mistakes.add(head.span.clone(), "more than 100 rows");
        }
        if rows.iter().any(|row| row.size == 0) {
            self.mistakes.add(head.span.clone(), "a row of 0 bytes");
        }
    }

    /// Rows without names: each specification ends where its rows make up 100%.
    fn old_specifications(&mut self) {
        let mut rows: Vec<Row> = Vec::new();
        let mut head = None;
        while let Some(line) = self.peek().cloned() {
            if line.is_key() || line.begins("Version") {
                if line.begins("'END") || rows.is_empty() && head.is_none() && line.is_key() {
                    self.at += 1;
                    if line.begins("'END") {
                        break;
                    }
                    continue;
                }
                break;
            }
            self.at += 1;
            let Some(row) = row(&line) else {
                self.wrong(&line, "size, % of size, % reads, % random, delay, burst");
                return;
            };
            let first = head.get_or_insert_with(|| line.clone()).clone();
            rows.push(row);
            let sum: f64 = rows.iter().map(|row| row.share).sum();
            if sum >= 100.0 {
                self.summed(&first, &rows);
                rows.retain(|row| row.share > 0.0);
                let name = format!("specification {}", self.config.specs.len() + 1);
                self.notes.exact(first.line, first.text);
                let rows = std::mem::take(&mut rows);
                let spec = Specification { name, line: first.line, assigned: Assigned::All, rows };
                self.config.specs.push(spec.into());
                head = Some(first);
            }
        }
        if let Some(first) = head.filter(|_| !rows.is_empty()) {
            self.summed(&first, &rows);
        }
    }

    fn managers(&mut self) {
        while let Some(key) = self.next() {
            if key.begins("'END manager list") {
                return;
            }
            if key.begins("'Manager ID") {
                let Some(line) = self.next().filter(|line| !line.is_key()) else {
                    self.wrong(&key, "an ID and a name below");
                    continue;
                };
                let name = line.text.split_once(',').map_or(line.text, |(_, name)| name.trim());
                let (name, address) = (name.to_owned(), String::new());
                self.config.managers.push(Manager { name, address, workers: Vec::new() });
                self.notes.exact(line.line, line.text);
            } else if key.begins("'Manager network address") {
                if let Some(line) = self.peek().filter(|line| !line.is_key()).cloned() {
                    self.at += 1;
                    if let Some(manager) = self.config.managers.last_mut() {
                        manager.address = line.text.to_owned();
                    }
                }
            } else if key.is("'Worker") {
                self.worker(&key);
            } else if !key.begins("'End manager") {
                self.mistakes.unknown(key.span.clone(), "key", key.text, WORKER);
                return;
            }
        }
        self.cut("no `'END manager list`");
    }

    fn worker(&mut self, key: &Text<'_>) {
        let name = self.next().filter(|line| !line.is_key());
        let mut worker = Worker {
            name: name.as_ref().map_or("worker".to_owned(), |line| line.text.to_owned()),
            line: name.as_ref().map_or(key.line, |line| line.line),
            medium: Medium::Disk,
            depth: 1,
            sectors: 0,
            start: 0,
            settings_line: key.line,
            specs: None,
            targets: Vec::new(),
        };
        let mut ended = false;
        while let Some(key) = self.next() {
            if key.is("'End worker") {
                ended = true;
                break;
            } else if key.is("'Worker type") {
                let Some(value) = self.next() else { break };
                worker.medium = match value.text.to_ascii_uppercase().replace(' ', "").as_str() {
                    "DISK" => Medium::Disk,
                    "NETWORK,TCP" => Medium::Tcp,
                    "NETWORK,VI" => Medium::Vi,
                    other => {
                        let known = ["DISK", "NETWORK,TCP", "NETWORK,VI"];
                        self.mistakes.unknown(value.span.clone(), "type of worker", other, known);
                        Medium::Disk
                    }
                };
            } else if key.is("'Default target settings for worker") {
                self.defaults(&mut worker);
            } else if key.is("'Assigned access specs") {
                let mut specs = Vec::new();
                while let Some(line) = self.peek().filter(|line| !line.is_key()).cloned() {
                    self.at += 1;
                    specs.push((line.text.to_owned(), line.span.clone()));
                }
                worker.specs = Some(specs);
                self.at +=
                    usize::from(self.peek().is_some_and(|l| l.is("'End assigned access specs")));
            } else if key.is("'Target assignments") {
                self.targets(&mut worker);
            } else {
                self.mistakes.unknown(key.span.clone(), "key", key.text, WORKER);
                break;
            }
        }
        if !ended && self.mistakes.is_empty() {
            self.cut("no `'End worker`");
        }
        if self.config.managers.is_empty() {
            let (name, address) = ("local".to_owned(), String::new());
            self.config.managers.push(Manager { name, address, workers: Vec::new() });
        }
        if let Some(manager) = self.config.managers.last_mut() {
            manager.workers.push(worker);
        }
    }

    fn defaults(&mut self, worker: &mut Worker) {
        while let Some(key) = self.next() {
            if key.begins("'End default target settings") {
                return;
            }
            let Some(value) = self.value() else {
                self.wrong(&key, "a value below");
                return;
            };
            let cells = value.cells();
            let number = |n: usize| cells.get(n).and_then(|cell| cell.parse::<u64>().ok());
            if key.begins("'Number of outstanding IOs") {
                match number(0) {
                    Some(depth @ 1..=4096) => worker.depth = depth,
                    _ => self.wrong(&value, "1 to 4096 outstanding I/Os"),
                }
                worker.settings_line = value.line;
                if cells.get(1).is_some_and(|c| c.eq_ignore_ascii_case("ENABLED")) {
                    let text = "connections are not opened and closed";
                    self.notes.lost(value.line, "test connection rate", text);
                }
                self.notes.exact(value.line, value.text);
            } else if key.begins("'Disk maximum size,starting sector") {
                match number(0).zip(number(1)) {
                    Some((sectors, start)) => (worker.sectors, worker.start) = (sectors, start),
                    None => self.wrong(&value, "a number of sectors and the first"),
                }
                if worker.start > 0 {
                    let text = "workloads begin at the start of a target";
                    self.notes.lost(value.line, "starting sector", text);
                }
                if number(2).is_some_and(|pattern| pattern > 0) {
                    self.notes.lost(value.line, "Data pattern", "what is written is random data");
                }
                self.notes.exact(value.line, value.text);
            } else if key.begins("'Local network interface") || key.begins("'VI outstanding IOs") {
                let text = "a load leaves by the interface that the route says";
                self.notes.lost(value.line, key.text, text);
            } else {
                let known = [
                    "'Number of outstanding IOs,test connection rate,transactions per connection",
                    "'Disk maximum size,starting sector",
                    "'Local network interface",
                    "'VI outstanding IOs",
                    "'End default target settings for worker",
                ];
                self.mistakes.unknown(key.span.clone(), "key", key.text, known);
                return;
            }
        }
        self.cut("no `'End default target settings for worker`");
    }

    fn targets(&mut self, worker: &mut Worker) {
        while let Some(key) = self.next() {
            if key.begins("'End target assignments") {
                return;
            }
            if key.is("'Target") {
                let Some(name) = self.next().filter(|line| !line.is_key()) else {
                    self.wrong(&key, "the name of a target below");
                    continue;
                };
                worker.targets.push(TargetOf { name: name.text.to_owned(), line: name.line });
                self.notes.exact(name.line, name.text);
            } else if key.is("'Target type") || key.begins("'Target manager ID") {
                self.value();
            } else if !key.is("'End target") {
                let known = [
                    "'Target",
                    "'Target type",
                    "'Target manager ID, manager name",
                    "'End target",
                    "'End target assignments",
                ];
                self.mistakes.unknown(key.span.clone(), "key", key.text, known);
                return;
            }
        }
        self.cut("no `'End target assignments`");
    }
}

/// A row; old ones end with the burst.
fn row(line: &Text<'_>) -> Option<Row> {
    let words: Vec<&str> = line.text.split([',', ' ', '\t']).filter(|w| !w.is_empty()).collect();
    let whole = |n: usize| words.get(n).and_then(|word| word.parse::<u64>().ok());
    let share =
        |n: usize| words.get(n)?.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
    let optional = |n: usize, otherwise: u64| match words.get(n) {
        Some(_) => whole(n),
        None => Some(otherwise),
    };
    if !(4..=8).contains(&words.len()) {
        return None;
    }
    Some(Row {
        size: whole(0)?,
        share: share(1)?,
        read: share(2)?,
        random: share(3)?,
        delay_ms: optional(4, 0)?,
        burst: optional(5, 1)?.max(1),
        align: optional(6, 0)?,
        reply: optional(7, 0)?,
    })
}

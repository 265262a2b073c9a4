//! A scenario as a person drafts it: disks, the machines that have them, workloads, plans, and comments beside each key.

use crate::toml::{duration, percent, quoted, rate, size};
use std::fmt::Write as _;

/// Comments of a table at most; the notes have all.
const COMMENTS_MAX: usize = 300;

/// Comments, each above the key that it belongs to; `""` is the head of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Comments(Vec<(&'static str, String)>);

impl Comments {
    pub fn add(&mut self, key: &'static str, text: impl Into<String>) {
        let entry = (key, text.into());
        if self.0.len() < COMMENTS_MAX && !self.0.contains(&entry) {
            self.0.push(entry);
        }
    }

    fn of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(at, _)| *at == key).map(|(_, text)| &text[..])
    }

    /// The comments of keys that are not written stand at the head.
    fn settle(&mut self, written: &[&str]) {
        for (key, _) in &mut self.0 {
            if !written.contains(key) {
                *key = "";
            }
        }
    }
}

/// What I/O is issued to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    File { path: String, create: Option<u64> },
    Device(String),
    Null(Option<u64>),
    Url(String),
}

/// A target.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub name: String,
    pub place: Place,
    pub buffered: bool,
    pub polled: bool,
    /// Ratios of compression and of deduplication of what is written.
    pub data: Option<(f64, f64)>,
    pub comments: Comments,
}

/// A machine with disks: a VM, or a worker with several targets.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub name: String,
    pub disks: Vec<String>,
    /// Receivers that its network loads go to.
    pub nics: Vec<String>,
    pub comments: Comments,
}

/// The far end of network loads.
#[derive(Clone, Debug)]
pub(crate) struct Far {
    pub name: String,
    pub address: String,
    pub comments: Comments,
}

/// A row of an access specification.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub size: u64,
    pub share: f64,
    pub read: f64,
    /// All are trims.
    pub trim: bool,
    pub random: f64,
    pub delay_us: u64,
    pub burst: u64,
    /// `None`: of the size.
    pub align: Option<u64>,
    pub reply: u64,
}

impl Line {
    pub fn new(size: u64, share: f64, read: f64, random: f64) -> Line {
        let (trim, delay_us, burst, align, reply) = (false, 0, 1, None, 0);
        Line { size, share, read, trim, random, delay_us, burst, align, reply }
    }
}

/// When what was written reaches the medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Durable {
    /// A flush after so many writes; 0: never.
    pub flush_every: u64,
    /// Every write waits for the medium.
    pub fua: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Skewed {
    Zipf(f64),
    Pareto(f64),
    /// Share of the accesses, and share of the blocks.
    Hot(f64, f64),
}

/// Zones (accesses and size in percent) as one hot spot, which lies first: the beginning whose accesses exceed its size
/// most. Two zones are one exactly.
pub(crate) fn hot_spot(zones: &[(f64, f64)]) -> Option<Skewed> {
    let (mut best, mut at) = ((0.0, 0.0), (0.0, 0.0));
    for (accesses, blocks) in zones.iter().take(zones.len().saturating_sub(1)) {
        at = (at.0 + accesses, at.1 + blocks);
        if (at.0 - at.1).abs() > f64::abs(best.0 - best.1) {
            best = at;
        }
    }
    (best.1 > 0.0 && best.1 < 100.0).then_some(Skewed::Hot(best.0, best.1))
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Pace {
    Closed { depth: u64, think_us: u64 },
    Open { rate: f64, poisson: bool, limit: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Extent {
    Bytes(u64),
    Percent(f64),
}

/// A disk workload.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub name: String,
    pub lines: Vec<Line>,
    pub pace: Pace,
    pub skew: Option<Skewed>,
    pub stride: Option<u64>,
    pub workers: u64,
    pub disks_each: bool,
    pub working_set: Option<Extent>,
    pub own_regions: bool,
    pub verify: bool,
    pub durable: Durable,
    pub comments: Comments,
}

/// A network workload.
#[derive(Clone, Debug)]
pub(crate) struct Talk {
    pub name: String,
    /// Requests with responses of this size; `None`: a stream.
    pub response: Option<u64>,
    pub message: u64,
    pub streams: u64,
    pub receive: bool,
    pub comments: Comments,
}

/// Where a load ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// After so many bytes, over all of its workers.
    Bytes(u64),
    /// When each block was used so often.
    Passes(u64),
}

impl Ending {
    /// The key that says so, and its value.
    fn key(self) -> (&'static str, String) {
        match self {
            Ending::Bytes(bytes) => ("amount", size(bytes)),
            Ending::Passes(passes) => ("passes", passes.to_string()),
        }
    }
}

/// A plan, with its loads: workload and what it runs on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase {
    pub name: String,
    pub loads: Vec<(String, Vec<String>)>,
    /// The loads that end, by their positions.
    pub ends: Vec<(usize, Ending)>,
    pub warmup_us: u64,
    pub measure_us: u64,
    pub cooldown_us: u64,
    /// Axes with their values as TOML.
    pub sweep: Vec<(&'static str, Vec<String>)>,
    /// A search, as TOML.
    pub search: Option<String>,
    pub repeat: u64,
    pub comments: Comments,
}

/// All of a scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub title: String,
    pub source: String,
    pub seed: Option<u64>,
    pub comments: Comments,
    pub disks: Vec<Disk>,
    pub machines: Vec<Machine>,
    pub fars: Vec<Far>,
    pub works: Vec<Work>,
    pub talks: Vec<Talk>,
    pub phases: Vec<Phase>,
}

/// One table that is being written.
struct Table {
    keys: Vec<(&'static str, String)>,
    comments: Comments,
}

impl Table {
    fn new(comments: &Comments) -> Table {
        Table { keys: Vec::new(), comments: comments.clone() }
    }

    fn put(&mut self, key: &'static str, value: impl Into<String>) {
        self.keys.push((key, value.into()));
    }

    fn maybe(&mut self, key: &'static str, value: Option<String>) {
        self.keys.extend(value.map(|value| (key, value)));
    }

    /// The heading with its comments above it, then the keys.
    fn write(mut self, out: &mut String, heading: &str) {
        let written: Vec<&str> = self.keys.iter().map(|(key, _)| *key).collect();
        self.comments.settle(&written);
        out.push('\n');
        comments(out, self.comments.of(""));
        // A String takes every line.
        let _ = writeln!(out, "{heading}");
        let width = self.keys.iter().map(|(key, _)| key.len()).max().unwrap_or(0);
        for (key, value) in &self.keys {
            comments(out, self.comments.of(key));
            let _ = writeln!(out, "{key:width$} = {value}");
        }
    }
}

/// Characters of a comment's line.
const WIDTH: usize = 110;

fn comments<'a>(out: &mut String, texts: impl Iterator<Item = &'a str>) {
    for text in texts {
        let mut line = String::from("#");
        for word in text.split_whitespace() {
            if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > WIDTH {
                let _ = writeln!(out, "{line}");
                line = String::from("#  ");
            }
            line.push(' ');
            line.extend(word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
        }
        let _ = writeln!(out, "{line}");
    }
}

fn list(texts: &[String]) -> String {
    match texts {
        [one] => quoted(one),
        _ => format!("[{}]", texts.iter().map(|t| quoted(t)).collect::<Vec<_>>().join(", ")),
    }
}

impl Draft {
    /// The scenario's text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        comments(&mut out, self.comments.of(""));
        let mut table = Table::new(&Comments::default());
        table.put("title", quoted(&self.title));
        table.put("source", quoted(&self.source));
        table.maybe("seed", self.seed.map(|seed| seed.to_string()));
        table.write(&mut out, "[scenario]");
        let mut out = out.trim_start().to_owned();
        self.disks.iter().for_each(|disk| disk.write(&mut out));
        for far in &self.fars {
            let mut table = Table::new(&far.comments);
            table.put("name", quoted(&far.name));
            table.put("address", quoted(&far.address));
            table.put("token_env", quoted("WIRESPEED_RECEIVER_TOKEN"));
            table.write(&mut out, "[[receiver]]");
        }
        self.machines.iter().for_each(|machine| machine.write(&mut out));
        self.works.iter().for_each(|work| work.write(&mut out));
        self.talks.iter().for_each(|talk| talk.write(&mut out));
        let one = self.phases.len() == 1;
        self.phases.iter().for_each(|phase| phase.write(&mut out, one));
        out
    }
}

impl Disk {
    fn write(&self, out: &mut String) {
        let mut table = Table::new(&self.comments);
        table.put("name", quoted(&self.name));
        match &self.place {
            Place::File { path, create } => {
                table.put("file", quoted(path));
                table.maybe("create", create.map(size));
            }
            Place::Device(path) => table.put("device", quoted(path)),
            Place::Null(bytes) => {
                table.put("url", quoted("null:"));
                table.maybe("size", bytes.map(size));
            }
            Place::Url(url) => table.put("url", quoted(url)),
        }
        table.maybe("buffered", self.buffered.then(|| "true".to_owned()));
        table.maybe("polled", self.polled.then(|| "true".to_owned()));
        let ratio = |(compress, dedupe): (f64, f64)| {
            let compress = (compress != 1.0).then(|| format!("compress = {compress:.2}"));
            let dedupe = (dedupe != 1.0).then(|| format!("dedupe = {dedupe:.2}"));
            let keys: Vec<String> = compress.into_iter().chain(dedupe).collect();
            format!("{{ {} }}", keys.join(", "))
        };
        table.maybe("data", self.data.filter(|d| *d != (1.0, 1.0)).map(ratio));
        table.write(out, "[[target]]");
    }
}

impl Machine {
    fn write(&self, out: &mut String) {
        let mut table = Table::new(&self.comments);
        table.put("name", quoted(&self.name));
        if !self.disks.is_empty() {
            let disks: Vec<String> =
                self.disks.iter().map(|d| format!("{{ target = {} }}", quoted(d))).collect();
            table.put("disks", format!("[{}]", disks.join(", ")));
        }
        if !self.nics.is_empty() {
            let nics: Vec<String> =
                self.nics.iter().map(|n| format!("{{ receiver = {} }}", quoted(n))).collect();
            table.put("nics", format!("[{}]", nics.join(", ")));
        }
        table.write(out, "[[vm]]");
    }
}

impl Work {
    fn write(&self, out: &mut String) {
        let mut table = Table::new(&self.comments);
        match &self.lines[..] {
            [line] => {
                table.put("block", size(line.size));
                table.put("read", percent(line.read));
                table.maybe("trim", line.trim.then(|| percent(100.0)));
                table.put("random", percent(line.random));
                table.maybe("align", line.align.filter(|a| *a != line.size).map(size));
                if line.delay_us > 0 {
                    table.maybe("burst", (line.burst > 1).then(|| line.burst.to_string()));
                    table.put("delay", duration(line.delay_us));
                }
                table.maybe("reply", (line.reply > 0).then(|| size(line.reply)));
            }
            lines => {
                let rows: Vec<String> =
                    lines.iter().map(|line| format!("  {},\n", row(line))).collect();
                table.put("rows", format!("[\n{}]", rows.concat()));
            }
        }
        match self.pace {
            Pace::Closed { depth, think_us } => {
                table.put("depth", depth.to_string());
                table.maybe("think", (think_us > 0).then(|| duration(think_us)));
            }
            Pace::Open { rate: ops, poisson, limit } => {
                table.put("rate", rate(ops));
                table.maybe("arrivals", poisson.then(|| quoted("poisson")));
                table.put("limit", limit.to_string());
            }
        }
        let skew = |skew| match skew {
            Skewed::Zipf(theta) => format!("{{ zipf = {theta} }}"),
            Skewed::Pareto(h) => format!("{{ pareto = {h} }}"),
            Skewed::Hot(accesses, blocks) => {
                format!("{{ hot = {}, accesses = {} }}", percent(blocks), percent(accesses))
            }
        };
        table.maybe("skew", self.skew.map(skew));
        table.maybe("stride", self.stride.map(size));
        table.maybe("workers", (self.workers != 1).then(|| self.workers.to_string()));
        table.maybe("disks", self.disks_each.then(|| quoted("each")));
        let extent = |extent| match extent {
            Extent::Bytes(bytes) => size(bytes),
            Extent::Percent(share) => quoted(&format!("{share}%")),
        };
        table.maybe("working_set", self.working_set.map(extent));
        table.maybe("regions", self.own_regions.then(|| quoted("own")));
        table.maybe("verify", self.verify.then(|| "true".to_owned()));
        let flush = self.durable.flush_every;
        table.maybe("flush_every", (flush > 0).then(|| flush.to_string()));
        table.maybe("fua", self.durable.fua.then(|| percent(100.0)));
        table.write(out, &format!("[workload.{}]", quoted_key(&self.name)));
    }
}

fn row(line: &Line) -> String {
    let mut text = format!(
        "{{ size = {}, share = {}, read = {}, random = {}",
        size(line.size),
        percent(line.share),
        percent(line.read),
        percent(line.random)
    );
    if line.trim {
        let _ = write!(text, ", trim = {}", percent(100.0));
    }
    if line.delay_us > 0 {
        let _ = write!(text, ", burst = {}, delay = {}", line.burst, duration(line.delay_us));
    }
    if let Some(align) = line.align.filter(|align| *align != line.size) {
        let _ = write!(text, ", align = {}", size(align));
    }
    if line.reply > 0 {
        let _ = write!(text, ", reply = {}", size(line.reply));
    }
    text + " }"
}

impl Talk {
    fn write(&self, out: &mut String) {
        let mut table = Table::new(&self.comments);
        table.put("kind", quoted("net"));
        table.put("load", quoted(if self.response.is_some() { "requests" } else { "tcp" }));
        table.put("message", size(self.message));
        table.maybe("response", self.response.map(size));
        table.put("streams", self.streams.to_string());
        table.maybe("direction", self.receive.then(|| quoted("receive")));
        table.write(out, &format!("[workload.{}]", quoted_key(&self.name)));
    }
}

impl Phase {
    fn write(&self, out: &mut String, only: bool) {
        let mut table = Table::new(&self.comments);
        if !only {
            table.put("name", quoted(&self.name));
        }
        match &self.loads[..] {
            [(work, on)] => {
                table.put("workload", quoted(work));
                table.put("on", list(on));
                if let Some((key, value)) = self.ends.first().map(|(_, end)| end.key()) {
                    table.put(key, value);
                }
            }
            loads => {
                let each = |(number, (work, on)): (usize, &(String, Vec<String>))| {
                    let end = self.ends.iter().find(|(load, _)| *load == number);
                    let end = end.map(|(_, end)| end.key());
                    let end =
                        end.map_or(String::new(), |(key, value)| format!(", {key} = {value}"));
                    format!("  {{ workload = {}, on = {}{end} }},\n", quoted(work), list(on))
                };
                let all: String = loads.iter().enumerate().map(each).collect();
                table.put("load", format!("[\n{all}]"));
            }
        }
        table.put("warmup", duration(self.warmup_us));
        table.put("measure", duration(self.measure_us));
        table.maybe("cooldown", (self.cooldown_us > 0).then(|| duration(self.cooldown_us)));
        if !self.sweep.is_empty() {
            let axes = self.sweep.iter().map(|(k, v)| format!("{k} = [{}]", v.join(", ")));
            table.put("sweep", format!("{{ {} }}", axes.collect::<Vec<_>>().join(", ")));
        }
        table.maybe("search", self.search.clone());
        table.maybe("repeat", (self.repeat > 1).then(|| self.repeat.to_string()));
        table.write(out, if only { "[plan]" } else { "[[plan]]" });
    }
}

/// A name as a key of TOML: bare where it can be.
fn quoted_key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// Names of one kind that are given out once each.
#[derive(Default)]
pub(crate) struct Names(std::collections::BTreeSet<String>);

impl Names {
    /// `wanted` as a scenario's name, with a number where it is taken.
    pub fn give(&mut self, wanted: &str, otherwise: &str) -> String {
        let plain: String = wanted
            .chars()
            .take(100)
            .map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
            .collect();
        let mut plain = plain.trim_matches(|c| matches!(c, '-' | '.')).to_owned();
        while plain.contains("--") {
            plain = plain.replace("--", "-");
        }
        if plain.is_empty() {
            otherwise.clone_into(&mut plain);
        }
        let mut name = plain.clone();
        let mut number = 2;
        while !self.0.insert(name.clone()) {
            name = format!("{plain}-{number}");
            number += 1;
        }
        name
    }
}

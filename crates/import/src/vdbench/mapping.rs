//! Run definitions as plans, and their workloads on storages as loads.

use super::lists::{listed, ranged};
use super::{Definition, File, Parameter, TESTS_MAX, seconds, size};
use crate::draft::{Comments, Disk, Draft, Durable, Ending, Line, Names, Pace, Phase, Place, Work};
use crate::mistake::Mistakes;
use crate::note::Notes;
use std::collections::BTreeMap;

/// What a file is made with where nothing says how large it is.
const FILE_BYTES: u64 = 1 << 30;
/// Targets that storages may make.
const TARGETS_MAX: usize = 2000;
const TOO_LARGE: &str = "more storages, workloads and loops than can be imported";
/// vdbench's threads of a storage.
const THREADS: u64 = 8;

pub(super) fn draft(
    name: &str,
    file: &File,
    notes: &mut Notes,
    mistakes: &mut Mistakes<'_>,
) -> Draft {
    let draft = Draft {
        title: format!("The runs of {name}"),
        source: format!("vdbench parameter file {name}"),
        ..Draft::default()
    };
    let mut mapper = Mapper {
        file,
        notes,
        mistakes,
        draft,
        names: Names::default(),
        works: Names::default(),
        phases: Names::default(),
        disks: BTreeMap::new(),
        work_left: 1_000_000,
    };
    mapper.all();
    mapper.draft
}

pub(super) struct Mapper<'f, 'n, 'm, 't> {
    file: &'f File,
    pub notes: &'n mut Notes,
    mistakes: &'m mut Mistakes<'t>,
    draft: Draft,
    names: Names,
    works: Names,
    phases: Names,
    /// Each storage by its name.
    pub disks: BTreeMap<String, Storage>,
    /// Names that may still be looked at: what a file asks for is bounded.
    work_left: usize,
}

/// A setting of a loop for one test.
#[derive(Clone, Debug, Default)]
struct Point {
    values: BTreeMap<&'static str, String>,
}

/// A loop: which setting, and its values.
struct Loop {
    setting: &'static str,
    values: Vec<String>,
}

/// Loops by the parameters that make them, and the setting of a workload.
const LOOPS: [(&str, &str); 5] = [
    ("forxfersize", "xfersize"),
    ("forrdpct", "rdpct"),
    ("forseekpct", "seekpct"),
    ("forthreads", "threads"),
    ("foriorate", "iorate"),
];

impl Mapper<'_, '_, '_, '_> {
    fn all(&mut self) {
        for parameter in &self.file.general {
            let lost = match parameter.key.as_str() {
                "patterns" | "pattern" => "what is written is random data",
                "startcmd" | "endcmd" | "start_cmd" | "end_cmd" => "no commands are run",
                "loop" => "runs are not repeated without end",
                "concatenatesds" => "targets are loaded each by itself",
                _ => continue,
            };
            let comment = self.notes.lost(parameter.line, &parameter.written(), lost);
            self.draft.comments.add("", comment);
        }
        for storage in &self.file.storages {
            self.storage(storage);
        }
        for run in &self.file.runs {
            self.run(run);
        }
        if self.draft.phases.is_empty() && self.mistakes.is_empty() {
            self.mistakes
                .add(0..1, "no run: a parameter file has an `rd=` with a workload and storages");
        }
    }

    pub fn wrong(&mut self, parameter: &Parameter, expected: &str) {
        let message = format!("`{}`: expected {expected}", parameter.written());
        self.mistakes.add(parameter.span.clone(), message);
    }

    fn general(&self, key: &str) -> Option<&Parameter> {
        self.file.general.iter().rev().find(|parameter| parameter.key == key)
    }

    /// A storage as a target, or as many as `count` says.
    fn storage(&mut self, storage: &Definition) {
        let Some(lun) = storage.get("lun") else {
            self.mistakes.add(storage.span.clone(), format!("`sd={}` has no `lun`", storage.name));
            return;
        };
        let numbers: Vec<Option<u64>> = match storage.get("count") {
            Some(count) => {
                let values: Vec<u64> = count.values.iter().filter_map(|v| v.parse().ok()).collect();
                match values[..] {
                    [from, many] if many <= 1000 => {
                        (from..from.saturating_add(many)).map(Some).collect()
                    }
                    _ => {
                        self.wrong(count, "the first number and how many, at most 1000");
                        return;
                    }
                }
            }
            None => vec![None],
        };
        if self.disks.len() + numbers.len() > TARGETS_MAX {
            self.mistakes.add(storage.span.clone(), TOO_LARGE);
            return;
        }
        for number in numbers {
            let (name, path) = match number {
                Some(number) => {
                    let path = lun.first().replace(['*', '?', '#'], &number.to_string());
                    (format!("{}{number}", storage.name), path)
                }
                None => (storage.name.clone(), lun.first().to_owned()),
            };
            self.target(storage, &name, &path, lun);
        }
    }

    fn target(&mut self, storage: &Definition, name: &str, path: &str, lun: &Parameter) {
        let bytes = match storage.get("size") {
            Some(parameter) => {
                let bytes = size(parameter.first());
                if bytes.is_none() {
                    self.wrong(parameter, "a size such as `10g`");
                }
                bytes
            }
            None => None,
        };
        let threads = self.count(storage, "threads").unwrap_or(THREADS);
        let mut comments = Comments::default();
        let place = if path.starts_with("/dev/") && !path.starts_with("/dev/shm/") {
            Place::Device(path.to_owned())
        } else if path.contains('\\') {
            let text = "a file stands for it: name the disk or the file of this machine instead";
            comments.add("file", self.notes.approximated(lun.line, &lun.written(), text));
            Place::File { path: format!("{name}.dat"), create: Some(bytes.unwrap_or(FILE_BYTES)) }
        } else {
            Place::File { path: path.to_owned(), create: bytes }
        };
        let flags = storage.get("openflags");
        let direct = |p: &Parameter| p.values.iter().any(|v| v.contains("direct"));
        let in_run = |d: &&Definition| d.get("openflags").is_some_and(direct);
        let direct = flags.is_some_and(direct)
            || self.file.runs.iter().find(in_run).is_some()
            || self.file.workloads.iter().find(in_run).is_some();
        let whole = !matches!(place, Place::Device(_));
        let buffered = !direct && whole;
        if buffered {
            let text =
                "through the page cache, as without openflags=o_direct; a simulation has none";
            let setting = format!("sd={}", storage.name);
            comments.add("buffered", self.notes.approximated(storage.line, &setting, text));
        }
        for key in ["offset", "align", "host", "hd", "streams", "journal"] {
            if let Some(parameter) = storage.get(key) {
                let text = "workloads begin at the start of a target, on this machine";
                comments.add("", self.notes.lost(parameter.line, &parameter.written(), text));
            }
        }
        let ratio = |key: &str, most: f64| {
            let parameter = storage.get(key).or_else(|| self.general(key));
            parameter.and_then(|p| p.first().parse::<f64>().ok()).unwrap_or(1.0).clamp(1.0, most)
        };
        let data = (ratio("compratio", 16.0), ratio("dedupratio", 50.0));
        let target = self.names.give(name, "sd");
        let data = Some(data).filter(|data| *data != (1.0, 1.0));
        self.draft.disks.push(Disk {
            name: target.clone(),
            place,
            buffered,
            polled: false,
            data,
            comments,
        });
        let (size, range) = (storage.get("size").cloned(), storage.get("range").cloned());
        self.disks.insert(name.to_owned(), Storage { target, bytes, threads, size, range, whole });
    }

    fn count(&mut self, definition: &Definition, key: &str) -> Option<u64> {
        let parameter = definition.get(key)?;
        let count =
            parameter.first().parse::<u64>().ok().filter(|count| (1..=4096).contains(count));
        if count.is_none() {
            self.wrong(parameter, "1 to 4096");
        }
        count
    }

    /// Names that a list means: plain ones, `sd*`, `sd1-5`, `sd1-sd5`.
    fn meant(&mut self, parameter: &Parameter, what: &str, known: &[String]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for value in &parameter.values {
            self.work_left = self.work_left.saturating_sub(known.len());
            if self.work_left == 0 {
                self.mistakes.add(parameter.span.clone(), TOO_LARGE);
                return names;
            }
            let fits: Vec<String> = match value.split_once('*') {
                Some((start, _)) => {
                    known.iter().filter(|k| k.starts_with(start)).cloned().collect()
                }
                None if known.contains(value) => vec![value.clone()],
                None => ranged(value, known),
            };
            if fits.is_empty() {
                let span = parameter.span.clone();
                self.mistakes.unknown(span, what, value, known.iter().map(|k| &k[..]));
            }
            names.extend(fits.into_iter().filter(|fit| !names.contains(fit)).collect::<Vec<_>>());
        }
        names
    }

    fn run(&mut self, run: &Definition) {
        let workloads = self.run_workloads(run);
        if workloads.is_empty() || !self.mistakes.is_empty() {
            return;
        }
        let mut loops = Vec::new();
        for parameter in &run.parameters {
            let Some((_, setting)) = LOOPS.iter().find(|(key, _)| *key == parameter.key) else {
                if parameter.key.starts_with("for") {
                    let text = "no loop over it: the first value alone would mean another test";
                    let comment = self.notes.lost(parameter.line, &parameter.written(), text);
                    self.draft.comments.add("", comment);
                }
                continue;
            };
            let values = listed(parameter);
            loops.push(Loop { setting, values });
        }
        // A list of rates is the innermost loop.
        let rates = run.get("iorate").filter(|_| !loops.iter().any(|l| l.setting == "iorate"));
        if let Some(parameter) = rates {
            loops.push(Loop { setting: "iorate", values: listed(parameter) });
        }
        if let Some(sweep) = self.sweep(&workloads, &loops) {
            let first = |one: &Loop| Some((one.setting, one.values.first()?.clone()));
            let point = Point { values: loops.iter().filter_map(first).collect() };
            let before = self.draft.phases.len();
            loops.retain(|one| one.values.len() == 1);
            self.test(run, &workloads, &loops, &point);
            if let Some(phase) = self.draft.phases.get_mut(before) {
                phase.sweep = sweep;
            }
            return;
        }
        let mut points = vec![Point::default()];
        for one in &loops {
            let cross = |point: &Point| {
                one.values
                    .iter()
                    .map(|value| {
                        let mut point = point.clone();
                        point.values.insert(one.setting, value.clone());
                        point
                    })
                    .collect::<Vec<_>>()
            };
            points = points.iter().flat_map(cross).take(TESTS_MAX + 1).collect();
        }
        if points.len() * workloads.len() > TESTS_MAX || self.draft.phases.len() > TESTS_MAX {
            self.mistakes.add(run.span.clone(), format!("more than {TESTS_MAX} tests"));
            return;
        }
        for point in &points {
            self.test(run, &workloads, &loops, point);
        }
    }

    /// The loops as a sweep, where one workload of one size has them and each is an axis.
    fn sweep(
        &mut self,
        workloads: &[(Definition, Vec<String>)],
        loops: &[Loop],
    ) -> Option<Vec<(&'static str, Vec<String>)>> {
        let [(workload, on)] = workloads else { return None };
        let one_size = workload.get("xfersize").is_none_or(|p| p.values.len() == 1);
        let looped = |setting: &str| loops.iter().any(|l| l.setting == setting);
        let rate = loops.iter().find(|l| l.setting == "iorate");
        let open =
            rate.is_some_and(|l| l.values.iter().all(|v| v.parse::<f64>().is_ok_and(|r| r > 0.0)));
        let most = rate.is_none_or(|l| l.values.iter().all(|v| v.eq_ignore_ascii_case("max")));
        if !(one_size || looped("xfersize")) || open && looped("threads") || !(open || most) {
            return None;
        }
        let mut sweep = Vec::new();
        for one in loops.iter().filter(|one| one.values.len() > 1) {
            let number = |value: &String| value.parse::<f64>().ok();
            let (axis, values): (_, Option<Vec<String>>) = match one.setting {
                "xfersize" => {
                    let bytes =
                        |value: &String| size(value).filter(|b| *b > 0).map(crate::toml::size);
                    ("block", one.values.iter().map(bytes).collect())
                }
                "rdpct" => (
                    "read",
                    one.values.iter().map(|v| number(v).map(crate::toml::percent)).collect(),
                ),
                "seekpct" => (
                    "random",
                    one.values.iter().map(|v| number(v).map(crate::toml::percent)).collect(),
                ),
                "threads" => ("depth", Some(one.values.clone())),
                _ => {
                    let each =
                        |value: &String| Some(crate::toml::rate(number(value)? / on.len() as f64));
                    ("rate", one.values.iter().map(each).collect())
                }
            };
            sweep.push((axis, values?));
        }
        (!sweep.is_empty()).then_some(sweep)
    }

    /// The workloads of a run, each with its storages.
    fn run_workloads(&mut self, run: &Definition) -> Vec<(Definition, Vec<String>)> {
        let storages: Vec<String> = self.disks.keys().cloned().collect();
        let known: Vec<String> = self.file.workloads.iter().map(|w| w.name.clone()).collect();
        let names = match run.get("wd") {
            Some(parameter) => self.meant(parameter, "workload", &known),
            None => known,
        };
        let mut workloads: Vec<Definition> =
            self.file.workloads.iter().filter(|w| names.contains(&w.name)).cloned().collect();
        if workloads.is_empty() {
            // Without a workload vdbench's defaults run.
            let parameters = Vec::new();
            let (name, span) = (run.name.clone(), run.span.clone());
            workloads.push(Definition { name, line: run.line, span, parameters });
        }
        workloads
            .into_iter()
            .map(|workload| {
                let on = match run.get("sd").or(workload.get("sd")).cloned() {
                    Some(parameter) => self.meant(&parameter, "storage", &storages),
                    None => storages.clone(),
                };
                (workload, on)
            })
            .filter(|(_, on)| !on.is_empty())
            .collect()
    }

    /// One test of a run as a plan.
    fn test(
        &mut self,
        run: &Definition,
        workloads: &[(Definition, Vec<String>)],
        loops: &[Loop],
        point: &Point,
    ) {
        let looped: Vec<String> = loops
            .iter()
            .filter(|l| l.values.len() > 1)
            .map(|l| format!("{}-{}", l.setting, point.values[l.setting]))
            .collect();
        let wanted = match looped.is_empty() {
            true => run.name.clone(),
            false => format!("{}-{}", run.name, looped.join("-")),
        };
        let time = |mapper: &mut Self, key: &str, otherwise: u64| match run.get(key) {
            Some(parameter) => seconds(parameter.first()).unwrap_or_else(|| {
                mapper.wrong(parameter, "a time such as `60` or `10m`");
                otherwise
            }),
            None => otherwise,
        };
        let mut phase = Phase {
            name: self.phases.give(&wanted, "run"),
            measure_us: time(self, "elapsed", 30).max(1).saturating_mul(1_000_000),
            warmup_us: time(self, "warmup", 0).saturating_mul(1_000_000),
            repeat: 1,
            ..Phase::default()
        };
        for key in ["pause", "startcmd", "endcmd", "start_cmd", "end_cmd", "stopcurve"] {
            if let Some(parameter) = run.get(key) {
                let text = "a plan has nothing between its steps, and ends by time";
                phase.comments.add("", self.notes.lost(parameter.line, &parameter.written(), text));
            }
        }
        let rate = point.values.get("iorate").map_or("max", |rate| rate).to_ascii_lowercase();
        let total = match rate.as_str() {
            "max" | "curve" => None,
            text => match text.parse::<f64>().ok().filter(|rate| *rate > 0.0) {
                Some(rate) => Some(rate),
                None => {
                    let span = run.get("iorate").or(run.get("foriorate")).map(|p| p.span.clone());
                    let message = format!("`{text}`: expected a rate, `max` or `curve`");
                    self.mistakes.add(span.unwrap_or(run.span.clone()), message);
                    return;
                }
            },
        };
        let skews = self.skews(workloads);
        for ((workload, on), skew) in workloads.iter().zip(&skews) {
            let load = Load {
                run,
                workload,
                on,
                point,
                total: total.map(|t| t * skew / 100.0),
                skew: *skew,
            };
            let work = self.work(&load, workloads);
            let targets = on.iter().map(|sd| self.disks[sd].target.clone()).collect();
            phase.loads.push((work, targets));
        }
        self.ends(run, &mut phase);
        let curve = (rate == "curve").then(|| (phase.clone(), total));
        self.draft.phases.push(phase);
        if let Some((first, _)) = curve {
            self.curve(run, first, workloads);
        }
    }

    /// `maxdata`: the run ends when so much was transferred, at the latest after `elapsed`.
    fn ends(&mut self, run: &Definition, phase: &mut Phase) {
        let Some(parameter) = run.get("maxdata") else { return };
        let (line, written) = (parameter.line, parameter.written());
        match (size(parameter.first()), &phase.loads[..]) {
            // Up to 100 it is a multiple of what all storages hold together.
            (Some(bytes), [_]) if bytes > 100 => {
                phase.ends.push((0, Ending::Bytes(bytes)));
                self.notes.exact(line, &written);
            }
            (Some(_), _) => {
                let text = "an end by bytes is of one load; a multiple of the storages' size and one of several workloads are not kept: the plan ends by time";
                phase.comments.add("measure", self.notes.approximated(line, &written, text));
            }
            (None, _) => self.wrong(parameter, "a size such as `100g`"),
        }
    }

    /// `iorate=curve`: after the run at the maximum, rates below it, which a search finds.
    fn curve(&mut self, run: &Definition, first: Phase, workloads: &[(Definition, Vec<String>)]) {
        let parameter = run.get("iorate").or(run.get("foriorate"));
        let (line, setting) =
            parameter.map_or((run.line, String::new()), |p| (p.line, p.written()));
        let Some(work) = self.draft.works.last().filter(|_| workloads.len() == 1).cloned() else {
            let text = "the run at the maximum alone: with several workloads no search goes over their rates";
            let comment = self.notes.lost(line, &setting, text);
            if let Some(phase) = self.draft.phases.last_mut() {
                phase.comments.add("", comment);
            }
            return;
        };
        let limit = match work.pace {
            Pace::Closed { depth, .. } | Pace::Open { limit: depth, .. } => depth,
        };
        let name = self.works.give(&format!("{}-curve", work.name), "curve");
        let pace = Pace::Open { rate: 100.0, poisson: true, limit };
        self.draft.works.push(Work { name: name.clone(), pace, ..work });
        let text = "rates up to the maximum are found by a search for the knee; vdbench takes 10% to 100% of what it measured";
        let mut phase =
            Phase { name: self.phases.give(&format!("{}-curve", run.name), "curve"), ..first };
        phase.loads[0].0 = name;
        phase.search = Some("\"knee\"".to_owned());
        phase.comments.add("search", self.notes.approximated(line, &setting, text));
        self.draft.phases.push(phase);
    }

    /// The share of each workload of the rate: what is not given is dealt out evenly.
    fn skews(&mut self, workloads: &[(Definition, Vec<String>)]) -> Vec<f64> {
        if workloads.len() == 1 {
            return vec![100.0];
        }
        let given: Vec<Option<f64>> = workloads
            .iter()
            .map(|(workload, _)| {
                let parameter = workload.get("skew")?;
                let share =
                    parameter.first().parse::<f64>().ok().filter(|s| (0.0..=100.0).contains(s));
                if share.is_none() {
                    self.wrong(parameter, "a share from 0 to 100");
                }
                share.filter(|share| *share > 0.0)
            })
            .collect();
        let sum: f64 = given.iter().flatten().sum();
        let open = given.iter().filter(|share| share.is_none()).count();
        if sum > 100.001 || open == 0 && (sum - 100.0).abs() > 0.5 {
            let at = workloads.iter().find_map(|(w, _)| w.get("skew")).map(|p| p.span.clone());
            let message = format!("the skews of the workloads add up to {sum}%, and not to 100%");
            self.mistakes.add(at.unwrap_or(0..1), message);
        }
        let each = if open > 0 { (100.0 - sum).max(0.0) / open as f64 } else { 0.0 };
        given.iter().map(|share| share.unwrap_or(each)).collect()
    }

    fn share(&mut self, load: &Load<'_>, key: &str, otherwise: f64) -> f64 {
        let (text, parameter) = match load.point.values.get(key) {
            Some(value) => (value.clone(), None),
            None => match load.setting(key) {
                Some(parameter) => (parameter.first().to_owned(), Some(parameter.clone())),
                None => return otherwise,
            },
        };
        let text = match (key, text.to_ascii_lowercase().as_str()) {
            ("seekpct", "random") => "100".to_owned(),
            ("seekpct", "sequential" | "eof" | "seq" | "seqnz") => "0".to_owned(),
            (_, text) => text.to_owned(),
        };
        match text.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share)) {
            Some(share) => share.abs(),
            None => {
                let span = parameter.map_or(load.run.span.clone(), |p| p.span);
                self.mistakes
                    .add(span, format!("`{key}`: expected a share from 0 to 100, found `{text}`"));
                otherwise
            }
        }
    }

    fn work(&mut self, load: &Load<'_>, all: &[(Definition, Vec<String>)]) -> String {
        let mut comments = Comments::default();
        let sizes = self.sizes(load);
        let read =
            load.setting("rdpct").is_none().then(|| load.setting("readpct")).flatten().cloned();
        let read = read.and_then(|p| p.first().parse::<f64>().ok()).unwrap_or(100.0);
        let read = self.share(load, "rdpct", read);
        let random = self.share(load, "seekpct", 100.0);
        let lines: Vec<Line> =
            sizes.iter().map(|(size, share)| Line::new(*size, *share, read, random)).collect();
        let threads = self.threads(load, all, &mut comments);
        let pace = match load.total {
            Some(total) => {
                let parameter = load.run.get("distribution");
                let word = parameter.map_or("exponential", |p| p.first());
                let poisson = word.starts_with('e');
                if let Some(parameter) = parameter.filter(|_| word.starts_with('u')) {
                    let text = "gaps are equal or exponential, and never uniform";
                    comments.add(
                        "rate",
                        self.notes.approximated(parameter.line, &parameter.written(), text),
                    );
                }
                Pace::Open { rate: total / load.on.len() as f64, poisson, limit: threads }
            }
            None => Pace::Closed { depth: threads, think_us: 0 },
        };
        self.order(load, &lines, &mut comments);
        let skew = self.hits(load, read, &mut comments);
        let working_set = self.extent(load, &mut comments);
        let validate = self.general("validate").filter(|p| p.first() != "no").cloned();
        let verify = validate.is_some();
        if let Some(parameter) = validate {
            let text = "blocks carry Wirespeed's stamps and are checked when read, each worker its own part";
            comments
                .add("verify", self.notes.approximated(parameter.line, &parameter.written(), text));
        }
        let work = Work {
            name: String::new(),
            lines,
            pace,
            skew,
            stride: None,
            workers: 1,
            disks_each: false,
            working_set,
            own_regions: false,
            verify,
            durable: Durable::default(),
            comments,
        };
        let same = |known: &&Work| {
            known.lines == work.lines
                && known.pace == work.pace
                && known.skew == work.skew
                && known.working_set == work.working_set
                && known.verify == work.verify
        };
        if let Some(known) = self.draft.works.iter().find(same) {
            return known.name.clone();
        }
        let name = self.works.give(&load.workload.name, "workload");
        self.draft.works.push(Work { name: name.clone(), ..work });
        name
    }

    fn sizes(&mut self, load: &Load<'_>) -> Vec<(u64, f64)> {
        let (values, span) = match (load.point.values.get("xfersize"), load.setting("xfersize")) {
            (Some(value), _) => (vec![value.clone()], load.run.span.clone()),
            (None, Some(parameter)) => (parameter.values.clone(), parameter.span.clone()),
            (None, None) => return vec![(4096, 100.0)],
        };
        let wrong = |mapper: &mut Self, text: &str| {
            let message = format!("`xfersize`: {text}");
            mapper.mistakes.add(span.clone(), message);
            vec![(4096, 100.0)]
        };
        match &values[..] {
            [one] => match size(one).filter(|size| *size > 0) {
                Some(size) => vec![(size, 100.0)],
                None => wrong(self, "expected a size such as `4k`"),
            },
            // `(min,max,align)`: any multiple in between.
            [from, to, align] => match (size(from), size(to), size(align)) {
                (Some(from), Some(to), Some(align)) if from > 0 && align > 0 && from <= to => {
                    let count = (to - from) / align + 1;
                    let step = count.div_ceil(50);
                    let sizes: Vec<u64> =
                        (0..count).step_by(step as usize).map(|n| from + n * align).collect();
                    let share = 100.0 / sizes.len() as f64;
                    sizes.into_iter().map(|size| (size, share)).collect()
                }
                _ => wrong(self, "expected the least size, the largest and their alignment"),
            },
            pairs => {
                let mut sizes = Vec::new();
                for pair in pairs.chunks(2) {
                    match (size(&pair[0]), pair.get(1).and_then(|share| share.parse::<f64>().ok()))
                    {
                        (Some(bytes @ 1..), Some(share)) if share >= 0.0 => {
                            sizes.push((bytes, share))
                        }
                        _ => {
                            return wrong(
                                self,
                                "expected sizes with their shares, `(4k,50,8k,50)`",
                            );
                        }
                    }
                }
                let sum: f64 = sizes.iter().map(|s: &(u64, f64)| s.1).sum();
                if (sum - 100.0).abs() > 0.5 || sizes.len() > 100 {
                    return wrong(self, &format!("the shares add up to {sum}%, and not to 100%"));
                }
                sizes
            }
        }
    }

    /// I/Os outstanding at each storage.
    fn threads(
        &mut self,
        load: &Load<'_>,
        all: &[(Definition, Vec<String>)],
        comments: &mut Comments,
    ) -> u64 {
        let fixed = match load.point.values.get("threads") {
            Some(value) => value.parse::<u64>().ok(),
            None => load.setting("threads").and_then(|p| p.first().parse().ok()),
        };
        let of_storage = load.on.iter().map(|sd| self.disks[sd].threads).max().unwrap_or(THREADS);
        if fixed.is_none() && load.on.iter().any(|sd| self.disks[sd].threads != of_storage) {
            let text = "all storages of a workload have the threads of the one with the most";
            let setting = format!("wd={}", load.workload.name);
            comments.add("depth", self.notes.approximated(load.workload.line, &setting, text));
        }
        let threads = fixed.unwrap_or(of_storage).clamp(1, 4096);
        let sharers = all.iter().filter(|(_, on)| on.iter().any(|sd| load.on.contains(sd))).count();
        if sharers > 1 && load.total.is_none() {
            let text = "workloads that share a storage have parts of its threads; vdbench's share all of them";
            let setting = format!("wd={}", load.workload.name);
            comments.add("depth", self.notes.approximated(load.workload.line, &setting, text));
            return ((threads as f64 * load.skew / 100.0).round() as u64).max(1);
        }
        threads
    }

    /// In which respects the order of blocks differs from vdbench's.
    fn order(&mut self, load: &Load<'_>, lines: &[Line], comments: &mut Comments) {
        let (line, setting) = match load.setting("seekpct") {
            Some(parameter) => (parameter.line, parameter.written()),
            None => (load.workload.line, format!("wd={}", load.workload.name)),
        };
        if lines[0].random > 0.0 && lines[0].random < 100.0 {
            let text = "sequential I/Os go on where the last sequential one ended; in vdbench, where the last I/O did";
            comments.add("random", self.notes.approximated(line, &setting, text));
        }
        if lines.len() > 1 && lines[0].random < 100.0 {
            let text =
                "sequential blocks of several sizes leave gaps between them; vdbench's do not";
            comments.add("rows", self.notes.approximated(line, &setting, text));
        }
        for key in ["stride", "hotband", "streams", "align", "priority", "iorate", "host", "hd"] {
            if let Some(parameter) = load.workload.get(key) {
                let text = "a workload has no counterpart to it";
                comments.add("", self.notes.lost(parameter.line, &parameter.written(), text));
            }
        }
    }
}

/// A storage.
pub(super) struct Storage {
    target: String,
    /// How large it is, where that is said.
    pub bytes: Option<u64>,
    threads: u64,
    pub size: Option<Parameter>,
    pub range: Option<Parameter>,
    /// Its target is as large as it is.
    pub whole: bool,
}

/// What a work is made from.
pub(super) struct Load<'a> {
    run: &'a Definition,
    workload: &'a Definition,
    pub on: &'a [String],
    point: &'a Point,
    /// Operations a second over all of its storages.
    total: Option<f64>,
    skew: f64,
}

impl<'a> Load<'a> {
    /// The run's own parameters win over the workload's.
    pub fn setting(&self, key: &str) -> Option<&'a Parameter> {
        self.run.get(key).or_else(|| self.workload.get(key))
    }
}

//! What a job works on, as targets.

use super::Importer;
use super::job::{Amount, Job};
use super::options::Engine;
use crate::draft::{Comments, Disk, Extent, Machine, Names, Place};

/// Files of a clone at most; more are drawn together.
const FILES_MAX: u64 = 64;

/// The targets so far, by what they are.
#[derive(Default)]
pub(super) struct Places(Vec<(String, Disk)>);

impl Places {
    pub fn disks(self) -> Vec<Disk> {
        self.0.into_iter().map(|(_, disk)| disk).collect()
    }
}

/// What the loads of a job run on.
pub(super) struct On {
    pub on: Vec<String>,
    pub workers: u64,
    pub own_regions: bool,
    pub working_set: Option<Extent>,
    pub comments: Vec<String>,
}

/// The files of a job: those of all clones, or those of each.
struct Files {
    paths: Vec<String>,
    shared: bool,
    /// The job names them, so that they may be there already.
    named: bool,
}

impl Importer<'_> {
    pub(super) fn places(&mut self, job: &Job<'_>) -> On {
        let files = self.files(job);
        let count = files.paths.len().max(1) as u64;
        let each = self.each_size(job, count);
        let mut comments = Vec::new();
        let mut names = Vec::new();
        for path in &files.paths {
            names.push(self.target(job, path, each, &mut comments));
        }
        let settings = &job.section.settings;
        if job.offset > 0 {
            let setting = &settings["offset"];
            let text = "workloads begin at the start of a target";
            comments.push(self.notes.lost(setting.line, &setting.written, text));
        }
        if let Some(setting) = settings.get("file_service_type") {
            let plain =
                setting.value.as_deref().is_some_and(|v| v == "random" || v == "roundrobin");
            match plain || count == 1 {
                true => self.notes.exact(setting.line, &setting.written),
                false => {
                    let text = "random I/Os choose among files with equal probability, sequential ones in turn";
                    comments.push(self.notes.approximated(setting.line, &setting.written, text));
                }
            }
        }
        let (workers, own_regions) = self.sharing(job, &files, &mut comments);
        let working_set = match each {
            Some(Amount::Percent(share)) if share < 100.0 => Some(Extent::Percent(share)),
            // A file that is there already may be larger than what the job uses of it.
            Some(Amount::Bytes(bytes)) if files.named && job.engine != Engine::Null => {
                Some(Extent::Bytes(bytes))
            }
            _ => None,
        };
        let on = match &names[..] {
            [one] => vec![one.clone()],
            several => vec![self.machine(job, several)],
        };
        On { on, workers, own_regions, working_set, comments }
    }

    /// A machine that has all files of a clone, since a worker on a target uses only that one.
    fn machine(&mut self, job: &Job<'_>, disks: &[String]) -> String {
        let range = if disks.iter().all(|d| d.ends_with('}')) {
            disks[0].rfind('{').map_or("", |at| &disks[0][at..])
        } else {
            ""
        };
        let name = self.names.give(&job.section.name, "files") + range;
        let comments = Comments::default();
        let machine =
            Machine { name: name.clone(), disks: disks.to_vec(), nics: Vec::new(), comments };
        self.draft.machines.push(machine);
        name
    }

    /// How the clones share what they work on.
    fn sharing(&mut self, job: &Job<'_>, files: &Files, comments: &mut Vec<String>) -> (u64, bool) {
        if !files.shared {
            return (1, false);
        }
        let settings = &job.section.settings;
        if let Some((setting, step)) = settings.get("offset_increment").zip(job.step) {
            let exact = job.size == Some(step) && job.offset == 0;
            if job.clones > 1 && !exact {
                let text = "each clone has an equal part of the target";
                comments.push(self.notes.approximated(setting.line, &setting.written, text));
            }
            return (job.clones, job.clones > 1);
        }
        if job.clones > 1 && !job.kind.random {
            let setting = &settings["numjobs"];
            let text = "the clones begin evenly spaced on the target that they share; fio's all begin at its start";
            comments.push(self.notes.approximated(setting.line, &setting.written, text));
        }
        (job.clones, false)
    }

    /// What a clone uses of each of its files.
    fn each_size(&mut self, job: &Job<'_>, count: u64) -> Option<Amount> {
        let settings = &job.section.settings;
        if let Some(setting) = settings.get("filesize") {
            let text = setting.value.clone().unwrap_or_default();
            let (from, to) = text.split_once('-').unwrap_or((&text, &text));
            let base = self.options(job.section).kb_base;
            let ends = super::value::bytes(from, base).zip(super::value::bytes(to, base));
            let Some((from, to)) = ends.filter(|(from, to)| from <= to) else {
                let message = format!("`{}`: expected a size or a range of sizes", setting.written);
                self.mistakes.add(setting.span.clone(), message);
                return None;
            };
            if from == to {
                self.notes.exact(setting.line, &setting.written);
            } else {
                self.notes.approximated(
                    setting.line,
                    &setting.written,
                    "all files have the mean size",
                );
            }
            return Some(Amount::Bytes((from / 2 + to / 2).max(1)));
        }
        match job.size? {
            Amount::Bytes(bytes) => {
                // With an increment all parts together are the target.
                let parts = match job.step {
                    Some(Amount::Bytes(step)) if job.clones > 1 => {
                        step.saturating_mul(job.clones - 1).saturating_add(bytes)
                    }
                    _ => bytes,
                };
                Some(Amount::Bytes((parts / count).max(1)))
            }
            Amount::Percent(share) => Some(Amount::Percent(share)),
        }
    }

    fn files(&mut self, job: &Job<'_>) -> Files {
        let section = job.section;
        let count = {
            let mut options = self.options(section);
            options.int("nrfiles").unwrap_or(1).max(1)
        };
        let noted = ["filename", "filename_format", "directory", "name"];
        for setting in noted.iter().filter_map(|name| section.settings.get(*name)) {
            self.notes.exact(setting.line, &setting.written);
        }
        let text = |name: &str| section.settings.get(name).and_then(|s| s.value.clone());
        if job.engine == Engine::Null {
            return Files {
                paths: vec![format!("null:{}", section.name)],
                shared: true,
                named: false,
            };
        }
        let directory = text("directory").map(|directory| {
            let all = unescaped(&directory);
            all.into_iter().next().unwrap_or_default()
        });
        let within = |name: String| match &directory {
            Some(directory) if !name.starts_with('/') => {
                format!("{}/{name}", directory.trim_end_matches('/'))
            }
            _ => name,
        };
        if let Some(names) = text("filename") {
            let paths = unescaped(&names).into_iter().map(within).collect();
            return Files { paths, shared: true, named: true };
        }
        let format = text("filename_format").unwrap_or("$jobname.$jobnum.$filenum".to_owned());
        if count > FILES_MAX {
            let setting = &section.settings["nrfiles"];
            let why = "one file of their size together";
            self.notes.approximated(setting.line, &setting.written, why);
        }
        let count = if count > FILES_MAX { 1 } else { count };
        let shared = job.clones == 1 || !format.contains("$jobnum");
        let clones = match shared {
            true => "0".to_owned(),
            false => format!("{{0..{}}}", job.clones - 1),
        };
        // A `/` in a job's name would be another directory.
        let job_name = section.name.replace('/', "_");
        let path = |number: u64| {
            let name = format.replace("$jobname", &job_name).replace("$clientuid", "local");
            within(name.replace("$jobnum", &clones).replace("$filenum", &number.to_string()))
        };
        Files { paths: (0..count).map(path).collect(), shared, named: false }
    }

    /// The target of this path; jobs that name the same path share it.
    fn target(
        &mut self,
        job: &Job<'_>,
        path: &str,
        size: Option<Amount>,
        comments: &mut Vec<String>,
    ) -> String {
        let bytes = match size {
            Some(Amount::Bytes(bytes)) => Some(bytes.saturating_add(job.offset)),
            _ => None,
        };
        if let Some((_, disk)) = self.places.0.iter_mut().find(|(known, _)| known == path) {
            if let Place::File { create, .. } | Place::Null(create) = &mut disk.place {
                *create = (*create).max(bytes);
            }
            if disk.buffered != job.buffered {
                disk.buffered = false;
                let (line, setting) = match job.section.settings.get("direct") {
                    Some(setting) => (setting.line, setting.written.clone()),
                    None => (job.section.line, format!("[{}]", job.section.name)),
                };
                let text = "a target is used with or without the page cache by all jobs: without";
                comments.push(self.notes.approximated(line, &setting, text));
            }
            return disk.name.clone();
        }
        let place = match path {
            _ if job.engine == Engine::Null => Place::Null(bytes),
            path if job.engine == Engine::Iscsi || path.starts_with("iscsi://") => {
                Place::Url(path.to_owned())
            }
            path if path.starts_with("/dev/") && !path.starts_with("/dev/shm/") => {
                Place::Device(path.to_owned())
            }
            path => Place::File { path: path.to_owned(), create: bytes },
        };
        let mut disk = Disk {
            name: named(&mut self.names, path),
            buffered: job.buffered && matches!(place, Place::File { .. } | Place::Device(_)),
            place,
            polled: false,
            data: None,
            comments: Comments::default(),
        };
        self.describe(job, &mut disk);
        let name = disk.name.clone();
        self.places.0.push((path.to_owned(), disk));
        name
    }

    /// What else the job's options say about its target.
    fn describe(&mut self, job: &Job<'_>, disk: &mut Disk) {
        if disk.buffered {
            let (line, setting) = match job.section.settings.get("direct") {
                Some(setting) => (setting.line, setting.written.clone()),
                None => (job.section.line, format!("[{}]", job.section.name)),
            };
            let text = "through the page cache, as by fio's default; a simulation has none";
            disk.comments.add("buffered", self.notes.approximated(line, &setting, text));
        }
        let section = job.section;
        let mut options = self.options(section);
        disk.polled =
            options.flag("hipri").unwrap_or(false) && matches!(disk.place, Place::Device(_));
        let compress = options.int("buffer_compress_percentage").unwrap_or(0).min(100);
        let dedupe = options.int("dedupe_percentage").unwrap_or(0).min(100);
        let zero = options.flag("zero_buffers").unwrap_or(false);
        if !job.kind.writes || matches!(disk.place, Place::Null(_)) {
            return;
        }
        // What is saved as a share, as a ratio; a scenario's greatest are 16 and 50.
        let ratio = |share: u64, most: f64| match share {
            100 => most,
            share => (100.0 / (100 - share) as f64).min(most),
        };
        let compress = if zero { 100 } else { compress };
        if compress > 0 || dedupe > 0 {
            disk.data = Some((ratio(compress, 16.0), ratio(dedupe, 50.0)));
        }
        if let Some(setting) = section.settings.get("zero_buffers").filter(|_| zero) {
            let text = "data that compresses 16 times";
            disk.comments
                .add("data", self.notes.approximated(setting.line, &setting.written, text));
        }
    }
}

/// A name for what is at `path`; its range stays a range.
fn named(names: &mut Names, path: &str) -> String {
    let last = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let last = last.strip_prefix("null:").unwrap_or(last);
    let Some((before, range, after)) = last.find('{').and_then(|from| {
        let to = last[from..].find('}')? + from;
        Some((&last[..from], &last[from..=to], &last[to + 1..]))
    }) else {
        return names.give(last, "disk");
    };
    // The range goes to the end, where it is seen.
    let after = after.trim_matches('.');
    let stem = before.trim_end_matches('.');
    let stem =
        if after.is_empty() || after == "0" { stem.to_owned() } else { format!("{stem}-{after}") };
    names.give(&stem, "disk") + "-" + range
}

/// Names between colons; `\:` is a colon of a name.
fn unescaped(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let last = names.last_mut().map(|name| name as &mut String);
        match (c, last) {
            ('\\', Some(name)) if chars.peek() == Some(&':') => {
                chars.next();
                name.push(':');
            }
            (':', _) => names.push(String::new()),
            (c, Some(name)) => name.push(c),
            (_, None) => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names.truncate(FILES_MAX as usize);
    names
}

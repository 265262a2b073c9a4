//! Invocations as plans, and their targets as loads.

use super::{Aim, Content, Limit, Span};
use crate::draft::{
    Comments, Disk, Draft, Durable, Extent, Line, Machine, Names, Pace, Phase, Place, Work,
};
use crate::note::Notes;

/// What a file is made with where nothing says how large it is.
const FILE_BYTES: u64 = 1 << 30;

pub(super) fn draft(name: &str, spans: &[Span], notes: &mut Notes) -> Draft {
    let mut mapper = Mapper {
        notes,
        draft: Draft {
            title: format!("The tests of {name}"),
            source: format!("diskspd in {name}"),
            seed: spans.iter().find_map(|span| span.seed),
            ..Draft::default()
        },
        names: Names::default(),
        works: Names::default(),
        phases: Names::default(),
        known: Vec::new(),
    };
    for span in spans {
        mapper.span(span);
    }
    mapper.draft
}

struct Mapper<'n> {
    notes: &'n mut Notes,
    draft: Draft,
    names: Names,
    works: Names,
    phases: Names,
    /// Targets by path.
    known: Vec<(String, usize)>,
}

impl Mapper<'_> {
    fn span(&mut self, span: &Span) {
        let mut phase = Phase {
            name: self.phases.give(&format!("test{}", self.draft.phases.len() + 1), "test"),
            warmup_us: span.warmup_s.saturating_mul(1_000_000),
            measure_us: span.duration_s.saturating_mul(1_000_000),
            cooldown_us: span.cooldown_s.saturating_mul(1_000_000),
            repeat: 1,
            ..Phase::default()
        };
        let disks: Vec<String> = span.aims.iter().map(|aim| self.target(aim)).collect();
        if span.total_threads > 0 {
            // Every thread goes over all targets.
            let count = disks.len() as u64;
            let mut aim = span.aims[0].clone();
            aim.threads = span.total_threads;
            aim.outstanding = match span.per_thread {
                0 => aim.outstanding.saturating_mul(count),
                all => all,
            };
            aim.limit = aim.limit.map(|limit| match limit {
                Limit::Bytes(bytes) => Limit::Bytes(bytes * count as f64),
                Limit::Ios(ios) => Limit::Ios(ios * count as f64),
            });
            if count > 1 {
                let text = "a thread draws its targets for each I/O; diskspd keeps so many outstanding at each";
                self.notes.approximated(span.line, &format!("-F{}", span.total_threads), text);
            }
            let on = match &disks[..] {
                [one] => one.clone(),
                _ => {
                    let name = self.names.give("threads", "threads");
                    let comments = Comments::default();
                    self.draft.machines.push(Machine {
                        name: name.clone(),
                        disks,
                        nics: Vec::new(),
                        comments,
                    });
                    name
                }
            };
            let work = self.work(&aim, true);
            phase.loads.push((work, vec![on]));
        } else {
            for (aim, on) in span.aims.iter().zip(disks) {
                let work = self.work(aim, false);
                match phase.loads.iter_mut().find(|(known, _)| *known == work) {
                    Some((_, all)) if !all.contains(&on) => all.push(on),
                    Some(_) => {}
                    None => phase.loads.push((work, vec![on])),
                }
            }
        }
        self.draft.phases.push(phase);
    }

    fn target(&mut self, aim: &Aim) -> String {
        let bytes = aim.create.or(aim.length.map(|length| length.saturating_add(aim.base)));
        // What is accessed begins there and has no end of its own.
        let behind = (aim.base > 0).then(|| aim.base.saturating_add(FILE_BYTES));
        let bytes = bytes.or(behind);
        if let Some((_, index)) = self.known.iter().find(|(path, _)| *path == aim.path) {
            let disk = &mut self.draft.disks[*index];
            if let Place::File { create: Some(create), .. } = &mut disk.place {
                *create = (*create).max(bytes.unwrap_or(0));
            }
            if disk.buffered == aim.caching.unbuffered {
                disk.buffered = false;
                let text = "a target is used with or without the page cache by all tests: without";
                disk.comments.add("", self.notes.approximated(aim.line, &aim.path, text));
            }
            return disk.name.clone();
        }
        let mut comments = Comments::default();
        let name = aim.path.rsplit(['/', '\\']).next().unwrap_or_default();
        let name =
            self.names.give(name.trim_start_matches(['#', '*']).trim_end_matches(':'), "disk");
        let foreign =
            aim.path.contains('\\') || aim.path.starts_with(['#', '*']) || aim.path.contains(':');
        let place = if aim.path.starts_with("/dev/") && !aim.path.starts_with("/dev/shm/") {
            Place::Device(aim.path.clone())
        } else if foreign {
            let text = "a file stands for it: name the disk or the file of this machine instead";
            comments.add("file", self.notes.approximated(aim.line, &aim.path, text));
            let path = if name.contains('.') { name.clone() } else { format!("{name}.dat") };
            Place::File { path, create: Some(bytes.unwrap_or(FILE_BYTES)) }
        } else {
            Place::File { path: aim.path.clone(), create: aim.create }
        };
        self.notes.exact(aim.line, &aim.path);
        let buffered = !aim.caching.unbuffered;
        if buffered {
            let text = "through the page cache, as by diskspd's default; a simulation has none";
            comments.add("buffered", self.notes.approximated(aim.line, "no -Su or -Sh", text));
        }
        let data = self.content(aim, &mut comments);
        let disk = Disk { name: name.clone(), place, buffered, polled: false, data, comments };
        self.known.push((aim.path.clone(), self.draft.disks.len()));
        self.draft.disks.push(disk);
        name
    }

    fn content(&mut self, aim: &Aim, comments: &mut Comments) -> Option<(f64, f64)> {
        if aim.write <= 0.0 {
            return None;
        }
        if aim.caching.write_through {
            let text = "caches of the disk are left as they are set";
            comments.add("", self.notes.approximated(aim.line, "-Sw", text));
        }
        if aim.caching.mapped || aim.caching.remote {
            let text = "files are neither mapped nor cached remotely";
            comments.add("", self.notes.lost(aim.line, "-Sm, -Sr", text));
        }
        let setting = match aim.content {
            Content::Random => return None,
            Content::Zero => "-Z",
            Content::Pattern => "no -Z",
        };
        let text = "data that compresses 16 times, in place of a pattern that repeats";
        comments.add("data", self.notes.approximated(aim.line, setting, text));
        Some((16.0, 1.0))
    }

    /// The alignment of random addresses, or the distance of sequential ones.
    fn unit(&mut self, aim: &Aim, line: &mut Line, comments: &mut Comments) -> Option<u64> {
        let mut stride = None;
        match aim.align.filter(|align| *align != aim.block) {
            Some(align) if aim.random > 0.0 => {
                line.align = align.is_multiple_of(512).then_some(align);
                if line.align.is_none() {
                    let text = "addresses are multiples of 512 bytes at least";
                    comments.add("", self.notes.approximated(aim.line, "-r", text));
                }
            }
            Some(distance) if distance > aim.block => {
                stride = Some(distance);
                line.align = (!distance.is_multiple_of(aim.block)).then_some(512);
            }
            Some(_) => {
                let text = "blocks do not overlap: each begins where the last has ended";
                comments.add("random", self.notes.approximated(aim.line, "-s", text));
            }
            None => {}
        }
        stride
    }

    /// The workload of a target; equal ones are one.
    fn work(&mut self, aim: &Aim, shared: bool) -> String {
        let mut comments = Comments::default();
        let mut line = Line::new(aim.block, 100.0, 100.0 - aim.write, aim.random);
        let (mut workers, mut depth) = (aim.threads, aim.outstanding);
        let stride = self.unit(aim, &mut line, &mut comments);
        aim.remarks.iter().for_each(|(key, text)| comments.add(key, text.clone()));
        if aim.interlocked && aim.random == 0.0 && workers.saturating_mul(depth) <= 4096 {
            // One stream of all threads: the slots of a worker share it.
            (workers, depth) = (1, workers * depth);
        } else if aim.random < 100.0 && workers > 1 {
            let text = "the threads begin evenly spaced on the target; diskspd's begin at its start, or as far apart \
                 as -T says";
            comments.add("workers", self.notes.approximated(aim.line, "-t", text));
        }
        if aim.random > 0.0 && aim.random < 100.0 {
            let text = "sequential I/Os go on where the last sequential one ended, and are drawn one by one; \
                 diskspd's go on from the last I/O, in runs of reads or of writes";
            comments.add("random", self.notes.approximated(aim.line, "-rs", text));
        }
        if aim.base > 0 {
            let text = "workloads begin at the start of a target";
            comments.add("", self.notes.lost(aim.line, "-B", text));
        }
        let pace = match aim.limit {
            Some(limit) => {
                let rate = match limit {
                    Limit::Ios(ios) => ios,
                    Limit::Bytes(bytes) => bytes * 1000.0 / aim.block as f64,
                };
                Pace::Open { rate, poisson: false, limit: depth }
            }
            None => Pace::Closed { depth, think_us: 0 },
        };
        if aim.burst > 0 && aim.limit.is_none() {
            (line.burst, line.delay_us) =
                ((aim.burst / depth).max(1), aim.pause_ms.saturating_mul(1000));
            if depth > 1 {
                let text = "each slot pauses for itself after its part of the burst";
                comments.add("delay", self.notes.approximated(aim.line, "-i, -j", text));
            }
        }
        let work = Work {
            name: String::new(),
            lines: vec![line],
            pace,
            skew: aim.skew.filter(|_| aim.random > 0.0),
            stride,
            workers,
            disks_each: false,
            working_set: aim.length.map(Extent::Bytes),
            own_regions: false,
            verify: false,
            durable: Durable::default(),
            comments,
        };
        let same = |known: &Work| {
            let mut plain = known.clone();
            plain.name.clear();
            (&plain.lines, plain.pace, plain.skew, plain.stride, plain.workers, plain.working_set)
                == (&work.lines, work.pace, work.skew, work.stride, work.workers, work.working_set)
        };
        if let Some(known) = self.draft.works.iter().find(|known| same(known)).filter(|_| !shared) {
            return known.name.clone();
        }
        let name = self.works.give(&called(aim), "load");
        self.draft.works.push(Work { name: name.clone(), ..work });
        name
    }
}

/// A name that says what is issued.
fn called(aim: &Aim) -> String {
    format!(
        "{}-{}{}",
        crate::toml::size(aim.block).trim_matches('"'),
        if aim.random >= 100.0 {
            "random"
        } else if aim.random > 0.0 {
            "mixed"
        } else {
            "sequential"
        },
        match aim.write {
            0.0 => "-read".to_owned(),
            100.0 => "-write".to_owned(),
            write => format!("-{}-{write}", 100.0 - write),
        }
    )
}

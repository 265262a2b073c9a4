//! fio's job files.

mod file;
mod job;
mod load;
mod options;
mod places;
mod skew;
mod value;

use crate::Surroundings;
use crate::draft::{Draft, Ending, Names, Phase, Work};
use crate::mistake::Mistakes;
use crate::note::Notes;
use file::Section;
use job::{Amount, Job, Options};
use places::On;
use scenario::Diagnostics;

/// How long a step takes where the file ends its jobs by what they transfer.
const MEASURE_US: u64 = 60_000_000;

/// How long a step may take whose loads end.
const ENDING_US: u64 = 86_400_000_000;

/// A job file as a scenario.
pub(crate) fn read(
    name: &str,
    text: &str,
    around: &Surroundings<'_>,
) -> Result<(Draft, Notes), Diagnostics> {
    let (mut notes, mut mistakes) = (Notes::default(), Mistakes::new(text));
    let sections = file::sections(text, around, &mut notes, &mut mistakes);
    if sections.is_empty() && mistakes.is_empty() {
        mistakes
            .add(0..text.len().min(1), "no job: a job file has a section `[NAME]` for each job");
    }
    let mut importer = Importer {
        notes,
        mistakes,
        draft: Draft {
            title: format!("The jobs of {name}"),
            source: format!("fio job file {name}"),
            ..Draft::default()
        },
        names: Names::default(),
        works: Names::default(),
        phases: Names::default(),
        places: places::Places::default(),
    };
    for group in groups(&sections) {
        importer.group(&group);
    }
    importer.ends();
    let Importer { notes, mistakes, draft, .. } = importer;
    mistakes.finish(name)?;
    Ok((draft, notes))
}

/// What is being made of a file.
struct Importer<'t> {
    notes: Notes,
    mistakes: Mistakes<'t>,
    draft: Draft,
    /// Names of targets and machines, of workloads, of plans.
    names: Names,
    works: Names,
    phases: Names,
    places: places::Places,
}

/// Jobs that run at the same time: a job with `stonewall` waits for all before it.
fn groups(sections: &[Section]) -> Vec<Vec<&Section>> {
    let on = |section: &Section, name: &str| {
        section.settings.get(name).is_some_and(|s| !matches!(s.value.as_deref(), Some("0")))
    };
    let mut groups: Vec<Vec<&Section>> = Vec::new();
    for section in sections {
        let waits = on(section, "stonewall") || section.settings.contains_key("wait_for");
        match groups.last_mut().filter(|_| !waits) {
            Some(group) => group.push(section),
            None => groups.push(vec![section]),
        }
    }
    groups
}

/// The times of a job in microseconds.
struct Times {
    ramp: u64,
    run: Option<u64>,
    /// It ends by its time, however much it transfers.
    by_time: bool,
}

impl<'t> Importer<'t> {
    fn options<'s, 'n>(&'n mut self, section: &'s Section) -> Options<'s, 'n, 't> {
        let Importer { notes, mistakes, .. } = self;
        let base = section.settings.get("kb_base").and_then(|s| s.value.as_deref());
        let kb_base = if base == Some("1000") { 1000 } else { 1024 };
        Options { section, notes, mistakes, kb_base }
    }

    /// The jobs of a group as loads of one plan.
    fn group(&mut self, group: &[&Section]) {
        let wanted = match group {
            [one] => one.name.clone(),
            _ => format!("group{}", self.draft.phases.len() + 1),
        };
        let mut phase =
            Phase { name: self.phases.give(&wanted, "plan"), repeat: 1, ..Phase::default() };
        let mut longest: Option<u64> = None;
        let mut unlike = Vec::new();
        for section in group {
            let Some(job) = self.options(section).job() else { continue };
            let times = self.times(section, &mut phase);
            phase.warmup_us = phase.warmup_us.max(times.ramp);
            let ending = self.load(&job, &mut phase, times.by_time);
            self.ends_by(section, &times, ending, &mut phase);
            if longest.is_some() && longest != times.run {
                unlike.push(section);
            }
            // What ends by itself may take as long as it takes.
            let most = ending.map(|_| ENDING_US);
            longest = longest.max(times.run.or(most));
        }
        for section in unlike {
            let text = "all jobs that run together run for the longest of their times";
            let (line, setting) = match section.settings.get("runtime") {
                Some(setting) => (setting.line, setting.written.clone()),
                None => (section.line, format!("[{}]", section.name)),
            };
            phase.comments.add("measure", self.notes.approximated(line, &setting, text));
        }
        phase.measure_us = longest.unwrap_or(MEASURE_US);
        if longest.is_none() {
            let first = group[0];
            let text =
                "fio ends when everything is transferred; a plan ends by time, here after 60 s";
            let (line, setting) = match first.settings.get("size") {
                Some(setting) => (setting.line, setting.written.clone()),
                None => (first.line, format!("[{}]", first.name)),
            };
            phase.comments.add("measure", self.notes.approximated(line, &setting, text));
        }
        if !phase.loads.is_empty() {
            self.draft.phases.push(phase);
        }
    }

    /// When the job runs, and notes about what a plan cannot say of it.
    fn times(&mut self, section: &Section, phase: &mut Phase) -> Times {
        let mut options = self.options(section);
        let ramp = options.time("ramp_time", 1_000_000).unwrap_or(0);
        let run = options.time("runtime", 1_000_000).filter(|run| *run > 0);
        let by_time = options.flag("time_based").unwrap_or(false);
        for name in ["stonewall", "new_group", "group_reporting", "exitall"] {
            options.flag(name);
        }
        for name in ["kb_base", "unit_base"] {
            options.int(name);
        }
        if let Some(setting) = section.settings.get("startdelay") {
            let text = "the loads of a plan begin together";
            phase.comments.add("", self.notes.lost(setting.line, &setting.written, text));
        }
        if let Some(setting) = section.settings.get("wait_for") {
            let text = "it waits for all jobs before it, and not for one of them";
            phase.comments.add("", self.notes.approximated(setting.line, &setting.written, text));
        }
        for setting in section.settings.values() {
            let name = setting.written.split('=').next().unwrap_or_default().trim();
            let meaning = options::meaning(options::canonical(name));
            let on = !matches!(setting.value.as_deref(), Some("0" | "none"));
            if let Some((_, options::Meaning::Lost(why))) = meaning {
                match on {
                    true => {
                        let comment = self.notes.lost(setting.line, &setting.written, why);
                        self.draft.comments.add("", comment);
                    }
                    false => self.notes.exact(setting.line, &setting.written),
                }
            }
        }
        Times { ramp, run, by_time }
    }

    /// Notes about where the job ends.
    fn ends_by(
        &mut self,
        section: &Section,
        times: &Times,
        ending: Option<Ending>,
        phase: &mut Phase,
    ) {
        for name in ["loops", "number_ios", "io_size", "fill_device"] {
            let Some(setting) = section.settings.get(name) else { continue };
            let text = "fio ends by what is transferred; this plan ends by time";
            if times.by_time && name != "number_ios" {
                self.notes.remark(setting.line, &setting.written, "the job ends by its time");
            } else if ending.is_some() && name != "fill_device" {
                self.notes.exact(setting.line, &setting.written);
            } else {
                let comment = self.notes.approximated(setting.line, &setting.written, text);
                phase.comments.add("measure", comment);
            }
        }
        let sooner = !times.by_time && times.run.is_some() && ending.is_none();
        if let Some(setting) = section.settings.get("runtime").filter(|_| sooner) {
            let text =
                "fio ends sooner where everything is transferred; this plan runs its whole time";
            let comment = self.notes.approximated(setting.line, &setting.written, text);
            phase.comments.add("measure", comment);
        }
    }

    /// The load of a job: its targets, its workloads, and what runs on what. Returns where it ends.
    fn load(&mut self, job: &Job<'_>, phase: &mut Phase, by_time: bool) -> Option<Ending> {
        let on = self.places(job);
        let works = self.works(job);
        let ending = match &works[..] {
            [work] if !by_time => self.ending(job, work, &on),
            _ => None,
        };
        phase.ends.extend(ending.map(|ending| (phase.loads.len(), ending)));
        for work in works {
            phase.loads.push((work.name.clone(), on.on.clone()));
            let mut work = work;
            work.workers = on.workers;
            work.own_regions |= on.own_regions;
            for comment in &on.comments {
                work.comments.add("", comment.clone());
            }
            if work.working_set.is_none() {
                work.working_set = on.working_set;
            }
            self.draft.works.push(work);
        }
        if let Some(seed) = self.options(job.section).int("randseed") {
            self.draft.seed.get_or_insert(seed);
        }
        ending
    }

    /// Where a job ends that ends by what it transfers: each clone goes `loops` times over `size`, or transfers `io_size`
    /// so often, and does at most `number_ios`. `None` where that is not known.
    fn ending(&mut self, job: &Job<'_>, work: &Work, on: &On) -> Option<Ending> {
        // What is kept of them is noted by the caller.
        let mut notes = Notes::default();
        let kb_base = self.options(job.section).kb_base;
        let mut options = Options {
            section: job.section,
            notes: &mut notes,
            mistakes: &mut self.mistakes,
            kb_base,
        };
        let loops = options.int("loops").unwrap_or(1).max(1);
        let ios = options.int("number_ios").filter(|ios| *ios > 0);
        let io_size = options.amount("io_size");
        let [first, others @ ..] = &work.lines[..] else { return None };
        let uniform = others.iter().all(|line| line.size == first.size);
        let all = |random: f64| work.lines.iter().all(|line| line.random == random);
        let map = job.section.settings.get("norandommap");
        let once = map.is_none_or(|s| s.value.as_deref() == Some("0")) && work.skew.is_none();
        let aligned = work.lines.iter().all(|line| line.align.is_none_or(|a| a == line.size));
        let own = on.own_regions || work.own_regions;
        let clones = if own { 1 } else { on.workers.max(1) };
        let passes = uniform && aligned && (all(0.0) || all(100.0) && once) && on.on.len() == 1;
        if ios.is_none() && io_size.is_none() && passes && work.stride.is_none() {
            return Some(Ending::Passes(loops.saturating_mul(clones)));
        }
        let bytes = |amount: Option<Amount>| match amount {
            Some(Amount::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        let whole = match io_size {
            Some(_) => bytes(io_size),
            None => bytes(job.size),
        };
        let whole = whole.map(|bytes| bytes.saturating_mul(loops));
        let counted = match (ios, uniform) {
            (Some(ios), true) => Some(ios.saturating_mul(first.size)),
            (Some(_), false) => return None,
            (None, _) => None,
        };
        let each = whole.into_iter().chain(counted).min()?;
        let workers = on.workers.max(1).saturating_mul(on.on.len() as u64);
        (on.on.len() == 1).then(|| Ending::Bytes(each.saturating_mul(workers)))
    }

    /// What is known when all jobs have been read.
    fn ends(&mut self) {
        if self.draft.phases.is_empty() && self.mistakes.is_empty() {
            self.mistakes.add(0..1, "no job issues I/O");
        }
        let places = std::mem::take(&mut self.places);
        self.draft.disks = places.disks();
    }
}

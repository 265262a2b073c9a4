//! fio's job files.

mod file;
mod job;
mod load;
mod options;
mod places;
mod skew;
mod value;

use crate::Surroundings;
use crate::draft::{Draft, Names, Phase};
use crate::mistake::Mistakes;
use crate::note::Notes;
use file::Section;
use job::{Job, Options};
use scenario::Diagnostics;

/// How long a step takes where the file ends its jobs by what they transfer.
const MEASURE_US: u64 = 60_000_000;

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
            if longest.is_some() && longest != times.run {
                unlike.push(section);
            }
            longest = longest.max(times.run);
            self.load(&job, &mut phase);
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
        for name in ["loops", "number_ios", "io_size", "fill_device"] {
            let Some(setting) = section.settings.get(name) else { continue };
            let text = "fio ends by what is transferred; a plan ends by time";
            match by_time && name != "number_ios" {
                true => {
                    self.notes.remark(setting.line, &setting.written, "the job ends by its time")
                }
                false => {
                    let comment = self.notes.approximated(setting.line, &setting.written, text);
                    phase.comments.add("measure", comment);
                }
            }
        }
        if let Some(setting) = section.settings.get("runtime").filter(|_| !by_time && run.is_some())
        {
            let text =
                "fio ends sooner where everything is transferred; a plan always runs its time";
            phase
                .comments
                .add("measure", self.notes.approximated(setting.line, &setting.written, text));
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
        Times { ramp, run }
    }

    /// The load of a job: its targets, its workloads, and what runs on what.
    fn load(&mut self, job: &Job<'_>, phase: &mut Phase) {
        let on = self.places(job);
        let works = self.works(job);
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

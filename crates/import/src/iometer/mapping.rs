//! A configuration as a scenario: each worker is a machine with its disks, and each test a plan.

use super::{Assigned, Config, Manager, Medium, Row, Specification, Test, Worker};
use crate::draft::{
    Comments, Disk, Draft, Durable, Extent, Far, Line, Machine, Names, Pace, Phase, Place, Talk,
    Work,
};
use crate::mistake::Mistakes;
use crate::note::Notes;
use std::collections::BTreeMap;
use std::rc::Rc;

/// What a file is made with where nothing says how large the disk is.
const DISK_BYTES: u64 = 1 << 30;
/// Iometer's sector.
const SECTOR: u64 = 512;
/// Iometer's cycle over 32 targets, 64 workers and depths makes many tests; a scenario has bounds.
const TESTS_MAX: usize = 2_000;
/// Loads of all tests, and specifications of all workers.
const LOADS_MAX: usize = 20_000;

pub(super) fn draft(
    name: &str,
    config: &Config,
    notes: &mut Notes,
    mistakes: &mut Mistakes<'_>,
) -> Draft {
    let title = match config.description.is_empty() {
        true => format!("The tests of {name}"),
        false => config.description.clone(),
    };
    let source = format!("Iometer configuration {name}");
    let mut mapper = Mapper {
        config,
        notes,
        mistakes,
        draft: Draft { title, source, ..Draft::default() },
        names: Names::default(),
        works: Names::default(),
        phases: Names::default(),
        targets: BTreeMap::new(),
        machines: BTreeMap::new(),
        made: Vec::new(),
        fars: BTreeMap::new(),
        loads: 0,
    };
    mapper.tests();
    mapper.draft
}

/// A worker with its manager, by number.
#[derive(Clone, Copy)]
struct Seat<'c> {
    manager: usize,
    number: usize,
    worker: &'c Worker,
}

struct Mapper<'c, 'n, 'm> {
    config: &'c Config,
    notes: &'n mut Notes,
    mistakes: &'n mut Mistakes<'m>,
    draft: Draft,
    names: Names,
    works: Names,
    phases: Names,
    /// Names of targets by manager and Iometer's name.
    targets: BTreeMap<(usize, String), String>,
    /// Names of machines by manager, worker, and how many targets they use.
    machines: BTreeMap<(usize, usize, usize), String>,
    /// Workloads by specification, depth and sectors.
    made: Vec<((String, u64, u64), String)>,
    fars: BTreeMap<String, String>,
    loads: usize,
}

/// One test: how many workers of a manager, targets of a worker, targets of a manager or of all, and which depth.
#[derive(Clone, Debug, Default)]
struct Active {
    name: String,
    workers: Option<u64>,
    targets: Option<u64>,
    of_manager: Option<u64>,
    of_all: Option<u64>,
    depth: Option<u64>,
}

/// The default specification that every list has without naming it.
fn default_specification() -> Specification {
    let row = Row {
        size: 2048,
        share: 100.0,
        read: 67.0,
        random: 100.0,
        delay_ms: 0,
        burst: 1,
        align: 0,
        reply: 0,
    };
    Specification { name: "Default".to_owned(), line: 1, assigned: Assigned::None, rows: vec![row] }
}

impl<'c> Mapper<'c, '_, '_> {
    fn tests(&mut self) {
        let stand_in;
        let managers: &[Manager] = if self.config.managers.iter().any(|m| !m.workers.is_empty()) {
            &self.config.managers
        } else {
            stand_in = [self.nobody()];
            &stand_in
        };
        let seats: Vec<Seat<'_>> = managers
            .iter()
            .enumerate()
            .flat_map(|(manager, m)| {
                m.workers.iter().enumerate().map(move |(number, worker)| Seat {
                    manager,
                    number,
                    worker,
                })
            })
            .collect();
        if seats.len().saturating_mul(self.config.specs.len()) > LOADS_MAX * 5 {
            self.mistakes.add(0..1, "more workers and specifications than can be imported");
            return;
        }
        let assigned: Vec<Vec<Rc<Specification>>> =
            seats.iter().map(|seat| self.specifications(seat.worker)).collect();
        let rounds = assigned.iter().map(Vec::len).max().unwrap_or(0);
        if rounds == 0 {
            self.mistakes
                .add(0..1, "no worker has an access specification: there is nothing to run");
            return;
        }
        for round in 0..rounds {
            let busy: Vec<(Seat<'_>, &Specification)> = seats
                .iter()
                .zip(&assigned)
                .filter_map(|(seat, specs)| Some((*seat, &**specs.get(round)?)))
                .filter(|(_, spec)| !spec.name.eq_ignore_ascii_case("idle"))
                .collect();
            if busy.is_empty() {
                continue;
            }
            for active in self.active(&busy) {
                self.loads += busy.len();
                self.phase(managers, &busy, &active);
                if self.draft.phases.len() > TESTS_MAX || self.loads > LOADS_MAX {
                    self.mistakes
                        .add(0..1, format!("more than {TESTS_MAX} tests or {LOADS_MAX} loads"));
                    return;
                }
            }
        }
        if self.draft.phases.is_empty() && self.mistakes.is_empty() {
            self.mistakes.add(0..1, "no worker has a load: there is nothing to run");
        }
    }

    /// The worker that a file without a manager list is imported for.
    fn nobody(&mut self) -> Manager {
        let text = "no worker is in the file: one with a file of 1 GiB stands here";
        let comment = self.notes.approximated(1, "'MANAGER LIST", text);
        self.draft.comments.add("", comment);
        let worker = Worker {
            name: "worker".to_owned(),
            line: 1,
            medium: Medium::Disk,
            depth: 1,
            sectors: 0,
            start: 0,
            settings_line: 1,
            specs: None,
            targets: Vec::new(),
        };
        Manager { name: "local".to_owned(), address: String::new(), workers: vec![worker] }
    }

    /// What a worker runs, in turn.
    fn specifications(&mut self, worker: &Worker) -> Vec<Rc<Specification>> {
        let Some(assigned) = &worker.specs else {
            let fits = |spec: &&Rc<Specification>| match spec.assigned {
                Assigned::None => false,
                Assigned::All => true,
                Assigned::Disk => worker.medium == Medium::Disk,
                Assigned::Net => worker.medium != Medium::Disk,
            };
            let by_default: Vec<Rc<Specification>> =
                self.config.specs.iter().filter(fits).cloned().collect();
            return match by_default.is_empty() {
                true => self.config.specs.clone(),
                false => by_default,
            };
        };
        let mut specs = Vec::new();
        for (name, span) in assigned {
            let known = self.config.specs.iter().find(|spec| spec.name.eq_ignore_ascii_case(name));
            match known {
                Some(spec) => specs.push(spec.clone()),
                None if name.eq_ignore_ascii_case("idle") => {
                    let idle = Specification {
                        name: name.clone(),
                        rows: Vec::new(),
                        ..default_specification()
                    };
                    specs.push(Rc::new(idle));
                }
                None if name.eq_ignore_ascii_case("default") => {
                    specs.push(Rc::new(default_specification()))
                }
                None => {
                    let names = self.config.specs.iter().map(|spec| &spec.name[..]);
                    self.mistakes.unknown(span.clone(), "access specification", name, names);
                }
            }
        }
        specs
    }

    /// The tests of a round.
    fn active(&self, busy: &[(Seat<'_>, &Specification)]) -> Vec<Active> {
        let config = self.config;
        let targets = |seat: &Seat<'_>| seat.worker.targets.len().max(1) as u64;
        let by_manager = |count: &dyn Fn(&Seat<'_>) -> u64| {
            let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
            for (seat, _) in busy {
                *sums.entry(seat.manager).or_default() += count(seat);
            }
            sums.into_values().max().unwrap_or(1)
        };
        let most_targets = busy.iter().map(|(seat, _)| targets(seat)).max().unwrap_or(1);
        let most_workers = by_manager(&|_| 1);
        let of_targets = config.targets.numbers(most_targets, true);
        let of_workers = config.workers.numbers(most_workers, true);
        let of_depth = config.depth.numbers(config.depth.end, false);
        let plain = Active::default();
        match config.test {
            Test::Normal => vec![plain],
            Test::Targets => of_targets
                .iter()
                .map(|n| Active {
                    name: format!("{n}-targets"),
                    targets: Some(*n),
                    ..plain.clone()
                })
                .collect(),
            Test::Workers => of_workers
                .iter()
                .map(|n| Active {
                    name: format!("{n}-workers"),
                    workers: Some(*n),
                    ..plain.clone()
                })
                .collect(),
            Test::IncrementParallel => config
                .targets
                .numbers(by_manager(&targets), true)
                .iter()
                .map(|n| Active {
                    name: format!("{n}-targets"),
                    of_manager: Some(*n),
                    ..plain.clone()
                })
                .collect(),
            Test::IncrementSerial => config
                .targets
                .numbers(busy.iter().map(|(seat, _)| targets(seat)).sum(), true)
                .iter()
                .map(|n| Active { name: format!("{n}-targets"), of_all: Some(*n), ..plain.clone() })
                .collect(),
            Test::WorkersAndTargets => crossed(&of_workers, &of_targets, |w, t| Active {
                name: format!("{w}-workers-{t}-targets"),
                workers: Some(w),
                targets: Some(t),
                ..Active::default()
            }),
            Test::Depth => vec![plain],
            Test::DepthAndTargets => crossed(&of_targets, &of_depth, |t, d| Active {
                name: format!("{t}-targets-{d}-outstanding"),
                targets: Some(t),
                depth: Some(d),
                ..Active::default()
            }),
        }
    }

    /// A test as a plan.
    fn phase(
        &mut self,
        managers: &[Manager],
        busy: &[(Seat<'_>, &Specification)],
        active: &Active,
    ) {
        let mut loads: Vec<(String, Vec<String>)> = Vec::new();
        let mut workers: BTreeMap<usize, u64> = BTreeMap::new();
        let mut targets: BTreeMap<usize, u64> = BTreeMap::new();
        let mut all_targets = 0;
        for (seat, spec) in busy {
            let worker = seat.worker;
            let nth = workers.entry(seat.manager).or_default();
            if active.workers.is_some_and(|most| *nth >= most) {
                continue;
            }
            *nth += 1;
            let has = worker.targets.len().max(1) as u64;
            let so_far = targets.entry(seat.manager).or_default();
            let left = [
                active.targets,
                active.of_manager.map(|most| most.saturating_sub(*so_far)),
                active.of_all.map(|most| most.saturating_sub(all_targets)),
            ];
            let used = left.into_iter().flatten().fold(has, u64::min);
            (*so_far, all_targets) = (*so_far + used, all_targets + used);
            if used == 0 {
                continue;
            }
            let Some((work, on)) = self.load(managers, *seat, spec, used as usize, active) else {
                continue;
            };
            match loads.iter_mut().find(|(known, _)| *known == work) {
                Some((_, all)) => all.push(on),
                None => loads.push((work, vec![on])),
            }
        }
        if loads.is_empty() {
            return;
        }
        let config = self.config;
        let wanted =
            match (busy.iter().all(|(_, spec)| spec.name == busy[0].1.name), &active.name[..]) {
                (true, "") => busy[0].1.name.clone(),
                (true, name) => format!("{}-{name}", busy[0].1.name),
                (false, "") => format!("test{}", self.draft.phases.len() + 1),
                (false, name) => format!("test{}-{name}", self.draft.phases.len() + 1),
            };
        let mut phase = Phase {
            name: self.phases.give(&wanted, "test"),
            loads,
            warmup_us: config.ramp_s.saturating_mul(1_000_000),
            measure_us: config.run_s.saturating_mul(1_000_000),
            repeat: 1,
            ..Phase::default()
        };
        if config.run_s == 0 {
            // Iometer runs such a test until it is stopped.
            phase.measure_us = 60_000_000;
            let text = "Iometer runs until it is stopped; a plan ends by time, here after 60 s";
            phase.comments.add("measure", self.notes.approximated(1, "'Run Time", text));
        }
        let disks = |(work, _): &(String, _)| self.draft.works.iter().any(|w| w.name == *work);
        if config.test == Test::Depth && phase.loads.iter().any(disks) {
            let depths = config.depth.numbers(config.depth.end, false);
            phase.sweep.push(("depth", depths.iter().map(u64::to_string).collect()));
        }
        self.draft.phases.push(phase);
    }

    /// The workload of a worker and the machine that runs it.
    fn load(
        &mut self,
        managers: &[Manager],
        seat: Seat<'_>,
        spec: &Specification,
        used: usize,
        active: &Active,
    ) -> Option<(String, String)> {
        match seat.worker.medium {
            Medium::Disk => {
                let depth = active.depth.unwrap_or(seat.worker.depth);
                let work = self.work(spec, depth, seat.worker.sectors);
                Some((work, self.machine(managers, seat, used)))
            }
            Medium::Tcp => {
                let talk = self.talk(spec, seat.worker);
                Some((talk, self.caller(managers, seat, used)))
            }
            Medium::Vi => {
                let text = "a VI interface has no counterpart: the worker is left out";
                let comment = self.notes.lost(seat.worker.line, &seat.worker.name, text);
                self.draft.comments.add("", comment);
                None
            }
        }
    }

    fn seat_name(managers: &[Manager], seat: Seat<'_>) -> String {
        match managers.len() {
            1 => seat.worker.name.clone(),
            _ => format!("{}.{}", managers[seat.manager].name, seat.worker.name),
        }
    }

    fn machine(&mut self, managers: &[Manager], seat: Seat<'_>, used: usize) -> String {
        let key = (seat.manager, seat.number, used);
        if let Some(name) = self.machines.get(&key) {
            return name.clone();
        }
        let worker = seat.worker;
        let mut wanted = Self::seat_name(managers, seat);
        if used < worker.targets.len() {
            wanted = format!("{wanted}-{used}");
        }
        let mut disks = Vec::new();
        for target in worker.targets.iter().take(used) {
            disks.push(self.target(managers, seat, &target.name, target.line));
        }
        if worker.targets.is_empty() {
            disks.push(self.target(managers, seat, "iobw.tst", worker.line));
        }
        let mut comments = Comments::default();
        let manager = &managers[seat.manager];
        if managers.len() > 1 || !manager.address.is_empty() {
            comments.add(
                "",
                format!(
                    "worker `{}` of manager `{}` {}",
                    worker.name, manager.name, manager.address
                ),
            );
        }
        disks.dedup();
        let name = self.names.give(&wanted, "worker");
        let machine = Machine { name: name.clone(), disks, nics: Vec::new(), comments };
        self.draft.machines.push(machine);
        self.machines.insert(key, name.clone());
        name
    }

    fn target(
        &mut self,
        managers: &[Manager],
        seat: Seat<'_>,
        target: &str,
        line: usize,
    ) -> String {
        let sectors = seat.worker.sectors;
        let key = (seat.manager, target.to_ascii_lowercase());
        let bytes = if sectors > 0 { sectors.saturating_mul(SECTOR) } else { DISK_BYTES };
        if let Some(name) = self.targets.get(&key) {
            let disk = self.draft.disks.iter_mut().find(|disk| disk.name == *name);
            if let Some(Place::File { create: Some(create), .. }) = disk.map(|d| &mut d.place) {
                *create = (*create).max(bytes);
            }
            return name.clone();
        }
        let plain = target.split(": \"").next().unwrap_or(target).trim().trim_end_matches(':');
        let short = plain.rsplit('/').next().unwrap_or(plain);
        let wanted = match managers.len() {
            1 => short.to_owned(),
            _ => format!("{}-{plain}", managers[seat.manager].name),
        };
        let name = self.names.give(&wanted.to_lowercase(), "disk");
        let mut comments = Comments::default();
        let place = if plain.starts_with("/dev/") {
            self.notes.exact(line, target);
            Place::Device(plain.to_owned())
        } else {
            let text = "a file stands for it: name the disk by `device` instead";
            comments.add("file", self.notes.approximated(line, target, text));
            Place::File { path: format!("{name}.tst"), create: Some(bytes) }
        };
        let disk = Disk {
            name: name.clone(),
            place,
            buffered: false,
            polled: false,
            data: None,
            comments,
        };
        self.draft.disks.push(disk);
        self.targets.insert(key, name.clone());
        name
    }

    /// The workload of a specification at a depth.
    fn work(&mut self, spec: &Specification, depth: u64, sectors: u64) -> String {
        let key = (spec.name.to_lowercase(), depth, sectors);
        if let Some((_, name)) = self.made.iter().find(|(known, _)| *known == key) {
            return name.clone();
        }
        let mut comments = Comments::default();
        let lines = self.lines(spec, depth, &mut comments);
        let wanted = match self.made.iter().any(|((name, ..), _)| *name == key.0) {
            true => format!("{}-{depth}-outstanding", spec.name),
            false => spec.name.clone(),
        };
        let name = self.works.give(&wanted, "specification");
        self.draft.works.push(Work {
            name: name.clone(),
            lines,
            pace: Pace::Closed { depth, think_us: 0 },
            skew: None,
            stride: None,
            workers: 1,
            disks_each: true,
            working_set: (sectors > 0).then(|| Extent::Bytes(sectors.saturating_mul(SECTOR))),
            own_regions: false,
            verify: false,
            durable: Durable::default(),
            comments,
        });
        self.made.push((key, name.clone()));
        name
    }

    fn lines(&mut self, spec: &Specification, depth: u64, comments: &mut Comments) -> Vec<Line> {
        // Iometer draws a row for a burst and not for an I/O.
        let weight: f64 = spec.rows.iter().map(|row| row.share * row.burst as f64).sum();
        let mut say = |notes: &mut Notes, key, setting: &str, text: &str| {
            comments.add(
                key,
                notes.approximated(spec.line, &format!("{}: {setting}", spec.name), text),
            );
        };
        let several = spec.rows.len() > 1;
        let key = |one| if several { "rows" } else { one };
        if several && spec.rows.iter().any(|row| row.burst > 1) {
            let text = "rows are drawn for each I/O, with the shares that they have among I/Os; Iometer draws one for a burst";
            say(self.notes, "rows", "burst", text);
        }
        if spec.rows.iter().any(|row| row.delay_ms > 0) && (several || depth > 1) {
            let text =
                "each slot pauses for itself after its bursts; in Iometer the whole worker does";
            say(self.notes, key("delay"), "delay", text);
        }
        if spec.rows.iter().any(|row| row.random > 0.0 && row.random < 100.0) {
            let text = "sequential I/Os go on where the last sequential one ended; in Iometer, where the last I/O did";
            say(self.notes, key("random"), "% random", text);
        }
        if several
            && spec.rows.iter().any(|row| row.random < 100.0 && row.size != spec.rows[0].size)
        {
            let text =
                "sequential blocks of several sizes leave gaps between them; Iometer's do not";
            say(self.notes, "rows", "size", text);
        }
        if spec.rows.iter().any(|row| row.reply > 0) {
            let text = "disks have no replies";
            let lost = self.notes.lost(spec.line, &format!("{}: reply", spec.name), text);
            self.draft.comments.add("", lost);
        }
        let line = |row: &Row| Line {
            size: row.size,
            share: row.share * row.burst as f64 / weight * 100.0,
            read: row.read,
            trim: false,
            random: row.random,
            delay_us: row.delay_ms.saturating_mul(1000),
            burst: row.burst,
            // 0 is the sector.
            align: Some(if row.align == 0 { SECTOR } else { row.align }),
            reply: 0,
        };
        spec.rows.iter().map(line).collect()
    }

    /// A network workload: requests where a row has replies, else a stream.
    fn talk(&mut self, spec: &Specification, worker: &Worker) -> String {
        let key = (format!("net {}", spec.name.to_lowercase()), worker.depth, 0);
        if let Some((_, name)) = self.made.iter().find(|(known, _)| *known == key) {
            return name.clone();
        }
        let mut comments = Comments::default();
        let most = spec.rows.iter().max_by(|a, b| a.share.total_cmp(&b.share)).copied();
        let row = most.unwrap_or(default_specification().rows[0]);
        let text = "messages of one size in one direction, on as many streams as there were outstanding I/Os";
        comments.add("", self.notes.approximated(spec.line, &spec.name, text));
        if spec.rows.len() > 1 {
            let text = "only the row with the largest share is carried over";
            comments.add("", self.notes.lost(spec.line, &spec.name, text));
        }
        let name = self.works.give(&spec.name, "network");
        self.draft.talks.push(Talk {
            name: name.clone(),
            response: (row.reply > 0).then_some(row.reply.min(1 << 20)),
            message: row.size.min(if row.reply > 0 { 1 << 20 } else { 16 << 20 }),
            streams: worker.depth.min(512),
            receive: row.read >= 50.0 && row.reply == 0,
            comments,
        });
        self.made.push((key, name.clone()));
        name
    }

    /// A machine that talks to the managers that a worker has as targets.
    fn caller(&mut self, managers: &[Manager], seat: Seat<'_>, used: usize) -> String {
        let key = (seat.manager, seat.number, used);
        if let Some(name) = self.machines.get(&key) {
            return name.clone();
        }
        let mut nics = Vec::new();
        for target in seat.worker.targets.iter().take(used.max(1)) {
            let address = target.name.trim().to_owned();
            let name = match self.fars.get(&address) {
                Some(name) => name.clone(),
                None => {
                    let name = self.names.give(&format!("far-{address}"), "far");
                    let mut comments = Comments::default();
                    let text = "`wirespeed net receive` waits there instead of Dynamo";
                    comments.add("", self.notes.approximated(target.line, &address, text));
                    self.draft.fars.push(Far {
                        name: name.clone(),
                        address: address.clone(),
                        comments,
                    });
                    self.fars.insert(address, name.clone());
                    name
                }
            };
            nics.push(name);
        }
        let name = self.names.give(&Self::seat_name(managers, seat), "worker");
        let comments = Comments::default();
        self.draft.machines.push(Machine { name: name.clone(), disks: Vec::new(), nics, comments });
        self.machines.insert(key, name.clone());
        name
    }
}

fn crossed(slow: &[u64], fast: &[u64], make: impl Fn(u64, u64) -> Active) -> Vec<Active> {
    let make = &make;
    slow.iter().flat_map(|s| fast.iter().map(move |f| make(*s, *f))).take(TESTS_MAX + 1).collect()
}

//! What is known of a run under way: its step, the figures of the last seconds, how far it is; and the same in lines.

use super::limit;
use crate::sparkline::sparkline;
use campaign::{DiskRates, HopLoad, JobRates, NetRates, Progress, RecentRates};
use clock::Ns;
use record::{Event, Level, SourceId};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Seconds that are kept for the course of throughput.
const KEPT: usize = 240;

/// A run as it is shown.
pub(super) struct View {
    /// Milliseconds of load: of the whole run, of the steps that are done, of the step under way (at most; its job may end
    /// sooner) and how far it is, and those that were simulated in any step.
    total_ms: u64,
    done_ms: u64,
    step_ms: u64,
    step_max_ms: u64,
    elapsed_ms: u64,
    advanced_ms: u64,
    /// Whether steps end with their jobs, so that what is left is known at most.
    jobs: bool,
    /// When the run began, by the clock of the machine.
    began: Ns,
    /// Steps that began, and how many there are.
    steps: (u32, u32),
    step: String,
    /// What a search looks for with the step; empty where it is none of a search.
    aim: String,
    /// Why there are no figures yet.
    message: String,
    rates: Option<RecentRates>,
    hops: Vec<HopLoad>,
    course: VecDeque<f64>,
    /// Codes of warnings that were shown: the same one in every step would drown the figures, and the review has all.
    warned: BTreeSet<String>,
    hanging: Hanging,
}

/// What is worth a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It stays above the figures.
    Stays(String),
    /// It passes, and is shown until there are figures.
    Passes(String),
    /// A second of load.
    Second(String),
}

/// Workers whose I/O hangs. One of them speaks for all, however many hang on the same device.
#[derive(Default)]
struct Hanging {
    all: BTreeSet<Option<SourceId>>,
    /// The one whose events are shown.
    speaker: Option<Option<SourceId>>,
}

impl View {
    /// A run whose steps take `total` of load, which begins now.
    pub fn new(total: Duration, now: Ns) -> View {
        View {
            total_ms: u64::try_from(total.as_millis()).unwrap_or(u64::MAX),
            done_ms: 0,
            step_ms: 0,
            step_max_ms: 0,
            elapsed_ms: 0,
            advanced_ms: 0,
            jobs: false,
            began: now,
            steps: (0, 0),
            step: String::new(),
            aim: String::new(),
            message: String::new(),
            rates: None,
            hops: Vec::new(),
            course: VecDeque::new(),
            warned: BTreeSet::new(),
            hanging: Hanging::default(),
        }
    }

    /// Takes in one piece of progress; `side` is which of two runs that take turns, empty where there is one.
    pub fn take(&mut self, side: &str, progress: Progress) -> Option<News> {
        match progress {
            Progress::StepStarting { index, of, at_most, name, duration, aim } => {
                self.hanging = Hanging::default();
                self.steps = (self.steps.0 + 1, of);
                let of = if at_most { format!("at most {of}") } else { of.to_string() };
                self.step = format!("{side}[{}/{of}] {name}", index + 1);
                (self.step_ms, self.elapsed_ms) = (duration.0 / 1_000_000, 0);
                self.step_max_ms = self.step_ms;
                (self.rates, self.hops) = (None, Vec::new());
                self.aim = aim.map(|aim| format!("  ({aim})")).unwrap_or_default();
                self.message = "preparing".to_owned();
                Some(News::Passes(format!("{} …{}", self.step, self.aim)))
            }
            Progress::Preparing => None,
            Progress::Second { elapsed, rates, hops, .. } => {
                self.second(elapsed, rates, hops);
                let figures = figures(&rates, false).join("  ") + &self.hanging.text();
                let at = elapsed.as_secs_f64();
                Some(News::Second(format!("{}  {at:.0} s  {figures}", self.step)))
            }
            Progress::SimulatedSecond { elapsed, rates, hops } => {
                self.second(elapsed, rates, hops);
                None
            }
            Progress::Advanced(all) => {
                self.advanced_ms = all.0 / 1_000_000;
                None
            }
            Progress::StepDone { .. } => {
                if self.jobs {
                    self.lasts(self.elapsed_ms);
                }
                self.done_ms += self.step_ms;
                (self.step_ms, self.elapsed_ms) = (0, 0);
                None
            }
            Progress::Searched { text, unused } => {
                self.total_ms = self.total_ms.saturating_sub(unused.0 / 1_000_000);
                Some(News::Stays(text))
            }
            Progress::Event(event) if self.is_news(&event) => {
                Some(News::Stays(format!("{}: {}", word(event.level), event.text)))
            }
            // A file that is being filled keeps its step waiting: say so.
            Progress::Event(event) if event.level == Level::Info => {
                self.message.clone_from(&event.text);
                Some(News::Passes(event.text))
            }
            Progress::Event(_) => None,
        }
    }

    fn second(&mut self, elapsed: Ns, rates: RecentRates, hops: Vec<HopLoad>) {
        let at = elapsed.0 / 1_000_000;
        if let Some(job) = rates.job.filter(|job| job.ends_step) {
            self.jobs = true;
            if let Some(left) = job.remaining().filter(|_| !job.is_done()) {
                self.lasts(at + left.0.div_ceil(1_000_000));
            } else if job.is_done() {
                self.lasts(at);
            }
        }
        self.elapsed_ms = at.min(self.step_ms);
        (self.rates, self.hops) = (Some(rates), hops);
        if self.course.len() == KEPT {
            self.course.pop_front();
        }
        self.course.push_back(throughput(&rates));
    }

    /// The step under way lasts so long, by its job, and the run is that much shorter or longer than was thought. What was planned
    /// is the most that it may take.
    fn lasts(&mut self, ms: u64) {
        let ms = ms.min(self.step_max_ms);
        self.total_ms = (self.total_ms + ms).saturating_sub(self.step_ms);
        self.step_ms = ms;
    }

    fn is_news(&mut self, event: &Event) -> bool {
        match (event.level, event.code.as_str()) {
            (_, "hang") => self.hanging.begins(event.source),
            (_, "hang-over") => self.hanging.ends(event.source),
            (Level::Info, _) => false,
            (Level::Warning, _) => self.warned.insert(event.code.clone()),
            (Level::Error, _) => true,
        }
    }

    /// Milliseconds of load that are done: steps that are simulated side by side are ahead of the one under way.
    fn position(&self) -> u64 {
        (self.done_ms + self.elapsed_ms).max(self.advanced_ms).min(self.total_ms)
    }

    /// How long the rest takes, as far as that can be told now: load takes its time, and each step to come takes as
    /// long beside its load as those did that began. Simulated load takes what it took so far.
    fn left(&self, now: Ns) -> Option<Duration> {
        let (position, passed) = (self.position(), now.since(self.began).0 / 1_000_000);
        let left = self.total_ms - position;
        let ms = if self.advanced_ms > 0 {
            left as f64 * passed as f64 / position.max(1) as f64
        } else {
            let (begun, of) = self.steps;
            let beside = passed.saturating_sub(position) as f64 / f64::from(begun.max(1));
            left as f64 + beside * f64::from(of.saturating_sub(begun))
        };
        (position > 0).then(|| Duration::from_secs((ms / 1000.0).ceil() as u64))
    }

    /// The lines of a terminal of so many columns.
    pub fn lines(&self, columns: usize, coloured: bool, now: Ns) -> Vec<String> {
        let mut lines = vec![format!("{}{}", self.step, self.aim)];
        match &self.rates {
            None => lines.push(format!("  {} …", self.message)),
            Some(rates) => {
                let mut parts = figures(rates, true);
                parts.extend(Some(self.hanging.text().trim().to_owned()).filter(|t| !t.is_empty()));
                lines.extend(filled(&parts, columns));
                let label = format!("  last {} s", self.course.len());
                let course: Vec<f64> = self.course.iter().copied().collect();
                let width = columns.saturating_sub(label.len() + 2).min(60);
                lines.push(format!("  {}{label}", sparkline(&course, width)));
                lines.extend(filled(&limit::parts(&self.hops), columns));
            }
        }
        // Names of steps and hops are the scenario's; the bar alone has colours of ours.
        let mut lines: Vec<String> = lines.iter().map(|line| review::plain(line)).collect();
        lines.push(self.bar(columns, coloured, now));
        lines
    }

    /// How far the run is: a bar where there is room, the step's time, and what is left of the run.
    fn bar(&self, columns: usize, coloured: bool, now: Ns) -> String {
        let share = self.position() as f64 / self.total_ms.max(1) as f64;
        let percent = format!("{:.0}%", (share * 100.0).floor());
        let more = self.jobs && self.steps.0 < self.steps.1;
        let most = if more { "at most " } else { "" };
        let left = self.left(now).map(|left| format!("{most}{} left", units::duration(left)));
        let (at, of) = (self.elapsed_ms / 1000, self.step_ms.div_ceil(1000));
        let about = if self.jobs { "about " } else { "" };
        let step = (of > 0 && self.rates.is_some()).then(|| format!("step {at} of {about}{of} s"));
        let joined = |parts: &[&Option<String>]| {
            let parts = parts.iter().filter_map(|part| part.as_deref());
            std::iter::once(percent.as_str()).chain(parts).collect::<Vec<_>>().join("  ")
        };
        let mut text = joined(&[&step, &left]);
        if text.chars().count() > columns {
            text = joined(&[&left]);
        }
        let wide = columns.saturating_sub(text.chars().count() + 1).min(24);
        let full = ((share * wide as f64) as usize).min(wide);
        let (done, rest) = ("━".repeat(full), "─".repeat(wide - full));
        match (wide, coloured) {
            (0, _) => text,
            (_, true) => format!("\u{1b}[36m{done}\u{1b}[0m{rest} {text}"),
            (_, false) => format!("{done}{rest} {text}"),
        }
    }
}

/// Parts in as few lines as they need, each whole.
fn filled(parts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 2 + part.chars().count() <= columns => {
                line.push_str("  ");
                line.push_str(part);
            }
            _ => lines.push(format!("  {part}")),
        }
    }
    lines
}

impl Hanging {
    /// Takes in that a worker hangs, or still does; whether to say so.
    fn begins(&mut self, worker: Option<SourceId>) -> bool {
        self.all.insert(worker);
        *self.speaker.get_or_insert(worker) == worker
    }

    /// Takes in that a worker hangs no more; whether to say so.
    fn ends(&mut self, worker: Option<SourceId>) -> bool {
        self.all.remove(&worker);
        self.speaker.take_if(|speaker| *speaker == worker).is_some()
    }

    fn text(&self) -> String {
        match self.all.len() {
            0 => String::new(),
            1 => "  1 worker hangs".to_owned(),
            n => format!("  {n} workers hang"),
        }
    }
}

/// Bytes a second of everything; transactions where nothing else is moved.
fn throughput(rates: &RecentRates) -> f64 {
    let net = rates.net.map_or(0.0, |net| {
        let bytes = net.up_bytes_per_s.unwrap_or(0.0) + net.down_bytes_per_s.unwrap_or(0.0);
        net.transactions.map_or(bytes, |(per_s, _)| per_s)
    });
    rates.disk.map_or(0.0, |disk| disk.bytes_per_s) + net
}

/// The figures in parts; a line a second does without the `median`.
fn figures(rates: &RecentRates, median: bool) -> Vec<String> {
    // Of a job that is done the last second is a part of one: its rates would mean nothing.
    let over = rates.job.is_some_and(|job| job.ends_step && job.is_done());
    let parts = [
        rates.disk.as_ref().map(|of| {
            if over { errors(of.errors).into_iter().collect() } else { disk(of, median) }
        }),
        rates.net.as_ref().map(net),
        rates.job.as_ref().map(job),
    ];
    parts.into_iter().flatten().flatten().collect()
}

fn disk(rates: &DiskRates, median: bool) -> Vec<String> {
    let time = |ns: Option<Ns>| ns.map_or("-".to_owned(), |ns| units::duration(ns.into()));
    let mut parts =
        vec![format!("{} IOPS", units::count(rates.iops)), units::rate(rates.bytes_per_s)];
    parts.extend(median.then(|| format!("p50 {}", time(rates.p50))));
    parts.push(format!("p99 {}", time(rates.p99)));
    parts.extend(errors(rates.errors));
    parts
}

/// How much of a job is done, of how much, and how long it goes on at the present rate.
fn job(of: &JobRates) -> Vec<String> {
    // All of it is all of it: 99.9% are not 100%.
    let share = (of.moved.min(of.amount) as f64 / of.amount.max(1) as f64 * 100.0).floor();
    let left = match of.remaining() {
        _ if of.is_done() => "done".to_owned(),
        Some(left) => {
            format!("{} left", units::duration(Ns::secs(left.0.div_ceil(1_000_000_000)).into()))
        }
        None => "nothing moves".to_owned(),
    };
    vec![format!("job {} ({share:.0}%), {left}", amounts(of.moved.min(of.amount), of.amount))]
}

/// `2.50 of 10 GB`: both in the unit of the whole.
fn amounts(done: u64, all: u64) -> String {
    let (scale, unit) = match all {
        0..1_000_000 => (1e3, "kB"),
        1_000_000..1_000_000_000 => (1e6, "MB"),
        1_000_000_000..1_000_000_000_000 => (1e9, "GB"),
        _ => (1e12, "TB"),
    };
    format!("{} of {} {unit}", units::count(done as f64 / scale), units::count(all as f64 / scale))
}

/// Bytes as they were received, each way.
fn net(rates: &NetRates) -> Vec<String> {
    let rate = |way: &str, rate: Option<f64>| rate.map(|r| format!("{way} {}", units::rate(r)));
    let time = |ns: Ns| units::duration(ns.into());
    let mut parts: Vec<String> = match rates.transactions {
        Some((per_s, p99)) => {
            vec![format!("{} transactions/s", units::count(per_s)), format!("p99 {}", time(p99))]
        }
        None => {
            let ways =
                [rate("sent", rates.up_bytes_per_s), rate("received", rates.down_bytes_per_s)];
            ways.into_iter().flatten().collect()
        }
    };
    parts.extend(rates.probe_p99.map(|p99| format!("probe p99 {}", time(p99))));
    parts.extend(errors(rates.errors));
    parts
}

fn errors(errors: u64) -> Option<String> {
    (errors > 0).then(|| format!("{errors} errors"))
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Info => "note",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use campaign::LoadOf;

    #[test]
    fn disks_and_networks_stand_side_by_side() {
        let disk = DiskRates {
            iops: 1000.0,
            bytes_per_s: 4e6,
            errors: 1,
            p50: Some(Ns(7_000)),
            p99: None,
        };
        let streams = NetRates {
            up_bytes_per_s: Some(2e9),
            down_bytes_per_s: Some(1e6),
            probe_p99: Some(Ns(60_000)),
            ..NetRates::default()
        };
        let asks = NetRates { transactions: Some((500.0, Ns(80_000))), errors: 2, ..streams };
        for (disk, net, expected) in [
            (Some(disk), None, "1,000 IOPS  4 MB/s  p99 -  1 errors"),
            (None, Some(streams), "sent 2000 MB/s  received 1 MB/s  probe p99 60 us"),
            (None, Some(asks), "500 transactions/s  p99 80 us  probe p99 60 us  2 errors"),
            (
                Some(disk),
                Some(NetRates { up_bytes_per_s: Some(5e6), ..NetRates::default() }),
                "1,000 IOPS  4 MB/s  p99 -  1 errors  sent 5 MB/s",
            ),
        ] {
            assert_eq!(figures(&RecentRates { disk, net, job: None }, false).join("  "), expected);
        }
    }

    #[test]
    fn a_job_says_how_far_it_is_and_how_long_it_goes_on() {
        let of = JobRates {
            moved: 2_500_000_000,
            amount: 10_000_000_000,
            bytes_per_s: 1e9,
            ..JobRates::default()
        };
        let small = JobRates { moved: 250_000, amount: 1_000_000, bytes_per_s: 1e5, ..of };
        for (of, expected) in [
            (of, "job 2.50 of 10 GB (25%), 8 s left"),
            (small, "job 0.25 of 1 MB (25%), 8 s left"),
            (JobRates { moved: 9_990_000_000, ..of }, "job 9.99 of 10 GB (99%), 1 s left"),
            (JobRates { bytes_per_s: 0.0, ..of }, "job 2.50 of 10 GB (25%), nothing moves"),
            (JobRates { moved: 10_240_000_000, ..of }, "job 10 of 10 GB (100%), done"),
        ] {
            let rates = RecentRates { job: Some(of), ..RecentRates::default() };
            assert_eq!(figures(&rates, false), [expected]);
        }
    }

    /// A run of two steps of ten seconds, in the first step's sixth second.
    fn view() -> View {
        let mut view = View::new(Duration::from_secs(20), Ns::secs(100));
        let (name, duration) = ("block 8KiB".to_owned(), Ns::secs(10));
        let aim = None;
        view.take(
            "",
            Progress::StepStarting { index: 0, of: 2, at_most: false, name, duration, aim },
        );
        let disk = DiskRates {
            iops: 100_778.0,
            bytes_per_s: 825e6,
            errors: 0,
            p50: Some(Ns(64_800)),
            p99: Some(Ns(2_298_000)),
        };
        for n in 1..=6 {
            let of = LoadOf::Speed { read: true, bytes_per_s: 827e6 };
            let hops = vec![HopLoad { name: "store.p1".to_owned(), share: 0.998, of }];
            let rates = RecentRates { disk: Some(disk), net: None, job: None };
            let (elapsed, remaining) = (Ns::secs(n), Ns::secs(10 - n));
            view.take("", Progress::Second { elapsed, remaining, rates, hops });
        }
        view
    }

    #[test]
    fn a_wide_terminal_and_a_narrow_one_show_the_same() {
        // Two seconds of preparation before the load, as before the step to come.
        let now = Ns::secs(108);
        assert_eq!(
            view().lines(79, false, now),
            [
                "[1/2] block 8KiB",
                "  100,778 IOPS  825 MB/s  p50 64.8 us  p99 2.30 ms",
                "  ██████  last 6 s",
                "  limit now: store.p1, 99% of 827 MB/s (read)",
                "━━━━━━━───────────────── 30%  step 6 of 10 s  16 s left",
            ]
        );
        let narrow = view().lines(39, false, now);
        assert_eq!(
            narrow,
            [
                "[1/2] block 8KiB",
                "  100,778 IOPS  825 MB/s  p50 64.8 us",
                "  p99 2.30 ms",
                "  ██████  last 6 s",
                "  limit now: store.p1, 99% of 827 MB/s (read)",
                "━━────── 30%  step 6 of 10 s  16 s left",
            ]
        );
        let coloured = view().lines(79, true, now);
        assert!(coloured[4].contains("\u{1b}[36m") && !coloured[..4].concat().contains('\u{1b}'));
    }

    /// A step of at most 10 s whose job takes 4 s, and another that may take 10 s.
    #[test]
    fn a_step_lasts_as_long_as_its_job() {
        let mut view = View::new(Duration::from_secs(20), Ns::secs(100));
        let (name, duration) = ("a".to_owned(), Ns::secs(10));
        let start = |index| Progress::StepStarting {
            index,
            of: 2,
            at_most: false,
            name: name.clone(),
            duration,
            aim: None,
        };
        let rates = |moved| {
            let disk = DiskRates { iops: 5.0, bytes_per_s: 250.0, ..DiskRates::default() };
            let job = JobRates { moved, amount: 1000, bytes_per_s: 250.0, ends_step: true };
            RecentRates { disk: Some(disk), net: None, job: Some(job) }
        };
        let second = |n, moved| Progress::Second {
            elapsed: Ns::secs(n),
            remaining: Ns::secs(10 - n),
            rates: rates(moved),
            hops: Vec::new(),
        };
        view.take("", start(0));
        view.take("", second(1, 250));
        let bar = |view: &View, now| view.bar(79, false, Ns::secs(now));
        assert!(bar(&view, 101).ends_with(" 7%  step 1 of about 4 s  at most 13 s left"));
        let said = view.take("", second(5, 1000));
        assert_eq!(said, Some(News::Second("[1/2] a  5 s  job 1 of 1 kB (100%), done".to_owned())));
        view.take("", Progress::StepDone { index: 0 });
        view.take("", start(1));
        view.take("", second(2, 500));
        assert!(
            bar(&view, 107).ends_with("  step 2 of about 4 s  2 s left"),
            "{}",
            bar(&view, 107)
        );
        // It never takes longer than was planned.
        view.take("", second(9, 600));
        assert!(
            bar(&view, 114).ends_with("  step 9 of about 10 s  1 s left"),
            "{}",
            bar(&view, 114)
        );
    }

    #[test]
    fn what_is_simulated_takes_as_long_as_it_took() {
        let mut view = View::new(Duration::from_secs(20), Ns::secs(100));
        assert_eq!(view.left(Ns::secs(101)), None, "nothing is known yet");
        view.take("", Progress::Advanced(Ns::secs(5)));
        // Five of twenty seconds of load in two: six are left.
        assert_eq!(view.left(Ns::secs(102)), Some(Duration::from_secs(6)));
        view.take("", Progress::Searched { text: String::new(), unused: Ns::secs(10) });
        assert_eq!(view.left(Ns::secs(102)), Some(Duration::from_secs(2)));
    }

    #[test]
    fn one_worker_speaks_for_all_that_hang() {
        let worker = |n| Some(SourceId(n));
        let mut hanging = Hanging::default();
        assert_eq!(hanging.text(), "");
        assert!(hanging.begins(worker(1)), "the first");
        assert_eq!(hanging.text(), "  1 worker hangs");
        assert!(hanging.begins(worker(1)), "again, as its age has doubled");
        assert!(!hanging.begins(worker(2)), "another on the same device");
        assert_eq!(hanging.text(), "  2 workers hang");
        assert!(hanging.ends(worker(1)));
        assert!(hanging.begins(worker(2)), "the next to speak");
        assert!(!hanging.begins(worker(1)) && !hanging.ends(worker(1)));
        assert!(hanging.ends(worker(2)));
        assert_eq!(hanging.text(), "");
    }
}

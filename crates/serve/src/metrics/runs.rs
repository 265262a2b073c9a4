//! Figures of runs and of the page, as they are read off records.

use super::{Labels, Sheet};
use crate::app::App;
use crate::live::document::name;
use crate::live::locked;
use crate::live::state::State;
use record::{Follower, RecordError, Status};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::Ordering;

/// Groups (VMs, targets) and hops that are told apart.
const APART: usize = 64;
/// Runs that a page tells of.
const RUNS: usize = 16;
/// Intervals that a scrape takes in at once.
const PART: u32 = 2_000;

/// Adds the figures of a run.
fn run(sheet: &mut Sheet, id: &str, state: &State) {
    let labels = |more: &[(&'static str, &str)]| -> Labels {
        let more = more.iter().map(|(name, value)| (*name, review::clean(value)));
        std::iter::once(("run", id.to_owned())).chain(more).collect()
    };
    let word = match state.status {
        Status::Running => "running",
        Status::Complete => "complete",
        Status::Stopped => "stopped",
        Status::Failed => "failed",
    };
    let step = state.step().map(name).unwrap_or_default();
    let info = labels(&[("title", &state.head.title), ("state", word), ("step", &step)]);
    sheet.gauge(
        ("wirespeed_run_state", None),
        "What the run is and in which state; always 1",
        info,
        1.0,
    );
    let started = state.head.wall_ns as f64 / 1e9;
    sheet.gauge(
        ("wirespeed_run_start_timestamp", Some("seconds")),
        "When the run began",
        labels(&[]),
        started,
    );
    let number = state.step().map_or(0.0, |step| f64::from(step.index) + 1.0);
    sheet.gauge(("wirespeed_run_step", None), "The step under way, from 1", labels(&[]), number);
    counts(sheet, state, &labels);
    latest(sheet, state, &labels);
    let help = "Response time of all operations, in any phase";
    sheet.times("wirespeed_run_response_time", help, labels(&[]), &state.latency);
    groups(sheet, state, &labels);
    for hop in state.hops.iter().take(APART) {
        let help = "How full a hop was in the latest second; the fullest 64";
        sheet.gauge(
            ("wirespeed_hop_load", Some("ratio")),
            help,
            labels(&[("hop", &hop.name)]),
            hop.share.clamp(0.0, 1.0),
        );
    }
}

type MakeLabels<'a> = dyn Fn(&[(&'static str, &str)]) -> Labels + 'a;

fn counts(sheet: &mut Sheet, state: &State, labels: &MakeLabels) {
    let totals = &state.totals;
    sheet.count(
        ("wirespeed_run_operations", None),
        "Operations that succeeded, in any phase",
        labels(&[]),
        totals.ops as f64,
    );
    for (direction, bytes) in [("read", totals.read), ("write", totals.written)] {
        let help = "Bytes that were moved, in any phase";
        sheet.count(
            ("wirespeed_run_transferred", Some("bytes")),
            help,
            labels(&[("direction", direction)]),
            bytes as f64,
        );
    }
    sheet.count(
        ("wirespeed_run_errors", None),
        "Operations that failed",
        labels(&[]),
        totals.errors as f64,
    );
    for (level, count) in ["info", "warning", "error"].iter().zip(state.event_counts) {
        let help = "Events of the record by severity";
        sheet.count(
            ("wirespeed_run_events", None),
            help,
            labels(&[("level", level)]),
            count as f64,
        );
    }
}

/// The latest whole second: with a scrape every few seconds, rates of the counters say more.
fn latest(sheet: &mut Sheet, state: &State, labels: &MakeLabels) {
    let Some((_, second)) = state.latest() else { return };
    sheet.gauge(
        ("wirespeed_run_iops", None),
        "Operations a second, in the latest second",
        labels(&[]),
        second.iops,
    );
    for (direction, rate) in
        [("read", second.read), ("write", second.write), ("network", second.net)]
    {
        let help = "Bytes a second, in the latest second";
        sheet.gauge(
            ("wirespeed_run_throughput", Some("bytes_per_second")),
            help,
            labels(&[("direction", direction)]),
            rate,
        );
    }
    for (quantile, ns) in ["0.5", "0.99", "0.999"].iter().zip(second.latency.into_iter().flatten())
    {
        let help = "Percentiles of response time, in the latest second";
        sheet.gauge(
            ("wirespeed_run_latest_response_time", Some("seconds")),
            help,
            labels(&[("quantile", quantile)]),
            ns.0 as f64 / 1e9,
        );
    }
}

fn groups(sheet: &mut Sheet, state: &State, labels: &MakeLabels) {
    let mut rest = [0.0; 3];
    for (n, (group, of)) in state.groups.iter().enumerate() {
        if n >= APART {
            rest = [rest[0] + of.iops, rest[1] + of.read, rest[2] + of.write];
            continue;
        }
        group_figures(
            sheet,
            &|more| labels(&[&[("group", group.as_str())][..], more].concat()),
            [of.iops, of.read, of.write],
        );
        if let Some(p99) = of.p99 {
            let help =
                "The 99th percentile of response time of a VM or target, in the latest second";
            sheet.gauge(
                ("wirespeed_group_response_time_p99", Some("seconds")),
                help,
                labels(&[("group", group)]),
                p99.as_secs_f64(),
            );
        }
    }
    if state.groups.len() > APART {
        group_figures(sheet, &|more| labels(&[&[("group", "(others)")][..], more].concat()), rest);
    }
}

fn group_figures(sheet: &mut Sheet, labels: &MakeLabels, [iops, read, write]: [f64; 3]) {
    sheet.gauge(
        ("wirespeed_group_iops", None),
        "Operations a second of a VM or target, in the latest second",
        labels(&[]),
        iops,
    );
    for (direction, rate) in [("read", read), ("write", write)] {
        let help = "Bytes a second of a VM or target, in the latest second";
        sheet.gauge(
            ("wirespeed_group_throughput", Some("bytes_per_second")),
            help,
            labels(&[("direction", direction)]),
            rate,
        );
    }
}

/// What the page tells of itself and of the runs in progress.
pub(crate) fn of_page(app: &App) -> Sheet {
    let mut sheet = Sheet::new();
    let running = app.running();
    let count = |n: u64| n as f64;
    let up = clock::now().since(app.began).as_secs_f64();
    sheet.gauge(
        ("wirespeed_serve_uptime", Some("seconds")),
        "How long the page has been served",
        Vec::new(),
        up,
    );
    let records = app.library.entries().len() as f64;
    sheet.gauge(("wirespeed_serve_records", None), "Records in the library", Vec::new(), records);
    sheet.gauge(
        ("wirespeed_serve_runs", None),
        "Runs in progress on this machine",
        Vec::new(),
        running.len() as f64,
    );
    sheet.gauge(
        ("wirespeed_serve_viewers", None),
        "Open streams",
        Vec::new(),
        app.viewers() as f64,
    );
    let requests = count(app.requests.load(Ordering::Relaxed));
    sheet.count(("wirespeed_serve_requests", None), "Requests", Vec::new(), requests);
    let refused = count(app.refused.load(Ordering::Relaxed));
    sheet.count(
        ("wirespeed_serve_refused_requests", None),
        "Requests refused before anything was done for them",
        Vec::new(),
        refused,
    );
    for one in running.iter().take(RUNS) {
        let Some(viewer) = app.hub.follow(&one.id, &one.path) else { continue };
        viewer.run.with_state(|state| run(&mut sheet, &one.id, state));
    }
    sheet
}

/// The figures of one run, read off its record when somebody asks.
pub struct OfRun {
    inner: Mutex<Option<(Follower, State)>>,
    path: PathBuf,
}

impl OfRun {
    /// The run that writes this record, which need not be there yet.
    pub fn new(path: &Path) -> OfRun {
        OfRun { inner: Mutex::default(), path: path.to_owned() }
    }

    /// Its figures now.
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new();
        let read = self.read(&mut sheet);
        let help = "1 where the record could be read";
        sheet.gauge(
            ("wirespeed_run_record_readable", None),
            help,
            Vec::new(),
            f64::from(u8::from(read.is_ok())),
        );
        sheet
    }

    fn read(&self, sheet: &mut Sheet) -> Result<(), RecordError> {
        let mut inner = locked(&self.inner);
        if inner.is_none() {
            let follower = Follower::open(&self.path)?;
            let state = State::new(follower.head().clone());
            *inner = Some((follower, state));
        }
        let Some((follower, state)) = inner.as_mut() else { return Ok(()) };
        loop {
            let news = follower.look(PART)?;
            let more = news.more;
            state.take(news);
            if !more {
                break;
            }
        }
        let id = self.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        run(sheet, &review::clean(&id.unwrap_or_default()), state);
        Ok(())
    }
}

//! Figures for monitoring, in the text form of OpenMetrics 1.0, which Prometheus scrapes. `docs/metrics.md` lists every name.
//!
//! Names and units are stable. How many series there are is bounded, whatever a lab holds: of more groups and hops than are
//! told apart, the rest is one. Nothing is counted for a scrape: figures of a run are read off its record when somebody asks.

use crate::app::App;
use crate::http;
use crate::live::document::name;
use crate::live::locked;
use crate::live::state::State;
use axum::Router;
use axum::http::header;
use axum::routing::get;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use record::{Follower, RecordError, Status};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The form of an answer.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Groups (VMs, targets) and hops that are told apart.
const APART: usize = 64;
/// Runs that a page tells of.
const RUNS: usize = 16;
/// Upper bounds of the histogram of response time, in nanoseconds: 1, 2, 5 from 10 µs to 10 s.
const BOUNDS: [u64; 19] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];
/// Intervals that a scrape takes in at once.
const PART: u32 = 2_000;

/// Labels of a series, by name.
pub type Labels = Vec<(&'static str, String)>;

#[derive(Clone, Debug)]
enum Value {
    Gauge(f64),
    Count(f64),
    /// Counts up to each of [`BOUNDS`], all, and their sum in seconds.
    Times(Vec<u64>, u64, f64),
}

#[derive(Clone, Debug)]
struct Metric {
    name: &'static str,
    help: &'static str,
    unit: Option<&'static str>,
    series: Vec<(Labels, Value)>,
}

/// Figures of one moment.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    metrics: Vec<Metric>,
}

impl Sheet {
    /// An empty sheet.
    pub fn new() -> Sheet {
        Sheet::default()
    }

    /// A level, with its unit as a plural word, which ends the name. `name` is without either.
    pub fn gauge(
        &mut self,
        (name, unit): (&'static str, Option<&'static str>),
        help: &'static str,
        labels: Labels,
        value: f64,
    ) {
        self.add((name, unit), help, labels, Value::Gauge(value));
    }

    /// What only grows; `_total` is added to its name.
    pub fn count(
        &mut self,
        (name, unit): (&'static str, Option<&'static str>),
        help: &'static str,
        labels: Labels,
        value: f64,
    ) {
        self.add((name, unit), help, labels, Value::Count(value));
    }

    fn add(
        &mut self,
        (name, unit): (&'static str, Option<&'static str>),
        help: &'static str,
        labels: Labels,
        value: Value,
    ) {
        if matches!(value, Value::Gauge(v) | Value::Count(v) if !v.is_finite()) {
            return;
        }
        match self.metrics.iter_mut().find(|metric| metric.name == name && metric.unit == unit) {
            Some(metric) => metric.series.push((labels, value)),
            None => self.metrics.push(Metric { name, help, unit, series: vec![(labels, value)] }),
        }
    }

    /// The text of a scrape.
    pub fn text(self) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _infallible = encode(&mut text, &registry);
        text
    }
}

impl Collector for Sheet {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        for metric in &self.metrics {
            let unit = metric.unit.map(|unit| Unit::Other(unit.to_owned()));
            let kind = match metric.series.first() {
                Some((_, Value::Count(_))) => MetricType::Counter,
                Some((_, Value::Times(..))) => MetricType::Histogram,
                _ => MetricType::Gauge,
            };
            let mut family =
                encoder.encode_descriptor(metric.name, metric.help, unit.as_ref(), kind)?;
            for (labels, value) in &metric.series {
                let mut one = family.encode_family(labels)?;
                match value {
                    Value::Gauge(value) => ConstGauge::new(*value).encode(one)?,
                    Value::Count(value) => ConstCounter::new(*value).encode(one)?,
                    Value::Times(counts, all, sum) => {
                        let mut buckets: Vec<(f64, u64)> = Vec::new();
                        let mut before = 0;
                        for (bound, upto) in BOUNDS.iter().zip(counts) {
                            buckets.push((*bound as f64 / 1e9, upto - before));
                            before = *upto;
                        }
                        buckets.push((f64::MAX, all - before));
                        one.encode_histogram::<Labels>(*sum, *all, &buckets, None)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Adds the figures of a run.
pub(crate) fn run(sheet: &mut Sheet, id: &str, state: &State) {
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
    times(sheet, state, labels(&[]));
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

fn times(sheet: &mut Sheet, state: &State, labels: Labels) {
    let (mut upto, mut all, mut sum) = (vec![0_u64; BOUNDS.len()], 0_u64, 0.0);
    for (time, count) in state.latency.counts() {
        all += count;
        sum += time.as_secs_f64() * count as f64;
        let from = BOUNDS.partition_point(|bound| *bound < time.0);
        upto[from..].iter_mut().for_each(|sum| *sum += count);
    }
    let help = "Response time of all operations, in any phase";
    sheet.add(
        ("wirespeed_run_response_time", Some("seconds")),
        help,
        labels,
        Value::Times(upto, all, sum),
    );
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
pub(crate) fn of_page(app: &App) -> String {
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
    sheet.text()
}

/// The figures of one run, read off its record when somebody asks.
pub struct OfRun {
    inner: Mutex<Option<(Follower, State)>>,
    path: std::path::PathBuf,
}

impl OfRun {
    /// The run that writes this record, which need not be there yet.
    pub fn new(path: &Path) -> OfRun {
        OfRun { inner: Mutex::default(), path: path.to_owned() }
    }

    /// The text of a scrape.
    pub fn text(&self) -> String {
        let mut sheet = Sheet::new();
        let read = self.read(&mut sheet);
        let help = "1 where the record could be read";
        sheet.gauge(
            ("wirespeed_run_record_readable", None),
            help,
            Vec::new(),
            f64::from(u8::from(read.is_ok())),
        );
        sheet.text()
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

/// A listener that answers `/metrics` until it is dropped.
pub struct Listening {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Where.
    pub address: SocketAddr,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers `/metrics` on loopback, from a thread of the control plane. Another address is refused: what runs there is
/// scraped through `wirespeed serve`, which asks for a token, or through a proxy.
/// # Errors
/// The address is not loopback, or cannot be listened on.
pub fn listen(
    address: SocketAddr,
    text: Arc<dyn Fn() -> String + Send + Sync>,
) -> io::Result<Listening> {
    if !address.ip().is_loopback() {
        let why = "metrics are told on loopback alone: use 127.0.0.1, and a proxy or `wirespeed serve` for other machines";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let listener = http::bind(address)?;
    let address = listener.local_addr()?;
    let access = Arc::new(http::access::Access::new(address, &[], false, None));
    let answer = async move |headers: axum::http::HeaderMap| {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| access.knows_host(host)) {
            return http::reply::Refusal::not_found("host").page();
        }
        let made = tokio::task::spawn_blocking(move || text()).await.unwrap_or_default();
        axum::response::IntoResponse::into_response(([(header::CONTENT_TYPE, CONTENT_TYPE)], made))
    };
    let router = Router::new().route("/metrics", get(answer));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let serve = move || drop(http::answer(listener, &router, &|| stopped.load(Ordering::Relaxed)));
    let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
    Ok(Listening { stop, thread: Some(thread), address })
}

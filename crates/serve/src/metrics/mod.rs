//! Figures for monitoring, in the text form of OpenMetrics 1.0, which Prometheus scrapes, or in Prometheus's own binary form
//! with native histograms, where it asks for that. `docs/metrics.md` lists every name.
//!
//! Names and units are stable. How many series there are is bounded, whatever a lab holds: of more groups and hops than are
//! told apart, the rest is one. Nothing is counted for a scrape: figures of a run are read off its record when somebody asks.

mod protobuf;
mod runs;
mod times;

pub use runs::OfRun;
pub(crate) use runs::of_page;

use crate::http;
use axum::Router;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
use record::Histogram;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use times::Times;

/// What an answer in text is called.
const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Labels of a series, by name.
pub type Labels = Vec<(&'static str, String)>;

#[derive(Clone, Debug)]
enum Value {
    Gauge(f64),
    Count(f64),
    Times(Times),
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

    /// All response times, in seconds.
    pub fn times(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: Labels,
        histogram: &Histogram,
    ) {
        self.add((name, Some("seconds")), help, labels, Value::Times(Times::of(histogram)));
    }

    /// The answer to a scrape in the form that is asked for, and what that is called.
    pub(crate) fn answer(self, accept: &str) -> (&'static str, Vec<u8>) {
        if protobuf::is_preferred(accept) {
            return (protobuf::CONTENT_TYPE, protobuf::encode(&self.metrics));
        }
        (CONTENT_TYPE, self.text().into_bytes())
    }

    /// The text of a scrape.
    fn text(self) -> String {
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
                Some((_, Value::Times(_))) => MetricType::Histogram,
                _ => MetricType::Gauge,
            };
            let mut family =
                encoder.encode_descriptor(metric.name, metric.help, unit.as_ref(), kind)?;
            for (labels, value) in &metric.series {
                let mut one = family.encode_family(labels)?;
                match value {
                    Value::Gauge(value) => ConstGauge::new(*value).encode(one)?,
                    Value::Count(value) => ConstCounter::new(*value).encode(one)?,
                    Value::Times(times) => {
                        let (sum, all) = (times.sum, times.all);
                        one.encode_histogram::<Labels>(sum, all, &times.between(), None)?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// A sheet as the answer to a scrape.
pub(crate) fn answered(sheet: Sheet, asked: &HeaderMap) -> Response {
    let accept = asked.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let (kind, body) = sheet.answer(accept.unwrap_or_default());
    ([(header::CONTENT_TYPE, kind)], body).into_response()
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
    sheet: Arc<dyn Fn() -> Sheet + Send + Sync>,
) -> io::Result<Listening> {
    if !address.ip().is_loopback() {
        let why = "metrics are told on loopback alone: use 127.0.0.1, and a proxy or `wirespeed serve` for other machines";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let listener = http::bind(address)?;
    let address = listener.local_addr()?;
    let access = Arc::new(http::access::Access::new(address, &[], false, None));
    let answer = async move |headers: HeaderMap| {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| access.knows_host(host)) {
            return http::reply::Refusal::not_found("host").page();
        }
        let sheet = tokio::task::spawn_blocking(move || sheet()).await.unwrap_or_default();
        answered(sheet, &headers)
    };
    let router = Router::new().route("/metrics", get(answer));
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = Arc::clone(&stop);
    let serve =
        move || drop(http::answer(listener, None, &router, &|| stopped.load(Ordering::Relaxed)));
    let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(serve)?;
    Ok(Listening { stop, thread: Some(thread), address })
}

//! The shape of fio's JSON, key for key and in its order.

use crate::fio_bins::FioBins;
use record::Histogram;
use serde::{Serialize, Serializer};

/// Keys with their values, in an order of their own: fio's bins ascend by number, not by text.
pub(crate) struct Ordered<V>(pub Vec<(String, V)>);

impl<V: Serialize> Serialize for Ordered<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// A figure that was not measured: always null.
pub(crate) type Unknown = Option<u64>;

#[derive(Serialize)]
pub(crate) struct FioOutput {
    #[serde(rename = "fio version")]
    pub fio_version: String,
    pub timestamp: u64,
    pub timestamp_ms: u64,
    pub time: String,
    #[serde(rename = "global options")]
    pub global_options: Ordered<String>,
    pub jobs: Vec<FioJob>,
}

#[derive(Serialize)]
pub(crate) struct FioJob {
    pub jobname: String,
    pub groupid: usize,
    pub error: u64,
    pub eta: u64,
    pub elapsed: u64,
    #[serde(rename = "job options")]
    pub options: Ordered<String>,
    pub read: FioDirection,
    pub write: FioDirection,
    pub trim: FioDirection,
    pub sync: Sync,
    pub job_runtime: u64,
    pub usr_cpu: Option<f64>,
    pub sys_cpu: Option<f64>,
    pub ctx: Unknown,
    pub majf: Unknown,
    pub minf: Unknown,
    pub iodepth_level: Unknown,
    pub iodepth_submit: Unknown,
    pub iodepth_complete: Unknown,
    pub latency_ns: Ordered<f64>,
    pub latency_us: Ordered<f64>,
    pub latency_ms: Ordered<f64>,
    pub latency_depth: Option<u64>,
    pub latency_target: u64,
    pub latency_percentile: f64,
    pub latency_window: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_err: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_error: Option<u64>,
}

/// One direction of a job.
#[derive(Serialize)]
pub(crate) struct FioDirection {
    pub io_bytes: u64,
    pub io_kbytes: u64,
    pub bw_bytes: u64,
    pub bw: u64,
    pub iops: f64,
    pub runtime: u64,
    pub total_ios: u64,
    pub short_ios: Unknown,
    pub drop_ios: u64,
    pub slat_ns: FioLatency,
    pub clat_ns: FioLatency,
    pub lat_ns: FioLatency,
    pub bw_min: u64,
    pub bw_max: u64,
    pub bw_agg: f64,
    pub bw_mean: f64,
    pub bw_dev: f64,
    pub bw_samples: usize,
    pub iops_min: u64,
    pub iops_max: u64,
    pub iops_mean: f64,
    pub iops_stddev: f64,
    pub iops_samples: usize,
}

#[derive(Serialize)]
pub(crate) struct Sync {
    pub total_ios: u64,
    pub lat_ns: FioLatency,
}

/// The moments of a distribution; `N` is 0 where nothing was sampled.
#[derive(Default, Serialize)]
pub(crate) struct FioLatency {
    min: u64,
    max: u64,
    mean: f64,
    stddev: f64,
    #[serde(rename = "N")]
    samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentile: Option<Ordered<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bins: Option<Ordered<u64>>,
}

/// The percentiles that fio lists by default.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

impl FioLatency {
    /// The mean is the histogram's own where no exact one is known.
    pub fn of(histogram: &Histogram, exact_mean: Option<f64>) -> FioLatency {
        let samples = histogram.count();
        let (Some(min), Some(max), Some(mean)) =
            (histogram.min(), histogram.max(), histogram.mean())
        else {
            return FioLatency::default();
        };
        let mean = exact_mean.unwrap_or(mean.0 as f64);
        let squares = histogram.counts().map(|(at, n)| (at.0 as f64 - mean).powi(2) * n as f64);
        let stddev = (squares.sum::<f64>() / (samples.max(2) - 1) as f64).sqrt();
        let (min, max) = (min.0, max.0);
        FioLatency { min, max, mean, stddev, samples, percentile: None, bins: None }
    }

    /// With fio's bins and what it reads off them.
    pub fn with_bins(self, histogram: &Histogram) -> FioLatency {
        if self.samples == 0 {
            return self;
        }
        let bins = FioBins::of(histogram);
        let at = |p: &f64| Some((format!("{p:.6}"), bins.percentile(*p)?));
        let percentile = Some(Ordered(PERCENTILES.iter().filter_map(at).collect()));
        let counts = bins.counts().map(|(value, count)| (value.to_string(), count));
        FioLatency { percentile, bins: Some(Ordered(counts.collect())), ..self }
    }
}

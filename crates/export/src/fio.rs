//! fio's JSON (`--output-format=json+`): one job for each workload of each step, in the keys that fio's own tools,
//! fio-plot and dashboards read.
//!
//! Keys and bins are those of fio 3.33. What is not measured here has fio's own way of saying so where there is one (a
//! distribution of no samples), and is null where there is none.

use crate::ExportError;
use crate::civil::Civil;
use crate::fio_options::options;
use crate::fio_shape::{FioDirection, FioJob, FioLatency, FioOutput, Ordered, Sync};
use crate::view::{Amounts, MergedView, RecordView, StepView, WorkerView, intervals, per_second};
use clock::Ns;
use record::{Completed, Histogram, Record, Testimony};

/// fio's `error` is an error number. A record counts failures without keeping it; this one is their common name, EIO.
const EIO: u64 = 5;
/// Shorter intervals, as phase edges leave them, say little of a rate.
const SAMPLE_MIN: Ns = Ns::millis(500);

/// A record as fio's JSON, or one step of it (by number, from 0).
/// # Errors
/// Where the record cannot be read, or does not hold the step.
pub fn fio_json(record: &Record, step: Option<u32>) -> Result<String, ExportError> {
    let view = RecordView::of(record);
    let mut jobs = Vec::new();
    let mut end = Ns::ZERO;
    for head in view.heads(step)? {
        let step = view.step(head)?;
        end = end.max(head.times.end);
        for workload in step.workloads() {
            jobs.push(job(&step, workload, jobs.len()));
        }
    }
    let at_ns = record.head().wall_ns.saturating_add(end.0);
    let output = FioOutput {
        fio_version: format!("wirespeed-{}", env!("CARGO_PKG_VERSION")),
        timestamp: at_ns / 1_000_000_000,
        timestamp_ms: at_ns / 1_000_000,
        time: Civil::of(at_ns).ctime(),
        global_options: Ordered(Vec::new()),
        jobs,
    };
    // Plain data with text keys, which serialisation cannot refuse.
    Ok(serde_json::to_string_pretty(&output).unwrap_or_default() + "\n")
}

fn job(step: &StepView, workload: &str, number: usize) -> FioJob {
    let workers: Vec<&WorkerView> =
        step.workers.iter().filter(|w| w.load.workload == workload).collect();
    let merged = MergedView::of(workers.iter().copied());
    let span = step.span();
    let samples: Vec<(Ns, Amounts)> = intervals(workers.iter().copied())
        .into_iter()
        .map(|((from, to), amounts)| (to.since(from), amounts))
        .filter(|(length, _)| *length >= SAMPLE_MIN)
        .collect();
    let [trims, _, flushes] = &merged.others;
    let all = [&merged.read, &merged.write].into_iter().chain(&merged.others);
    let errors = all.fold(0_u64, |sum, tally| sum.saturating_add(tally.errors));
    let cpu = |of: fn(&Testimony) -> Ns| {
        let share = |t| per_second(of(t).as_secs_f64() * 100.0, merged.worker_time);
        merged.testimony.as_ref().map(share)
    };
    let options = options(step, workload, &workers);
    let depth = options.iter().find(|(key, _)| key == "iodepth").and_then(|(_, d)| d.parse().ok());
    let both = merged.both();
    let [latency_ns, latency_us, latency_ms] = shares(both.response());
    FioJob {
        jobname: match step.workloads().len() {
            1 => step.name(),
            _ => format!("{} {workload}", step.name()),
        },
        groupid: number,
        error: if errors > 0 { EIO } else { 0 },
        eta: 0,
        elapsed: step.head.times.end.since(step.head.times.start).as_secs_f64().ceil() as u64,
        options: Ordered(options),
        read: side(&merged.read, span, &samples, |a| (a.read_ops, a.read_bytes)),
        write: side(&merged.write, span, &samples, |a| (a.write_ops, a.write_bytes)),
        trim: side(trims, if trims.ops > 0 { span } else { Ns::ZERO }, &[], |_| (0, 0)),
        sync: Sync { total_ios: flushes.ops, lat_ns: latency_of(flushes) },
        job_runtime: span.0 / 1_000_000,
        usr_cpu: cpu(|t| t.cpu_user),
        sys_cpu: cpu(|t| t.cpu_system),
        ctx: None,
        majf: None,
        minf: None,
        iodepth_level: None,
        iodepth_submit: None,
        iodepth_complete: None,
        latency_ns,
        latency_us,
        latency_ms,
        latency_depth: depth,
        latency_target: 0,
        latency_percentile: 100.0,
        latency_window: 0,
        total_err: (errors > 0).then_some(errors),
        first_error: (errors > 0).then_some(EIO),
    }
}

/// The latency of flushes, which fio calls syncs.
fn latency_of(flushes: &Completed) -> FioLatency {
    if flushes.ops == 0 {
        return FioLatency::default();
    }
    let exact = Some(flushes.service_sum.0 as f64 / flushes.ops as f64);
    FioLatency::of(&flushes.service, exact).with_bins(&flushes.service)
}

/// One direction; a rate's samples are those of its intervals.
fn side(
    tally: &Completed,
    span: Ns,
    samples: &[(Ns, Amounts)],
    of: fn(&Amounts) -> (u64, u64),
) -> FioDirection {
    let rate = |amount: u64| per_second(amount as f64, span);
    let used = tally.ops > 0;
    let samples = if used { samples } else { &[] };
    let kib = samples.iter().map(|(length, a)| per_second(of(a).1 as f64 / 1024.0, *length));
    let kib = RateSamples::of(&kib.collect::<Vec<_>>());
    let iops = samples.iter().map(|(length, a)| per_second(of(a).0 as f64, *length));
    let iops = RateSamples::of(&iops.collect::<Vec<_>>());
    let exact = Some(tally.service_sum.0 as f64 / tally.ops.max(1) as f64);
    FioDirection {
        io_bytes: tally.bytes,
        io_kbytes: tally.bytes / 1024,
        bw_bytes: rate(tally.bytes) as u64,
        bw: (rate(tally.bytes) / 1024.0) as u64,
        iops: rate(tally.ops),
        runtime: if used { span.0 / 1_000_000 } else { 0 },
        total_ios: tally.ops,
        short_ios: None,
        drop_ios: 0,
        slat_ns: FioLatency::default(),
        clat_ns: FioLatency::of(&tally.service, exact).with_bins(&tally.service),
        lat_ns: match &tally.response {
            Some(response) => FioLatency::of(response, None),
            None => FioLatency::of(&tally.service, exact),
        },
        bw_min: kib.min as u64,
        bw_max: kib.max as u64,
        bw_agg: if used { 100.0 } else { 0.0 },
        bw_mean: kib.mean,
        bw_dev: kib.deviation,
        bw_samples: samples.len(),
        iops_min: iops.min as u64,
        iops_max: iops.max as u64,
        iops_mean: iops.mean,
        iops_stddev: iops.deviation,
        iops_samples: samples.len(),
    }
}

#[derive(Default)]
struct RateSamples {
    min: f64,
    max: f64,
    mean: f64,
    deviation: f64,
}

impl RateSamples {
    fn of(samples: &[f64]) -> RateSamples {
        if samples.is_empty() {
            return RateSamples::default();
        }
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let squares: f64 = samples.iter().map(|s| (s - mean).powi(2)).sum();
        RateSamples {
            min: samples.iter().copied().fold(f64::INFINITY, f64::min),
            max: samples.iter().copied().fold(0.0, f64::max),
            mean,
            deviation: (squares / (n - 1.0).max(1.0)).sqrt(),
        }
    }
}

/// fio's coarse picture, by unit: the share of latencies, in percent, below each edge and not below the one before.
const EDGES: [(u64, &[u64]); 3] = [
    (1, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000]),
    (1000, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000]),
    (1_000_000, &[2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000]),
];

fn shares(histogram: &Histogram) -> [Ordered<f64>; 3] {
    let all = histogram.count().max(1) as f64;
    let mut counts = histogram.counts().peekable();
    let mut below = |edge: u64| {
        let mut sum = 0;
        while let Some((_, count)) = counts.next_if(|(at, _)| at.0 < edge) {
            sum += count;
        }
        sum as f64 * 100.0 / all
    };
    let mut picture = EDGES.map(|(unit, edges)| {
        Ordered(edges.iter().map(|edge| (edge.to_string(), below(edge * unit))).collect())
    });
    picture[2].0.push((">=2000".to_owned(), below(u64::MAX)));
    picture
}

//! What a step's workers were asked to do, in fio's words. fio prints options as text, and so does this.

use crate::view::{StepView, WorkerView};
use record::Loop;
use workload::{Access, Arrivals, Durability, Row, WorkloadKind};

/// The options of a workload in a step; options from a scenario that cannot be read are left out.
pub(crate) fn options(
    step: &StepView,
    workload: &str,
    workers: &[&WorkerView],
) -> Vec<(String, String)> {
    let mut options = Vec::new();
    let mut put = |key: &str, value: String| options.push((key.to_owned(), value));
    put("name", workload.to_owned());
    let times = &step.head.times;
    put("runtime", format!("{}ms", times.measured().0 / 1_000_000));
    put("ramp_time", format!("{}ms", times.measure.since(times.start).0 / 1_000_000));
    put("time_based", "1".to_owned());
    put("numjobs", workers.len().to_string());
    let depth = |w: &&WorkerView| match w.load.arrivals {
        Loop::Closed { depth, .. } => Some(depth),
        Loop::Open { .. } => None,
    };
    let spec = step.planned(workload).map(|load| &load.workload.spec);
    let limit = spec.and_then(|spec| match spec.arrivals {
        Arrivals::Open { limit, .. } => Some(limit),
        Arrivals::Closed { .. } => None,
    });
    if let Some(depth) = workers.iter().filter_map(depth).max().or(limit) {
        put("iodepth", depth.to_string());
    }
    if let Some(Loop::Open { rate }) = workers.first().map(|w| w.load.arrivals) {
        put("rate_iops", format!("{rate:.0}"));
    }
    if let Some(spec) = spec {
        let mix = mix(&spec.kind);
        mix.put(&mut put);
        durability(&spec.durability, &mix, &mut put);
    }
    options
}

/// Flushes and FUA; and what fio cannot do, in its `description`.
fn durability(of: &Durability, mix: &Mix, put: &mut impl FnMut(&str, String)) {
    if of.flush_every > 0 {
        put("fdatasync", of.flush_every.to_string());
    }
    let mut lacking = Vec::new();
    match of.fua {
        fua if fua <= 0.0 => {}
        // Each write waits as with O_DSYNC, which asks a device for FUA.
        fua if fua >= 100.0 => put("sync", "dsync".to_owned()),
        fua => lacking.push(format!("{fua}% of the writes have FUA")),
    }
    if mix.trim > 0.0 && mix.trim < 100.0 {
        lacking.push(format!("{}% of the operations are trims", mix.trim));
    }
    if mix.zeroes > 0.0 {
        lacking.push(format!("{}% of the operations write zeroes without data", mix.zeroes));
    }
    if !lacking.is_empty() {
        put("description", format!("without counterpart in fio: {}", lacking.join("; ")));
    }
}

/// What the operations look like on the whole.
struct Mix {
    /// Sizes with their shares, in percent.
    sizes: Vec<(u32, f64)>,
    /// Reads among all, in percent.
    read: f64,
    /// Trims, and zeroes without data, among all, in percent.
    trim: f64,
    zeroes: f64,
    /// Random ones among all, in percent.
    random: f64,
}

impl Mix {
    fn put(&self, put: &mut impl FnMut(&str, String)) {
        let random = self.random > 0.0;
        let rw = match self.read {
            _ if self.trim >= 100.0 => ["trim", "randtrim"][usize::from(random)],
            100.0.. => ["read", "randread"][usize::from(random)],
            read if read <= 0.0 => ["write", "randwrite"][usize::from(random)],
            _ => ["rw", "randrw"][usize::from(random)],
        };
        put("rw", rw.to_owned());
        if self.read > 0.0 && self.read < 100.0 {
            put("rwmixread", format!("{:.0}", self.read));
        }
        if random && self.random < 100.0 {
            put("percentage_random", format!("{:.0}", self.random));
        }
        let (least, most) =
            (self.sizes.iter().map(|s| s.0).min(), self.sizes.iter().map(|s| s.0).max());
        let (Some(least), Some(most)) = (least, most) else { return };
        if least == most {
            put("bs", size(least));
            return;
        }
        put("bs", format!("{}-{}", size(least), size(most)));
        let split = self.sizes.iter().map(|(bytes, share)| format!("{}/{share:.0}", size(*bytes)));
        put("bssplit", split.collect::<Vec<_>>().join(":"));
    }
}

/// `8k`, as people give it to fio.
fn size(bytes: u32) -> String {
    match bytes {
        b if b.is_multiple_of(1 << 20) => format!("{}m", b >> 20),
        b if b.is_multiple_of(1 << 10) => format!("{}k", b >> 10),
        b => b.to_string(),
    }
}

fn mix(kind: &WorkloadKind) -> Mix {
    match kind {
        WorkloadKind::Access(access) => mix_of_rows(access),
        WorkloadKind::Transaction(t) => {
            let (index, table) = (f64::from(t.index_pages), f64::from(t.table_pages));
            let read = (index * 100.0 + table * t.read) / (index + table).max(1.0);
            Mix { sizes: vec![(t.page, 100.0)], read, trim: 0.0, zeroes: 0.0, random: 100.0 }
        }
    }
}

fn mix_of_rows(access: &Access) -> Mix {
    let mean = |of: fn(&Row) -> f64| {
        access.rows.iter().map(|row| row.share * of(row)).sum::<f64>() / 100.0
    };
    let mut sizes: Vec<(u32, f64)> = Vec::new();
    match access.ladder {
        Some(ladder) => {
            let steps: Vec<u32> = ladder.sizes().collect();
            sizes.extend(steps.iter().map(|bytes| (*bytes, 100.0 / steps.len() as f64)));
        }
        None => {
            for row in &access.rows {
                match sizes.iter_mut().find(|(bytes, _)| *bytes == row.size) {
                    Some((_, share)) => *share += row.share,
                    None => sizes.push((row.size, row.share)),
                }
            }
        }
    }
    Mix {
        sizes,
        read: mean(|row| row.read),
        trim: mean(|row| row.trim),
        zeroes: mean(|row| row.zeroes),
        random: mean(|row| row.random),
    }
}

//! What a step's workers were asked to do, in fio's words. fio prints options as text, and so does this.

use crate::view::{StepView, WorkerView};
use record::Loop;
use scenario::Phase;
use workload::{
    Access, Arrivals, Durability, Process, Regions, Row, Skew, Spec, WorkingSet, WorkloadKind,
};

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
    let load = step.planned(workload);
    let ends = load
        .as_ref()
        .and_then(|load| load.phase.filter(|phase| phase.ends()).zip(Some(&load.workload.spec)));
    // Of a load that ends it is the most that it may take: its own time would cut fio off.
    let runtime = ends.and_then(|_| step.measure_max()).unwrap_or(times.measured());
    put("runtime", format!("{}ms", runtime.0 / 1_000_000));
    put("ramp_time", format!("{}ms", times.measure.since(times.start).0 / 1_000_000));
    match ends {
        Some((phase, spec)) => end(phase, spec, workers.len() as u64, &mut put),
        None => put("time_based", "1".to_owned()),
    }
    put("numjobs", workers.len().to_string());
    let depth = |w: &&WorkerView| match w.load.arrivals {
        Loop::Closed { depth, .. } => Some(depth),
        Loop::Open { .. } | Loop::Observed => None,
    };
    let spec = step.planned(workload).map(|load| &load.workload.spec);
    let limit = spec.and_then(|spec| match spec.arrivals {
        Arrivals::Open { limit, .. } => Some(limit),
        Arrivals::Closed { .. } => None,
    });
    if let Some(depth) = workers.iter().filter_map(depth).max().or(limit) {
        // fio's default has one operation outstanding, whatever its depth.
        put("ioengine", "io_uring".to_owned());
        put("iodepth", depth.to_string());
    }
    if let Some(spec) = spec {
        let mix = mix(&spec.kind);
        mix.put(&mut put);
        pace(spec, &mix, &mut put);
        durability(&spec.durability, &mix, &mut put);
    } else if let Some(Loop::Open { rate }) = workers.first().map(|w| w.load.arrivals) {
        put("rate_iops", format!("{rate:.0}"));
    }
    options
}

/// Where the load ends. In fio each job transfers `io_size`, or goes `loops` times over all by itself.
fn end(phase: &Phase, spec: &Spec, jobs: u64, put: &mut impl FnMut(&str, String)) {
    let (jobs, block) = (jobs.max(1), u64::from(spec.uniform_size().unwrap_or(1)).max(1));
    let each = |bytes: u64| bytes.div_ceil(jobs).div_ceil(block).saturating_mul(block).to_string();
    let passes = phase.passes.map(u64::from);
    match (phase.amount, passes, spec.working_set) {
        (Some(amount), _, _) => put("io_size", each(amount.0)),
        (None, Some(passes), _) if spec.regions == Regions::Own => put("loops", passes.to_string()),
        (None, Some(passes), _) if passes.is_multiple_of(jobs) => {
            put("loops", (passes / jobs).to_string());
        }
        (None, Some(passes), Some(WorkingSet::Bytes(set))) => {
            put("io_size", each(set.saturating_mul(passes)));
        }
        // The jobs share each pass, which is less than one loop of each.
        (None, passes, _) => {
            let share = passes.unwrap_or(0) as f64 / jobs as f64;
            put("io_size", format!("{:.0}%", share * 100.0));
        }
    }
}

/// When operations are issued, and where.
fn pace(spec: &Spec, mix: &Mix, put: &mut impl FnMut(&str, String)) {
    match spec.arrivals {
        Arrivals::Open { process, .. } => {
            let (rate, poisson) = match process {
                Process::Fixed { rate } => (rate, false),
                Process::Poisson { rate } => (rate, true),
                Process::Ramp { to, .. } => (to, false),
                // fio has no bursts: their mean.
                Process::Bursts { .. } => {
                    (process.mean_rate(clock::Ns::ZERO, clock::Ns::ZERO), true)
                }
            };
            // fio gives each direction the whole of a rate.
            let shares = [mix.read, 100.0 - mix.read].map(|share| share / 100.0 * rate);
            let of = |scale: [f64; 2]| match mix.read {
                100.0.. => format!("{:.0}", shares[0] * scale[0]),
                read if read <= 0.0 => format!("{:.0}", shares[1] * scale[1]),
                _ => format!("{:.0},{:.0}", shares[0] * scale[0], shares[1] * scale[1]),
            };
            // Of several sizes fio counts the smallest; a rate of bytes means the same in all of its versions.
            match poisson || mix.sizes.iter().all(|sizes| sizes.len() <= 1) {
                true => put("rate_iops", of([1.0, 1.0])),
                false => put("rate", of([0, 1].map(|dir| mix.mean_size(dir)))),
            }
            if poisson {
                put("rate_process", "poisson".to_owned());
            }
        }
        Arrivals::Closed { depth, think } => {
            let delay = match &spec.kind {
                WorkloadKind::Access(access) => {
                    access.rows.first().map(|row| (row.delay, row.burst))
                }
                WorkloadKind::Transaction(_) => None,
            };
            let (pause, burst) = delay.filter(|(d, _)| d.0 > 0).unwrap_or((think, 1));
            if pause.0 > 0 {
                put("thinktime", (pause.0 / 1000).to_string());
                put("thinktime_blocks", burst.saturating_mul(depth).to_string());
            }
        }
    }
    match spec.working_set {
        Some(WorkingSet::Bytes(bytes)) => put("size", bytes.to_string()),
        Some(WorkingSet::Percent(share)) => put("size", format!("{share:.0}%")),
        None => {}
    }
    let WorkloadKind::Access(access) = &spec.kind else { return };
    if mix.random.iter().all(|random| *random <= 0.0) {
        return;
    }
    if spec.passes == 0 {
        put("norandommap", "1".to_owned());
    }
    match access.skew {
        Skew::Uniform => {}
        Skew::Zipf(theta) => put("random_distribution", format!("zipf:{theta}")),
        Skew::Pareto(h) => put("random_distribution", format!("pareto:{h}")),
        Skew::HotSpot { accesses, blocks } => {
            let (cold, rest) = (100.0 - accesses, 100.0 - blocks);
            put("random_distribution", format!("zoned:{accesses}/{blocks}:{cold}/{rest}"));
        }
    }
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
    /// Sizes of reads and of writes with their shares, in percent of these.
    sizes: [Vec<(u32, f64)>; 2],
    /// Reads among all, in percent.
    read: f64,
    /// Random ones among reads and among writes, in percent.
    random: [f64; 2],
    /// Alignment where it is not the size.
    align: u32,
    /// Bytes from the end of a sequential operation to the start of the next.
    skip: u64,
    /// Trims, and zeroes without data, among all, in percent.
    trim: f64,
    zeroes: f64,
}

impl Mix {
    /// Bytes of a mean operation of a direction.
    fn mean_size(&self, dir: usize) -> f64 {
        self.sizes[dir].iter().map(|(size, share)| f64::from(*size) * share / 100.0).sum()
    }

    /// The directions that the mix has.
    fn dirs(&self) -> impl Iterator<Item = usize> {
        let has = [self.read > 0.0, self.read < 100.0];
        [0, 1].into_iter().filter(move |dir| has[*dir])
    }

    /// A value for both directions, or one for each.
    fn by_direction(&self, value: impl Fn(usize) -> String) -> String {
        let mut values: Vec<String> = self.dirs().map(value).collect();
        values.dedup();
        values.join(",")
    }

    fn put(&self, put: &mut impl FnMut(&str, String)) {
        let random = self.dirs().any(|dir| self.random[dir] > 0.0);
        let rw = match self.read {
            _ if self.trim >= 100.0 => ["trim", "randtrim"][usize::from(random)],
            100.0.. => ["read", "randread"][usize::from(random)],
            read if read <= 0.0 => ["write", "randwrite"][usize::from(random)],
            _ => ["rw", "randrw"][usize::from(random)],
        };
        let skip = if self.skip > 0 && !random { format!(":{}", self.skip) } else { String::new() };
        put("rw", format!("{rw}{skip}"));
        if self.read > 0.0 && self.read < 100.0 {
            put("rwmixread", format!("{:.0}", self.read));
        }
        if random && self.dirs().any(|dir| self.random[dir] < 100.0) {
            put("percentage_random", self.by_direction(|dir| format!("{:.0}", self.random[dir])));
        }
        if self.dirs().all(|dir| self.sizes[dir].len() == 1) {
            put("bs", self.by_direction(|dir| size(self.sizes[dir][0].0)));
        } else {
            let all = || self.dirs().flat_map(|dir| self.sizes[dir].iter().map(|s| s.0));
            let (Some(least), Some(most)) = (all().min(), all().max()) else { return };
            put("bs", format!("{}-{}", size(least), size(most)));
            put("bssplit", self.by_direction(|dir| split(&self.sizes[dir])));
        }
        if random && self.align > 0 {
            put("blockalign", size(self.align));
        }
    }
}

/// `4k/60:8k/40`: whole percents that make up 100.
fn split(sizes: &[(u32, f64)]) -> String {
    let shares = whole_percents(&sizes.iter().map(|s| s.1).collect::<Vec<f64>>());
    let entry = |((bytes, _), share): (&(u32, f64), u32)| format!("{}/{share}", size(*bytes));
    sizes
        .iter()
        .zip(shares)
        .filter(|(_, share)| *share > 0)
        .map(entry)
        .collect::<Vec<_>>()
        .join(":")
}

/// Shares in whole percents with the same sum: what rounding takes goes to those that lost most.
pub(crate) fn whole_percents(shares: &[f64]) -> Vec<u32> {
    let mut whole: Vec<u32> = shares.iter().map(|share| share.max(0.0) as u32).collect();
    let missing = shares.iter().sum::<f64>().round() as u32;
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| shares[*b].fract().total_cmp(&shares[*a].fract()));
    let missing = missing.saturating_sub(whole.iter().sum());
    for index in order.into_iter().take(missing as usize) {
        whole[index] += 1;
    }
    whole
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
            let sizes = || vec![(t.page, 100.0)];
            let (sizes, random) = ([sizes(), sizes()], [100.0, 100.0]);
            Mix { sizes, read, random, align: 0, skip: 0, trim: 0.0, zeroes: 0.0 }
        }
    }
}

fn mix_of_rows(access: &Access) -> Mix {
    let read = access.rows.iter().map(|row| row.share * row.read).sum::<f64>() / 100.0;
    let of = |dir: usize, row: &Row| {
        row.share * if dir == 0 { row.read } else { 100.0 - row.read } / 100.0
    };
    let all = [read, 100.0 - read];
    let random = [0, 1].map(|dir| {
        let random = access.rows.iter().map(|row| of(dir, row) * row.random).sum::<f64>();
        if all[dir] > 0.0 { random / all[dir] } else { 0.0 }
    });
    let sizes = [0, 1].map(|dir| {
        let mut sizes: Vec<(u32, f64)> = Vec::new();
        if let Some(ladder) = access.ladder {
            let steps: Vec<u32> = ladder.sizes().collect();
            return steps.iter().map(|bytes| (*bytes, 100.0 / steps.len() as f64)).collect();
        }
        for row in access.rows.iter().filter(|row| of(dir, row) > 0.0) {
            let share = of(dir, row) / all[dir] * 100.0;
            match sizes.iter_mut().find(|(bytes, _)| *bytes == row.size) {
                Some((_, sum)) => *sum += share,
                None => sizes.push((row.size, share)),
            }
        }
        sizes
    });
    let largest = access.rows.iter().map(|row| row.size).max().unwrap_or(0);
    let align = access.rows.first().map_or(0, |row| row.align);
    let same = access.rows.iter().all(|row| row.align == align);
    let skip = access.stride.map_or(0, |stride| stride.saturating_sub(u64::from(largest)));
    let mean = |share: fn(&Row) -> f64| {
        access.rows.iter().map(|row| row.share * share(row)).sum::<f64>() / 100.0
    };
    Mix {
        sizes,
        read,
        random,
        align: if same { align } else { 0 },
        skip,
        trim: mean(|row| row.trim),
        zeroes: mean(|row| row.zeroes),
    }
}

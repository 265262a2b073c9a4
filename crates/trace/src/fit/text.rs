//! A fit as a scenario, each figure with its error beside it, and in words what the fit leaves out.

use super::{Figure, Fit};
use crate::SizeCount;
use clock::Ns;
use workload::Dir;

/// Sizes that are rows of their own.
const ROWS: usize = 24;

impl Fit {
    /// Sizes with their counts: the most frequent, and the others with the last of their direction.
    fn rows(&self) -> Vec<SizeCount> {
        let mut rows: Vec<SizeCount> = Vec::new();
        for size in self.facts.sizes.iter().filter(|size| size.dir.moves_data() && size.len >= 512)
        {
            let full = rows.len() >= ROWS;
            let same = rows.iter_mut().rev().find(|row| row.dir == size.dir);
            match same {
                Some(same) if full => same.count += size.count,
                _ => rows.push(SizeCount { len: size.len.div_ceil(512) * 512, ..*size }),
            }
        }
        rows
    }

    /// The part of a target that is accessed.
    fn working_set(&self) -> u64 {
        let touched = self.facts.touched();
        let largest = u64::from(self.facts.largest).max(512);
        let blocks = match self.zipf {
            Some(zipf) if self.working_set_is_known() => (zipf.blocks * self.unit as f64) as u64,
            _ if self.is_random() => touched.max(self.addressed()),
            _ => touched,
        };
        // Blocks that were counted in units may be more than what is between them.
        blocks.max(largest * 2).next_multiple_of(largest.next_multiple_of(4096))
    }

    /// Whether accesses met often enough to tell how many blocks they are drawn from.
    fn working_set_is_known(&self) -> bool {
        self.zipf.is_some_and(|zipf| zipf.blocks_error <= zipf.blocks / 2.0)
    }

    /// Whether most I/Os that move data follow none before them.
    fn is_random(&self) -> bool {
        let moved = self.facts.of(Dir::Read) + self.facts.of(Dir::Write);
        self.facts.sequential < moved / 2
    }

    /// Bytes from the lowest to the highest address of each device.
    fn addressed(&self) -> u64 {
        self.facts
            .devices
            .iter()
            .fold(0, |sum, device| sum.saturating_add(device.end - device.begin.min(device.end)))
    }

    /// Outstanding I/Os and think time of a closed loop that has the trace's rate and latency.
    pub fn closed(&self) -> Option<(u64, Ns)> {
        let latency = self.latency?;
        let depth = self.facts.outstanding.clamp(1, 4096);
        let think = (depth as f64 / self.rate.value.max(1e-9) - latency.value).max(0.0);
        Some((depth, Ns((think * 1e9) as u64)))
    }

    /// The fit as a scenario on a target that stands for the trace's device.
    pub fn scenario(&self, name: &str) -> String {
        let name = crate::form::line(name).replace(['"', '\\'], "'");
        let set = self.working_set();
        let mut text = format!(
            "[scenario]\ntitle  = \"Like the trace {name}\"\n\n[[target]]        # replace it by the disk to be loaded\nname = \"disk\"\n\
             url  = \"null:\"\nsize = \"{set}B\"\n\n[workload.fitted]\n"
        );
        let note = |text: &mut String, line: String| {
            *text += &format!("# {line}\n");
        };
        note(&mut text, format!("reads: {} of the I/Os", of(self.read, "%")));
        for (dir, random) in [("reads", self.random[0]), ("writes", self.random[1])] {
            if random.error.is_finite() {
                note(&mut text, format!("random {dir}: {}", of(random, "%")));
            }
        }
        note(&mut text, format!("mean size: {}", of(self.size, " B")));
        let all: u64 = self.rows().iter().map(|row| row.count).sum();
        text += "rows = [\n";
        for row in self.rows() {
            let share = 100.0 * row.count as f64 / all.max(1) as f64;
            let (read, random) = match row.dir {
                Dir::Read => (100, self.random[0].value.clamp(0.0, 100.0)),
                _ => (0, self.random[1].value.clamp(0.0, 100.0)),
            };
            // Below 1 a number could be meant as a part of 1.
            let random = match random > 0.0 && random < 1.0 {
                true => format!("\"{random:.3}%\""),
                false => format!("{random:.3}"),
            };
            text += &format!(
                "  {{ size = \"{}B\", share = {share:.6}, read = {read}, random = {random}, align = \"{}B\" }},\n",
                row.len,
                self.align.get(&(row.dir, row.len)).copied().unwrap_or(512)
            );
        }
        text += "]\n";
        self.skew(&mut text);
        text += &format!("working_set = \"{set}B\"\n");
        note(&mut text, format!("rate: {} a second", of(self.rate, "")));
        text += &self.arrivals();
        if let Some((depth, think)) = self.closed() {
            note(
                &mut text,
                format!(
                    "as a closed loop instead: depth = {depth}, think = \"{:.1}us\" (latency {:.1} ± {:.1} us)",
                    think.0 as f64 / 1e3,
                    self.latency.map_or(0.0, |l| l.value * 1e6),
                    self.latency.map_or(0.0, |l| l.error * 1e6),
                ),
            );
        }
        text +=
            "\n[plan]\nworkload = \"fitted\"\non = \"disk\"\nwarmup = \"5s\"\nmeasure = \"30s\"\n";
        text
    }

    /// Whether arrivals are clearly more even than Poisson's at a scale that holds several of them.
    fn is_regular(&self) -> bool {
        let span = self.facts.span.as_secs_f64();
        self.scales.iter().any(|scale| {
            let (window, several) = (scale.window.as_secs_f64(), 2.0);
            let windows = span / window;
            // What chance makes of Poisson's arrivals: the variance of the index is 2 over the number of windows.
            let least = 0.8 - 3.5 * (2.0 / windows.max(1.0)).sqrt();
            window * self.rate.value >= several && scale.dispersion < least
        })
    }

    /// When I/Os are issued: evenly, or by the two-state process where the trace is more bursty than Poisson's.
    fn arrivals(&self) -> String {
        match self.bursts {
            Some(of) => format!(
                "bursts = {{ high = {:.3}, low = {:.3}, burst = \"{}ns\", pause = \"{}ns\" }}\nlimit = 4096\n",
                of.high.max(0.001),
                of.low,
                of.burst.0.max(1000),
                of.pause.0.max(1000)
            ),
            None => format!(
                "rate = {:.3}\narrivals = \"{}\"\nlimit = 4096\n",
                self.rate.value.max(0.001),
                if self.even { "fixed" } else { "poisson" }
            ),
        }
    }

    /// Skew and working set of random I/Os.
    fn skew(&self, text: &mut String) {
        let note = |text: &mut String, line: String| *text += &format!("# {line}\n");
        match self.zipf {
            Some(zipf) if zipf.theta - zipf.theta_error > 0.0 && zipf.theta >= 0.01 => {
                note(text, format!("skew: {:.3} ± {:.3}", zipf.theta, zipf.theta_error));
                *text += &format!("skew = {{ zipf = {:.4} }}\n", zipf.theta);
            }
            Some(_) => note(text, "skew: none that is sure".to_owned()),
            None => note(text, "skew: not determined, too few accesses meet on a block".to_owned()),
        }
        let mib = |bytes: f64| bytes / 1_048_576.0;
        match self.zipf {
            Some(zipf) if self.working_set_is_known() => {
                let of = |blocks: f64| mib(blocks * self.unit as f64);
                let (blocks, error) = (of(zipf.blocks), of(zipf.blocks_error));
                note(text, format!("working set: {blocks:.1} ± {error:.1} MiB"));
            }
            _ if self.is_random() => note(
                text,
                format!(
                    "working set: not determined, too few accesses meet on a block; between {:.1} MiB, which are touched, and \
                     {:.1} MiB, within which they lie and which is used here",
                    mib(self.facts.touched() as f64),
                    mib(self.addressed() as f64),
                ),
            ),
            _ => {}
        }
    }

    /// What the fit leaves out, one statement a line.
    pub fn residual(&self) -> Vec<String> {
        let mut all = Vec::new();
        for scale in &self.scales {
            all.push(format!(
                "arrivals in {}: index of dispersion {:.2} (two states {:.2}, Poisson 1); 1% of such times have more than {} \
                 (two states {}, Poisson {})",
                time(scale.window), scale.dispersion, scale.fitted, scale.p99, scale.p99_fitted, scale.p99_poisson
            ));
        }
        match self.bursts {
            Some(b) => all.push(format!(
                "arrivals are bursty: {:.0} a second for {} on average, {:.0} a second for {}; the scenario's arrivals have these \
                 two states, and no other pattern of the trace: replay it where that matters",
                b.high, time(b.burst), b.low, time(b.pause)
            )),
            None if self.even => {
                all.push("arrivals are evenly spaced, as the scenario's are".to_owned());
            }
            None if self.is_regular() => all.push(
                "arrivals are more regular than Poisson's, which the scenario has: its queues are longer than the trace's; replay the trace \
                 where that matters"
                    .to_owned(),
            ),
            None => all.push("arrivals are no more bursty than Poisson's".to_owned()),
        }
        let [read, write] = self.random;
        let known = read.error.is_finite() && write.error.is_finite();
        if known && (read.value - write.value).abs() > 50.0 {
            all.push(format!(
                "{:.0}% of the reads and {:.0}% of the writes are random; the scenario draws both from one working set, and the trace may \
                 have them apart: replay it where that matters",
                read.value, write.value
            ));
        }
        if self.zipf.is_some_and(|zipf| zipf.theta > 0.5) {
            all.push(
                "which blocks are popular is not kept, only how popular they are: where few disks hold them, replay the trace"
                    .to_owned(),
            );
        }
        if self.streams > 1 {
            all.push(format!(
                "sequential I/Os belong to {} runs at once; the scenario has one run a worker",
                self.streams
            ));
        }
        for dir in [Dir::Trim, Dir::Zero, Dir::Flush] {
            let count = self.facts.of(dir);
            if count > 0 {
                all.push(format!("{count} {} are left out", dir.name()));
            }
        }
        if self.facts.devices.len() > 1 {
            all.push(format!("{} devices are fitted as one", self.facts.devices.len()));
        }
        match self.facts.timed {
            0 => all.push("no latencies: neither concurrency nor think time is known".to_owned()),
            _ => all.push(
                "the latencies are those of the old storage: what it delayed is in the arrivals"
                    .to_owned(),
            ),
        }
        all
    }
}

fn of(figure: Figure, unit: &str) -> String {
    format!("{:.3}{unit} ± {:.3}{unit}", figure.value, figure.error)
}

fn time(ns: Ns) -> String {
    match ns.0 as f64 {
        t if t >= 1e9 => format!("{:.3} s", t / 1e9),
        t if t >= 1e6 => format!("{:.3} ms", t / 1e6),
        t => format!("{:.1} us", t / 1e3),
    }
}

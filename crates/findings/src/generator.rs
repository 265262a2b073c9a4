//! Whether the generator limited a step, by its own measurements.
//!
//! A worker's time has two parts: in its queue (submitting, waiting, reaping) and its own (generating, accounting).
//! When its own time or its user-mode CPU time fills its thread, or its slots stand empty in a closed loop without
//! think time, the figures measure the generator. One bad worker among many shows in the worst share; the verdict is
//! about the step, hence about the mean.

use crate::step::{StepData, WorkerData};
use record::{Loop, Testimony};
use serde::Serialize;
use units::{count, duration, percent};

/// Own time as a share of wall time from which a step is limited, and from which it is suspect.
pub const OWN_SHARE: (f64, f64) = (0.5, 0.2);
/// User-mode CPU time as a share of wall time: limited, suspect.
pub const CPU_USER_SHARE: (f64, f64) = (0.8, 0.5);
/// CPU time of either mode as a share of wall time from which a step is suspect: the thread had no time left.
pub const CPU_SHARE: f64 = 0.9;
/// Mean in flight as a share of the depth in closed loops without think time: below it limited, suspect.
pub const FILL: (f64, f64) = (0.5, 0.9);
/// Share of operations that an open loop submitted more than a millisecond late: suspect above it; limited when the
/// thread had no CPU time left besides.
pub const LATE_SHARE: f64 = 0.01;

/// How much of what was measured was the generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// No worker testifies (a simulated run).
    NoTestimony,
    /// The generator had room.
    NotLimited,
    /// It may have held the step back.
    Suspect,
    /// It held the step back.
    Limited,
    /// Every target completes at once: the figures are generator overhead, as requested.
    OwnCost,
}

/// The verdict with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Generator {
    /// The verdict.
    pub limit: Limit,
    /// Time outside the queue as a share of the workers' wall time, 0 to 1.
    pub own_share: f64,
    /// The largest of any worker.
    pub own_share_worst: f64,
    /// That worker.
    pub worst_worker: String,
    /// User-mode CPU time as a share of wall time.
    pub cpu_user_share: f64,
    /// CPU time of both modes as a share of wall time, without that in which workers looked for answers instead of sleeping.
    pub cpu_share: f64,
    /// Mean in flight as a share of the depth; `None` without closed loops that never think.
    pub fill: Option<f64>,
    /// Operations submitted more than a millisecond after they were due.
    pub late: u64,
    /// The same as a share of all operations.
    pub late_share: f64,
    /// The largest delay of a submission, in nanoseconds.
    pub late_max_ns: u64,
    /// Cuts at which no free buffer was available.
    pub overruns: u32,
    /// The evidence for the verdict, a clause for each threshold crossed.
    pub reasons: Vec<String>,
}

/// Judges a step. `null` is whether all its targets complete at once; its workers looked for answers for `polled` seconds,
/// instead of sleeping.
pub(crate) fn judge(step: &StepData, null: bool, polled: f64) -> Generator {
    let mut sum = Testimony::default();
    let (mut wall, mut ops) = (0.0, 0_u64);
    let (mut worst, mut worst_worker) = (0.0, String::new());
    for (w, t) in step.workers.iter().filter_map(|w| Some((w, w.testimony?))) {
        sum.merge(&t);
        let time = w.covered.as_secs_f64();
        wall += time;
        ops = ops.saturating_add(w.ops()).saturating_add(w.errors());
        let own = share(t.own.as_secs_f64(), time);
        if own > worst || worst_worker.is_empty() {
            (worst, worst_worker) = (own, w.source.name.clone());
        }
    }
    let mut generator = Generator {
        limit: Limit::NoTestimony,
        own_share: share(sum.own.as_secs_f64(), wall),
        own_share_worst: worst,
        worst_worker,
        cpu_user_share: share(sum.cpu_user.as_secs_f64(), wall),
        cpu_share: share((sum.cpu_user.plus(sum.cpu_system).as_secs_f64() - polled).max(0.0), wall),
        fill: fill(&step.workers),
        late: sum.late,
        late_share: share(sum.late as f64, ops as f64),
        late_max_ns: sum.late_max.0,
        overruns: sum.overruns,
        reasons: Vec::new(),
    };
    if wall > 0.0 {
        generator.weigh();
        if null {
            generator.limit = Limit::OwnCost;
        }
    }
    generator
}

impl Generator {
    /// Applies the thresholds.
    fn weigh(&mut self) {
        self.limit = Limit::NotLimited;
        let own = format!("overhead {} of its time", share_text(self.own_share));
        self.above(self.own_share, OWN_SHARE, own);
        let user = format!(
            "its threads spent {} of their time in user mode",
            share_text(self.cpu_user_share)
        );
        self.above(self.cpu_user_share, CPU_USER_SHARE, user);
        let busy = self.cpu_share >= CPU_SHARE;
        if busy {
            let text = format!("its threads were {} busy", share_text(self.cpu_share));
            self.mark(Limit::Suspect, text);
        }
        if let Some(fill) = self.fill {
            let text = format!("{} of the depth was in flight", share_text(fill));
            self.above(1.0 - fill, (1.0 - FILL.0, 1.0 - FILL.1), text);
        }
        if self.late_share >= LATE_SHARE {
            let limit = if busy { Limit::Limited } else { Limit::Suspect };
            let latest = duration(std::time::Duration::from_nanos(self.late_max_ns));
            self.mark(
                limit,
                format!("{} operations started late, by up to {latest}", count(self.late as f64)),
            );
        }
        if self.overruns > 0 {
            let text = format!("{} cuts found no free buffer", count(self.overruns.into()));
            self.mark(Limit::Suspect, text);
        }
    }

    fn above(&mut self, value: f64, (limited, suspect): (f64, f64), text: String) {
        if value >= limited {
            self.mark(Limit::Limited, text);
        } else if value >= suspect {
            self.mark(Limit::Suspect, text);
        }
    }

    fn mark(&mut self, limit: Limit, text: String) {
        self.limit = self.limit.max(limit);
        self.reasons.push(text);
    }
}

/// Mean in flight over depth, over all workers to which it applies; `None` where nothing was ever issued or completed.
fn fill(workers: &[WorkerData]) -> Option<f64> {
    let (mut in_flight, mut slots) = (0.0, 0.0);
    for w in workers {
        if let (Loop::Closed { depth, think: false }, Some(t)) = (w.load.arrivals, w.testimony) {
            in_flight += t.in_flight.as_secs_f64();
            slots += f64::from(depth) * w.covered.as_secs_f64();
        }
    }
    (in_flight > 0.0 && slots > 0.0).then(|| in_flight / slots)
}

fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

fn share_text(share: f64) -> String {
    percent((share * 1000.0).round() / 10.0)
}

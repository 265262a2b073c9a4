//! Warnings: reasons to trust figures less, with numbers, and what to do next.
//!
//! One warning a code, over all steps it concerns, so that a long run does not drown its reader.

mod network;
mod planned;

use crate::cached;
use crate::content::{self, Content};
use crate::figures::{Loops, StepFigures};
use crate::generator::{LATE_SHARE, Limit};
use crate::hung_io;
use crate::little::Little;
use crate::run::RunSummary;
use crate::steady::{Moved, Steadiness};
use record::{Event, Fact, Level};
use serde::Serialize;
use std::time::Duration;
use units::{count, duration, percent};

/// Measured time below which a step is too short, in nanoseconds.
pub const SHORT_NS: u64 = 5_000_000_000;
/// Operations below which high percentiles mean little.
pub const SHORT_OPS: u64 = 100;
/// Age from which an operation that is still open counts as stalled, in nanoseconds.
pub const STALLED_NS: u64 = 1_000_000_000;
/// Share of the offered load below which an open loop was not carried.
pub const CARRIED: f64 = 0.95;
/// The codes of events that tell of a path that was lost, and of what was in flight on it.
const LOST: [&str; 2] = ["path-lost", "path-stall"];
/// Steps that a warning names before it says how many more there are.
const NAMED: usize = 3;

/// How much a warning matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Something was lost or contradicts itself: figures are missing or wrong.
    Error,
    /// Figures may mean less than they seem.
    Warning,
    /// How to read the figures.
    Note,
}

/// One warning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// A stable, lower-case, hyphenated word.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// What is so, with numbers.
    pub text: String,
    /// What to do next; empty where `text`, an event's own sentence, says so itself.
    pub next: String,
    /// The steps it concerns, by number; empty for the whole run.
    pub steps: Vec<u32>,
}

/// All warnings of a run, with those of its hops, the gravest first.
pub(crate) fn warnings(
    run: &RunSummary,
    steps: &[StepFigures],
    (events, contents, facts): (&[Event], &[Content], &[Fact]),
    hops: Vec<Warning>,
) -> Vec<Warning> {
    let mut list = WarningList { steps, warnings: hops };
    list.run(run);
    list.completeness(run);
    list.own_stops();
    list.clock_edges();
    list.record_itself();
    list.generator();
    list.operations();
    if !run.estimated {
        // An estimate has no time that could be too short.
        list.duration();
    }
    network::warnings(&mut list);
    list.loops();
    list.unknown_devices();
    list.events(events);
    list.warnings.extend(content::warnings(contents));
    list.warnings.extend(cached::warnings(facts, steps));
    list.warnings.sort_by_key(|w| w.severity);
    list.warnings
}

/// Warnings as they come together.
struct WarningList<'a> {
    steps: &'a [StepFigures],
    warnings: Vec<Warning>,
}

impl<'a> WarningList<'a> {
    /// The steps that something is true of.
    fn that(&self, is: impl Fn(&StepFigures) -> bool) -> Vec<&'a StepFigures> {
        self.steps.iter().filter(|s| is(s)).collect()
    }

    /// Adds a warning about some steps, unless there are none. `{in}` in the text becomes where.
    fn add(&mut self, code: &str, severity: Severity, of: &[&StepFigures], text: &str, next: &str) {
        if of.is_empty() {
            return;
        }
        self.warnings.push(Warning {
            code: code.to_owned(),
            severity,
            text: text.replace("{in}", &where_text(of, self.steps.len())),
            next: next.to_owned(),
            steps: of.iter().map(|s| s.index).collect(),
        });
    }

    fn run(&mut self, run: &RunSummary) {
        let mut add = |code: &str, text: String, next: &str| {
            self.warnings.push(Warning {
                code: code.to_owned(),
                severity: Severity::Error,
                text,
                next: next.to_owned(),
                steps: Vec::new(),
            });
        };
        if let Some(why) = &run.scenario_error {
            add(
                "scenario-unreadable",
                format!(
                    "the scenario inside the record cannot be read, so no goal was judged: {why}"
                ),
                "review the record with the version of Wirespeed that made it",
            );
        }
        if let Some(how) = run.incomplete() {
            let planned = run.steps_planned.map_or(String::new(), |n| format!(" of {n}"));
            add(
                "run-incomplete",
                format!("the run {how}: {}{planned} steps are in the record", run.steps_recorded),
                "run it again; figures of finished steps remain valid",
            );
        }
    }

    fn completeness(&mut self, run: &RunSummary) {
        // The first of several tests is all of them, of which each has its own load.
        let all = |s: &StepFigures| s.is_test() && s.index == 0;
        let of = self.that(|s| !all(s) && s.completeness.iter().any(|c| !c.is_full()));
        let missing = || of.iter().flat_map(|s| s.completeness.iter().filter(|c| !c.is_full()));
        let Some(worst) = missing().min_by(|a, b| a.share.total_cmp(&b.share)) else {
            let none = self.that(|s| !s.has_storage() && !s.has_network());
            let next = "check what the plan loads";
            return self.add(
                "no-workers",
                Severity::Error,
                &none,
                "no worker was announced {in}",
                next,
            );
        };
        let mut names: Vec<&str> = missing().map(|c| c.worker.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let share = (worst.share * 100.0).floor();
        if of.iter().all(|step| step.loops == Loops::Observed) {
            let text = format!(
                "not the whole time of {} is known {{in}}; the worst, {}, {share}% of it",
                plural(names.len(), "load"),
                worst.worker,
            );
            let next =
                "rates divide by the whole time; `--window` names one in which all are known";
            return self.add("workers-incomplete", Severity::Warning, &of, &text, next);
        }
        let text = format!(
            "{} did not report the whole measured time {{in}}; the worst, {}, {share}% of it",
            plural(names.len(), "worker"),
            worst.worker,
        );
        let next = match (run.end, run.agents_lost) {
            (record::Status::Stopped, 0) => {
                "the run was stopped in this step: run it to its end; rates divide by the step's whole time"
            }
            _ => {
                "look for a lost agent or a worker that ended early; rates still divide by the step's whole time"
            }
        };
        self.add("workers-incomplete", Severity::Error, &of, &text, next);
    }

    fn own_stops(&mut self) {
        let gaps = self.that(|s| s.loops == Loops::Observed && !s.void.is_empty());
        let text = format!(
            "no file covers up to {} of the time {{in}}: it is left out of all figures",
            ns_text(gaps.iter().map(|s| void_ns(&[*s], false)).max().unwrap_or(0))
        );
        self.add("gaps-left-out", Severity::Note, &gaps, &text, "");
        let of = self.that(|s| s.loops != Loops::Observed && s.void.iter().any(|v| !v.clocks));
        let text = format!(
            "Wirespeed itself did not run for a part of the time {{in}}: {} count neither for nor against the target",
            void_time(&of, false)
        );
        let next = "run it again without stopping Wirespeed, on a machine with a free processor";
        self.add("seconds-void", Severity::Warning, &of, &text, next);
    }

    /// Steps whose first or last measured seconds lie beyond the common window of their agents.
    fn clock_edges(&mut self) {
        let of = self.that(|s| s.void.iter().any(|v| v.clocks));
        let text = format!(
            "clocks leave it open whether all agents were under load in {} at the edges of the measured time {{in}}, which do \
             not count",
            void_time(&of, true)
        );
        let next =
            "give the plan a warm-up and a cool-down that are longer than clocks are uncertain";
        self.add("seconds-beyond-clocks", Severity::Warning, &of, &text, next);
    }

    fn record_itself(&mut self) {
        let of = self.that(|s| matches!(s.little, Little::Contradicts { .. }));
        let worst = |s: &&&StepFigures| match s.little {
            Little::Contradicts { worst, .. } => worst,
            _ => 0.0,
        };
        if let Some(step) = of.iter().max_by(|a, b| worst(a).total_cmp(&worst(b)))
            && let Little::Contradicts { worker, in_flight, throughput_times_service, .. } =
                &step.little
        {
            let text = format!(
                "the record contradicts Little's law {{in}}: {worker} had {in_flight:.2} operations in flight, but \
                 throughput × service time is {throughput_times_service:.2}"
            );
            let next = "do not use these figures; check the clock source and report the record";
            self.add("little-contradiction", Severity::Error, &of, &text, next);
        }
        let of = self.that(|s| matches!(s.little, Little::DepthExceeded { .. }));
        if let Some(Little::DepthExceeded { worker, depth, in_flight }) =
            of.first().map(|s| &s.little)
        {
            let text = format!(
                "{worker} had {} operations in flight at depth {depth} {{in}}",
                count(*in_flight)
            );
            let next = "do not use these figures; report the record";
            self.add("depth-exceeded", Severity::Error, &of, &text, next);
        }
    }

    fn generator(&mut self) {
        for (limit, code, says, next) in [
            (
                Limit::Limited,
                "generator-limited",
                "the generator, not the target, limited the load",
                "use more workers or processors, larger blocks, or fewer other programs on this machine",
            ),
            (
                Limit::Suspect,
                "generator-suspect",
                "the generator may have held the load back",
                "compare with `null:` as the target, and with more workers",
            ),
        ] {
            let of = self.that(|s| s.generator.limit == limit);
            let Some(worst) =
                of.iter().max_by(|a, b| a.generator.own_share.total_cmp(&b.generator.own_share))
            else {
                continue;
            };
            let text = format!("{says} {{in}}: {}", worst.generator.reasons.join("; "));
            self.add(code, Severity::Warning, &of, &text, next);
        }
        let of = self.that(|s| s.generator.limit == Limit::OwnCost);
        let text = "the target completes at once {in}: the figures are generator overhead, not storage performance";
        self.add(
            "own-cost",
            Severity::Note,
            &of,
            text,
            "name a file or a device to measure storage",
        );
        self.late_and_overrun();
    }

    fn late_and_overrun(&mut self) {
        let of = self.that(|s| s.generator.late > 0 && s.generator.late_share < LATE_SHARE);
        let late: u64 = of.iter().fold(0, |n, s| n.saturating_add(s.generator.late));
        let latest = of.iter().map(|s| s.generator.late_max_ns).max().unwrap_or(0);
        let text = format!(
            "{} started more than 1 ms late {{in}}, by up to {}",
            plural_u64(late, "operation"),
            ns_text(latest)
        );
        let next = "read response time, which counts from the moment an operation was due";
        self.add("late-starts", Severity::Note, &of, &text, next);
        let of = self.that(|s| s.generator.overruns > 0);
        let overruns: u64 = of.iter().map(|s| u64::from(s.generator.overruns)).sum();
        let text = format!(
            "{} could not be cut in time {{in}}; none is lost",
            plural_u64(overruns, "interval")
        );
        let next =
            "put the record on another device than the measured one, and leave a processor free";
        self.add("overruns", Severity::Warning, &of, &text, next);
    }

    fn operations(&mut self) {
        let of = self.that(|s| s.total.both.errors > 0);
        let errors: u64 = of.iter().fold(0, |n, s| n.saturating_add(s.total.both.errors));
        let ops: u64 = of.iter().fold(0, |n, s| n.saturating_add(s.total.both.ops));
        let text = format!(
            "{} of {} operations failed ({}) {{in}}; excluded from latency",
            count(errors as f64),
            count(errors.saturating_add(ops) as f64),
            share_text(errors as f64 / (errors as f64 + ops as f64).max(1.0)),
        );
        let next = "see the events for the first error of each worker, and the kernel log of the host (dmesg)";
        self.add("errors", Severity::Error, &of, &text, next);

        let issued = |s: &StepFigures| s.loops != Loops::Observed;
        let of = self.that(|s| s.total.both.ops == 0 && s.has_storage() && issued(s));
        let text = "no operation completed in the measured time {in}";
        let next = "check the target, and measure longer than its slowest operation takes";
        self.add("zero-ios", Severity::Error, &of, text, next);

        let open =
            |s: &StepFigures| s.testimony.filter(|t| t.open > 0).map_or(0, |t| t.open_age_max.0);
        let of = self.that(|s| open(s) >= STALLED_NS);
        let age = of.iter().map(|s| open(s)).max().unwrap_or(0);
        let text = format!(
            "operations were in flight for up to {} without completing {{in}}",
            ns_text(age)
        );
        let next = "percentiles count only what completed; look for a path or a device that hangs";
        self.add("stalled", Severity::Warning, &of, &text, next);
    }

    fn duration(&mut self) {
        self.too_short();
        let of = self.that(|s| moved(s).is_some());
        let beyond = |m: &Moved| (m.spread / m.spread_max).max(m.slope.abs() / m.slope_max);
        let all = of.iter().filter_map(|s| moved(s));
        let worst = all.max_by(|a, b| beyond(a).total_cmp(&beyond(b)));
        let text = worst.map_or("", |m| m.text.as_str());
        let text = format!("the load was not steady {{in}}: {text}");
        let next = "use a longer warm-up, or measure longer; `steady` lets the warm-up last until the load is steady";
        self.add("not-steady", Severity::Warning, &of, &text, next);
    }

    /// A step that was cut off is missing more than time; this is about steps that were planned too short.
    fn too_short(&mut self) {
        let whole =
            |s: &StepFigures| s.complete() && s.total.both.ops > 0 && s.loops != Loops::Observed;
        let carried =
            |s: &StepFigures| s.complete() && s.network.iter().any(|p| p.bytes_per_s() > 0.0);
        let of = self.that(|s| (whole(s) || carried(s)) && s.measured_ns < SHORT_NS);
        let time = span(of.iter().map(|s| s.measured_ns), ns_text);
        let text = format!(
            "measured for only {time} {{in}}: too short to average out noise or to judge steadiness"
        );
        let next = match of.iter().all(|s| s.ends()) {
            true => "give the load more to do, for 5 s or longer",
            false => "set `measure` to 5 s or more",
        };
        self.add("too-short", Severity::Warning, &of, &text, next);

        let of = self.that(|s| whole(s) && s.total.both.ops < SHORT_OPS);
        let ops = span(of.iter().map(|s| s.total.both.ops), |ops| count(ops as f64));
        let noun = if ops == "1" { "operation" } else { "operations" };
        let text = format!(
            "only {ops} {noun} completed {{in}}: high percentiles rest on one or two of them"
        );
        self.add("few-operations", Severity::Warning, &of, &text, "measure longer");
    }

    fn loops(&mut self) {
        let short = |s: &StepFigures| {
            s.offered_iops > 0.0 && s.complete() && s.open_iops < CARRIED * s.offered_iops
        };
        let of = self.that(|s| short(s) && s.total.both.ops > 0);
        let part = |s: &StepFigures| s.open_iops / s.offered_iops;
        if let Some(worst) = of.iter().min_by(|a, b| part(a).total_cmp(&part(b))) {
            let text = format!(
                "the offered load was not carried {{in}}: of {} operations a second {} were done ({})",
                count(worst.offered_iops.round()),
                count(worst.open_iops.round()),
                share_text(part(worst)),
            );
            let next = "response time then grows with the length of the step; offer less, or look for what limits";
            self.add("not-carried", Severity::Warning, &of, &text, next);
        }
        let of = self
            .that(|s| !matches!(s.loops, Loops::Open | Loops::Observed) && s.total.both.ops > 0);
        let text = "closed loops {in}: latency is service time, and a stall of the target also stops the load";
        let next = "to see what users of an independent load would see, set `rate` (an open loop)";
        self.add("closed-loop", Severity::Note, &of, text, next);
    }

    /// Steps where it is not known whether a cache served.
    fn unknown_devices(&mut self) {
        let why = |s: &StepFigures| s.served.iter().find_map(|served| served.unknown.clone());
        let of = self.that(|s| s.total.both.ops > 0 && why(s).is_some());
        let first = of.first().and_then(|s| why(s)).unwrap_or_default();
        let text = format!("it is not known whether a cache or the device served {{in}}: {first}");
        let next = "a device counts where its `queue/iostats` in /sys/block is 1; files in memory or on a network have none";
        self.add("served-unknown", Severity::Note, &of, &text, next);
    }

    /// Events of the engine, the coordinator and the agents; one warning for each code.
    fn events(&mut self, events: &[Event]) {
        let is_void = |event: &Event| {
            let voids = self.steps.iter().filter(|s| Some(s.index) == event.step);
            voids.flat_map(|s| &s.void).any(|v| (v.from_ns..=v.to_ns).contains(&event.at.0))
        };
        self.warnings.extend(hung_io::warning(events, is_void));
        let reported = |e: &&Event| {
            e.level >= Level::Warning && ![hung_io::ON, hung_io::OVER].contains(&e.code.as_str())
        };
        let mut grave: Vec<&Event> = events.iter().filter(reported).collect();
        grave.sort_by(|a, b| b.level.cmp(&a.level).then(a.at.cmp(&b.at)));
        let (planned, grave) = grave.into_iter().partition(|event| {
            LOST.contains(&event.code.as_str()) && planned::brought(event, events)
        });
        self.told(grave, None);
        self.told(planned, Some((Severity::Note, ", while a planned fault lasted")));
    }

    /// Events, one warning for each code; with another severity and more words, where these are given.
    fn told(&mut self, grave: Vec<&Event>, otherwise: Option<(Severity, &str)>) {
        let mut codes: Vec<&str> = Vec::new();
        for event in &grave {
            if codes.contains(&event.code.as_str()) {
                continue;
            }
            codes.push(&event.code);
            let same = || grave.iter().filter(|e| e.code == event.code);
            let mut steps: Vec<u32> = same().filter_map(|e| e.step).collect();
            steps.sort_unstable();
            steps.dedup();
            // The same of several steps is one thing; others of the kind are counted.
            let alike = same().all(|e| e.text == event.text);
            let more = match same().count() {
                1 => String::new(),
                n if alike && steps.len() == n => {
                    format!(" (in {n} of {} steps)", self.steps.len().max(n))
                }
                n => format!(" (and {} more of the kind)", count((n - 1) as f64)),
            };
            self.warnings.push(Warning {
                code: event.code.clone(),
                severity: match (otherwise, event.level) {
                    (Some((severity, _)), _) => severity,
                    (None, Level::Error) => Severity::Error,
                    _ => Severity::Warning,
                },
                text: format!("{}{more}{}", event.text, otherwise.map_or("", |(_, words)| words)),
                next: String::new(),
                steps,
            });
        }
    }
}

/// How much a step moved that was not steady.
fn moved(step: &StepFigures) -> Option<&Moved> {
    match &step.steady {
        Some(Steadiness::NotSteady(moved)) => Some(moved),
        _ => None,
    }
}

/// `in every step`, `in 2 of 16 steps (depth 64; depth 128)`, or nothing when the run has a single step.
fn where_text(of: &[&StepFigures], all: usize) -> String {
    if all == 1 {
        return "in the step".to_owned();
    }
    if of.len() == all {
        return format!("in all {all} steps");
    }
    let mut names: Vec<String> = of.iter().take(NAMED).map(|s| s.label()).collect();
    if of.len() > NAMED {
        names.push("…".to_owned());
    }
    format!("in {} of {all} steps ({})", of.len(), names.join("; "))
}

fn plural(n: usize, noun: &str) -> String {
    plural_u64(n as u64, noun)
}

fn plural_u64(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n as f64), if n == 1 { "" } else { "s" })
}

/// The least and the most of several figures: `1 s`, or `1 s to 2 s`.
fn span(all: impl Iterator<Item = u64>, text: impl Fn(u64) -> String) -> String {
    let (least, most) =
        all.fold((u64::MAX, 0), |(least, most), one| (least.min(one), most.max(one)));
    match (text(least), text(most)) {
        (least, most) if least == most => least,
        (least, most) => format!("{least} to {most}"),
    }
}

/// How much of these steps is void, for one reason or the other.
fn void_time(of: &[&StepFigures], clocks: bool) -> String {
    ns_text(void_ns(of, clocks))
}

fn void_ns(of: &[&StepFigures], clocks: bool) -> u64 {
    let void = of.iter().flat_map(|s| &s.void).filter(|v| v.clocks == clocks);
    void.map(|v| v.to_ns - v.from_ns.min(v.to_ns)).fold(0, u64::saturating_add)
}

fn ns_text(ns: u64) -> String {
    duration(Duration::from_nanos(ns))
}

fn share_text(share: f64) -> String {
    percent((share * 1000.0).round() / 10.0)
}

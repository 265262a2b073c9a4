//! The answers that come first: what differing plans carry, where a sweep of load ends, what faults did, and how jobs went.

use crate::headline::plural;
use crate::limits;
use crate::number::{latency, percent};
use crate::sentence::{AnswerTable, Section, Sentence, Tone};
use crate::text::{Align, clean};
use findings::attribution::{Attribution, Limiter};
use findings::knee::Answer;
use findings::{
    Analysis, ComparedPlan, FaultKind, FaultOutcome, FaultSpan, JobPhase, JobWindow, PlanAnswer,
    PlanComparison, PortGain, Quantity, SearchOutcome, StepFigures, SweepEnd, SweepLoad, Unit,
    link_generation,
};
use scenario::Plan;
use units::{count, rate};

/// Comparisons that get a sentence; the others are in the JSON.
const COMPARISONS: usize = 3;
/// Plans that one sentence names; of more it names the best and the worst, and a table all.
const IN_ONE_SENTENCE: usize = 3;
/// Plans that are named with what they do.
const PLANS: usize = 12;
/// What is said of each plan.
const COLUMNS: [(&str, Align); 4] = [
    ("plan", Align::Left),
    ("at its best", Align::Right),
    ("at", Align::Left),
    ("limited by", Align::Left),
];
/// What is said of plans that differ in what carries them.
const COMPARED: [(&str, Align); 4] = [
    ("plan", Align::Left),
    ("through", Align::Left),
    ("does", Align::Right),
    ("limited by", Align::Left),
];
/// Mean I/O size below which operations are told and not bytes.
const SMALL_IO: f64 = 16384.0;
/// Ratio of the most to the least below which plans do the same.
const ALIKE: f64 = 1.05;
/// Faults that get a sentence.
const FAULTS: usize = 6;
/// Share of the ratio of two speeds below which a faster port did not bring its full gain.
const BROUGHT: f64 = 0.95;
/// Change of the work below which a larger load brings nothing.
const SAME: f64 = 0.005;

/// The answers: of plans that differ in a part, of the first plan's sweep, of faults and of jobs. Where faults or jobs are
/// most of the run, they come first.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Sentence> {
    let special = |s: &&StepFigures| !s.faults.is_empty() || s.is_job();
    let most = 2 * analysis.steps.iter().filter(special).count() >= analysis.steps.len();
    let happened: Vec<Sentence> = faults(analysis).into_iter().chain(jobs(analysis)).collect();
    let mut all: Vec<Sentence> = analysis.port_gains.iter().map(|g| gain(g, analysis)).collect();
    let by_part = analysis.plan_comparisons.iter().filter(|compared| compared.by_part);
    all.extend(by_part.take(COMPARISONS).map(|compared| comparison(compared, analysis)));
    let ends = analysis.sweep_ends.iter().filter(|end| is_first(end, analysis));
    all.extend(ends.filter_map(|end| sweep_end(end, analysis)));
    match most {
        true => happened.into_iter().chain(all).collect(),
        false => all.into_iter().chain(happened).collect(),
    }
}

/// What leads where nothing else is an answer: the plans beside each other, all of them compared, else what each does.
pub(crate) fn plans(analysis: &Analysis) -> Option<Sentence> {
    let best = &analysis.plan_answers;
    if best.len() < 2 {
        return None;
    }
    if let Some(all) = of_all_plans(analysis) {
        return Some(comparison(all, analysis));
    }
    if best.len() > IN_ONE_SENTENCE {
        return Some(most_and_least(analysis));
    }
    let one = |(n, of): (usize, &PlanAnswer)| {
        let verb = if n == 0 { format!(" {}", verb(&of.figure)) } else { String::new() };
        format!("{}{verb} {}{}", clean(&of.plan), figure(&of.figure), at(&of.settings))
    };
    let named: Vec<String> = best.iter().enumerate().map(one).collect();
    let text = format!("{}.", named.join("; "));
    Some(Sentence::new(Tone::Plain, text, Section::Step(best[0].step)))
}

/// The plans that do the most and the least, and a table of all.
fn most_and_least(analysis: &Analysis) -> Sentence {
    let best = &analysis.plan_answers;
    let of = |unit: Unit| {
        let mut all: Vec<&PlanAnswer> = best.iter().filter(|one| one.figure.unit == unit).collect();
        all.sort_by(|a, b| b.figure.value.total_cmp(&a.figure.value));
        all
    };
    let (large, small) = (of(Unit::BytesPerS), of(Unit::Iops));
    let apart = |all: &[&PlanAnswer]| match all {
        [] => String::new(),
        [one] => format!("{} {} {}", clean(&one.plan), verb(&one.figure), figure(&one.figure)),
        [most, .., least] if least.ratio < ALIKE => format!(
            "all {} about the same, {} ({}) to {} ({})",
            if most.figure.unit == Unit::BytesPerS { "carry" } else { "do" },
            figure(&most.figure),
            clean(&most.plan),
            figure(&least.figure),
            clean(&least.plan)
        ),
        [most, .., least] => format!(
            "{} {} the most, {}, {} the least, {}: {}",
            clean(&most.plan),
            verb(&most.figure),
            figure(&most.figure),
            clean(&least.plan),
            figure(&least.figure),
            limits::times(least.ratio)
        ),
    };
    let text = match (large.is_empty(), small.is_empty()) {
        (false, false) => format!("{}; in small blocks {}", apart(&large), apart(&small)),
        _ => apart(if small.is_empty() { &large } else { &small }),
    };
    let more = match best.len().saturating_sub(PLANS) {
        0 => String::new(),
        n => format!(" {} more in the tables.", plural(n, "plan")),
    };
    let row = |one: &PlanAnswer| {
        [
            clean(&one.plan),
            figure(&one.figure),
            settled(&one.settings),
            limits::in_short(analysis, one.step).unwrap_or_default(),
        ]
    };
    let rows = best.iter().take(PLANS).map(row).collect();
    let step = large.first().or(small.first()).map(|one| Section::Step(one.step));
    Sentence::new(Tone::Plain, format!("{text}.{more}"), step)
        .table(AnswerTable::new(COLUMNS, rows))
}

/// What one does with a figure.
fn verb(figure: &Quantity) -> &'static str {
    if figure.unit == Unit::BytesPerS { "carries" } else { "does" }
}

/// The step that moved most; of equals the first.
fn most(steps: &[StepFigures]) -> Option<&StepFigures> {
    let by_bytes = |a: &&StepFigures, b: &&StepFigures| {
        a.total.both.bytes_per_s.total_cmp(&b.total.both.bytes_per_s)
    };
    steps.iter().rev().filter(|step| step.total.both.ops > 0).max_by(by_bytes)
}

/// The comparison that holds every plan of the run, where one does.
fn of_all_plans(analysis: &Analysis) -> Option<&PlanComparison> {
    let plans = analysis.steps.chunk_by(|a, b| a.plan == b.plan).count();
    analysis.plan_comparisons.iter().find(|all| !all.by_part && all.plans.len() == plans)
}

/// What comes after the peak: plans that load different members, and the sweeps of further plans. `said` is whether
/// [`plans`] led.
pub(crate) fn further(analysis: &Analysis, said: bool) -> Vec<Sentence> {
    let first = of_all_plans(analysis).filter(|_| said);
    let others = analysis.plan_comparisons.iter().filter(|compared| !compared.by_part);
    let others = others.filter(|compared| first != Some(*compared)).take(COMPARISONS);
    let mut all: Vec<Sentence> = others.map(|compared| comparison(compared, analysis)).collect();
    let ends = analysis.sweep_ends.iter().filter(|end| !is_first(end, analysis));
    all.extend(ends.filter_map(|end| sweep_end(end, analysis)));
    all
}

/// Whether a sweep answers the title: it is of the first plan, and shows where its load leads to.
fn is_first(end: &SweepEnd, analysis: &Analysis) -> bool {
    let Some(sweep) = analysis.sweeps.get(end.sweep) else { return false };
    let tells = end.reached.is_some() || !matches!(sweep.knee, Answer::Undecided { .. });
    tells && analysis.steps.first().is_some_and(|step| step.plan == sweep.plan)
}

/// The step that the first finding speaks of: the answer of a search, the first answer, else the peak.
pub(crate) fn step_of_interest(analysis: &Analysis) -> Option<u32> {
    let of = |sentence: &Sentence| match sentence.place {
        Some(Section::Step(step) | Section::Ports(step)) => Some(step),
        _ => None,
    };
    let answer = |search: &SearchOutcome| {
        let best = search.best.as_ref()?;
        let value = (search.over.clone(), best.value.clone());
        let has = |step: &&StepFigures| {
            search.steps.contains(&step.index) && step.settings.contains(&value)
        };
        analysis.steps.iter().find(has).map(|step| step.index)
    };
    let first = || sentences(analysis).into_iter().chain(plans(analysis)).find_map(|s| of(&s));
    let best = || most(&analysis.steps).or(analysis.steps.first()).map(|step| step.index);
    analysis.searches.iter().find_map(answer).or_else(first).or_else(best)
}

/// What a faster port brought.
fn gain(gain: &PortGain, analysis: &Analysis) -> Sentence {
    let less = match gain.ratio < BROUGHT * gain.rates {
        true => ": something else became the limit",
        false => "",
    };
    let text = format!(
        "{} carries {}, {} {}: {}{}; the speeds are {} apart{less}.",
        clean(&link_generation(&gain.faster)),
        rate(gain.faster_bytes_per_s),
        clean(&link_generation(&gain.slower)),
        rate(gain.slower_bytes_per_s),
        limits::times(gain.ratio),
        at(&gain.at),
        limits::times(gain.rates)
    );
    let has = |s: &StepFigures| {
        let faster = ("port".to_owned(), gain.faster.clone());
        s.plan == gain.plan
            && s.settings.contains(&faster)
            && gain.at.iter().all(|a| s.settings.contains(a))
    };
    let place = analysis.steps.iter().find(|s| has(s)).map(|s| Section::Step(s.index));
    Sentence::new(Tone::Plain, text, place)
}

/// ` at block 128KiB`; nothing where nothing was settled.
fn at(settings: &[(String, String)]) -> String {
    if settings.is_empty() { String::new() } else { format!(" at {}", settled(settings)) }
}

/// `block 128KiB, mtu 9000`.
fn settled(settings: &[(String, String)]) -> String {
    let of: Vec<String> =
        settings.iter().map(|(k, v)| format!("{} {}", clean(k), clean(v))).collect();
    of.join(", ")
}

fn figure(quantity: &Quantity) -> String {
    match quantity.unit {
        Unit::BytesPerS => rate(quantity.value),
        _ => format!("{} IOPS", count(quantity.value.round())),
    }
}

/// The work of a load; of large I/Os their bytes, too.
fn work(load: &SweepLoad, analysis: &Analysis) -> String {
    let step = analysis.steps.iter().find(|step| step.index == load.step);
    let bytes = step.map_or(0.0, |step| step.total.both.bytes_per_s);
    match load.work.unit {
        Unit::Iops if bytes >= SMALL_IO * load.work.value => {
            format!("{}, {}", figure(&load.work), rate(bytes))
        }
        _ => figure(&load.work),
    }
}

/// What plans that differ in one part carry.
fn comparison(compared: &PlanComparison, analysis: &Analysis) -> Sentence {
    let plans = &compared.plans;
    let Some((first, last)) = plans.first().zip(plans.last()) else {
        return Sentence::new(Tone::Plain, "No plans are compared.", None);
    };
    let many = plans.len() > IN_ONE_SENTENCE;
    let side = |(n, plan): (usize, &ComparedPlan)| {
        let verb = if n == 0 { format!(" {}", verb(&plan.figure)) } else { String::new() };
        format!("{}{verb} {}", clean(&plan.differs), figure(&plan.figure))
    };
    let sides = match many {
        true => format!(
            "{} {} the most, {}, {} the least, {}",
            clean(&first.differs),
            verb(&first.figure),
            figure(&first.figure),
            clean(&last.differs),
            figure(&last.figure)
        ),
        false => plans.iter().enumerate().map(side).collect::<Vec<_>>().join(", "),
    };
    let other = |plan: &&ComparedPlan| !many && plan.plan != plan.differs;
    let names: Vec<String> = plans.iter().filter(other).map(|plan| clean(&plan.plan)).collect();
    let names = match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    };
    // Where they do the same, what holds both back is the answer.
    let limit = Some(first).filter(|_| last.ratio < ALIKE);
    let limit = limit.and_then(|plan| limits::clause(analysis, plan.step));
    let limit = limit.map_or(String::new(), |limit| format!("; {limit}"));
    let text = format!("{sides}: {}{}{names}{limit}.", limits::times(last.ratio), at(&compared.at));
    let sentence = Sentence::new(Tone::Plain, text, Section::Step(first.step));
    if !many {
        return sentence;
    }
    let row = |plan: &ComparedPlan| {
        let own = if plan.plan == plan.differs { String::new() } else { clean(&plan.differs) };
        let limit = limits::in_short(analysis, plan.step).unwrap_or_default();
        [clean(&plan.plan), own, figure(&plan.figure), limit]
    };
    let rows = plans.iter().take(PLANS).map(row).collect();
    sentence.table(AnswerTable::new(COMPARED, rows))
}

/// What the last step of a sweep added, and which load reaches what a goal asks for.
fn sweep_end(end: &SweepEnd, analysis: &Analysis) -> Option<Sentence> {
    let sweep = analysis.sweeps.get(end.sweep)?;
    // The answer of a search is its own.
    if analysis.searches.iter().any(|search| search.plan == sweep.plan) {
        return None;
    }
    let names = |load: &SweepLoad| match (end.counts == sweep.axis, load.value.as_str()) {
        (true, value) => format!("{} {}", clean(&end.counts), clean(value)),
        (false, "1") => format!("1 {}", end.counts),
        (false, value) => format!("{} {}s", clean(value), end.counts),
    };
    let plans = analysis.steps.chunk_by(|a, b| a.plan == b.plan).count();
    let plan = if plans > 1 { format!("{}: ", clean(&sweep.plan)) } else { String::new() };
    let added = match end.added {
        share if share.abs() < SAME => "adds nothing".to_owned(),
        share if share >= 0.0 => format!("adds {}%", percent(share)),
        share => format!("costs {}%", percent(-share)),
    };
    let last = work(&end.last, analysis);
    let one_more = end.counts != sweep.axis
        && end
            .last
            .value
            .parse::<u64>()
            .ok()
            .zip(end.before.value.parse::<u64>().ok())
            .is_some_and(|(last, before)| last == before + 1);
    let step = match one_more {
        true => format!("the {} {added} ({last})", ordinal(&end.last.value)),
        false => format!(
            "from {} to {}, {} the load, {added} ({last})",
            names(&end.before),
            clean(&end.last.value),
            limits::times(1.0 + end.added_load)
        ),
    };
    let reached = match &end.reached {
        Some(reached) => {
            let verb = if names(&reached.at).ends_with('s') { "reach" } else { "reaches" };
            format!(
                "{} {verb} {} ({}); ",
                names(&reached.at),
                figure(&reached.figure),
                work(&reached.at, analysis)
            )
        }
        None if one_more => {
            let verb = if names(&end.before).ends_with('s') { "do" } else { "does" };
            format!("{} {verb} {}; ", names(&end.before), work(&end.before, analysis))
        }
        None => knee(&sweep.knee, &sweep.axis),
    };
    let limit = limits::clause(analysis, end.last.step);
    let limit = limit.map_or(String::new(), |limit| format!(": {limit}"));
    let text = format!("{plan}{reached}{step}{}{limit}.", at(&sweep.fixed));
    Some(Sentence::new(Tone::Plain, text, Section::Step(end.last.step)))
}

/// Where the knee of a sweep is, before what its last step added.
fn knee(knee: &Answer, axis: &str) -> String {
    match knee {
        Answer::At { value, .. } => format!("knee at {} {}; ", clean(axis), clean(value)),
        Answer::StillScaling { .. } => "still scaling: ".to_owned(),
        Answer::Flat { .. } => format!("full from the first {}: ", clean(axis)),
        Answer::Undecided { .. } => String::new(),
    }
}

/// `6th`, `21st`.
fn ordinal(value: &str) -> String {
    let number = value.parse::<u64>().unwrap_or(0);
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{value}{ending}")
}

/// What planned faults did.
fn faults(analysis: &Analysis) -> Vec<Sentence> {
    let all = analysis.steps.iter().flat_map(|step| step.faults.iter().map(move |f| (step, f)));
    let one = analysis.steps.len() == 1;
    all.take(FAULTS).map(|(step, outcome)| fault(step, outcome, one)).collect()
}

/// A time on a watch: above a second no more than tenths.
pub(crate) fn seconds(ns: u64) -> String {
    match ns {
        0..1_000_000_000 => latency(ns as f64),
        1_000_000_000..120_000_000_000 => {
            let tenths = (ns as f64 / 1e8).round() / 10.0;
            format!("{tenths} s")
        }
        _ => latency((ns as f64 / 1e9).round() * 1e9),
    }
}

/// What happened to the part: `was killed at 5 s, and was back at 10 s`.
pub(crate) fn event(fault: &FaultOutcome) -> String {
    let to = fault.to.as_deref().map(clean).unwrap_or_default();
    let what = match fault.kind {
        FaultKind::Killed => "was killed".to_owned(),
        FaultKind::Failed => "failed".to_owned(),
        FaultKind::Slowed => format!("was slowed to {to}"),
        FaultKind::Busy => "answered BUSY".to_owned(),
        FaultKind::Lossy => format!("lost {to} of its packets from"),
        FaultKind::Mismatched => format!("took packets up to {to} bytes alone at one end from"),
        FaultKind::Stalled => "stalled".to_owned(),
        FaultKind::Moved => format!("moved to {to}"),
    };
    let until = match fault.until_ns {
        Some(until) => format!(", until {}", seconds(until)),
        None => String::new(),
    };
    let shown = if fault.carried_out { "" } else { " (planned; no event shows it)" };
    let at = if what.ends_with(" from") { "" } else { " at" };
    format!("{} {what}{at} {}{until}{shown}", clean(&fault.part), seconds(fault.at_ns))
}

fn fault(step: &StepFigures, fault: &FaultOutcome, one: bool) -> Sentence {
    let span = |span: &FaultSpan| {
        let p99 = span.p99_ns.map(|p99| format!(", p99 {}", seconds(p99)));
        format!("{}{}", rate(span.bytes_per_s), p99.unwrap_or_default())
    };
    let plan = if one { String::new() } else { format!("{}: ", clean(&step.label())) };
    let after = fault.after.as_ref().map(|a| format!("; after {}", span(a))).unwrap_or_default();
    let moves = matches!(
        fault.kind,
        FaultKind::Killed | FaultKind::Failed | FaultKind::Busy | FaultKind::Stalled
    );
    let fail_over = match fault.fail_over_ns {
        Some(ns) if moves => format!(" Time to fail over: {} (the longest I/O).", seconds(ns)),
        Some(ns) => format!(" The longest I/O took {}.", seconds(ns)),
        // What was not timed is not told of.
        None if fault.clock_stood_ns.is_some() || fault.before.p99_ns.is_none() => String::new(),
        None => " No I/O took longer than before.".to_owned(),
    };
    let stood = fault.clock_stood_ns.map(|ns| {
        format!(
            " Its clock stood still with it, in this step for up to {}: its response times leave that out.",
            seconds(ns)
        )
    });
    let fail_over = fail_over + &stood.unwrap_or_default();
    let back = match (fault.recovered_ns, fault.resumed_ns, fault.until_ns) {
        (Some(ns), _, _) => {
            format!(" Time to recover: {} from its end.", seconds(ns))
        }
        (None, Some(ns), None) => format!(" Throughput was back after {}.", seconds(ns)),
        (None, _, Some(_)) => " Throughput did not recover after it.".to_owned(),
        (None, None, None) => " Throughput did not recover while it lasted.".to_owned(),
    };
    let spans = [Some(&fault.before), Some(&fault.during), fault.after.as_ref()];
    let errors: u64 = spans.into_iter().flatten().map(|span| span.errors).sum();
    let text = format!(
        "{plan}{}. Before {}; during {}{after}.{fail_over}{back} {}.",
        event(fault),
        span(&fault.before),
        span(&fault.during),
        match (errors, step.groups.is_empty()) {
            (0, false) => "No I/O failed".to_owned(),
            (0, true) => "No stream failed".to_owned(),
            (n, false) => format!("{} failed", plural(n as usize, "I/O")),
            (n, true) => format!("{} failed", plural(n as usize, "message")),
        }
    );
    let tone = if errors > 0 { Tone::Bad } else { Tone::Plain };
    Sentence::new(tone, text, Section::Step(step.index))
}

/// How the jobs went.
fn jobs(analysis: &Analysis) -> Vec<Sentence> {
    // Of many loads that ended the tables say enough.
    let only = analysis.steps.len() == 1;
    let unfinished =
        |step: &StepFigures| step.job.iter().any(|of| of.amount.is_some() && !of.finished);
    let told = |step: &&StepFigures| step.is_job() || step.ends() && (only || unfinished(step));
    analysis.steps.iter().filter(told).map(job).collect()
}

/// Bytes in decimal gigabytes.
pub(crate) fn gigabytes(bytes: u64) -> String {
    format!("{} GB", crate::number::digits(bytes as f64 / 1e9))
}

/// What the rate of a job means for a terabyte, and for its window.
fn window(of: &JobWindow) -> String {
    let fits = of.window_ns.zip(of.fits).map(|(window, fits)| {
        format!("; the window of {} takes {}", lasting(window), gigabytes(fits))
    });
    format!(" At this rate 1 TB takes {}{}.", lasting(of.terabyte_ns), fits.unwrap_or_default())
}

/// A long time in a unit that suits it.
fn lasting(ns: u64) -> String {
    match ns as f64 / 1e9 {
        s if s < 120.0 => seconds(ns),
        s if s < 7200.0 => format!("{} min", crate::number::digits(s / 60.0)),
        s => format!("{} h", crate::number::digits(s / 3600.0)),
    }
}

/// What limited the phases of a job, where it was found: those with the same limit together.
fn phase_limits(phases: &[JobPhase]) -> String {
    let mut limits: Vec<(String, Vec<String>)> = Vec::new();
    for phase in phases {
        let known = |found: &&Attribution| !matches!(found.limit, Limiter::Unknown { .. });
        let Some(found) = phase.attribution.as_ref().filter(known) else { continue };
        let (limit, name) = (limits::of_phase_with_odds(found), clean(&phase.name));
        match limits.iter_mut().find(|(known, _)| *known == limit) {
            Some((_, names)) => names.push(name),
            None => limits.push((limit, vec![name])),
        }
    }
    let told =
        limits.iter().map(|(limit, names)| format!(" {} limited by: {limit}.", names.join(", ")));
    told.collect()
}

fn job(step: &StepFigures) -> Sentence {
    let phase = |phase: &JobPhase| match (phase.began_ns, phase.finished, phase.amount) {
        (None, _, _) => format!("{} did not begin", clean(&phase.name)),
        (_, true, _) => format!(
            "{} {} in {} ({})",
            clean(&phase.name),
            gigabytes(phase.moved),
            seconds(phase.lasted_ns),
            rate(phase.bytes_per_s)
        ),
        (_, false, None) => format!(
            "{} {} in {}, without an end ({})",
            clean(&phase.name),
            gigabytes(phase.moved),
            seconds(phase.lasted_ns),
            rate(phase.bytes_per_s)
        ),
        (_, false, Some(amount)) => {
            let end = phase.projected_end_ns.map(|ns| format!(", to end at {}", seconds(ns)));
            format!(
                "{} {} of {} in {} ({}), {} left{}",
                clean(&phase.name),
                gigabytes(phase.moved),
                gigabytes(amount),
                seconds(phase.lasted_ns),
                rate(phase.bytes_per_s),
                gigabytes(phase.left),
                end.unwrap_or_default()
            )
        }
    };
    let ends = |phase: &JobPhase| phase.began_ns.map(|began| began + phase.lasted_ns);
    let ending = step.job.iter().filter(|phase| phase.amount.is_some());
    let (done, end) = (ending.clone().all(|p| p.finished), ending.filter_map(ends).max());
    let whole = match end.filter(|_| done) {
        Some(end) => format!("done in {}", seconds(end)),
        None => "not finished".to_owned(),
    };
    let phases: Vec<String> = step.job.iter().map(phase).collect();
    let limit = phase_limits(&step.job);
    let window = step.job_window.as_ref().map_or(String::new(), window);
    let name = match step.plan == Plan::UNNAMED {
        true => "Job".to_owned(),
        false => format!("Job {}", clean(&step.plan)),
    };
    let text = format!("{name}: {whole}: {}.{limit}{window}", phases.join("; "));
    let tone = if done { Tone::Plain } else { Tone::Caution };
    Sentence::new(tone, text, Section::Step(step.index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use findings::attribution::HopLimit;

    fn phase(name: &str, limit: Option<Limiter>, probability: f64) -> JobPhase {
        let attribution = limit.map(|limit| Attribution {
            limit,
            probability,
            runner_up: None,
            clues: vec![],
            turns: None,
            hops: vec![],
        });
        JobPhase {
            name: name.to_owned(),
            workload: name.to_owned(),
            copies: true,
            after: vec![],
            amount: Some(1),
            passes: None,
            moved: 1,
            read: 1,
            written: 1,
            began_ns: Some(0),
            lasted_ns: 1,
            void_ns: 0,
            bytes_per_s: 1.0,
            finished: true,
            left: 0,
            projected_end_ns: None,
            attribution,
        }
    }

    #[test]
    fn what_limited_the_phases_of_a_job_is_said_where_it_is_known() {
        let hop = |hop: &str| {
            Some(Limiter::Hop { hop: hop.to_owned(), why: HopLimit::Rate, also: vec![] })
        };
        let unknown = Some(Limiter::Unknown { missing: vec![] });
        let told = |phases: &[JobPhase]| phase_limits(phases);
        assert_eq!(told(&[phase("a", unknown.clone(), 0.9), phase("b", None, 0.0)]), "");
        assert_eq!(
            told(&[phase("a", hop("pool.p1"), 0.95), phase("b", hop("vtl.p1"), 0.6)]),
            " a limited by: pool.p1. b limited by: vtl.p1 (probability 0.60)."
        );
        let same =
            [phase("a", hop("p1"), 0.95), phase("x", unknown, 0.9), phase("b", hop("p1"), 0.95)];
        assert_eq!(told(&same), " a, b limited by: p1.");
    }
}

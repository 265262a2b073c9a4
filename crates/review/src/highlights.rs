//! The findings in sentences with numbers: peak throughput, knees, balance, generator overhead.

use crate::agents;
use crate::answers;
use crate::devices;
use crate::fabric;
use crate::headline::{blocks, plural};
use crate::limits;
use crate::monitoring;
use crate::network;
use crate::number::{digits, latency, percent, ratio};
use crate::paint::{Ink, ReviewPage};
use crate::projections;
use crate::sentence::{Section, Sentence, Tone};
use crate::table;
use crate::text::clean;
use findings::generator::Limit;
use findings::knee::Answer;
use findings::{
    Analysis, Content, Coverage, IoFigures, Loops, SearchOutcome, Steadiness, StepFigures, Sweep,
    Unit, Verification, WarmUpEnd,
};
use units::{count, rate};

/// Curves that get a sentence; the others are in the JSON.
const SWEEPS_MAX: usize = 6;

pub(crate) fn write(page: &mut ReviewPage, analysis: &Analysis) {
    let sentences = sentences(analysis);
    if sentences.is_empty() {
        return;
    }
    page.heading("Findings");
    for sentence in sentences {
        page.sentence("  ", &sentence, Ink::Plain);
        if !sentence.next.is_empty() {
            page.hanging("    → ", Ink::Accent, &sentence.next, Ink::Dim);
        }
        if let Some(below) = &sentence.table {
            table::write_answers(page, below);
        }
    }
}

/// The findings, in the order of the review.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Sentence> {
    let Analysis { steps, sweeps, .. } = analysis;
    let plan_count = steps.chunk_by(|a, b| a.plan == b.plan).count();
    let mut all = Vec::new();
    all.extend(analysis.searches.iter().flat_map(|s| searched(s, analysis)));
    all.extend(answers::sentences(analysis));
    all.extend(network::sentences(analysis));
    // Where nothing else is the answer, the plans beside each other are, and of one plan its peak.
    let plans = answers::plans(analysis).filter(|_| all.is_empty());
    let said = plans.is_some();
    all.extend(plans);
    let lead = all.is_empty();
    all.extend(peak(steps).filter(|_| lead));
    // A table of all plans has the limits of their best steps.
    let tabled = all.iter().any(|s| s.table.as_ref().is_some_and(|t| t.rows.len() == plan_count));
    all.extend(limits::sentences(analysis, tabled));
    all.extend(peak(steps).filter(|_| !lead));
    all.extend(others(steps));
    all.extend(answers::further(analysis, said));
    all.extend(monitoring::sentences(analysis));
    all.extend(fabric::sentences(analysis));
    // A search reports its own knee; the steps of other searches do not form a sweep.
    let is_swept = |s: &&Sweep| !analysis.searches.iter().any(|search| search.plan == s.plan);
    let knees = sweeps.iter().enumerate().filter(|(_, s)| is_swept(s)).take(SWEEPS_MAX);
    all.extend(knees.map(|(i, s)| found(knee(s, plan_count), Section::Sweep(i))));
    let swept = sweeps.iter().filter(is_swept).count();
    if swept > SWEEPS_MAX {
        let more = swept - SWEEPS_MAX;
        let text = format!("{} more in the JSON review.", plural(more, "curve"));
        all.push(found(text, Section::Sweep(SWEEPS_MAX)));
    }
    all.extend(projections::sentences(&analysis.projections));
    all.extend(balance(steps));
    all.extend(agents::sentences(steps));
    all.extend(devices::sentences(steps));
    all.extend(warm_up(steps));
    all.extend(done(steps));
    all.extend(limits::undetermined(analysis));
    all.extend(generator(steps));
    all.extend(verification(analysis.verification.as_ref()));
    all.extend(content(&analysis.contents));
    all
}

/// What a search found, why it stopped, and its cautions.
fn searched(search: &SearchOutcome, analysis: &Analysis) -> Vec<Sentence> {
    let sweep =
        |s: &Sweep| s.plan == search.plan && s.axis == search.over && s.fixed == search.fixed;
    let place = match analysis.sweeps.iter().position(sweep) {
        Some(curve) => Some(Section::Sweep(curve)),
        None => search.steps.first().map(|step| Section::Step(*step)),
    };
    let fixed: String =
        search.fixed.iter().map(|(k, v)| format!(", at {} {}", clean(k), clean(v))).collect();
    let plans = analysis.searches.iter().any(|other| other.plan != search.plan);
    let plan = if plans { format!("{}: ", clean(&search.plan)) } else { String::new() };
    let steps = plural(search.steps.len(), "step");
    let text = format!(
        "{plan}{}{fixed}. The search took {steps}; {}.",
        clean(&search.answer),
        clean(&search.reason)
    );
    let tone = if search.bracketed { Tone::Good } else { Tone::Caution };
    let mut all = vec![Sentence::new(tone, text, place)];
    let mut caution = |text: &str| all.push(Sentence::new(Tone::Caution, text, place));
    if !search.generator_limited.is_empty() {
        caution(
            "The generator limited steps behind this answer: it shows the generator's limit, not the target's.",
        );
    }
    if !search.as_the_rule_asks {
        caution(
            "The steps of the record are not those that the search would have chosen; the answer is derived from them.",
        );
    }
    all
}

fn found(text: String, place: Section) -> Sentence {
    Sentence::new(Tone::Plain, text, place)
}

fn peak(steps: &[StepFigures]) -> Option<Sentence> {
    // Reversed, so that the first of equals is named.
    let best = steps
        .iter()
        .rev()
        .filter(|s| s.total.both.ops > 0 || uncounted(s))
        .max_by(|a, b| a.total.both.bytes_per_s.total_cmp(&b.total.both.bytes_per_s))?;
    let both = &best.total.both;
    let at = if steps.len() > 1 { format!(" at {}", clean(&best.label())) } else { String::new() };
    let transactions = match best.total.transactions_per_s {
        Some(t) => format!(", {} transactions/s", count(t.round())),
        None => String::new(),
    };
    let time = match (both.latency(), both.mean_latency_ns()) {
        (Some(l), _) => format!(", p99 {}", latency(l.p99_ns as f64)),
        (None, Some(mean)) => format!(", mean service time {}", latency(mean)),
        (None, None) => String::new(),
    };
    let lead = if steps.len() > 1 { "Peak throughput: " } else { "" };
    let iops = match uncounted(best) {
        true => String::new(),
        false => format!(", {} IOPS", count(both.iops.round())),
    };
    let text = format!(
        "{lead}{}{iops}{transactions}{at}{time} ({}).",
        rate(both.bytes_per_s),
        loops(best.loops)
    );
    Some(found(text, Section::Step(best.index)))
}

/// Whether of an observed load bytes were counted and operations were not.
fn uncounted(step: &StepFigures) -> bool {
    let both = &step.total.both;
    step.loops == Loops::Observed && both.ops == 0 && both.bytes_per_s > 0.0
}

/// Operations a second, unless they were not counted.
pub(crate) fn iops(step: &StepFigures) -> Option<String> {
    (!uncounted(step)).then(|| digits(step.total.both.iops))
}

/// The operations that move no data, at the step that issued the most of them.
fn others(steps: &[StepFigures]) -> Option<Sentence> {
    let rate = |s: &StepFigures| s.total.others.each().map(|(_, of)| of.iops).sum::<f64>();
    let busiest = steps.iter().rev().max_by(|a, b| rate(a).total_cmp(&rate(b)))?;
    let at = match steps.len() {
        1 => String::new(),
        _ => format!("At {}: ", clean(&busiest.label())),
    };
    let one = |(name, of): (&str, &IoFigures)| {
        let noun = match name {
            "trim" => "trims",
            "flush" => "flushes",
            other => other,
        };
        let time = match (of.latency(), of.mean_latency_ns()) {
            (Some(l), _) => format!(", p99 {}", latency(l.p99_ns as f64)),
            (None, Some(mean)) => format!(", mean service time {}", latency(mean)),
            (None, None) => String::new(),
        };
        let failed = match of.errors {
            0 => String::new(),
            n => format!(", {} failed", count(n as f64)),
        };
        format!("{} {noun}/s{time}{failed}", count(of.iops.round()))
    };
    let all: Vec<String> = busiest.total.others.each().map(one).collect();
    (!all.is_empty())
        .then(|| found(format!("{at}{}.", all.join("; ")), Section::Step(busiest.index)))
}

/// The kinds of loop in which a latency was measured.
pub(crate) fn loops(loops: Loops) -> &'static str {
    match loops {
        Loops::Closed => "closed loop",
        Loops::Open => "open loop",
        Loops::Mixed => "closed and open loops",
        Loops::Observed => "observed load",
    }
}

/// Coverage of the verification.
fn verification(verification: Option<&Verification>) -> Option<Sentence> {
    let v = verification?;
    let written = match v.written {
        0 => String::new(),
        n => format!("{} written, ", blocks(n)),
    };
    let unknown = match v.unknown {
        0 => String::new(),
        n => format!(", {} read with unknown content", blocks(n)),
    };
    let coverage = v.coverage.map(|Coverage { blocks, known, seen }| {
        let [blocks, known, seen] = [blocks, known, seen].map(|n| count(n as f64));
        format!(
            "; of the targets' {blocks} blocks {known} are known, {seen} of them read since their last write"
        )
    });
    let (checked, coverage) = (blocks(v.checked), coverage.unwrap_or_default());
    let text = format!("Verification: {written}{checked} checked{unknown}{coverage}.");
    Some(found(text, Section::Verification))
}

fn knee(sweep: &Sweep, plans: usize) -> String {
    let fixed = sweep.fixed.iter().map(|(k, v)| format!(" at {} {}", clean(k), clean(v)));
    let plan = if plans > 1 { format!(" in {}", clean(&sweep.plan)) } else { String::new() };
    let over = format!("over {}{plan}{}", clean(&sweep.axis), fixed.collect::<String>());
    match &sweep.knee {
        Answer::At { value, earliest, latest, share_of_peak, .. } => {
            let between = match earliest == latest {
                true => String::new(),
                false => format!(" (within error, {} to {})", clean(earliest), clean(latest)),
            };
            let peak = percent(*share_of_peak);
            format!(
                "Knee {over}: {}{between}, {peak}% of the peak{}.",
                clean(value),
                beyond(sweep, value)
            )
        }
        Answer::StillScaling { work_last, load_last } => format!(
            "No knee {over}: still scaling at the last point, where {} × the load brought {} × the {}.",
            ratio(*load_last),
            ratio(*work_last),
            work_name(sweep)
        ),
        Answer::Flat { work_after, latency_after } => format!(
            "Flat {over} from the first point: to the last, {} × the {} at {} × the latency.",
            ratio(*work_after),
            work_name(sweep),
            ratio(*latency_after)
        ),
        Answer::Undecided { reason } => format!("Knee {over} undecided: {}.", clean(reason)),
    }
}

/// What more load beyond the knee gained.
fn beyond(sweep: &Sweep, knee: &str) -> String {
    let (Some(at), Some(last)) =
        (sweep.points.iter().find(|p| p.value == knee), sweep.points.last())
    else {
        return String::new();
    };
    format!(
        "; from there to {}, {} × the load brings {} × the {} at {} × the latency",
        clean(&last.value),
        ratio(last.load / at.load),
        ratio(last.mean() / at.mean()),
        work_name(sweep),
        ratio(last.latency_ns / at.latency_ns)
    )
}

fn work_name(sweep: &Sweep) -> &'static str {
    if sweep.unit == Unit::BytesPerS { "MB/s" } else { "IOPS" }
}

fn balance(steps: &[StepFigures]) -> Option<Sentence> {
    // A fault is meant to leave some with less, and phases of a job follow each other.
    let even = |s: &&StepFigures| s.faults.is_empty() && !s.is_job();
    let all = steps.iter().filter(even).flat_map(|s| s.balance.iter().map(move |b| (s, b)));
    let (step, worst) = all.max_by(|a, b| a.1.spread.total_cmp(&b.1.spread))?;
    let at = if steps.len() > 1 {
        format!(" in the least even step ({})", clean(&step.label()))
    } else {
        String::new()
    };
    // Only VMs that wait for a full port share what it carries; others get what they ask for.
    let full = steps.iter().filter(|s| s.ports.iter().any(|p| p.saturated));
    let full = full.flat_map(|s| &s.balance).map(|b| b.spread).reduce(f64::max);
    let full = match full {
        Some(spread) if spread < worst.spread => {
            format!("; where a port is full, at most {}%", percent(spread))
        }
        _ => String::new(),
    };
    let text = format!(
        "Balance over {}: spread {}%, Jain's index {:.4}{at}{full}.",
        plural(worst.shares.len(), "VM or target").replace("VM or targets", "VMs or targets"),
        percent(worst.spread),
        worst.jain
    );
    Some(found(text, Section::Balance(step.index)))
}

/// Where the measurement waited for a steady load: how long, and whether it stayed steady.
fn warm_up(steps: &[StepFigures]) -> Option<Sentence> {
    let waited = || steps.iter().filter(|s| s.warm_up.ended != WarmUpEnd::AsPlanned);
    let steady = waited().filter(|s| s.warm_up.ended == WarmUpEnd::Steady).count();
    let lasted = || waited().map(|s| s.warm_up.lasted_ns);
    let (least, most) = (lasted().min()?, lasted().max()?);
    let lasted = match least == most {
        true => latency(most as f64),
        false => format!("{} to {}", latency(least as f64), latency(most as f64)),
    };
    let step = waited().max_by_key(|s| s.warm_up.lasted_ns)?;
    let stayed = waited().filter(|s| matches!(s.steady, Some(Steadiness::Steady(_)))).count();
    let text = match (waited().count(), steady, stayed) {
        (1, 0, _) => format!("Not steady after a warm-up of {lasted}; see the warnings."),
        (1, _, 1) => format!("Steady after a warm-up of {lasted}, and while it was measured."),
        (1, _, _) => {
            format!("Steady after a warm-up of {lasted}; see the warnings for the measured time.")
        }
        (all, _, _) => format!(
            "Steady after a warm-up of {lasted} in {steady} of {all} steps, and while it was measured in {stayed}."
        ),
    };
    Some(found(text, Section::Conditions(step.index)))
}

/// The step whose workers finished furthest apart, if far enough.
fn done(steps: &[StepFigures]) -> Option<Sentence> {
    let apart = steps.iter().filter_map(|s| Some((s, s.done.as_ref().filter(|d| d.apart())?)));
    // Reversed, so that the first of equals is named.
    let (step, done) = apart.rev().max_by_key(|(_, d)| d.last.after_ns - d.first.after_ns)?;
    let at = if steps.len() > 1 { format!(" ({})", clean(&step.label())) } else { String::new() };
    let seconds = |ns: u64| latency(ns as f64);
    let first = match done.first.after_ns {
        0 => "completed nothing".to_owned(),
        ns => format!("finished after {}", seconds(ns)),
    };
    let text = format!(
        "First done, last done: {} {first}, {} after {} of load{at}; in between, the load was less than specified.",
        clean(&done.first.worker),
        clean(&done.last.worker),
        seconds(done.last.after_ns)
    );
    Some(found(text, Section::Conditions(step.index)))
}

fn generator(steps: &[StepFigures]) -> Option<Sentence> {
    let judged: Vec<&StepFigures> =
        steps.iter().filter(|s| s.generator.limit != Limit::NoTestimony).collect();
    let worst =
        judged.iter().max_by(|a, b| a.generator.own_share.total_cmp(&b.generator.own_share))?;
    let own = percent(worst.generator.own_share);
    let says = match judged.iter().map(|s| s.generator.limit).max()? {
        Limit::OwnCost => {
            "a null target completes at once, so these figures are generator overhead"
        }
        Limit::Limited => "it limited the load; see the warnings",
        Limit::Suspect => "it may have limited the load; see the warnings",
        _ => "not the limit",
    };
    let text = format!("Generator: {says}; overhead at most {own}%.");
    Some(found(text, Section::Conditions(worst.index)))
}

/// Targets whose samples hold varied data.
fn content(contents: &[Content]) -> Option<Sentence> {
    let sound: Vec<&Content> = contents.iter().filter(|c| c.is_sound()).collect();
    let blocks: u64 = sound.iter().map(|c| u64::from(c.blocks)).sum();
    let worst = sound.iter().map(|c| c.empty.high).fold(0.0, f64::max);
    let at_most = match worst > 0.0 {
        true => format!(" (with 95% confidence at most {}%)", percent(worst)),
        false => String::new(),
    };
    let of = match &sound[..] {
        [one] => clean(&one.target),
        all => plural(all.len(), "target"),
    };
    (blocks > 0).then(|| {
        let text = format!(
            "Data: none of {} sampled blocks of {of} is unwritten, zero or repeated{at_most}.",
            count(blocks as f64),
        );
        found(text, Section::Contents)
    })
}

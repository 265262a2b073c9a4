//! The ports of embedded arrays in sentences: at which speed they ran, whether one was full, what a faster one brought,
//! and whether the counters of workers, ports and volumes agree.

use crate::number::percent;
use crate::sentence::{Section, Sentence, Tone};
use crate::text::clean;
use findings::{Analysis, ByteCounts, CounterCheck, PortLoad, Scaled, StepFigures};
use units::{count, rate};

/// Arrays whose ports run slower than the speeds they are named after, and why. For the first lines.
pub(crate) fn scaled(all: &[Scaled]) -> Vec<Sentence> {
    let rates = |scaled: &Scaled| -> String {
        let rate = |r: &findings::ScaledRate| {
            let (name, was, is) =
                (clean(&r.name), rate(r.nominal_bytes_per_s), rate(r.bytes_per_s));
            format!("{name} is {is} instead of {was}")
        };
        scaled.rates.iter().map(rate).collect::<Vec<_>>().join(", ")
    };
    let sentence = |scaled: &Scaled| {
        let why = scaled.reason.as_ref().map(|why| format!(" {}", clean(why))).unwrap_or_default();
        let text = format!(
            "Scaled: the ports of {} run at {}% of their speed in each direction; {}.{why}",
            clean(&scaled.array),
            share(scaled.scale),
            rates(scaled)
        );
        Sentence::new(Tone::Note, text, Section::Provenance)
    };
    all.iter().map(sentence).collect()
}

/// What was found about the ports.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Sentence> {
    let mut all: Vec<Sentence> = fullest(&analysis.steps).into_iter().collect();
    all.extend(agreement(&analysis.steps));
    all
}

/// In how many steps a port was full, and the port with the highest utilization, both directions together.
fn fullest(steps: &[StepFigures]) -> Option<Sentence> {
    let all = || steps.iter().flat_map(|s| s.ports.iter().map(move |p| (s, p)));
    let used = |p: &PortLoad| -> f64 {
        [p.read, p.write].into_iter().flatten().filter_map(|flow| flow.share).sum()
    };
    // Reversed, so that the first of equals is named.
    let (step, port) = all()
        .rev()
        .filter(|(_, p)| p.fullest().is_some())
        .max_by(|a, b| used(a.1).total_cmp(&used(b.1)))?;
    let full = steps.iter().filter(|s| s.ports.iter().any(|p| p.saturated)).count();
    let lead = match (full, steps.len()) {
        (0, _) => "none is full; most is carried by".to_owned(),
        (_, 1) => "full is".to_owned(),
        (n, all) if n == all => format!("full in all {all} steps; most is carried by"),
        (n, all) => format!("full in {n} of {all} steps; most is carried by"),
    };
    let at = if steps.len() > 1 { format!(" at {}", clean(&step.label())) } else { String::new() };
    let text = format!("Ports: {lead} {}{at}: {}.", clean(&port.port), carried(port));
    Some(Sentence::new(Tone::Plain, text, Section::Ports(step.index)))
}

/// What each direction of a port carried, with the arithmetic of its speed.
fn carried(port: &PortLoad) -> String {
    let flow = |flow: Option<findings::PortFlow>, verb: &str| {
        let flow = flow.filter(|f| f.bytes_per_s > 0.0)?;
        Some(format!("{} {verb} ({}%)", rate(flow.bytes_per_s), percent(flow.share?)))
    };
    let flows: Vec<String> =
        [flow(port.read, "read"), flow(port.write, "written")].into_iter().flatten().collect();
    format!("{} of {} each way", flows.join(" and "), speed(port))
}

/// `207 MB/s (8gfc, 827 MB/s × 25%)`: the speed of a port, and where it comes from.
pub(crate) fn speed(port: &PortLoad) -> String {
    let Some(is) = port.rate_bytes_per_s else { return "as fast as it goes".to_owned() };
    let (Some(name), Some(nominal)) = (&port.rate_name, port.nominal_bytes_per_s) else {
        return rate(is);
    };
    let mut from = Vec::new();
    // A figure is its own name.
    if !name.contains(' ') {
        from.push(clean(name));
    }
    if port.scale != 1.0 {
        from.push(format!("{} × {}%", rate(nominal), share(port.scale)));
    }
    if (is - nominal * port.scale).abs() > 0.001 * nominal * port.scale {
        from.push("less the reduction by faults".to_owned());
    }
    match from.is_empty() {
        true => rate(is),
        false => format!("{} ({})", rate(is), from.join(", ")),
    }
}

/// What ports carry together, in so many directions, with the arithmetic: `8gfc × 25%: 206.6 MB/s`.
pub(crate) fn speeds(ports: &[PortLoad], ways: usize) -> String {
    let sum: f64 = ports.iter().filter_map(|p| p.rate_bytes_per_s).sum::<f64>() * ways as f64;
    let first = ports.first();
    let same = ports.iter().all(|p| p.rate_name == ports[0].rate_name && p.scale == ports[0].scale);
    let Some(port) = first.filter(|_| same) else { return format!("all ports: {}", rate(sum)) };
    let count = if ports.len() > 1 { format!("{} × ", ports.len()) } else { String::new() };
    let name = port.rate_name.as_deref().map(clean).unwrap_or_default();
    let scale =
        if port.scale == 1.0 { String::new() } else { format!(" × {}%", share(port.scale)) };
    let both = if ways > 1 { ", both ways" } else { "" };
    format!("{count}{name}{scale}{both}: {}", rate(sum))
}

/// Whether the counters of workers and arrays agree: the step in which they differ most, disagreements first.
fn agreement(steps: &[StepFigures]) -> Option<Sentence> {
    let all = || steps.iter().flat_map(|s| s.counter_checks.iter().map(move |story| (s, story)));
    let counted: Vec<CountedBytes<'_>> =
        all().flat_map(|(step, story)| directions(step, story)).collect();
    let differ = counted.iter().filter(|t| !t.tale.agrees);
    if let Some(worst) = differ.max_by(|a, b| a.apart().total_cmp(&b.apart())) {
        return Some(difference(worst, &counted));
    }
    if let Some((step, story)) = all().find(|(_, story)| story.unknown.is_some()) {
        let why = story.unknown.as_deref().map(clean).unwrap_or_default();
        let text = format!(
            "Not determined whether the counters of workers and ports of {} agree at {}: {why}.",
            clean(&story.array),
            clean(&step.label())
        );
        return Some(Sentence::new(Tone::Caution, text, Section::Ports(step.index)));
    }
    let worst = counted.iter().max_by(|a, b| a.apart().total_cmp(&b.apart()))?;
    let of = match (steps.iter().filter(|s| !s.counter_checks.is_empty()).count(), steps.len()) {
        (_, 1) => String::new(),
        (some, all) if some == all => format!(" in all {all} steps"),
        (some, all) => format!(" in {some} of {all} steps"),
    };
    let apart = match worst.tale.apart() {
        0.0 => "equal to the byte".to_owned(),
        _ => format!("at most {}% apart", fine(worst.apart())),
    };
    let text = format!(
        "Counters of workers and ports agree{of}: {apart}, {}, where {} bytes could be in flight at the edges.",
        counts(worst),
        count(worst.tale.edge_bytes.round())
    );
    Some(Sentence::new(Tone::Good, text, Section::Ports(worst.step.index)))
}

fn difference(worst: &CountedBytes<'_>, all: &[CountedBytes<'_>]) -> Sentence {
    let mut steps: Vec<u32> = all.iter().filter(|t| !t.tale.agrees).map(|t| t.step.index).collect();
    steps.dedup();
    let text = format!(
        "Counters of workers and ports of {} disagree in {}: they are {}% apart, {}, where {} bytes could be in \
         flight at the edges.",
        clean(&worst.story.array),
        crate::headline::plural(steps.len(), "step"),
        fine(worst.apart()),
        counts(worst),
        count(worst.tale.edge_bytes.round())
    );
    let next = "commands that a path repeated, and other users of the array, are counted only at its ports";
    Sentence::new(Tone::Caution, text, Section::Ports(worst.step.index)).next(next.to_owned())
}

/// The bytes of one direction, as workers, ports and volumes count them.
struct CountedBytes<'a> {
    step: &'a StepFigures,
    story: &'a CounterCheck,
    tale: ByteCounts,
    read: bool,
}

impl CountedBytes<'_> {
    /// How far apart, as a share of what the workers moved.
    fn apart(&self) -> f64 {
        self.tale.apart() / self.tale.worker_bytes.max(1.0)
    }
}

fn directions<'a>(
    step: &'a StepFigures,
    story: &'a CounterCheck,
) -> impl Iterator<Item = CountedBytes<'a>> {
    let direction = move |tale, read| CountedBytes { step, story, tale, read };
    let write = story.write.map(|tale| direction(tale, false));
    story.read.map(|tale| direction(tale, true)).into_iter().chain(write)
}

fn counts(c: &CountedBytes<'_>) -> String {
    let ByteCounts { worker_bytes, port_bytes, volume_bytes, .. } = c.tale;
    let verb = if c.read { "read" } else { "written" };
    let [workers, ports, volumes] =
        [worker_bytes, port_bytes, volume_bytes].map(|b| count(b.round()));
    let volumes = match ports == volumes {
        true => "by ports and volumes".to_owned(),
        false => format!("by the ports and {volumes} by the volumes"),
    };
    format!(
        "as at {} ({workers} bytes {verb} by the workers, {ports} {volumes})",
        clean(&c.step.label())
    )
}

/// A scale as percent, without trailing zeros.
fn share(scale: f64) -> String {
    let percent = scale * 100.0;
    if percent.fract() == 0.0 { format!("{percent:.0}") } else { format!("{percent:.3}") }
}

/// A small share as percent, with two digits.
fn fine(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".to_owned(),
        p if p < 0.001 => "<0.001".to_owned(),
        p if p < 0.1 => format!("{p:.3}"),
        p => format!("{p:.2}"),
    }
}

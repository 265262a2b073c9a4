//! Whether a cache or the devices served, in sentences: aloud in the first lines where most of it was a cache, among the
//! findings where it is worth knowing, and nothing where the devices did what was asked of them.

use crate::number::percent;
use crate::said::{Place, Sentence, Tone};
use crate::text::clean;
use findings::{Served, ServedBy, StepFigures, Traffic};
use units::rate;

/// Share served by a cache from which the figures are the memory's, and the first lines say so.
const MOSTLY: f64 = 0.5;

/// A direction of a step with the devices that it is about.
struct Told<'a> {
    step: &'a StepFigures,
    served: &'a Served,
    traffic: Traffic,
    read: bool,
}

/// The sentence for the first lines; `None` where the devices served at least half.
pub(crate) fn caution(steps: &[StepFigures]) -> Option<Sentence> {
    let mostly = |t: &Told<'_>| t.traffic.cached_share() >= MOSTLY;
    let worst = all(steps).filter(mostly).max_by(|a, b| by_cache(a).total_cmp(&by_cache(b)))?;
    let mut of: Vec<u32> = all(steps).filter(mostly).map(|t| t.step.index).collect();
    of.dedup();
    let at = match (steps.len(), of.len()) {
        (1, _) => String::new(),
        (all, some) => format!(" in {some} of {all} steps, as at {}", clean(&worst.step.label())),
    };
    Some(Sentence::new(Tone::Caution, cached(&worst, &at), Place::Served(worst.step.index)))
}

/// Sentences for the findings: the step in which a cache did most, unless the first lines have it, and the one in which
/// the devices did most beside what was asked.
pub(crate) fn sentences(steps: &[StepFigures]) -> Vec<Sentence> {
    let at = |t: &Told<'_>| match steps.len() {
        1 => String::new(),
        _ => format!(" at {}", clean(&t.step.label())),
    };
    let some = |t: &Told<'_>| t.traffic.by == ServedBy::Cache && t.traffic.cached_share() < MOSTLY;
    let cache = all(steps).filter(some).max_by(|a, b| by_cache(a).total_cmp(&by_cache(b)));
    let more = all(steps).filter(|t| t.traffic.by == ServedBy::DeviceAndMore);
    let more = more.max_by(|a, b| a.traffic.ratio.total_cmp(&b.traffic.ratio));
    let told = |t: &Told<'_>, text| Sentence::new(Tone::Plain, text, Place::Served(t.step.index));
    let cache = cache.map(|t| told(&t, cached(&t, &at(&t))));
    cache.into_iter().chain(more.map(|t| told(&t, beyond(&t, &at(&t))))).collect()
}

fn all(steps: &[StepFigures]) -> impl DoubleEndedIterator<Item = Told<'_>> {
    // Reversed, so that of equals the first is told.
    steps.iter().rev().flat_map(|step| {
        step.served.iter().rev().flat_map(move |served| {
            let told = move |traffic, read| Told { step, served, traffic, read };
            let write = served.write.map(|t| told(t, false));
            write.into_iter().chain(served.read.map(|t| told(t, true)))
        })
    })
}

fn by_cache(told: &Told<'_>) -> f64 {
    told.traffic.cached_share()
}

fn cached(told: &Told<'_>, at: &str) -> String {
    let (share, devices) = (percent(told.traffic.cached_share()), devices(told));
    let what = match (told.read, told.served.direct) {
        (true, false) => {
            format!(
                "At least {share}% of what was read came from the page cache, not from {devices}"
            )
        }
        (false, false) => format!(
            "At least {share}% of what was written stayed in the page cache and did not reach {devices}"
        ),
        (true, true) => format!(
            "At least {share}% of what was read did not come from {devices}, though the page cache was bypassed: holes of a file, or \
             another cache"
        ),
        (false, true) => format!(
            "At least {share}% of what was written did not reach {devices}, though the page cache was bypassed: the file system or \
             another cache kept it"
        ),
    };
    let means = match told.traffic.cached_share() >= MOSTLY {
        true => ": these figures are not the device's",
        false => "",
    };
    format!("{what}{at}{means}.")
}

fn beyond(told: &Told<'_>, at: &str) -> String {
    let Traffic { ratio, asked_bytes, device_bytes, .. } = told.traffic;
    let seconds = told.step.measured_ns as f64 / 1e9;
    let (verb, why) = match told.read {
        true => ("read", "read-ahead, or other programs"),
        false => ("wrote", "the file system's own writes, earlier ones, or other programs"),
    };
    format!(
        "{} {verb} {ratio:.2} × what the workers asked for{at} ({} of {}): {why}.",
        devices(told),
        rate(device_bytes / seconds),
        rate(asked_bytes / seconds)
    )
}

fn devices(told: &Told<'_>) -> String {
    clean(&told.served.devices.join(" and "))
}

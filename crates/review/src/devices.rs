//! Whether a cache or the devices served the I/O, in sentences: in the first lines where a cache served most of it, else
//! among the findings; none where the devices served what the workers requested.

use crate::number::percent;
use crate::sentence::{Section, Sentence, Tone};
use crate::text::clean;
use findings::{Served, ServedBy, StepFigures, Traffic};
use units::rate;

/// Share served by a cache from which the first lines say that the figures are not the device's.
const MOSTLY: f64 = 0.5;

/// One direction of a step, and what its devices served.
struct DeviceTraffic<'a> {
    step: &'a StepFigures,
    served: &'a Served,
    traffic: Traffic,
    read: bool,
}

/// The sentence for the first lines; `None` where the devices served at least half.
pub(crate) fn caution(steps: &[StepFigures]) -> Option<Sentence> {
    let mostly = |t: &DeviceTraffic<'_>| t.traffic.cached_share() >= MOSTLY;
    let worst = all(steps).filter(mostly).max_by(|a, b| by_cache(a).total_cmp(&by_cache(b)))?;
    let mut of: Vec<u32> = all(steps).filter(mostly).map(|t| t.step.index).collect();
    of.dedup();
    let at = match (steps.len(), of.len()) {
        (1, _) => String::new(),
        (all, some) => format!(" in {some} of {all} steps, as at {}", clean(&worst.step.label())),
    };
    Some(Sentence::new(Tone::Caution, cached(&worst, &at), Section::Served(worst.step.index)))
}

/// Sentences for the findings: the step in which a cache served most, unless the first lines have it, and the one in
/// which the devices moved most beyond what was requested.
pub(crate) fn sentences(steps: &[StepFigures]) -> Vec<Sentence> {
    let at = |t: &DeviceTraffic<'_>| match steps.len() {
        1 => String::new(),
        _ => format!(" at {}", clean(&t.step.label())),
    };
    let some = |t: &DeviceTraffic<'_>| {
        t.traffic.by == ServedBy::Cache && t.traffic.cached_share() < MOSTLY
    };
    let cache = all(steps).filter(some).max_by(|a, b| by_cache(a).total_cmp(&by_cache(b)));
    let more = all(steps).filter(|t| t.traffic.by == ServedBy::DeviceAndMore);
    let more = more.max_by(|a, b| a.traffic.ratio.total_cmp(&b.traffic.ratio));
    let plain = |t: &DeviceTraffic<'_>, text| {
        Sentence::new(Tone::Plain, text, Section::Served(t.step.index))
    };
    let cache = cache.map(|t| plain(&t, cached(&t, &at(&t))));
    cache.into_iter().chain(more.map(|t| plain(&t, beyond(&t, &at(&t))))).collect()
}

fn all(steps: &[StepFigures]) -> impl DoubleEndedIterator<Item = DeviceTraffic<'_>> {
    // Reversed, so that the first of equals is named.
    steps.iter().rev().flat_map(|step| {
        step.served.iter().rev().flat_map(move |served| {
            let direction = move |traffic, read| DeviceTraffic { step, served, traffic, read };
            let write = served.write.map(|t| direction(t, false));
            write.into_iter().chain(served.read.map(|t| direction(t, true)))
        })
    })
}

fn by_cache(t: &DeviceTraffic<'_>) -> f64 {
    t.traffic.cached_share()
}

fn cached(t: &DeviceTraffic<'_>, at: &str) -> String {
    let (share, devices) = (percent(t.traffic.cached_share()), devices(t));
    let what = match (t.read, t.served.direct) {
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
    let means = match t.traffic.cached_share() >= MOSTLY {
        true => ": these figures are not the device's",
        false => "",
    };
    format!("{what}{at}{means}.")
}

fn beyond(t: &DeviceTraffic<'_>, at: &str) -> String {
    let Traffic { ratio, asked_bytes, device_bytes, .. } = t.traffic;
    let seconds = t.step.measured_ns as f64 / 1e9;
    let (verb, why) = match t.read {
        true => ("read", "read-ahead, or other programs"),
        false => ("wrote", "the file system's own writes, earlier ones, or other programs"),
    };
    format!(
        "{} {verb} {ratio:.2} × what the workers requested{at} ({} of {}): {why}.",
        devices(t),
        rate(device_bytes / seconds),
        rate(asked_bytes / seconds)
    )
}

fn devices(t: &DeviceTraffic<'_>) -> String {
    clean(&t.served.devices.join(" and "))
}

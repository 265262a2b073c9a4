//! How much of an application the steps carry, in sentences: the figure as a range, what it rests on, what limits it, and
//! how far it is extrapolated.

use crate::number::latency;
use crate::sentence::{Section, Sentence, Tone};
use crate::text::clean;
use findings::{Access, Carried, CarryLimit, Extrapolation, Footprint, Measured, Projection, Unit};
use std::time::Duration;
use units::{Bytes, binary_bytes, count, duration, percent, rate, size};

/// One sentence, or a few, for each application.
pub(crate) fn sentences(projections: &[Projection]) -> Vec<Sentence> {
    projections.iter().map(sentence).collect()
}

fn sentence(projection: &Projection) -> Sentence {
    let title = clean(&projection.title);
    match &projection.answer {
        Carried::Known { least, most, step, limit, extrapolated, caveats } => {
            let mut text = format!(
                "{title}: {} {} ({}). {}",
                range(*least, *most),
                clean(&projection.units),
                asked(projection),
                basis(projection, step, limit)
            );
            text.push_str(&rests_on(&step.footprint));
            if let Some(wanted) = projection.wanted {
                text.push_str(&enough(projection, wanted));
            }
            if let Some(extrapolation) = extrapolated {
                text.push_str(&extrapolated_text(projection, step, extrapolation));
            }
            if !caveats.is_empty() {
                text.push_str(&format!(" Of that step: {}.", clean(&caveats.join("; "))));
            }
            let tone = match projection.enough {
                Some(true) => Tone::Good,
                Some(false) => Tone::Bad,
                None if projection.wanted.is_some() => Tone::Caution,
                None => Tone::Plain,
            };
            Sentence::new(tone, text, Section::Step(step.index))
        }
        Carried::Undecided { reason, next } => {
            let text =
                format!("{title}: undecided ({}). {}.", asked(projection), clean(&capital(reason)));
            Sentence::new(Tone::Caution, text, None).next(clean(&format!("{}.", capital(next))))
        }
    }
}

/// `4,800 to 5,300`, `at least 4,800`.
fn range(least: f64, most: Option<f64>) -> String {
    match most {
        Some(most) if most > least => format!("{} to {}", count(least), count(most)),
        Some(_) => format!("about {}", count(least)),
        None => format!("at least {}", count(least)),
    }
}

/// What one of them asks for.
fn asked(projection: &Projection) -> String {
    let Projection { each, access, point, limit_ns, window_ns, .. } = projection;
    let each = match (each.unit, window_ns) {
        (Unit::BytesPerS, Some(window)) => {
            let window = duration(Duration::from_nanos(*window));
            format!("{} each, to be done in {window}", rate(each.value))
        }
        (Unit::BytesPerS, None) => format!("{} each", rate(each.value)),
        _ => format!("{} IOPS each", count(each.value)),
    };
    let limit = match (point, limit_ns) {
        (Some(point), Some(ns)) => {
            format!(", {} latency within {}", clean(point), duration(Duration::from_nanos(*ns)))
        }
        _ => String::new(),
    };
    format!("{each} of {}{limit}", words(access))
}

/// `8 KiB, 67% read, 100% random`.
fn words(access: &Access) -> String {
    // Whole percents: what was drawn at random scatters behind the point.
    let share = |value: f64| percent(if value < 1.0 { value } else { value.round() });
    format!(
        "{}, {} read, {} random",
        binary_bytes(access.block_bytes.round() as u64),
        share(access.read_percent),
        share(access.random_percent)
    )
}

/// What was measured, and what keeps it from being more.
fn basis(projection: &Projection, step: &Measured, limit: &CarryLimit) -> String {
    let point = projection.point.as_deref().unwrap_or_default();
    let did = |m: &Measured| {
        let work = match projection.each.unit {
            Unit::BytesPerS => rate(m.bytes_per_s),
            _ => format!("{} IOPS", count(m.iops.round())),
        };
        match m.latency_ns {
            Some(ns) => format!("{work} at a {} of {}", clean(point), latency(ns)),
            None => work,
        }
    };
    let end = match limit {
        CarryLimit::Latency { step } => {
            format!("the limit is passed at {}, {}", clean(&step.label), did(step))
        }
        CarryLimit::Work { step } => {
            format!("more load brought no more work: {} did {}", clean(&step.label), did(step))
        }
        CarryLimit::Generator => "the generator may have held it back".to_owned(),
        CarryLimit::Steps if projection.limit_ns.is_some() => {
            "no step with more load was run, and this one was within the limit".to_owned()
        }
        CarryLimit::Steps => "no step with more load was run".to_owned(),
    };
    format!("{} did {}; {end}.", clean(&capital(&step.label)), did(step))
}

/// How much lies behind the figure: what no step accessed, and what shows only after longer, is not in it.
fn rests_on(of: &Footprint) -> String {
    let time = duration(Duration::from_secs_f64(of.measured_s.clamp(0.0, 1e9)));
    let place = match (of.accessed_bytes, of.capacity_bytes) {
        (Some(accessed), Some(all)) if accessed < all => {
            format!(" over a working set of {} of {}", size(Bytes(accessed)), size(Bytes(all)))
        }
        (Some(accessed), _) => format!(" over {}", size(Bytes(accessed))),
        (None, Some(all)) => format!(" over a part of {}", size(Bytes(all))),
        (None, None) => " over a capacity that the scenario does not say".to_owned(),
    };
    format!(" It was measured for {time}{place}.")
}

fn enough(projection: &Projection, wanted: f64) -> String {
    let (wanted, units) = (count(wanted), clean(&projection.units));
    match projection.enough {
        Some(true) => format!(" That is enough for the {wanted} {units} needed."),
        Some(false) => format!(" That is not enough for the {wanted} {units} needed."),
        None => format!(" Whether it is enough for the {wanted} {units} needed is not known."),
    }
}

fn extrapolated_text(projection: &Projection, step: &Measured, by: &Extrapolation) -> String {
    let between = match (by.block_ratio - 1.0).abs() < 0.1 {
        true => "",
        false => "; another block size lies between equal IOPS and equal MB/s",
    };
    format!(
        " Extrapolated: measured with {}, the application does {}{between}.",
        words(&step.access),
        words(&projection.access)
    )
}

/// A capital first, unless it begins with what is not a letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}
